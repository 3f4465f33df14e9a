"""Starts: soft boxes that the gradient stage trains, and how trained ones are read as bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..crisp import BinBoxes
from ..kernels._threads import run
from ..kernels.descent import descend
from .initialise import MANY_FEATURES, cluster_boxes, needed_sides, random_boxes, tree_boxes
from .problem import ClassProblem, Space
from .settings import StartKind

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Bounds = tuple[Floats32, Floats32]
History = dict[str, Floats]
#: Where a side lies that must stay open: no row comes near, and float32 keeps its digits.
OUT_OF_REACH = 100.0
#: Points of the training history that are kept.
HISTORY_POINTS = 60


@dataclass(frozen=True)
class Start:
    """Soft boxes in the coordinates of a space, for one class; ``number`` tells the starts apart."""

    view: ClassProblem
    space: Space
    lower: Floats32
    upper: Floats32
    kind: StartKind | Literal["given"]
    number: int
    seed: int

    def to_bins(self, lower: Floats32, upper: Floats32) -> BinBoxes:
        """Read trained boxes as bins; where crisp search follows, a box that has collapsed begins anew.

        What is smaller than the temperature looks empty to the gradient, but not to crisp search.
        """
        if self.view.problem.settings.polish:
            first, last = self.space.to_bins(lower, upper)
            dead = np.asarray((first > last).any(axis=1))
            lower = np.where(dead[:, None], self.lower, lower)
            upper = np.where(dead[:, None], self.upper, upper)
            return BinBoxes(*self.view.features.binning.normalise(*self.space.to_bins(lower, upper)))
        return self.view.to_bins(self.space, lower, upper)


class Trained(NamedTuple):
    """Starts after training, in bins, and the leaves of a tree among them as they were before."""

    starts: list[BinBoxes]
    leaves: BinBoxes | None

    @classmethod
    def read(cls, starts: Sequence[Start], bounds: Sequence[Bounds]) -> Trained:
        """Read what the gradient stage gave for the starts of one class."""
        leaves = [start.to_bins(start.lower, start.upper) for start in starts if start.kind == "tree"]
        trained = [start.to_bins(*found) for start, found in zip(starts, bounds, strict=True)]
        return cls(trained, leaves[0] if leaves else None)


#: The gradient stage: soft boxes of all starts in, trained ones out, with how training went.
Descent = Callable[[Sequence[Start]], tuple[list[Bounds], History]]


def compiled_descent(starts: Sequence[Start], progress: bool = False) -> tuple[list[Bounds], History]:
    """Run the gradient stage in compiled code, starts side by side in threads."""
    n_steps = starts[0].view.problem.settings.n_steps if starts else 0
    histories = [np.zeros((min(HISTORY_POINTS, n_steps), 3)) for _ in starts]
    jobs = list(zip(starts, histories, strict=True))
    bounds = run(lambda job: _descend(*job), jobs, "gradient" if progress else None)
    mean = np.mean(histories, axis=0) if histories else np.zeros((0, 3))
    step = (np.arange(len(mean)) + 1) * n_steps / max(len(mean), 1)
    return bounds, {"step": step, "loss": mean[:, 0], "f1": mean[:, 1], "temperature": mean[:, 2]}


def _descend(start: Start, history: Floats) -> Bounds:
    view, settings = start.view, start.view.problem.settings
    Z, weight, positive = start.space.Z, view.problem.weight, view.positive
    if len(Z) <= settings.batch_size:
        Z, weight, positive = once_each(Z, weight, positive)
    # Sides out of reach have no gradient: of a wide table most features have no other.
    active = ((start.lower > -OUT_OF_REACH) | (start.upper < OUT_OF_REACH)).any(axis=0)
    if active.all():
        lower, upper = start.lower.copy(), start.upper.copy()
    else:
        Z, lower, upper = (np.ascontiguousarray(part[:, active]) for part in (Z, start.lower, start.upper))
    descend(
        Z, weight, np.flatnonzero(positive), np.flatnonzero(~positive), lower, upper,
        settings.n_steps, settings.batch_size, settings.least_positive_share, settings.learning_rate,
        settings.last_learning_rate, *settings.temperatures(len(start.space.Z)),
        start.seed, history,
    )  # fmt: skip
    if active.all():
        return lower, upper
    trained = start.lower.copy(), start.upper.copy()
    trained[0][:, active], trained[1][:, active] = lower, upper
    return trained


def once_each(Z: Floats32, weight: Floats, positive: Bools) -> tuple[Floats32, Floats, Bools]:
    """Put rows together that follow one another and are alike, which steps over all rows tell no better."""
    differ = (Z[1:] != Z[:-1]).any(axis=1) | (positive[1:] != positive[:-1])
    first = np.flatnonzero(np.append(True, differ))
    return Z[first], np.add.reduceat(weight, first), positive[first]


def train_starts(view: ClassProblem, n_boxes: int) -> Trained:
    """Make the recipe's own starts of a class, and train them in compiled code."""
    starts = make_starts(view, n_boxes)
    return Trained.read(starts, compiled_descent(starts)[0])


