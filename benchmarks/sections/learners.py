"""The learners that the accuracy benchmark puts side by side, each given a table in the form it takes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from hyperboxes import HyperNNClassifier


def make_learner(model: str, size: Any, seed: int, X: pd.DataFrame | np.ndarray) -> Any:
    """Make a learner by name, for a table like X.

    ``size`` is the most boxes of ours, and half the most leaves of ``"tree"``: a box is cut out by several
    leaves. The others have no size.
    """
    if model == "hypernn":
        return HyperNNClassifier(n_boxes=size, random_state=seed)
    if model == "boosting":
        return HistGradientBoostingClassifier(random_state=seed)
    leaves = 2 * size if model == "tree" else None
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
    return tree if isinstance(X, np.ndarray) else make_pipeline(_one_hot(), tree)


def _one_hot() -> Any:
    """Give trees a column for each category; they read no text."""
    categories = make_column_selector(dtype_include="category")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((encoder, categories), remainder="passthrough")


def timed_fit(learner: Any, X: pd.DataFrame | np.ndarray, y: np.ndarray) -> float:
    """Fit; give the seconds."""
    begin = time.perf_counter()
    learner.fit(X, y)
    return time.perf_counter() - begin


def shape_of(model: HyperNNClassifier) -> dict[str, int]:
    """Count boxes and their conditions."""
    return {"boxes": len(model.boxes_), "conditions": int(model.boxes_.n_conditions)}
