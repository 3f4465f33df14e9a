"""What all pictures share: colours, markers, plain axes, and names written as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import tables
from ..boxes import Boxes, Floats, Label
from ..conditions import Condition, format_name, format_number
from ..sketch import OKABE_ITO
from ..summary import format_category, format_label
from ..tables import Category

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of classes with boxes; those without are grey.
COLOURS = (*OKABE_ITO, "#000000")
GREYS = ("#8C8C8C", "#5F5F5F", "#B3B3B3")
MARKERS = "osD^vPX*<>hp"
#: Room around the data, as a share of their width.
MARGIN = 0.06
#: Characters of a name or a category list before it is cut short.
LONGEST_NAME = 28
#: Characters of a number that a picture has room for; a longer one is shown rounded, and marked so.
LONGEST_NUMBER = 7
_WORDS = {1: "a feature", 2: "two features"}


class Rows(NamedTuple):
    """A labelled table as pictures take it."""

    matrix: Floats
    y: NDArray[Any]


class Style(NamedTuple):
    """How a class looks."""

    colour: str
    marker: str


def read_rows(boxes: Boxes, X: ArrayLike, y: ArrayLike) -> Rows:
    """Read a labelled table for a picture of boxes."""
    matrix = np.asarray(tables.to_matrix(X, boxes.feature_names, boxes.categories), dtype=np.float64)
    labels = np.asarray(y)
    if labels.shape != (len(matrix),):
        raise ValueError(
            f"y must hold one label for each of the {len(matrix)} rows, got shape {labels.shape}"
        )
    return Rows(matrix, labels)


def styles_of(boxes: Boxes, y: NDArray[Any]) -> dict[Label, Style]:
    """Colour and marker of each class: classes with boxes first, in the order of the boxes."""
    boxed = dict.fromkeys(boxes.labels.tolist())
    others = [label for label in [*boxes.classes.tolist(), *_distinct(y)] if label not in boxed]
    present = set(y.tolist())
    bare = [label for label in dict.fromkeys(others) if label in present]
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(boxed))]
    greys = [GREYS[k % len(GREYS)] for k in range(len(bare))]
    markers = [MARKERS[k % len(MARKERS)] for k in range(len(boxed) + len(bare))]
    looks = [Style(*look) for look in zip([*colours, *greys], markers, strict=True)]
    return dict(zip([*boxed, *bare], looks, strict=True))


def has_label(y: NDArray[Any], label: Label) -> NDArray[np.bool_]:
    """Tell which rows are of a class."""
    return np.fromiter((item == label for item in y.tolist()), bool, len(y))


def data_limits(boxes: Boxes, feature: int, column: Floats) -> tuple[float, float]:
    """Range of the data with a margin, so that an open box is seen to go on."""
    name = boxes.feature_names[feature]
    if name in boxes.categories:
        return -0.6, len(boxes.categories[name]) - 0.4
    low, high = data_range(boxes, feature, column)
    room = MARGIN * (high - low) or max(abs(high), 1.0) * MARGIN
    return low - room, high + room


def data_range(boxes: Boxes, feature: int, column: Floats) -> tuple[float, float]:
    """Least and largest value, or bound if there is no value."""
    values = column[np.isfinite(column)]
    if not len(values):
        bounds = np.concatenate([boxes.lower[:, feature], boxes.upper[:, feature]])
        values = bounds[np.isfinite(bounds)] if np.isfinite(bounds).any() else np.array([0.0, 1.0])
    return float(values.min()), float(values.max())


def most_used(boxes: Boxes) -> NDArray[np.int64]:
    """Order features by the training rows that boxes decide by them, or by boxes if there are no counts."""
    rows = np.ones(boxes.n_boxes) if boxes.counts is None else boxes.counts[:-1].sum(axis=1)
    return np.argsort(-(rows @ boxes.restricted), kind="stable")


def find_features(boxes: Boxes, features: Sequence[str | int]) -> list[int]:
    """Find features by name or position."""
    chosen = []
    for feature in features:
        index = boxes.feature_names.index(feature) if feature in boxes.feature_names else feature
        if not isinstance(index, int | np.integer) or not 0 <= index < boxes.n_features:
            raise ValueError(f"no feature {feature!r}; the features are {list(boxes.feature_names)}")
        chosen.append(int(index))
    return chosen


def choose_features(
    boxes: Boxes, features: Sequence[str | int] | None, at_most: int, at_least: int = 1
) -> list[int]:
    """Give the asked features, or the most used ones that any box restricts."""
    if features is not None:
        chosen = find_features(boxes, features)
        if len(chosen) < at_least or len(set(chosen)) != len(chosen):
            raise ValueError(f"features must be {at_least} or more different ones, got {list(features)}")
        return chosen
    used = [int(feature) for feature in most_used(boxes) if boxes.restricted[:, feature].any()]
    if len(used) < at_least:
        used = [int(feature) for feature in most_used(boxes)[:at_least]]
    if len(used) < at_least:
        raise ValueError(f"a picture needs {_WORDS[at_least]}, these boxes speak of {boxes.n_features}")
    return used[:at_most]


class OfEstimator:
    """What every picture of boxes over a labelled table has beside its own ``from_boxes``."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """Plot the boxes of a fitted estimator over a labelled table; options are those of `from_boxes`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "boxes_")
        drawn: Self = cls.from_boxes(estimator.boxes_, X, y, **options)  # type: ignore[attr-defined]
        return drawn


def runs_of(allowed: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the runs of admitted categories, first and last."""
    padded = np.concatenate([[False], allowed, [False]])
    edges = np.flatnonzero(np.diff(padded.astype(int))).reshape(-1, 2)
    return [(int(first), int(last) - 1) for first, last in edges]


def _distinct(y: NDArray[Any]) -> list[Any]:
    return sorted(set(y.tolist()), key=lambda label: (isinstance(label, str), label))


def literally(text: str) -> str:
    """Keep a dollar sign from starting a formula."""
    return text.replace("$", r"\$")


def show_label(label: Label | None) -> str:
    """Write a class for a picture."""
    return literally(cut(format_label(label)))


def show_category(value: Category | None) -> str:
    """Write a category for a picture."""
    return literally(cut(format_category(value)))


def show_name(name: str) -> str:
    """Write a feature's name for a picture."""
    return literally(cut(format_name(name)))


def cut(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long text short, visibly."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def show_number(value: float) -> str:
    """Write a bound; one too long for a picture is rounded, and marked so."""
    text = format_number(value)
    return text if len(text) <= LONGEST_NUMBER else f"≈{value:.3g}"


def show_condition(condition: Condition) -> str:
    """Write what is asked of a feature, without its name."""
    if condition.takes_any_value:
        return "known"
    if condition.must_miss:
        return "missing"
    if condition.categories is not None:
        return literally(cut(", ".join(map(format_category, condition.categories)), 18))
    low, high = condition.lower, condition.upper
    if low == high:
        return f"= {show_number(low)}"
    if np.isneginf(low):
        return f"≤ {show_number(high)}"
    if np.isposinf(high):
        return f"≥ {show_number(low)}"
    return f"{show_number(low)} to {show_number(high)}"


def new_figure(width: float, height: float) -> Figure:
    """Open a figure that makes room for what stands around its axes."""
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def new_axes() -> Axes:
    """Open a figure of one plain axes."""
    axes = new_figure(7.2, 4.6).add_subplot()
    plain(axes)
    return axes


def plain(axes: Axes) -> None:
    """Leave out what is not read."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#E6E6E6", linewidth=0.7)
    axes.set_axisbelow(True)
