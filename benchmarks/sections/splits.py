"""Splits: the training rows and the held-out rows of one two-class task."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

Rows = pd.DataFrame | np.ndarray
#: Share of the rows of a real table that is held out.
HELD_OUT = 0.3


class Split(NamedTuple):
    """Training rows, held-out rows, and which of them are of the class."""

    X: Rows
    y: np.ndarray
    X_test: Rows
    y_test: np.ndarray


def split_rows(X: Rows, classes: np.ndarray, label: object, seed: int, flips: float = 0.0) -> Split:
    """Split a table for one class against the rest, stratified.

    The share ``flips`` of the training rows gets a class drawn from all of them.
    """
    classes = np.asarray(classes)
    X, X_test, classes, held_out = train_test_split(
        X, classes, test_size=HELD_OUT, stratify=classes == label, random_state=seed
    )
    rng = np.random.default_rng(seed)
    wrong = rng.uniform(size=len(classes)) < flips
    return Split(X, np.where(wrong, rng.permutation(classes), classes) == label, X_test, held_out == label)
