"""The nearest box as an expression: the smallest largest violation, the first of equals.

Scales are powers of two, so that differences of doubles, divided by them, are the same in every engine.
Where a violation overflows or becomes zero, the bound where that begins is part of the text: some
databases raise an error there.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..boxes import Boxes
from ..conditions import Condition
from .predicates import Columns

#: SQLite takes no more arguments to a function; others need no limit.
MOST_ARGUMENTS = 100


class Reach(NamedTuple):
    """Where the violation of one side is neither zero nor infinite: ``nearer < distance < farther``."""

    nearer: float
    farther: float


def nearest_answer(boxes: Boxes, columns: Columns, answers: Sequence[str]) -> str:
    """Write the answer for a row that no box contains."""
    *decided, default = answers
    if not decided or not boxes.restricted.any(axis=1).all():
        return default  # with a box that contains every row, nothing is left to decide
    dialect = columns.dialect
    distances = [distance(boxes, columns, box) for box in range(boxes.n_boxes)]
    # Infinity comes first: where no box is within reach it is the smallest, and the default answers.
    choices = [(dialect.number(math.inf), default), *zip(distances, decided, strict=True)]
    if dialect.choose is None:
        whens = "\n".join(f"    WHEN {far} THEN {answer}" for far, answer in choices)
        return f"CASE {call(dialect.least, distances)}\n{whens}\n  END"
    return dialect.choose.format(
        answers=", ".join(answer for _, answer in choices),
        ranked=",\n    ".join(dialect.pair.format(far, place) for place, (far, _) in enumerate(choices, 1)),
    )


def distance(boxes: Boxes, columns: Columns, box: int) -> str:
    """Write the largest violation of a box, in units of the scales; infinite if a value is missing."""
    assert boxes.scale is not None  # noqa: S101 - uncovered="nearest" has one
    asked = boxes.conditions(box)
    scales = [float(boxes.scale[condition.feature]) for condition in asked]
    found = [_violation(columns, condition, scale) for condition, scale in zip(asked, scales, strict=True)]
    return call(columns.dialect.greatest, found)


def call(function: str, arguments: Sequence[str]) -> str:
    """Call a function of many arguments; of one alone, some databases make an aggregate."""
    while len(arguments) > MOST_ARGUMENTS:
        arguments = [
            call(function, arguments[start : start + MOST_ARGUMENTS])
            for start in range(0, len(arguments), MOST_ARGUMENTS)
        ]
    return arguments[0] if len(arguments) == 1 else f"{function}({', '.join(arguments)})"


def _violation(columns: Columns, condition: Condition, scale: float) -> str:
    number = columns.dialect.number
    zero, infinite = number(0.0), number(math.inf)
    if condition.categories is not None:
        fits, present = columns.box([condition]), columns.is_present(condition)
        return f"CASE WHEN {fits} THEN {zero} WHEN {present} THEN {number(1.0)} ELSE {infinite} END"
    if condition.must_miss:
        return f"CASE WHEN {columns.box([condition])} THEN {zero} ELSE {infinite} END"
    lower, upper = condition.lower, condition.upper
    cell = columns.comparable(condition.name, lower, upper)
    unit = "" if scale == 1 else f" * {number(1 / scale)}"
    below, above = reach(-lower, scale), reach(upper, scale)
    cases = []
    if columns.unsafe(condition):
        cases.append(f"{cell} IS NOT DISTINCT FROM {number(math.nan)} THEN {infinite}")
    if lower > -math.inf:
        if below.farther < math.inf:
            cases.append(f"{cell} <= {number(-below.farther)} THEN {infinite}")
        cases.append(f"{cell} < {number(-below.nearer)} THEN ({number(lower)} - {cell}){unit}")
    if upper < math.inf:
        cases.append(f"{cell} <= {number(above.nearer)} THEN {zero}")
        cases.append(f"{cell} < {number(above.farther)} THEN ({cell} - {number(upper)}){unit}")
    else:
        cases.append(f"{cell} <= {infinite} THEN {zero}")
    return f"CASE {' '.join(f'WHEN {case}' for case in cases)} ELSE {infinite} END"


def reach(bound: float, scale: float) -> Reach:
    """Find where the violation of an upper bound is positive and finite.

    It is zero up to ``nearer``, infinite from ``farther`` on, and grows in between: rounding keeps order.
    """
    if bound == math.inf:
        return Reach(bound, bound)
    inverse = 1 / scale

    def violation(value: float) -> float:
        return (value - bound) * inverse

    nearer, farther = bound, math.inf
    if violation(math.nextafter(bound, math.inf)) == 0:
        nearer = _first(lambda value: violation(value) > 0, bound, last_before=True)
    if violation(sys.float_info.max) == math.inf:
        farther = _first(lambda value: violation(value) == math.inf, bound)
    return Reach(nearer, farther)


def _first(holds: Callable[[float], bool], start: float, *, last_before: bool = False) -> float:
    """Find the first double from ``start`` on where something holds that holds at infinity."""
    low, high = _rank(start), _rank(math.inf)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(_of_rank(middle)) else (middle, high)
    return _of_rank(low if last_before else high)


def _rank(value: float) -> int:
    """Give the place of a double in the order of all of them."""
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _of_rank(rank: int) -> float:
    bits = rank if rank >= 0 else -rank - 2**63
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value
