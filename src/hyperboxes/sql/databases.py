"""Open connections: which dialect they speak, what types a table has, how its rows are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dialects import DIALECTS, Dialect, qualified

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
    if dialect.name == "duckdb":
        found = connection.execute(f"DESCRIBE SELECT * FROM {name}").fetchall()  # noqa: S608 - quoted
        return {row[0]: row[1] for row in found}
    if dialect.name == "spark":
        return dict(connection.table(name).dtypes)
    if dialect.name == "sqlite":
        *schema, last = [table] if isinstance(table, str) else table
        found = connection.execute(
            "SELECT name, type FROM pragma_table_xinfo(?, ?)", (last, schema[-1] if schema else None)
        ).fetchall()
        if not found:
            raise ValueError(f"the database has no table {last!r}")
        return {row[0]: row[1] for row in found}
    return {row[0]: row[1] for row in connection.execute(_POSTGRES_TYPES, [name]).fetchall()}
