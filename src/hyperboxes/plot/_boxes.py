"""Boxes over the points of a table, seen in two features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..boxes import Boxes, Floats, Label
from ._style import (
    OfEstimator,
    choose_features,
    data_limits,
    find_features,
    has_label,
    new_axes,
    read_rows,
    runs_of,
    show_category,
    show_label,
    show_name,
    styles_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Half the width of a category's place on an axis, and how far points are strewn in it.
HALF_PLACE, STREWN = 0.42, 0.25
#: Boxes from which on those that restrict neither feature would only hide the others.
MANY_BOXES = 8
#: How near two numbers of boxes may come, as a share of the picture.
NEAR = 0.05


class _Span(NamedTuple):
    """An interval on an axis, and those of its ends where the box has a side."""

    low: float
    high: float
    edges: tuple[float, ...]


class BoxesDisplay(OfEstimator):
    """Boxes over the points of a table, seen in two of its features.

    A box reaches the edge of the picture where it is open, and has no line there. One that leaves both
    shown features open spans the picture; among many boxes, such are not drawn. A dashed line marks a box
    that restricts other features too: what is seen of it is its shadow. Numbers are those of the boxes; the
    lowest decides.

    Make one with `from_boxes` or `from_estimator`.

    Parameters
    ----------
    boxes : Boxes
        The model.
    points : ndarray of shape (n_samples, 2)
        The two features; a categorical one as positions among its categories.
    y : ndarray of shape (n_samples,)
        The class of each point.
    features : tuple of int
        The two columns shown.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.plot import BoxesDisplay
    >>> boxes = Boxes.from_rules([({"a": (0, 1), "b": (None, 2)}, "in")], default="out")
    >>> display = BoxesDisplay.from_boxes(boxes, [[0.5, 1], [3, 4]], ["in", "out"])
    >>> display.ax_.get_xlabel()
    'a'
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, boxes: Boxes, points: Floats, y: NDArray[Any], features: tuple[int, int]) -> None:
        self.boxes = boxes
        self.points = points
        self.y = y
        self.features = features

    @classmethod
    def from_boxes(
        cls,
        boxes: Boxes,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: Sequence[str | int] | None = None,
        ax: Axes | None = None,
    ) -> BoxesDisplay:
        """Plot boxes over a labelled table.

        Parameters
        ----------
        boxes : Boxes
            The model.
        X : data frame or array-like of shape (n_samples, n_features)
            The table, as for ``boxes.predict``.
        y : array-like of shape (n_samples,)
            The class of each row.
        features : sequence of two names or positions, optional
            The features to show; by default the two by which most training rows are decided, or, if
            the boxes carry no training counts, those that most boxes restrict.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        matrix, labels = read_rows(boxes, X, y)
        chosen = _choose(boxes, features)
        return cls(boxes, matrix[:, list(chosen)], labels, chosen).plot(ax=ax)

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, point_size: float | None = None
    ) -> BoxesDisplay:
        """Draw, and return self."""
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.ax_.set(xlim=self._limits(0), ylim=self._limits(1))
        for axis, feature in zip((self.ax_.xaxis, self.ax_.yaxis), self.features, strict=True):
            self._name_axis(axis, self.boxes.feature_names[feature])
        styles = styles_of(self.boxes, self.y)
        for label, (colour, marker) in reversed(styles.items()):
            self._draw_points(label, colour, marker, point_size)
        taken: set[tuple[float, float]] = set()
        for box in _drawn(self.boxes, self.features):
            colour = styles[self.boxes.labels.tolist()[box]].colour
            shown = self._draw_box(box, colour)
            if shown:
                self._draw_number(box, colour, shown[0], taken)
        if legend:
            self._draw_legend()
        return self

    def _limits(self, axis: int) -> tuple[float, float]:
        return data_limits(self.boxes, self.features[axis], self.points[:, axis])

    def _name_axis(self, axis: Any, name: str) -> None:
        axis.set_label_text(show_name(name))
        if name in self.boxes.categories:
            known = self.boxes.categories[name]
            axis.set_ticks(range(len(known)), [show_category(value) for value in known])

    def _draw_points(self, label: Label, colour: str, marker: str, size: float | None) -> None:
        shown = self.points[has_label(self.y, label)]
        shown = shown[np.isfinite(shown).all(axis=1)].copy()
        strew = np.random.default_rng(0)
        for axis, feature in enumerate(self.features):
            if self.boxes.feature_names[feature] in self.boxes.categories:
                shown[:, axis] += strew.uniform(-STREWN, STREWN, len(shown))
        size = size or (34 if len(self.y) <= 500 else 16 if len(self.y) <= 5000 else 6)
        self.ax_.scatter(
            shown[:, 0], shown[:, 1], s=size, marker=marker, color=colour, alpha=0.85,
            linewidths=0.6 if size > 10 else 0.15,
            edgecolors="white", zorder=3, label=show_label(label),
        )  # fmt: skip

    def _draw_box(self, box: int, colour: str) -> list[tuple[_Span, _Span]]:
        from matplotlib.patches import Rectangle

        hidden = np.delete(self.boxes.restricted[box], list(self.features)).any()
        style, alpha = ("--", 0.07) if hidden else ("-", 0.13)
        if self.boxes.n_boxes > MANY_BOXES:
            alpha /= 2
        shown = [(across, along) for across in self._spans(box, 0) for along in self._spans(box, 1)]
        for across, along in shown:
            corner = (across.low, along.low)
            width, height = across.high - across.low, along.high - along.low
            self.ax_.add_patch(
                Rectangle(corner, width, height, color=colour, alpha=alpha, linewidth=0, zorder=2)
            )
            lines = [([x, x], [along.low, along.high]) for x in across.edges]
            lines += [([across.low, across.high], [y, y]) for y in along.edges]
            for xs, ys in lines:
                self.ax_.plot(xs, ys, color=colour, linewidth=1.8, linestyle=style, zorder=4)
        return shown

    def _draw_number(
        self, box: int, colour: str, shown: tuple[_Span, _Span], taken: set[tuple[float, float]]
    ) -> None:
        """Write a box's number into a corner that no other number is in."""
        across, along = shown
        corners = [(x, y) for y in (along.high, along.low) for x in (across.low, across.high)]
        x, y = next((corner for corner in corners if self._is_free(corner, taken)), corners[0])
        taken.add((x, y))
        right, top = x == across.high, y == along.high
        self.ax_.annotate(
            str(box), (x, y), xytext=(-4 if right else 4, -4 if top else 4), textcoords="offset points",
            ha="right" if right else "left", va="top" if top else "bottom",
            color="white", fontsize=8, fontweight="bold", zorder=5,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": colour, "edgecolor": "none"},
        )  # fmt: skip

    def _is_free(self, corner: tuple[float, float], taken: set[tuple[float, float]]) -> bool:
        (left, right), (bottom, top) = self._limits(0), self._limits(1)
        return not any(
            abs(corner[0] - x) < NEAR * (right - left) and abs(corner[1] - y) < NEAR * (top - bottom)
            for x, y in taken
        )

    def _spans(self, box: int, axis: int) -> list[_Span]:
        """List the intervals of a box on an axis, cut to what the picture shows."""
        feature = self.features[axis]
        name = self.boxes.feature_names[feature]
        intervals = [(self.boxes.lower[box, feature], self.boxes.upper[box, feature])]
        if name in self.boxes.categories and self.boxes.restricted[box, feature]:
            runs = runs_of(self.boxes.allowed[name][box])
            intervals = [(first - HALF_PLACE, last + HALF_PLACE) for first, last in runs]
        left, right = self._limits(axis)
        return [
            _Span(
                max(float(low), left),
                min(float(high), right),
                tuple(float(edge) for edge in (low, high) if left <= edge <= right),
            )
            for low, high in intervals
            if low <= right and high >= left
        ]

    def _draw_legend(self) -> None:
        handles = self.legend_handles(self.boxes, self.y, self.features)
        if handles:
            self.ax_.legend(
                handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0, frameon=False
            )

    @staticmethod
    def legend_handles(boxes: Boxes, y: NDArray[Any], features: Sequence[int]) -> list[Any]:
        """List what a legend has to explain: classes, boxes, and shadows if there are any."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        present, styles = set(y.tolist()), styles_of(boxes, y)
        handles: list[Any] = [
            Line2D([], [], color=colour, marker=marker, linestyle="", label=show_label(label))
            for label, (colour, marker) in styles.items()
            if label in present
        ]
        for label in dict.fromkeys(boxes.labels.tolist()):
            colour = styles[label].colour
            text = f"box: {show_label(label)}"
            handles.append(Patch(facecolor=f"{colour}22", edgecolor=colour, linewidth=1.8, label=text))
        shown = np.zeros(boxes.n_features, bool)
        shown[list(features)] = True
        left_out = boxes.n_boxes - len(_drawn(boxes, features))
        if left_out:
            text = f"not drawn: {left_out} boxes that restrict neither"
            handles.append(Line2D([], [], linestyle="", label=text))
        if boxes.restricted[:, ~shown].any():
            text = "also restricts other features"
            handles.append(Line2D([], [], color="#444444", linestyle="--", linewidth=1.8, label=text))
        return handles


def _drawn(boxes: Boxes, features: Sequence[int]) -> list[int]:
    """List the boxes worth drawing: among many, those that restrict a shown feature."""
    seen = boxes.restricted[:, list(features)].sum(axis=1) > 0
    return [box for box in range(boxes.n_boxes) if seen[box] or boxes.n_boxes <= MANY_BOXES]


def _choose(boxes: Boxes, features: Sequence[str | int] | None) -> tuple[int, int]:
    if features is None:
        first, second = sorted(choose_features(boxes, None, at_most=2, at_least=2))
        return first, second
    chosen = find_features(boxes, features)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ValueError(f"features must be two different ones, got {list(features)}")
    return chosen[0], chosen[1]
