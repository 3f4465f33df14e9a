"""Plots: boxes over the points of a table, and the course of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import tables
from .boxes import Boxes, Floats, Label
from .conditions import format_name
from .summary import format_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of Okabe and Ito, which stay apart for colour-blind readers; classes without a box are grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREYS = ("#8C8C8C", "#5F5F5F", "#B3B3B3")
MARKERS = "osD^vPX*<>hp"
#: Room around the data, as a share of their width.
MARGIN = 0.06
#: Half the width of a category's place on an axis, and how far points are strewn in it.
HALF_PLACE, STREWN = 0.42, 0.25


class _Span(NamedTuple):
    """An interval on an axis, and those of its ends where the box has a side."""

    low: float
    high: float
    edges: tuple[float, ...]


class BoxesDisplay:
    """Boxes over the points of a table, seen in two of its features.

    A box reaches the edge of the picture where it is open, and has no line there. One that leaves both
    shown features open spans the picture. A dashed line marks a box that restricts other features too:
    what is seen of it is its shadow. Numbers are those of the boxes; the lowest decides.

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
        matrix = np.asarray(tables.to_matrix(X, boxes.feature_names, boxes.categories), dtype=np.float64)
        labels = np.asarray(y)
        if labels.shape != (len(matrix),):
            raise ValueError(
                f"y must hold one label for each of the {len(matrix)} rows, got shape {labels.shape}"
            )
        chosen = _choose(boxes, features)
        return cls(boxes, matrix[:, list(chosen)], labels, chosen).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: Sequence[str | int] | None = None,
        ax: Axes | None = None,
    ) -> BoxesDisplay:
        """Plot the boxes of a fitted estimator over a labelled table; see `from_boxes`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "boxes_")
        return cls.from_boxes(estimator.boxes_, X, y, features=features, ax=ax)

    def plot(self, ax: Axes | None = None) -> BoxesDisplay:
        """Draw, and return self."""
        self.ax_ = _new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.ax_.set(xlim=self._limits(0), ylim=self._limits(1))
        for axis, feature in zip((self.ax_.xaxis, self.ax_.yaxis), self.features, strict=True):
            self._name_axis(axis, self.boxes.feature_names[feature])
        styles = self._styles()
        for label, (colour, marker) in reversed(styles.items()):
            self._draw_points(label, colour, marker)
        taken: set[tuple[float, float]] = set()
        for box, label in enumerate(self.boxes.labels.tolist()):
            colour = styles[label][0]
            shown = self._draw_box(box, colour)
            if shown:
                self._draw_number(box, colour, shown[0], taken)
        self._draw_legend(styles)
        return self

    def _limits(self, axis: int) -> tuple[float, float]:
        """Range of the data with a margin, so that an open box is seen to go on."""
        name = self.boxes.feature_names[self.features[axis]]
        if name in self.boxes.categories:
            return -0.6, len(self.boxes.categories[name]) - 0.4
        values = self.points[np.isfinite(self.points[:, axis]), axis]
        if not len(values):
            column = self.features[axis]
            bounds = np.concatenate([self.boxes.lower[:, column], self.boxes.upper[:, column]])
            values = bounds[np.isfinite(bounds)] if np.isfinite(bounds).any() else np.array([0.0, 1.0])
        low, high = float(values.min()), float(values.max())
        room = MARGIN * (high - low) or max(abs(high), 1.0) * MARGIN
        return low - room, high + room

    def _name_axis(self, axis: Any, name: str) -> None:
        axis.set_label_text(_literally(format_name(name)))
        if name in self.boxes.categories:
            known = self.boxes.categories[name]
            axis.set_ticks(range(len(known)), [_literally(format_label(value)) for value in known])

    def _styles(self) -> dict[Label, tuple[str, str]]:
        """Colour and marker of each class: classes with boxes first, in the order of the boxes."""
        boxed = dict.fromkeys(self.boxes.labels.tolist())
        others = [label for label in [*self.boxes.classes.tolist(), *_distinct(self.y)] if label not in boxed]
        present = set(self.y.tolist())
        bare = [label for label in dict.fromkeys(others) if label in present]
        colours = [COLOURS[k % len(COLOURS)] for k in range(len(boxed))]
        greys = [GREYS[k % len(GREYS)] for k in range(len(bare))]
        markers = [MARKERS[k % len(MARKERS)] for k in range(len(boxed) + len(bare))]
        return dict(zip([*boxed, *bare], zip([*colours, *greys], markers, strict=True), strict=True))

    def _draw_points(self, label: Label, colour: str, marker: str) -> None:
        shown = self.points[np.fromiter((item == label for item in self.y.tolist()), bool, len(self.y))]
        shown = shown[np.isfinite(shown).all(axis=1)].copy()
        strew = np.random.default_rng(0)
        for axis, feature in enumerate(self.features):
            if self.boxes.feature_names[feature] in self.boxes.categories:
                shown[:, axis] += strew.uniform(-STREWN, STREWN, len(shown))
        size = 34 if len(self.y) <= 500 else 16 if len(self.y) <= 5000 else 6
        self.ax_.scatter(
            shown[:, 0], shown[:, 1], s=size, marker=marker, color=colour, alpha=0.85, linewidths=0.6,
            edgecolors="white", zorder=3, label=_literally(format_label(label)),
        )  # fmt: skip

    def _draw_box(self, box: int, colour: str) -> list[tuple[_Span, _Span]]:
        from matplotlib.patches import Rectangle

        hidden = np.delete(self.boxes.restricted[box], list(self.features)).any()
        style, alpha = ("--", 0.07) if hidden else ("-", 0.13)
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
        x, y = next((corner for corner in corners if corner not in taken), corners[0])
        taken.add((x, y))
        right, top = x == across.high, y == along.high
        self.ax_.annotate(
            str(box), (x, y), xytext=(-4 if right else 4, -4 if top else 4), textcoords="offset points",
            ha="right" if right else "left", va="top" if top else "bottom",
            color="white", fontsize=8, fontweight="bold", zorder=5,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": colour, "edgecolor": "none"},
        )  # fmt: skip

    def _spans(self, box: int, axis: int) -> list[_Span]:
        """List the intervals of a box on an axis, cut to what the picture shows."""
        feature = self.features[axis]
        name = self.boxes.feature_names[feature]
        intervals = [(self.boxes.lower[box, feature], self.boxes.upper[box, feature])]
        if name in self.boxes.categories and self.boxes.restricted[box, feature]:
            allowed = np.concatenate([[False], self.boxes.allowed[name][box], [False]])
            runs = np.flatnonzero(np.diff(allowed.astype(int))).reshape(-1, 2)
            intervals = [(first - HALF_PLACE, last - 1 + HALF_PLACE) for first, last in runs]
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

    def _draw_legend(self, styles: dict[Label, tuple[str, str]]) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles: list[Any] = []
        present = set(self.y.tolist())
        for label, (colour, marker) in styles.items():
            if label in present:
                handles.append(
                    Line2D(
                        [],
                        [],
                        color=colour,
                        marker=marker,
                        linestyle="",
                        label=_literally(format_label(label)),
                    )
                )
        for label in dict.fromkeys(self.boxes.labels.tolist()):
            colour = styles[label][0]
            text = f"box: {_literally(format_label(label))}"
            handles.append(Patch(facecolor=f"{colour}22", edgecolor=colour, linewidth=1.8, label=text))
        shown = np.zeros(self.boxes.n_features, bool)
        shown[list(self.features)] = True
        if self.boxes.restricted[:, ~shown].any():
            handles.append(
                Line2D(
                    [],
                    [],
                    color="#444444",
                    linestyle="--",
                    linewidth=1.8,
                    label="also restricts other features",
                )
            )
        if handles:
            self.ax_.legend(
                handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0, frameon=False
            )


class HistoryDisplay:
    """The course of training: one small panel for each recorded figure.

    Parameters
    ----------
    history : mapping of str to array-like
        Figures by name, such as ``"loss"``, ``"f1"`` and ``"temperature"``, one value for each step;
        ``"step"``, if there, numbers the steps.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
    figure_ : matplotlib Figure
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(self, history: Mapping[str, ArrayLike]) -> None:
        self.history = history

    @classmethod
    def from_history(cls, history: Mapping[str, ArrayLike]) -> HistoryDisplay:
        """Plot a training history."""
        return cls(history).plot()

    @classmethod
    def from_estimator(cls, estimator: Any) -> HistoryDisplay:
        """Plot the training history of a fitted estimator."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "history_")
        return cls.from_history(estimator.history_)

    def plot(self) -> HistoryDisplay:
        """Draw, and return self."""
        columns = {name: np.asarray(values) for name, values in self.history.items()}
        steps = columns.pop("step", None)
        curves = {
            name: values
            for name, values in columns.items()
            if values.ndim == 1 and values.dtype.kind in "biuf"
        }
        if not curves:
            raise ValueError(f"the history holds no curve: {list(self.history)}")
        self.figure_ = _new_figure(6.0, 0.6 + 1.5 * len(curves))
        panels = self.figure_.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
        self.axes_ = list(panels)
        for panel, (name, values), colour in zip(panels, curves.items(), COLOURS * len(curves), strict=False):
            x = steps if steps is not None and len(steps) == len(values) else np.arange(len(values))
            panel.plot(x, values, color=colour, linewidth=1.6)
            panel.set_ylabel(name)
            if "temperature" in name and (values > 0).all():
                panel.set_yscale("log")
            _plain(panel)
        self.axes_[-1].set_xlabel("step")
        return self


def _choose(boxes: Boxes, features: Sequence[str | int] | None) -> tuple[int, int]:
    if features is None:
        if boxes.n_features < 2:
            raise ValueError(f"a picture needs two features, these boxes speak of {boxes.n_features}")
        rows = np.ones(boxes.n_boxes) if boxes.counts is None else boxes.counts[:-1].sum(axis=1)
        most_used = np.argsort(-(rows @ boxes.restricted), kind="stable")[:2]
        first, second = sorted(most_used.tolist())
        return first, second
    chosen = []
    for feature in features:
        index = boxes.feature_names.index(feature) if feature in boxes.feature_names else feature
        if not isinstance(index, int | np.integer) or not 0 <= index < boxes.n_features:
            raise ValueError(f"no feature {feature!r}; the features are {list(boxes.feature_names)}")
        chosen.append(int(index))
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ValueError(f"features must be two different ones, got {list(features)}")
    return chosen[0], chosen[1]


def _distinct(y: NDArray[Any]) -> list[Any]:
    return sorted(set(y.tolist()), key=lambda label: (isinstance(label, str), label))


def _literally(text: str) -> str:
    """Keep a dollar sign from starting a formula."""
    return text.replace("$", r"\$")


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def _new_axes() -> Axes:
    axes = _new_figure(7.2, 4.6).add_subplot()
    _plain(axes)
    return axes


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#E6E6E6", linewidth=0.7)
    axes.set_axisbelow(True)
