"""Conditions and boxes as predicates that are true for exactly the rows that fulfil them.

A predicate that is not true is false or, where a value is missing, unknown; nothing is negated before
an unknown is settled. Databases hold NaN greater than infinity, and SQLite any text greater than any
number, so that the upper side is always asked: ``<= Infinity`` is what keeps them out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ..conditions import Condition
from ..tables import LARGEST_EXACT_INTEGER, Category
from .columns import (
    UNKNOWN,
    ColumnType,
    as_double,
    exact_decimal,
    inner_real,
    largest_on_grid,
    on_grid,
    parse_type,
    rounding_midpoint,
    smallest_on_grid,
)
from .dialects import Dialect

#: Parts of a chain of AND or OR that stand side by side: databases limit how deep an expression nests.
CHAIN = 100


class Side(NamedTuple):
    """One side of an interval as it is compared: an operator and a literal."""

    operator: str
    literal: str


class Columns:
    """The columns of a table in one dialect: names quoted once, types where they are known."""

    def __init__(self, dialect: Dialect, types: Mapping[str, str] | None = None) -> None:
        self.dialect = dialect
        self._types = {name: parse_type(spelled, dialect.name) for name, spelled in (types or {}).items()}
        self._known = types is not None

    def type_of(self, name: str) -> ColumnType:
        """Give the type of a column; an unknown one if no types were given."""
        if not self._known:
            return UNKNOWN
        if name not in self._types:
            raise ValueError(f"the types name no column {name!r}; they name {list(self._types)[:20]}")
        return self._types[name]

    def predicate(self, condition: Condition) -> str:
        """Write what a box asks of one column."""
        if condition.categories is not None:
            return self._category_set(condition.name, condition.categories)
        return self._interval(condition.name, condition.lower, condition.upper)

    def box(self, conditions: Sequence[Condition]) -> str:
        """Write what a box asks of a row."""
        return chain("AND", [self.predicate(condition) for condition in conditions]) or "TRUE"

    def as_double(self, name: str) -> str:
        """Write a cell as the double that ``predict`` compares; NULL or NaN where it is missing."""
        dialect, column = self.dialect, self.type_of(name)
        cell = dialect.identifier(name)
        if column.sort in ("text", "enum", "other"):
            raise _not_numeric(name, column)
        if dialect.name == "sqlite":
            return f"CASE typeof({cell}) WHEN 'integer' THEN CAST({cell} AS REAL) WHEN 'real' THEN {cell} END"
        if column.sort == "double":
            return cell
        if column.sort == "boolean":
            cell = f"CAST({cell} AS INTEGER)"
        elif dialect.name == "duckdb" and (column.sort == "decimal" or (column.most or 0) > 2**64):
            cell = f"CAST({cell} AS VARCHAR)"  # directly, older versions miss the nearest double
        return f"CAST({cell} AS {dialect.double})"

    # -- intervals ---------------------------------------------------------------------------------

    def _interval(self, name: str, lower: float, upper: float) -> str:
        dialect, column = self.dialect, self.type_of(name)
        cell = dialect.identifier(name)
        if column.sort in ("text", "enum", "other"):
            raise _not_numeric(name, column)
        if column.sort == "boolean":
            admitted = [value for value in (False, True) if lower <= value <= upper]
            return _truth(cell, admitted)
        if column.sort in ("integer", "decimal"):
            if column.grid is None:
                return self._on_any_decimal(cell, lower, upper)
            return self._on_grid(cell, column, lower, upper)
        if column.sort == "real" and dialect.name != "postgres":  # which has operators for mixed floats
            lower, upper = inner_real(lower, upper)
            if lower > upper:
                return "FALSE"
            number = dialect.number
            low, high = (number(side).replace(dialect.double, dialect.real) for side in (lower, upper))
        else:
            low, high = dialect.number(lower), dialect.number(upper)
        if dialect.name == "sqlite":
            exact = all(abs(side) < LARGEST_EXACT_INTEGER or math.isinf(side) for side in (lower, upper))
            # Integers are compared as integers: far out that is another order than that of doubles.
            cell = (cell if self._known else f"+{cell}") if exact else f"({self.as_double(name)})"
        elif column.sort == "unknown":
            cell = self.as_double(name)
        return _between(cell, None if lower == -math.inf else Side(">=", low), Side("<=", high))

    def _on_grid(self, cell: str, column: ColumnType, lower: float, upper: float) -> str:
        """Compare an integer or fixed-point column with numbers of its own type."""
        grid, least, most = column.grid or 0, column.least or 0, column.most or 0
        low = least if lower == -math.inf else smallest_on_grid(lower, grid)
        high = most if upper == math.inf else largest_on_grid(upper, grid)
        if low > high or low > most or high < least:
            return "FALSE"
        below = None if low <= least else Side(">=", self._literal(low, column))
        above = None if high >= most else Side("<=", self._literal(high, column))
        if above is None and column.sort == "decimal" and self.dialect.name == "postgres":
            above = Side("<", "CAST('NaN' AS NUMERIC)")
        return _between(cell, below, above)

    def _literal(self, count: int, column: ColumnType) -> str:
        text = on_grid(count, column.grid or 0)
        if column.sort == "decimal" and self.dialect.name != "postgres":
            return f"CAST('{text}' AS {column.spelled})"
        return text

    def _on_any_decimal(self, cell: str, lower: float, upper: float) -> str:
        """Compare a NUMERIC of any size, which has no grid, with the midpoints where doubles begin."""
        below, above = None, Side("<", "CAST('NaN' AS NUMERIC)")
        if lower != -math.inf:
            middle = rounding_midpoint(lower)
            reached = as_double(middle.numerator, middle.denominator) >= lower
            below = Side(">=" if reached else ">", exact_decimal(middle))
        if upper != math.inf:
            middle = -rounding_midpoint(-upper)
            reached = as_double(middle.numerator, middle.denominator) <= upper
            above = Side("<=" if reached else "<", exact_decimal(middle))
        return _between(cell, below, above)

    # -- sets --------------------------------------------------------------------------------------

    def _category_set(self, name: str, admitted: Sequence[Category]) -> str:
        dialect, column = self.dialect, self.type_of(name)
        cell = dialect.identifier(name)
        texts = [value for value in admitted if isinstance(value, str)]
        if texts and len(texts) < len(admitted):
            raise ValueError(
                f"the categories of {name!r} mix text and numbers, which no column of a database holds"
            )
        if column.sort == "other":
            raise _not_numeric(name, column)
        if texts:
            if column.sort not in ("unknown", "text", "enum") and dialect.name != "sqlite":
                raise ValueError(f"the categories of {name!r} are text, but the column is {column.spelled}")
            return _among(self._as_text(name, cell), [dialect.text(value) for value in texts])
        numbers = [value for value in admitted if not isinstance(value, str)]
        if column.sort in ("text", "enum"):
            raise ValueError(f"the categories of {name!r} are numbers, but the column is {column.spelled}")
        if column.sort == "boolean":
            return _truth(cell, [value for value in (False, True) if value in numbers])
        if column.sort == "unknown" and all(isinstance(value, bool) for value in numbers):
            if dialect.name != "sqlite":
                return _among(cell, ["TRUE" if value else "FALSE" for value in numbers])
        large = [value for value in numbers if not abs(float(value)) < LARGEST_EXACT_INTEGER]
        if large:
            raise ValueError(f"category {large[0]} of {name!r} is too large to compare exactly: make it text")
        if column.grid is not None:
            units = [Fraction(value) * 10**column.grid for value in numbers]
            counts = [int(unit) for unit in units if unit.denominator == 1]
            return _among(cell, [self._literal(count, column) for count in counts])
        if column.sort == "decimal":
            return _among(cell, [exact_decimal(Fraction(value)) for value in numbers])
        if dialect.name == "sqlite":
            cell = cell if self._known else f"+{cell}"
        else:
            cell = self.as_double(name)
        return _among(cell, [dialect.number(float(value)) for value in numbers])

    def _as_text(self, name: str, cell: str) -> str:
        """Write a cell as text that is equal only to itself, whatever the column's collation."""
        sort = self.type_of(name).sort
        if self.dialect.name == "sqlite":
            return f"{cell if sort == 'text' else '+' + cell} COLLATE BINARY"
        if sort == "text":
            return cell
        collation = ' COLLATE "C"' if self.dialect.name == "postgres" else ""
        return f"CAST({cell} AS {self.dialect.text_type}){collation}"


