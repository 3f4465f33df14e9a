"""Section hard: tables that the recipe was never tuned on, or other ones reshaped, each hard in one way.

F1 on held-out rows beside a tree of 2 M leaves, a full tree and gradient boosting. The bar: never below the
tree of 2 M leaves by more than 0.01. The difference is taken split by split and comes with its standard
error, so that noise is told from loss: "loses" is more than two of these, "loses?" is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from .cells import Cell, Choice, Record
from .hard_tables import TABLES
from .learners import fit_and_score, make_learner
from .report import Table, beside_trees

SIZES = (5, 20)


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
    return fit_and_score(make_learner(cell, split.X), split)


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences."""
    traits = {name: table.trait for name, table in TABLES.items()}
    return beside_trees("Tables held back, F1 on held-out rows", records, traits, ("full tree", "boosting"))
