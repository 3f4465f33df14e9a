"""Plots of a search: precision against recall along its points, and the bounds of one of its boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import tables
from ..boxes import Boxes
from ..conditions import format_name, format_number
from ..summary import format_category
from ._style import COLOURS, literally, new_axes, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..prim import Trajectory

Floats = NDArray[np.float64]
#: Labelled points stand at least so far apart, as a share of the picture.
LABEL_DISTANCE = 0.035
#: Characters of a category list before it is cut short.
LONGEST_LIST = 40


class TradeOffDisplay:
    """Precision (density) against recall (coverage) along a search, coloured by restricted features.

    Peels are circles joined by a line, pastes triangles, dropped restrictions squares; a ring marks the
    chosen point. Points are labelled with their numbers, as many as fit. For a number as target, its mean
    stands against the share of rows.

    Make one with `from_trajectory` or `from_estimator`.

    Parameters
    ----------
    trajectory : Trajectory
        The search.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory

    @classmethod
    def from_trajectory(cls, trajectory: Trajectory, *, ax: Axes | None = None) -> TradeOffDisplay:
        """Plot the points of a search."""
        return cls(trajectory).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, label: Any = None, box: int = 0, ax: Axes | None = None
    ) -> TradeOffDisplay:
        """Plot the search that led to a box of a fitted estimator.

        Parameters
        ----------
        estimator : PRIMClassifier or PRIMRegressor
            A fitted one.
        label : label, optional
            The class; by default the first that has boxes.
        box : int
            Number of the box among those of the class, in the order they were found.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls.from_trajectory(_trajectory_of(estimator, label, box), ax=ax)

    def plot(self, ax: Axes | None = None) -> TradeOffDisplay:
        """Draw, and return self."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm, ListedColormap

        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        made = self.trajectory
        size = made.recall if made.binary else made.share
        most = max(1, int(made.n_restricted.max()))
        shades = _shades(most + 1)
        order = [k for k, move in enumerate(made.moves) if move in ("start", "peel")]
        self._draw_way(size, order)
        for moves, marker in (
            (("start", "peel"), "o"),
            (("paste",), "^"),
            (("drop",), "s"),
            (("centre",), "D"),
        ):
            chosen = [k for k, move in enumerate(made.moves) if move in moves]
            self.ax_.scatter(
                size[chosen], made.mean[chosen], c=[shades[n] for n in made.n_restricted[chosen]], s=42,
                marker=marker, edgecolors="#444444", linewidths=0.5, zorder=3,
            )  # fmt: skip
        at = made.chosen
        self.ax_.scatter(
            [size[at]],
            [made.mean[at]],
            s=150,
            facecolors="none",
            edgecolors=COLOURS[1],
            linewidths=2,
            zorder=4,
        )
        self.ax_.set_xlabel("recall (coverage)" if made.binary else "share of rows")
        self.ax_.set_ylabel("precision (density)" if made.binary else "mean of the target")
        if made.binary:
            self.ax_.set(xlim=(-0.03, 1.05), ylim=(-0.03, 1.08))
        self._draw_labels(size)
        self._draw_legend()
        scale = ScalarMappable(BoundaryNorm(np.arange(most + 2) - 0.5, most + 1), ListedColormap(shades))
        bar = self.figure_.colorbar(scale, ax=self.ax_, label="restricted features")
        step = -(-(most + 1) // 12)
        bar.set_ticks(list(range(0, most + 1, step)))
        return self

    def _draw_way(self, size: Floats, order: list[int]) -> None:
        """Join each peel with the point it came from."""
        made = self.trajectory
        for point in order:
            parent = int(made.parent[point])
            if parent >= 0:
                self.ax_.plot(
                    size[[parent, point]], made.mean[[parent, point]], color="#BBBBBB", linewidth=1, zorder=1
                )

    def _draw_labels(self, size: Floats) -> None:
        """Write numbers beside the points: the chosen one, then others where there is room."""
        made = self.trajectory
        (left, right), (bottom, top) = self.ax_.get_xlim(), self.ax_.get_ylim()
        places = np.stack([(size - left) / (right - left), (made.mean - bottom) / (top - bottom)], axis=1)
        taken: list[int] = []
        for point in [made.chosen, *range(len(made))]:
            near = np.linalg.norm(places[taken] - places[point], axis=1) if taken else np.ones(1)
            if not near.min() > LABEL_DISTANCE:
                continue
            taken.append(point)
            self.ax_.annotate(
                str(point), (size[point], made.mean[point]), xytext=(5, 5), textcoords="offset points",
                fontsize=7, color=COLOURS[1] if point == made.chosen else "#333333", zorder=5,
                fontweight="bold" if point == made.chosen else "normal",
            )  # fmt: skip

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        def mark(marker: str, text: str, **style: Any) -> Line2D:
            return Line2D([], [], linestyle="", marker=marker, color="#888888", label=text, **style)

        kinds = {
            "peel": ("o", "peel"), "paste": ("^", "paste"), "drop": ("s", "restriction dropped"),
            "centre": ("D", "bounds centred"),
        }  # fmt: skip
        handles = [mark(*kinds[move]) for move in kinds if move in self.trajectory.moves]
        ring = {"markerfacecolor": "none", "markeredgecolor": COLOURS[1], "markersize": 10}
        handles.append(mark("o", f"chosen: point {self.trajectory.chosen}", markeredgewidth=2, **ring))
        self.ax_.legend(handles=handles, loc="lower left", frameon=False, fontsize=8)


class _Range(NamedTuple):
    """A restricted feature: its range as shares of the data's, the text at its ends, its quasi-p."""

    name: str
    low: float
    high: float
    low_text: str
    high_text: str
    quasi_p: float | None


class BoundsDisplay:
    """The restricted features of one box as ranges, each normalised to the range of the data.

    The grey bar is the range of the data, the coloured one what the box admits; numbers are the bounds, and
    beside each feature stands its quasi-p-value. Of a category the admitted share of its values is coloured.

    Make one with `from_trajectory` or `from_boxes`.

    Parameters
    ----------
    ranges : list
        What is drawn, most telling feature first.
    title : str
        What is written above.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, ranges: Sequence[_Range], title: str = "") -> None:
        self.ranges = ranges
        self.title = title

    @classmethod
    def from_trajectory(
        cls,
        trajectory: Trajectory,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        point: int | None = None,
        ax: Axes | None = None,
    ) -> BoundsDisplay:
        """Plot the box of a point, the chosen one by default, over the rows of a table."""
        at = trajectory.chosen if point is None else point
        box = trajectory.box(at)
        quasi_p = trajectory.quasi_p(at, X, y, sample_weight)
        if trajectory.binary:
            title = f"precision {trajectory.precision[at]:.3f}, recall {trajectory.recall[at]:.3f}"
        else:
            title = f"mean {trajectory.mean[at]:.4g} against {trajectory.base:.4g}"
        title += f", {format_number(round(float(trajectory.support[at]), 6))} rows"
        return cls.from_boxes(box, X, quasi_p=quasi_p, title=title, ax=ax)

    @classmethod
    def from_boxes(
        cls,
        boxes: Boxes,
        X: ArrayLike,
        *,
        box: int = 0,
        quasi_p: Mapping[str, float] | None = None,
        title: str = "",
        ax: Axes | None = None,
    ) -> BoundsDisplay:
        """Plot one of several boxes over the rows of a table."""
        matrix = np.asarray(tables.to_matrix(X, boxes.feature_names, boxes.categories), dtype=np.float64)
        known = quasi_p or {}
        ranges = [_range(condition, matrix, boxes, known) for condition in boxes.conditions(box)]
        ranges.sort(key=lambda one: (one.quasi_p is None, one.quasi_p or 0.0))
        return cls(ranges, title).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> BoundsDisplay:
        """Draw, and return self."""
        if ax is None:
            ax = new_figure(7.2, 1.0 + 0.5 * max(1, len(self.ranges))).add_subplot()
            plain(ax)
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]
        for place, one in enumerate(self.ranges):
            ax.barh(place, 1.0, height=0.34, color="#E0E0E0", zorder=2)
            ax.barh(place, one.high - one.low, left=one.low, height=0.34, color=COLOURS[0], zorder=3)
            for x, text, align in ((one.low, one.low_text, "left"), (one.high, one.high_text, "right")):
                ax.text(x, place - 0.24, literally(text), ha=align, va="bottom", fontsize=8, zorder=4)
            if one.quasi_p is not None:
                ax.text(1.04, place, f"{one.quasi_p:.2g}", va="center", fontsize=8)
        if any(one.quasi_p is not None for one in self.ranges):
            ax.text(1.04, -0.75, "quasi-p", va="center", fontsize=8, color="#555555")
        ax.set_yticks(range(len(self.ranges)), [literally(format_name(one.name)) for one in self.ranges])
        ax.set(xlim=(-0.03, 1.18), ylim=(max(len(self.ranges), 1) - 0.4, -1.0), title=literally(self.title))
        ax.set_xticks([0, 0.5, 1], ["least", "range of the data", "largest"])
        ax.grid(visible=False)
        ax.title.set_fontsize(10)
        return self


def _range(condition: Any, matrix: Floats, boxes: Boxes, quasi_p: Mapping[str, float]) -> _Range:
    name = condition.name
    chance = quasi_p.get(name)
    if condition.categories is not None:
        known = boxes.categories[name]
        share = sum(map(condition.admits, known)) / len(known)
        text = "known" if condition.takes_any_value else ", ".join(map(format_category, condition.categories))
        cut = text if len(text) <= LONGEST_LIST else text[: LONGEST_LIST - 1] + "…"
        return _Range(name, 0.0, share, cut, "", chance)
    column = matrix[:, condition.feature]
    column = column[np.isfinite(column)]
    least, largest = (float(column.min()), float(column.max())) if len(column) else (0.0, 1.0)
    width = largest - least or 1.0
    low, high = (float(np.clip((end - least) / width, 0, 1)) for end in (condition.lower, condition.upper))
    low_text = "" if np.isneginf(condition.lower) else format_number(condition.lower)
    high_text = "" if np.isposinf(condition.upper) else format_number(condition.upper)
    return _Range(name, low, high, low_text, high_text, chance)


def _shades(number: int) -> list[Any]:
    """Give so many colours from light to dark, which stay in order for colour-blind readers."""
    from matplotlib import colormaps

    return [colormaps["viridis_r"](share) for share in np.linspace(0.02, 0.98, number)]


def _trajectory_of(estimator: Any, label: Any, box: int) -> Any:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator, "trajectories_")
    found = estimator.trajectories_
    if isinstance(found, Mapping):
        described = [one for one, group in found.items() if group]
        if label is None and described:
            label = described[0]
        if label not in found:
            raise ValueError(f"no trajectories of the class {label!r}; there are some of {list(found)}")
        found = found[label]
    if not -len(found) <= box < len(found):
        raise ValueError(f"no box {box!r}: {len(found)} were found")
    return found[box]
