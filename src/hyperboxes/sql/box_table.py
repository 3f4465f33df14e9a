"""Many boxes: a table of their bounds inside the expression, searched for each row.

Databases plan a CASE of thousands of branches for seconds or minutes; a table of values is data to them.
A feature that a box leaves open is NULL in its row, an open side is infinite, bounds of one whose value must
be missing are crossed, a set of categories is a text of one sign for each, and one for unknown categories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..boxes import Boxes
from ..conditions import Condition
from .nearest import call, reach
from .predicates import Columns, chain


class _Feature(NamedTuple):
    """What the table says of one feature: the names of its columns, a row of literals for each box."""

    place: int
    names: tuple[str, ...]
    literals: Sequence[tuple[str, ...]]


def search_box_table(boxes: Boxes, columns: Columns, answers: Sequence[str]) -> str:
    """Write the decision list as a search of a table of boxes, with the given texts for the answers."""
    *decided, default = answers
    prefix = _prefix(boxes, columns)
    features = [
        _feature(boxes, columns, int(j), prefix) for j in np.flatnonzero(boxes.restricted.any(axis=0))
    ]
    names = [f"{prefix}box", f"{prefix}answer", *(name for feature in features for name in feature.names)]
    rows = [
        ", ".join([str(box), answer, *(text for feature in features for text in feature.literals[box])])
        for box, answer in enumerate(decided)
    ]
    values = ",\n".join(f"    ({row})" for row in rows)
    if boxes.uncovered == "nearest" and features:
        far = call(columns.dialect.greatest, [_violation(boxes, columns, feature) for feature in features])
        # Not in ORDER BY itself, where SQLite knows no column of the row.
        source = f"(SELECT *, {far} AS {prefix}far FROM {prefix}boxes) AS {prefix}distances"  # noqa: S608
        where, order = f"{prefix}far < {columns.dialect.number(math.inf)}", f"{prefix}far, {prefix}box"
    else:
        source, order = f"{prefix}boxes", f"{prefix}box"
        where = chain("AND", [_fits(boxes, columns, feature) for feature in features]) or columns.dialect.true
    return (
        f"COALESCE((WITH {prefix}boxes({', '.join(names)}) AS (VALUES\n{values})\n"  # noqa: S608 - all quoted
        f"  SELECT {prefix}answer FROM {source}\n  WHERE {where}\n  ORDER BY {order} LIMIT 1), {default})"
    )


def _prefix(boxes: Boxes, columns: Columns) -> str:
    """Find a beginning that no column has: inside the search, names of the box table come first."""
    taken = {columns.dialect.fold(name) for name in boxes.feature_names}
    prefix = "b_"
    while any(name.startswith(prefix) for name in taken):
        prefix = "b" + prefix
    return prefix


def _feature(boxes: Boxes, columns: Columns, place: int, prefix: str) -> _Feature:
    name, restricted = boxes.feature_names[place], boxes.restricted[:, place]
    if name in boxes.categories:
        flags = np.column_stack([boxes.allowed[name], boxes.admits_unknown[name]])
        signs = ["".join("01"[int(yes)] for yes in row) for row in flags]
        texts = [(f"'{text}'" if asked else "NULL",) for text, asked in zip(signs, restricted, strict=True)]
        return _Feature(place, (f"{prefix}c{place}",), texts)
    number = columns.dialect.number
    missing = np.isnan(boxes.lower[:, place])
    lower = np.where(missing, np.inf, boxes.lower[:, place]).tolist()
    upper = np.where(missing, -np.inf, boxes.upper[:, place]).tolist()
    bounds = zip(lower, upper, restricted, strict=True)
    numbers = [
        (number(low), number(high)) if asked else ("NULL", "NULL") for low, high, asked in bounds
    ]  # fmt: skip
    return _Feature(place, (f"{prefix}l{place}", f"{prefix}u{place}"), numbers)


def _fits(boxes: Boxes, columns: Columns, feature: _Feature) -> str:
    """Write when a row fulfils what a box asks of a feature."""
    first = feature.names[0]
    condition = _condition(boxes, feature)
    if condition.categories is not None:
        return f"({first} IS NULL OR {_is_admitted(columns, condition, first)})"
    lower, upper = feature.names
    cell = _cell(columns, condition)
    fits = f"{cell} BETWEEN {lower} AND {upper}"
    if columns.unsafe(condition):
        fits += f" AND {cell} IS DISTINCT FROM {columns.dialect.number(math.nan)}"
    if np.isnan(boxes.lower[:, feature.place]).any():
        fits = f"({fits}) OR ({lower} > {upper} AND {columns.is_missing(condition)})"
    return f"({first} IS NULL OR {fits})"


def _violation(boxes: Boxes, columns: Columns, feature: _Feature) -> str:
    """Write by how much a row violates what a box asks of a feature, -1 if it does not."""
    number, first = columns.dialect.number, feature.names[0]
    infinite, none = number(math.inf), number(-1.0)
    condition = _condition(boxes, feature)
    if condition.categories is not None:
        return (
            f"CASE WHEN {first} IS NULL OR {_is_admitted(columns, condition, first)} THEN {none} "
            f"WHEN {columns.is_present(condition)} THEN {number(1.0)} ELSE {infinite} END"
        )
    assert boxes.scale is not None  # noqa: S101 - uncovered="nearest" has one
    scale = float(boxes.scale[feature.place])
    _check_reach(boxes, feature.place, scale)
    lower, upper = feature.names
    cell = _cell(columns, condition)
    unit = "" if scale == 1 else f" * {number(1 / scale)}"
    missing = ""
    if np.isnan(boxes.lower[:, feature.place]).any():
        crossed = f"{lower} > {upper}"
        missing += (
            f"WHEN {crossed} AND {columns.is_missing(condition)} THEN {none} WHEN {crossed} THEN {infinite} "
        )
    if columns.unsafe(condition):
        missing += f"WHEN {cell} IS NOT DISTINCT FROM {number(math.nan)} THEN {infinite} "
    return (
        f"CASE WHEN {first} IS NULL THEN {none} {missing}"
        f"WHEN {cell} < {lower} THEN ({lower} - {cell}){unit} WHEN {cell} <= {upper} THEN {none} "
        f"WHEN {cell} < {infinite} THEN ({cell} - {upper}){unit} ELSE {infinite} END"
    )


def _condition(boxes: Boxes, feature: _Feature) -> Condition:
    name = boxes.feature_names[feature.place]
    known = boxes.categories.get(name)
    return Condition(feature.place, name, -math.inf, math.inf, known, boxes.sort_of(name))


def _cell(columns: Columns, condition: Condition) -> str:
    cell = columns.as_double(condition.name)
    return f"({cell})" if cell.startswith("CASE") else cell


def _is_admitted(columns: Columns, condition: Condition, flags: str) -> str:
    known = condition.categories or ()
    asked = [columns.box([condition._replace(categories=(value,))]) for value in known]
    if condition.takes_missing:
        asked.append(columns.is_present(condition))
    whens = " ".join(f"WHEN {one} THEN {place}" for place, one in enumerate(asked, 1))
    return f"substr({flags}, CASE {whens} END, 1) = '1'"


def _check_reach(boxes: Boxes, place: int, scale: float) -> None:
    """Refuse bounds so far out that a violation overflows or vanishes, where databases raise errors."""
    for sign, side in ((-1.0, boxes.lower), (1.0, boxes.upper)):
        for bound in np.unique(sign * side[:, place]).tolist():
            if math.isfinite(bound) and reach(bound, scale) != (bound, math.inf):
                raise ValueError(
                    f"a bound of {boxes.feature_names[place]!r}, {sign * bound}, is too far from its scale "
                    f"{scale} to measure distances in so many boxes: predict in Python"
                )
