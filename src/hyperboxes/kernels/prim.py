"""PRIM on ranked columns: peels and pastes read counts that are kept up to date, never the rows again.

A feature's distinct values are its cells, 0 to n - 1 in rising order; cell n holds missing values. Of each
cell we keep the weight of the box's rows and their weighted target, as integers: sums of integers do not
depend on the order of rows, so a weight of two is a row twice to the last bit. Cells are summed once more
in blocks, so that a walk from one end to a quantile takes whole blocks.

One peel costs two short walks per feature, and one update per feature and row removed. A row is removed
once: the whole trajectory costs about one pass over the table.

A box is four arrays. ``low`` and ``high`` are the first and last cell of each feature, ``allowed`` the
admitted levels of unordered categories (those of feature j begin at ``first_level[j]``), and ``open_`` the
features that are not restricted: only these admit missing values. Missing values lie beyond both ends, so
they are the first to be peeled.
"""

from __future__ import annotations

import numpy as np

from ._compile import inner, kernel
from .random import mix

#: Cells of a block, as a power of two.
BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS
#: What a step moves: the first cell, the last cell, or one level of an unordered category.
LOW, HIGH, LEVEL = 0, 1, 2
#: Objectives and criteria, by their place in this list.
OBJECTIVES = ("original", "lenient1", "lenient2", "f1", "wracc", "lift", "mean")
ORIGINAL, LENIENT1, LENIENT2, F1, WRACC = range(5)
#: Share of the asked fraction that rounding may take away.
NEARLY_ONE = 1 - 1e-12


@inner
def _value(objective, mass, total, base, positives):  # type: ignore[no-untyped-def]
    """Judge a box of weight ``mass`` and summed target ``total``; ``base`` is the mean of all rows."""
    if objective == F1:
        return 2 * total / (mass + positives)
    if objective == WRACC:
        return total - mass * base
    return total / mass


@inner
def _score(objective, mass, total, gone, gone_total, base, positives):  # type: ignore[no-untyped-def]
    """Judge a peel that takes ``gone`` and ``gone_total`` from a box.

    Friedman & Fisher's ``original`` is the mean of what is left. The lenient ones of Kwakkel &
    Jaxa-Rozen divide its rise by the weight removed (``lenient1``), or compare the mean of the box with
    that of the slice (``lenient2``), so that a slice is not favoured for being large.
    """
    if objective == LENIENT1:
        return ((total - gone_total) / (mass - gone) - total / mass) / gone
    if objective == LENIENT2:
        return total / mass - gone_total / gone
    return _value(objective, mass - gone, total - gone_total, base, positives)


@inner
def _first_cells(n_values):  # type: ignore[no-untyped-def]
    """Where the cells of each feature begin: at a block of their own; last, how many there are."""
    begin = np.zeros(len(n_values) + 1, np.int64)
    for j in range(len(n_values)):
        begin[j + 1] = begin[j] + ((n_values[j] + BLOCK) >> BLOCK_BITS << BLOCK_BITS)
    return begin


@inner
def _count(codes, weight, rows, begin, cells, blocks):  # type: ignore[no-untyped-def]
    """Count rows, cell by cell and then block by block."""
    for j in range(len(codes)):
        column = codes[j]
        for row in rows:
            cell = begin[j] + column[row]
            cells[cell, 0] += weight[row, 0]
            cells[cell, 1] += weight[row, 1]
    for cell in range(len(cells)):
        blocks[cell >> BLOCK_BITS, 0] += cells[cell, 0]
        blocks[cell >> BLOCK_BITS, 1] += cells[cell, 1]


@inner
def _take_out(codes, rows, weight, begin, cells, blocks):  # type: ignore[no-untyped-def]
    """Take rows out of the counts; ``weight`` lies in their order."""
    for j in range(len(codes)):
        column = codes[j]
        for i in range(len(rows)):
            w, s = weight[i, 0], weight[i, 1]
            cell = begin[j] + column[rows[i]]
            cells[cell, 0] -= w
            cells[cell, 1] -= s
            blocks[cell >> BLOCK_BITS, 0] -= w
            blocks[cell >> BLOCK_BITS, 1] -= s


