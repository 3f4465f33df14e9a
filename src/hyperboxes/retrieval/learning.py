"""Learning from marked rows: few boxes of few dimensions, with or without marked negatives.

Nobody marks what they do not look for, so unmarked rows stand in for negatives, though some of them are
positives too. Their weight settles what that costs: together, unmarked rows weigh so much that the marked
positives have the share of the whole that positives have in the table. That share is read off a first fit:
in a box of positives alone, it is the share of all rows in the box over the share of the marked positives
in it (Elkan & Noto 2008).

Rows that were marked among the hits of an earlier round say how pure those hits are, not what the class is
like: counted as more positives, they would draw the boxes together around what was found already. So each
of them stands for as many rows as it was drawn from, as in importance sampling (with several rounds, by the
balance heuristic of Veach & Guibas 1995), and takes the place of the unmarked rows there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..prim import Settings, fit_prim
from ..scaling import standardise
from ..tables import Table

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
#: The share of positives assumed at first, and the ends between which it may be found to be.
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 0.05, 0.005, 0.5
#: Marked positives that a box must hold to say something about the share.
TELLING_POSITIVES = 8
#: What a condition must earn, in marked positives.
CONDITION_PRICE = 1.5


class Round(NamedTuple):
    """An earlier round: its boxes, how many rows they hold, and how many of those were then marked."""

    boxes: Boxes
    n_hits: int
    n_marked: int


class Rows(NamedTuple):
    """What there is to learn from.

    ``looked_at`` and ``liked`` are the rows that were marked among the hits of earlier rounds, and which of
    them are right; ``positive`` and ``negative`` are rows marked for other reasons; ``unmarked`` is drawn
    from a table of ``n_rows``.
    """

    positive: Table
    negative: Table
    looked_at: Table
    liked: Bools
    unmarked: Table
    n_rows: int


def fit_marked(
    rows: Rows, rounds: Sequence[Round] = (), *, max_boxes: int, max_features: int, seed: int
) -> Boxes:
    """Learn boxes that hold the positives and few other rows."""
    settings = Settings(max_features=max_features, condition_price=CONDITION_PRICE)
    stand_for = 1 / expected_looks(rounds, rows.looked_at.matrix)
    unmarked = rows.unmarked._replace(matrix=rows.unmarked.matrix[~_in_any(rounds, rows.unmarked.matrix)])
    table = stacked([rows.positive, rows.negative, rows.looked_at, unmarked])
    sizes = [len(part.matrix) for part in (rows.positive, rows.negative, rows.looked_at, unmarked)]
    target = np.concatenate([np.ones(sizes[0]), np.zeros(sizes[1]), rows.liked, np.zeros(sizes[3])])
    told = _told_share(rows, rounds, stand_for)
    share = FIRST_SHARE if told is None else told
    for last in (told is not None or not sizes[3], True):
        each = sizes[0] / share  # the weight of the whole table, where a marked positive weighs one
        weight = np.concatenate([
            np.ones(sizes[0] + sizes[1]), each * stand_for / rows.n_rows,
            np.full(sizes[3], each / max(1, len(rows.unmarked.matrix))),
        ])  # fmt: skip
        boxes = fit_prim(
            table, target, sample_weight=weight, n_boxes=max_boxes, settings=settings, seed=seed
        ).boxes
        if last or not len(boxes):
            break
        share = estimated_share(boxes.contains(rows.positive.matrix), boxes.contains(rows.unmarked.matrix))
    return boxes if len(boxes) else _around(boxes, rows.positive, table, max_features)


def expected_looks(rounds: Sequence[Round], matrix: Floats) -> Floats:
    """Give how often each row would have been marked in all rounds, had rows been drawn from the hits."""
    looks = np.zeros(len(matrix))
    for boxes, n_hits, n_marked in rounds:
        looks += boxes.contains(matrix).any(axis=1) * (n_marked / max(1, n_hits))
    return looks


def _in_any(rounds: Sequence[Round], matrix: Floats) -> Bools:
    return expected_looks(rounds, matrix) > 0


def _told_share(rows: Rows, rounds: Sequence[Round], stand_for: Floats) -> float | None:
    """Find the share of positives from earlier hits: their number, over the recall; None without any."""
    found = stand_for[rows.liked].sum() / rows.n_rows
    recall = _in_any(rounds, rows.positive.matrix).mean()
    return float(np.clip(found / recall, LEAST_SHARE, MOST_SHARE)) if found > 0 and recall > 0 else None


def estimated_share(of_positives: Bools, of_unmarked: Bools) -> float:
    """Estimate the share of positives among all rows, given which box holds which row.

    Of every box, and of their union, the share is an upper limit, so the least of them counts.
    """
    limits = [of_unmarked.any(axis=1).mean() / max(of_positives.any(axis=1).mean(), 0.02)]
    for box in range(of_positives.shape[1]):
        if of_positives[:, box].sum() >= TELLING_POSITIVES:
            held = of_unmarked[:, box].mean() + 1 / len(of_unmarked)
            limits.append(held / of_positives[:, box].mean())
    return float(np.clip(min(limits), LEAST_SHARE, MOST_SHARE))


def _around(none: Boxes, positive: Table, table: Table, max_features: int) -> Boxes:
    """Put one box around positives that are too few to learn from, in the columns where they differ most.

    It is a little wider than they are: by a share of their range, and of the column's standard deviation.
    """
    n, d = positive.matrix.shape
    lower, upper = np.full((1, d), -np.inf), np.full((1, d), np.inf)
    _, unit = standardise(table.matrix, np.ones(len(table.matrix)))
    held = np.ones(d)
    for feature, name in enumerate(table.feature_names):
        cells = positive.matrix[:, feature]
        if name in table.categories or not np.isfinite(cells).all():
            continue
        room = (cells.max() - cells.min()) / (n + 1) + unit[feature] / (4 * n)
        lower[0, feature], upper[0, feature] = cells.min() - room, cells.max() + room
        inside = (table.matrix[:, feature] >= lower[0, feature]) & (
            table.matrix[:, feature] <= upper[0, feature]
        )
        held[feature] = inside.mean()
    others = np.argsort(held, kind="stable")[max_features:]
    lower[0, others], upper[0, others] = -np.inf, np.inf
    allowed = {name: np.ones((1, len(known)), bool) for name, known in table.categories.items()}
    return replace(none, lower=lower, upper=upper, labels=np.array([True]), allowed=allowed, counts=None)


def stacked(parts: list[Table]) -> Table:
    """Put tables over the same features under each other, infinite values as the last finite ones."""
    matrix = np.concatenate([part.matrix for part in parts])
    finite = np.where(np.isinf(matrix), np.nan, matrix)
    known = ~np.isnan(finite).all(axis=0)
    low, high = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    low[known], high[known] = np.nanmin(finite[:, known], axis=0), np.nanmax(finite[:, known], axis=0)
    return parts[0]._replace(matrix=np.clip(matrix, low, high))
