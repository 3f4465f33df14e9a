"""explain: why a row got its class, and the smallest change that would alter that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .boxes import Boxes
from .conditions import Condition, format_name, format_number


@dataclass(frozen=True)
class Margin:
    """One condition of a box beside the row's value.

    ``to_lower`` and ``to_upper`` are the distances to the bounds in table units, negative where the
    bound is violated, infinite where the side is open; NaN for a category or a missing value.
    """

    condition: Condition
    value: Any
    holds: bool
    to_lower: float
    to_upper: float


@dataclass(frozen=True)
class Change:
    """A change of some values, as small as can be, and what it leads to.

    ``distance`` is the largest single change in units of each feature's scale; infinite if no change of
    known values will do, because a restricted value is missing.
    """

    box: int
    enters: bool
    values: dict[str, Any]
    distance: float
    prediction: Any


@dataclass(frozen=True)
class Explanation:
    """Why a row got its class.

    Attributes
    ----------
    prediction : label or None
        The class of the row.
    box : int or None
        The box that decided; None if the row lies in no box.
    margins : tuple of Margin
        The deciding box's conditions beside the row's values.
    changes : tuple of Change
        For each condition of the deciding box the way out by it, and for each other box the way in,
        nearest first.
    """

    prediction: Any
    box: int | None
    margins: tuple[Margin, ...]
    changes: tuple[Change, ...]

    @property
    def smallest_change(self) -> Change | None:
        """The nearest change that gives another class, None if there is none."""
        other = (change for change in self.changes if change.prediction != self.prediction)
        return next((change for change in other if math.isfinite(change.distance)), None)

    def __str__(self) -> str:
        if self.box is None:
            lines = [f"{self.prediction!r}: in no box"]
        else:
            lines = [f"{self.prediction!r} by box {self.box}:"]
        for margin in self.margins:
            # That there is a value holds without one that is known: of a category not seen before.
            new = margin.value is None and margin.holds and margin.condition.takes_any_value
            shown = "a new value" if new else f"value {_show(margin.value)}"
            lines.append(f"  {margin.condition}   ({shown})")
        change = self.smallest_change
        if change is not None:
            verb = "enter" if change.enters else "leave"
            moves = ", ".join(
                f"{format_name(name)} to {_show(value)}" for name, value in change.values.items()
            )
            lines.append(f"  to get {change.prediction!r}, {verb} box {change.box}: change {moves}")
        return "\n".join(lines)


def explain(boxes: Boxes, row: ArrayLike, scale: NDArray[np.float64] | None = None) -> Explanation:
    """Explain one row.

    Parameters
    ----------
    boxes : Boxes
        The model.
    row : frame of one row, or array-like of shape (n_features,) or (1, n_features)
        The row, as ``Boxes.predict`` takes it.
    scale : ndarray of shape (n_features,), optional
        What counts as one unit of change in each feature; 1 by default.
    """
    cells = _one_row(boxes, row)
    scale = np.ones(boxes.n_features) if scale is None else np.asarray(scale, dtype=np.float64)
    decided = int(boxes.decide(cells)[0])
    held = int(boxes.apply(cells)[0])
    conditions = [] if decided < 0 else boxes.conditions(decided)
    margins = tuple(_margin(boxes, condition, cells[0]) for condition in conditions)
    changes = []
    if held >= 0:
        changes += [_escape(boxes, held, condition, cells, scale) for condition in boxes.conditions(held)]
    inside = boxes.contains(cells)[0]
    changes += [_enter(boxes, box, cells, scale) for box in np.flatnonzero(~inside).tolist()]
    changes.sort(key=lambda change: change.distance)
    prediction = boxes.predict(cells)[0]
    return Explanation(_plain(prediction), decided if decided >= 0 else None, margins, tuple(changes))


def _one_row(boxes: Boxes, row: ArrayLike) -> NDArray[np.float64]:
    if isinstance(row, np.ndarray) and row.ndim == 1:
        row = row.reshape(1, -1)
    elif isinstance(row, list | tuple) and not any(
        isinstance(cell, list | tuple | np.ndarray) for cell in row
    ):
        row = [row]
    cells = boxes._matrix(row).astype(np.float64)
    if len(cells) != 1:
        raise ValueError(f"explain takes one row, got {len(cells)}: call it row by row")
    return cells


def _value(boxes: Boxes, condition: Condition, cells: NDArray[np.float64]) -> Any:
    """Give the row's value as a person would write it; None if missing or an unknown category."""
    cell = float(cells[condition.feature])
    if math.isnan(cell):
        return None
    if condition.categories is None:
        return cell
    known = boxes.categories[condition.name]
    return known[int(cell)] if cell in range(len(known)) else None


