"""Fuzzy min-max boxes: the one loop of the family, and the search for the box of highest membership.

Boxes lie on shelves: up to ``SHELF`` boxes of one class, side by side in memory, with an outer box around
them. What the outer box rules out, by distance or because it does not meet, need not be asked of the boxes
on it. A full shelf is split in two along its longest side, so boxes that are near one another stay together.

A shelf is stored feature by feature: the lower bounds of its boxes in one feature, then in the next. So a row
is compared with all of them at once, in the processor's vectors. Outer boxes are stored alike, ``SHELF`` of
them together.

Everything is in table units. Instead of scaling rows, a gap between a row and a box is multiplied by the
feature's ``slope``, its sensitivity over its range. So a deficit of zero means contained, to the last bit.

A deficit is one minus the membership (times twice the number of features where the membership is an average):
it starts at zero and only grows from feature to feature, so a box is given up as soon as it is worse than the
best so far. All sums run over features in the same order, and rounding is monotone: the deficit of an outer
box is never above that of a box inside it.

Rows are intervals, mostly of no length. A missing cell is the interval from +inf to -inf, which lies inside
everything; a feature that no row of a box knows is open, -inf to +inf, and says nothing against any row.

Loops over boxes are inside ``_scan``, ``_meeting`` and ``_rule_out_wide``, and are called for a whole shelf:
handing an array to a compiled function takes longer than comparing a row with a box. They look at all slots
of a shelf, used or not, and take every path without a branch; what they add for a slot that does not count
is put out of reach before or after.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import bare_inner, bare_kernel

#: Boxes on a shelf.
SHELF = 32
#: Features after which a scan asks whether any box of a shelf is still in question.
STRIDE = 4
#: Places in ``Shelves.state``: shelves in use, boxes ever made, boxes made or moved.
USED, BORN, CHANGED = 0, 1, 2
#: How overlap with another class is settled.
NO_CONTRACTION, FOUR_CASES, NINE_CASES = 0, 1, 2
#: How near two boxes are: by the gap between them, by what sticks out, by their far sides.
SHORT, MID, LONG = 0, 1, 2
NOBODY = np.iinfo(np.int64).max


class Shelves(NamedTuple):
    """Boxes by class; box k of shelf s is in slot ``s * SHELF + k``.

    Its bounds in feature j are ``lower[s, j, k]`` and ``upper[s, j, k]``; the outer box of shelf s is stored
    likewise, as if it were in slot s. Among boxes of equal membership the one of the lowest ``rank`` wins.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    rank: NDArray[np.int64]
    weight: NDArray[np.float64]
    outer_lower: NDArray[np.float64]
    outer_upper: NDArray[np.float64]
    label: NDArray[np.int64]
    size: NDArray[np.int64]
    state: NDArray[np.int64]


class Measure(NamedTuple):
    """How distances count: ``slope`` per unit of a gap, up to ``cap`` for a side; ``unit`` is one over range.

    ``average`` adds the features up, as Simpson does; else the worst one counts, as in general FMM. Features
    need not lie as in the table: ``column`` tells where each comes from.
    """

    average: bool
    slope: NDArray[np.float64]
    cap: NDArray[np.float64]
    unit: NDArray[np.float64]
    column: NDArray[np.int64]


class Rules(NamedTuple):
    """What a variant does with a row that no box of its class contains.

    ``max_width`` bounds the sum of a box's widths if ``total_width``, else each of them. The box of highest
    membership is asked to take the row, or, unless ``winner_only``, the next ones after it. ``contraction``
    is what happens to overlap with another class; without contraction such a box may not take the row.
    ``founds`` tells whether a row that no box may take becomes one.
    """

    max_width: float
    total_width: bool
    winner_only: bool
    contraction: int
    founds: bool


# -- deficits --------------------------------------------------------------------------------------


