"""Sources: a table or file that an open connection reaches, and the key that tells its rows apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..sql.columns import parse_type
from ..sql.databases import column_types, dialect_of
from ..sql.dialects import Dialect, qualified
from ..sql.predicates import Columns

#: Endings of files that DuckDB reads, and the function that does.
_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
#: What DuckDB calls the place of a row in a Parquet file.
FILE_ROW = "file_row_number"
#: What holds numbers; SQLite does not know what a column holds unless it is text.
NUMERIC_SORTS = frozenset(("double", "real", "integer", "decimal", "boolean", "unknown"))


@dataclass(frozen=True)
class Source:
    """Rows that a connection reaches: a table, a view, or a file read by DuckDB.

    ``text`` is what stands behind FROM, ``parts`` the name of a table (None for a file), ``types`` the
    type of each column as the database spells it.
    """

    connection: Any
    dialect: Dialect
    text: str
    title: str
    parts: tuple[str, ...] | None
    types: dict[str, str]
    key: str
    n_rows: int

    @property
    def columns(self) -> Columns:
        """The columns as predicates write them."""
        return Columns.of(self.dialect, self.types)

    @property
    def key_sql(self) -> str:
        """The key column, quoted."""
        return self.dialect.identifier(self.key)

    def key_order_of(self, expression: str) -> str:
        """Write the key as it is sorted: text by code points, whatever the column's collation."""
        sort = self.sort_of(self.key)
        if sort not in ("text", "enum") or self.dialect.name == "duckdb":
            return expression
        if self.dialect.name == "sqlite":
            return f"{expression} COLLATE BINARY"
        return f'{expression if sort == "text" else f"CAST({expression} AS TEXT)"} COLLATE "C"'

    def sort_of(self, name: str) -> str:
        """Tell what a column holds: "double", "integer", "text", …."""
        return parse_type(self.types[name], self.dialect.name).sort

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a query that reads."""
        return read(self.connection, self.dialect, query, *parameters)

    def run(self, statements: Iterable[str]) -> None:
        """Run statements that change the database, all of them or none."""
        statements = list(statements)
        if self.dialect.name == "postgres":
            with self.connection.transaction():
                for statement in statements:
                    self.connection.execute(statement.encode(), prepare=False)
            return
        # A transaction of the caller stays the caller's: it is neither committed nor rolled back here.
        begun = self.dialect.name == "duckdb" or not self.connection.in_transaction
        if begun:
            self.connection.execute("BEGIN")
        try:
            for statement in statements:
                self.connection.execute(statement)
        except BaseException:
            if begun:
                self.connection.execute("ROLLBACK")
            raise
        if begun:
            self.connection.execute("COMMIT")

    def has_key(self, place: int = 1) -> str:
        """Write the condition that the key is in a list, which is passed as one parameter."""
        sort, spelled = self.sort_of(self.key), self.types[self.key]
        if self.dialect.name == "sqlite":
            return f"{self.key_sql} IN (SELECT value FROM json_each(?{place}))"
        # Wider than the column, so that a key that the column cannot hold is not found, rather than an error.
        kind = {"integer": "BIGINT", "text": self.dialect.text_type}.get(sort, spelled)
        if self.dialect.name == "duckdb":
            return f"{self.key_sql} IN (SELECT unnest(CAST(${place} AS {kind}[])))"
        if sort == "enum":
            return f"CAST({self.key_sql} AS TEXT) = ANY(CAST(${place} AS TEXT[]))"
        return f"{self.key_sql} = ANY(CAST(${place} AS {kind}[]))"

    def key_list(self, keys: Sequence[Any]) -> Any:
        """Give keys as the parameter that ``has_key`` takes."""
        if self.dialect.name == "sqlite":
            import json

            return json.dumps(list(keys))
        return list(keys)


def read(connection: Any, dialect: Dialect, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Run a query and leave the connection as it was: no transaction stays open, no row factory matters."""
    if dialect.name == "postgres":
        import psycopg
        from psycopg.rows import tuple_row

        # One statement is a transaction of its own where the connection commits by itself.
        guard = contextlib.nullcontext() if connection.autocommit else connection.transaction()
        # Raw: a percent sign in a name is not a placeholder.
        with guard, psycopg.RawCursor(connection, row_factory=tuple_row) as cursor:
            cursor.execute(query.encode(), parameters or None)
            return list(cursor.fetchall())
    if dialect.name == "sqlite":
        cursor = connection.cursor()
        cursor.row_factory = None
        return list(cursor.execute(query, parameters).fetchall())
    return list(connection.execute(query, list(parameters)).fetchall())


