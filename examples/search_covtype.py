"""
Search by classification
========================

Find a forest type in a table of half a million rows from 50 marked ones.

The table is a Parquet file, read through DuckDB. A search learns a few boxes from the marked rows, DuckDB
returns the rows in them, and somebody looks at forty of these and says which are right: here the known cover
type does. Then the search goes on with what was marked. Precision and recall are those of all rows returned.

The 100 rows most like the marked ones are those to begin with. At last the file is written anew, in an order
in which DuckDB can pass over most of it.

With HYPERBOXES_DATA naming the folder of covtype.parquet it searches that, else a small made table.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import hyperboxes
from hyperboxes import rules

KRUMMHOLZ, MARKED, LOOKED_AT, ROUNDS = 7, 50, 40, 4


def find_table(folder: Path) -> Path:
    """Give the path of the table with a key; a made one where the real one is not to be had."""
    original = Path(os.environ.get("HYPERBOXES_DATA", "")) / "covtype.parquet"
    if original.is_file():
        frame = pd.read_parquet(original)
    else:
        rng = np.random.default_rng(0)
        columns = ("Elevation", "Aspect", "Slope", "Hillshade_9am", "Wilderness_Area4")
        frame = pd.DataFrame(rng.normal(size=(20_000, 5)).round(3), columns=columns)
        high = (frame["Elevation"] > 1.0) & (frame["Slope"] < 1.0)
        frame["target"] = np.where(high, KRUMMHOLZ, 2)
    path = folder / "covtype.parquet"
    frame.rename_axis("id").reset_index().to_parquet(path, index=False)
    return path


def report(turn: int, found: hyperboxes.Search, truth: pd.Series) -> None:
    right = int(truth[list(found.hits.key)].sum())
    print(
        f"round {turn}: {len(found.positives):3} rows marked right, {len(found.negatives):3} wrong; "
        f"{found.boxes.n_boxes} boxes find {len(found.hits):6,} rows, "
        f"precision {right / max(1, len(found.hits)):.2f}, recall {right / truth.sum():.2f}"
    )


with tempfile.TemporaryDirectory() as folder:
    table = find_table(Path(folder))
    frame = pd.read_parquet(table, columns=["id", "target"]).set_index("id")
    truth = frame["target"] == KRUMMHOLZ
    features = [name for name in pd.read_parquet(table).columns if name not in ("id", "target")]
    marked = truth[truth].sample(MARKED, random_state=0).index.tolist()

    found = hyperboxes.search(None, table, positives=marked, key="id", features=features, limit=None)
    report(0, found, truth)
    for turn in range(1, ROUNDS + 1):
        seen = found.spread(LOOKED_AT)
        found = found.mark(
            positives=[key for key in seen if truth[key]], negatives=[key for key in seen if not truth[key]]
        )
        report(turn, found, truth)

    best = found.nearest(100)
    print(f"Of the 100 unmarked rows most like the marked ones, {truth[list(best)].mean():.0%} are right.")
    print("", rules.to_text(found.boxes), "", sep="\n")
    print("Before sorting.", found.plan())
    copy = found.sorted_copy(Path(folder) / "sorted.parquet")
    print("After sorting. ", copy.plan())
