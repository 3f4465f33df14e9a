"""Section hard: tables that the recipe was never tuned on, or other ones reshaped, each hard in one way.

F1 on held-out rows beside a tree of 2 M leaves, a full tree and gradient boosting. The bar: never below the
tree of 2 M leaves by more than 0.01. The difference is taken split by split and comes with its standard
error, so that noise is told from loss: "loses" is more than two of these, "loses?" is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from .cells import Cell, Choice, Record
from .hard_tables import TABLES
from .learners import fit_and_score, make_learner
from .report import SHAPE, Figures, Table, judge, number, signed

SIZES = (5, 20)
HEADER = (
    "data", "hard because", "M", "ours", "tree 2M", "full tree", "boosting", "ours − tree 2M", "train F1",
    "tree's", *SHAPE, "",
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
    return fit_and_score(make_learner(cell, split.X), split)


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences."""
    figures = Figures(records)
    result = Table("Tables held back, F1 on held-out rows", HEADER)
    means = defaultdict(list)
    for name, table in TABLES.items():
        for size in figures.sizes(name, "hypernn"):
            difference, error = figures.difference(name, ("hypernn", size), ("tree", size))
            verdict = judge(difference, error)
            result.held &= not verdict
            shown = [figures.mean(name, model, size) for model in ("hypernn", "tree")]
            shown += [figures.mean(name, model) for model in ("full tree", "boosting")]
            means[size].append(shown)
            result.rows.append((
                name, table.trait, str(size), *map(number, shown), signed(difference, error),
                *(number(figures.mean(name, model, size, "train_f1")) for model in ("hypernn", "tree")),
                *figures.shape(name, "hypernn", size), verdict,
            ))  # fmt: skip
    for size, found in sorted(means.items()):
        shown = np.mean(found, axis=0)
        blank = ("",) * (len(HEADER) - 8)
        result.rows.append(
            ("mean", "", str(size), *map(number, shown), f"{shown[0] - shown[1]:+.3f}", *blank)
        )
    return result
