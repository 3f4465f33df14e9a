"""Tables with a known truth: uniform noise, and a class that is a union of boxes."""

from __future__ import annotations

import numpy as np

#: Conditions of planted boxes: feature -> (lower, upper).
ONE_BOX = [{3: (0.2, 0.7), 11: (0.4, 0.9), 17: (0.1, 0.6)}]
TWO_BOXES = [{0: (0.1, 0.8), 5: (0.2, 0.75)}, {7: (0.6, 0.85), 12: (0.1, 0.5), 2: (0.55, 0.95)}]


def planted(boxes, n, d, seed):
    """Give uniform rows and whether each lies in one of the boxes."""
    X = np.random.default_rng(seed).uniform(size=(n, d))
    y = np.zeros(n, bool)
    for box in boxes:
        inside = np.ones(n, bool)
        for feature, (lower, upper) in box.items():
            inside &= (lower <= X[:, feature]) & (X[:, feature] <= upper)
        y |= inside
    return X, y


def blobs(n=120, d=4, classes=3, seed=0):
    """Give separable clusters, one for each class."""
    draw = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return draw.normal(size=(n, d)) + 4.0 * y[:, None] * (np.arange(d) < 2), y
