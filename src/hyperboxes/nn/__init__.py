"""Boxes by gradient: a torch layer, its formulas, and the training of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

#: Public name -> module that defines it. Loaded on first use: what needs no torch does not load it.
_HOMES = {
    "BoxCount": "objective",
    "BoxLayer": "module",
    "BoxSize": "objective",
    "CheckpointError": "checkpoint",
    "CheckpointWarning": "checkpoint",
    "ConditionCount": "objective",
    "Cosine": "schedules",
    "Geometric": "schedules",
    "History": "run",
    "NonFiniteError": "run",
    "Steps": "schedules",
    "TrainingWarning": "run",
    "functional": "functional",
    "paper_settings": "schedules",
    "train": "training",
}

__all__ = [
    "BoxCount", "BoxLayer", "BoxSize", "CheckpointError", "CheckpointWarning", "ConditionCount", "Cosine",
    "Geometric", "History", "NonFiniteError", "Steps", "TrainingWarning", "functional", "paper_settings",
    "train",
]  # fmt: skip

if TYPE_CHECKING:
    from . import functional
    from .checkpoint import CheckpointError, CheckpointWarning
    from .module import BoxLayer
    from .objective import BoxCount, BoxSize, ConditionCount
    from .run import History, NonFiniteError, TrainingWarning
    from .schedules import Cosine, Geometric, Steps, paper_settings
    from .training import train


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f".{_HOMES[name]}", __name__)
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
