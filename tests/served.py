"""Drawn tables in real databases: DuckDB, SQLite and PostgreSQL, one connection each."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import duckdb
from hostile import Columns

from hyperboxes import Boxes

TYPES = {
    "duckdb": {"double": "DOUBLE", "real": "REAL", "bigint": "BIGINT", "text": "VARCHAR", "bool": "BOOLEAN"},
    "sqlite": {"double": "REAL", "real": "REAL", "bigint": "INTEGER", "text": "TEXT", "bool": "BOOLEAN"},
    "postgres": {
        "double": "DOUBLE PRECISION",
        "real": "REAL",
        "bigint": "BIGINT",
        "text": "TEXT",
        "bool": "BOOLEAN",
    },
}
QUOTES = {"duckdb": '"', "sqlite": "`", "postgres": '"'}


def sendable(made: Boxes, *more: str) -> bool:
    """Tell whether every database can hold the names and texts of these boxes beside some more names."""
    names = (*made.feature_names, *more)
    texts = [value for known in made.categories.values() for value in known if isinstance(value, str)]
    return (
        made.n_features > 0
        and all(names)
        and len({name.casefold() for name in names}) == len(names)
        and not any("\0" in text or re.search("[\ud800-\udfff]", text) for text in (*names, *texts))
        and all(len(name.encode()) <= 63 for name in names)
    )


def connect(engine: str, address: str) -> Any:
    """Open a connection; ``address`` is that of PostgreSQL."""
    if engine == "duckdb":
        return duckdb.connect()
    if engine == "sqlite":
        return sqlite3.connect(":memory:")
    import psycopg

    return psycopg.connect(address, autocommit=True)


def quoted(engine: str, name: str) -> str:
    """Quote a name."""
    sign = QUOTES[engine]
    return sign + name.replace(sign, sign * 2) + sign


def load(
    connection: Any,
    engine: str,
    table: str,
    columns: Columns,
    key: str,
    keys: list[Any],
    key_type: str = "bigint",
) -> None:
    """Make a table anew, with a primary key in front of the columns."""
    types = TYPES[engine]
    described = [f"{quoted(engine, key)} {types[key_type]} PRIMARY KEY"]
    described += [f"{quoted(engine, name)} {types[kind]}" for name, (kind, _) in columns.items()]
    connection.execute(f"DROP TABLE IF EXISTS {quoted(engine, table)}")
    connection.execute(f"CREATE TABLE {quoted(engine, table)} ({', '.join(described)})")
    rows = list(zip(keys, *(cells for _, cells in columns.values()), strict=True))
    if not rows:
        return
    if engine == "postgres":
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {quoted(engine, table)} FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)
        return
    marks = ", ".join("?" * len(described))
    connection.executemany(f"INSERT INTO {quoted(engine, table)} VALUES ({marks})", rows)
