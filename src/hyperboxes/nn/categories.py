"""Categories in an order: by the share of the class among their rows, so that boxes can ask for intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning import MAX_BINS
from ..tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Categories of few rows that a column may have to be told apart, the rows from which on they are not few,
#: and the standard errors by which more of them must differ.
FEW_LEVELS, SURE_ROWS, PROOF = 10, 25, 3.0


def category_places(hits: NDArray[Any], rows: NDArray[Any], base: float) -> Ints:
    """Give the place of each category, sorted by the share of hits among its rows.

    Of many categories with few rows each, some have many hits by chance alone; sorted by them, a column that
    says nothing would repeat the labels. So where those of few rows do not differ more than chance would have
    it, they have one place together. More places than there are bins are joined with their neighbours.
    """
    share = (hits + base) / (rows + 1)
    alike = rows < SURE_ROWS
    if alike.sum() <= FEW_LEVELS or differ(hits[alike], rows[alike], base):
        alike[:] = False
    share[alike] = (hits[alike].sum() + base) / (rows[alike].sum() + 1)
    order = np.lexsort((alike, share))
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(np.append(False, ~(alike[order][1:] & alike[order][:-1])))
    n_places = int(place.max(initial=0)) + 1
    return place if n_places <= MAX_BINS else place * MAX_BINS // n_places


def missing_that_tell(table: Table, classes: Ints, weight: Floats) -> list[str]:
    """Name the unordered columns in which a missing value is a category like others.

    Of a few rows it says nothing what class they are of, unless that differs by more than chance.
    """
    total = np.bincount(classes, weight)
    shares = total / max(total.sum(), 1e-300)
    names = []
    for name in table.categories.keys() - table.ordered:
        missing = np.isnan(table.matrix[:, table.feature_names.index(name)]) & (weight > 0)
        rows = np.array([weight[missing].sum()])
        hits = np.bincount(classes[missing], weight[missing], len(total))
        if missing.sum() >= SURE_ROWS or any(
            differ(np.array([own]), rows, float(share)) for own, share in zip(hits, shares, strict=True)
        ):
            names.append(name)
    return names


def differ(hits: NDArray[Any], rows: NDArray[Any], base: float) -> bool:
    """Tell whether the shares of hits differ from a base by more than chance, all taken together.

    By their squared distances in standard errors: one each by chance, with the variance of a binomial count.
    """
    hits, rows = hits[rows > 0], rows[rows > 0]
    variance = max(base * (1 - base), 1e-12)
    surplus = ((hits - base * rows) ** 2 / (variance * rows) - 1).sum()
    return bool(surplus > PROOF * math.sqrt((2 + (1 / variance - 6) / np.maximum(rows, 1)).sum()))
