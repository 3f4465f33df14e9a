"""Binning: a table as small integers, and bin edges back as bounds a person would write."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .conditions import LEAST_NUMBER
from .kernels._threads import run
from .kernels.columns import Ruler, encode, ruler
from .kernels.crisp import MISSING

#: Most bins of a feature; codes are bytes and the last one stands for a missing value.
MAX_BINS = 250
#: Bins that a sharpened feature keeps for the stretches away from bounds.
COARSE_BINS = 64
#: A quarter gap below this is no longer a normal float64; such neighbours separate as they are.
SMALLEST_GAP = 1e-300

#: Arithmetic of our own for decimals: a caller may have set the precision or the traps of its thread.
DECIMALS = Context(prec=60, rounding=ROUND_HALF_EVEN, traps=[])

#: Positions to cut after, from (feature, sorted known cells, distinct values).
Cuts = Callable[[int, NDArray[np.float64], NDArray[np.float64]], NDArray[np.int64]]


@dataclass(frozen=True)
class Binning:
    """Bins of each feature, between values that occur in the data.

    Cut c of a feature lies between ``below[c]``, the largest value under it, and ``above[c]``, the
    smallest one over it; bin b holds the values from ``above[b - 1]`` to ``below[b]``.
    """

    below: tuple[NDArray[np.float64], ...]
    above: tuple[NDArray[np.float64], ...]
    integer: NDArray[np.bool_]

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Number of bins of each feature, missing values aside."""
        return np.array([len(cuts) + 1 for cuts in self.below], dtype=np.int64)

    @classmethod
    def from_data(cls, X: NDArray[np.float64], max_bins: int = MAX_BINS) -> Binning:
        """Cut each feature between distinct values; at quantiles where there are more than fit."""
        return cls._at_cuts(X, lambda j, known, values: _quantile_cuts(known, values, max_bins))

    def sharpened(self, X: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]) -> Binning:
        """Cut anew: finely in the two bins beside each bound of the given boxes, coarsely elsewhere.

        The bounds themselves stay cuts, so the boxes hold the same rows of ``X`` as before.
        """

        def cuts(j: int, known: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
            if len(values) <= MAX_BINS:
                return np.arange(max(len(values) - 1, 0))
            bounds = np.unique(np.concatenate([first[:, j] - 1, last[:, j]]))
            bounds = bounds[(bounds >= 0) & (bounds < len(self.below[j]))]
            coarse = _quantile_cuts(known, values, COARSE_BINS)
            if not len(bounds):
                return coarse
            # Each cut as a position among these values, which may lack those that it was made of.
            edge = np.searchsorted(values, np.concatenate([[-np.inf], self.below[j], [np.inf]]), "right") - 1
            fine = np.unique(np.concatenate([np.arange(edge[c], edge[c + 2]) for c in bounds]))
            kept = edge[bounds + 1]
            for more in (coarse, fine):
                more = np.setdiff1d(more, kept)
                room = min(MAX_BINS - 1 - len(kept), len(more))
                kept = np.concatenate([kept, more[np.arange(room) * len(more) // max(room, 1)]])
            kept = np.unique(kept)
            return kept[(kept >= 0) & (kept < len(values) - 1)]

        return self._at_cuts(X, cuts)

    @classmethod
    def at_thresholds(cls, X: NDArray[np.float64], thresholds: Sequence[NDArray[np.float64]]) -> Binning:
        """Cut each feature at the given numbers, where values lie on both sides."""

        def cuts(j: int, known: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
            at = np.unique(np.searchsorted(values, thresholds[j], side="right") - 1)
            return at[(at >= 0) & (at < len(values) - 1)]

        return cls._at_cuts(X, cuts)

    @classmethod
    def _at_cuts(cls, X: NDArray[np.float64], cuts: Cuts) -> Binning:
        def cut(j: int) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
            known = np.sort(X[:, j])
            known = known[: len(known) - np.isnan(known).sum()]  # missing ones come last
            values = known[np.concatenate([known[:1] == known[:1], known[1:] != known[:-1]])]
            at = cuts(j, known, values)
            return values[at], values[at + 1], bool(len(values)) and bool((values == np.rint(values)).all())

        below, above, integer = zip(*run(cut, range(X.shape[1]), cells=X.size), strict=True)
        return cls(below, above, np.array(integer, dtype=bool))

    def data_bounds(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the smallest and largest data value that intervals of bins admit, infinite at open sides.

        Where any value will do, but there must be one, the lower bound is the least number; where it must be
        missing, both are NaN.
        """
        lower, upper = np.full(first.shape, -np.inf), np.full(first.shape, np.inf)
        for j, cut in enumerate(self.below):
            missing = first[:, j] == MISSING
            lower[missing, j] = upper[missing, j] = np.nan
            closed = (first[:, j] > 0) & ~missing
            lower[closed, j] = self.above[j][first[closed, j] - 1]
            lower[(first[:, j] == 0) & (last[:, j] == len(cut)), j] = LEAST_NUMBER
            closed = last[:, j] < len(cut)
            upper[closed, j] = cut[last[closed, j]]
        return lower, upper

    def encode(self, X: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Give the bin of every cell, shape (n_features, n_samples): feature-major.

        A value between two cuts' data, which learning never saw, goes to the nearer bin.
        """
        return encode(X, self.ruler())

    def ruler(self) -> Ruler:
        """Give what ``kernels.columns.encode`` needs, for those who encode a table in many parts."""
        return ruler([self._middles(j) for j in range(len(self.below))])

    def _middles(self, feature: int) -> NDArray[np.float64]:
        # Halving first: the sum of two large values overflows. Rounding may reach `above`, which must
        # stay over it.
        middle = self.below[feature] / 2 + self.above[feature] / 2
        return np.clip(middle, self.below[feature], np.nextafter(self.above[feature], -np.inf))

    def centres(self, feature: int) -> NDArray[np.float64]:
        """Give a place for each bin: midway between its neighbouring cuts, at the data for the outer ones."""
        middles = self._middles(feature)
        if not len(middles):
            return np.zeros(1)
        return np.concatenate(
            [self.below[feature][:1], middles[:-1] / 2 + middles[1:] / 2, self.above[feature][-1:]]
        )

    def lower_bound(self, feature: int, first: int) -> float:
        """Give the bound that admits bins from ``first`` on; open if that is all."""
        if first <= 0:
            return -math.inf
        return snap(
            float(self.below[feature][first - 1]),
            float(self.above[feature][first - 1]),
            bool(self.integer[feature]),
            up=True,
        )

    def upper_bound(self, feature: int, last: int) -> float:
        """Give the bound that admits bins up to ``last``; open if that is all."""
        if last >= len(self.below[feature]):
            return math.inf
        return snap(
            float(self.below[feature][last]),
            float(self.above[feature][last]),
            bool(self.integer[feature]),
            up=False,
        )

    def to_bins(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the bins that bounds in table units reach into: (first, last), as kernels take them.

        Bounds that only ask for a value become all bins but that of missing ones, NaN that one alone.
        """
        first = np.zeros(lower.shape, np.int64)
        last = np.zeros(lower.shape, np.int64)
        for j in range(lower.shape[1]):
            first[:, j] = np.searchsorted(self.below[j], lower[:, j], side="left")
            last[:, j] = np.searchsorted(self.above[j], upper[:, j], side="right")
        first, last = self.normalise(first, last)
        known = (lower == LEAST_NUMBER) & np.isposinf(upper)
        missing = np.isnan(lower)
        first, last = np.where(missing, MISSING, first), np.where(known, self.n_bins - 1, last)
        return first, np.where(missing, MISSING, last)

    def normalise(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Clip to existing bins, give crossed intervals one bin, and mark what covers all as unrestricted."""
        ends = self.n_bins - 1
        first, last = np.clip(first, 0, ends), np.clip(last, 0, ends)
        middle = (first + last) // 2
        first, last = np.where(first > last, middle, first), np.where(first > last, middle, last)
        whole = (first == 0) & (last == ends)
        return np.ascontiguousarray(first), np.ascontiguousarray(np.where(whole, MISSING, last))


def _quantile_cuts(
    known: NDArray[np.float64], values: NDArray[np.float64], max_bins: int
) -> NDArray[np.int64]:
    """Positions among the distinct values after which to cut: everywhere, or at quantiles of the rows.

    Towards both ends bins hold 1, 2, 4, ... rows: what is rare is often what is extreme, and a bin of many
    rows would hide it.
    """
    if len(values) <= max_bins:
        return np.arange(max(len(values) - 1, 0))
    n = len(known)
    ends = 2 ** np.arange(min(int(math.log2(n / max_bins)), max_bins // 8))
    n_middle = max_bins - 2 * len(ends)
    last = np.concatenate([ends - 1, np.arange(1, n_middle) * n // n_middle, n - 1 - ends])
    at = np.searchsorted(values, known[last], side="left")
    return np.unique(at[at < len(values) - 1])


def snap(below: float, above: float, integer: bool, *, up: bool) -> float:
    """Give a short decimal between two neighbouring data values, for a bound that separates them.

    A lower bound (``up``) must lie in (below, above], an upper one in [below, above). Any such value
    tells the data apart in the same way, so the bound is the shortest decimal in the middle half of the
    gap, nearest to its centre: printed, stored and sent to a database it is the same number. Integer
    features take an integer; between neighbouring ones it is the one that is included.
    """
    centre = below / 2 + above / 2
    quarter = above / 4 - below / 4
    if quarter > SMALLEST_GAP:
        start = -math.floor(math.log10(quarter)) - 2
        for digits in range(start, min(start + 5, 1) if integer else start + 5):
            # Decimal rounding is exact, so equal gaps always give equal bounds.
            rounded = float(Decimal(centre).quantize(Decimal((0, (1,), -digits)), context=DECIMALS))
            if below + quarter <= rounded <= above - quarter and below < rounded < above:
                return rounded
    return above if up else below
