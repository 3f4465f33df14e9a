"""Section auto: ``n_boxes="auto"`` against the best number of boxes by 5-fold cross-validation.

F1 on held-out rows and the time of both, as the mean over classes and seeds; the default number of boxes
stands beside them. The bars: in the mean over tables within 0.01 of cross-validation, and faster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import GridSearchCV

from hyperboxes import HyperNNClassifier

from . import published
from .cells import Cell, Choice, Record
from .hard_tables import TABLES
from .learners import fit_and_score
from .report import ALLOWED_LOSS, Figures, Table, number, signed
from .splits import Split, split_rows

SIZES = (1, 2, 4, 8, 16, 32)
FOLDS = 5
#: Tables, of the paper and held back, with the seeds of each.
SEEDS = {
    "iris": 5, "wine": 5, "cancer": 5, "blood": 5, "cars": 3, "satimage": 1, "mixed": 3, "titanic": 5,
    "noise 10": 3, "cauchy": 3, "oblique": 3, "chessboard": 3, "diabetes": 5,
}  # fmt: skip
QUICK = ("iris", "wine", "blood", "titanic")
MODELS = ("auto", "cross-validation", "default")
HEADER = (
    "data", "auto", "5-fold CV", "default", "auto − CV", "M by CV", "boxes: auto", "CV", "default",
    "cond./box: auto", "CV", "default", "s/fit: auto", "CV", "default", "fits",
)  # fmt: skip


def cells(choice: Choice) -> Iterator[Cell]:
    """List what is to be measured."""
    for name in choice.names(SEEDS, QUICK, _load):
        labels = TABLES[name].labels if name in TABLES else np.unique(published.table(name)[1]).tolist()
        for seed in range(choice.n_seeds(SEEDS[name])):
            for label in labels[:1] if choice.quick else labels:
                for model in MODELS:
                    yield Cell("auto", name, model, 0, label, seed)


def measure(cell: Cell) -> Record:
    """Fit one cell and score it on the held-out rows."""
    learner = HyperNNClassifier(random_state=cell.seed)
    if cell.model == "auto":
        learner.set_params(n_boxes="auto")
    elif cell.model == "cross-validation":
        learner = GridSearchCV(learner, {"n_boxes": SIZES}, scoring="f1", cv=FOLDS)
    record = fit_and_score(learner, _split(cell))
    return record | ({"chosen": learner.best_params_["n_boxes"]} if cell.model == "cross-validation" else {})


def _load(name: str) -> object:
    return TABLES[name].load() if name in TABLES else published.table(name)


def _split(cell: Cell) -> Split:
    if cell.data in TABLES:
        return TABLES[cell.data].split(cell.label, cell.seed)
    return split_rows(*published.table(cell.data), cell.label, cell.seed)


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences and their mean."""
    figures = Figures(records)
    result = Table('n_boxes="auto" against 5-fold cross-validation, F1 on held-out rows', HEADER)
    names = [name for name in SEEDS if figures.has(name, "auto") and figures.has(name, "cross-validation")]
    differences, seconds = [], []
    for name in names:
        difference = figures.difference(name, ("auto", 0), ("cross-validation", 0))
        differences.append(difference[0])
        seconds.append([figures.mean(name, model, what="seconds") for model in MODELS])
        result.rows.append((
            name, *(number(figures.mean(name, model)) for model in MODELS), signed(*difference),
            number(figures.mean(name, "cross-validation", what="chosen"), 1),
            *(number(figures.mean(name, model, what="boxes"), 1) for model in MODELS),
            *(number(figures.conditions_per_box(name, model), 1) for model in MODELS),
            *(number(value, 2) for value in seconds[-1]), str(figures.count(name, "auto")),
        ))  # fmt: skip
    if names:
        mean, ratio = float(np.mean(differences)), np.exp(np.mean(np.log(seconds), axis=0))
        result.held = mean >= -ALLOWED_LOSS and bool(ratio[0] < ratio[1])
        result.notes.append(
            f"auto − CV in the mean over tables: {mean:+.4f}; "
            f"auto takes {ratio[0] / ratio[1]:.2f} of the time of cross-validation (geometric mean)"
        )
    return result
