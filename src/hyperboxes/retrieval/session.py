"""Search by classification: mark a few rows, and the database returns those like them, through its index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..scaling import standardise
from .advice import Advice, advise, sorted_copy_advice
from .indexes import Index, Kind, find_indexes, hints_for, merge
from .learning import Round, Rows, expected_looks, fit_marked
from .plans import Plan, explain
from .ranking import Rank, count_query, depth, neighbour_distance, ranked_query, spread_query
from .rows import Sample, aligned, drawn_keys, find_features, marked_keys, read_sample
from .sources import FILE_ROW, Source, open_source

Floats = NDArray[np.float64]


class Hits(NamedTuple):
    """Rows that a search found, the best first: keys, numbers of boxes that hold them, and depths."""

    key: tuple[Any, ...]
    boxes: tuple[int, ...]
    depth: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.key)


def search(
    connection: Any,
    table: str | Path | Sequence[str],
    positives: str | Iterable[Any],
    negatives: str | Iterable[Any] | None = None,
    *,
    key: str | None = None,
    features: Sequence[str] | None = None,
    max_boxes: int = 5,
    max_features: int = 4,
    n_background: int = 5000,
    rank: Rank = "depth",
    limit: int | None = 1000,
    seed: int = 0,
) -> Search:
    """Find the rows of a table that are like the marked ones.

    A few boxes of few columns are learned from the marked rows against a sample of all others, and the
    database returns the rows in them, ranked. Look at the first of them, mark what is right and wrong with
    ``mark``, and search again. The database is only read, unless ``create_indexes`` is called.

    Parameters
    ----------
    connection : connection or None
        An open connection of duckdb, sqlite3 or psycopg. None reads a file through DuckDB.
    table : str, sequence of str or path
        The table or view: one name, or catalog, schema and table. With DuckDB or None, also the path of a
        Parquet or CSV file, whose name ends so.
    positives : iterable of keys, or str
        Rows that are looked for: their keys, or a condition in SQL that they fulfil. A condition becomes
        part of a query as it is: never pass on one that a stranger wrote.
    negatives : iterable of keys, or str, optional
        Rows that are not looked for, if any are known. None are needed.
    key : str, optional
        The column that tells rows apart; by default the primary key, the row id, or the place of the row in
        a Parquet file.
    features : sequence of str, optional
        Columns that boxes may restrict: numbers, booleans and text; by default all numbers and booleans.
        Leave out what gives the answer away.
    max_boxes, max_features : int
        Most boxes, and most columns that each of them restricts: an index is as wide.
    n_background : int
        How many rows are drawn to learn from beside the marked ones.
    rank : {"depth", "boxes"}
        Whether rows that lie deepest in a box come first, or those in most boxes.
    limit : int or None
        Most rows that ``hits`` fetches.
    seed : int
        Seed of the sample. The same rows, marks and seed give the same boxes.

    Examples
    --------
    >>> import duckdb
    >>> import hyperboxes
    >>> con = duckdb.connect()
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, i % 100 AS a, i % 7 AS b FROM range(5000) r(i)")
    >>> found = hyperboxes.search(con, "t", positives="a >= 90 AND b = 3", key="id", limit=2)
    >>> found.count()
    71
    >>> found.hits.key
    (199, 899)
    """
    for name, value in (
        ("max_boxes", max_boxes),
        ("max_features", max_features),
        ("n_background", n_background),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}")
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1
    ):
        raise ValueError(f"limit must be None or a whole number, at least 1, got {limit!r}")
    if rank not in get_args(Rank):
        raise ValueError(f"rank must be one of {list(get_args(Rank))}, got {rank!r}")
    source = open_source(connection, table, key)
    asked = Settings(
        find_features(source, features), max_boxes, max_features, n_background, rank, limit, seed
    )
    liked = _labels(source, positives, negatives, seed)
    return _searched(source, asked, Marks(liked, frozenset(liked)), find_indexes(source))


def _labels(
    source: Source, positives: str | Iterable[Any] | None, negatives: str | Iterable[Any] | None, seed: int
) -> dict[Any, bool]:
    """Read which rows are marked, and how; none may be marked twice."""
    more = marked_keys(source, positives, "positives", seed)
    less = marked_keys(source, negatives, "negatives", seed)
    both = set(more) & set(less)
    if both:
        raise ValueError(f"{source.key} = {min(both, key=repr)!r} is marked as positive and as negative")
    return dict.fromkeys(more, True) | dict.fromkeys(less, False)


class Settings(NamedTuple):
    """What was asked of a search, the same in every round."""

    features: tuple[str, ...]
    max_boxes: int
    max_features: int
    n_background: int
    rank: Rank
    limit: int | None
    seed: int


class Marks(NamedTuple):
    """Marked rows: whether each is looked for, those known from the start, and the rounds of the others."""

    liked: dict[Any, bool]
    given: frozenset[Any]
    rounds: tuple[Round, ...] = ()

    def keys(self, liked: bool) -> tuple[Any, ...]:
        """List the keys of the rows that are looked for, or are not."""
        return tuple(key for key, yes in self.liked.items() if yes is liked)


def _searched(
    source: Source, asked: Settings, marks: Marks, indexes: tuple[Index, ...], sample: Sample | None = None
) -> Search:
    if not marks.keys(True):
        raise ValueError("positives is empty: mark at least one row that is looked for")
    if sample is None:
        sample = read_sample(source, asked.features, drawn_keys(source, asked.n_background, asked.seed))
    marked, sample = aligned([read_sample(source, asked.features, tuple(marks.liked)), sample])
    boxes = fit_marked(
        _rows(source, marks, marked, sample), marks.rounds,
        max_boxes=asked.max_boxes, max_features=asked.max_features, seed=asked.seed,
    )  # fmt: skip
    return Search(boxes, marks.keys(True), marks.keys(False), source, asked, marks, marked, sample, indexes)


def _rows(source: Source, marks: Marks, marked: Sample, sample: Sample) -> Rows:
    liked = np.array(list(marks.liked.values()), dtype=bool)
    given = np.array([key in marks.given for key in marks.liked], dtype=bool)
    looked_at = ~given & (expected_looks(marks.rounds, marked.table.matrix) > 0)
    unmarked = np.array([key not in marks.liked for key in sample.keys], dtype=bool)
    return Rows(
        marked.rows(liked & ~looked_at).table, marked.rows(~liked & ~looked_at).table,
        marked.rows(looked_at).table, liked[looked_at], sample.rows(unmarked).table, source.n_rows,
    )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Search:
    """What a search learned, and the rows it finds; a value that does not change.

    Attributes
    ----------
    boxes : Boxes
        What was learned: True in a box, False elsewhere.
    positives, negatives : tuple of keys
        The marked rows.
    indexes : tuple of Index
        The indexes that searches made for the table, which the query speaks to.
    """

    boxes: Boxes
    positives: tuple[Any, ...]
    negatives: tuple[Any, ...]
    source: Source = field(repr=False)
    asked: Settings = field(repr=False)
    marks: Marks = field(repr=False)
    marked: Sample = field(repr=False)
    sample: Sample = field(repr=False)
    indexes: tuple[Index, ...] = ()

    def __repr__(self) -> str:
        used = int(self.boxes.restricted.any(axis=0).sum())
        return (
            f"Search({self.source.title}: {self.boxes.n_boxes} boxes over {used} columns, from "
            f"{len(self.positives)} positives and {len(self.negatives)} negatives)"
        )

    # -- what is found -----------------------------------------------------------------------------

    @cached_property
    def sql(self) -> str:
        """The query that gives key, number of boxes and depth of the rows found, the best first."""
        return self._ranked(self.asked.limit)

    @cached_property
    def hits(self) -> Hits:
        """The rows found, fetched on first use and at most ``limit`` of them."""
        return _as_hits(self.source.rows(self.sql))

    def count(self) -> int:
        """Count the rows in any box."""
        return int(self.source.rows(count_query(self.source, self.boxes, self._hints))[0][0])

    def nearest(self, n: int, *, among: int = 100_000) -> tuple[Any, ...]:
        """Give the keys of the ``n`` unmarked hits that are most like marked positives: the best guesses.

        The first ``among`` hits are read, and their distance to the three nearest positives is taken over
        all features, in standard deviations; another category and a missing value count as one.
        """
        hits = _as_hits(self.source.rows(self._ranked(among + len(self.marks.liked))))
        keys = tuple(key for key in hits.key if key not in self.marks.liked)
        if not keys:
            return ()
        read = read_sample(self.source, self.asked.features, keys)
        liked = self.marked.rows(np.array(list(self.marks.liked.values()), dtype=bool))
        read, liked = aligned([read, liked])
        order = np.argsort(neighbour_distance(read.table, liked.table, self.unit), kind="stable")
        return tuple(keys[place] for place in order[:n].tolist())

    def spread(self, n: int) -> tuple[Any, ...]:
        """Give the keys of ``n`` unmarked hits, spread evenly over the ranking: those to mark next.

        What is marked among them says how pure the hits are; the best guesses alone would not.
        """
        total = self.count()
        drawn = min(total, n + len(self.marks.liked))
        places = [int((step + 0.5) * total / drawn) for step in range(drawn)]
        query = spread_query(self.source, self._ranked(None), self.asked.rank, places)
        keys = [row[0] for row in self.source.rows(query) if row[0] not in self.marks.liked]
        chosen = min(n, len(keys))
        return tuple(keys[int((step + 0.5) * len(keys) / chosen)] for step in range(chosen))

    def rows(self, keys: Iterable[Any] | None = None) -> list[dict[str, Any]]:
        """Read whole rows by key, in that order; by default those of ``hits``."""
        wanted = list(self.hits.key if keys is None else keys)
        names = list(self.source.types)
        listed = ", ".join(self.source.dialect.identifier(name) for name in names)
        query = f"SELECT {listed} FROM {self.source.text} WHERE {self.source.has_key()}"
        place = names.index(self.source.key)
        read = {row[place]: row for row in self.source.rows(query, self.source.key_list(wanted))}
        absent = [key for key in wanted if key not in read]
        if absent:
            raise ValueError(f"{self.source.title} has no row with {self.source.key} = {absent[0]!r}")
        return [dict(zip(names, read[key], strict=True)) for key in wanted]

    def depth(self, X: Any) -> Floats:
        """Give how deep rows in memory lie in the boxes: 0 outside, up to 1; as the query does."""
        return depth(self.boxes, self.boxes._matrix(X), self.unit)

    @cached_property
    def unit(self) -> Floats:
        """What counts as deep in each column: its standard deviation among the rows drawn."""
        matrix = self.sample.table.matrix
        finite = np.where(np.isfinite(matrix), matrix, np.nan)
        return standardise(finite, np.ones(len(finite)))[1]

    # -- the next round ----------------------------------------------------------------------------

    def mark(self, positives: str | Iterable[Any] = (), negatives: str | Iterable[Any] = ()) -> Search:
        """Mark more rows, and search again; a row that was marked otherwise is marked anew."""
        labels = _labels(self.source, positives, negatives, self.asked.seed)
        new = [key for key in labels if key not in self.marks.liked]
        here = read_sample(self.source, self.asked.features, new)
        here, _ = aligned([here, self.sample])
        n_inside = int(
            self.boxes.with_categories(here.table.categories).contains(here.table.matrix).any(axis=1).sum()
        )
        rounds = self.marks.rounds
        if n_inside:
            rounds = (*rounds, Round(self.boxes, self.count(), n_inside))
        marks = self.marks._replace(liked=self.marks.liked | labels, rounds=rounds)
        return _searched(self.source, self.asked, marks, self.indexes, self.sample)

    # -- indexes -----------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Ask the database how it finds the rows, and whether an index serves every box.

        DuckDB runs the query for this, to count the row groups that it reads.
        """
        return explain(self.source, self.sql)

    def advice(self, kind: Kind | None = None) -> list[Advice]:
        """Say which indexes would serve the boxes, what they cost and what they save.

        Parameters
        ----------
        kind : str, optional
            Ask for one kind: "grid", "btree", "brin" or "cube" in PostgreSQL, "grid", "btree" or "rtree" in
            SQLite, "sorted" in DuckDB, which is a copy in an order that lets it pass over most rows.
        """
        if self.source.dialect.name == "duckdb":
            advise(self.source, self.boxes, self.sample, kind)
            return sorted_copy_advice(self.source, self.boxes, self.sample, _copy_name(self.source))
        return advise(self.source, self.boxes, self.sample, kind)

    def create_indexes(self, kind: Kind | None = None) -> Search:
        """Create the advised indexes that are not there yet, all or none, and use them from now on.

        This changes the database: it is the one method that does.
        """
        if self.source.dialect.name == "duckdb":
            raise ValueError("DuckDB finds ranges by the order of the rows: call sorted_copy(path) instead")
        here = {index.name for index in self.indexes}
        new = [found for found in self.advice(kind) if found.index.name not in here]
        self.source.run([statement for found in new for statement in found.statements])
        return replace(self, indexes=merge(self.indexes, [found.index for found in new]))

    def sorted_copy(self, path: str | Path) -> Search:
        """Write the table to a Parquet file in an order that serves the boxes, and search that instead."""
        from ..atomic import replacing

        source = self.source
        if source.dialect.name != "duckdb":
            raise ValueError(f"{source.dialect.title} has indexes: call create_indexes() instead")
        if source.key in (FILE_ROW, "rowid"):
            raise ValueError(
                f"the key is {source.key}, the place of a row, which another order changes: "
                "search by a key column of the table"
            )
        if Path(path).suffix.lower() != ".parquet":
            raise ValueError(f"the copy is a Parquet file: {path} must end in .parquet")
        with replacing(str(path)) as draft:
            [found] = sorted_copy_advice(source, self.boxes, self.sample, draft)
            source.rows(found.statements[0])
        return replace(self, source=open_source(source.connection, Path(path), source.key))

    # -- inside ------------------------------------------------------------------------------------

    def _hints(self, box: int) -> list[str]:
        return hints_for(self.source, self.boxes, box, self.indexes)

    def _ranked(self, limit: int | None) -> str:
        return ranked_query(self.source, self.boxes, self.unit, self.asked.rank, limit, self._hints)


def _copy_name(source: Source) -> str:
    name = source.parts[-1] if source.parts else Path(source.title).stem
    return f"{name}_sorted.parquet"


def _as_hits(rows: list[tuple[Any, ...]]) -> Hits:
    key, boxes, deep = zip(*rows, strict=True) if rows else ((), (), ())
    return Hits(key, tuple(int(number) for number in boxes), tuple(float(number) for number in deep))
