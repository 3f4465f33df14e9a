"""Search by classification: precision and recall from 50 marked rows, over classes, seeds and rounds.

Each class of a table is looked for: 50 of its rows are marked, all others are unknown. *learned* is what
the boxes of the first round hold; *marked* is after four rounds, in each of which 40 hits are looked at and
marked by their true class. *first 100* is the precision of the best hundred hits by depth, by number of
boxes, and by nearness to marked rows. Rows marked at the start do not count. *other means* learn from the
same rows, and know the share of positives, which a search does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from timing.bars import Bar, say

import hyperboxes
from hyperboxes import HyperNNClassifier
from hyperboxes.datasets import DatasetNotFoundError, load_dataset
from hyperboxes.retrieval import Search

TABLES = {"covtype": (3, 4, 5, 7), "letter": ("A", "E", "M", "S"), "satimage": (1, 2, 4, 5)}
MARKED, LOOKED_AT, ROUNDS, FIRST, MOST_ROWS = 50, 40, 4, 100, 100_000


class Task(NamedTuple):
    """A class to look for in a table that a connection has."""

    name: str
    label: Any
    seed: int
    connection: Any
    X: pd.DataFrame
    truth: np.ndarray
    marked: list[int]


class Score(NamedTuple):
    """How good an answer is on the rows that were not marked at the start."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean."""
        return 2 * self.precision * self.recall / max(1e-9, self.precision + self.recall)


def tasks(quick: bool) -> Iterator[Task]:
    """Go through the classes of the tables that are to be had."""
    for name, labels in TABLES.items():
        try:
            X, y = load_dataset(name)
        except DatasetNotFoundError as error:
            say(str(error))
            continue
        if len(X) > MOST_ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False))
            X, y = X.iloc[chosen].reset_index(drop=True), y[chosen]
        frame = X.assign(id=np.arange(len(X)))
        with duckdb.connect() as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE searched AS SELECT * FROM frame")
            for label in labels[:2] if quick else labels:
                truth = y.astype(str) == str(label)
                for seed in range(1 if quick else 3):
                    rng = np.random.default_rng(seed)
                    marked = rng.choice(np.flatnonzero(truth), MARKED, replace=False).tolist()
                    yield Task(name, label, seed, connection, X, truth, marked)


def score(task: Task, said: np.ndarray) -> Score:
    """Judge a yes or no for every row."""
    rest = np.ones(len(task.truth), bool)
    rest[task.marked] = False
    right = (said & task.truth & rest).sum()
    return Score(right / max(1, (said & rest).sum()), right / (task.truth & rest).sum())


def searched(task: Task, rank: str = "depth") -> Search:
    """Start a search for the class."""
    return hyperboxes.search(
        task.connection, "searched", positives=task.marked, key="id", features=list(task.X.columns),
        rank=rank, limit=FIRST + MARKED, seed=task.seed,
    )  # fmt: skip


def first_hundred(task: Task, keys: tuple[int, ...]) -> float:
    """Give the precision of the first hundred rows that were not marked."""
    left = [key for key in keys if key not in set(task.marked)][:FIRST]
    return float(task.truth[left].mean()) if left else 0.0


def by_other_means(task: Task, found: Search) -> dict[str, np.ndarray]:
    """Learn from the same rows by other means, which know the share of positives."""
    drawn = np.setdiff1d(np.array(found.sample.keys), task.marked)
    X = pd.concat([task.X.iloc[task.marked], task.X.iloc[drawn]])
    y = np.arange(len(X)) < MARKED
    weight = np.where(y, 1.0, MARKED / (task.truth.mean() * len(drawn)))
    network = HyperNNClassifier(3, max_conditions=4, random_state=task.seed).fit(X, y, sample_weight=weight)
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=task.seed)
    tree.fit(X, y, sample_weight=weight)
    return {
        "HyperNN, share known": network.predict(task.X).astype(bool),
        "tree of depth 4, share known": tree.predict(task.X).astype(bool),
    }


def run(quick: bool) -> list[Bar]:
    """Search for every class and print means for each table."""
    if "HYPERBOXES_DATA" in os.environ and not Path(os.environ["HYPERBOXES_DATA"]).is_dir():
        raise SystemExit(f"HYPERBOXES_DATA names no folder: {os.environ['HYPERBOXES_DATA']}")
    rows: dict[str, list[dict[str, float]]] = {}
    for task in tasks(quick):
        say(f"{task.name}: class {task.label}, seed {task.seed}")
        found = searched(task)
        learned = score(task, found.boxes.predict(task.X))
        figures = {
            "learned": learned.f1, "precision": learned.precision, "recall": learned.recall,
            "boxes": float(found.boxes.n_boxes), "columns": float(found.boxes.restricted.sum(axis=1).mean()),
            "depth": first_hundred(task, found.hits.key),
            "number": first_hundred(task, searched(task, "boxes").hits.key),
            "nearest": first_hundred(task, found.nearest(FIRST)),
        }  # fmt: skip
        others = {name: score(task, said).f1 for name, said in by_other_means(task, found).items()}
        for _ in range(ROUNDS):
            seen = found.spread(LOOKED_AT)
            found = found.mark(
                [key for key in seen if task.truth[key]], [key for key in seen if not task.truth[key]]
            )
        figures["marked"] = score(task, found.boxes.predict(task.X)).f1
        rows.setdefault(task.name, []).append(figures | others)
    return report(rows)


def report(rows: dict[str, list[dict[str, float]]]) -> list[Bar]:
    """Print means for each table, and over all tasks."""
    listed = {**rows, "all": [one for group in rows.values() for one in group]}
    for name, group in listed.items():
        if not group:
            continue
        mean = {what: float(np.mean([one[what] for one in group])) for what in group[0]}
        print(f"  {name}: {len(group)} searches, {mean['boxes']:.1f} boxes of {mean['columns']:.1f} columns")
        print(
            f"    learned: precision {mean['precision']:.3f}, recall {mean['recall']:.3f}, "
            f"F1 {mean['learned']:.3f}; marked: F1 {mean['marked']:.3f}"
        )
        print(
            f"    first {FIRST}: by depth {mean['depth']:.3f}, by number of boxes {mean['number']:.3f}, "
            f"by nearness {mean['nearest']:.3f}"
        )
        others = [f"{what} {value:.3f}" for what, value in mean.items() if "known" in what]
        print(f"    F1 by other means: {'; '.join(others)}")
    if not listed["all"]:
        return []
    gain = [one["marked"] - one["learned"] for one in listed["all"]]
    return [
        Bar("F1 gained by four rounds of marking, mean", float(np.mean(gain)), 0.0, at_least=True),
        Bar("precision of the nearest hundred", float(np.mean([one["nearest"] for one in listed["all"]]))),
    ]
