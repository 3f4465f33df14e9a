"""Weighted k-means, small and the same at any number of threads."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from ._compile import BARE, bare_inner, bare_kernel
from .random import draw_float


@numba.njit(fastmath={"reassoc", "contract"}, **BARE)
def _squared_distance(X, i, centres, c):  # type: ignore[no-untyped-def]
    """Give the squared distance of row i from centre c; in any order of summing, so that it vectorises."""
    s = 0.0
    for j in range(X.shape[1]):
        s += (X[i, j] - centres[c, j]) ** 2
    return s


@bare_inner
def _seed_centres(X, weight, centres, distance, chance, state):  # type: ignore[no-untyped-def]
    """k-means++ (Arthur & Vassilvitskii 2007): each centre drawn by weight times squared distance.

    Returns the number of centres; there are fewer than asked for if every row is one already.
    """
    total = 0.0
    for i in range(len(X)):
        distance[i] = np.inf
        chance[i] = weight[i]
        total += weight[i]
    for c in range(len(centres)):
        if total <= 0:
            return c
        target = draw_float(state) * total
        row, passed = 0, chance[0]
        while passed <= target and row < len(X) - 1:
            row += 1
            passed += chance[row]
        for j in range(X.shape[1]):
            centres[c, j] = X[row, j]
        total = 0.0
        for i in range(len(X)):
            distance[i] = min(distance[i], _squared_distance(X, i, centres, c))
            chance[i] = weight[i] * distance[i]
            total += chance[i]
    return len(centres)


@bare_kernel
def _assign(X, weight, centres, sums, mass, distance, chance, state, labels, max_iter):  # type: ignore[no-untyped-def]
    n_clusters = _seed_centres(X, weight, centres, distance, chance, state)
    for _ in range(max_iter):
        changed = False
        for c in range(n_clusters):
            mass[c] = 0.0
            for j in range(X.shape[1]):
                sums[c, j] = 0.0
        for i in range(len(X)):
            best, nearest = np.inf, 0
            for c in range(n_clusters):
                s = _squared_distance(X, i, centres, c)
                if s < best:
                    best, nearest = s, c
            if nearest != labels[i]:
                labels[i] = nearest
                changed = True
            mass[nearest] += weight[i]
            for j in range(X.shape[1]):
                sums[nearest, j] += weight[i] * X[i, j]
        if not changed:
            break
        for c in range(n_clusters):
            if mass[c] > 0:
                for j in range(X.shape[1]):
                    centres[c, j] = sums[c, j] / mass[c]


def assign_clusters(
    X: NDArray[np.float32], weight: NDArray[np.float64], n_clusters: int, seed: int, max_iter: int
) -> NDArray[np.int64]:
    """Lloyd's iterations; returns each row's cluster, numbered from 0."""
    n, d = X.shape
    labels = np.full(n, -1, np.int64)
    centres, sums, mass = np.zeros((n_clusters, d)), np.zeros((n_clusters, d)), np.zeros(n_clusters)
    state = np.array([seed], np.uint64)
    # Arrays come from here because making them inside takes a second to compile.
    _assign(X, weight, centres, sums, mass, np.empty(n), np.empty(n), state, labels, max_iter)
    return labels