@bare_inner
def _scan(measure, low, high, lower, upper, s, limit, out):  # type: ignore[no-untyped-def]
    """Add one minus the membership of a row in each box of shelf s to ``out``.

    There, it is zero for boxes that count and infinite for others; beyond ``limit`` it is a lower bound.

    Average (Simpson 1992, eq. 3): the sum over sides, that is 2 d times one minus the mean.
    Else (Gabrys & Bargiela 2000, eq. 6): the largest over sides.
    """
    average, slope, cap = measure.average, measure.slope, measure.cap
    n_features = len(slope)
    point = True  # then a box is violated on one side at most
    if average:
        for j in range(n_features):
            point &= not low[j] < high[j]
    for begin in range(0, n_features, STRIDE):
        for j in range(begin, min(begin + STRIDE, n_features)):
            down, up, steep, most = low[j], high[j], slope[j], cap[j]
            # NaN, of an infinite cell in an open feature, is no gap: it fails every comparison.
            if not average:
                for k in range(SHELF):
                    gap = steep * _larger(_larger(up - upper[s, j, k], lower[s, j, k] - down), 0.0)
                    out[k] = _larger(gap if gap < most else most, out[k])
            elif point:
                for k in range(SHELF):
                    gap = steep * _larger(_larger(up - upper[s, j, k], lower[s, j, k] - down), 0.0)
                    out[k] += gap if gap < most else most
            else:
                for k in range(SHELF):
                    above = steep * _larger(up - upper[s, j, k], 0.0)
                    below = steep * _larger(lower[s, j, k] - down, 0.0)
                    out[k] += above if above < most else most
                    out[k] += below if below < most else most
        if not _any_within(limit, out):
            break


@bare_inner
def _any_within(limit, deficits):  # type: ignore[no-untyped-def]
    """Tell whether any box of a shelf is still in question."""
    count = 0.0  # a float: numbers of one kind fill the processor's vectors
    for k in range(SHELF):
        count += 1.0 if deficits[k] <= limit else 0.0
    return count > 0


@bare_inner
def _larger(a, b):  # type: ignore[no-untyped-def]
    """Give the larger number, the second if either is NaN, as one instruction does."""
    return a if a > b else b


@bare_inner
def _dissimilarity(measure, similarity, low, high, lower, upper, limit):  # type: ignore[no-untyped-def]
    """Give one minus the similarity of two boxes (Gabrys 2002, eqs. 5-8), or something above ``limit``.

    SHORT: the gap between them. LONG: from each one's near side to the other's far side. MID: what sticks out
    of one over the other, the smaller of both ways.
    """
    slope = measure.slope
    here = there = 0.0
    for j in range(len(low)):
        if np.isinf(low[j]) or np.isinf(lower[j]):  # nothing known on one side, nothing against it
            continue
        if similarity == SHORT:
            here = max(here, slope[j] * max(low[j] - upper[j], lower[j] - high[j]))
            there = here
        elif similarity == LONG:
            here = max(here, slope[j] * max(upper[j] - low[j], high[j] - lower[j]))
            there = here
        else:
            here = max(here, slope[j] * max(high[j] - upper[j], lower[j] - low[j]))
            there = max(there, slope[j] * max(upper[j] - high[j], low[j] - lower[j]))
        if min(here, there) > limit:
            break
    return min(here, there, 1.0)


# -- boxes: growing, meeting, contracting ----------------------------------------------------------


@bare_inner
def _stretch(low, high, lower, upper, to_lower, to_upper):  # type: ignore[no-untyped-def]
    """Write the box around a box and a row; an open feature becomes what the row knows of it."""
    for j in range(len(low)):
        if np.isinf(lower[j]):
            known = low[j] <= high[j]
            to_lower[j] = low[j] if known else -np.inf
            to_upper[j] = high[j] if known else np.inf
        elif np.isinf(low[j]):
            to_lower[j], to_upper[j] = lower[j], upper[j]
        else:
            to_lower[j], to_upper[j] = min(lower[j], low[j]), max(upper[j], high[j])


@bare_inner
def _tells_more(low, lower):  # type: ignore[no-untyped-def]
    """Tell whether a row knows a feature that a box knows nothing of."""
    more = False
    for j in range(len(low)):
        more |= np.isinf(lower[j]) and not np.isinf(low[j])
    return more


@bare_inner
def _fits(rules, unit, lower, upper):  # type: ignore[no-untyped-def]
    """Tell whether a box is no wider than allowed, in shares of the features' ranges."""
    total = 0.0
    for j in range(len(lower)):
        if np.isinf(lower[j]):
            continue
        width = (upper[j] - lower[j]) * unit[j]
        if rules.total_width:
            total += width
        elif width > rules.max_width:
            return False
    return total <= len(lower) * rules.max_width


@bare_inner
def _meeting(lower, upper, others_lower, others_upper, s, apart):  # type: ignore[no-untyped-def]
    """Mark, in ``apart``, the boxes of shelf s that a box does not meet; tell whether it meets others."""
    n_features = len(lower)
    for begin in range(0, n_features, STRIDE):
        for j in range(begin, min(begin + STRIDE, n_features)):
            down, up = lower[j], upper[j]
            for k in range(SHELF):
                apart[k] |= np.int64(down > others_upper[s, j, k]) | np.int64(others_lower[s, j, k] > up)
        met = SHELF
        for k in range(SHELF):
            met -= apart[k]
        if met == 0:
            return False
    return True


