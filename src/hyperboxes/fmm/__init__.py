"""The fuzzy min-max family: boxes that grow row by row and answer by highest membership."""

from __future__ import annotations

from .fit import Fit, Settings, fit_fmm
from .network import Network, Space
from .rows import Rows, intervals
from .variants import VARIANTS, Variant

__all__ = ["VARIANTS", "Fit", "Network", "Rows", "Settings", "Space", "Variant", "fit_fmm", "intervals"]
