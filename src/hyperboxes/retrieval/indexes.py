"""Indexes that serve boxes, and what a box implies in the terms of each.

The conditions of a box are always asked as they are; an index may be told a condition more, which
follows from them. So rows are the same through an index or not, whatever the index holds.

The one to have is the grid: a B-tree that begins with the cells of a grid over all ranged columns but the
last, and goes on with that last one. A plain B-tree of several columns is searched by the range of its
first column alone; the grid's cells are points, so that it is searched by all of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..boxes import Boxes
from ..conditions import Condition
from .sources import Source

Kind = Literal["grid", "btree", "brin", "cube", "rtree", "sorted"]
#: Each database, and the indexes it can have.
KINDS: dict[str, tuple[Kind, ...]] = {
    "postgres": ("grid", "btree", "brin", "cube"),
    "sqlite": ("grid", "btree", "rtree"),
    "duckdb": ("sorted",),
}
#: Marks what we wrote in comments of the database, so that a later search finds it.
SIGN = "hyperboxes index "
#: R*Trees have no more dimensions.
MOST_RTREE = 5
#: The largest float32, and a number far above the step of those next to zero.
LARGEST_FLOAT32, TINY = 3.4028234663852886e38, 2.0**-120
#: Beyond, SQLite compares integers otherwise than doubles.
LARGEST_CUT = 2.0**53


@dataclass(frozen=True)
class Index:
    """An index: its kind, its columns in order, and the cuts of the grid between their cells.

    ``points`` are columns that boxes ask for a value or a set, ``ranges`` those they ask for an interval.
    """

    kind: Kind
    name: str
    points: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order."""
        return self.points + self.ranges

    def serves(self, conditions: Sequence[Condition]) -> bool:
        """Tell whether a box asks for the columns that the index begins with, or needs, by their values."""
        asked = {condition.name for condition in conditions if not condition.must_miss}
        if self.kind == "rtree":
            return bool(asked & set(self.ranges))
        if self.kind == "cube":
            return asked >= set(self.ranges)
        if self.kind == "grid":
            return asked >= set(self.points) and asked >= set(self.ranges[:-1])
        return self.columns[0] in asked

    def hints(self, source: Source, boxes: Boxes, box: int) -> list[str]:
        """Write what follows from the conditions of a box, in terms that the index knows."""
        conditions = boxes.conditions(box)
        if not self.serves(conditions):
            return []
        ranges = {one.name: one for one in conditions if one.categories is None and not one.must_miss}
        asked = [ranges[name] for name in self.ranges if name in ranges]
        if self.kind == "grid":
            return [self._cells(source, condition) for condition in asked if condition.name in self.cuts]
        if self.kind == "cube":
            return [_within_cube(source, asked)]
        if self.kind == "rtree":
            return [self._within_rtree(source, asked)]
        return []

    def statements(self, source: Source) -> list[str]:
        """Write the statements that make the index."""
        make = {"rtree": self._make_rtree, "cube": self._make_cube, "brin": self._make_brin}
        return make.get(self.kind, self._make_btree)(source)

    # -- B-trees -----------------------------------------------------------------------------------

    def _make_btree(self, source: Source) -> list[str]:
        quote = source.dialect.identifier
        points = [quote(name) for name in self.points]
        ranges = [quote(name) for name in self.ranges]
        if self.kind == "grid":
            cells = [f"({self.cell(source, name)})" for name in self.ranges[:-1]]
            ranges = [*cells, ranges[-1], *ranges[:-1]]
        ordered = points + ranges
        key = [source.key_sql] if source.key not in (*self.columns, "rowid") else []
        if source.dialect.name == "sqlite":
            # SQLite keeps the text of a statement, so that the comment stays.
            kept = ", ".join(ordered + key)
            table = quote(_table(source))
            return [f"CREATE INDEX {_beside(source, self.name)} ON {table} (/* {self._note()} */ {kept})"]
        include = f" INCLUDE ({key[0]})" if key else ""
        return [
            f"CREATE INDEX {quote(self.name)} ON {source.text} ({', '.join(ordered)}){include}",
            self._comment(source),
        ]

    def cell(self, source: Source, name: str) -> str:
        """Write which cell of the grid a column is in: how many cuts are at or below it."""
        cuts = self.cuts[name]
        if source.dialect.name == "postgres":
            listed = ",".join(repr(cut) for cut in cuts)
            return f"width_bucket({source.columns.as_double(name)}, CAST('{{{listed}}}' AS float8[]))"
        cell = source.columns.as_double(name)
        if source.dialect.name == "sqlite":
            cell = source.dialect.identifier(name)
        return _bisected(cell, cuts, 0, source)

    def _cells(self, source: Source, condition: Condition) -> str:
        cuts = self.cuts[condition.name]
        first, last = bisect_right(cuts, condition.lower), bisect_right(cuts, condition.upper)
        listed = ", ".join(str(cell) for cell in range(first, last + 1))
        return f"{self.cell(source, condition.name)} IN ({listed})"

    # -- other kinds -------------------------------------------------------------------------------

    def _make_brin(self, source: Source) -> list[str]:
        listed = ", ".join(source.dialect.identifier(name) for name in self.columns)
        name = source.dialect.identifier(self.name)
        return [f"CREATE INDEX {name} ON {source.text} USING brin ({listed})", self._comment(source)]

    def _make_cube(self, source: Source) -> list[str]:
        name = source.dialect.identifier(self.name)
        # NaN would corrupt the tree, and an array with NULL in it is no cube.
        known = " AND ".join(_is_number(source, column) for column in self.ranges)
        return [
            "CREATE EXTENSION IF NOT EXISTS cube",
            f"CREATE INDEX {name} ON {source.text} USING gist ({_cube(source, self.ranges)}) WHERE {known}",
            self._comment(source),
        ]

    def _make_rtree(self, source: Source) -> list[str]:
        if len(self.ranges) > MOST_RTREE:
            raise ValueError(f"an R*Tree has at most {MOST_RTREE} columns, not {len(self.ranges)}")
        quote = source.dialect.identifier
        tree, table = _beside(source, self.name), quote(_table(source))
        bare = quote(self.name)
        pairs = ", ".join(f"low{place}, high{place}" for place in range(len(self.ranges)))

        def cells(row: str) -> str:
            return ", ".join(f"{row}{quote(name)}, {row}{quote(name)}" for name in self.ranges)

        put = f"INSERT OR REPLACE INTO {bare} VALUES (new.rowid, {cells('new.')});"
        drop = f"DELETE FROM {bare} WHERE id = old.rowid;"

        def trigger(event: str, action: str) -> str:
            name = _beside(source, f"{self.name}_{event.lower()}")
            return f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN {action} END"

        return [
            f"DROP TABLE IF EXISTS {tree}",  # of a table that is gone: its triggers went, the tree did not
            f"CREATE VIRTUAL TABLE {tree} USING rtree(id, {pairs})",
            f"INSERT INTO {tree} SELECT rowid, {cells('')} FROM {source.text}",
            # SQLite keeps the text of a trigger, so that the comment stays.
            trigger("INSERT", f"/* {self._note()} */ {put}"),
            trigger("DELETE", drop),
            trigger("UPDATE", f"{drop} {put}"),
        ]

    def _within_rtree(self, source: Source, asked: Sequence[Condition]) -> str:
        number = source.dialect.number
        places = {name: place for place, name in enumerate(self.ranges)}
        sides = []
        for condition in asked:
            place = places[condition.name]
            low, high = _around_float32(condition.lower, condition.upper)
            if low > -math.inf:
                sides.append(f"high{place} >= {number(low)}")
            if high < math.inf:
                sides.append(f"low{place} <= {number(high)}")
        if not sides:
            return "1"
        return f"rowid IN (SELECT id FROM {_beside(source, self.name)} WHERE {' AND '.join(sides)})"

    # -- notes -------------------------------------------------------------------------------------

    def _note(self) -> str:
        """Describe the index for a later search to find, in a text that ends no comment."""
        told = {
            "kind": self.kind, "name": self.name, "points": self.points, "ranges": self.ranges,
            "cuts": dict(self.cuts),
        }  # fmt: skip
        return SIGN + json.dumps(told).replace("*/", "*\\/")

    def _comment(self, source: Source) -> str:
        *schema, _ = source.parts or ("",)
        name = ".".join(source.dialect.identifier(part) for part in (*schema, self.name))
        return f"COMMENT ON INDEX {name} IS {source.dialect.text(self._note())}"


