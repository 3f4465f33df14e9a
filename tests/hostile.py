"""Boxes and rows that readers could get wrong: awkward numbers, names and labels, cells on every bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hyperboxes import Boxes

NUMBERS = [
    0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-300, 1e300, 1e308, -1.7976931348623157e308, 0.1,
    0.30000000000000004, 0.9999999999999999, 9007199254740992.0, 9007199254740994.0, 1e22, 1e23, 16777217.0,
]  # fmt: skip
TEXTS = [
    "age", "sepal length (cm)", 'say "x"', "it's", "a'; DROP TABLE canary; --", 'a"; DROP TABLE canary; --',
    "*/ 1 /*", "`tick`", "back\\slash", "$$", ":x", "%s", "{{7*7}}", "two\nlines", "tab\there",
    "\u202ereversed", "\x1b[31mred", "\x9b31mred", "a.b", " padded ", "a  b", "x <= 3", "a AND b", "THEN b",
    "1", "1.5", "True", "None", "no answer", "always", "nearest box", "inf", "NULL", "a|b", "<b>bold</b>",
    "naïve", "日本", "\u200bzero", "x" * 200, "a,b", "{a}", "in",
]  # fmt: skip

numbers = (
    st.sampled_from(NUMBERS)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.integers(-50, 50).map(float)
)
texts = st.sampled_from(TEXTS) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
)
labels_of_one_kind = st.one_of(
    st.lists(texts, min_size=1, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=4),
    st.lists(st.sampled_from([0.1, -2.5, 1e300, 1.0]), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=1, max_size=4),
)
category_lists = st.one_of(
    st.lists(texts, min_size=2, max_size=5, unique=True),
    st.lists(st.integers(-5, 5), min_size=2, max_size=5, unique=True),
    st.just([False, True]),
)


@st.composite
def hostile_boxes(draw: st.DrawFn) -> Boxes:
    """Draw up to four boxes over up to four features, some of them categorical."""
    names = draw(st.lists(texts, min_size=1, max_size=4, unique_by=str.casefold))
    categories = {name: draw(category_lists) for name in names if draw(st.integers(0, 3)) == 0}
    answers = draw(labels_of_one_kind)
    default = draw(st.sampled_from([*answers, None]))
    rules = []
    for label in answers[: draw(st.integers(0, len(answers)))]:
        conditions: dict[str, Any] = {}
        for name in names:
            if name in categories:
                admitted = draw(st.sets(st.sampled_from(categories[name])))
                if admitted:
                    conditions[name] = admitted
            elif draw(st.booleans()):
                ends = sorted([draw(numbers), draw(numbers)])
                conditions[name] = tuple(None if draw(st.integers(0, 2)) == 0 else end for end in ends)
        rules.append((conditions, label))
    return Boxes.from_rules(rules, default=default, feature_names=names, categories=categories)


@st.composite
def hostile_columns(draw: st.DrawFn, boxes: Boxes, rows: int = 12) -> dict[str, tuple[str, list[Any]]]:
    """Draw a type and cells for each column: bounds, their neighbours, missing and infinite values."""
    columns = {}
    for column, name in enumerate(boxes.feature_names):
        if name in boxes.categories:
            known = boxes.categories[name]
            kind = "bool" if known[0] is False else "text" if isinstance(known[0], str) else "bigint"
            unknown = {"bool": [], "text": ["", "another"], "bigint": [99, 2**53]}[kind]
            cells: st.SearchStrategy[Any] = st.sampled_from([*known, *unknown, None])
            columns[name] = kind, draw(st.lists(cells, min_size=rows, max_size=rows))
            continue
        ends = np.concatenate([boxes.lower[:, column], boxes.upper[:, column]])
        near = [*ends.tolist(), math.nan, math.inf, -math.inf]
        near += [math.nextafter(end, to) for end in ends.tolist() for to in (-math.inf, math.inf)]
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


def matrix_of(boxes: Boxes, columns: dict[str, tuple[str, list[Any]]]) -> np.ndarray:
    """Give the cells as ``predict`` takes them: float64, positions for categories, NaN for missing ones."""
    read = []
    for name, (_, cells) in columns.items():
        if name in boxes.categories:
            known = list(boxes.categories[name])
            cells = [None if cell is None else known.index(cell) if cell in known else -1 for cell in cells]
        read.append([math.nan if cell is None else float(cell) for cell in cells])
    return np.array(read, dtype=np.float64).T
