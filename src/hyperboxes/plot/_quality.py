"""Precision against recall, box by box and as the list grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..boxes import Boxes, Floats
from ..summary import Summary, summarize
from ._style import OfEstimator, Style, new_figure, plain, read_rows, show_label, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: F1 of the faint curves behind the points.
F1_CURVES = (0.2, 0.4, 0.6, 0.8)
#: Where the number of a box may stand, in points from the middle of its mark.
SPOTS = ((8, 6), (8, -6), (-8, 6), (-8, -6), (0, 12), (0, -12), (14, 0), (-14, 0), (14, 14), (-14, -14))
#: How near two numbers may come, in points across and down.
NEAR = (10.0, 8.0)


class QualityDisplay(OfEstimator):
    """Precision against recall: on the left a mark for each box, on the right what boxes reach together.

    The size of a mark tells how many rows the box decides, its number which box it is; this side shows the
    part of the plane that boxes lie in. On the other, a line for each class starts with its first box and
    ends, at the square, with all of them; rows that the default answers are not counted.

    Make one with `from_boxes`, `from_summary` or `from_estimator`.

    Parameters
    ----------
    boxes : Boxes
        The model.
    summary : Summary
        What a table says about the boxes.
    styles : dict of label to Style
        How classes look.

    Attributes
    ----------
    axes_ : list of two matplotlib Axes
    figure_ : matplotlib Figure
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(self, boxes: Boxes, summary: Summary, styles: dict[Any, Style]) -> None:
        self.boxes = boxes
        self.summary = summary
        self.styles = styles

    @classmethod
    def from_boxes(cls, boxes: Boxes, X: ArrayLike, y: ArrayLike) -> QualityDisplay:
        """Plot how boxes fare on a labelled table.

        Parameters
        ----------
        boxes, X, y
            As in `BoxesDisplay.from_boxes`.
        """
        rows = read_rows(boxes, X, y)
        return cls.from_summary(boxes, summarize(boxes, rows.matrix, rows.y))

    @classmethod
    def from_summary(cls, boxes: Boxes, summary: Summary) -> QualityDisplay:
        """Plot figures that are known already, such as those of ``training_summary(boxes)``."""
        return cls(boxes, summary, styles_of(boxes, np.asarray(boxes.classes))).plot()

    def plot(self) -> QualityDisplay:
        """Draw, and return self."""
        self.figure_ = new_figure(9.6, 4.2)
        self.axes_ = list(self.figure_.subplots(1, 2))
        single, together = self.axes_
        for axes, title in ((single, "each box"), (together, "boxes of a class together")):
            plain(axes)
            axes.set_title(title, fontsize=9)
            axes.set(xlabel="recall", ylabel="precision")
        self._zoom(single)
        together.set(xlim=(-0.03, 1.13), ylim=(-0.03, 1.05))
        self._draw_curves(together)
        labels = self.boxes.labels.tolist()
        for label in dict.fromkeys(labels):
            self._draw_class(label, np.flatnonzero([item == label for item in labels]))
        self._draw_numbers(single)
        self._draw_legend()
        return self

    def _zoom(self, axes: Axes) -> None:
        """Show the part of the plane that boxes lie in, no smaller than a fifth either way."""
        for setter, values in ((axes.set_xlim, self.summary.recall), (axes.set_ylim, self.summary.precision)):
            known = values[:-1][~np.isnan(values[:-1])]
            low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
            spare = max(0.2 - (high - low), 0.0) / 2
            room = 0.08 * max(high - low, 0.2)
            setter(max(low - spare, 0.0) - room, min(high + spare, 1.0) + room)

    def _draw_curves(self, axes: Axes) -> None:
        for f1 in F1_CURVES:
            recall = np.linspace(f1 / (2 - f1), 1.0, 100)
            precision = f1 * recall / (2 * recall - f1)
            axes.plot(recall, precision, color="#DDDDDD", linewidth=0.9, zorder=1)
            axes.text(1.0, precision[-1], f" F1 {f1:g}", fontsize=6.5, color="#999999", va="center")

    def growing(self, boxes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Give recall and precision of the first box, the first two, and so on, of one class."""
        places = [self.summary.classes.index(self.boxes.labels.tolist()[boxes[0]])]
        hits = np.cumsum(self.summary.counts[boxes][:, places].sum(axis=1))
        said = np.cumsum(self.summary.support[boxes])
        every = float(self.summary.class_support[places].sum())
        return hits / (every or np.nan), hits / np.where(said > 0, said, np.nan)

    def _draw_class(self, label: Any, boxes: NDArray[np.int64]) -> None:
        colour, marker = self.styles[label]
        recall, precision = self.growing(boxes)
        single, together = self.axes_
        together.plot(recall, precision, color=colour, linewidth=1.3, marker=".", markersize=4, zorder=2)
        together.scatter(
            recall[-1:], precision[-1:], s=60, marker="s", facecolors="white", edgecolors=colour,
            linewidths=1.6, zorder=3,
        )  # fmt: skip
        rows = self.summary.support[boxes]
        size = 25 + 220 * rows / max(float(self.summary.support[:-1].max(initial=0.0)), 1.0)
        single.scatter(
            self.summary.recall[boxes], self.summary.precision[boxes], s=size, marker=marker, color=colour,
            alpha=0.75, edgecolors="white", linewidths=0.8, zorder=4,
        )  # fmt: skip

    def _draw_numbers(self, axes: Axes) -> None:
        """Write the number of each box beside its mark, in the first spot that is free."""
        taken: list[tuple[float, float]] = []
        points = np.column_stack([self.summary.recall, self.summary.precision])[:-1]
        self.figure_.draw_without_rendering()  # settles where points lie
        to_points = 72 / self.figure_.dpi
        places = to_points * axes.transData.transform(np.nan_to_num(points))
        for box, (x, y) in enumerate(places.tolist()):
            if np.isnan(points[box]).any():
                continue
            free = [spot for spot in SPOTS if not any(_near(x, y, spot, other) for other in taken)]
            spot = free[0] if free else SPOTS[0]
            taken.append((x + spot[0], y + spot[1]))
            axes.annotate(
                str(box), points[box], xytext=spot, textcoords="offset points", fontsize=7, ha="center",
                va="center", zorder=5,
            )  # fmt: skip

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        boxed = dict.fromkeys(self.boxes.labels.tolist())
        handles = [
            Line2D([], [], color=self.styles[label].colour, marker=self.styles[label].marker, linestyle="",
                   label=f"box: {show_label(label)}")
            for label in boxed
        ]  # fmt: skip
        handles.append(
            Line2D([], [], color="#666666", marker="s", markerfacecolor="white", label="all of them")
        )
        self.figure_.legend(
            handles=handles, loc="outside lower center", ncols=min(len(handles), 6), frameon=False, fontsize=8
        )


def _near(x: float, y: float, spot: tuple[int, int], other: tuple[float, float]) -> bool:
    return abs(x + spot[0] - other[0]) < NEAR[0] and abs(y + spot[1] - other[1]) < NEAR[1]
