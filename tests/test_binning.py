"""Binning: codes and cuts agree on every training cell, and bounds are short numbers in data gaps."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import numbers

from hyperboxes import Boxes
from hyperboxes.binning import COARSE_BINS, MAX_BINS, Binning, snap
from hyperboxes.conditions import LEAST_NUMBER
from hyperboxes.crisp import BinBoxes
from hyperboxes.kernels.crisp import MISSING, count_violations

columns = st.lists(numbers | st.just(math.nan), min_size=1, max_size=12)
pairs = st.tuples(numbers, numbers).map(sorted).filter(lambda pair: pair[0] < pair[1])


@st.composite
def tables(draw):
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    cells = st.lists(numbers | st.just(math.nan), min_size=n, max_size=n)
    return np.array([draw(cells) for _ in range(d)]).T + 0.0


def random_boxes(binning, n_boxes, seed, known=0.0):
    """Draw intervals of bins; a share ``known`` of the open ones asks for a value, whatever it is.

    Half as many of all ask that there is none.
    """
    draw = np.random.default_rng(seed)
    first = draw.integers(0, binning.n_bins, (n_boxes, len(binning.n_bins)))
    last = draw.integers(0, binning.n_bins, first.shape)
    open_ = draw.random(first.shape) < 0.3
    low, high = np.minimum(first, last), np.maximum(first, last)
    first, last = binning.normalise(np.where(open_, 0, low), np.where(open_, MISSING, high))
    asked = (last == MISSING) & (draw.random(first.shape) < known)
    none = draw.random(first.shape) < known / 2
    last = np.where(asked, binning.n_bins - 1, last)
    return BinBoxes(np.where(none, MISSING, first), np.where(none, MISSING, last))


def inside(codes, boxes):
    n = codes.shape[1]
    counts = np.zeros((len(boxes.first), n), np.int16)
    count_violations(codes, *boxes, counts, np.zeros(n, np.int16))
    return counts == 0


@given(tables(), st.sampled_from([2, 3, MAX_BINS]))
def test_every_training_cell_lies_between_the_cuts_of_its_bin(X, max_bins):
    binning = Binning.from_data(X, max_bins)
    codes = binning.encode(X)
    assert (binning.n_bins <= max_bins).all()
    for j, column in enumerate(X.T):
        lowest = np.concatenate([[-np.inf], binning.above[j]])
        highest = np.concatenate([binning.below[j], [np.inf]])
        known = ~np.isnan(column)
        assert (codes[j][~known] == MISSING).all()
        assert (lowest[codes[j][known]] <= column[known]).all()
        assert (column[known] <= highest[codes[j][known]]).all()
        if max_bins == MAX_BINS:
            assert len(np.unique(codes[j][known])) == len(np.unique(column[known]))


def test_many_values_are_cut_at_quantiles_of_the_rows_and_finely_at_both_ends():
    X = np.random.default_rng(0).lognormal(size=(10_000, 1))
    binning = Binning.from_data(X)
    sizes = np.bincount(binning.encode(X)[0])
    assert binning.n_bins.tolist() == [len(sizes)]
    assert MAX_BINS - 1 <= len(sizes) <= MAX_BINS
    assert sizes[:5].tolist() == sizes[:-6:-1].tolist() == [1, 1, 2, 4, 8]
    assert sizes[6:-6].min() >= 30
    assert sizes.max() <= 50
    few = X[: 2 * MAX_BINS - 1]  # one row each to begin with
    assert np.bincount(Binning.from_data(few).encode(few)[0]).max() <= 2


def test_unseen_cells_go_to_the_nearer_bin():
    binning = Binning.from_data(np.array([[0.0], [1.0], [5.0]]))
    assert binning.encode(np.array([[-9.0], [0.4], [0.6], [2.9], [3.1], [np.inf]]))[0].tolist() == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip


@given(tables(), st.integers(0, 999))
def test_boxes_in_table_units_hold_the_training_rows_that_their_bins_hold(X, seed):
    binning = Binning.from_data(X)
    boxes = random_boxes(binning, 4, seed)
    shape = boxes.first.shape
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    for k, j in np.ndindex(shape):
        lower[k, j] = binning.lower_bound(j, boxes.first[k, j])
        upper[k, j] = binning.upper_bound(j, boxes.last[k, j])
    made = Boxes(lower, upper, np.arange(4), default=9)
    np.testing.assert_array_equal(made.contains(X).T, inside(binning.encode(X), boxes))


@given(tables(), st.integers(0, 999), st.sampled_from([3, MAX_BINS]))
def test_bins_and_data_bounds_are_inverse(X, seed, max_bins):
    binning = Binning.from_data(X, max_bins)
    boxes = random_boxes(binning, 3, seed, known=0.5)
    lower, upper = binning.data_bounds(*boxes)
    np.testing.assert_array_equal(binning.to_bins(lower, upper), boxes)
    assert np.isin(lower[np.isfinite(lower) & (lower != LEAST_NUMBER)], X).all()
    assert np.isin(upper[np.isfinite(upper)], X).all()


@given(tables())
def test_what_covers_all_bins_is_unrestricted(X):
    binning = Binning.from_data(X)
    first = np.full((1, X.shape[1]), -3)
    found = binning.normalise(first, first + 1000)
    assert (found[0] == 0).all()
    assert (found[1] == MISSING).all()
    again = binning.normalise(*found)
    np.testing.assert_array_equal(again, found)


@given(tables())
def test_centres_rise_and_lie_beside_the_data_of_their_bins(X):
    binning = Binning.from_data(X)
    for j, n_bins in enumerate(binning.n_bins):
        centres = binning.centres(j)
        assert len(centres) == n_bins
        assert (np.diff(centres) >= 0).all()
        if n_bins > 1:
            assert (centres[1:] >= binning.below[j]).all()
            assert (centres[:-1] <= binning.above[j]).all()


# -- sharpened ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_boxes", [0, 1, 5, 300])
@pytest.mark.parametrize("left_out", [0, 3])
def test_a_sharpened_binning_keeps_the_boxes_and_cuts_finely_beside_their_bounds(n_boxes, left_out):
    draw = np.random.default_rng(n_boxes)
    X = np.column_stack([draw.standard_normal(5000), draw.lognormal(size=5000), draw.integers(0, 9, 5000)])
    X[draw.random(X.shape) < 0.05] = np.nan
    coarse = Binning.from_data(X)
    boxes = random_boxes(coarse, n_boxes, n_boxes, known=0.5)
    before = inside(coarse.encode(X), boxes)
    # Learning on a part of the rows: some of the values that cuts were made of are missing.
    kept = np.arange(5000) % 4 != 0 if left_out else np.ones(5000, bool)
    fine = coarse.sharpened(X[kept], *boxes)
    assert (fine.n_bins <= MAX_BINS).all()
    assert fine.n_bins[2] == 9
    moved = BinBoxes(*fine.to_bins(*coarse.data_bounds(*boxes)))
    np.testing.assert_array_equal(inside(fine.encode(X[kept]), moved), before[:, kept])
    if n_boxes == 0:
        assert (fine.n_bins <= COARSE_BINS).all()
    if n_boxes == 1:
        for j in range(2):
            values = np.unique(X[kept & ~np.isnan(X[:, j]), j])
            for cut in {*(boxes.first[:, j] - 1), *boxes.last[:, j]} & set(range(MAX_BINS - 1)):
                near = np.searchsorted(values, coarse.below[j][cut], "right") - 1
                # The two bins beside the bound hold about forty values: nearly all of them are cuts.
                assert np.isin(values[near - 8 : near + 8], fine.below[j]).all()


# -- snap --------------------------------------------------------------------------------------------


@given(pairs, st.booleans(), st.booleans())
@example([1.0, math.nextafter(1.0, 2)], False, True)
@example([0.0, 5e-324], False, False)
@example([-5e-324, 5e-324], False, True)
@example([-1.7976931348623157e308, 1.7976931348623157e308], False, True)
@example([1e308, math.nextafter(1e308, math.inf)], False, False)
def test_a_bound_lies_in_its_half_open_gap(pair, integer, up):
    below, above = (float(round(value)) for value in pair) if integer else pair
    assume(below < above)
    bound = snap(below, above, integer, up=up)
    assert math.isfinite(bound)
    assert below < bound <= above if up else below <= bound < above


@given(st.integers(-(2**53), 2**53), st.integers(1, 2**40) | st.integers(1, 20), st.booleans())
@example(2**53, 2, True)
@example(92, 644, True)
@example(92, 644, False)
def test_a_bound_of_integers_is_one_and_lies_in_the_middle_half_if_any_does(below, gap, up):
    bound = snap(float(below), float(below + gap), True, up=up)
    assert bound.is_integer()
    low, high = below + Fraction(gap, 4), below + gap - Fraction(gap, 4)
    if gap == 1:
        assert bound == below + up
    elif below + gap <= 2**53:
        assert low <= bound <= high


@given(pairs)
@example([0.1, 0.30000000000000004])
@example([99.9, 1000.2])
@example([-1.0, 3.0])
@example([0.001, 0.0010000000001])
def test_a_bound_is_the_shortest_decimal_of_the_middle_half(pair):
    below, above = pair
    gap = Fraction(above) - Fraction(below)
    # Where a few float64 lie in the gap, which of them is in the middle half is a matter of rounding.
    assume(gap > 2**12 * Fraction(max(math.ulp(below), math.ulp(above))))
    assume(gap > Fraction(1e-298))
    low, high = Fraction(below) + gap / 4, Fraction(above) - gap / 4
    slack = gap / 10**6
    bound = snap(below, above, False, up=True)
    assert bound == snap(below, above, False, up=False)
    assert low - slack <= Fraction(bound) <= high + slack
    if bound:  # zero is as short as can be
        _, _, exponent = Decimal(repr(bound)).normalize().as_tuple()
        coarser = Fraction(10) ** (exponent + 1)
        assert math.floor((high - slack) / coarser) == math.floor((low + slack) / coarser)
        # Of the decimals as short as that, none is nearer to the centre.
        assert abs(Fraction(bound) - (low + high) / 2) <= coarser / 20 + slack


def test_the_decimal_settings_of_the_caller_do_not_matter():
    expected = snap(0.123456789, 0.1234567897, False, up=True)
    with decimal.localcontext(prec=3, rounding=decimal.ROUND_UP, traps=[decimal.Inexact, decimal.Rounded]):
        assert snap(0.123456789, 0.1234567897, False, up=True) == expected
    assert expected == 0.1234567893


@pytest.mark.parametrize(
    ("below", "above", "bound"),
    [(1.37, 1.39, 1.38), (0.9, 1.2, 1.0), (3.0, 7.5, 5.0), (149.0, 151.5, 150.0), (-0.2, 0.3, 0.0)],
)
def test_bounds_are_numbers_a_person_would_write(below, above, bound):
    assert snap(below, above, False, up=True) == bound
