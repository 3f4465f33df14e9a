"""How many rows fulfil a condition: estimated from a few rows, spread evenly over a stored table.

It decides nothing but the order in which conditions are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..boxes import Boxes
from ..conditions import Condition
from .databases import execute
from .dialects import qualified
from .predicates import Columns

#: Rows looked at: shares need not be known to more than a few percent.
SAMPLE_ROWS = 1000


def sampled_share(
    boxes: Boxes, columns: Columns, connection: Any, table: str | Sequence[str], n_rows: int
) -> Callable[[Condition], float]:
    """Look at some rows of a table that DuckDB keeps; give the share of them that fulfil a condition."""
    restricted = np.flatnonzero(boxes.restricted.any(axis=0)).tolist()
    names = [boxes.feature_names[j] for j in restricted if boxes.feature_names[j] not in boxes.categories]
    cells = _sample(columns, connection, table, names, n_rows)

    def share(condition: Condition) -> float:
        if condition.categories is not None:
            known = boxes.categories[condition.name]
            return sum(map(condition.admits, known)) / len(known)
        if condition.name not in cells:
            return 1.0
        values = cells[condition.name]
        if condition.must_miss:
            return float(np.isnan(values).mean())
        return float(((values >= condition.lower) & (values <= condition.upper)).mean())

    return share


def _sample(
    columns: Columns, connection: Any, table: str | Sequence[str], names: Sequence[str], n_rows: int
) -> dict[str, np.ndarray]:
    """Read columns of every so many-th row, as doubles."""
    dialect = columns.dialect
    # A column of that name hides the number of the row.
    if not names or any(dialect.fold(name) == "rowid" for name in columns.names):
        return {}
    asked = ", ".join(columns.as_double(name) for name in names)
    step = max(1, n_rows // SAMPLE_ROWS)
    query = f"SELECT {asked} FROM {qualified(table, dialect)} WHERE rowid % {step} = 0"  # noqa: S608 - quoted
    rows = np.array(execute(connection, query), dtype=np.float64)
    return dict(zip(names, rows.T, strict=True)) if len(rows) else {}
