"""The one law of SQL, in real databases: the answer of ``predict`` on every row."""

from __future__ import annotations

import math
import sqlite3

import pytest
from engines import ROW, DuckDB, Parquet, Postgres, Spark, SQLite
from hostile import TEXTS, columns_for, matrix_of, sendable
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import boxes

from hyperboxes import Boxes
from hyperboxes.sql import column_types, dialects, predicates, query, to_sql, verify
from hyperboxes.sql.dialects import DIALECTS

#: Kinds of columns that need no types to be exact.
PLAIN = ("double", "real", "bigint", "smallint")


@pytest.fixture(scope="module", params=["duckdb", "parquet", "postgres", "sqlite"])
def engine(request, tmp_path_factory):
    made = {
        "duckdb": DuckDB,
        "parquet": lambda: Parquet(tmp_path_factory.mktemp("parquet")),
        "postgres": lambda: Postgres(request.getfixturevalue("postgres")),
        "sqlite": SQLite,
    }[request.param]()
    yield made
    made.close()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    made = Spark(tmp_path_factory.mktemp("spark"))
    yield made
    made.close()


def answers_of(engine, made, options):
    """Ask a database for the answer, for the rows of each class, and for the rows of each box."""
    asked = [to_sql(made, kind="case", **options)]
    labels = [*made.classes.tolist(), *([None] if made.default is None else [])]
    asked += [f"({to_sql(made, kind='where', label=label, **options)})" for label in labels]
    asked += [f"({to_sql(made, kind='where', box=box, **options)})" for box in range(made.n_boxes)]
    rows = engine.rows(f"SELECT {engine.quoted(ROW)}, {', '.join(asked)} FROM drawn")
    found = [list(column) for column in zip(*rows, strict=True)][1:]
    return found[0], dict(zip(labels, found[1:], strict=False)), found[1 + len(labels) :]


def kinds_of(engine):
    return [kind for kind in engine.types if kind not in ("text", "nocase", "any")]


def check(engine, made, columns, **options):
    matrix = matrix_of(made, columns)
    expected = made.predict(matrix).tolist()
    inside = made.contains(matrix).T.tolist()
    answers, by_label, by_box = answers_of(engine, made, options)
    assert answers == expected
    if engine.name != "sqlite":  # which has no booleans
        assert [type(answer) for answer in answers] == [type(answer) for answer in expected]
    for label, chosen in by_label.items():
        assert [bool(yes) for yes in chosen] == [answer == label for answer in expected]
    assert [[bool(yes) for yes in rows] for rows in by_box] == inside


@given(data=st.data())
def test_database_gives_the_answer_of_predict_on_every_row(engine, data):
    draw_and_check(engine, data)


