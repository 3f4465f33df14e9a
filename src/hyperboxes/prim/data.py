"""Targets and weights in: numbers, checked, with errors that say what to give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def read_target(y: ArrayLike, n_rows: int) -> Floats:
    """Read a target of 0/1, booleans or numbers."""
    array = np.asarray(y)
    if array.shape != (n_rows,):
        raise ValueError(f"y must hold one value for each of the {n_rows} rows, got shape {array.shape}")
    try:
        if array.dtype.kind in "USTM":
            raise TypeError
        target = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"y must hold numbers or booleans, got {array.flat[0]!r}: to look for one class, pass y == label"
        ) from None
    bad = np.flatnonzero(~np.isfinite(target))
    if len(bad):
        raise ValueError(f"y, row {bad[0]} is {array[bad[0]]}: drop rows without a finite target")
    return target


def read_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Read row weights; 1 by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number for each of the {n_rows} rows, got shape {weight.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight, row {bad[0]} is {weight[bad[0]]}: weights are finite, not negative")
    return weight
