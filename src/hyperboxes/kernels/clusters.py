"""Weighted k-means, small and the same at any number of threads."""

from __future__ import annotations

import numba
import numpy as np

from ._compile import inner, kernel
from .random import draw_float


@numba.njit(nogil=True, fastmath={"reassoc", "contract"})
def _squared_distance(X, i, centres, c):  # type: ignore[no-untyped-def]
    """Give the squared distance of row i from centre c; in any order of summing, so that it vectorises."""
    s = 0.0
    for j in range(X.shape[1]):
        s += (X[i, j] - centres[c, j]) ** 2
    return s


@inner
def _seed_centres(X, weight, centres, state):  # type: ignore[no-untyped-def]
    """k-means++ (Arthur & Vassilvitskii 2007): each centre drawn by weight times squared distance."""
    n, d = X.shape
    distance = np.full(n, np.inf)
    chance = weight.copy()
    total = weight.sum()
    for c in range(len(centres)):
        target = draw_float(state) * total
        row, passed = 0, chance[0]
        while passed <= target and row < n - 1:
            row += 1
            passed += chance[row]
        for j in range(d):
            centres[c, j] = X[row, j]
        total = 0.0
        for i in range(n):
            distance[i] = min(distance[i], _squared_distance(X, i, centres, c))
            chance[i] = weight[i] * distance[i]
            total += chance[i]
        if total <= 0:  # every row is a centre already
            return c + 1
    return len(centres)


@kernel
def assign_clusters(X, weight, n_clusters, seed, max_iter):  # type: ignore[no-untyped-def]
    """Lloyd's iterations; returns each row's cluster, numbered from 0."""
    n, d = X.shape
    centres = np.zeros((n_clusters, d))
    state = np.array([np.uint64(seed)], np.uint64)
    n_clusters = _seed_centres(X, weight, centres, state)
    labels = np.full(n, -1, np.int64)
    mass = np.zeros(n_clusters)
    sums = np.zeros((n_clusters, d))
    for _ in range(max_iter):
        changed = False
        mass[:] = 0
        sums[:] = 0
        for i in range(n):
            best, nearest = np.inf, 0
            for c in range(n_clusters):
                s = _squared_distance(X, i, centres, c)
                if s < best:
                    best, nearest = s, c
            if nearest != labels[i]:
                labels[i] = nearest
                changed = True
            mass[nearest] += weight[i]
            for j in range(d):
                sums[nearest, j] += weight[i] * X[i, j]
        if not changed:
            break
        for c in range(n_clusters):
            if mass[c] > 0:
                for j in range(d):
                    centres[c, j] = sums[c, j] / mass[c]
    return labels
