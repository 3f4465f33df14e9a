"""The page's own modules, asked by node, against Python: the page cannot say what the package does not."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import ENGINES, ROW, connect
from hostile import TEXTS, columns_for, matrix_of, sendable
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import config_context
from strategies import boxes, boxes_and_table, numbers
from typer.testing import CliRunner

import hyperboxes.page
from hyperboxes import Boxes, PRIMClassifier, explore, report, write_model
from hyperboxes.cli import app
from hyperboxes.conditions import format_number
from hyperboxes.explain import explain
from hyperboxes.model_file import ModelFormatError, dumps, loads
from hyperboxes.page import bundle, payload
from hyperboxes.rules import to_text
from hyperboxes.sketch import to_html
from hyperboxes.sql import to_sql
from hyperboxes.sql.dialects import DIALECTS
from hyperboxes.summary import summarize

PAGE = Path(hyperboxes.page.__file__).parent
HERE = Path(__file__).parent / "page"
DATABASE = duckdb.connect()
AGES = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")


def node() -> str:
    found = shutil.which("node")
    if found is None:
        if os.environ.get("HYPERBOXES_REQUIRE_SERVICES") == "1":
            pytest.fail("node is required and not installed")
        pytest.skip("node is not installed: apt install nodejs")
    return found


@pytest.fixture(scope="module")
def ask():
    """Ask the page's modules a question; one process answers all of them."""
    worker = subprocess.Popen(
        [node(), HERE / "worker.mjs", PAGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def question(task, **content):
        worker.stdin.write(json.dumps({"task": task, **content}) + "\n")
        worker.stdin.flush()
        reply = json.loads(worker.stdout.readline())
        assert "error" not in reply, reply
        return reply["answer"]

    yield question
    worker.stdin.close()
    worker.stdout.close()
    worker.wait()


def digits(value: float) -> str:
    return struct.pack(">d", value).hex()


def number(text: str) -> float:
    return struct.unpack(">d", bytes.fromhex(text))[0]


def literals(made: Boxes, classes=None) -> dict:
    """What the page is told of names and labels."""
    labels = made.classes.tolist() if classes is None else classes
    return {
        "model": payload._model(made, {}),
        "features": payload._features(made, np.ones(made.n_features)),
        "classes": [{"shown": payload.format_label(label), **payload._literal(label)} for label in labels],
    }


def test_node_unit_tests_pass():
    run = subprocess.run(
        [node(), "--test", HERE / "model.test.mjs"],
        env={**os.environ, "HYPERBOXES_PAGE": str(PAGE)}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout


# -- the page decides as Python does -----------------------------------------------------------------


def ordinary(seed: int) -> tuple[Boxes, np.ndarray]:
    """Small whole numbers and categories, where distances tie and violations of all kinds meet."""
    rng = np.random.default_rng(seed)
    n_boxes, n_features = rng.integers(2, 6), 4
    lower = rng.integers(0, 5, (n_boxes, n_features)).astype(float)
    upper = lower + rng.integers(0, 4, lower.shape) / 2
    lower[rng.random(lower.shape) < 0.4], upper[rng.random(lower.shape) < 0.4] = -np.inf, np.inf
    lower[:, 3], upper[:, 3] = -np.inf, np.inf
    flags = rng.random((n_boxes, 3)) < 0.6
    flags[np.arange(n_boxes), rng.integers(0, 3, n_boxes)] = True
    nearest, known = bool(seed % 2), ("p", "q", None if seed // 2 % 2 else "r")
    made = Boxes(
        lower, upper, rng.choice(["a", "b", "c"], n_boxes), ("x", "y", "z", "k"), "a",
        categories={"k": known}, allowed={"k": flags},
        uncovered="nearest" if nearest else "default", scale=[1.0, 2.0, 0.5, 1.0] if nearest else None,
    )  # fmt: skip
    table = rng.integers(-1, 13, (12, n_features)) / 2
    table[:, 3] = rng.integers(-1, 3, 12)
    table[rng.random(table.shape) < 0.05] = np.nan
    return made, table


ordinary_tables = st.integers(0, 10**6).map(ordinary)


@given(made=boxes_and_table(counts=False) | ordinary_tables, seed=st.integers(0, 99))
def test_every_row_is_contained_decided_and_counted_as_in_python(ask, made, seed):
    model, table = made
    table = table.astype(np.float64)
    labels = model.classes.tolist()
    assume(labels)
    codes = np.random.default_rng(seed).integers(0, len(labels), len(table)).tolist()
    found = ask(
        "judge", model=payload._model(model, {}), columns=[[digits(cell) for cell in c] for c in table.T],
        classes=codes, nClasses=len(labels),
    )  # fmt: skip
    assert np.array_equal(
        np.array(found["contains"], bool).reshape(model.n_boxes, len(table)).T, model.contains(table)
    )
    assert found["held"] == model.apply(table).tolist()
    assert found["decided"] == model.decide(table).tolist()
    assert found["one"] == found["decided"]
    expected = summarize(model, table, np.array([labels[code] for code in codes], model.classes.dtype))
    assert found["counts"] == expected.counts.ravel().tolist()
    assert found["inside"] == expected.inside.tolist()
    check_figures(found["figures"], expected)


def same(ours, theirs):
    """Compare figures; JSON has no NaN and says null."""
    ours = [math.nan if value is None else value for value in ours]
    return np.allclose(ours, theirs, rtol=1e-12, atol=0, equal_nan=True)


def check_figures(ours, summary):
    for ours_name, theirs in (("precision", "precision"), ("recall", "recall"), ("rows", "support")):
        assert same([box[ours_name] for box in ours["boxes"]], getattr(summary, theirs))
    for name in ("precision", "recall", "f1"):
        assert same([one[name] for one in ours["classes"]], getattr(summary, f"class_{name}"))
    assert same([ours["accuracy"], ours["macroF1"]], [summary.accuracy, summary.macro_f1])


@given(
    made=boxes_and_table(counts=False) | ordinary_tables,
    units=st.lists(st.sampled_from([1.0, 0.5, 3.7]), min_size=4),
)
def test_explanations_agree(ask, made, units):
    model, table = made
    for row in table.astype(np.float64)[:3]:
        check_explanation(ask, model, row, np.array(units[: model.n_features]))


def check_explanation(ask, model, row, unit):
    place = {label: code for code, label in enumerate(model.classes.tolist())} | {None: -1}
    theirs = explain(model, row, unit)
    ours = ask(
        "explain", model=payload._model(model, {}), cells=[digits(cell) for cell in row],
        unit=[digits(one) for one in unit],
    )  # fmt: skip
    assert ours["prediction"] == place[theirs.prediction]
    assert ours["box"] == (-1 if theirs.box is None else theirs.box)
    assert [c["holds"] for c in ours["conditions"]] == [margin.holds for margin in theirs.margins]

    def plain(change):
        if change is None:
            return None
        cells = []
        for name, value in change.values.items():
            known = model.categories.get(name)
            cell = (math.nan if value is None else value) if known is None else known.index(value)
            cells.append([model.feature_names.index(name), digits(float(cell))])
        return {
            "box": change.box, "enters": change.enters, "cells": cells,
            "distance": digits(change.distance), "prediction": place[change.prediction],
        }  # fmt: skip

    assert ours["changes"] == [plain(change) for change in theirs.changes]
    assert ours["smallest"] == plain(theirs.smallest_change)


@settings(max_examples=30)
@given(values=st.lists(numbers | st.sampled_from([math.inf, -math.inf, math.nan]), min_size=1, max_size=200))
def test_numbers_are_written_as_python_writes_them(ask, values):
    shown = ask("repr", values=[digits(value) for value in values])
    assert shown == [[repr(value), format_number(value)] for value in values]
    near = ask("next", values=[digits(value) for value in values if not math.isnan(value)])
    expected = [
        [math.nextafter(v, -math.inf), math.nextafter(v, math.inf)] for v in values if not math.isnan(v)
    ]
    assert [[number(side) for side in sides] for sides in near] == expected


# -- text out ----------------------------------------------------------------------------------------


def test_a_bound_that_only_asks_for_a_value_leaves_the_axis_to_the_rows(ask):
    bounds = [digits(side) for side in (-sys.float_info.max, math.inf, 20.0)]
    assert ask("range", cells=[digits(1.0), digits(7.0), digits(math.nan)], bounds=bounds) == [1, 20]


def test_a_condition_that_takes_any_value_says_so(ask):
    made = Boxes.from_rules([({"troponin": (-sys.float_info.max, None)}, "ill")], default="well")
    assert "troponin is known" in ask("rules", **literals(made))


@given(made=boxes(counts=False))
def test_rules_read_as_those_of_python(ask, made):
    assert ask("rules", **literals(made)) == to_text(made)


@given(made=boxes_and_table(counts=False))
def test_python_text_makes_the_same_boxes(ask, made):
    model, table = made
    text = ask("python", **literals(model))
    scope: dict = {}
    exec(text, scope)  # noqa: S102 - our own text
    again = scope["boxes"]
    assert np.array_equal(again.lower, model.lower, equal_nan=True)
    assert np.array_equal(again.upper, model.upper, equal_nan=True)
    assert again.categories == model.categories
    for name, allowed in model.allowed.items():
        assert np.array_equal(again.allowed[name], allowed)
    assert again.predict(table).tolist() == model.predict(table).tolist()


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    """Give a real database; PostgreSQL's server is started only where it is asked."""
    address = request.getfixturevalue("postgres") if request.param == "postgres" else ""
    with contextlib.closing(connect(request.param, address)) as opened:
        yield ENGINES[request.param].over(opened)


def answers_of(engine, expression):
    return [answer for _, answer in engine.rows(f"SELECT {engine.quoted(ROW)}, {expression} FROM drawn")]


@given(made=boxes(counts=False) | ordinary_tables.map(lambda drawn: drawn[0]))
@example(made=Boxes.from_rules([({"dose": (-2.5e-06, 2.5e-06)}, "low")], default="high"))
def test_sql_reads_as_that_of_python_or_is_refused_with_it(ask, made):
    for dialect in ENGINES:
        written = ask("sql", dialect=dialect, **literals(made))
        try:
            expected = to_sql(made, dialect=dialect)
        except ValueError:
            assert "refused" in written
        else:
            assert written == {"text": expected}


@settings(max_examples=settings.default.max_examples // 2)
@given(data=st.data())
def test_a_database_gives_the_answers_of_the_page_s_sql(ask, engine, data):
    """Rows lie on bounds and beside them, miss values, and hold infinities; nearest boxes decide as well."""
    made = data.draw(boxes(counts=False))
    assume(sendable(made, DIALECTS[engine.name]))
    columns = data.draw(columns_for(made))
    engine.create(columns)
    written = ask("sql", dialect=engine.name, **literals(made))
    assert answers_of(engine, written["text"]) == made.predict(matrix_of(made, columns)).tolist()


def test_a_bound_belongs_to_its_box(ask, engine):
    made = Boxes.from_rules([({"x": (1.0, 2.0)}, "in"), ({"x": (None, 0.5)}, "low")], default="out")
    engine.create({"x": ("double", [0.5, 1.0, 2.0, math.nextafter(2.0, 3.0), None])})
    written = ask("sql", dialect=engine.name, **literals(made))
    assert answers_of(engine, written["text"]) == ["low", "in", "in", "out", "out"]


@pytest.mark.parametrize("shape", [(2, 120), (120, 2)])
def test_many_conditions_or_boxes_are_one_expression(ask, engine, shape):
    rng = np.random.default_rng(0)
    n_boxes, n_features = shape
    lower = rng.integers(0, 90, shape).astype(float)
    labels = rng.integers(0, 3, n_boxes)
    made = Boxes(lower, lower + 3, labels, default=0, uncovered="nearest", scale=np.ones(n_features))
    table = rng.integers(0, 99, (40, n_features)).astype(float)
    cells = dict(zip(made.feature_names, table.T.tolist(), strict=True))
    engine.create({name: ("double", column) for name, column in cells.items()})
    written = ask("sql", dialect=engine.name, **literals(made))
    assert written["text"] == to_sql(made, dialect=engine.name)
    assert answers_of(engine, written["text"]) == made.predict(table).tolist()


def test_nan_in_a_parquet_file_is_in_no_box(ask, tmp_path):
    made = Boxes.from_rules([({"x": (0.0, 9.0)}, "in")], default="out")
    pq.write_table(
        pa.table({"x": pa.array([1.0, float("nan"), 2.0], from_pandas=False)}), tmp_path / "x.parquet"
    )
    written = ask("sql", dialect="duckdb", **literals(made))["text"]
    for query in (f"SELECT {written} FROM t", f"SELECT {written} FROM t WHERE ({written}) = 'in'"):
        answers = DATABASE.execute(query.replace("FROM t", f"FROM '{tmp_path / 'x.parquet'}'")).fetchall()
        assert [row[0] for row in answers] == (["in", "out", "in"] if "WHERE" not in query else ["in", "in"])


@pytest.mark.parametrize("name", TEXTS)
def test_sql_of_hostile_names_answers_in_their_name(ask, engine, name):
    made = Boxes.from_rules(
        [({name: (None, 2.0), "c": {name}}, name)], default="o" + name, categories={"c": [name, "z"]}
    )
    written = ask("sql", dialect=engine.name, **literals(made))
    if engine.name == "postgres" and len(name.encode()) > 63:
        assert "63 bytes" in written["refused"]
        return
    engine.execute("CREATE TABLE IF NOT EXISTS canary (one INTEGER)")
    engine.create({name: ("double", [2.0, 2.0, 3.0, None]), "c": ("text", [name, "z", name, name])})
    assert answers_of(engine, written["text"]) == [name, *["o" + name] * 3]
    assert engine.rows("SELECT one FROM canary") == []


def test_sql_that_cannot_be_exact_is_refused_with_the_reason(ask):
    large = Boxes.from_rules([({"a": {2**53}}, 1)], default=0, categories={"a": [1, 2**53]})
    assert "too large" in ask("sql", dialect="duckdb", **literals(large))["refused"]
    folded = Boxes.from_rules([({"a": (1, None), "A": (2, None)}, 1)], default=0)
    assert "rename" in ask("sql", dialect="duckdb", **literals(folded))["refused"]
    mixed = Boxes.from_rules([({"a": {1, "x"}}, 1)], default=0, categories={"a": [1, "x", 2]})
    assert "mix text and numbers" in ask("sql", dialect="sqlite", **literals(mixed))["refused"]


# -- the model file ----------------------------------------------------------------------------------


def draw_edit(draw, made: Boxes):
    """Draw an edit as the page does it, with the boxes that Python makes of it."""
    box = draw(st.integers(0, made.n_boxes - 1))
    kind = draw(st.sampled_from(["bound", "categories", "open", "remove", "copy", "move", "label"]))
    order = list(range(made.n_boxes))
    if kind == "label":
        label = draw(st.integers(0, len(made.classes) - 1))
        labels = made.labels.copy()
        labels[box] = made.classes[label]
        return ["label", box, label], replace(made, labels=labels, counts=None)
    if kind == "remove":
        return ["remove", box], made.drop([box])
    if kind == "copy":
        return ["copy", box], made.select([*order[: box + 1], box, *order[box + 1 :]])
    if kind == "move":
        step = draw(st.integers(-2, 2))
        order.insert(min(max(0, box + step), len(order) - 1), order.pop(box))
        return ["move", box, step], made.select(order)
    assume(made.n_features)
    feature = draw(st.integers(0, made.n_features - 1))
    name = made.feature_names[feature]
    if kind == "open":
        return ["open", box, feature], made.open(box, name)
    if name in made.categories:
        flags = draw(st.lists(st.booleans(), min_size=len(made.categories[name]),
                              max_size=len(made.categories[name])).filter(any))  # fmt: skip
        allowed = {key: table.copy() for key, table in made.allowed.items()}
        allowed[name][box] = flags
        return ["categories", box, feature, flags], replace(made, allowed=allowed, counts=None)
    side, value = draw(st.sampled_from(["lower", "upper"])), draw(numbers)
    lower, upper = made.lower.copy(), made.upper.copy()
    if np.isnan(lower[box, feature]):
        lower[box, feature], upper[box, feature] = -np.inf, np.inf
    if side == "lower":
        lower[box, feature] = min(value, upper[box, feature])
    else:
        upper[box, feature] = max(value, lower[box, feature])
    return ["bound", box, feature, side, digits(value)], replace(made, lower=lower, upper=upper, counts=None)


@given(data=st.data())
def test_an_edited_model_reads_back_as_the_same_edit_in_python(ask, data):
    model = data.draw(boxes())
    edits, expected = [], model
    for _ in range(data.draw(st.integers(0, 4))):
        if not expected.n_boxes:
            break
        edit, expected = draw_edit(data.draw, expected)
        edits.append(edit)
    meta = {"n": 1.5, "é": "\x7f\n🙂", "edited_from": "old"}
    text = ask("file", model=payload._model(model, meta), edits=edits)
    if replace(expected, counts=None) == replace(model, counts=None):
        assert text == dumps(model, meta)
    else:
        assert loads(text) == expected
        made_from = json.loads(dumps(model, meta))["sha256"]
        assert json.loads(text)["meta"] == meta | {"edited_from": made_from}


# -- numbers that must be missing --------------------------------------------------------------------

ABSENT = [
    Boxes.from_rules(
        [({"x": {None}, "y": (1.0, None)}, "a"), ({"x": (0.0, 2.0)}, "b"), ({"y": {None}}, "c")],
        default="d", feature_names=["x", "y"],
    )
]  # fmt: skip
ABSENT.append(replace(ABSENT[0], uncovered="nearest", scale=np.array([0.5, 2.0])))
asking_for_missing = pytest.mark.parametrize("made", ABSENT, ids=["default", "nearest"])
GAPPY = np.array(
    [[x, y] for x in (math.nan, 0.0, 1.0, 5.0, math.inf, -math.inf) for y in (math.nan, 0.0, 1.0, 7.0)]
)


@asking_for_missing
def test_a_number_that_must_be_missing_decides_and_explains_as_in_python(ask, made):
    table = [[digits(cell) for cell in column] for column in GAPPY.T]
    found = ask("judge", model=payload._model(made, {}), columns=table, classes=[0] * len(GAPPY), nClasses=4)
    assert np.array_equal(np.array(found["contains"], bool).T, made.contains(GAPPY))
    assert found["decided"] == found["one"] == made.decide(GAPPY).tolist()
    for row in GAPPY:
        check_explanation(ask, made, row, np.array([0.5, 3.7]))


@asking_for_missing
def test_a_number_that_must_be_missing_is_written_as_python_writes_it(ask, engine, made):
    told = literals(made)
    assert ask("rules", **told) == to_text(made)
    assert "x is missing" in to_text(made)
    scope: dict = {}
    exec(ask("python", **told), scope)  # noqa: S102 - our own text
    assert scope["boxes"] == made
    assert ask("file", model=payload._model(made, {}), edits=[]) == dumps(made, {})
    written = ask("sql", dialect=engine.name, **told)["text"]
    assert written == to_sql(made, dialect=engine.name)
    # SQLite stores NaN as NULL.
    engine.create({name: ("double", column) for name, column in zip("xy", GAPPY.T.tolist(), strict=True)})
    assert answers_of(engine, written) == made.predict(GAPPY).tolist()


@asking_for_missing
@pytest.mark.parametrize("edit", [
    ["bound", 0, 0, "lower", digits(-math.inf)], ["bound", 0, 0, "upper", digits(math.inf)], ["open", 0, 0],
])  # fmt: skip
def test_that_a_number_be_missing_is_lifted_as_a_whole_and_the_file_says_what_is_left(ask, made, edit):
    text = ask("file", model=payload._model(made, {}), edits=[edit])
    assert loads(text) == made.open(0, "x")
    assert json.loads(text)["format_version"] == [1, 1]  # another box still asks it of y
    text = ask("file", model=payload._model(made, {}), edits=[edit, ["open", 2, 1]])
    assert loads(text) == made.open(0, "x").open(2, "y")
    assert json.loads(text)["format_version"] == [1, 0]


# -- rows in -----------------------------------------------------------------------------------------


cells = (
    numbers | st.sampled_from([math.inf, -math.inf, math.nan]) | st.integers(-999, 999).map(lambda k: k / 100)
)


@given(columns=st.integers(0, 6).flatmap(
    lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=4)))  # fmt: skip
def test_rows_arrive_bit_by_bit(ask, columns):
    packed = payload._pack([np.array(column, np.float64) for column in columns])
    arrived = ask("unpack", rows={"n": len(columns[0]), **packed})
    assert arrived == [[digits(cell) for cell in column] for column in columns]


def test_decimals_are_packed_as_whole_numbers():
    assert payload._divisor(np.array([0.1, 2.25, np.nan, -7.0])) == 100
    assert payload._divisor(np.array([1 / 3])) == 1
    assert payload._divisor(np.array([1.0, 2.0**60])) == 1


def test_a_missing_value_is_shown_as_one_and_a_text_of_that_name_as_a_text():
    known = ("missing", "red", None)
    made = Boxes.from_rules([({"colour": {None}}, "ill")], default="well", categories={"colour": known})
    data = data_of(explore(made, [["red"], [None], ["missing"], ["blue"]], ["ill"] * 4))
    told = data["features"][0]["categories"]
    assert [(one["shown"], one["quoted"], one["python"]) for one in told] == [
        ('"missing"', '"missing"', "'missing'"), ("red", '"red"', "'red'"), ("missing", "missing", "None"),
    ]  # fmt: skip


@pytest.mark.parametrize("made", [
    pd.DataFrame({"colour": ["red", None, "blue"]}), np.array([[0.0], [math.nan], [-1.0]]), [[0], [1], [-1]],
])  # fmt: skip
def test_rows_with_a_missing_value_have_a_place_in_the_pictures(ask, made):
    boxes = Boxes.from_rules(
        [({"colour": {None}}, "ill")], default="well", categories={"colour": ["red", None]}
    )
    data = data_of(explore(boxes, made, ["well", "ill", "well"]))
    assert [number(cell) for cell in ask("unpack", rows=data["rows"])[0]] == [0, 1, -1]


# -- intervals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (1, 1), (3, 10), (999, 1000), (0, 50)])
def test_shares_have_wilson_s_interval(ask, hits, rows):
    found = ask("figures", counts=[hits, rows - hits, 0, 0], answers=[0, 1], nClasses=2)
    expected = binomtest(hits, rows).proportion_ci(method="wilson")
    assert np.allclose(found["boxes"][0]["precisionInterval"], expected, atol=1e-12)
    assert found["boxes"][1]["precisionInterval"] is None


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.45, 0.05], [0.05, 0.45]], [[0.9, 0.02], [0.03, 0.05]], [[0.9, 0.03], [0.01, 0.06]],
        [[0.3, 0.02, 0.01], [0.05, 0.25, 0.03], [0.0, 0.04, 0.3]],
        [[0.02, 0.01, 0.0], [0.02, 0.6, 0.05], [0, 0.05, 0.25]],
    ],
)  # fmt: skip
@pytest.mark.parametrize("rows", [40, 200])
def test_intervals_of_f1_hold_what_they_promise(ask, matrix, rows):
    """Tables drawn from a known confusion matrix: the true F1 lies in about 95 % of the intervals.

    Each class occurs in nearly every table: the mean is over the classes that do.
    """
    shares = np.array(matrix)
    classes = len(shares)
    truth = 2 * np.diag(shares) / (shares.sum(0) + shares.sum(1))
    draws = 600
    drawn = np.random.default_rng(1).multinomial(rows, shares.ravel(), draws).reshape(-1, classes, classes)
    held, judged, macro = np.zeros(classes), np.zeros(classes), 0
    for counts in drawn:  # a box for each answer: counts by answer and truth
        table = np.vstack([counts.T, np.zeros(classes)]).ravel().tolist()
        found = ask("figures", counts=table, answers=[*range(classes), -1], nClasses=classes)
        for label, one in enumerate(found["classes"]):
            if one["f1Interval"] is not None:
                judged[label] += 1
                held[label] += one["f1Interval"][0] <= truth[label] <= one["f1Interval"][1]
        low, high = found["macroF1Interval"]
        macro += low <= truth.mean() <= high
    assert (held / judged > 0.9).all(), held / judged
    assert macro / draws > 0.9


