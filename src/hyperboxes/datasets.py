"""Benchmark tables by name (shipped, in a local folder, or from OpenML), and planted boxes of any size."""

from __future__ import annotations

import hashlib
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .boxes import Boxes

if TYPE_CHECKING:
    import pandas as pd

#: Names the folder that holds ``<name>.parquet`` files, feature columns first and ``target`` last.
FOLDER_VARIABLE = "HYPERBOXES_DATA"


class DatasetNotFoundError(LookupError):
    """A table that is neither shipped, nor in the folder, nor to be had from OpenML."""


@dataclass(frozen=True)
class Source:
    """Where a table comes from.

    ``shipped`` is the name of scikit-learn's loader, ``openml`` the name and version there, ``orders``
    the categories of ordered columns, lowest first, ``sha256`` the ``checksum`` of the content.
    """

    n_rows: int
    n_features: int
    n_classes: int
    origin: str
    sha256: str | None = None
    shipped: str | None = None
    openml: tuple[str, int] | None = None
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)


_PRICES = ("low", "med", "high", "vhigh")
SOURCES = {
    "iris": Source(
        150, 4, 3, "Fisher 1936, UCI",
        "3f9e1410e7dfbeef1bcdedee2107383c50ee88dd85435c84643232da383be011", shipped="load_iris",
    ),
    "wine": Source(
        178, 13, 3, "Forina et al. 1988, UCI",
        "f02f7b1167438e68050eff50866963a0c22233ff709f67faefebbd85146cef7d", shipped="load_wine",
    ),
    "cancer": Source(
        569, 30, 2, "Wolberg et al. 1993, UCI (diagnostic)",
        "a99058ca77982662815886d83d2f92a0aac9d32130e8d491555b6e1ee010c7fa", shipped="load_breast_cancer",
    ),
    "blood": Source(
        748, 4, 2, "Yeh et al. 2009, UCI",
        "bf1c71b2ca1f31e3ce2c59e8ff009825497dcfa16a2daef556d9afcf4fc8f461",
        openml=("blood-transfusion-service-center", 1),
    ),
    "cars": Source(
        1728, 6, 4, "Bohanec & Rajkovič 1988, UCI",
        "7cd6d21d2f8532a9c81e3db0e7c68c9c979b0a7b799b52baa70ab893f33418e3", openml=("car", 3),
        orders={
            "buying": _PRICES, "maint": _PRICES, "doors": ("2", "3", "4", "5more"),
            "persons": ("2", "4", "more"), "lug_boot": ("small", "med", "big"),
            "safety": ("low", "med", "high"),
        },
    ),
    "satimage": Source(
        6430, 36, 6, "Srinivasan 1993, UCI",
        "077aeaee0886229f4fb8693cdc79949d470d248b44bc0876a4e61243caa777f1", openml=("satimage", 1),
    ),
    "letter": Source(
        20_000, 16, 26, "Frey & Slate 1991, UCI",
        "39a9587756845b2b41d22a67dbccc867fdcdff42d1d9cf50aec80a366786e54e", openml=("letter", 1),
    ),
    "sensit": Source(98_528, 100, 3, "Duarte & Hu 2004", openml=("SensIT-Vehicle-Combined", 1)),
    "sensit_aav_dw": Source(
        49_264, 100, 2, "Duarte & Hu 2004, the two vehicle classes of sensit",
        "5934050e3e5643f99a15ca3089d2934c6d7c78990f4510f886cbd48f47a784f4",
    ),
    "covtype": Source(
        581_012, 54, 7, "Blackard & Dean 1999, UCI",
        "041afaa9d4cdbb1cbee8cbbfc5d5a9bf36f534838d2bd563dbe73165c2e87313", openml=("covertype", 3),
    ),
}  # fmt: skip


