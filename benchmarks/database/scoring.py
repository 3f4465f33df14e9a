"""Ten boxes of five features each over 10 million rows of 20 columns in DuckDB, on one core.

The columns are uniform, and the boxes cover about a third of the rows. Beside the exact CASE for this table,
for its types alone and without them: the sum of all twenty columns, which is what reading them costs; predict
on the same rows in memory, on one core; and the SQL that posit-dev's orbital makes of a decision tree of
as many leaves, learned from the boxes' answers. The best of three runs each; every query counts its answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from timing.bars import Bar

from hyperboxes import Boxes
from hyperboxes.sql import column_types, to_sql

ROWS, COLUMNS, BOXES, FEATURES = 10_000_000, 20, 10, 5
RUNS = 3
#: Rows in a second and core.
BAR = 10e6
TABLE = "scored"


def make_boxes(rng: np.random.Generator) -> Boxes:
    """Draw boxes of 4 % of the rows each."""
    lower, upper = np.full((BOXES, COLUMNS), -np.inf), np.full((BOXES, COLUMNS), np.inf)
    width = 0.04 ** (1 / FEATURES)
    for box in range(BOXES):
        features = rng.choice(COLUMNS, FEATURES, replace=False)
        begin = rng.uniform(0, 1 - width, FEATURES).round(3)
        lower[box, features], upper[box, features] = begin, (begin + width).round(3)
    return Boxes(lower, upper, ["inside"] * BOXES, default="outside")


def fill(connection: Any, X: NDArray[np.float64]) -> None:
    """Store the rows in a table of the database, block by block."""
    names = ", ".join(f"x{column} DOUBLE" for column in range(COLUMNS))
    connection.execute(f"CREATE TABLE {TABLE} ({names})")
    step = 1_000_000
    for begin in range(0, len(X), step):
        block = {f"x{column}": X[begin : begin + step, column] for column in range(COLUMNS)}
        connection.register("block", block)
        connection.execute(f"INSERT INTO {TABLE} SELECT * FROM block")
        connection.unregister("block")


def tree_query(boxes: Boxes, X: NDArray[np.float64]) -> tuple[str, int] | None:
    """Write a tree of as many leaves as boxes and default as SQL; None without orbital."""
    try:
        import orbital
        from orbital.types import DoubleColumnType
    except ImportError:
        return None
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    sample = X[:100_000]
    tree = DecisionTreeClassifier(max_leaf_nodes=BOXES + 1, random_state=0)
    pipeline = make_pipeline(tree).fit(sample, boxes.predict(sample) == "inside")
    features = {f"x{column}": DoubleColumnType() for column in range(COLUMNS)}
    parsed = orbital.parse_pipeline(pipeline, features=features)
    return orbital.export_sql(TABLE, parsed, dialect="duckdb"), int(tree.get_n_leaves())


def best(call: Callable[[], object]) -> float:
    """Time a call, the best of a few."""
    times = []
    for _ in range(RUNS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def run(quick: bool) -> list[Bar]:
    """Measure and print the table."""
    rows = ROWS // 10 if quick else ROWS
    rng = np.random.default_rng(0)
    boxes, X = make_boxes(rng), rng.random((rows, COLUMNS))
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    fill(connection, X)

    def ask(query: str) -> dict[Any, int]:
        return dict(connection.execute(query).fetchall())

    def counted(answer: str) -> str:
        return f"SELECT answer, count(*) FROM (SELECT {answer} AS answer FROM {TABLE}) GROUP BY answer"

    predicted = boxes.predict(X)
    expected = dict(zip(*(part.tolist() for part in np.unique(predicted, return_counts=True)), strict=True))
    known = counted(to_sql(boxes, table=TABLE, connection=connection, kind="case"))
    typed = counted(to_sql(boxes, types=column_types(connection, TABLE)))
    untyped = counted(to_sql(boxes))
    for query in (known, typed, untyped):
        if ask(query) != expected:
            raise AssertionError("the database and predict disagree")
    total = " + ".join(f"sum(x{column})" for column in range(COLUMNS))
    measured = {
        "sum of all columns": best(lambda: connection.execute(f"SELECT {total} FROM {TABLE}").fetchall()),
        "exact CASE, table known": best(lambda: ask(known)),
        "exact CASE, types known": best(lambda: ask(typed)),
        "exact CASE, types unknown": best(lambda: ask(untyped)),
    }
    os.environ["OMP_NUM_THREADS"] = "1"
    measured["predict in memory"] = best(lambda: boxes.predict(X))
    tree = tree_query(boxes, X)
    if tree is not None:
        query, leaves = tree
        counting = (
            f"SELECT output_label, count(*) FROM ({query.rstrip(';')}) AS answers GROUP BY output_label"
        )
        measured[f"orbital, tree of {leaves} leaves"] = best(lambda: ask(counting))
    share = expected["inside"] / rows
    print(f"{rows:,} rows x {COLUMNS} columns, one core; {share:.0%} of the rows in a box")
    for name, seconds in measured.items():
        print(f"  {name:30} {seconds:7.3f} s  {rows / seconds / 1e6:7.1f} million rows/s")
    speed = rows / measured["exact CASE, table known"]
    return [Bar("exact CASE, rows in a second and core", speed, None if quick else BAR, at_least=True)]
