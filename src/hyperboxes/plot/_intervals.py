"""Every box in every feature it restricts: a table of small bars that works in fifty dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..boxes import Boxes, Floats
from ..summary import Summary, summarize
from ._histogram import outlines, steps
from ._style import (
    OfEstimator,
    Rows,
    choose_features,
    data_range,
    new_figure,
    read_rows,
    runs_of,
    show_condition,
    show_label,
    show_name,
    styles_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Most boxes beside which the bounds are written out.
BOXES_WITH_TEXT = 8
#: Most features of one picture.
MAX_FEATURES = 60
#: Share of a cell's width that its bar may take; the rest keeps boxes apart.
CELL = 0.86
#: Width of the histograms in cells of boxes, with and without written bounds.
SPREAD_WIDTH = {True: 1.15, False: 3.2}


class IntervalsDisplay(OfEstimator):
    """Boxes as columns, features as rows: each bar is what a box admits, within the range of the data.

    On the left, how the values of each class are spread. A cell without a bar is a feature that the box
    leaves open. Above each box stand its class, the rows it decides and the share of them in its class.
    Features that no box restricts are left out.

    Make one with `from_boxes` or `from_estimator`.

    Parameters
    ----------
    boxes : Boxes
        The model.
    rows : Rows
        The table.
    features : list of int
        The features shown, from the top.
    summary : Summary
        What the table says about the boxes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, boxes: Boxes, rows: Rows, features: list[int], summary: Summary) -> None:
        self.boxes = boxes
        self.rows = rows
        self.features = features
        self.summary = summary

    @classmethod
    def from_boxes(
        cls,
        boxes: Boxes,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: Sequence[str | int] | None = None,
        max_features: int = MAX_FEATURES,
        ax: Axes | None = None,
    ) -> IntervalsDisplay:
        """Plot what boxes admit of each feature, over a labelled table.

        Parameters
        ----------
        boxes, X, y
            As in `BoxesDisplay.from_boxes`.
        features : sequence of names or positions, optional
            The features to show; by default those that boxes restrict, most used first.
        max_features : int
            Most features that are shown by default.
        ax : matplotlib Axes, optional
            As there; a new figure of fitting size by default.
        """
        rows = read_rows(boxes, X, y)
        chosen = choose_features(boxes, features, max_features)
        return cls(boxes, rows, chosen, summarize(boxes, rows.matrix, rows.y)).plot(ax=ax)

    @property
    def _has_text(self) -> bool:
        return self.boxes.n_boxes <= BOXES_WITH_TEXT

    @property
    def _spread(self) -> float:
        return SPREAD_WIDTH[self._has_text]

    def plot(self, ax: Axes | None = None) -> IntervalsDisplay:
        """Draw, and return self."""
        wide = 1.35 if self._has_text else 0.42
        tall = 0.5 if len(self.features) <= 20 else 0.32
        if ax is None:
            width = 2.6 + wide * (self._spread + max(self.boxes.n_boxes, 1))
            ax = new_figure(max(width, 5.0), 1.35 + tall * len(self.features)).add_subplot()
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]
        self.styles = styles_of(self.boxes, self.rows.y)
        ax.set(
            xlim=(-self._spread - 0.12, self.boxes.n_boxes + 0.05), ylim=(len(self.features) - 0.42, -0.62)
        )
        ax.spines[:].set_visible(False)
        names = [show_name(self.boxes.feature_names[feature]) for feature in self.features]
        ax.set_yticks(range(len(names)), names, fontsize=9)
        ax.tick_params(length=0)
        ax.set_axisbelow(True)
        for place, feature in enumerate(self.features):
            self._draw_row(place, feature)
        self._draw_heads()
        self._draw_legend()
        return self

    def _draw_row(self, place: int, feature: int) -> None:
        column = self.rows.matrix[:, feature]
        if place:
            self.ax_.axhline(place - 0.5, color="#EEEEEE", linewidth=0.8, zorder=0)
        self._draw_spread(place, feature, column)
        colours = [self.styles[label].colour for label in self.boxes.labels.tolist()]
        lefts = np.arange(self.boxes.n_boxes) + (1 - CELL) / 2
        down = place + (0.18 if self._has_text else 0)
        self.ax_.hlines(
            np.full(len(lefts), down), lefts, lefts + CELL, color="#DDDDDD", linewidth=1.2, zorder=1
        )
        for box in np.flatnonzero(self.boxes.restricted[:, feature]).tolist():
            self._draw_bars(place, feature, box, column, colours[box])

    def _draw_spread(self, place: int, feature: int, column: Floats) -> None:
        edges, shares = outlines(self.boxes, feature, column, self.rows.y, self.styles)
        left, width = -self._spread, self._spread * 0.93
        x = left + width * (edges - edges[0]) / (edges[-1] - edges[0])
        filled = len(shares) <= 3
        numbered = self.boxes.feature_names[feature] not in self.boxes.categories and len(self.features) <= 30
        # Numbers below the ground take a part of the row; they must touch neither it nor the next row.
        ground, tall = place + (0.14 if numbered else 0.24), 0.56 if numbered else 0.64
        for label, heights in reversed(shares.items()):
            xs, ys = steps(x, heights)
            colour = self.styles[label].colour
            top = ground - tall * ys
            if filled:
                self.ax_.fill_between(xs, top, ground, color=colour, alpha=0.22, linewidth=0, zorder=2)
            self.ax_.plot(xs, top, color=colour, linewidth=0.9, zorder=3)
        if numbered:
            low, high = data_range(self.boxes, feature, column)
            for at, value, side in ((left, low, "left"), (left + width, high, "right")):
                self.ax_.text(
                    at, ground + 0.07, f"{value:.4g}", fontsize=6, color="#555555", ha=side, va="top"
                )

    def _draw_bars(self, place: int, feature: int, box: int, column: Floats, colour: str) -> None:
        left = box + (1 - CELL) / 2
        tall = 0.26 if self._has_text else 0.6
        for low, high in self._shares(feature, box, column):
            # Where nothing lies between the bounds within the data, a line still shows where it is, wide
            # enough to tell its colour.
            width = max(high - low, 0.025 if self._has_text else 0.06)
            low = min(low, 1 - width)
            self.ax_.barh(
                place + 0.18 if self._has_text else place, width * CELL, left=left + low * CELL, height=tall,
                color=colour, linewidth=0, zorder=4,
            )  # fmt: skip
        if self._has_text:
            asked = next(one for one in self.boxes.conditions(box) if one.feature == feature)
            self.ax_.text(
                box + 0.5, place - 0.08, show_condition(asked), fontsize=7, ha="center", va="bottom", zorder=5
            )

    def _shares(self, feature: int, box: int, column: Floats) -> list[tuple[float, float]]:
        """List what a box admits, as shares of the range of the data."""
        name = self.boxes.feature_names[feature]
        if name in self.boxes.categories:
            known = len(self.boxes.categories[name])
            return [
                (first / known, (last + 1) / known) for first, last in runs_of(self.boxes.allowed[name][box])
            ]
        if np.isnan(self.boxes.lower[box, feature]):
            return []  # there is no value to show
        low, high = data_range(self.boxes, feature, column)
        bounds = np.array([self.boxes.lower[box, feature], self.boxes.upper[box, feature]])
        first, last = np.clip((bounds - low) / (high - low or 1.0), 0, 1).tolist()
        return [(first, last)]

    def _draw_heads(self) -> None:
        """Write above each box its number and, where there is room, its class and figures."""
        heads = []
        for box, label in enumerate(self.boxes.labels.tolist()):
            head = str(box)
            if self._has_text:
                precision = self.summary.precision[box]
                share = "" if np.isnan(precision) else f"\n{100 * precision:.0f} % right"
                head = f"box {box}: {show_label(label)}\n{self.summary.support[box]:.10g} rows{share}"
            heads.append(head)
        self.ax_.xaxis.tick_top()
        self.ax_.set_xticks(np.arange(self.boxes.n_boxes) + 0.5, heads, fontsize=8)
        for tick, label in zip(self.ax_.get_xticklabels(), self.boxes.labels.tolist(), strict=True):
            tick.set_color(self.styles[label].colour)
            tick.set_fontweight("bold")

    def _draw_legend(self) -> None:
        from matplotlib.patches import Patch

        boxed = set(self.boxes.labels.tolist())
        handles = [
            Patch(color=style.colour, label=show_label(label) + ("" if label in boxed else " (no box)"))
            for label, style in self.styles.items()
        ]
        self.figure_.legend(
            handles=handles, loc="outside lower left", ncols=min(len(handles), 6), frameon=False, fontsize=8,
            title=self._left_out(), title_fontsize=7, alignment="left",
        )  # fmt: skip

    def _left_out(self) -> str | None:
        """Say which features are not shown; None if all are."""
        hidden = np.ones(self.boxes.n_features, bool)
        hidden[list(self.features)] = False
        asked = self.boxes.restricted.any(axis=0)
        parts = [
            (int((hidden & ~asked).sum()), "no box restricts"),
            (int((hidden & asked).sum()), "boxes restrict"),
        ]
        told = [f"{count} feature{'' if count == 1 else 's'} that {what}" for count, what in parts if count]
        return f"not shown: {', '.join(told)}" if told else None
