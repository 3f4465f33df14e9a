"""Summary: what a table says about boxes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .boxes import Boxes, Floats, Label
from .tables import Category

#: Text that would read as something else than a class of that name.
_READS_OTHERWISE = re.compile(r"true|false|no answer|nearest box.*|[-+]?(\d|\.\d|inf|nan).*", re.I)


def format_label(label: Label | None) -> str:
    """Write a class so that it reads back as the same: text as it is if that is harmless, else quoted."""
    if label is None:
        return "no answer"
    if not isinstance(label, str):
        return repr(label)
    plain = (
        label.isprintable()
        and label == label.strip()
        and not any(sign in label for sign in ('"', "\\", "  "))
    )
    return label if label and plain and not _READS_OTHERWISE.fullmatch(label) else json.dumps(label)


def format_category(value: Category | None) -> str:
    """Write a category as pictures show it; a text that would read as a missing value is quoted."""
    if value is None:
        return "missing"
    return json.dumps(value) if value == "missing" else format_label(value)


def format_percent(share: float) -> str:
    """Write a share of agreement: never rounded up to a hundred, for one row less is another claim."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.999):.3f} %"


@dataclass(frozen=True, eq=False)
class Summary:
    """How boxes fare on a table: all figures follow from one table of counts.

    Arrays with one entry for each box have one more at the end, for the rows that no box decides
    and that get the default. A share of nothing is NaN.

    Parameters
    ----------
    labels : tuple
        The class each box votes for; last the default, None if it gives no answer.
    classes : tuple
        Every class of the boxes and of the data.
    counts : ndarray of shape (n_boxes + 1, n_classes)
        Weight of each class among the rows that each box decides.
    inside : ndarray of shape (n_boxes + 1,)
        Weight of the rows that each box contains, whichever box decides them; last, of the rows in
        no box. NaN if unknown.
    n_conditions : ndarray of shape (n_boxes + 1,)
        What a reader has to read for each box: closed sides and category sets.
    fidelity : float or None
        Share of rows where the boxes alone give an estimator's answer; None if not asked.
    training : bool
        Whether the counts are those stored while learning, rather than of data given later.
    """

    labels: tuple[Label | None, ...]
    classes: tuple[Label, ...]
    counts: Floats
    inside: Floats
    n_conditions: NDArray[np.int64]
    fidelity: float | None = None
    training: bool = False

    @property
    def support(self) -> Floats:
        """Weight of the rows that each box decides."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """Share of a box's class among the rows it decides."""
        return _share(self._hits, self.support)

    @property
    def recall(self) -> Floats:
        """Share that a box decides of all rows of its class."""
        return _share(self._hits, self._of_label(self.class_support))

    @property
    def lift(self) -> Floats:
        """How many times more frequent a box's class is among the rows it decides than overall."""
        return _share(self.precision, _share(self._of_label(self.class_support), self.counts.sum()))

    @property
    def class_support(self) -> Floats:
        """Weight of the rows of each class."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def class_precision(self) -> Floats:
        """Share of each class among the rows that are answered with it."""
        return _share(self._class_hits, self._answered)

    @property
    def class_recall(self) -> Floats:
        """Share of the rows of each class that are answered with it."""
        return _share(self._class_hits, self.class_support)

    @property
    def class_f1(self) -> Floats:
        """Harmonic mean of each class's precision and recall; NaN for a class that never occurs."""
        return _share(2 * self._class_hits, self._answered + self.class_support)

    @property
    def accuracy(self) -> float:
        """Share of rows with the right answer."""
        return float(_share(np.nansum(self._hits), self.counts.sum()))

    @property
    def macro_f1(self) -> float:
        """Mean of ``class_f1`` over the classes that occur in the data or among the answers."""
        scores = self.class_f1[~np.isnan(self.class_f1)]
        return float(scores.mean()) if len(scores) else float("nan")

    @property
    def in_no_box(self) -> float:
        """Share of rows that no box contains."""
        return float(_share(self.inside[-1], self.counts.sum()))

    @property
    def _places(self) -> NDArray[np.int64]:
        """Column of ``counts`` that each box votes for; -1 for no answer."""
        place = {label: column for column, label in enumerate(self.classes)}
        return np.array([-1 if label is None else place[label] for label in self.labels])

    def _of_label(self, per_class: Floats) -> Floats:
        return np.where(self._places < 0, np.nan, np.append(per_class, np.nan)[self._places])

    @property
    def _hits(self) -> Floats:
        padded = np.column_stack([self.counts, np.full(len(self.counts), np.nan)])
        return np.asarray(padded[np.arange(len(padded)), self._places])

    def _per_class(self, per_box: Floats) -> Floats:
        answered = self._places >= 0
        return np.bincount(self._places[answered], per_box[answered], minlength=len(self.classes)).astype(
            np.float64
        )

    @property
    def _class_hits(self) -> Floats:
        return self._per_class(self._hits)

    @property
    def _answered(self) -> Floats:
        return self._per_class(self.support)

    def __str__(self) -> str:
        names = [*(str(box) for box in range(len(self.labels) - 1)), "else"]
        boxes = _columns(
            ("box", "class", "rows", "inside", "precision", "recall", "lift", "conditions"),
            names, [format_label(label) for label in self.labels],
            _amounts(self.support), _amounts(self.inside),
            _shares(self.precision), _shares(self.recall), _shares(self.lift, 2), _amounts(self.n_conditions),
        )  # fmt: skip
        classes = _columns(
            ("class", "rows", "precision", "recall", "F1"),
            [format_label(label) for label in self.classes], _amounts(self.class_support),
            _shares(self.class_precision), _shares(self.class_recall), _shares(self.class_f1),
        )  # fmt: skip
        figures = [f"accuracy {self.accuracy:.3f}", f"macro F1 {self.macro_f1:.3f}"]
        if not np.isnan(self.in_no_box):
            figures.append(f"{100 * self.in_no_box:.1f} % of rows in no box")
        if self.fidelity is not None:
            figures.append(f"the boxes alone give the answer on {format_percent(self.fidelity)} of rows")
        legend = (
            f"rows: {'training' if self.training else 'given'} rows the box decides; "
            "inside: rows it contains; precision: share of rows in its class; "
            "recall: share of its class in rows; lift: precision / share of its class in all."
        )
        return "\n".join([*boxes, "", *classes, "", "; ".join(figures) + ".", legend])


