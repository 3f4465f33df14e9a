"""Memory: a fair sample of a stream of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tables import Table, united

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Memory:
    """Up to ``size`` rows of a stream, each with a chance proportional to its weight.

    Every row draws the key u ** (1 / weight), u uniform, and the rows of the largest keys are kept
    (Efraimidis & Spirakis 2006). While nothing has been dropped, weights are those given; then the kept
    rows share the weight of all.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self._random = np.random.default_rng(seed)
        self._table: Table | None = None
        self._classes: Ints = np.zeros(0, np.int64)
        self._weight: Floats = np.zeros(0)
        self._keys: Floats = np.zeros(0)
        self._seen = 0.0

    def add(self, table: Table, classes: Ints, weight: Floats) -> tuple[Table, Ints, Floats]:
        """Add a batch; give what is remembered now."""
        keep = weight > 0
        with np.errstate(divide="ignore"):
            # Logarithms of the keys: powers of small numbers vanish.
            keys = np.log(self._random.random(len(weight))) / np.where(keep, weight, 1.0)
        table = table if self._table is None else _joined(self._table, table)
        matrix = table.matrix
        old = len(matrix) - len(weight)
        keep = np.concatenate([np.ones(old, bool), keep])
        order = np.concatenate([self._keys, keys])
        if keep.sum() > self.size:
            least = np.sort(order[keep])[-self.size]
            keep &= order >= least
        self._seen += float(weight.sum())
        self._table = table._replace(matrix=matrix[keep])
        self._classes = np.concatenate([self._classes, classes])[keep]
        self._weight = np.concatenate([self._weight, weight])[keep]
        self._keys = order[keep]
        full = self._weight.sum() < self._seen * (1 - 1e-12)
        shared = np.full(len(self._weight), self._seen / max(len(self._weight), 1)) if full else self._weight
        return self._table, self._classes, shared


def _joined(old: Table, new: Table) -> Table:
    """Put two batches together, uniting the categories of each column."""
    if old.categories.keys() != new.categories.keys():
        raise ValueError(
            f"this batch has the categorical columns {list(new.categories)}; "
            f"earlier ones had {list(old.categories)}"
        )
    matrix = new.matrix.copy()
    categories = {}
    for name, known in old.categories.items():
        categories[name] = united([known, new.categories[name]])
        place = {value: index for index, value in enumerate(categories[name])}
        column = new.feature_names.index(name)
        codes = matrix[:, column]
        seen = codes >= 0
        moved = np.array([place[value] for value in new.categories[name]], dtype=np.float64)
        matrix[seen, column] = moved[codes[seen].astype(np.int64)]
    return old._replace(matrix=np.concatenate([old.matrix, matrix]), categories=categories)
