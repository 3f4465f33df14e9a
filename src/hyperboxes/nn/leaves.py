"""Boxes that are the leaves of a decision tree: what crisp search must not fall behind.

A tree of 2M leaves has at most M of the one class or of the other, so that M boxes can always say the same.
But for missing values: a tree sends them left or right, and no box asks for them. In a list of boxes of both
classes they are what is left over where a box before asked for a value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..binning import MAX_BINS, Binning
from ..crisp import BinBoxes, CrispTask, f1_of
from ..kernels.crisp import MISSING
from ..trees import last_left, leaf_bounds, read
from .initialise import MAX_TREE_ROWS
from .problem import ClassProblem

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
#: Trees are not told cells apart that are larger.
LARGEST_CELL = 1e30
#: Rows whose cells are made ready for a tree at a time.
CELL_ROWS = 1_000
#: Times that a list is gone through for boxes and sides to do without.
MAX_PASSES = 5


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
    tree, own = _grow(view, 2 * max(max_boxes, 1))
    leaves = []
    for node, lower, upper in leaf_bounds(tree.tree_):
        first, last = _bins(own.features.binning, last_left(lower), last_left(upper))
        # Crossed are the bins of a leaf for missing values alone: no box holds these.
        if tree.tree_.value[node][0].argmax() == 1 and (first <= last).all():
            leaves.append((first, last))
    if not 0 < len(leaves) <= max_boxes or own.features.binning.n_bins.max() > MAX_BINS:
        return None
    first, last = (np.array(side) for side in zip(*leaves, strict=True))
    boxes = open_idle_sides(own.task, BinBoxes(*own.features.binning.normalise(first, last)))
    return own, boxes.take(own.task.support(boxes) >= view.problem.min_support)


def tree_list(
    view: ClassProblem, max_boxes: int, factor: float = 1.0
) -> tuple[ClassProblem, BinBoxes, Ints] | None:
    """Grow a tree with a leaf more than boxes are allowed; give it as a list of boxes of both classes.

    The third part are the classes of the boxes and, last, of the rows in none of them; the first box that
    holds a row decides. What does not pay, at prices of so many times, is left out. None if cuts are too
    many.
    """
    tree, own = _grow(view, max(max_boxes, 1) + 1)
    leaves = read(tree)
    if own.features.binning.n_bins.max() > MAX_BINS:
        return None
    boxes = BinBoxes(*own.features.binning.to_bins(leaves.lower, leaves.upper))
    boxes, says = thin_list(own.task.priced(factor), boxes, leaves.labels)
    other = int(view.problem.classes[~view.positive][0])
    return own, boxes, np.where(says, view.target, other)


def first_holder(inside: Bools) -> Ints:
    """Give the first box that holds each row, -1 where none does; ``inside`` has a line for each box."""
    if not len(inside):
        return np.full(inside.shape[1], -1)
    return np.asarray(np.where(inside.any(axis=0), inside.argmax(axis=0), -1))


def thin_list(task: CrispTask, boxes: BinBoxes, says: Bools) -> tuple[BinBoxes, Bools]:
    """Drop boxes of a list and open sides unless that lowers F1 less what boxes and conditions cost.

    ``says`` tells which boxes are of the class, and last whether rows in none of them are. Where values are
    missing, it may be asked of a feature no more than that there is one.
    """
    scale = 2 * max(float(task.weight[task.positive].sum()), 1e-300)

    def value(inside: Bools, boxes: BinBoxes, says: Bools) -> float:
        return f1_of(task, says[first_holder(inside)]) - float(task.prices(boxes).sum()) / scale

    boxes, inside = boxes.copy(), task.inside(boxes)
    best = value(inside, boxes, says)
    for _ in range(MAX_PASSES):
        before = best
        for k in range(len(inside) - 1, -1, -1):
            without = np.arange(len(inside)) != k
            fewer = boxes.take(without), np.append(says[:-1][without], says[-1])
            if (found := value(inside[without], *fewer)) >= best:
                (boxes, says), inside, best = fewer, inside[without], found
                continue
            for j in np.flatnonzero(boxes.last[k] != MISSING).tolist():
                for wider in _wider(
                    boxes.first[k, j], boxes.last[k, j], task.n_bins[j], task.categorical[j], may_know=True
                ):
                    trial, held = boxes.copy(), inside.copy()
                    trial.first[k, j], trial.last[k, j] = wider
                    held[k] = task.inside(trial.take(np.array([k])))[0]
                    if (found := value(held, trial, says)) >= best:
                        boxes, inside, best = trial, held, found
                        break
        if best <= before:
            break
    return boxes, says


def _grow(view: ClassProblem, max_leaves: int) -> tuple[DecisionTreeClassifier, ClassProblem]:
    """Grow a tree of the class against the rest; give the problem too in bins cut where the tree cuts."""
    from sklearn.tree import DecisionTreeClassifier

    X = view.features.X
    rows, weight = shown_rows(view.positive, view.problem.weight)
    tree = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0)
    tree.fit(tree_cells(X, rows), view.positive[rows], sample_weight=weight)
    nodes = tree.tree_
    # The tree compares float32: a value just above a threshold may go left with it.
    cuts = last_left(nodes.threshold)
    binning = Binning.at_thresholds(X, [cuts[nodes.feature == j] for j in range(X.shape[1])])
    return tree, replace(view, binning=binning)


def _bins(binning: Binning, lower: Floats, upper: Floats) -> tuple[Ints, Ints]:
    """Give the first and last bin between thresholds that are cuts."""
    first, last = np.zeros(len(lower), np.int64), binning.n_bins - 1
    for j in np.flatnonzero(lower > -np.inf).tolist():
        first[j] = np.searchsorted(binning.above[j], lower[j], side="right") + 1
    for j in np.flatnonzero(upper < np.inf).tolist():
        last[j] = np.searchsorted(binning.above[j], upper[j], side="right")
    return first, last


def tree_cells(X: Floats, rows: Ints) -> Floats32:
    """Give cells of some rows as trees take them, small enough for their sums to be float32."""
    cells = np.empty((len(rows), X.shape[1]), np.float32)
    with np.errstate(over="ignore"):
        for low in range(0, len(rows), CELL_ROWS):  # a part at a time: no copy as float64
            cells[low : low + CELL_ROWS] = X[rows[low : low + CELL_ROWS]]
    return np.clip(cells, -LARGEST_CELL, LARGEST_CELL, out=cells)


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


def _wider(
    first: int, last: int, n_bins: int, categorical: bool, may_know: bool = False
) -> list[tuple[int, int]]:
    """Give the intervals of one feature with both sides open, for known values only too, or one of them."""
    one_side = [(0, last), (first, n_bins - 1)] if first > 0 and last < n_bins - 1 and not categorical else []
    known = [(0, n_bins - 1)] if may_know and (first > 0 or last < n_bins - 1) else []
    return [(0, MISSING), *known, *one_side]
