"""Typed columns for boxes as a database holds them, and texts that a reader could fall for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies import HOSTILE_TEXTS, numbers

from hyperboxes import Boxes

TEXTS = [
    *(text for text in HOSTILE_TEXTS if text), 'a"; DROP TABLE canary; --', "a'; DROP TABLE canary; --",
    "`tick`", "$$", ":x", "tab\there", "\x9b31mred", "a  b", "a AND b", "THEN b", "1.5", "True", "no answer",
    "always", "nearest box", "inf", "NULL", "a|b", "naïve",
]  # fmt: skip
Columns = dict[str, tuple[str, list[Any]]]


@st.composite
def columns_for(draw: st.DrawFn, boxes: Boxes, rows: int = 12) -> Columns:
    """Draw a type and cells for each column: bounds, their neighbours, missing and infinite values."""
    columns = {}
    for column, name in enumerate(boxes.feature_names):
        if name in boxes.categories:
            known = boxes.categories[name]
            kind = {bool: "bool", str: "text", int: "bigint", float: "double"}[type(known[0])]
            unknown = {"bool": [], "text": ["", "another"], "bigint": [99, 2**53], "double": [0.75]}[kind]
            cells: st.SearchStrategy[Any] = st.sampled_from([*known, *unknown, None])
            columns[name] = kind, draw(st.lists(cells, min_size=rows, max_size=rows))
            continue
        ends = np.concatenate([boxes.lower[:, column], boxes.upper[:, column]]).tolist()
        near = [*ends, math.nan, math.inf, -math.inf]
        near += [math.nextafter(end, to) for end in ends for to in (-math.inf, math.inf)]
        kind = draw(st.sampled_from(["double", "real", "bigint"]))
        if kind == "bigint":
            whole = [int(value) for value in near if abs(value) < 2**62]
            beside = [value + step for value in (*whole, 2**53, 2**62) for step in (-1, 0, 1)]
            cells = st.sampled_from([*beside, None]) | st.integers(-(2**63), 2**63 - 1)
        else:
            cells = st.sampled_from([*near, None]) | numbers
            if kind == "real":
                cells = cells.map(_to_float32)
        columns[name] = kind, draw(st.lists(cells, min_size=rows, max_size=rows))
    return columns


def _to_float32(value: float | None) -> float | None:
    with np.errstate(over="ignore"):
        return None if value is None else float(np.float32(value))


def matrix_of(boxes: Boxes, columns: Columns) -> np.ndarray:
    """Give the cells as ``predict`` takes them: float64, positions for categories, NaN for missing ones."""
    read = []
    for name, (_, cells) in columns.items():
        if name in boxes.categories:
            known = list(boxes.categories[name])
            cells = [None if cell is None else known.index(cell) if cell in known else -1 for cell in cells]
        read.append([math.nan if cell is None else float(cell) for cell in cells])
    return np.array(read, dtype=np.float64).T
