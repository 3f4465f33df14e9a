"""Whole expressions and queries: CASE, WHERE, SELECT and VIEW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes, Label
from ..summary import asked_answer
from .box_table import search_box_table
from .databases import column_types, dialect_of, stored_rows
from .dialects import DIALECTS, Dialect, name_parts, qualified
from .nearest import nearest_answer
from .predicates import Columns, StoredColumns, chain
from .selectivity import sampled_share

DialectName = Literal["duckdb", "postgres", "sqlite", "spark"]
Kind = Literal["case", "where", "select", "view"]
#: Boxes that become branches of a CASE; more of them become a table that is searched.
MOST_BRANCHES = 2000
#: Predicates that the WHERE of one class spells out; with more, the CASE is shorter.
MOST_SPELLED_OUT = 5000


def to_sql(
    boxes: Boxes,
    *,
    table: str | Sequence[str] | None = None,
    dialect: DialectName | None = None,
    kind: Kind | None = None,
    column: str = "prediction",
    label: Label | EllipsisType | None = ...,
    box: int | None = None,
    view: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    connection: Any = None,
) -> str:
    """Write boxes as SQL that gives the answer of ``boxes.predict``, bit for bit.

    Without types, numeric columns may be of any integer or floating-point type, and each is cast to
    double before it is compared. With types, each is compared as it is, with bounds of its own type, so
    that indexes and zone maps serve the query; DECIMAL and BOOLEAN columns need them. A column of
    categories must have the type of the categories: text, numbers or booleans.

    Parameters
    ----------
    boxes : Boxes
        The model.
    table : str or sequence of str, optional
        The table to select from: one name, or catalog, schema and table. Each part is quoted.
    dialect : {"duckdb", "postgres", "sqlite", "spark"}, optional
        The database; by default that of the connection, or DuckDB.
    kind : {"case", "where", "select", "view"}, optional
        An expression that gives the answer; a predicate for a WHERE of your own; a whole query that adds
        one column to the table; or a statement that makes a view of that query. By default a query if
        there is a table, else an expression.
    column : str
        Name of the added column.
    label : label or None, optional
        For ``kind="where"``: the predicate is true for exactly the rows that get this answer, and false
        or unknown for all others. By default the label of the boxes, if all of them have the same.
    box : int, optional
        For ``kind="where"``: the predicate is true for exactly the rows that lie in this box, whichever
        box decides them.
    view : str or sequence of str, optional
        Name of the view; by default that of the table with the name of the column behind it.
    types : mapping of column name to type, optional
        What the columns are, as the database spells it, for instance ``{"age": "SMALLINT"}``.
    connection : optional
        An open connection (duckdb, sqlite3, psycopg) or Spark session that types and dialect of the
        table are read from. Of a table that DuckDB keeps itself, a few rows are read, too, for the order of
        the conditions in a box: those that few rows fulfil come first.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.sql import to_sql
    >>> boxes = Boxes.from_rules([({"age": (65, None), "bmi": (20, 25.5)}, "high")], default="low")
    >>> print(to_sql(boxes, types={"age": "SMALLINT", "bmi": "DECIMAL(4,1)"}, dialect="postgres"))
    CASE
      WHEN "age" >= 65
        AND "bmi" BETWEEN 20.0 AND 25.5 THEN 'high'
      ELSE 'low'
    END
    >>> print(to_sql(boxes, kind="where", dialect="sqlite"))
    +`age` BETWEEN 65.0 AND 9e999
      AND +`bmi` BETWEEN 20.0 AND 25.5
    """
    if connection is not None:
        dialect = _dialect_of_connection(connection, dialect)
        if types is None and table is not None:
            types = column_types(connection, table)
    dialect = dialect or "duckdb"
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {list(DIALECTS)}, got {dialect!r}")
    kind = kind or ("case" if table is None else "select")
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {list(get_args(Kind))}, got {kind!r}")
    syntax = DIALECTS[dialect]
    columns = _columns(boxes, syntax, types, connection, table)
    if kind == "where":
        return _where(boxes, columns, label, box)
    if label is not ... or box is not None:
        raise ValueError(f"label and box choose rows for kind='where'; kind={kind!r} answers for every row")
    if kind == "case":
        _check_distinct(boxes.feature_names, syntax)
        return _case(boxes, columns, [syntax.label(answer) for answer in boxes.answers.tolist()])
    if table is None:
        raise ValueError(f"kind={kind!r} needs the table to select from")
    _check_distinct((*boxes.feature_names, column), syntax)
    case = _case(boxes, columns, [syntax.label(answer) for answer in boxes.answers.tolist()])
    query = f"SELECT *, {case} AS {syntax.identifier(column)}\nFROM {qualified(table, syntax)}"
    if kind == "select":
        return query
    parts = name_parts(table)
    name = view if view is not None else (*parts[:-1], f"{parts[-1]}_{column}")
    return f"CREATE VIEW {qualified(name, syntax)} AS\n{query}"


def _columns(
    boxes: Boxes, dialect: Dialect, types: Mapping[str, str] | None, connection: Any,
    table: str | Sequence[str] | None,
) -> Columns:  # fmt: skip
    """Give the columns of the table, of which DuckDB tells most if it keeps the table itself."""
    columns = Columns.of(dialect, types)
    rows = None if connection is None or table is None else stored_rows(connection, table)
    if rows is None or table is None:
        return columns
    return StoredColumns(dialect, types, sampled_share(boxes, columns, connection, table, rows))


def _dialect_of_connection(connection: Any, asked: str | None) -> Any:
    spoken = dialect_of(connection).name
    if asked not in (None, spoken):
        raise ValueError(f"dialect is {asked!r} but the connection speaks {spoken!r}; leave the dialect out")
    return spoken


def _check_distinct(names: Sequence[str], dialect: Dialect) -> None:
    seen: dict[str, str] = {}
    for name in names:
        key = dialect.fold(name)
        if key in seen:
            raise ValueError(
                f"{seen[key]!r} and {name!r} are one column to this database: rename one of them"
            )
        seen[key] = name


def _case(boxes: Boxes, columns: Columns, answers: Sequence[str]) -> str:
    """Write the decision list, with the given text for the answer of each box and of the default."""
    *decided, default = answers
    # Spark has no such search inside an expression.
    if boxes.n_boxes > MOST_BRANCHES and columns.dialect.name != "spark":
        return search_box_table(boxes, columns, answers)
    if boxes.uncovered == "nearest":
        default = nearest_answer(boxes, columns, answers)
    if not decided:
        return default
    whens = "\n".join(
        f"  WHEN {columns.box(boxes.conditions(box))} THEN {answer}" for box, answer in enumerate(decided)
    )
    return f"CASE\n{whens}\n  ELSE {default}\nEND"


# -- rows of one class or box ----------------------------------------------------------------------


def _where(boxes: Boxes, columns: Columns, label: Label | EllipsisType | None, box: int | None) -> str:
    if box is not None:
        if label is not ...:
            raise ValueError("give a label or a box, not both: the rows of a class, or those in a box")
        if not -boxes.n_boxes <= box < boxes.n_boxes:
            raise ValueError(f"there is no box {box}; there are {boxes.n_boxes}, from 0 on")
        return chain("AND", columns.predicates(boxes.conditions(box)), "  ") or columns.dialect.true
    wanted = asked_answer(boxes, label)
    gets = np.array([answer == wanted for answer in boxes.answers.tolist()])
    if boxes.uncovered == "nearest" or boxes.n_boxes > MOST_BRANCHES:
        return _case(boxes, columns, [columns.dialect.truth(yes) for yes in gets])
    if gets[-1]:
        others = _decided_by(boxes, columns, ~gets[:-1])
        true = columns.dialect.true
        return true if others is None else f"({others}) IS NOT {true}"
    return _decided_by(boxes, columns, gets[:-1]) or columns.dialect.false


def _decided_by(boxes: Boxes, columns: Columns, chosen: NDArray[np.bool_]) -> str | None:
    """Write which rows have a chosen box as the first that contains them; None if there are none.

    A box is asked alone, so that an index can serve it, unless another one may come first.
    """
    before = np.triu(boxes.overlaps(), k=1) & ~chosen[:, None] & chosen
    if before.sum() > MOST_SPELLED_OUT:
        return _case(boxes, columns, [columns.dialect.truth(yes) for yes in (*chosen, False)])
    true = columns.dialect.true
    predicates = {}

    def predicate(box: int) -> str:
        if box not in predicates:
            predicates[box] = columns.box(boxes.conditions(box))
        return predicates[box]

    found = []
    for box in np.flatnonzero(chosen & ~boxes.shadowed()):
        rivals = [f"({predicate(int(rival))}) IS NOT {true}" for rival in np.flatnonzero(before[:, box])]
        asked = columns.predicates(boxes.conditions(int(box)))
        found.append([*asked, *rivals] or [true])
    if len(found) == 1:
        return chain("AND", found[0], "  ")
    return chain("OR", [f"({chain('AND', asked)})" for asked in found], "  ") if found else None
