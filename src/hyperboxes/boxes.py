"""Boxes: the one value that every learner makes and every reader reads."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import box_checks, tables
from .conditions import Condition, Sort, format_number
from .tables import Category

if TYPE_CHECKING:
    from .kernels.containment import Conditions

Label = int | float | str | bool
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Boxes:
    """An ordered list of labelled boxes, closed on all sides, in table units.

    The first box that contains a row decides its class; a row in no box gets ``default``. A feature
    that a box leaves open accepts every value, missing ones included; a restricted one rejects a
    missing value, unless it is a set of categories that names it or bounds that ask for nothing else. Bounds
    are float64, and every cell is compared as float64.

    Parameters
    ----------
    lower, upper : array-like of shape (n_boxes, n_features)
        Inclusive bounds; ``-inf`` and ``+inf`` leave a side open. Where both are NaN, the value must be
        missing. Open for categorical features.
    labels : array-like of shape (n_boxes,)
        The class each box votes for: integers, floats, booleans or strings.
    feature_names : sequence of str, optional
        Column names, as rules and SQL print them; ``x0, x1, …`` by default.
    default : label or None
        The class of a row that no box contains; None gives no answer.
    classes : array-like of shape (n_classes,), optional
        Every label that may be predicted, in the order of ``counts``; sorted labels by default.
    categories : mapping of feature name to sequence, optional
        The known values of each categorical feature. None, as the last, stands for a missing value, which
        boxes can then ask for.
    allowed : mapping of feature name to bool array of shape (n_boxes, n_categories), optional
        Which categories each box admits. A box that admits all known ones does not restrict the
        feature and admits unknown and missing ones too; one that admits all but None asks only that there
        is a value, and admits unknown ones.
    uncovered : {"default", "nearest"}
        What decides a row in no box: ``default``, or the label of the nearest box (the smallest
        largest violation of its conditions, each divided by the feature's ``scale``).
    scale : array-like of shape (n_features,), optional
        Positive powers of two; only with ``uncovered="nearest"``. Powers of two keep the division
        exact, so that every engine that subtracts in IEEE double finds the same nearest box.
    counts : array-like of shape (n_boxes + 1, n_classes), optional
        Training weight of each class among the rows that each box decides; last, rows in no box.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> boxes = Boxes.from_rules([({"age": (65, None), "bmi": (None, 25.5)}, "high")], default="low")
    >>> boxes.predict([[70, 22.0], [70, 30.0], [40, 22.0]])
    array(['high', 'low', 'low'], dtype='<U4')
    >>> print(boxes.conditions(0)[0])
    age >= 65
    """

    lower: Floats
    upper: Floats
    labels: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    default: Label | None = None
    classes: NDArray[Any] = None  # type: ignore[assignment]
    categories: Mapping[str, tuple[Category | None, ...]] = field(default_factory=dict)
    allowed: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    uncovered: Literal["default", "nearest"] = "default"
    scale: Floats | None = None
    counts: Floats | None = None

    def __post_init__(self) -> None:
        def fix(name: str, value: object) -> None:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

        for name in ("lower", "upper"):
            fix(name, box_checks.float_matrix(name, getattr(self, name)))
        if self.upper.shape != self.lower.shape:
            raise ValueError(
                f"lower has shape {self.lower.shape} but upper has {self.upper.shape}; give both the same"
            )
        box_checks.check_labels(self, fix)
        fix("feature_names", box_checks.check_names(self.feature_names, self.n_features))
        fix("categories", MappingProxyType(box_checks.check_categories(self)))
        fix("allowed", MappingProxyType(box_checks.check_allowed(self)))
        box_checks.check_bounds(self)
        box_checks.check_uncovered(self, fix)
        if self.counts is not None:
            fix("counts", box_checks.check_counts(self))

    # -- making ------------------------------------------------------------------------------------

    @classmethod
    def from_rules(
        cls,
        rules: Iterable[tuple[Mapping[str, Any], Label]],
        *,
        default: Label | None,
        feature_names: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[Category | None]] | None = None,
    ) -> Boxes:
        """Make boxes from hand-written rules.

        Parameters
        ----------
        rules : iterable of (conditions, label)
            Conditions map a feature name to ``(lower, upper)``, where None leaves a side open, or to
            a set of categories, in which None is a missing value. ``{None}`` alone, of a feature that has no
            categories, asks that a number be missing.
        default : label or None
            The class of a row that no rule covers.
        feature_names : sequence of str, optional
            Columns of the table; by default those the rules mention, in order of appearance.
        categories : mapping of feature name to sequence, optional
            All known values of each categorical feature; by default those the rules mention.
        """
        rules = list(rules)
        known = {name: list(values) for name, values in (categories or {}).items()}
        mentioned: dict[str, None] = {}
        for conditions, _ in rules:
            for name, asked in conditions.items():
                mentioned[name] = None
                if isinstance(asked, set | frozenset) and (categories is None or name not in categories):
                    known.setdefault(name, []).extend(asked)
        given = (categories or {}).keys()
        # What is only ever asked to be missing is a number.
        known = {name: values for name, values in known.items() if name in given or set(values) != {None}}
        for name in known.keys() - given:
            known[name] = list(tables.united([_sorted(set(known[name]) - {None}), known[name]]))
        names = tuple(mentioned) if feature_names is None else tuple(feature_names)
        place = {name: j for j, name in enumerate(names)}
        shape = (len(rules), len(names))
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        allowed = {name: np.ones((len(rules), len(values)), bool) for name, values in known.items()}
        for box, (conditions, _) in enumerate(rules):
            for name, asked in conditions.items():
                if name not in place:
                    raise ValueError(f"rule {box} names the feature {name!r}; the features are {list(names)}")
                if asked == {None} and name not in known:
                    lower[box, place[name]] = upper[box, place[name]] = math.nan
                elif isinstance(asked, set | frozenset):
                    unknown = [item for item in asked if item not in known[name]]
                    if unknown:
                        raise ValueError(
                            f"rule {box} asks {name!r} to be {unknown[0]!r}, not among {known[name]}"
                        )
                    allowed[name][box] = [value in asked for value in known[name]]
                    if allowed[name][box].all() and (categories is None or name not in categories):
                        raise ValueError(
                            f"rule {box} admits every value of {name!r} that the rules mention, so it would "
                            f"not restrict it: give the other values in categories, or leave {name!r} out"
                        )
                else:
                    low, high = _interval(asked, f"rule {box}", name)
                    lower[box, place[name]], upper[box, place[name]] = low, high
        labels = [label for _, label in rules]
        return cls(
            lower, upper, np.array(labels, dtype=object), names, default,
            categories={name: tuple(values) for name, values in known.items()}, allowed=allowed,
        )  # fmt: skip

    @classmethod
    def from_tree(cls, tree: Any, *, feature_names: Sequence[str] | None = None) -> Boxes:
        """Read a fitted scikit-learn decision tree as boxes that give its answers.

        Each leaf becomes a box; leaves that no answer tells apart are merged. Of every split the child
        that missing values do not go to comes first and has a condition; the other needs none, because
        what remains is its own. So a box has at most one condition for each split, and a missing value
        takes the way it takes in the tree.

        The tree compares float32, the boxes float64: bounds are the last float64 that the tree sends each
        way, so the two agree on every row of float64, and bounds have many digits; `round_bounds` makes
        them short. They differ where the tree refuses to answer: infinite values, values beyond the range
        of float32, and missing ones in a tree that does not take them.

        Parameters
        ----------
        tree : DecisionTreeClassifier or ExtraTreeClassifier
            A fitted one, of one output.
        feature_names : sequence of str, optional
            Column names; by default those that the tree was fitted with, else ``x0, x1, …``.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from hyperboxes import Boxes
        >>> tree = DecisionTreeClassifier().fit([[1], [2], [5], [6]], ["a", "a", "b", "b"])
        >>> boxes = Boxes.from_tree(tree, feature_names=["size"])
        >>> boxes.predict([[3], [4]]).tolist() == tree.predict([[3], [4]]).tolist()
        True
        """
        from . import trees

        names = feature_names
        if names is None:
            names = tuple(str(name) for name in getattr(tree, "feature_names_in_", ()))
        leaves = trees.read(tree)
        return cls(
            leaves.lower, leaves.upper, leaves.labels[:-1], tuple(names), leaves.labels.tolist()[-1],
            classes=leaves.classes, counts=leaves.counts,
        )  # fmt: skip

    # -- reading -----------------------------------------------------------------------------------

    @property
    def n_boxes(self) -> int:
        """Number of boxes."""
        return int(self.lower.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of the table the boxes speak of."""
        return int(self.lower.shape[1])

    def __len__(self) -> int:
        return self.n_boxes

    @cached_property
    def restricted(self) -> NDArray[np.bool_]:
        """Which box restricts which feature, shape (n_boxes, n_features)."""
        mask = ~(np.isneginf(self.lower) & np.isposinf(self.upper))
        for name, table in self.allowed.items():
            mask[:, self.feature_names.index(name)] = ~table.all(axis=1)
        mask.flags.writeable = False
        return mask

    @cached_property
    def admits_unknown(self) -> dict[str, NDArray[np.bool_]]:
        """Which boxes admit a value of a categorical feature that is not among the known ones.

        Those that admit all known ones, whatever they say of missing values.
        """
        return {
            name: np.asarray(self.allowed[name][:, [value is not None for value in known]].all(axis=1))
            for name, known in self.categories.items()
        }

    def conditions(self, box: int) -> list[Condition]:
        """List what a box asks, one entry for each feature it restricts, in column order."""
        found = []
        for feature in np.flatnonzero(self.restricted[box]):
            name = self.feature_names[feature]
            admitted = self._admitted(name, box) if name in self.categories else None
            low, high = float(self.lower[box, feature]), float(self.upper[box, feature])
            if math.isnan(low):
                low = high = math.nan  # one and the same, so that equal conditions compare as equal
            found.append(Condition(int(feature), name, low, high, admitted, self.sort_of(name)))
        return found

    def sort_of(self, name: str) -> Sort:
        """Tell what the cells of a feature are: texts or booleans if all its categories are, else numbers."""
        kinds = {type(value) for value in self.categories.get(name, ()) if value is not None}
        return "text" if kinds == {str} else "boolean" if kinds == {bool} else "number"

    def _admitted(self, name: str, box: int) -> tuple[Category | None, ...]:
        """List the categories that a set admits; none if any value will do."""
        known, flags = self.categories[name], self.allowed[name][box].tolist()
        if all(yes == (value is not None) for value, yes in zip(known, flags, strict=True)):
            return ()
        return tuple(value for value, yes in zip(known, flags, strict=True) if yes)

    @cached_property
    def n_conditions(self) -> int:
        """Closed sides and category sets over all boxes: how much a reader has to read."""
        sides = np.isfinite(self.lower).sum() + np.isfinite(self.upper).sum() + np.isnan(self.lower).sum()
        return int(sides + sum((~table.all(axis=1)).sum() for table in self.allowed.values()))

    @cached_property
    def _compiled(self) -> dict[str, Conditions]:
        from .kernels.containment import compile_conditions

        return compile_conditions(self)

    def _matrix(self, X: ArrayLike) -> NDArray[Any]:
        return tables.to_matrix(X, self.feature_names, self.categories)

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell which rows lie in which boxes, shape (n_samples, n_boxes).

        ``X`` is a data frame (columns are found by name) or an array whose columns are the features
        in order; in a numeric array, a categorical column holds positions in ``categories``.
        """
        from .kernels.containment import contains

        return contains(self._matrix(X), self._compiled)

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give the first box that contains each row, -1 where there is none."""
        from .kernels.containment import first_box

        return first_box(self._matrix(X), self._compiled)

    def nearest(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give the box that decides each row with ``uncovered="nearest"``; -1 where none is comparable.

        The nearest box has the smallest largest violation in units of ``scale``; a category outside
        the set counts as one unit, a missing value in a restricted feature puts the box out of reach.
        """
        from .kernels.containment import nearest_box

        if self.scale is None:
            raise ValueError("these boxes have no scale: nearest() needs uncovered='nearest'")
        return nearest_box(self._matrix(X), self._compiled)

    def decide(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give the box that decides each row, -1 where the default does."""
        return self.nearest(X) if self.uncovered == "nearest" else self.apply(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Give the label of the first box that contains each row, else the default."""
        return self._answer(X, self.answers)

    def _answer(self, X: ArrayLike, answers: NDArray[Any]) -> NDArray[Any]:
        """Give each row the entry of the box that decides it, the last where none does."""
        from .kernels.containment import answer

        return answer(self._matrix(X), self._compiled, answers, self.uncovered == "nearest")

    @cached_property
    def answers(self) -> NDArray[Any]:
        """Labels with the default behind them, so that index -1 finds it."""
        dtype = object if self.default is None else self.labels.dtype
        answers = np.array([*self.labels.tolist(), self.default], dtype=dtype)
        answers.flags.writeable = False
        return answers

    @cached_property
    def shares(self) -> Floats:
        """Class probabilities of each box, and last of the rows in no box, from ``counts``.

        Training shares, smoothed by one pseudo-row of the overall class shares. Where a box votes for
        a class that is not its most frequent one, that class is lifted to just above the others, so
        that the most probable class always is the predicted one.
        """
        if self.counts is None:
            raise ValueError("these boxes carry no training counts; probabilities need them")
        total = self.counts.sum(axis=0)
        prior = total / total.sum() if total.sum() > 0 else np.full(len(total), 1 / max(1, len(total)))
        shares: Floats = (self.counts + prior) / (self.counts.sum(axis=1, keepdims=True) + 1)
        for row, label in enumerate(self.answers.tolist()):
            if label is not None:
                voted = np.flatnonzero(self.classes == label)[0]
                highest = np.delete(shares[row], voted).max(initial=0.0)
                shares[row, voted] = max(shares[row, voted], highest * (1 + 1e-9), 1e-9)
        shares /= shares.sum(axis=1, keepdims=True)
        shares.flags.writeable = False
        return shares

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give class probabilities, columns in the order of ``classes``; needs ``counts``."""
        return np.asarray(self._answer(X, self.shares))

    # -- editing: each returns a new value ---------------------------------------------------------

    def select(self, boxes: ArrayLike) -> Boxes:
        """Keep the given boxes, in the given order (indices or a mask); counts do not carry over."""
        index = np.arange(self.n_boxes)[_box_index(boxes)]
        if index.ndim != 1:
            raise ValueError(f"select takes a list of boxes or a mask, got {boxes!r}")
        return replace(
            self, lower=self.lower[index], upper=self.upper[index], labels=self.labels[index], counts=None,
            allowed={name: table[index] for name, table in self.allowed.items()},
        )  # fmt: skip

    def drop(self, boxes: ArrayLike) -> Boxes:
        """Remove the given boxes (indices or a mask); counts do not carry over."""
        keep = np.ones(self.n_boxes, bool)
        keep[_box_index(boxes)] = False
        return self.select(keep)

    def open(self, box: int, feature: str, side: Literal["lower", "upper", "both"] = "both") -> Boxes:
        """Lift what a box asks of a feature, on one side or altogether; counts do not carry over.

        A set of categories, or that a value be missing, has no sides and is lifted as a whole.
        """
        if feature not in self.feature_names:
            raise ValueError(f"no feature {feature!r}; the features are {list(self.feature_names)}")
        if side not in ("lower", "upper", "both"):
            raise ValueError(f"side must be 'lower', 'upper' or 'both', got {side!r}")
        column = self.feature_names.index(feature)
        lower, upper, allowed = self.lower.copy(), self.upper.copy(), dict(self.allowed)
        if feature in allowed:
            allowed[feature] = allowed[feature].copy()
            allowed[feature][box] = True
        if np.isnan(lower[box, column]):
            side = "both"
        if side in ("lower", "both"):
            lower[box, column] = -np.inf
        if side in ("upper", "both"):
            upper[box, column] = np.inf
        return replace(self, lower=lower, upper=upper, allowed=allowed, counts=None)

    def with_categories(self, categories: Mapping[str, Sequence[Category | None]]) -> Boxes:
        """Speak of other known categories; a set keeps the ones that are still known.

        A set that then holds all of them no longer restricts its feature. A missing value that is known
        stays so.

        Raises
        ------
        ValueError
            If other features are categorical, or a set would be left empty.
        """
        if self.categories.keys() != categories.keys():
            raise ValueError(
                f"categorical features are {list(self.categories)} here but {list(categories)} there; "
                "make them agree"
            )
        known = {
            name: tables.united([values, [None] if None in self.categories[name] else []])
            for name, values in categories.items()
        }
        allowed = {name: _spread(self, name, values) for name, values in known.items()}
        return replace(self, categories=known, allowed=allowed, counts=None)

    @staticmethod
    def concat(parts: Sequence[Boxes], default: Label | None = None) -> Boxes:
        """Put several lists of boxes over the same features into one, in order.

        The default, and the rule for rows in no box, are those of the last list unless ``default``
        is given. Categories are united; a set stays the set it was. Classes are united too: in the
        order of a list that has them all, else sorted.
        """
        if not parts:
            raise ValueError("concat needs at least one Boxes")
        last = parts[-1]
        for part in parts:
            if part.feature_names != last.feature_names:
                raise ValueError(
                    f"concat needs the same features everywhere: {list(part.feature_names)} "
                    f"against {list(last.feature_names)}"
                )
            if part.categories.keys() != last.categories.keys():
                raise ValueError("concat needs the same categorical features everywhere")
        categories = {
            name: tables.united([part.categories[name] for part in parts]) for name in last.categories
        }
        allowed = {
            name: np.concatenate([_spread(part, name, values) for part in parts])
            for name, values in categories.items()
        }
        default = last.default if default is None else default
        # Objects, so that text and numbers meet the constructor's check instead of becoming text.
        labels = np.array([label for part in parts for label in part.labels.tolist()], dtype=object)
        return replace(
            last, lower=np.concatenate([part.lower for part in parts]), labels=labels, default=default,
            upper=np.concatenate([part.upper for part in parts]), categories=categories, allowed=allowed,
            classes=_united([part.classes for part in parts], default), counts=None,
        )  # fmt: skip

    # -- set operations ----------------------------------------------------------------------------

    def covers(self) -> NDArray[np.bool_]:
        """Tell which box contains which: entry (i, j) is true if every row in j is in i."""
        # Feature by feature: all at once takes n_boxes * n_boxes * n_features of memory.
        inside = np.ones((self.n_boxes, self.n_boxes), bool)
        for feature in np.flatnonzero(self.restricted.any(axis=0)):
            table = self.allowed.get(self.feature_names[feature])
            if table is None:
                lower, upper = self.lower[:, feature], self.upper[:, feature]
                missing, open_ = np.isnan(lower), ~self.restricted[:, feature]
                within = (lower[:, None] <= lower) & (upper <= upper[:, None])
                within |= open_[:, None] | (missing[:, None] & missing)
            else:
                within = np.asarray((table[:, None] | ~table).all(axis=2))
            # A restriction is never as wide as an open feature, which also admits missing values.
            inside &= within
        return inside

    def overlaps(self) -> NDArray[np.bool_]:
        """Tell which boxes share a point, shape (n_boxes, n_boxes)."""
        meet = np.ones((self.n_boxes, self.n_boxes), bool)
        for feature in np.flatnonzero(self.restricted.any(axis=0)):
            table = self.allowed.get(self.feature_names[feature])
            if table is None:
                lower, upper = self.lower[:, feature], self.upper[:, feature]
                missing, open_ = np.isnan(lower), ~self.restricted[:, feature]
                both = (lower[:, None] <= upper) & (lower <= upper[:, None])
                meet &= both | open_[:, None] | open_ | (missing[:, None] & missing)
            else:
                meet &= (table[:, None] & table).any(axis=2)
        return meet

    def shadowed(self) -> NDArray[np.bool_]:
        """Tell which boxes can never decide, because one earlier box contains them."""
        return np.asarray(np.triu(self.covers(), k=1).any(axis=0))

    # -- comparing and showing ---------------------------------------------------------------------

    def _key(self) -> tuple[object, ...]:
        def bytes_of(array: NDArray[Any] | None) -> object:
            return None if array is None else (array.shape, array.tobytes())

        return (
            bytes_of(self.lower), bytes_of(self.upper), tuple(self.labels.tolist()), self.labels.dtype.kind,
            tuple(self.classes.tolist()), self.feature_names, self.default,
            # Types too: True, 1 and 1.0 are equal in Python, but not to a reader.
            tuple((name, known, tuple(map(type, known))) for name, known in sorted(self.categories.items())),
            tuple((name, table.tobytes()) for name, table in sorted(self.allowed.items())),
            self.uncovered, bytes_of(self.scale), bytes_of(self.counts),
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Boxes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are rebuilt on demand; compiled conditions do not travel.
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return state | {"categories": dict(self.categories), "allowed": dict(self.allowed)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Through the constructor: it checks, and it makes the arrays read-only again.
        self.__init__(**state)  # type: ignore[misc]

    def __repr__(self) -> str:
        labels = ", ".join(
            f"{label!r}: {int((self.labels == label).sum())}" for label in self.classes.tolist()
        )
        return (
            f"Boxes({self.n_boxes} boxes over {self.n_features} features, {self.n_conditions} conditions; "
            f"{{{labels}}}, default {self.default!r})"
        )

    def _repr_html_(self) -> str:
        rows = []
        for box in range(self.n_boxes):
            asked = " and ".join(str(condition) for condition in self.conditions(box)) or "always"
            rows.append((str(box), asked, str(self.labels[box]), self._support(box)))
        otherwise = (
            "nearest box" if self.uncovered == "nearest" else "no answer" if self.default is None else ""
        )
        rows.append(("else", "in no box", otherwise or str(self.default), self._support(-1)))
        head = "".join(f"<th>{title}</th>" for title in ("box", "if", "then", "training rows"))
        body = "".join(
            "<tr>"
            + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in row)
            + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _support(self, box: int) -> str:
        return "" if self.counts is None else format_number(round(float(self.counts[box].sum()), 6))


def _interval(asked: Any, rule: str, name: str) -> tuple[float, float]:
    """Read ``(lower, upper)`` of a hand-written rule, where None leaves a side open."""
    try:
        low, high = asked
        if any(isinstance(side, str | bytes) for side in (low, high)):
            raise TypeError
        return -math.inf if low is None else float(low), math.inf if high is None else float(high)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{rule} restricts {name!r} by {asked!r}; give (lower, upper) or a set of categories"
        ) from None


def _sorted(values: Iterable[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # a mixture, which the constructor refuses
        return sorted(values, key=repr)


def _box_index(boxes: ArrayLike) -> NDArray[Any]:
    index = np.asarray(boxes)
    return index if index.size else index.astype(np.int64)


def _spread(part: Boxes, name: str, values: Sequence[Category | None]) -> NDArray[np.bool_]:
    """Rewrite a part's category sets over another list of values.

    Of a value that a part does not know, what it says of unknown ones holds, or of missing ones.
    """
    known = {value: place for place, value in enumerate(part.categories[name])}
    table, open_ = part.allowed[name], part.allowed[name].all(axis=1)
    of_unknown = part.admits_unknown[name]
    columns = [
        table[:, known[value]] if value in known else open_ if value is None else of_unknown
        for value in values
    ]
    return np.stack(columns, axis=1)


def _united(lists: Sequence[NDArray[Any]], default: Label | None) -> NDArray[Any]:
    """Unite lists of classes, in the order of a list that has them all, else sorted."""
    every = {label for classes in lists for label in classes.tolist()} | ({default} - {None})
    for classes in lists:
        if len(classes) == len(every):
            return classes
    return np.array(_sorted(every), dtype=object)
