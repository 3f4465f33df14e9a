"""What makes boxes well formed: each check of the constructor, with what is wrong, where, and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import tables
from .tables import Category

if TYPE_CHECKING:
    from .boxes import Boxes

Floats = NDArray[np.float64]
#: Sets a field of boxes that are being made.
Fix = Callable[[str, object], None]
#: Kinds of arrays that labels may be, by what people call their content.
_SORTS = {"b": "booleans", "i": "numbers", "f": "numbers", "U": "text"}


def check_labels(boxes: Boxes, fix: Fix) -> None:
    """Check labels, default and classes, and give them one type: that of every answer."""
    labels = _label_array("labels", boxes.labels)
    if len(labels) != boxes.n_boxes:
        raise ValueError(f"labels must be one for each of {boxes.n_boxes} boxes, got {len(labels)}")
    default = _label_array("default", [] if boxes.default is None else [boxes.default])
    known: ArrayLike | None = boxes.classes
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
    fix("labels", used[: boxes.n_boxes].copy())
    fix("default", None if boxes.default is None else used[-1].item())
    fix("classes", classes)


def check_categories(boxes: Boxes) -> dict[str, tuple[Category | None, ...]]:
    """Check the known values of categorical features; None is a missing one."""
    known = {}
    names = set(boxes.feature_names)
    given: Mapping[str, Any] = boxes.categories or {}
    for name, values in given.items():
        if name not in names:
            raise ValueError(
                f"categories names the feature {name!r}; the features are {list(boxes.feature_names)}"
            )
        if isinstance(values, str | set | frozenset):
            raise ValueError(f"categories of {name!r} must be a sequence in a fixed order, got {values!r}")
        values = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
        for value in values:
            if not isinstance(value, int | float | str | None) or value != value:
                raise ValueError(
                    f"categories of {name!r} must be text, numbers or booleans, or None for a missing value, "
                    f"got {value!r}"
                )
        if not set(values) - {None} or len(set(values)) != len(values):
            raise ValueError(f"categories of {name!r} must be one or more different values, got {values!r}")
        if None in values[:-1]:
            raise ValueError(f"categories of {name!r} must have None, a missing value, last, got {values!r}")
        known[name] = values
    return known


def check_allowed(boxes: Boxes) -> dict[str, NDArray[np.bool_]]:
    """Check the sets of categories; features without one are open."""
    given = boxes.allowed or {}
    for name in given:
        if name not in boxes.categories:
            raise ValueError(
                f"allowed names {name!r}, which has no categories; known: {list(boxes.categories)}"
            )
    checked = {}
    for name, values in boxes.categories.items():
        shape = (len(boxes.labels), len(values))
        table = np.array(given.get(name, np.ones(shape, bool)))
        if table.dtype != bool or table.shape != shape:
            raise ValueError(
                f"allowed[{name!r}] must be a bool array of shape {shape}, got {table.dtype} {table.shape}"
            )
        empty = np.flatnonzero(~table.any(axis=1))
        if len(empty):
            raise ValueError(f"box {empty[0]} admits no category of {name!r}; drop the box or admit one")
        table.flags.writeable = False
        checked[name] = table
    return checked


def check_bounds(boxes: Boxes) -> None:
    """Check that bounds are numbers, open, or both NaN, ordered, and on numeric features only."""
    missing = np.isnan(boxes.lower) & np.isnan(boxes.upper)
    for name, bound, wrong in (("lower", boxes.lower, math.inf), ("upper", boxes.upper, -math.inf)):
        bad = np.argwhere((np.isnan(bound) & ~missing) | (bound == wrong))
        if len(bad):
            box, feature = bad[0]
            raise ValueError(
                f"{name} of box {box}, feature {boxes.feature_names[feature]!r} is {bound[box, feature]}; "
                f"give a number, {-wrong} to leave the side open, or NaN for both where it must be missing"
            )
    crossed = np.argwhere(boxes.lower > boxes.upper)
    if len(crossed):
        box, feature = crossed[0]
        raise ValueError(
            f"box {box} is empty: lower {boxes.lower[box, feature]} > upper {boxes.upper[box, feature]} "
            f"for feature {boxes.feature_names[feature]!r}"
        )
    bounded = ~(np.isneginf(boxes.lower) & np.isposinf(boxes.upper))
    for name, restricts in zip(boxes.feature_names, bounded.T, strict=True):
        if name in boxes.categories and restricts.any():
            raise ValueError(f"feature {name!r} is categorical: restrict it by allowed, not by bounds")


def check_uncovered(boxes: Boxes, fix: Fix) -> None:
    """Check what decides rows in no box, and the scale that goes with it."""
    if boxes.uncovered not in ("default", "nearest"):
        raise ValueError(f"uncovered must be 'default' or 'nearest', got {boxes.uncovered!r}")
    if boxes.uncovered == "default":
        if boxes.scale is not None:
            raise ValueError("scale only has a meaning with uncovered='nearest'")
        return
    if boxes.scale is None:
        raise ValueError("uncovered='nearest' needs scale, one positive power of two per feature")
    scale = np.array(boxes.scale, dtype=np.float64)
    # Below 2**-1023 the inverse, by which distances are multiplied, overflows.
    if scale.shape != (boxes.n_features,) or not ((np.frexp(scale)[0] == 0.5) & (scale >= 2.0**-1023)).all():
        raise ValueError(
            f"scale must be {boxes.n_features} positive powers of two, from 2**-1023 on, got {scale}"
        )
    fix("scale", scale)


def check_counts(boxes: Boxes) -> Floats:
    """Check the training counts."""
    counts = np.array(boxes.counts, dtype=np.float64) + 0.0
    shape = (boxes.n_boxes + 1, len(boxes.classes))
    if counts.shape != shape:
        raise ValueError(f"counts must have shape {shape}, (n_boxes + 1, n_classes), got {counts.shape}")
    # Shares need the total, which overflows before the counts themselves do.
    if (counts < 0).any() or not (counts <= 1e300 / max(1, counts.size)).all():
        raise ValueError("counts must be finite and not negative")
    return counts


def _sort_of(value: object) -> str | None:
    """Name what a label or category is; None if it can be neither."""
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, int | float):
        return "numbers" if isinstance(value, int) or math.isfinite(value) else None
    return "text" if isinstance(value, str) else None


def float_matrix(name: str, values: ArrayLike) -> Floats:
    """Make a matrix of float64 bounds."""
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
        kind = np.float64 if any(isinstance(item, float) for item in items) else np.int64
        return np.array(items, kind) + kind(0)  # as for bounds: -0.0 and 0.0 are one label
    except OverflowError:
        raise ValueError(f"{name} must be integers of 64 bits or fewer, got {items[:5]!r}") from None


def check_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    """Check column names, or make some up."""
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
