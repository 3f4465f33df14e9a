"""Typed columns for boxes as a database holds them, and texts that a reader could fall for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies import HOSTILE_TEXTS, numbers

from hyperboxes import Boxes
from hyperboxes.sql.dialects import Dialect

TEXTS = [
    *(text for text in HOSTILE_TEXTS if text), 'a"; DROP TABLE canary; --', "a'; DROP TABLE canary; --",
    "`tick`", "$$", ":x", "tab\there", "\x9b31mred", "a  b", "a AND b", "THEN b", "1.5", "True", "no answer",
    "always", "nearest box", "inf", "NULL", "a|b", "naïve", "a`; DROP TABLE canary; --", "/* open", "-- rest",
    "\\'; DROP TABLE canary; --", "$1", "?", "a]b", "[a", "x'41'", "E'\\x41'", "U&\"d\\0061\"", "the canary",
    "\r\nGO\r\n",
]  # fmt: skip
Columns = dict[str, tuple[str, list[Any]]]


@st.composite
def columns_for(
    draw: st.DrawFn, boxes: Boxes, rows: int = 12, kinds: Sequence[str] = ("double", "real", "bigint")
) -> Columns:
    """Draw a type and cells for each column: bounds, their neighbours, missing and infinite values."""
    columns = {}
    for column, name in enumerate(boxes.feature_names):
        if name in boxes.categories:
            known = boxes.categories[name]
            kind = {bool: "bool", str: "text", int: "bigint", float: "double"}[type(known[0])]
            unknown = {"bool": [], "text": ["", "another"], "bigint": [99, 2**53], "double": [0.75]}[kind]
            cells: st.SearchStrategy[Any] = st.sampled_from([*known, *unknown, None])
            if kind == "text":
                cells = cells.map(lambda text: text and text.swapcase()) | cells
            if kind == "double":
                cells |= st.just(math.nan)
        else:
            kind = draw(st.sampled_from(kinds))
            ends = np.concatenate([boxes.lower[:, column], boxes.upper[:, column]]).tolist()
            cells = _number_cells(kind, ends)
        columns[name] = kind, draw(st.lists(cells, min_size=rows, max_size=rows))
    return columns


#: Bits of the integers, and digits before and behind the point of the decimals that are drawn.
_BITS = {"smallint": 16, "bigint": 64, "hugeint": 128}
_DIGITS = {"decimal": (14, 4), "wide": (8, 30)}


def _number_cells(kind: str, ends: list[float]) -> st.SearchStrategy[Any]:
    near = [*ends, math.nan, math.inf, -math.inf]
    near += [math.nextafter(end, to) for end in ends for to in (-math.inf, math.inf)]
    finite = [value for value in near if math.isfinite(value)]
    if kind == "bool":
        return st.sampled_from([False, True, None])
    if kind in _BITS:
        least = -(2 ** (_BITS[kind] - 1))
        beside = [
            value + step for value in (*map(int, finite), 0, 2**53, 2**62, 2**64) for step in (-1, 0, 1)
        ]
        fitting = [value for value in beside if least <= value < -least]
        return st.sampled_from([*fitting, None]) | st.integers(least, -least - 1)
    if kind in _DIGITS:
        whole, behind = _DIGITS[kind]
        unit = Decimal(1).scaleb(-behind)
        with localcontext(prec=100):
            rounded = [
                (Decimal(value).quantize(unit) + step * unit)
                for value in finite if abs(value) < 10.0 ** (whole - 1) for step in (-1, 0, 1)
            ]  # fmt: skip
            counts = st.integers(-(10 ** (whole + behind - 1)), 10 ** (whole + behind - 1))
        return st.sampled_from([*rounded, None]) | counts.map(lambda count: Decimal(count).scaleb(-behind))
    if kind == "numeric":
        return st.sampled_from(_any_decimals(finite))
    cells = st.sampled_from([*near, None]) | numbers
    return cells.map(_to_float32) if kind == "real" else cells


def _any_decimals(near: list[float]) -> list[Decimal | None]:
    """List decimals beside the midpoints of doubles, where their rounding turns."""
    # To become a double, a decimal of PostgreSQL must not be beyond all of them.
    some = [value for value in near if value == 0 or 1e-290 < abs(value) < 1e290]
    with localcontext(prec=2500):
        exact = [Decimal(value) for value in some]
        middles = [(Decimal(value) + Decimal(math.nextafter(value, math.inf))) / 2 for value in some if value]
        beside = [middle * (1 + step * Decimal("1e-900")) for middle in middles for step in (-1, 1)]
    return [*exact, *middles, *beside, Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity"), None]


def _to_float32(value: float | None) -> float | None:
    with np.errstate(over="ignore"):
        return None if value is None else float(np.float32(value))


def matrix_of(boxes: Boxes, columns: Columns) -> np.ndarray:
    """Give the cells as ``predict`` takes them: float64, positions for categories, NaN for missing ones."""
    read = []
    for name, (_, cells) in columns.items():
        if name in boxes.categories:
            known = list(boxes.categories[name])
            cells = [None if _missing(cell) else known.index(cell) if cell in known else -1 for cell in cells]
        read.append([math.nan if cell is None else float(cell) for cell in cells])
    return np.array(read, dtype=np.float64).T


def _missing(cell: Any) -> bool:
    return cell is None or cell != cell


def sendable(made: Boxes, *dialects: Dialect) -> bool:
    """Tell whether each of the databases can hold the names and texts of these boxes at all."""
    names = [*made.feature_names, "prediction", "number of row", "the key"]
    texts = [
        value
        for value in (*made.classes.tolist(), *sum(made.categories.values(), ()))
        if isinstance(value, str)
    ]
    longest = max(len(name.encode("utf-8", "replace")) for name in names)
    return (
        made.n_features > 0
        and all(names)
        and all(len({dialect.fold(name) for name in names}) == len(names) for dialect in dialects)
        and all(longest <= (dialect.max_name_bytes or 10**6) for dialect in dialects)
        and not any("\0" in text or re.search("[\ud800-\udfff]", text) for text in (*names, *texts))
    )
