"""Teachers' answers: trees, curves and neighbours are what they say, and boxes learn only where told."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from test_finish import view_of

from hyperboxes import HyperNNClassifier
from hyperboxes.crisp import CrispTask, Limits
from hyperboxes.kernels.forest import nearest_others
from hyperboxes.nn import advice, finish
from hyperboxes.nn import answers as module
from hyperboxes.nn import ways as searching
from hyperboxes.nn.answers import (
    SHARE,
    Answers,
    calibration,
    cross_neighbours,
    curve_shares,
    forest_shares,
    grouped_parts,
    logistic_line,
)

SEED = np.uint64(7)


def random_codes(rng, n, d, values):
    """Rows of codes, feature-major, some of them missing (255)."""
    codes = rng.integers(0, values, (d, n)).astype(np.uint8)
    codes[rng.uniform(size=codes.shape) < 0.05] = 255
    return codes


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 5), st.integers(1, 8))
def test_a_leaf_of_a_row_seen_holds_the_rows_equal_to_it(seed, n, d, values):
    # Trees grow until a leaf is pure or its rows are equal; so of a row that it has seen, a forest says the
    # share of positives among its equals.
    rng = np.random.default_rng(seed)
    codes, positive = random_codes(rng, n, d, values), rng.uniform(size=n) < 0.4
    weight = rng.integers(1, 4, n).astype(float)
    shares = forest_shares(codes, positive, weight, np.ones(n, bool), codes, SEED)
    for i in range(n):
        equal = (codes == codes[:, [i]]).all(axis=0)
        expected = np.average(positive[equal], weights=weight[equal])
        assert shares[i] == pytest.approx(expected, abs=1e-12)


def test_a_forest_does_not_look_at_rows_left_out():
    rng = np.random.default_rng(0)
    codes, positive = random_codes(rng, 60, 3, 9), rng.uniform(size=60) < 0.5
    seen = np.arange(60) % 3 > 0
    other = np.where(seen, positive, ~positive)
    one = forest_shares(codes, positive, np.ones(60), seen, codes, SEED)
    two = forest_shares(codes, other, np.ones(60), seen, codes, SEED)
    assert (one == two).all()
    assert np.unique(one[~seen]).size > 3


def test_a_forest_finds_what_is_there():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 50, (6, 600)).astype(np.uint8)
    truth = (codes[0] > 24) & (codes[1] > 14)
    seen = np.arange(600) < 400
    shares = forest_shares(codes, truth, np.ones(600), seen, codes, SEED)[~seen]
    assert ((shares > 0.5) == truth[~seen]).mean() > 0.93
    # and that one column is worth more than the others together
    mixed = codes.copy()
    mixed[:2] = rng.integers(0, 50, (2, 600))
    assert (
        (forest_shares(mixed, truth, np.ones(600), seen, mixed, SEED)[~seen] > 0.5) == truth[~seen]
    ).mean() < 0.75


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 4), st.integers(1, 30))
def test_nearest_others_are_those_of_sorting(seed, n, d, n_candidates):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d)).astype(np.float32)
    n_candidates = max(2, min(n, n_candidates))
    k = min(3, n_candidates - 1)
    nearest, distances = np.zeros((n, k), np.int64), np.zeros((n, k), np.float32)
    candidates = np.ascontiguousarray(Z[:n_candidates].T)
    nearest_others(Z, candidates, np.zeros(n_candidates, np.float32), distances, nearest)
    for i in range(n):
        others = [j for j in range(n_candidates) if j != i]
        far = [sum(np.float32((Z[i, c] - Z[j, c]) ** 2) for c in range(d)) for j in others]
        assert sorted(far)[:k] == pytest.approx(distances[i].tolist(), rel=1e-5)
        assert len(set(nearest[i].tolist())) == k
        assert i not in nearest[i]


def test_crossed_rows_take_each_cell_from_a_row_or_a_near_one():
    rng = np.random.default_rng(2)
    codes = np.stack([np.arange(40), np.arange(40)]).astype(np.uint8)
    Z = codes.T.astype(np.float32)
    crossed = cross_neighbours(codes, Z, rng)
    assert crossed.shape == (2, 40 * module.CROSSINGS_OF_FEW)
    own = np.tile(np.arange(40), module.CROSSINGS_OF_FEW)
    gaps = np.abs(crossed.astype(int) - own)
    assert gaps.max() <= module.NEIGHBOURS
    # cells are drawn one by one: of the rows some take one cell of the other, some both, some none
    changed = (gaps > 0).sum(axis=0)
    assert {0, 1, 2} == set(changed.tolist())


@pytest.mark.parametrize(("n", "times"), [(50, 30), (200, 20), (500, 10), (2500, 4), (12_000, 3)])
def test_the_fewer_the_rows_the_more_often_each_is_crossed(n, times):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 1)).astype(np.float32)
    assert cross_neighbours(np.zeros((1, n), np.uint8), Z, rng).shape == (1, n * times)


def test_equal_rows_share_a_part_unless_they_are_many_and_classes_are_even():
    rng = np.random.default_rng(3)
    codes = np.stack([np.repeat(np.arange(60), 3)[:150], np.zeros(150, int)]).astype(np.uint8)
    codes[:, 130:] = 200  # one row that comes twenty times
    positive = rng.uniform(size=150) < 0.5
    order = rng.permutation(150)
    part = grouped_parts(codes[:, order], positive[order])[np.argsort(order)]
    for value in np.unique(codes[0, :130]):
        assert len(set(part[codes[0] == value].tolist())) == 1
    distinct = np.arange(150).astype(np.uint8).reshape(1, 150)
    alone = grouped_parts(distinct, positive)
    for side in (False, True):
        for found in (part[130:][positive[130:] == side], alone[positive == side]):
            counts = np.bincount(found, minlength=module.PARTS)
            assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("slope", "shift"), [(0.3, -1.0), (1.0, 0.0), (2.5, 0.8)])
def test_calibration_finds_how_sure_a_share_is(slope, shift):
    rng = np.random.default_rng(4)
    shares = rng.uniform(0.02, 0.98, 20_000)
    odds = np.log((shares + 0.01) / (1.01 - shares))
    likely = 1 / (1 + np.exp(-(slope * odds + shift)))
    positive = rng.uniform(size=len(shares)) < likely
    found = calibration(shares[None], positive, np.ones(len(shares)))(shares[None])
    assert np.abs(found - likely).max() < 0.03


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.5, 1.0])
def test_calibration_is_no_worse_than_the_share_of_the_class(wrong):
    # Trees that are quite sure and often wrong.
    rng = np.random.default_rng(8)
    positive = rng.uniform(size=300) < 0.24
    shares = np.where(rng.uniform(size=300) < wrong, ~positive, positive).astype(float)
    likely = calibration(shares[None], positive, np.ones(300))(shares[None])
    loss = -np.log(np.where(positive, likely, 1 - likely)).mean()
    known = positive.mean()
    assert loss < -known * np.log(known) - (1 - known) * np.log(1 - known) + 0.005


@pytest.mark.parametrize("shares", [np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 0, 0]), np.full(4, 0.5)])
def test_calibration_stands_what_is_clear_wrong_or_empty(shares):
    positive = np.array([False, False, True, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calibration(shares[None], positive, np.ones(4))(np.array([[0.0, 0.3, 0.7, 1.0]]))
    assert ((found >= 0) & (found <= 1)).all()
    # a forest that is always wrong is not turned round, but no longer believed
    assert (np.diff(found) >= 0).all()


def test_answers_have_few_digits():
    # The last digits of a sum over rows depend on the machine: boxes must not.
    draw = np.random.default_rng(0)
    shares = draw.random((2, 200))
    said = calibration(shares, draw.random(200) < shares[0], np.ones(200))(shares)
    np.testing.assert_array_equal(said, np.round(said, 3))
    assert len(np.unique(said)) > 100


def test_calibration_believes_the_teacher_that_is_right():
    rng = np.random.default_rng(9)
    odds = rng.standard_normal((2, 20_000)) * 2
    likely = 1 / (1 + np.exp(-odds[0]))
    positive = rng.uniform(size=odds.shape[1]) < likely
    shares = 1 / (1 + np.exp(-odds))
    for order in ([0, 1], [1, 0]):
        found = calibration(shares[order], positive, np.ones(len(positive)))(shares[order])
        assert np.abs(found - likely).mean() < 0.02
    # one that says the opposite of the truth is left out, not turned round
    both = np.array([shares[0], 1 - shares[0]])
    alone = calibration(shares[:1], positive, np.ones(len(positive)))(shares[:1])
    assert (calibration(both, positive, np.ones(len(positive)))(both) == alone).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 60), st.integers(1, 4))
def test_a_logistic_line_is_that_of_scikit_learn(seed, n, d):
    rng = np.random.default_rng(seed)
    terms, positive = rng.standard_normal((d, n)), np.arange(n) % 3 == 0
    weight = rng.integers(1, 4, n).astype(float)
    line = logistic_line(terms, positive * 1.0, weight, 0.0, 1.0)
    peer = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(terms.T, positive, sample_weight=weight)
    assert line == pytest.approx([*peer.coef_[0], peer.intercept_[0]], abs=2e-3)


def test_a_strong_pull_leaves_the_usual_slope():
    rng = np.random.default_rng(10)
    terms = rng.standard_normal((2, 50))
    line = logistic_line(terms, np.arange(50) % 2 * 1.0, np.ones(50), 0.5, 1e7)
    assert line[:2] == pytest.approx([0.5, 0.5], abs=1e-4)


def test_curves_find_a_band_and_miss_what_features_do_together():
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 50, (4, 900)).astype(np.uint8)
    places = [np.linspace(-2, 2, 50)] * 4
    seen = np.arange(900) < 600
    band = (codes[0] > 12) & (codes[0] < 37)
    crossed = (codes[0] > 24) ^ (codes[1] > 24)
    hits = {}
    for name, truth in (("band", band), ("crossed", crossed)):
        shares = curve_shares(codes, places, truth, np.ones(900), seen, codes)
        hits[name] = ((shares > 0.5) == truth)[~seen].mean()
    assert hits["band"] > 0.95
    assert hits["crossed"] < 0.7


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 40), st.integers(1, 4))
def test_curves_are_a_logistic_regression_on_places_and_their_squares(seed, n, d):
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, n, d, 6)
    places = [np.sort(rng.standard_normal(6)) for _ in range(d)]
    positive, seen = np.arange(n) % 3 == 0, rng.uniform(size=n) < 0.8
    seen[:2] = True
    weight = rng.integers(1, 4, n).astype(float)
    at = np.array([[0.0 if c == 255 else places[j][c] for j, c in enumerate(row)] for row in codes.T])
    table = np.hstack([at, at**2])
    units = StandardScaler().fit(table[seen], sample_weight=weight[seen])
    peer = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    peer.fit(units.transform(table[seen]), positive[seen], sample_weight=weight[seen])
    expected = peer.predict_proba(units.transform(table))[:, 1]
    assert curve_shares(codes, places, positive, weight, seen, codes) == pytest.approx(expected, abs=5e-3)


def test_curves_say_nothing_of_what_never_varied():
    # 0.1 and its like have no exact mean: the rounding error must not pass for a spread.
    codes = np.array([np.arange(60) % 7, np.full(60, 3)], np.uint8)
    places = [np.linspace(-1, 1, 7), np.linspace(-0.9, 0.3, 7)]
    asked = np.array([[2, 2, 2], [3, 0, 6]], np.uint8)
    weight = np.full(60, 0.3)
    shares = curve_shares(codes, places, np.arange(60) % 7 > 3, weight, np.ones(60, bool), asked)
    assert np.ptp(shares) < 1e-12


def test_curves_of_one_class_or_of_no_row_say_what_is_known():
    codes = np.arange(6).astype(np.uint8).reshape(1, 6)
    places = [np.linspace(-1, 1, 6)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure = curve_shares(codes, places, np.ones(6, bool), np.ones(6), np.ones(6, bool), codes)
        none = curve_shares(codes, places, np.arange(6) < 2, np.ones(6), np.zeros(6, bool), codes)
    assert (sure > 0.95).all()
    assert none == pytest.approx(1 / 3)


def test_crossed_rows_have_their_share_of_the_weight():
    rng = np.random.default_rng(5)
    n, d = 30, 2
    columns = rng.integers(0, 9, (d, n)).astype(np.uint8)
    weight = rng.integers(1, 4, n).astype(float)
    task = CrispTask(
        columns, np.ascontiguousarray(columns.T), np.arange(n) < 10, weight, np.full(d, 9), np.zeros(d, bool),
        Limits.none(d), 0.3, 1.0,
    )  # fmt: skip
    said = rng.uniform(size=2 * n)
    said[:3] = [0.0, 0.01, 0.995]
    more = Answers(np.zeros(n), np.tile(columns, 2), said).beside(task, weight)
    assert more.weight.sum() == pytest.approx(weight.sum())
    assert more.weight[:n].sum() == pytest.approx((1 - SHARE) * weight.sum())
    added = more.weight[n:] @ more.positive[n:]
    settled = np.where(said < 0.03, 0, np.where(said > 0.97, 1, said))
    assert added == pytest.approx((np.tile(weight, 2) * settled).sum() * SHARE / 2)
    # what is certain is there once, everything else on both sides
    certain = ((settled == 0) | (settled == 1)).sum()
    assert len(more.positive) == n + 2 * 2 * n - certain
    assert (more.rows == more.columns.T).all()


def staircase(rng, n):
    """Rows whose class is the sum of three ordered grades: a forest fills in the grades not seen."""
    X = rng.integers(0, 5, (n, 5)).astype(float)
    return X, X[:, 0] + X[:, 1] + X[:, 2] > 7


@pytest.fixture
def ways(monkeypatch):
    """The ways that boxes are searched for on all rows."""
    found = []
    search = searching.search

    def spy(view, trained, max_boxes, way):
        found.append(way)
        return search(view, trained, max_boxes, way)

    for part in (finish, searching):
        monkeypatch.setattr(part, "search", spy)
    return found


def test_boxes_learn_from_teachers_that_know_better(ways):
    rng = np.random.default_rng(6)
    X, y = staircase(rng, 300)
    HyperNNClassifier(n_boxes=10, random_state=0).fit(X, y)
    assert any(way.answered for way in ways)


def test_boxes_do_not_learn_from_teachers_that_do_not(ways):
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(300, 12))
    y = ((X[:, 0] > 0.3) & (X[:, 0] < 0.8)) ^ (rng.uniform(size=300) < 0.15)
    HyperNNClassifier(n_boxes=2, random_state=0).fit(X, y)
    assert ways
    assert not any(way.answered for way in ways)


@pytest.mark.parametrize(
    ("n_positive", "gain", "believed"),
    [(20, 0.1, True), (20, -0.9, True), (20, -1.1, False), (40, 0.1, True), (40, -0.1, False)],
)
def test_teachers_of_few_rows_are_believed_unless_they_are_clearly_behind(
    n_positive, gain, believed, monkeypatch
):
    X = np.random.default_rng(0).normal(size=(400, 2))
    view = view_of(X, np.arange(400) < n_positive)
    verdict = searching.Verdict(searching.Way(True, 0), np.zeros(400, np.int64), 1, view.positive)
    monkeypatch.setattr(advice, "lead", lambda *_: (gain, 1.0))
    assert advice.teachers_advice(view, 5, verdict).believed == believed
    assert advice.teachers_advice(view, 5, verdict._replace(answers=None)) is None


@pytest.mark.parametrize(
    ("n", "n_positive", "max_boxes", "asked"),
    [
        (4_999, 2_000, 1, True),  # a small table
        (5_000, 2_000, 50, False),  # forty rows to a box
        (5_000, 2_000, 51, True),
        (5_000, 3_000, 51, True),  # of the smaller class
        (5_000, 39, 30, False),  # too few to teach
        (5_000, 40, 2, True),
        (5_000, 40, 1, False),
    ],
)
def test_teachers_of_larger_tables_are_asked_by_many_boxes_of_few_rows(n, n_positive, max_boxes, asked):
    view = view_of(np.arange(n, dtype=float)[:, None], np.arange(n) < n_positive)
    assert advice.asks_teachers(view, max_boxes) == asked
    settings = replace(view.problem.settings, jitter_copies=0)
    without_copies = replace(view.problem, settings=settings).for_class(1, view.limits, 0)
    assert not advice.asks_teachers(without_copies, max_boxes)


def test_teachers_are_judged_by_the_rows_left_out_alone():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(400, 3))
    view = view_of(X, X.sum(axis=1) > 1.5)
    fold_of = rng.integers(0, 4, 400)
    boxes_say = rng.uniform(size=400) < 0.5
    verdict = searching.Verdict(searching.Way(True, 0), fold_of, 1, boxes_say[fold_of == 0])
    judged = advice.teachers_advice(view, 5, verdict)
    assert judged.said.shape == verdict.answers.shape
    assert (judged.said == view.positive[fold_of == 0]).mean() > 0.8
    rows = view.sharp().task.part(fold_of == 0)
    assert (judged.gain, judged.error) == searching.lead(rows, judged.said, verdict.answers)


def test_many_boxes_of_a_larger_table_learn_from_teachers(ways):
    X = np.random.default_rng(2).uniform(size=(5_200, 4))
    y = X.sum(axis=1) > 2.9
    assert 2 * advice.ROWS_PER_BOX < y.sum() < 30 * advice.ROWS_PER_BOX
    for n_boxes, taught in ((2, False), (30, True)):
        ways.clear()
        HyperNNClassifier(n_boxes=n_boxes, random_state=0).fit(X, y)
        assert any(way.answered for way in ways) == taught


def test_what_teachers_know_makes_boxes_better(monkeypatch):
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = staircase(rng, 250)
        new, truth = staircase(rng, 4_000)

        def hits(X=X, y=y, new=new, truth=truth):
            model = HyperNNClassifier(n_boxes=10, random_state=0).fit(X, y)
            return (model.predict(new) == truth).mean()

        taught = hits()
        with monkeypatch.context() as patch:
            patch.setattr(finish, "teachers_advice", lambda *_: None)
            gains.append(taught - hits())
    assert np.mean(gains) > 0.005


def test_equal_rows_of_two_classes_are_learned_from():
    X = np.zeros((40, 2))
    y = np.arange(40) % 2 == 0
    model = HyperNNClassifier(random_state=0).fit(X, y)
    assert len(set(model.predict(X).tolist())) == 1
