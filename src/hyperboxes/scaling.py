"""Scaling: what one unit of each feature is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kernels.columns import extents, moments, standard_units
from .tables import Table

Floats = NDArray[np.float64]


def standardise(X: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Give weighted mean and standard deviation of each column; missing values aside.

    Columns are first scaled by a power of two, which is exact, so that nothing overflows at 1e308 or
    vanishes at 1e-308.
    """
    lowest, highest = extents(X)
    empty = lowest > highest
    lowest, highest = np.where(empty, 0.0, lowest), np.where(empty, 0.0, highest)
    unit = unit_of(np.maximum(-lowest, highest))
    mass, mean, squares = moments(X, weight, unit, lowest * unit, highest * unit)
    centre, scale = mean / unit, np.sqrt(squares / np.maximum(mass, 1e-300)) / unit
    flat = ~(scale > 0) | ~np.isfinite(scale)
    return centre, np.where(flat, 1.0, scale)


def unit_of(size: Floats) -> Floats:
    """Give the power of two that brings a size below one, or as near to that as float64 reaches."""
    _, exponent = np.frexp(size)
    return np.ldexp(1.0, np.minimum(-exponent, 1023))


def scaled(X: Floats, centre: Floats, scale: Floats) -> Floats:
    """Give distances from the centre in units of the scale."""
    # Powers of two aside, which is exact: the difference of two large numbers of opposite sign overflows.
    _, exponent = np.frexp(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.ldexp(X, -exponent) - np.ldexp(centre, -exponent)
        return np.asarray(difference / np.ldexp(scale, -exponent))


def clipped_units(X: Floats, centre: Floats, scale: Floats, largest: float) -> NDArray[np.float32]:
    """Give distances from the centre in units of the scale, at most ``largest``; 0 for a missing value."""
    unit = unit_of(scale)
    with np.errstate(over="ignore"):
        return standard_units(X, unit, centre * unit, scale * unit, largest)


def power_of_two_scale(table: Table, weight: Floats) -> Floats:
    """Give each feature's standard deviation as the nearest power of two, for distances to boxes."""
    _, scale = standardise(table.matrix, weight)
    exponent = np.clip(np.rint(np.log2(scale)), -1000, 1000)
    scale = np.ldexp(1.0, exponent.astype(np.int64))
    scale[[name in table.categories for name in table.feature_names]] = 1.0
    return scale
