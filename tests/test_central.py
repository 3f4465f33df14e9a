"""Laws of representative rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engines import connect, load
from hostile import columns_for, matrix_of, sendable
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import boxes, tables_for

from hyperboxes import Boxes, representatives
from hyperboxes.central import centres
from hyperboxes.measures import Measure
from hyperboxes.sql import column_types
from hyperboxes.sql.dialects import DIALECTS


def slow_representatives(made, matrix, k):
    """Find them row by row, with Python's own arithmetic."""
    matrix = made._matrix(matrix)
    decided = made.apply(matrix)
    found = centres(made, matrix)
    listed = []
    for box in range(made.n_boxes):
        ranked = []
        for row in np.flatnonzero(decided == box):
            total = 0.0
            for feature, name in enumerate(made.feature_names):
                centre, cell = float(found.centre[box, feature]), float(matrix[row, feature])
                if math.isnan(centre):
                    continue
                if name in made.categories:
                    total += float(cell != centre)
                elif math.isnan(cell):
                    total += 1.0
                else:
                    total += measured(cell, centre, float(found.unit[feature]))
            ranked.append((total, int(row)))
        listed += [(box, row, total) for total, row in sorted(ranked)[:k]]
    return listed


def measured(cell, centre, unit):
    largest = 1.7976931348623157e308
    if cell <= max(centre - 1024 * unit, -largest) or cell >= min(centre + 1024 * unit, largest):
        return 1024.0
    away = abs(cell - centre)
    return 0.0 if away <= unit * 2.0**-40 else away / unit


@given(data=st.data())
def test_representatives_are_those_of_the_slow_loop(data):
    made = data.draw(boxes())
    matrix = data.draw(tables_for(made, max_rows=12)).astype(np.float64)
    k = data.draw(st.integers(1, 4))
    found = representatives(made, matrix, k)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == slow_representatives(made, matrix, k)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_database_finds_the_same_rows_at_the_same_distance(engine, postgres):
    connection = connect(engine, postgres)

    @settings(max_examples=60)
    @given(data=st.data())
    def law(data):
        made = data.draw(boxes(uncovered=("default",)))
        assume(sendable(made, *DIALECTS.values()))
        columns = data.draw(columns_for(made))
        keys = data.draw(st.permutations(range(12)))
        load(connection, engine, "drawn", columns, "the key", keys)
        matrix = matrix_of(made, columns)[np.argsort(keys)]
        centre = centres(made, matrix)
        types = column_types(connection, "drawn")
        query = centre.to_sql("drawn", "the key", 12, dialect=engine, types=types)
        answer = connection.execute(query).fetchall()
        found = centre.rank(matrix, 12)
        expected = list(zip(found.row.tolist(), found.box.tolist(), found.distance.tolist(), strict=True))
        assert answer == expected

    law()
    connection.close()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_a_missing_value_and_another_category_count_as_one(engine, postgres):
    columns = {
        "a": ("double", [1.0, 1.0, 1.0, 1.0, 1.0, 9.0]),
        "b": ("double", [5.0, None, 5.0, 5.0, 7.0, 0.0]),
        "c": ("text", ["x", "x", "y", None, "x", "x"]),
    }
    made = Boxes.from_rules(
        [({"a": (0, 2)}, "in")], default="out", feature_names=["a", "b", "c"], categories={"c": ["x", "y"]}
    )
    matrix = matrix_of(made, columns)
    centre = centres(made, matrix)
    connection = connect(engine, postgres)
    load(connection, engine, "drawn", columns, "key", list(range(6)))
    types = column_types(connection, "drawn")
    answer = connection.execute(centre.to_sql("drawn", "key", 9, dialect=engine, types=types)).fetchall()
    connection.close()
    assert [(row, distance) for row, _, distance in answer if row in (0, 1, 2, 3)] == [
        (0, 0.0), (1, 1.0), (2, 1.0), (3, 1.0),
    ]  # fmt: skip
    assert [row for row, _, _ in answer] == centre.rank(matrix, 9).row.tolist()


@given(
    cells=st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=30),
    power=st.integers(-30, 30),
)
def test_the_unit_of_a_feature_does_not_matter(cells, power):
    X = np.array(cells).reshape(-1, 1)
    made = Boxes([[-np.inf]], [[np.inf]], [1], default=0)
    rescaled = np.ldexp(X, power)
    assert representatives(made, X).row.tolist() == representatives(made, rescaled).row.tolist()


def test_the_middle_row_stands_for_a_box_that_is_open_on_one_side():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [50.0], [-1.0]])
    made = Boxes([[0.5]], [[np.inf]], ["in"], default="out")
    found = representatives(made, X, k=2)
    assert found.row.tolist() == [2, 1]
    assert found.distance[0] == 0.0


def test_rows_of_an_earlier_box_stand_for_that_one_only():
    X = np.arange(10.0).reshape(-1, 1)
    made = Boxes([[0.0], [0.0]], [[4.0], [9.0]], ["a", "b"], default="c")
    found = representatives(made, X, k=1)
    assert found.box.tolist() == [0, 1]
    assert found.row.tolist() == [2, 7]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_k_must_be_a_number_of_rows(k):
    with pytest.raises(ValueError, match="at least 1"):
        representatives(Boxes([[0.0]], [[1.0]], [1], default=0), [[0.5]], k)


@given(
    origin=st.floats(-1e308, 1e308),
    unit=st.floats(1e-300, 1e300),
    cell=st.floats(allow_nan=True, allow_infinity=True),
)
def test_a_measure_is_a_number_of_units(origin, unit, cell):
    away = Measure.around(origin, unit, 1024.0).of(np.array([cell]))[0]
    assert 0 <= away <= 1024.0000001
