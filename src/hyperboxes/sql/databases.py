"""Open connections: which dialect they speak, what types a table has, how its rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from .dialects import DIALECTS, Dialect, name_parts, qualified

#: First part of the module of a connection's class -> dialect.
_MODULES = {
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
    "sqlite3": "sqlite",
    "psycopg": "postgres",
    "pyspark": "spark",
}

#: Types of the columns of a table, view or materialized view; domains as what they are based on.
_POSTGRES_TYPES = """
SELECT a.attname,
       CASE WHEN t.typtype = 'e' OR b.typtype = 'e' THEN 'enum'
            WHEN NOT coalesce(c.collisdeterministic, TRUE) THEN 'text collate'
            WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod)
            ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = CAST(%s AS regclass) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def dialect_of(connection: Any) -> Dialect:
    """Tell which database a connection leads to.

    Raises
    ------
    TypeError
        If it is none of duckdb, sqlite3, psycopg and Spark.
    """
    for kind in type(connection).__mro__:
        name = _MODULES.get(kind.__module__.partition(".")[0])
        if name is not None:
            return DIALECTS[name]
    raise TypeError(
        f"connection is {type(connection).__module__}.{type(connection).__qualname__}; "
        "give one of duckdb, sqlite3 or psycopg (version 3), or a Spark session"
    )


def column_types(connection: Any, table: str | Sequence[str]) -> dict[str, str]:
    """Read the columns of a table and their types, as the database spells them.

    Parameters
    ----------
    connection : connection or Spark session
        Of duckdb, sqlite3, psycopg or pyspark.
    table : str or sequence of str
        One name, or catalog, schema and table.
    """
    dialect = dialect_of(connection)
    name = qualified(table, dialect)
    if dialect.name == "spark":
        return dict(connection.table(name).dtypes)
    if dialect.name == "duckdb":
        found = execute(connection, f"DESCRIBE SELECT * FROM {name}")  # noqa: S608 - quoted
    elif dialect.name == "postgres":
        found = execute(connection, _POSTGRES_TYPES, [name])
    else:
        *schema, last = name_parts(table)
        asked = (last, schema[-1] if schema else None)
        found = execute(connection, "SELECT name, type FROM pragma_table_xinfo(?, ?)", asked)
        if not found:
            raise ValueError(f"the database has no table {last!r}")
    return {row[0]: row[1] for row in found}


def stored_rows(connection: Any, table: str | Sequence[str]) -> int | None:
    """Count the rows of a table that DuckDB keeps itself, about; None for any other source.

    Views are others: what stands behind them may be files.
    """
    dialect = dialect_of(connection)
    if dialect.name != "duckdb":
        return None
    *place, name = map(str.lower, name_parts(table))
    entries = [
        (database.lower(), schema.lower(), rows)
        for database, schema, rows in execute(connection, _DUCKDB_ENTRIES, [name, name])
    ]
    catalog, schema = (str(part).lower() for part in execute(connection, _DUCKDB_PLACE)[0])
    # Of two parts, the first may be a schema or a database: what fits either way must be one alone.
    meant: list[tuple[str, ...]] = [tuple(place)]
    if not place:
        meant = [(catalog, schema), ("temp", "main")]
    elif len(place) == 1:
        meant = [(catalog, *place), (*place, "main"), ("temp", *place)]
    found = [rows for *where, rows in entries if tuple(where) in meant]
    return found[0] if len(found) == 1 else None


#: Tables and views of a name; rows are counted only of what a database of DuckDB's own format holds.
_DUCKDB_ENTRIES = """
SELECT t.database_name, t.schema_name, CASE d.type WHEN 'duckdb' THEN t.estimated_size END
FROM duckdb_tables() t JOIN duckdb_databases() d USING (database_name) WHERE lower(t.table_name) = ?
UNION ALL
SELECT v.database_name, v.schema_name, NULL FROM duckdb_views() v WHERE lower(v.view_name) = ?
"""
_DUCKDB_PLACE = "SELECT current_database(), current_schema()"


def execute(connection: Any, query: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
    """Ask a query and give all rows, as tuples whatever the connection makes of rows."""
    return [row for rows in _row_batches(connection, query, parameters, 10_000) for row in rows]


@dataclass(frozen=True)
class Batch:
    """Some rows that were read: the cells as a frame or array, and the last column apart."""

    frame: Any
    answers: list[Any]

    def row(self, place: int) -> tuple[Any, ...]:
        """Give the cells of one row."""
        if isinstance(self.frame, np.ndarray):
            return tuple(self.frame[place])
        return tuple(self.frame.slice(place, 1).to_pylist()[0].values())


def read_batches(connection: Any, query: str, names: Sequence[str], size: int) -> Iterator[Batch]:
    """Read the rows of a query, some at a time; ``names`` are those of all columns but the last."""
    if names and dialect_of(connection).name == "duckdb" and find_spec("pyarrow") is not None:
        yield from _arrow_batches(connection, query, names, size)
        return
    for rows in _row_batches(connection, query, None, size):
        cells = np.empty((len(rows), len(names)), object)
        for column in range(len(names)):
            cells[:, column] = [row[column] for row in rows]
        yield Batch(cells, [row[-1] for row in rows])


def _arrow_batches(connection: Any, query: str, names: Sequence[str], size: int) -> Iterator[Batch]:
    import pyarrow as pa

    relation = connection.sql(query)
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # before DuckDB 1.5
    for batch in read(size):
        table = pa.Table.from_batches([batch])
        cells = table.select(range(len(names))).rename_columns(list(names))
        yield Batch(cells, table.column(len(names)).to_pylist())


def _row_batches(
    connection: Any, query: str, parameters: Sequence[Any] | None, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    dialect = dialect_of(connection)
    if dialect.name == "spark":
        rows = (tuple(row) for row in connection.sql(query).toLocalIterator())
        while batch := list(islice(rows, size)):
            yield batch
    elif dialect.name == "postgres":
        from psycopg.rows import tuple_row

        # On the server, so that the rows do not all have to fit here; binary, which no setting rounds.
        options = {"binary": True, "row_factory": tuple_row}
        with connection.transaction(), connection.cursor("hyperboxes", **options) as cursor:
            cursor.execute(query, parameters)
            while batch := cursor.fetchmany(size):
                yield batch
    else:
        # A cursor of DuckDB is a connection of its own, which does not see temporary tables.
        cursor = connection
        if dialect.name == "sqlite":
            cursor = connection.cursor()
            cursor.row_factory = None
        result = cursor.execute(query, *(() if parameters is None else (parameters,)))
        while batch := result.fetchmany(size):
            yield batch
