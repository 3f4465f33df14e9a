"""What tells the fuzzy min-max variants apart, box by box: who may take a row, and how overlap is settled.

A box that takes a row is stretched to it. It may be no wider than allowed then; and either it may meet no box
of another class, or it and those that it overlaps are contracted, by the papers' cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._compile import bare_inner
from .fmm_shelves import CHANGED, SHELF, meeting_on, meeting_shelves, meets_another

#: How overlap with another class is settled.
NO_CONTRACTION, FOUR_CASES, NINE_CASES = 0, 1, 2


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


# -- growing ---------------------------------------------------------------------------------------


@bare_inner
def stretch(low, high, lower, upper, to_lower, to_upper):  # type: ignore[no-untyped-def]
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
def tells_more(low, lower):  # type: ignore[no-untyped-def]
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
def can_take(measure, rules, low, high, k, label, shelves, scratch):  # type: ignore[no-untyped-def]
    """Tell whether a box may be stretched to a row."""
    lower, upper = scratch.lower, scratch.upper
    stretch(
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
    return not meets_another(lower, upper, label, shelves, scratch)


# -- contracting -----------------------------------------------------------------------------------


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
def settle(box, high, measure, contraction, shelves, scratch):  # type: ignore[no-untyped-def]
    """Contract a stretched box and those of other classes that it overlaps, oldest first."""
    lower, upper = shelves.lower[box // SHELF, :, box % SHELF], shelves.upper[box // SHELF, :, box % SHELF]
    apart, found = scratch.apart, scratch.found
    n_near = meeting_shelves(lower, upper, shelves.label[box // SHELF], shelves, apart, scratch.near)
    n_found = 0
    for s in scratch.near[:n_near]:
        if meeting_on(s, lower, upper, shelves, apart):
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
