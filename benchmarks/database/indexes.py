"""A box of three ranges through an index, against a scan of the same table.

Five million rows of five numbers; boxes that hold 0.1 % and 0.01 % of them; the time to fetch the keys of
the rows in a box, as the median of several runs. In PostgreSQL and SQLite every kind of index that the
advice knows is built and timed, the advised one first, but the cube only with ``--quick``; in DuckDB, row
groups of a sorted Parquet file are counted against those of an unsorted one. Beside them: ``predict`` on
the same rows in memory. All engines must return the same rows.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from timing.bars import Bar, say

from hyperboxes import Boxes
from hyperboxes.retrieval.advice import BUILD, READ, SCAN, advise, sorted_copy_advice
from hyperboxes.retrieval.indexes import KINDS, Index, hints_for
from hyperboxes.retrieval.plans import explain
from hyperboxes.retrieval.rows import Sample, drawn_keys, read_sample
from hyperboxes.retrieval.sources import Source, open_source

N_ROWS, QUICK_ROWS, REPEATS = 5_000_000, 500_000, 7
NAMES = ("a", "b", "c", "d", "e")
#: Multiples of these, less their whole part, fill the unit cube evenly, to the same last bit in any engine.
STEPS = (2**0.5, 3**0.5, 5**0.5, 7**0.5, 11**0.5)
SHARES = (1e-3, 1e-4)
#: Least times faster than the scan, by engine, kind of index and share of the rows.
LIMITS = {
    ("postgres", "grid", 1e-3): 20, ("postgres", "grid", 1e-4): 80,
    ("sqlite", "grid", 1e-3): 100, ("sqlite", "grid", 1e-4): 100, ("sqlite", "rtree", 1e-4): 100,
}  # fmt: skip
LEAST_GROUPS = 5


class Timed(NamedTuple):
    """How long something took, and what it gave."""

    seconds: float
    answer: Any


def timed(function: Callable[[], Any], repeats: int = REPEATS) -> Timed:
    """Give the median time of several calls; the first one, which fills caches, does not count."""
    answer = function()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = function()
        taken.append(time.perf_counter() - start)
    return Timed(statistics.median(taken), answer)


def box(share: float) -> Boxes:
    """Make a box of three ranges that holds this share of the unit cube."""
    width = share ** (1 / 3)
    lower, upper = np.full((1, len(NAMES)), -np.inf), np.full((1, len(NAMES)), np.inf)
    lower[0, :3] = 0.3, 0.5, 0.1
    upper[0, :3] = lower[0, :3] + width
    return Boxes(lower, upper, [True], NAMES, default=False)


def matrix(n_rows: int) -> np.ndarray:
    """Make the rows in memory: row i holds what the engines make of the number i + 1."""
    number = np.arange(1, n_rows + 1, dtype=np.float64)[:, None] * np.array(STEPS)
    return number - np.floor(number)


def cells(number: str, double: str, whole: str) -> str:
    """Write the same rows in SQL."""
    return ", ".join(
        f"{number} * CAST('{step!r}' AS {double}) - {whole.format(f'{number} * CAST({step!r} AS {double})')}"
        f" AS {name}"
        for name, step in zip(NAMES, STEPS, strict=True)
    )


# -- tables ----------------------------------------------------------------------------------------


@contextmanager
def postgres_table(n_rows: int) -> Iterator[Any]:
    sys.path.append(str(Path(__file__).parents[2] / "tests"))
    import psycopg
    from postgres import cluster

    with cluster() as address, psycopg.connect(address, autocommit=True) as connection:
        made = cells("i::float8", "float8", "floor({})")
        connection.execute(
            f"CREATE TABLE points AS SELECT i AS id, {made} FROM generate_series(1, {n_rows}) i".encode()
        )
        connection.execute("ALTER TABLE points ADD PRIMARY KEY (id)")
        connection.execute("VACUUM ANALYZE points")
        yield connection


@contextmanager
def sqlite_table(n_rows: int) -> Iterator[Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(sqlite3.connect(Path(folder) / "points.db")) as connection,
    ):
        connection.execute("PRAGMA cache_size = -1000000")
        connection.execute("PRAGMA journal_mode = OFF")  # nothing here is worth writing twice
        connection.execute("PRAGMA synchronous = OFF")
        columns = ", ".join(f"{name} REAL" for name in NAMES)
        connection.execute(f"CREATE TABLE points (id INTEGER PRIMARY KEY, {columns})")
        X, marks = matrix(n_rows), ", ".join("?" * len(NAMES))
        for start in range(0, n_rows, 500_000):
            part = X[start : start + 500_000].tolist()
            connection.executemany(f"INSERT INTO points ({', '.join(NAMES)}) VALUES ({marks})", part)
        connection.commit()
        yield connection


@contextmanager
def duckdb_table(n_rows: int) -> Iterator[Any]:
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET threads = 1")  # the same rows in the same order
        made = cells("CAST(i AS DOUBLE)", "DOUBLE", "floor({})")
        path = Path(folder) / "points.parquet"
        connection.execute(
            f"COPY (SELECT i AS id, {made} FROM range(1, {n_rows + 1}) r(i)) TO '{path}' "
            "(FORMAT parquet, ROW_GROUP_SIZE 20480)"
        )
        connection.execute("RESET threads")
        yield connection, path


# -- measuring -------------------------------------------------------------------------------------


def keys_query(source: Source, boxes: Boxes, indexes: tuple[Index, ...]) -> str:
    asked = " AND ".join([*hints_for(source, boxes, 0, indexes), source.columns.box(boxes.conditions(0))])
    return f"SELECT {source.key_sql} FROM {source.text} WHERE {asked}"


def drop(source: Source, index: Index) -> None:
    if index.kind == "rtree":
        events = ("insert", "delete", "update")
        source.run([f"DROP TRIGGER {index.name}_{event}" for event in events] + [f"DROP TABLE {index.name}"])
    else:
        source.run([f"DROP INDEX {index.name}"])


def measure(engine: str, connection: Any, expected: dict[float, set[int]], quick: bool) -> list[Bar]:
    """Time boxes by scan and through every kind of index."""
    source = open_source(connection, "points", "id")
    sample = read_sample(source, NAMES, drawn_keys(source, 5000, 0))
    bars = []
    scans = {}
    for share in SHARES:
        query = keys_query(source, box(share), ())
        scans[share] = timed(lambda query=query: source.rows(query), 3)
        check(scans[share].answer, expected[share])
        told(engine, "scan", share, scans[share].seconds, 1.0, "")
    scan_cost = 1e6 * scans[1e-3].seconds / source.n_rows
    print(f"    scan: {scan_cost:.2f} microseconds a row (the advice reckons with {SCAN[engine]})")
    # No column follows the order of the rows here. Pages of a cube index take long to split, and it is
    # advised to nobody: a tenth of the rows say as much.
    left_out = ("brin",) if quick else ("brin", "cube")
    for kind in KINDS[engine]:
        if kind in left_out:
            continue
        bars += measure_kind(engine, source, sample, kind, scans, expected)
    return bars


def measure_kind(
    engine: str, source: Source, sample: Sample, kind: Any, scans: dict[float, Timed],
    expected: dict[float, set[int]],
) -> list[Bar]:  # fmt: skip
    say(f"{engine}: building {kind}")
    [advice] = advise(source, box(SHARES[0]), sample, kind)
    start = time.perf_counter()
    source.run(advice.statements)
    build = time.perf_counter() - start
    if engine == "postgres":
        source.connection.execute("VACUUM ANALYZE points")
    else:
        source.connection.execute("ANALYZE")
    print(
        f"    {kind}: built in {build:.1f} s, {1e6 * build / source.n_rows:.2f} microseconds a row "
        f"(the advice reckons with {BUILD[engine, kind]}; and {READ[engine]} for each entry read)"
    )
    bars = []
    for share in SHARES:
        query = keys_query(source, box(share), (advice.index,))
        plan = explain(source, query)
        found = timed(lambda query=query: source.rows(query))
        check(found.answer, expected[share])
        ratio = scans[share].seconds / found.seconds
        told(engine, kind, share, found.seconds, ratio, "; ".join(plan.steps))
        limit = LIMITS.get((engine, kind, share))
        what = f"{engine} {kind} at {share:.2%}"
        bars.append(Bar(f"{what}, times faster than the scan", ratio, limit, at_least=True))
        if limit is not None:
            bars.append(Bar(f"{what}, index serves", float(plan.served), 1, at_least=True))
    drop(source, advice.index)
    return bars


def told(engine: str, kind: str, share: float, seconds: float, ratio: float, how: str) -> None:
    figures = f"{1e3 * seconds:9.2f} ms  {ratio:7.1f} times"
    print(f"  {engine:9} {kind:7} {share:6.2%} {figures}  {how}", flush=True)


def check(rows: list[tuple[int, ...]], expected: set[int]) -> None:
    if {row[0] for row in rows} != expected or len(rows) != len(expected):
        raise AssertionError(f"{len(rows)} rows where predict finds {len(expected)}")


def measure_duckdb(n_rows: int, expected: dict[float, set[int]]) -> list[Bar]:
    bars = []
    with duckdb_table(n_rows) as (connection, path):
        plain = open_source(connection, path, "id")
        sample = read_sample(plain, NAMES, drawn_keys(plain, 5000, 0))
        copy = path.with_name("sorted.parquet")
        [advice] = sorted_copy_advice(plain, box(SHARES[0]), sample, str(copy))
        start = time.perf_counter()
        connection.execute(advice.statements[0])
        build = time.perf_counter() - start
        print(f"    sorted: built in {build:.1f} s, {1e6 * build / n_rows:.2f} microseconds a row")
        ordered = open_source(connection, copy, "id")
        for share in SHARES:
            found = []
            for name, source in (("plain", plain), ("sorted", ordered)):
                query = keys_query(source, box(share), ())
                plan = explain(source, query)
                took = timed(lambda source=source, query=query: source.rows(query))
                check(took.answer, expected[share])
                found.append((plan.row_groups, took.seconds))
                told("duckdb", name, share, took.seconds, found[0][1] / took.seconds, "; ".join(plan.steps))
            (before, _), (after, _) = found
            ratio = before[0] / max(1, after[0]) if before and after else None
            what = f"duckdb sorted at {share:.2%}, times fewer row groups"
            bars.append(Bar(what, ratio, LEAST_GROUPS, at_least=True))
    return bars


def run(quick: bool) -> list[Bar]:
    """Measure all engines on the same rows."""
    n_rows = QUICK_ROWS if quick else N_ROWS
    X = matrix(n_rows)
    expected = {}
    print(f"  {n_rows:,} rows of {len(NAMES)} numbers, boxes of three ranges")
    for share in SHARES:
        boxes = box(share)
        took = timed(lambda boxes=boxes, rows=X: boxes.predict(rows))
        expected[share] = set((np.flatnonzero(took.answer) + 1).tolist())
        told("memory", "predict", share, took.seconds, 1.0, f"{len(expected[share]):,} rows found")
    bars = measure_duckdb(n_rows, expected)
    for engine, opened in (("sqlite", sqlite_table), ("postgres", postgres_table)):
        say(f"{engine}: making the table")
        with opened(n_rows) as connection:
            bars += measure(engine, connection, expected, quick)
    return bars
