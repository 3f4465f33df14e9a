"""FMMClassifier: the fuzzy min-max family, and an ensemble of its members."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from ..boxes import Boxes, Label
from ..fmm import VARIANTS, Network, Rows, Settings, Space, fit_fmm, intervals
from ..fmm.network import SIMILARITIES
from ..fmm.rows import informative, shuffled, some_of_each_class
from ..kernels._threads import run
from ..scaling import standardise
from ..tables import Table, to_matrix
from ._base import BoxClassifier

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Widths that ``max_width="auto"`` chooses from.
WIDTHS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
#: The width of a stream that was given none.
STREAM_WIDTH = 0.3


class Columns(NamedTuple):
    """Where the categories of each categorical column lie on its axis: position → place."""

    places: dict[int, Ints]

    @classmethod
    def of(cls, table: Table, classes: Ints, weight: Floats) -> Columns:
        """Keep ordered categories in their order, and order others by the share of the largest class."""
        places = {}
        largest = classes == np.bincount(classes, weight).argmax()
        for name, known in table.categories.items():
            column = table.feature_names.index(name)
            codes = table.matrix[:, column]
            order = np.arange(len(known))
            if name not in table.ordered:
                seen = codes >= 0
                at = codes[seen].astype(np.int64)
                mass = np.bincount(at, weight[seen], minlength=len(known))
                own = np.bincount(at, (weight * largest)[seen], minlength=len(known))
                order = np.argsort(own / np.maximum(mass, 1e-300), kind="stable")
            places[column] = np.argsort(order)
        return cls(places)

    def placed(self, matrix: NDArray[Any]) -> Floats:
        """Replace positions by places; an unknown category is a missing value."""
        if not self.places:
            return np.asarray(matrix, dtype=np.float64)
        moved = np.array(matrix, dtype=np.float64)
        for column, place in self.places.items():
            codes = moved[:, column]
            known = (codes >= 0) & (codes < len(place))
            moved[~known, column] = np.nan
            moved[known, column] = place[codes[known].astype(np.int64)]
        return moved

    def admitted(self, column: int, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
        """Tell which categories lie between bounds, shape (n_boxes, n_categories)."""
        place = self.places[column]
        return (lower[:, None] <= place) & (place <= upper[:, None])


class _FuzzyClassifier(BoxClassifier):
    """What one network and an ensemble of them have in common: tables in, crisp boxes beside the answer."""

    uncovered: Any
    random_state: Any

    def _fit_boxes(self, table: Table, classes: Ints, weight: Floats) -> Boxes:
        raise NotImplementedError("rows may be intervals, which this signature cannot pass on: see fit")

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _rows(self, table: Table, classes: Ints, weight: Floats, upper: ArrayLike | None) -> Rows:
        placed = self._columns.placed(table.matrix)
        return Rows(*self._intervals(placed, upper, table.feature_names, table.categories), classes, weight)

    def _intervals(
        self, lower: Floats, upper: ArrayLike | None, names: Sequence[str], categories: Mapping[str, Any]
    ) -> tuple[Floats, Floats]:
        if upper is None:
            return intervals(lower)
        matrix = self._columns.placed(to_matrix(upper, names, categories, positions=False))
        if matrix.shape != lower.shape:
            raise ValueError(
                f"upper has shape {matrix.shape} but X has {lower.shape}: give one cell for each"
            )
        crossed = np.argwhere(lower > matrix)
        if len(crossed):
            row, column = crossed[0]
            raise ValueError(
                f"row {row}, column {names[column]!r}: X is {lower[row, column]} and upper is "
                f"{matrix[row, column]}; an interval needs X <= upper"
            )
        if not np.isfinite(matrix[~np.isnan(matrix)]).all():
            raise ValueError("upper contains infinity: replace it by a finite number, or by NaN if unknown")
        return intervals(lower, matrix)

    def _test_intervals(self, X: ArrayLike, upper: ArrayLike | None) -> tuple[Floats, Floats]:
        matrix = self._matrix(X)
        placed = self._columns.placed(matrix)
        return self._intervals(placed, upper, self.boxes_.feature_names, self.boxes_.categories)

    def _learned(self, network: Network, table: Table, classes: Ints, weight: Floats) -> Self:
        """Set ``boxes_``, those of a network in order of rank, and how often they alone give the answer."""
        X = table.matrix
        nearest = self.uncovered == "nearest" and len(network)
        scale = self._power_of_two_ranges(network.space) if nearest else None
        if len(network) and not table.categories and not np.isnan(X).any():
            winner, decided = network.decisions(X, scale)  # much faster than Boxes for thousands of boxes
        else:
            winner, decided = None, self._crisp(network, table, scale, None).decide(X)
        counts = np.zeros((len(network) + 1, len(self.classes_)))
        np.add.at(counts, (decided, classes), weight)
        self.boxes_ = self._crisp(network, table, scale, counts)
        _, self._scale = standardise(X, weight)
        answers = self._training_answers(winner, X)
        self.fidelity_ = float(np.mean(self.classes_[answers] == self._answers()[decided]))
        return self

    def _training_answers(self, winner: Ints | None, X: Floats) -> Ints:
        """Give the predicted classes of the training rows, of which the network's winners may be known."""
        return self._fuzzy_classes(*intervals(self._columns.placed(X)))

    def _crisp(self, network: Network, table: Table, scale: Floats | None, counts: Floats | None) -> Boxes:
        """Make boxes in order of rank; sets of categories where columns have them."""
        (lower, upper), allowed = network.bounds, {}
        for column in self._columns.places:
            name = table.feature_names[column]
            allowed[name] = self._columns.admitted(column, lower[:, column], upper[:, column])
            lower[:, column], upper[:, column] = -np.inf, np.inf
        known = np.array(self.classes_.tolist())
        default = 0
        if counts is not None:
            default = (counts[-1] if counts[-1].sum() > 0 else counts.sum(axis=0)).argmax()
        return Boxes(
            lower, upper, known[network.labels], table.feature_names, known[default].item(), known,
            table.categories, allowed, "default" if scale is None else "nearest", scale, counts,
        )  # fmt: skip

    def _power_of_two_ranges(self, space: Space) -> Floats:
        """Give the scale in which the nearest box is nearly that of highest membership."""
        exponent = np.rint(-np.log2(space.unit * space.sensitivity)).clip(-1000, 1000)
        scale = np.ldexp(1.0, exponent.astype(np.int64))
        scale[list(self._columns.places)] = 1.0
        return scale

    @abstractmethod
    def _fuzzy_classes(self, low: Floats, high: Floats) -> Ints:
        """Give the class of highest membership for rows as intervals."""

    @abstractmethod
    def _class_shares(self, low: Floats, high: Floats) -> Floats:
        """Give a share for each class, shape (n_samples, n_classes)."""

    def _default_class(self) -> int:
        return self.boxes_.classes.tolist().index(self.boxes_.default)

    def predict(self, X: ArrayLike, upper: ArrayLike | None = None) -> NDArray[Any]:
        """Give the class of highest membership for each row, as published.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Rows, or the lower ends of rows that are intervals.
        upper : like X, optional
            Upper ends of the intervals.
        """
        low, high = self._test_intervals(X, upper)
        return self.classes_[self._fuzzy_classes(low, high)]

    def predict_proba(self, X: ArrayLike, upper: ArrayLike | None = None) -> Floats:
        """Give class probabilities; the most probable class is the predicted one, on every row."""
        low, high = self._test_intervals(X, upper)
        shares = self._class_shares(low, high)
        rows, winner = np.arange(len(shares)), self._fuzzy_classes(low, high)
        shares[rows, winner] = np.maximum(shares[rows, winner], shares.max(axis=1) * (1 + 1e-9) + 1e-9)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


