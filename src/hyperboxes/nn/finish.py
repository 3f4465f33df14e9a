"""From trained starts to the boxes of a class: crisp search, or what holds better on rows left out.

That may be boxes of the other class, a tree, boxes that learn from teachers, or those of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..crisp import BinBoxes, CrispTask, f1_of
from ..kernels.crisp import count_conditions
from ..kernels.faces import open_idle_faces
from .advice import Advice, teachers_advice
from .leaves import first_holder, tree_leaves, tree_list
from .problem import ClassProblem, Problem
from .starts import OUT_OF_REACH, Trained, train_starts
from .ways import EVIDENCE, PRICES, Verdict, Way, choose_way, few_among_many, lead, search

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows that copies put wrong on either side, for each condition and box of boxes without fault, from which on
#: the blur is refuted: on both sides together, one that a fit may hide.
REFUTED = 0.5
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


class Found(NamedTuple):
    """Boxes in the bins of a problem, of its class.

    With ``votes`` they are a list of both classes, in which the first box that holds a row decides: the
    class of each box and, last, that of rows in none.
    """

    view: ClassProblem
    boxes: BinBoxes
    votes: Ints | None = None

    def tells(self, target: int, rows: Problem) -> Bools:
        """Tell which of some rows are said to be of a class, which is one of two."""
        inside = self.view.holdout_task(rows).inside(self.boxes)
        if self.votes is None:
            return np.asarray(inside.any(axis=0) == (self.view.target == target))
        return np.asarray(self.votes[first_holder(inside)] == target)


class Turned(NamedTuple):
    """How often rows of a class count for boxes of the other one, and what these say of rows left out."""

    times: float
    answers: Bools


def finish(
    view: ClassProblem, trained: Trained, max_boxes: int, *, may_stay_soft: bool, may_turn: bool = False
) -> Found:
    """Turn trained starts into the boxes of a class; give the problem too, in whose bins they are.

    ``may_stay_soft`` says whether the boxes of the first start may be kept without crisp search, ``may_turn``
    whether the boxes may describe the other one of two classes, or both, where that holds better.
    """
    if not view.problem.settings.polish:
        return Found(view, trained.starts[0])
    verdict = choose_way(view, trained, max_boxes)
    advice = teachers_advice(view, max_boxes, verdict)
    way = verdict.way
    if _misses_much(view, verdict, advice):
        turned = _turned_if_better(view, max_boxes, verdict) if may_turn else None
        if (tree := _tree_if_better(view, max_boxes, verdict, turned, may_turn=may_turn)) is not None:
            return tree
        if turned is not None:
            other = _finish_turned(view.turned(turned.times), view, max_boxes, may_stay_soft=may_stay_soft)
            if _tells_better(view, other, verdict.found or search(view, trained, max_boxes, way)):
                return Found(*other)
    if (faultless := _faultless(view, trained, max_boxes, verdict, advice)) is not None:
        return Found(*faultless)
    if advice is not None and advice.believed:
        way = way._replace(answered=True)
        found, boxes = search(view, trained, max_boxes, way)
    else:
        found, boxes = verdict.found or search(view, trained, max_boxes, way)
    if not (may_stay_soft and len(view.positive) >= SOFT_ROWS) or few_among_many(view):
        return Found(found, boxes)
    if view.sharp().task.score(trained.starts[0])[1] <= found.sharp().task.score(boxes)[1]:
        return Found(found, boxes)
    soft = thin_faces(view, trained.starts[0])
    if _within_limits(view, soft) and _soft_holds_better(view, max_boxes, way):
        return Found(view, soft.take(view.sharp().task.support(soft) >= view.problem.min_support))
    return Found(found, boxes)


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


def _misses_much(view: ClassProblem, verdict: Verdict, advice: Advice | None) -> bool:
    """Tell whether boxes of this class miss something, be it a hole in the class or that a value is missing.

    A tree that does better on the rows left out is a cheap sign of it, teachers that do much better another.
    """
    if verdict.answers is None or verdict.tree is None:
        return False
    rows = view.sharp().task.part(verdict.seen)
    gain, error = lead(rows, verdict.tree[verdict.seen], verdict.answers)
    if gain > (0 if np.isnan(view.problem.X).any() else error):
        return True
    return advice is not None and f1_of(rows, advice.said) > f1_of(rows, verdict.answers) + MUCH


def _turned_if_better(view: ClassProblem, max_boxes: int, verdict: Verdict) -> Turned | None:
    """Tell how boxes of the other class do on the rows left out; None if they are not clearly better.

    It is tried how they do if a row of this class counts once, and so many times as the answers so far
    suggest.
    """
    assert verdict.answers is not None  # noqa: S101 - they miss much
    judged = verdict.seen
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


def _tree_if_better(
    view: ClassProblem, max_boxes: int, verdict: Verdict, turned: Turned | None, *, may_turn: bool
) -> Found | None:
    """Give a tree as boxes if they are clearly better on the rows left out than all else.

    They are its leaves of one class or, where values are missing, a list of both.
    """
    forms: list[Callable[[ClassProblem], Found | None]] = [
        partial(_leaves, max_boxes=max_boxes, may_turn=may_turn)
    ]
    if may_turn and np.isnan(view.problem.X).any():
        forms += [partial(_list, max_boxes=max_boxes, factor=factor) for factor in PRICES]
    judged = verdict.seen
    folds = list(_folds(view, verdict))
    others = verdict.answers if turned is None else turned.answers
    assert others is not None  # noqa: S101 - they miss much
    best: tuple[float, Callable[[ClassProblem], Found | None] | None] = (0.0, None)
    for form in forms:
        answers = np.zeros(len(judged), bool)
        for left_out, part, rows in folds:
            if (found := form(part)) is None:
                break
            answers[left_out] = found.tells(view.target, rows)
        else:
            gain, error = lead(view.sharp().task.part(judged), answers[judged], others)
            best = max(best, (gain - EVIDENCE * error, form), key=lambda one: one[0])
    return best[1] and best[1](view)


def _leaves(view: ClassProblem, max_boxes: int, *, may_turn: bool) -> Found | None:
    """Give the leaves of a tree as boxes, those of the other class if these are too many.

    None if the class weighs less than a box costs: to tell it would never pay.
    """
    if view.problem.weight[view.positive].sum() <= view.problem.settings.box_price:
        return None
    leaves = tree_leaves(view, max_boxes)
    if leaves is None and may_turn:
        leaves = tree_leaves(view.turned(), max_boxes)
    return Found(*leaves) if leaves is not None and _within_limits(*leaves) else None


def _list(view: ClassProblem, max_boxes: int, *, factor: float) -> Found | None:
    """Give a tree as a list of boxes of both classes, each of which decides enough rows."""
    found = tree_list(view, max_boxes, factor)
    if found is None or not len(found[1].first) or not _within_limits(*found[:2]):
        return None
    own, boxes, _ = found
    decided = first_holder(own.task.inside(boxes))
    weight = np.bincount(decided + 1, own.task.weight, len(boxes.first) + 1)[1:]
    return Found(*found) if (weight >= view.problem.min_support).all() else None


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
    found, boxes, _ = finish(turned, train_starts(turned, max_boxes), max_boxes, may_stay_soft=may_stay_soft)
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
    view: ClassProblem, trained: Trained, max_boxes: int, verdict: Verdict, advice: Advice | None
) -> tuple[ClassProblem, BinBoxes] | None:
    """Give the boxes found on rows as they are where these refute the blur; None where they do not.

    Copies say how uncertain a bound is held to be. If it were, about as much weight of rows would be wrong as
    of copies, on either side; a fit hides no more than about one row for each condition and box. Teachers
    that know better than boxes say that the truth is no box.
    """
    if not verdict.clean or advice is None or advice.gain > 0:
        return None
    found, boxes = search(view, trained, max_boxes, Way(False, 0))
    rows, copies = found.task, found.copies()
    if (rows.union(boxes) != rows.positive).any():
        return None
    held = copies.union(boxes)
    lost, let_in = copies.weight[copies.positive & ~held].sum(), copies.weight[held & ~copies.positive].sum()
    hidden = _n_conditions(found, boxes) + len(boxes.first)
    return (found, boxes) if min(lost, let_in) >= REFUTED * hidden else None


def _n_conditions(view: ClassProblem, boxes: BinBoxes) -> int:
    return int(count_conditions(*boxes, view.features.binning.n_bins, view.problem.categorical).sum())


def _within_limits(view: ClassProblem, boxes: BinBoxes) -> bool:
    conditions = count_conditions(*boxes, view.features.binning.n_bins, view.problem.categorical)
    ends = view.features.binning.n_bins - 1
    # A value of any size is asked for by a bound below them all.
    low, high = (boxes.first > 0) | (boxes.last == ends), boxes.last < ends
    return bool(
        (conditions <= view.limits.max_conditions).all()
        and (low | high)[:, view.limits.required].all()
        and not (low & ~view.limits.may_low | high & ~view.limits.may_high).any()
    )
