"""Conditions and boxes as predicates that are true for exactly the rows that fulfil them.

A predicate that is not true is false or, where a value is missing, unknown; nothing is negated before
an unknown is settled. Databases hold NaN greater than infinity, and SQLite any text greater than any
number, so that the upper side is always asked: ``<= Infinity`` is what keeps them out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ..conditions import Condition
from ..tables import LARGEST_EXACT_INTEGER
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


#: PostgreSQL holds NaN greater than every other NUMERIC.
NOT_NAN = Side("<", "CAST('NaN' AS NUMERIC)")
_NUMERIC = ("unknown", "double", "real", "integer", "decimal", "boolean")


class Columns:
    """The columns of a table in one dialect: names quoted, types where they are known."""

    def __init__(self, dialect: Dialect, types: Mapping[str, str] | None = None) -> None:
        self.dialect = dialect
        self.known = types is not None
        self._types = {name: parse_type(spelled, dialect.name) for name, spelled in (types or {}).items()}

    @staticmethod
    def of(dialect: Dialect, types: Mapping[str, str] | None = None) -> Columns:
        """Give the columns of a table in a dialect."""
        return (SqliteColumns if dialect.name == "sqlite" else Columns)(dialect, types)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns; none if no types were given."""
        return tuple(self._types)

    def type_of(self, name: str) -> ColumnType:
        """Give the type of a column; an unknown one if no types were given."""
        if not self.known:
            return UNKNOWN
        if name not in self._types:
            raise ValueError(f"the table has no column {name!r}; it has {list(self._types)[:20]}")
        return self._types[name]

    def predicates(self, conditions: Sequence[Condition]) -> list[str]:
        """Write what a box asks, one predicate or more for each column."""
        asked = [self._predicate(condition) for condition in conditions]
        cells = [cell for one in conditions if not one.asks_missing and (cell := self.unsafe(one))]
        if cells:
            # NaN is the greatest; last, so that only rows which fulfil all else are looked at again.
            greatest = cells[0] if len(cells) == 1 else f"GREATEST({', '.join(cells)})"
            asked.append(f"{greatest} IS DISTINCT FROM {self._nan}")
        return asked

    def box(self, conditions: Sequence[Condition]) -> str:
        """Write what a box asks of a row."""
        return chain("AND", self.predicates(conditions)) or self.dialect.true

    def unsafe(self, condition: Condition) -> str | None:
        """Give a cell whose NaN a comparison alone does not keep out, None if there is no such danger.

        Statistics of Parquet files leave NaN out, and DuckDB drops comparisons that follow from them.
        It keeps ``IS DISTINCT FROM``.
        """
        if self.dialect.name != "duckdb" or not self._may_be_nan(condition):
            return None
        return self.as_double(condition.name)

    def as_read(self, name: str, *, categorical: bool) -> str:
        """Write a cell so that a driver hands it over as it is compared."""
        cell = self.dialect.identifier(name)
        # A CHAR of PostgreSQL is compared without the blanks that fill it up.
        padded = categorical and self.dialect.name == "postgres" and self.type_of(name).sort == "enum"
        return f"CAST({cell} AS TEXT)" if padded else cell

    def _may_be_nan(self, condition: Condition) -> bool:
        sort = self.type_of(condition.name).sort
        return sort in ("double", "real") or (sort == "unknown" and condition.sort == "number")

    @property
    def _nan(self) -> str:
        return self.dialect.number(math.nan)

    def _predicate(self, condition: Condition) -> str:
        if condition.categories is not None:
            return self._category_set(condition)
        self._check_numeric(condition.name)
        if condition.takes_missing:
            return self.is_missing(condition)
        return self._interval(condition.name, condition.lower, condition.upper)

    def as_double(self, name: str) -> str:
        """Write a cell as the double that ``predict`` compares; NULL or NaN where it is missing."""
        column, cell = self.type_of(name), self.dialect.identifier(name)
        self._check_numeric(name)
        if column.sort == "double":
            return cell
        if column.sort == "boolean":
            cell = f"CAST({cell} AS INTEGER)"
        elif self.dialect.name == "duckdb" and (column.sort == "decimal" or (column.most or 0) > 2**64):
            cell = f"CAST({cell} AS VARCHAR)"  # directly, older versions miss the nearest double
        return f"CAST({cell} AS {self.dialect.double})"

    def comparable(self, name: str, lower: float, upper: float) -> str:
        """Write a cell so that it compares with these bounds, and subtracts, as its double does."""
        return self.as_double(name)

    def is_present(self, condition: Condition) -> str:
        """Write when a cell is not missing."""
        cell = self.dialect.identifier(condition.name)
        if not self._may_be_nan(condition):
            if self.type_of(condition.name).sort == "decimal" and self.dialect.name == "postgres":
                return _between(cell, None, NOT_NAN)
            return f"{cell} IS NOT NULL"
        cell = self.as_double(condition.name)
        if self.unsafe(condition):
            return f"{cell} IS NOT NULL AND {cell} IS DISTINCT FROM {self._nan}"
        return f"{cell} <= {self.dialect.number(math.inf)}"

    def is_missing(self, condition: Condition) -> str:
        """Write when a cell is missing."""
        present, cell = self.is_present(condition), self.dialect.identifier(condition.name)
        # An index serves it, which it does not serve a negation.
        if present == f"{cell} IS NOT NULL":
            return f"{cell} IS NULL"
        return f"({present}) IS NOT {self.dialect.true}"

    def _check_numeric(self, name: str) -> None:
        column = self.type_of(name)
        if column.sort not in _NUMERIC:
            raise ValueError(
                f"column {name!r} is {column.spelled} in the database, and these boxes ask it for numbers: "
                "convert it, or give a view that does"
            )

    # -- intervals ---------------------------------------------------------------------------------

    def _interval(self, name: str, lower: float, upper: float) -> str:
        column, cell = self.type_of(name), self.dialect.identifier(name)
        if column.sort == "boolean":
            return _truth(cell, [value for value in (False, True) if lower <= value <= upper])
        if column.grid is not None:
            return self._on_grid(cell, column, lower, upper)
        if column.sort == "decimal":
            return self._on_any_decimal(cell, lower, upper)
        if column.sort == "real":
            lower, upper = inner_real(lower, upper)
            if lower > upper:
                return "FALSE"
            number = self.dialect.real_number
        else:
            cell, number = self.comparable(name, lower, upper), self.dialect.number
        below = None if lower == -math.inf else Side(">=", number(lower))
        # Where NaN is kept out otherwise, an open side need not be asked.
        above = None if upper == math.inf and self.dialect.name == "duckdb" else Side("<=", number(upper))
        return _between(cell, below, above)

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
            above = NOT_NAN
        return _between(cell, below, above)

    def _literal(self, count: int, column: ColumnType) -> str:
        text = on_grid(count, column.grid or 0)
        if column.sort == "decimal" and self.dialect.name != "postgres":
            return f"CAST('{text}' AS {column.spelled})"
        return text

    def _on_any_decimal(self, cell: str, lower: float, upper: float) -> str:
        """Compare a NUMERIC of any size, which has no grid, with the midpoints where doubles begin."""
        below, above = None, NOT_NAN
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

    def _category_set(self, condition: Condition) -> str:
        if condition.takes_any_value:
            return self.is_present(condition)
        if not condition.takes_missing:
            return self._values(condition)
        missing = self.is_missing(condition)
        return f"({self._values(condition)} OR {missing})" if condition.values else missing

    def _values(self, condition: Condition) -> str:
        name = condition.name
        column = self.type_of(name)
        texts = [value for value in condition.values if isinstance(value, str)]
        numbers = [value for value in condition.values if not isinstance(value, str)]
        if texts and numbers:
            raise ValueError(
                f"the categories of {name!r} mix text and numbers, which no column of a database holds"
            )
        if column.sort not in (("unknown", "text", "enum") if texts else _NUMERIC):
            raise ValueError(
                f"the categories of {name!r} are {'text' if texts else 'numbers'}, but the column is "
                f"{column.spelled} in the database: convert it, or give a view that does"
            )
        large = [value for value in numbers if not abs(float(value)) < LARGEST_EXACT_INTEGER]
        if large:
            raise ValueError(f"category {large[0]} of {name!r} is too large to compare exactly: make it text")
        return self._texts(name, texts) if texts else self._numbers(name, numbers)

    def _texts(self, name: str, texts: Sequence[str]) -> str:
        cell = self.dialect.identifier(name)
        if self.type_of(name).sort != "text":
            cell = f"CAST({cell} AS {self.dialect.text_type})"
        # A text of PostgreSQL is known to be one of a collation that tells all texts apart.
        if self.type_of(name).sort != "text" or self.dialect.name != "postgres":
            cell += self.dialect.binary
        return _among(cell, [self.dialect.text(value) for value in texts])

    def _numbers(self, name: str, numbers: Sequence[int | float]) -> str:
        column, cell = self.type_of(name), self.dialect.identifier(name)
        if column.sort == "boolean":
            return _truth(cell, [value for value in (False, True) if value in numbers])
        if column.sort == "unknown" and all(isinstance(value, bool) for value in numbers):
            return _truth(cell, [bool(value) for value in numbers])
        if column.grid is not None:
            units = [Fraction(value) * 10**column.grid for value in numbers]
            counts = [int(unit) for unit in units if unit.denominator == 1]
            return _among(cell, [self._literal(count, column) for count in counts])
        if column.sort == "decimal":
            return _among(cell, [exact_decimal(Fraction(value)) for value in numbers])
        return _among(self.as_double(name), [self.dialect.number(float(value)) for value in numbers])


