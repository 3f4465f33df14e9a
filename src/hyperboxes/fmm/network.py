"""Network: boxes that learn row by row and answer by highest membership."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import fmm as kernels
from ..kernels._threads import n_threads, run
from ..kernels.fmm import ledger_for
from ..kernels.fmm_rules import NO_CONTRACTION, Rules
from ..kernels.fmm_shelves import CHANGED, SHELF, USED, Measure, Shelves, scratch_for
from .rows import Rows
from .variants import Variant

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIMILARITIES = {"short": kernels.SHORT, "mid": kernels.MID, "long": kernels.LONG}
#: Slack of a bound on deficits: products of rounded numbers may miss it by a few units in the last place.
SLACK = 1 + 1e-12
#: Rows presented between two reports of progress.
ROWS_AT_ONCE = 4096
#: Rows below which threads cost more than they save.
SERIAL_ROWS = 256
#: No training row is two to this power farther from a box than a feature is wide.
FAR = 40
#: Rows that tell in which order features are looked at.
ORDER_ROWS = 10_000
#: Above this, one over the range of a feature counts as this: its values hardly differ.
LARGEST_UNIT = 1e300


@dataclass(frozen=True)
class Space:
    """What distances are measured in: the ranges of the features, and how fast membership falls.

    ``order`` puts features first that vary most and say what those before them do not: most boxes are
    ruled out by the first few features that are looked at.
    """

    lowest: Floats
    highest: Floats
    sensitivity: Floats
    order: Ints

    @classmethod
    def of(cls, rows: Rows, sensitivity: float | Floats) -> Space:
        """Measure the rows."""
        known = rows.low <= rows.high
        lowest, highest = rows.low.min(axis=0, initial=np.inf), rows.high.max(axis=0, initial=-np.inf)
        seen = known.any(axis=0)
        lowest, highest = np.where(seen, lowest, 0.0), np.where(seen, highest, 0.0)
        space = cls(lowest, highest, np.broadcast_to(np.float64(sensitivity), lowest.shape), np.arange(0))
        some = slice(0, ORDER_ROWS)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.where(known[some], (rows.low[some] / 2 - lowest / 2) * space.unit, 0.25)
        return cls(lowest, highest, space.sensitivity, _telling_order(np.nan_to_num(places)))

    def widened(self, rows: Rows) -> Space:
        """Take more rows of a stream into account."""
        other = Space.of(rows, self.sensitivity)
        seen = (rows.low <= rows.high).any(axis=0)
        lowest = np.where(seen, np.minimum(self.lowest, other.lowest), self.lowest)
        highest = np.where(seen, np.maximum(self.highest, other.highest), self.highest)
        return Space(lowest, highest, self.sensitivity, self.order)

    @property
    def unit(self) -> Floats:
        """One over the range of each feature; one for a constant feature."""
        half = self.highest / 2 - self.lowest / 2  # the whole may overflow
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(half > 0, np.minimum(0.5 / half, LARGEST_UNIT), 1.0)

    def measure(self, average: bool) -> Measure:
        """Give what the kernels need, features in order."""
        unit, sensitivity = self.unit[self.order], self.sensitivity[self.order]
        cap = np.minimum(1.0, sensitivity) if average else np.ones(len(unit))
        return Measure(average, sensitivity * unit, cap, unit, self.order)


class Network:
    """Labelled boxes of one variant, in table units.

    Parameters
    ----------
    variant : Variant
        The member of the family.
    space : Space
        What distances are measured in; may be widened between batches.
    """

    def __init__(self, variant: Variant, space: Space) -> None:
        self.variant = variant
        self.space = space
        self._shelves = _empty_shelves(64, len(space.order))

    @classmethod
    def of_boxes(cls, variant: Variant, space: Space, lower: Floats, upper: Floats, labels: Ints) -> Network:
        """Make a network of given boxes, ranked as they come."""
        network = cls(variant, space)
        network._refill(lower[:, space.order], upper[:, space.order], labels, np.ones(len(labels)))
        return network

    @classmethod
    def union(cls, networks: Sequence[Network]) -> Network:
        """Put the boxes of several networks of one variant and space into one, ranked as they come."""
        whole = cls(networks[0].variant, networks[0].space)
        parts = zip(*(network._bounds() for network in networks), strict=True)
        whole._refill(*(np.concatenate(part) for part in parts))
        return whole

    # -- learning ----------------------------------------------------------------------------------

    def present(self, rows: Rows, max_width: float) -> None:
        """Learn rows one after the other, in their order."""
        for _ in self.presented(rows, max_width):
            pass

    def presented(self, rows: Rows, max_width: float) -> Iterator[float]:
        """Learn rows one after the other, and give now and then the share of them that is done."""
        return self._presented(rows, self._measure, self._rules(max_width), self._reach(max_width))

    def grow(self, rows: Rows, found: bool) -> None:
        """Let boxes grow to rows of their class, however wide, unless they would meet another class.

        The nearest box that may, by its worst feature, takes a row, whatever the variant: growing is what
        boxes do that have proved themselves, and no part of the published loops. A row that no box may take
        is left out or, with ``found``, becomes a box.
        """
        rules = Rules(np.inf, False, False, NO_CONTRACTION, found)
        farthest = 1.0  # no deficit is larger; those of boxes that may not take a row are infinite
        for _ in self._presented(rows, self.space.measure(average=False), rules, farthest):
            pass

    def _presented(self, rows: Rows, measure: Measure, rules: Rules, reach: float) -> Iterator[float]:
        low, high = self._laid_out(rows.low, rows.high)
        done, scratch = 0, scratch_for(self._shelves)
        while done < len(low):
            # The kernel keeps nothing between calls but the shelves: where it stops changes nothing.
            stop = min(len(low), done + ROWS_AT_ONCE)
            done = kernels.present(
                low[:stop],
                high[:stop],
                rows.classes,
                rows.weight,
                done,
                measure,
                rules,
                reach,
                self._shelves,
                scratch,
            )
            if done < stop:
                self._shelves = _with_room(self._shelves, len(self._shelves.size))
                scratch = scratch_for(self._shelves)
            yield done / len(low)

    def agglomerate(self, rows: Rows, max_width: float, similarity: str, min_similarity: float) -> None:
        """Make a box of each row that no box of its class contains, then merge boxes while any can be."""
        lower, upper, labels, weight = self._bounds()
        new = rows.take(self._in_own_class(rows) < 0)
        low, high = self._laid_out(new.low, new.high)
        known = low <= high
        low, high = np.where(known, low, -np.inf), np.where(known, high, np.inf)
        self._refill(
            np.concatenate([lower, low]), np.concatenate([upper, high]),
            np.concatenate([labels, new.classes]), np.concatenate([weight, new.weight]),
        )  # fmt: skip
        measure, rules = self._measure, self._rules(max_width)
        limit = min(1 - min_similarity, self._reach(max_width))
        place, shelves = self._slots(), self._shelves
        scratch = scratch_for(shelves)
        while kernels.merge(place, measure, rules, SIMILARITIES[similarity], limit, shelves, scratch):
            pass
        self._refill(*self._bounds())

    def prune(self, rows: Rows, price: float) -> None:
        """Drop boxes that earn no more than a price, in rows put right; rank the others by weight."""
        if not len(self):
            return
        self.rank_by_weight()
        low, high = self._laid_out(rows.low, rows.high)
        place, labels = self._slots(), self.labels
        rules = self._rules(0.0)
        kernels.prune(
            low,
            high,
            rows.classes,
            rows.weight,
            float(price),
            labels,
            place,
            self._measure,
            rules,
            self._shelves,
            scratch_for(self._shelves),
            ledger_for(len(low), labels),
        )
        self._refill(*self._bounds())

    def keep(self, boxes: NDArray[np.bool_]) -> None:
        """Keep some of the boxes, given by rank."""
        lower, upper, labels, weight = self._bounds()
        self._refill(lower[boxes], upper[boxes], labels[boxes], weight[boxes])

    def drop_lighter_than(self, weight: float) -> None:
        """Drop boxes that took in less than a weight, but for the heaviest of each class."""
        heavy = self.weight >= weight
        if not heavy.all():
            for label in np.unique(self.labels):
                heavy[np.argmax(np.where(self.labels == label, self.weight, -1.0))] = True
            self.keep(heavy)

    def copy(self) -> Network:
        """Give a network that learns on its own."""
        other = Network(self.variant, self.space)
        other._shelves = _with_room(self._shelves, 0)
        return other

    def rank_by_weight(self) -> None:
        """Let boxes of more rows come first; among equals the older ones."""
        lower, upper, labels, weight = self._bounds()
        order = np.argsort(-weight, kind="stable")
        self._refill(lower[order], upper[order], labels[order], weight[order])

    def forget_weights(self) -> None:
        """Count rows anew."""
        self._shelves.weight[:] = 0.0

    def weigh(self, rows: Rows) -> None:
        """Let boxes weigh what they contain of their class, a row in several counting for the first."""
        rank = self._in_own_class(rows)
        inside = rank >= 0
        weight = np.bincount(rank[inside], rows.weight[inside], minlength=len(self))
        self._shelves.weight[self._slots()] = weight

    @property
    def n_changes(self) -> int:
        """How often a box was made or moved."""
        return int(self._shelves.state[CHANGED])

    # -- answers -----------------------------------------------------------------------------------

    def winners(self, low: Floats, high: Floats, label: int = -1) -> tuple[Ints, Floats]:
        """Give the box of highest membership, by rank, and the membership; of one class, or of any.

        Where the class has no box: -1, and a membership of zero.
        """
        rank, deficits = self._winners(low, high, label)
        return rank, np.where(rank < 0, 0.0, self._memberships(deficits))

    def decisions(self, X: Floats, scale: Floats | None) -> tuple[Ints, Ints]:
        """Give the winner of each row, and what ``Boxes.decide`` gives for the same boxes in order of rank.

        The latter is the first box that contains a row, else the nearest if there is a scale, else -1. Rows
        have no missing values.
        """
        crisp, _ = self._winners(X, X, -1, limit=0.0)  # most rows lie in a box, which is soon found
        winner, outside = crisp.copy(), crisp < 0
        if outside.any():
            winner[outside], _ = self._winners(X[outside], X[outside], -1)
        if outside.any() and scale is not None:
            # By a power of two smaller still, so that no distance reaches one, where deficits end.
            slope = (2.0**-FAR / scale)[self.space.order]
            measure = self._measure._replace(average=False, slope=slope, cap=np.ones(len(slope)))
            crisp[outside], _ = self._winners(X[outside], X[outside], -1, measure)
        return winner, crisp

    def memberships(self, low: Floats, high: Floats) -> Floats:
        """Give the membership of each row in each box, boxes by rank."""
        low, high = self._laid_out(low, high)
        place = self._slots()
        deficits = np.empty((len(low), len(place)))
        of_shelf = np.empty(SHELF * self._shelves.state[USED])
        kernels.deficits(low, high, place, self._measure, self._shelves, of_shelf, deficits)
        return self._memberships(deficits)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds by rank; infinite where a box knows nothing of a feature."""
        lower, upper, *_ = self._bounds()
        back = np.argsort(self.space.order)
        return lower[:, back], upper[:, back]

    @property
    def labels(self) -> Ints:
        """Class of each box by rank."""
        return self._shelves.label[self._slots() // SHELF]

    @property
    def weight(self) -> Floats:
        """Training weight that each box took in, by rank."""
        return self._shelves.weight[self._slots()]

    def __len__(self) -> int:
        return int(self._shelves.size[: self._shelves.state[USED]].sum())

    # -- inside ------------------------------------------------------------------------------------

    @property
    def _measure(self) -> Measure:
        return self.space.measure(self.variant.average)

    def _rules(self, max_width: float) -> Rules:
        variant = self.variant
        return Rules(float(max_width), variant.total_width, variant.winner_only, variant.contraction, True)

    def _reach(self, max_width: float) -> float:
        """Give a deficit beyond which no box can take a row (Khuat & Gabrys 2021): it would be too wide."""
        if self.variant.average:
            return np.inf
        return float(max_width * self.space.sensitivity.max(initial=0.0) * SLACK)

    def _memberships(self, deficits: Floats) -> Floats:
        return 1 - deficits / (2 * len(self.space.order) if self.variant.average else 1)

    def _winners(
        self, low: Floats, high: Floats, label: int, measure: Measure | None = None, limit: float = np.inf
    ) -> tuple[Ints, Floats]:
        rank, deficits = np.empty(len(low), np.int64), np.empty(len(low))
        low, high = self._laid_out(low, high)
        measure, rules = measure or self._measure, self._rules(0.0)

        def part(rows: slice) -> None:
            kernels.winners(
                low[rows], high[rows], label, limit, measure, rules, self._shelves,
                scratch_for(self._shelves), rank[rows], deficits[rows],
            )  # fmt: skip

        step = max(SERIAL_ROWS, -(-len(low) // (4 * n_threads())))
        run(part, [slice(begin, begin + step) for begin in range(0, len(low), step)])
        return rank, deficits

    def _in_own_class(self, rows: Rows) -> Ints:
        """Give the first box of its own class that a row lies in, by rank, -1 if there is none."""
        first = np.full(len(rows.classes), -1, np.int64)
        for label in np.unique(rows.classes):
            own = rows.classes == label
            first[own], _ = self._winners(rows.low[own], rows.high[own], int(label), limit=0.0)
        return first

    def _laid_out(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        # take leaves rows contiguous, as kernels want them; indexing would not.
        first = np.take(np.asarray(low, dtype=np.float64), self.space.order, axis=1)
        if high is low:
            return first, first
        return first, np.take(np.asarray(high, dtype=np.float64), self.space.order, axis=1)

    def _slots(self) -> Ints:
        """Slots of all boxes, by rank."""
        used = self._shelves.state[USED]
        taken = np.arange(SHELF) < self._shelves.size[:used, None]
        slots = np.flatnonzero(taken.ravel())
        return slots[np.argsort(self._shelves.rank[slots])]

    def _bounds(self) -> tuple[Floats, Floats, Ints, Floats]:
        slots, shelves = self._slots(), self._shelves
        return (
            shelves.lower[slots // SHELF, :, slots % SHELF],
            shelves.upper[slots // SHELF, :, slots % SHELF],
            shelves.label[slots // SHELF],
            shelves.weight[slots],
        )

    def _refill(self, lower: Floats, upper: Floats, labels: Ints, weight: Floats) -> None:
        """Replace all boxes, ranked as they come."""
        changes = self.n_changes
        # Shelves are at least half full but for the last split of each class.
        room = 2 * len(lower) // (SHELF // 2) + len(np.unique(labels)) + 8
        self._shelves = _empty_shelves(room, lower.shape[1])
        scratch = scratch_for(self._shelves)
        kernels.shelve(lower, upper, labels, weight, self._measure, self._shelves, scratch)
        self._shelves.state[CHANGED] = changes


def _telling_order(places: Floats) -> Ints:
    """Order features by what they add: each has the largest variance that those before it leave open."""
    if not len(places):
        return np.arange(places.shape[1])
    left = np.cov(places, rowvar=False, ddof=0).reshape(places.shape[1], places.shape[1])
    order = np.zeros(len(left), np.int64)
    variance = np.diag(left).copy()
    for step in range(len(left)):
        order[step] = feature = int(np.argmax(variance))
        if variance[feature] > 0:  # one step of Cholesky's factorisation, pivoted
            column = left[:, feature].copy()
            left -= np.outer(column, column / variance[feature])
        variance = np.minimum(variance, np.diag(left))
        variance[order[: step + 1]] = -np.inf
    return order


def _empty_shelves(n_shelves: int, n_features: int) -> Shelves:
    slots, shelves = n_shelves * SHELF, (n_shelves, n_features, SHELF)
    outer = (-(-n_shelves // SHELF), n_features, SHELF)
    return Shelves(
        np.zeros(shelves), np.zeros(shelves), np.zeros(slots, np.int64), np.zeros(slots),
        np.zeros(outer), np.zeros(outer), np.zeros(n_shelves, np.int64), np.zeros(n_shelves, np.int64),
        np.zeros(3, np.int64),
    )  # fmt: skip


def _with_room(shelves: Shelves, more: int) -> Shelves:
    """Copy shelves, with empty ones behind them."""
    grown = _empty_shelves(len(shelves.size) + more, shelves.lower.shape[1])
    for old, new in zip(shelves, grown, strict=True):
        new[: len(old)] = old
    return grown
