"""Conditions as people read them: text, names, numbers and HTML."""

from __future__ import annotations

import html.parser
import json
import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from strategies import HOSTILE_TEXTS, boxes, numbers

from hyperboxes import Boxes, Condition
from hyperboxes.conditions import LEAST_NUMBER, format_name, format_number

INF = np.inf


@given(boxes())
def test_conditions_say_what_the_boxes_hold(made):
    total = 0
    for box in range(made.n_boxes):
        asked = made.conditions(box)
        assert [condition.feature for condition in asked] == np.flatnonzero(made.restricted[box]).tolist()
        for condition in asked:
            assert condition.name == made.feature_names[condition.feature]
            np.testing.assert_equal(condition.lower, made.lower[box, condition.feature])
            np.testing.assert_equal(condition.upper, made.upper[box, condition.feature])
            if condition.categories is not None:
                flags = [condition.admits(value) for value in made.categories[condition.name]]
                assert flags == made.allowed[condition.name][box].tolist()
                assert condition.takes_missing == (flags[-1] and made.categories[condition.name][-1] is None)
            total += condition.n_conditions
    assert made.n_conditions == total
    assert len(made) == made.n_boxes


NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
NAME = r'(?:"(?:[^"\\]|\\.)*"|[^"<>={},\\]+?)'


def parse_condition(text, categorical):
    """Read a printed condition back: (name, lower, upper, categories)."""

    def name_of(printed):
        return json.loads(printed) if printed.startswith('"') else printed

    def value_of(printed):
        if printed in ("True", "False", "missing"):
            return {"True": True, "False": False, "missing": None}[printed]
        return json.loads(printed)

    if match := re.fullmatch(rf"({NAME}) is known", text, re.DOTALL):
        return name_of(match[1]), *((-INF, INF, ()) if categorical else (LEAST_NUMBER, INF, None))
    if match := re.fullmatch(rf"({NAME}) is missing", text, re.DOTALL):
        return name_of(match[1]), *((-INF, INF, (None,)) if categorical else (math.nan, math.nan, None))
    if match := re.fullmatch(rf"({NUMBER}) <= ({NAME}) <= ({NUMBER})", text, re.DOTALL):
        return name_of(match[2]), float(match[1]), float(match[3]), None
    if match := re.fullmatch(rf"({NAME}) (<=|>=|=) ({NUMBER})", text, re.DOTALL) if not categorical else None:
        value = float(match[3])
        sides = {"<=": (-INF, value), ">=": (value, INF), "=": (value, value)}[match[2]]
        return name_of(match[1]), *sides, None
    if match := re.fullmatch(rf"({NAME}) = (.*)", text, re.DOTALL):
        return name_of(match[1]), -INF, INF, (value_of(match[2]),)
    match = re.fullmatch(rf"({NAME}) in \{{(.*)\}}", text, re.DOTALL)
    items = re.findall(r'"(?:[^"\\]|\\.)*"|[^,\s]+', match[2])
    return name_of(match[1]), -INF, INF, tuple(map(value_of, items))


@given(boxes())
def test_a_printed_condition_reads_back_as_the_same_numbers(made):
    for box in range(made.n_boxes):
        for condition in made.conditions(box):
            name, lower, upper, categories = parse_condition(str(condition), condition.categories is not None)
            assert name == condition.name
            assert (lower, upper, categories) == (condition.lower, condition.upper, condition.categories)


@given(numbers)
@example(1e16)
@example(123456789.0)
def test_a_formatted_number_is_the_shortest_that_reads_back(value):
    text = format_number(value)
    assert float(text) == value
    assert len(text) <= len(repr(value))
    assert not text.endswith(".0")


@pytest.mark.parametrize(
    "name", ["", "3", "1e5", "nan", " a", "a\n", "x <= 3", "a and b", "OR", "a,b", '"', "\u202e"]
)
def test_a_name_that_could_mislead_is_quoted(name):
    assert format_name(name) == json.dumps(name)


@pytest.mark.parametrize("name", ["age", "sepal length (cm)", "naïve", "brand", "% fat", "a.b"])
def test_a_harmless_name_is_printed_as_it_is(name):
    assert format_name(name) == name


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition(0, "a", 1.0, INF), "a >= 1"),
        (Condition(0, "a", -INF, 2.5), "a <= 2.5"),
        (Condition(0, "a", 1.0, 2.5), "1 <= a <= 2.5"),
        (Condition(0, "a", 1.0, 1.0), "a = 1"),
        (Condition(0, "a", -INF, INF, ("x",)), 'a = "x"'),
        (Condition(0, "a", -INF, INF, (1, 2)), "a in {1, 2}"),
        (Condition(0, "a", -INF, INF, ("x", None)), 'a in {"x", missing}'),
        (Condition(0, "a", -INF, INF, (1, 2, None)), "a in {1, 2, missing}"),
        (Condition(0, "a", -INF, INF, (None,)), "a is missing"),
        (Condition(0, "a", -INF, INF, ()), "a is known"),
        (Condition(0, "a", LEAST_NUMBER, INF), "a is known"),
    ],
)
def test_a_condition_reads_like_one(condition, text):
    assert str(condition) == text


class Reader(html.parser.HTMLParser):
    """Collect the tags and the text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text.append(data)


@given(boxes())
def test_html_holds_hostile_text_as_text(made):
    page = made._repr_html_()
    reader = Reader()
    reader.feed(page)
    assert reader.tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    text = "".join(reader.text)
    for box in range(made.n_boxes):
        for condition in made.conditions(box):
            assert str(condition) in text


@pytest.mark.parametrize("hostile", [text for text in HOSTILE_TEXTS if "<" in text])
def test_html_escapes_names_categories_and_labels(hostile):
    made = Boxes.from_rules(
        [({hostile: {hostile}}, hostile)], default=hostile, categories={hostile: [hostile, "b"]}
    )
    assert hostile not in made._repr_html_()


def test_repr_counts_boxes_and_conditions():
    made = Boxes.from_rules([({"a": (1, 2)}, "x"), ({"b": (1, None)}, "x")], default="y")
    assert repr(made) == "Boxes(2 boxes over 2 features, 3 conditions; {'x': 2, 'y': 0}, default 'y')"