def index_name(source: Source, kind: Kind, columns: Sequence[str]) -> str:
    """Name an index after its table and columns, in a name short enough for every database."""
    told = json.dumps([source.title, kind, list(columns)])
    digest = hashlib.sha256(told.encode()).hexdigest()[:10]
    return f"hyperboxes_{kind}_{digest}"


def find_indexes(source: Source) -> tuple[Index, ...]:
    """Find the indexes that an earlier search made for a table; other comments are passed over."""
    if source.parts is None or source.dialect.name == "duckdb":
        return ()
    if source.dialect.name == "postgres":
        notes = source.rows(
            "SELECT obj_description(indexrelid, 'pg_class') FROM pg_index"
            " WHERE indrelid = CAST($1 AS regclass) AND indisvalid ORDER BY indexrelid",
            source.text,
        )
    else:
        *schema, table = source.parts
        master = f"{source.dialect.identifier(schema[-1])}.sqlite_master" if schema else "sqlite_master"
        made = f"SELECT sql FROM {master} WHERE tbl_name = ?1 AND type IN ('index', 'trigger') ORDER BY rowid"
        notes = source.rows(made, table)
    found = [_from_note(str(note[0]), source) for note in notes if note[0] is not None]
    return tuple(index for index in found if index is not None)


def _from_note(text: str, source: Source) -> Index | None:
    begin = text.find(SIGN)
    if begin < 0:
        return None
    try:
        told, _ = json.JSONDecoder().raw_decode(text, begin + len(SIGN))
        cuts = {str(name): tuple(map(float, values)) for name, values in told["cuts"].items()}
        index = Index(told["kind"], str(told["name"]), tuple(told["points"]), tuple(told["ranges"]), cuts)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    sound = (
        index.kind in KINDS[source.dialect.name]
        and len(index.columns) > 0
        and all(name in source.types for name in index.columns)
        and all(list(values) == sorted(set(values)) for values in index.cuts.values())
        and (index.kind != "grid" or set(index.cuts) >= set(index.ranges[:-1]))
    )
    return index if sound else None


