"""Starts for the gradient stage: where boxes begin decides which boxes can be found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.clusters import assign_clusters
from ..trees import leaf_bounds

Floats32 = NDArray[np.float32]
Floats = NDArray[np.float64]
#: Quantiles of a cluster that a box spans, and how far beyond them it reaches, in standard deviations.
CLUSTER_QUANTILE = 0.02
CLUSTER_PADDING = 0.3
#: Most rows that clustering and the tree look at.
MAX_CLUSTER_ROWS = 20_000
MAX_TREE_ROWS = 30_000
#: With more features than this a box starts with the sides it needs: to open a thousand idle ones takes long.
MANY_FEATURES = 100
#: Negatives that show which sides are needed, and how many sides should keep each of them out.
MAX_SHOWN_ROWS = 2_000
SIDES_PER_NEGATIVE = 3


def cluster_boxes(Z: Floats32, weight: Floats, n_boxes: int, seed: int) -> tuple[Floats32, Floats32]:
    """Put a box around each of ``n_boxes`` clusters of the positives.

    Parameters
    ----------
    Z : ndarray of shape (n_positives, n_features)
        Positives in scaled units; the first rows stand for all if there are many.
    weight : ndarray of shape (n_positives,)
        Their weights.
    """
    Z, weight = np.ascontiguousarray(Z[:MAX_CLUSTER_ROWS]), weight[:MAX_CLUSTER_ROWS]
    labels = assign_clusters(Z, weight, min(n_boxes, len(Z)), seed, 50)
    lower, upper = [], []
    for cluster in np.unique(labels):
        members = Z[labels == cluster]
        low, high = np.quantile(members, [CLUSTER_QUANTILE, 1 - CLUSTER_QUANTILE], axis=0)
        lower.append(low - CLUSTER_PADDING)
        upper.append(high + CLUSTER_PADDING)
    return np.array(lower, np.float32), np.array(upper, np.float32)


def needed_sides(
    lower: Floats32, upper: Floats32, negatives: Floats32
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which sides of each box to start with: enough to keep every negative out a few times.

    Greedy: next comes the side that keeps out most of those not yet kept out often enough.
    """
    n_boxes, d = lower.shape
    needed = np.zeros((n_boxes, 2 * d), bool)
    negatives = negatives[:MAX_SHOWN_ROWS]
    for k in range(n_boxes):
        out = np.concatenate([negatives < lower[k], negatives > upper[k]], axis=1)
        kept_out = np.zeros(len(negatives), np.int64)
        gain = out.sum(axis=0)
        while gain.max(initial=0) > 0:
            side = int(gain.argmax())
            needed[k, side] = True
            kept_out += out[:, side]
            out[:, side] = False
            done = kept_out == SIDES_PER_NEGATIVE
            gain = gain - out[done].sum(axis=0)
            gain[side] = 0
            out[done] = False
            kept_out[done] += 1
    return needed[:, :d], needed[:, d:]


def tree_boxes(
    Z: Floats32, positive: NDArray[np.bool_], weight: Floats, n_boxes: int, seed: int
) -> tuple[Floats32, Floats32]:
    """Take the positive leaves of a small balanced decision tree, largest first; sides may be infinite."""
    from sklearn.tree import DecisionTreeClassifier

    if len(Z) > MAX_TREE_ROWS:
        half = MAX_TREE_ROWS // 2
        rows = np.concatenate([np.flatnonzero(positive)[:half], np.flatnonzero(~positive)[:half]])
        Z, positive, weight = Z[rows], positive[rows], weight[rows]
    tree = DecisionTreeClassifier(
        max_leaf_nodes=max(4, 3 * n_boxes), min_samples_leaf=3, class_weight="balanced", random_state=seed
    ).fit(Z, positive, sample_weight=weight)
    found: list[tuple[float, Floats, Floats]] = []
    for node, low, high in leaf_bounds(tree.tree_):
        shares = tree.tree_.value[node][0]
        if len(shares) == 2 and shares[1] > shares[0]:
            found.append((tree.tree_.weighted_n_node_samples[node] * shares[1] / shares.sum(), low, high))
    found.sort(key=lambda leaf: -leaf[0])
    kept = found[:n_boxes]
    shape = (len(kept), Z.shape[1])
    lower = np.array([leaf[1] for leaf in kept], np.float32).reshape(shape)
    return lower, np.array([leaf[2] for leaf in kept], np.float32).reshape(shape)


def random_boxes(n_boxes: int, n_features: int, seed: int) -> tuple[Floats32, Floats32]:
    """Draw the paper's start: lower bounds from N(0, 1), side lengths from |N(0, 1)|."""
    draw = np.random.default_rng(seed)
    lower = draw.standard_normal((n_boxes, n_features))
    upper = lower + np.abs(draw.standard_normal((n_boxes, n_features)))
    return lower.astype(np.float32), upper.astype(np.float32)
