"""Section multiclass: all classes at once, beside a tree with as many leaves as there are boxes.

Accuracy and macro F1 on the held-out 30 % of stratified splits. M is the most boxes of each class. The bar:
neither figure below the tree's by more than 0.01.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from hyperboxes.datasets import as_numbers, load_dataset

from .cells import Cell, Choice, Record
from .learners import make_learner, timed_fit
from .report import SHAPE, Figures, Table, judge, number, signed

SIZES = (2, 5, 10)
#: Tables and their seeds, slow ones last.
DATASETS = {"iris": 10, "wine": 10, "digits": 5, "satimage": 3, "letter": 3}
HEADER = (
    "data", "M", "accuracy", "tree", "full tree", "boosting", "macro F1", "tree", "full tree", "boosting",
    "ours − tree, accuracy", "macro F1", "in no box", *SHAPE, "",
)  # fmt: skip


@lru_cache(maxsize=2)
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load a table."""
    if name == "digits":
        return load_digits(return_X_y=True)
    X, y = load_dataset(name)
    return as_numbers(X), y


def cells(choice: Choice) -> Iterator[Cell]:
    """List what is to be measured."""
    sizes = choice.sizes or (SIZES[1:2] if choice.quick else SIZES)
    for name in choice.names(DATASETS, ("iris", "wine", "digits"), table):
        for seed in range(choice.n_seeds(DATASETS[name])):
            for size in sizes:
                yield Cell("multiclass", name, "hypernn", size, "all", seed)
            yield Cell("multiclass", name, "full tree", 0, "all", seed)
            yield Cell("multiclass", name, "boosting", 0, "all", seed)


def measure(cell: Cell) -> Record:
    """Fit one cell and score it; with ours goes the tree that has as many leaves."""
    X, y = table(cell.data)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=cell.seed)
    learner = make_learner(cell, X)
    record = timed_fit(learner, X, y) | _scores(learner, X_test, y_test)
    if cell.model == "hypernn":
        record["in_no_box"] = float(np.mean(learner.apply(X_test) < 0))
        tree = DecisionTreeClassifier(max_leaf_nodes=max(2, record["boxes"]), random_state=cell.seed).fit(
            X, y
        )
        record |= {f"tree_{name}": value for name, value in _scores(tree, X_test, y_test).items()}
    return record


def _scores(learner, X_test, y_test) -> Record:
    found = learner.predict(X_test)
    f1 = float(f1_score(y_test, found, average="macro"))
    return {"accuracy": float(accuracy_score(y_test, found)), "f1": f1}


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences."""
    trees = [
        {**record, "model": "tree", "accuracy": record["tree_accuracy"], "f1": record["tree_f1"]}
        for record in records
        if record["model"] == "hypernn"
    ]
    figures = Figures([*records, *trees])
    result = Table("All classes at once, on held-out rows", HEADER)
    for name in DATASETS:
        for size in figures.sizes(name, "hypernn"):
            differences = {
                what: figures.difference(name, ("hypernn", size), ("tree", size), what)
                for what in ("accuracy", "f1")
            }
            verdicts = {judge(*difference) for difference in differences.values()}
            verdict = next((worst for worst in ("loses", "loses?") if worst in verdicts), "")
            result.held &= not verdict
            row = [name, str(size)]
            for what in ("accuracy", "f1"):
                row += [number(figures.mean(name, model, size, what)) for model in ("hypernn", "tree")]
                row += [number(figures.mean(name, model, 0, what)) for model in ("full tree", "boosting")]
            row += [signed(*differences[what]) for what in ("accuracy", "f1")]
            result.rows.append((
                *row, number(figures.mean(name, "hypernn", size, "in_no_box")),
                *figures.shape(name, "hypernn", size), verdict,
            ))  # fmt: skip
    return result
