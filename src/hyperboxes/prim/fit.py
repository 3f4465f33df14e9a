"""fit_prim: from a table to boxes by peeling, pasting and covering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..boxes import Boxes, Label
from ..crisp import Limits
from ..tables import Table, read_table
from .data import read_target, read_weight
from .ranks import Bools, Floats, Ints, RankBox, Ranks
from .search import Path, Search, Target, boxes_of_drops, boxes_of_moves
from .settings import Settings, default_settings
from .trajectory import Trajectory

#: Rows left out that judge a trajectory: no more folds than it takes to have so many.
ENOUGH_LEFT_OUT = 10_000


class PrimFit(NamedTuple):
    """What learning gives back: the boxes, and for each the trajectory it was chosen from."""

    boxes: Boxes
    trajectories: tuple[Trajectory, ...]


def fit_prim(
    X: ArrayLike | Table,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_boxes: int | None = 1,
    settings: Settings | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    numeric: bool = False,
) -> PrimFit:
    """Find boxes in which a class is frequent, or a number is high.

    The Patient Rule Induction Method of Friedman & Fisher (1999): from the whole table, slices are peeled
    off, a few rows at a time; a point of this trajectory is chosen, and sides are pasted back where
    that helps. Bounds then move to the middle between the rows they separate. Rows in the box are set aside,
    and the next box is sought in the others.

    Parameters
    ----------
    X : data frame, array-like of shape (n_samples, n_features), or Table
        Numbers and categories; missing values are allowed. A box that restricts a feature rejects its
        missing values.
    y : array-like of shape (n_samples,)
        Booleans or 0/1 for a class; other numbers are a target whose mean is to be high (negate it for
        a low one).
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for.
    n_boxes : int or None
        Most boxes; None for as many as the settings find worth keeping.
    settings : Settings, optional
        How boxes are peeled, chosen and kept; by default with the criterion ``"f1"`` for a class and
        ``"wracc"`` for a number.
    limits : Limits, optional
        Sides that may be closed.
    seed : int
        Seed of the folds; they depend on nothing else but what the rows hold.
    numeric : bool
        Whether 0/1 is a number too.

    Returns
    -------
    PrimFit
        ``boxes`` predict True in a box and False elsewhere, or, for numbers, the mean of the rows that each
        decides. ``trajectories`` has one entry for each box.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperboxes.prim import fit_prim
    >>> X = np.random.default_rng(0).uniform(size=(1000, 3))
    >>> fit = fit_prim(X, (X[:, 0] > 0.4) & (X[:, 2] < 0.5))
    >>> [condition.name for condition in fit.boxes.conditions(0)]
    ['x0', 'x2']
    """
    table = X if isinstance(X, Table) else read_table(X)
    n_rows = len(table.matrix)
    if not n_rows:
        raise ValueError("X has no rows: there is nothing to find boxes in")
    if n_boxes is not None and n_boxes < 1:
        raise ValueError(f"n_boxes must be 1 or more, or None for no limit, got {n_boxes!r}")
    target, weight = read_target(y, n_rows), read_weight(sample_weight, n_rows)
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero everywhere: no row is left to learn from")
    table, target, weight = drop_weightless(table, target, weight)
    binary = bool(((target == 0) | (target == 1)).all())
    settings = settings or default_settings(binary)
    trajectories = cover(
        Ranks.from_table(table), target, weight, n_boxes=n_boxes, settings=settings, limits=limits, seed=seed,
        label=True,
    )  # fmt: skip
    boxes = _as_model(table, trajectories, target, weight, binary and not numeric)
    return PrimFit(boxes, tuple(trajectories))


def trade_off(
    X: ArrayLike | Table,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    settings: Settings | None = None,
    seed: int = 0,
) -> Trajectory:
    """Search with one feature at most, with two, and so on: all points of the trade-off in one trajectory.

    A free search restricts many features; held to few, it finds other boxes. The ``pareto`` points of the
    result show what each further feature buys in precision and recall. Parameters are those of ``fit_prim``.
    """
    table = X if isinstance(X, Table) else read_table(X)
    target = read_target(y, len(table.matrix))
    settings = settings or default_settings(bool(((target == 0) | (target == 1)).all()))

    def search(max_features: int | None) -> Trajectory | None:
        asked = replace(settings, max_features=max_features)
        found = fit_prim(table, target, sample_weight=sample_weight, settings=asked, seed=seed).trajectories
        return found[0] if found else None

    free = search(settings.max_features)
    if free is None:
        raise ValueError("no box was found that is worth keeping: there is nothing to trade off")
    most = int(free.n_restricted.max())
    held = [search(number) for number in range(1, most)]
    return Trajectory.concat([*(one for one in held if one is not None), free])


def drop_weightless(table: Table, target: NDArray[Any], weight: Floats) -> tuple[Table, NDArray[Any], Floats]:
    """Leave out rows of weight zero: not even their values count."""
    kept = weight > 0
    if kept.all():
        return table, target, weight
    return table._replace(matrix=table.matrix[kept]), target[kept], weight[kept]


def cover(
    ranks: Ranks, target: Floats, weight: Floats, *, n_boxes: int | None, settings: Settings,
    limits: Limits | None, seed: int, label: Label, progress: Callable[[float], None] | None = None,
) -> list[Trajectory]:  # fmt: skip
    """Find one box after the other, each among the rows that no earlier one holds.

    ``progress`` is told, after each box but the last, which share of the work is done: of the boxes that may
    be found, or of what there is to cover, whichever is nearer to its end.
    """
    goal = Target.from_data(target, weight)
    if settings.criterion == "f1" and not goal.binary:
        raise ValueError("criterion='f1' needs a class as target: for a number, choose 'wracc' or 'mean'")
    if not goal.binary and settings.objective == "f1":
        raise ValueError("objective='f1' needs a class as target: for a number, choose another")
    search = Search(ranks, goal, settings, limits or Limits.none(len(ranks.n_values)))
    units = goal.units
    weighed = units[:, 0] > 0
    if not np.ptp(units[weighed, 1] / units[weighed, 0]) > 0:  # one value: no box is better than another
        return []
    folds = _folds(search, seed)
    state = _State(weighed, np.zeros(2, np.int64))
    found: list[Trajectory] = []
    while True:
        step = _next_box(search, folds, state, label)
        if step is None:
            return found
        trajectory, box, sums = step
        found.append(trajectory)
        if len(found) == n_boxes:  # what is left then matters to nobody
            return found
        state = state.without(search, box, sums)
        if progress is not None:
            covered = float(state.covered[1] / search.total[1]) if goal.binary else 1 - state.left.mean()
            progress(max(covered, len(found) / (n_boxes or np.inf)))


class _State(NamedTuple):
    """Where covering stands: rows in no box yet, and the weight and target of the others."""

    left: Bools
    covered: Ints

    def without(self, search: Search, box: RankBox, sums: Ints) -> _State:
        """Set the rows of a box aside, whose weight and target are given."""
        rows = np.flatnonzero(self.left)
        left = self.left.copy()
        left[rows[search.ranks.inside(box, rows)]] = False
        return _State(left, self.covered + sums)


def _folds(search: Search, seed: int) -> list[Bools]:
    """Give sets of rows to be left out in turn; none if points are judged on all rows."""
    settings, units = search.settings, search.target.units
    if settings.validation == "training" or settings.criterion in ("peak", "last"):
        return []
    n_rows = len(units)
    groups = (units[:, 1] > 0).astype(np.int64) if search.target.binary else np.zeros(n_rows, np.int64)
    fold = search.ranks.folds(np.arange(n_rows), groups, units[:, 0], settings.n_folds, seed)
    n_used = min(settings.n_folds, -(-ENOUGH_LEFT_OUT * settings.n_folds // n_rows))
    return [fold == number for number in range(n_used)]


def _next_box(
    search: Search, folds: list[Bools], state: _State, label: Label
) -> tuple[Trajectory, RankBox, Ints] | None:
    """Find the next box, with its weight and target; None where no box is worth keeping."""
    settings, units = search.settings, search.target.units
    rows = np.flatnonzero(state.left)
    if not len(rows) or units[rows, 0].sum(dtype=np.int64) < max(1.0, search.min_support):
        return None
    peels = search.peel(units, rows, search.min_support)
    point = _choose(search, peels, folds, state)
    if point is None or len(peels) == 1:
        return None
    record = _Record(search)
    box, at = record.add(peels, boxes_of_moves(search.ranks, peels, widening=False), "peel", 0, point)
    if settings.paste_fraction > 0:
        pastes = search.paste(box, rows)
        pasted = boxes_of_moves(search.ranks, pastes, widening=True)
        box, at = record.add(pastes, pasted, "paste", at, _best_paste(search, pastes, pasted, state))
    if search.price > 0:
        drops = search.loosen(box, rows, state.covered)
        dropped = boxes_of_drops(search.ranks, drops)
        may = _reaches(search, drops.sums) & _restrict(search, dropped)
        box, at = record.add(drops, dropped, "drop", at, int(np.flatnonzero(may)[-1]) if may.any() else 0)
    sums = record.sums[at]
    if not _worth_keeping(search, sums, search.n_conditions(box), state):
        return None
    if settings.criterion in ("f1", "wracc"):  # other criteria leave bounds as published packages do
        at = record.replace(search.centre(box, rows), "centre", at)
    return record.trajectory(at, label), box, sums


def _choose(search: Search, peels: Path, folds: list[Bools], state: _State) -> int | None:
    """Choose a point of the peels by the criterion; None if no mean reaches the threshold."""
    settings = search.settings
    mean, allowed = search.target.mean(peels.sums), _reaches(search, peels.sums)
    if not allowed.any():
        return None
    if settings.criterion == "peak":
        falls = np.flatnonzero(~(np.diff(mean) > 0))
        last = int(falls[0]) if len(falls) else len(peels) - 1
        return int(np.flatnonzero(allowed[: last + 1])[-1]) if allowed[: last + 1].any() else None
    if settings.criterion == "last":
        return int(np.flatnonzero(allowed)[-1])
    values = (
        _held_out_values(search, peels, folds, state) if folds else search.value(peels.sums, state.covered)
    )
    # The F1 of a common class is highest for all rows, of which there is nothing to tell.
    allowed[0] &= not allowed[1:].any()
    return int(np.where(allowed, values, -np.inf).argmax())


def _restrict(search: Search, boxes: list[RankBox]) -> Bools:
    """Tell which boxes ask anything."""
    return np.array([search.n_conditions(box) > 0 for box in boxes])


def _reaches(search: Search, sums: Ints) -> Bools:
    """Tell which boxes have a mean that reaches the threshold."""
    least = -np.inf if search.settings.threshold is None else search.settings.threshold
    return np.asarray(search.target.mean(sums) >= least)


def _held_out_values(search: Search, peels: Path, folds: list[Bools], state: _State) -> Floats:
    """Judge the points of a trajectory on rows left out of others like it.

    Each fold's trajectory is peeled without its rows and judged by them; what it says of a box that holds a
    share of the rows is taken to hold for the point with that share.
    """
    units = search.target.units
    share = peels.sums[:, 0] / peels.sums[0, 0]
    values = np.zeros(len(peels))
    for fold in folds:
        rows = np.flatnonzero(state.left)
        learned = np.where(fold[:, None], 0, units).astype(units.dtype)
        if not learned[rows, 0].any() or not units[fold, int(search.target.binary)].any():
            continue  # nothing to peel, or nothing to judge by
        part = learned[:, 0].sum(dtype=np.int64) / units[:, 0].sum(dtype=np.int64)
        path = search.peel(learned, rows, search.min_support * part)
        judged = replace(search, target=replace(search.target, units=units[fold]))
        covered = units[fold & ~state.left].sum(axis=0, dtype=np.int64)
        value = judged.value(path.sums_over(units, rows[fold[rows]]), covered)
        at = path.sums[:, 0] / path.sums[0, 0]
        values += np.interp(share, at[::-1], value[::-1]) / len(folds)
    return (values + search.value(peels.sums, state.covered)) / 2


def _best_paste(search: Search, pastes: Path, boxes: list[RankBox], state: _State) -> int:
    """Choose among pasted boxes by the criterion; the last where it is about the mean alone."""
    if search.settings.criterion not in ("f1", "wracc"):
        return len(pastes) - 1
    conditions = np.array([search.n_conditions(box) for box in boxes])
    worth = search.value(pastes.sums, state.covered) - search.price * conditions
    return int(np.where(conditions > 0, worth, -np.inf).argmax())


def _worth_keeping(search: Search, sums: Ints, n_conditions: int, state: _State) -> bool:
    """Tell whether a box improves what there is so far."""
    settings = search.settings
    mean = float(search.target.mean(sums))
    if n_conditions == 0 or not _reaches(search, sums):
        return False
    if settings.criterion in ("f1", "wracc"):
        nothing = np.zeros(2, np.int64)
        gain = float(search.value(sums, state.covered) - search.value(nothing, state.covered))
        return gain > search.price * n_conditions
    return settings.keep_all or mean > float(search.target.mean(search.total))


@dataclass
class _Record:
    """Points of a trajectory, as they are found."""

    search: Search

    def __post_init__(self) -> None:
        self.path: list[tuple[RankBox, int]] = []
        self.sums: list[Ints] = []
        self.moves: list[str] = []
        self.features: list[int] = []
        self.parent: list[int] = []

    def add(
        self, path: Path, boxes: list[RankBox], move: str, parent: int, chosen: int
    ) -> tuple[RankBox, int]:
        """Add the boxes of a path behind a point that is there; give the chosen one and its number."""
        if not self.path:
            self._append(boxes[0], -1, path.sums[0], "start", -1)
        begin = len(self.path) - 1  # the start of the path is there already
        for k, feature in enumerate(path.steps[:, 0].tolist()):
            came_from = parent if k == 0 else len(self.path) - 1
            # Bounds carry over from the entry before; where that is not the parent, all are new.
            changed = feature if came_from == len(self.path) - 1 else -1
            self._append(boxes[k + 1], changed, path.sums[k + 1], move, came_from)
            self.features[-1] = feature
        return boxes[chosen], parent if chosen == 0 else begin + chosen

    def replace(self, box: RankBox, move: str, at: int) -> int:
        """Add a box that holds the same rows as that of a point, unless it is the same; give its number."""
        if all(np.array_equal(new, old) for new, old in zip(box, self.path[at][0], strict=True)):
            return at
        self._append(box, -1, self.sums[at], move, at)
        return len(self.path) - 1

    def _append(self, box: RankBox, changed: int, sums: Ints, move: str, parent: int) -> None:
        self.path.append((box, changed))
        self.sums.append(sums)
        self.moves.append(move)
        self.features.append(-1)
        self.parent.append(parent)

    def trajectory(self, chosen: int, label: Label) -> Trajectory:
        """Give the points in table units."""
        target, sums = self.search.target, np.array(self.sums)
        total = self.search.total
        boxes = self.search.ranks.to_boxes(self.path, label, False if label is True else None)
        return Trajectory(
            boxes, target.mass(sums), target.mean(sums), tuple(self.moves), np.array(self.features),
            np.array(self.parent), chosen, float(target.mass(total)), float(target.mean(total)),
            target.binary,
        )  # fmt: skip


def _as_model(
    table: Table, trajectories: list[Trajectory], target: Floats, weight: Floats, binary: bool
) -> Boxes:
    """Put the chosen boxes into one list: True and False, or the mean of the rows that each decides."""
    boxes = chosen_boxes(table, trajectories, np.array([False, True]), False)
    if binary:
        return boxes
    decided = boxes.apply(table.matrix)
    means = [
        float(np.average(target[decided == box], weights=weight[decided == box]))
        for box in [*range(boxes.n_boxes), -1]
        if (decided == box).any()
    ]
    if not (decided == -1).any():
        means.append(float(np.average(target, weights=weight)))
    classes = np.array(sorted(set(means)))
    return replace(boxes, labels=np.array(means[:-1], np.float64), default=means[-1], classes=classes)


def chosen_boxes(
    table: Table, trajectories: Sequence[Trajectory], classes: NDArray[Any], default: Label
) -> Boxes:
    """Put the chosen box of each trajectory into one list."""
    none = np.zeros((0, len(table.feature_names)))
    empty = Boxes(
        none, none, classes[:0], table.feature_names, default, classes=classes, categories=table.categories,
        allowed={name: np.zeros((0, len(known)), bool) for name, known in table.categories.items()},
    )  # fmt: skip
    return Boxes.concat([*(trajectory.box() for trajectory in trajectories), empty])
