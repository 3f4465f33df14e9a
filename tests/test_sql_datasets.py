"""Every benchmark table that is there: SQL gives the answer of ``predict`` on all of its rows."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import pytest
from conftest import LONG
from engines import Postgres

from hyperboxes import FMMClassifier, HyperNNClassifier, PRIMClassifier
from hyperboxes.datasets import SOURCES, load_dataset
from hyperboxes.sql import verify

LOCAL = Path(os.environ.get("HYPERBOXES_DATA", "nowhere"))
SMALL = ("iris", "wine", "cancer", "blood", "cars")
#: Rows to learn from; what is verified are all rows.
LEARNED = 400
LEARNERS = {
    "hypernn": lambda: HyperNNClassifier(n_boxes=3, random_state=0),
    "prim": PRIMClassifier,
    "fmm": FMMClassifier,
}


TABLES = [
    pytest.param(name, marks=pytest.mark.skipif(name not in SMALL and not LONG, reason="HYPERBOXES_LONG=1"))
    for name, source in SOURCES.items()
    if source.shipped or (LOCAL / f"{name}.parquet").exists()
]


def learned(name, learner):
    X, y = load_dataset(name)
    rows = np.random.default_rng(0).permutation(len(X))[:LEARNED]
    return X, LEARNERS[learner]().fit(X.iloc[rows], np.asarray(y)[rows]).boxes_


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", TABLES)
def test_all_rows_of_a_benchmark_table_in_duckdb(name, learner):
    X, boxes = learned(name, learner)
    with duckdb.connect() as connection:
        connection.register("frame", X)
        connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
        found = verify(boxes, connection, "rows")
    assert (found.rows, found.mismatches) == (len(X), 0), str(found)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", ["wine", "blood"])
def test_all_rows_of_a_benchmark_table_in_postgres(name, learner, postgres):
    if not SOURCES[name].shipped and not (LOCAL / f"{name}.parquet").exists():
        pytest.skip(f"{name} is not in HYPERBOXES_DATA")
    X, boxes = learned(name, learner)
    engine = Postgres(postgres)
    engine.create({column: ("double", X[column].astype(float).tolist()) for column in X.columns}, "rows")
    found = verify(boxes, engine.connection, "rows")
    engine.close()
    assert (found.rows, found.mismatches) == (len(X), 0), str(found)
