"""Where databases differ: how they write names, texts and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..boxes import Label

#: SQLite reads decimals with an error of a few units in the 64th bit; nearer to a tie, it may err.
SQLITE_MARGIN = Fraction(1, 64)
#: An integer that every SQLite reads exactly, to build numbers from.
TWO_53 = "9007199254740992.0"


@dataclass(frozen=True)
class Dialect:
    """How one database writes names, texts and numbers."""

    name: str
    title: str
    double: str = "DOUBLE"
    real: str = "FLOAT"
    text_type: str = "VARCHAR"
    quote: str = '"'
    true: str = "TRUE"
    false: str = "FALSE"
    #: Behind a text, makes it equal only to itself, whatever the collation of column or database.
    binary: str = ""
    #: Longer names are cut silently.
    max_name_bytes: int | None = None
    #: Names that fold to the same text are one column, even quoted.
    fold: Callable[[str], str] = str.casefold
    greatest: str = "GREATEST"
    least: str = "LEAST"
    #: Where a simple CASE is evaluated anew for every WHEN: how to take the answer of the smallest distance.
    choose: str | None = None
    pair: str = ""

    def identifier(self, name: str) -> str:
        """Quote a name, or refuse one that the database would not keep as it is."""
        if not name:
            raise ValueError("a column or table name is empty: rename it")
        _check_text("name", name)
        size = len(name.encode())
        if self.max_name_bytes is not None and size > self.max_name_bytes:
            raise ValueError(
                f"the name {name!r} has {size} bytes; {self.title} cuts it at {self.max_name_bytes}: "
                "rename it"
            )
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def text(self, value: str) -> str:
        """Write a text so that no setting of the database reads it otherwise."""
        _check_text("text", value)
        if self.name == "spark" and not (value.isprintable() and not set(value) & set("'\\")):
            # Escapes in Spark depend on a setting, and '' has not always been a quote.
            return f"decode(X'{value.encode().hex().upper()}', 'UTF-8')"
        quoted = value.replace("'", "''")
        if self.name == "postgres" and "\\" in value:
            return "E'" + quoted.replace("\\", "\\\\") + "'"
        return f"'{quoted}'"

    def number(self, value: float) -> str:
        """Write a double that is read back as the same double."""
        if self.name == "sqlite":
            return _sqlite_number(value)
        # Bare, 0.1 would be a decimal, which databases compare and round by other rules.
        return f"CAST('{_spelled(value)}' AS {self.double})"

    def real_number(self, value: float) -> str:
        """Write a float32 to compare a float32 column with."""
        # PostgreSQL's indexes serve comparisons of float32 with doubles.
        return f"CAST('{_spelled(value)}' AS {self.double if self.name == 'postgres' else self.real})"

    def truth(self, value: bool) -> str:
        """Write a truth value."""
        return self.true if value else self.false

    def label(self, label: Label | None) -> str:
        """Write an answer."""
        if label is None:
            return "NULL"
        if isinstance(label, str):
            return self.text(label)
        if isinstance(label, bool):
            return self.truth(label)
        return f"CAST('{label}' AS BIGINT)" if isinstance(label, int) else self.number(label)


DIALECTS = {
    "duckdb": Dialect(
        "duckdb", "DuckDB", binary=' COLLATE "C"',
        choose="[{answers}][list_min([{ranked}]).place]", pair="{{far: {}, place: {}}}",
    ),
    "postgres": Dialect(
        "postgres", "PostgreSQL", double="DOUBLE PRECISION", real="REAL", text_type="TEXT", fold=str,
        binary=' COLLATE "C"',
        max_name_bytes=63,
    ),
    # Between double quotes, SQLite takes a name that no column has for a text; between backticks never.
    # TRUE and FALSE are columns to it where there are some of that name.
    "sqlite": Dialect(
        "sqlite", "SQLite", double="REAL", real="REAL", text_type="TEXT", quote="`", greatest="max",
        binary=" COLLATE BINARY",
        least="min", true="1", false="0",
    ),
    "spark": Dialect(
        "spark", "Spark SQL", text_type="STRING", quote="`",
        choose="element_at(array({answers}), array_min(array({ranked})).place)",
        pair="named_struct('far', {}, 'place', {})",
    ),
}  # fmt: skip


def qualified(table: str | Sequence[str], dialect: Dialect) -> str:
    """Quote the name of a table, part by part."""
    return ".".join(dialect.identifier(part) for part in name_parts(table))


def name_parts(table: str | Sequence[str]) -> list[str]:
    """Take the name of a table apart."""
    parts = [table] if isinstance(table, str) else list(table)
    if not parts:
        raise ValueError("table must be a name, or a sequence of at least one")
    return parts


def _spelled(value: float) -> str:
    return repr(float(value)).replace("inf", "Infinity").replace("nan", "NaN")


def _check_text(what: str, value: str) -> None:
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError(f"the {what} {value!r} holds a NUL or half a surrogate pair, which databases refuse")


def _sqlite_number(value: float) -> str:
    """Write a double for SQLite, whose versions do not all read decimals to the nearest double.

    A short decimal is a quotient of two exact doubles and at a distance from a tie, and so is read
    correctly by all of them. Any other number is written as an integer and powers of two.
    """
    if math.isinf(value):
        return "9e999" if value > 0 else "-9e999"
    spelled = repr(float(value))
    if _is_read_exactly(spelled, abs(value)):
        return spelled
    mantissa, exponent = value.as_integer_ratio()[0], value.as_integer_ratio()[1].bit_length() - 1
    if exponent:
        steps, rest = divmod(exponent, 53)
        factors = [f" / {TWO_53}"] * steps + ([f" / {2**rest}.0"] if rest else [])
    else:
        shift = max(0, abs(mantissa).bit_length() - 53)
        mantissa >>= shift
        steps, rest = divmod(shift, 53)
        factors = [f" * {TWO_53}"] * steps + ([f" * {2**rest}.0"] if rest else [])
    return f"({mantissa}.0{''.join(factors)})"


def _is_read_exactly(spelled: str, value: float) -> bool:
    digits, _, power = spelled.lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    significand = int(whole + fraction.rstrip("0")) if fraction.strip("0") else int(whole)
    exponent = int(power or 0) - len(fraction.rstrip("0"))
    if significand >= 2**53 or abs(exponent) > 22:
        return False
    exact = significand * Fraction(10) ** exponent
    spacing = Fraction(value) - Fraction(math.nextafter(value, 0.0))  # the smaller one, at a power of two
    return abs(exact - Fraction(value)) <= (Fraction(1, 2) - SQLITE_MARGIN) * spacing
