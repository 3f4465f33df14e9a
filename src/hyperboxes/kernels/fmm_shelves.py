"""Shelves of fuzzy min-max boxes: how far a row is from them, which of them a box meets, and their upkeep.

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

Loops over boxes are inside ``scan`` and ``_meeting``, and are called for a whole shelf: handing an array to a
compiled function takes longer than comparing a row with a box. They look at all slots of a shelf, used or
not, and take every path without a branch; what they add for a slot that does not count is put out of reach
before or after.

Kernels of ``fmm`` are kept on disk together with what they call from here; numba only notices a change of
their own file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import bare_inner

#: Boxes on a shelf.
SHELF = 32
#: Features after which a scan asks whether any box of a shelf is still in question.
STRIDE = 4
#: Places in ``Shelves.state``: shelves in use, boxes ever made, boxes made or moved.
USED, BORN, CHANGED = 0, 1, 2


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


# -- deficits --------------------------------------------------------------------------------------


@bare_inner
def scan(measure, low, high, lower, upper, s, limit, out):  # type: ignore[no-untyped-def]
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
                    gap = steep * larger(larger(up - upper[s, j, k], lower[s, j, k] - down), 0.0)
                    out[k] = larger(gap if gap < most else most, out[k])
            elif point:
                for k in range(SHELF):
                    gap = steep * larger(larger(up - upper[s, j, k], lower[s, j, k] - down), 0.0)
                    out[k] += gap if gap < most else most
            else:
                for k in range(SHELF):
                    above = steep * larger(up - upper[s, j, k], 0.0)
                    below = steep * larger(lower[s, j, k] - down, 0.0)
                    out[k] += above if above < most else most
                    out[k] += below if below < most else most
        if not any_within(limit, out):
            break


@bare_inner
def any_within(limit, deficits):  # type: ignore[no-untyped-def]
    """Tell whether any box of a shelf is still in question."""
    count = 0.0  # a float: numbers of one kind fill the processor's vectors
    for k in range(SHELF):
        count += 1.0 if deficits[k] <= limit else 0.0
    return count > 0


@bare_inner
def larger(a, b):  # type: ignore[no-untyped-def]
    """Give the larger number, the second if either is NaN, as one instruction does."""
    return a if a > b else b


@bare_inner
def bound_shelves(measure, low, high, label, limit, shelves, bounds):  # type: ignore[no-untyped-def]
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
        scan(measure, low, high, outer_lower, outer_upper, begin // SHELF, limit, bounds[begin:])
        for s in range(begin, min(begin + SHELF, used)):
            if bounds[s] < nearest:
                home, nearest = s, bounds[s]
    return home


# -- which boxes meet ------------------------------------------------------------------------------


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
def meeting_shelves(lower, upper, label, shelves, apart, near):  # type: ignore[no-untyped-def]
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
def meeting_on(s, lower, upper, shelves, apart):  # type: ignore[no-untyped-def]
    """Mark the slots of a shelf without a box that meets a box; tell whether there are others."""
    for k in range(SHELF):
        apart[k] = k >= shelves.size[s]
    return _meeting(lower, upper, shelves.lower, shelves.upper, s, apart)


@bare_inner
def meets_another(lower, upper, label, shelves, scratch):  # type: ignore[no-untyped-def]
    """Tell whether a box meets any box of another class.

    What was in the way of one box is often in the way of the next, so that shelf is asked first.
    """
    last = scratch.blocker[0]
    asked = last >= 0 and shelves.label[last] != label
    if asked and meeting_on(last, lower, upper, shelves, scratch.apart):
        return True
    n_near = meeting_shelves(lower, upper, label, shelves, scratch.apart, scratch.near)
    for s in scratch.near[:n_near]:
        if meeting_on(s, lower, upper, shelves, scratch.apart):
            scratch.blocker[0] = s
            return True
    return False


# -- putting boxes on and taking them off ----------------------------------------------------------


@bare_inner
def put(shelves, k, lower, upper):  # type: ignore[no-untyped-def]
    """Set the bounds of the box in a slot."""
    for j in range(len(lower)):
        shelves.lower[k // SHELF, j, k % SHELF] = lower[j]
        shelves.upper[k // SHELF, j, k % SHELF] = upper[j]


@bare_inner
def enclose(shelves, s, begin):  # type: ignore[no-untyped-def]
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
    put(shelves, to, shelves.lower[k // SHELF, :, k % SHELF], shelves.upper[k // SHELF, :, k % SHELF])
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
    enclose(shelves, s, 0)
    enclose(shelves, new, 0)
    return new


@bare_inner
def insert(measure, low, high, label, weight, rank, home, shelves, scratch):  # type: ignore[no-untyped-def]
    """Put a new box on a shelf of its class, ``home`` if there is one; needs room for one more shelf."""
    if home < 0:
        home = _new_shelf(shelves, label)
    elif shelves.size[home] == SHELF:
        new = _split(shelves, home, measure.unit, scratch)
        bound_shelves(measure, low, high, label, np.inf, shelves, scratch.bounds)
        if scratch.bounds[new] < scratch.bounds[home]:
            home = new
    s, k = home, shelves.size[home]
    shelves.size[s] += 1
    for j in range(len(low)):
        known = low[j] <= high[j]
        shelves.lower[s, j, k] = low[j] if known else -np.inf
        shelves.upper[s, j, k] = high[j] if known else np.inf
    shelves.rank[s * SHELF + k], shelves.weight[s * SHELF + k] = rank, weight
    enclose(shelves, s, k)
    shelves.state[CHANGED] += 1


@bare_inner
def take_off(k, place, shelves):  # type: ignore[no-untyped-def]
    """Take a box off its shelf, where the last one takes its slot; ``place`` maps ranks to slots."""
    s = k // SHELF
    shelves.size[s] -= 1
    place[shelves.rank[k]] = -1
    last = s * SHELF + shelves.size[s]
    if last != k:
        _move(shelves, last, k)
        place[shelves.rank[k]] = k
