"""Search among crisp boxes on binned data: exact moves on a penalised F1.

Boxes are intervals of bin codes, ``first <= code <= last``. An unrestricted feature has first 0 and
last ``MISSING``, the code of a missing value, so that only it admits one.

The objective is the F1 score less what conditions and boxes cost, in rows put right:

    J = F - price / (2 P),    F = 2 TP / (TP + FP + P),
    price = condition_price * conditions + box_price * boxes,

P the weight of the positives. A change raises F exactly if 2 dTP - F (dTP + dFP) > 0: with F fixed, every
positive is worth 2 - F and every negative costs F, and the best interval of one feature, all else
fixed, is a maximum-sum interval over its bins (Dinkelbach's method around Kadane's scan). With prices, F
there becomes the F1 that an interval of so many conditions must reach to raise J, so an interval that
raises J is found whenever there is one. Each proposal is then judged by J itself: no move lowers it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._compile import bare_inner, bare_kernel
from ._helper import shared
from .random import draw

Codes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MISSING = 255
#: Gains of the objective below this are rounding errors of summed weights.
SMALLEST_GAIN = 1e-10


@bare_inner
def _as_codes(low, high):  # type: ignore[no-untyped-def]
    """Give an interval as bytes, of which a processor compares many at a time; a crossed one holds none."""
    if low > high:
        return np.uint8(1), np.uint8(0)
    return np.uint8(low), np.uint8(high)


@shared
@bare_kernel
def count_violations(columns, first, last, violations, cover):  # type: ignore[no-untyped-def]
    """Count for every box and row the violated features, and for every row the boxes that hold it."""
    n = columns.shape[1]
    cover[:] = 0
    for k in range(len(first)):
        counts = violations[k]
        counts[:] = 0
        for j in range(len(columns)):
            if first[k, j] == 0 and last[k, j] == MISSING:
                continue
            low, high = _as_codes(first[k, j], last[k, j])
            x = columns[j]
            for i in range(n):
                counts[i] += np.int16((x[i] < low) | (x[i] > high))
        for i in range(n):
            cover[i] += np.int16(counts[i] == 0)


@bare_inner
def _price_of(low, high, n_bins, categorical):  # type: ignore[no-untyped-def]
    """Count the conditions of one feature."""
    if low == 0 and high == MISSING:
        return 0
    if categorical:
        return 1
    return max(int(low > 0) + int(high < n_bins - 1), 1)


@bare_inner
def _covered_weight(cover, positive, weight):  # type: ignore[no-untyped-def]
    true, false = 0.0, 0.0
    for i in range(len(cover)):
        if cover[i] > 0:
            if positive[i]:
                true += weight[i]
            else:
                false += weight[i]
    return true, false


@bare_inner
def _total_weight(positive, weight):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(positive)):
        if positive[i]:
            total += weight[i]
    return total


@bare_inner
def _value(true, false, total, price):  # type: ignore[no-untyped-def]
    """Give the objective J."""
    return 2 * true / (true + false + total) - price / (2 * total)


def count_conditions(first: Ints, last: Ints, n_bins: Ints, categorical: Bools) -> Ints:
    """Count the conditions of each box; one that asks for a value of any size is one too."""
    closed = np.maximum((first > 0).astype(np.int64) + (last < n_bins - 1), 1)
    asked = np.where((first == 0) & (last == MISSING), 0, np.where(categorical, 1, closed))
    return np.asarray(asked.sum(axis=1), dtype=np.int64)


@shared
@bare_kernel
def _judge(violations, cover, positive, weight, price, saved, worth):  # type: ignore[no-untyped-def]
    """Give the objective and the plain F1; ``worth`` gets what the first of these loses without each box.

    ``saved`` is what is not paid then. Of no boxes at all, nothing is told but the objective.
    """
    true, false = _covered_weight(cover, positive, weight)
    total = _total_weight(positive, weight)
    value = _value(true, false, total, price)
    for k in range(len(worth)):
        less_true, less_false = 0.0, 0.0
        for i in range(len(cover)):
            if violations[k, i] == 0 and cover[i] == 1:
                if positive[i]:
                    less_true += weight[i]
                else:
                    less_false += weight[i]
        worth[k] = value - _value(true - less_true, false - less_false, total, price - saved[k])
    return value, _value(true, false, total, 0.0)


def _counts(
    columns: Codes, n_bins: Ints, categorical: Bools, first: Ints, last: Ints
) -> tuple[Ints, NDArray[np.int16], NDArray[np.int16]]:
    """Count conditions, violations and cover: arrays made in a kernel take long to compile."""
    n_boxes, n = len(first), columns.shape[1]
    violations, cover = np.empty((n_boxes, n), np.int16), np.empty(n, np.int16)
    count_violations(columns, first, last, violations, cover)
    return count_conditions(first, last, n_bins, categorical), violations, cover


def objective(
    columns: Codes, positive: Bools, weight: Floats, n_bins: Ints, categorical: Bools, first: Ints,
    last: Ints, condition_price: float, box_price: float,
) -> tuple[float, float]:  # fmt: skip
    """Give the objective of a union of boxes, and its plain F1."""
    conditions, violations, cover = _counts(columns, n_bins, categorical, first, last)
    price = condition_price * int(conditions.sum()) + box_price * len(first)
    penalised, plain = _judge(violations, cover, positive, weight, price, np.empty(0), np.empty(0))
    return penalised, plain


def worth_of_boxes(
    columns: Codes, positive: Bools, weight: Floats, n_bins: Ints, categorical: Bools, first: Ints,
    last: Ints, condition_price: float, box_price: float,
) -> Floats:  # fmt: skip
    """Give what the objective would lose without each box."""
    conditions, violations, cover = _counts(columns, n_bins, categorical, first, last)
    price = condition_price * int(conditions.sum()) + box_price * len(first)
    worth = np.empty(len(first))
    _judge(violations, cover, positive, weight, price, condition_price * conditions + box_price, worth)
    return worth


def marks_of(n: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.int32]]:
    """Make a mark for each of n rows, none set, the same memory as words of eight, and room to list rows."""
    words = np.zeros(-(-n // 8), np.uint64)
    return words.view(np.uint8), words, np.empty(n + 1, np.int32)


@bare_inner
def _list_marked(marks, words, listed):  # type: ignore[no-untyped-def]
    """List the marked rows and give their number, without a branch on any single mark."""
    n = 0
    for word in range(len(words)):
        if words[word] != 0:
            for i in range(8 * word, 8 * word + 8):
                listed[n] = i
                n += marks[i]
    return n


@bare_inner
def _histogram(  # type: ignore[no-untyped-def]
    rows, first, last, violations, cover, positive, weight, gain, loss, marks, words, listed
):
    """Sum, by feature and bin, the rows that only this box could decide.

    A row counts if no other box holds it and this box holds it, or misses it by one feature: then
    moving that feature's interval decides about it. Few do: they are marked first, many rows at a time, and
    listed; see ``marks_of``.
    """
    gain[:] = 0
    loss[:] = 0
    d = rows.shape[1]
    for i in range(len(rows)):
        marks[i] = np.uint8(violations[i] + cover[i] == 1)
    for r in range(_list_marked(marks, words, listed)):
        i = listed[r]
        target = gain if positive[i] else loss
        if violations[i] == 0:
            for j in range(d):
                target[j, rows[i, j]] += weight[i]
        else:
            for j in range(d):
                x = rows[i, j]
                if x < first[j] or x > last[j]:
                    target[j, x] += weight[i]
                    break


@bare_inner
def _best_interval(  # type: ignore[no-untyped-def]
    gain, loss, n_bins, needed, price, size, categorical, may_low, may_high, may_ask, required, allowance
):
    """Best interval of one feature: (value, first, last, gain, loss), the last two summed over it.

    An interval of c conditions that sums to (G, L) has the value 2 G - (needed + c price) (G + L + size):
    ``needed`` is the F1 that the boxes must reach if the feature is open, ``price`` what a condition adds
    to it, ``size`` is TP + FP + P without this feature's rows. ``allowance`` is how many conditions the
    feature may have; the four kinds of interval (open, closed below, above, on both sides) are compared and,
    if it ``may_ask``, that there is a value or that there is none.
    """
    total_gain, total_loss = 0.0, 0.0
    for b in range(n_bins):
        total_gain += gain[b]
        total_loss += loss[b]
    best, low, high, best_gain, best_loss = -np.inf, 0, MISSING, 0.0, 0.0
    if not required:
        best_gain, best_loss = total_gain + gain[MISSING], total_loss + loss[MISSING]
        best = 2 * best_gain - needed * (best_gain + best_loss + size)
    if allowance < 1:
        return best, low, high, best_gain, best_loss
    one = needed + price
    if may_ask:  # that there is a value, whatever it is
        value = 2 * total_gain - one * (total_gain + total_loss + size)
        if value > best:
            best, low, high, best_gain, best_loss = value, 0, n_bins - 1, total_gain, total_loss
        g, m = gain[MISSING], loss[MISSING]  # or that there is none
        value = 2 * g - one * (g + m + size)
        if value > best:
            best, low, high, best_gain, best_loss = value, MISSING, MISSING, g, m
    if n_bins < 2:
        return best, low, high, best_gain, best_loss
    # Closed on both sides costs one condition only for a set of categories.
    both = one if categorical else needed + 2 * price
    both_allowed = may_low and may_high and (categorical or allowance >= 2)
    before_gain, before_loss = 0.0, 0.0  # sums of the bins before b
    least, least_at, least_gain, least_loss = np.inf, 0, 0.0, 0.0  # the worst such sum to leave out
    empty_before = False
    for b in range(n_bins):
        empty = gain[b] == 0 and loss[b] == 0
        if empty and empty_before and b > 1:  # the same sums as at the bin before
            continue
        empty_before = empty
        if b > 0:
            if may_low:
                g, m = total_gain - before_gain, total_loss - before_loss
                value = 2 * g - one * (g + m + size)
                if value > best:
                    best, low, high, best_gain, best_loss = value, b, n_bins - 1, g, m
            before = 2 * before_gain - both * (before_gain + before_loss)
            if before < least:
                least, least_at, least_gain, least_loss = before, b, before_gain, before_loss
        before_gain += gain[b]
        before_loss += loss[b]
        if b < n_bins - 1:
            if may_high:
                value = 2 * before_gain - one * (before_gain + before_loss + size)
                if value > best:
                    best, low, high, best_gain, best_loss = value, 0, b, before_gain, before_loss
            if both_allowed and b > 0:
                value = 2 * before_gain - both * (before_gain + before_loss + size) - least
                if value > best:
                    best, low, high = value, least_at, b
                    best_gain, best_loss = before_gain - least_gain, before_loss - least_loss
    return best, low, high, best_gain, best_loss


@bare_inner
def _centre_in_gap(gain, loss, n_bins, low, high):  # type: ignore[no-untyped-def]
    """Move each closed side to the middle of the empty bins around it."""
    if low > 0:
        least, most = low, low
        while least > 1 and gain[least - 1] == 0 and loss[least - 1] == 0:
            least -= 1
        while most < min(high, n_bins - 1) and gain[most] == 0 and loss[most] == 0:
            most += 1
        low = (least + most + 1) // 2
    if high < n_bins - 1:
        least, most = high, high
        while least > low and gain[least] == 0 and loss[least] == 0:
            least -= 1
        while most < n_bins - 2 and gain[most + 1] == 0 and loss[most + 1] == 0:
            most += 1
        high = (least + most) // 2
    return low, high


@bare_inner
def _move(  # type: ignore[no-untyped-def]
    rows, column, feature, low, high, first, last, violations, cover, positive, weight, gain, loss,
    marks, words, listed,
):  # fmt: skip
    """Give a feature of a box a new interval; keep counts and histograms true. Return (dTP, dFP)."""
    d = rows.shape[1]
    true, false = 0.0, 0.0
    old, old_end = _as_codes(first[feature], last[feature])
    new, new_end = _as_codes(low, high)
    first[feature], last[feature] = low, high
    for i in range(len(column)):
        x = column[i]
        marks[i] = np.uint8((x < old) | (x > old_end)) ^ np.uint8((x < new) | (x > new_end))
    for r in range(_list_marked(marks, words, listed)):
        i = listed[r]
        w = weight[i]
        target = gain if positive[i] else loss
        if column[i] < new or column[i] > new_end:
            if violations[i] == 0:
                if cover[i] == 1:  # this box alone decides it: from now on it misses the row by this feature
                    for j in range(d):
                        if j != feature:
                            target[j, rows[i, j]] -= w
                    if positive[i]:
                        true -= w
                    else:
                        false -= w
                cover[i] -= 1
            elif violations[i] == 1 and cover[i] == 0:
                for j in range(d):
                    if j != feature and (rows[i, j] < first[j] or rows[i, j] > last[j]):
                        target[j, rows[i, j]] -= w
                        break
            violations[i] += 1
        else:
            violations[i] -= 1
            if violations[i] == 0:
                if cover[i] == 0:
                    for j in range(d):
                        if j != feature:
                            target[j, rows[i, j]] += w
                    if positive[i]:
                        true += w
                    else:
                        false += w
                cover[i] += 1
            elif violations[i] == 1 and cover[i] == 0:
                for j in range(d):
                    if rows[i, j] < first[j] or rows[i, j] > last[j]:
                        target[j, rows[i, j]] += w
                        break
    return true, false


@shared
@bare_kernel
def _polish(  # type: ignore[no-untyped-def]
    rows, columns, positive, weight, n_bins, categorical, may_low, may_high, may_ask, required,
    max_conditions, condition_price, box_price, first, last, max_sweeps, max_moves, state,
    conditions, violations, cover, gain, loss, order, settled, marks, words, listed,
):  # fmt: skip
    d = rows.shape[1]
    n_boxes = len(first)
    total = _total_weight(positive, weight)
    n_conditions = np.int64(0)
    for k in range(n_boxes):
        n_conditions += conditions[k]
    condition_unit = condition_price / (2 * total)
    n_moves = 0
    for _ in range(max_sweeps):
        true, false = _covered_weight(cover, positive, weight)
        for r in range(n_boxes - 1, 0, -1):
            s = draw(state, r + 1)
            order[r], order[s] = order[s], order[r]
        earlier_moves = n_moves
        for k in order:
            if settled[k] == n_moves:
                continue
            _histogram(
                rows, first[k], last[k], violations[k], cover, positive, weight, gain, loss,
                marks, words, listed,
            )  # fmt: skip
            # Rows that only this box holds: inside it, so every feature's interval sums to them.
            own_true, own_false = 0.0, 0.0
            for b in range(first[k, 0], last[k, 0] + 1):
                own_true += gain[0, b]
                own_false += loss[0, b]
            for _ in range(max_moves):
                price = condition_price * n_conditions + box_price * n_boxes
                value = _value(true, false, total, price)
                f1 = _value(true, false, total, 0.0)
                size = true - own_true + false - own_false + total
                # Literals would have the functions that take them compiled twice.
                best, feature, low, high = SMALLEST_GAIN, np.int64(-1), np.int64(0), np.int64(MISSING)
                forced = False
                over = conditions[k] > max_conditions
                for j in range(d):
                    held = _price_of(first[k, j], last[k, j], n_bins[j], categorical[j])
                    must = over or (required[j] and held == 0)
                    allowance = max_conditions - (conditions[k] - held)
                    if must:  # where there is no room for a required one, another goes next
                        allowance = max(allowance, 1)
                    if over:  # one condition less, wherever it hurts least
                        if held == 0:
                            continue
                        allowance = held - 1
                    proposed, a, b, new_true, new_false = _best_interval(
                        gain[j], loss[j], n_bins[j], f1 - held * condition_unit, condition_unit, size,
                        categorical[j], may_low[j], may_high[j], may_ask[j], required[j], allowance,
                    )  # fmt: skip
                    if proposed == -np.inf:
                        continue
                    more_price = condition_price * (_price_of(a, b, n_bins[j], categorical[j]) - held)
                    change = (
                        _value(
                            true - own_true + new_true, false - own_false + new_false,
                            total, price + more_price,
                        )
                        - value
                    )  # fmt: skip
                    if (must and not forced) or ((must or not forced) and change > best):
                        best, feature, low, high = change, j, a, b  # type: ignore[assignment]
                        forced = forced or must
                if feature < 0:
                    settled[k] = n_moves
                    break
                if high != MISSING and not categorical[feature]:
                    low, high = _centre_in_gap(gain[feature], loss[feature], n_bins[feature], low, high)
                fewer = _price_of(first[k, feature], last[k, feature], n_bins[feature], categorical[feature])
                more_true, more_false = _move(
                    rows, columns[feature], feature, low, high, first[k], last[k], violations[k], cover,
                    positive, weight, gain, loss, marks, words, listed,
                )  # fmt: skip
                more = _price_of(low, high, n_bins[feature], categorical[feature]) - fewer
                conditions[k] += more
                n_conditions += more
                true, own_true = true + more_true, own_true + more_true
                false, own_false = false + more_false, own_false + more_false
                n_moves += 1
        if n_moves == earlier_moves:
            break
    true, false = _covered_weight(cover, positive, weight)
    return _value(true, false, total, condition_price * n_conditions + box_price * n_boxes)


def polish(
    rows: Codes, columns: Codes, positive: Bools, weight: Floats, n_bins: Ints, categorical: Bools,
    may_low: Bools, may_high: Bools, may_ask: Bools, required: Bools, max_conditions: int,
    condition_price: float, box_price: float, first: Ints, last: Ints, max_sweeps: int, max_moves: int,
    seed: int,
) -> float:  # fmt: skip
    """Move one feature of one box at a time to its best interval until no move raises the objective.

    Changes ``first`` and ``last`` in place; returns the penalised F1. A box over its allowance of
    conditions, or that lacks a required one, is brought in line first, at the least loss.
    """
    d, n_boxes = rows.shape[1], len(first)
    gain, loss = np.empty((d, MISSING + 1)), np.empty((d, MISSING + 1))
    settled = np.full(n_boxes, -1)  # how many moves there had been when a box last had none to make
    value: float = _polish(
        rows, columns, positive, weight, n_bins, categorical, may_low, may_high, may_ask, required,
        max_conditions, condition_price, box_price, first, last, max_sweeps, max_moves,
        np.array([seed], np.uint64),
        *_counts(columns, n_bins, categorical, first, last), gain, loss, np.arange(n_boxes), settled,
        *marks_of(len(rows)),
    )  # fmt: skip
    return value


@bare_inner
def _list_rows(inside, start, held):  # type: ignore[no-untyped-def]
    """List the rows of each box: box k holds ``held[start[k] : start[k + 1]]``."""
    n_boxes, n = inside.shape
    r = 0
    for k in range(n_boxes):
        start[k] = r
        for i in range(n):
            if inside[k, i]:
                held[r] = i
                r += 1
    start[n_boxes] = r


@shared
@bare_kernel
def _select(  # type: ignore[no-untyped-def]
    inside, positive, weight, price, max_boxes, max_swaps, chosen, cover, start, held
):
    _list_rows(inside, start, held)
    n_boxes, n_chosen = len(chosen), 0
    true, false, paid = 0.0, 0.0, 0.0
    total = _total_weight(positive, weight)
    for step in range(max_boxes + max_swaps):
        taken = -1
        if n_chosen >= max_boxes or step >= max_boxes:
            best = -np.inf
            for k in range(n_boxes):
                if chosen[k]:
                    less_true, less_false = 0.0, 0.0
                    for i in held[start[k] : start[k + 1]]:
                        if cover[i] == 1:
                            if positive[i]:
                                less_true += weight[i]
                            else:
                                less_false += weight[i]
                    value = _value(true - less_true, false - less_false, total, paid - price[k])
                    if value > best:
                        best, taken = value, k
            if taken < 0:
                break
            chosen[taken] = False
            n_chosen -= 1
            paid -= price[taken]
            for i in held[start[taken] : start[taken + 1]]:
                cover[i] -= 1
                if cover[i] == 0:
                    if positive[i]:
                        true -= weight[i]
                    else:
                        false -= weight[i]
        best, put = _value(true, false, total, paid) + SMALLEST_GAIN, -1
        for k in range(n_boxes):
            if chosen[k]:
                continue
            more_true, more_false = 0.0, 0.0
            for i in held[start[k] : start[k + 1]]:
                if cover[i] == 0:
                    if positive[i]:
                        more_true += weight[i]
                    else:
                        more_false += weight[i]
            value = _value(true + more_true, false + more_false, total, paid + price[k])
            if value > best:
                best, put = value, k
        if put >= 0:
            chosen[put] = True
            n_chosen += 1
            paid += price[put]
            for i in held[start[put] : start[put + 1]]:
                if cover[i] == 0:
                    if positive[i]:
                        true += weight[i]
                    else:
                        false += weight[i]
                cover[i] += 1
        if put == taken:
            break


def select(
    inside: Bools, positive: Bools, weight: Floats, price: Floats, max_boxes: int, max_swaps: int
) -> Bools:
    """Choose at most ``max_boxes`` boxes greedily by the objective, then swap while that helps.

    ``inside`` has shape (n_boxes, n); ``price`` is what each box costs. A swap takes out the box that
    is missed least and puts in the best one.
    """
    n_boxes, n = inside.shape
    chosen, cover = np.zeros(n_boxes, np.bool_), np.zeros(n, np.int16)
    start, held = np.empty(n_boxes + 1, np.int64), np.empty(np.count_nonzero(inside), np.int32)
    _select(inside, positive, weight, price, max_boxes, max_swaps, chosen, cover, start, held)
    return chosen
