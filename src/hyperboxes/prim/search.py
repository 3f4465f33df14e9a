"""One box at a time on ranked rows: peel, paste, drop what does not pay, centre the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..crisp import Limits
from ..kernels import prim as kernels
from .ranks import Bools, Floats, Ints, RankBox, Ranks
from .settings import Settings

Units = NDArray[np.signedinteger]
#: Sums of weights and targets stay below this, so that float64 holds them exactly.
LARGEST_SUM = 2.0**52
#: Below this they fit into four bytes, and so do the counts of every cell.
LARGEST_SHORT_SUM = 2**31 - 1
#: Below this, the counts of a cell fit into one byte.
LARGEST_IN_BYTE = 127
#: Fewest rows of a box by default, and the share of the positives that is enough.
LEAST_ROWS, ENOUGH_POSITIVES = 10, 1 / 3

#: How often bounds are gone through to centre them; two or three times are enough on real tables.
MOST_SWEEPS = 20


@dataclass(frozen=True)
class Target:
    """What is sought: row weights and weighted targets as integers.

    ``units`` has shape (n_samples, 2). A row of weight w and target y stands for ``units[i, 0] * unit ==
    w`` and ``units[i, 1] * target_unit == w * (y - centre)``: exactly where both are whole numbers, to
    about ten digits else.
    """

    units: Units
    unit: float
    target_unit: float
    centre: float
    binary: bool

    @classmethod
    def from_data(cls, y: Floats, weight: Floats) -> Target:
        """Round weights and targets to integers."""
        whole, unit = _to_integers(weight)
        if ((y == 0) | (y == 1)).all():  # a positive's target is its weight, to the last bit
            return cls(_short(np.stack([whole, whole * (y == 1)], axis=1)), unit, unit, 0.0, binary=True)
        centre = 0.0 if (y == np.rint(y)).all() else float(np.average(y, weights=weight))
        sums, target_unit = _to_integers(weight * (y - centre))
        return cls(_short(np.stack([whole, sums], axis=1)), unit, target_unit, centre, binary=False)

    def mass(self, sums: Ints) -> Floats:
        """Give weights from sums of units, shape (…, 2)."""
        return np.asarray(sums[..., 0] * self.unit)

    def mean(self, sums: Ints) -> Floats:
        """Give the mean target from sums of units; NaN of no rows."""
        out = np.full(sums.shape[:-1], np.nan)
        np.divide(sums[..., 1] * self.target_unit, sums[..., 0] * self.unit, out=out, where=sums[..., 0] > 0)
        return out + self.centre


def _to_integers(numbers: Floats) -> tuple[Ints, float]:
    """Round numbers to multiples of a power of two that is small enough not to matter; give it too."""
    size = float(np.abs(numbers).sum())
    if (numbers == np.rint(numbers)).all() and size < LARGEST_SUM:
        return numbers.astype(np.int64), 1.0
    unit = float(2.0 ** np.ceil(np.log2(size / LARGEST_SUM)))
    return np.rint(numbers / unit).astype(np.int64), unit


def _short(units: Ints) -> Units:
    return units.astype(np.int32) if _column_sums(np.abs(units)).max() <= LARGEST_SHORT_SUM else units


def _column_sums(units: Units) -> Ints:
    """Sum weights and targets, one after the other: numpy sums two columns together several times slower."""
    return np.array([units[:, k].sum(dtype=np.int64) for k in range(2)])


@dataclass(frozen=True)
class Path:
    """A start box and the steps that lead on from it: (feature, what moved, where to).

    ``sums`` has the weight and target of the start and of the box after each step, in units. For peels,
    ``leaves`` has the number of the first box that no longer holds each row.
    """

    start: RankBox
    steps: Ints
    sums: Ints
    leaves: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sums)

    def sums_over(self, units: Units, rows: Ints) -> Ints:
        """Give the sums of each box over rows that peels passed by."""
        leaves = self.leaves[rows]
        out = np.empty((len(self), 2), np.int64)
        for k in range(2):
            gone = np.bincount(leaves, units[rows, k], minlength=len(self) + 1)
            # Whole numbers below 2**53: float64 adds them without rounding.
            out[:, k] = (gone.sum() - np.cumsum(gone))[: len(self)]
        return out


@dataclass(frozen=True)
class Search:
    """What a search for boxes works on: ranked rows, the target, and what may be asked."""

    ranks: Ranks
    target: Target
    settings: Settings
    limits: Limits

    @cached_property
    def total(self) -> Ints:
        """Weight and target of all rows, in units."""
        return _column_sums(self.target.units)

    @cached_property
    def base(self) -> float:
        """Mean target of all rows, in units."""
        mass, total = self.total.tolist()
        return float(total / mass)

    @cached_property
    def row(self) -> float:
        """Weight that counts as one row, in units.

        One; but the mean of weights that sum to less than the number of rows, say to 1: they say what rows
        are worth to each other, not how many there are.
        """
        mass = float(self.total[0])
        n_rows = int(np.count_nonzero(self.target.units[:, 0]))
        return min(1 / self.target.unit, mass / max(1, n_rows))

    @cached_property
    def min_support(self) -> float:
        """Fewest rows in a box, in units of weight."""
        asked, (mass, positives) = self.settings.min_support, self.total.tolist()
        if asked is not None:
            return float(asked * mass) if asked < 1 else asked * self.row
        enough = positives if self.target.binary else mass
        return float(min(LEAST_ROWS * self.row, ENOUGH_POSITIVES * enough))

    @cached_property
    def price(self) -> float:
        """What a condition must earn, in the units of the criterion."""
        asked, (mass, total) = self.settings.condition_price * self.row, self.total.tolist()
        if self.settings.criterion == "f1":
            return float(asked / (2 * total))
        if self.settings.criterion == "wracc":  # a row is worth a standard deviation of the target
            weight, sums = self.target.units.astype(np.float64).T
            return float(
                asked * np.sqrt(max(0.0, np.sum(sums**2 / np.maximum(weight, 1)) / mass - self.base**2))
            )
        return 0.0

    def value(self, sums: Ints, earlier: Ints) -> Floats:
        """Give the criterion of boxes with the given sums, together with earlier ones."""
        mass, total = np.moveaxis(sums + earlier, -1, 0)
        if self.settings.criterion == "f1":
            return np.asarray(2 * total / (mass + self.total[1]))
        if self.settings.criterion == "wracc":
            return np.asarray(total - mass * self.base)
        return np.asarray(sums[..., 1] / np.maximum(sums[..., 0], 1))

    @cached_property
    def in_bytes(self) -> bool:
        """Whether the counts of every cell fit into a byte.

        Peels and pastes jump between cells, so they go by how many lie in the processor's cache: in bytes, a
        table of 100,000 rows and 20 features without ties is peeled in half the time.
        """
        largest = int(np.abs(self.target.units).max(initial=0))
        return largest * self.ranks.most_equal <= LARGEST_IN_BYTE

    def _narrow(self, units: Units) -> Units:
        """Give the units in the type that kernels are to count in."""
        return units.astype(np.int8) if self.in_bytes else units

    def _kinds(self) -> tuple[Ints, Bools, Ints]:
        return self.ranks.n_values, self.ranks.unordered, self.ranks.first_level

    def peel(self, units: Units, rows: Ints, min_support: float) -> Path:
        """Peel from the whole table; rows without units are passed by but followed."""
        ranks, settings = self.ranks, self.settings
        leaves = np.zeros(len(units), np.int32)
        start = ranks.whole()
        mass, total = self.total.tolist()
        most = len(ranks.n_values) if settings.max_features is None else settings.max_features
        steps, sums = kernels.peel(
            ranks.codes, self._narrow(units), rows, *self._kinds(), ranks.named,
            self.limits.may_low, self.limits.may_high, *start.copy(),
            settings.peel_fraction, max(1.0, min_support),
            kernels.OBJECTIVES.index(settings.objective), total / mass, total, most, leaves,
        )  # fmt: skip
        return Path(start, steps, sums, leaves)

    def paste(self, box: RankBox, rows: Ints) -> Path:
        """Paste from a box while its mean rises."""
        steps, sums = kernels.paste(
            self.ranks.codes, self._narrow(self.target.units), rows, *self._kinds(), *box.copy(),
            self.settings.paste_fraction,
        )  # fmt: skip
        return Path(box, steps, sums, np.zeros(0, np.int32))

    def loosen(self, box: RankBox, rows: Ints, earlier: Ints) -> Path:
        """Open sides of a box that do not pay their price."""
        criterion = kernels.OBJECTIVES.index(self.settings.criterion)
        opened, sums = kernels.loosen(
            self.ranks.codes, self.target.units, rows, *self._kinds(), *box.copy(), criterion,
            self.base, int(self.total[1]), earlier, self.price,
        )  # fmt: skip
        return Path(box, opened, sums, np.zeros(0, np.int32))

    def centre(self, box: RankBox, rows: Ints) -> RankBox:
        """Move bounds to the middle of the gap between the rows they separate; the box holds the same rows.

        The feature that alone keeps out the most comes first: the order of columns hardly matters. A bound
        that moves may leave another's row to that one alone, so they are gone through until all rest.
        """
        sole = self.ranks.sole_violations(box, rows)
        alone = rows[sole >= 0]
        kept_out = np.bincount(sole[sole >= 0], self.target.units[alone, 0], minlength=len(box.open))
        order = np.argsort(-kept_out, kind="stable")
        centred = box.copy()
        kernels.centre(self.ranks.codes, rows, order[~box.open[order]], *self._kinds(), *centred, MOST_SWEEPS)
        return centred

    def n_conditions(self, box: RankBox) -> int:
        """Count what a box asks: closed sides and category sets."""
        sides = (box.low > 0).astype(int) + (box.high < self.ranks.n_values - 1)
        asked = np.where(self.ranks.named | (sides == 0), 1, sides)
        return int(asked[~box.open].sum())


def boxes_of_moves(ranks: Ranks, path: Path, widening: bool) -> list[RankBox]:
    """Give the boxes of a path of peels, or of pastes if ``widening``."""
    box = path.start
    boxes = [box]
    for feature, what, place in path.steps.tolist():
        box = box.copy()
        if what == kernels.LEVEL:
            box.allowed[ranks.first_level[feature] + place] = widening
        else:
            (box.low if what == kernels.LOW else box.high)[feature] = place
        box.open[feature] = widening and _is_whole(ranks, box, feature)
        boxes.append(box)
    return boxes


def boxes_of_drops(ranks: Ranks, path: Path) -> list[RankBox]:
    """Give the boxes of a path of opened sides."""
    box = path.start
    boxes = [box]
    for feature, lower, upper in path.steps.tolist():
        box = box.copy()
        if ranks.unordered[feature]:
            begin = int(ranks.first_level[feature])
            box.allowed[begin : begin + int(ranks.n_values[feature])] = True
        if lower:
            box.low[feature] = 0
        if upper:
            box.high[feature] = ranks.n_values[feature] - 1
        box.open[feature] = _is_whole(ranks, box, feature)
        boxes.append(box)
    return boxes


def _is_whole(ranks: Ranks, box: RankBox, feature: int) -> bool:
    begin, n_values = int(ranks.first_level[feature]), int(ranks.n_values[feature])
    if ranks.unordered[feature]:
        return bool(box.allowed[begin : begin + n_values].all())
    return bool(box.low[feature] == 0 and box.high[feature] == n_values - 1)
