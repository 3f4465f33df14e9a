"""Advice: which indexes would serve boxes, what they cost to build, and what they save."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..conditions import Condition
from .indexes import KINDS, Index, Kind, fitting_cuts, index_name
from .rows import Sample
from .sources import Source

Floats = NDArray[np.float64]
#: Columns of an index, and cells of the grid in each of its columns.
MOST_COLUMNS, CELLS = 4, 32
#: Columns that rows are sorted by, and rows of a row group: few, so that a row group spans little.
MOST_SORTED, GROUP_ROWS = 3, 20_480
#: Reading more of the table than this through an index is no faster than reading it all.
MOST_READ = 0.2
#: A column that follows the order of the rows this closely is served by the small and cheap BRIN.
CORRELATED = 0.9
#: Microseconds a row that a database takes to scan a table, to read an index, and to build one of a kind.
#: Measured on 5 million rows of six columns (``benchmarks/sql.py indexes`` prints them anew); they decide
#: nothing but what pays, where they differ by factors.
SCAN = {"postgres": 0.06, "sqlite": 0.12, "duckdb": 0.01}
READ = {"postgres": 0.3, "sqlite": 0.6, "duckdb": 0.02}
BUILD: dict[tuple[str, Kind], float] = {
    ("postgres", "btree"): 1.1,
    ("postgres", "grid"): 1.7,
    ("postgres", "brin"): 0.1,
    ("postgres", "cube"): 30.0,
    ("sqlite", "btree"): 2.0,
    ("sqlite", "grid"): 3.5,
    ("sqlite", "rtree"): 26.0,
    ("duckdb", "sorted"): 1.0,
}


@dataclass(frozen=True)
class Advice:
    """One index worth having: the statements that make it, and why.

    ``boxes`` are the boxes it serves, ``read`` the share of the rows that it reads for them (of the sample,
    at most), ``build_seconds`` and ``saved_seconds`` rough figures for this table's number of rows.
    """

    index: Index
    statements: tuple[str, ...]
    boxes: tuple[int, ...]
    read: float
    build_seconds: float
    saved_seconds: float

    def __str__(self) -> str:
        which = "box" if len(self.boxes) == 1 else "boxes"
        pays = math.ceil(self.build_seconds / self.saved_seconds) if self.saved_seconds > 0 else None
        worth = f"pays after about {pays} searches" if pays else "does not pay"
        told = (
            f"-- serves {which} {', '.join(map(str, self.boxes))}: reads {_percent(self.read)} of the rows;",
            f"-- builds in about {_seconds(self.build_seconds)}, saves about {_seconds(self.saved_seconds)} "
            f"a search: {worth}",
            *(f"{statement};" for statement in self.statements),
        )
        return "\n".join(told)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds >= 10
        else f"{seconds:.1g} s"
        if seconds >= 0.1
        else f"{1000 * seconds:.1g} ms"
    )


def advise(source: Source, boxes: Boxes, sample: Sample, kind: Kind | None = None) -> list[Advice]:
    """Advise indexes for boxes: of the given kind, or of the one that costs least for what it saves.

    A box is left out if it holds so many rows that a scan serves it as well.
    """
    able = KINDS[source.dialect.name]
    if kind is not None and kind not in able:
        raise ValueError(f"{source.dialect.title} has no index of kind {kind!r}; it has {list(able)}")
    if source.dialect.name == "duckdb" or source.parts is None:
        return []
    correlation = _correlations(source) if kind in (None, "brin") else {}
    made: dict[str, tuple[Index, list[int]]] = {}
    for box in range(boxes.n_boxes):
        conditions = boxes.conditions(box)
        reusable = [name for name, (index, _) in made.items() if _is_served(index, conditions, sample)]
        if reusable:
            made[reusable[0]][1].append(box)
            continue
        index = _index_for(source, conditions, sample, kind, correlation)
        if index is not None:
            made.setdefault(index.name, (index, []))[1].append(box)
    return [_weighed(source, boxes, sample, index, held) for index, held in made.values()]


def _index_for(
    source: Source, conditions: Sequence[Condition], sample: Sample, kind: Kind | None,
    correlation: dict[str, float],
) -> Index | None:  # fmt: skip
    """Choose the index of one box; None if none would help."""
    points, ranges = split_columns(conditions, sample)
    if kind is None:
        ordered = [name for name in ranges if abs(correlation.get(name, 0.0)) >= CORRELATED]
        kind = "brin" if ordered else "grid"
        if ordered:
            points, ranges = (), tuple(ordered)
    if kind in ("cube", "rtree"):
        points = ()
    if kind == "btree":
        ranges = ranges[-1:] + ranges[:-1]  # searched by the range of the first alone
    if not points + ranges:
        return None
    cuts = {}
    if kind == "grid":
        cuts = {name: grid_cuts(sample, name) for name in ranges[:-1]}
        ranges = tuple(name for name in ranges[:-1] if cuts[name]) + ranges[-1:]
        cuts = {name: values for name, values in cuts.items() if values}
    if not points + ranges or (kind in ("grid", "cube", "rtree") and not ranges):
        kind = "btree" if points else None
        if kind is None:
            return None
    index = Index(kind, index_name(source, kind, points + ranges), points, ranges, cuts)
    return index if _is_served(index, conditions, sample) else None


def split_columns(conditions: Sequence[Condition], sample: Sample) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the columns of an index: points before ranges, each the most selective first.

    The last range is searched as it is, not by cells, and so is the most selective one.
    """
    shares = {condition.name: float(_holds(condition, sample).mean()) for condition in conditions}
    chosen = sorted(conditions, key=lambda condition: (shares[condition.name], condition.feature))[
        :MOST_COLUMNS
    ]
    points = tuple(one.name for one in chosen if one.categories is not None or one.lower == one.upper)
    ranges = [one.name for one in chosen if one.name not in points]
    return points, tuple(ranges[1:] + ranges[:1])


