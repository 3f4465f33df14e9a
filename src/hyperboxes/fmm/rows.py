"""Rows as the fuzzy min-max family sees them: labelled intervals, mostly of no length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.rows import canonical_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows that choices are judged on, at most: more would cost time and change little.
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
    drawn = draw.permutation(len(classes))
    chosen = np.zeros(len(classes), bool)
    for label in np.unique(classes):
        own = drawn[classes[drawn] == label]
        chosen[own[: max(least, int(share * len(own)))]] = True
    return chosen


def hold_out(rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
    """Split off a share of each class, drawn at random; all rows keep their order."""
    share = min(share, MAX_HELD_OUT / max(len(rows.classes), 1))
    held = some_of_each_class(rows.classes, share, np.random.default_rng(seed))
    return rows.take(~held), rows.take(held)
