"""Rules as data: a frame of rules or of conditions, a dictionary, JSON."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from ..boxes import Boxes
from ..conditions import Condition
from ..summary import Summary
from ._text import figures_of


def to_frame(
    boxes: Boxes,
    summary: Summary | None = None,
    *,
    form: Literal["rules", "conditions"] = "rules",
    backend: Literal["pandas", "polars", "pyarrow"] = "pandas",
) -> Any:
    """Give rules as a data frame.

    Parameters
    ----------
    boxes : Boxes
        The model.
    summary : Summary, optional
        Figures to put beside each rule, from ``summarize(boxes, X, y)``; by default those of the training
        rows, if the boxes carry them.
    form : {"rules", "conditions"}
        One row for each rule and one, last, for the rows in no box, with columns ``rule`` (-1 for the
        last), ``if``, ``then``, ``n_conditions`` and, with figures, ``rows``, ``precision``, ``recall`` and
        ``lift``. Or one row for each condition, with columns ``rule``, ``feature``, ``lower``, ``upper``
        (missing where the side is open), ``categories`` (a list, missing for a number; in it, None is a
        missing value, and all others ask only that there is a value) and ``then``.
    backend : {"pandas", "polars", "pyarrow"}
        Whose data frame.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.rules import to_frame
    >>> boxes = Boxes.from_rules([({"age": (65, None), "bmi": (None, 25.5)}, "high")], default="low")
    >>> print(to_frame(boxes).to_string(index=False))
     rule                        if then  n_conditions
        0 age >= 65 and bmi <= 25.5 high             2
       -1           in no box above  low             0
    """
    import narwhals.stable.v2 as nw

    if form not in ("rules", "conditions"):
        raise ValueError(f"form must be 'rules' or 'conditions', got {form!r}")
    columns = _conditions(boxes, nw) if form == "conditions" else _rules(boxes, summary, nw)
    data = {name: values for name, (values, _) in columns.items()}
    # pandas finds the types itself, and has some only that hold a missing number or a list.
    schema = None if backend == "pandas" else {name: dtype for name, (_, dtype) in columns.items()}
    return nw.from_dict(data, schema, backend=backend).to_native()


def _rules(boxes: Boxes, summary: Summary | None, nw: Any) -> dict[str, tuple[list[Any], Any]]:
    figures = figures_of(boxes, summary)
    asked = [boxes.conditions(box) for box in range(boxes.n_boxes)]
    texts = [" and ".join(map(str, conditions)) or "always" for conditions in asked]
    columns = {
        "rule": ([*range(boxes.n_boxes), -1], nw.Int64),
        "if": ([*texts, "in no box above"], nw.String),
        "then": (boxes.answers.tolist(), _label_type(boxes, nw)),
        "n_conditions": ([*(sum(one.n_conditions for one in box) for box in asked), 0], nw.Int64),
    }
    if figures is not None:
        for name, values in (
            ("rows", figures.support),
            ("precision", figures.precision),
            ("recall", figures.recall),
            ("lift", figures.lift),
        ):
            columns[name] = (values.tolist(), nw.Float64)
    return columns


def _conditions(boxes: Boxes, nw: Any) -> dict[str, tuple[list[Any], Any]]:
    found = [(box, one) for box in range(boxes.n_boxes) for one in boxes.conditions(box)]
    labels = boxes.labels.tolist()
    # One column holds the sets of all features, which may be of text and of numbers.
    sets = [
        ([None] if one.takes_missing else None)
        if one.categories is None
        else [
            None if value is None else str(value) for value in boxes.categories[one.name] if one.admits(value)
        ]
        for _, one in found
    ]
    return {
        "rule": ([box for box, _ in found], nw.Int64),
        "feature": ([one.name for _, one in found], nw.String),
        "lower": ([_closed(one.lower) for _, one in found], nw.Float64),
        "upper": ([_closed(one.upper) for _, one in found], nw.Float64),
        "categories": (sets, nw.List(nw.String)),
        "then": ([labels[box] for box, _ in found], _label_type(boxes, nw)),
    }


def _closed(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def _label_type(boxes: Boxes, nw: Any) -> Any:
    return {"b": nw.Boolean, "i": nw.Int64, "f": nw.Float64, "U": nw.String}[boxes.labels.dtype.kind]


def to_dict(boxes: Boxes, summary: Summary | None = None) -> dict[str, Any]:
    """Give rules as plain values: lists, dictionaries, text, numbers, booleans and None.

    ``rules`` holds, in order, what each asks under ``if`` (for every restricted feature its ``lower`` and
    ``upper``, None where the side is open, or the admitted categories under ``in``, None for a missing one,
    or None alone under ``not in``, if all that is asked is that there is a value), its class under
    ``then`` and, if there are figures, ``rows``, ``precision`` and ``recall``. ``else`` says the same of the
    rows in no box; with ``uncovered="nearest"`` it has the unit of each feature under ``nearest``.
    """
    figures = figures_of(boxes, summary)

    def judged(place: int) -> dict[str, float | None]:
        if figures is None:
            return {}
        values = {"rows": figures.support, "precision": figures.precision, "recall": figures.recall}
        return {name: _closed(float(array[place])) for name, array in values.items()}

    labels = boxes.labels.tolist()
    rules = [
        {"if": [_asked(one) for one in boxes.conditions(box)], "then": labels[box], **judged(box)}
        for box in range(boxes.n_boxes)
    ]
    otherwise: dict[str, Any] = {"then": boxes.default, **judged(-1)}
    if boxes.scale is not None:
        otherwise["nearest"] = dict(zip(boxes.feature_names, boxes.scale.tolist(), strict=True))
    return {
        "features": list(boxes.feature_names),
        "categories": {name: list(known) for name, known in boxes.categories.items()},
        "classes": boxes.classes.tolist(),
        "rules": rules,
        "else": otherwise,
    }


def _asked(condition: Condition) -> dict[str, Any]:
    if condition.must_miss:
        return {"feature": condition.name, "in": [None]}
    if condition.categories is not None:
        if condition.takes_any_value:
            return {"feature": condition.name, "not in": [None]}
        return {"feature": condition.name, "in": list(condition.categories)}
    return {
        "feature": condition.name,
        "lower": _closed(condition.lower),
        "upper": _closed(condition.upper),
    }


def to_json(boxes: Boxes, summary: Summary | None = None, *, indent: int | None = 2) -> str:
    """Write rules as strict JSON; see ``to_dict``.

    This is for other programs to read. To keep a model, use ``write_model``.
    """
    return json.dumps(to_dict(boxes, summary), indent=indent, allow_nan=False)
