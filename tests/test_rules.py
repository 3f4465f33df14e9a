from __future__ import annotations

import ast
import dataclasses
import json
import math
import re
import sys

import numpy as np
import pytest
from hostile import TEXTS, columns_for, matrix_of
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import boxes

from hyperboxes import Boxes
from hyperboxes.rules import to_markdown, to_text
from hyperboxes.summary import summarize, training_summary

NUMBER = r"[-+]?[\d.]+(?:e[-+]?\d+)?"
KNOWN = (-sys.float_info.max, math.inf)
NAME = r'"(?:[^"\\]|\\.)*"|[^"<>={},\\]+?'


def read_word(text):
    """Undo quoting; a bare word stays text."""
    return json.loads(text) if text.startswith('"') else text


def read_label(text):
    """Read a label at the start of what follows THEN or ELSE; two blanks end it."""
    if text.startswith('"'):
        return json.JSONDecoder().raw_decode(text)[0]
    text = text.split("  ")[0]
    if text == "no answer":
        return None
    try:
        return ast.literal_eval(text) if re.fullmatch(rf"{NUMBER}|True|False", text) else text
    except SyntaxError:
        return text


def read_condition(text):
    """Give a feature name and either a pair of bounds or a set of categories."""
    if between := re.fullmatch(rf"({NUMBER}) <= ({NAME}) <= ({NUMBER})", text):
        return read_word(between[2]), (float(between[1]), float(between[3]))
    name, sign, rest = re.fullmatch(rf"({NAME}) (<=|>=|=|in|is) (.*)", text).groups()
    name = read_word(name)
    if sign == "is":
        assert rest in ("known", "missing")
        return name, {None} if rest == "missing" else KNOWN
    if sign == "in":
        items = re.findall(r'"(?:[^"\\]|\\.)*"|[^{}, ]+', rest.removesuffix(", missing}"))
        values = {read_word(item) if item[0] == '"' else ast.literal_eval(item) for item in items}
        return name, values | ({None} if rest.endswith(", missing}") else set())
    if sign == "=":
        value = read_word(rest) if rest[0] == '"' else ast.literal_eval(rest)
        return name, {value} if isinstance(value, str | bool) else (value, value)
    return name, (-math.inf, float(rest)) if sign == "<=" else (float(rest), math.inf)


def read_rules(text):
    """Read a decision list back: [(conditions, label)], default."""
    rules, asked, default = [], [], None
    for line in text.split("\n"):
        word, rest = line[:8].strip(), line[8:]
        if word in ("IF", "ELSE IF"):
            asked = [] if rest == "always" else [read_condition(rest)]
        elif word == "AND":
            asked.append(read_condition(rest))
        elif line.startswith("THEN "):
            rules.append((asked, read_label(line[5:])))
        elif line.startswith(("ELSE ", "ALWAYS ")):
            default = read_label(line.split(" ", 1)[1])
            break
    return rules, default


def holds(asked, cell):
    if cell is None or cell != cell:
        return isinstance(asked, set) and None in asked
    if isinstance(asked, set):
        return cell in asked
    return (asked == KNOWN and isinstance(cell, str)) or asked[0] <= float(cell) <= asked[1]


def follow(rules, default, row):
    """Answer a row, a dict of cells, by the rules."""
    return next(
        (label for asked, label in rules if all(holds(what, row[name]) for name, what in asked)), default
    )


@given(data=st.data())
def test_rules_read_back_answer_as_predict(data):
    made = data.draw(boxes(uncovered=("default",)))
    assume(made.n_features)
    columns = data.draw(columns_for(made))
    rules, default = read_rules(to_text(made))
    cells = zip(*(cells for _, cells in columns.values()), strict=True)
    answers = [follow(rules, default, dict(zip(columns, row, strict=True))) for row in cells]
    expected = made.predict(matrix_of(made, columns)).tolist()
    assert answers == expected
    assert [type(answer) for answer in answers] == [type(answer) for answer in expected]


@given(boxes(uncovered=("default",)))
def test_rules_read_back_are_the_model_to_the_last_digit(made):
    rules, default = read_rules(to_text(made))
    for box, (asked, _) in enumerate(rules):
        expected = {
            name: as_read(admitted, lower, upper)
            for _, name, lower, upper, admitted, _ in made.conditions(box)
        }
        assert dict(asked) == expected
    answers = [*(label for _, label in rules), default]
    assert [(type(answer), answer) for answer in answers] == [
        (type(label), label) for label in made.answers.tolist()
    ]


