"""fit_hypernn: from a table to boxes, by gradient and then by crisp search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..conditions import LEAST_NUMBER
from ..crisp import Limits, order_boxes
from ..kernels._threads import run
from ..kernels.crisp import MISSING
from ..tables import Category, Table, with_missing
from .advice import asks_teachers, teachers_advice
from .categories import missing_that_tell
from .finish import Found, finish
from .problem import ClassProblem, Problem
from .settings import Settings
from .starts import (
    Descent,
    History,
    Start,
    Trained,
    compiled_descent,
    derived_seed,
    make_starts,
    train_starts,
)
from .ways import Way, choose_way, search

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: Numbers of boxes that "auto" tries, and folds it judges them by. A second box that does not pay is dropped
#: anyway, so one is never tried: judged by few rows left out, it would be chosen by chance too often.
AUTO_SIZES = (2, 4, 8, 16, 32)
AUTO_FOLDS = 3
#: Boxes with which the way of searching is chosen that sizes are tried in.
AUTO_TRIAL = 8
#: F1 that a larger model must add on rows left out.
AUTO_GAIN = 0.003


class Fit(NamedTuple):
    """What learning gives back: the boxes and how training went.

    ``settled`` says that the default of the boxes is learned too; else it says nothing.
    """

    boxes: Boxes
    history: History
    settled: bool


def fit_hypernn(
    table: Table,
    classes: Ints,
    labels: NDArray[Any],
    weight: Floats,
    n_boxes: Mapping[int, int | str],
    *,
    limits: Mapping[int, Limits] | None = None,
    settings: Settings | None = None,
    given: Boxes | None = None,
    warm: Boxes | None = None,
    gradient: Descent | None = None,
    may_turn: bool = False,
    seed: int = 0,
    progress: bool = False,
) -> Fit:
    """Learn an ordered list of boxes for one or several classes.

    Parameters
    ----------
    table : Table
        Features as numbers. Where categories are missing, that may become one of them.
    classes : ndarray of shape (n_samples,)
        Index of each row's class in ``labels``.
    labels : ndarray of shape (n_classes,)
        The class labels.
    weight : ndarray of shape (n_samples,)
        Row weights; a weight of two equals the row twice.
    n_boxes : mapping of class index to int or "auto"
        The classes to describe by boxes, and the most boxes of each.
    limits : mapping of class index to Limits, optional
        What boxes of a class may ask.
    settings : Settings, optional
        Constants of the recipe.
    given, warm : Boxes, optional
        Boxes to start from: instead of the recipe's own starts for the classes they have, or beside them.
    gradient : callable, optional
        The gradient stage; compiled code on the processor by default.
    may_turn : bool
        Whether, of two classes, the boxes may describe the other one where that holds clearly better on
        rows left out.
    seed : int
        Seed of everything random.
    progress : bool
        Show progress bars.
    """
    settings = settings or Settings()
    table = with_missing(table, missing_that_tell(table, classes, weight))
    free, limits = Limits.none(table.matrix.shape[1]), limits or {}
    descent = gradient or partial(compiled_descent, progress=progress)
    problem = Problem.from_table(table, classes, weight, settings, seed)
    present = np.unique(problem.classes).tolist()
    targets = [target for target in n_boxes if target in present] if len(present) > 1 else []
    views = [
        problem.for_class(target, limits.get(target, free), derived_seed(seed, target)) for target in targets
    ]
    sizes = [_size(n_boxes[view.target], view) for view in views]
    starts = [
        make_starts(view, size, _of_class(given, labels[view.target]), _of_class(warm, labels[view.target]))
        for view, size in zip(views, sizes, strict=True)
    ]
    # Torch keeps the thread it was called in: nothing is done beside it.
    meanwhile = partial(_prepare, views, sizes) if gradient is None and settings.polish else None
    trained, history = _train(starts, descent, meanwhile)
    del starts
    for view in views:
        view.features.forget_ranks()
    may_turn = may_turn and len(targets) == 1 and len(present) == 2
    found = run(
        lambda job: finish(*job, may_stay_soft=gradient is None, may_turn=may_turn),
        list(zip(views, trained, sizes, strict=True)), "crisp search" if progress else None,
    )  # fmt: skip
    settled = any(one.votes is not None for one in found)
    return Fit(_assemble(table, problem, labels, found), history, settled)


def _train(
    starts: Sequence[list[Start]], descent: Descent, meanwhile: Callable[[], None] | None
) -> tuple[list[Trained], History]:
    """Train the starts of all classes; do something else ``meanwhile``."""
    trainable = [start for group in starts for start in group]
    if meanwhile is not None:
        jobs: list[Callable[[], Any]] = [partial(descent, trainable), meanwhile]
        bounds, history = run(lambda job: job(), jobs)[0]
    else:
        bounds, history = descent(trainable)
    left = iter(bounds)
    return [Trained.read(group, [next(left) for _ in group]) for group in starts], history


def _prepare(views: Sequence[ClassProblem], sizes: Sequence[int]) -> None:
    """Make the binned rows that crisp search works on, and ask the teachers that it may learn from."""
    for view, size in zip(views, sizes, strict=True):
        view.sharp().task  # noqa: B018 (kept by the view)
        if view.problem.blur[1] > 0:
            view.task  # noqa: B018
        if asks_teachers(view, size):
            view.answers  # noqa: B018


def _of_class(boxes: Boxes | None, label: Any) -> Boxes | None:
    """Give the boxes of one class; None if there are none."""
    if boxes is None or not (boxes.labels == label).any():
        return None
    return boxes.select(boxes.labels == label)


def _size(asked: int | str, view: ClassProblem) -> int:
    # No more boxes than rows: a ceiling that high is no ceiling, and room for it would be made.
    return choose_size(view) if isinstance(asked, str) else min(int(asked), len(view.positive))


def choose_size(view: ClassProblem) -> int:
    """Choose the number of boxes of a class by cross-validation, doubling it while that pays.

    All sizes are searched in the way that holds on rows left out with a middling number of boxes, and learn
    from teachers if so many boxes will: boxes narrower than the noise of blurred copies, say, would make all
    sizes look alike, and boxes that are not taught fit few rows too closely when they are many.
    """
    verdict = choose_way(view, train_starts(view, AUTO_TRIAL), AUTO_TRIAL)
    advice = teachers_advice(view, AUTO_SIZES[-1], verdict)
    folds = []
    fold_of = view.problem.fold_numbers(AUTO_FOLDS)
    for fold in range(AUTO_FOLDS):
        train, test = view.problem.fold(fold_of != fold), view.problem.fold(fold_of == fold)
        hits = train.classes == view.target
        if hits.any() and not hits.all() and (test.classes == view.target).any():
            folds.append((train.for_class(view.target, view.limits, view.seed), test))
    best_score, best_size, misses = -1.0, AUTO_SIZES[0], 0
    for size in AUTO_SIZES:
        taught = advice is not None and advice.believed and asks_teachers(view, size)
        way = verdict.way._replace(answered=taught)
        score = float(np.mean([_validated(*fold, size, way) for fold in folds])) if folds else 0.0
        if score > best_score + AUTO_GAIN:
            best_score, best_size, misses = score, size, 0
        else:
            misses += 1
            if misses == 2:
                break
    return best_size


def _validated(view: ClassProblem, rows: Problem, size: int, way: Way) -> float:
    """F1 on rows left out."""
    learned, boxes = search(view, train_starts(view, size), size, way)
    return learned.holdout_task(rows).score(boxes)[1]


def _admitted(values: Sequence[Category | None], order: Ints | None, low: float, high: float) -> Bools:
    """Tell which categories have their place within bounds; of those in their own order, no missing one."""
    place = np.full(len(values), np.nan)
    if order is None:
        n_ordered = len(values) - (values[-1] is None)
        place[:n_ordered] = np.arange(n_ordered)
    else:
        place[: len(order)] = order
    if math.isnan(low):
        return np.array([value is None for value in values])
    admitted = (place >= low) & (place <= high)
    if values[-1] is None and not admitted[-1] and (admitted | np.isnan(place))[:-1].all():
        admitted[:-1] = True  # all that is asked is that there is a value: a category not seen yet is one
    return np.asarray(admitted)


def _assemble(table: Table, problem: Problem, labels: NDArray[Any], found: Sequence[Found]) -> Boxes:
    """Put the boxes of all classes into table units and one order, which a list has already."""
    names = table.feature_names
    n_boxes = sum(len(one.boxes.first) for one in found)
    lower, upper = np.full((n_boxes, len(names)), -np.inf), np.full((n_boxes, len(names)), np.inf)
    allowed = {name: np.ones((n_boxes, len(values)), bool) for name, values in table.categories.items()}
    votes: list[int] = []
    default = 0
    for view, binned, classes in found:
        binning = view.features.binning
        for box, (first, last) in enumerate(zip(*binned, strict=True), len(votes)):
            for j in np.flatnonzero((first > 0) | (last != MISSING)).tolist():
                if first[j] == MISSING:
                    low = high = math.nan
                else:
                    low, high = binning.lower_bound(j, first[j]), binning.upper_bound(j, last[j])
                if names[j] in allowed:
                    values = table.categories[names[j]]
                    allowed[names[j]][box] = _admitted(values, view.orders.get(j), low, high)
                else:
                    known = math.isinf(low) and math.isinf(high)  # any value will do, but there must be one
                    lower[box, j], upper[box, j] = LEAST_NUMBER if known else low, high
        if classes is None:
            votes += [view.target] * len(binned.first)
        else:
            *of_boxes, default = classes.tolist()
            votes += of_boxes
    boxes = Boxes(
        lower, upper, labels[votes], names, labels[default].item(), classes=labels,
        categories=table.categories, allowed=allowed,
    )  # fmt: skip
    if any(one.votes is not None for one in found):
        return boxes
    inside = np.ascontiguousarray(boxes.contains(problem.X).T)
    return boxes.select(order_boxes(inside, np.array(votes, dtype=np.int64), problem.classes, problem.weight))
