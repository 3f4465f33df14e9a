"""The one loop of the fuzzy min-max family, the search for the box of highest membership, and pruning.

``fmm_shelves`` says how boxes are stored and compared with a row, ``fmm_rules`` what they may do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import bare_inner, bare_kernel
from .fmm_rules import NO_CONTRACTION, can_take, settle, stretch, tells_more
from .fmm_shelves import (
    BORN,
    CHANGED,
    SHELF,
    STRIDE,
    USED,
    any_within,
    bound_shelves,
    enclose,
    insert,
    larger,
    put,
    scan,
    take_off,
)

#: How near two boxes are: by the gap between them, by what sticks out, by their far sides.
SHORT, MID, LONG = 0, 1, 2
NOBODY = np.iinfo(np.int64).max


# -- search ----------------------------------------------------------------------------------------


@bare_inner
def _rule_out_wide(low, high, lower, upper, s, unit, max_width, limit, deficits):  # type: ignore[no-untyped-def]
    """Put boxes of shelf s infinitely far that would be too wide for a row in some feature.

    Ends early if that leaves none within a limit.
    """
    n_features = len(low)
    for begin in range(0, n_features, STRIDE):
        if not any_within(limit, deficits):
            return
        for j in range(begin, min(begin + STRIDE, n_features)):
            down, up = low[j], high[j]
            for k in range(SHELF):
                v, w = lower[s, j, k], upper[s, j, k]
                width = (larger(w, up) - (v if v < down else down)) * unit[j]
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
            scan(measure, low, high, shelves.lower, shelves.upper, s, best, deficits)
            if ask and not rules.total_width:
                unit, max_width = measure.unit, rules.max_width
                _rule_out_wide(low, high, shelves.lower, shelves.upper, s, unit, max_width, best, deficits)
            k = _nearest_on(s, best, best_rank, without, shelves, deficits)
            while ask and k >= 0 and not can_take(measure, rules, low, high, k, label, shelves, scratch):
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
        home = bound_shelves(measure, low, high, own, np.inf, shelves, scratch.bounds)
        box, deficit = _search(measure, rules, low, high, own, reach, False, -1, home, shelves, scratch)
        if deficit > 0 and box >= 0 and not can_take(measure, rules, low, high, box, own, shelves, scratch):
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
            insert(measure, low, high, own, weight[i], rank, home, shelves, scratch)
            continue
        shelves.weight[box] += weight[i]
        lower, upper = (
            shelves.lower[box // SHELF, :, box % SHELF],
            shelves.upper[box // SHELF, :, box % SHELF],
        )
        if deficit > 0 or tells_more(low, lower):
            stretch(low, high, lower, upper, scratch.lower, scratch.upper)
            put(shelves, box, scratch.lower, scratch.upper)
            enclose(shelves, box // SHELF, box % SHELF)
            shelves.state[CHANGED] += 1
            if rules.contraction != NO_CONTRACTION and deficit > 0:
                settle(box, high, measure, rules.contraction, shelves, scratch)
    return len(rows_low)


@bare_kernel
def shelve(lower, upper, label, weight, measure, shelves, scratch):  # type: ignore[no-untyped-def]
    """Put boxes on shelves, ranked as they come; there must be room."""
    for k in range(len(lower)):
        home = bound_shelves(measure, lower[k], upper[k], label[k], np.inf, shelves, scratch.bounds)
        insert(measure, lower[k], upper[k], label[k], weight[k], k, home, shelves, scratch)
    shelves.state[BORN] = len(lower)


# -- merging ---------------------------------------------------------------------------------------


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
            if can_take(measure, rules, low, high, k, label, shelves, scratch):
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
        stretch(
            shelves.lower[goes // SHELF, :, goes % SHELF], shelves.upper[goes // SHELF, :, goes % SHELF],
            shelves.lower[s, :, k], shelves.upper[s, :, k], lower, upper,
        )  # fmt: skip
        put(shelves, stays, lower, upper)
        shelves.weight[stays] += shelves.weight[goes]
        enclose(shelves, stays // SHELF, stays % SHELF)
        take_off(goes, place, shelves)
        merged += 1
    return merged


# -- answers ---------------------------------------------------------------------------------------


@bare_inner
def _best(measure, rules, low, high, label, limit, without, shelves, scratch):  # type: ignore[no-untyped-def]
    """Give the rank of the box of highest membership, one aside, and its deficit; -1 if there is none."""
    home = bound_shelves(measure, low, high, label, limit, shelves, scratch.bounds)
    k, deficit = _search(measure, rules, low, high, label, limit, False, without, home, shelves, scratch)
    return (shelves.rank[k] if k >= 0 else -1), deficit


@bare_kernel
def winners(low, high, label, limit, measure, rules, shelves, scratch, rank, deficits):  # type: ignore[no-untyped-def]
    """Write the rank of the box of highest membership, of one class or of any (-1), and its deficit.

    Where no box is within ``limit``, the rank is -1.
    """
    for i in range(len(low)):
        rank[i], deficits[i] = _best(measure, rules, low[i], high[i], label, limit, -1, shelves, scratch)


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
            scan(measure, low[i], high[i], shelves.lower, shelves.upper, s, np.inf, part)
        for box in range(len(place)):
            out[i, box] = of_shelf[place[box]]


# -- pruning ---------------------------------------------------------------------------------------


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
        take_off(place[drop], place, shelves)
        for i in range(n):
            if first[i] != drop and second[i] != drop:
                continue
            earned[first[i]] -= weight[i] * _earned(label, first[i], second[i], truth[i])
            if first[i] == drop:
                first[i] = second[i]
            second[i], _ = _best(measure, rules, low[i], high[i], -1, np.inf, first[i], shelves, scratch)
            earned[first[i]] += weight[i] * _earned(label, first[i], second[i], truth[i])
