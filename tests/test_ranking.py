from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import numbers

from hyperboxes.kernels.ranking import rank
from hyperboxes.prim.ranks import Ranks
from hyperboxes.tables import Table


@given(st.lists(numbers | st.just(math.nan), max_size=40))
def test_ranks_are_places_among_the_sorted_distinct_values(cells):
    column = np.array(cells, dtype=np.float64)
    codes, examples = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    n_values = rank(column, np.argsort(column), codes, examples)
    values = sorted({cell for cell in cells if not math.isnan(cell)})
    assert n_values == len(values)
    assert [cells[row] for row in examples[:n_values]] == values
    assert codes.tolist() == [len(values) if math.isnan(cell) else values.index(cell) for cell in cells]


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.integers(0, 2))
def test_counting_and_sorting_give_the_same_ranks(cells, n_missing):
    column = np.array([*cells, *[math.nan] * n_missing])
    ranks = Ranks.from_table(Table(column[:, None], ("x",), {}, frozenset()))
    values = sorted(set(cells))
    assert ranks.codes[0].tolist() == [values.index(cell) for cell in cells] + [len(values)] * n_missing
    assert [ranks.value(0, place) for place in range(len(values))] == values
    assert ranks.integer.tolist() == [True]
