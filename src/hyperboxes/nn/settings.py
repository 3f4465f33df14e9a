"""Settings: the constants of the training recipe, one set for all data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

#: Rows up to which a table is small.
SMALL_TABLE = 300
StartKind = Literal["clusters", "rank_clusters", "tree", "random"]


@dataclass(frozen=True)
class Settings:
    """How boxes are learned; none of it depends on the data at hand.

    Parameters
    ----------
    starts : tuple of {"clusters", "rank_clusters", "tree", "random"}
        Starts that are trained, polished and pooled; ``"random"`` is the paper's.
    polish : bool
        Whether crisp search follows the gradient stage.
    n_steps, batch_size : int
        Gradient steps of each start, and rows per step (all rows if there are no more).
    least_positive_share : float
        Least share of positives in a batch.
    learning_rate, last_learning_rate : float
        Adam's rate, falling along a cosine.
    boundary_temperature, last_boundary_temperature : float
        How soft a face is on a small table, in scaled units, falling geometrically; see ``temperatures``.
    jitter, jitter_copies, max_jittered_rows, max_jittered_cells
        Noise of the blurred copies is ``jitter * n ** -0.2`` standard deviations; at most so many copies
        of each row, and rows and about so many cells in all.
    max_rows : int
        Rows used for learning; a larger table is thinned out by class.
    condition_price, box_price : float
        What a condition and a box must earn, in rows put right; a fifth of it beside rows that teachers
        have answered.
    min_support : float
        Least weight of the rows in a box; below 1, as a share of all.
    """

    starts: tuple[StartKind, ...] = ("clusters", "rank_clusters", "tree")
    polish: bool = True
    n_steps: int = 300
    batch_size: int = 1024
    least_positive_share: float = 0.25
    learning_rate: float = 0.04
    last_learning_rate: float = 0.001
    boundary_temperature: float = 0.9
    last_boundary_temperature: float = 0.15
    jitter: float = 0.7
    jitter_copies: int = 30
    max_jittered_rows: int = 60_000
    max_jittered_cells: int = 40_000_000
    max_rows: int = 100_000
    condition_price: float = 0.3
    box_price: float = 1.0
    min_support: float = 0.0

    def temperatures(self, n_rows: int) -> tuple[float, float]:
        """Give the first and the last temperature of a table of so many rows.

        The more rows, the better a bound is known and the sharper it may be: by their square root, between
        the few hundred rows of a small table and the few thousand from which on a third is enough.
        """
        sharpness = min(max(math.sqrt(SMALL_TABLE / max(n_rows, 1)), 1 / 3), 1.0)
        return self.boundary_temperature * sharpness, self.last_boundary_temperature * sharpness
