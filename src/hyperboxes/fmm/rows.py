"""Rows as the fuzzy min-max family sees them: labelled intervals, mostly of no length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.rows import canonical_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows that choices are judged by, at most: more would cost time and change little.
MAX_HELD_OUT = 10_000


class Rows(NamedTuple):
    """Intervals with their classes and weights; a missing cell reaches from +inf to -inf."""

    low: Floats
    high: Floats
    classes: Ints
    weight: Floats

    def take(self, index: Ints | NDArray[np.bool_]) -> Rows:
        """Give some of the rows, in the given order."""
        return Rows(self.low[index], self.high[index], self.classes[index], self.weight[index])


def intervals(lower: Floats, upper: Floats | None = None) -> tuple[Floats, Floats]:
    """Give cells as intervals; where either end is missing, the cell is."""
    upper = lower if upper is None else upper
    missing = np.isnan(lower) | np.isnan(upper)
    low = np.where(missing, np.inf, lower)
    return low, low if upper is lower and not missing.any() else np.where(missing, -np.inf, upper)


def informative(rows: Rows) -> Rows:
    """Leave out rows of no weight and rows that know nothing."""
    return rows.take((rows.weight > 0) & (rows.low <= rows.high).any(axis=1))


def shuffled(rows: Rows, seed: int) -> Rows:
    """Merge equal rows and draw an order that depends on what the rows hold, not on how they lie.

    A row of weight two and the same row twice are then the same to every learner.
    """
    index, weight, _ = canonical_rows(np.hstack([rows.low, rows.high]), rows.classes, rows.weight)
    drawn = np.random.default_rng(seed).permutation(len(index))
    return rows.take(index)._replace(weight=weight).take(drawn)


def some_of_each_class(
    classes: Ints, share: float, draw: np.random.Generator, least: int = 0
) -> NDArray[np.bool_]:
    """Mark a share of the rows of each class, drawn at random; at least ``least``."""
    place, size = _drawn_places(classes, draw)
    return place < np.maximum(least, (share * size).astype(np.int64))


def folds(rows: Rows, share: float, seed: int) -> list[tuple[Rows, Rows]]:
    """Give rows to learn from beside rows to judge by, a share of each class, as often as it takes.

    A row judges once at most. In a small table nearly all do, as in cross-validation, since a share of few
    rows says little; in a large one there is a single pair. All rows keep their order.
    """
    n = max(len(rows.classes), 1)
    share = min(share, MAX_HELD_OUT / n)
    place, size = _drawn_places(rows.classes, np.random.default_rng(seed))
    held = (share * size).astype(np.int64)
    fold = np.where(held > 0, place // np.maximum(held, 1), n)
    n_folds = max(1, int(min(1 / share, MAX_HELD_OUT / (share * n))))
    return [(rows.take(fold != turn), rows.take(fold == turn)) for turn in range(n_folds)]


def _drawn_places(classes: Ints, draw: np.random.Generator) -> tuple[Ints, Ints]:
    """Put the rows of each class in a random order: give each row's place in it, and how many there are."""
    drawn = draw.permutation(len(classes))
    place, size = np.empty_like(classes), np.empty_like(classes)
    for label in np.unique(classes):
        own = drawn[classes[drawn] == label]
        place[own], size[own] = np.arange(len(own)), len(own)
    return place, size
