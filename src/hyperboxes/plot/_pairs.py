"""Boxes over the points of a table, in every two of several features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ..boxes import Boxes
from ._boxes import BoxesDisplay
from ._histogram import outlines, steps
from ._style import (
    OfEstimator,
    Rows,
    choose_features,
    data_limits,
    new_figure,
    plain,
    read_rows,
    show_category,
    show_name,
    styles_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Features shown unless others are asked for; more than twice as many cannot be read.
SHOWN, MOST = 4, 8


class PairsDisplay(OfEstimator):
    """Boxes in every two of several features: points and shadows below, the spread of classes between.

    Each panel is read like `BoxesDisplay`.

    Make one with `from_boxes` or `from_estimator`.

    Parameters
    ----------
    boxes : Boxes
        The model.
    rows : Rows
        The table.
    features : list of int
        The features shown.

    Attributes
    ----------
    axes_ : list of lists of matplotlib Axes
        Row by row, up to the diagonal.
    figure_ : matplotlib Figure
    """

    axes_: list[list[Axes]]
    figure_: Figure

    def __init__(self, boxes: Boxes, rows: Rows, features: list[int]) -> None:
        self.boxes = boxes
        self.rows = rows
        self.features = features

    @classmethod
    def from_boxes(
        cls, boxes: Boxes, X: ArrayLike, y: ArrayLike, *, features: Sequence[str | int] | None = None
    ) -> PairsDisplay:
        """Plot boxes over a labelled table.

        Parameters
        ----------
        boxes, X, y
            As in `BoxesDisplay.from_boxes`.
        features : sequence of two to eight names or positions, optional
            The features to show; by default the four by which most training rows are decided.
        """
        if features is not None and len(features) > MOST:
            raise ValueError(
                f"{len(features)} features make {len(features) ** 2} panels: give at most {MOST}"
            )
        chosen = choose_features(boxes, features, SHOWN, at_least=2)
        return cls(boxes, read_rows(boxes, X, y), chosen).plot()

    def plot(self) -> PairsDisplay:
        """Draw, and return self."""
        size = len(self.features)
        self.figure_ = new_figure(1.2 + 2.3 * size, 0.6 + 2.1 * size)
        grid = self.figure_.add_gridspec(size, size)
        self.axes_ = [
            [self.figure_.add_subplot(grid[down, across]) for across in range(down + 1)]
            for down in range(size)
        ]
        for down, row in enumerate(self.axes_):
            for across, axes in enumerate(row):
                plain(axes)
                axes.tick_params(labelsize=7)
                if across == down:
                    self._draw_spread(axes, self.features[down])
                else:
                    self._draw_pair(axes, self.features[across], self.features[down])
                self._name(axes, across, down)
        self._draw_legend()
        return self

    def _draw_pair(self, axes: Axes, across: int, down: int) -> None:
        points = self.rows.matrix[:, [across, down]]
        display = BoxesDisplay(self.boxes, points, self.rows.y, (across, down))
        display.plot(ax=axes, legend=False, point_size=8 if len(points) <= 500 else 3)

    def _draw_spread(self, axes: Axes, feature: int) -> None:
        styles = styles_of(self.boxes, self.rows.y)
        column = self.rows.matrix[:, feature]
        edges, shares = outlines(self.boxes, feature, column, self.rows.y, styles)
        for label, heights in reversed(shares.items()):
            xs, ys = steps(edges, heights)
            axes.fill_between(xs, ys, color=styles[label].colour, alpha=0.2, linewidth=0)
            axes.plot(xs, ys, color=styles[label].colour, linewidth=1.2)
        axes.set(xlim=data_limits(self.boxes, feature, column), ylim=(0, 1.08), yticks=[])
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)

    def _name(self, axes: Axes, across: int, down: int) -> None:
        """Write names and ticks on the outside only."""
        name = self.boxes.feature_names[self.features[across]]
        if name in self.boxes.categories:
            known = self.boxes.categories[name]
            axes.set_xticks(
                range(len(known)), [show_category(value) for value in known], rotation=30, ha="right"
            )
        axes.set_xlabel(show_name(name) if down == len(self.features) - 1 else "", fontsize=8)
        if down < len(self.features) - 1:
            axes.tick_params(labelbottom=False)
        if across:
            axes.tick_params(labelleft=False)
        axes.set_ylabel(
            show_name(self.boxes.feature_names[self.features[down]]) if not across else "", fontsize=8
        )

    def _draw_legend(self) -> None:
        handles = BoxesDisplay.legend_handles(self.boxes, self.rows.y, self.features[:2])
        self.figure_.legend(
            handles=handles, loc="upper right", bbox_to_anchor=(0.99, 0.99), frameon=False, fontsize=8
        )
