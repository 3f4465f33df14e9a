"""Pictures of boxes, in scikit-learn's Display idiom: ``from_boxes`` or ``from_estimator`` draws one."""

from ._boxes import BoxesDisplay
from ._history import HistoryDisplay
from ._intervals import IntervalsDisplay
from ._pairs import PairsDisplay
from ._parallel import ParallelDisplay
from ._quality import QualityDisplay
from ._style import COLOURS
from ._trajectory import BoundsDisplay, TradeOffDisplay

__all__ = [
    "COLOURS",
    "BoundsDisplay",
    "BoxesDisplay",
    "HistoryDisplay",
    "IntervalsDisplay",
    "PairsDisplay",
    "ParallelDisplay",
    "QualityDisplay",
    "TradeOffDisplay",
]
