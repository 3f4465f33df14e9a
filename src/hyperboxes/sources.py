"""Tables from anywhere: delimited text, Parquet, Arrow, a database, standard input; errors say where."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

#: Endings of the files that hold tables, by how they are read.
TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
DUCKDB_ENDINGS = (".duckdb", ".ddb", ".db")
SQLITE_ENDINGS = (".sqlite", ".sqlite3")
KNOWN = ".csv, .tsv or .txt (also .gz), .parquet, .arrow or .feather, or FILE.duckdb::TABLE"
DELIMITERS = ",;\t|"
#: Told which share of a file is read.
Progress = Callable[[float], None] | None
#: Lines that tell the delimiter.
SNIFFED_LINES = 50
#: A column of text of which so many cells are numbers was meant to be one of numbers.
MOSTLY_NUMBERS = 0.9
#: A column of text of so many rows, no two the same, names the rows.
MANY_NAMES = 20
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*|[-+]?(inf|nan)", re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"\s*[-+]?\d+(,\d+)?\s*")


@dataclass
class TableFile:
    """A table with where it came from.

    ``frame`` is a pandas data frame, text as categories, and ``given`` the same before anything was made of
    it. ``data`` holds the bytes of delimited text, for ``as_written`` and for line numbers.
    """

    name: str
    frame: Any
    data: bytes | None = None
    delimiter: str = ","
    notes: list[str] = field(default_factory=list)
    given: Any = field(init=False)

    def __post_init__(self) -> None:
        self.given = self.frame

    @cached_property
    def as_written(self) -> Any:
        """The table with every cell of delimited text as it is written."""
        if self.data is None:
            return self.given
        return _parse(self.data, self.delimiter, dtype=str, keep_default_na=False)

    def where(self, row: int, column: str) -> str:
        """Name a cell as a person finds it: file, line (or row) and column."""
        if self.data is None:
            return f"{self.name}, row {row + 1}, column {column!r}"
        return f"{self.name}, line {self._line(row)}, column {column!r}"

    def _line(self, row: int) -> int:
        assert self.data is not None  # noqa: S101
        lines = csv.reader(io.StringIO(self.data.decode()), delimiter=self.delimiter)
        begin, wanted = 1, row + 1  # the header is the first
        for cells in lines:
            if cells:  # pandas skips empty lines
                if wanted == 0:
                    return begin
                wanted -= 1
            begin = lines.line_num + 1
        return begin

    def split_off(self, target: str) -> tuple[Any, Any]:
        """Take out the column of classes: what is left, and the classes."""
        if target not in self.frame.columns:
            raise ValueError(f"{self.name}: no column {target!r}; the columns are {list(self.frame.columns)}")
        frame = self.frame.copy(deep=False)
        column = frame.pop(target)
        missing = np.flatnonzero(column.isna())
        if len(missing):
            raise ValueError(
                f"{self.where(int(missing[0]), target)}: no value, as in {len(missing)} rows; "
                "drop such rows or fill them"
            )
        return frame, np.asarray(column.tolist())


def read(
    source: str, *, text_columns: Collection[str] = (), ignore: Collection[str] = (),
    progress: Progress = None,
) -> TableFile:  # fmt: skip
    """Read a table.

    Parameters
    ----------
    source : str
        A file of delimited text (any common delimiter, quoted or not, gzip), Parquet or Arrow; ``-`` for
        standard input; ``file.duckdb::table``, ``file.sqlite::table`` or ``postgresql://…::table``.
    text_columns : collection of str
        Columns that hold text even if all of it looks like numbers.
    ignore : collection of str
        Columns to leave out.
    progress : callable, optional
        Told now and then which share of a delimited text is read; other files tell nothing.

    Raises
    ------
    ValueError
        In one line, naming file, line and column.
    """
    with naming(source):
        table = _read(source, frozenset(text_columns), progress)
    absent = [name for name in ignore if name not in table.frame.columns]
    if absent:
        raise ValueError(f"{source}: no column {absent[0]!r} to ignore; it has {list(table.frame.columns)}")
    table.frame = table.frame.drop(columns=list(ignore))
    _to_categories(table, frozenset(text_columns))
    return table


@contextlib.contextmanager
def naming(source: str) -> Iterator[None]:
    """Put the file into the message of an error, once."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{source}: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        text = str(error)
        raise ValueError(text if text.startswith(source) else f"{source}: {text}") from error


