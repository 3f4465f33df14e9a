"""Commands that speak to databases: sql, verify, search."""

from __future__ import annotations

import functools
import io
import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..console import one_line, print_text, say, waiting
from ._app import DIFFERS, command
from ._files import check_model_path, read_model, same_label, text_columns, write_model
from ._options import AsJson, Model, Table


class Dialect(StrEnum):
    """The databases, as a choice on the command line."""

    duckdb = "duckdb"
    postgres = "postgres"
    sqlite = "sqlite"
    spark = "spark"


class SqlKind(StrEnum):
    """The kinds of SQL, as a choice on the command line."""

    case = "case"
    where = "where"
    select = "select"
    view = "view"


@command
def sql(
    model: Model,
    table: Annotated[
        str | None,
        typer.Option(help="Table to select from; dots separate schema and table.", show_default=False),
    ] = None,
    dialect: Annotated[
        Dialect | None, typer.Option(help="The database; duckdb by default.", show_default=False)
    ] = None,
    kind: Annotated[
        SqlKind | None,
        typer.Option(help="An expression, a predicate, a query or a view.", show_default=False),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Class whose rows a predicate selects.", show_default=False)
    ] = None,
    types_from: Annotated[
        str | None,
        typer.Option(
            help="Table whose types are looked up, so that indexes serve the query: FILE.parquet, "
            "FILE.duckdb::TABLE, postgresql://HOST/DB::TABLE.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print a model as SQL that gives the same answers, bit for bit.

    Without a table, it is a CASE expression for a query of your own.

    \b
    hyperboxes sql iris.boxes.json --table flowers
    hyperboxes sql iris.boxes.json --table public.flowers --dialect postgres
    hyperboxes sql ill.boxes.json --kind where --label yes --types-from clinic.duckdb::visits
    hyperboxes sql ill.boxes.json --kind view --types-from postgresql:///clinic::visits
    """  # noqa: D301
    from ..sql import to_sql

    boxes = read_model(model)
    options: dict[str, Any] = {"dialect": dialect and dialect.value, "kind": kind and kind.value}
    if label is not None:
        options["label"] = same_label(label, boxes.classes, "--label")
    parts = None if table is None else table.split(".")
    if types_from is None:
        text = to_sql(boxes, table=parts, **options)
    else:
        from ..sources import connected
        from ..sql import column_types

        with connected(types_from, text_columns=text_columns(boxes)) as (connection, found):
            options["types"] = column_types(connection, found)
            options["dialect"] = options["dialect"] or _dialect_of(connection)
        if parts is None and "::" in types_from and options["kind"] not in ("case", "where"):
            parts = found
        text = to_sql(boxes, table=parts, **options)
    whole = parts is not None and options["kind"] in (None, "select", "view")
    print_text(f"{text};" if whole else text)


def _dialect_of(connection: Any) -> str:
    from ..sql.databases import dialect_of

    return dialect_of(connection).name


@command
def verify(
    model: Model,
    file: Table,
    as_json: AsJson = False,
) -> None:
    """Compare the SQL of a model with its own answers, on every row of a table.

    A file is read into DuckDB, a database is asked itself. Exit code 3 if a single row differs.

    \b
    hyperboxes verify ill.boxes.json patients.parquet
    hyperboxes verify ill.boxes.json clinic.duckdb::visits --json
    hyperboxes verify ill.boxes.json postgresql:///clinic::visits
    """  # noqa: D301
    from .. import sources, sql

    boxes = read_model(model)
    with sources.naming(file), sources.connected(file, text_columns=text_columns(boxes)) as (link, table):
        found = sql.verify(boxes, link, table, progress=sys.stderr.isatty())
    if as_json:
        told = {
            "rows": found.rows,
            "mismatches": found.mismatches,
            "database_rows_per_second": found.database_rows_per_second,
            "predict_rows_per_second": found.predict_rows_per_second,
        }
        print_text(json.dumps(told))
    else:
        print_text("\n".join(one_line(line) for line in str(found).split("\n")))
    if found.mismatches:
        raise typer.Exit(DIFFERS)


@command
def search(
    file: Table,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Key of a row that is looked for; may be repeated.", show_default=False),
    ] = None,
    unlike: Annotated[
        list[str] | None,
        typer.Option(help="Key of a row that is not looked for; may be repeated.", show_default=False),
    ] = None,
    like_where: Annotated[
        str | None, typer.Option(help="Rows that are looked for, as a condition in SQL.", show_default=False)
    ] = None,
    unlike_where: Annotated[
        str | None, typer.Option(help="Rows that are not, as a condition in SQL.", show_default=False)
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Column that tells rows apart; by default the primary key, or the row's place in Parquet."
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that boxes may restrict; may be repeated. All numbers by default.",
            show_default=False,
        ),
    ] = None,
    max_boxes: Annotated[int, typer.Option(help="Most boxes.")] = 5,
    max_features: Annotated[int, typer.Option(help="Most columns that a box restricts.")] = 4,
    limit: Annotated[int, typer.Option(help="Most rows to print.")] = 20,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Model file for the boxes, *.boxes.json.", show_default=False),
    ] = None,
    show_sql: Annotated[bool, typer.Option("--sql", help="Print the query instead of rows.")] = False,
    advice: Annotated[
        bool, typer.Option("--advice", help="Print what index would serve the query, and the plan.")
    ] = False,
    create_indexes: Annotated[
        bool, typer.Option("--create-indexes", help="Create the advised indexes: this changes the database.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each row.")] = False,
) -> None:
    """Find the rows of a table that are like a few you mark.

    Boxes are learned from the marked rows against a sample of the others, and the database returns the rows
    in them, best first. Mark more of them and search again.

    \b
    hyperboxes search patients.parquet --key id --like 17 --like 40 --unlike 3
    hyperboxes search clinic.duckdb::visits --like-where "ill = 'yes'" --feature age \\
        --feature bmi --json
    hyperboxes search postgresql:///clinic::visits --key id --like 17 --like 40 --advice
    """  # noqa: D301
    from .. import search as find
    from .. import sources

    if bool(like) == bool(like_where):
        raise ValueError(
            "mark rows that are looked for: either --like KEY, repeated, or --like-where CONDITION"
        )
    if unlike and unlike_where:
        raise ValueError("give --unlike or --unlike-where, not both")
    if output is not None:
        check_model_path(output)
    with sources.naming(file), sources.connected(file, change=create_indexes) as (link, table):
        keyed = functools.partial(_keys, link, table, key)
        with waiting("searching"):
            found = find(
                link, table, like_where or keyed(like) or (), unlike_where or keyed(unlike), key=key,
                features=feature or None, max_boxes=max_boxes, max_features=max_features, limit=limit,
            )  # fmt: skip
            if create_indexes:
                found = found.create_indexes()
        if output is not None:
            write_model(found.boxes, output)
        if not show_sql and not advice:
            from ..rules import to_text

            count = found.count()
            say(f"{to_text(found.boxes)}\n\n{count} rows lie in a box; the best {min(count, limit)}:")
        print_text(_found_text(found, show_sql, advice, as_json))


def _keys(link: Any, table: list[str], key: str | None, asked: list[str] | None) -> list[Any] | None:
    """Read keys from the command line as the column has them: whole numbers, or text."""
    from ..sql import column_types

    if not asked:
        return None
    kind = "" if key is None else column_types(link, table).get(key, "").upper()
    text = any(word in kind for word in ("CHAR", "TEXT", "ENUM", "UUID"))
    return list(asked) if text else [int(item) if item.lstrip("-").isdecimal() else item for item in asked]


def _found_text(found: Any, show_sql: bool, advice: bool, as_json: bool) -> str:
    if show_sql:
        return f"{found.sql};"
    if advice:
        advised = [str(one) for one in found.advice()] or ["-- no index would serve these boxes"]
        return "\n".join([*advised, "", str(found.plan())])
    rows = found.rows()
    if as_json:
        return "\n".join(json.dumps(row, default=str) for row in rows)
    import csv

    sink = io.StringIO()
    writer = csv.DictWriter(sink, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue().rstrip("\n")