class StoredColumns(Columns):
    """Columns of a table that DuckDB keeps itself.

    Its own statistics know of NaN, so that the upper side keeps it out. The sides of a box are asked
    one by one, first the one that keeps out most: the next is asked only of the rows that are left.
    """

    def __init__(
        self, dialect: Dialect, types: Mapping[str, str] | None, share: Callable[[Condition], float]
    ) -> None:
        super().__init__(dialect, types)
        self._share = share

    def predicates(self, conditions: Sequence[Condition]) -> list[str]:
        """Write what a box asks, side by side."""
        sides = [side for condition in conditions for side in self._sides(condition)]
        return [text for _, text in sorted(sides, key=lambda side: side[0])]

    def unsafe(self, condition: Condition) -> str | None:
        """Give no cell: comparisons alone keep NaN out."""
        return None

    def _sides(self, condition: Condition) -> list[tuple[float, str]]:
        """Write each side, and the share of the rows that it leaves of those it is asked of."""
        share = self._share(condition)
        if condition.categories is not None or condition.takes_missing or condition.lower == condition.upper:
            return [(share, self._predicate(condition))]
        if condition.upper == math.inf:
            return [(share, self._predicate(condition)), *self._not_nan(condition)]
        if condition.lower == -math.inf:
            return [(share, self._predicate(condition))]
        sides = [condition._replace(upper=math.inf), condition._replace(lower=-math.inf)]
        first, second = sorted(sides, key=self._share)
        alone = self._share(first)
        rest = max(alone, share / alone) if alone else 1.0  # never before the first
        return [(alone, self._predicate(first)), (rest, self._predicate(second))]

    def _not_nan(self, condition: Condition) -> list[tuple[float, str]]:
        if not self._may_be_nan(condition):
            return []
        cell, number = self.as_double(condition.name), self.dialect.number
        if self.type_of(condition.name).sort == "real":
            cell, number = self.dialect.identifier(condition.name), self.dialect.real_number
        return [(1.0, _between(cell, None, Side("<=", number(math.inf))))]


