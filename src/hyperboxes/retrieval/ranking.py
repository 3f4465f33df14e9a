"""Ranking: how deep a row lies in boxes, and the query that returns the rows of boxes by rank.

A box is asked on its own, and what the boxes find is put together by key: so each one can be served by an
index, and a row counts the boxes it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..measures import Measure
from ..tables import Table
from .sources import Source

Floats = NDArray[np.float64]
Rank = Literal["depth", "boxes"]
#: Rows whose distances are computed at a time, and units beyond which a cell is no farther away.
BLOCK_ROWS, FARTHEST = 4096, 1024.0
ORDER = {"depth": "depth DESC, boxes DESC", "boxes": "boxes DESC, depth DESC"}


def sides(boxes: Boxes, box: int, unit: Floats) -> list[tuple[int, Measure]]:
    """List the closed sides of a box, each with the measure of how far a cell lies inside of it."""
    found = []
    for condition in boxes.conditions(box):
        if condition.categories is not None or condition.takes_missing or condition.lower == condition.upper:
            continue
        width = condition.upper / 2 - condition.lower / 2
        step = min(float(unit[condition.feature]), width)
        if step <= 0:
            continue  # two sides next to each other at the end of what doubles resolve
        if condition.lower > -np.inf:
            found.append((condition.feature, Measure.above(condition.lower, step)))
        if condition.upper < np.inf:
            found.append((condition.feature, Measure.below(condition.upper, step)))
    return found


def depth(boxes: Boxes, matrix: NDArray[np.floating], unit: Floats) -> Floats:
    """Give how deep rows lie in the boxes, from 0 (on a side, or outside) to 1.

    The depth in a box is that below its nearest closed side, in units of the feature, or of half the box
    where that is less; the depth in several boxes is the greatest.
    """
    inside = boxes.contains(matrix)
    greatest = np.zeros(len(matrix))
    for box in range(boxes.n_boxes):
        rows = np.flatnonzero(inside[:, box])
        found = np.ones(len(rows))
        for feature, measure in sides(boxes, box, unit):
            found = np.minimum(found, measure.of(np.asarray(matrix[rows, feature], dtype=np.float64)))
        greatest[rows] = np.maximum(greatest[rows], found)
    return greatest


def _depth_sql(source: Source, boxes: Boxes, box: int, unit: Floats) -> str:
    columns, number = source.columns, source.dialect.number
    terms = [
        measure.to_sql(f"({columns.as_double(boxes.feature_names[feature])})", number)
        for feature, measure in sides(boxes, box, unit)
    ]
    return f"{source.dialect.least}({', '.join([number(1.0), *terms])})" if terms else number(1.0)


def ranked_query(
    source: Source, boxes: Boxes, unit: Floats, rank: Rank, limit: int | None,
    hints: Callable[[int], Sequence[str]],
) -> str:  # fmt: skip
    """Write the query that gives key, number of boxes and depth of the rows in any box, by rank.

    ``hints`` gives for a box conditions that follow from it, in terms that an index knows.
    """
    parts = []
    for box in range(boxes.n_boxes):
        asked = " AND ".join([*hints(box), source.columns.box(boxes.conditions(box))])
        parts.append(
            f"  SELECT {source.key_sql} AS key, {_depth_sql(source, boxes, box, unit)} AS depth\n"
            f"  FROM {source.text}\n  WHERE {asked}"
        )
    if not parts:
        nothing = source.dialect.number(0.0)
        parts = [f"  SELECT {source.key_sql} AS key, {nothing} AS depth FROM {source.text} WHERE 1 = 0"]
    union = "\n  UNION ALL\n".join(parts)
    cut = "" if limit is None else f"\nLIMIT {limit}"
    return (
        f"SELECT key, count(*) AS boxes, max(depth) AS depth\nFROM (\n{union}\n) AS found\n"
        f"GROUP BY key\nORDER BY {ORDER[rank]}, {source.key_order_of('key')}{cut}"
    )


def count_query(source: Source, boxes: Boxes, hints: Callable[[int], Sequence[str]]) -> str:
    """Write the query that counts the rows in any box."""
    parts = [
        f"  SELECT {source.key_sql} AS key FROM {source.text}\n  WHERE "
        + " AND ".join([*hints(box), source.columns.box(boxes.conditions(box))])
        for box in range(boxes.n_boxes)
    ]
    union = "\n  UNION\n".join(parts)
    return f"SELECT count(*) FROM (\n{union}\n) AS found" if parts else "SELECT 0"


def spread_query(source: Source, ranked: str, rank: Rank, places: Sequence[int]) -> str:
    """Write the query for the rows at some places of a ranking, the first being 0, in order."""
    order = f"{ORDER[rank]}, {source.key_order_of('key')}"
    listed = ", ".join(str(place + 1) for place in places) or "0"
    return (
        f"SELECT key FROM (\nSELECT key, ROW_NUMBER() OVER (ORDER BY {order}) AS place\n"
        f"FROM (\n{ranked}\n) AS ranked\n) AS numbered\nWHERE place IN ({listed})\nORDER BY place"
    )


def neighbour_distance(table: Table, others: Table, unit: Floats, neighbours: int = 3) -> Floats:
    """Give the mean distance of rows to their nearest neighbours among others, in units of the features."""
    found = np.empty(len(table.matrix))
    for start in range(0, len(found), BLOCK_ROWS):
        rows = table.matrix[start : start + BLOCK_ROWS]
        total = np.zeros((len(rows), len(others.matrix)))
        for feature, name in enumerate(table.feature_names):
            mine, theirs = rows[:, feature, None], others.matrix[:, feature]
            if name in table.categories:
                away = (mine != theirs).astype(np.float64)
            else:
                with np.errstate(all="ignore"):
                    away = np.clip(np.abs(mine - theirs) / unit[feature], 0.0, FARTHEST)
                # NaN: one of them is missing, or both are the same infinity.
                away = np.where(np.isnan(away), np.where(mine == theirs, 0.0, 1.0), away)
            total += away * away
        nearest = np.sort(np.sqrt(total), axis=1)[:, :neighbours]
        found[start : start + BLOCK_ROWS] = nearest.mean(axis=1)
    return found