def _is_missing(boxes: Boxes, condition: Condition, cell: float) -> bool:
    known = boxes.categories.get(condition.name, ())
    return math.isnan(cell) or (None in known and cell == len(known) - 1)


def _margin(boxes: Boxes, condition: Condition, cells: NDArray[np.float64]) -> Margin:
    value, cell = _value(boxes, condition, cells), float(cells[condition.feature])
    if condition.categories is not None:
        known = cell in range(len(boxes.categories[condition.name]))
        holds = condition.admits(value) if known else condition.takes_any_value
        return Margin(condition, value, holds, math.nan, math.nan)
    holds = math.isnan(cell) if condition.must_miss else condition.lower <= cell <= condition.upper
    return Margin(condition, value, holds, *_distances(condition, cell))


def _distances(condition: Condition, cell: float) -> tuple[float, float]:
    """Give the distances to the bounds; an open side is infinitely far even from an infinite value."""
    if math.isnan(cell) or condition.must_miss:
        return math.nan, math.nan
    to_lower = cell - condition.lower if math.isfinite(condition.lower) else math.inf
    to_upper = condition.upper - cell if math.isfinite(condition.upper) else math.inf
    return to_lower, to_upper


def _enter(boxes: Boxes, box: int, cells: NDArray[np.float64], scale: NDArray[np.float64]) -> Change:
    """Move every violated value just onto the nearest bound, or to the first admitted category."""
    moved, values, distance = cells.copy(), {}, 0.0
    for condition in boxes.conditions(box):
        cell = float(cells[0, condition.feature])
        margin = _margin(boxes, condition, cells[0])
        if margin.holds:
            continue
        if condition.categories is not None:
            known = boxes.categories[condition.name]
            value = next(filter(condition.admits, known))
            moved[0, condition.feature] = known.index(value)
            values[condition.name], step = value, 1.0
        elif condition.must_miss:
            moved[0, condition.feature], values[condition.name], step = math.nan, None, 1.0
        else:
            target = condition.lower if not cell > condition.upper else condition.upper
            if not math.isfinite(target):
                target = condition.upper
            moved[0, condition.feature] = values[condition.name] = target
            step = abs(target - cell) / float(scale[condition.feature])
        distance = max(distance, math.inf if _is_missing(boxes, condition, cell) else step)
    return Change(box, True, values, distance, _plain(boxes.predict(moved)[0]))


def _escape(
    boxes: Boxes, box: int, condition: Condition, cells: NDArray[np.float64], scale: NDArray[np.float64]
) -> Change:
    """Leave a box by one condition, then every further box that still gives the same class.

    Each step takes the nearest way out by a value not moved yet; it stops where there is none.
    """
    before = boxes.predict(cells)[0]
    moved, values = cells.copy(), {}
    distance = 0.0
    ways = [_way_out(boxes, condition, cells, scale)]
    while ways:
        step, way, target, shown = min(ways, key=lambda item: item[0])
        moved[0, way.feature] = target
        values[way.name] = shown
        distance = max(distance, step)
        held = int(boxes.apply(moved)[0])
        if held < 0 or boxes.predict(moved)[0] != before:
            break
        ways = [_way_out(boxes, c, moved, scale) for c in boxes.conditions(held) if c.name not in values]
    return Change(box, False, values, distance, _plain(boxes.predict(moved)[0]))


def _way_out(
    boxes: Boxes, condition: Condition, cells: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[float, Condition, float, Any]:
    """Give the nearest place where a condition no longer holds: (distance, condition, cell, value shown)."""
    if condition.categories is not None:
        known = boxes.categories[condition.name]
        value = next(item for item in known if not condition.admits(item))
        return 1.0, condition, float(known.index(value)), value
    if condition.must_miss:
        return math.inf, condition, 0.0, 0.0  # which number it would be is not known
    down, up = _distances(condition, float(cells[0, condition.feature]))
    if down < up or (down == up and math.isfinite(condition.lower)):
        target = math.nextafter(condition.lower, -math.inf)
    else:
        target = math.nextafter(condition.upper, math.inf)
    return min(down, up) / float(scale[condition.feature]), condition, target, target


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _show(value: Any) -> str:
    if value is None:
        return "missing"
    return format_number(value) if isinstance(value, float) else repr(value)