def _read(source: str, text_columns: frozenset[str], progress: Progress) -> TableFile:
    if "::" in source:
        return TableFile(source, _read_database(source))
    if source == "-":
        return _read_bytes("standard input", sys.stdin.buffer.read(), text_columns, progress)
    if source.startswith(("postgresql://", "postgres://")):
        raise ValueError("say which table: add ::TABLE or ::SCHEMA.TABLE")
    ending = _ending(source)
    if ending == ".parquet":
        return TableFile(source, _pandas().read_parquet(source))
    if ending in ARROW_ENDINGS:
        return TableFile(source, _read_arrow(source))
    if ending in TEXT_ENDINGS:
        with open(source, "rb") as file:
            return _read_text(source, file.read(), text_columns, progress)
    if ending in (*DUCKDB_ENDINGS, *SQLITE_ENDINGS) and os.path.exists(source):
        raise ValueError(f"say which table: {source}::TABLE; it has {_tables_in(source)}")
    if not os.path.exists(source):
        raise FileNotFoundError(2, "No such file or directory", source)
    raise ValueError(f"a table ends in {KNOWN}")


def _ending(source: str) -> str:
    return os.path.splitext(source.lower().removesuffix(".gz"))[1]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError('reading tables needs pandas: pip install "hyperboxes[data]"') from error
    return pandas


def _read_bytes(name: str, data: bytes, text_columns: frozenset[str], progress: Progress) -> TableFile:
    """Read what comes without a name, by its first bytes."""
    if not data:
        raise ValueError(f"{name} is empty")
    if data.startswith(b"PAR1"):
        return TableFile(name, _pandas().read_parquet(io.BytesIO(data)))
    if data.startswith(b"ARROW1"):
        return TableFile(name, _read_arrow(io.BytesIO(data)))
    return _read_text(name, data, text_columns, progress)


def _read_arrow(source: str | io.BytesIO) -> Any:
    import pyarrow as pa
    from pyarrow import feather, ipc

    try:
        table = feather.read_table(source)
    except pa.ArrowInvalid:
        # A stream has no footer, by which a file is known.
        opened = source if isinstance(source, io.BytesIO) else pa.OSFile(source)
        table = ipc.open_stream(opened).read_all()
    return table.to_pandas()


# -- delimited text --------------------------------------------------------------------------------


def _read_text(name: str, data: bytes, text_columns: frozenset[str], progress: Progress) -> TableFile:
    data = _plain_bytes(name, data)
    delimiter = _delimiter(data, name)
    header = _check_shape(name, data, delimiter)
    kinds = {column: str for column in header if column in text_columns}
    frame, notes = _parse(data, delimiter, progress, dtype=kinds), []
    if delimiter != "," and _has_decimal_commas(frame, text_columns):
        frame = _parse(data, delimiter, progress, dtype=kinds, decimal=",")
        notes.append(f"{name}: numbers are read with a decimal comma")
    table = TableFile(name, frame, data, delimiter, notes)
    if header and header[0] == "":
        _drop_row_numbers(table)
    return table


def _plain_bytes(name: str, data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"{name}: damaged gzip ({error})") from None
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{name}, line {line}: byte {data[error.start]:#04x} is not UTF-8; convert the file to UTF-8"
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"{name}, line {line}: a NUL character; this is not a table of text")
    if not text.strip():
        raise ValueError(f"{name}: the file is empty")
    return data


def _delimiter(data: bytes, name: str) -> str:
    """Find the sign that splits the first lines into most cells, the same number in each."""
    if name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    lines = data[: 1 << 20].decode(errors="ignore").splitlines()[:SNIFFED_LINES]
    best, most = ",", 1
    for sign in DELIMITERS:
        counts = {len(cells) for cells in csv.reader(lines, delimiter=sign) if cells}
        if len(counts) == 1 and max(counts) > most:
            best, most = sign, max(counts)
    # None fits all of them: a line is malformed, which is told with its number later on.
    return best if most > 1 else max(DELIMITERS, key=lambda sign: (lines[0].count(sign), sign == ","))


def _check_shape(name: str, data: bytes, delimiter: str) -> list[str]:
    """Raise where a line has more or fewer cells than the header; give the header."""
    if b'"' not in data:
        body = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(body == ord("\n"))
        signs = np.searchsorted(np.flatnonzero(body == ord(delimiter)), np.append(ends, len(body)))
        per_line = np.diff(signs, prepend=0)
        lengths = np.diff(np.append(ends, len(body)), prepend=-1) - 1
        lengths[:-1] -= body[np.maximum(ends - 1, 0)] == ord("\r")
        filled = lengths > 0  # empty lines are skipped
        if len(np.unique(per_line[filled])) <= 1 and filled[0]:
            header = data[: ends[0] if len(ends) else len(data)].decode().rstrip("\r").split(delimiter)
            return _check_header(name, header)
    lines = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True)
    expected: list[str] | None = None
    begin = 1
    try:
        for row in lines:
            if row and expected is None:
                expected = _check_header(name, row)
            elif row and expected is not None and len(row) != len(expected):
                cells = "there is 1 cell" if len(row) == 1 else f"there are {len(row)} cells"
                raise ValueError(
                    f"{name}, line {begin}: {cells} where the header has {len(expected)}"
                    f"; the last is in column {expected[min(len(row), len(expected)) - 1]!r}: {row[-1]!r:.40}"
                )
            begin = lines.line_num + 1
    except csv.Error as error:
        reason = "a quote is opened and never closed" if "end of data" in str(error) else str(error)
        raise ValueError(f"{name}, line {begin}: {reason}") from None
    return expected or []


