"""Rules as a query of pandas: the rows of one class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from types import EllipsisType
from typing import Any

from ..boxes import Boxes, Label
from ..conditions import Condition
from ..summary import asked_answer, format_label

#: Deeper brackets than Python's parser is sure to take.
MAX_DEPTH = 60


def to_pandas_query(boxes: Boxes, label: Label | EllipsisType | None = ...) -> str:
    """Write the rows that get a class as a query for ``DataFrame.query``.

    The query selects the rows that ``boxes.predict`` gives the class, no others, whatever the number types:
    columns are compared as doubles, and a missing value meets no condition. Names are quoted; one that
    pandas cannot quote is refused.

    Parameters
    ----------
    boxes : Boxes
        The model, with ``uncovered="default"``.
    label : label or None, optional
        The class; None for the rows without an answer. By default the class of the boxes, if all have the
        same.

    Examples
    --------
    >>> import pandas as pd
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.rules import to_pandas_query
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> to_pandas_query(boxes)
    "`age`.astype('float64') >= 65.0"
    >>> pd.DataFrame({"age": [70, 40]}).query(to_pandas_query(boxes)).index.tolist()
    [0]
    """
    if boxes.uncovered == "nearest":
        raise ValueError(
            "a pandas query cannot tell the nearest box: fit with uncovered='default', or use to_polars, "
            "to_narwhals or predict"
        )
    wanted = asked_answer(boxes, label)
    if not boxes.n_features:
        raise ValueError("a pandas query needs a column, and these boxes speak of none: use predict")
    _check_names(boxes.feature_names)
    runs = [
        (hit, [_box(boxes.conditions(box)) for box, _ in run])
        for hit, run in groupby(enumerate(boxes.labels.tolist()), lambda item: item[1] == wanted)
    ]
    if len(runs) > MAX_DEPTH:
        raise ValueError(
            f"the boxes of {format_label(wanted)} alternate {len(runs)} times with others, more than a query "
            "can nest: use to_polars, to_narwhals or predict"
        )
    # From the last box to the first; True and False stand for all rows and none until the end.
    query: str | bool = boxes.default == wanted
    for hit, run in reversed(runs):
        query = _either(run, query) if hit else _neither(run, query)
    if isinstance(query, bool):
        column = _column(boxes.feature_names[0])
        return f"{column}.isna() {'or' if query else 'and'} not {column}.isna()"
    return query


def _either(run: Sequence[str | bool], rest: str | bool) -> str | bool:
    if True in run or rest is True:
        return True
    parts = [f"({box})" for box in run]
    return (
        " or ".join(parts if rest is False else [*parts, f"({rest})"]) if parts[1:] or rest else str(run[0])
    )


def _neither(run: Sequence[str | bool], rest: str | bool) -> str | bool:
    if True in run or rest is False:
        return False
    parts = [f"not ({box})" for box in run]
    return " and ".join(parts if rest is True else [*parts, f"({rest})"])


def _box(conditions: list[Condition]) -> str | bool:
    return " and ".join(_condition(one) for one in conditions) or True


def _condition(one: Condition) -> str:
    column = _column(one.name)
    missing = f"{column}.isna()"
    if one.must_miss:
        return missing
    if one.categories is not None:
        if one.takes_any_value:
            return f"not {missing}"
        among = f"{column} in [{', '.join(map(_literal, one.values))}]"
        return f"({among} or {missing})" if one.takes_missing else among
    number = f"{column}.astype('float64')"
    sides = [f"{number} >= {one.lower!r}"] if one.lower != -float("inf") else []
    sides += [f"{number} <= {one.upper!r}"] if one.upper != float("inf") else []
    return " and ".join(sides)


def _column(name: str) -> str:
    return f"`{name}`"


def _literal(value: object) -> str:
    """Write a category so that no sign in it can be taken for part of the query."""
    return ascii(value).replace("`", "\\x60").replace("#", "\\x23").replace("@", "\\x40")


def _check_names(names: Sequence[str]) -> None:
    """Ask pandas whether it finds each column by its quoted name."""
    import pandas as pd

    frame = pd.DataFrame({name: [place] for place, name in enumerate(names)})
    for place, name in enumerate(names):
        found: Any = None
        if "`" not in name:
            try:
                found = frame.query(f"{_column(name)}.astype('float64') == {place}.0")
            except Exception:
                found = None
        if found is None or len(found) != 1:
            raise ValueError(f"pandas cannot quote the column name {name!r} in a query: rename the column")
