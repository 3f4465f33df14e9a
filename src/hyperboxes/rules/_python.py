"""Rules as Python source: one function that needs nothing but Python."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from ..boxes import Boxes
from ..conditions import Condition

#: Names that the written function uses itself.
_TAKEN = frozenset(["row", "number", "missing", "beyond", "other", "best", "answer", "distance", "label"])

#: Characters of a column name beyond which a variable has a shorter one.
LONGEST_NAME = 40

_HELPERS = """
    def missing(value):
        return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
"""
_NUMBER = '''
    def number(value):
        """Read a value as a double; a missing one as NaN, which meets no condition."""
        if missing(value):
            return float("nan")
        if isinstance(value, (str, bytes)):
            raise TypeError(f"a number is needed, not {value!r}")
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
'''
_BEYOND = '''
    def beyond(value, low, high, unit):
        """Tell by how many units a value lies outside an interval."""
        if value != value:
            return float("inf")
        return (low - value) / unit if value < low else (value - high) / unit if value > high else 0.0
'''
_OTHER = '''
    def other(value, inside):
        """Count a category outside the set as one unit."""
        return 0.0 if inside else float("inf") if missing(value) else 1.0
'''


def to_python(boxes: Boxes, *, name: str = "predict") -> str:
    """Write boxes as the source of a Python function that gives the answer of ``boxes.predict``.

    The function takes one row, a mapping of column names to values (a dictionary, a pandas row), needs no
    package, and answers as ``predict`` does on a data frame: a missing value (None, NaN, NA) meets no
    condition, numbers are compared as doubles, categories by equality, and rows in no box get the default or
    the class of the nearest box. It looks at the columns that the rules mention, and at no others.

    Parameters
    ----------
    boxes : Boxes
        The model.
    name : str
        Name of the function.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.rules import to_python
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> space = {}
    >>> exec(to_python(boxes), space)
    >>> space["predict"]({"age": 70}), space["predict"]({"age": None})
    ('high', 'low')
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name must be a Python identifier, got {name!r}")
    asked = [boxes.conditions(box) for box in range(boxes.n_boxes)]
    used = {one.feature: one for conditions in asked for one in conditions}
    variables = _variables([used[feature] for feature in sorted(used)])
    answers = [ascii(label) for label in boxes.answers.tolist()]
    nearest = boxes.uncovered == "nearest" and boxes.n_boxes > 0
    lines = [
        f"def {name}(row):",
        '    """Give the class of a row, a mapping of column names to values: the first rule to hold."""',
    ]
    numeric = any(one.categories is None for one in used.values())
    categorical = any(one.categories is not None for one in used.values())
    asks_missing = any(one.asks_missing for conditions in asked for one in conditions)
    lines += _helpers(numeric, nearest, categorical, asks_missing)
    for feature, variable in variables.items():
        cell = f"row[{used[feature].name!a}]"
        read = cell if used[feature].categories is not None else f"number({cell})"
        lines.append(f"    {variable} = {read}")
    for conditions, answer in zip(asked, answers, strict=False):
        lines += _rule([_holds(one, variables[one.feature]) for one in conditions], answer)
    if nearest:
        lines += _nearest(boxes, asked, variables, answers)
    lines.append(f"    return {'answer' if nearest else answers[-1]}")
    return "\n".join(lines) + "\n"


def _helpers(numeric: bool, nearest: bool, categorical: bool, asks_missing: bool) -> list[str]:
    parts = [_HELPERS] if numeric or asks_missing or (nearest and categorical) else []
    parts += [_NUMBER] if numeric else []
    parts += [_BEYOND] if numeric and nearest else []
    parts += [_OTHER] if categorical and nearest else []
    return "".join(parts).split("\n") if parts else []


def _variables(used: Iterable[Condition]) -> dict[int, str]:
    """Name a variable after each column where that can be done, else by its position."""
    names: dict[int, str] = {}
    for one in used:
        # ASCII alone: Python holds other spellings of a letter to be the same name.
        word = re.sub(r"[^A-Za-z0-9]+", "_", one.name).strip("_")
        plain = word.isidentifier() and len(word) <= LONGEST_NAME and not keyword.iskeyword(word)
        free = word not in _TAKEN and word not in _BUILTINS and word not in names.values()
        names[one.feature] = word if plain and free else ""
    taken = set(names.values())
    for feature, name in names.items():
        if not name:
            candidate = f"x{feature}"
            while candidate in taken:
                candidate += "_"
            names[feature] = candidate
            taken.add(candidate)
    return names


_BUILTINS = frozenset(["float", "isinstance", "str", "bytes", "type", "TypeError", "OverflowError", "max"])


def _holds(one: Condition, variable: str) -> str:
    missing = f"missing({variable})"
    if one.must_miss:
        return missing
    if one.categories is not None:
        if one.takes_any_value:
            return f"not {missing}"
        among = f"{variable} in {_set(one)}"
        return f"({missing} or {among})" if one.takes_missing else among
    if one.lower == -float("inf"):
        return f"{variable} <= {one.upper!r}"
    if one.upper == float("inf"):
        return f"{variable} >= {one.lower!r}"
    return f"{one.lower!r} <= {variable} <= {one.upper!r}"


def _set(one: Condition) -> str:
    return "{" + ", ".join(map(ascii, one.values)) + "}"


def _rule(asked: list[str], answer: str) -> list[str]:
    if not asked:
        return ["    if True:", f"        return {answer}"]
    if len(asked) == 1:
        return [f"    if {asked[0]}:", f"        return {answer}"]
    first, *others = asked
    return [
        f"    if ({first}",
        *(f"            and {other}" for other in others[:-1]),
        f"            and {others[-1]}):",
        f"        return {answer}",
    ]


def _nearest(
    boxes: Boxes, asked: list[list[Condition]], variables: dict[int, str], answers: list[str]
) -> list[str]:
    """Write the search for the box with the smallest largest violation."""
    assert boxes.scale is not None  # noqa: S101 - uncovered="nearest" has one
    lines = ["    # In no box: the nearest one decides, by its largest violation in units of each feature."]
    lines += [f'    best, answer = float("inf"), {answers[-1]}', "    for distance, label in ("]
    for conditions, answer in zip(asked, answers, strict=False):
        if not conditions:
            continue  # it contains every row, so this point is never reached
        far = []
        for one in conditions:
            variable = variables[one.feature]
            if one.categories is not None:
                far.append(f"other({variable}, {_holds(one, variable)})")
                continue
            if one.must_miss:
                far.append(f'0.0 if {_holds(one, variable)} else float("inf")')
                continue
            low, high = (_bound(bound) for bound in (one.lower, one.upper))
            far.append(f"beyond({variable}, {low}, {high}, {float(boxes.scale[one.feature])!r})")
        largest = far[0] if len(far) == 1 else f"max({', '.join(far)})"
        lines.append(f"        ({largest}, {answer}),")
    return [
        *lines,
        "    ):",
        "        if distance < best:",
        "            best, answer = distance, label",
    ]


def _bound(value: float) -> str:
    return repr(value) if abs(value) != float("inf") else f'float("{value}")'