def _check_header(name: str, header: list[str]) -> list[str]:
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise ValueError(f"{name}, line 1: the column {twice[0]!r} occurs {header.count(twice[0])} times")
    return header


class _Told(io.BytesIO):
    """Bytes that tell which share of them was read."""

    def __init__(self, data: bytes, progress: Callable[[float], None]) -> None:
        super().__init__(data)
        self._size, self._progress = len(data), progress

    def read(self, size: int | None = -1, /) -> bytes:
        """Read on, and tell."""
        found = super().read(size)
        self._progress(self.tell() / self._size)
        return found


def _parse(data: bytes, delimiter: str, progress: Progress = None, **options: Any) -> Any:
    pandas = _pandas()
    opened = io.BytesIO(data) if progress is None else _Told(data, progress)
    # Until 3.1, the default parser of pandas might miss the nearest float64.
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"
    return pandas.read_csv(opened, sep=delimiter, low_memory=False, index_col=False, **options)


def _is_text(column: Any) -> bool:
    types = _pandas().api.types
    return bool(types.is_string_dtype(column.dtype) or types.is_object_dtype(column.dtype))


def _has_decimal_commas(frame: Any, text_columns: frozenset[str]) -> bool:
    for name in frame.columns:
        if name not in text_columns and _is_text(frame[name]):
            cells = frame[name].dropna().astype(str)
            if cells.str.fullmatch(_COMMA_NUMBER.pattern).all() and cells.str.contains(",").any():
                return True
    return False


def _drop_row_numbers(table: TableFile) -> None:
    """Leave out a first column without a name that counts the rows, as pandas writes its index."""
    first = table.frame.columns[0]
    if table.frame[first].tolist() == list(range(len(table.frame))):
        table.frame = table.frame.drop(columns=first)
        table.notes.append(f"{table.name}: the first column has no name and counts the rows; it is left out")


def _to_categories(table: TableFile, text_columns: frozenset[str]) -> None:
    """Make text columns categorical; refuse those that were meant to be numbers."""
    import decimal

    for name in table.frame.columns:
        column = table.frame[name]
        if not _is_text(column):
            continue
        cells = column.dropna()
        if len(cells) and all(isinstance(cell, decimal.Decimal) for cell in cells):
            table.frame[name] = column.astype("float64")
            continue
        if name not in text_columns:
            _refuse_odd_cells(table, str(name), column)
        table.frame[name] = column.astype("category")


def _refuse_odd_cells(table: TableFile, name: str, column: Any) -> None:
    known = column.notna().to_numpy()
    numbers = column[known].astype(str).str.fullmatch(_NUMBER.pattern, case=False).to_numpy().astype(bool)
    if len(numbers) and MOSTLY_NUMBERS <= numbers.mean() < 1:
        row = int(np.flatnonzero(known)[np.flatnonzero(~numbers)[0]])
        raise ValueError(
            f"{table.where(row, name)}: {str(column.iloc[row])!r:.40} is not a number, as nearly all others "
            "are; correct it, or leave the cell empty if the value is unknown"
        )


def looks_like_names(column: Any) -> bool:
    """Tell whether a column of text names the rows: many, and no two the same."""
    return bool(str(column.dtype) == "category" and len(column) >= MANY_NAMES and column.is_unique)


# -- databases -------------------------------------------------------------------------------------


@contextlib.contextmanager
def connected(
    source: str, *, text_columns: Collection[str] = (), change: bool = False
) -> Iterator[tuple[Any, list[str]]]:
    """Open a database, or put a file into one: the connection, and the name of the table in it.

    Files go through DuckDB: Parquet as it is, other kinds as ``read`` reads them. With ``change``, the
    database may be written to.
    """
    if "::" not in source:
        with naming(source):
            opened = _file_in_duckdb(source, text_columns)
        with opened as connection:
            yield connection, ["table"]
        return
    where, table = source.rsplit("::", 1)
    parts = table.split(".")
    with naming(source):
        if not all(parts):
            raise ValueError(f"{table!r} names no table: give ::TABLE or ::SCHEMA.TABLE")
        opened, kind = _open_database(where, change)
    with contextlib.closing(opened) as connection:
        try:
            yield connection, parts
        except kind.Error as error:
            raise ValueError(f"{source}: {_first_line(error)}") from None


