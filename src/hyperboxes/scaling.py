"""Scaling: what one unit of each feature is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tables import Table

Floats = NDArray[np.float64]


def standardise(X: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Give weighted mean and standard deviation of each column; missing values aside.

    Columns are first scaled by a power of two, which is exact, so that nothing overflows at 1e308 or
    vanishes at 1e-308.
    """
    X = np.asarray(X, dtype=np.float64)
    largest = np.nanmax(np.abs(X), axis=0, initial=0.0)
    _, exponent = np.frexp(largest)
    small = np.ldexp(X, -exponent)
    known = ~np.isnan(small)
    mass = np.maximum(weight @ known, 1e-300)
    # A mean lies among its values; rounded, that of equal ones may not, and they would seem to vary.
    lowest = np.min(small, axis=0, initial=1.0, where=known)
    highest = np.max(small, axis=0, initial=-1.0, where=known)
    small = np.where(known, small, 0.0)
    mean = np.clip(weight @ small / mass, lowest, highest)
    mean = np.where(known.any(axis=0), mean, 0.0)
    deviation = np.sqrt(weight @ (np.where(known, small - mean, 0.0) ** 2) / mass)
    centre, scale = np.ldexp(mean, exponent), np.ldexp(deviation, exponent)
    flat = ~(scale > 0) | ~np.isfinite(scale)
    return centre, np.where(flat, 1.0, scale)


def scaled(X: Floats, centre: Floats, scale: Floats) -> Floats:
    """Give distances from the centre in units of the scale."""
    # Powers of two aside, which is exact: the difference of two large numbers of opposite sign overflows.
    _, exponent = np.frexp(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.ldexp(X, -exponent) - np.ldexp(centre, -exponent)
        return np.asarray(difference / np.ldexp(scale, -exponent))


def power_of_two_scale(table: Table, weight: Floats) -> Floats:
    """Give each feature's standard deviation as the nearest power of two, for distances to boxes."""
    _, scale = standardise(table.matrix, weight)
    exponent = np.clip(np.rint(np.log2(scale)), -1000, 1000)
    scale = np.ldexp(1.0, exponent.astype(np.int64))
    scale[[name in table.categories for name in table.feature_names]] = 1.0
    return scale
