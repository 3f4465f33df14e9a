"""HyperNNClassifier: boxes learned by gradient and finished by crisp search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..boxes import Boxes, Label
from ..crisp import Limits
from ..kernels._helper import side_by_side
from ..nn.fit import fit_hypernn
from ..nn.settings import Settings
from ..scaling import standardise
from ..tables import Table
from ._base import BoxClassifier
from ._constraints import is_position, read_limits
from ._memory import Memory
from ._one_versus_rest import OneVersusRest
from ._soft import SoftNetwork, import_network

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows that partial_fit remembers.
MEMORY_ROWS = 20_000


class HyperNNClassifier(OneVersusRest, BoxClassifier):
    """Classifier made of a few axis-aligned boxes, learned end to end.

    Soft boxes are trained by gradient from several starts, then become crisp, are moved to exact optima
    of a penalised F1, pooled, and thinned out. The model is the boxes: ``predict`` is
    ``boxes_.predict``. With two classes the boxes describe one of them; with more, every class
    has its own boxes and their order settles conflicts. Where values are missing for a reason, the boxes of
    two classes may be an ordered list of both.

    Parameters
    ----------
    n_boxes : int, dict or "auto", default=10
        Most boxes of each described class; a dict gives a number per class label. Boxes that do not
        pay their price are dropped. ``"auto"`` grows the number while that helps on rows left out.
    recipe : {"crisp", "paper"} or Settings, default="crisp"
        How boxes are learned: our own recipe, or the one of the paper (random start, full batch, soft
        decision unless ``decision`` says otherwise; needs torch).
    init : {"auto", "clusters", "tree"} or Boxes, default="auto"
        Where boxes start: the recipe's own mix of starts, clusters of the class, leaves of a
        decision tree, or given boxes, such as a PRIM result or hand-written rules.
    frozen : bool, sequence of int or of bool, default=False
        Which boxes of ``init`` stay as they are and come first in the model: positions, a mark for each, or
        True for all.
    decision : {"auto", "crisp", "soft"}, default="auto"
        ``"soft"`` lets the network's output decide instead of the boxes, as the paper does;
        ``fidelity_`` says how often the two agree. ``"auto"`` is soft for the paper's recipe only.
    uncovered : {"auto", "default", "nearest", "reject"}, default="auto"
        Rows in no box get one default class, the class of the nearest box, or no answer (None).
        ``"auto"`` is ``"default"`` for two classes and ``"nearest"`` for more.
    positive_label : label, optional
        The class that the boxes describe in a two-class task. By default the second one; the first, or both
        where values are missing, if that tells the second clearly better on rows left out. With more than
        two classes of text labels, the others are merged into ``"not <label>"``.
    class_weight : dict or "balanced", optional
        Weights of classes.
    max_conditions : int, optional
        Most conditions of a box; a condition is one closed side or one set of categories.
    min_support : int or float, default=0
        Fewest training rows in a box, as a count or as a share of all rows.
    condition_price, box_price : float, optional
        What a condition and a box must earn, in rows put right; higher means simpler. Where boxes of a
        small table learn from a forest's and a regression's answers, a fifth of it.
    monotonic_cst : dict or array-like, optional
        1: a larger value can only speak for the positive class (its boxes have no upper bounds, those of
        the other class no lower ones), -1: only a smaller one, 0: free. By feature name or in column
        order. Two classes only.
    forbidden_features, required_features : sequence of str or int, default=()
        Features that no box may restrict, and that every box must restrict.
    categorical_features : "from_dtype", sequence of str or int, or None, default="from_dtype"
        Which columns are categories; by default those of a categorical dtype.
    loss, regularizers, optimizer, learning_rate, batch_size, max_iter
        Overrides of the recipe's gradient stage; a loss, regularisers and an optimizer other than the
        recipe's run in torch (see ``hyperboxes.nn.train``).
    device : str, default="auto"
        ``"auto"`` and ``"cpu"`` use compiled code; any other torch device trains there.
    random_state : int, RandomState or None
        Seed. The same seed and rows give the same boxes, at any number of threads.
    verbose : bool, default=False
        Whether to show progress.

    Attributes
    ----------
    boxes_ : Boxes
        The model.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the rows of other classes that each feature alone keeps out of boxes.
    history_ : dict of ndarray
        Loss, F1 and temperature over the gradient steps, averaged over the starts.
    n_iter_ : int
        Gradient steps of each start.
    fidelity_ : float
        Share of training rows on which the boxes alone give ``predict``'s answer; 1 if crisp.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperboxes import HyperNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HyperNNClassifier(n_boxes=2, random_state=0).fit(X, y == 0)
    >>> model.predict(X[:2])
    array([ True,  True])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "n_boxes": [Interval(Integral, 1, None, closed="left"), dict, StrOptions({"auto"})],
        "recipe": [StrOptions({"crisp", "paper"}), Settings],
        "init": [StrOptions({"auto", "clusters", "tree"}), Boxes],
        "frozen": ["boolean", "array-like"],
        "decision": [StrOptions({"auto", "crisp", "soft"})],
        "uncovered": [StrOptions({"auto", "default", "nearest", "reject"})],
        "positive_label": [None, str, Real, "boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "max_conditions": [None, Interval(Integral, 1, None, closed="left")],
        "min_support": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "condition_price": [None, Interval(Real, 0, None, closed="left")],
        "box_price": [None, Interval(Real, 0, None, closed="left")],
        "monotonic_cst": [None, dict, "array-like"],
        "forbidden_features": ["array-like"],
        "required_features": ["array-like"],
        "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
        "loss": [None, str, callable],
        "regularizers": ["array-like"],
        "optimizer": [None, callable],
        "learning_rate": [None, Interval(Real, 0, None, closed="neither")],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_boxes: int | Mapping[Label, Any] | Literal["auto"] = 10,
        *,
        recipe: Literal["crisp", "paper"] | Settings = "crisp",
        init: Literal["auto", "clusters", "tree"] | Boxes = "auto",
        frozen: bool | Sequence[int] = False,
        decision: Literal["auto", "crisp", "soft"] = "auto",
        uncovered: Literal["auto", "default", "nearest", "reject"] = "auto",
        positive_label: Label | None = None,
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        max_conditions: int | None = None,
        min_support: float = 0,
        condition_price: float | None = None,
        box_price: float | None = None,
        monotonic_cst: Mapping[str, int] | Sequence[int] | None = None,
        forbidden_features: Sequence[str | int] = (),
        required_features: Sequence[str | int] = (),
        categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = "from_dtype",
        loss: str | Callable[..., Any] | None = None,
        regularizers: Sequence[Callable[..., Any]] = (),
        optimizer: Callable[..., Any] | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_boxes = n_boxes
        self.recipe = recipe
        self.init = init
        self.frozen = frozen
        self.decision = decision
        self.uncovered = uncovered
        self.positive_label = positive_label
        self.class_weight = class_weight
        self.max_conditions = max_conditions
        self.min_support = min_support
        self.condition_price = condition_price
        self.box_price = box_price
        self.monotonic_cst = monotonic_cst
        self.forbidden_features = forbidden_features
        self.required_features = required_features
        self.categorical_features = categorical_features
        self.loss = loss
        self.regularizers = regularizers
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # -- learning ----------------------------------------------------------------------------------

    def _fit_boxes(self, table: Table, classes: Ints, weight: Floats) -> Boxes:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given, kept = self._given_boxes(table)
        whole = weight
        if kept is not None:
            # Kept boxes come first and decide their rows; the others learn from what is left.
            weight = np.where(kept.apply(table.matrix) >= 0, 0.0, weight)
        settings = self._settings()
        gradient = self._torch_gradient(settings, len(table.matrix), seed)
        with side_by_side(settings.polish):
            fit = fit_hypernn(
                table, classes, self._plain_labels(), weight, self._targets(),
                limits=self._limits_by_class(table),
                settings=settings, given=given, warm=self._warm_boxes(table), gradient=gradient,
                may_turn=self._may_turn(), seed=seed, progress=self.verbose,
            )  # fmt: skip
        self.history_, self.n_iter_ = fit.history, settings.n_steps if gradient is None else gradient.n_epochs
        boxes = fit.boxes
        if kept is not None:
            boxes = Boxes.concat([kept, boxes.select(_that_help(kept, boxes, table, classes, whole))])
        if not fit.settled:
            boxes = self._with_uncovered(boxes, table, classes, weight)
        self._keep_network(boxes, table, weight, gradient)
        return boxes

    def _may_turn(self) -> bool:
        """Tell whether the boxes may describe the other class: nothing must speak of the one by default."""
        plain = self.positive_label is None and self.monotonic_cst is None and self.recipe != "paper"
        return plain and isinstance(self.init, str) and not isinstance(self.n_boxes, Mapping)

    def _torch_gradient(self, settings: Settings, n_rows: int, seed: int) -> Any:
        """Give torch's gradient stage if anything asks for torch, else None."""
        custom = self.loss is not None or self.optimizer is not None or len(self.regularizers) > 0
        if self.recipe != "paper" and self.device in ("auto", "cpu") and not custom:
            return None
        network = import_network()
        return network.torch_descent(
            None if self.recipe == "paper" else settings,
            n_rows,
            loss=self.loss,
            regularizers=self.regularizers,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            max_epochs=self.max_iter,
            device=self.device,
            progress=self.verbose,
            seed=seed,
        )

    def _settings(self) -> Settings:
        settings = self.recipe if isinstance(self.recipe, Settings) else Settings()
        if self.recipe == "paper":
            settings = replace(settings, starts=("random",), polish=False)
            if self.max_conditions is not None or len(self.required_features) or self.min_support:
                raise ValueError(
                    "the paper's recipe knows no max_conditions, required_features or min_support"
                )
        asked: dict[str, Any] = {
            "condition_price": self.condition_price,
            "box_price": self.box_price,
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "n_steps": self.max_iter,
            "starts": (self.init,) if self.init in ("clusters", "tree") else None,
            "min_support": float(self.min_support),
        }
        return replace(settings, **{name: value for name, value in asked.items() if value is not None})

    def _targets(self) -> dict[int, int | str]:
        described = self._described()
        if not isinstance(self.n_boxes, Mapping):
            return dict.fromkeys(described, self.n_boxes)
        known = self.classes_.tolist()
        for label, number in self.n_boxes.items():
            if label not in known:
                raise ValueError(f"n_boxes names the class {label!r}; the classes are {known}")
            if number != "auto" and not (isinstance(number, int | np.integer) and number >= 0):
                raise ValueError(f"n_boxes[{label!r}] must be a number of boxes or 'auto', got {number!r}")
        return {known.index(label): number for label, number in self.n_boxes.items() if number != 0}

    def _limits(self, table: Table, *, against: bool) -> Limits:
        return read_limits(
            table, len(self.classes_), forbidden_features=self.forbidden_features,
            required_features=self.required_features, monotonic_cst=self.monotonic_cst,
            max_conditions=self.max_conditions, against=against,
        )  # fmt: skip

    def _given_boxes(self, table: Table) -> tuple[Boxes | None, Boxes | None]:
        """Split given boxes into those to start from and those to keep as they are."""
        if not isinstance(self.init, Boxes):
            if self.frozen if isinstance(self.frozen, bool | np.bool_) else len(self.frozen):
                raise ValueError("frozen needs init to be Boxes: there is nothing to keep")
            return None, None
        if self.init.feature_names != table.feature_names:
            raise ValueError(
                f"init speaks of the features {list(self.init.feature_names)}; "
                f"the table has {list(table.feature_names)}"
            )
        strange = [label for label in self.init.labels.tolist() if label not in self.classes_.tolist()]
        if strange:
            raise ValueError(
                f"init has boxes of class {strange[0]!r}; the classes are {self.classes_.tolist()}"
            )
        given = self.init.with_categories(table.categories)
        given = replace(
            given,
            classes=self._plain_labels(),
            counts=None,
            default=self._plain_labels()[0].item(),
            uncovered="default",
            scale=None,
        )
        frozen = _chosen_boxes(self.frozen, given.n_boxes)
        kept = given.select(frozen) if frozen.any() else None
        return (given.select(~frozen) if not frozen.all() else None), kept

    # -- the soft decision -------------------------------------------------------------------------

    def _is_soft(self) -> bool:
        return self.decision == "soft" or (self.decision == "auto" and self.recipe == "paper")

    def _keep_network(self, boxes: Boxes, table: Table, weight: Floats, gradient: Any) -> None:
        """Keep the network where it decides: the trained one, or the paper's form of the final boxes."""
        self.__dict__.pop("network_", None)
        if not self._is_soft():
            return
        if table.categories:
            raise ValueError(
                "decision='soft' knows numbers only; leave categorical columns out or decide crisply"
            )
        centre, scale = standardise(table.matrix, weight)
        if gradient is not None and self.recipe == "paper" and gradient.layers:
            layer = gradient.layers[0]
        elif boxes.n_boxes:
            layer = import_network().BoxLayer.from_boxes(
                boxes, centre, scale, boundary_temperature=0.02, union_temperature=0.02
            )
        else:
            return
        described = self._described() if gradient is not None and self.recipe == "paper" else None
        if described is None:
            owned = [label for label in boxes.classes.tolist() if (boxes.labels == label).any()]
            described = [boxes.classes.tolist().index(label) for label in owned]
        self.network_ = SoftNetwork(layer, centre, scale, np.array(described))

    def _soft_proba(self, matrix: NDArray[Any]) -> Floats:
        return self.network_.probabilities(matrix, len(self.classes_))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Give the class of each row: that of the first box that contains it, else the default's.

        With a soft decision, the network's more probable class; with ``uncovered="reject"``, None for a
        row in no box.
        """
        check_is_fitted(self)
        if not hasattr(self, "network_"):
            return super().predict(X)
        return self.classes_[self._soft_proba(self._matrix(X)).argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give class probabilities; the most probable class is the predicted one, on every row.

        Crisp: the training shares of the box that decides, smoothed. Soft: the network's output.
        """
        check_is_fitted(self)
        if not hasattr(self, "network_"):
            return super().predict_proba(X)
        return self._soft_proba(self._matrix(X))

    def _fidelity(self, matrix: NDArray[Any]) -> float:
        if not hasattr(self, "network_"):
            return 1.0
        soft = self._soft_proba(matrix).argmax(axis=1)
        crisp = self._answers()[self.boxes_.decide(matrix)]
        return float(np.mean(self.classes_[soft] == crisp))

    # -- streams -----------------------------------------------------------------------------------

    def _warm_boxes(self, table: Table) -> Boxes | None:
        """Give the boxes so far, while a stream is being learned."""
        if not hasattr(self, "_memory") or not hasattr(self, "boxes_"):
            return None
        boxes = self.boxes_.with_categories(table.categories)
        return replace(boxes, uncovered="default", scale=None, default=self._plain_labels()[0].item())

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more batch of rows.

        The boxes so far are one start beside the recipe's own, trained on a memory of up to 20,000 rows
        in which every row seen so far has the same chance to be. ``fit`` forgets the memory.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : array-like, optional
            All classes that will ever come; needed in the first call if this batch lacks some.
        """
        table, codes, weight = self._check_training_data(
            X, y, sample_weight, reset=not hasattr(self, "boxes_"), classes=classes
        )
        if not hasattr(self, "_memory"):
            self._memory = Memory(MEMORY_ROWS, int(check_random_state(self.random_state).randint(2**31 - 1)))
        return self._learn(*self._memory.add(table, codes, weight))


def _chosen_boxes(asked: bool | Sequence[Any], n_boxes: int) -> Bools:
    """Read which boxes are meant: all or none, positions, or a mark for each."""
    if isinstance(asked, bool | np.bool_):
        return np.full(n_boxes, bool(asked))
    items = list(asked)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_boxes:
            raise ValueError(f"frozen marks {len(items)} boxes; init has {n_boxes}")
        return np.array(items, dtype=bool)
    chosen = np.zeros(n_boxes, bool)
    for item in items:
        if not is_position(item) or not -n_boxes <= item < n_boxes:
            raise ValueError(f"frozen has {item!r}; give positions of the {n_boxes} boxes of init, or True")
        chosen[item] = True
    return chosen


def _that_help(kept: Boxes, more: Boxes, table: Table, classes: Ints, weight: Floats) -> Bools:
    """Tell which boxes, one after another behind the kept ones, raise the F1 of their class on all rows.

    They were learned from the rows that the kept ones leave. What is left of a class may be told best there
    by one box around everything, which would undo what the kept ones tell.
    """
    labels = more.classes.tolist()
    decided = kept.apply(table.matrix)
    free = decided < 0
    told_as = np.array([*map(labels.index, kept.labels.tolist()), -1])[decided]
    inside = more.contains(table.matrix)
    helps = np.zeros(more.n_boxes, bool)
    for box, label in enumerate(more.labels.tolist()):
        own, told = classes == labels.index(label), told_as == labels.index(label)
        more_told = told | (free & inside[:, box])
        before, after = (
            weight[own & some].sum() / (weight[own].sum() + weight[some].sum()) for some in (told, more_told)
        )
        if after > before:
            helps[box] = True
            told_as[more_told] = labels.index(label)
            free &= ~inside[:, box]
    return helps
