"""PRIM, the Patient Rule Induction Method: boxes peeled off a table, a few rows at a time."""

from __future__ import annotations

from .fit import PrimFit, fit_prim
from .settings import PAPER, Settings
from .trajectory import Trajectory

__all__ = ["PAPER", "PrimFit", "Settings", "Trajectory", "fit_prim"]
