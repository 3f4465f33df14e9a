"""Boxes that are the leaves of a decision tree: what crisp search must not fall behind.

A tree of 2M leaves has at most M of the one class or of the other, so that M boxes can always say the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..binning import MAX_BINS, Binning
from ..crisp import BinBoxes, CrispTask, f1_of
from ..kernels.crisp import MISSING
from ..trees import leaf_bounds
from .initialise import MAX_TREE_ROWS
from .problem import ClassProblem

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
#: Trees are not told cells apart that are larger.
LARGEST_CELL = 1e30


def shown_rows(positive: Bools, weight: Floats) -> tuple[Ints, Floats]:
    """Choose the rows a tree is grown on, of both classes as many if there are too many, and their weights.

    Weights of a class still sum to what all of its rows weigh.
    """
    if len(positive) <= MAX_TREE_ROWS:
        return np.arange(len(positive)), weight
    kept, weights = [], []
    for side in (positive, ~positive):
        rows = np.flatnonzero(side)
        some = rows[: MAX_TREE_ROWS // 2]
        kept.append(some)
        weights.append(weight[some] * (weight[rows].sum() / weight[some].sum()))
    return np.concatenate(kept), np.concatenate(weights)


def tree_leaves(view: ClassProblem, max_boxes: int) -> tuple[ClassProblem, BinBoxes] | None:
    """Grow a tree of twice as many leaves as boxes are allowed; give those of the class as boxes.

    They are in bins of their own, with cuts where the tree has them. None if they or their cuts are too many.
    """
    from sklearn.tree import DecisionTreeClassifier

    X = view.features.X
    rows, weight = shown_rows(view.positive, view.problem.weight)
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * max(max_boxes, 1), random_state=0)
    tree.fit(tree_cells(X[rows]), view.positive[rows], sample_weight=weight)
    nodes = tree.tree_
    binning = Binning.at_thresholds(X, [nodes.threshold[nodes.feature == j] for j in range(X.shape[1])])
    leaves = []
    for node, lower, upper in leaf_bounds(nodes):
        first, last = _bins(binning, lower, upper)
        # Crossed are the bins of a leaf for missing values alone: no box holds these.
        if nodes.value[node][0].argmax() == 1 and (first <= last).all():
            leaves.append((first, last))
    if not 0 < len(leaves) <= max_boxes or binning.n_bins.max() > MAX_BINS:
        return None
    own = replace(view, binning=binning)
    first, last = (np.array(side) for side in zip(*leaves, strict=True))
    boxes = open_idle_sides(own.task, BinBoxes(*binning.normalise(first, last)))
    return own, boxes.take(own.task.support(boxes) >= view.problem.min_support)


def _bins(binning: Binning, lower: Floats, upper: Floats) -> tuple[Ints, Ints]:
    """Give the first and last bin between thresholds that are cuts."""
    first, last = np.zeros(len(lower), np.int64), binning.n_bins - 1
    for j in np.flatnonzero(lower > -np.inf).tolist():
        first[j] = np.searchsorted(binning.above[j], lower[j], side="right") + 1
    for j in np.flatnonzero(upper < np.inf).tolist():
        last[j] = np.searchsorted(binning.above[j], upper[j], side="right")
    return first, last


def tree_cells(X: Floats) -> Floats32:
    """Give cells as trees take them, small enough for their sums to be float32."""
    return np.clip(X, -LARGEST_CELL, LARGEST_CELL).astype(np.float32)


def open_idle_sides(task: CrispTask, boxes: BinBoxes) -> BinBoxes:
    """Open every side whose opening does not lower the F1 of the union, one after another."""
    boxes = boxes.copy()
    inside = task.inside(boxes)
    f1 = f1_of(task, task.union(boxes))
    for k in range(len(inside)):
        others = np.asarray(np.delete(inside, k, axis=0).any(axis=0))
        for j in np.flatnonzero(boxes.last[k] != MISSING).tolist():
            for wider in _wider(boxes.first[k, j], boxes.last[k, j], task.n_bins[j], task.categorical[j]):
                trial = boxes.take(np.array([k]))
                trial.first[0, j], trial.last[0, j] = wider
                held = task.inside(trial)[0]
                if (value := f1_of(task, others | held)) >= f1:
                    boxes.first[k, j], boxes.last[k, j] = wider
                    inside[k], f1 = held, value
                    break
    return boxes


def _wider(first: int, last: int, n_bins: int, categorical: bool) -> list[tuple[int, int]]:
    """Give the intervals of one feature with both sides open, or one of them."""
    one_side = [(0, last), (first, n_bins - 1)] if first > 0 and last < n_bins - 1 and not categorical else []
    return [(0, MISSING), *one_side]