def test_a_perfect_score_is_no_certainty(ask):
    found = ask("figures", counts=[15, 0, 0, 15, 0, 0], answers=[0, 1, -1], nClasses=2)
    assert found["macroF1"] == 1
    assert found["macroF1Interval"][0] < 0.9


# -- the file ----------------------------------------------------------------------------------------


def test_a_page_is_one_strict_file_and_small(tmp_path):
    path = tmp_path / "risk.html"
    report(AGES, [[70], [30]], ["high", "low"], path)
    text = path.read_text()
    assert len(text) < 200_000
    assert re.search(r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'", text)
    without_icon = re.sub(r'<link rel="icon"[^>]*>', "", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", without_icon)
    unsafe = r"<[^>]*\son\w+=|javascript:|innerHTML|outerHTML|insertAdjacent|document\.write|eval\("
    assert not re.search(unsafe, text.split('id="data"')[0] + bundle.script_text())


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)//", "<!--<script>", "\u2028\u2029", "{{script}}", "]]>"]
)
def test_data_cannot_leave_their_place(text):
    boxes = Boxes.from_rules([({text: (65, None)}, text)], default="low")
    html = explore(boxes, [[70], [30]], [text, "low"], title=text).html
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1]
    assert not set("<>&'\u2028\u2029") & set(data)
    assert json.loads(data)["features"][0]["name"] == text
    assert html.count("<script") == 2 + bundle.script_text().count("<script")


