"""Boxes: the one value that every learner makes and every reader reads."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import tables

if TYPE_CHECKING:
    from .kernels.containment import Conditions

Label = int | float | str | bool
Category = int | float | str | bool
Floats = NDArray[np.float64]


def format_number(value: float) -> str:
    """Write a bound with the fewest digits that read back as the same float64."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def format_name(name: str) -> str:
    """Write a column name as it is if that is harmless, else quoted and escaped."""
    plain = name.isprintable() and name == name.strip() and not any(sign in name for sign in '"<>={},\\')
    # A column called 3 would read "3 <= 5", one called "a and b" like two conditions.
    plain = plain and not _reads_as_number(name) and _SPOKEN.isdisjoint(name.lower().split())
    return name if plain and name else json.dumps(name)


_SPOKEN = frozenset(("and", "else", "if", "in", "or", "then"))


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Condition(NamedTuple):
    """What one box asks of one feature: an interval, or a set of categories.

    ``categories`` is None for a numeric feature. An open side is infinite.
    """

    feature: int
    name: str
    lower: float
    upper: float
    categories: tuple[Category, ...] | None = None

    @property
    def n_conditions(self) -> int:
        """Count one for each closed side, or one for a set of categories."""
        if self.categories is not None:
            return 1
        return int(math.isfinite(self.lower)) + int(math.isfinite(self.upper))

    def __str__(self) -> str:
        name = format_name(self.name)
        if self.categories is not None:
            shown = [json.dumps(item) if isinstance(item, str) else str(item) for item in self.categories]
            return f"{name} = {shown[0]}" if len(shown) == 1 else f"{name} in {{{', '.join(shown)}}}"
        if self.lower == self.upper:
            return f"{name} = {format_number(self.lower)}"
        if self.lower == -math.inf:
            return f"{name} <= {format_number(self.upper)}"
        if self.upper == math.inf:
            return f"{name} >= {format_number(self.lower)}"
        return f"{format_number(self.lower)} <= {name} <= {format_number(self.upper)}"


