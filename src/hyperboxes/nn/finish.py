"""From trained starts to the boxes of a class: crisp search, judged on rows left out.

How dear a condition should be, whether blurred copies help, and whether the boxes of the gradient are better
left as they are differs from table to table by more than any constant can cover: a price that finds three
boxes under wrong labels throws half of a clean chessboard away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..crisp import BinBoxes, CrispTask, drop_idle, f1_of, improve, merge, polish
from ..kernels._threads import n_threads, run
from ..kernels.crisp import count_conditions
from ..kernels.faces import open_idle_faces
from .leaves import shown_rows, tree_cells, tree_leaves
from .problem import ClassProblem, Problem
from .starts import OUT_OF_REACH, Trained, train_starts

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Factors of the prices that are tried, each from the boxes found at the one before.
PRICES = (1.0, 3.0, 10.0)
#: Folds that judge; one is enough for a table of so many rows, unless a class has fewer than the last number.
FOLDS = 3
ONE_FOLD_ROWS = 5_000
FEW_ROWS = 400
#: Standard errors by which another way must be ahead of the usual one on rows left out.
EVIDENCE = 1.5
#: The same for few rows of a class among many: no teachers are asked that would keep boxes from fitting them
#: too closely, and they never prove much.
RARE_EVIDENCE = 0.5
#: Rows that blurred copies must put wrong before boxes that put none wrong are taken instead.
FAULTS = 2
#: F1 by which teachers must be ahead for boxes to miss much.
MUCH = 0.2
#: A row counts at most so many times for boxes of the other class.
MOST_TIMES = 10.0
#: Rows from which on the gradient's own boxes are considered: below, they fit what blurred copies would hide,
#: as they do the few rows of a class among many.
SOFT_ROWS = 2_000
#: Share of rows left out to judge them: one in so many.
SOFT_FOLDS = 4
#: Temperature at which their faces are judged, in standard deviations.
SOFT_TEMPERATURE = 0.1


class Way(NamedTuple):
    """A way of searching: on rows with blurred copies or as they are, and the number of the price.

    ``answered`` ones are searched beside rows between neighbours that teachers have answered.
    """

    blur: bool
    price: int
    answered: bool = False


class Verdict(NamedTuple):
    """The way that holds best on rows left out, which rows these were, and which of them it puts in a box.

    ``answers`` is None where no rows could be left out. ``found`` is what that way finds on all rows, where
    it was searched for meanwhile, ``tree`` which of the rows left out a tree puts into the class.
    ``sharp_gain`` is how far the rows as they are were ahead of the usual way, if at all.
    """

    way: Way
    fold_of: Ints
    judged: int
    answers: Bools | None
    found: tuple[ClassProblem, BinBoxes] | None = None
    tree: Bools | None = None
    sharp_gain: float = 0.0


class Turned(NamedTuple):
    """How often rows of a class count for boxes of the other one, and what these say of rows left out."""

    times: float
    answers: Bools


def finish(
    view: ClassProblem, trained: Trained, max_boxes: int, *, may_stay_soft: bool, may_turn: bool = False
) -> tuple[ClassProblem, BinBoxes]:
    """Turn trained starts into the boxes of a class; give the problem too, in whose bins they are.

    ``may_stay_soft`` says whether the boxes of the first start may be kept without crisp search, ``may_turn``
    whether the boxes may describe the other one of two classes where that holds better.
    """
    if not view.problem.settings.polish:
        return view, trained.starts[0]
    verdict = choose_way(view, trained, max_boxes)
    way = verdict.way
    if _misses_much(view, verdict):
        turned = _turned_if_better(view, max_boxes, verdict) if may_turn else None
        if (leaves := _leaves_if_better(view, max_boxes, verdict, turned, may_turn=may_turn)) is not None:
            return leaves
        if turned is not None:
            other = _finish_turned(view.turned(turned.times), view, max_boxes, may_stay_soft=may_stay_soft)
            if _tells_better(view, other, verdict.found or search(view, trained, max_boxes, way)):
                return other
    if (faultless := _faultless(view, trained, max_boxes, verdict)) is not None:
        return faultless
    if _teachers_are_ahead(view, verdict):
        way = way._replace(answered=True)
        found, boxes = search(view, trained, max_boxes, way)
    else:
        found, boxes = verdict.found or search(view, trained, max_boxes, way)
    if not (may_stay_soft and len(view.positive) >= SOFT_ROWS) or _few_among_many(view):
        return found, boxes
    if view.sharp().task.score(trained.starts[0])[1] <= found.sharp().task.score(boxes)[1]:
        return found, boxes
    soft = thin_faces(view, trained.starts[0])
    if _within_limits(view, soft) and _soft_holds_better(view, max_boxes, way):
        return view, soft.take(view.sharp().task.support(soft) >= view.problem.min_support)
    return found, boxes


def asks_teachers(view: ClassProblem) -> bool:
    """Tell whether a table is so small that teachers are asked: all its rows are left out in turn."""
    return len(view.positive) < ONE_FOLD_ROWS and view.problem.blur[1] > 0


def search(view: ClassProblem, trained: Trained, max_boxes: int, way: Way) -> tuple[ClassProblem, BinBoxes]:
    """Search in one way, on all rows."""
    *_, boxes = price_path(_task(view, way), trained, max_boxes, way.price)
    if way.blur or way.answered:
        # Copies count towards the support that search asks for; what is promised is rows.
        return view, boxes.take(view.sharp().task.support(boxes) >= view.problem.min_support)
    return sharpen(view, boxes, PRICES[way.price])


def price_path(
    task: CrispTask, trained: Trained, max_boxes: int, last: int = len(PRICES) - 1
) -> Iterator[BinBoxes]:
    """Give the boxes at each price up to the last, each found from those before."""
    boxes = improve(task, trained.starts, max_boxes, trained.leaves)
    yield boxes
    for factor in PRICES[1 : last + 1]:
        dearer = task.priced(factor)
        boxes = drop_idle(dearer, polish(dearer, boxes))
        yield boxes


def sharpen(view: ClassProblem, boxes: BinBoxes, factor: float) -> tuple[ClassProblem, BinBoxes]:
    """Polish once more, on the rows as they are, with fine bins beside the bounds."""
    sharp, start = view.sharpened(merge(view.sharp().task.priced(factor), boxes))
    task = sharp.task.priced(factor)
    return sharp, merge(task, drop_idle(task, polish(task, start)))


def choose_way(view: ClassProblem, trained: Trained, max_boxes: int) -> Verdict:
    """Choose how to search by what holds on rows left out; the usual way unless another is clearly ahead.

    The usual way is taken so often that, with a core to spare, all rows are searched at the same time.
    """
    copies = view.problem.blur[1] > 0
    usual = Way(copies, 0)
    rare = _few_among_many(view)
    n_folds, judged = (FOLDS + 1, 1) if len(view.positive) >= ONE_FOLD_ROWS and not rare else (FOLDS, FOLDS)
    fold_of = view.problem.fold_numbers(n_folds)
    folds = [fold_of == fold for fold in range(judged)]
    for left_out in folds:
        if not (view.positive & ~left_out).any() or view.positive[~left_out].all():
            return Verdict(usual, fold_of, 0, None)
    seen = fold_of < judged
    rows = view.sharp().task.part(seen)
    if copies:
        view.task  # noqa: B018 (what all folds take from is made before they part)
    jobs: list[Callable[[], Any]] = [
        partial(_answers, view, trained, max_boxes, left_out) for left_out in folds
    ]
    jobs.append(partial(_tree_answers, view, max_boxes, folds))
    meanwhile = n_threads() > 1
    if meanwhile:
        jobs.append(partial(search, view, trained, max_boxes, usual))
    found = run(lambda job: job(), jobs)
    answers: dict[Way, Bools] = {}
    for left_out, part in zip(folds, found, strict=False):
        for way, answer in part.items():
            answers.setdefault(way, np.zeros(len(left_out), bool))[left_out] = answer
    answers = {way: answer[seen] for way, answer in answers.items()}
    ahead = {way: lead(rows, answer, answers[usual]) for way, answer in answers.items()}
    burden = RARE_EVIDENCE if rare else EVIDENCE
    margins = {way: gain - burden * error for way, (gain, error) in ahead.items()}
    # Beside answers of F1 0 a false positive costs nothing: of ways equally far ahead the higher F1 counts.
    best = max(margins, key=lambda way: (margins[way], f1_of(rows, answers[way]), way == usual))
    chosen = best if margins[best] > 0 else usual
    return Verdict(
        chosen, fold_of, judged, answers[chosen],
        found=found[-1] if meanwhile and chosen == usual else None,
        tree=found[judged],
        sharp_gain=ahead[Way(False, 0)][0],
    )  # fmt: skip


def _few_among_many(view: ClassProblem) -> bool:
    """Tell whether a class of a large table has few rows."""
    n_positive, n = int(view.positive.sum()), len(view.positive)
    return n >= ONE_FOLD_ROWS and min(n_positive, n - n_positive) < FEW_ROWS


def _answers(view: ClassProblem, trained: Trained, max_boxes: int, left_out: Bools) -> dict[Way, Bools]:
    """Search in every way without some rows; tell which of these are then in a box."""
    rows, part = view.problem.fold(left_out), view.without(left_out)
    unseen = view.sharp().task.part(left_out)
    answers = {}
    if view.problem.blur[1]:
        path = list(price_path(view.task.part(~left_out), trained, max_boxes))
        answers = {Way(True, price): unseen.union(boxes) for price, boxes in enumerate(path)}
        trained = trained._replace(starts=[*trained.starts, path[0]])
    for price, boxes in enumerate(price_path(part.task, trained, max_boxes)):
        # Fine bins make the difference between sharp and blurred; without copies prices alone are compared.
        found, sharp = sharpen(part, boxes, PRICES[price]) if view.problem.blur[1] else (part, boxes)
        answers[Way(False, price)] = found.holdout_task(rows).union(sharp)
    return answers


def lead(rows: CrispTask, one: Bools, other: Bools) -> tuple[float, float]:
    """Give by how much one set of answers is ahead of another, and the standard error of that.

    Rows count as F1 weighs them: a positive 2 - F, a negative F, F the F1 of the other answers.
    """
    f1 = f1_of(rows, other)
    worth = rows.weight * np.where(rows.positive, 2 - f1, f1)
    change = worth * ((one == rows.positive) * 1.0 - (other == rows.positive) * 1.0)
    return float(change.sum()), math.sqrt(float((change**2).sum()))


def thin_faces(view: ClassProblem, boxes: BinBoxes) -> BinBoxes:
    """Open the faces of trained boxes that are not worth the price of a condition to the soft loss."""
    space, settings = view.features.standard_space, view.problem.settings
    lower, upper = view.soft_bounds(space, boxes)
    lower = np.where(boxes.first == 0, np.float32(-OUT_OF_REACH), lower)
    upper = np.where(boxes.last >= view.features.binning.n_bins - 1, np.float32(OUT_OF_REACH), upper)
    f1 = max(view.sharp().task.score(boxes)[1], 0.1)
    weight = view.problem.weight * np.where(view.positive, 2 - f1, f1)
    open_idle_faces(space.Z, view.positive, weight, lower, upper, SOFT_TEMPERATURE, settings.condition_price)
    return BinBoxes(*view.features.binning.normalise(*space.to_bins(lower, upper)))


def _soft_holds_better(view: ClassProblem, max_boxes: int, way: Way) -> bool:
    """Tell whether the gradient's boxes beat crisp search on rows that neither has seen."""
    left_out = view.problem.fold_numbers(SOFT_FOLDS) == 0
    part = view.problem.fold(~left_out).for_class(view.target, view.limits, view.seed)
    trained = train_starts(part, max_boxes)
    rows = view.problem.fold(left_out)
    soft = part.holdout_task(rows).union(thin_faces(part, trained.starts[0]))
    found, boxes = search(part, trained, max_boxes, way)
    task = found.holdout_task(rows)
    return lead(task, soft, task.union(boxes))[0] > 0


