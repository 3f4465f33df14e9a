"""Measures: distances that Python and every database compute to the same last bit.

A difference and a quotient of doubles are rounded alike everywhere. What is not alike is kept out: a cell
far away is not subtracted, a difference of next to nothing is not divided (PostgreSQL refuses both an
overflow and an underflow), and a missing value, which databases hold greater than infinity or ignore, is
asked for by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Shares of a unit below which a distance is zero.
RESOLUTION = 2.0**-40
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Measure:
    """Distance of a number from ``origin`` in units, constant up to ``low`` and from ``high`` on."""

    origin: float
    unit: float
    low: float
    at_low: float
    high: float
    at_high: float
    missing: float = 1.0

    @classmethod
    def around(cls, origin: float, unit: float, most: float) -> Measure:
        """Measure the distance from a centre, at most ``most`` units."""
        low, high = _beyond(origin, -most * unit), _beyond(origin, most * unit)
        return cls(origin, unit, low, most, high, most)

    @classmethod
    def above(cls, bound: float, unit: float) -> Measure:
        """Measure how far a number is above a lower bound, at most one unit."""
        return cls(bound, unit, bound, 0.0, _beyond(bound, unit), 1.0, missing=0.0)

    @classmethod
    def below(cls, bound: float, unit: float) -> Measure:
        """Measure how far a number is below an upper bound, at most one unit."""
        return cls(bound, unit, _beyond(bound, -unit), 1.0, bound, 0.0, missing=0.0)

    def of(self, cells: Floats) -> Floats:
        """Measure cells."""
        with np.errstate(all="ignore"):
            away = np.abs(cells - self.origin)
            found = np.where(away <= self.unit * RESOLUTION, 0.0, away / self.unit)
        found = np.where(cells <= self.low, self.at_low, np.where(cells < self.high, found, self.at_high))
        return np.where(np.isnan(cells), self.missing, found)

    def to_sql(self, cell: str, number: Callable[[float], str]) -> str:
        """Write the measure of a cell that is a double, or NULL."""
        away = f"ABS({cell} - {number(self.origin)})"
        return (
            f"CASE WHEN {cell} <= {number(self.low)} THEN {number(self.at_low)}"
            f" WHEN {cell} < {number(self.high)} THEN"
            f" CASE WHEN {away} <= {number(self.unit * RESOLUTION)} THEN {number(0.0)}"
            f" ELSE {away} / {number(self.unit)} END"
            f" WHEN {cell} <= {number(math.inf)} THEN {number(self.at_high)}"
            f" ELSE {number(self.missing)} END"
        )


def _beyond(origin: float, step: float) -> float:
    return min(max(origin + step, -LARGEST), LARGEST)


def sum_of(terms: Sequence[Floats], n_rows: int) -> Floats:
    """Add terms from left to right, as databases do."""
    total = np.zeros(n_rows)
    for term in terms:
        total = total + term
    return total