def _table(source: Source) -> str:
    if source.parts is None:
        raise ValueError(f"{source.title} is a file: an index needs a table")
    return source.parts[-1]


def _around_float32(lower: float, upper: float) -> tuple[float, float]:
    """Widen bounds where an R*Tree, whose numbers are float32, does not round its own outwards.

    It does so for most; but next to zero it misses by less than ``TINY``, and beyond what float32 holds, a
    number becomes infinite on either side.
    """
    low = -TINY if abs(lower) < TINY else -math.inf if lower < -LARGEST_FLOAT32 else lower
    high = TINY if abs(upper) < TINY else math.inf if upper > LARGEST_FLOAT32 else upper
    return low, high


def _beside(source: Source, name: str) -> str:
    """Write the name of something in the schema of the table."""
    *schema, _ = source.parts or ("",)
    return ".".join(source.dialect.identifier(part) for part in (*schema[-1:], name))


def _bisected(cell: str, cuts: Sequence[float], before: int, source: Source) -> str:
    if not cuts:
        return str(before)
    middle = len(cuts) // 2
    low = _bisected(cell, cuts[:middle], before, source)
    high = _bisected(cell, cuts[middle + 1 :], before + middle + 1, source)
    return f"CASE WHEN {cell} < {source.dialect.number(cuts[middle])} THEN {low} ELSE {high} END"


def _cube(source: Source, names: Sequence[str]) -> str:
    return f"cube(ARRAY[{', '.join(source.columns.as_double(name) for name in names)}])"


def _within_cube(source: Source, asked: Sequence[Condition]) -> str:
    number = source.dialect.number
    low = ", ".join(number(condition.lower) for condition in asked)
    high = ", ".join(number(condition.upper) for condition in asked)
    names = [condition.name for condition in asked]
    return f"{_cube(source, names)} <@ cube(ARRAY[{low}], ARRAY[{high}])"


def _is_number(source: Source, name: str) -> str:
    """Write that a cell is neither NULL nor NaN, in a form that follows from what a box asks."""
    cell = source.dialect.identifier(name)
    if source.sort_of(name) in ("double", "real"):
        return f"{cell} <= {source.dialect.number(math.inf)}"
    return f"{cell} IS NOT NULL"


def fitting_cuts(cuts: Sequence[float]) -> tuple[float, ...]:
    """Keep the cuts that every database compares alike."""
    return tuple(sorted({cut for cut in cuts if abs(cut) < LARGEST_CUT}))


def merge(first: Sequence[Index], more: Sequence[Index]) -> tuple[Index, ...]:
    """Unite indexes by name."""
    return tuple({index.name: index for index in (*first, *more)}.values())


def hints_for(source: Source, boxes: Boxes, box: int, indexes: Sequence[Index]) -> list[str]:
    """Write what one index, the one of most of the box's columns, is told of a box."""
    conditions = boxes.conditions(box)
    asked = {condition.name for condition in conditions}
    able = [index for index in indexes if index.serves(conditions)]
    told: list[tuple[int, list[str]]] = []
    for index in able:
        hints = index.hints(source, boxes, box)
        if hints:
            told.append((len(asked & set(index.columns)), hints))
    best: Any = max(told, key=lambda pair: pair[0], default=(0, []))
    return list(best[1])