def summarize(
    boxes: Boxes,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    predictions: ArrayLike | None = None,
) -> Summary:
    """Count what boxes do on a labelled table.

    Parameters
    ----------
    boxes : Boxes
        The model.
    X : data frame or array-like of shape (n_samples, n_features)
        The table, as for ``boxes.predict``.
    y : array-like of shape (n_samples,)
        The true classes. Those the boxes do not know count as wrong.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; 1 by default.
    predictions : array-like of shape (n_samples,), optional
        Answers of an estimator, for ``fidelity``.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.summary import summarize
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> summary = summarize(boxes, [[70], [80], [30], [40]], ["high", "low", "low", "low"])
    >>> summary.precision.tolist(), summary.accuracy
    ([0.5, 1.0], 0.75)
    """
    inside = boxes.contains(X)
    rows = len(inside)
    truth = labels_of("y", y, rows)
    weight = _weights(sample_weight, rows)
    known = boxes.classes.tolist()
    extra = sorted(set(truth) - set(known), key=lambda label: (isinstance(label, str), label))
    if rows and len(extra) == len(set(truth)):
        raise ValueError(
            f"y holds {extra[:5]}, none of the classes the boxes know: {known[:5]}; give the same labels"
        )
    classes = [*known, *extra]
    place = {label: column for column, label in enumerate(classes)}
    codes = np.fromiter((place[label] for label in truth), dtype=np.int64, count=rows)
    decided = boxes.decide(X) % (boxes.n_boxes + 1)  # -1, for no box, comes last
    shape = (boxes.n_boxes + 1, len(classes))
    counts = np.bincount(decided * len(classes) + codes, weight, minlength=shape[0] * shape[1]).reshape(shape)
    fidelity = None
    if predictions is not None:
        answers = zip(boxes.predict(X).tolist(), labels_of("predictions", predictions, rows), strict=True)
        same = np.fromiter((ours == theirs for ours, theirs in answers), dtype=bool, count=rows)
        fidelity = float(_share(weight[same].sum(), weight.sum()))
    in_no_box = weight[~inside.any(axis=1)].sum()
    return Summary(
        labels=_voted(boxes), classes=tuple(classes), counts=counts.astype(np.float64),
        inside=np.append(weight @ inside, in_no_box), n_conditions=_n_conditions(boxes), fidelity=fidelity,
    )  # fmt: skip


