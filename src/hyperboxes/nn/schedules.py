"""How temperatures and learning rates move during training: pure functions of the epoch.

A schedule is called with the epoch, a fraction within an epoch of several batches, and the number of
epochs planned; so a resumed run needs no memory of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .objective import BoxSize

#: (epoch, max_epochs) -> (boundary temperature, union temperature)
Schedule = Callable[[float, int], tuple[float, float]]
#: (epoch, max_epochs) -> learning rate
RateSchedule = Callable[[float, int], float]


@dataclass(frozen=True)
class Geometric:
    """Lower both temperatures by the same factor every epoch, then hold them for a last share of epochs."""

    start: float = 0.5
    stop: float = 0.05
    hold: float = 0.1

    def __post_init__(self) -> None:
        if not (self.start > 0 and self.stop > 0 and 0 <= self.hold < 1):
            raise ValueError(f"temperatures must be positive and hold in [0, 1), got {self}")

    def __call__(self, epoch: float, max_epochs: int) -> tuple[float, float]:
        """Return start · (stop / start)^share, share being how much of the way is done."""
        share = min(1.0, epoch / (max_epochs * (1 - self.hold)))
        temperature = self.start * (self.stop / self.start) ** share
        return temperature, temperature


@dataclass(frozen=True)
class Steps:
    """Multiply both temperatures by ``factor`` every few epochs down to a floor; by default the paper's."""

    start: float = 1.0
    factor: float = 0.95
    every: int = 10
    floor: float = 0.02

    def __post_init__(self) -> None:
        if not (self.start > 0 and 0 < self.factor <= 1 and self.every >= 1 and self.floor > 0):
            raise ValueError(f"all four must be positive and factor at most 1, got {self}")

    def __call__(self, epoch: float, max_epochs: int) -> tuple[float, float]:
        """Return max(floor, start · factor^⌊epoch / every⌋)."""
        temperature = max(self.floor, self.start * self.factor ** (int(epoch) // self.every))
        return temperature, temperature


@dataclass(frozen=True)
class Cosine:
    """Lower the learning rate from ``start`` to ``stop`` along half a cosine."""

    start: float = 0.02
    stop: float = 0.001

    def __call__(self, epoch: float, max_epochs: int) -> float:
        """Return stop + (start − stop) · (1 + cos(π · epoch / max_epochs)) / 2."""
        return self.stop + (self.start - self.stop) * (1 + math.cos(math.pi * epoch / max_epochs)) / 2


@dataclass
class Plateau:
    """Multiply the learning rate by ``factor`` once the training loss has stalled for ``patience`` epochs.

    Improvement means falling below (1 − threshold) times the best loss; the rate never falls below
    ``minimum``. ``best`` and ``waited`` are its state.
    """

    factor: float = 0.1
    patience: int = 10
    threshold: float = 1e-4
    minimum: float = 0.0
    best: float = math.inf
    waited: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.factor < 1 and self.patience >= 0):
            raise ValueError(f"plateau needs a factor in (0, 1) and a patience of at least 0, got {self}")

    def update(self, loss: float) -> float:
        """Take an epoch's loss and return what to multiply the learning rate by."""
        if loss < self.best * (1 - self.threshold) or math.isinf(self.best):
            self.best, self.waited = loss, 0
            return 1.0
        self.waited += 1
        if self.waited <= self.patience:
            return 1.0
        self.waited = 0
        return self.factor


class PaperSettings(NamedTuple):
    """Keyword arguments for `BoxLayer` and for `train`."""

    layer: dict[str, Any]
    train: dict[str, Any]


def paper_settings(l1: float = 0.0, l2: float = 0.0) -> PaperSettings:
    """Give the paper's own recipe.

    Random start, lengths by absolute value, the smooth maximum over the minimum form, binary cross-entropy,
    Adam on the full batch, both temperatures from 1.0 by 0.95 every ten epochs down to 0.02, the learning
    rate lowered on plateaus, up to 10,000 epochs, and a patience of 200 on the loss of a hold-out, which the
    caller passes to `train` as ``validation``. The loss is watched at the temperature of its epoch, as
    published, although that temperature is part of its definition.

    Parameters
    ----------
    l1, l2 : float
        Penalties on the sum of side lengths and of their squares; 0.001 each in the published grid.

    Examples
    --------
    >>> paper = paper_settings()
    >>> paper.layer["width"], paper.train["patience"]
    ('absolute', 200)
    """
    return PaperSettings(
        layer={"membership": "min", "union": "smooth_max", "width": "absolute",
               "boundary_temperature": 1.0, "union_temperature": 1.0},
        train={"loss": "bce", "learning_rate": 0.1, "batch_size": None, "max_epochs": 10_000, "patience": 200,
               "monitor": "loss", "temperatures": Steps(),
               "plateau": {"factor": 0.1, "patience": 30, "minimum": 1e-5},
               "regularizers": (BoxSize(1.0, l1, l2),) if l1 or l2 else ()},
    )  # fmt: skip