def test_every_module_of_the_page_is_in_the_bundle():
    script = bundle.script_text()
    for file in PAGE.glob("*.js"):
        assert f'modules["{file.name}"] = ' in script


def test_a_module_that_cannot_be_enclosed_is_an_error():
    with pytest.raises(ValueError, match="named import"):
        bundle._enclose("x.js", 'import * as all from "./model.js";\n')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["high"]}, "one label for each of the 2 rows"),
        ({"X": [[1, 2], [3, 4]]}, "2 columns; these boxes speak of 1"),
        ({"X": np.empty((0, 1)), "y": []}, "no rows"),
        ({"y": ["a", "b"]}, "none of the classes"),
        ({"max_rows": 0}, "max_rows must be 1 or more"),
    ],
)  # fmt: skip
def test_bad_input_is_an_error_that_helps(change, message):
    with pytest.raises(ValueError, match=message):
        explore(**({"model": AGES, "X": [[70], [30]], "y": ["high", "low"]} | change))


def test_nothing_is_written_where_the_model_cannot_be_a_file(tmp_path):
    boxes = Boxes.from_rules([({"a\ud800": (1, None)}, "high")], default="low")
    with pytest.raises(ModelFormatError, match="whole Unicode"):
        report(boxes, [[70], [30]], ["high", "low"], tmp_path / "p.html")
    assert not list(tmp_path.iterdir())


