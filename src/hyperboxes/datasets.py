"""Benchmark tables by name: shipped with scikit-learn, in a local folder, or fetched from OpenML."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    the categories of ordered columns, lowest first.
    """

    n_rows: int
    n_features: int
    n_classes: int
    origin: str
    shipped: str | None = None
    openml: tuple[str, int] | None = None
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)


_PRICES = ("low", "med", "high", "vhigh")
SOURCES = {
    "iris": Source(150, 4, 3, "Fisher 1936, UCI", shipped="load_iris"),
    "wine": Source(178, 13, 3, "Forina et al. 1988, UCI", shipped="load_wine"),
    "cancer": Source(569, 30, 2, "Wolberg et al. 1993, UCI (diagnostic)", shipped="load_breast_cancer"),
    "blood": Source(748, 4, 2, "Yeh et al. 2009, UCI", openml=("blood-transfusion-service-center", 1)),
    "cars": Source(
        1728, 6, 4, "Bohanec & Rajkovič 1988, UCI", openml=("car", 3),
        orders={
            "buying": _PRICES, "maint": _PRICES, "doors": ("2", "3", "4", "5more"),
            "persons": ("2", "4", "more"), "lug_boot": ("small", "med", "big"),
            "safety": ("low", "med", "high"),
        },
    ),
    "satimage": Source(6430, 36, 6, "Srinivasan 1993, UCI", openml=("satimage", 1)),
    "letter": Source(20_000, 16, 26, "Frey & Slate 1991, UCI", openml=("letter", 1)),
    "covtype": Source(581_012, 54, 7, "Blackard & Dean 1999, UCI", openml=("covertype", 3)),
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
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(source.openml[0], version=source.openml[1], as_frame=True)  # type: ignore[index]
    except OSError as error:
        raise DatasetNotFoundError(
            f"{name} is not shipped with scikit-learn, not in the folder that {FOLDER_VARIABLE} names, "
            "and OpenML does not answer"
        ) from error
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
