"""Tables that the recipe was never tuned on, each hard in one way.

A made table is drawn anew for each seed, truth included; a real one is split anew. ``TABLES`` lists them.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.datasets

from hyperboxes.datasets import FOLDER_VARIABLE, DatasetNotFoundError, as_numbers, load_dataset

from .splits import Split, split_rows

#: Rows that made tables are scored on: the noise left is that of learning.
TEST_ROWS = 20_000
#: Tables that scikit-learn's wheel carries for its own tests, complete ones only, by OpenML's number.
SHIPPED = {"kr-vs-kp": 3, "glass": 40675, "titanic": 40945, "penguins": 42585}


@dataclass(frozen=True)
class HardTable:
    """A table with what makes it hard.

    ``split`` draws or loads the task of a label and a seed; ``labels`` are the classes that are each told
    from the rest, (True,) where there are two.
    """

    name: str
    trait: str
    split: Callable[[object, int], Split]
    labels: tuple[object, ...] = (True,)
    n_seeds: int = 10
    quick: bool = False

    def load(self) -> Split:
        """Draw or load one split, to see whether the table can be had."""
        return self.split(self.labels[0], 0)


# -- made tables ---------------------------------------------------------------------------------------------


def in_boxes(U, rng, n_boxes, n_conditions, share):
    """Tell which rows of uniform cells lie in random boxes that hold about the given share of rows.

    A box asks for an interval of ``n_conditions`` random features; half of the intervals are open on one
    side.
    """
    inside = np.zeros(len(U), bool)
    width = (share / n_boxes) ** (1 / n_conditions)
    for _ in range(n_boxes):
        held = np.ones(len(U), bool)
        for feature in rng.choice(U.shape[1], n_conditions, replace=False):
            lower = rng.choice([0.0, 1.0 - width, rng.uniform(0, 1 - width), rng.uniform(0, 1 - width)])
            held &= (U[:, feature] >= lower) & (U[:, feature] <= lower + width)
        inside |= held
    return inside


def made(draw: Callable, n: int, n_test: int = TEST_ROWS, flips: float = 0.0):
    """Make ``split`` from a function (n, rng) -> (X, y); the share ``flips`` of training labels is turned."""

    def split(label, seed):
        rng = np.random.default_rng(seed)
        X, y = draw(n + n_test, rng)
        X = pd.DataFrame(X)
        X.columns = [str(name) for name in X.columns]
        y_train = y[:n] ^ (rng.uniform(size=n) < flips)
        return Split(X[:n], y_train, X[n:], y[n:])

    return split


def boxes_in(d, n_boxes, n_conditions, share, marginal=lambda U: U):
    """Draw rows of independent features with the given marginal, and boxes for the class."""

    def draw(n, rng):
        U = rng.uniform(size=(n, d))
        return marginal(U), in_boxes(U, rng, n_boxes, n_conditions, share)

    return draw


def rare_and_noisy(share, elsewhere):
    """Let two boxes hold a share of the rows, half of them positive, and some positives be elsewhere."""

    def draw(n, rng):
        U = rng.uniform(size=(n, 20))
        chance = np.where(in_boxes(U, rng, 2, 3, share), 0.5, elsewhere)
        return _normal(U), rng.uniform(size=n) < chance

    return draw


def anomalies(n, rng):
    """Take the rows that are extreme in any of ten features: one in seventy, in twenty corners."""
    X = rng.normal(size=(n, 10))
    return X, (np.abs(X) > 3.2).any(axis=1)


def mixed(n, rng):
    """Draw numbers and categories that only together tell the class."""
    numbers = rng.normal(size=(n, 5))
    levels = (2, 4, 8, 25)
    codes = [rng.integers(0, k, n) for k in levels]
    chosen = [np.isin(codes[i], rng.choice(k, max(1, k // 2), replace=False)) for i, k in enumerate(levels)]
    one = chosen[1] & (numbers[:, 0] > -0.3) & (numbers[:, 1] < 0.8)
    two = chosen[3] & chosen[2] & (np.abs(numbers[:, 2]) < 0.8)
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(5)])
    for i, k in enumerate(levels):
        frame[f"c{i}"] = pd.Categorical.from_codes(codes[i], [f"level {v}" for v in range(k)])
    return frame, (one | two) ^ (rng.uniform(size=n) < 0.05)


def missing_at_random(n, rng):
    """Take away a fifth of the cells, whatever they hold."""
    X, y = boxes_in(8, 3, 2, 0.35)(n, rng)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    return X, y


def missing_for_a_reason(n, rng):
    """Take away high values more often, so that in one column a missing cell speaks for the class."""
    X, _ = boxes_in(8, 1, 1, 1.0)(n, rng)
    y = (X[:, 1] > 0.5) & (X[:, 2] < 0.6)
    y |= X[:, 0] > 0.85
    X[(X[:, 0] > 0.85) & (rng.uniform(size=n) < 0.8), 0] = np.nan
    X[:, 1:][rng.uniform(size=(n, 7)) < 0.3 * X[:, 1:]] = np.nan
    return X, y


def shifted(n, rng):
    """Shift twenty of 2,000 features between the classes, as genes are: no box is true."""
    y = rng.uniform(size=n) < 0.4
    X = rng.normal(size=(n, 2000))
    X[:, :20] += 0.9 * y[:, None]
    return X, y


def missing_together(n, rng):
    """Take away a quarter of the cells of three columns, which tells of the class only with other columns."""
    X = rng.normal(size=(n, 7))
    missing = rng.uniform(size=(n, 3)) < 0.25
    y = (missing[:, 0] & (X[:, 0] > -0.3)) | (~missing[:, 1] & (X[:, 1] > 0.6))
    y |= (missing[:, 2] | (X[:, 6] < -0.5)) & (X[:, 2] < -0.8)
    X[:, 4:][missing] = np.nan
    return X, y ^ (rng.uniform(size=n) < 0.05)


def categories_missing(n, rng):
    """Take away a quarter of the cells of each column of categories, which tells of the class."""
    numbers = rng.normal(size=(n, 4))
    levels = (3, 5, 8)
    codes = [rng.integers(0, k, n) for k in levels]
    some = np.isin(codes[2], rng.choice(8, 3, replace=False))
    missing = rng.uniform(size=(3, n)) < 0.25
    y = (missing[0] & (numbers[:, 0] > -0.3)) | (~missing[1] & (numbers[:, 1] > 0.6))
    y |= (missing[2] | some) & (numbers[:, 2] < -0.8)
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(4)])
    for i, k in enumerate(levels):
        shown = np.where(missing[i], -1, codes[i])
        frame[f"c{i}"] = pd.Categorical.from_codes(shown, [f"level {v}" for v in range(k)])
    return frame, y ^ (rng.uniform(size=n) < 0.05)


def words(n, rng):
    """Count 1,500 words in uneven texts: three are more frequent in the class, three elsewhere."""
    y = rng.uniform(size=n) < 0.4
    rate = rng.permutation(8 / np.arange(1, 1501) ** 0.8)
    often, seldom = rng.choice(np.flatnonzero(rate > 0.05), (2, 3), replace=False)
    expected = rate * rng.gamma(3, 1 / 3, (n, 1))
    expected[np.ix_(y, often)] *= 8
    expected[np.ix_(~y, seldom)] *= 3
    return rng.poisson(expected).astype(float), y


def oblique(n, rng):
    """Cut by a hyperplane, which boxes can only approach by stairs."""
    X = rng.normal(size=(n, 5))
    return X, X @ rng.normal(size=5) + 0.3 * rng.normal(size=n) > 0


def ring(n, rng):
    """Take what is outside a sphere in ten dimensions (Hastie, Tibshirani and Friedman, example 10.2)."""
    X = rng.normal(size=(n, 10))
    return X, (X**2).sum(axis=1) > 9.34


def chessboard(n, rng):
    """Draw four by four fields in two features of six: no first cut helps."""
    X = rng.uniform(size=(n, 6))
    return X, (np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2 == 0


def counts(n, rng):
    """Draw counts, most of them zero, with a class that starts at small ones."""
    X = rng.poisson(rng.gamma(0.4, 3.0, size=(n, 12))).astype(float)
    y = (X[:, 0] >= 2) & (X[:, 1] == 0) | (X[:, 2] >= 5) | (X[:, 3] >= 3) & (X[:, 4] >= 1)
    return X, y ^ (rng.uniform(size=n) < 0.05)


def grid(n_columns, n_values, noise):
    """Let every cell of a small grid have a class of its own: few distinct rows, each many times."""

    def draw(n, rng):
        X = rng.integers(0, n_values, (n, n_columns))
        chance = np.where(rng.uniform(size=(n_values,) * n_columns) < 0.4, 1 - noise, noise)
        return X.astype(float), rng.uniform(size=n) < chance[tuple(X.T)]

    return draw


def default_records(n, rng):
    """Mix one row in eight from a dozen records, each with a class of its own, into rows cut obliquely."""
    records, classes = rng.normal(size=(12, 4)), rng.uniform(size=12) < 0.5
    which, X = rng.integers(0, 12, n), rng.normal(size=(n, 4))
    copied = rng.uniform(size=n) < 0.12
    y = np.where(copied, classes[which], X[:, 0] + X[:, 1] > 1)
    return np.where(copied[:, None], records[which], X), y


def many_levels(n_columns, n_levels, effect=0.0):
    """Add columns of many categories to six numbers; the first has an effect, the others say nothing."""

    def draw(n, rng):
        frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=[f"x{j}" for j in range(6)])
        odds = 3 * frame.x0 - 2 * frame.x1 + 1.6 * frame.x2 * frame.x0 - 1
        for column in range(n_columns):
            codes = rng.integers(0, n_levels, n)
            frame[f"c{column}"] = pd.Categorical.from_codes(codes, [f"v{v}" for v in range(n_levels)])
            if column == 0:
                odds = odds + effect * rng.normal(size=n_levels)[codes]
        return frame, rng.uniform(size=n) < 1 / (1 + np.exp(-odds.to_numpy()))

    return draw


def _normal(U):
    from scipy.special import ndtri

    return ndtri(U)


def _cauchy(U):
    return np.tan(np.pi * (U - 0.5))


def _log_normal(U):
    return np.exp(3.0 * _normal(U))


# -- real tables ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def real(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Load a table: features, text columns as categories, and classes."""
    if name == "digits":
        return sklearn.datasets.load_digits(return_X_y=True, as_frame=True)
    if name == "diabetes":
        X, y = sklearn.datasets.load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        return X, (y > y.quantile(0.75)).to_numpy()
    if name in SHIPPED:
        return _shipped(name)
    path = Path(os.environ.get(FOLDER_VARIABLE, "")) / f"{name}.parquet"
    if not path.is_file():
        raise DatasetNotFoundError(f"{name}.parquet is not in the folder that {FOLDER_VARIABLE} names")
    frame = pd.read_parquet(path)
    y = frame.pop("target").to_numpy()
    return frame, y


