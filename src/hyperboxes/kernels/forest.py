"""Extremely randomised trees on binned rows (Geurts, Ernst and Wehenkel 2006), and each row's nearest others.

A tree is grown, asked and forgotten: what is wanted of a forest is only what it says of some rows. Trees
are written into arrays that the caller lends, so that nothing is made here.
"""

from __future__ import annotations

import numpy as np

from ._compile import bare_inner, bare_kernel
from .random import draw


@bare_inner
def _best_random_cut(  # type: ignore[no-untyped-def]
    columns, positive, weight, rows, low, high, true, total, n_tried, features, state
):
    """Give the best of random cuts of some features that differ among rows[low:high]; (-1, 0) if none does.

    ``true`` is the weight of the positives among these rows, ``total`` that of all.
    ``features`` is shuffled as far as it is read. A cut is better the purer its sides are: by
    the sum of squared weights of positives over weights, which orders cuts as Gini's index does.
    """
    best, best_cut, best_score = -1, 0, -1.0
    tried = 0
    for at in range(len(features)):
        other = at + draw(state, len(features) - at)
        j = features[other]
        features[other] = features[at]
        features[at] = j
        smallest, largest = np.int64(255), np.int64(0)
        for place in range(low, high):
            code = columns[j, rows[place]]
            if code < smallest:
                smallest = code
            if code > largest:
                largest = code
        if smallest >= largest:
            continue
        cut = smallest + draw(state, largest - smallest)
        left_true, left = 0.0, 0.0
        for place in range(low, high):
            i = rows[place]
            # multiplied rather than asked: which side a row is on cannot be foreseen
            on_left = weight[i] * (columns[j, i] <= cut)
            left += on_left
            left_true += on_left * positive[i]
        score = left_true * left_true / left + (true - left_true) * (true - left_true) / (total - left)
        if score > best_score:
            best, best_cut, best_score = j, cut, score
        tried += 1
        if tried == n_tried:
            break
    return best, best_cut


@bare_inner
def _grow(columns, positive, weight, rows, n_tried, features, nodes, shares, pending, state):  # type: ignore[no-untyped-def]
    """Grow one tree on the given rows, until leaves are pure or cannot be cut.

    A node is (feature, cut, left child); its right child follows the left one, and a leaf has feature -1.
    ``pending`` holds nodes still to be cut, as (node, first place, end) in ``rows``, which is reordered.
    """
    n_nodes, n_pending = 1, 1
    pending[0, 0], pending[0, 1], pending[0, 2] = 0, 0, len(rows)
    while n_pending:
        n_pending -= 1
        node, low, high = pending[n_pending, 0], pending[n_pending, 1], pending[n_pending, 2]
        total, true, n_true = 0.0, 0.0, np.int64(0)
        for place in range(low, high):
            i = rows[place]
            total += weight[i]
            true += weight[i] * positive[i]
            n_true += positive[i]
        shares[node] = true / total
        nodes[node, 0] = -1
        if n_true == 0 or n_true == high - low:
            continue
        feature, cut = _best_random_cut(
            columns, positive, weight, rows, low, high, true, total, n_tried, features, state
        )
        if feature < 0:
            continue
        middle = low
        for place in range(low, high):
            i = rows[place]
            rows[place] = rows[middle]
            rows[middle] = i
            middle += columns[feature, i] <= cut
        nodes[node, 0], nodes[node, 1], nodes[node, 2] = feature, cut, n_nodes
        pending[n_pending, 0], pending[n_pending, 1], pending[n_pending, 2] = n_nodes, low, middle
        n_pending += 1
        pending[n_pending, 0], pending[n_pending, 1], pending[n_pending, 2] = n_nodes + 1, middle, high
        n_pending += 1
        n_nodes += 2


@bare_kernel
def ask_trees(  # type: ignore[no-untyped-def]
    columns, positive, weight, rows, asked, n_trees, n_tried, features, nodes, shares, pending, state, answers
):
    """Grow trees on ``rows`` and add to ``answers`` the share of positives in the leaf of each asked row.

    ``columns`` holds codes feature-major, ``asked`` row-major: a tree reads a few cells of one row. ``rows``
    and ``features`` (all of them) are reordered, ``nodes`` (twice as many as rows, times 3), ``shares`` and
    ``pending`` (as many) are room to work in.
    """
    for _ in range(n_trees):
        _grow(columns, positive, weight, rows, n_tried, features, nodes, shares, pending, state)
        for i in range(len(asked)):
            node = 0
            while nodes[node, 0] >= 0:
                right = np.int64(asked[i, nodes[node, 0]]) > nodes[node, 1]
                node = nodes[node, 2] + np.int64(right)
            answers[i] += shares[node]


@bare_kernel
def nearest_others(Z, candidates, gaps, distances, nearest):  # type: ignore[no-untyped-def]
    """Write the nearest of the first rows to each row but itself, nearest first.

    ``candidates`` holds these first rows feature-major, so that all are compared side by side; ``gaps``, as
    many numbers, is room to work in. ``nearest`` and ``distances`` have a row for each row of Z and a column
    for each neighbour asked for.
    """
    k = nearest.shape[1]
    for i in range(len(Z)):
        gaps[:] = 0.0
        for j in range(Z.shape[1]):
            here, there = Z[i, j], candidates[j]
            for other in range(len(gaps)):
                gaps[other] += (here - there[other]) * (here - there[other])
        found = 0
        for other in range(len(gaps)):
            distance = gaps[other]
            if other == i or (found == k and distance >= distances[i, k - 1]):
                continue
            place = found if found < k else k - 1
            while place > 0 and distances[i, place - 1] > distance:
                distances[i, place] = distances[i, place - 1]
                nearest[i, place] = nearest[i, place - 1]
                place -= 1
            distances[i, place] = distance
            nearest[i, place] = other
            found = min(found + 1, k)
