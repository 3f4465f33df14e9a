"""Learning from marked rows: few boxes of few dimensions, with or without marked negatives.

Nobody marks what they do not look for, so unmarked rows stand in for negatives, though some of them are
positives too. Their weight settles what that costs: together, unmarked rows weigh so much that the marked
positives have the share of the whole that positives have in the table. That share is read off a first fit:
in a box of positives alone, it is the share of all rows in the box over the share of the marked positives
in it (Elkan & Noto 2008).
"""

from __future__ import annotations

from dataclasses import replace

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


def fit_marked(
    positive: Table, negative: Table, background: Table, *, max_boxes: int, max_features: int, seed: int
) -> Boxes:
    """Learn boxes that hold the positives and few other rows.

    Marked negatives weigh as much as marked positives: they are what the last answer got wrong.
    """
    share = FIRST_SHARE
    table = stacked([positive, negative, background])
    target = np.repeat([1.0, 0.0, 0.0], [len(part.matrix) for part in (positive, negative, background)])
    settings = Settings(max_features=max_features, condition_price=CONDITION_PRICE)
    for last in (False, True):
        weight = np.ones(len(target))
        if len(background.matrix):
            weight[-len(background.matrix) :] = len(positive.matrix) / (share * len(background.matrix))
        boxes = fit_prim(
            table, target, sample_weight=weight, n_boxes=max_boxes, settings=settings, seed=seed
        ).boxes
        if not len(boxes) or last or not len(background.matrix):
            break
        share = estimated_share(boxes.contains(positive.matrix), boxes.contains(background.matrix))
    return boxes if len(boxes) else _around(boxes, positive, table, max_features)


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


def estimated_share(of_positives: Bools, of_background: Bools) -> float:
    """Estimate the share of positives among all rows, given which box holds which row.

    Of every box, and of their union, the share is an upper limit, so the least of them counts.
    """
    limits = [of_background.any(axis=1).mean() / max(of_positives.any(axis=1).mean(), 0.02)]
    for box in range(of_positives.shape[1]):
        if of_positives[:, box].sum() >= TELLING_POSITIVES:
            held = of_background[:, box].mean() + 1 / len(of_background)
            limits.append(held / of_positives[:, box].mean())
    return float(np.clip(min(limits), LEAST_SHARE, MOST_SHARE))


def stacked(parts: list[Table]) -> Table:
    """Put tables over the same features under each other, infinite values as the last finite ones."""
    matrix = np.concatenate([part.matrix for part in parts])
    finite = np.where(np.isinf(matrix), np.nan, matrix)
    known = ~np.isnan(finite).all(axis=0)
    low, high = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    low[known], high[known] = np.nanmin(finite[:, known], axis=0), np.nanmax(finite[:, known], axis=0)
    return parts[0]._replace(matrix=np.clip(matrix, low, high))
