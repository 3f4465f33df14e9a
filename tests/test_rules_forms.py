"""Every form of the rules gives the answer of predict: Python source, queries, expressions, data."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
import subprocess
import sys

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import reference
from hostile import TEXTS, columns_for, matrix_of
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from strategies import boxes

from hyperboxes import Boxes, FMMClassifier, HyperNNClassifier, PRIMClassifier
from hyperboxes.rules import (
    to_dict,
    to_frame,
    to_json,
    to_narwhals,
    to_pandas_query,
    to_polars,
    to_python,
)

POLARS = {"double": pl.Float64, "real": pl.Float32, "bigint": pl.Int64, "text": pl.String, "bool": pl.Boolean}
PANDAS = {"double": "float64", "real": "float32", "bigint": "Int64", "text": "object", "bool": "boolean"}
ARROW = {
    "double": pa.float64(), "real": pa.float32(), "bigint": pa.int64(), "text": pa.string(),
    "bool": pa.bool_(),
}  # fmt: skip


@st.composite
def boxes_and_columns(draw, **options):
    made = draw(boxes(**options))
    assume(made.n_features)
    return made, draw(columns_for(made, rows=8))


def compile_rules(made):
    space = {"__builtins__": {name: __builtins__[name] for name in ("float", "isinstance", "str", "bytes",
             "type", "TypeError", "OverflowError", "max")}}  # fmt: skip
    exec(to_python(made), space)  # noqa: S102 - that it can be run is what is tested
    return space["predict"]


def rows_of(columns):
    cells = zip(*(cells for _, cells in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]


def small(columns):
    """Arrow refuses to cast an integer that float64 does not hold; that is an error, not an answer."""
    return all(
        kind != "bigint" or all(cell is None or abs(cell) <= 2**53 for cell in cells)
        for kind, cells in columns.values()
    )


def polars_frame(columns):
    return pl.DataFrame(
        {name: pl.Series(name, cells, POLARS[kind]) for name, (kind, cells) in columns.items()}
    )


def pandas_frame(columns):
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=PANDAS[kind]) for name, (kind, cells) in columns.items()}
    )


def plain(answers):
    return [None if answer is None or answer != answer else answer for answer in answers]


@given(boxes_and_columns())
def test_python_source_answers_as_predict(drawn):
    made, columns = drawn
    predict = compile_rules(made)
    answers = [predict(row) for row in rows_of(columns)]
    expected = made.predict(matrix_of(made, columns)).tolist()
    assert answers == expected == reference.predict(made, matrix_of(made, columns))
    assert [type(answer) for answer in answers] == [type(answer) for answer in expected]


@given(boxes_and_columns())
def test_python_source_is_ascii_and_imports_nothing(drawn):
    source = to_python(drawn[0])
    assert source.isascii()
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_python_source_takes_every_kind_of_missing_and_number():
    import decimal

    made = Boxes.from_rules(
        [({"a": (0, 1)}, "in"), ({"c": {"x"}}, "c")], default="out", categories={"c": ["x", "y"]}
    )
    predict = compile_rules(made)
    for missing in (None, math.nan, np.nan, pd.NA, pd.NaT, np.float32("nan"), decimal.Decimal("nan")):
        assert predict({"a": missing, "c": missing}) == "out"
    for number in (1, True, np.int8(1), np.float32(0.5), decimal.Decimal("0.1")):
        assert predict({"a": number, "c": None}) == "in"
    assert predict({"a": 10**400, "c": "y"}) == "out"
    with pytest.raises(TypeError, match=r"a number is needed, not '0\.5'"):
        predict({"a": "0.5", "c": "y"})
    with pytest.raises(ValueError, match="identifier"):
        to_python(made, name="two words")


@pytest.mark.parametrize("uncovered", ["default", "nearest"])
def test_python_source_runs_in_a_bare_interpreter(uncovered):
    made = Boxes.from_rules(
        [({"a b": (0, 1), "c": {"x"}}, "in")], default="out", categories={"c": ["x", "y"]}
    )
    if uncovered == "nearest":
        made = dataclasses.replace(made, uncovered="nearest", scale=[1.0, 1.0])
    program = to_python(made) + "print(predict({'a b': 0.5, 'c': 'x'}), predict({'a b': None, 'c': 'x'}))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    assert done.stdout == "in out\n", done.stderr


@given(boxes_and_columns())
def test_polars_expression_answers_as_predict(drawn):
    made, columns = drawn
    frame = polars_frame(columns)
    expected = made.predict(matrix_of(made, columns)).tolist()
    for table in (frame, frame.lazy()):
        answers = table.with_columns(to_polars(made).alias("answer 0f it")).lazy().collect()["answer 0f it"]
        assert answers.to_list() == expected


@pytest.mark.parametrize("sides", [(0.5, None), (None, 0.5), (0.25, 0.75)])
def test_nan_meets_no_condition_in_polars_which_holds_it_to_be_the_greatest(sides):
    made = Boxes.from_rules([({"a": sides}, "in")], default="out")
    frame = pl.DataFrame({"a": [0.5, math.nan, -math.nan, None]})
    assert frame.with_columns(y=to_polars(made))["y"].to_list() == ["in", "out", "out", "out"]


@given(boxes_and_columns(), st.sampled_from(["pandas", "pyarrow", "duckdb"]))
def test_narwhals_expression_answers_as_predict(drawn, backend):
    made, columns = drawn
    assume(made.labels.dtype.kind != "i" or (np.abs(made.classes.astype(float)) < 2.0**53).all())
    expected = made.predict(matrix_of(made, columns)).tolist()
    if backend == "pandas":
        native = pandas_frame(columns)
    else:
        assume(small(columns))
        arrays = [pa.array(cells, ARROW[kind]) for kind, cells in columns.values()]
        native = pa.table(arrays, names=list(columns))
    if backend == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        assume(len({name.casefold() for name in columns}) == len(columns) and "" not in columns)
        assume(not any("\0" in name for name in columns))
        with duckdb.connect() as con:
            lazy = nw.from_native(con.from_arrow(native))
            answers = lazy.with_columns(to_narwhals(made).alias("answer 0f it")).collect("pyarrow")
            assert plain(answers["answer 0f it"].to_list()) == plain(expected)
        return
    frame = nw.from_native(native).with_columns(to_narwhals(made).alias("answer 0f it"))
    assert plain(frame["answer 0f it"].to_list()) == plain(expected)


@pytest.mark.parametrize("labels", [(2**53, 0), (True, False), ("a", "b"), (0.5, 2.0)])
def test_labels_come_out_of_a_pandas_frame_as_they_are(labels):
    inside, default = labels
    made = Boxes.from_rules([({"a": (0, 1)}, inside)], default=default)
    answers = nw.from_native(pd.DataFrame({"a": [0.5, 9.0]})).with_columns(b=to_narwhals(made))["b"].to_list()
    assert answers == [inside, default]
    assert [type(answer) for answer in answers] == [type(inside), type(default)]


def test_labels_that_pandas_would_change_are_refused():
    made = Boxes.from_rules([({"a": (0, 1)}, 2**53 + 1)], default=0)
    with pytest.raises(ValueError, match=r"the label 9007199254740993 is beyond 2\*\*53"):
        to_narwhals(made)
    assert pl.DataFrame({"a": [0.5]}).with_columns(b=to_polars(made))["b"].to_list() == [2**53 + 1]


@given(boxes_and_columns(uncovered=("default",)))
def test_pandas_queries_select_the_rows_of_each_class(drawn):
    made, columns = drawn
    frame = pandas_frame(columns)
    expected = made.predict(matrix_of(made, columns)).tolist()
    for label in dict.fromkeys(made.answers.tolist()):
        try:
            query = to_pandas_query(made, label)
        except ValueError:
            assume(False)
        assert frame.query(query).index.tolist() == [
            row for row, answer in enumerate(expected) if answer == label
        ]


def test_pandas_query_names_what_it_cannot_do():
    two = Boxes.from_rules([({"a": (0, 1)}, "x"), ({"a": (2, 3)}, "y")], default="z")
    with pytest.raises(ValueError, match="say which class"):
        to_pandas_query(two)
    with pytest.raises(ValueError, match="no row gets 'q'"):
        to_pandas_query(two, "q")
    with pytest.raises(ValueError, match=r"cannot quote the column name 'a`b'"):
        to_pandas_query(Boxes.from_rules([({"a`b": (0, 1)}, "x")], default="z"))
    nearest = dataclasses.replace(two, uncovered="nearest", scale=[1.0])
    with pytest.raises(ValueError, match="nearest box"):
        to_pandas_query(nearest, "x")
    many = Boxes.from_rules([({"a": (k, k)}, k % 2) for k in range(99)], default=0)
    with pytest.raises(ValueError, match="alternate 99 times"):
        to_pandas_query(many, 1)


def test_most_hostile_names_can_be_quoted_for_pandas():
    quoted = 0
    for text in TEXTS:
        made = Boxes.from_rules([({text: (0, 1)}, "x")], default="z")
        try:
            query = to_pandas_query(made)
        except ValueError:
            continue
        quoted += 1
        assert pd.DataFrame({text: [0.5, 2.0, math.nan]}).query(query).index.tolist() == [0]
    assert quoted > len(TEXTS) * 0.6


def follow(document, row):
    """Answer a row by the dictionary alone."""

    def far(asked):
        cell = row[asked["feature"]]
        cell = None if cell is None or cell != cell else cell
        numeric = asked["feature"] not in document["categories"]
        if "not in" in asked:
            return math.inf if cell in asked["not in"] else 0.0
        if "in" in asked:
            unknown = math.inf if cell is None or (asked["in"] == [None] and numeric) else 1.0
            return 0.0 if cell in asked["in"] else unknown
        if cell is None:
            return math.inf
        low = -math.inf if asked["lower"] is None else asked["lower"]
        high = math.inf if asked["upper"] is None else asked["upper"]
        unit = document["else"].get("nearest", {}).get(asked["feature"], 1.0)
        cell = float(cell)
        if low <= cell <= high:
            return 0.0
        # An infinite value outside is infinitely far, a finite one outside is outside.
        return max(((low - cell) if cell < low else (cell - high)) / unit, 5e-324)

    distances = [max(map(far, rule["if"]), default=0.0) for rule in document["rules"]]
    for rule, distance in zip(document["rules"], distances, strict=True):
        if distance == 0:
            return rule["then"]
    if "nearest" in document["else"] and min(distances, default=math.inf) < math.inf:
        return document["rules"][distances.index(min(distances))]["then"]
    return document["else"]["then"]


@given(boxes_and_columns())
def test_json_alone_answers_as_predict(drawn):
    made, columns = drawn
    # The reader above cannot tell violations that round to nothing from none.
    assume(made.scale is None or (made.scale < 2.0**500).all())
    document = json.loads(to_json(made))
    assert document == json.loads(json.dumps(to_dict(made)))
    answers = [follow(document, row) for row in rows_of(columns)]
    assert answers == made.predict(matrix_of(made, columns)).tolist()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_hold_every_rule_and_every_condition(backend):
    made = Boxes.from_rules(
        [({"age": (65, None), "smoker": {"yes"}}, "high"), ({"bmi": (18.5, 25)}, "low")],
        default="low",
        categories={"smoker": ["yes", "no"]},
    )
    made = dataclasses.replace(made, counts=[[8, 2], [0, 5], [1, 84]])
    rules = nw.from_native(to_frame(made, backend=backend))
    assert rules["rule"].to_list() == [0, 1, -1]
    assert rules["if"].to_list() == ['age >= 65 and smoker = "yes"', "18.5 <= bmi <= 25", "in no box above"]
    assert rules["then"].to_list() == ["high", "low", "low"]
    assert rules["n_conditions"].to_list() == [2, 2, 0]
    assert rules["precision"].to_list()[0] == 0.8
    asked = nw.from_native(to_frame(made, form="conditions", backend=backend))
    assert asked["feature"].to_list() == ["age", "smoker", "bmi"]
    assert plain(asked["lower"].to_list()) == [65.0, None, 18.5]
    assert plain(asked["upper"].to_list()) == [None, None, 25.0]
    sets = [
        None if value is None or isinstance(value, float) else list(value) for value in asked["categories"]
    ]
    assert sets == [None, ["yes"], None]
    with pytest.raises(ValueError, match="form must be"):
        to_frame(made, form="q")


def test_no_answer_stays_no_answer_in_every_form():
    made = Boxes.from_rules([({"a": (0, 1)}, 5)], default=None)
    frame = pd.DataFrame({"a": [0.5, 2.0]})
    assert compile_rules(made)({"a": 2}) is None
    assert pl.DataFrame(frame.to_dict("list")).with_columns(b=to_polars(made))["b"].to_list() == [5, None]
    assert frame.query(to_pandas_query(made, None)).index.tolist() == [1]
    assert to_dict(made)["else"] == {"then": None}
    assert plain(to_frame(made)["then"].tolist()) == [5, None]


def learners():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    for learner in (
        HyperNNClassifier(n_boxes=2, random_state=0),
        PRIMClassifier(),
        FMMClassifier(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ):
        learner.fit(X, y)
        made = learner.boxes_ if hasattr(learner, "boxes_") else Boxes.from_tree(learner)
        yield type(learner).__name__, made, X


@pytest.mark.parametrize(
    ("name", "made", "X"), list(learners()), ids=lambda item: item if isinstance(item, str) else ""
)
def test_every_learner_goes_into_every_form(name, made, X):
    expected = made.predict(X).tolist()
    predict = compile_rules(made)
    assert [predict(row) for row in X.to_dict("records")] == expected
    assert pl.from_pandas(X).with_columns(y=to_polars(made))["y"].to_list() == expected
    crisp = dataclasses.replace(made, uncovered="default", scale=None)
    if crisp.n_boxes < 40:
        labels = crisp.predict(X)
        for label in dict.fromkeys(crisp.answers.tolist()):
            assert (
                X.query(to_pandas_query(crisp, label)).index.tolist()
                == np.flatnonzero(labels == label).tolist()
            )