def _tree_answers(view: ClassProblem, max_boxes: int, folds: list[Bools]) -> Bools:
    """Tell which rows trees of about as many cuts put into the class, each row by one that never saw it."""
    from sklearn.tree import DecisionTreeClassifier

    cells = tree_cells(view.features.X)
    answers = np.zeros(len(cells), bool)
    for left_out in folds:
        if not left_out.any():  # fewer rows than folds
            continue
        rest = np.flatnonzero(~left_out)
        shown, weight = shown_rows(view.positive[rest], view.problem.weight[rest])
        tree = DecisionTreeClassifier(max_leaf_nodes=2 * max(max_boxes, 1), random_state=0)
        tree.fit(cells[rest[shown]], view.positive[rest[shown]], sample_weight=weight)
        answers[left_out] = tree.predict(cells[left_out])
    return answers


def _misses_much(view: ClassProblem, verdict: Verdict) -> bool:
    """Tell whether boxes of this class miss something, be it a hole in the class or that a value is missing.

    A tree that does better on the rows left out is a cheap sign of it, teachers that do much better another.
    """
    if verdict.answers is None or verdict.tree is None:
        return False
    judged = verdict.fold_of < verdict.judged
    rows = view.sharp().task.part(judged)
    gain, error = lead(rows, verdict.tree[judged], verdict.answers)
    if gain > error:
        return True
    said = _teachers_answers(view, verdict)
    return said is not None and f1_of(rows, said) > f1_of(rows, verdict.answers) + MUCH


