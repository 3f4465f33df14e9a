"""Parallel coordinates: every row a line over several features, every box a bar on each it restricts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..boxes import Boxes, Floats
from ._style import (
    OfEstimator,
    Rows,
    choose_features,
    data_range,
    has_label,
    new_figure,
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

#: Features shown unless others are asked for, and lines of each class.
SHOWN, LINES = 20, 150
#: Boxes from which on rows step back behind them.
MANY_BOXES = 9
#: Width of a bar, and of the gap to the next, in points.
BAR, GAP = 6.0, 2.0
#: Where a missing value stands, below the least.
MISSING = -0.09


class ParallelDisplay(OfEstimator):
    """Rows as lines over parallel axes, boxes as bars beside the axes they restrict.

    A line passes a box if it lies within all of the box's bars. With ``box``, only that one is drawn, as a
    band, and the rows it decides stand out. Rows are a sample, at most the same number of each class.

    Make one with `from_boxes` or `from_estimator`.

    Parameters
    ----------
    boxes : Boxes
        The model.
    rows : Rows
        The table.
    features : list of int
        The features shown, from the left.
    box : int, optional
        The box to show; all by default.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, boxes: Boxes, rows: Rows, features: list[int], box: int | None = None) -> None:
        self.boxes = boxes
        self.rows = rows
        self.features = features
        self.box = box

    @classmethod
    def from_boxes(
        cls,
        boxes: Boxes,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: Sequence[str | int] | None = None,
        box: int | None = None,
        ax: Axes | None = None,
    ) -> ParallelDisplay:
        """Plot boxes and rows over parallel axes.

        Parameters
        ----------
        boxes, X, y
            As in `BoxesDisplay.from_boxes`.
        features : sequence of names or positions, optional
            The features to show; by default the twenty most used of those that boxes restrict.
        box : int, optional
            Show this box alone, and the rows it decides.
        ax : matplotlib Axes, optional
            As there; a new figure of fitting size by default.
        """
        if box is not None and not 0 <= box < boxes.n_boxes:
            raise ValueError(f"no box {box!r}: there are {boxes.n_boxes}, from 0 on")
        chosen = choose_features(boxes, features, SHOWN, at_least=2)
        return cls(boxes, read_rows(boxes, X, y), chosen, box).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ParallelDisplay:
        """Draw, and return self."""
        if ax is None:
            most = int(self.boxes.restricted[:, self.features].sum(axis=0).max(initial=0))
            apart = max(0.85, 0.35 + most * (BAR + GAP) / 72) if self.box is None else 0.85
            ax = new_figure(max(6.5, 1.2 + apart * len(self.features)), 4.8).add_subplot()
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]
        self.styles = styles_of(self.boxes, self.rows.y)
        places = np.stack([self._places(feature) for feature in self.features], axis=1)
        gaps = bool((places == MISSING).any())
        ax.set_xlim(-0.35, len(self.features) - (0.25 if self.box is None else 0.65))
        ax.set(ylim=(-0.15 if gaps else -0.06, 1.06), yticks=[])
        ax.spines[:].set_visible(False)
        for place, feature in enumerate(self.features):
            ax.plot([place, place], [0, 1], color="#555555", linewidth=0.8, zorder=3)
            self._write_ends(place, feature)
        self._draw_rows(places)
        if self.box is None:
            self._draw_bars()
        else:
            self._draw_band(self.box)
        names = [show_name(self.boxes.feature_names[feature]) for feature in self.features]
        many = len(names) > 5
        turned: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if many else {}
        ax.set_xticks(range(len(names)), names, fontsize=8, **turned)
        ax.tick_params(length=0)
        if gaps:
            ax.text(-0.33, MISSING, "missing", fontsize=7, color="#777777", va="center")
        self._draw_legend()
        return self

    def _scale(self, feature: int) -> tuple[float, float]:
        """Least value and width of an axis."""
        name = self.boxes.feature_names[feature]
        if name in self.boxes.categories:
            return -0.5, float(len(self.boxes.categories[name]))
        low, high = data_range(self.boxes, feature, self.rows.matrix[:, feature])
        return low, high - low or 1.0

    def _places(self, feature: int) -> Floats:
        low, width = self._scale(feature)
        column = self.rows.matrix[:, feature]
        if self.boxes.feature_names[feature] in self.boxes.categories:
            column = column + np.random.default_rng(0).uniform(-0.25, 0.25, len(column))
        places = np.clip((column - low) / width, 0, 1)
        return np.where(np.isnan(places), MISSING, places)

    def _write_ends(self, place: int, feature: int) -> None:
        name = self.boxes.feature_names[feature]
        if name in self.boxes.categories:
            known = self.boxes.categories[name]
            backing = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.7}
            for position, value in enumerate(known if len(known) <= 8 else ()):
                self.ax_.text(
                    place - 0.02, (position + 0.5) / len(known), show_category(value), fontsize=6,
                    ha="right", va="center", zorder=6, bbox=backing,
                )  # fmt: skip
            return
        low, width = self._scale(feature)
        for at, value, side in ((-0.03, low, "top"), (1.03, low + width, "bottom")):
            text = f"{value:.4g}"
            self.ax_.text(place, at, text, fontsize=6.5, ha="center", va=side, color="#555555", zorder=6)

    def _draw_rows(self, places: Floats) -> None:
        from matplotlib.collections import LineCollection

        chosen = self._sample()
        decided = None if self.box is None else self.boxes.decide(self.rows.matrix) == self.box
        x = np.arange(places.shape[1], dtype=np.float64)
        for label, style in reversed(self.styles.items()):
            rows = chosen[has_label(self.rows.y, label)[chosen]]
            for inside in (False, True) if decided is not None else (True,):
                shown = rows if decided is None else rows[decided[rows] == inside]
                lines = [np.column_stack([x, places[row]]) for row in shown]
                colour = style.colour if inside else "#BBBBBB"
                alpha = (0.6 if decided is not None else self._faint) if inside else 0.15
                self.ax_.add_collection(
                    LineCollection(
                        lines, colors=colour, linewidths=0.7, alpha=alpha, zorder=2 if inside else 1
                    )
                )

    @property
    def _faint(self) -> float:
        return 0.3 if self.boxes.n_boxes < MANY_BOXES else 0.08

    def _sample(self) -> NDArray[np.int64]:
        """Choose at most so many rows of each class, spread evenly over the table."""
        parts = []
        for label in self.styles:
            rows = np.flatnonzero(has_label(self.rows.y, label))
            parts.append(
                rows[np.linspace(0, len(rows) - 1, min(len(rows), LINES)).astype(int)] if len(rows) else rows
            )
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def _intervals(self, box: int, feature: int) -> list[tuple[float, float]]:
        """List what a box admits, as shares of the axis."""
        low, width = self._scale(feature)
        name = self.boxes.feature_names[feature]
        if name in self.boxes.categories:
            runs = runs_of(self.boxes.allowed[name][box])
            return [(first / width + 0.02, (last + 1) / width - 0.02) for first, last in runs]
        if np.isnan(self.boxes.lower[box, feature]):
            return [(MISSING - 0.02, MISSING + 0.02)]
        bounds = np.array([self.boxes.lower[box, feature], self.boxes.upper[box, feature]])
        first, last = np.clip((bounds - low) / width, -0.02, 1.02).tolist()
        return [(first, last)]

    def _draw_bars(self) -> None:
        """Draw each box beside the axes it restricts, in lanes from left to right."""
        from matplotlib.transforms import ScaledTranslation

        colours = [self.styles[label].colour for label in self.boxes.labels.tolist()]
        for place, feature in enumerate(self.features):
            for lane, box in enumerate(np.flatnonzero(self.boxes.restricted[:, feature]).tolist()):
                aside = (BAR + lane * (BAR + GAP)) / 72
                shifted = self.ax_.transData + ScaledTranslation(aside, 0, self.figure_.dpi_scale_trans)
                for low, high in self._intervals(box, feature):
                    self.ax_.plot(
                        [place, place], [low, max(high, low + 0.012)], color=colours[box], linewidth=BAR,
                        solid_capstyle="butt", transform=shifted, zorder=4,
                    )  # fmt: skip
                    self.ax_.text(
                        place, (low + high) / 2, str(box), color="white", fontsize=5, fontweight="bold",
                        ha="center", va="center", transform=shifted, zorder=5,
                    )  # fmt: skip

    def _draw_band(self, box: int) -> None:
        """Draw one box as a band over all axes, as wide as the axis where it is open."""
        colour = self.styles[self.boxes.labels.tolist()[box]].colour
        lows, highs = [], []
        for feature in self.features:
            spans = self._intervals(box, feature) if self.boxes.restricted[box, feature] else [(-0.02, 1.02)]
            lows.append(min(low for low, _ in spans))
            highs.append(max(high for _, high in spans))
        x = np.arange(len(self.features))
        self.ax_.fill_between(x, lows, highs, color=colour, alpha=0.12, linewidth=0, zorder=1)
        for place, feature in enumerate(self.features):
            if self.boxes.restricted[box, feature]:
                for low, high in self._intervals(box, feature):
                    self.ax_.plot([place, place], [low, high], color=colour, linewidth=5, zorder=4, alpha=0.9)

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=style.colour, linewidth=1.5, label=show_label(label))
            for label, style in self.styles.items()
        ]
        if self.box is None and self.boxes.n_boxes:
            handles.append(Line2D([], [], color="#444444", linewidth=5, label="what a box admits"))
        self.figure_.legend(
            handles=handles, loc="outside upper left", ncols=min(len(handles), 6), frameon=False, fontsize=8
        )