def load_dataset(
    name: str, folder: str | os.PathLike[str] | None = None
) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Load a benchmark table.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.
    folder : path-like, optional
        Folder of Parquet files; by default what HYPERBOXES_DATA names.

    Returns
    -------
    X : DataFrame
        Features; ordered columns are ordered categoricals.
    y : ndarray
        Classes.
    """
    if name not in SOURCES:
        raise DatasetNotFoundError(f"no data set {name!r}; known are {', '.join(SOURCES)}")
    source = SOURCES[name]
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if source.shipped is not None:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, source.shipped)(return_X_y=True, as_frame=True)
    elif folder is not None and (Path(folder) / f"{name}.parquet").exists():
        import pandas as pd

        X = pd.read_parquet(Path(folder) / f"{name}.parquet")
        y = X.pop("target")
    else:
        X, y = _fetch(name, source)
    if len(X) != source.n_rows or X.shape[1] != source.n_features:
        raise ValueError(f"{name} has shape {X.shape}; expected {(source.n_rows, source.n_features)}")
    return _with_orders(X, source), np.asarray(y)


def _fetch(name: str, source: Source) -> tuple[Any, Any]:
    nowhere = f"{name} is not shipped with scikit-learn and not in the folder that {FOLDER_VARIABLE} names"
    if source.openml is None:
        raise DatasetNotFoundError(f"{nowhere}; OpenML does not have it")
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one for each attempt; the error says it all
            found = fetch_openml(source.openml[0], version=source.openml[1], as_frame=True, n_retries=1)
    except OSError as error:
        raise DatasetNotFoundError(f"{nowhere}, and OpenML does not answer") from error
    return found.data, found.target


def _with_orders(X: pd.DataFrame, source: Source) -> pd.DataFrame:
    import pandas as pd

    orders = {
        name: pd.Categorical(X[name].astype(str), categories=list(values), ordered=True)
        for name, values in source.orders.items()
    }
    return X.assign(**orders) if orders else X


def as_numbers(X: pd.DataFrame) -> NDArray[np.float64]:
    """Give the table as an array of numbers, ordered categories as their positions."""
    return np.column_stack(
        [X[name].cat.codes if hasattr(X[name], "cat") else X[name] for name in X.columns]
    ).astype(np.float64)


def checksum(X: pd.DataFrame, y: NDArray[Any]) -> str:
    """Give the SHA-256 of a table's numbers and classes, whatever file and types they came in."""
    digest = hashlib.sha256()
    matrix = as_numbers(X)
    digest.update(repr(matrix.shape).encode())
    digest.update(np.ascontiguousarray(matrix, dtype="<f8").data)
    digest.update("\n".join(map(str, y.tolist())).encode())
    return digest.hexdigest()


def planted_boxes(
    n_rows: int,
    n_features: int,
    *,
    n_boxes: int = 3,
    n_restricted: int = 3,
    share: float = 0.3,
    wrong: float = 0.0,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], Boxes]:
    """Draw uniform rows and a class that is a union of boxes, for tests of scale.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of the table.
    n_boxes : int, default=3
        Boxes of the class; they may overlap.
    n_restricted : int, default=3
        Features that each box restricts, drawn anew for each; all of them if there are no more.
    share : float, default=0.3
        Volume of all boxes together, overlaps counted twice; each has the same.
    wrong : float, default=0.0
        Share of the rows whose class is turned around.
    seed : int, default=0
        Same seed, same boxes; fewer rows are the first ones of more.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        Values between 0 and 1.
    y : ndarray of bool
        Whether a row is of the class.
    boxes : Boxes
        The truth.
    """
    plan, noise = (np.random.default_rng([seed, part]) for part in range(2))
    restricted = min(n_restricted, n_features)
    width = (share / n_boxes) ** (1 / restricted)
    lower, upper = np.full((2, n_boxes, n_features), np.inf)
    lower *= -1
    for box in range(n_boxes):
        chosen = plan.choice(n_features, restricted, replace=False)
        lower[box, chosen] = plan.uniform(0, 1 - width, restricted)
        upper[box, chosen] = lower[box, chosen] + width
    boxes = Boxes(lower, upper, np.ones(n_boxes, bool), default=False)
    X = np.random.default_rng([seed, 2]).random((n_rows, n_features))
    y = np.asarray(boxes.predict(X), dtype=bool)
    return X, y ^ (noise.random(n_rows) < wrong), boxes
