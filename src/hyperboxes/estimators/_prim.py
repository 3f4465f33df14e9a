"""PRIMClassifier and PRIMRegressor: boxes by patient rule induction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
)

from ..boxes import Boxes, Label
from ..crisp import Limits, order_boxes
from ..kernels._threads import joined_progress, run
from ..nn.fit import fit_hypernn
from ..nn.settings import Settings as PolishSettings
from ..prim.fit import chosen_boxes, cover, drop_weightless, fit_prim
from ..prim.ranks import Ranks
from ..prim.settings import PAPER, Criterion, Objective, Settings, Validation
from ..prim.trajectory import Trajectory
from ..scaling import standardise
from ..tables import Table
from ._base import BoxClassifier, BoxEstimator
from ._constraints import read_limits
from ._one_versus_rest import OneVersusRest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "n_boxes": [None, Interval(Integral, 1, None, closed="left")],
    "objective": [StrOptions(set(get_args(Objective)))],
    "criterion": [StrOptions(set(get_args(Criterion)))],
    "validation": [StrOptions(set(get_args(Validation)))],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "peel_fraction": [Interval(Real, 0, 1, closed="neither")],
    "paste_fraction": [Interval(Real, 0, 1, closed="left")],
    "min_support": [
        None,
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="neither"),
    ],
    "max_features": [None, Interval(Integral, 1, None, closed="left")],
    "threshold": [None, Real],
    "keep_all": ["boolean"],
    "condition_price": [Interval(Real, 0, None, closed="left")],
    "forbidden_features": ["array-like"],
    "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
    "random_state": ["random_state"],
}


def _settings(estimator: Any) -> Settings:
    """Read the settings of PRIM from parameters of the same names."""
    return Settings(**{field.name: getattr(estimator, field.name) for field in fields(Settings)})


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


class PRIMClassifier(OneVersusRest, BoxClassifier):
    """Classifier made of boxes found by patient rule induction.

    From the whole table, slices of a few rows are peeled off until a small box of high precision is
    left; a point of this trajectory becomes a box, its rows are set aside, and the next box is sought.
    With two classes the boxes describe one of them; with more, every class has its own boxes and their
    order settles conflicts.

    Parameters
    ----------
    n_boxes : int or None, default=10
        Most boxes of each described class; None for as many as are worth keeping.
    objective : {"lenient2", "lenient1", "original", "f1", "wracc", "lift"}, default="lenient2"
        Which slice is peeled next; see ``hyperboxes.prim.Settings``.
    criterion : {"f1", "wracc", "mean", "peak", "last"}, default="f1"
        Which point of a trajectory becomes a box. With ``"f1"``, the one where the F1 of all boxes so far is
        highest, and no further box is taken once it does not rise.
    validation : {"cv", "training"}, default="cv"
        Whether points are judged on rows left out of peeling, by cross-validation, or on all rows.
    n_folds : int, default=5
        Folds of the cross-validation.
    peel_fraction, paste_fraction : float, default=0.05
        Share of a box's rows that a peel removes and a paste adds; 0 pastes nothing.
    min_support : int or float, optional
        Fewest training rows in a box, as a count or as a share of all rows; by default ten, or a third of
        the class if that is less.
    max_features : int, optional
        Most features that a box restricts.
    threshold : float, optional
        Least precision of a box to be kept.
    keep_all : bool, default=False
        Whether to go on until rows run out, with criteria other than ``"f1"`` and ``"wracc"``.
    condition_price : float, default=0.7
        What a condition must earn, in rows put right; others are dropped. For ``"f1"`` and ``"wracc"``.
    polish : bool, default=False
        Whether the boxes are then moved to exact optima of a penalised F1, as ``HyperNNClassifier`` does.
    uncovered : {"auto", "default", "nearest", "reject"}, default="auto"
        Rows in no box get one default class, the class of the nearest box, or no answer (None).
        ``"auto"`` is ``"default"`` for two classes and ``"nearest"`` for more.
    positive_label : label, optional
        The class that the boxes describe in a two-class task; the second one by default.
    class_weight : dict or "balanced", optional
        Weights of classes.
    monotonic_cst : dict or array-like, optional
        1: no upper bounds on the feature, -1: no lower bounds, 0: free. Two classes only.
    forbidden_features : sequence of str or int, default=()
        Features that no box may restrict.
    categorical_features : "from_dtype", sequence of str or int, or None, default="from_dtype"
        Which columns are categories; by default those of a categorical dtype.
    random_state : int, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    boxes_ : Boxes
        The model.
    trajectories_ : dict of label to tuple of Trajectory
        For each described class, the trajectory of each box in the order they were found.
    classes_, feature_importances_, n_features_in_, feature_names_in_
        As in ``HyperNNClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperboxes import PRIMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PRIMClassifier(random_state=0).fit(X, y == 0)
    >>> model.predict(X[:2])
    array([ True,  True])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **_SHARED_CONSTRAINTS,
        "polish": ["boolean"],
        "uncovered": [StrOptions({"auto", "default", "nearest", "reject"})],
        "positive_label": [None, str, Real, "boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "monotonic_cst": [None, dict, "array-like"],
    }

    def __init__(
        self,
        n_boxes: int | None = 10,
        *,
        objective: Objective = "lenient2",
        criterion: Criterion = "f1",
        validation: Validation = "cv",
        n_folds: int = 5,
        peel_fraction: float = 0.05,
        paste_fraction: float = 0.05,
        min_support: float | None = None,
        max_features: int | None = None,
        threshold: float | None = None,
        keep_all: bool = False,
        condition_price: float = 0.7,
        polish: bool = False,
        uncovered: Literal["auto", "default", "nearest", "reject"] = "auto",
        positive_label: Label | None = None,
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        monotonic_cst: Mapping[str, int] | Sequence[int] | None = None,
        forbidden_features: Sequence[str | int] = (),
        categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_boxes = n_boxes
        self.objective = objective
        self.criterion = criterion
        self.validation = validation
        self.n_folds = n_folds
        self.peel_fraction = peel_fraction
        self.paste_fraction = paste_fraction
        self.min_support = min_support
        self.max_features = max_features
        self.threshold = threshold
        self.keep_all = keep_all
        self.condition_price = condition_price
        self.polish = polish
        self.uncovered = uncovered
        self.positive_label = positive_label
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.forbidden_features = forbidden_features
        self.categorical_features = categorical_features
        self.random_state = random_state

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Give the set-up of the published comparison, for reference.

        The defaults of the package it used: boxes hold at least 5 % of all rows, which a rare class cannot
        fill, are taken where the mean first stops rising, and all count as positive, down to the last.
        """
        preset = {field.name: getattr(PAPER, field.name) for field in fields(Settings)}
        return cls(**{"n_boxes": None, **preset, **parameters})

    def _fit_boxes(self, table: Table, classes: Ints, weight: Floats) -> Boxes:
        settings, limits, seed = _settings(self), self._limits_by_class(table), _seed(self.random_state)
        labels = self._plain_labels()
        learned, codes, mass = drop_weightless(table, classes, weight)
        present = np.unique(codes)
        targets = [target for target in self._described() if target in present and len(present) > 1]
        ranks = Ranks.from_table(learned)
        progress = joined_progress(self._progress, len(targets))

        def find(target: int) -> list[Trajectory]:
            tell = progress(targets.index(target))
            found = cover(
                ranks, (codes == target).astype(np.float64), mass, n_boxes=self.n_boxes, settings=settings,
                limits=limits[target], seed=seed, label=labels[target].item(), progress=tell,
            )  # fmt: skip
            tell(1.0)
            return found

        found = run(find, targets)
        self.trajectories_ = {
            self.classes_.tolist()[target]: tuple(group) for target, group in zip(targets, found, strict=True)
        }
        boxes = self._assemble(learned, [one for group in found for one in group], codes, mass)
        if self.polish:
            boxes = self._polished(learned, boxes, codes, mass, limits, seed)
        return self._with_uncovered(boxes, learned, codes, mass)

    def _limits(self, table: Table, *, against: bool) -> Limits:
        return read_limits(
            table, len(self.classes_), forbidden_features=self.forbidden_features, required_features=(),
            monotonic_cst=self.monotonic_cst, max_conditions=None, against=against,
        )  # fmt: skip

    def _assemble(self, table: Table, found: list[Trajectory], classes: Ints, weight: Floats) -> Boxes:
        """Put the boxes of all classes into one order: with several classes, the surest first."""
        labels = self._plain_labels()
        boxes = chosen_boxes(table, found, labels, labels[0].item())
        votes = np.searchsorted(self.classes_, boxes.labels)
        if len(np.unique(votes)) <= 1:
            return boxes
        inside = np.ascontiguousarray(boxes.contains(table.matrix).T)
        return boxes.select(order_boxes(inside, votes, classes, weight))

    def _polished(
        self, table: Table, boxes: Boxes, classes: Ints, weight: Floats, limits: dict[int, Limits], seed: int
    ) -> Boxes:
        """Move the boxes to exact optima: the crisp stage of HyperNN, without its gradient stage."""
        n_boxes = {
            int(np.flatnonzero(self.classes_ == label)[0]): int((boxes.labels == label).sum())
            for label in np.unique(boxes.labels)
        }
        settings = PolishSettings(n_steps=0, condition_price=self.condition_price)
        return fit_hypernn(
            table, classes, self._plain_labels(), weight, n_boxes, limits=limits, settings=settings,
            given=boxes, seed=seed,
        ).boxes  # fmt: skip


class PRIMRegressor(RegressorMixin, BoxEstimator):
    """Finder of subgroups in which a number is high, by patient rule induction.

    Each box is a subgroup; a row gets the mean of the first box that contains it, and the mean of the rows in
    no box elsewhere. Meant to find and describe groups rather than to predict every row well. For low
    values, negate the target.

    Parameters
    ----------
    n_boxes : int or None, default=10
        Most boxes; None for as many as are worth keeping.
    criterion : {"wracc", "mean", "peak", "last"}, default="wracc"
        Which point of a trajectory becomes a box: by default where weight times rise of the mean is largest.
    objective, validation, n_folds, peel_fraction, paste_fraction, min_support, max_features, threshold, \
keep_all, condition_price, forbidden_features, categorical_features, random_state
        As in ``PRIMClassifier``, where a precision is a mean.

    Attributes
    ----------
    boxes_ : Boxes
        The subgroups; labels are means.
    trajectories_ : tuple of Trajectory
        The trajectory of each box.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperboxes import PRIMRegressor
    >>> X = np.random.default_rng(0).uniform(size=(500, 3))
    >>> model = PRIMRegressor(n_boxes=1, random_state=0).fit(X, 10.0 * (X[:, 1] > 0.7))
    >>> [condition.name for condition in model.boxes_.conditions(0)]
    ['x1']
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **_SHARED_CONSTRAINTS,
        "criterion": [StrOptions({"wracc", "mean", "peak", "last"})],
        "objective": [StrOptions(set(get_args(Objective)) - {"f1"})],
    }

    def __init__(
        self,
        n_boxes: int | None = 10,
        *,
        objective: Objective = "lenient2",
        criterion: Criterion = "wracc",
        validation: Validation = "cv",
        n_folds: int = 5,
        peel_fraction: float = 0.05,
        paste_fraction: float = 0.05,
        min_support: float | None = None,
        max_features: int | None = None,
        threshold: float | None = None,
        keep_all: bool = False,
        condition_price: float = 0.7,
        forbidden_features: Sequence[str | int] = (),
        categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_boxes = n_boxes
        self.objective = objective
        self.criterion = criterion
        self.validation = validation
        self.n_folds = n_folds
        self.peel_fraction = peel_fraction
        self.paste_fraction = paste_fraction
        self.min_support = min_support
        self.max_features = max_features
        self.threshold = threshold
        self.keep_all = keep_all
        self.condition_price = condition_price
        self.forbidden_features = forbidden_features
        self.categorical_features = categorical_features
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find subgroups.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Numbers, booleans and, in a frame, categorical columns; missing values are allowed.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "give the number of each row"
            )
        table = self._check_table(X, reset=True, least_rows=1)
        target = _check_y(y, y_numeric=True, estimator=self).astype(np.float64)
        check_consistent_length(table.matrix, target)
        weight = _check_sample_weight(sample_weight, table.matrix, dtype=np.float64, ensure_non_negative=True)
        limits = read_limits(
            table, 2, forbidden_features=self.forbidden_features, required_features=(), monotonic_cst=None,
            max_conditions=None,
        )  # fmt: skip
        found = fit_prim(
            table, target, sample_weight=weight, n_boxes=self.n_boxes, settings=_settings(self),
            limits=limits, seed=_seed(self.random_state), numeric=True,
        )  # fmt: skip
        self.boxes_, self.trajectories_ = found.boxes, found.trajectories
        _, self._scale = standardise(table.matrix, weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Give the mean of the first box that contains each row, else of the rows in no box."""
        matrix = self._matrix(X)
        return np.asarray(self.boxes_.predict(matrix), dtype=np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # it describes high values, not all of them
        return tags
