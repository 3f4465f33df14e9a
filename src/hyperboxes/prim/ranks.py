"""Ranks: a table as places among the values of each column, and places back as bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning import snap
from ..boxes import Boxes
from ..kernels import prim as kernels
from ..kernels._threads import n_threads, run
from ..kernels.ranking import rank
from ..tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
#: Most columns copied out of a row-major table together: as many cells as the processor fetches at once.
COLUMNS_AT_ONCE = 8
#: Integer columns are ranked by counting if their range is at most this many times the number of rows.
COUNTED_RANGE = 4
#: Cells that are looked at first to tell whether a column holds integers.
FIRST_LOOK = 64

#: Columns whose values have more rows than this on average are not counted: one cell is full anyway.
FEW_EQUAL = 128


class RankBox(NamedTuple):
    """One box in ranks; see ``kernels.prim``."""

    low: Ints
    high: Ints
    allowed: Bools
    open: Bools

    def copy(self) -> RankBox:
        """Give a copy that kernels may change."""
        return RankBox(self.low.copy(), self.high.copy(), self.allowed.copy(), self.open.copy())


@dataclass(frozen=True)
class Ranks:
    """A table whose cells are places among the distinct values of their column.

    ``codes`` has shape (n_features, n_samples); a missing value has the place behind the last value.
    ``examples[j][c]`` is a row that holds value c of column j. ``unordered`` marks columns that boxes
    restrict by sets rather than intervals, ``first_level`` where their levels begin in such sets.
    """

    table: Table
    codes: Int32s
    examples: tuple[Int32s, ...]
    n_values: Ints
    unordered: Bools
    first_level: Ints
    integer: Bools

    @classmethod
    def from_table(cls, table: Table) -> Ranks:
        """Rank every column, several at a time in threads."""
        X, names = table.matrix, table.feature_names
        n, d = X.shape
        codes = np.empty((d, n), np.int32)
        examples: list[Int32s] = [np.zeros(0, np.int32)] * d
        integer = np.zeros(d, bool)

        # As many parts for each thread, of about the same size.
        rounds = max(1, -(-d // (COLUMNS_AT_ONCE * n_threads())))
        width = max(1, -(-d // (rounds * n_threads())))

        def rank_columns(first: int) -> None:
            block = np.ascontiguousarray(X[:, first : first + width].T)
            for j, column in enumerate(block, start=first):
                known = table.categories.get(names[j])
                if known is not None:
                    codes[j] = np.where(np.isnan(column), len(known), column)
                    examples[j] = np.zeros(len(known), np.int32)
                else:
                    examples[j], integer[j] = _rank(column, codes[j])

        run(rank_columns, range(0, d, width))
        n_values = np.array([len(rows) for rows in examples], np.int64)
        unordered = np.array([name in table.categories and name not in table.ordered for name in names], bool)
        levels = np.where(unordered, n_values, 0)
        return cls(table, codes, tuple(examples), n_values, unordered, np.cumsum(levels) - levels, integer)

    @property
    def named(self) -> Bools:
        """Which columns are categorical, ordered or not."""
        return np.array([name in self.table.categories for name in self.table.feature_names], bool)

    @cached_property
    def most_equal(self) -> int:
        """Most rows that share one cell of a column, or more than that where it would take long to count."""
        n_rows: int = self.codes.shape[1]
        ties = self.n_values < n_rows  # else every row has a value of its own
        if (self.n_values[ties] * FEW_EQUAL < n_rows).any():
            return n_rows
        return max((int(np.bincount(column).max()) for column in self.codes[ties]), default=1)

    def whole(self) -> RankBox:
        """Give the box that restricts nothing."""
        d = len(self.n_values)
        n_levels = int(self.n_values[self.unordered].sum())
        return RankBox(np.zeros(d, np.int64), self.n_values - 1, np.ones(n_levels, bool), np.ones(d, bool))

    def sole_violations(self, box: RankBox, rows: Ints) -> Ints:
        """For each row the one feature that keeps it out of a box; -1 if none does, -2 if several do."""
        return np.asarray(
            kernels.sole_violations(self.codes, rows, self.n_values, self.unordered, self.first_level, *box)
        )

    def inside(self, box: RankBox, rows: Ints) -> Bools:
        """Tell which of the rows a box holds."""
        return np.asarray(self.sole_violations(box, rows) == -1)

    def value(self, feature: int, place: int) -> float:
        """Give a value of a column by its place."""
        return float(self.table.matrix[self.examples[feature][place], feature]) + 0.0  # never -0.0

    def bounds(self, feature: int, box: RankBox) -> tuple[float, float]:
        """Give what a box asks of a numeric feature, in table units.

        A bound is the shortest decimal between the values it separates. Where only missing values
        are kept out, the bound is the smallest value.
        """
        low, high, last = int(box.low[feature]), int(box.high[feature]), int(self.n_values[feature]) - 1
        lower, upper = -np.inf, np.inf
        if box.open[feature]:
            return lower, upper
        whole = bool(self.integer[feature])
        if low > 0:
            lower = snap(self.value(feature, low - 1), self.value(feature, low), whole, up=True)
        if high < last:
            upper = snap(self.value(feature, high), self.value(feature, high + 1), whole, up=False)
        if low == 0 and high == last:
            lower = self.value(feature, 0)
        return lower, upper

    def admitted(self, feature: int, box: RankBox) -> Bools:
        """Tell which categories a box admits."""
        n_values = int(self.n_values[feature])
        if box.open[feature]:
            return np.ones(n_values, bool)
        if self.unordered[feature]:
            begin = int(self.first_level[feature])
            return box.allowed[begin : begin + n_values].copy()
        place = np.arange(n_values)
        return np.asarray((place >= box.low[feature]) & (place <= box.high[feature]))

    def to_boxes(self, path: list[tuple[RankBox, int]], label: Any, default: Any) -> Boxes:
        """Give boxes in table units.

        ``path`` holds each box with the one feature in which it differs from the box before, -1 for
        one that differs anywhere.
        """
        names = self.table.feature_names
        shape = (len(path), len(names))
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        allowed = {
            name: np.ones((len(path), len(known)), bool) for name, known in self.table.categories.items()
        }
        for k, (box, changed) in enumerate(path):
            if changed >= 0:
                lower[k], upper[k] = lower[k - 1], upper[k - 1]
                for sets in allowed.values():
                    sets[k] = sets[k - 1]
            for j in range(len(names)) if changed < 0 else (changed,):
                if names[j] in allowed:
                    allowed[names[j]][k] = self.admitted(j, box)
                else:
                    lower[k, j], upper[k, j] = self.bounds(j, box)
        return Boxes(
            lower, upper, np.array([label] * len(path)), names, default,
            categories=self.table.categories, allowed=allowed,
        )  # fmt: skip

    def folds(self, rows: Ints, group: Ints, weight: Ints, n_folds: int, seed: int) -> Ints:
        """Give each row a number below ``n_folds``, each group evenly by weight.

        It depends on what the rows hold, not on their order: equal rows stay together, so that a weight of
        two is the row twice.
        """
        hashes = np.empty(len(rows), np.uint64)
        kernels.hash_rows(self.codes, rows, seed, hashes)
        fold = np.zeros(len(rows), np.int64)
        for label in np.unique(group):
            members = np.flatnonzero(group == label)
            _, same = np.unique(hashes[members], return_inverse=True)
            mass = np.bincount(same, weight[members])
            fold[members] = ((np.cumsum(mass) - mass) * n_folds // mass.sum())[same]
        return np.minimum(fold, n_folds - 1)


def _rank(column: Floats, codes: Int32s) -> tuple[Int32s, bool]:
    """Rank one column into ``codes``; give a row for each value, and whether all are integers."""
    missing = np.isnan(column)
    known = column[~missing] if missing.any() else column
    few = known[:FIRST_LOOK]  # enough to tell most columns that are not of integers
    integer = bool(len(few)) and bool((few == np.rint(few)).all()) and bool((known == np.rint(known)).all())
    if integer and known is column and np.ptp(column) <= COUNTED_RANGE * len(column):
        return _rank_by_counting(column, codes), integer
    examples = np.empty(len(column), np.int32)
    return examples[: rank(column, np.argsort(column), codes, examples)].copy(), integer


def _rank_by_counting(column: Floats, codes: Int32s) -> Int32s:
    """Rank integers of a small range: faster than sorting them."""
    place = (column - column.min()).astype(np.int32)
    example = np.full(int(place.max()) + 1, -1, np.int32)
    example[place] = np.arange(len(column), dtype=np.int32)
    present = example >= 0
    codes[:] = (np.cumsum(present) - 1)[place]
    return example[present]
