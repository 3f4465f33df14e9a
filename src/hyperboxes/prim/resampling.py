"""How reproducible a box is: the same search on bootstrap samples of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..boxes import Boxes
from ..kernels._threads import run
from ..tables import Table, read_table
from .data import read_target, read_weight
from .fit import chosen_boxes, cover, drop_weightless
from .ranks import Ranks
from .settings import Settings, default_settings
from .trajectory import Trajectory

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Resampling:
    """Boxes found in bootstrap samples, and what they agree on.

    Parameters
    ----------
    boxes : Boxes
        The first box of each sample in which one was found.
    n_samples : int
        Number of bootstrap samples.
    precision, recall : ndarray of shape (n_boxes,)
        Figures of each box on all rows: mean of the target, and share of the class (NaN for a number).
    """

    boxes: Boxes
    n_samples: int
    precision: Floats
    recall: Floats

    @property
    def frequency(self) -> dict[str, float]:
        """Share of the samples in which each feature is restricted, most frequent first."""
        share = self.boxes.restricted.sum(axis=0) / self.n_samples
        order = np.argsort(-share, kind="stable")
        return {self.boxes.feature_names[j]: float(share[j]) for j in order}

    def interval(self, feature: str, level: float = 0.95) -> tuple[tuple[float, float], tuple[float, float]]:
        """Give intervals of the lower and of the upper bound of a numeric feature.

        Percentiles over the samples; in one that leaves a side open, the bound lies at infinity.
        """
        if feature not in self.boxes.feature_names or feature in self.boxes.categories:
            numeric = [name for name in self.boxes.feature_names if name not in self.boxes.categories]
            raise ValueError(f"no numeric feature {feature!r}; these are {numeric}")
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        column = self.boxes.feature_names.index(feature)
        ends = [(1 - level) / 2, (1 + level) / 2]
        intervals = []
        for bounds in (self.boxes.lower[:, column], self.boxes.upper[:, column]):
            # Values that occur: between two of them, one may be infinite.
            low, high = np.quantile(bounds, ends, method="nearest") if len(bounds) else (np.nan, np.nan)
            intervals.append((float(low), float(high)))
        return intervals[0], intervals[1]

    def __str__(self) -> str:
        lines = [f"{self.n_samples} bootstrap samples, a box found in {self.boxes.n_boxes}"]
        for name, share in self.frequency.items():
            if share == 0:
                continue
            line = f"{name}: restricted in {100 * share:.0f} %"
            if name not in self.boxes.categories:
                (a, b), (c, d) = self.interval(name)
                line += f"; lower bound {a:.4g} to {b:.4g}, upper bound {c:.4g} to {d:.4g}"
            lines.append(line)
        return "\n".join(lines)


def resample(
    X: ArrayLike | Table,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_samples: int = 100,
    settings: Settings | None = None,
    seed: int = 0,
) -> Resampling:
    """Look for one box in bootstrap samples of a table.

    Rows are drawn with replacement, as often as there are rows; a row drawn twice weighs twice, so the
    table is ranked once for all samples. Parameters are those of ``fit_prim``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperboxes.prim import resample
    >>> X = np.random.default_rng(0).uniform(size=(300, 3))
    >>> found = resample(X, X[:, 1] > 0.6, n_samples=20)
    >>> max(found.frequency, key=found.frequency.get)
    'x1'
    """
    table = X if isinstance(X, Table) else read_table(X)
    n_rows = len(table.matrix)
    target, weight = read_target(y, n_rows), read_weight(sample_weight, n_rows)
    if n_samples < 1:
        raise ValueError(f"n_samples must be 1 or more, got {n_samples!r}")
    table, target, weight = drop_weightless(table, target, weight)
    binary = bool(((target == 0) | (target == 1)).all())
    settings = settings or default_settings(binary)
    ranks = Ranks.from_table(table)
    children = np.random.SeedSequence(seed).spawn(n_samples)

    def draw(child: np.random.SeedSequence) -> list[Trajectory]:
        times = np.random.default_rng(child).multinomial(len(target), np.full(len(target), 1 / len(target)))
        return cover(
            ranks, target, weight * times, n_boxes=1, settings=settings, limits=None, seed=seed, label=True
        )

    found = [trajectory for one in run(draw, children) for trajectory in one]
    boxes = chosen_boxes(table, found, np.array([False, True]), False)
    if not found:
        nothing = np.zeros(0)
        return Resampling(boxes, n_samples, nothing, nothing)
    # Judged together, as the points of one trajectory.
    judged = replace(found[0], boxes=boxes).evaluate(table.matrix, target, weight)
    return Resampling(boxes, n_samples, judged.precision, judged.recall)