@bare_inner
def _meeting_shelves(lower, upper, label, shelves, apart, near):  # type: ignore[no-untyped-def]
    """List and count the shelves, but for those of class ``label``, whose outer box meets a box."""
    used, found = shelves.state[USED], 0
    for begin in range(0, used, SHELF):
        for k in range(SHELF):
            apart[k] = begin + k >= used or shelves.label[begin + k] == label
        if _meeting(lower, upper, shelves.outer_lower, shelves.outer_upper, begin // SHELF, apart):
            for k in range(SHELF):
                if not apart[k]:
                    near[found] = begin + k
                    found += 1
    return found


@bare_inner
def _meeting_on(s, lower, upper, shelves, apart):  # type: ignore[no-untyped-def]
    """Mark the slots of a shelf without a box that meets a box; tell whether there are others."""
    for k in range(SHELF):
        apart[k] = k >= shelves.size[s]
    return _meeting(lower, upper, shelves.lower, shelves.upper, s, apart)


@bare_inner
def _meets_another(lower, upper, label, shelves, scratch):  # type: ignore[no-untyped-def]
    """Tell whether a box meets any box of another class.

    What was in the way of one box is often in the way of the next, so that shelf is asked first.
    """
    last = scratch.blocker[0]
    asked = last >= 0 and shelves.label[last] != label
    if asked and _meeting_on(last, lower, upper, shelves, scratch.apart):
        return True
    n_near = _meeting_shelves(lower, upper, label, shelves, scratch.apart, scratch.near)
    for s in scratch.near[:n_near]:
        if _meeting_on(s, lower, upper, shelves, scratch.apart):
            scratch.blocker[0] = s
            return True
    return False


@bare_inner
def _case(v, w, other_v, other_w, contraction):  # type: ignore[no-untyped-def]
    """Give the case of overlap along one feature (0 for none) and how long the overlap is.

    Simpson's four cases (1992, section IV-C), numbered as the enhanced network's first, second, seventh and
    eighth; its nine (Mohammed & Lim 2015, section III-B) add boxes that have a side in common. Four cases
    do not see overlap where sides coincide, as on features of few values.
    """
    if v < other_v < w < other_w:
        return 1, w - other_v
    if other_v < v < other_w < w:
        return 2, other_w - v
    either = min(w - other_v, other_w - v)
    if v < other_v and other_w < w:
        return 7, either
    if other_v < v and w < other_w:
        return 8, either
    if contraction == FOUR_CASES:
        return 0, 0.0
    if max(v, other_v) >= min(w, other_w):  # at most a side in common
        return 0, 0.0
    if v == other_v and w == other_w:
        return 9, w - v
    if v == other_v:
        return (3, either) if w < other_w else (5, either)
    return (4, either) if v < other_v else (6, either)


@bare_inner
def _contract(lower, upper, other_lower, other_upper, high, measure, contraction):  # type: ignore[no-untyped-def]
    """Part two boxes along the feature of the shortest overlap, if they overlap in all; tell whether.

    Of equally short ones, the table's first. ``high`` is the row that the first box was just stretched to:
    where both boxes span the same interval, it tells which side moved.
    """
    shortest, feature, chosen = np.inf, -1, 0
    for j in range(len(lower)):
        if np.isinf(lower[j]) or np.isinf(other_lower[j]):  # open: overlaps, and cannot be cut
            continue
        case, length = _case(lower[j], upper[j], other_lower[j], other_upper[j], contraction)
        if case == 0:
            return False
        length *= measure.unit[j]
        if length < shortest or (length == shortest and measure.column[j] < measure.column[feature]):
            shortest, feature, chosen = length, j, case
    if feature < 0:
        return False
    j = feature
    v, w, other_v, other_w = lower[j], upper[j], other_lower[j], other_upper[j]
    nearer_below = other_w - v < w - other_v
    if chosen == 1 or (chosen == 9 and high[j] == w):
        upper[j] = other_lower[j] = w / 2 + other_v / 2
    elif chosen in (2, 9):
        lower[j] = other_upper[j] = v / 2 + other_w / 2
    elif chosen == 5 or (chosen == 7 and nearer_below):
        lower[j] = other_w
    elif chosen in (4, 7):
        upper[j] = other_v
    elif chosen == 6 or (chosen == 8 and nearer_below):
        other_upper[j] = v
    else:
        other_lower[j] = w
    return True


@bare_inner
def _sort_in(found, n_found, k, rank):  # type: ignore[no-untyped-def]
    """Put a slot among others that are in the order of their ranks."""
    place = n_found
    while place > 0 and rank[found[place - 1]] > rank[k]:
        found[place] = found[place - 1]
        place -= 1
    found[place] = k


@bare_inner
def _settle(box, high, measure, contraction, shelves, scratch):  # type: ignore[no-untyped-def]
    """Contract a stretched box and those of other classes that it overlaps, oldest first."""
    lower, upper = shelves.lower[box // SHELF, :, box % SHELF], shelves.upper[box // SHELF, :, box % SHELF]
    apart, found = scratch.apart, scratch.found
    n_near = _meeting_shelves(lower, upper, shelves.label[box // SHELF], shelves, apart, scratch.near)
    n_found = 0
    for s in scratch.near[:n_near]:
        if _meeting_on(s, lower, upper, shelves, apart):
            for k in range(SHELF):
                if not apart[k]:
                    _sort_in(found, n_found, s * SHELF + k, shelves.rank)
                    n_found += 1
    # All are found before any is contracted: contraction never adds one.
    for k in found[:n_found]:
        s, place = k // SHELF, k % SHELF
        other_lower, other_upper = shelves.lower[s, :, place], shelves.upper[s, :, place]
        if _contract(lower, upper, other_lower, other_upper, high, measure, contraction):
            shelves.state[CHANGED] += 1


# -- shelves ---------------------------------------------------------------------------------------


@bare_inner
def _put(shelves, k, lower, upper):  # type: ignore[no-untyped-def]
    """Set the bounds of the box in a slot."""
    for j in range(len(lower)):
        shelves.lower[k // SHELF, j, k % SHELF] = lower[j]
        shelves.upper[k // SHELF, j, k % SHELF] = upper[j]


@bare_inner
def _enclose(shelves, s, begin):  # type: ignore[no-untyped-def]
    """Widen the outer box of a shelf to hold its boxes from the given one on."""
    outer_lower, outer_upper = (
        shelves.outer_lower[s // SHELF, :, s % SHELF],
        shelves.outer_upper[s // SHELF, :, s % SHELF],
    )
    for j in range(len(outer_lower)):
        for k in range(begin, shelves.size[s]):
            outer_lower[j] = min(outer_lower[j], shelves.lower[s, j, k])
            outer_upper[j] = max(outer_upper[j], shelves.upper[s, j, k])


@bare_inner
def _clear_outer(shelves, s):  # type: ignore[no-untyped-def]
    for j in range(shelves.lower.shape[1]):
        shelves.outer_lower[s // SHELF, j, s % SHELF] = np.inf
        shelves.outer_upper[s // SHELF, j, s % SHELF] = -np.inf


@bare_inner
def _new_shelf(shelves, label):  # type: ignore[no-untyped-def]
    s = shelves.state[USED]
    shelves.state[USED] += 1
    shelves.label[s], shelves.size[s] = label, 0
    _clear_outer(shelves, s)
    return s


@bare_inner
def _move(shelves, k, to):  # type: ignore[no-untyped-def]
    _put(shelves, to, shelves.lower[k // SHELF, :, k % SHELF], shelves.upper[k // SHELF, :, k % SHELF])
    shelves.rank[to], shelves.weight[to] = shelves.rank[k], shelves.weight[k]


@bare_inner
def _split(shelves, s, unit, scratch):  # type: ignore[no-untyped-def]
    """Move half of a full shelf to a new one, along the feature in which its boxes lie farthest apart."""
    lower, upper = shelves.lower, shelves.upper
    widest, feature = -1.0, 0
    for j in range(lower.shape[1]):
        first, last = np.inf, -np.inf
        for k in range(SHELF):
            if not np.isinf(lower[s, j, k]):
                centre = lower[s, j, k] / 2 + upper[s, j, k] / 2
                first, last = min(first, centre), max(last, centre)
        if (last - first) * unit[j] > widest:
            widest, feature = (last - first) * unit[j], j
    centres = scratch.deficits
    for k in range(SHELF):
        known = not np.isinf(lower[s, feature, k])
        centres[k] = lower[s, feature, k] / 2 + upper[s, feature, k] / 2 if known else -np.inf
    new = _new_shelf(shelves, shelves.label[s])
    stay = 0
    for k in range(SHELF):
        before = 0
        for other in range(SHELF):
            before += centres[other] < centres[k] or (centres[other] == centres[k] and other < k)
        if before >= SHELF // 2:
            _move(shelves, s * SHELF + k, new * SHELF + shelves.size[new])
            shelves.size[new] += 1
        else:
            if stay != k:
                _move(shelves, s * SHELF + k, s * SHELF + stay)
            stay += 1
    shelves.size[s] = stay
    _clear_outer(shelves, s)
    _enclose(shelves, s, 0)
    _enclose(shelves, new, 0)
    return new


@bare_inner
def _insert(measure, low, high, label, weight, rank, home, shelves, scratch):  # type: ignore[no-untyped-def]
    """Put a new box on a shelf of its class, ``home`` if there is one; needs room for one more shelf."""
    if home < 0:
        home = _new_shelf(shelves, label)
    elif shelves.size[home] == SHELF:
        new = _split(shelves, home, measure.unit, scratch)
        _bound_shelves(measure, low, high, label, np.inf, shelves, scratch.bounds)
        if scratch.bounds[new] < scratch.bounds[home]:
            home = new
    s, k = home, shelves.size[home]
    shelves.size[s] += 1
    for j in range(len(low)):
        known = low[j] <= high[j]
        shelves.lower[s, j, k] = low[j] if known else -np.inf
        shelves.upper[s, j, k] = high[j] if known else np.inf
    shelves.rank[s * SHELF + k], shelves.weight[s * SHELF + k] = rank, weight
    _enclose(shelves, s, k)
    shelves.state[CHANGED] += 1


@bare_inner
def _take_off(k, place, shelves):  # type: ignore[no-untyped-def]
    """Take a box off its shelf, where the last one takes its slot; ``place`` maps ranks to slots."""
    s = k // SHELF
    shelves.size[s] -= 1
    place[shelves.rank[k]] = -1
    last = s * SHELF + shelves.size[s]
    if last != k:
        _move(shelves, last, k)
        place[shelves.rank[k]] = k


# -- search ----------------------------------------------------------------------------------------


class Scratch(NamedTuple):
    """Arrays that a search writes to: bounds and lists of shelves, lists of boxes, a shelf, a box.

    ``blocker`` is the shelf that was last in the way of a box, -1 before there was any.
    """

    bounds: NDArray[np.float64]
    visits: NDArray[np.int64]
    near: NDArray[np.int64]
    found: NDArray[np.int64]
    deficits: NDArray[np.float64]
    apart: NDArray[np.int64]
    blocker: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def scratch_for(shelves: Shelves) -> Scratch:
    """Make what kernels write to while they look at shelves: they make no arrays themselves."""
    n_shelves, n_features = shelves.lower.shape[:2]
    return Scratch(
        np.empty(n_shelves + SHELF), np.empty(n_shelves + 1, np.int64), np.empty(n_shelves, np.int64),
        np.empty(n_shelves * SHELF, np.int64), np.empty(SHELF), np.empty(SHELF, np.int64),
        np.full(1, -1, np.int64), np.empty(n_features), np.empty(n_features),
    )  # fmt: skip


@bare_inner
def _bound_shelves(measure, low, high, label, limit, shelves, bounds):  # type: ignore[no-untyped-def]
    """Bound the deficits on each shelf of a class, or of all (-1), from below; give the nearest shelf.

    Beyond ``limit``, bounds are less sharp.
    """
    used = shelves.state[USED]
    home, nearest = -1, np.inf
    for begin in range(0, used, SHELF):
        own = 0
        for s in range(begin, begin + SHELF):
            counts = s < used and (label < 0 or shelves.label[s] == label)
            bounds[s] = 0.0 if counts else np.inf
            own += counts
        if own == 0:
            continue
        # Sums are bounded to the end: the better bounds save more than they take.
        if not measure.average:
            limit = min(limit, nearest)
        outer_lower, outer_upper = shelves.outer_lower, shelves.outer_upper
        _scan(measure, low, high, outer_lower, outer_upper, begin // SHELF, limit, bounds[begin:])
        for s in range(begin, min(begin + SHELF, used)):
            if bounds[s] < nearest:
                home, nearest = s, bounds[s]
    return home


@bare_inner
def _can_take(measure, rules, low, high, k, label, shelves, scratch):  # type: ignore[no-untyped-def]
    """Tell whether a box may be stretched to a row."""
    lower, upper = scratch.lower, scratch.upper
    _stretch(
        low,
        high,
        shelves.lower[k // SHELF, :, k % SHELF],
        shelves.upper[k // SHELF, :, k % SHELF],
        lower,
        upper,
    )
    if not _fits(rules, measure.unit, lower, upper):
        return False
    if rules.contraction != NO_CONTRACTION:
        return True
    return not _meets_another(lower, upper, label, shelves, scratch)


@bare_inner
def _rule_out_wide(low, high, lower, upper, s, unit, max_width, limit, deficits):  # type: ignore[no-untyped-def]
    """Put boxes of shelf s infinitely far that would be too wide for a row in some feature.

    Ends early if that leaves none within a limit.
    """
    n_features = len(low)
    for begin in range(0, n_features, STRIDE):
        if not _any_within(limit, deficits):
            return
        for j in range(begin, min(begin + STRIDE, n_features)):
            down, up = low[j], high[j]
            for k in range(SHELF):
                v, w = lower[s, j, k], upper[s, j, k]
                width = (_larger(w, up) - (v if v < down else down)) * unit[j]
                deficits[k] = np.inf if (width > max_width) & (v > -np.inf) else deficits[k]


@bare_inner
def _nearest_on(s, best, best_rank, without, shelves, deficits):  # type: ignore[no-untyped-def]
    """Give the slot of the nearest box of a shelf that beats the best so far, -1 if none does."""
    winner = -1
    for k in range(shelves.size[s]):
        if deficits[k] <= best:
            rank = shelves.rank[s * SHELF + k]
            if (deficits[k] < best or rank < best_rank) and rank != without:
                best, best_rank, winner = deficits[k], rank, s * SHELF + k
    return winner


@bare_inner
def _in_turn(bounds, used, home, best, visits):  # type: ignore[no-untyped-def]
    """List the shelves but ``home`` that may hold a box as near as the best so far, near ones first."""
    n_visits = 1
    for s in range(used):
        if bounds[s] <= best / 2 and s != home and bounds[s] < np.inf:
            visits[n_visits] = s
            n_visits += 1
    for s in range(used):
        if best / 2 < bounds[s] <= best and s != home and bounds[s] < np.inf:
            visits[n_visits] = s
            n_visits += 1
    return n_visits


@bare_inner
def _search(measure, rules, low, high, label, limit, ask, without, home, shelves, scratch):  # type: ignore[no-untyped-def]
    """Give the box of least deficit, at most ``limit``, and the deficit; -1 if there is none.

    Among equals the lowest rank wins. With ``ask``, only boxes that may be stretched to the row count; the
    box of rank ``without`` never does. ``home``, the nearest shelf, is visited first, -1 if there is none.
    """
    bounds, deficits, visits = scratch.bounds, scratch.deficits, scratch.visits
    best, best_rank, winner = limit, NOBODY, -1
    visit, n_visits = 0, 1 if home >= 0 else 0
    while visit < n_visits:
        s = home if visit == 0 else visits[visit]
        if bounds[s] <= best:
            for k in range(SHELF):
                deficits[k] = 0.0 if k < shelves.size[s] else np.inf
            _scan(measure, low, high, shelves.lower, shelves.upper, s, best, deficits)
            if ask and not rules.total_width:
                unit, max_width = measure.unit, rules.max_width
                _rule_out_wide(low, high, shelves.lower, shelves.upper, s, unit, max_width, best, deficits)
            k = _nearest_on(s, best, best_rank, without, shelves, deficits)
            while ask and k >= 0 and not _can_take(measure, rules, low, high, k, label, shelves, scratch):
                deficits[k - s * SHELF] = np.inf
                k = _nearest_on(s, best, best_rank, without, shelves, deficits)
            if k >= 0:
                best, best_rank, winner = deficits[k - s * SHELF], shelves.rank[k], k
        if visit == 0:
            n_visits = _in_turn(bounds, shelves.state[USED], home, best, visits)
        visit += 1
    return winner, best


# -- learning --------------------------------------------------------------------------------------


@bare_kernel
def present(rows_low, rows_high, label, weight, begin, measure, rules, limit, shelves, scratch):  # type: ignore[no-untyped-def]
    """Present rows one by one; give the number of the first row left out for want of room.

    A row that a box of its class contains only adds to its weight. Else a box of its class is stretched to
    it, or, if none may be, the row becomes a box. ``limit`` is a deficit beyond which no box can take a row.
    """
    reach = np.inf if rules.winner_only else limit
    for i in range(begin, len(rows_low)):
        if shelves.state[USED] == len(shelves.size):
            return i
        low, high, own = rows_low[i], rows_high[i], label[i]
        home = _bound_shelves(measure, low, high, own, np.inf, shelves, scratch.bounds)
        box, deficit = _search(measure, rules, low, high, own, reach, False, -1, home, shelves, scratch)
        if deficit > 0 and box >= 0 and not _can_take(measure, rules, low, high, box, own, shelves, scratch):
            box = -1
            if not rules.winner_only:
                box, deficit = _search(
                    measure, rules, low, high, own, limit, True, -1, home, shelves, scratch
                )
        if box < 0 and not rules.founds:
            continue
        if box < 0:
            rank = shelves.state[BORN]
            shelves.state[BORN] += 1
            _insert(measure, low, high, own, weight[i], rank, home, shelves, scratch)
            continue
        shelves.weight[box] += weight[i]
        lower, upper = (
            shelves.lower[box // SHELF, :, box % SHELF],
            shelves.upper[box // SHELF, :, box % SHELF],
        )
        if deficit > 0 or _tells_more(low, lower):
            _stretch(low, high, lower, upper, scratch.lower, scratch.upper)
            _put(shelves, box, scratch.lower, scratch.upper)
            _enclose(shelves, box // SHELF, box % SHELF)
            shelves.state[CHANGED] += 1
            if rules.contraction != NO_CONTRACTION and deficit > 0:
                _settle(box, high, measure, rules.contraction, shelves, scratch)
    return len(rows_low)


@bare_inner
def _partner(measure, rules, similarity, box, limit, shelves, scratch):  # type: ignore[no-untyped-def]
    """Give the box of the same class that is most similar and may be merged with a box, -1 if none may."""
    low, high, label = (
        shelves.lower[box // SHELF, :, box % SHELF],
        shelves.upper[box // SHELF, :, box % SHELF],
        shelves.label[box // SHELF],
    )
    bounds = scratch.bounds
    home, nearest = -1, np.inf
    for s in range(shelves.state[USED]):
        bounds[s] = np.inf
        if shelves.label[s] == label and shelves.size[s] > 0:
            # No two boxes are more similar than the gap between them tells, whatever the measure.
            outer_lower, outer_upper = (
                shelves.outer_lower[s // SHELF, :, s % SHELF],
                shelves.outer_upper[s // SHELF, :, s % SHELF],
            )
            bounds[s] = _dissimilarity(measure, SHORT, low, high, outer_lower, outer_upper, nearest)
            if bounds[s] < nearest or home < 0:
                home, nearest = s, bounds[s]
    best, best_rank, partner = limit, NOBODY, -1
    for turn in range(-1, shelves.state[USED]):
        s = home if turn < 0 else turn
        if turn == home or bounds[s] == np.inf or bounds[s] > best:
            continue
        for k in range(s * SHELF, s * SHELF + shelves.size[s]):
            if k == box:
                continue
            lower, upper = shelves.lower[k // SHELF, :, k % SHELF], shelves.upper[k // SHELF, :, k % SHELF]
            gap = _dissimilarity(measure, similarity, low, high, lower, upper, best)
            if gap > best or (gap == best and shelves.rank[k] > best_rank):
                continue
            if _can_take(measure, rules, low, high, k, label, shelves, scratch):
                best, best_rank, partner = gap, shelves.rank[k], k
    return partner


@bare_kernel
def merge(place, measure, rules, similarity, limit, shelves, scratch):  # type: ignore[no-untyped-def]
    """Merge each box, by rank, with the most similar one that allows it; tell how many were merged.

    ``place`` gives the slot of each box by rank, -1 for one that is gone; the lower rank stays.
    """
    lower, upper = scratch.lower, scratch.upper
    merged = 0
    for rank in range(len(place)):
        box = place[rank]
        if box < 0:
            continue
        partner = _partner(measure, rules, similarity, box, limit, shelves, scratch)
        if partner < 0:
            continue
        stays, goes = (box, partner) if rank < shelves.rank[partner] else (partner, box)
        s, k = stays // SHELF, stays % SHELF
        _stretch(
            shelves.lower[goes // SHELF, :, goes % SHELF], shelves.upper[goes // SHELF, :, goes % SHELF],
            shelves.lower[s, :, k], shelves.upper[s, :, k], lower, upper,
        )  # fmt: skip
        _put(shelves, stays, lower, upper)
        shelves.weight[stays] += shelves.weight[goes]
        _enclose(shelves, stays // SHELF, stays % SHELF)
        _take_off(goes, place, shelves)
        merged += 1
    return merged


@bare_kernel
def shelve(lower, upper, label, weight, measure, shelves, scratch):  # type: ignore[no-untyped-def]
    """Put boxes on shelves, ranked as they come; there must be room."""
    for k in range(len(lower)):
        home = _bound_shelves(measure, lower[k], upper[k], label[k], np.inf, shelves, scratch.bounds)
        _insert(measure, lower[k], upper[k], label[k], weight[k], k, home, shelves, scratch)
    shelves.state[BORN] = len(lower)


# -- answers ---------------------------------------------------------------------------------------


@bare_inner
def _best(measure, rules, low, high, label, limit, without, shelves, scratch):  # type: ignore[no-untyped-def]
    """Give the rank of the box of highest membership, one aside, and its deficit; -1 if there is none."""
    home = _bound_shelves(measure, low, high, label, limit, shelves, scratch.bounds)
    k, deficit = _search(measure, rules, low, high, label, limit, False, without, home, shelves, scratch)
    return (shelves.rank[k] if k >= 0 else -1), deficit


@bare_kernel
def winners(low, high, label, limit, measure, rules, shelves, scratch, rank, deficits):  # type: ignore[no-untyped-def]
    """Write the rank of the box of highest membership, of one class or of any (-1), and its deficit.

    Where no box is within ``limit``, the rank is -1.
    """
    for i in range(len(low)):
        rank[i], deficits[i] = _best(measure, rules, low[i], high[i], label, limit, -1, shelves, scratch)


class Ledger(NamedTuple):
    """What pruning writes to: the best box of each row and the next, what each box earns, boxes by class."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    earned: NDArray[np.float64]
    left: NDArray[np.int64]


def ledger_for(n_rows: int, label: NDArray[np.int64]) -> Ledger:
    """Make a ledger for rows, and boxes of the classes given."""
    return Ledger(
        np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.zeros(len(label)),
        np.zeros(label.max() + 1, np.int64),
    )  # fmt: skip


@bare_inner
def _earned(label, first, second, truth):  # type: ignore[no-untyped-def]
    """Give what a row earns its box: 1 if only that puts it right, -1 if only the next box would."""
    after = second >= 0 and label[second] == truth
    return np.int64(label[first] == truth) - np.int64(after)


@bare_kernel
def prune(low, high, truth, weight, price, label, place, measure, rules, shelves, scratch, ledger):  # type: ignore[no-untyped-def]
    """Drop boxes, one by one, that earn no more than ``price``.

    A box earns the rows it puts right less those that the next box would put right in its place.
    ``label`` and ``place`` give the class and the slot of each box by rank; dropped ones get the slot -1.
    The box that earns least goes first; of several, the one of fewest training rows. One box stays, and one
    of each class that has no rows here to speak for it.
    """
    n, n_boxes = len(low), len(place)
    first, second, earned, left = ledger.first, ledger.second, ledger.earned, ledger.left
    for box in range(n_boxes):
        left[label[box]] += 1
    for i in range(n):
        if truth[i] < len(left):
            left[truth[i]] = n_boxes + 1  # never down to one
        first[i], _ = _best(measure, rules, low[i], high[i], -1, np.inf, -1, shelves, scratch)
        second[i], _ = _best(measure, rules, low[i], high[i], -1, np.inf, first[i], shelves, scratch)
        earned[first[i]] += weight[i] * _earned(label, first[i], second[i], truth[i])
    for _ in range(n_boxes - 1):
        drop = -1
        for box in range(n_boxes):
            if place[box] < 0 or earned[box] > price or left[label[box]] == 1:
                continue
            if drop >= 0:
                mine, other = shelves.weight[place[box]], shelves.weight[place[drop]]
                if earned[box] > earned[drop] or (earned[box] == earned[drop] and mine >= other):
                    continue
            drop = box
        if drop < 0:
            return
        left[label[drop]] -= 1
        _take_off(place[drop], place, shelves)
        for i in range(n):
            if first[i] != drop and second[i] != drop:
                continue
            earned[first[i]] -= weight[i] * _earned(label, first[i], second[i], truth[i])
            if first[i] == drop:
                first[i] = second[i]
            second[i], _ = _best(measure, rules, low[i], high[i], -1, np.inf, first[i], shelves, scratch)
            earned[first[i]] += weight[i] * _earned(label, first[i], second[i], truth[i])


@bare_kernel
def deficits(low, high, place, measure, shelves, of_shelf, out):  # type: ignore[no-untyped-def]
    """Write the deficit of each row in each box; ``place`` gives the slots of the boxes, in their order.

    ``of_shelf`` has room for the boxes of all shelves in use.
    """
    for i in range(len(low)):
        for k in range(len(of_shelf)):
            of_shelf[k] = 0.0
        for s in range(shelves.state[USED]):
            part = of_shelf[s * SHELF :]
            _scan(measure, low[i], high[i], shelves.lower, shelves.upper, s, np.inf, part)
        for box in range(len(place)):
            out[i, box] = of_shelf[place[box]]
