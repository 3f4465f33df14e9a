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
#: Part of what categories of few rows differ by that must be no chance for them to be told apart.
MOSTLY = 0.5


def category_places(hits: NDArray[Any], rows: NDArray[Any], base: float) -> Ints:
    """Give the place of each category, sorted by the share of hits among its rows.

    Of many categories with few rows each, some have many hits by chance alone; sorted by them, a column that
    says little would repeat the labels. So those of few rows have one place together, unless what they
    differ by is mostly no chance. More places than there are bins are joined with their neighbours.
    """
    share = (hits + base) / (rows + 1)
    few = np.asarray(rows < SURE_ROWS)
    few &= few.sum() > FEW_LEVELS
    alike = few & (not differ_mostly(hits[few], rows[few], base))
    share[alike] = (hits[alike].sum() + base) / (rows[alike].sum() + 1)
    order = np.lexsort((few, share))
    # Categories of few rows and of one share are told apart by nothing.
    new = (share[order][1:] > share[order][:-1]) | ~(few[order][1:] & few[order][:-1])
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(np.append(False, new))
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


def differ_mostly(hits: NDArray[Any], rows: NDArray[Any], base: float) -> bool:
    """Tell whether categories differ from a base by more than chance, and mostly by no chance.

    With c the correlation of two rows of a category, estimated from the squared distances of its hits from
    what is to be expected, the part that is no chance is r c / (1 + (r - 1) c) of a category of r rows.
    """
    if not differ(hits, rows, base):
        return False
    hits, rows = hits[rows > 0], rows[rows > 0]
    variance = max(base * (1 - base), 1e-12)
    pairs = float(np.maximum(rows - 1, 0).sum())
    if not pairs:
        return False
    alike = min(float(((hits - base * rows) ** 2 / (variance * rows) - 1).sum()) / pairs, 1.0)
    sure = rows * alike / (1 + (rows - 1) * alike)
    return bool(np.average(sure, weights=rows) >= MOSTLY)
