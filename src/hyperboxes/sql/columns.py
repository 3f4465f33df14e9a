"""What a column's type allows: the plainest comparison that is exact for every value it can hold."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

import numpy as np

Sort = Literal["unknown", "double", "real", "integer", "decimal", "boolean", "text", "enum", "other"]

#: Bits of the integer types that have a fixed width, and whether they have a sign.
_INTEGERS = {
    "tinyint": (8, True), "smallint": (16, True), "int2": (16, True), "integer": (32, True),
    "int": (32, True), "int4": (32, True), "bigint": (64, True), "int8": (64, True), "hugeint": (128, True),
    "utinyint": (8, False), "usmallint": (16, False), "uinteger": (32, False), "ubigint": (64, False),
    "uhugeint": (128, False),
}  # fmt: skip
_SORTS: dict[str, Sort] = {
    "double": "double", "double precision": "double", "float8": "double", "real": "real", "float4": "real",
    "float": "real", "boolean": "boolean", "bool": "boolean", "text": "text", "varchar": "text",
    "string": "text", "character varying": "text", "char": "enum", "character": "enum", "bpchar": "enum",
    "citext": "enum", "name": "enum", "enum": "enum",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnType:
    """What a column holds; ``grid`` is the number of decimals of a fixed-point or integer type.

    ``least`` and ``most`` are its ends in units of the last decimal. An ``enum`` is compared as text.
    """

    sort: Sort
    spelled: str = ""
    grid: int | None = None
    least: int | None = None
    most: int | None = None


UNKNOWN = ColumnType("unknown")


def parse_type(spelled: str, dialect: str) -> ColumnType:
    """Read a type as the database spells it, for instance ``DECIMAL(10,2)``."""
    text = " ".join(spelled.lower().split())
    if dialect == "sqlite":
        return _sqlite_type(spelled)
    name, _, rest = text.partition("(")
    name = name.strip()
    if name in _INTEGERS:
        bits, signed = _INTEGERS[name]
        least = -(2 ** (bits - 1)) if signed else 0
        return ColumnType("integer", spelled, 0, least, least + 2**bits - 1)
    if name in ("decimal", "numeric", "dec"):
        size = [int(part) for part in re.findall(r"-?\d+", rest)]
        if not size:
            # Without a size, PostgreSQL keeps what it gets; others mean DECIMAL(18,3) or DECIMAL(10,0).
            if dialect == "postgres":
                return ColumnType("decimal", spelled)
            size = [18, 3] if dialect == "duckdb" else [10, 0]
        precision, scale = size[0], size[1] if len(size) > 1 else 0
        most = 10**precision - 1
        return ColumnType("decimal", f"DECIMAL({precision},{scale})", scale, -most, most)
    if name == "float" and dialect == "postgres":
        short = rest and int(rest.rstrip(") ")) <= 24
        return ColumnType("real" if short else "double", spelled)
    if "collate" in name.split():
        return ColumnType("enum", spelled)
    return ColumnType(_SORTS.get(name, "other"), spelled)


def _sqlite_type(spelled: str) -> ColumnType:
    """Find the affinity: a declared type says what SQLite prefers, not what a cell holds."""
    upper = spelled.upper()
    if "INT" not in upper and any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
        return ColumnType("text", spelled)
    return ColumnType("unknown", spelled)


def smallest_on_grid(bound: float, grid: int) -> int:
    """Find the smallest number of ``grid`` decimals that becomes at least ``bound`` as a double.

    The result is in units of the last decimal. Decimals become the nearest double, the even one of
    two, so that the numbers that become at least ``bound`` begin at a midpoint.
    """
    unit: int = 10**grid
    found = math.ceil(rounding_midpoint(bound) * unit)
    return found if as_double(found, unit) >= bound else found + 1


def largest_on_grid(bound: float, grid: int) -> int:
    """Find the largest number of ``grid`` decimals that becomes at most ``bound`` as a double."""
    return -smallest_on_grid(-bound, grid)


def rounding_midpoint(bound: float) -> Fraction:
    """Give the midpoint of a double and the next smaller one, where numbers begin to round to it."""
    below = math.nextafter(bound, -math.inf)
    # What is beyond the largest double rounds as if doubles went on.
    before = Fraction(-(2**1024)) if math.isinf(below) else Fraction(below)
    return (before + Fraction(bound)) / 2


def as_double(numerator: int, denominator: int) -> float:
    """Divide exactly and round once, to infinity if need be."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def exact_decimal(value: Fraction) -> str:
    """Write out a number whose denominator is a power of two."""
    with localcontext() as context:
        context.prec = 2500
        return format(Decimal(value.numerator) / Decimal(value.denominator), "f")


def on_grid(count: int, grid: int) -> str:
    """Write a number of units of the last decimal as a decimal."""
    digits = str(abs(count)).rjust(grid + 1, "0")
    sign = "-" if count < 0 else ""
    return f"{sign}{digits[:-grid]}.{digits[-grid:]}" if grid else f"{sign}{digits}"


def inner_real(lower: float, upper: float) -> tuple[float, float]:
    """Move bounds inwards to float32, which no float32 cell can tell from the original."""
    with np.errstate(over="ignore"):
        low, high = np.float32(lower), np.float32(upper)
    # As Python floats: numpy would compare the other number as a float32, too.
    if float(low) < lower:
        low = np.nextafter(low, np.float32(np.inf))
    if float(high) > upper:
        high = np.nextafter(high, np.float32(-np.inf))
    return float(low), float(high)
