"""Boxes to write into model files, and files with a seal that fits whatever they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import strategies
from hypothesis import strategies as st

from hyperboxes import Boxes, model_document

SMALL = Boxes.from_rules(
    [({"age": (1e-05, 18.5), "city": {"A", "C"}}, "yes"), ({"bmi": (None, 30)}, "no")],
    default="no",
    feature_names=["age", "city", "bmi"],
    categories={"city": ["A", "B", "C", "é\U0001f600"]},
)

RICH = Boxes(
    [[18.5, -np.inf, -np.inf], [-np.inf, -np.inf, 1.0]], [[65.0, np.inf, np.inf], [np.inf, np.inf, 2.0]],
    ["yes", "no"], ("age", "city", "bmi"), "no", categories={"city": ["A", 7, 0.5, True]},
    allowed={"city": np.array([[True, False, True, False], [True] * 4])},
    uncovered="nearest", scale=[1, 2, 0.25],
    counts=[[1, 2], [3, 4], [5, 6]],
)  # fmt: skip


@st.composite
def random_boxes(draw: st.DrawFn) -> Boxes:
    """Draw boxes whose classes are in any order."""
    made = draw(strategies.boxes())
    order = draw(st.permutations(range(len(made.classes))))
    return replace(made, classes=made.classes[np.array(order, int)])


def forge(document: dict[str, Any]) -> dict[str, Any]:
    """Give a document the hash of its content, as an attacker would."""
    try:
        return document | {"sha256": model_document._digest(document)}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return document
