from __future__ import annotations

import math
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pytest
from hostile import sendable
from hypothesis import assume, given
from strategies import boxes

from hyperboxes import Boxes
from hyperboxes.sql import to_sql, verify
from hyperboxes.sql.databases import stored_rows
from hyperboxes.sql.dialects import DIALECTS

AGE = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")


@pytest.mark.parametrize(
    ("cell", "inside"),
    [(0.1, True), (math.nextafter(0.1, 1), True), (math.nextafter(0.1, 0), False), (math.nan, False),
     (None, False), (math.inf, True), (-math.inf, False)],
)  # fmt: skip
def test_open_side_keeps_missing_values_out(cell, inside):
    boxes = Boxes.from_rules([({"a": (0.1, None)}, 1)], default=0)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT CAST(? AS DOUBLE) AS a", [cell])
        assert con.execute(to_sql(boxes, table="t")).fetchone()[-1] == int(inside)


STORED = Boxes.from_rules(
    [({"a": (0.2, 0.9), "b": (0.5, None), "c": (10, 990)}, "in"), ({"b": (None, 0.1)}, "low")], default="out"
)


def test_stored_table_of_duckdb_is_asked_the_most_selective_side_first_and_nothing_of_nan():
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i / 1e3 AS a, CAST(i / 1e3 AS REAL) AS b, i AS c FROM range(1000) r(i)"
        )
        con.execute("CREATE VIEW v AS FROM t")
        assert to_sql(STORED, table="t", connection=con, kind="case") == (
            "CASE\n"
            "  WHEN \"b\" >= CAST('0.5' AS FLOAT)\n"
            "    AND \"a\" >= CAST('0.2' AS DOUBLE)\n"
            "    AND \"a\" <= CAST('0.9' AS DOUBLE)\n"
            '    AND "c" >= 10\n'
            '    AND "c" <= 990\n'
            "    AND \"b\" <= CAST('Infinity' AS FLOAT) THEN 'in'\n"
            "  WHEN \"b\" <= CAST('0.09999999403953552' AS FLOAT) THEN 'low'\n"
            "  ELSE 'out'\nEND"
        )
        # What is behind a view may be files, whose statistics leave NaN out.
        assert "IS DISTINCT FROM" in to_sql(STORED, table="v", connection=con)


@pytest.mark.parametrize("nan", ["INSERT INTO t SELECT * REPLACE ('nan' AS {0}) FROM t LIMIT 1",
                                 "UPDATE t SET {0} = 'nan'"])  # fmt: skip
@pytest.mark.parametrize("column", ["a", "b"])
@pytest.mark.parametrize("settled", ["SELECT 1", "CHECKPOINT"])
def test_statistics_of_a_stored_table_know_of_nan(tmp_path, nan, column, settled):
    with duckdb.connect(tmp_path / "stored.duckdb") as con:
        con.execute("CREATE TABLE t (a DOUBLE, b REAL, c INTEGER)")
        con.execute("INSERT INTO t SELECT 0.5, 0.6, 500 FROM range(5000)")
        con.execute("CHECKPOINT")
        con.execute(nan.format(column))
        con.execute(settled)
        found = verify(STORED, con, "t")
        assert (found.mismatches, found.examples) == (0, ())


@pytest.mark.parametrize(
    ("name", "shadow", "stored"),
    [
        ("t", None, True), (("main", "t"), None, True), (("memory", "main", "T"), None, True),
        ("other", None, False), ("v", None, False), (("other", "main", "t"), None, True),
        ("t", "CREATE TEMP VIEW t AS SELECT 0.5 AS a", False),
        ("t", "CREATE SCHEMA s; CREATE VIEW s.t AS SELECT 0.5 AS a; SET schema = 's'", False),
        ("t", "CREATE TEMP TABLE t (a DOUBLE)", False),
    ],
)  # fmt: skip
def test_only_a_name_that_can_mean_nothing_else_is_a_stored_table(name, shadow, stored):
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 0.5 AS a; CREATE VIEW v AS FROM t")
        con.execute("ATTACH ':memory:' AS other; CREATE TABLE other.t AS SELECT 0.5 AS a")
        con.execute(shadow or "SELECT 1")
        assert stored_rows(con, name) == (1 if stored else None)


@pytest.mark.parametrize("rules", [[], [({}, True)], [({"FALSE": (0, 1)}, True), ({"TRUE": (0, 1)}, False)]])
@pytest.mark.parametrize("default", [True, False, None])
def test_columns_called_true_and_false_are_not_the_truth_of_sqlite(rules, default):
    boxes = Boxes.from_rules(rules, default=default, feature_names=["TRUE", "FALSE"])
    rows = [(0, 1), (1, 0), (5, 7), (7, 0.5)]
    with closing(sqlite3.connect(":memory:")) as con:
        con.execute('CREATE TABLE t ("TRUE" REAL, "FALSE" REAL)')
        con.executemany("INSERT INTO t VALUES (?, ?)", rows)
        expected = boxes.predict(np.array(rows)).tolist()
        assert [row[-1] for row in con.execute(to_sql(boxes, table="t", connection=con))] == expected
        for label in set(expected):
            where = to_sql(boxes, table="t", connection=con, kind="where", label=label)
            found = [bool(row[0]) for row in con.execute(f"SELECT {where} FROM t")]
            assert found == [answer == label for answer in expected]


def test_column_called_rowid_does_not_stand_for_the_number_of_the_row():
    boxes = Boxes.from_rules(
        [({"rowid": {"x"}, "a": (0, 1)}, 1)], default=0, categories={"rowid": ["x", "y"]}
    )
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 'x' AS rowid, 0.5 AS a")
        assert con.execute(to_sql(boxes, table="t", connection=con)).fetchone()[-1] == 1