def open_source(connection: Any, table: str | Path | Sequence[str], key: str | None) -> Source:
    """Find a table or file, its columns and its key.

    Raises
    ------
    ValueError
        If there is no such table, file or column, or if the key does not tell all rows apart.
    """
    reader = _file_reader(connection, table)
    if connection is None:
        if reader is None:
            raise ValueError(
                "connection is None, which reads a Parquet or CSV file: "
                f"give a connection, or the path of a file instead of {table!r}"
            )
        connection = _own_duckdb()
    dialect = dialect_of(connection)
    if dialect.name == "spark":
        raise TypeError("search takes a connection of duckdb, sqlite3 or psycopg; Spark has no indexes")
    if reader is not None:
        parts, text, title = None, _file_text(dialect, table, reader, key), str(table)
        types = _file_types(connection, text, title)
    else:
        parts = (table,) if isinstance(table, str) else tuple(str(part) for part in table)  # type: ignore[union-attr]
        text, title = qualified(parts, dialect), ".".join(parts)
        types = _table_types(connection, dialect, parts, title)
    key, declared = _find_key(connection, dialect, parts, types, key, title)
    draft = Source(connection, dialect, text, title, parts, types, key, 0)
    if not declared:
        _check_key(draft)
    n_rows = int(draft.rows(f"SELECT count(*) FROM {text}")[0][0])
    if not n_rows:
        raise ValueError(f"{title} has no rows")
    return Source(connection, dialect, text, title, parts, types, key, n_rows)


def _own_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError("reading files needs DuckDB: pip install duckdb") from None
    return duckdb.connect()


def _file_reader(connection: Any, table: str | Path | Sequence[str]) -> str | None:
    """Name the function that reads a file; None if the table is a name."""
    if not isinstance(table, str | Path):
        return None
    reader = _READERS.get(Path(table).suffix.lower())
    if isinstance(table, Path):
        if reader is None:
            raise ValueError(
                f"{table} is neither Parquet nor CSV: its name must end in one of {list(_READERS)}"
            )
        return reader
    return reader if connection is None or dialect_of(connection).name == "duckdb" else None


def _file_text(dialect: Dialect, table: Any, reader: str, key: str | None) -> str:
    if dialect.name != "duckdb":
        raise ValueError(f"{dialect.title} does not read files: give a connection of duckdb, or None")
    numbered = f", {FILE_ROW}=true" if reader == "read_parquet" and key in (None, FILE_ROW) else ""
    return f"{reader}({dialect.text(str(table))}{numbered})"


def _file_types(connection: Any, text: str, title: str) -> dict[str, str]:
    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {text}").fetchall()
    except Exception as error:
        raise ValueError(f"cannot read {title}: {error}") from error
    return {row[0]: row[1] for row in found}


def _table_types(connection: Any, dialect: Dialect, parts: tuple[str, ...], title: str) -> dict[str, str]:
    # A failed look-up must not leave PostgreSQL's transaction broken.
    guard = connection.transaction() if dialect.name == "postgres" else contextlib.nullcontext()
    try:
        with guard:
            types = column_types(connection, parts)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"cannot read the table {title!r}: {error}") from error
    if not types:
        raise ValueError(f"the database has no table {title!r}")
    return types


# -- keys ------------------------------------------------------------------------------------------

