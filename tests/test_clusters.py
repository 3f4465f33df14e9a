"""Weighted k-means: the same every time, and obvious clusters are found."""

import numpy as np
import pytest

from hyperboxes.kernels.clusters import assign_clusters
from hyperboxes.nn.initialise import cluster_boxes, tree_boxes

CENTRES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])


def blobs(seed, n=50):
    draw = np.random.default_rng(seed)
    X = np.repeat(CENTRES, n, axis=0) + 0.3 * draw.standard_normal((4 * n, 2))
    return X.astype(np.float32), np.repeat(np.arange(4), n)


@pytest.mark.parametrize("seed", range(30))
def test_obvious_clusters_are_found(seed):
    X, truth = blobs(seed)
    found = assign_clusters(X, np.ones(len(X)), 4, seed, 50)
    pairs = set(zip(found.tolist(), truth.tolist(), strict=True))
    assert len(pairs) == 4
    assert len({label for label, _ in pairs}) == 4


def test_the_same_seed_gives_the_same_clusters():
    X = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)
    first, again = (assign_clusters(X, np.ones(200), 5, 7, 50) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert set(first.tolist()) == set(range(5))


def test_more_clusters_than_distinct_rows_are_safe():
    X = np.repeat(np.array([[0.0], [1.0]], np.float32), 3, axis=0)
    labels = assign_clusters(X, np.ones(6), 5, 0, 50)
    assert len(set(labels[:3].tolist())) == len(set(labels[3:].tolist())) == 1
    assert labels[0] != labels[3]


def test_heavy_rows_pull_the_centres():
    # Two centres for three places: the light one joins its nearest heavy one.
    X = np.array([[0.0], [1.0], [10.0]], np.float32)
    for seed in range(20):
        labels = assign_clusters(X, np.array([1e6, 1e-6, 1e6]), 2, seed, 50)
        assert labels[0] == labels[1] != labels[2]


def test_each_cluster_gets_a_box_around_most_of_it():
    X, truth = blobs(0)
    lower, upper = cluster_boxes(X, np.ones(len(X)), 4, 0)
    inside = ((lower[:, None] <= X) & (upper[:, None] >= X)).all(axis=2)
    for k in range(4):
        assert inside[:, truth == k].mean(axis=1).max() > 0.9
    assert inside.sum(axis=0).max() == 1


def test_tree_boxes_hold_the_positives_even_of_a_tree_deeper_than_the_stack():
    # Each split cuts off one end: a chain of thousands of nodes.
    n = 6000
    Z = np.arange(n, dtype=np.float32)[:, None]
    positive = np.arange(n) % 8 < 4
    lower, upper = tree_boxes(Z, positive, np.ones(n), 800, 0)
    inside = ((lower[:, None] <= Z) & (upper[:, None] >= Z)).all(axis=2).any(axis=0)
    np.testing.assert_array_equal(inside, positive)
    few = tree_boxes(Z, positive, np.ones(n), 2, 0)
    assert len(few[0]) <= 2