def test_of_one_class_against_the_rest_the_others_are_one():
    X = np.arange(90.0)[:, None]
    y = np.repeat(["a", "b", "c"], 30)
    data = data_of(explore(PRIMClassifier(positive_label="a").fit(X, y), X, y))
    assert [one["shown"] for one in data["classes"]] == ["a", "not a"]
    assert sum(data["counts"]) == 90
    assert data["kind"] == "training"


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.S)[1])


def test_of_many_rows_some_are_drawn_and_counts_stay_exact():
    X = np.arange(5000.0)[:, None]
    y = np.where(X[:, 0] >= 100, "high", "low")
    data = data_of(explore(AGES, X, y, max_rows=300))
    assert (data["rows"]["n"], data["rows"]["total"]) == (300, 5000)
    assert data["counts"] == summarize(AGES, X, y).counts.ravel().tolist()
    wide = Boxes(np.full((1, 4000), 0.0), np.full((1, 4000), np.inf), [1], default=0)
    assert data_of(explore(wide, np.ones((400, 4000)), np.ones(400, int)))["rows"]["n"] == 300


def test_the_page_says_which_rows_it_is_judged_on():
    X, y = np.array([[70.0], [80.0], [30.0]]), ["high", "low", "low"]
    learned = replace(AGES, counts=summarize(AGES, X, y).counts)
    assert data_of(explore(learned, X, y))["kind"] == "training"
    assert data_of(explore(learned, X[:2], y[:2]))["kind"] == "given"
    assert data_of(explore(AGES, X, y))["kind"] == "given"
    assert data_of(explore(learned, X, y, held_out=True))["kind"] == "held out"
    assert data_of(explore(AGES, X, y, held_out=False))["kind"] == "training"