_POSTGRES_KEYS = """
SELECT a.attname FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = CAST($1 AS regclass) AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1
  AND i.indpred IS NULL AND i.indexprs IS NULL AND a.attnotnull
ORDER BY i.indisprimary DESC, a.attnum
"""


def _find_key(
    connection: Any, dialect: Dialect, parts: tuple[str, ...] | None, types: dict[str, str], key: str | None,
    title: str,
) -> tuple[str, bool]:  # fmt: skip
    """Give the key column, and whether the database itself keeps it unique."""
    declared = _declared_keys(connection, dialect, parts, types)
    if parts is None and key in (None, FILE_ROW) and FILE_ROW in types:
        # Several files, which a pattern names, have rows of the same place.
        return FILE_ROW, not set(title) & set("*?[")
    if key is None:
        if not declared:
            raise ValueError(
                f"{title} declares no primary key: name a column that tells rows apart, by key= or --key"
            )
        key = declared[0]
    if key not in types:
        if key not in declared:
            raise ValueError(f"{title} has no column {key!r} to be the key; it has {list(types)[:20]}")
        types[key] = "BIGINT"
    return key, key in declared


def _declared_keys(
    connection: Any, dialect: Dialect, parts: tuple[str, ...] | None, types: dict[str, str]
) -> list[str]:
    """List columns that are unique and never NULL by declaration, the primary key first."""
    if parts is None:
        return []
    if dialect.name == "postgres":
        return [row[0] for row in read(connection, dialect, _POSTGRES_KEYS, qualified(parts, dialect))]
    if dialect.name == "sqlite":
        return _sqlite_keys(connection, dialect, parts)
    found = read(
        connection, dialect,
        "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        " AND table_name = $1 AND ($2 IS NULL OR schema_name = $2)",
        parts[-1], parts[-2] if len(parts) > 1 else None,
    )  # fmt: skip
    keys = [row[0][0] for row in found if len(row[0]) == 1 and row[0][0] in types]
    return keys + (["rowid"] if _has_rowid(connection, dialect, parts, types) else [])


def _sqlite_keys(connection: Any, dialect: Dialect, parts: tuple[str, ...]) -> list[str]:
    schema = parts[-2] if len(parts) > 1 else None
    described = "SELECT name, type, pk, `notnull` FROM pragma_table_info(?1, ?2)"
    columns = read(connection, dialect, described, parts[-1], schema)
    keys = [row for row in columns if row[2]]
    # Only INTEGER PRIMARY KEY is never NULL: others SQLite keeps unique, but lets be NULL many times.
    sure = len(keys) == 1 and (keys[0][1].upper() == "INTEGER" or keys[0][3])
    found = [keys[0][0]] if sure else []
    return found + (["rowid"] if _has_rowid(connection, dialect, parts, [row[0] for row in columns]) else [])


def _has_rowid(connection: Any, dialect: Dialect, parts: tuple[str, ...], columns: Iterable[str]) -> bool:
    """Tell whether rows have a number of their own that no column hides."""
    if "rowid" in {name.lower() for name in columns}:
        return False
    try:
        found = read(connection, dialect, f"SELECT rowid FROM {qualified(parts, dialect)} LIMIT 1")
    except Exception:  # a view, or a table without one; each driver has its own error
        return False
    return bool(found) and found[0][0] is not None  # SQLite has NULL for views


def _check_key(source: Source) -> None:
    key = source.key_sql
    missing = source.rows(f"SELECT count(*) FROM {source.text} WHERE {key} IS NULL")[0][0]
    if missing:
        raise ValueError(
            f"the key {source.key!r} of {source.title} is missing in {missing} rows: name another column"
        )
    twice = source.rows(
        f"SELECT {key}, count(*) FROM {source.text} GROUP BY {key} HAVING count(*) > 1 ORDER BY {key} LIMIT 1"
    )
    if twice:
        raise ValueError(
            f"the key {source.key!r} of {source.title} does not tell rows apart: {twice[0][0]!r} occurs "
            f"{twice[0][1]} times; name a unique column, by key= or --key"
        )