@dataclass(frozen=True, eq=False, repr=False)
class Boxes:
    """An ordered list of labelled boxes, closed on all sides, in table units.

    The first box that contains a row decides its class; a row in no box gets ``default``. A feature
    that a box leaves open accepts every value, missing ones included; a restricted one rejects a
    missing value. Bounds are float64, and every cell is compared as float64.

    Parameters
    ----------
    lower, upper : array-like of shape (n_boxes, n_features)
        Inclusive bounds; ``-inf`` and ``+inf`` leave a side open. Open for categorical features.
    labels : array-like of shape (n_boxes,)
        The class each box votes for: integers, floats, booleans or strings.
    feature_names : sequence of str, optional
        Column names, as rules and SQL print them; ``x0, x1, …`` by default.
    default : label or None
        The class of a row that no box contains; None gives no answer.
    classes : array-like of shape (n_classes,), optional
        Every label that may be predicted, in the order of ``counts``; sorted labels by default.
    categories : mapping of feature name to sequence, optional
        The known values of each categorical feature.
    allowed : mapping of feature name to bool array of shape (n_boxes, n_categories), optional
        Which categories each box admits. A box that admits all known ones does not restrict the
        feature and admits unknown and missing ones too.
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
    categories: Mapping[str, tuple[Category, ...]] = field(default_factory=dict)
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
            fix(name, _float_matrix(name, getattr(self, name)))
        if self.upper.shape != self.lower.shape:
            raise ValueError(
                f"lower has shape {self.lower.shape} but upper has {self.upper.shape}; give both the same"
            )
        self._check_labels(fix)
        fix("feature_names", _check_names(self.feature_names, self.n_features))
        fix("categories", MappingProxyType(self._check_categories()))
        fix("allowed", MappingProxyType(self._check_allowed()))
        self._check_bounds()
        self._check_uncovered(fix)
        if self.counts is not None:
            fix("counts", self._check_counts())

    # -- checks ------------------------------------------------------------------------------------

    def _check_labels(self, fix: Any) -> None:
        """Check labels, default and classes, and give them one type: that of every answer."""
        labels = _label_array("labels", self.labels)
        if len(labels) != self.n_boxes:
            raise ValueError(f"labels must be one for each of {self.n_boxes} boxes, got {len(labels)}")
        default = _label_array("default", [] if self.default is None else [self.default])
        known: ArrayLike | None = self.classes
        classes = _label_array("classes", [] if known is None else known)
        given = [
            (name, array)
            for name, array in (("labels", labels), ("default", default), ("classes", classes))
            if len(array)
        ]
        for name, array in given[1:]:
            first, other = given[0]
            if _SORTS[array.dtype.kind] != _SORTS[other.dtype.kind]:
                raise ValueError(
                    f"{first} are {_SORTS[other.dtype.kind]} but {name} holds {_SORTS[array.dtype.kind]}: "
                    f"{array.tolist()[0]!r}; give all of them one type"
                )
        dtype = np.result_type(*(array for _, array in given)) if given else np.dtype(np.int64)
        used = np.concatenate([labels.astype(dtype), default.astype(dtype)])
        if known is None:
            classes = np.unique(used)
        else:
            classes = classes.astype(dtype)
            distinct = set(classes.tolist())
            if len(distinct) != len(classes):
                raise ValueError(f"classes holds a label twice: {classes.tolist()}")
            unknown = [label for label in used.tolist() if label not in distinct]
            if unknown:
                raise ValueError(f"label {unknown[0]!r} is not among classes {classes.tolist()}")
        fix("labels", used[: self.n_boxes].copy())
        fix("default", None if self.default is None else used[-1].item())
        fix("classes", classes)

    def _check_categories(self) -> dict[str, tuple[Category, ...]]:
        known = {}
        names = set(self.feature_names)
        given: Mapping[str, Any] = self.categories or {}
        for name, values in given.items():
            if name not in names:
                raise ValueError(
                    f"categories names the feature {name!r}; the features are {list(self.feature_names)}"
                )
            if isinstance(values, str | set | frozenset):
                raise ValueError(
                    f"categories of {name!r} must be a sequence in a fixed order, got {values!r}"
                )
            values = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
            for value in values:
                if not isinstance(value, int | float | str) or value != value:
                    raise ValueError(
                        f"categories of {name!r} must be text, numbers or booleans, got {value!r}"
                    )
            if not values or len(set(values)) != len(values):
                raise ValueError(
                    f"categories of {name!r} must be one or more different values, got {values!r}"
                )
            known[name] = values
        return known

    def _check_allowed(self) -> dict[str, NDArray[np.bool_]]:
        given = self.allowed or {}
        for name in given:
            if name not in self.categories:
                raise ValueError(
                    f"allowed names {name!r}, which has no categories; known: {list(self.categories)}"
                )
        checked = {}
        for name, values in self.categories.items():
            shape = (len(self.labels), len(values))
            table = np.array(given.get(name, np.ones(shape, bool)))
            if table.dtype != bool or table.shape != shape:
                raise ValueError(
                    f"allowed[{name!r}] must be a bool array of shape {shape}, "
                    f"got {table.dtype} {table.shape}"
                )
            empty = np.flatnonzero(~table.any(axis=1))
            if len(empty):
                raise ValueError(f"box {empty[0]} admits no category of {name!r}; drop the box or admit one")
            table.flags.writeable = False
            checked[name] = table
        return checked

    def _check_bounds(self) -> None:
        for name, bound, wrong in (("lower", self.lower, math.inf), ("upper", self.upper, -math.inf)):
            bad = np.argwhere(np.isnan(bound) | (bound == wrong))
            if len(bad):
                box, feature = bad[0]
                raise ValueError(
                    f"{name} of box {box}, feature {self.feature_names[feature]!r} is {bound[box, feature]}; "
                    f"give a number, or {-wrong} to leave the side open"
                )
        crossed = np.argwhere(self.lower > self.upper)
        if len(crossed):
            box, feature = crossed[0]
            raise ValueError(
                f"box {box} is empty: lower {self.lower[box, feature]} > upper {self.upper[box, feature]} "
                f"for feature {self.feature_names[feature]!r}"
            )
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        for name, restricts in zip(self.feature_names, bounded.T, strict=True):
            if name in self.categories and restricts.any():
                raise ValueError(f"feature {name!r} is categorical: restrict it by allowed, not by bounds")

    def _check_uncovered(self, fix: Any) -> None:
        if self.uncovered not in ("default", "nearest"):
            raise ValueError(f"uncovered must be 'default' or 'nearest', got {self.uncovered!r}")
        if self.uncovered == "default":
            if self.scale is not None:
                raise ValueError("scale only has a meaning with uncovered='nearest'")
            return
        if self.scale is None:
            raise ValueError("uncovered='nearest' needs scale, one positive power of two per feature")
        scale = np.array(self.scale, dtype=np.float64)
        # Below 2**-1023 the inverse, by which distances are multiplied, overflows.
        if (
            scale.shape != (self.n_features,)
            or not ((np.frexp(scale)[0] == 0.5) & (scale >= 2.0**-1023)).all()
        ):
            raise ValueError(
                f"scale must be {self.n_features} positive powers of two, from 2**-1023 on, got {scale}"
            )
        fix("scale", scale)

    def _check_counts(self) -> Floats:
        counts = np.array(self.counts, dtype=np.float64) + 0.0
        shape = (self.n_boxes + 1, len(self.classes))
        if counts.shape != shape:
            raise ValueError(f"counts must have shape {shape}, (n_boxes + 1, n_classes), got {counts.shape}")
        # Shares need the total, which overflows before the counts themselves do.
        if (counts < 0).any() or not (counts <= 1e300 / max(1, counts.size)).all():
            raise ValueError("counts must be finite and not negative")
        return counts

    # -- making ------------------------------------------------------------------------------------

    @classmethod
    def from_rules(
        cls,
        rules: Iterable[tuple[Mapping[str, Any], Label]],
        *,
        default: Label | None,
        feature_names: Sequence[str] | None = None,
        categories: Mapping[str, Sequence[Category]] | None = None,
    ) -> Boxes:
        """Make boxes from hand-written rules.

        Parameters
        ----------
        rules : iterable of (conditions, label)
            Conditions map a feature name to ``(lower, upper)``, where None leaves a side open, or to
            a set of categories.
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
        for name in known.keys() - (categories or {}).keys():
            known[name] = _sorted(set(known[name]))
        names = tuple(mentioned) if feature_names is None else tuple(feature_names)
        place = {name: j for j, name in enumerate(names)}
        shape = (len(rules), len(names))
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        allowed = {name: np.ones((len(rules), len(values)), bool) for name, values in known.items()}
        for box, (conditions, _) in enumerate(rules):
            for name, asked in conditions.items():
                if name not in place:
                    raise ValueError(f"rule {box} names the feature {name!r}; the features are {list(names)}")
                if isinstance(asked, set | frozenset):
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
        mask = np.isfinite(self.lower) | np.isfinite(self.upper)
        for name, table in self.allowed.items():
            mask[:, self.feature_names.index(name)] = ~table.all(axis=1)
        mask.flags.writeable = False
        return mask

    def conditions(self, box: int) -> list[Condition]:
        """List what a box asks, one entry for each feature it restricts, in column order."""
        found = []
        for feature in np.flatnonzero(self.restricted[box]):
            name = self.feature_names[feature]
            admitted = None
            if name in self.categories:
                admitted = tuple(
                    value
                    for value, yes in zip(self.categories[name], self.allowed[name][box], strict=True)
                    if yes
                )
            low, high = float(self.lower[box, feature]), float(self.upper[box, feature])
            found.append(Condition(int(feature), name, low, high, admitted))
        return found

    @cached_property
    def n_conditions(self) -> int:
        """Closed sides and category sets over all boxes: how much a reader has to read."""
        sides = np.isfinite(self.lower).sum() + np.isfinite(self.upper).sum()
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

        A set of categories has no sides and is lifted as a whole.
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
        if side in ("lower", "both"):
            lower[box, column] = -np.inf
        if side in ("upper", "both"):
            upper[box, column] = np.inf
        return replace(self, lower=lower, upper=upper, allowed=allowed, counts=None)

    def with_categories(self, categories: Mapping[str, Sequence[Category]]) -> Boxes:
        """Speak of other known categories; a set keeps the ones that are still known.

        A set that then holds all of them no longer restricts its feature.

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
        allowed = {name: _spread(self, name, values) for name, values in categories.items()}
        known = {name: tuple(values) for name, values in categories.items()}
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
            name: tuple(dict.fromkeys(value for part in parts for value in part.categories[name]))
            for name in last.categories
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
                within = (lower[:, None] <= lower) & (upper <= upper[:, None])
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
                meet &= (lower[:, None] <= upper) & (lower <= upper[:, None])
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


_SORTS = {"b": "booleans", "i": "numbers", "f": "numbers", "U": "text"}


def _sort_of(value: object) -> str | None:
    """Name what a label or category is; None if it can be neither."""
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, int | float):
        return "numbers" if isinstance(value, int) or math.isfinite(value) else None
    return "text" if isinstance(value, str) else None


def _float_matrix(name: str, values: ArrayLike) -> Floats:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO" or any(isinstance(item, str | bytes) for item in _objects(array)):
            raise TypeError(f"got {array.dtype}")
        # Adding zero turns -0.0 into 0.0: the two compare equal and must print equal.
        matrix = array.astype(np.float64) + 0.0
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be a matrix of numbers: {error}") from None
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have shape (n_boxes, n_features), got shape {matrix.shape}")
    return matrix


def _objects(array: NDArray[Any]) -> list[Any]:
    return array.ravel().tolist() if array.dtype == object else []


def _label_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Make an array of text, booleans, int64 or float64; refuse a mixture, which numpy makes text."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list of labels, got shape {array.shape}")
    items = [item.item() if isinstance(item, np.generic) else item for item in array.tolist()]
    sorts = {_sort_of(item) for item in items}
    if len(sorts) > 1 or None in sorts:
        raise ValueError(f"{name} must be all text, all finite numbers or all booleans, got {items[:5]!r}")
    if sorts == {"text"}:
        ending = [item for item in items if item.endswith("\0")]
        if ending:
            raise ValueError(f"{name} holds {ending[0]!r}: arrays of text drop a zero character at the end")
        return np.array([str(item) for item in items])
    if sorts == {"booleans"}:
        return np.array(items, dtype=bool)
    try:
        return np.array(items, np.float64 if any(isinstance(item, float) for item in items) else np.int64)
    except OverflowError:
        raise ValueError(f"{name} must be integers of 64 bits or fewer, got {items[:5]!r}") from None


def _check_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"feature_names must be a list of names, got the text {names!r}")
    names = tuple(names if names is not None else ()) or tuple(f"x{j}" for j in range(n_features))
    if len(names) != n_features:
        raise ValueError(f"{len(names)} feature names for {n_features} columns")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"feature names must be text, got {name!r}")
    tables.check_unique(names)
    return tuple(str(name) for name in names)


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


def _spread(part: Boxes, name: str, values: Sequence[Category]) -> NDArray[np.bool_]:
    """Rewrite a part's category sets over a longer list of values; open ones stay open."""
    known = {value: place for place, value in enumerate(part.categories[name])}
    table, open_ = part.allowed[name], part.allowed[name].all(axis=1)
    columns = [table[:, known[value]] if value in known else open_ for value in values]
    return np.stack(columns, axis=1)


def _united(lists: Sequence[NDArray[Any]], default: Label | None) -> NDArray[Any]:
    """Unite lists of classes, in the order of a list that has them all, else sorted."""
    every = {label for classes in lists for label in classes.tolist()} | ({default} - {None})
    for classes in lists:
        if len(classes) == len(every):
            return classes
    return np.array(_sorted(every), dtype=object)
