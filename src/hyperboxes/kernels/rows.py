"""Rows in a canonical order, so that what is learned depends on what the table holds, not on how it lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .random import mix


@kernel
def _hash_rows(bits, group, out):  # type: ignore[no-untyped-def]
    for i in range(len(bits)):
        h = mix(np.uint64(group[i]))
        for j in range(bits.shape[1]):
            h = mix(h ^ bits[i, j])
        out[i] = h


@kernel
def _same_as_previous(cells, group, order, out):  # type: ignore[no-untyped-def]
    out[0] = False
    for r in range(1, len(order)):
        a, b = order[r - 1], order[r]
        same = group[a] == group[b]
        for j in range(cells.shape[1]):
            if not same:
                break
            same = cells[a, j] == cells[b, j]
        out[r] = same


def canonical_rows(
    X: NDArray[np.float64], group: NDArray[np.int64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Order rows by a hash of their content, merge equal ones, drop those of weight zero.

    A row of weight two and the same row twice give the same answer, and so does any permutation:
    learners that start from these rows treat weight as repetition to the last bit.

    Returns
    -------
    index, weight
        One index into ``X`` for each distinct (row, group), and the summed weight.
    """
    kept = np.flatnonzero(weight > 0)
    # Adding zero turns -0.0 into 0.0; one bit pattern stands for every NaN.
    cells = np.ascontiguousarray(X[kept] + 0.0)
    cells[np.isnan(cells)] = np.nan
    # Hashed by size relative to the column's largest, so that the unit of a column does not matter.
    _, largest = np.frexp(np.nanmax(np.abs(cells), axis=0, initial=0.0))
    mantissa, power = np.frexp(cells)
    power = power - largest
    bits = np.ldexp(cells, -largest).view(np.uint64)
    # There, numbers too small for float64 would all become one.
    small = (np.abs(mantissa) > 0) & (power < -1021)
    bits[small] = mantissa.view(np.uint64)[small] ^ power[small].astype(np.uint64)
    groups = np.ascontiguousarray(group[kept])
    hashes = np.empty(len(kept), np.uint64)
    _hash_rows(bits, groups, hashes)
    # By weight among equal rows: the sum of their weights must not depend on the order they came in.
    order = np.lexsort((weight[kept], hashes))
    same = np.zeros(len(kept), np.bool_)
    if len(kept):
        _same_as_previous(cells.view(np.uint64), groups, order, same)
    place = np.cumsum(~same) - 1
    merged = np.zeros(int(place[-1]) + 1 if len(place) else 0)
    np.add.at(merged, place, weight[kept][order])
    return kept[order[~same]], merged