def _shipped(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    folder = Path(sklearn.datasets.__file__).parent / f"tests/data/openml/id_{SHIPPED[name]}"
    found = sorted(folder.glob("data-v1*.arff.gz"))
    if not found:
        raise DatasetNotFoundError(f"{name} is not among the test files of this scikit-learn")
    frame = _read_arff(found[0])
    if name == "titanic":  # free text, and what was only known afterwards
        frame = frame.drop(columns=["name", "ticket", "cabin", "boat", "body", "home.dest"])
    target = {"titanic": "survived", "penguins": "species"}.get(name, frame.columns[-1])
    return frame.drop(columns=target), frame[target].astype(str).to_numpy()


def _read_arff(path: Path) -> pd.DataFrame:
    """Read a dense ARFF file: numeric columns as numbers, all others as categories, "?" as missing."""
    text = gzip.decompress(path.read_bytes()).decode()
    head, body = re.split(r"(?im)^@data\s*$", text, maxsplit=1)
    kinds = dict(re.findall(r"""(?im)^@attribute\s+['"]?([^'"\s]+)['"]?\s+(.+?)\s*$""", head))
    lines = [line for line in body.replace("'", "").splitlines() if line.strip() and line[0] != "%"]
    frame = pd.DataFrame(csv.reader(lines), columns=list(kinds)).replace("?", None)
    for name, kind in kinds.items():
        numeric = kind.lower() in ("numeric", "real", "integer")
        frame[name] = pd.to_numeric(frame[name]) if numeric else frame[name].astype("category")
    return frame


def loaded(name: str, flips: float = 0.0):
    """Make ``split`` of a real table."""
    return lambda label, seed: split_rows(*real(name), label, seed, flips)


def reshaped(name: str, shape: Callable):
    """Make ``split`` of a real table whose cells are changed by a function (standard units, rng) -> cells."""

    def split(label, seed):
        X, classes = load_dataset(name)
        numbers = as_numbers(X)
        Z = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
        cells = pd.DataFrame(shape(Z, np.random.default_rng(seed)), columns=X.columns)
        return split_rows(cells, classes, label, seed)

    return split


def tails(Z, rng):
    """Stretch the tails: most of a column's range is that of a few rows, and the order stays."""
    return np.sinh(4 * Z)


def outliers(Z, rng):
    """Put a wild number into every fiftieth cell."""
    return np.where(rng.uniform(size=Z.shape) < 0.02, 1e6 * rng.normal(size=Z.shape), Z)


def gaps(Z, rng):
    """Take away a fifth of the cells, whatever they hold."""
    return np.where(rng.uniform(size=Z.shape) < 0.2, np.nan, Z)


def high_gaps(Z, rng):
    """Take away high values more often."""
    return np.where(rng.uniform(size=Z.shape) < 0.5 / (1 + np.exp(-2 * Z)), np.nan, Z)


def thinned(name: str, n: int, share: float):
    """Make ``split`` of a real table in which a class is made rare; twice as many rows are held out."""

    def split(label, seed):
        X, classes = real(name)
        y = np.asarray(classes == label)
        rng = np.random.default_rng(seed)
        few, many = (rng.permutation(np.flatnonzero(part)) for part in (y, ~y))
        n_few = round(n * share)
        train = np.concatenate([few[:n_few], many[: n - n_few]])
        test = np.concatenate([few[n_few : 3 * n_few], many[n - n_few : 3 * (n - n_few)]])
        return Split(X.iloc[train], y[train], X.iloc[test], y[test])

    return split


#: Shorthands of the list below.
BOXES, RARE = boxes_in(8, 3, 2, 0.35), "0.1 % positives"
DIGITS = tuple(range(10))
TABLES = {
    table.name: table
    for table in (
        HardTable("mixed", "numbers and categories", made(mixed, 2000), quick=True),
        HardTable("levels", "3 × 200 categories", made(many_levels(3, 200), 1000), quick=True),
        HardTable("levels few", "100 categories, 250 rows", made(many_levels(1, 100), 250)),
        HardTable("levels that tell", "100 categories", made(many_levels(1, 100, effect=4.0), 2000)),
        HardTable("levels little", "250 that tell a little", made(many_levels(1, 250, effect=1.5), 2000)),
        HardTable("titanic", "mixed, missing", loaded("titanic"), ("1",), quick=True),
        HardTable("penguins", "mixed, missing", loaded("penguins"), ("Adelie", "Chinstrap", "Gentoo")),
        HardTable("kr-vs-kp", "36 categories", loaded("kr-vs-kp"), ("won",)),
        HardTable("missing", "a fifth missing", made(missing_at_random, 2000), quick=True),
        HardTable("missing why", "missing for a reason", made(missing_for_a_reason, 2000), quick=True),
        HardTable("missing with", "missing and other cells", made(missing_together, 1500), quick=True),
        HardTable("missing few", "the same, 200 rows", made(missing_together, 200)),
        HardTable("categories why", "missing categories", made(categories_missing, 1500), quick=True),
        HardTable("categories few", "missing categories, 200 rows", made(categories_missing, 200)),
        HardTable("wine gaps", "a fifth missing", reshaped("wine", gaps), (0, 1, 2), n_seeds=5),
        HardTable(
            "cars gaps", "missing for a reason", reshaped("cars", high_gaps), ("acc", "unacc"), n_seeds=5
        ),
        HardTable(
            "satimage gaps", "missing for a reason", reshaped("satimage", high_gaps), (1, 4), n_seeds=3
        ),
        HardTable("cauchy", "heavy tails", made(boxes_in(10, 3, 3, 0.2, _cauchy), 2000), quick=True),
        HardTable("log-normal", "heavy tails", made(boxes_in(10, 3, 3, 0.2, _log_normal), 2000)),
        HardTable("counts", "zeros and tails", made(counts, 2000)),
        HardTable("wine tails", "heavy tails", reshaped("wine", tails), (0, 1, 2), n_seeds=5, quick=True),
        HardTable("cancer outliers", "2 % of cells wild", reshaped("cancer", outliers), (0, 1), n_seeds=5),
        HardTable("blood outliers", "2 % of cells wild", reshaped("blood", outliers), (1,), n_seeds=5),
        HardTable("noise 10", "10 % labels wrong", made(BOXES, 2000, flips=0.1), quick=True),
        HardTable("noise 20", "20 % labels wrong", made(BOXES, 2000, flips=0.2)),
        HardTable("noise few", "20 % wrong, 300 rows", made(BOXES, 300, flips=0.2), n_seeds=40, quick=True),
        HardTable("oblique", "no box is true", made(oblique, 1000), quick=True),
        HardTable("ring", "no box is true", made(ring, 2000)),
        HardTable("grid", "100 distinct rows", made(grid(2, 10, 0.0), 3000), quick=True),
        HardTable("grid noise", "32 distinct, noise", made(grid(5, 2, 0.1), 500)),
        HardTable("records", "12 rows repeated", made(default_records, 1000)),
        HardTable("chessboard", "no first cut helps", made(chessboard, 2000)),
        HardTable("tiny", "60 rows", made(boxes_in(5, 1, 2, 0.4), 60), n_seeds=40, quick=True),
        HardTable("diabetes", "small and noisy", loaded("diabetes"), quick=True),
        HardTable("glass", "163 rows", loaded("glass"), ("1",)),
        HardTable("rare boxes", RARE, made(boxes_in(20, 3, 3, 0.001), 100_000, 200_000), n_seeds=5),
        HardTable("rare noisy", RARE, made(rare_and_noisy(0.0018, 0.0001), 100_000, 200_000), n_seeds=5),
        HardTable("rare few", "1 % positives", made(rare_and_noisy(0.015, 0.003), 8_000)),
        HardTable("anomalies", "extreme in any way", made(anomalies, 5_000), quick=True),
        HardTable("rare covtype", RARE, thinned("covtype", 100_000, 0.001), (4, 5, 7), n_seeds=3),
        HardTable("digits", "64 pixels", loaded("digits"), DIGITS, n_seeds=3),
        HardTable("digits noise", "15 % labels wrong", loaded("digits", 0.15), DIGITS, n_seeds=3),
        HardTable("sensit_aav_dw", "100 features", loaded("sensit_aav_dw"), (2,), n_seeds=2),
        HardTable("wide boxes", "80 × 2,000", made(boxes_in(2000, 1, 2, 0.4), 80, 2000), n_seeds=40),
        HardTable("wide shift", "80 × 2,000", made(shifted, 80, 2000), n_seeds=5),
        HardTable(
            "wide noise",
            "1,000 features, noise",
            made(boxes_in(1000, 1, 3, 0.4), 120, 1000, 0.08),
            n_seeds=40,
        ),
        HardTable("words", "300 × 1,500 counts", made(words, 300, 1000), n_seeds=20),
        HardTable("fashion_mnist_10k", "784 pixels", loaded("fashion_mnist_10k"), (2, 6), n_seeds=2),
    )
}
