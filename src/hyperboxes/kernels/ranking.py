"""Ranks of a column: each value's place among the distinct ones."""

from __future__ import annotations

import numpy as np

from ._compile import kernel


@kernel
def rank(column, order, codes, examples):  # type: ignore[no-untyped-def]
    """Rank cells from the order that sorts them; missing ones, which come last, get the place behind all.

    ``codes`` gets the places, ``examples`` one row for each value. Returns the number of values.
    """
    n_values = 0
    for i in range(len(order)):
        row = order[i]
        if np.isnan(column[row]):
            codes[row] = n_values
            continue
        if i == 0 or column[row] != column[order[i - 1]]:
            examples[n_values] = row
            n_values += 1
        codes[row] = n_values - 1
    return n_values