def _turned_if_better(view: ClassProblem, max_boxes: int, verdict: Verdict) -> Turned | None:
    """Tell how boxes of the other class do on the rows left out; None if they are not clearly better.

    It is tried how they do if a row of this class counts once, and so many times as the answers so far
    suggest.
    """
    assert verdict.answers is not None  # noqa: S101 - they miss much
    judged = verdict.fold_of < verdict.judged
    seen = view.sharp().task.part(judged)
    tried = (1.0, times_for_other(seen, verdict.answers))
    straight, *turned = np.zeros((1 + len(tried), len(judged)), bool)
    for left_out, part, rows in _folds(view, verdict):
        straight[left_out] = _usual_answers(part, rows, max_boxes)
        for times, answers in zip(tried, turned, strict=True):
            answers[left_out] = ~_usual_answers(part.turned(times), rows, max_boxes)
    best = max((answers[judged] for answers in turned), key=lambda answers: f1_of(seen, answers))
    gain, error = lead(seen, best, straight[judged])
    return Turned(times_for_other(seen, best), best) if gain > EVIDENCE * error else None


def _leaves_if_better(
    view: ClassProblem, max_boxes: int, verdict: Verdict, turned: Turned | None, *, may_turn: bool
) -> tuple[ClassProblem, BinBoxes] | None:
    """Give the leaves of a tree as boxes if they are clearly better on the rows left out than all else."""
    judged = verdict.fold_of < verdict.judged
    answers = np.zeros(len(judged), bool)
    for left_out, part, rows in _folds(view, verdict):
        leaves = _leaves(part, max_boxes, may_turn=may_turn)
        if leaves is None:
            return None
        found, boxes = leaves
        answers[left_out] = found.holdout_task(rows).union(boxes) == (found.target == view.target)
    others = verdict.answers if turned is None else turned.answers
    assert others is not None  # noqa: S101 - they miss much
    gain, error = lead(view.sharp().task.part(judged), answers[judged], others)
    return _leaves(view, max_boxes, may_turn=may_turn) if gain > EVIDENCE * error else None


