"""What boxes mean, as slow and obvious loops over Python numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperboxes import Boxes


def holds(boxes: Boxes, box: int, column: int, cell: float) -> bool:
    """Tell whether a cell meets what a box asks of its feature."""
    name = boxes.feature_names[column]
    if name in boxes.categories:
        known, admitted = boxes.categories[name], boxes.allowed[name][box].tolist()
        if all(admitted):
            return True
        if is_missing(boxes, column, cell):
            return known[-1] is None and admitted[-1]
        if cell in range(len(known)):
            return admitted[int(cell)]
        return all(yes or value is None for value, yes in zip(known, admitted, strict=True))
    low, high = float(boxes.lower[box, column]), float(boxes.upper[box, column])
    if low == -math.inf and high == math.inf:
        return True
    if math.isnan(low):
        return math.isnan(cell)
    return low <= cell <= high


def is_missing(boxes: Boxes, column: int, cell: float) -> bool:
    """Tell whether a cell is missing: NaN, or the position of the category that stands for it."""
    known = boxes.categories.get(boxes.feature_names[column], ())
    return math.isnan(cell) or (None in known and cell == known.index(None))


def contains(boxes: Boxes, X: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows lie in which boxes."""
    out = np.zeros((len(X), boxes.n_boxes), bool)
    for row in range(len(X)):
        for box in range(boxes.n_boxes):
            out[row, box] = all(holds(boxes, box, j, float(X[row, j])) for j in range(boxes.n_features))
    return out


def apply(boxes: Boxes, X: NDArray[Any]) -> list[int]:
    """Give the first box that contains each row, else -1."""
    return [next((box for box, yes in enumerate(row) if yes), -1) for row in contains(boxes, X)]


def violation(boxes: Boxes, box: int, row: NDArray[Any]) -> float:
    """Give the largest violation of a box's conditions, in units of scale."""
    worst = 0.0
    for j, name in enumerate(boxes.feature_names):
        cell = float(row[j])
        if holds(boxes, box, j, cell):
            continue
        if is_missing(boxes, j, cell):
            return math.inf
        if name in boxes.categories:
            distance = 1.0
        else:
            low, high = float(boxes.lower[box, j]), float(boxes.upper[box, j])
            if math.isnan(low):
                return math.inf
            distance = (low - cell if cell < low else cell - high) / float(boxes.scale[j])
        worst = max(worst, distance)
    return worst


def nearest(boxes: Boxes, X: NDArray[Any]) -> list[int]:
    """Give the first box that contains each row, else the first of the nearest, else -1."""
    found = []
    for row, first in zip(X, apply(boxes, X), strict=True):
        distances = [violation(boxes, box, row) for box in range(boxes.n_boxes)]
        if first < 0 and min(distances, default=math.inf) < math.inf:
            first = distances.index(min(distances))
        found.append(first)
    return found


def predict(boxes: Boxes, X: NDArray[Any]) -> list[Any]:
    """Give the label of the box that decides each row, else the default."""
    decide = nearest if boxes.uncovered == "nearest" else apply
    return [boxes.default if box < 0 else boxes.labels[box].item() for box in decide(boxes, X)]


def samples(boxes: Boxes, column: int) -> list[float]:
    """List cells that tell every interval or set of a column from every other."""
    name = boxes.feature_names[column]
    if name in boxes.categories:
        return [math.nan, -1.0, *map(float, range(len(boxes.categories[name])))]
    cells = [math.nan, -math.inf, math.inf]
    for bound in np.unique([boxes.lower[:, column], boxes.upper[:, column]]):
        cells += [bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf)]
    return cells


def covers(boxes: Boxes) -> NDArray[np.bool_]:
    """Tell which box contains which: in every column, each cell that j admits is one that i admits."""
    out = np.zeros((boxes.n_boxes, boxes.n_boxes), bool)
    for i in range(boxes.n_boxes):
        for j in range(boxes.n_boxes):
            out[i, j] = all(
                holds(boxes, i, column, cell)
                for column in range(boxes.n_features)
                for cell in samples(boxes, column)
                if holds(boxes, j, column, cell)
            )
    return out


def overlaps(boxes: Boxes) -> NDArray[np.bool_]:
    """Tell which boxes share a point: in every column, some known cell that both admit."""
    out = np.zeros((boxes.n_boxes, boxes.n_boxes), bool)
    for i in range(boxes.n_boxes):
        for j in range(boxes.n_boxes):
            out[i, j] = all(
                any(
                    holds(boxes, i, k, cell) and holds(boxes, j, k, cell)
                    for cell in [*samples(boxes, k), 0.0]
                )
                for k in range(boxes.n_features)
            )
    return out
