"""Real databases for the tests, each with one way to make a table of typed cells and to ask a query."""

from __future__ import annotations

import importlib.util
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from hostile import Columns
from postgres import unavailable

from hyperboxes.sql.dialects import DIALECTS

#: Numbers the rows of each table: no database promises their order.
ROW = "number of row"


class Engine:
    """A database: types of the kinds of cells that tests draw, a connection, and tables."""

    name: ClassVar[str]
    types: ClassVar[dict[str, str]]
    connection: Any

    @classmethod
    def over(cls, connection: Any) -> Engine:
        """Give the database that an open connection leads to."""
        made = cls.__new__(cls)
        made.connection = connection
        return made

    def quoted(self, name: str) -> str:
        return DIALECTS[self.name].identifier(name)

    def create(
        self,
        columns: Columns,
        name: str = "drawn",
        key: str = ROW,
        keys: Sequence[Any] | None = None,
        key_type: str = "bigint",
    ) -> None:
        """Make a table anew, with a primary key in front that by default numbers the rows."""
        described = [f"{self.quoted(key)} {self.types[key_type]} PRIMARY KEY"]
        described += [f"{self.quoted(column)} {self.types[kind]}" for column, (kind, _) in columns.items()]
        self.execute(f"DROP TABLE IF EXISTS {self.quoted(name)}")
        self.execute(f"CREATE TABLE {self.quoted(name)} ({', '.join(described)})")
        rows = list(zip(*(cells for _, cells in columns.values()), strict=True))
        keys = range(len(rows)) if keys is None else keys
        self.insert(name, [(number, *row) for number, row in zip(keys, rows, strict=True)])

    def insert(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self.connection.executemany(f"INSERT INTO {self.quoted(name)} VALUES ({marks})", rows)

    def execute(self, query: str) -> None:
        self.connection.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask a query that selects all columns first, and give its rows in order."""
        return sorted(self.connection.execute(query).fetchall(), key=lambda row: row[0])

    def close(self) -> None:
        self.connection.close()


class DuckDB(Engine):
    """DuckDB: tables of its own."""

    name = "duckdb"
    types: ClassVar[dict[str, str]] = {
        "double": "DOUBLE", "real": "REAL", "bigint": "BIGINT", "smallint": "SMALLINT", "hugeint": "HUGEINT",
        "decimal": "DECIMAL(18,4)", "wide": "DECIMAL(38,30)", "bool": "BOOLEAN", "text": "VARCHAR",
    }  # fmt: skip

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")


class Parquet(DuckDB):
    """DuckDB over Parquet files, whose statistics know nothing of NaN."""

    types: ClassVar[dict[str, str]] = {
        kind: spelled for kind, spelled in DuckDB.types.items() if kind != "hugeint"
    }

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.file = directory / "drawn.parquet"

    def create(self, columns: Columns, name: str = "drawn") -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {
            "double": pa.float64(), "real": pa.float32(), "bigint": pa.int64(), "smallint": pa.int16(),
            "decimal": pa.decimal128(18, 4), "wide": pa.decimal128(38, 30), "bool": pa.bool_(),
            "text": pa.string(),
        }  # fmt: skip
        arrays = [pa.array(cells, kinds[kind], from_pandas=False) for kind, cells in columns.values()]
        rows = pa.array(range(len(arrays[0])), pa.int64())
        pq.write_table(pa.table([rows, *arrays], names=[ROW, *columns]), self.file, row_group_size=4)
        self.execute(f"CREATE OR REPLACE VIEW {self.quoted(name)} AS SELECT * FROM '{self.file}'")


class SQLite(Engine):
    """SQLite, which has no NaN: it stores NULL."""

    name = "sqlite"
    types: ClassVar[dict[str, str]] = {
        "double": "DOUBLE", "real": "REAL", "bigint": "INTEGER", "smallint": "SMALLINT", "bool": "BOOLEAN",
        "text": "TEXT", "nocase": "TEXT COLLATE NOCASE", "any": "",
    }  # fmt: skip

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")


class Postgres(Engine):
    """PostgreSQL."""

    name = "postgres"
    types: ClassVar[dict[str, str]] = {
        "double": "DOUBLE PRECISION", "real": "REAL", "bigint": "BIGINT", "smallint": "SMALLINT",
        "decimal": "NUMERIC(18,4)", "wide": "NUMERIC(38,30)", "numeric": "NUMERIC", "bool": "BOOLEAN",
        "text": "TEXT",
    }  # fmt: skip

    def __init__(self, address: str) -> None:
        import psycopg

        self.connection = psycopg.connect(address, autocommit=True, prepare_threshold=None)

    def insert(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with (
            self.connection.cursor() as cursor,
            cursor.copy(f"COPY {self.quoted(name)} FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor(binary=True)
        return sorted(cursor.execute(query).fetchall(), key=lambda row: row[0])


class Spark(Engine):
    """Spark SQL on one thread; tables are views of literals."""

    name = "spark"
    types: ClassVar[dict[str, str]] = {
        "double": "DOUBLE", "real": "FLOAT", "bigint": "BIGINT", "smallint": "SMALLINT",
        "decimal": "DECIMAL(18,4)", "wide": "DECIMAL(38,30)", "bool": "BOOLEAN", "text": "STRING",
    }  # fmt: skip

    def __init__(self, directory: Path) -> None:
        if shutil.which("java") is None:
            unavailable("no Java, which Spark runs on")
        if importlib.util.find_spec("pyspark") is None:
            unavailable("no pyspark: pip install hyperboxes[spark]")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").appName("hyperboxes")
        for setting, value in {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory} -XX:TieredStopAtLevel=1",
            "spark.sql.codegen.wholeStage": "false",
        }.items():
            builder = builder.config(setting, value)
        self.connection = builder.getOrCreate()
        self.connection.sparkContext.setLogLevel("OFF")

    def create(self, columns: Columns, name: str = "drawn") -> None:
        from pyspark.sql import types

        kinds = {
            "double": types.DoubleType(), "real": types.FloatType(), "bigint": types.LongType(),
            "smallint": types.ShortType(), "decimal": types.DecimalType(18, 4),
            "wide": types.DecimalType(38, 30), "bool": types.BooleanType(), "text": types.StringType(),
        }  # fmt: skip
        fields = [types.StructField(ROW, types.LongType())]
        fields += [types.StructField(column, kinds[kind]) for column, (kind, _) in columns.items()]
        rows = zip(*(cells for _, cells in columns.values()), strict=True)
        numbered = [(number, *row) for number, row in enumerate(rows)]
        frame = self.connection.createDataFrame(numbered, types.StructType(fields))
        frame.createOrReplaceTempView(self.quoted(name))

    def execute(self, query: str) -> None:
        self.connection.sql(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in self.connection.sql(query).collect()), key=lambda row: row[0])

    def close(self) -> None:
        self.connection.stop()


#: Those that a test can open, fill and close in an instant.
ENGINES: dict[str, type[Engine]] = {one.name: one for one in (DuckDB, SQLite, Postgres)}


def connect(engine: str, address: str) -> Any:
    """Open a connection; ``address`` is that of PostgreSQL."""
    return (Postgres(address) if engine == "postgres" else ENGINES[engine]()).connection


def load(connection: Any, engine: str, table: str, columns: Columns, *key: Any) -> None:
    """Make a table anew through an open connection; ``key`` is name, values and type of the primary key."""
    ENGINES[engine].over(connection).create(columns, table, *key)