def _leaves(view: ClassProblem, max_boxes: int, *, may_turn: bool) -> tuple[ClassProblem, BinBoxes] | None:
    """Give the leaves of a tree as boxes, those of the other class if these are too many.

    None if the class weighs less than a box costs: to tell it would never pay.
    """
    if view.problem.weight[view.positive].sum() <= view.problem.settings.box_price:
        return None
    leaves = tree_leaves(view, max_boxes)
    if leaves is None and may_turn:
        leaves = tree_leaves(view.turned(), max_boxes)
    return leaves if leaves is not None and _within_limits(*leaves) else None


def _folds(view: ClassProblem, verdict: Verdict) -> Iterator[tuple[Bools, ClassProblem, Problem]]:
    """Give which rows were left out each time, the problem without them, and they."""
    for fold in range(verdict.judged):
        left_out = verdict.fold_of == fold
        part = view.problem.fold(~left_out).for_class(view.target, view.limits, view.seed)
        yield left_out, part, view.problem.fold(left_out)


def _usual_answers(view: ClassProblem, rows: Problem, max_boxes: int) -> Bools:
    """Learn boxes in the usual way; tell which other rows they hold."""
    usual = Way(view.problem.blur[1] > 0, 0)
    found, boxes = search(view, train_starts(view, max_boxes), max_boxes, usual)
    return found.holdout_task(rows).union(boxes)