def training_summary(boxes: Boxes) -> Summary:
    """Summarize the training rows from the counts that the boxes carry."""
    if boxes.counts is None:
        raise ValueError("these boxes carry no training counts: call summarize(boxes, X, y) on a table")
    inside = np.full(boxes.n_boxes + 1, np.nan)
    if boxes.uncovered == "default":
        inside[-1] = boxes.counts[-1].sum()
    return Summary(
        labels=_voted(boxes), classes=tuple(boxes.classes.tolist()), counts=boxes.counts, inside=inside,
        n_conditions=_n_conditions(boxes), training=True,
    )  # fmt: skip


def _voted(boxes: Boxes) -> tuple[Label | None, ...]:
    return tuple(boxes.answers.tolist())


def _n_conditions(boxes: Boxes) -> NDArray[np.int64]:
    per_box = [sum(asked.n_conditions for asked in boxes.conditions(box)) for box in range(boxes.n_boxes)]
    return np.array([*per_box, 0])


def asked_answer(boxes: Boxes, label: Label | EllipsisType | None) -> Label | None:
    """Give the answer whose rows are asked for; ``...`` stands for the one class that all boxes vote for."""
    if isinstance(label, EllipsisType):
        voted = list(dict.fromkeys(boxes.labels.tolist()))
        if len(voted) != 1:
            raise ValueError(
                f"the boxes vote for {voted[:10]}: say which class you want the rows of, label=…"
            )
        only: Label = voted[0]
        return only
    known = boxes.classes.tolist() + ([None] if boxes.default is None else [])
    if label not in known:
        raise ValueError(f"no row gets {label!r}; the answers are {known[:10]}")
    return label


def one_against_rest(boxes: Boxes, labels: list[Any]) -> list[Any]:
    """Rename the classes that a model of one class against the rest was not told apart.

    Its labels are text; a number in a table is the class that is written like it.
    """
    known, rest = boxes.classes.tolist(), boxes.default
    merged = len(known) == 2 and isinstance(rest, str) and rest in [f"not {label}" for label in known]
    if not merged or rest in labels:
        return labels
    return [str(label) if str(label) in known else rest for label in labels]


def labels_of(name: str, values: ArrayLike, rows: int) -> list[Any]:
    """Give one label for each row as Python values; a bad one is named with its row."""
    array = np.asarray(values)
    if array.shape != (rows,):
        raise ValueError(
            f"{name} must hold one label for each of the {rows} rows of X, got shape {array.shape}"
        )
    labels: list[Any] = array.tolist()
    for row, label in enumerate(labels):
        if not isinstance(label, int | float | str | bool) or label != label:
            raise ValueError(f"{name} holds {label!r} in row {row}; labels are text, numbers or booleans")
    return labels


def _weights(values: ArrayLike | None, rows: int) -> Floats:
    if values is None:
        return np.ones(rows)
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (rows,) or not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(f"sample_weight must be {rows} finite numbers that are not negative, got {weight}")
    return weight


def _share(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Divide, NaN where there is nothing to divide by."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    share = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _amounts(values: NDArray[Any]) -> list[str]:
    return ["–" if np.isnan(value) else f"{value:.10g}" for value in values]


def _shares(values: Floats, digits: int = 3) -> list[str]:
    return ["–" if np.isnan(value) else f"{value:.{digits}f}" for value in values]


def _columns(titles: Sequence[str], *columns: Sequence[str]) -> list[str]:
    """Lay out columns under their titles: text to the left, figures to the right."""
    lines = ["" for _ in range(len(columns[0]) + 1)]
    for title, column in zip(titles, columns, strict=True):
        width = max(len(title), *(len(cell) for cell in column)) if column else len(title)
        left = title in ("box", "class")
        for row, cell in enumerate([title, *column]):
            lines[row] += ("  " if lines[row] else "") + (cell.ljust(width) if left else cell.rjust(width))
    return [line.rstrip() for line in lines]
