"""PRIM, the Patient Rule Induction Method: boxes peeled off a table, a few rows at a time."""

from __future__ import annotations

from .fit import PrimFit, fit_prim, trade_off
from .resampling import Resampling, resample
from .rotation import Rotation, fit_rotation
from .settings import PAPER, Settings
from .trajectory import Trajectory

__all__ = [
    "PAPER",
    "PrimFit",
    "Resampling",
    "Rotation",
    "Settings",
    "Trajectory",
    "fit_prim",
    "fit_rotation",
    "resample",
    "trade_off",
]
