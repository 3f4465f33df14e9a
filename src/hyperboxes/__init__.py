"""Classifiers you can read: a handful of axis-aligned boxes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Public name -> module that defines it. Loaded on first use, so that importing the package is cheap.
_HOMES = {
    "Boxes": "boxes",
    "Condition": "conditions",
    "FMMClassifier": "estimators",
    "HyperNNClassifier": "estimators",
    "ModelFormatError": "model_file",
    "PRIMClassifier": "estimators",
    "PRIMRegressor": "estimators",
    "RandomHyperboxesClassifier": "estimators",
    "explore": "page",
    "read_model": "model_file",
    "report": "page",
    "representatives": "central",
    "round_bounds": "rounding",
    "Search": "retrieval",
    "search": "retrieval",
    "write_model": "model_file",
}

__all__ = [
    "Boxes",
    "Condition",
    "FMMClassifier",
    "HyperNNClassifier",
    "ModelFormatError",
    "PRIMClassifier",
    "PRIMRegressor",
    "RandomHyperboxesClassifier",
    "Search",
    "__version__",
    "explore",
    "read_model",
    "report",
    "representatives",
    "round_bounds",
    "search",
    "write_model",
]

if TYPE_CHECKING:
    from .boxes import Boxes
    from .central import representatives
    from .conditions import Condition
    from .estimators import (
        FMMClassifier,
        HyperNNClassifier,
        PRIMClassifier,
        PRIMRegressor,
        RandomHyperboxesClassifier,
    )
    from .model_file import ModelFormatError, read_model, write_model
    from .page import explore, report
    from .retrieval import Search, search
    from .rounding import round_bounds


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
