"""Rows that nobody has labelled, between those that somebody has, with the answers of two teachers.

A small table leaves open where between its rows a bound should lie, and which of several features should
draw it. Models that nobody can read know better: boxes learn from their answers on rows that are crossed
from neighbours (Bucila, Caruana and Niculescu-Mizil 2006). One teacher is a forest, which finds what
features do together; the other a sum of one parabola for each feature, which is not led astray by wrong
labels. Each is taught three times without a third of the rows, and what it says of these tells how far it
is to be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..crisp import CrispTask
from ..kernels._threads import run
from ..kernels.forest import ask_trees, nearest_others

if TYPE_CHECKING:
    from .problem import ClassProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.uint8]
#: Parts of the rows; of each teacher there is one for every part, which has not seen it.
PARTS = 3
#: Trees of each forest.
TREES = 30
#: Neighbours that a row is crossed with, found among at most so many rows.
NEIGHBOURS = 5
CANDIDATES = 1_000
#: Crossed rows for each row, and of many rows fewer, so that they are at most so many in all; but never fewer
#: for each row than the last number.
CROSSINGS, MAX_CROSSED, LEAST_CROSSINGS = 10, 10_000, 3
#: Of few rows up to so many for each, until they are enough: else boxes depend on the neighbours drawn.
CROSSINGS_OF_FEW, MIN_CROSSED = 30, 4_000
#: Share of all weight that crossed rows have.
SHARE = 0.8
#: Price of a condition or box beside such rows, in usual prices: answers are shares, which differ less than
#: labels do, and a teacher does not repeat a label by accident.
PRICE = 0.2
#: A share that differs less than this from 0 or 1 is 0 or 1.
CERTAIN = 0.03
#: Digits of an answer: the last ones of a sum depend on the machine, and boxes shall not.
DIGITS = 3
#: Standard deviation below which a term of a curve is but rounding.
SMALLEST_SCALE = 1e-9
#: Steps of a logistic fit, at most.
MAX_STEPS = 40


@dataclass(frozen=True)
class Answers:
    """What the teachers say: of the rows, where they have not seen them, and of the crossed ones."""

    of_rows: Floats
    crossed: Codes
    of_crossed: Floats

    def beside(self, task: CrispTask, weight: Floats) -> CrispTask:
        """Give the task with crossed rows added, each as far of the class as answered.

        ``weight`` is that of the rows that were crossed.
        """
        share = np.where(self.of_crossed < CERTAIN, 0.0, self.of_crossed)
        share = np.where(share > 1 - CERTAIN, 1.0, share)
        yes, no = np.flatnonzero(share > 0), np.flatnonzero(share < 1)
        times = len(share) // len(weight)
        added = np.tile(weight, times) * (SHARE / times)
        columns = np.ascontiguousarray(
            np.concatenate([task.columns, self.crossed[:, yes], self.crossed[:, no]], axis=1)
        )
        return replace(
            task, columns=columns, rows=np.ascontiguousarray(columns.T),
            positive=np.concatenate([task.positive, np.ones(len(yes), bool), np.zeros(len(no), bool)]),
            weight=np.concatenate(
                [task.weight * (1 - SHARE), (added * share)[yes], (added * (1 - share))[no]]
            ),
        ).priced(PRICE)  # fmt: skip


def ask_teachers(view: ClassProblem) -> Answers:
    """Teach without a third of the rows each time, and ask about these and about crossed rows."""
    codes, weight, positive = view.features.codes, view.problem.weight, view.positive
    space = view.features.standard_space
    rng = np.random.default_rng(view.seed)
    crossed = cross_neighbours(codes, space.Z, rng)
    part_of = grouped_parts(codes, positive)
    asked = np.ascontiguousarray(np.concatenate([codes, crossed], axis=1))
    seeds = rng.integers(0, 2**63, PARTS, dtype=np.uint64)
    jobs: list[Callable[[], Floats]] = []
    for part in range(PARTS):
        seen = part_of != part
        jobs.append(partial(forest_shares, codes, positive, weight, seen, asked, seeds[part]))
        jobs.append(partial(curve_shares, codes, space.places, positive, weight, seen, asked))
    said = run(lambda job: job(), jobs)
    n = len(positive)
    teachers = [said[0::2], said[1::2]]
    of_rows = np.array([np.choose(part_of, [share[:n] for share in shares]) for shares in teachers])
    of_crossed = np.array([np.mean([share[n:] for share in shares], axis=0) for shares in teachers])
    calibrated = calibration(of_rows, positive, weight)
    return Answers(calibrated(of_rows), crossed, calibrated(of_crossed))


def cross_neighbours(codes: Codes, Z: NDArray[np.float32], rng: np.random.Generator) -> Codes:
    """Cross each row several times with one of its neighbours: each cell is of the one or of the other."""
    n = codes.shape[1]
    neighbours = min(NEIGHBOURS, n - 1)
    nearest = np.zeros((n, neighbours), np.int64)
    candidates = np.ascontiguousarray(Z[:CANDIDATES].T)
    room = np.zeros(candidates.shape[1], np.float32), np.zeros((n, neighbours), np.float32)
    nearest_others(Z, candidates, *room, nearest)
    parts = []
    usual = int(np.clip(MAX_CROSSED // n, LEAST_CROSSINGS, CROSSINGS))
    for _ in range(int(np.clip(MIN_CROSSED // n, usual, CROSSINGS_OF_FEW))):
        partner = nearest[np.arange(n), rng.integers(0, neighbours, n)]
        parts.append(np.where(rng.random(codes.shape) < 0.5, codes[:, partner], codes))
    return np.concatenate(parts, axis=1)


def grouped_parts(codes: Codes, positive: Bools) -> Ints:
    """Share out the rows, equal ones to the same part unless there are many, classes evenly.

    Equal rows of two classes in different parts would each teach a forest to answer the other wrongly.
    """
    rows = np.ascontiguousarray(codes.T)
    _, first, group = np.unique(
        rows.view(np.dtype((np.void, rows.shape[1]))).ravel(), return_index=True, return_inverse=True
    )
    part = np.zeros(len(first), np.int64)
    for side in (False, True):
        # Rows are in an order that has nothing to do with their values, their codes are not.
        members = np.argsort(first)
        members = members[positive[first[members]] == side]
        part[members] = np.arange(len(members)) % PARTS
    group = group.ravel()
    part_of = part[group]
    many = np.flatnonzero(np.bincount(group)[group] > PARTS)
    part_of[many[np.lexsort((positive[many], group[many]))]] = np.arange(len(many)) % PARTS
    return np.asarray(part_of, dtype=np.int64)


def forest_shares(
    codes: Codes, positive: Bools, weight: Floats, seen: Bools, asked: Codes, seed: np.uint64
) -> Floats:
    """Grow a forest on the rows seen; give the mean share of positives that it finds for asked rows."""
    rows = np.flatnonzero(seen)
    if not len(rows):  # all rows are equal
        return np.full(asked.shape[1], np.average(positive, weights=weight))
    n_features, n_nodes = len(codes), 2 * len(rows)
    answers = np.zeros(asked.shape[1])
    ask_trees(
        codes, positive, weight, rows, np.ascontiguousarray(asked.T), TREES, (n_features + 1) // 2,
        np.arange(n_features), np.zeros((n_nodes, 3), np.int64), np.zeros(n_nodes),
        np.zeros((n_nodes, 3), np.int64), np.array([seed], np.uint64), answers,
    )  # fmt: skip
    return answers / TREES


def curve_shares(
    codes: Codes, places: Sequence[Floats], positive: Bools, weight: Floats, seen: Bools, asked: Codes
) -> Floats:
    """Fit log odds that are a sum of parabolas, one for each feature; give the odds of asked rows as shares.

    ``places`` are where the bins of each feature lie; a missing value lies at 0, the mean.
    """
    if not seen.any():  # all rows are equal
        return np.full(asked.shape[1], np.average(positive, weights=weight))
    height = np.zeros((len(codes), 256))
    for j, place in enumerate(places):
        height[j, : len(place)] = place
    terms = np.stack([height, height**2])  # features' linear and square parts, by code
    of_rows = np.array([part[j].take(column[seen]) for part in terms for j, column in enumerate(codes)])
    centre = np.average(of_rows, axis=1, weights=weight[seen], keepdims=True)
    scale = np.sqrt(np.average((of_rows - centre) ** 2, axis=1, weights=weight[seen], keepdims=True))
    scale[scale < SMALLEST_SCALE] = np.inf  # a constant term says nothing
    of_rows = (of_rows - centre) / scale
    line = logistic_line(of_rows, positive[seen].astype(np.float64), weight[seen], 0.0, 1.0)
    slope = (line[:-1, None] / scale).reshape(2, -1)
    by_code = np.einsum("tj,tjc->jc", slope, terms)
    odds = np.full(asked.shape[1], line[-1] - float((slope.reshape(-1) * centre[:, 0]).sum()))
    for j, column in enumerate(asked):
        odds += by_code[j].take(column)
    return _logistic(odds)


def calibration(shares: Floats, positive: Bools, weight: Floats) -> Callable[[Floats], Floats]:
    """Give the function of the teachers' shares that says how likely a row is positive.

    ``shares`` has a row for each teacher, of rows that it had not seen. A logistic function of the shares'
    log odds is fitted to these (Platt 2000). It makes up for trees that are too timid about a rare class or
    too sure where labels are wrong, and weighs the teachers. Labels and weights are held back as by one row
    more; a teacher whose weight is negative is worse than guessing and is not asked.
    """
    odds = _log_odds(shares)
    n_true, n_false = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))
    asked = np.arange(len(odds))
    while len(asked):
        line = logistic_line(odds[asked], target, weight, 1 / len(asked), len(asked))
        if (line[:-1] > 0).all():
            return lambda shares: np.round(_logistic(line[:-1] @ _log_odds(shares)[asked] + line[-1]), DIGITS)
        asked = asked[line[:-1] > 0]
    share = (n_true + 1) / (n_true + n_false + 2)
    return lambda shares: np.full(shares.shape[1], share)


def logistic_line(terms: Floats, target: Floats, weight: Floats, usual: float, pull: float) -> Floats:
    """Fit log odds that are linear in terms, one in each row; give the slopes and the constant.

    Slopes are drawn to the ``usual`` one: ``pull`` / 2 times their squared distance
    from it is added to the loss.
    """
    from scipy.optimize import minimize

    def loss(line: Floats) -> tuple[float, Floats]:
        odds = line[:-1] @ terms + line[-1]
        error = weight * (_logistic(odds) - target)
        astray = line[:-1] - usual
        value = (weight * (np.logaddexp(0, odds) - target * odds)).sum() + pull * (astray @ astray) / 2
        return float(value), np.append(terms @ error + pull * astray, error.sum())

    start = np.append(np.full(len(terms), usual), 0.0)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS}).x)


def _log_odds(share: Floats) -> Floats:
    return np.asarray(np.log((share + 0.01) / (1.01 - share)))


def _logistic(u: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(u, -50, 50))))
