"""The one law of SQL, in real databases: the answer of ``predict`` on every row."""

from __future__ import annotations

import pytest
from engines import ROW, DuckDB, Parquet, Postgres, Spark, SQLite
from hostile import columns_for, matrix_of, sendable
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import boxes

from hyperboxes.sql import column_types, to_sql, verify
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


def answers_of(engine, made, types):
    """Ask a database for the answer, for the rows of each class, and for the rows of each box."""
    options = {"dialect": engine.name, "types": types}
    asked = [to_sql(made, **options)]
    labels = [*made.classes.tolist(), *([None] if made.default is None else [])]
    asked += [f"({to_sql(made, kind='where', label=label, **options)})" for label in labels]
    asked += [f"({to_sql(made, kind='where', box=box, **options)})" for box in range(made.n_boxes)]
    rows = engine.rows(f"SELECT {engine.quoted(ROW)}, {', '.join(asked)} FROM drawn")
    found = [list(column) for column in zip(*rows, strict=True)][1:]
    return found[0], dict(zip(labels, found[1:], strict=False)), found[1 + len(labels) :]


def kinds_of(engine):
    return [kind for kind in engine.types if kind not in ("text", "nocase", "any")]


def check(engine, made, columns, types):
    matrix = matrix_of(made, columns)
    expected = made.predict(matrix).tolist()
    inside = made.contains(matrix).T.tolist()
    answers, by_label, by_box = answers_of(engine, made, types)
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


def draw_and_check(engine, data):
    made = data.draw(boxes())
    assume(sendable(made, DIALECTS[engine.name]))
    plain = data.draw(st.booleans())
    kinds = [kind for kind in kinds_of(engine) if kind in PLAIN] if plain else kinds_of(engine)
    columns = data.draw(columns_for(made, kinds=kinds))
    engine.create(columns)
    if plain:
        check(engine, made, columns, None)
    check(engine, made, columns, column_types(engine.connection, "drawn"))


@settings(max_examples=settings.default.max_examples // 10)
@given(data=st.data())
def test_verify_compares_all_rows_and_finds_no_mismatch(engine, data):
    made = data.draw(boxes())
    assume(sendable(made, DIALECTS[engine.name]))
    engine.create(data.draw(columns_for(made, kinds=kinds_of(engine))))
    found = verify(made, engine.connection, "drawn")
    assert (found.rows, found.mismatches, found.examples) == (12, 0, ())
