"""A table made ready for learning: canonical rows, scaled coordinates, bins and jittered copies."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ..binning import Binning
from ..boxes import Boxes
from ..crisp import BinBoxes, CrispTask, Limits
from ..kernels.columns import bin_weights, encode, extents, look_up
from ..kernels.crisp import MISSING
from ..kernels.rows import canonical_rows
from ..scaling import clipped_units, scaled, standardise
from ..tables import Table
from .answers import Answers, ask_teachers
from .categories import category_places, differ
from .settings import Settings

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: Scaled cells are clipped here: an outlier must not pull the gradient of every other row.
LARGEST_Z = 8.0
#: Width of a uniform distribution of variance one.
UNIFORM_WIDTH = math.sqrt(12)
#: A feature has heavy tails if its standard deviation is so many times what its middle nine tenths make it
#: seem, by the normal distribution's measure: 1.1 for an exponential distribution, 1.4 for a log-normal one.
HEAVY = 1.5
MIDDLE, NORMAL_MIDDLE = (0.05, 0.95), 3.29
#: Cells that are blurred at a time: noise takes eight times the room of the bins it ends in.
BLURRED_AT_ONCE = 1 << 20
#: Times that a row comes from which on it is shared out again, into about so many rows in all at most.
SEVERAL, MAX_SHARED = 3, 10_000
#: Missing cells of a feature from which on it may be asked whether there is a value, even if that alone says
#: nothing of the class.
MANY_MISSING = 40
#: How far beyond the data a side lies that starts open, in scaled units.
BEYOND_DATA = 0.5


@dataclass(frozen=True)
class Space:
    """One set of coordinates for the gradient stage.

    ``Z`` holds the rows; ``places`` where the bins of each feature lie, so that soft bounds can be
    read as bins.
    """

    Z: Floats32
    places: tuple[Floats, ...]

    @cached_property
    def reach(self) -> tuple[Floats32, Floats32]:
        """Where sides lie that start open."""
        lowest, highest = extents(self.Z)
        return (lowest - BEYOND_DATA).astype(np.float32), (highest + BEYOND_DATA).astype(np.float32)

    def to_bins(self, lower: Floats32, upper: Floats32) -> tuple[Ints, Ints]:
        """Give the first and last bin that bounds enclose; crossed where they enclose none."""
        first = np.zeros(lower.shape, np.int64)
        last = np.zeros(lower.shape, np.int64)
        for j, place in enumerate(self.places):
            if len(place) == 1:  # a constant cannot be missed, wherever its one bin is said to lie
                continue
            first[:, j] = np.searchsorted(place, lower[:, j], side="left")
            last[:, j] = np.searchsorted(place, upper[:, j], side="right") - 1
        return first, last


@dataclass(frozen=True)
class Features:
    """Rows as numbers, with what is derived from them once."""

    X: Floats
    weight: Floats
    binning: Binning
    categorical: Bools

    @cached_property
    def scaling(self) -> tuple[Floats, Floats]:
        """Weighted mean and standard deviation of each feature; 1 for a constant one."""
        return standardise(self.X, self.weight)

    def to_standard(self, X: Floats) -> Floats32:
        """Give standard deviations from the mean, clipped; a missing value lies at the mean."""
        return clipped_units(X, *self.scaling, LARGEST_Z)

    @cached_property
    def ranks(self) -> Floats:
        """Where the bins of each feature lie by rank, spread like a uniform variable of variance one."""
        mass = bin_weights(self.codes, self.weight)[:, :MISSING]
        middle = (np.cumsum(mass, axis=1) - mass / 2) / np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(UNIFORM_WIDTH * (middle - 0.5))

    @cached_property
    def heavy(self) -> list[int]:
        """Features with heavy tails, whose standard deviation is that of a few rows."""
        ends = [UNIFORM_WIDTH * (share - 0.5) for share in MIDDLE]
        found = []
        for j in np.flatnonzero((self.binning.n_bins > 2) & ~self.categorical).tolist():
            centres = self.binning.centres(j)
            at = np.searchsorted(self.ranks[j, : len(centres)], ends)
            low, high = centres[np.minimum(at, len(centres) - 1)] / NORMAL_MIDDLE
            if self.scaling[1][j] / HEAVY > high - low:
                found.append(j)
        return found

    @cached_property
    def standard_space(self) -> Space:
        """Coordinates in standard deviations from the mean; by rank where tails are heavy."""
        centre, scale = self.scaling
        places = [
            np.clip(scaled(self.binning.centres(j), centre[j], scale[j]), -LARGEST_Z, LARGEST_Z)
            if n_bins > 1
            else np.zeros(1)
            for j, n_bins in enumerate(self.binning.n_bins)
        ]
        Z = self.to_standard(self.X)
        for j in self.heavy:
            places[j] = self.ranks[j, : len(places[j])]
            Z[:, j] = self._by_rank(j)
        return Space(Z, tuple(places))

    def _by_rank(self, feature: int) -> Floats:
        """Give the place of each cell of a feature by rank; a missing value lies in the middle."""
        return np.asarray(np.append(self.ranks[feature], 0.0)[self.codes[feature]])

    @cached_property
    def rank_space(self) -> Space:
        """Coordinates by rank, spread like a uniform variable of variance one."""
        missing = np.zeros((len(self.ranks), 1))
        Z = look_up(self.codes, np.concatenate([self.ranks, missing], axis=1).astype(np.float32))
        return Space(Z, tuple(self.ranks[j, :n_bins] for j, n_bins in enumerate(self.binning.n_bins)))

    def forget_ranks(self) -> None:
        """Give back the room of the coordinates by rank, which only starts need; they can come again."""
        self.__dict__.pop("rank_space", None)

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """Bins of all cells, feature-major."""
        return self.binning.encode(self.X)

    def blurred_codes(self, spread: float, copies: int, seed: int) -> NDArray[np.uint8]:
        """Give the bins of the rows and of copies of them with noise, feature-major, copy after copy.

        ``spread`` is the noise in standard deviations, in ranks where tails are heavy; categories get none.
        """
        noise = np.random.default_rng(seed)
        width = np.where(self.categorical, 0.0, spread * self.scaling[1])
        by_rank = {j: self._by_rank(j) for j in self.heavy}
        n, n_features = self.X.shape
        codes = np.empty((n_features, n * (copies + 1)), np.uint8)
        codes[:, :n] = self.codes
        ruler = self.binning.ruler()
        step = max(BLURRED_AT_ONCE // max(n_features, 1), 1)
        for copy in range(1, copies + 1):
            for low in range(0, n, step):
                rows = slice(low, min(low + step, n))
                blurred = noise.standard_normal(self.X[rows].shape)
                moved = {j: place[rows] + spread * blurred[:, j] for j, place in by_rank.items()}
                blurred *= width
                with np.errstate(over="ignore"):
                    blurred += self.X[rows]
                part = encode(blurred, ruler)
                for j, place in moved.items():
                    ranks = self.ranks[j, : self.binning.n_bins[j]]
                    nearest = np.searchsorted((ranks[:-1] + ranks[1:]) / 2, place)
                    part[j] = np.where(self.codes[j, rows] == MISSING, MISSING, nearest)
                codes[:, copy * n + rows.start : copy * n + rows.stop] = part
        return codes


@dataclass(frozen=True)
class Problem:
    """Distinct rows with weights, in a canonical order.

    ``categorical`` marks columns of categories whose order means nothing.
    """

    X: Floats
    classes: Ints
    weight: Floats
    categorical: Bools
    settings: Settings
    seed: int

    @classmethod
    def from_table(
        cls, table: Table, classes: Ints, weight: Floats, settings: Settings, seed: int
    ) -> Problem:
        """Bring rows into canonical order, and thin out what exceeds ``max_rows``.

        Equal rows are merged, so that weights and repetitions are the same, and shared out again.
        """
        thin = partial(_quota, max_rows=settings.max_rows) if len(classes) > settings.max_rows else None
        index, merged, n_distinct = canonical_rows(table.matrix, classes, weight, thin)
        if merged.sum() < n_distinct:
            # Weights count rows; ones that sum to less (say, to 1) would make every price prohibitive.
            merged = merged * (n_distinct / merged.sum())
        unordered = table.categories.keys() - table.ordered
        categorical = np.array([name in unordered for name in table.feature_names], dtype=bool)
        shares = _shares(classes[index], merged)
        index, merged = np.repeat(index, shares), np.repeat(merged / shares, shares)
        X = np.ascontiguousarray(table.matrix[index])
        return cls(X, classes[index], merged, categorical, settings, seed)

    def fold(self, part: Bools) -> Problem:
        """Give some of the rows as a problem of their own."""
        X = np.ascontiguousarray(self.X[part])
        return replace(self, X=X, classes=self.classes[part], weight=self.weight[part])

    def fold_numbers(self, n_folds: int) -> Ints:
        """Give each row a fold from 0 to n_folds - 1 for cross-validation, each class evenly.

        Rows are in hash order, so every n-th one is a random sample that any copy of the table repeats.
        """
        numbers = np.zeros(len(self.classes), np.int64)
        for label in np.unique(self.classes):
            rows = np.flatnonzero(self.classes == label)
            numbers[rows] = np.arange(len(rows)) % n_folds
        return numbers

    @cached_property
    def features(self) -> Features:
        """Features as they are."""
        return Features(self.X, self.weight, Binning.from_data(self.X), self.categorical)

    @cached_property
    def blurred(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Codes of rows and copies, feature-major and row-major."""
        columns = self.features.blurred_codes(*self.blur, self.seed)
        return columns, np.ascontiguousarray(columns.T)

    @property
    def min_support(self) -> float:
        """Least weight of the rows in a box."""
        asked = self.settings.min_support
        return asked * float(self.weight.sum()) if asked < 1 else asked

    @property
    def blur(self) -> tuple[float, int]:
        """Noise and number of the copies: the more rows, the less of both."""
        n = max(len(self.X), 1)
        settings = self.settings
        copies = settings.max_jittered_rows // n - 1
        if copies > 0:  # of a wide table fewer, but one at least
            copies = min(copies, max(settings.max_jittered_cells // max(self.X.size, 1), 1))
        return settings.jitter * n**-0.2, int(np.clip(copies, 0, settings.jitter_copies))

    def for_class(self, target: int, limits: Limits, seed: int) -> ClassProblem:
        """Give the problem of one class against the rest."""
        return ClassProblem(self, target, limits, seed, self._category_orders(target))

    def _category_orders(self, target: int) -> dict[int, Ints]:
        """For each categorical column, the place of each category."""
        orders = {}
        hit = self.weight * (self.classes == target)
        base = hit.sum() / self.weight.sum()
        for column in np.flatnonzero(self.categorical):
            known = ~np.isnan(self.X[:, column])
            codes = self.X[known, column].astype(np.int64)
            size = int(codes.max(initial=0)) + 1
            hits, rows = np.bincount(codes, hit[known], size), np.bincount(codes, self.weight[known], size)
            orders[int(column)] = category_places(hits, rows, float(base))
        return orders


@dataclass(frozen=True)
class ClassProblem:
    """One class against the rest; unordered categories are ordered by the class's share."""

    problem: Problem
    target: int
    limits: Limits
    seed: int
    orders: dict[int, Ints]
    binning: Binning | None = None

    @cached_property
    def positive(self) -> Bools:
        """Which rows are of the class."""
        return np.asarray(self.problem.classes == self.target)

    @cached_property
    def features(self) -> Features:
        """Features with categories as places in the class's order, each place a bin of its own."""
        problem = self.problem
        if self.binning is not None:
            return Features(self.in_order(problem.X), problem.weight, self.binning, problem.categorical)
        shared = problem.features
        if not self.orders:
            return shared
        below, above = list(shared.binning.below), list(shared.binning.above)
        for column, place in self.orders.items():
            cuts = np.arange(place.max(initial=0), dtype=np.float64)
            below[column], above[column] = cuts, cuts + 1
        binning = replace(shared.binning, below=tuple(below), above=tuple(above))
        return replace(shared, X=self.in_order(shared.X), binning=binning)

    def in_order(self, X: Floats) -> Floats:
        """Put categories in the class's order; unseen ones count as missing."""
        if not self.orders:
            return X
        X = X.copy()
        for column, place in self.orders.items():
            codes = X[:, column]
            seen = (codes >= 0) & (codes < len(place))
            X[seen, column] = place[codes[seen].astype(np.int64)]
            X[~seen, column] = np.nan
        return X

    @cached_property
    def task(self) -> CrispTask:
        """Binned rows with blurred copies, on which crisp search scores boxes.

        Copies blur each row by a noise that shrinks with the number of rows, so that a bound is placed
        where it holds for neighbours of the data too. Their weights sum to the row's. With a binning of
        its own the problem is sharp: no copies.
        """
        problem = self.problem
        if self.binning is not None:
            return self._task_of(self.features.codes)
        if self.orders:
            return self.copies()
        return self._task_of(*problem.blurred)

    def copies(self) -> CrispTask:
        """Give rows with blurred copies, in the bins of this problem even if it is sharp."""
        return self._task_of(self.features.blurred_codes(*self.problem.blur, self.problem.seed))

    def _task_of(self, columns: NDArray[np.uint8], rows: NDArray[np.uint8] | None = None) -> CrispTask:
        """Give the task of binned rows, copy after copy; both are the same, feature-major and row-major."""
        problem, settings = self.problem, self.problem.settings
        if rows is None:
            rows = np.ascontiguousarray(columns.T)
        repeat = columns.shape[1] // len(self.positive)
        return CrispTask(
            columns, rows, np.tile(self.positive, repeat), np.tile(problem.weight, repeat) / repeat,
            self.features.binning.n_bins, problem.categorical, self.limits,
            settings.condition_price, settings.box_price, problem.min_support, self.seed,
            absence=self.absence,
        )  # fmt: skip

    @cached_property
    def absence(self) -> Bools:
        """Tell of which features boxes may ask whether there is a value.

        Where few cells are missing, some that happen to be of the class would be told by heart; unless a
        missing value speaks for the class or against it, beyond chance.
        """
        hit = self.problem.weight * self.positive
        base = float(hit.sum() / self.problem.weight.sum())
        missing = np.isnan(self.problem.X)
        counts = missing.sum(axis=0)
        asked = counts >= MANY_MISSING
        for j in np.flatnonzero(
            (counts > 0) & ~asked
        ).tolist():  # column by column: a matrix of floats is large
            rows = missing[:, j]
            asked[j] = differ(
                hit[rows].sum(keepdims=True), self.problem.weight[rows].sum(keepdims=True), base
            )
        return np.asarray(asked)

    @cached_property
    def answers(self) -> Answers:
        """What teachers say of rows that they have not seen, and of rows between neighbours."""
        return ask_teachers(self)

    def sharpened(self, boxes: BinBoxes) -> tuple[ClassProblem, BinBoxes]:
        """Give the problem without copies and with fine bins beside the bounds, and the boxes in these."""
        binning = self.features.binning.sharpened(self.features.X, *boxes)
        bounds = self.features.binning.data_bounds(*boxes)
        return replace(self, binning=binning), BinBoxes(*binning.to_bins(*bounds))

    def sharp(self) -> ClassProblem:
        """Give the problem without copies, every time the same: its rows are binned once."""
        return self if self.binning is not None else self._sharp

    @cached_property
    def _sharp(self) -> ClassProblem:
        sharp = replace(self, binning=self.features.binning)
        sharp.__dict__["features"] = self.features  # the same rows in the same bins: once is enough
        return sharp

    def turned(self, times: float = 1.0) -> ClassProblem:
        """Give the problem of the other one of two classes, where a row of this one counts so many times."""
        (other,) = np.unique(self.problem.classes[~self.positive]).tolist()
        weight = np.where(self.positive, times * self.problem.weight, self.problem.weight)
        return replace(self.problem, weight=weight).for_class(other, self.limits, self.seed)

    def without(self, rows: Bools) -> ClassProblem:
        """Give the problem without some rows, binned as here."""
        return replace(self, problem=self.problem.fold(~rows), binning=self.features.binning)

    def holdout_task(self, rows: Problem) -> CrispTask:
        """Bin other rows in the same way, to score boxes on them."""
        columns = self.features.binning.encode(self.in_order(rows.X))
        return replace(
            self.task, columns=columns, rows=np.ascontiguousarray(columns.T), weight=rows.weight,
            positive=np.asarray(rows.classes == self.target),
        )  # fmt: skip

    def to_bins(self, space: Space, lower: Floats32, upper: Floats32) -> BinBoxes:
        """Read soft bounds as intervals of the bins they enclose; a box that encloses none is dropped."""
        first, last = space.to_bins(lower, upper)
        alive = (first <= last).all(axis=1)
        return BinBoxes(*self.features.binning.normalise(first[alive], last[alive]))

    def from_boxes(self, boxes: Boxes) -> BinBoxes:
        """Read boxes in table units as bins; a set of categories becomes the interval that spans it."""
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        for name, allowed in boxes.allowed.items():
            column = boxes.feature_names.index(name)
            place = self.orders.get(column, np.arange(allowed.shape[1]))
            for box in np.flatnonzero(~allowed.all(axis=1)):
                places = place[np.flatnonzero(allowed[box][: len(place)])]
                if len(places):
                    lower[box, column], upper[box, column] = places.min(), places.max()
        return BinBoxes(*self.features.binning.to_bins(lower, upper))

    def soft_bounds(self, space: Space, boxes: BinBoxes) -> tuple[Floats32, Floats32]:
        """Place bins in the coordinates of a space, sides that are open just beyond the data."""
        low, high = space.reach
        lower, upper = np.empty(boxes.first.shape, np.float32), np.empty(boxes.first.shape, np.float32)
        for j, place in enumerate(space.places):
            edges = np.concatenate([[low[j]], (place[:-1] + place[1:]) / 2, [high[j]]])
            lower[:, j] = edges[np.minimum(boxes.first[:, j], len(place) - 1)]
            upper[:, j] = edges[np.minimum(boxes.last[:, j], len(place) - 1) + 1]
        return lower, upper


def _shares(classes: Ints, weight: Floats) -> Ints:
    """Tell into how many equal parts each row is shared out: as many as it comes, from ``SEVERAL`` on.

    What comes again and again is known, and folds must not make it unknown: left out as one, such rows would
    be guessed, and what is judged best would be what guesses best. Where most rows of a class weigh the
    same, that is what one weighs: weights of classes repeat no row, nor does thinning out.
    """
    times = weight.copy()
    for label in np.unique(classes):
        rows = classes == label
        usual = np.median(weight[rows])
        if 2 * (weight[rows] == usual).sum() > rows.sum():
            times[rows] /= usual
    times *= min(1.0, MAX_SHARED / max(float(times.sum()), 1.0))
    # A little more, so that sums of weights count alike however they are rounded.
    return np.where(times > SEVERAL - 1e-9, times + 1e-9, 1.0).astype(np.int64)


def _quota(counts: Ints, max_rows: int) -> Ints:
    """Share out about ``max_rows`` rows, to every class in proportion but rare ones whole."""
    present = max(1, int((counts > 0).sum()))
    share = np.ceil(counts * (max_rows / max(max_rows, counts.sum())))
    return np.maximum(share, np.minimum(counts, max_rows // (4 * present))).astype(np.int64)
