"""Rules as an expression of polars or narwhals: one column of answers."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..boxes import Boxes
from ..conditions import Condition
from ..tables import LARGEST_EXACT_INTEGER


def to_polars(boxes: Boxes) -> Any:
    """Give boxes as a polars expression that gives the answer of ``boxes.predict`` on every row.

    For eager and lazy frames, in ``with_columns``. Rows without an answer get null.

    Examples
    --------
    >>> import polars as pl
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.rules import to_polars
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> frame = pl.DataFrame({"age": [70, 40, None]})
    >>> frame.with_columns(risk=to_polars(boxes))["risk"].to_list()
    ['high', 'low', 'low']
    """
    import polars as pl

    return _expression(boxes, pl)


def to_narwhals(boxes: Boxes) -> Any:
    """Give boxes as a narwhals expression, for pandas, polars, Arrow, DuckDB and other frames.

    The expression gives the answer of ``boxes.predict`` on every row, in ``with_columns`` of a frame of
    ``narwhals.stable.v2``. Rows without an answer get a missing value. pandas holds integers among which some
    may be missing as floats, which integers beyond 2**53 are not exact in: such labels are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> import narwhals.stable.v2 as nw
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.rules import to_narwhals
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> frame = nw.from_native(pd.DataFrame({"age": [70, 40, None]}))
    >>> frame.with_columns(to_narwhals(boxes).alias("risk"))["risk"].to_list()
    ['high', 'low', 'low']
    """
    import narwhals.stable.v2 as nw

    if boxes.labels.dtype.kind == "i":
        large = [label for label in boxes.classes.tolist() if abs(label) > LARGEST_EXACT_INTEGER]
        if large:
            raise ValueError(
                f"the label {large[0]} is beyond 2**53, where pandas may change it: make the labels text, "
                "or use to_polars or predict"
            )
    answers = _expression(boxes, nw)
    return answers if boxes.default is None else answers.cast(_dtype(boxes, nw))


def _expression(boxes: Boxes, lib: Any) -> Any:
    """Build the expression in the words that polars and narwhals share."""
    kind = _dtype(boxes, lib)
    labels = [lib.lit(label, dtype=kind) for label in boxes.labels.tolist()]
    asked = [boxes.conditions(box) for box in range(boxes.n_boxes)]
    # The first that is not null: a flat list, where nested whens would be as deep as there are boxes.
    answers = [
        lib.when(_all(conditions, lib)).then(label) if conditions else label
        for conditions, label in zip(asked, labels, strict=True)
    ]
    if boxes.uncovered == "nearest" and all(asked) and asked:
        answers += _nearest(boxes, asked, labels, lib)
    if boxes.default is not None:
        answers.append(lib.lit(boxes.default, dtype=kind))
    elif not answers:
        return lib.lit(None)
    return answers[0] if len(answers) == 1 else lib.coalesce(*answers)


def _dtype(boxes: Boxes, lib: Any) -> Any:
    return {"b": lib.Boolean, "i": lib.Int64, "f": lib.Float64, "U": lib.String}[boxes.labels.dtype.kind]


def _all(conditions: list[Condition], lib: Any) -> Any:
    return reduce(lambda one, other: one & other, (_holds(one, lib) for one in conditions))


def _holds(one: Condition, lib: Any) -> Any:
    """Say that a cell meets a condition; null or false if it does not."""
    if one.must_miss:
        return _is_missing(one, lib)
    if one.categories is not None:
        if one.takes_any_value:
            return ~_is_missing(one, lib)
        among = _cell(one, lib).is_in(_members(one))
        return (_is_missing(one, lib) | among) if one.takes_missing else among
    # Both sides, always: polars and DuckDB hold NaN to be greater than every number.
    cell = _cell(one, lib)
    return (cell >= one.lower) & (cell <= one.upper)


def _cell(one: Condition, lib: Any) -> Any:
    return lib.col(one.name).cast(lib.String if one.sort == "text" else lib.Float64)


def _is_missing(one: Condition, lib: Any) -> Any:
    cell = _cell(one, lib)
    return cell.is_null() if one.sort == "text" else cell.is_null() | cell.is_nan()


def _members(one: Condition) -> list[Any]:
    admitted = one.values
    if one.sort == "text":
        return list(admitted)
    large = [
        value for value in admitted if not isinstance(value, str) and abs(value) >= LARGEST_EXACT_INTEGER
    ]
    if large:
        raise ValueError(f"category {large[0]} of {one.name!r} is too large to compare exactly: make it text")
    return [float(value) for value in admitted]


def _nearest(boxes: Boxes, asked: list[list[Condition]], labels: list[Any], lib: Any) -> list[Any]:
    """Answer the rows in no box: the first box of the smallest largest violation."""
    assert boxes.scale is not None  # noqa: S101 - uncovered="nearest" has one
    far = []
    for conditions in asked:
        each = [_violation(one, float(boxes.scale[one.feature]), lib) for one in conditions]
        far.append(lib.max_horizontal(*each) if len(each) > 1 else each[0])
    best = lib.min_horizontal(*far) if len(far) > 1 else far[0]
    reached = best < float("inf")
    return [
        lib.when(reached & (distance <= best)).then(label)
        for distance, label in zip(far, labels, strict=True)
    ]


def _violation(one: Condition, unit: float, lib: Any) -> Any:
    cell = _cell(one, lib)
    far = lib.lit(float("inf"), dtype=lib.Float64)
    none = lib.lit(0.0, dtype=lib.Float64)
    if one.categories is not None:
        outside = lib.when(_holds(one, lib)).then(none).otherwise(lib.lit(1.0, dtype=lib.Float64))
        missing = lib.when(_is_missing(one, lib)).then(none if one.takes_missing else far)
        return missing.otherwise(outside)
    if one.must_miss:
        return lib.when(_is_missing(one, lib)).then(none).otherwise(far)
    # A product with the inverse, as predict has it; both are powers of two, and the quotient is the same.
    below = lib.when((cell < one.lower) & (cell <= one.upper)).then((one.lower - cell) / unit).otherwise(none)
    outside = (
        lib.when((cell > one.upper) & (cell >= one.lower)).then((cell - one.upper) / unit).otherwise(below)
    )
    return lib.when(_is_missing(one, lib)).then(far).otherwise(outside)
