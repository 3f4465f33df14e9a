"""Verify: run the SQL in the database and ``predict`` in memory over the same rows, and compare."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes, Label
from ..tables import to_matrix
from .databases import Batch, column_types, dialect_of, execute, read_batches
from .dialects import qualified
from .predicates import Columns
from .query import to_sql

#: Rows in memory at a time.
BATCH_ROWS = 100_000
#: The cells of a row, the answer of the database, and that of ``predict``.
Example = tuple[dict[str, Any], Label | None, Label | None]
#: Rows of which the two answers are shown if they differ.
EXAMPLES = 5


@dataclass(frozen=True)
class Verification:
    """What came of asking the database and ``predict`` for the same rows.

    Parameters
    ----------
    rows : int
        Rows compared: all of the table.
    mismatches : int
        Rows on which the two differ.
    examples : tuple of (cells, database's answer, answer of predict)
        The first few of them.
    database_seconds : float
        Time the database took to answer for all rows and to count the answers.
    predict_seconds : float
        Time ``predict`` took for the same rows, once they were in memory.
    """

    rows: int
    mismatches: int
    examples: tuple[Example, ...]
    database_seconds: float
    predict_seconds: float

    @property
    def database_rows_per_second(self) -> float:
        """Rows that the database answers in a second."""
        return self.rows / self.database_seconds

    @property
    def predict_rows_per_second(self) -> float:
        """Rows that ``predict`` answers in a second."""
        return self.rows / self.predict_seconds if self.predict_seconds else float("nan")

    def __str__(self) -> str:
        lines = [
            f"{self.rows:,} rows, {self.mismatches:,} mismatches; "
            f"database {self.database_rows_per_second:,.0f} rows/s, "
            f"predict {self.predict_rows_per_second:,.0f} rows/s"
        ]
        lines += [
            f"  {cells}: database {answer!r}, predict {expected!r}"
            for cells, answer, expected in self.examples
        ]
        return "\n".join(lines)


def verify(
    boxes: Boxes,
    connection: Any,
    table: str | Sequence[str],
    *,
    types: Mapping[str, str] | None = None,
    progress: bool = False,
) -> Verification:
    """Compare the SQL of boxes with ``predict`` on every row of a table.

    Parameters
    ----------
    boxes : Boxes
        The model.
    connection : connection or Spark session
        Of duckdb, sqlite3, psycopg or pyspark. It is only read from.
    table : str or sequence of str
        One name, or catalog, schema and table.
    types : mapping of column name to type, optional
        By default as the database says.
    progress : bool
        Show a bar.

    Examples
    --------
    >>> import sqlite3
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.sql import verify
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE patients (age INTEGER)")
    >>> _ = connection.executemany("INSERT INTO patients VALUES (?)", [(64,), (65,), (None,)])
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> found = verify(boxes, connection, "patients")
    >>> found.rows, found.mismatches
    (3, 0)
    """
    dialect = dialect_of(connection)
    types = column_types(connection, table) if types is None else types
    columns = Columns.of(dialect, types)
    used = [boxes.feature_names[feature] for feature in np.flatnonzero(boxes.restricted.any(axis=0))]
    source = qualified(table, dialect)
    answer = to_sql(boxes, table=table, connection=connection, types=types, kind="case")
    begin = time.perf_counter()
    count = f"SELECT prediction, count(*) FROM (SELECT {answer} AS prediction FROM {source}) AS answers"  # noqa: S608
    rows = sum(number for _, number in execute(connection, f"{count} GROUP BY prediction"))
    database_seconds = time.perf_counter() - begin

    read = "".join(f"{columns.as_read(name, categorical=name in boxes.categories)}, " for name in used)
    query = f"SELECT {read}{answer} AS prediction FROM {source}"  # noqa: S608 - quoted, part by part
    compared, mismatches, predict_seconds = 0, 0, 0.0
    examples: list[Example] = []
    for batch in _watched(read_batches(connection, query, used, BATCH_ROWS), rows, progress):
        matrix = _matrix(boxes, used, batch)
        if not compared:
            boxes.predict(matrix[:1])  # what is compiled or loaded once is no part of the rate
        begin = time.perf_counter()
        predicted = boxes.predict(matrix)
        predict_seconds += time.perf_counter() - begin
        expected = predicted.tolist()
        differ = [row for row, found in enumerate(batch.answers) if found != expected[row]]
        compared += len(expected)
        mismatches += len(differ)
        for row in differ[: EXAMPLES - len(examples)]:
            examples.append((dict(zip(used, batch.row(row), strict=True)), batch.answers[row], expected[row]))
    return Verification(compared, mismatches, tuple(examples), database_seconds, predict_seconds)


def _matrix(boxes: Boxes, used: Sequence[str], batch: Batch) -> NDArray[np.float64]:
    """Read the cells as ``predict`` does; columns that no box asks are left empty."""
    matrix = np.full((len(batch.answers), boxes.n_features), np.nan)
    if used:
        places = [boxes.feature_names.index(name) for name in used]
        categories = {name: known for name, known in boxes.categories.items() if name in used}
        with warnings.catch_warnings():
            # Both sides round integers beyond 2**53; that they do so alike is what is verified.
            warnings.filterwarnings("ignore", message=".*beyond 2\\*\\*53", category=UserWarning)
            matrix[:, places] = to_matrix(batch.frame, used, categories)
    return matrix


def _watched(batches: Iterator[Batch], rows: int, progress: bool) -> Iterator[Batch]:
    if not progress:
        yield from batches
        return
    from tqdm.auto import tqdm

    with tqdm(total=rows, unit="row", desc="verify", leave=False) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch.answers))
