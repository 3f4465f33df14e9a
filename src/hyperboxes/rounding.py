"""Rounding: a new model whose bounds a person can keep in mind, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .boxes import Boxes, Floats
from .conditions import format_name, format_number
from .summary import Summary, summarize

#: A bound moves by at most half of this share of its column's spread.
LARGEST_STEP = 0.2


class Move(NamedTuple):
    """One bound before and after."""

    box: int
    feature: str
    side: Literal["lower", "upper"]
    before: float
    after: float


@dataclass(frozen=True)
class Rounding:
    """A model with rounder bounds, and what they cost on the rows that were given.

    Attributes
    ----------
    boxes : Boxes
        The new model; its counts are those of the given rows.
    before, after : Summary
        Figures of the old and of the new model.
    changed : int
        Rows whose answer is another one now.
    loss : float
        By how much the score fell; negative if it rose.
    moves : tuple of Move
        The bounds that changed.
    """

    boxes: Boxes
    before: Summary
    after: Summary
    changed: int
    loss: float
    moves: tuple[Move, ...]

    def __str__(self) -> str:
        lines = [
            f"{f'box {move.box}':<8}{format_name(move.feature)} {'>=' if move.side == 'lower' else '<='} "
            f"{format_number(move.before)} -> {format_number(move.after)}"
            for move in self.moves
        ]
        rows = int(self.after.counts.sum())
        lines.append(
            f"{len(self.moves)} bounds rounded; {self.changed} of {rows} answers differ; "
            f"macro F1 {self.before.macro_f1:.3f} -> {self.after.macro_f1:.3f}, "
            f"accuracy {self.before.accuracy:.3f} -> {self.after.accuracy:.3f}"
        )
        return "\n".join(lines)


def round_bounds(
    boxes: Boxes,
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_loss: float = 0.0,
    scoring: Literal["f1", "accuracy"] = "f1",
) -> Rounding:
    """Make a new model with bounds of few digits: 139.73 becomes 140.

    Each bound is first rounded as far as no row gets another answer. Then, as long as the score stays within
    ``max_loss``, bounds are rounded further, those that cost least first. A bound is a multiple of a power
    of ten of at most a fifth of its column's spread (between the 5th and the 95th percentile), so that it
    moves by at most a tenth of it: 2013.7 in a column of recent years never becomes 2000.

    Parameters
    ----------
    boxes : Boxes
        The model.
    X : data frame or array-like of shape (n_samples, n_features)
        The table, as for ``boxes.predict``; best the training rows.
    y : array-like of shape (n_samples,)
        The class of each row.
    max_loss : float
        How much of the score may be given up; 0 changes no answer on the given rows.
    scoring : {"f1", "accuracy"}
        The score: the F1 of the class with boxes, or its mean over classes where several have boxes; or the
        share of right answers.

    Returns
    -------
    Rounding
        With the new model in ``boxes``, and the cost.

    Examples
    --------
    >>> from hyperboxes import Boxes, round_bounds
    >>> boxes = Boxes.from_rules([({"size": (139.73, None)}, "large")], default="small")
    >>> rounded = round_bounds(boxes, [[100], [120], [139], [150], [181.5]], ["small"] * 3 + ["large"] * 2)
    >>> print(rounded)
    box 0   size >= 139.73 -> 140
    1 bounds rounded; 0 of 5 answers differ; macro F1 1.000 -> 1.000, accuracy 1.000 -> 1.000
    """
    if scoring not in ("f1", "accuracy"):
        raise ValueError(f"scoring must be 'f1' or 'accuracy', got {scoring!r}")
    if not (math.isfinite(max_loss) and max_loss >= 0):
        raise ValueError(f"max_loss must be a number that is not negative, got {max_loss!r}")
    before = summarize(boxes, X, y)
    search = _Search(boxes, np.asarray(boxes._matrix(X), dtype=np.float64), y, before, scoring)
    search.keep_decisions()
    if max_loss > 0:
        search.spend(max_loss)
    after = summarize(search.boxes, X, y)
    counts = after.counts if len(after.classes) == len(boxes.classes) else None
    moves = tuple(
        Move(box, boxes.feature_names[feature], side, old, new)
        for box, feature, side in _bounds(boxes)
        if (old := _bound(boxes, box, feature, side)) != (new := _bound(search.boxes, box, feature, side))
    )
    changed = int(np.count_nonzero(boxes.predict(X) != search.boxes.predict(X)))
    made = replace(search.boxes, counts=counts)
    return Rounding(made, before, after, changed, search.start - search.score, moves)


class _Search:
    """The boxes so far and which box decides each row, kept up to date while bounds move."""

    def __init__(self, boxes: Boxes, matrix: Floats, y: ArrayLike, figures: Summary, scoring: str) -> None:
        self.boxes = replace(boxes, counts=None)
        self.matrix = matrix
        self.scoring = scoring
        place = {label: column for column, label in enumerate(figures.classes)}
        self.truth = np.array([place[label] for label in np.asarray(y).tolist()], dtype=np.int64)
        # A row without an answer has a class of its own, which is never right.
        self.answers = np.array(
            [len(place) if label is None else place[label] for label in boxes.answers.tolist()]
        )
        self.n_classes = len(place) + 1
        voted = np.unique(self.answers[:-1])
        self.scored = voted if len(voted) == 1 else np.unique(np.append(self.truth, self.answers))
        self.scored = self.scored[self.scored < len(place)]
        self.decided = self.boxes.decide(matrix)
        self.steps = [_steps(column) for column in matrix.T]
        self.start = self.score = self._score(self.decided)

    def keep_decisions(self) -> None:
        """Round every bound as far as each row is still decided by the same box."""
        for box, feature, side in _bounds(self.boxes):
            for value in self._candidates(box, feature, side):
                made, rows, decided = self._moved(box, feature, side, value)
                if (decided == self.decided[rows]).all():
                    self.boxes = made
                    break

    def spend(self, max_loss: float) -> None:
        """Round further, cheapest first, while the score stays within ``max_loss`` of where it began."""
        offers = []
        for box, feature, side in _bounds(self.boxes):
            for rank, value in enumerate(self._candidates(box, feature, side)):
                _, rows, decided = self._moved(box, feature, side, value)
                score = self._score(self._with(rows, decided))
                offers.append((self.score - score, rank, box, feature, side, value))
        done = set()
        for _, _, box, feature, side, value in sorted(offers):
            # Others have moved since: look again. Of one bound, only rounder values come after one is taken.
            if (box, feature, side) in done or value not in self._candidates(box, feature, side):
                continue
            made, rows, decided = self._moved(box, feature, side, value)
            all_decided = self._with(rows, decided)
            score = self._score(all_decided)
            if self.start - score <= max_loss:
                self.boxes, self.decided, self.score = made, all_decided, score
                done.add((box, feature, side))

    def _candidates(self, box: int, feature: int, side: str) -> list[float]:
        """List rounder values of a bound, roundest first."""
        bound = _bound(self.boxes, box, feature, side)
        low, high = self.boxes.lower[box, feature], self.boxes.upper[box, feature]
        digits = _digits(bound)
        found: dict[float, None] = {}
        for step in self.steps[feature]:
            value = float((Decimal(bound) / step).to_integral_value() * step)
            fits = value <= high if side == "lower" else value >= low
            if fits and value != bound and _digits(value) < digits:
                found[value] = None
        return list(found)

    def _moved(
        self, box: int, feature: int, side: str, value: float
    ) -> tuple[Boxes, NDArray[np.int64], NDArray[np.int64]]:
        """Move a bound: the boxes, the rows that this may concern, and what decides those."""
        bounds = {"lower": self.boxes.lower.copy(), "upper": self.boxes.upper.copy()}
        old = bounds[side][box, feature]
        bounds[side][box, feature] = value
        made = replace(self.boxes, lower=bounds["lower"], upper=bounds["upper"])
        column = self.matrix[:, feature]
        low, high = sorted((float(old), float(value)))
        concerned = (column >= low) & (column <= high)
        if made.uncovered == "nearest":
            concerned |= self.boxes.apply(self.matrix) < 0
        rows = np.flatnonzero(concerned)
        return made, rows, made.decide(self.matrix[rows])

    def _with(self, rows: NDArray[np.int64], decided: NDArray[np.int64]) -> NDArray[np.int64]:
        copy = self.decided.copy()
        copy[rows] = decided
        return copy

    def _score(self, decided: NDArray[np.int64]) -> float:
        answers = self.answers[decided]
        right = answers == self.truth
        if not len(right):
            return 0.0
        if self.scoring == "accuracy":
            return float(right.mean())
        hits = np.bincount(answers[right], minlength=self.n_classes)[self.scored]
        said = np.bincount(answers, minlength=self.n_classes)[self.scored]
        true = np.bincount(self.truth, minlength=self.n_classes)[self.scored]
        return float((2 * hits / np.maximum(said + true, 1)).mean()) if len(hits) else 0.0


def _bounds(boxes: Boxes) -> Iterator[tuple[int, int, Literal["lower", "upper"]]]:
    for box in range(boxes.n_boxes):
        for feature in range(boxes.n_features):
            if math.isfinite(boxes.lower[box, feature]):
                yield box, feature, "lower"
            if math.isfinite(boxes.upper[box, feature]):
                yield box, feature, "upper"


def _bound(boxes: Boxes, box: int, feature: int, side: str) -> float:
    return float((boxes.lower if side == "lower" else boxes.upper)[box, feature])


def _steps(column: Floats) -> list[Decimal]:
    """List the powers of ten that bounds of a column may be multiples of, largest first."""
    known = np.sort(column[np.isfinite(column)]).tolist()
    if not known:
        return []
    last = len(known) - 1
    largest_step = LARGEST_STEP * (known[-(last // 20) - 1] - known[last // 20] or known[-1] - known[0])
    if not 0 < largest_step < math.inf:
        return []
    largest = math.floor(math.log10(largest_step))
    return [Decimal((0, (1,), exponent)) for exponent in range(largest, largest - 12, -1)]


def _digits(value: float) -> int:
    """Count the digits of a number without the zeros at its ends: what a person has to keep in mind."""
    digits = "".join(map(str, Decimal(repr(value)).normalize().as_tuple().digits))
    return len(digits)