def as_read(admitted, lower, upper):
    """One number as a category is written, and read, like an interval of that number."""
    if admitted is None:
        return {None} if math.isnan(lower) else (lower, upper)
    if not admitted:
        return KNOWN
    (first, *others) = admitted
    return set(admitted) if others or isinstance(first, str | bool | None) else (first, first)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("write", [to_text, to_markdown, lambda boxes: str(training_summary(boxes))])
def test_nothing_reaches_the_terminal_that_could_command_it(text, write):
    boxes = Boxes.from_rules(
        [({text: (0, 1), "c": {text}}, text)], default=text + "!", categories={"c": [text, "another"]}
    )
    written = write(dataclasses.replace(boxes, counts=np.ones((2, 2))))
    assert all(sign == "\n" or sign.isprintable() for sign in written)


BOXES = Boxes.from_rules(
    [({"age": (65, None), "bmi": (18.5, 25)}, "high"), ({"smoker": {"yes"}}, "high")],
    default="low",
    categories={"smoker": ["yes", "no"]},
)


def test_a_condition_that_takes_any_value_says_so():
    boxes = Boxes.from_rules([({"troponin": (-sys.float_info.max, None)}, "ill")], default="well")
    assert to_text(boxes).startswith("IF      troponin is known\nTHEN ill")
    assert boxes.n_conditions == 1
    assert boxes.predict([[-1e300], [np.nan]]).tolist() == ["ill", "well"]
    bounded = Boxes.from_rules([({"troponin": (-sys.float_info.max, 3)}, "ill")], default="well")
    assert "is known" not in to_text(bounded)


def test_text_reads_like_a_rule_and_says_whose_rows_it_counts():
    counted = dataclasses.replace(BOXES, counts=[[8, 2], [3, 0], [1, 86]])
    assert to_text(BOXES) == (
        'IF      age >= 65\n    AND 18.5 <= bmi <= 25\nTHEN high\nELSE IF smoker = "yes"\nTHEN high\nELSE low'
    )
    lines = to_text(counted).split("\n")
    assert lines[0].split() == ["rows", "precision", "recall"]
    assert lines[3] == "THEN high                    10      0.800   0.667"
    assert lines[6] == "ELSE low                     87      0.989   0.977"
    assert "training rows" in lines[-1]
    table = [[70, 20, 0], [1, 1, 1]]
    given_lines = to_text(counted, summarize(counted, table, ["high", "low"])).split("\n")
    assert given_lines[3].split() == ["THEN", "high", "1", "1.000", "1.000"]
    assert given_lines[5].split() == ["THEN", "high", "0", "–", "0.000"]
    assert "given rows" in given_lines[-1]


def test_nearest_box_is_named_where_it_decides():
    nearest = dataclasses.replace(BOXES, uncovered="nearest", scale=[1.0, 1.0, 1.0])
    assert to_text(nearest).endswith("ELSE nearest box; if none can be compared, low")


def test_summary_of_other_boxes_is_refused():
    other = summarize(BOXES.select([0]), [[70, 20, 0]], ["high"])
    with pytest.raises(ValueError, match="summary is of 1 boxes, these are 2"):
        to_text(BOXES, other)


def test_markdown_cells_survive_a_markdown_parser():
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt().enable("table")
    for text in TEXTS:
        boxes = Boxes.from_rules([({text: (0, 1), "other": (2, None)}, text)], default=text + "!")
        boxes = dataclasses.replace(boxes, counts=[[5, 1], [0, 4]])
        codes, cells = [], 0
        for token in parser.parse(to_markdown(boxes)):
            assert token.type != "html_block"
            cells += token.type == "td_open"
            for child in token.children or []:
                assert child.type != "html_inline"
                codes += [child.content] if child.type == "code_inline" else []
        plain = to_text(boxes).split("\n")
        assert cells == 12
        assert codes[:2] == [plain[1][8:], plain[2][8:]]
        assert read_label(codes[2]) == text
        assert read_label(codes[3]) == text + "!"