@settings(max_examples=settings.default.max_examples // 20)
@given(data=st.data())
def test_spark_gives_the_answer_of_predict_on_every_row(spark, data):
    draw_and_check(spark, data)


@settings(max_examples=settings.default.max_examples // 2)
@given(data=st.data())
def test_box_table_gives_the_answer_of_predict_on_every_row(engine, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "MOST_BRANCHES", 1)
        try:
            draw_and_check(engine, data)
        except ValueError as error:
            assume("too far from its scale" not in str(error))
            raise


def draw_and_check(engine, data):
    made = data.draw(boxes())
    assume(sendable(made, DIALECTS[engine.name]))
    plain = data.draw(st.booleans())
    kinds = [kind for kind in kinds_of(engine) if kind in PLAIN] if plain else kinds_of(engine)
    columns = data.draw(columns_for(made, kinds=kinds))
    engine.create(columns)
    if plain:
        check(engine, made, columns, dialect=engine.name)
    if engine.name == "duckdb":  # which says more of a table that it keeps than its types
        check(engine, made, columns, types=column_types(engine.connection, "drawn"))
    check(engine, made, columns, table="drawn", connection=engine.connection)


@settings(max_examples=settings.default.max_examples // 10)
@given(data=st.data())
def test_verify_compares_all_rows_and_finds_no_mismatch(engine, data):
    made = data.draw(boxes())
    assume(sendable(made, DIALECTS[engine.name]))
    engine.create(data.draw(columns_for(made, kinds=kinds_of(engine))))
    found = verify(made, engine.connection, "drawn")
    assert (found.rows, found.mismatches, found.examples) == (12, 0, ())


# -- what a stranger may call things ---------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_table_column_label_category_and_view_stay_one_harmless_statement(engine, name):
    made = Boxes.from_rules(
        [({name: (None, 2), "kind": {name, "b"}}, name)],
        default="other" + name,
        categories={"kind": [name, "b", "c"]},
    )
    if engine.name == "postgres" and len(name.encode()) > 63 - len("_answer"):
        with pytest.raises(ValueError, match="bytes"):
            to_sql(made, table=name, dialect="postgres", column="answer", kind="view")
        return
    # Not the package's own quoting.
    table, view = (f'"{text}"' for text in (name.replace('"', '""'), name.replace('"', '""') + "_answer"))
    engine.execute("DROP TABLE IF EXISTS canary")
    engine.execute("CREATE TABLE canary AS SELECT 1 AS one")
    engine.execute(f"CREATE TABLE {table} ({table} DOUBLE PRECISION, kind VARCHAR(300))")
    engine.insert(name, [(1.0, name), (1.0, "c"), (3.0, name)])
    expected = [name, "other" + name, "other" + name]
    query = to_sql(made, table=name, connection=engine.connection, column="answer")
    assert sorted(row[-1] for row in engine.connection.execute(query).fetchall()) == sorted(expected)
    engine.execute(to_sql(made, table=name, dialect=engine.name, column="answer", kind="view"))
    found = engine.connection.execute(f"SELECT * FROM {view}")
    if (engine.name, name) != ("sqlite", "True"):  # which SQLite calls column1 in a view
        assert [column[0] for column in found.description] == [name, "kind", "answer"]
    assert sorted(row[-1] for row in found.fetchall()) == sorted(expected)
    engine.execute(f"DROP VIEW {view}")
    engine.execute(f"DROP TABLE {table}")
    assert engine.connection.execute("SELECT * FROM canary").fetchall() == [(1,)]


def test_hostile_columns_and_labels_in_spark(spark):
    names = list({name.casefold(): name for name in TEXTS}.values())
    assert len(names) >= 60
    made = Boxes.from_rules([({name: (0.5, 1.5)}, name) for name in names], default="none")
    spark.create(
        {
            name: ("double", [float(row == place) for row in range(len(names))])
            for place, name in enumerate(names)
        }
    )
    assert [row[-1] for row in spark.rows(to_sql(made, table="drawn", dialect="spark"))] == names


# -- broken versions, each of which must be noticed ------------------------------------------------

BOUNDS = [0.1, 0.30000000000000004, 1 / 3, 2.0, 16777217.0, 123456789.12345679]


def strict(cell, lower, upper):
    """Write < for <=."""
    sides = [f"{cell} {side.operator.rstrip('=')} {side.literal}" for side in (lower, upper) if side]
    return " AND ".join(sides) or f"{cell} IS NOT NULL"


def one_sided(cell, lower, upper):
    """Leave the open side out, which keeps out NaN, or in SQLite a text."""
    if upper is not None and ("Infinity" in upper.literal or "9e999" in upper.literal):
        upper = None
    return BETWEEN(cell, lower, upper)


BETWEEN = predicates._between
MUTANTS = {
    "< for <=": [(predicates, "_between", strict)],
    "%.15g": [
        (dialects, "_spelled", lambda value: f"{value:.15g}".replace("inf", "Infinity")),
        (dialects, "_sqlite_number", lambda value: f"{value:.15g}".replace("inf", "9e999")),
    ],
    "one side": [
        (predicates, "_between", one_sided),
        (predicates.Columns, "unsafe", lambda self, condition: None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("mutant", [None, *MUTANTS])
def test_verify_notices_a_broken_version(engine, mutant, monkeypatch):
    made = Boxes.from_rules(
        [({"a": (bound, bound)}, str(bound)) for bound in BOUNDS] + [({"a": (1e9, None)}, "far")],
        default="none",
    )
    near = [math.nextafter(bound, to) for bound in BOUNDS for to in (-math.inf, bound, math.inf)]
    cells = [*near, 1e9, math.nan, math.inf, -math.inf, None]
    if engine.name == "sqlite":
        cells.append("text")
    engine.create({"a": ("double", cells)})
    for place, name, broken in MUTANTS.get(mutant, ()):
        monkeypatch.setattr(place, name, broken)
    for types in ({"a": "double precision"}, None):
        found = verify(made, engine.connection, "drawn", types=types)
        assert found.rows == len(cells)
        assert (found.mismatches > 0) == (mutant is not None), str(found)


def test_a_text_among_numbers_is_missing_in_sqlite():
    made = Boxes.from_rules([({"x": {None}}, "none"), ({"x": (0, None)}, "some")], default="less")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    connection.executemany("INSERT INTO t VALUES (?)", [("a",), (None,), (1,), (-1.5,), ("2",), (b"3",)])
    answers = connection.execute(to_sql(made, table="t", dialect="sqlite")).fetchall()
    assert [answer for _, answer in answers] == ["none", "none", "some", "less", "none", "none"]
    assert verify(made, connection, "t").mismatches == 0
