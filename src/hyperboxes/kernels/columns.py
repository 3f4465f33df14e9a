"""Columns of a table, read once: extents, moments, standard units and bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import bare_inner, bare_kernel
from ._threads import run
from .blocks import over_blocks, row_blocks
from .crisp import MISSING

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows that are turned from row-major to feature-major at a time: they stay in the first-level cache.
TILE_ROWS = 64
#: Stretches that the edges of a feature are sorted into.
N_BUCKETS = 512


class Moments(NamedTuple):
    """Weight of the known cells of each column, their mean, and their weighted squares about it."""

    mass: Floats
    mean: Floats
    squares: Floats


class Ruler(NamedTuple):
    """Sorted edges of each feature, all in one row, and where those of each of its buckets begin."""

    edges: Floats
    start: Ints
    origin: Floats
    inverse: Floats
    guide: Ints


@bare_kernel
def _moments(cells, weight, unit, lowest, highest, mass, mean, squares):  # type: ignore[no-untyped-def]
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            x = cells[i, j] * unit[j]
            known = x == x
            mass[j] += weight[i] if known else 0.0
            mean[j] += weight[i] * x if known else 0.0
    for j in range(d):
        # A mean lies among its values; rounded, that of equal ones may not, and they would seem to vary.
        mean[j] = min(max(mean[j] / max(mass[j], 1e-300), lowest[j]), highest[j])
    for i in range(n):
        for j in range(d):
            apart = cells[i, j] * unit[j] - mean[j]
            squares[j] += weight[i] * apart * apart if apart == apart else 0.0


@bare_inner
def _count_below(x, edges, begin, end):  # type: ignore[no-untyped-def]
    """Count the edges below x in the sorted ``edges[begin:end]``, in steps that do not depend on x."""
    at, length = begin, end - begin
    while length > 0:
        half = (length + 1) >> 1
        at += half * np.int64(edges[at + half - 1] < x)
        length -= half
    return at - begin


@bare_inner
def _bucket(x, origin, inverse):  # type: ignore[no-untyped-def]
    """Give one of N_BUCKETS even stretches of the line; never a lower one for a larger x."""
    place = (x * 0.5 - origin) * inverse
    return np.int64(min(place, N_BUCKETS - 1.0)) if place > 0 else 0


@bare_kernel
def _fill_guide(edges, start, origin, inverse, guide):  # type: ignore[no-untyped-def]
    """Note for each feature and bucket where its edges begin; those of lower buckets are below all in it."""
    for j in range(len(origin)):
        at = start[j]
        for b in range(N_BUCKETS + 1):
            while at < start[j + 1] and _bucket(edges[at], origin[j], inverse[j]) < b:
                at += 1
            guide[j, b] = at


@bare_kernel
def _encode(cells, edges, start, origin, inverse, guide, first_row, out):  # type: ignore[no-untyped-def]
    n, d = cells.shape
    for begin in range(0, n, TILE_ROWS):
        for j in range(d):
            for i in range(begin, min(begin + TILE_ROWS, n)):
                x = cells[i, j]
                b = _bucket(x, origin[j], inverse[j])
                code = guide[j, b] - start[j] + _count_below(x, edges, guide[j, b], guide[j, b + 1])
                out[j, first_row + i] = code if x == x else MISSING


def extents(X: NDArray[np.floating[Any]]) -> tuple[Floats, Floats]:
    """Give the lowest and highest known value of each column; inf and -inf where there is none."""

    def of_block(cells: Floats, rows: slice) -> tuple[Floats, Floats]:
        # Unlike minimum and maximum, these pass over NaN.
        return np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)

    nothing = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    lowest, highest = zip(nothing, *over_blocks(of_block, X), strict=True)
    return np.fmin.reduce(lowest, axis=0), np.fmax.reduce(highest, axis=0)


def moments(X: Floats, weight: Floats, unit: Floats, lowest: Floats, highest: Floats) -> Moments:
    """Give the weighted moments of each column times ``unit``, missing values aside.

    ``lowest`` and ``highest`` are the extents of the columns in that unit. Block by block, merged in order
    (Chan, Golub & LeVeque 1983), which loses no digits to large means.
    """
    n_columns = X.shape[1]
    weight = np.require(weight, np.float64, ["C", "W"])

    def of_block(cells: Floats, rows: slice) -> Moments:
        found = Moments(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns))
        _moments(cells, weight[rows], unit, lowest, highest, *found)
        return found

    mass, mean, squares = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    for part in over_blocks(of_block, X):
        mass = mass + part.mass
        share = part.mass / np.maximum(mass, 1e-300)
        apart = part.mean - mean
        squares = squares + part.squares + apart**2 * share * (mass - part.mass)
        mean = mean + apart * share
    return Moments(mass, np.clip(mean, lowest, highest), squares)


def standard_units(
    X: Floats, unit: Floats, centre: Floats, scale: Floats, largest: float
) -> NDArray[np.float32]:
    """Give (X * unit - centre) / scale, clipped to ``largest``; zero where a value is missing."""
    out = np.empty(X.shape, np.float32)

    def of_block(cells: Floats, rows: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            z = cells * unit
            z -= centre
            z /= scale
        np.clip(z, -largest, largest, out=z)
        z[np.isnan(z)] = 0.0
        out[rows] = z

    over_blocks(of_block, X)
    return out


def ruler(edges: Sequence[Floats]) -> Ruler:
    """Make the edges of all features ready for ``encode``."""
    start = np.concatenate([[0], np.cumsum([len(part) for part in edges], dtype=np.int64)])
    flat = np.concatenate([*edges, np.zeros(1)])
    # Halves, because the distance between large numbers of opposite sign overflows.
    origin = np.array([part[0] / 2 if len(part) else 0.0 for part in edges])
    length = np.array([part[-1] / 2 if len(part) else 0.0 for part in edges]) - origin
    with np.errstate(divide="ignore", over="ignore"):
        inverse = N_BUCKETS / length
    guide = np.empty((len(edges), N_BUCKETS + 1), np.int64)
    _fill_guide(flat, start, origin, inverse, guide)
    return Ruler(flat, start, origin, inverse, guide)


def encode(X: Floats, edges: Ruler) -> NDArray[np.uint8]:
    """Give the number of edges below each cell, ``MISSING`` for NaN; feature-major.

    A cell is compared with the edges of its own bucket alone, few where they are spread evenly.
    """
    out = np.empty((X.shape[1], X.shape[0]), np.uint8)
    over_blocks(lambda cells, rows: _encode(cells, *edges, rows.start, out), X)
    return out


def bin_weights(codes: NDArray[np.uint8], weight: Floats) -> Floats:
    """Sum the weight in each bin of each feature; the last column is that of missing values."""
    found = run(lambda column: np.bincount(column, weight, MISSING + 1), codes, cells=codes.size)
    return np.array(found, dtype=np.float64)


def look_up(codes: NDArray[np.uint8], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give each cell its feature's value for its code; row-major."""
    out = np.empty((codes.shape[1], codes.shape[0]), np.float32)

    def of_block(rows: slice) -> None:
        for j, column in enumerate(codes[:, rows]):
            out[rows, j] = values[j].take(column)

    run(of_block, row_blocks(out))
    return out