class FMMClassifier(_FuzzyClassifier):
    """Fuzzy min-max classifier: boxes that grow row by row, and answer by highest membership.

    Rows are presented one by one. A row goes to a box of its class that may be stretched to it, or becomes a
    box of its own. ``predict`` gives the class of the box of highest membership, as published; ``boxes_``
    are the same boxes as a crisp, ordered list, which agree wherever a row lies in one, and ``fidelity_``
    says how often they give the answer overall.

    Published networks keep every box they make, often nearly one for each row. By default boxes are pruned
    on rows held out, and those that are left grow, as long as that helps; ``prune=False`` learns as
    published.

    Parameters
    ----------
    variant : {"iol", "simpson", "enhanced", "gfmm", "agglomerative"}, default="iol"
        ``"simpson"``: the original (1992), mean membership, overlap between classes is contracted.
        ``"enhanced"``: its nine cases of overlap (2015). ``"gfmm"``: general, online (2000), least
        membership. ``"iol"``: improved online (2020), no overlap and so no contraction.
        ``"agglomerative"``: AGGLO-2 (2002), all rows at once.
    max_width : float, sequence of float or "auto", default="auto"
        Widest box, as a share of each feature's range: on the average of the features for ``"simpson"``, in
        each of them otherwise. Of several, the best on rows held out. Boxes that pruning kept may grow
        wider.
    sensitivity : float or array-like of shape (n_features,), default=1.0
        How fast membership falls with the distance from a box.
    n_passes : int, optional
        Most passes over the rows; by default 1, or 10 if boxes are pruned after each. Such a pass takes up to
        6,000 rows, the next one those that follow.
    width_decay : float, default=1.0
        What the width is multiplied by from pass to pass, where boxes are not pruned.
    prune : bool, default=True
        Whether to drop boxes that do not pay on rows held out, and to let the others grow beyond their width
        and over what was dropped, as long as they meet no box of another class.
    box_price : float, default=0.5
        What a box must earn there, in rows put right.
    min_support : float, default=0
        Fewest rows, by weight, of a box; each class keeps its largest.
    validation_fraction : float, default=0.25
        Share of rows to hold out, at most 10,000, if there is something to choose. In smaller tables other
        shares are held out in turn, and the boxes kept each time are put together.
    similarity : {"mid", "short", "long"}, default="mid"
        Which distance between boxes ``"agglomerative"`` goes by.
    min_similarity : float, default=0.0
        Least similarity of boxes that it merges.
    uncovered : {"nearest", "default"}, default="nearest"
        What the crisp boxes say of rows in none of them; ``predict`` does not ask.
    shuffle : bool, default=True
        Whether to present rows in a random order, which then depends on the seed and on what they hold only;
        equal ones are merged. Otherwise as they come.
    class_weight : dict or "balanced", optional
        Weights of classes.
    categorical_features : "from_dtype", sequence of str or int, or None, default="from_dtype"
        Which columns are categories; a box spans neighbouring ones, unordered ones being put in order first.
    random_state : int, RandomState or None
        Seed. The same seed and rows give the same boxes, at any number of threads.

    Attributes
    ----------
    boxes_ : Boxes
        The boxes as a crisp list, those of most training rows first.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    max_width_ : float
        The width used.
    fidelity_ : float
        Share of training rows on which the boxes alone give ``predict``'s answer.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A row's weight counts where boxes are pruned, and for the order among boxes of equal membership; the
    published updates do not know weights. A missing value speaks against no box.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperboxes import FMMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FMMClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 50, 100]])
    array([0, 1, 2])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "variant": [StrOptions(set(VARIANTS))],
        "max_width": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), "array-like"],
        "sensitivity": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "n_passes": [None, Interval(Integral, 1, None, closed="left")],
        "width_decay": [Interval(Real, 0, 1, closed="right")],
        "prune": ["boolean"],
        "box_price": [Interval(Real, 0, None, closed="left")],
        "min_support": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither")],
        "similarity": [StrOptions(set(SIMILARITIES))],
        "min_similarity": [Interval(Real, 0, 1, closed="both")],
        "uncovered": [StrOptions({"nearest", "default"})],
        "shuffle": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        variant: Literal["iol", "simpson", "enhanced", "gfmm", "agglomerative"] = "iol",
        *,
        max_width: float | Sequence[float] | Literal["auto"] = "auto",
        sensitivity: float | Sequence[float] = 1.0,
        n_passes: int | None = None,
        width_decay: float = 1.0,
        prune: bool = True,
        box_price: float = 0.5,
        min_support: float = 0,
        validation_fraction: float = 0.25,
        similarity: Literal["mid", "short", "long"] = "mid",
        min_similarity: float = 0.0,
        uncovered: Literal["nearest", "default"] = "nearest",
        shuffle: bool = True,
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.variant = variant
        self.max_width = max_width
        self.sensitivity = sensitivity
        self.n_passes = n_passes
        self.width_decay = width_decay
        self.prune = prune
        self.box_price = box_price
        self.min_support = min_support
        self.validation_fraction = validation_fraction
        self.similarity = similarity
        self.min_similarity = min_similarity
        self.uncovered = uncovered
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> Self:
        """Learn boxes from a table.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Numbers, booleans and, in a frame, categorical columns; missing values are allowed. With
            ``upper``, the lower ends of rows that are intervals.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for.
        upper : like X, optional
            Upper ends of the intervals.

        Returns
        -------
        self
        """
        self.__dict__.pop("boxes_", None)
        table, classes, weight = self._check_training_data(X, y, sample_weight, least_rows=2)
        self._warn_of_one_class(classes, weight)
        self._columns = Columns.of(table, classes, weight)
        rows = self._rows(table, classes, weight, upper)
        fit = fit_fmm(rows, self._settings(table), self._seed(), self._progress)
        self._network, self.max_width_ = fit.network, fit.max_width
        self._drop_boxes_between_categories()
        self._network.rank_by_weight()
        return self._learned(self._network, table, classes, weight)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> Self:
        """Learn one more batch of a stream, row by row in its order, as published: nothing is pruned.

        Ranges of features, in which widths are measured, are those of all rows so far. Without a number for
        ``max_width``, a stream that did not begin with ``fit`` uses 0.3.

        Parameters
        ----------
        X, y, sample_weight, upper
            As in ``fit``.
        classes : array-like, optional
            All classes that will ever come; needed in the first call if this batch lacks some.
        """
        begins = not hasattr(self, "boxes_")
        table, codes, weight = self._check_training_data(X, y, sample_weight, reset=begins, classes=classes)
        if begins:
            self._columns = Columns.of(table, codes, weight)
            number = isinstance(self.max_width, Real)
            self.max_width_ = float(self.max_width) if number else STREAM_WIDTH  # type: ignore[arg-type]
        else:
            table = self._in_known_categories(table)
        settings = self._settings(table)
        rows = informative(self._rows(table, codes, weight, upper))
        if begins:
            self._network = Network(VARIANTS[self.variant], Space.of(rows, settings.sensitivity))
        else:
            self._network.space = self._network.space.widened(rows)
        if self._network.variant.batch:
            self._network.agglomerate(rows, self.max_width_, self.similarity, self.min_similarity)
        else:
            self._network.present(rows, self.max_width_)
        return self._learned(self._network, table, codes, weight)

    def _settings(self, table: Table) -> Settings:
        widths = WIDTHS if isinstance(self.max_width, str) else np.atleast_1d(self.max_width).tolist()
        if not widths or not all(np.isfinite(width) and width >= 0 for width in widths):
            raise ValueError(f"max_width must be 'auto' or numbers from 0 on, got {self.max_width!r}")
        sensitivity = np.asarray(self.sensitivity, dtype=np.float64)
        n_features = len(table.feature_names)
        if sensitivity.shape not in ((), (n_features,)) or not (sensitivity > 0).all():
            raise ValueError(
                f"sensitivity must be a positive number, or one for each of {n_features} features, "
                f"got {self.sensitivity!r}"
            )
        return Settings(
            self.variant, tuple(widths), sensitivity, self.n_passes, float(self.width_decay),
            bool(self.prune), float(self.box_price), float(self.min_support),
            float(self.validation_fraction), self.similarity, float(self.min_similarity), bool(self.shuffle),
        )  # fmt: skip

    def _drop_boxes_between_categories(self) -> None:
        """Drop boxes that contraction left between two neighbouring categories, where no row can be."""
        lower, upper = self._network.bounds
        reached = np.ones(len(lower), bool)
        for column in self._columns.places:
            reached &= self._columns.admitted(column, lower[:, column], upper[:, column]).any(axis=1)
        if not reached.all():
            self._network.keep(reached)

    def _in_known_categories(self, table: Table) -> Table:
        """Read positions of categories as those of the first batch."""
        matrix = table.matrix.copy()
        for name, known in self.boxes_.categories.items():
            strange = [value for value in table.categories.get(name, ()) if value not in known]
            if strange:
                raise ValueError(
                    f"column {name!r} has the category {strange[0]!r}, which the first batch did not know; "
                    "declare all categories in the column's type from the start"
                )
            column = table.feature_names.index(name)
            codes = matrix[:, column]
            seen = codes >= 0
            moved = np.array([known.index(value) for value in table.categories.get(name, known)])
            matrix[seen, column] = moved[codes[seen].astype(np.int64)]
        return table._replace(matrix=matrix, categories=dict(self.boxes_.categories))

    # -- answers -----------------------------------------------------------------------------------

    def _training_answers(self, winner: Ints | None, X: Floats) -> Ints:
        return super()._training_answers(None, X) if winner is None else self._network.labels[winner]

    def _fuzzy_classes(self, low: Floats, high: Floats) -> Ints:
        if not len(self._network):
            return np.full(len(low), self._default_class())
        rank, _ = self._network.winners(low, high)
        return self._network.labels[rank]

    def _class_shares(self, low: Floats, high: Floats) -> Floats:
        """Give the highest membership in a box of each class."""
        found = [self._network.winners(low, high, label)[1] for label in range(len(self.classes_))]
        return np.stack(found, axis=1)

    def membership(self, X: ArrayLike, upper: ArrayLike | None = None) -> Floats:
        """Give the published membership of each row in each box, shape (n_samples, n_boxes)."""
        intervals = self._test_intervals(X, upper)
        return self._network.memberships(*intervals)


class Member(NamedTuple):
    """A network and the features it sees."""

    features: Ints
    network: Network


class RandomHyperboxesClassifier(_FuzzyClassifier):
    """Vote of fuzzy min-max networks, each learned from some of the rows and some of the features.

    After Random Hyperboxes (Khuat & Gabrys 2021). ``boxes_`` holds the boxes of all members, open in the
    features a member did not see; ``fidelity_`` says how often they, as one crisp list, give the vote.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of networks.
    variant, max_width, sensitivity
        As in ``FMMClassifier``; ``max_width`` is one number.
    max_samples : float, default=0.5
        Share of the rows of each class that a member learns from.
    max_features : int, float or "sqrt", default="sqrt"
        Features that a member sees: a number, a share, or the square root of their number.
    prune : bool, default=False
        Whether members are pruned on rows held out.
    uncovered, categorical_features, random_state
        As in ``FMMClassifier``.

    Attributes
    ----------
    boxes_, classes_, fidelity_, n_features_in_, feature_names_in_
        As in ``FMMClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperboxes import RandomHyperboxesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomHyperboxesClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 50, 100]])
    array([0, 1, 2])
    """

    class_weight = None  # votes are not weighed

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "variant": [StrOptions(set(VARIANTS))],
        "max_width": [Interval(Real, 0, None, closed="left")],
        "sensitivity": [Interval(Real, 0, None, closed="neither")],
        "max_samples": [Interval(Real, 0, 1, closed="right")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt"}),
        ],
        "prune": ["boolean"],
        "uncovered": [StrOptions({"nearest", "default"})],
        "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        variant: Literal["iol", "simpson", "enhanced", "gfmm", "agglomerative"] = "iol",
        max_width: float = 0.3,
        sensitivity: float = 1.0,
        max_samples: float = 0.5,
        max_features: float | Literal["sqrt"] = "sqrt",
        prune: bool = False,
        uncovered: Literal["nearest", "default"] = "nearest",
        categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.variant = variant
        self.max_width = max_width
        self.sensitivity = sensitivity
        self.max_samples = max_samples
        self.max_features = max_features
        self.prune = prune
        self.uncovered = uncovered
        self.categorical_features = categorical_features
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the members; parameters as in ``FMMClassifier.fit``."""
        self.__dict__.pop("boxes_", None)
        table, classes, weight = self._check_training_data(X, y, sample_weight, least_rows=2)
        self._warn_of_one_class(classes, weight)
        self._columns = Columns.of(table, classes, weight)
        seed = self._seed()
        rows = shuffled(informative(self._rows(table, classes, weight, None)), seed)
        n_features = self._n_member_features(len(table.feature_names))
        self._members = run(
            lambda index: self._learn_member(rows, n_features, [seed, index]), range(self.n_estimators)
        )
        space = Space.of(rows, float(self.sensitivity))
        lower, upper, labels = self._all_bounds(len(table.feature_names))
        crisp = Network.of_boxes(VARIANTS[self.variant], space, lower, upper, labels)
        return self._learned(crisp, table, classes, weight)

    def _n_member_features(self, n_features: int) -> int:
        asked = self.max_features
        if isinstance(asked, str):
            return int(np.ceil(np.sqrt(n_features)))
        if asked <= 1 and not isinstance(asked, int | np.integer):
            return max(1, round(asked * n_features))
        if asked > n_features:
            raise ValueError(f"max_features is {asked}, but there are {n_features} features")
        return int(asked)

    def _learn_member(self, rows: Rows, n_features: int, seed: list[int]) -> Member:
        draw = np.random.default_rng(seed)
        features = np.sort(draw.choice(rows.low.shape[1], n_features, replace=False))
        own = rows.take(some_of_each_class(rows.classes, self.max_samples, draw, least=1))
        own = own._replace(low=own.low[:, features], high=own.high[:, features])
        settings = Settings(
            self.variant, (float(self.max_width),), float(self.sensitivity), prune=bool(self.prune)
        )
        return Member(features, fit_fmm(own, settings, int(draw.integers(2**31))).network)

    def _all_bounds(self, n_features: int) -> tuple[Floats, Floats, Ints]:
        """Put the members' boxes into one list, those of most rows first."""
        shape = (sum(len(member.network) for member in self._members), n_features)
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        done = 0
        for features, network in self._members:
            own = slice(done, done + len(network))
            lower[own, features], upper[own, features] = network.bounds
            done += len(network)
        labels = np.concatenate([member.network.labels for member in self._members])
        weight = np.concatenate([member.network.weight for member in self._members])
        order = np.argsort(-weight, kind="stable")
        for column in self._columns.places:
            admitted = self._columns.admitted(column, lower[:, column], upper[:, column])
            order = order[admitted[order].any(axis=1)]
        return lower[order], upper[order], labels[order]

    def _fuzzy_classes(self, low: Floats, high: Floats) -> Ints:
        return np.asarray(self._class_shares(low, high).argmax(axis=1))

    def _class_shares(self, low: Floats, high: Floats) -> Floats:
        """Give the share of members that vote for each class."""
        votes = np.zeros((len(low), len(self.classes_)))
        for features, network in self._members:
            if len(network):
                rank, _ = network.winners(low[:, features], high[:, features])
                votes[np.arange(len(low)), network.labels[rank]] += 1
        if not any(len(member.network) for member in self._members):
            votes[:, self._default_class()] = 1
        return votes / votes.sum(axis=1, keepdims=True)
