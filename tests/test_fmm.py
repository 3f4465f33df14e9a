"""Laws of the fuzzy min-max networks: the compiled loop is the papers' loop, and pruning pays."""

from __future__ import annotations

import numpy as np
import pytest
import reference_fmm as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from planted import planted

from hyperboxes.fmm import VARIANTS, Network, Rows, Settings, Space, fit_fmm, intervals
from hyperboxes.fmm.rows import folds, shuffled

ONLINE = [name for name, variant in VARIANTS.items() if not variant.batch]
WIDTHS = [0.0, 0.125, 0.25, 0.5, 1.0]


@st.composite
def tables(draw, *, missing=True):
    """Draw rows on a grid of 1/16, which makes ties and touching sides, or anywhere; some are intervals."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low = random.random((n, d))
    if draw(st.booleans()):
        low = np.rint(16 * low) / 16
    high = low
    if draw(st.booleans()):
        high = np.where(
            random.random((n, d)) < 0.3, np.minimum(1, low + random.integers(0, 4, (n, d)) / 16), low
        )
    if missing and draw(st.booleans()):
        low = np.where(random.random((n, d)) < 0.2, np.nan, low)
    low[0], high = 0.0, np.array(high)
    low[1], high[0], high[1] = 1.0, 0.0, 1.0  # ranges of one, so that the papers' formulas hold as they are
    return low, high, random.integers(0, draw(st.integers(1, 4)), n)


def make_rows(low, high, classes):
    return Rows(*intervals(low, high), classes, np.ones(len(classes)))


def informed(low, high, classes):
    known = ~(np.isnan(low) | np.isnan(high)).all(axis=1)
    return low[known], high[known], classes[known]


def sides(network):
    """List bounds and class of each box, None where it knows nothing."""
    lower, upper = network.bounds
    return [
        ([None if np.isinf(a) else (a, b) for a, b in zip(*box, strict=True)], label)
        for *box, label in zip(lower, upper, network.labels.tolist(), strict=True)
    ]


@pytest.mark.parametrize("variant", ONLINE)
@given(tables(), st.sampled_from(WIDTHS), st.sampled_from([1.0, 0.5, 4.0]))
def test_the_fast_loop_makes_the_boxes_of_the_slow_one(variant, table, width, sensitivity):
    low, high, classes = informed(*table)
    rows = make_rows(low, high, classes)
    network = Network(VARIANTS[variant], Space.of(rows, sensitivity))
    network.present(rows, width)
    boxes = []
    for row, label in zip(reference.as_rows(low, high), classes.tolist(), strict=True):
        reference.present(boxes, row, label, 1.0, variant, width, sensitivity)
    assert sides(network) == [(box.sides, box.label) for box in boxes]
    assert_array_equal(network.weight, [box.weight for box in boxes])


@given(
    tables(), st.sampled_from(WIDTHS), st.sampled_from(["short", "mid", "long"]), st.sampled_from([0.0, 0.75])
)
@settings(max_examples=100)
def test_fast_agglomeration_makes_the_boxes_of_the_slow_one(table, width, measure, least):
    low, high, classes = informed(*table)
    rows = make_rows(low, high, classes)
    network = Network(VARIANTS["agglomerative"], Space.of(rows, 1.0))
    network.agglomerate(rows, width, measure, least)
    boxes = reference.agglomerate(
        reference.as_rows(low, high), classes.tolist(), np.ones(len(low)), width, measure, least
    )
    assert sides(network) == [(box.sides, box.label) for box in boxes]


@pytest.mark.parametrize("variant", VARIANTS)
@given(tables(missing=False), tables())
@settings(max_examples=40)
def test_winners_are_the_boxes_of_highest_membership(variant, boxes, table):
    lower, upper, labels = boxes
    low, high, _ = table
    d = min(lower.shape[1], low.shape[1])
    lower, upper, low, high = lower[:, :d], upper[:, :d], low[:, :d], high[:, :d]
    network = Network(VARIANTS[variant], Space.of(make_rows(lower, upper, labels), 1.0))
    order = network.space.order
    network._refill(lower[:, order], upper[:, order], labels, np.ones(len(labels)))
    ours, _ = network.winners(*intervals(low, high))
    known = [reference.Box(list(zip(*box, strict=True)), 0, 1.0) for box in zip(lower, upper, strict=True)]
    average = VARIANTS[variant].average
    slow = [reference.winner(known, row, average) for row in reference.as_rows(low, high)]
    assert_array_equal(ours, slow)
    memberships = network.memberships(*intervals(low, high))
    assert_array_equal(memberships[np.arange(len(ours)), ours], memberships.max(axis=1))


@pytest.mark.parametrize("variant", ["simpson", "iol"])
@given(tables(missing=False), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=40)
def test_pruning_drops_what_the_slow_one_drops(variant, table, price):
    low, high, classes = table
    rows = make_rows(low, high, classes)
    network = Network(VARIANTS[variant], Space.of(rows, 1.0))
    network.present(rows.take(np.arange(0, len(low), 2)), 0.25)
    boxes = [
        reference.Box(box, label, weight)
        for (box, label), weight in zip(sides(network), network.weight.tolist(), strict=True)
    ]
    held = np.arange(1, len(low), 2)
    network.prune(rows.take(held), price)
    kept = reference.prune(
        boxes, [reference.as_rows(low, high)[i] for i in held], classes[held].tolist(), np.ones(len(held)),
        VARIANTS[variant].average, price,
    )  # fmt: skip
    assert sides(network) == [(box.sides, box.label) for box in kept]


@pytest.mark.parametrize("variant", VARIANTS)
def test_thousands_of_boxes_are_the_same_as_without_shelves(variant):
    """Many splits of shelves, compared with a plain search over all boxes."""
    random = np.random.default_rng(0)
    rows = make_rows(*2 * [random.random((2_000, 6))], random.integers(0, 3, 2_000))
    fit = fit_fmm(rows, Settings(variant, (0.1,), prune=False))
    assert len(fit.network) > 500
    low = random.random((500, 6))
    ranks, membership = fit.network.winners(low, low)
    every = fit.network.memberships(low, low)
    assert_array_equal(membership, every.max(axis=1))
    assert_array_equal(ranks, every.argmax(axis=1))


def test_improved_online_boxes_of_two_classes_do_not_overlap_unless_a_row_began_inside():
    random = np.random.default_rng(1)
    rows = make_rows(*2 * [random.random((400, 2))], random.integers(0, 2, 400))
    network = fit_fmm(rows, Settings("iol", (0.3,), prune=False)).network
    lower, upper = network.bounds
    grown = (lower < upper).any(axis=1)
    meet = ((lower[:, None] <= upper) & (lower <= upper[:, None])).all(axis=2)
    other = network.labels[:, None] != network.labels
    assert not (meet & other)[np.ix_(grown, grown)].any()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(2))
def test_one_planted_box_in_noise_takes_few_boxes(variant, seed):
    box = [{0: (0.2, 0.7), 1: (0.3, 0.8)}]
    X, y = planted(box, 3_000, 10, seed)
    rows = Rows(*intervals(X), y.astype(np.int64), np.ones(len(y)))
    fit = fit_fmm(rows, Settings(variant, (0.2, 0.5, 1.0)), seed)
    X, y = planted(box, 5_000, 10, seed + 50)
    answers = fit.network.labels[fit.network.winners(*intervals(X))[0]] == 1
    assert len(fit.network) <= 25
    assert 2 * (answers & y).sum() / (answers.sum() + y.sum()) >= 0.95


@pytest.mark.parametrize("variant", ["simpson", "iol"])
@given(tables(), st.sampled_from(WIDTHS), st.booleans())
@settings(max_examples=50)
def test_growing_is_the_slow_improved_online_loop_with_boxes_of_any_width(variant, table, width, found):
    low, high, classes = informed(*table)
    rows = make_rows(low, high, classes)
    network = Network(VARIANTS[variant], Space.of(rows, 1.0))
    network.present(rows.take(np.arange(0, len(low), 3)), width)
    boxes = [
        reference.Box(box, label, weight)
        for (box, label), weight in zip(sides(network), network.weight.tolist(), strict=True)
    ]
    network.grow(rows, found)
    for row, label in zip(reference.as_rows(low, high), classes.tolist(), strict=True):
        before = len(boxes)
        reference.present(boxes, row, label, 1.0, "iol", np.inf, 1.0)
        if not found:
            del boxes[before:]
    assert sides(network) == [(box.sides, box.label) for box in boxes]


def test_boxes_weigh_what_they_contain_of_their_class():
    random = np.random.default_rng(5)
    X = random.random((400, 2))
    rows = make_rows(X, X, random.integers(0, 2, 400))
    network = fit_fmm(rows, Settings("gfmm", (0.3,), prune=False)).network
    network.weigh(rows)
    lower, upper = network.bounds
    inside = ((lower <= X[:, None]) & (X[:, None] <= upper)).all(axis=2)
    inside &= rows.classes[:, None] == network.labels
    first = inside.argmax(axis=1)[inside.any(axis=1)]
    assert_array_equal(network.weight, np.bincount(first, minlength=len(network)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_pruning_never_worsens_the_rows_it_is_judged_by(variant):
    random = np.random.default_rng(2)
    X = random.random((600, 4))
    rows = make_rows(X, X, (X[:, 0] + 0.3 * random.random(600) > 0.6).astype(np.int64))
    learning, held = folds(rows, 0.25, 0)[0]
    network = fit_fmm(learning, Settings(variant, (0.3,), prune=False)).network
    before = (network.labels[network.winners(held.low, held.high)[0]] == held.classes).sum()
    n_before = len(network)
    network.prune(held, 0.0)
    after = (network.labels[network.winners(held.low, held.high)[0]] == held.classes).sum()
    assert after >= before
    assert len(network) < n_before / 2


def test_passes_with_narrower_boxes_put_more_training_rows_right():
    random = np.random.default_rng(3)
    X = random.random((300, 2))
    rows = make_rows(X, X, (np.hypot(*(X - 0.5).T) < 0.3).astype(np.int64))

    def right(n_passes):
        network = fit_fmm(rows, Settings("gfmm", (0.5,), 1.0, n_passes, 0.7, prune=False)).network
        return (network.labels[network.winners(rows.low, rows.high)[0]] == rows.classes).mean()

    assert right(1) < right(8)


@given(tables(), st.integers(0, 5))
@settings(max_examples=50)
def test_shuffling_forgets_the_order_and_counts_repetitions_as_weight(table, seed):
    rows = make_rows(*table)
    order = np.random.default_rng(seed).permutation(len(rows.classes))
    twice = rows.take(np.concatenate([order, order]))
    heavy = rows._replace(weight=np.full(len(rows.classes), 2.0))
    for ours, theirs in zip(shuffled(heavy, seed), shuffled(twice, seed), strict=True):
        assert_array_equal(ours, theirs)


def test_features_are_looked_at_by_what_they_add():
    random = np.random.default_rng(4)
    a, b, c = random.random((3, 500))
    X = np.column_stack([a, a + 1e-3 * b, b, 0.1 * (c > 0.95)])
    order = Space.of(make_rows(X, X, np.zeros(500, np.int64)), 1.0).order
    assert order[:3].tolist() in ([0, 2, 3], [2, 0, 3], [1, 2, 3], [2, 1, 3])


def test_held_out_rows_come_from_every_class_that_can_spare_one():
    classes = np.repeat([0, 1, 2], [100, 10, 1])
    rows = make_rows(*2 * [np.random.default_rng(0).random((111, 2))], classes)
    pairs = folds(rows, 0.25, 0)
    judged = np.concatenate([held.low[:, 0] for _, held in pairs])
    assert len(pairs) == 4
    assert len(np.unique(judged)) == len(judged) == 108
    for learning, held in pairs:
        assert np.bincount(held.classes, minlength=3).tolist() == [25, 2, 0]
        together = np.sort(np.concatenate([learning.low[:, 0], held.low[:, 0]]))
        assert_array_equal(together, np.sort(rows.low[:, 0]))


@pytest.mark.parametrize(("n", "pairs", "held"), [(9_000, 4, 2_250), (18_000, 2, 4_500), (90_000, 1, 10_000)])
def test_large_tables_are_judged_by_so_many_rows_and_no_more(n, pairs, held):
    X = np.zeros((n, 1))
    rows = make_rows(X, X, np.zeros(n, np.int64))
    assert [len(judging.classes) for _, judging in folds(rows, 0.25, 0)] == pairs * [held]


def test_pruned_passes_take_a_bounded_number_of_rows(monkeypatch):
    presented = []
    present = Network.presented
    monkeypatch.setattr(
        Network, "presented", lambda *args: presented.append(len(args[1].classes)) or present(*args)
    )
    monkeypatch.setattr("hyperboxes.fmm.fit.ROWS_A_PASS", 300)
    X, y = planted([{0: (0.2, 0.7)}], 2_000, 3, 0)
    fit = fit_fmm(make_rows(X, X, y.astype(np.int64)), Settings("iol", (0.2,)))
    assert presented == 4 * [300]
    ranks, _ = fit.network.winners(X, X)
    assert np.mean((fit.network.labels[ranks] == 1) == y) > 0.97