def times_for_other(rows: CrispTask, answers: Bools) -> float:
    """Tell how many times a row of this class must count for boxes of the other one.

    To the F1 of this class, a row of it in such a box is worth (2 - F) / F others. To the F1 of the boxes'
    own class it would be worth less, most of all where this one is rare: a box that holds everything
    scores high there and tells nothing. With F that of the given answers, the two are made equal.
    """
    weight, positive = rows.weight, rows.positive
    true, missed = weight[answers & positive].sum(), weight[~answers & positive].sum()
    false, negative = weight[answers & ~positive].sum(), weight[~positive].sum()
    worth = (false + true + missed) / max(true, 1e-300)
    room = negative - false - worth * missed
    return float(np.clip(worth * negative / room, 1.0, MOST_TIMES)) if room > 0 else MOST_TIMES


def _finish_turned(
    turned: ClassProblem, view: ClassProblem, max_boxes: int, *, may_stay_soft: bool
) -> tuple[ClassProblem, BinBoxes]:
    """Learn boxes of the other class; what is promised of them is rows of ``view``, each counted once."""
    found, boxes = finish(turned, train_starts(turned, max_boxes), max_boxes, may_stay_soft=may_stay_soft)
    support = found.sharp().task.inside(boxes) @ view.problem.weight
    return found, boxes.take(support >= view.problem.min_support)


def _tells_better(
    view: ClassProblem, turned: tuple[ClassProblem, BinBoxes], straight: tuple[ClassProblem, BinBoxes]
) -> bool:
    """Tell whether boxes of the other class tell the training rows of this one apart at least as well."""
    rows = view.sharp().task
    outside, inside = ~turned[0].sharp().task.union(turned[1]), straight[0].sharp().task.union(straight[1])
    return f1_of(rows, outside) >= f1_of(rows, inside)


def _faultless(
    view: ClassProblem, trained: Trained, max_boxes: int, verdict: Verdict
) -> tuple[ClassProblem, BinBoxes] | None:
    """Give the boxes found on rows as they are if they put none wrong, where blurred ones do and ask as much.

    Then the class is boxes and its labels are clean. Few rows left out seldom prove that; it is enough that
    they speak for it.
    """
    usual = Way(True, 0)
    if verdict.way != usual or verdict.sharp_gain <= 0:
        return None
    _, blurred = verdict.found or search(view, trained, max_boxes, usual)
    rows = view.sharp().task
    if rows.weight[rows.union(blurred) != rows.positive].sum() < FAULTS:
        return None
    found, boxes = search(view, trained, max_boxes, Way(False, 0))
    task = found.sharp().task
    faults = (task.union(boxes) != task.positive).any()
    return None if faults or _n_conditions(found, boxes) > _n_conditions(view, blurred) else (found, boxes)


def _n_conditions(view: ClassProblem, boxes: BinBoxes) -> int:
    return int(count_conditions(*boxes, view.features.binning.n_bins, view.problem.categorical).sum())


def _teachers_are_ahead(view: ClassProblem, verdict: Verdict) -> bool:
    """Tell whether teachers do better on the rows left out, so that boxes can learn from them."""
    said = _teachers_answers(view, verdict)
    if said is None or verdict.answers is None:
        return False
    return lead(view.sharp().task, said, verdict.answers)[0] > 0


def _teachers_answers(view: ClassProblem, verdict: Verdict) -> Bools | None:
    """Give what teachers say of the rows left out, which are then all rows; None where none are asked."""
    if verdict.answers is None or not asks_teachers(view):
        return None
    # F1 gains by a row that is more likely positive than half of F1: the same sum as in `lead`.
    return np.asarray(view.answers.of_rows > f1_of(view.sharp().task, verdict.answers) / 2)


def _within_limits(view: ClassProblem, boxes: BinBoxes) -> bool:
    conditions = count_conditions(*boxes, view.features.binning.n_bins, view.problem.categorical)
    low, high = boxes.first > 0, boxes.last < view.features.binning.n_bins - 1
    return bool(
        (conditions <= view.limits.max_conditions).all()
        and (low | high)[:, view.limits.required].all()
        and not (low & ~view.limits.may_low | high & ~view.limits.may_high).any()
    )


def _task(view: ClassProblem, way: Way) -> CrispTask:
    if way.answered:
        return view.answers.beside(view.task, view.problem.weight)
    return view.task if way.blur else view.sharp().task
