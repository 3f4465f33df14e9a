"""Rows in a canonical order, so that what is learned depends on what the table holds, not on how it lies."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import bare_inner, bare_kernel
from .blocks import over_blocks, row_blocks
from .columns import extents
from .random import mix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
#: Parts of a float64, and the exponent field of numbers from 0.5 to 1.
SIGN, FRACTION, IMPLICIT = np.uint64(1 << 63), np.uint64((1 << 52) - 1), np.uint64(1 << 52)
HALF, SPECIAL = 1022, 0x7FF
#: One pattern stands for every NaN.
NAN = np.uint64(0x7FF8 << 48)
#: Rows of each group to keep, from the number of its distinct ones.
Quota = Callable[[Ints], Ints]


class Rows(NamedTuple):
    """Rows in canonical order: where each is in the table, its weight, and of how many distinct ones."""

    chosen: Ints
    weight: Floats
    n_distinct: int


@bare_inner
def _relative_bits(bits, largest):  # type: ignore[no-untyped-def]
    """Give the bits of a number divided by 2**largest, the frexp exponent of its column's largest.

    Numbers that would be too small for float64 there keep their own pattern: they must not become one.
    """
    fraction = bits & FRACTION
    exponent = np.int64((bits & ~SIGN) >> np.uint64(52))
    if exponent == SPECIAL:
        return NAN if fraction else bits
    if exponent == 0:
        if fraction == 0:
            return np.uint64(0)  # of either sign
        exponent = np.int64(1)
        while fraction < IMPLICIT:
            fraction <<= np.uint64(1)
            exponent -= 1
        fraction &= FRACTION
    power = exponent - HALF - largest
    sign = bits & SIGN
    if power + HALF > 0:
        return sign | (np.uint64(power + HALF) << np.uint64(52)) | fraction
    return (sign | (np.uint64(HALF) << np.uint64(52)) | fraction) ^ np.uint64(power)


@bare_kernel
def _hash_rows(bits, group, largest, out):  # type: ignore[no-untyped-def]
    for i in range(len(bits)):
        h = mix(np.uint64(group[i]))
        for j in range(bits.shape[1]):
            h = mix(h ^ _relative_bits(bits[i, j], largest[j]))
        out[i] = h


def hash_rows(X: Floats, group: Ints) -> Hashes:
    """Hash the content of each row and its group.

    Cells are taken relative to the column's largest, so that the unit of a column does not matter; zeros of
    both signs are one value, and so are all NaN.
    """
    lowest, highest = extents(X)
    _, largest = np.frexp(np.maximum(np.maximum(-lowest, highest), 0.0))
    largest = largest.astype(np.int64)
    out = np.empty(len(X), np.uint64)
    over_blocks(lambda cells, rows: _hash_rows(cells.view(np.uint64), group[rows], largest, out[rows]), X)
    return out


def canonical_rows(X: Floats, group: Ints, weight: Floats, quota: Quota | None = None) -> Rows:
    """Order rows by a hash of their content, merge equal ones, drop those of weight zero.

    A row of weight two and the same row twice give the same answer, and so does any permutation:
    learners that start from these rows treat weight as repetition to the last bit.

    With ``quota``, only the first so many of each group in that order are kept (one at least), a random
    sample with the weight of all; the others are never sorted by their content or merged.
    """
    if not (weight > 0).all():
        kept = np.flatnonzero(weight > 0)
        rows = canonical_rows(X[kept], group[kept], weight[kept], quota)
        return rows._replace(chosen=kept[rows.chosen])
    hashes = hash_rows(X, group)
    if quota is None:
        return _merged(X, group, weight, hashes, np.arange(len(X)))
    counts, wanted, taken = _smallest_hashes(hashes, group, quota)
    index, merged, _ = _merged(X, group, weight, hashes, taken)
    factor = np.ones(len(counts))
    for label in np.flatnonzero(wanted < counts):
        factor[label] = _exact_sum(weight[group == label]) / merged[group[index] == label].sum()
    return Rows(index, merged * factor[group[index]], int(counts.sum()))


def _smallest_hashes(hashes: Hashes, group: Ints, quota: Quota) -> tuple[Ints, Ints, Ints]:
    """Count the distinct rows of each group, ask how many are wanted, and list those of smallest hash."""
    distinct = [_distinct(hashes[group == label]) for label in range(int(group.max(initial=-1)) + 1)]
    counts = np.array([len(own) for own in distinct], dtype=np.int64)
    wanted = np.minimum(np.maximum(quota(counts), 1), counts)
    highest = np.array(
        [own[want - 1] if want else 0 for own, want in zip(distinct, wanted, strict=True)], dtype=np.uint64
    )
    return counts, wanted, np.flatnonzero(hashes <= highest[group])


def _distinct(hashes: Hashes) -> Hashes:
    ordered = np.sort(hashes)
    return ordered[np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])]


def _merged(X: Floats, group: Ints, weight: Floats, hashes: Hashes, taken: Ints) -> Rows:
    """Put the rows ``taken`` in order and merge equal ones."""
    weight, hashes = weight[taken], hashes[taken]
    # By weight among equal rows: the sum of their weights must not depend on the order they came in.
    alike = not len(weight) or weight.min() == weight.max()
    order = np.argsort(hashes) if alike else np.lexsort((weight, hashes))
    same = np.zeros(len(order), np.bool_)
    twin = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]) + 1
    for rows in row_blocks(np.broadcast_to(X[:1], (len(twin), X.shape[1]))):
        one, other = taken[order[twin[rows] - 1]], taken[order[twin[rows]]]
        same[twin[rows]] = (group[one] == group[other]) & _equal_cells(X[one], X[other])
    first = np.flatnonzero(~same)
    if not len(first):
        return Rows(taken, weight, 0)
    # Of equal rows, the first in the table stands for all: zeros may differ in their sign.
    chosen, merged = np.minimum.reduceat(order, first), np.add.reduceat(weight[order], first)
    return Rows(taken[chosen], merged, len(first))


def _equal_cells(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Tell which rows are equal; NaN equals NaN."""
    return np.asarray(((one == other) | ((one != one) & (other != other))).all(axis=1))


def _exact_sum(values: Floats) -> float:
    """Sum positive numbers and round once: neither their order nor how they are split matters."""
    if values.min() == values.max():
        return float(len(values) * values[0])
    parts = (part.tolist() for part in np.array_split(values, 1 + len(values) // 10_000))
    return math.fsum(chain.from_iterable(parts))
