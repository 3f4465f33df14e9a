"""Canonical rows: weight is repetition, order means nothing, to the last bit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperboxes.kernels import blocks, rows
from hyperboxes.kernels.random import mix
from hyperboxes.kernels.rows import _exact_sum, canonical_rows, hash_rows

cells = st.sampled_from([0.0, -0.0, 1.0, -3.5, np.nan, 1e308, 5e-324, -1.5e-310, 1e-300])
weights = st.sampled_from([0.0, 1.0, 2.0, 0.1, 0.3, 1e-9])


@st.composite
def tables(draw):
    n = draw(st.integers(0, 8))
    content = draw(st.lists(st.tuples(cells, cells), min_size=n, max_size=n))
    group = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weight = draw(st.lists(weights, min_size=n, max_size=n))
    return (
        np.array(content, np.float64).reshape(n, 2),
        np.array(group, np.int64),
        np.array(weight, np.float64),
    )


def content(X, group, weight):
    """The rows, groups and weights in canonical order, NaN and zeros alike."""
    index, merged, _ = canonical_rows(X, group, weight)
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
    index, merged, n_distinct = canonical_rows(X, group, weight)
    assert n_distinct == len(index)
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
    index, weight, _ = canonical_rows(X, np.zeros(2, np.int64), np.ones(2))
    assert len(index) == 1
    assert weight.tolist() == [2.0]


def test_rows_of_weight_zero_vanish():
    X = np.arange(3.0)[:, None]
    index, weight, _ = canonical_rows(X, np.zeros(3, np.int64), np.array([1.0, 0.0, 2.0]))
    assert sorted(zip(index.tolist(), weight.tolist(), strict=True)) == [(0, 1.0), (2, 2.0)]


def test_the_order_looks_random():
    X = np.arange(1000.0)[:, None]
    index, _, _ = canonical_rows(X, np.zeros(1000, np.int64), np.ones(1000))
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


def plain_hashes(X, group):
    """Hash as the formula says, from Python numbers."""
    sizes = [max([abs(x) for x in column if not math.isnan(x)], default=0.0) for column in X.T.tolist()]
    largest = [math.frexp(size)[1] for size in sizes]
    out = []
    for row, label in zip(X.tolist(), group.tolist(), strict=True):
        h = mix.py_func(np.uint64(label))
        for x, shift in zip(row, largest, strict=True):
            mantissa, power = math.frexp(x + 0.0)
            if x == 0 or math.isnan(x) or power - shift >= -1021:
                bits = int(
                    np.float64(math.nan if math.isnan(x) else math.ldexp(x + 0.0, -shift)).view(np.uint64)
                )
            else:
                bits = int(np.float64(mantissa).view(np.uint64)) ^ ((power - shift) % 2**64)
            with np.errstate(over="ignore"):
                h = mix.py_func(np.uint64(h) ^ np.uint64(bits))
        out.append(int(h))
    return out


@given(tables())
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_hashes_are_those_of_the_formula(table):
    X, group, _ = table
    assert hash_rows(X, group).tolist() == plain_hashes(X, group)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_and_layout_change_no_hash(threads, order, monkeypatch):
    X, group = np.random.default_rng(0).standard_normal((100, 3)), np.arange(100) % 4
    expected = hash_rows(X, group)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 7 * 24)
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    np.testing.assert_array_equal(hash_rows(np.asarray(X, order=order), group), expected)


def test_the_first_of_equal_rows_stands_for_them():
    X = np.random.default_rng(0).integers(0, 3, (1000, 1)).astype(np.float64)
    found = canonical_rows(X, np.zeros(1000, np.int64), np.ones(1000))
    assert sorted(found.chosen.tolist()) == sorted(np.unique(X, return_index=True)[1].tolist())


def test_the_weight_of_equal_rows_is_summed_in_an_order_of_its_own():
    weight = np.random.default_rng(0).random(500)
    order = np.random.default_rng(1).permutation(500)
    X, group = np.ones((500, 1)), np.zeros(500, np.int64)
    assert canonical_rows(X, group, weight).weight == canonical_rows(X, group, weight[order]).weight


def test_rows_whose_hashes_collide_stay_apart(monkeypatch):
    monkeypatch.setattr(rows, "hash_rows", lambda X, group: np.zeros(len(X), np.uint64))
    X, group = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array([0, 0, 0, 1])
    found = canonical_rows(X, group, np.ones(4))
    assert found.chosen.tolist() == [0, 1, 3]
    assert found.weight.tolist() == [1.0, 2.0, 1.0]


# -- thinned out -------------------------------------------------------------------------------------


@given(tables(), st.integers(1, 3))
def test_thinning_keeps_the_first_rows_of_each_group_with_the_weight_of_all(table, wanted):
    X, group, weight = table
    index, merged, n_distinct = canonical_rows(X, group, weight)
    thin = canonical_rows(X, group, weight, lambda counts: np.full(len(counts), wanted))
    assert thin.n_distinct == n_distinct
    for label in range(3):
        own = group[index] == label
        np.testing.assert_array_equal(thin.chosen[group[thin.chosen] == label], index[own][:wanted])
        kept = thin.weight[group[thin.chosen] == label]
        np.testing.assert_allclose(kept.sum(), merged[own].sum())
        np.testing.assert_allclose(kept * merged[own][:1], kept[:1] * merged[own][:wanted])
    np.testing.assert_array_equal(index[np.isin(index, thin.chosen)], thin.chosen)


@given(tables(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_a_thinned_table_depends_on_neither_order_nor_repetition(table, random, wanted):
    X, group, weight = table
    # Of distinct rows: then all that is summed in another order is the weight of a group.
    distinct, weight, _ = canonical_rows(X, group, weight)
    X, group = X[distinct], group[distinct]
    order = list(range(len(X))) * 2
    random.shuffle(order)

    def thinned(X, group, weight):
        index, merged, _ = canonical_rows(X, group, weight, lambda counts: np.full(len(counts), wanted))
        return repr((X[index] + 0.0).tolist()), group[index].tolist(), merged.tolist()

    assert thinned(X, group, 2 * weight) == thinned(X[order], group[order], weight[order])


@given(st.lists(st.sampled_from([1.0, 0.1, 0.3, 1e-9, 1e300, 5e-324, 1e16]), min_size=1, max_size=12))
def test_sums_are_rounded_once(values):
    assert _exact_sum(np.array(values)) == float(sum(map(Fraction, values)))
