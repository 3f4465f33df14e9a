"""The paper's protocol: how one cell is measured.

One class against the rest; a split of 70 to 30, which is
``train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)`` with y telling the class from the
rest; where the cell has a grid, settings by best mean F1 over five folds of the training rows; then a fit on
all of them, and figures on the rest. Models get the table as numbers, ordered categories as their positions;
those that need scaled features scale them within the fit.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..datasets import as_numbers, load_dataset, planted_boxes
from .cells import Cell, Record
from .models import Model

HELD_OUT = 0.3
N_FOLDS = 5
#: Tables of any size with known boxes, by name: planted-<rows>x<features>.
PLANTED = re.compile(r"planted-(\d+)x(\d+)")
#: Rows of the fit that warms a process up.
WARM_ROWS = 300
#: Prediction is timed so often, and the median taken, unless it is slow.
N_PREDICTIONS, SLOW_SECONDS = 5, 0.5


class Split(NamedTuple):
    """Training rows, held-out rows, and whether each is of the class (1) or not (0)."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


@lru_cache(maxsize=2)
def table(name: str, folder: str | None = None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Load a table as numbers, with its classes as text."""
    planted = PLANTED.fullmatch(name)
    if planted is not None:
        X, hit, _ = planted_boxes(int(planted[1]), int(planted[2]))
        return X, hit.astype(str)
    frame, classes = load_dataset(name, folder)
    return as_numbers(frame), np.asarray(classes).astype(str)


def split_rows(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Split:
    """Split as anyone can with scikit-learn."""
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(X, y, test_size=HELD_OUT, stratify=y, random_state=seed)
    return Split(X, y, X_test, y_test)


def load_split(cell: Cell, folder: str | None = None) -> Split:
    """Give the rows of a cell."""
    X, classes = table(cell.data, folder)
    y = (classes == cell.label).astype(np.int64)
    if not y.any():
        raise ValueError(f"{cell.data} has no class {cell.label!r}")
    return split_rows(X, y, cell.seed)


def warm_up(cell: Cell, model: Model, split: Split) -> None:
    """Load and compile what the model needs, outside of any time that is taken."""
    few = slice(0, WARM_ROWS)
    with suppress(Exception):  # some cannot learn from so few rows; if not from any, the cell will say so
        model.make(cell.seed, **cell.params).fit(split.X[few], split.y[few]).predict(split.X_test[:2])


def measure(cell: Cell, model: Model, split: Split) -> tuple[Record, Record]:
    """Measure a cell; give the figures, which are the same every time, and what the clock says."""
    clock: Record = {"load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None}
    params, figures = dict(cell.params), Record()
    if cell.grid:
        begin = time.perf_counter()
        best = _search(cell, model, split)
        clock["search_seconds"] = time.perf_counter() - begin
        params |= best
        figures["best"] = best
    learner = model.make(cell.seed, **params)
    begin, processor = time.perf_counter(), time.process_time()
    learner.fit(split.X, split.y)
    clock["fit_seconds"] = time.perf_counter() - begin
    clock["fit_processor_seconds"] = time.process_time() - processor
    answers, clock["predict_seconds"] = _timed_answers(learner, split.X_test)
    figures |= _scores(split.y_test, answers)
    shape = model.shape(learner)
    if shape is not None:
        figures["boxes"], figures["conditions"] = map(int, shape)
    boxes = getattr(learner, "boxes_", None)
    if boxes is not None:
        figures["fidelity"] = float(np.mean(np.asarray(boxes.predict(split.X_test)) == answers))
    return figures, clock


def _search(cell: Cell, model: Model, split: Split) -> Record:
    """Choose settings of the grid by the best mean F1 over folds."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=cell.seed)
    learner = model.make(cell.seed, **cell.params)
    search = GridSearchCV(
        learner, dict(cell.grid), scoring="f1", cv=folds, refit=False, error_score="raise"
    ).fit(split.X, split.y)
    return dict(search.best_params_)


def _answers(learner: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(learner.predict(X)).astype(np.int64)


def _timed_answers(learner: Any, X: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    taken: list[float] = []
    while len(taken) < N_PREDICTIONS and sum(taken) < SLOW_SECONDS:
        begin = time.perf_counter()
        learner.predict(X)
        taken.append(time.perf_counter() - begin)
    return _answers(learner, X), float(np.median(taken))


def _scores(truth: NDArray[np.int64], answers: NDArray[np.int64]) -> Record:
    from sklearn.metrics import precision_recall_fscore_support

    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, answers, average="binary", zero_division=0.0
    )
    return {"f1": float(f1), "precision": float(precision), "recall": float(recall)}