def chain(word: str, parts: Sequence[str], indent: str = "    ") -> str:
    """Join predicates by AND or OR, in groups where they are many."""
    while len(parts) > CHAIN:
        groups = [parts[start : start + CHAIN] for start in range(0, len(parts), CHAIN)]
        parts = [f"({chain(word, group, indent)})" for group in groups]
    return f"\n{indent}{word} ".join(parts)


def _between(cell: str, lower: Side | None, upper: Side | None) -> str:
    if lower is None and upper is None:
        return f"{cell} IS NOT NULL"
    if lower is not None and upper is not None and (lower.operator, upper.operator) == (">=", "<="):
        if lower.literal == upper.literal:
            return f"{cell} = {lower.literal}"
        return f"{cell} BETWEEN {lower.literal} AND {upper.literal}"
    return " AND ".join(f"{cell} {side.operator} {side.literal}" for side in (lower, upper) if side)


def _among(cell: str, items: Sequence[str]) -> str:
    if not items:
        return "FALSE"
    return f"{cell} = {items[0]}" if len(items) == 1 else f"{cell} IN ({', '.join(items)})"


def _truth(cell: str, admitted: Sequence[bool]) -> str:
    """Ask a boolean column to be one of the admitted values."""
    if not admitted:
        return "FALSE"
    if len(admitted) == 2:
        return f"{cell} IS NOT NULL"
    return f"{cell} = {'TRUE' if admitted[0] else 'FALSE'}"


def _not_numeric(name: str, column: ColumnType) -> ValueError:
    return ValueError(
        f"column {name!r} is {column.spelled} in the database; these boxes ask it for numbers: "
        "convert the column, or give a view that does"
    )