def make_starts(
    view: ClassProblem, n_boxes: int, given: Boxes | None = None, warm: Boxes | None = None
) -> list[Start]:
    """Make the starts of one class: the given boxes if there are any, else those of the recipe."""
    space = view.features.standard_space
    starts: list[Start] = []
    for boxes in (given, warm):
        if boxes is not None:
            bounds = view.soft_bounds(space, view.from_boxes(boxes))
            number = len(view.problem.settings.starts) + len(starts)
            starts.append(_start(view, space, *bounds, n_boxes, "given", number))
    if given is not None:
        return starts
    kinds = list(enumerate(view.problem.settings.starts))
    # Made before threads part: coordinates are kept by the view.
    spaces = [
        view.features.rank_space if kind == "rank_clusters" else view.features.standard_space
        for _, kind in kinds
    ]
    made = run(
        lambda job: _recipe_start(view, *job[0], job[1], n_boxes),
        list(zip(kinds, spaces, strict=True)), cells=space.Z.size,
    )  # fmt: skip
    return starts + made


def _recipe_start(view: ClassProblem, number: int, kind: StartKind, space: Space, n_boxes: int) -> Start:
    """Make a start of the recipe."""
    seed = derived_seed(view.seed, number)
    none = np.zeros((0, space.Z.shape[1]), np.float32)
    bounds = (none, none)
    if kind == "tree":
        bounds = tree_boxes(space.Z, view.positive, view.problem.weight, n_boxes, seed % 2**31)
    elif kind == "random":
        bounds = random_boxes(n_boxes, space.Z.shape[1], seed)
    return _start(view, space, *bounds, n_boxes, kind, number)


def _start(
    view: ClassProblem, space: Space, lower: Floats32, upper: Floats32, n_boxes: int,
    kind: StartKind | Literal["given"], number: int,
) -> Start:  # fmt: skip
    """Fill up with clusters; put infinite sides beyond the data, forbidden and idle ones out of reach."""
    seed = derived_seed(view.seed, number)
    if len(lower) < n_boxes:
        rows = view.positive
        more = cluster_boxes(space.Z[rows], view.problem.weight[rows], n_boxes - len(lower), seed)
        lower, upper = np.concatenate([lower, more[0]]), np.concatenate([upper, more[1]])
    may_low, may_high = view.limits.may_low, view.limits.may_high
    if space.Z.shape[1] > MANY_FEATURES:
        low_needed, high_needed = needed_sides(lower, upper, space.Z[~view.positive])
        may_low, may_high = may_low & low_needed, may_high & high_needed
    low, high = space.reach
    lower = np.where(may_low, np.where(np.isfinite(lower), lower, low), -OUT_OF_REACH)
    upper = np.where(may_high, np.where(np.isfinite(upper), upper, high), OUT_OF_REACH)
    return Start(view, space, lower.astype(np.float32), upper.astype(np.float32), kind, number, seed)


def derived_seed(seed: int, part: int) -> int:
    """Give a part of the work a seed of its own."""
    return int(np.random.SeedSequence((seed, part)).generate_state(1, np.uint64)[0]) >> 1
