"""fit_hypernn: from a table to boxes, by gradient and then by crisp search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..crisp import BinBoxes, Limits, drop_idle, improve, merge, order_boxes, polish
from ..kernels._threads import run
from ..kernels.crisp import MISSING
from ..kernels.descent import descend
from ..tables import Table
from .initialise import cluster_boxes, random_boxes, tree_boxes
from .problem import ClassProblem, Problem, Space
from .settings import Settings

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Bounds = tuple[Floats32, Floats32]
History = dict[str, Floats]
#: Where a side lies that must stay open: no row comes near, and float32 keeps its digits.
OUT_OF_REACH = 100.0
#: Points of the training history that are kept.
HISTORY_POINTS = 60
#: Folds that judge whether boxes should be polished on the rows as they are.
SHARP_FOLDS = 3
#: Standard errors by which they must be ahead on rows left out (a sign test).
SHARP_EVIDENCE = 2.0
#: Numbers of boxes that "auto" tries, and folds it judges them by.
AUTO_SIZES = (1, 2, 4, 8, 16, 32)
AUTO_FOLDS = 3
#: F1 that a larger model must add on rows left out.
AUTO_GAIN = 0.003


@dataclass(frozen=True)
class Start:
    """Soft boxes in the coordinates of a space, for one class; ``number`` tells the kinds of start apart."""

    view: ClassProblem
    space: Space
    lower: Floats32
    upper: Floats32
    number: int
    seed: int


#: The gradient stage: soft boxes of all starts in, trained ones out, with how training went.
Descent = Callable[[Sequence[Start]], tuple[list[Bounds], History]]


class Fit(NamedTuple):
    """What learning gives back: the boxes and how training went."""

    boxes: Boxes
    history: History


def fit_hypernn(
    table: Table,
    classes: Ints,
    labels: NDArray[Any],
    weight: Floats,
    n_boxes: Mapping[int, int | str],
    *,
    limits: Limits | None = None,
    settings: Settings | None = None,
    given: Boxes | None = None,
    warm: Boxes | None = None,
    gradient: Descent | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Fit:
    """Learn an ordered list of boxes for one or several classes.

    Parameters
    ----------
    table : Table
        Features as numbers.
    classes : ndarray of shape (n_samples,)
        Index of each row's class in ``labels``.
    labels : ndarray of shape (n_classes,)
        The class labels.
    weight : ndarray of shape (n_samples,)
        Row weights; a weight of two equals the row twice.
    n_boxes : mapping of class index to int or "auto"
        The classes to describe by boxes, and the most boxes of each.
    limits : Limits, optional
        What boxes may ask.
    settings : Settings, optional
        Constants of the recipe.
    given, warm : Boxes, optional
        Boxes to start from: instead of the recipe's own starts for the classes they have, or beside them.
    gradient : callable, optional
        The gradient stage; compiled code on the processor by default.
    seed : int
        Seed of everything random.
    progress : bool
        Show progress bars.
    """
    settings = settings or Settings()
    limits = limits or Limits.none(table.matrix.shape[1])
    gradient = gradient or partial(compiled_descent, progress=progress)
    problem = Problem.from_table(table, classes, weight, settings, seed)
    present = np.unique(problem.classes).tolist()
    targets = [target for target in n_boxes if target in present] if len(present) > 1 else []
    views = [problem.for_class(target, limits, _seed(seed, target)) for target in targets]
    sizes = [_size(n_boxes[view.target], view) for view in views]
    starts = [
        _starts(view, size, _of_class(given, labels[view.target]), _of_class(warm, labels[view.target]))
        for view, size in zip(views, sizes, strict=True)
    ]
    bounds, history = gradient([start for group in starts for start in group])
    trained = iter(bounds)
    binned = [[_to_bins(start, *next(trained)) for start in group] for group in starts]
    jobs = list(zip(views, binned, sizes, strict=True))
    found = run(lambda job: _finish(*job), jobs, "crisp search" if progress else None)
    return Fit(_assemble(table, problem, labels, found), history)


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
    lower, upper = start.lower.copy(), start.upper.copy()
    descend(
        start.space.Z, view.problem.weight, np.flatnonzero(view.positive), np.flatnonzero(~view.positive),
        lower, upper, settings.n_steps, settings.batch_size, settings.least_positive_share,
        settings.learning_rate, settings.last_learning_rate, settings.boundary_temperature,
        settings.last_boundary_temperature, start.seed, history,
    )  # fmt: skip
    return lower, upper


def _to_bins(start: Start, lower: Floats32, upper: Floats32) -> BinBoxes:
    """Read trained boxes as bins; where crisp search follows, a box that has collapsed begins anew.

    What is smaller than the temperature looks empty to the gradient, but not to crisp search.
    """
    if start.view.problem.settings.polish:
        first, last = start.space.to_bins(lower, upper)
        dead = np.asarray((first > last).any(axis=1))
        lower = np.where(dead[:, None], start.lower, lower)
        upper = np.where(dead[:, None], start.upper, upper)
        return BinBoxes(*start.view.features.binning.normalise(*start.space.to_bins(lower, upper)))
    return start.view.to_bins(start.space, lower, upper)


def _finish(view: ClassProblem, trained: list[BinBoxes], max_boxes: int) -> tuple[ClassProblem, BinBoxes]:
    """Turn trained starts into the boxes of a class; give the problem too, in whose bins they are."""
    if not view.problem.settings.polish:
        return view, trained[0]
    blurred = improve(view.task, trained, max_boxes)
    if not view.problem.blur[1]:
        return _sharpen(view, blurred)
    starts = [*trained, blurred]
    if _holds_better(view, starts, blurred, max_boxes):
        return _learn_sharp(view.sharp(), starts, max_boxes)
    # Copies count towards the support that search asks for; what is promised is rows.
    return view, blurred.take(view.sharp().task.support(blurred) >= view.problem.min_support)


def _learn_sharp(view: ClassProblem, starts: list[BinBoxes], max_boxes: int) -> tuple[ClassProblem, BinBoxes]:
    """Learn from the rows as they are, without copies."""
    return _sharpen(view, merge(view.task, improve(view.task, starts, max_boxes)))


def _sharpen(view: ClassProblem, boxes: BinBoxes) -> tuple[ClassProblem, BinBoxes]:
    """Polish once more with fine bins beside the bounds."""
    sharp, start = view.sharpened(boxes)
    return sharp, merge(sharp.task, drop_idle(sharp.task, polish(sharp.task, start)))


def _holds_better(view: ClassProblem, starts: list[BinBoxes], blurred: BinBoxes, max_boxes: int) -> bool:
    """Tell whether boxes learned without copies hold better on rows left out.

    Blurred copies guard against noise; where there is little, they cost sharp bounds. The blurred boxes
    have seen the rows left out and the sharp ones have not, so sharp ones must earn their place.
    """
    fold_of = view.problem.fold_numbers(SHARP_FOLDS)
    gained, lost = 0.0, 0.0
    for fold in range(SHARP_FOLDS):
        left_out = fold_of == fold
        learner = view.without(left_out)
        if not learner.positive.any() or learner.positive.all():
            return False
        rows = view.problem.fold(left_out)
        sharp, boxes = _learn_sharp(learner, starts, max_boxes)
        one, other = sharp.holdout_task(rows).right(boxes), view.holdout_task(rows).right(blurred)
        gained += float(rows.weight[one & ~other].sum())
        lost += float(rows.weight[other & ~one].sum())
    return gained - lost > SHARP_EVIDENCE * math.sqrt(gained + lost)


def _seed(seed: int, part: int) -> int:
    return int(np.random.SeedSequence((seed, part)).generate_state(1, np.uint64)[0]) >> 1


def _of_class(boxes: Boxes | None, label: Any) -> Boxes | None:
    """Give the boxes of one class; None if there are none."""
    if boxes is None or not (boxes.labels == label).any():
        return None
    return boxes.select(boxes.labels == label)


def _size(asked: int | str, view: ClassProblem) -> int:
    return choose_size(view) if isinstance(asked, str) else int(asked)


def choose_size(view: ClassProblem) -> int:
    """Choose the number of boxes of a class by cross-validation, doubling it while that pays."""
    folds = []
    fold_of = view.problem.fold_numbers(AUTO_FOLDS)
    for fold in range(AUTO_FOLDS):
        train, test = view.problem.fold(fold_of != fold), view.problem.fold(fold_of == fold)
        hits = train.classes == view.target
        if hits.any() and not hits.all() and (test.classes == view.target).any():
            folds.append((train.for_class(view.target, view.limits, view.seed), test))
    best_score, best_size, misses = -1.0, 1, 0
    for size in AUTO_SIZES:
        score = float(np.mean([_validated(*fold, size) for fold in folds])) if folds else 0.0
        if score > best_score + AUTO_GAIN:
            best_score, best_size, misses = score, size, 0
        else:
            misses += 1
            if misses == 2:
                break
    return best_size


def _validated(view: ClassProblem, rows: Problem, size: int) -> float:
    """F1 on rows left out."""
    starts = _starts(view, size, None, None)
    bounds, _ = compiled_descent(starts)
    binned = [_to_bins(start, *trained) for start, trained in zip(starts, bounds, strict=True)]
    learned, boxes = _finish(view, binned, size)
    return learned.holdout_task(rows).score(boxes)[1]


def _starts(view: ClassProblem, n_boxes: int, given: Boxes | None, warm: Boxes | None) -> list[Start]:
    """Make the starts of one class: the given boxes if there are any, else those of the recipe."""
    space = view.features.standard_space
    starts: list[Start] = []
    for boxes in (given, warm):
        if boxes is not None:
            bounds = view.soft_bounds(space, view.from_boxes(boxes))
            starts.append(
                _start(view, space, *bounds, n_boxes, len(view.problem.settings.starts) + len(starts))
            )
    if given is not None:
        return starts
    for number, kind in enumerate(view.problem.settings.starts):
        seed = _seed(view.seed, number)
        space = view.features.rank_space if kind == "rank_clusters" else view.features.standard_space
        none = np.zeros((0, space.Z.shape[1]), np.float32)
        bounds = (none, none)
        if kind == "tree":
            bounds = tree_boxes(space.Z, view.positive, view.problem.weight, n_boxes, seed % 2**31)
        elif kind == "random":
            bounds = random_boxes(n_boxes, space.Z.shape[1], seed)
        starts.append(_start(view, space, *bounds, n_boxes, number))
    return starts


def _start(
    view: ClassProblem, space: Space, lower: Floats32, upper: Floats32, n_boxes: int, number: int
) -> Start:
    """Fill up with clusters, bring infinite sides just beyond the data, put forbidden ones out of reach."""
    seed = _seed(view.seed, number)
    if len(lower) < n_boxes:
        rows = view.positive
        more = cluster_boxes(space.Z[rows], view.problem.weight[rows], n_boxes - len(lower), seed)
        lower, upper = np.concatenate([lower, more[0]]), np.concatenate([upper, more[1]])
    low, high = space.reach
    lower = np.where(view.limits.may_low, np.where(np.isfinite(lower), lower, low), -OUT_OF_REACH)
    upper = np.where(view.limits.may_high, np.where(np.isfinite(upper), upper, high), OUT_OF_REACH)
    return Start(view, space, lower.astype(np.float32), upper.astype(np.float32), number, seed)


def _assemble(
    table: Table, problem: Problem, labels: NDArray[Any], found: Sequence[tuple[ClassProblem, BinBoxes]]
) -> Boxes:
    """Put the boxes of all classes into table units and one order."""
    names = table.feature_names
    n_boxes = sum(len(boxes.first) for _, boxes in found)
    lower, upper = np.full((n_boxes, len(names)), -np.inf), np.full((n_boxes, len(names)), np.inf)
    allowed = {name: np.ones((n_boxes, len(values)), bool) for name, values in table.categories.items()}
    votes = np.array([view.target for view, boxes in found for _ in boxes.first], dtype=np.int64)
    box = 0
    for view, binned in found:
        binning = view.features.binning
        for first, last in zip(binned.first, binned.last, strict=True):
            for j in np.flatnonzero((first > 0) | (last != MISSING)).tolist():
                low, high = binning.lower_bound(j, first[j]), binning.upper_bound(j, last[j])
                if names[j] in allowed:
                    n_known = len(table.categories[names[j]])
                    place = np.full(n_known, np.nan)
                    order = view.orders.get(j, np.arange(n_known))
                    place[: len(order)] = order
                    allowed[names[j]][box] = (place >= low) & (place <= high)
                else:
                    lower[box, j], upper[box, j] = low, high
            box += 1
    boxes = Boxes(
        lower, upper, labels[votes], names, labels[0].item(), classes=labels,
        categories=table.categories, allowed=allowed,
    )  # fmt: skip
    inside = np.ascontiguousarray(boxes.contains(problem.X).T)
    return boxes.select(order_boxes(inside, votes, problem.classes, problem.weight))