def sorted_copy_advice(source: Source, boxes: Boxes, sample: Sample, path: str) -> list[Advice]:
    """Advise an order of the rows, in which most row groups hold no row of the boxes.

    Rows go cell by cell of a coarse grid, with about as many cells as there are row groups, and within a
    cell by one more column: so a row group spans little of each.
    """
    gain: dict[str, float] = {}
    for box in range(boxes.n_boxes):
        for condition in boxes.conditions(box):
            held = float(_holds(condition, sample).mean())
            gain[condition.name] = gain.get(condition.name, 0.0) + 1 - held
    names = sorted(gain, key=lambda name: (-gain[name], name))[:MOST_SORTED]
    if not names:
        return []
    n_groups = max(1, source.n_rows // GROUP_ROWS)
    per_column = max(2, round(n_groups ** (1 / len(names))))
    ranges = tuple(name for name in names if name not in sample.table.categories)
    points = tuple(name for name in names if name in sample.table.categories)
    cuts = {name: grid_cuts(sample, name, per_column) for name in ranges[:-1]}
    index = Index("sorted", path, points, ranges, cuts)
    order = [source.dialect.identifier(name) for name in points]
    order += [index.cell(source, name) for name in ranges[:-1]]
    order += [source.dialect.identifier(name) for name in ranges[-1:]]
    statement = (
        f"COPY (SELECT * FROM {source.text} ORDER BY {', '.join(order)})\n"
        f"TO {source.dialect.text(path)} (FORMAT parquet, ROW_GROUP_SIZE {GROUP_ROWS})"
    )
    shares = [read_share(index, boxes.conditions(box), sample) for box in range(boxes.n_boxes)]
    scanned, through = boxes.n_boxes * SCAN["duckdb"], sum(shares) * READ["duckdb"]
    return [
        Advice(
            index,
            (statement,),
            tuple(range(boxes.n_boxes)),
            max(shares),
            build_seconds=1e-6 * source.n_rows * BUILD["duckdb", "sorted"],
            saved_seconds=max(0.0, 1e-6 * source.n_rows * (scanned - through)),
        )
    ]


def grid_cuts(sample: Sample, name: str, cells: int = CELLS) -> tuple[float, ...]:
    """Cut a column into cells of like many rows, at short numbers."""
    values = sample.table.matrix[:, sample.table.feature_names.index(name)]
    values = values[np.isfinite(values)]
    if not len(values):
        return ()
    cuts = np.quantile(values, np.arange(1, cells) / cells)
    return fitting_cuts([float(f"{cut:.6g}") for cut in cuts.tolist()])


def _holds(condition: Condition, sample: Sample) -> NDArray[np.bool_]:
    cells = sample.table.matrix[:, condition.feature]
    if condition.categories is not None:
        known = sample.table.categories[condition.name]
        return np.isin(cells, [place for place, value in enumerate(known) if condition.admits(value)])
    if condition.must_miss:
        return np.isnan(cells)
    return (cells >= condition.lower) & (cells <= condition.upper)


def read_share(index: Index, conditions: Sequence[Condition], sample: Sample) -> float:
    """Estimate the share of the rows that an index reads for a box: those that it cannot rule out."""
    asked = {condition.name: condition for condition in conditions}
    rows = np.ones(len(sample), bool)
    if index.kind in ("btree", "brin"):
        names = index.columns[:1] if index.kind == "btree" and not index.points else index.columns
        for name in names:
            if name in asked:
                rows &= _holds(asked[name], sample)
    else:
        for name in index.columns:
            if name not in asked:
                continue
            condition = asked[name]
            if name in index.cuts:
                ends = (-math.inf, *index.cuts[name], math.inf)
                first = bisect_right(ends, condition.lower) - 1
                last = min(bisect_right(ends, condition.upper), len(ends) - 1)
                condition = condition._replace(lower=ends[first], upper=ends[last])
            rows &= _holds(condition, sample)
    return float(rows.mean())


def _is_served(index: Index, conditions: Sequence[Condition], sample: Sample) -> bool:
    return index.serves(conditions) and read_share(index, conditions, sample) <= MOST_READ


def _weighed(source: Source, boxes: Boxes, sample: Sample, index: Index, held: list[int]) -> Advice:
    name = source.dialect.name
    shares = [read_share(index, boxes.conditions(box), sample) for box in held]
    scanned = len(held) * source.n_rows * SCAN[name]
    through = sum(shares) * source.n_rows * READ[name]
    return Advice(
        index, tuple(index.statements(source)), tuple(held), max(shares),
        build_seconds=1e-6 * source.n_rows * BUILD[name, index.kind],
        saved_seconds=max(0.0, 1e-6 * (scanned - through)),
    )  # fmt: skip


def _correlations(source: Source) -> dict[str, float]:
    """Read how closely columns follow the order of the rows, where PostgreSQL has counted it."""
    if source.dialect.name != "postgres":
        return {}
    found = source.rows(
        "SELECT s.attname, s.correlation FROM pg_stats s JOIN pg_class c ON c.relname = s.tablename"
        " JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = s.schemaname"
        " WHERE c.oid = CAST($1 AS regclass) AND s.correlation IS NOT NULL",
        source.text,
    )
    return {str(name): float(value) for name, value in found}
