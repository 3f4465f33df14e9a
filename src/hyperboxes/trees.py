"""Trees: a fitted scikit-learn decision tree as an ordered list of boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .conditions import LEAST_NUMBER

Floats = NDArray[np.float64]


class Leaves(NamedTuple):
    """Boxes with their labels; the last label, and the last row of counts, are those of the default."""

    lower: Floats
    upper: Floats
    labels: NDArray[Any]
    classes: NDArray[Any]
    counts: Floats


def read(estimator: Any) -> Leaves:
    """Read the leaves of a fitted classification tree, in an order in which the first that holds decides."""
    nodes = _check(estimator)
    weights = _weights(nodes)
    votes = np.argmax(nodes.value[:, 0, :], axis=1)  # the tree's own rule: of equals, the first
    lower, upper, leaf = _walk(nodes, _agreed(nodes, votes))
    vote, counts = votes[leaf], weights[leaf]
    kept = [len(leaf) - 1]  # it asks nothing: the default
    for box in range(len(leaf) - 2, -1, -1):
        after = kept[-1]
        inside = (lower[after] <= lower[box]).all() and (upper[box] <= upper[after]).all()
        if inside and vote[box] == vote[after]:
            counts[after] += counts[box]  # the next box says the same of these rows
        else:
            kept.append(box)
    kept.reverse()
    classes = np.asarray(estimator.classes_)
    return Leaves(lower[kept[:-1]], upper[kept[:-1]], classes[vote[kept]], classes, counts[kept])


def leaf_bounds(nodes: Any) -> Iterator[tuple[int, Floats, Floats]]:
    """Give the number of every leaf with the thresholds around it: it holds x if lower < x <= upper."""
    # A list of what is left to visit: the tree of many boxes may be deeper than Python recurses.
    left = [(0, np.full(nodes.n_features, -np.inf), np.full(nodes.n_features, np.inf))]
    while left:
        node, lower, upper = left.pop()
        if nodes.children_left[node] < 0:
            yield node, lower, upper
            continue
        feature, threshold = nodes.feature[node], nodes.threshold[node]
        below, above = upper.copy(), lower.copy()
        below[feature] = min(below[feature], threshold)
        above[feature] = max(above[feature], threshold)
        left.append((nodes.children_right[node], above, upper))
        left.append((nodes.children_left[node], lower, below))


def last_left(threshold: Floats) -> Floats:
    """Give the largest float64 that ``float32(x) <= threshold`` holds for.

    ``float32`` rounds to the nearest, and of two equally near to the even one: up to the middle between
    the last float32 that goes left and its successor, the middle included if the former is even.
    """
    with np.errstate(over="ignore"):
        last = threshold.astype(np.float32)
    last = np.where(last > threshold, np.nextafter(last, np.float32(-np.inf)), last)
    following = np.nextafter(last, np.float32(np.inf))
    # Exact: the middle of two neighbours takes one more bit than they do.
    middle = last.astype(np.float64) / 2 + following.astype(np.float64) / 2
    even = (last.view(np.int32) & 1) == 0
    found: Floats = np.where(even, middle, np.nextafter(middle, -np.inf))
    return found


def _check(estimator: Any) -> Any:
    nodes = getattr(estimator, "tree_", None)
    if nodes is None:
        fitted = "fit it first" if hasattr(estimator, "fit") else "give a DecisionTreeClassifier"
        raise TypeError(f"from_tree takes a fitted decision tree, got {type(estimator).__name__}: {fitted}")
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"from_tree takes a classification tree, and {type(estimator).__name__} predicts numbers: "
            "bin its target and fit a DecisionTreeClassifier"
        )
    if nodes.n_outputs != 1:
        raise ValueError(f"the tree has {nodes.n_outputs} outputs: fit one tree for each")
    return nodes


def _weights(nodes: Any) -> Floats:
    """Training weight of each class in each node; the tree stores shares."""
    weights = nodes.value[:, 0, :] * nodes.weighted_n_node_samples[:, None]
    whole = np.round(weights)
    found: Floats = np.where(np.abs(weights - whole) < 1e-6, whole, weights)
    return found


def _agreed(nodes: Any, votes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell below which nodes all leaves vote for the same class: no split there matters."""
    left, right = nodes.children_left, nodes.children_right
    agreed = left == -1
    vote = votes.copy()
    for node in range(nodes.node_count - 1, -1, -1):  # children have higher numbers
        if left[node] == -1:
            continue
        one, other = left[node], right[node]
        agreed[node] = agreed[one] and agreed[other] and vote[one] == vote[other]
        if agreed[node]:
            vote[node] = vote[one]
    votes[agreed] = vote[agreed]
    return np.asarray(agreed)


def _walk(nodes: Any, stop: NDArray[np.bool_]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """List the leaves, of every split first the child that missing values do not go to."""
    bounds = last_left(nodes.threshold)
    boxes, leaves = [], []
    start = (0, np.full(nodes.n_features, -np.inf), np.full(nodes.n_features, np.inf))
    todo = [start]
    while todo:
        node, lower, upper = todo.pop()
        if stop[node]:
            leaves.append(node)
            boxes.append((lower, upper))
            continue
        feature, bound = nodes.feature[node], bounds[node]
        left, right = (child[node] for child in (nodes.children_left, nodes.children_right))
        closed_lower, closed_upper = lower.copy(), upper.copy()
        if nodes.missing_go_to_left[node]:
            first, second = right, left
            closed_lower[feature] = max(lower[feature], np.nextafter(bound, np.inf))
        else:
            first, second = left, right
            # Split by whether there is a value at all: the tree's threshold is infinite.
            if np.isposinf(bound):
                closed_lower[feature] = max(lower[feature], LEAST_NUMBER)
            closed_upper[feature] = min(upper[feature], bound)
        todo += [(second, lower, upper), (first, closed_lower, closed_upper)]
    lower, upper = (np.array(side).reshape(-1, nodes.n_features) for side in zip(*boxes, strict=True))
    lower[(lower == LEAST_NUMBER) & np.isfinite(upper)] = -np.inf
    return lower, upper, np.array(leaves)
