"""How the values of each class are spread over a feature: small outlines, comparable between classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes, Floats, Label
from ._style import Style, data_range, has_label

#: Bars of a histogram of numbers.
BINS = 24


def outlines(
    boxes: Boxes, feature: int, column: Floats, y: NDArray[np.generic], styles: dict[Label, Style]
) -> tuple[Floats, dict[Label, Floats]]:
    """Give edges in data units, and for each class the share of its rows in each bin, 1 at the highest."""
    name = boxes.feature_names[feature]
    if name in boxes.categories:
        edges: Floats = np.arange(len(boxes.categories[name]) + 1, dtype=np.float64) - 0.5
    else:
        low, high = data_range(boxes, feature, column)
        edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    heights: dict[Label, Floats] = {}
    for label in styles:
        values = column[has_label(y, label)]
        values = values[np.isfinite(values)]
        counts = np.histogram(values, edges)[0] if len(values) else np.zeros(len(edges) - 1)
        heights[label] = counts / max(len(values), 1)
    highest = max((float(share.max()) for share in heights.values()), default=0.0) or 1.0
    return edges, {label: share / highest for label, share in heights.items()}


def steps(edges: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Turn bins into the corners of their outline, from the ground to the ground."""
    x = np.repeat(edges, 2)
    y = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return x, y
