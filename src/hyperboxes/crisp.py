"""Crisp search: better boxes on binned data, by exact moves on a penalised F1.

The steps are polishing (bounds), selecting (which boxes of a pool) and dropping (boxes that do not pay).
None lowers its objective; ``kernels.crisp`` defines it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernels import crisp as kernels

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
#: Boxes that merging tries to do without before it gives up.
MERGE_TRIES = 3


class BinBoxes(NamedTuple):
    """Boxes in bin codes, shape (n_boxes, n_features); see ``kernels.crisp`` for what is unrestricted."""

    first: Ints
    last: Ints

    def copy(self) -> BinBoxes:
        """Give a copy that kernels may change."""
        return BinBoxes(self.first.copy(), self.last.copy())

    def take(self, boxes: Bools | Ints) -> BinBoxes:
        """Keep the given boxes."""
        return BinBoxes(np.ascontiguousarray(self.first[boxes]), np.ascontiguousarray(self.last[boxes]))

    def __add__(self, other: object) -> BinBoxes:
        """Put two lists of boxes behind each other."""
        if not isinstance(other, BinBoxes):
            return NotImplemented
        return BinBoxes(np.concatenate([self.first, other.first]), np.concatenate([self.last, other.last]))


@dataclass(frozen=True)
class Limits:
    """What boxes may ask: per feature, and in all.

    ``may_low`` and ``may_high`` say which sides may be closed, ``required`` which features every box
    must restrict.
    """

    may_low: Bools
    may_high: Bools
    required: Bools
    max_conditions: int

    @classmethod
    def none(cls, n_features: int) -> Limits:
        """Allow everything."""
        yes = np.ones(n_features, bool)
        return cls(yes, yes.copy(), np.zeros(n_features, bool), 2 * n_features)


@dataclass(frozen=True)
class CrispTask:
    """Binned rows of one class against the rest, with the prices that keep boxes simple.

    ``columns`` holds the codes feature-major; ``rows`` the same row-major. ``absence`` marks the features of
    which a search asks whether there is a value at all, where their limits let it; all by default.
    """

    columns: NDArray[np.uint8]
    rows: NDArray[np.uint8]
    positive: Bools
    weight: Floats
    n_bins: Ints
    categorical: Bools
    limits: Limits
    condition_price: float
    box_price: float
    min_support: float = 0.0
    seed: int = 0
    max_sweeps: int = 10
    max_moves: int = 50
    absence: Bools | None = None

    @property
    def may_ask(self) -> Bools:
        """Tell of which features it may be asked whether there is a value."""
        free = self.limits.may_low & self.limits.may_high & ~self.limits.required
        return free if self.absence is None else free & self.absence

    def score(self, boxes: BinBoxes) -> tuple[float, float]:
        """Give the penalised and the plain F1 of a union of boxes."""
        penalised, plain = kernels.objective(
            self.columns, self.positive, self.weight, self.n_bins, self.categorical, *boxes,
            self.condition_price, self.box_price,
        )  # fmt: skip
        return float(penalised), float(plain)

    def prices(self, boxes: BinBoxes) -> Floats:
        """Give what each box costs."""
        conditions = kernels.count_conditions(*boxes, self.n_bins, self.categorical)
        return np.asarray(self.condition_price * conditions + self.box_price, dtype=np.float64)

    def union(self, boxes: BinBoxes) -> Bools:
        """Tell which rows are in any of the boxes."""
        return np.asarray(self.inside(boxes).any(axis=0))

    def support(self, boxes: BinBoxes) -> Floats:
        """Give the weight of the rows in each box."""
        return np.asarray(self.inside(boxes) @ self.weight, dtype=np.float64)

    def priced(self, factor: float) -> CrispTask:
        """Give the task with prices of so many times."""
        return replace(self, condition_price=self.condition_price * factor, box_price=self.box_price * factor)

    def part(self, rows: Bools) -> CrispTask:
        """Give the task of some rows, with their copies; copies lie behind all rows, in the same order."""
        kept = np.flatnonzero(np.tile(rows, len(self.positive) // len(rows)))
        return replace(
            self, columns=np.ascontiguousarray(self.columns[:, kept]), rows=self.rows[kept],
            positive=self.positive[kept], weight=self.weight[kept],
        )  # fmt: skip

    def inside(self, boxes: BinBoxes) -> Bools:
        """Tell which box holds which row, shape (n_boxes, n_rows)."""
        n = self.columns.shape[1]
        violations = np.zeros((len(boxes.first), n), np.int16)
        kernels.count_violations(self.columns, *boxes, violations, np.zeros(n, np.int16))
        return np.asarray(violations == 0)


def f1_of(task: CrispTask, answers: Bools) -> float:
    """Give the F1 of answers."""
    true = float(task.weight[answers & task.positive].sum())
    return 2 * true / max(float(task.weight[answers | task.positive].sum()) + true, 1e-300)


def polish(task: CrispTask, boxes: BinBoxes) -> BinBoxes:
    """Move bounds, open and close sides, as long as the penalised F1 rises.

    Sides that may not be closed are opened first; then the penalised F1 never falls, unless conditions
    are too many or a required one is missing.
    """
    if not len(boxes.first):
        return boxes
    limits = task.limits
    moved = _open_forbidden(task, boxes)
    kernels.polish(
        task.rows, task.columns, task.positive, task.weight, task.n_bins, task.categorical,
        limits.may_low, limits.may_high, task.may_ask, limits.required, limits.max_conditions,
        task.condition_price, task.box_price, *moved, task.max_sweeps, task.max_moves, task.seed,
    )  # fmt: skip
    return moved


def _open_forbidden(task: CrispTask, boxes: BinBoxes) -> BinBoxes:
    """Give a copy in which every side is open that must be.

    Whether there is a value may be asked where both sides may be closed; a feature that is required must be
    asked for more.
    """
    may_know = task.limits.may_low & task.limits.may_high & ~task.limits.required
    missing = boxes.first == kernels.MISSING
    first = np.where(task.limits.may_low & ~missing, boxes.first, 0)
    last = np.where(task.limits.may_high, boxes.last, kernels.MISSING)
    last = np.where(first > 0, np.minimum(last, task.n_bins - 1), last)
    whole = (first == 0) & (last >= task.n_bins - 1) & ~may_know
    first = np.where(missing & may_know, kernels.MISSING, first)
    return BinBoxes(first, np.where(whole, kernels.MISSING, last))


def select(task: CrispTask, pool: BinBoxes, max_boxes: int) -> BinBoxes:
    """Choose at most ``max_boxes`` of a pool that make the best union."""
    chosen = kernels.select(
        task.inside(pool), task.positive, task.weight, task.prices(pool), max_boxes, 2 * max_boxes
    )
    return pool.take(chosen)


def _worth(task: CrispTask, boxes: BinBoxes) -> Floats:
    """Give what the objective would lose without each box, all else as it is."""
    worth = kernels.worth_of_boxes(
        task.columns, task.positive, task.weight, task.n_bins, task.categorical, *boxes,
        task.condition_price, task.box_price,
    )  # fmt: skip
    return np.asarray(worth, dtype=np.float64)


def drop_idle(task: CrispTask, boxes: BinBoxes) -> BinBoxes:
    """Drop boxes that do not pay their price or hold too few rows, the idlest first, polishing the rest."""
    while len(boxes.first):
        if task.min_support > 0:
            small = task.support(boxes) < task.min_support
            if small.any():
                boxes = polish(task, boxes.take(~small))
                continue
        worth = _worth(task, boxes)
        if len(worth) == 1 or worth.min() >= 0:
            break
        boxes = polish(task, boxes.take(np.arange(len(worth)) != worth.argmin()))
    return boxes


def merge(task: CrispTask, boxes: BinBoxes) -> BinBoxes:
    """Try to do without each box, repairing the others, the least missed first; keep what scores higher.

    Two boxes that share the work of one are each in the other's way: no single move of either helps.
    """
    value = task.score(boxes)[0]
    tried = 0
    while len(boxes.first) > 1 and tried < min(len(boxes.first), MERGE_TRIES):
        order = np.argsort(_worth(task, boxes), kind="stable")
        fewer = drop_idle(task, polish(task, boxes.take(np.sort(np.delete(order, tried)))))
        fewer_value = task.score(fewer)[0]
        if fewer_value > value:
            boxes, value, tried = fewer, fewer_value, 0
        else:
            tried += 1
    return boxes


def improve(
    task: CrispTask, starts: list[BinBoxes], max_boxes: int, leaves: BinBoxes | None = None
) -> BinBoxes:
    """Polish each start, pool them, choose the best union, polish it, and drop what does not pay.

    The best single start is kept instead where it scores higher. ``leaves`` join the pool as they are: a
    box that does all the work alone would be worn down beside others that share it.
    """
    polished = [polish(task, start) for start in starts if len(start.first)]
    if not polished:
        none = np.zeros((0, len(task.n_bins)), np.int64)
        return BinBoxes(none, none.copy())
    candidates = [boxes for boxes in polished if len(boxes.first) <= max_boxes]
    pool = polished[0] if leaves is None else _open_forbidden(task, leaves) + polished[0]
    for more in polished[1:]:
        pool = pool + more
    candidates.append(polish(task, select(task, pool, max_boxes)))
    best = max(candidates, key=lambda boxes: task.score(boxes)[0])
    return drop_idle(task, best)


def order_boxes(inside: Bools, votes: Ints, classes: Ints, weight: Floats) -> Ints:
    """Order boxes for first-match: next comes the one most often right about the rows still open.

    ``inside`` has shape (n_boxes, n_rows), ``votes`` the class of each box, ``classes`` that of each row.
    Shares are smoothed by one row of the class shares, so that a box of few rows does not jump the queue.
    """
    share = np.bincount(classes, weights=weight, minlength=int(votes.max(initial=0)) + 1)
    share = share / max(share.sum(), 1e-300)
    right = (classes == votes[:, None]) * weight
    open_rows = np.ones(len(classes), bool)
    left = list(range(len(votes)))
    order = []
    while left:
        undecided = inside[left][:, open_rows]
        hits = (undecided * right[left][:, open_rows]).sum(axis=1)
        mass = undecided @ weight[open_rows]
        precision = (hits + share[votes[left]]) / (mass + 1)
        best = left.pop(int(np.lexsort((np.arange(len(precision)), -mass, -precision))[0]))
        order.append(best)
        open_rows &= ~inside[best]
    return np.array(order, dtype=np.int64)