@inner
def _walk(cells, blocks, cell, stop, step, need, mass, total):  # type: ignore[no-untyped-def]
    """Take whole cells towards ``stop`` until they weigh ``need``: (next cell, mass, total)."""
    entry = 0 if step > 0 else BLOCK - 1  # the cell of a block that a walk meets first
    while (stop - cell) * step >= 0 and mass < need:
        if cell & (BLOCK - 1) == entry and (stop - cell) * step >= BLOCK - 1:
            block = cell >> BLOCK_BITS
            if mass + blocks[block, 0] < need:
                mass += blocks[block, 0]
                total += blocks[block, 1]
                cell += step * BLOCK
                continue
        mass += cells[cell, 0]
        total += cells[cell, 1]
        cell += step
    return cell, mass, total


@inner
def _middle(cells, blocks, cell, stop, step):  # type: ignore[no-untyped-def]
    """Where to cut before the next cell with weight: in the middle of the empty ones; ``stop`` if none.

    ``cell`` is the first cell beyond those taken. Returns the last cell on the taken side of the cut.
    """
    found, mass, _ = _walk(cells, blocks, cell, stop, step, 1, 0, 0)
    if mass == 0:
        return stop
    n_empty = (found - step - cell) * step
    return cell - step + step * (n_empty // 2)


@inner
def _reach(cells, blocks, cell, stop, step, by_block):  # type: ignore[no-untyped-def]
    """Weigh the cells up to the first with a positive target.

    ``by_block``: no target is negative, so a block that sums to zero has none that is positive.
    """
    entry = 0 if step > 0 else BLOCK - 1
    mass = np.int64(0)
    while (stop - cell) * step >= 0:
        block = cell >> BLOCK_BITS
        at_block = by_block and cell & (BLOCK - 1) == entry and (stop - cell) * step >= BLOCK - 1
        if at_block and blocks[block, 1] == 0:
            mass += blocks[block, 0]
            cell += step * BLOCK
            continue
        if cells[cell, 1] > 0:
            break
        mass += cells[cell, 0]
        cell += step
    return mass


@inner
def _peel_slice(cells, blocks, begin, n_values, named, low, high, side, need):  # type: ignore[no-untyped-def]
    """Weigh the slice at one end of a feature: (next cell, mass, total); missing values go first.

    A category's set cannot say "known", so with them at least one of its cells must go.
    """
    missing = begin + n_values
    mass, total = cells[missing, 0], cells[missing, 1]
    if named and mass >= need:
        need = mass + 1
    if side == LOW:
        return _walk(cells, blocks, begin + low, begin + high, 1, need, mass, total)
    return _walk(cells, blocks, begin + high, begin + low, -1, need, mass, total)


@inner
def _best_peel(  # type: ignore[no-untyped-def]
    cells, blocks, begin, n_values, unordered, named, may_low, may_high, low, high, open_,
    mass, total, peel_fraction, min_support, objective, base, positives, full, by_block,
):  # fmt: skip
    """Find the best peel: (feature, what moves, first cell kept, or level); feature -1 if none is left.

    Of equal ones, the one with the most weight before the next positive target. ``full``: no further
    feature may be restricted.
    """
    need = max(1.0, peel_fraction * mass * NEARLY_ONE)
    best, farthest = -np.inf, np.int64(0)
    feature, what, place = -1, 0, 0
    for j in range(len(n_values)):
        if open_[j] and full:
            continue
        if unordered[j]:
            if not (may_low[j] and may_high[j]):
                continue
            missing = begin[j] + n_values[j]
            for level in range(n_values[j]):
                cell = begin[j] + level
                if cells[cell, 0] == 0:
                    continue
                m, s = cells[cell, 0] + cells[missing, 0], cells[cell, 1] + cells[missing, 1]
                if mass - m < min_support:
                    continue
                score = _score(objective, mass, total, m, s, base, positives)
                if score > best or (score == best and m > farthest):
                    best, farthest, feature, what, place = score, np.int64(m), j, LEVEL, level
            continue
        for side in (LOW, HIGH):
            if not (may_low[j] if side == LOW else may_high[j]):
                continue
            cell, m, s = _peel_slice(
                cells, blocks, begin[j], n_values[j], named[j], low[j], high[j], side, need
            )
            if m == 0 or mass - m < min_support:
                continue
            score = _score(objective, mass, total, m, s, base, positives)
            if score < best:
                continue
            end = begin[j] + (high[j] if side == LOW else low[j])
            far = m + _reach(cells, blocks, cell, end, 1 if side == LOW else -1, by_block)
            if score > best or far > farthest:
                best, farthest, feature, what, place = score, far, j, side, cell
    return feature, what, place


@inner
def _grown(array):  # type: ignore[no-untyped-def]
    larger = np.empty((2 * len(array), array.shape[1]), array.dtype)
    larger[: len(array)] = array
    return larger


@inner
def _holds(code, n_values, unordered, first_level, low, high, allowed, open_):  # type: ignore[no-untyped-def]
    if open_:
        return True
    if unordered:
        return code < n_values and allowed[first_level + code]
    return low <= code <= high and code < n_values


@kernel
def peel(  # type: ignore[no-untyped-def]
    codes, weight, rows, n_values, unordered, first_level, named, may_low, may_high,
    low, high, allowed, open_, peel_fraction, min_support, objective, base, positives, max_features, leaves,
):  # fmt: skip
    """Peel a box, slice by slice, for as long as ``min_support`` allows.

    ``rows`` are those in the box, ``weight`` their weight and weighted target. Changes the box in place;
    ``leaves`` gets, for each of the rows, the number of the first box that no longer holds it.

    Returns
    -------
    steps : (feature, what moved, to which cell or level), one for each peel
    sums : (weight, weighted target) of the first box and after each peel
    """
    begin = _first_cells(n_values)
    cells = np.zeros((begin[-1], 2), weight.dtype)
    blocks = np.zeros((begin[-1] >> BLOCK_BITS, 2), np.int64)
    _count(codes, weight, rows, begin, cells, blocks)
    mass, total, by_block = np.int64(0), np.int64(0), True
    for row in rows:
        mass += weight[row, 0]
        total += weight[row, 1]
        by_block &= weight[row, 1] >= 0
    n_restricted = 0
    for j in range(len(codes)):
        n_restricted += not open_[j]
    steps, sums = np.empty((64, 3), np.int64), np.empty((65, 2), np.int64)
    sums[0] = mass, total
    n_steps = 0
    inside, gone, gone_weight = rows.copy(), np.empty_like(rows), np.empty((len(rows), 2), weight.dtype)
    n_inside = len(inside)
    while True:
        feature, what, place = _best_peel(
            cells, blocks, begin, n_values, unordered, named, may_low, may_high, low, high, open_,
            mass, total, peel_fraction, min_support, objective, base, positives,
            n_restricted >= max_features, by_block,
        )  # fmt: skip
        if feature < 0:
            break
        if what == LEVEL:
            allowed[first_level[feature] + place] = False
        elif what == LOW:
            if place > begin[feature] + low[feature]:
                place = _middle(cells, blocks, place, begin[feature] + high[feature], 1) + 1
            low[feature] = place = place - begin[feature]
        else:
            if place < begin[feature] + high[feature]:
                place = _middle(cells, blocks, place, begin[feature] + low[feature], -1) - 1
            high[feature] = place = place - begin[feature]
        n_restricted += open_[feature]
        open_[feature] = False
        n_steps += 1
        if n_steps == len(steps):
            steps, sums = _grown(steps), _grown(sums)
        n_kept, n_gone = 0, 0
        column = codes[feature]
        for i in range(n_inside):
            row = inside[i]
            if _holds(
                column[row], n_values[feature], unordered[feature], first_level[feature],
                low[feature], high[feature], allowed, False,
            ):  # fmt: skip
                inside[n_kept] = row
                n_kept += 1
                continue
            leaves[row] = n_steps
            if weight[row, 0] > 0:
                gone[n_gone] = row
                gone_weight[n_gone] = weight[row]
                mass -= weight[row, 0]
                total -= weight[row, 1]
                n_gone += 1
        n_inside = n_kept
        _take_out(codes, gone[:n_gone], gone_weight[:n_gone], begin, cells, blocks)
        steps[n_steps - 1] = feature, what, place
        sums[n_steps] = mass, total
    for i in range(n_inside):
        leaves[inside[i]] = n_steps + 1
    return steps[:n_steps].copy(), sums[: n_steps + 1].copy()


@inner
def _sole_violations(  # type: ignore[no-untyped-def]
    codes, rows, n_values, unordered, first_level, low, high, allowed, open_, sole
):
    """For each row the one feature that keeps it out of the box; -1 if none does, -2 if several do."""
    sole[:] = -1
    for j in range(len(codes)):
        if open_[j]:
            continue
        column = codes[j]
        for i in range(len(rows)):
            if sole[i] == -2 or _holds(
                column[rows[i]], n_values[j], unordered[j], first_level[j], low[j], high[j], allowed, False
            ):
                continue
            sole[i] = j if sole[i] == -1 else -2


@kernel
def sole_violations(codes, rows, n_values, unordered, first_level, low, high, allowed, open_):  # type: ignore[no-untyped-def]
    """For each row the one feature that keeps it out of a box; -1 if none does, -2 if several do."""
    sole = np.empty(len(rows), np.int64)
    _sole_violations(codes, rows, n_values, unordered, first_level, low, high, allowed, open_, sole)
    return sole


@kernel
def paste(  # type: ignore[no-untyped-def]
    codes, weight, rows, n_values, unordered, first_level, low, high, allowed, open_,
    paste_fraction,
):  # fmt: skip
    """Widen one side of a box at a time, the best one first, while that raises the mean.

    A side grows over the rows that it alone keeps out, by whole cells, until they weigh
    ``paste_fraction`` of the box. A feature whose last side opens admits missing values again. Changes the
    box in place; returns steps and sums as ``peel`` does.
    """
    begin = _first_cells(np.where(open_, 0, n_values))  # no cells for features that have no side to move
    cells = np.zeros((begin[-1], 2), weight.dtype)
    blocks = np.zeros((begin[-1] >> BLOCK_BITS, 2), np.int64)
    sole = np.empty(len(rows), np.int64)
    steps, sums = np.empty((64, 3), np.int64), np.empty((65, 2), np.int64)
    n_steps = 0
    while True:
        cells[:] = 0
        blocks[:] = 0
        _sole_violations(codes, rows, n_values, unordered, first_level, low, high, allowed, open_, sole)
        mass, total = np.int64(0), np.int64(0)
        for i in range(len(rows)):
            row, j = rows[i], sole[i]
            if j == -1:
                mass += weight[row, 0]
                total += weight[row, 1]
            elif j >= 0:
                cell = begin[j] + codes[j, row]
                for k in range(2):
                    cells[cell, k] += weight[row, k]
                    blocks[cell >> BLOCK_BITS, k] += weight[row, k]
        sums[n_steps] = mass, total
        if mass == 0:
            break
        best, most, feature, what, place, opens = total / mass, np.int64(0), -1, 0, 0, False
        need = max(1.0, paste_fraction * mass * NEARLY_ONE)
        for j in range(len(codes)):
            if open_[j]:
                continue
            missing = begin[j] + n_values[j]
            if unordered[j]:
                n_out = 0
                for level in range(n_values[j]):
                    n_out += not allowed[first_level[j] + level]
                for level in range(n_values[j]):
                    if allowed[first_level[j] + level]:
                        continue
                    m, s = cells[begin[j] + level, 0], cells[begin[j] + level, 1]
                    if n_out == 1:
                        m, s = m + cells[missing, 0], s + cells[missing, 1]
                    if m == 0:
                        continue
                    value = (total + s) / (mass + m)
                    if value > best or (value == best and m > most):
                        best, most, feature, what, place, opens = value, m, j, LEVEL, level, n_out == 1
                continue
            for side in (LOW, HIGH):
                if side == LOW:
                    end, step, from_ = begin[j], -1, begin[j] + low[j] - 1
                    other_open = high[j] == n_values[j] - 1
                else:
                    end, step, from_ = missing - 1, 1, begin[j] + high[j] + 1
                    other_open = low[j] == 0
                cell, m, s = _walk(cells, blocks, from_, end, step, need, 0, 0)
                edge = _middle(cells, blocks, cell, end, step)
                whole = edge == end and other_open
                if whole:
                    m, s = m + cells[missing, 0], s + cells[missing, 1]
                if m == 0:
                    continue
                value = (total + s) / (mass + m)
                if value > best or (value == best and m > most):
                    best, most, feature, what, place, opens = value, m, j, side, edge - begin[j], whole
        if feature < 0:
            break
        if what == LEVEL:
            allowed[first_level[feature] + place] = True
        elif what == LOW:
            low[feature] = place
        else:
            high[feature] = place
        open_[feature] = opens
        steps[n_steps] = feature, what, place
        n_steps += 1
        if n_steps == len(steps):
            steps, sums = _grown(steps), _grown(sums)
    return steps[:n_steps].copy(), sums[: n_steps + 1].copy()


@inner
def _gain(  # type: ignore[no-untyped-def]
    criterion, mass, total, more, more_total, base, positives, n_saved, price, before
):
    return _value(criterion, mass + more, total + more_total, base, positives) + n_saved * price - before


@kernel
def loosen(  # type: ignore[no-untyped-def]
    codes, weight, rows, n_values, unordered, first_level, low, high, allowed, open_,
    criterion, base, positives, earlier, price,
):  # fmt: skip
    """Open whole sides of a box, the best one first, while the criterion loses less than their price.

    ``earlier`` is the weight and target that other boxes hold: the criterion is that of the union. A side
    moves to the end of its feature, or both do; a set of levels opens as a whole. Changes the box in place;
    returns (feature, lower side opened, upper side opened) and sums.
    """
    d = len(codes)
    sole = np.empty(len(rows), np.int64)
    out = np.empty((d, 3, 2), np.int64)  # rows that a feature alone keeps out: below, above, missing
    steps, sums = np.empty((2 * d + 1, 3), np.int64), np.empty((2 * d + 2, 2), np.int64)
    n_steps = 0
    while True:
        _sole_violations(codes, rows, n_values, unordered, first_level, low, high, allowed, open_, sole)
        out[:] = 0
        mass, total = np.int64(0), np.int64(0)
        for i in range(len(rows)):
            row, j = rows[i], sole[i]
            if j == -1:
                mass += weight[row, 0]
                total += weight[row, 1]
            elif j >= 0:
                code = codes[j, row]
                kind = 2 if code == n_values[j] else 0 if unordered[j] or code < low[j] else 1
                out[j, kind, 0] += weight[row, 0]
                out[j, kind, 1] += weight[row, 1]
        sums[n_steps] = mass, total
        m, s = mass + earlier[0], total + earlier[1]
        before = _value(criterion, m, s, base, positives)
        best, feature, opens_low, opens_high = 1e-12, -1, False, False
        for j in range(d):
            if open_[j]:
                continue
            closed_low = not unordered[j] and low[j] > 0
            closed_high = not unordered[j] and high[j] < n_values[j] - 1
            for lower, upper in ((True, False), (False, True), (True, True)):
                whole = (lower or not closed_low) and (upper or not closed_high)
                n_saved = (lower and closed_low) + (upper and closed_high)
                if not (closed_low or closed_high):  # a set of levels, or a bound that keeps out missing ones
                    n_saved = int(lower and upper)
                if n_saved == 0:
                    continue
                more = lower * out[j, 0, 0] + upper * out[j, 1, 0] + whole * out[j, 2, 0]
                more_total = lower * out[j, 0, 1] + upper * out[j, 1, 1] + whole * out[j, 2, 1]
                gain = _gain(criterion, m, s, more, more_total, base, positives, n_saved, price, before)
                if gain > best:
                    best, feature, opens_low, opens_high = gain, j, lower, upper
        if feature < 0:
            break
        if unordered[feature]:
            allowed[first_level[feature] : first_level[feature] + n_values[feature]] = True
        if opens_low:
            low[feature] = 0
        if opens_high:
            high[feature] = n_values[feature] - 1
        open_[feature] = low[feature] == 0 and high[feature] == n_values[feature] - 1
        steps[n_steps] = feature, int(opens_low), int(opens_high)
        n_steps += 1
    return steps[:n_steps].copy(), sums[: n_steps + 1].copy()


@inner
def _is_out(code, low, high):  # type: ignore[no-untyped-def]
    """Tell whether an interval keeps a cell out; the cell of missing values lies above all intervals."""
    return code < low or code > high


@inner
def _centred(column, rows, n_out, n_values, low, high):  # type: ignore[no-untyped-def]
    """Where the bounds of one feature lie in the middle; ``n_out`` features keep each row out."""
    below, first, last, above = np.int64(-1), n_values, np.int64(-1), n_values
    for i in range(len(rows)):
        code = np.int64(column[rows[i]])
        if n_out[i] > _is_out(code, low, high):
            continue  # another feature keeps it out
        if code < low:
            below = max(below, code)
        elif code > high:
            above = min(above, code)
        else:
            first, last = min(first, code), max(last, code)
    if first <= last and below >= 0:
        low = first - (first - below - 1) // 2
    if first <= last and above < n_values:
        high = last + (above - last - 1) // 2
    return low, high


@kernel
def centre(  # type: ignore[no-untyped-def]
    codes, rows, order, n_values, unordered, first_level, low, high, allowed, open_, most_sweeps
):
    """Move each bound to the middle between the rows that it separates.

    These are the outermost row in the box and the nearest one that no other feature keeps out; rows in
    between have no say, for something else decides about them. One feature of ``order``, which are those
    that the box restricts, after the other, so that no row enters or leaves. Changes the box in place.
    """
    n_out = np.zeros(len(rows), np.int32)  # features that keep each row out
    for j in order:
        column = codes[j]
        for i in range(len(rows)):
            n_out[i] += not _holds(
                column[rows[i]], n_values[j], unordered[j], first_level[j], low[j], high[j], allowed, open_[j]
            )
    for _ in range(most_sweeps):
        moved = False
        for j in order:
            if unordered[j]:
                continue
            column = codes[j]
            new_low, new_high = _centred(column, rows, n_out, n_values[j], low[j], high[j])
            if new_low == low[j] and new_high == high[j]:
                continue
            moved = True
            for i in range(len(rows)):
                code = column[rows[i]]
                n_out[i] -= _is_out(code, low[j], high[j])
                n_out[i] += _is_out(code, new_low, new_high)
            low[j], high[j] = new_low, new_high
        if not moved:
            break


@kernel
def hash_rows(codes, rows, seed, out):  # type: ignore[no-untyped-def]
    """Give rows numbers that look random but depend on their ranks alone, columns in any order."""
    for i in range(len(rows)):
        h = np.uint64(0)
        for j in range(len(codes)):
            h += mix(np.uint64(codes[j, rows[i]]) ^ np.uint64(seed))
        out[i] = mix(h)
