"""Figure 1: one class of iris in two features, covered by two boxes; ours from a real fit, and published.

The points in the paper are the 105 training rows of
``train_test_split(X, y, test_size=0.3, random_state=10)``, without stratification, standardised; so ours
learn from the same rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..boxes import Boxes
from .published import published
from .tables import Table, number

FEATURES = ("sepal length (cm)", "sepal width (cm)")
CLASS, SEED = "setosa", 10


class Flowers(NamedTuple):
    """The training rows of the paper's figure and the rest, in centimetres."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def flowers() -> Flowers:
    """Give the rows of the figure."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split

    data = load_iris(as_frame=True)
    X = data.data[list(FEATURES)]
    y = np.where(data.target == list(data.target_names).index(CLASS), CLASS, f"not {CLASS}")
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=SEED)
    return Flowers(X, y, X_test, y_test)


def published_boxes(rows: Flowers) -> Boxes:
    """Give the boxes of the paper's figure, in centimetres."""
    matrix = rows.X.to_numpy()
    centre, scale = matrix.mean(axis=0), matrix.std(axis=0)
    lower, upper = (np.array(published()["figure1"][side]) * scale + centre for side in ("lower", "upper"))
    return Boxes(lower, upper, np.full(len(lower), CLASS), default=f"not {CLASS}", feature_names=FEATURES)


def fitted_boxes(rows: Flowers) -> Boxes:
    """Fit two boxes."""
    from .. import HyperNNClassifier

    boxes: Boxes = (
        HyperNNClassifier(n_boxes=2, positive_label=CLASS, random_state=0).fit(rows.X, rows.y).boxes_
    )
    return boxes


def to_table() -> Table:
    """Give the bounds and scores of ours and of the published boxes."""
    from sklearn.metrics import f1_score

    rows = flowers()
    sides = [f"{name} {side}" for name in FEATURES for side in ("from", "to")]
    table = Table(
        "Figure 1: setosa in two features, covered by two boxes",
        ("boxes", *sides, "F1, training", "F1, held out"),
    )
    for name, boxes in {"ours": fitted_boxes(rows), "published": published_boxes(rows)}.items():
        scores = [
            number(float(f1_score(truth, boxes.predict(part), pos_label=CLASS)))
            for part, truth in ((rows.X, rows.y), (rows.X_test, rows.y_test))
        ]
        for place, (lower, upper) in enumerate(zip(boxes.lower, boxes.upper, strict=True)):
            bounds = [_side(value) for pair in zip(lower, upper, strict=True) for value in pair]
            table.rows.append((f"{name}, {place + 1}", *bounds, *(scores if place == 0 else ("", ""))))
    table.notes = [
        "Both on the rows of the paper's figure: the 105 training rows of iris split with seed 10, without "
        "stratification. The published bounds, in standard deviations there, are given in centimetres.",
        "Sides that are not mentioned are open.",
    ]
    return table


def draw() -> Any:
    """Draw our boxes over the training rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ..plot import BoxesDisplay

    rows = flowers()
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    BoxesDisplay.from_boxes(fitted_boxes(rows), rows.X, rows.y, features=list(FEATURES), ax=figure.subplots())
    return figure


def _side(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else ""
