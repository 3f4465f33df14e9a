"""BoxClassifier: what every classifier made of boxes has in common."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import Tags, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ..boxes import Boxes
from ..explain import Explanation, explain
from ..kernels.containment import weight_kept_out
from ..scaling import standardise
from ..sketch import to_html
from ..tables import Table, as_array, as_frame, read_table, to_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: The least that all rows may weigh, and its inverse the most: sums and quotients of weights stay finite.
LEAST_WEIGHT = 1e-100


class BoxEstimator(BaseEstimator):
    """Base of all estimators: checks tables, and tells which box a row is in.

    A subclass has the parameter ``categorical_features`` and, once fitted, ``boxes_`` and ``_scale``.
    """

    categorical_features: Any
    #: Whether it was learned from a frame, whose columns have names.
    _knows_names = True
    #: Told the share of the learning that is done, where the learner knows; the command line sets it.
    _progress: Callable[[float], None] | None = None

    def apply(self, X: ArrayLike) -> Ints:
        """Give the box that contains and decides each row, -1 for a row in no box."""
        matrix = self._matrix(X)
        return self.boxes_.apply(matrix)

    def explain(self, x: ArrayLike) -> Explanation:
        """Explain one row: the rule that decided, the distance to each bound, the smallest changes.

        Parameters
        ----------
        x : frame of one row, or array-like of shape (n_features,) or (1, n_features)
            The row.
        """
        check_is_fitted(self)
        return explain(self.boxes_, self._named(x), self._scale)

    def membership(self, X: ArrayLike, temperature: float = 0.1) -> Floats:
        """Give graded memberships in the boxes, shape (n_samples, n_boxes).

        The paper's formula, the product of two sigmoids of the least distance to a lower and to an upper
        bound, with distances in standard deviations: above 1/4 inside, falling with the distance outside.
        Only restricted features count; a missing value in one gives zero.
        """
        matrix = self._matrix(X).astype(np.float64)
        return _membership(self.boxes_, matrix, self._scale, temperature)

    def _matrix(self, X: ArrayLike) -> NDArray[Any]:
        """Check a table against the fitted one and give its numbers."""
        check_is_fitted(self)
        validate_data(self, X if as_frame(X) is not None else as_array(X), skip_check_array=True, reset=False)
        boxes = self.boxes_
        matrix = to_matrix(self._named(X), boxes.feature_names, boxes.categories, positions=False)
        if not len(matrix):
            raise ValueError(
                f"Found array with 0 sample(s) (shape={matrix.shape}) while a minimum of 1 is required."
            )
        return matrix

    def _named(self, X: ArrayLike) -> ArrayLike:
        """Name the columns of a frame as the boxes do, in their order, where an array was learned from."""
        frame = as_frame(X)
        if frame is None or self._knows_names or len(frame.columns) != len(self.boxes_.feature_names):
            return X
        renamed: ArrayLike = frame.rename(dict(zip(frame.columns, self.boxes_.feature_names, strict=True)))
        return renamed

    def _check_table(self, X: ArrayLike, *, reset: bool, least_rows: int) -> Table:
        frame = as_frame(X)
        shape = frame.shape if frame is not None else as_array(X).shape
        for count, kind, least in ((shape[0], "sample", least_rows), (shape[1], "feature", 1)):
            if count < least:
                raise ValueError(
                    f"Found array with {count} {kind}(s) (shape={shape}) while a minimum of {least} "
                    f"is required by {type(self).__name__}."
                )
        if frame is not None:
            # Before scikit-learn's own check, which does not name the column that is wrong.
            table = read_table(X, self.categorical_features)
            validate_data(self, X, skip_check_array=True, reset=reset)
        else:
            validate_data(self, as_array(X), skip_check_array=True, reset=reset)
            table = read_table(X, self.categorical_features)
        if reset:
            self._knows_names = frame is not None
        for name, column in zip(table.feature_names, table.matrix.T, strict=True):
            if np.isnan(column[0]) and np.isnan(column).all():
                warnings.warn(
                    f"column {name!r} holds no value at all and is not used", UserWarning, stacklevel=4
                )
        return table

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there are boxes: a fit that failed has checked a table, but learned nothing."""
        return hasattr(self, "boxes_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # -- in a notebook: scikit-learn's diagram and, once fitted, the rules with a picture -----------------

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._sketch()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._sketch()
        return bundle

    def _sketch(self) -> str:
        return to_html(self.boxes_) if hasattr(self, "boxes_") else ""


class BoxClassifier(ClassifierMixin, BoxEstimator):
    """Base of the classifiers: checks tables and labels, and answers from ``boxes_``.

    A subclass implements ``_fit_boxes`` and has the parameters ``class_weight`` and
    ``categorical_features``.
    """

    class_weight: Any

    @abstractmethod
    def _fit_boxes(self, table: Table, classes: Ints, weight: Floats) -> Boxes:
        """Learn boxes; ``classes`` are indices into ``classes_``."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn boxes from a table.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Numbers, booleans and, in a frame, categorical columns; missing values are allowed.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for.

        Returns
        -------
        self
        """
        self.__dict__.pop("_memory", None)
        self.__dict__.pop("boxes_", None)
        return self._learn(*self._check_training_data(X, y, sample_weight, least_rows=2))

    def _learn(self, table: Table, classes: Ints, weight: Floats) -> Self:
        self._warn_of_one_class(classes, weight)
        boxes = self._fit_boxes(table, classes, weight)
        self.boxes_ = replace(boxes, counts=_counts(boxes, table, classes, weight, len(self.classes_)))
        _, self._scale = standardise(table.matrix, weight)
        self.feature_importances_ = _importances(self.boxes_, table, classes, weight)
        self.fidelity_ = self._fidelity(table.matrix)
        return self

    def _warn_of_one_class(self, classes: Ints, weight: Floats) -> None:
        present = np.bincount(classes, weights=weight, minlength=len(self.classes_)) > 0
        if present.sum() == 1:
            only = self.classes_.tolist()[np.flatnonzero(present)[0]]
            warnings.warn(f"y has one class only, {only!r}: every row will get it", UserWarning, stacklevel=4)

    def _fidelity(self, matrix: NDArray[Any]) -> float:
        """Share of rows on which the boxes alone give the answer of ``predict``."""
        return 1.0

    # -- answers -----------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Give the class of each row: that of the first box that contains it, else the default's.

        Where ``uncovered="reject"``, a row in no box gets None.
        """
        matrix = self._matrix(X)
        return self._answers()[self.boxes_.decide(matrix)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give class probabilities: the training shares of the box that decides, smoothed.

        The most probable class is the predicted one, on every row.
        """
        matrix = self._matrix(X)
        return self.boxes_.shares[self.boxes_.decide(matrix)]

    def _answers(self) -> NDArray[Any]:
        """Labels of the boxes and, last, the default's, as ``classes_`` has them."""
        place = {label: index for index, label in enumerate(self.boxes_.classes.tolist())}
        votes = self.classes_[[place[label] for label in self.boxes_.labels.tolist()]]
        if self.boxes_.default is None:
            return np.array([*votes, None], dtype=object)
        return np.append(votes, self.classes_[place[self.boxes_.default]])

    # -- checks ------------------------------------------------------------------------------------

    def _check_training_data(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *,
        reset: bool = True, classes: ArrayLike | None = None, least_rows: int = 1,
    ) -> tuple[Table, Ints, Floats]:  # fmt: skip
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give the class of each row"
            )
        table = self._check_table(X, reset=reset, least_rows=least_rows)
        labels = _check_labels(y)
        check_consistent_length(table.matrix, labels)
        labels = self._narrow_labels(labels)
        if reset:
            self.classes_ = np.unique(labels if classes is None else np.asarray(classes))
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        strange = self.classes_[codes] != labels
        if strange.any():
            row = int(np.flatnonzero(strange)[0])
            raise ValueError(
                f"y, row {row} is {labels.tolist()[row]!r}, "
                f"which is not among the classes {self.classes_.tolist()}"
            )
        weight = _check_sample_weight(sample_weight, table.matrix, dtype=np.float64, ensure_non_negative=True)
        with np.errstate(over="ignore", invalid="ignore"):
            weight = self._weigh_classes(codes, weight)
            total = float(weight.sum())
        if not LEAST_WEIGHT <= total <= 1 / LEAST_WEIGHT and total != 0:
            raise ValueError(
                f"the weights of all rows sum to {total:g}; scale them so that a row of usual weight has 1"
            )
        return table, codes, weight

    def _narrow_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Let a subclass merge labels before classes are read."""
        return labels

    def _weigh_classes(self, classes: Ints, weight: Floats) -> Floats:
        if self.class_weight is None:
            return weight
        present = np.flatnonzero(np.bincount(classes, weight, len(self.classes_)) > 0)
        factors = np.ones(len(self.classes_))
        asked = self.class_weight
        if isinstance(asked, dict):
            known = set(self.classes_.tolist())
            unknown = [label for label in asked if label not in known]
            if unknown:
                raise ValueError(
                    f"class_weight names {unknown}, not among the classes {self.classes_.tolist()}"
                )
            for index, label in enumerate(self.classes_.tolist()):
                factor = asked.get(label, 1.0)
                if not isinstance(factor, int | float | np.number) or not 0 <= factor < math.inf:
                    raise ValueError(f"class_weight of {label!r} must be a number from 0 on, got {factor!r}")
                factors[index] = factor
        elif len(present):
            counted = np.isin(classes, present)
            factors[present] = compute_class_weight(
                asked, classes=present, y=classes[counted], sample_weight=weight[counted]
            )
        return np.asarray(weight * factors[classes])


def _check_labels(y: ArrayLike) -> NDArray[Any]:
    """Make a one-dimensional array of labels; a bad one is named with its row."""
    if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray):
        y = y.to_numpy()
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "mM" or _is_date(labels):
        raise ValueError(
            "y holds dates or times, which are no class labels: give them as text, y.astype(str)"
        )
    missing = labels != labels if labels.dtype.kind == "f" else np.zeros(0, bool)
    if labels.dtype == object:
        missing = np.array([_is_missing(label) for label in labels.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: row {int(np.argmax(missing))} has no label; "
            "drop such rows or name a class for them"
        )
    if labels.dtype == object:
        kinds = [_kind(label) for label in labels.tolist()]
        if len(set(kinds)) > 1:
            row = next(index for index, kind in enumerate(kinds) if kind != kinds[0])
            raise ValueError(
                f"y mixes types: row 0 is {labels[0]!r}, row {row} is {labels[row]!r}; "
                "make all labels text or all numbers"
            )
        if kinds and kinds[0] in ("text", "number", "boolean"):
            labels = np.array(labels.tolist())
    check_classification_targets(labels)
    return labels


def _is_date(labels: NDArray[Any]) -> bool:
    return labels.dtype == object and any(isinstance(label, date | timedelta) for label in labels.tolist())


def _is_missing(label: object) -> bool:
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def _kind(label: object) -> str:
    if isinstance(label, bool | np.bool_):
        return "boolean"
    if isinstance(label, str):
        return "text"
    return "number" if isinstance(label, int | float | np.number) else type(label).__name__


def _counts(boxes: Boxes, table: Table, classes: Ints, weight: Floats, n_classes: int) -> Floats:
    """Sum the training weight of each class by deciding box; last, rows in no box."""
    cell = (boxes.decide(table.matrix) + 1) * n_classes + classes
    if not (weight == weight.astype(np.int64)).all():  # sums of fractions depend on their order
        order = np.lexsort((weight, cell))
        cell, weight = cell[order], weight[order]
    counts = np.bincount(cell, weight, (boxes.n_boxes + 1) * n_classes)
    return np.roll(counts.reshape(-1, n_classes), -1, axis=0).astype(np.float64)


def _importances(boxes: Boxes, table: Table, classes: Ints, weight: Floats) -> Floats:
    """Weight of the rows that each feature alone keeps out of boxes of another class; sums to one."""
    foreign = boxes.classes[:, None] != boxes.labels
    importance = weight_kept_out(boxes._matrix(table.matrix), boxes._compiled, foreign, classes, weight)
    total = importance.sum()
    return importance / total if total > 0 else importance


def _looked_up(boxes: Boxes, box: int, name: str, column: Floats) -> tuple[Bools, Bools]:
    """Tell of positions of categories which a box admits, and which stand for a missing value."""
    flags, values = boxes.allowed[name][box], boxes.categories[name]
    known = (column >= 0) & (column < len(flags))
    held = np.where(np.isnan(column), False, boxes.admits_unknown[name][box])
    held[known] = flags[column[known].astype(np.int64)]
    return held, np.isnan(column) | ((values[-1] is None) & (column == len(flags) - 1))


def _membership(boxes: Boxes, X: Floats, scale: Floats, temperature: float) -> Floats:
    out = np.ones((len(X), boxes.n_boxes))
    for box in range(boxes.n_boxes):
        to_lower = np.full(len(X), np.inf)
        to_upper = np.full(len(X), np.inf)
        for condition in boxes.conditions(box):
            column = X[:, condition.feature]
            if condition.categories is not None:
                held, missing = _looked_up(boxes, box, condition.name, column)
                distance = np.where(held, np.inf, np.where(missing, -np.inf, -1.0))
                to_lower = np.minimum(to_lower, distance)
                continue
            if condition.must_miss:
                to_lower = np.minimum(to_lower, np.where(np.isnan(column), np.inf, -np.inf))
                continue
            unit = scale[condition.feature]
            with np.errstate(over="ignore", invalid="ignore"):
                below = np.nan_to_num(
                    (column - condition.lower) / unit, nan=-np.inf, posinf=np.inf, neginf=-np.inf
                )
                above = np.nan_to_num(
                    (condition.upper - column) / unit, nan=-np.inf, posinf=np.inf, neginf=-np.inf
                )
            to_lower, to_upper = np.minimum(to_lower, below), np.minimum(to_upper, above)
        with np.errstate(over="ignore"):
            out[:, box] = 1 / (1 + np.exp(-to_lower / temperature)) / (1 + np.exp(-to_upper / temperature))
    return out
