"""Section hard: tables that the recipe was never tuned on, each hard in one way.

F1 on held-out rows beside a tree of 2 M leaves, a full tree and gradient boosting. The bar: never below the
tree of 2 M leaves by more than 0.01. The difference is taken split by split and comes with its standard
error, so that noise is told from loss: "loses" is more than two of these, "loses?" is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.metrics import f1_score

from .cells import Cell, Choice, Record
from .hard_tables import TABLES
from .learners import make_learner, shape_of, timed_fit
from .report import Figures, Table, judge, number, signed

SIZES = (5, 20)
HEADER = (
    "data", "hard because", "M", "ours", "tree 2M", "full tree", "boosting", "ours − tree 2M", "train F1",
    "tree's", "boxes", "cond./box", "s/fit", "fits", "",
)  # fmt: skip


def cells(choice: Choice) -> Iterator[Cell]:
    """List what is to be measured."""
    sizes = choice.sizes or (SIZES[:1] if choice.quick else SIZES)
    quick = [name for name, table in TABLES.items() if table.quick]
    for name in choice.names(TABLES, quick, lambda name: TABLES[name].load()):
        for seed in range(choice.n_seeds(TABLES[name].n_seeds, quick=2)):
            for label in TABLES[name].labels:
                for size in sizes:
                    yield Cell("hard", name, "hypernn", size, label, seed)
                    yield Cell("hard", name, "tree", size, label, seed)
                yield Cell("hard", name, "full tree", 0, label, seed)
                yield Cell("hard", name, "boosting", 0, label, seed)


def measure(cell: Cell) -> Record:
    """Fit one cell and score it on the held-out rows."""
    split = TABLES[cell.data].split(cell.label, cell.seed)
    learner = make_learner(cell.model, cell.size, cell.seed, split.X)
    record: Record = {"seconds": timed_fit(learner, split.X, split.y)}
    record["f1"] = float(f1_score(split.y_test, learner.predict(split.X_test)))
    record["train_f1"] = float(f1_score(split.y, learner.predict(split.X)))
    return record | (shape_of(learner) if cell.model == "hypernn" else {})


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences."""
    figures = Figures(records)
    result = Table("Tables held back, F1 on held-out rows", HEADER)
    for name, table in TABLES.items():
        for size in figures.sizes(name, "hypernn"):
            difference, error = figures.difference(name, ("hypernn", size), ("tree", size))
            verdict = judge(difference, error)
            result.held &= not verdict
            result.rows.append((
                name, table.trait, str(size),
                number(figures.mean(name, "hypernn", size)), number(figures.mean(name, "tree", size)),
                number(figures.mean(name, "full tree")), number(figures.mean(name, "boosting")),
                signed(difference, error), number(figures.mean(name, "hypernn", size, "train_f1")),
                number(figures.mean(name, "tree", size, "train_f1")),
                number(figures.mean(name, "hypernn", size, "boxes"), 1),
                number(figures.conditions_per_box(name, "hypernn", size), 1),
                number(figures.mean(name, "hypernn", size, "seconds"), 2),
                str(figures.count(name, "hypernn", size)), verdict,
            ))  # fmt: skip
    return result