class SqliteColumns(Columns):
    """Columns of SQLite, where a type is a preference: any cell may be an integer, a double or a text.

    A text is greater than every number, so that the upper side keeps it out. Between a number and a
    column that prefers text, the number would become a text; a plus before the name prevents that.
    """

    def as_double(self, name: str) -> str:
        """Write a cell as the double that ``predict`` compares, NULL where it is none."""
        self._check_numeric(name)
        cell = self.dialect.identifier(name)
        return f"CASE typeof({cell}) WHEN 'integer' THEN CAST({cell} AS REAL) WHEN 'real' THEN {cell} END"

    def comparable(self, name: str, lower: float, upper: float) -> str:
        """Write a cell so that it compares with these bounds, and subtracts, as its double does."""
        # Integers are compared as integers; from 2**53 on, that is another order than that of doubles.
        if any(LARGEST_EXACT_INTEGER <= abs(side) < math.inf for side in (lower, upper)):
            return f"({self.as_double(name)})"
        self._check_numeric(name)
        return self._bare(name)

    def is_present(self, condition: Condition) -> str:
        """Write when a cell is not missing: SQLite has no NaN."""
        return f"{self.dialect.identifier(condition.name)} IS NOT NULL"

    def is_missing(self, condition: Condition) -> str:
        """Write when a cell is missing; a text among numbers is."""
        if condition.categories is not None:
            return super().is_missing(condition)
        return f"typeof({self.dialect.identifier(condition.name)}) NOT IN ('integer', 'real')"

    def as_read(self, name: str, *, categorical: bool) -> str:
        """Write a cell so that a driver hands it over as it is compared: a text is no number."""
        cell = self.dialect.identifier(name)
        return cell if categorical else f"CASE WHEN typeof({cell}) IN ('integer', 'real') THEN {cell} END"

    def _bare(self, name: str) -> str:
        cell = self.dialect.identifier(name)
        return cell if self.known else f"+{cell}"

    def _texts(self, name: str, texts: Sequence[str]) -> str:
        cell = self.dialect.identifier(name)
        cell = cell if self.type_of(name).sort == "text" else f"+{cell}"
        return _among(cell + self.dialect.binary, [self.dialect.text(value) for value in texts])

    def _numbers(self, name: str, numbers: Sequence[int | float]) -> str:
        return _among(self._bare(name), [self.dialect.number(float(value)) for value in numbers])


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
