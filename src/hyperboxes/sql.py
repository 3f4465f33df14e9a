"""SQL: boxes as one CASE expression that gives the answer of ``predict`` on every row.

Each condition compares the column, cast to double, with a bound written as quoted text with the fewest
digits that read back as the same double. Both sides are always there: databases take NaN to be greater
than infinity, so that ``<= Infinity`` is what keeps it out. Nothing is negated, so that a NULL, being
unknown, can only keep a row out of a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .boxes import Boxes, Label
from .conditions import Condition
from .tables import Category

#: float64 tells neighbouring integers apart up to here.
LARGEST_CATEGORY = 2**53


class _Dialect(NamedTuple):
    """Where databases differ."""

    double: str
    text: str
    max_name_bytes: int | None  # longer names are cut silently
    folds_case: bool  # quoted names that differ in case only are one
    escapes_backslash: bool  # a backslash may be an escape, depending on a setting


_DIALECTS = {
    "duckdb": _Dialect("DOUBLE", "VARCHAR", None, folds_case=True, escapes_backslash=False),
    "postgres": _Dialect("DOUBLE PRECISION", "TEXT", 63, folds_case=False, escapes_backslash=True),
}


def to_sql(
    boxes: Boxes,
    *,
    table: str | Sequence[str] | None = None,
    dialect: Literal["duckdb", "postgres"] = "duckdb",
    kind: Literal["case", "select"] | None = None,
    column: str = "prediction",
) -> str:
    """Write boxes as SQL that gives the answer of ``boxes.predict``, bit for bit.

    Numeric columns may be of any integer or floating-point type. A column of categories must have the
    type of the categories: text, numbers or booleans.

    Parameters
    ----------
    boxes : Boxes
        The model.
    table : str or sequence of str, optional
        The table to select from: one name, or catalog, schema and table. Each part is quoted.
    dialect : {"duckdb", "postgres"}
        The database.
    kind : {"case", "select"}, optional
        An expression to put into a query of your own, or a whole query that adds one column to the
        table; by default the latter if there is a table.
    column : str
        Name of the added column.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.sql import to_sql
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> print(to_sql(boxes))
    CASE
      WHEN COALESCE(CAST("age" AS DOUBLE) >= CAST('65.0' AS DOUBLE)
        AND CAST("age" AS DOUBLE) <= CAST('Infinity' AS DOUBLE), FALSE) THEN 'high'
      ELSE 'low'
    END
    """
    if dialect not in _DIALECTS:
        raise ValueError(f"dialect must be one of {list(_DIALECTS)}, got {dialect!r}")
    if kind not in (None, "case", "select"):
        raise ValueError(f"kind must be 'case' or 'select', got {kind!r}")
    if boxes.uncovered == "nearest":
        raise ValueError(
            "SQL for uncovered='nearest' is not available: fit with uncovered='default', "
            "which gives the rows in no box one class, or predict in Python"
        )
    syntax = _DIALECTS[dialect]
    case = _case(boxes, syntax)
    if kind == "case" or (kind is None and table is None):
        _check_distinct(boxes.feature_names, syntax)
        return case
    _check_distinct((*boxes.feature_names, column), syntax)
    if table is None:
        raise ValueError("kind='select' needs the table to select from")
    parts = [table] if isinstance(table, str) else list(table)
    if not parts:
        raise ValueError("table must be a name, or a sequence of at least one")
    source = ".".join(_identifier(part, syntax) for part in parts)
    return f"SELECT *, {case} AS {_identifier(column, syntax)}\nFROM {source}"


def _check_distinct(names: Sequence[str], syntax: _Dialect) -> None:
    seen: dict[str, str] = {}
    for name in names:
        key = name.casefold() if syntax.folds_case else name
        if key in seen:
            raise ValueError(
                f"{seen[key]!r} and {name!r} are one column to this database: rename one of them"
            )
        seen[key] = name


def _case(boxes: Boxes, syntax: _Dialect) -> str:
    *answers, last = boxes.answers.tolist()
    default = _label(last, syntax)
    if not answers:
        return default
    whens = "\n".join(
        f"  WHEN {_box(boxes.conditions(box), syntax)} THEN {_label(label, syntax)}"
        for box, label in enumerate(answers)
    )
    return f"CASE\n{whens}\n  ELSE {default}\nEND"


def _box(conditions: list[Condition], syntax: _Dialect) -> str:
    if not conditions:
        return "TRUE"
    asked = "\n    AND ".join(part for condition in conditions for part in _condition(condition, syntax))
    return f"COALESCE({asked}, FALSE)"


def _condition(condition: Condition, syntax: _Dialect) -> list[str]:
    name = _identifier(condition.name, syntax)
    if condition.categories is not None:
        return [_category_set(condition.name, name, condition.categories, syntax)]
    cell = f"CAST({name} AS {syntax.double})"
    return [f"{cell} >= {_number(condition.lower, syntax)}", f"{cell} <= {_number(condition.upper, syntax)}"]


def _category_set(feature: str, name: str, admitted: tuple[Category, ...], syntax: _Dialect) -> str:
    if all(isinstance(value, str) for value in admitted):
        cell, items = f"CAST({name} AS {syntax.text})", [_text(str(value), syntax) for value in admitted]
    elif all(isinstance(value, bool) for value in admitted):
        cell, items = name, [str(value).upper() for value in admitted]
    elif any(isinstance(value, str) for value in admitted):
        raise ValueError(
            f"the categories of {feature!r} mix text and numbers, which no column of a database holds"
        )
    else:
        large = [value for value in admitted if not abs(float(value)) < LARGEST_CATEGORY]
        if large:
            raise ValueError(
                f"category {large[0]} of {feature!r} is too large to compare exactly: make it text"
            )
        cell = f"CAST({name} AS {syntax.double})"
        items = [_number(float(value), syntax) for value in admitted]
    return f"{cell} IN ({', '.join(items)})"


def _label(label: Label | None, syntax: _Dialect) -> str:
    if label is None:
        return "NULL"
    if isinstance(label, str):
        return _text(label, syntax)
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return f"CAST('{label}' AS BIGINT)" if isinstance(label, int) else _number(label, syntax)


def _number(value: float, syntax: _Dialect) -> str:
    # Bare, 0.1 would be a decimal, which databases compare and round by other rules.
    text = repr(float(value)).replace("inf", "Infinity")
    return f"CAST('{text}' AS {syntax.double})"


def _text(value: str, syntax: _Dialect) -> str:
    _check_text("text", value)
    quoted = value.replace("'", "''")
    if syntax.escapes_backslash and "\\" in value:
        return "E'" + quoted.replace("\\", "\\\\") + "'"
    return f"'{quoted}'"


def _identifier(name: str, syntax: _Dialect) -> str:
    if not name:
        raise ValueError("a column or table name is empty: rename it")
    _check_text("name", name)
    size = len(name.encode())
    if syntax.max_name_bytes is not None and size > syntax.max_name_bytes:
        raise ValueError(
            f"the name {name!r} has {size} bytes; PostgreSQL cuts it at {syntax.max_name_bytes}: rename it"
        )
    return '"' + name.replace('"', '""') + '"'


def _check_text(what: str, value: str) -> None:
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError(f"the {what} {value!r} holds a NUL or half a surrogate pair, which databases refuse")
