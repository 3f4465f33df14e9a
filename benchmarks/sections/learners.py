"""The learners that the accuracy benchmark puts side by side, each given a table in the form it takes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from hyperboxes import HyperNNClassifier

from .cells import Cell, Record
from .splits import Rows, Split


def make_learner(cell: Cell, X: Rows) -> Any:
    """Make the learner of a cell, for a table like X.

    The size of a cell is the most boxes of ours, and half the most leaves of ``"tree"``: it takes several
    leaves to cut out a box. The others have no size.
    """
    if cell.model == "hypernn":
        return HyperNNClassifier(n_boxes=cell.size, random_state=cell.seed)
    if cell.model == "boosting":
        return HistGradientBoostingClassifier(random_state=cell.seed)
    leaves = 2 * cell.size if cell.model == "tree" else None
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=cell.seed)
    return tree if isinstance(X, np.ndarray) else make_pipeline(_one_hot(), tree)


def _one_hot() -> Any:
    """Give trees a column for each category; they read no text."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    categories = make_column_selector(dtype_include="category")
    return make_column_transformer((encoder, categories), remainder="passthrough")


def timed_fit(learner: Any, X: Rows, y: np.ndarray) -> Record:
    """Fit; give the seconds, and the shape of a model that is boxes."""
    begin = time.perf_counter()
    learner.fit(X, y)
    record: Record = {"seconds": time.perf_counter() - begin}
    boxes = getattr(getattr(learner, "best_estimator_", learner), "boxes_", None)
    if boxes is not None:
        record |= {"boxes": len(boxes), "conditions": int(boxes.n_conditions)}
    return record


def fit_and_score(learner: Any, split: Split) -> Record:
    """Fit a two-class task; give F1 on held-out rows and on training rows too."""
    record = timed_fit(learner, split.X, split.y)
    record["f1"] = float(f1_score(split.y_test, learner.predict(split.X_test)))
    record["train_f1"] = float(f1_score(split.y, learner.predict(split.X)))
    return record
