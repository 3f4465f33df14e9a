"""Estimators: the scikit-learn face of each learner."""

from __future__ import annotations

from ._base import BoxClassifier
from ._fmm import FMMClassifier, RandomHyperboxesClassifier
from ._hypernn import HyperNNClassifier
from ._prim import PRIMClassifier, PRIMRegressor

__all__ = [
    "BoxClassifier",
    "FMMClassifier",
    "HyperNNClassifier",
    "PRIMClassifier",
    "PRIMRegressor",
    "RandomHyperboxesClassifier",
]
