"""Scaling: exact under powers of two, finite at the ends of float64, blind to missing values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperboxes.scaling import power_of_two_scale, scaled, standardise
from hyperboxes.tables import read_table

columns = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=1, max_size=12)


@given(columns)
def test_centre_and_scale_are_the_weighted_mean_and_deviation(column):
    x = np.array(column)
    weight = 1.0 + np.arange(len(x)) % 3
    centre, scale = standardise(x[:, None], weight)
    mean = np.average(x, weights=weight)
    deviation = np.sqrt(np.average((x - mean) ** 2, weights=weight))
    assert centre[0] == pytest.approx(mean, abs=1e-9)
    assert scale[0] == (1.0 if x.min() == x.max() else pytest.approx(deviation, rel=1e-6))


@given(columns, st.integers(-900, 900))
def test_a_power_of_two_changes_no_bit_of_the_scaled_values(column, power):
    x = np.array(column)[:, None]
    weight = np.full(len(x), 0.7)
    if x.min() == x.max():  # its scale is 1, whatever its unit
        return
    moved = np.ldexp(x, power)
    np.testing.assert_array_equal(
        scaled(x, *standardise(x, weight)), scaled(moved, *standardise(moved, weight))
    )


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -7.7, 1e308, 5e-324, 12345.678])
@pytest.mark.parametrize("n", [1, 3, 10, 1001])
def test_a_constant_column_has_itself_as_centre_and_the_scale_one(value, n):
    centre, scale = standardise(np.full((n, 1), value), np.full(n, 0.1))
    assert (centre[0], scale[0]) == (value, 1.0)


@pytest.mark.parametrize(
    "column",
    [[1.7e308, -1.7e308, 1.7e308], [5e-324, 0.0, 1e-323], [1e-310, 2e-310, -3e-310], [1.7e308, 1.0, -5e-324]],
)
def test_scaling_is_finite_at_the_ends_of_float64(column):
    x = np.array(column)[:, None]
    centre, scale = standardise(x, np.ones(3))
    assert np.isfinite([centre, scale]).all()
    assert scale[0] > 0
    z = scaled(x, centre, scale)
    assert np.isfinite(z).all()
    assert np.abs(z).max() <= 3


def test_missing_values_count_for_nothing():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    holes = np.array([1.0, np.nan, 2.0, np.nan, 4.0, 8.0])
    whole = standardise(x[:, None], np.ones(4))
    np.testing.assert_allclose(standardise(holes[:, None], np.ones(6)), whole)
    centre, scale = standardise(np.full((3, 1), np.nan), np.ones(3))
    assert (centre[0], scale[0]) == (0.0, 1.0)
    assert np.isnan(scaled(holes[:, None], *whole)[1, 0])


def test_a_weight_equals_so_many_copies():
    x, weight = np.array([1.0, 2.0, 5.0])[:, None], np.array([1.0, 3.0, 2.0])
    copies = np.repeat(x, weight.astype(int), axis=0)
    np.testing.assert_allclose(standardise(x, weight), standardise(copies, np.ones(6)))


@given(st.lists(columns.map(lambda c: (c * 12)[:12]), min_size=1, max_size=3), st.integers(-1070, 1020))
def test_distances_are_in_powers_of_two_near_the_deviation(columns, power):
    with np.errstate(over="ignore"):
        X = np.ldexp(np.array(columns).T, power).clip(-1e308, 1e308)
    table = read_table(X)
    scale = power_of_two_scale(table, np.ones(len(X)))
    assert (np.frexp(scale)[0] == 0.5).all()
    _, deviation = standardise(X, np.ones(len(X)))
    near = np.abs(np.log2(scale) - np.log2(deviation)) <= 0.5 + 1e-9
    assert (near | (np.abs(np.log2(scale)) == 1000)).all()


def test_a_category_is_one_unit_away():
    table = read_table([[letter, float(number)] for number, letter in enumerate("abcdefghijkl")], ["x0"])
    scale = power_of_two_scale(table, np.ones(12))
    assert scale.tolist() == [1.0, 4.0]