def _file_in_duckdb(source: str, text_columns: Collection[str]) -> Any:
    if _ending(source) == ".parquet" and not os.path.exists(source):
        raise FileNotFoundError(2, "No such file or directory", source)
    frame = None if _ending(source) == ".parquet" else read(source, text_columns=text_columns).given
    duckdb = _import("duckdb")
    connection = _quiet(duckdb.connect())
    if frame is not None:
        connection.register("table", frame)
        return connection
    quoted = source.replace("'", "''")
    try:
        connection.execute(f"""CREATE VIEW "table" AS SELECT * FROM read_parquet('{quoted}')""")  # noqa: S608
    except duckdb.Error as error:
        connection.close()
        raise ValueError(_first_line(error)) from None
    return connection


def _open_database(where: str, change: bool = False) -> tuple[Any, Any]:
    """Open a database, only for reading unless it is to be changed; give its package too."""
    if where.startswith(("postgresql://", "postgres://")):
        psycopg = _import("psycopg")
        try:
            connection = psycopg.connect(where)
            connection.read_only = not change
            return connection, psycopg
        except psycopg.Error as error:
            raise ValueError(_first_line(error)) from None
    if not os.path.exists(where):
        raise FileNotFoundError(2, "No such file or directory", where)
    if _is_sqlite(where):
        import sqlite3
        from urllib.parse import quote

        mode = "rw" if change else "ro"
        return sqlite3.connect(f"file:{quote(where)}?mode={mode}", uri=True, isolation_level=None), sqlite3
    duckdb = _import("duckdb")
    try:
        return _quiet(duckdb.connect(where, read_only=not change)), duckdb
    except duckdb.Error as error:
        raise ValueError(_first_line(error)) from None


def _quiet(connection: Any) -> Any:
    """Keep DuckDB from drawing its own progress between the lines of a result."""
    connection.execute("SET enable_progress_bar = false")
    return connection


def _read_database(source: str) -> Any:
    with connected(source) as (connection, parts):
        if hasattr(connection, "df"):
            return connection.execute(f"SELECT * FROM {_quoted(parts)}").df()  # noqa: S608
        cursor = connection.cursor()
        cursor.execute(f"SELECT * FROM {_quoted(parts)}")  # noqa: S608
        return _pandas().DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])


def _quoted(parts: list[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _is_sqlite(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _tables_in(path: str) -> list[str]:
    listing = "SELECT table_name FROM information_schema.tables"
    if _is_sqlite(path):
        listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    with contextlib.closing(_open_database(path)[0]) as connection:
        return [row[0] for row in connection.execute(listing).fetchall()]


def _import(package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"reading this database needs {package}: pip install {package}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


# -- out -------------------------------------------------------------------------------------------


def write(frame: Any, path: str | None, delimiter: str = ",") -> None:
    """Write a table: by the ending of the path, or as delimited text to standard output.

    A file is replaced wholly or not at all.
    """
    from .atomic import write_atomic

    if path is None or path == "-":
        frame.to_csv(sys.stdout, index=False, sep=delimiter, lineterminator="\n")
        return
    write_atomic(path, to_bytes(frame, path, delimiter), lambda _: None)


def check_output(path: str | None) -> None:
    """Raise before the work if a table cannot be written there."""
    if path is None or path == "-":
        return
    if _ending(path) not in (".parquet", *ARROW_ENDINGS, *TEXT_ENDINGS):
        raise ValueError(f"{path}: a table ends in .csv, .tsv, .txt (also .gz), .parquet, .arrow or .feather")
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise ValueError(f"{path}: there is no directory {folder}")


def to_bytes(frame: Any, path: str, delimiter: str) -> bytes:
    """Give the bytes of a table file."""
    ending, buffer = _ending(path), io.BytesIO()
    if ending == ".parquet":
        frame.to_parquet(buffer, index=False)
    elif ending in ARROW_ENDINGS:
        frame.reset_index(drop=True).to_feather(buffer)
    else:
        sign = "\t" if ending in (".tsv", ".tab") else delimiter
        buffer.write(frame.to_csv(index=False, sep=sign, lineterminator="\n").encode())
    data = buffer.getvalue()
    return gzip.compress(data, mtime=0) if path.lower().endswith(".gz") else data
