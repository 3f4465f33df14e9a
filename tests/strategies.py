"""Boxes and tables for property tests: edge numbers, hostile names, cells on and beside every bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hyperboxes import Boxes

EDGE_NUMBERS = [
    0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-300, 1e300, 1e308, -1e308, 1.7976931348623157e308,
    -1.7976931348623157e308, 3.4028234663852886e38, 0.1, 0.30000000000000004, 0.9999999999999999, 1.0, -1.0,
    9007199254740993.0, 16777217.0, 1e22, 1e23,
]  # fmt: skip
HOSTILE_TEXTS = [
    "age", "sepal length (cm)", 'say "x"', "it's", "a'; DROP TABLE t; --", "*/ 1 /*", "back\\slash", "%s",
    "{{7*7}}", "two\nlines", "\u202ereversed", "\x1b[31mred", "a.b", " padded ", "x <= 3", "a and b", "3",
    "1e5", "nan", "None", "<b>bold</b>", "<script>alert(1)</script>", "&amp;", "日本", "\u200bzero", "a,b",
    "{a}", "in", "else", "age is known", "", "x" * 200,
]  # fmt: skip

numbers = (
    st.sampled_from(EDGE_NUMBERS)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.integers(-5, 5).map(float)
)
# Arrays of text drop a zero character at the end, so no label has one.
texts = st.sampled_from(HOSTILE_TEXTS) | st.text(max_size=8).map(lambda text: text.rstrip("\0"))
category_lists = (
    st.lists(texts, min_size=1, max_size=4, unique=True)
    | st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True)
    | st.lists(st.sampled_from([0.5, 1.0, -2.25]), min_size=1, max_size=3, unique=True)
    | st.just([False, True])
)


def label_lists(size: int) -> st.SearchStrategy[list[Any]]:
    """Draw labels of one type."""
    kinds = (texts, st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), st.booleans(), numbers)
    return st.one_of(*(st.lists(kind, min_size=size, max_size=size) for kind in kinds))


@st.composite
def boxes(
    draw: st.DrawFn,
    *,
    uncovered: tuple[str, ...] = ("default", "nearest"),
    counts: bool | None = None,
    max_boxes: int = 4,
    max_features: int = 3,
) -> Boxes:
    """Draw boxes over numeric and categorical features; ``counts`` None leaves that open as well."""
    names = draw(st.lists(texts, max_size=max_features, unique=True))
    n_boxes = draw(st.integers(0, max_boxes))
    shape = (n_boxes, len(names))
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    categories, allowed = {}, {}
    for column, name in enumerate(names):
        if draw(st.integers(0, 2)) == 0:
            known = draw(category_lists) + [None] * draw(st.integers(0, 1))
            categories[name] = tuple(known)
            sets = st.sets(st.integers(0, len(known) - 1), min_size=1)
            allowed[name] = np.zeros((n_boxes, len(known)), bool)
            for box in range(n_boxes):
                allowed[name][box, list(draw(sets))] = True
            continue
        # Few numbers for many bounds, so that boxes touch, contain and equal one another.
        some = draw(st.lists(numbers, min_size=1, max_size=4))
        for box in range(n_boxes):
            sides = sorted((draw(st.sampled_from(some)), draw(st.sampled_from(some))))
            lower[box, column] = sides[0] if draw(st.booleans()) else -np.inf
            upper[box, column] = sides[1] if draw(st.booleans()) else np.inf
            if draw(st.integers(0, 9)) == 9:
                lower[box, column] = upper[box, column] = np.nan
    *labels, default = draw(label_lists(n_boxes + 1))
    if draw(st.integers(0, 3)) == 0:
        default = None
    kind = draw(st.sampled_from(uncovered))
    scale = None
    if kind == "nearest":
        exponents = st.sampled_from([-1023, 1023]) | st.integers(-6, 6)
        drawn = draw(st.lists(exponents, min_size=len(names), max_size=len(names)))
        scale = np.ldexp(1.0, np.array(drawn, int))
    made = Boxes(
        lower, upper, labels, names, default,
        categories=categories, allowed=allowed, uncovered=kind, scale=scale,
    )  # fmt: skip
    if counts is False or (counts is None and draw(st.booleans())):
        return made
    weights = st.sampled_from([0.0, 1.0, 2.0, 0.5, 1e-300, 1e200]) | st.floats(0, 1e6)
    size = (n_boxes + 1) * len(made.classes)
    drawn = draw(st.lists(weights, min_size=size, max_size=size))
    return _with_counts(made, np.reshape(drawn, (n_boxes + 1, len(made.classes))))


def _with_counts(made: Boxes, counts: NDArray[np.float64]) -> Boxes:
    from dataclasses import replace

    return replace(made, counts=counts)


@st.composite
def tables_for(draw: st.DrawFn, made: Boxes, *, max_rows: int = 6) -> NDArray[Any]:
    """Draw a numeric table for boxes: float64, float32 or integers, categories as positions."""
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.float16]))
    n_rows = draw(st.integers(0, max_rows))
    table = np.empty((n_rows, made.n_features), dtype)
    for column, name in enumerate(made.feature_names):
        if name in made.categories:
            cells = st.sampled_from(
                [*range(-1, len(made.categories[name]) + 1), 0.5, -0.5, math.nan, math.inf]
            )
        else:
            cells = numbers | st.sampled_from([math.nan, math.inf, -math.inf])
            bounds = np.unique([made.lower[:, column], made.upper[:, column]])
            beside = [near for bound in bounds for near in _neighbours(bound)]
            cells = cells | st.sampled_from(beside) if beside else cells
        for row in range(n_rows):
            table[row, column] = _as_cell(draw(cells), dtype)
    return table


def _neighbours(bound: float) -> list[float]:
    found = []
    with np.errstate(all="ignore"):
        for kind in (np.float64, np.float32):
            near = kind(bound)
            found += [float(near), *(float(np.nextafter(near, kind(side))) for side in (-np.inf, np.inf))]
    return found


def _as_cell(value: float, dtype: type) -> Any:
    if np.issubdtype(dtype, np.floating):
        with np.errstate(all="ignore"):
            return dtype(value)
    limits = np.iinfo(dtype)
    if math.isnan(value):
        return 0
    # Integers beyond 2**53 are warned of, which is another law.
    largest = min(limits.max, 2**53)
    return int(max(max(limits.min, -largest), min(largest, value)))


@st.composite
def boxes_and_table(draw: st.DrawFn, **options: Any) -> tuple[Boxes, NDArray[Any]]:
    """Draw boxes and a table for them."""
    made = draw(boxes(**options))
    return made, draw(tables_for(made))
