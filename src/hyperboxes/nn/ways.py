"""Ways of searching for the boxes of a class, and which of them holds best on rows left out.

How dear a condition should be, and whether blurred copies help, differs from table to table by more than any
constant can cover: a price that finds three boxes under wrong labels throws half of a clean chessboard away.
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
from .leaves import shown_rows, tree_cells
from .problem import ClassProblem
from .starts import Trained, train_starts

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
#: Factors of the prices that are tried, each from the boxes found at the one before.
PRICES = (1.0, 3.0, 10.0)
#: Folds that judge; one is enough for a table of so many rows, unless a class has fewer than the last number.
FOLDS = 3
ONE_FOLD_ROWS = 5_000
FEW_ROWS = 400
#: Features for each row from which on a table is wide: starts that have seen a row then hold it by chance.
WIDE = 1.0
#: Standard errors by which another way must be ahead of the usual one on rows left out.
EVIDENCE = 1.5
#: The same for few rows of a class among many: no teachers are asked that would keep boxes from fitting them
#: too closely, and they never prove much.
RARE_EVIDENCE = 0.5


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
    ``clean`` says that every time boxes were found that put none of the other rows wrong.
    """

    way: Way
    fold_of: Ints
    judged: int
    answers: Bools | None
    found: tuple[ClassProblem, BinBoxes] | None = None
    tree: Bools | None = None
    clean: bool = False

    @property
    def seen(self) -> Bools:
        """Which rows were left out once, and so were judged."""
        return np.asarray(self.fold_of < self.judged)


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
    rare = few_among_many(view)
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
    for left_out, (part, _) in zip(folds, found, strict=False):
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
        clean=all(faultless for _, faultless in found[:judged]),
    )  # fmt: skip


def few_among_many(view: ClassProblem) -> bool:
    """Tell whether a class of a large table has few rows."""
    n_positive, n = int(view.positive.sum()), len(view.positive)
    return n >= ONE_FOLD_ROWS and min(n_positive, n - n_positive) < FEW_ROWS


def _answers(
    view: ClassProblem, trained: Trained, max_boxes: int, left_out: Bools
) -> tuple[dict[Way, Bools], bool]:
    """Search in every way without some rows; tell which of these are then in a box.

    Tell too whether boxes found on rows as they are put none of the others wrong. Starts have seen all rows,
    which saves training them again and gives little away; but for wide tables, where they are trained anew.
    """
    rows, part = view.problem.fold(left_out), view.without(left_out)
    n, n_features = view.problem.X.shape
    given = trained.leaves is None
    if n_features >= WIDE * n and not given:
        trained = train_starts(part, max_boxes)
    unseen = view.sharp().task.part(left_out)
    answers = {}
    faultless = False
    if view.problem.blur[1]:
        path = list(price_path(view.task.part(~left_out), trained, max_boxes))
        answers = {Way(True, price): unseen.union(boxes) for price, boxes in enumerate(path)}
        trained = trained._replace(starts=[*trained.starts, path[0]])
    for price, boxes in enumerate(price_path(part.task, trained, max_boxes)):
        # Fine bins make the difference between sharp and blurred; without copies prices alone are compared.
        found, sharp = sharpen(part, boxes, PRICES[price]) if view.problem.blur[1] else (part, boxes)
        answers[Way(False, price)] = found.holdout_task(rows).union(sharp)
        faultless = faultless or not (found.task.union(sharp) != found.task.positive).any()
    return answers, faultless


def lead(rows: CrispTask, one: Bools, other: Bools) -> tuple[float, float]:
    """Give by how much one set of answers is ahead of another, and the standard error of that.

    Rows count as F1 weighs them: a positive 2 - F, a negative F, F the F1 of the other answers.
    """
    f1 = f1_of(rows, other)
    worth = rows.weight * np.where(rows.positive, 2 - f1, f1)
    change = worth * ((one == rows.positive) * 1.0 - (other == rows.positive) * 1.0)
    return float(change.sum()), math.sqrt(float((change**2).sum()))


def _tree_answers(view: ClassProblem, max_boxes: int, folds: list[Bools]) -> Bools:
    """Tell which rows trees of about as many cuts put into the class, each row by one that never saw it."""
    from sklearn.tree import DecisionTreeClassifier

    X = view.features.X
    answers = np.zeros(len(X), bool)
    for left_out in folds:
        if not left_out.any():  # fewer rows than folds
            continue
        rest = np.flatnonzero(~left_out)
        shown, weight = shown_rows(view.positive[rest], view.problem.weight[rest])
        tree = DecisionTreeClassifier(max_leaf_nodes=2 * max(max_boxes, 1), random_state=0)
        tree.fit(tree_cells(X, rest[shown]), view.positive[rest[shown]], sample_weight=weight)
        answers[left_out] = tree.predict(tree_cells(X, np.flatnonzero(left_out)))
    return answers


def _task(view: ClassProblem, way: Way) -> CrispTask:
    if way.answered:
        return view.answers.beside(view.task, view.problem.weight)
    return view.task if way.blur else view.sharp().task
