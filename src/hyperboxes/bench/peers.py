"""Models of other packages, each with the face of a scikit-learn classifier, imported where it is used."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Counted:
    """A model that says how many boxes and conditions it has."""

    n_boxes_: int
    n_conditions_: int


def counted_shape(model: Any) -> tuple[int, int] | None:
    """Give the boxes and conditions of such a model."""
    return model.n_boxes_, model.n_conditions_


class PublishedPrim(Counted):
    """The package ``prim``; boxes of which at least half of the rows are of the class count.

    It finds boxes until no rows are left, so that the last one is all the rest, whatever its precision.
    """

    def __init__(self, seed: int, least_precision: float = 0.5, **params: Any) -> None:
        self.least_precision = least_precision
        self.params = {"threshold": 0.5, "threshold_type": ">", **params}

    def fit(self, X: Floats, y: Ints) -> Self:
        """Find boxes until rows run out."""
        import pandas as pd
        import prim

        names = [f"x{column}" for column in range(X.shape[1])]
        found = prim.Prim(pd.DataFrame(X, columns=names), y, **self.params).find_all()
        self.limits_ = [
            [(names.index(name), float(row["min"]), float(row["max"])) for name, row in box.limits.iterrows()]
            for box in found
            if box.mean >= self.least_precision
        ]
        low, high = X.min(axis=0), X.max(axis=0)
        self.n_boxes_ = len(self.limits_)
        self.n_conditions_ = sum(
            (low[column] < least) + (most < high[column])
            for box in self.limits_
            for column, least, most in box
        )
        return self

    def predict(self, X: Floats) -> Ints:
        """Tell which rows lie in a box."""
        answers = np.zeros(len(X), bool)
        for box in self.limits_:
            inside = np.ones(len(X), bool)
            for column, least, most in box:
                inside &= (least <= X[:, column]) & (X[:, column] <= most)
            answers |= inside
        return answers.astype(np.int64)


class HyperboxBrain(Counted):
    """hyperbox-brain's fuzzy min-max network of Simpson, which needs features between 0 and 1."""

    def __init__(self, seed: int, theta: float = 0.3) -> None:
        self.theta = theta

    def fit(self, X: Floats, y: Ints) -> Self:
        """Present the rows once."""
        from hbbrain.numerical_data.incremental_learner.fmnn import FMNNClassifier
        from sklearn.preprocessing import MinMaxScaler

        self.scaler_ = MinMaxScaler(clip=True).fit(X)
        self.network_ = FMNNClassifier(theta=self.theta).fit(self.scaler_.transform(X), y)
        positive = int((np.asarray(self.network_.C) == 1).sum())
        self.n_boxes_, self.n_conditions_ = positive, positive * 2 * X.shape[1]
        return self

    def predict(self, X: Floats) -> Ints:
        """Give the class of highest membership."""
        return np.asarray(self.network_.predict(self.scaler_.transform(X)), dtype=np.int64)


class Ripper(Counted):
    """RIPPER of the package ``wittgenstein``."""

    def __init__(self, seed: int, **params: Any) -> None:
        self.seed, self.params = seed, params

    def fit(self, X: Floats, y: Ints) -> Self:
        """Grow, prune and optimise rules."""
        from wittgenstein import RIPPER

        self.model_ = RIPPER(random_state=self.seed, **self.params)
        self.model_.fit(X, y, pos_class=1)
        rules = self.model_.ruleset_.rules
        self.n_boxes_, self.n_conditions_ = len(rules), sum(len(rule.conds) for rule in rules)
        return self

    def predict(self, X: Floats) -> Ints:
        """Tell which rows a rule covers."""
        return np.asarray(self.model_.predict(X), dtype=np.int64)
