"""Trajectory: the boxes that one search went through, and what each is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import tables
from ..boxes import Boxes
from ..conditions import format_name
from .data import read_target, read_weight

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Cells of the table "which row is in which box" that are held at a time.
CELLS_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Boxes on the way from the whole table to a small one, with the figures of each.

    Point 0 is the whole table. Peels follow, then pastes and dropped restrictions, each from the point
    that ``parent`` names; last the same box with its bounds in the middle between the rows they separate.

    Parameters
    ----------
    boxes : Boxes
        The box of each point.
    support, mean : ndarray of shape (n_points,)
        Weight of the rows in the box, and the mean of their target.
    moves : tuple of str
        ``"start"``, ``"peel"``, ``"paste"``, ``"drop"`` or ``"centre"``.
    features : ndarray of shape (n_points,)
        The feature that the move changed; -1 for the start, and where it changed several.
    parent : ndarray of shape (n_points,)
        The point that the move came from; -1 for the start.
    chosen : int
        The point that became a box of the model.
    total, base : float
        Weight of all rows and mean of their target, those of earlier boxes included.
    binary : bool
        Whether the target is a class: then the mean is the precision.
    """

    boxes: Boxes
    support: Floats
    mean: Floats
    moves: tuple[str, ...]
    features: Ints
    parent: Ints
    chosen: int
    total: float
    base: float
    binary: bool

    def __len__(self) -> int:
        return len(self.support)

    @staticmethod
    def concat(parts: Sequence[Trajectory]) -> Trajectory:
        """Put the points of several searches on the same rows behind each other; the last one's is chosen."""
        if not parts:
            raise ValueError("concat needs at least one Trajectory")
        last, first = parts[-1], np.cumsum([0, *(len(part) for part in parts)])
        return replace(
            last,
            boxes=Boxes.concat([part.boxes for part in parts]),
            support=np.concatenate([part.support for part in parts]),
            mean=np.concatenate([part.mean for part in parts]),
            moves=tuple(move for part in parts for move in part.moves),
            features=np.concatenate([part.features for part in parts]),
            parent=np.concatenate(
                [
                    np.where(part.parent < 0, -1, part.parent + at)
                    for part, at in zip(parts, first[:-1], strict=True)
                ]
            ),
            chosen=int(first[-2] + last.chosen),
        )

    # -- figures -----------------------------------------------------------------------------------

    @property
    def precision(self) -> Floats:
        """Share of the class in the box (density); of a number, its mean."""
        return self.mean

    @property
    def recall(self) -> Floats:
        """Share of the class that the box holds (coverage); NaN for a number."""
        if not self.binary:
            return np.full(len(self), np.nan)
        return _share(self.support * self.mean, self.total * self.base)

    @property
    def share(self) -> Floats:
        """Share of all rows that the box holds (mass)."""
        return _share(self.support, self.total)

    @property
    def lift(self) -> Floats:
        """Mean in the box over the mean of all rows."""
        return _share(self.mean, self.base)

    @property
    def f1(self) -> Floats:
        """Harmonic mean of precision and recall; NaN for a number."""
        if not self.binary:
            return np.full(len(self), np.nan)
        return _share(2 * self.support * self.mean, self.support + self.total * self.base)

    @property
    def wracc(self) -> Floats:
        """Weighted relative accuracy: share of rows times the rise of the mean."""
        return self.share * (self.mean - self.base)

    @property
    def n_restricted(self) -> Ints:
        """Number of features that the box restricts."""
        return np.asarray(self.boxes.restricted.sum(axis=1), dtype=np.int64)

    # -- choosing ----------------------------------------------------------------------------------

    def box(self, point: int | None = None) -> Boxes:
        """Give the box of a point, the chosen one by default."""
        return self.boxes.select([self._point(point)])

    def best(
        self, figure: Literal["f1", "wracc", "mean", "lift"] = "f1", *, max_features: int | None = None
    ) -> int:
        """Give the point where a figure is highest, among boxes that restrict few enough features.

        Of equal ones the chosen one, or else the first, which is the largest box.
        """
        if figure not in ("f1", "wracc", "mean", "lift"):
            raise ValueError(f"figure must be 'f1', 'wracc', 'mean' or 'lift', got {figure!r}")
        values = np.asarray(getattr(self, figure), dtype=np.float64).copy()
        if max_features is not None:
            values[self.n_restricted > max_features] = np.nan
        if np.isnan(values).all():
            raise ValueError(f"no point has a {figure}: it is known for classes only")
        best = int(np.nanargmax(values))
        return self.chosen if values[self.chosen] == values[best] else best

    def pareto(self) -> Ints:
        """Give the points that no other beats in precision, recall and number of features at once.

        For a number as target, in mean, share of rows and number of features.
        """
        size = self.recall if self.binary else self.share
        goals = np.stack([self.mean, size, -self.n_restricted.astype(np.float64)], axis=1)
        no_worse = (goals[:, None] >= goals).all(axis=2)
        better = (goals[:, None] > goals).any(axis=2)
        # Of equal points the first stays.
        earlier_twin = np.triu((goals[:, None] == goals).all(axis=2), k=1)
        return np.flatnonzero(~((no_worse & better) | earlier_twin).any(axis=0))

    # -- looking at other rows, other boxes --------------------------------------------------------

    def evaluate(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Trajectory:
        """Give the same boxes with the figures of other rows, such as rows left out."""
        matrix, target, weight = self._rows(X, y, sample_weight)
        support, mean = measure(self.boxes, matrix, target, weight)
        total = float(weight.sum())
        return replace(
            self, support=support, mean=mean, total=total, base=float(_share(weight @ target, total))
        )

    def drop(
        self,
        point: int | None,
        feature: str,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        side: Literal["lower", "upper", "both"] = "both",
    ) -> Trajectory:
        """Lift what a point asks of a feature: one more point at the end, whose figures tell the cost.

        Parameters
        ----------
        point : int or None
            Where to start; None for the chosen one.
        feature : str
            The feature to free.
        X, y, sample_weight
            Rows to measure the new box on; those of the search, to compare it with its parent.
        side : {"both", "lower", "upper"}
            What to lift.
        """
        at = self._point(point)
        opened = self.boxes.select([at]).open(0, feature, side)
        support, mean = measure(opened, *self._rows(X, y, sample_weight))
        return replace(
            self,
            boxes=Boxes.concat([self.boxes, opened]),
            support=np.append(self.support, support),
            mean=np.append(self.mean, mean),
            moves=(*self.moves, "drop"),
            features=np.append(self.features, self.boxes.feature_names.index(feature)),
            parent=np.append(self.parent, at),
        )

    def quasi_p(
        self, point: int | None, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> dict[str, float]:
        """Tell for each restriction how easily chance would do as well.

        The probability to see a mean at least as high among as many rows, drawn at random from the box
        without this restriction: binomial for a class (Bryant & Lempert 2010), normal for a number.
        "Quasi", because the same rows led to the restriction: good for comparing, not as a test.
        """
        at = self._point(point)
        matrix, target, weight = self._rows(X, y, sample_weight)
        box = self.boxes.select([at])
        names = [condition.name for condition in box.conditions(0)]
        wider = Boxes.concat([box, *(box.open(0, name) for name in names)])
        support, mean = measure(wider, matrix, target, weight)
        if self.binary:
            return {
                name: _binomial_tail(support[0], mean[0], mean[k]) for k, name in enumerate(names, start=1)
            }
        _, square = measure(wider, matrix, target**2, weight)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return {
            name: _normal_tail(support[0], mean[0] - mean[k], spread[k])
            for k, name in enumerate(names, start=1)
        }

    def _rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[Any], Floats, Floats]:
        matrix = tables.to_matrix(X, self.boxes.feature_names, self.boxes.categories)
        target = read_target(y, len(matrix))
        if self.binary and not ((target == 0) | (target == 1)).all():
            raise ValueError("this trajectory is about a class: y must hold 0 and 1, or booleans")
        return matrix, target, read_weight(sample_weight, len(matrix))

    def _point(self, point: int | None) -> int:
        at = self.chosen if point is None else point
        if isinstance(at, bool) or not isinstance(at, int | np.integer) or not -len(self) <= at < len(self):
            raise ValueError(f"point must be a number from 0 to {len(self) - 1}, got {point!r}")
        return int(at) % len(self)

    # -- showing -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Give the points as columns, for a data frame of any kind."""
        names = [format_name(self.boxes.feature_names[j]) if j >= 0 else "" for j in self.features]
        columns: dict[str, Any] = {
            "point": np.arange(len(self)), "move": list(self.moves), "feature": names,
            "parent": self.parent, "support": self.support, "share": self.share, "mean": self.mean,
        }  # fmt: skip
        if self.binary:
            columns |= {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return columns | {"lift": self.lift, "wracc": self.wracc, "n_restricted": self.n_restricted}

    def __str__(self) -> str:
        columns = self.to_dict()
        shown = [name for name in columns if name not in ("parent", "mean", "wracc") or not self.binary]
        cells = {name: [_cell(name, value) for value in columns[name]] for name in shown}
        widths = {name: max(len(name), *map(len, cells[name])) for name in shown}
        lines = ["  ".join(name.rjust(widths[name]) for name in shown)]
        for point in range(len(self)):
            line = "  ".join(cells[name][point].rjust(widths[name]) for name in shown)
            lines.append(line + ("  chosen" if point == self.chosen else ""))
        return "\n".join(lines)

    def __repr__(self) -> str:
        at = self.chosen
        return (
            f"Trajectory({len(self)} points; chosen {at}: support {self.support[at]:.10g}, "
            f"mean {self.mean[at]:.4g}, {self.n_restricted[at]} restricted features)"
        )


def measure(boxes: Boxes, matrix: NDArray[Any], target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Give the weight of the rows in each box and the mean of their target."""
    support, total = np.zeros(boxes.n_boxes), np.zeros(boxes.n_boxes)
    step = max(1, CELLS_AT_ONCE // max(boxes.n_boxes, 1))
    for first in range(0, len(matrix), step):
        rows = slice(first, first + step)
        inside = boxes.contains(matrix[rows])
        support += weight[rows] @ inside
        total += (weight[rows] * target[rows]) @ inside
    return support, _share(total, support)


def _binomial_tail(support: float, mean: float, wider_mean: float) -> float:
    """Probability of at least ``support * mean`` successes in ``support`` draws."""
    from scipy.special import betainc

    hits = support * mean
    if not hits > 0 or not support > 0:
        return 1.0
    return float(betainc(hits, support - hits + 1, wider_mean))


def _normal_tail(support: float, rise: float, spread: float) -> float:
    """Probability that the mean of ``support`` draws lies at least ``rise`` above their expectation."""
    if not spread > 0:
        return 1.0 if rise <= 0 else 0.0
    return 0.5 * math.erfc(rise * math.sqrt(support) / spread / math.sqrt(2))


def _share(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Divide, NaN where there is nothing to divide by."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    out = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=out, where=whole != 0)
    return out


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str) or name in ("point", "parent", "n_restricted"):
        return str(value)
    if name == "support":
        return f"{value:.10g}"
    return "–" if value != value else f"{value:.3f}"
