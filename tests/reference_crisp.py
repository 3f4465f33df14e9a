"""Crisp search as slow and obvious loops over all rows, boxes and intervals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperboxes.crisp import BinBoxes, CrispTask
from hyperboxes.kernels.crisp import MISSING

Interval = tuple[int, int]


def holds(code: int, first: int, last: int) -> bool:
    """Tell whether an interval of bins admits a code."""
    return first <= code <= last


def violations(task: CrispTask, boxes: BinBoxes) -> NDArray[np.int64]:
    """Count the violated features of every box and row."""
    out = np.zeros((len(boxes.first), len(task.rows)), np.int64)
    for k, i in np.ndindex(out.shape):
        for j, code in enumerate(task.rows[i].tolist()):
            out[k, i] += not holds(code, int(boxes.first[k, j]), int(boxes.last[k, j]))
    return out


def n_conditions(task: CrispTask, feature: int, interval: Interval) -> int:
    """Count what an interval asks."""
    if interval == (0, MISSING):
        return 0
    if task.categorical[feature]:
        return 1
    return max(int(interval[0] > 0) + int(interval[1] < task.n_bins[feature] - 1), 1)


def box_conditions(task: CrispTask, boxes: BinBoxes) -> list[int]:
    """Count what each box asks."""
    return [
        sum(n_conditions(task, j, (int(a), int(b))) for j, (a, b) in enumerate(zip(first, last, strict=True)))
        for first, last in zip(boxes.first, boxes.last, strict=True)
    ]


def score(task: CrispTask, boxes: BinBoxes) -> float:
    """Give the penalised F1 of the union."""
    covered = (violations(task, boxes) == 0).any(axis=0)
    true = task.weight[covered & task.positive].sum()
    false = task.weight[covered & ~task.positive].sum()
    total = task.weight[task.positive].sum()
    price = task.condition_price * sum(box_conditions(task, boxes)) + task.box_price * len(boxes.first)
    return float(2 * true / (true + false + total) - price / (2 * total))


def intervals(task: CrispTask, feature: int, allowance: int) -> list[Interval]:
    """List every interval that the limits permit a feature, given how many conditions it may have."""
    limits, ends = task.limits, int(task.n_bins[feature]) - 1
    found = [] if limits.required[feature] else [(0, MISSING)]
    free = limits.may_low[feature] and limits.may_high[feature] and not limits.required[feature]
    free = free and (task.absence is None or task.absence[feature])
    if free and allowance >= 1:
        found.append((MISSING, MISSING))
    for first, last in itertools.combinations_with_replacement(range(ends + 1), 2):
        if (first, last) == (0, ends) and not free:
            continue
        if first > 0 and not limits.may_low[feature]:
            continue
        if last < ends and not limits.may_high[feature]:
            continue
        if n_conditions(task, feature, (first, last)) <= allowance:
            found.append((first, last))
    return found


def better_moves(task: CrispTask, boxes: BinBoxes, least: float) -> list[Any]:
    """List the changes of one feature of one box that raise the objective by more than ``least``."""
    now, found = score(task, boxes), []
    for k, j in np.ndindex(boxes.first.shape):
        held = n_conditions(task, j, (int(boxes.first[k, j]), int(boxes.last[k, j])))
        allowance = task.limits.max_conditions - box_conditions(task, boxes)[k] + held
        for interval in intervals(task, j, allowance):
            changed = boxes.copy()
            changed.first[k, j], changed.last[k, j] = interval
            if score(task, changed) > now + least:
                found.append((k, j, interval))
    return found


def order(inside: NDArray[np.bool_], votes: list[int], classes: list[int], weight: list[float]) -> list[int]:
    """Order boxes greedily by smoothed precision on rows still undecided, then by mass, then by number."""
    undecided, left, found = set(range(len(classes))), list(range(len(votes))), []
    while left:
        ranks = []
        for box in left:
            rows = [row for row in undecided if inside[box, row]]
            mass = sum(weight[row] for row in rows)
            hits = sum(weight[row] for row in rows if classes[row] == votes[box])
            share = sum(w for w, c in zip(weight, classes, strict=True) if c == votes[box]) / sum(weight)
            ranks.append((-(hits + share) / (mass + 1), -mass, box))
        best = min(ranks)[2]
        left.remove(best)
        found.append(best)
        undecided -= {row for row in undecided if inside[best, row]}
    return found
