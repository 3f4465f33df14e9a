"""Rows that nobody has labelled, between those that somebody has, with the answers of a forest.

A small table leaves open where between its rows a bound should lie, and which of several features should
draw it. A forest, which is no model to read, knows better: boxes learn from its answers on rows that are
crossed from neighbours (Bucila, Caruana and Niculescu-Mizil 2006). Each third of its trees has not seen one
third of the rows, and what it says of these tells how far it is to be believed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
#: Trees of each of the forests, and how many forests share the rows.
TREES = 67
FORESTS = 3
#: Neighbours that a row is crossed with, found among at most so many rows.
NEIGHBOURS = 5
CANDIDATES = 1_000
#: Crossed rows for each row, and at most in all.
CROSSINGS = 5
MAX_CROSSED = 20_000
#: Share of all weight that crossed rows have.
SHARE = 0.8
#: Price of a condition or box beside such rows, in usual prices: answers are shares, which differ less than
#: labels do, and a forest does not repeat a label by accident.
PRICE = 0.25
#: A share that differs less than this from 0 or 1 is 0 or 1.
CERTAIN = 0.03
#: Steps of the calibration, and how far one may be shortened: two numbers take few.
MAX_NEWTON_STEPS = 30
SMALLEST_STEP = 1e-4


@dataclass(frozen=True)
class Answers:
    """What the forest says: of the rows, where it has not seen them, and of the crossed ones."""

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


def ask_forest(view: ClassProblem) -> Answers:
    """Grow forests without a third of the rows each, and ask them about these and about crossed rows."""
    codes, weight, positive = view.features.codes, view.problem.weight, view.positive
    rng = np.random.default_rng(view.seed)
    crossed = cross_neighbours(codes, view.features.standard_space.Z, rng)
    fold_of = grouped_folds(codes, positive)
    asked = np.ascontiguousarray(np.concatenate([codes, crossed], axis=1))
    seeds = rng.integers(0, 2**63, FORESTS, dtype=np.uint64)
    shares = run(
        lambda fold: forest_shares(codes, positive, weight, fold_of != fold, asked, seeds[fold]),
        range(FORESTS),
    )
    n = len(positive)
    of_rows = np.choose(fold_of, [share[:n] for share in shares])
    calibrated = calibration(of_rows, positive, weight)
    return Answers(calibrated(of_rows), crossed, calibrated(np.mean([share[n:] for share in shares], axis=0)))


def cross_neighbours(codes: Codes, Z: NDArray[np.float32], rng: np.random.Generator) -> Codes:
    """Cross each row several times with one of its neighbours: each cell is of the one or of the other."""
    n = codes.shape[1]
    neighbours = min(NEIGHBOURS, n - 1)
    nearest = np.zeros((n, neighbours), np.int64)
    nearest_others(Z, min(n, CANDIDATES), np.zeros((n, neighbours), np.float32), nearest)
    parts = []
    for _ in range(int(np.clip(MAX_CROSSED // n, 1, CROSSINGS))):
        partner = nearest[np.arange(n), rng.integers(0, neighbours, n)]
        parts.append(np.where(rng.random(codes.shape) < 0.5, codes[:, partner], codes))
    return np.concatenate(parts, axis=1)


def grouped_folds(codes: Codes, positive: Bools) -> Ints:
    """Give each row a forest that will not see it, equal rows the same one, classes evenly.

    Equal rows of two classes in different folds would each teach a forest to answer the other wrongly.
    """
    rows = np.ascontiguousarray(codes.T)
    _, first, group = np.unique(
        rows.view(np.dtype((np.void, rows.shape[1]))).ravel(), return_index=True, return_inverse=True
    )
    fold = np.zeros(len(first), np.int64)
    for side in (False, True):
        # Rows are in an order that has nothing to do with their values, their codes are not.
        members = np.argsort(first)
        members = members[positive[first[members]] == side]
        fold[members] = np.arange(len(members)) % FORESTS
    return np.asarray(fold[group.ravel()], dtype=np.int64)


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
        codes, positive, weight, rows, asked, TREES, (n_features + 1) // 2, np.arange(n_features),
        np.zeros((n_nodes, 3), np.int64), np.zeros(n_nodes), np.zeros((n_nodes, 3), np.int64),
        np.array([seed], np.uint64), answers,
    )  # fmt: skip
    return answers / TREES


def calibration(shares: Floats, positive: Bools, weight: Floats) -> Callable[[Floats], Floats]:
    """Give the function of shares that says how likely a row with such a share is positive.

    A logistic function of the share's log odds, fitted to rows that the forest had not seen (Platt 2000). It
    makes up for trees that are too timid about a rare class, or too sure where labels are wrong. Labels
    and slope are held back as by one row more.
    """
    odds = _log_odds(shares)
    n_true, n_false = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))

    def loss(line: Floats) -> float:
        u = line[0] * odds + line[1]
        return float((weight * (np.logaddexp(0, u) - target * u)).sum() + (line[0] - 1) ** 2 / 2)

    line = np.array([1.0, 0.0])
    least = loss(line)
    for _ in range(MAX_NEWTON_STEPS):
        likely = _logistic(line[0] * odds + line[1])
        slope = weight * (likely - target)
        bend = weight * likely * (1 - likely)
        gradient = np.array([(slope * odds).sum() + line[0] - 1, slope.sum()])
        a, b, c = (bend * odds**2).sum() + 1, (bend * odds).sum(), bend.sum() + 1e-6
        step = np.array([c * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]]) / (
            a * c - b * b
        )
        size = 1.0
        while size > SMALLEST_STEP and loss(line - size * step) > least:
            size /= 2
        now = loss(line - size * step)
        if now >= least - 1e-9:
            break
        line, least = line - size * step, now
    if line[0] <= 0:  # worse than guessing: then every row is as likely as any
        line = np.array([0.0, np.log((n_true + 1) / (n_false + 1))])
    return lambda share: _logistic(line[0] * _log_odds(share) + line[1])


def _log_odds(share: Floats) -> Floats:
    return np.asarray(np.log((share + 0.01) / (1.01 - share)))


def _logistic(u: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(u, -50, 50))))
