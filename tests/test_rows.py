"""Canonical rows: weight is repetition, order means nothing, to the last bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperboxes.kernels.rows import canonical_rows

cells = st.sampled_from([0.0, -0.0, 1.0, np.nan, 1e308, 5e-324])
weights = st.sampled_from([0.0, 1.0, 2.0, 0.1, 0.3, 1e-9])


@st.composite
def tables(draw):
    n = draw(st.integers(0, 8))
    rows = draw(st.lists(st.tuples(cells, cells), min_size=n, max_size=n))
    group = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weight = draw(st.lists(weights, min_size=n, max_size=n))
    return np.array(rows, np.float64).reshape(n, 2), np.array(group, np.int64), np.array(weight, np.float64)


def content(X, group, weight):
    """The rows, groups and weights in canonical order, NaN and zeros alike."""
    index, merged = canonical_rows(X, group, weight)
    return (X[index] + 0.0).tolist().__repr__(), group[index].tolist(), merged.tolist()


@given(tables(), st.randoms(use_true_random=False))
def test_any_permutation_gives_the_same_rows_and_weights(table, random):
    order = list(range(len(table[0])))
    random.shuffle(order)
    assert content(*table) == content(*(part[order] for part in table))


@given(tables())
def test_a_weight_equals_so_many_copies(table):
    X, group, weight = table
    copies = np.rint(weight).astype(int)
    repeated = np.repeat(X, copies, axis=0), np.repeat(group, copies), np.ones(copies.sum())
    assert content(X, group, copies.astype(float)) == content(*repeated)


@given(tables())
def test_distinct_rows_remain_once_with_their_whole_weight(table):
    X, group, weight = table
    expected = {}
    for row, label, w in zip((X + 0.0).tolist(), group.tolist(), weight.tolist(), strict=True):
        if w > 0:
            expected[repr((row, label))] = expected.get(repr((row, label)), 0) + w
    index, merged = canonical_rows(X, group, weight)
    found = {
        repr(((X[i] + 0.0).tolist(), int(group[i]))): w
        for i, w in zip(index.tolist(), merged.tolist(), strict=True)
    }
    assert len(found) == len(index)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()))


def test_zeros_of_both_signs_are_one_value_and_so_are_all_missing_ones():
    other_nan = np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0]
    X = np.array([[0.0, np.nan], [-0.0, other_nan]])
    index, weight = canonical_rows(X, np.zeros(2, np.int64), np.ones(2))
    assert len(index) == 1
    assert weight.tolist() == [2.0]


def test_rows_of_weight_zero_vanish():
    X = np.arange(3.0)[:, None]
    index, weight = canonical_rows(X, np.zeros(3, np.int64), np.array([1.0, 0.0, 2.0]))
    assert sorted(zip(index.tolist(), weight.tolist(), strict=True)) == [(0, 1.0), (2, 2.0)]


def test_the_order_looks_random():
    X = np.arange(1000.0)[:, None]
    index, _ = canonical_rows(X, np.zeros(1000, np.int64), np.ones(1000))
    assert 350 < (np.diff(index) > 0).sum() < 650
    assert 400 < index[:100].mean() < 600


@given(tables(), st.integers(-40, 40))
def test_the_unit_of_a_column_does_not_change_the_order(table, power):
    X, group, weight = table
    X = np.where(np.abs(X) > 1, 3.0, np.where(np.abs(X) < 1e-9, 0.0, X))
    moved = np.ldexp(X, np.array([power, 0]))
    for one, other in zip(
        canonical_rows(X, group, weight), canonical_rows(moved, group, weight), strict=True
    ):
        np.testing.assert_array_equal(one, other)