def test_categories_may_come_as_an_enum_and_integers_in_any_width():
    boxes = Boxes.from_rules(
        [({"a": {"x", "z"}, "b": {1, 2}}, 1)], default=0, categories={"a": ["x", "y", "z"], "b": [1, 2, 3]}
    )
    with duckdb.connect() as con:
        con.execute("CREATE TYPE e AS ENUM ('x', 'y')")
        for width in ("TINYINT", "BIGINT", "HUGEINT", "REAL", "DOUBLE"):
            con.execute(f"CREATE OR REPLACE TABLE t (a e, b {width})")
            con.execute("INSERT INTO t VALUES ('x', 1), ('x', 3), ('y', 1), ('x', NULL), (NULL, 1)")
            assert [row[-1] for row in con.execute(to_sql(boxes, table="t")).fetchall()] == [1, 0, 0, 0, 0]


def test_numbers_as_categories_are_compared_as_doubles():
    boxes = Boxes.from_rules([({"a": {16777217}}, 1)], default=0, categories={"a": [1, 16777217]})
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (a REAL)")
        con.execute("INSERT INTO t VALUES (16777217)")  # becomes 16777216, which is no category
        assert con.execute(to_sql(boxes, table="t")).fetchone()[-1] == 0


def test_box_without_conditions_and_no_boxes_at_all():
    everything = Boxes.from_rules([({}, "a")], default="b", feature_names=["x"])
    nothing = Boxes(np.empty((0, 1)), np.empty((0, 1)), np.empty(0, int), ("x",), default=7)
    silent = Boxes(np.empty((0, 1)), np.empty((0, 1)), np.empty(0, int), ("x",))
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT CAST(NULL AS DOUBLE) AS x")
        for boxes in (everything, nothing, silent):
            answer = con.execute(to_sql(boxes, table="t")).fetchone()[-1]
            assert answer == boxes.predict([[math.nan]])[0]


@pytest.mark.parametrize(
    ("boxes", "arguments", "message"),
    [
        (AGE, {"dialect": "oracle"}, "dialect must be one of"),
        (AGE, {"kind": "what"}, "kind must be"),
        (AGE, {"kind": "select"}, "needs the table"),
        (AGE, {"table": ""}, "empty"),
        (AGE, {"table": ()}, "at least one"),
        (AGE, {"table": "a\0b"}, "NUL"),
        (AGE, {"table": "t", "column": "AGE"}, "one column to this database"),
        (AGE, {"table": "t", "column": "é" * 32, "dialect": "postgres"}, "64 bytes"),
        (Boxes.from_rules([({"": (0, 1)}, 1)], default=0), {}, "empty"),
        (Boxes.from_rules([({"\ud800": (0, 1)}, 1)], default=0), {}, "surrogate"),
        (Boxes.from_rules([({"a": (0, 1), "A": (0, 1)}, 1)], default=0), {}, "one column to this database"),
        (Boxes.from_rules([({"x" * 64: (0, 1)}, 1)], default=0), {"dialect": "postgres"}, "64 bytes"),
        (Boxes.from_rules([({"a": (0, 1)}, "n\0o")], default="m"), {}, "NUL"),
        (Boxes.from_rules([({"a": {2**53}}, 1)], default=0, categories={"a": [1, 2**53]}), {}, "too large"),
        (Boxes.from_rules([({"a": {1, "x"}}, 1)], default=0, categories={"a": [1, "x", 2]}), {}, "mix text"),

    ],
)  # fmt: skip
def test_what_cannot_be_exact_is_refused(boxes, arguments, message):
    with pytest.raises(ValueError, match=message):
        to_sql(boxes, **arguments)


def test_postgres_text_has_its_types_and_its_escapes():
    boxes = Boxes.from_rules(
        [({"a": (None, 0.1), 'b"c': {"x\\y", "it's"}}, "l\\n")],
        default=None,
        categories={'b"c': ["x\\y", "it's", "z"]},
    )
    assert to_sql(boxes, table=("public", "t"), dialect="postgres") == (
        "SELECT *, CASE\n"
        "  WHEN CAST(\"a\" AS DOUBLE PRECISION) <= CAST('0.1' AS DOUBLE PRECISION)\n"
        "    AND CAST(\"b\"\"c\" AS TEXT) COLLATE \"C\" IN (E'x\\\\y', 'it''s') THEN E'l\\\\n'\n"
        '  ELSE NULL\nEND AS "prediction"\nFROM "public"."t"'
    )


@given(made=boxes(uncovered=("default",)))
def test_an_independent_parser_finds_one_query_over_the_features_only(made):
    assume(sendable(made, DIALECTS["duckdb"]))
    sqlglot = pytest.importorskip("sqlglot")
    from sqlglot import exp

    harmless = {
        "Alias", "And", "Between", "Boolean", "ByteString", "Case", "Cast", "Collate", "Column", "DataType",
        "EQ", "From", "GTE", "Greatest", "Identifier", "If", "In", "Is", "LTE", "Literal", "Not", "Null",
        "NullSafeNEQ", "Or", "Paren", "Select", "Star", "Table",
    }  # fmt: skip
    for dialect in ("duckdb", "postgres"):
        try:
            text = to_sql(made, table="t", dialect=dialect, column="the prediction")
        except ValueError:
            assert dialect == "postgres"  # a name of more than 63 bytes
            continue
        (statement,) = sqlglot.parse(text, dialect=dialect)
        asked = {made.feature_names[column] for column in np.flatnonzero(made.restricted.any(axis=0))}
        assert {column.name for column in statement.find_all(exp.Column)} == asked
        assert {type(node).__name__ for node in statement.walk()} <= harmless