# -- in a notebook and on the command line -------------------------------------------------------------


class Reader(HTMLParser):
    """Collects the text of a page, and its attributes by name."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tags, self.attributes = [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value)

    def handle_data(self, data):
        self.texts.append(data)


@given(made=boxes())
def test_a_sketch_shows_every_rule_as_text_and_draws_within_its_frame(made):
    read = Reader(to_html(made))
    for box in range(made.n_boxes):
        rule = " and ".join(str(condition) for condition in made.conditions(box)) or "always"
        assert rule in read.texts
    table, picture = (
        {"table", "thead", "tbody", "tr", "th", "td"},
        {"text", "rect", "circle", "path", "title"},
    )
    assert set(read.tags) <= {"div", "svg"} | table | picture
    for name in ("x", "y", "width"):
        assert all(-1 <= float(value) <= 10_000 for value in read.attributes.get(name, []))


def test_a_fitted_estimator_shows_its_rules_and_a_picture():
    X, y = np.arange(60.0).reshape(-1, 2), np.repeat(["a", "b"], 15)
    model = PRIMClassifier().fit(X, y)
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "<svg" in shown
        assert escape(str(model.boxes_.conditions(0)[0])) in shown
    assert "What each box admits" not in PRIMClassifier()._repr_html_()
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()


def test_the_command_writes_a_page(tmp_path):
    write_model(AGES, tmp_path / "m.boxes.json")
    (tmp_path / "t.csv").write_text("age,risk\n70,high\n30,low\n20,low\n")
    asked = [
        "report",
        "m.boxes.json",
        "t.csv",
        "--target",
        "risk",
        "-o",
        "p.html",
        "--held-out",
        "--title",
        "Risk",
    ]
    asked = [str(tmp_path / one) if one[0] != "-" and "." in one else one for one in asked]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    data = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "p.html").read_text(), re.S)[1])
    assert (data["title"], data["kind"], data["rows"]["total"]) == ("Risk", "held out", 3)
    refused = CliRunner().invoke(app, [*asked[:6], str(tmp_path / "p.pdf")])
    assert refused.exit_code == 1
    assert refused.output.startswith("error: ")
    assert "a page ends in .html" in refused.output
