"""A table made ready: class totals, category orders, folds and bins survive every step."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from hyperboxes import Boxes, HyperNNClassifier
from hyperboxes.binning import Binning
from hyperboxes.crisp import BinBoxes, Limits
from hyperboxes.kernels.crisp import MISSING
from hyperboxes.nn import fit, problem, starts
from hyperboxes.nn.fit import fit_hypernn
from hyperboxes.nn.problem import MANY_MISSING, Features, Problem, _quota
from hyperboxes.nn.settings import Settings
from hyperboxes.nn.starts import HISTORY_POINTS, once_each
from hyperboxes.tables import read_table

QUICK = Settings(n_steps=30, batch_size=64, jitter_copies=2)


def frame(n=300, seed=0):
    draw = np.random.default_rng(seed)
    size = pd.Categorical(draw.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True)
    table = pd.DataFrame({
        "x": draw.standard_normal(n).round(2), "kind": pd.Categorical(draw.choice(list("abcd"), n)),
        "size": size, "same": np.full(n, 5.0), "empty": np.full(n, np.nan),
    })  # fmt: skip
    table.loc[::17, "x"] = np.nan
    table.loc[::23, "kind"] = np.nan
    classes = ((table["x"] > 0.3) & table["kind"].isin(["b", "d"])).to_numpy().astype(np.int64)
    return read_table(table), classes


def problem_of(table, classes, weight=None, settings=QUICK):
    weight = np.ones(len(classes)) if weight is None else weight
    return Problem.from_table(table, classes, weight, settings, 0)


def view_of(table, classes, target=1, **options):
    problem = problem_of(table, classes, **options)
    return problem.for_class(target, Limits.none(problem.X.shape[1]), 0)


@pytest.mark.parametrize("max_rows", [10, 100, 1000])
def test_thinning_keeps_classes_in_proportion_and_rare_ones_whole(max_rows):
    counts = np.array([5000, 200, 0, 2])
    quota = _quota(counts, max_rows)
    assert (quota <= counts).all()
    assert quota.sum() <= 1.5 * max_rows + 3
    assert quota[3] == (2 if max_rows >= 100 else 1)
    assert quota[0] / max_rows == pytest.approx(5000 / 5202, abs=0.1)


def test_a_large_table_is_thinned_and_light_weights_count_as_rows():
    X = np.random.default_rng(0).standard_normal((500, 2))
    classes = (X[:, 0] > 0).astype(np.int64)
    table = read_table(X)
    small = problem_of(table, classes, settings=replace(QUICK, max_rows=100))
    assert len(small.X) <= 102
    np.testing.assert_allclose(np.bincount(small.classes, small.weight), np.bincount(classes))
    light = problem_of(table, classes, np.full(500, 1e-9))
    assert light.weight.sum() == pytest.approx(500)
    heavy = problem_of(table, classes, np.full(500, 3.0))
    assert heavy.weight.sum() == pytest.approx(1500)


def test_categories_are_ordered_by_the_share_of_the_class():
    table, classes = frame()
    view = view_of(table, classes)
    column = table.feature_names.index("kind")
    assert set(view.orders) == {column}
    place = view.orders[column]
    assert sorted(place.tolist()) == [0, 1, 2, 3]
    assert {int(place[1]), int(place[3])} == {2, 3}  # b and d hold the class
    ordered = view.in_order(view.problem.X)
    known = ~np.isnan(view.problem.X[:, column])
    assert np.isnan(ordered[~known, column]).all()
    np.testing.assert_array_equal(ordered[known, column], place[view.problem.X[known, column].astype(int)])
    unseen = view.problem.X[:1].copy()
    unseen[0, column] = 7
    assert np.isnan(view.in_order(unseen)[0, column])
    assert view.features.binning.n_bins[column] == 4


# -- rows that come several times ------------------------------------------------------------------


def repeated(times, n_classes=1):
    """Rows 0, 1, 2, ... of one column, each as often as told."""
    values = np.repeat(np.arange(len(times), dtype=float), times)
    return read_table(values[:, None]), np.repeat(np.arange(len(times)) % n_classes, times)


def test_a_row_that_comes_several_times_is_shared_out_again():
    table, classes = repeated([1, 2, 3, 10, 1, 1, 1, 1])
    problem = problem_of(table, classes)
    for value, count, weight in ((0, 1, 1.0), (1, 1, 2.0), (2, 3, 1.0), (3, 10, 1.0)):
        rows = problem.X[:, 0] == value
        assert (rows.sum(), set(problem.weight[rows].tolist())) == (count, {weight})
    assert problem.weight.sum() == len(classes)
    folds = problem.fold_numbers(3)
    assert set(folds[problem.X[:, 0] == 2].tolist()) == {0, 1, 2}
    counts = np.bincount(folds[problem.X[:, 0] == 3])
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("factor", [1.0, 7.0, 0.175])  # three times the last is less than its triple
def test_weights_repeat_rows_but_those_of_a_class_do_not(factor):
    table, classes = repeated([1, 1, 3, 1, 1, 1, 1, 1, 1, 1], n_classes=2)
    by_rows = problem_of(table, classes, np.where(classes == 0, factor, 1.0))
    distinct, own = repeated([1] * 10, n_classes=2)
    weight = np.where(np.arange(10) == 2, 3.0, 1.0) * np.where(own == 0, factor, 1.0)
    by_weight = problem_of(distinct, own, weight)
    np.testing.assert_array_equal(by_rows.X, by_weight.X)
    np.testing.assert_allclose(by_rows.weight, by_weight.weight)
    assert [int((by_rows.X[:, 0] == value).sum()) for value in range(10)] == [1, 1, 3, 1, 1, 1, 1, 1, 1, 1]


def test_rows_are_shared_out_into_no_more_than_so_many(monkeypatch):
    monkeypatch.setattr(problem, "MAX_SHARED", 100)
    table, classes = repeated([400, 50, 1, 2, 300])
    found = problem_of(table, classes)
    assert found.weight.sum() == pytest.approx(753)
    assert len(found.X) <= 100 + 5
    assert (found.X[:, 0] == 0).sum() == 53


def test_a_thinned_table_is_not_shared_out():
    draw = np.random.default_rng(0)
    table, classes = read_table(draw.normal(size=(600, 2))), np.zeros(600, np.int64)
    found = problem_of(table, classes, settings=replace(QUICK, max_rows=60))
    assert len(found.X) == 60
    assert found.weight.sum() == pytest.approx(600)


def test_what_comes_again_and_again_is_learned_as_it_is():
    """A hundred cells, each of a class of its own: a row left out whole could only be guessed."""
    draw = np.random.default_rng(0)
    truth = draw.uniform(size=(10, 10)) < 0.4
    X = draw.integers(0, 10, (6_000, 2))
    y = truth[X[:, 0], X[:, 1]]
    model = HyperNNClassifier(n_boxes=20, random_state=0).fit(X[:2_000], y[:2_000])
    assert f1_score(y[2_000:], model.predict(X[2_000:])) > 0.85


@pytest.mark.parametrize(("shape", "copies"), [((300, 100), 30), ((300, 20_000), 6), ((80, 10**6), 1)])
def test_of_a_wide_table_fewer_copies_are_blurred(shape, copies):
    cells = np.broadcast_to(np.zeros(1), shape)
    none = np.zeros(1, bool)
    found = Problem(cells, np.zeros(1, np.int64), np.ones(1), none, Settings(), 0)
    assert found.blur[1] == copies


def test_folds_are_even_in_every_class_and_the_same_for_any_permutation():
    X = np.random.default_rng(0).standard_normal((100, 2))
    classes = (np.arange(100) % 10 == 0).astype(np.int64)
    order = np.random.default_rng(1).permutation(100)
    problem = problem_of(read_table(X), classes)
    again = problem_of(read_table(X[order]), classes[order])
    np.testing.assert_array_equal(problem.X, again.X)
    folds = problem.fold_numbers(3)
    np.testing.assert_array_equal(folds, again.fold_numbers(3))
    for label in (0, 1):
        sizes = np.bincount(folds[problem.classes == label], minlength=3)
        assert sizes.max() - sizes.min() <= 1
    parts = [problem.fold(folds == fold) for fold in range(3)]
    assert sum(len(part.X) for part in parts) == 100


@pytest.mark.parametrize("space", ["standard_space", "rank_space"])
def test_soft_bounds_read_as_bins_give_the_boxes_back(space):
    table, classes = frame()
    view = view_of(table, classes)
    place = getattr(view.features, space)
    draw = np.random.default_rng(0)
    ends = view.features.binning.n_bins - 1
    first = draw.integers(0, ends + 1, (20, 5))
    boxes = BinBoxes(
        *view.features.binning.normalise(first, np.maximum(first, draw.integers(0, ends + 1, (20, 5))))
    )
    found = view.to_bins(place, *view.soft_bounds(place, boxes))
    np.testing.assert_array_equal(found, boxes)


@pytest.mark.parametrize("space", ["standard_space", "rank_space"])
def test_a_box_that_encloses_no_bin_is_dropped_and_constants_drop_none(space):
    table, classes = frame()
    view = view_of(table, classes)
    place = getattr(view.features, space)
    low, high = place.reach
    lower, upper = np.stack([low, low, low]), np.stack([high, high, high])
    lower[1, 0] = high[0]  # beyond the data
    upper[2, 3:] = lower[2, 3:] = 0.3  # whatever is asked of a constant or empty column
    boxes = view.to_bins(place, lower, upper)
    assert boxes.first.shape == (2, 5)
    assert (boxes.last == MISSING).all()


def test_constant_and_empty_columns_do_not_stop_learning():
    table, classes = frame()
    boxes = fit_hypernn(table, classes, np.array([0, 1]), np.ones(300), {1: 3}, settings=QUICK).boxes
    assert (boxes.predict(table.matrix) == classes).mean() > 0.95


def test_given_boxes_keep_their_sets_of_categories():
    table, classes = frame()
    view = view_of(table, classes)
    allowed = {"kind": np.array([[False, True, False, True]]), "size": np.array([[False, True, True]])}
    open_ = np.full((1, 5), np.inf)
    boxes = Boxes(-open_, open_, [1], table.feature_names, 0, categories=table.categories, allowed=allowed)
    found = view.from_boxes(boxes)
    assert (found.first[0, 1], found.last[0, 1]) == (2, 3)
    assert (found.first[0, 2], found.last[0, 2]) == (1, 2)
    place = view.orders[1]
    ends = np.zeros((1, 4), bool)
    ends[0, [np.argmin(place), np.argmax(place)]] = True
    spanning = replace(boxes, allowed={**allowed, "kind": ends})
    assert view.from_boxes(spanning).last[0, 1] == MISSING


def test_blurred_copies_share_the_weight_of_their_row_and_leave_categories_alone():
    table, classes = frame()
    view = view_of(table, classes)
    task, n = view.task, len(view.problem.X)
    assert len(task.rows) == 3 * n
    np.testing.assert_allclose(task.weight.reshape(3, n).sum(axis=0), view.problem.weight)
    np.testing.assert_array_equal(task.columns, task.rows.T)
    np.testing.assert_array_equal(task.columns[:, :n], view.features.codes)
    for copy in (task.columns[:, n : 2 * n], task.columns[:, 2 * n :]):
        np.testing.assert_array_equal(copy[1], view.features.codes[1])
        assert (copy[0] != view.features.codes[0]).mean() > 0.3
        np.testing.assert_array_equal(copy == MISSING, view.features.codes == MISSING)
    assert len(view.sharp().task.rows) == n
    assert view.sharp().task is view.sharp().sharp().task  # binned once
    assert view.sharp().features is view.features


def features_of(X):
    return Features(X, np.ones(len(X)), Binning.from_data(X), np.zeros(X.shape[1], bool))


def test_heavy_tails_are_told_from_skew_gaps_and_rare_values():
    draw = np.random.default_rng(0)
    n = 2000
    light = [
        draw.standard_normal(n), draw.uniform(size=n), draw.exponential(size=n), draw.random(n) < 0.01,
        draw.integers(0, 3, n), draw.standard_normal(n) + 20 * (draw.random(n) < 0.3), np.ones(n),
    ]  # fmt: skip
    spiked = np.where(draw.random(n) < 0.02, 1e6 * draw.standard_normal(n), draw.standard_normal(n))
    counts = np.where(draw.random(n) < 0.96, 0, np.rint(100 * draw.exponential(size=n)))
    heavy = [draw.standard_cauchy(n), draw.lognormal(0, 2, n), spiked, counts, -1e300 * spiked / 1e7]
    X = np.column_stack([*light, *heavy]).astype(float)
    assert features_of(X).heavy == list(range(len(light), X.shape[1]))
    X[:, -1] = np.nan
    assert features_of(X).heavy == list(range(len(light), X.shape[1] - 1))


def test_of_heavy_tails_only_the_order_counts():
    draw = np.random.default_rng(0)
    Z = draw.standard_normal((400, 3)) + 3 * (draw.random((400, 1)) < 0.4)
    Z[::19, 1] = np.nan
    one, other = features_of(Z**9), features_of(np.sinh(6 * Z))
    assert one.heavy == other.heavy == [0, 1, 2]
    np.testing.assert_array_equal(one.standard_space.Z, other.standard_space.Z)
    np.testing.assert_array_equal(one.standard_space.Z, one.rank_space.Z)
    copies = one.blurred_codes(0.2, 3, 0)
    np.testing.assert_array_equal(copies, other.blurred_codes(0.2, 3, 0))
    np.testing.assert_array_equal(copies == MISSING, np.tile(one.codes == MISSING, 4))
    # Away from the ends, the noise is what was asked for.
    inner = np.abs(one.ranks[0][one.codes[0]]) < 1
    moved = one.ranks[0][copies[0, 400:800]] - one.ranks[0][one.codes[0]]
    assert moved[inner].std() == pytest.approx(0.2, rel=0.1)


def test_columns_with_stretched_tails_are_learned_as_well():
    X, classes = load_wine(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = {"plain": [], "stretched": []}
    for seed in range(4):
        for label in range(3):
            y = classes == label
            train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
            for kind, cells in (("plain", X), ("stretched", np.sinh(4 * Z))):
                model = HyperNNClassifier(n_boxes=5, random_state=0).fit(cells[train], y[train])
                scores[kind].append(f1_score(y[test], model.predict(cells[test])))
    assert np.mean(scores["stretched"]) > np.mean(scores["plain"]) - 0.015  # without ranks it is .018


def test_a_sharpened_problem_holds_the_same_rows_in_its_boxes():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    view = view_of(read_table(X), (X[:, 0] > 0.4).astype(np.int64))
    boxes = BinBoxes(np.array([[20, 0]]), np.array([[249, 77]]))
    boxes = BinBoxes(*view.features.binning.normalise(*boxes))
    sharp, moved = view.sharpened(boxes)
    np.testing.assert_array_equal(sharp.task.inside(moved), view.sharp().task.inside(boxes))
    left_out = np.arange(3000) % 3 == 0
    part = view.without(left_out)
    again, moved = part.sharpened(boxes)
    np.testing.assert_array_equal(again.task.inside(moved), part.task.inside(boxes))


def test_learned_boxes_hold_the_training_rows_that_their_bins_hold(monkeypatch):
    kept = []
    assemble = fit._assemble
    monkeypatch.setattr(fit, "_assemble", lambda *given: kept.append(given) or assemble(*given))
    table, classes = frame()
    boxes = fit_hypernn(table, classes, np.array([0, 1]), np.ones(300), {0: 4, 1: 4}, settings=QUICK).boxes
    ((_, problem, _, found),) = kept
    for view, binned, _ in found:
        expected = view.holdout_task(problem).inside(binned)
        mine = boxes.contains(problem.X)[:, boxes.labels == view.target].T
        assert sorted(map(bytes, mine)) == sorted(map(bytes, expected))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_learned_box_holds_the_rows_it_must(seed):
    draw = np.random.default_rng(seed)
    X = draw.standard_normal((120, 3))
    classes = ((X[:, 0] > 0) ^ (draw.random(120) < 0.2)).astype(np.int64)
    settings = replace(QUICK, jitter_copies=4, jitter=2.0, min_support=9.0)
    boxes = fit_hypernn(
        read_table(X), classes, np.array([0, 1]), np.ones(120), {1: 8}, settings=settings
    ).boxes
    assert boxes.n_boxes
    assert (boxes.contains(X).sum(axis=0) >= 9).all()


@pytest.mark.parametrize("n_rare", [1, 2])
def test_the_number_of_boxes_of_a_rare_class_can_be_chosen(n_rare):
    X = np.random.default_rng(0).standard_normal((60, 2))
    classes = (np.arange(60) < n_rare).astype(np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = fit_hypernn(read_table(X), classes, np.array([0, 1]), np.ones(60), {1: "auto"}, settings=QUICK)
    assert made.boxes.n_boxes <= 32


@pytest.mark.parametrize(("n_steps", "points"), [(1, 1), (7, 7), (600, HISTORY_POINTS)])
def test_the_history_has_no_empty_points(n_steps, points):
    X = np.random.default_rng(0).standard_normal((60, 2))
    classes = (X[:, 0] > 0).astype(np.int64)
    settings = replace(QUICK, n_steps=n_steps)
    history = fit_hypernn(
        read_table(X), classes, np.array([0, 1]), np.ones(60), {1: 1}, settings=settings
    ).history
    assert {len(values) for values in history.values()} == {points}
    assert (history["temperature"] > 0).all()
    assert history["step"][-1] == n_steps


@pytest.mark.parametrize("at_once", [1, 7, 64, 1 << 20])
def test_copies_are_rows_with_noise_however_many_are_blurred_at_once(at_once, monkeypatch):
    draw = np.random.default_rng(5)
    X = draw.normal(size=(90, 4))
    X[:, 1] = draw.integers(0, 3, 90)
    X[:, 2] = draw.standard_cauchy(90) ** 3
    X[draw.uniform(size=X.shape) < 0.1] = np.nan
    categorical = np.array([False, True, False, False])
    rows = Features(X, np.ones(90), Binning.from_data(X), categorical)
    assert rows.heavy == [2]
    monkeypatch.setattr(problem, "BLURRED_AT_ONCE", at_once)
    copies = rows.blurred_codes(0.3, 2, 8).reshape(4, 3, 90)
    np.testing.assert_array_equal(copies[:, 0], rows.codes)
    np.testing.assert_array_equal(copies == MISSING, np.isnan(X.T)[:, None].repeat(3, axis=1))
    assert (copies[1] == rows.codes[1]).all()
    noise = np.random.default_rng(8)
    for copy in (1, 2):
        blurred = 0.3 * noise.standard_normal(X.shape)
        moved = rows.binning.encode(X + blurred * rows.scaling[1])
        np.testing.assert_array_equal(copies[[0, 3], copy], moved[[0, 3]])
        known = ~np.isnan(X[:, 2])
        ranks = rows.ranks[2, : rows.binning.n_bins[2]]
        place = (ranks[rows.codes[2, known]] + blurred[known, 2])[:, None]
        np.testing.assert_array_equal(copies[2, copy, known], np.abs(place - ranks).argmin(axis=1))


def test_coordinates_by_rank_that_were_given_back_come_again():
    table, classes = frame()
    features = Problem.from_table(table, classes, np.ones(300), QUICK, 0).features
    before = features.rank_space.Z.copy()
    features.forget_ranks()
    assert "rank_space" not in features.__dict__
    np.testing.assert_array_equal(features.rank_space.Z, before)


def test_steps_over_all_rows_take_equal_ones_together():
    draw = np.random.default_rng(0)
    Z = np.repeat(draw.standard_normal((40, 3)).astype(np.float32), draw.integers(1, 6, 40), axis=0)
    positive = np.zeros(len(Z), bool)
    positive[: len(Z) // 2] = True  # one row may be of both classes
    weight = draw.uniform(0.5, 2, len(Z))
    found, mass, own = once_each(Z, weight, positive)
    assert len(found) in (40, 41)
    for side in (False, True):
        for row in np.unique(Z, axis=0):
            alike, kept = (
                (row == Z).all(axis=1) & (positive == side),
                (found == row).all(axis=1) & (own == side),
            )
            assert kept.sum() == min(alike.sum(), 1)
            assert mass[kept].sum() == pytest.approx(weight[alike].sum())


def test_equal_rows_are_trained_on_as_one(monkeypatch):
    seen = []
    descend = starts.descend
    monkeypatch.setattr(starts, "descend", lambda Z, *rest: seen.append(len(Z)) or descend(Z, *rest))
    table, classes = repeated([5, 1, 7, 1, 1, 4, 1, 1], n_classes=2)
    fit_hypernn(table, classes, np.array([0, 1]), np.ones(len(classes)), {1: 2}, settings=QUICK)
    assert max(seen) == 8


@pytest.mark.parametrize(
    ("n_missing", "of_class", "asked"),
    [(0, 0, False), (MANY_MISSING - 1, 13, False), (MANY_MISSING, 13, True), (12, 11, True), (30, 0, True)],
)
def test_whether_there_is_a_value_is_asked_where_many_are_missing_or_that_tells(n_missing, of_class, asked):
    n = 300
    classes = (np.arange(n) % 3 == 0).astype(np.int64)
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[np.flatnonzero(classes == 1)[:of_class], 0] = np.nan
    X[np.flatnonzero(classes == 0)[: n_missing - of_class], 0] = np.nan
    assert np.isnan(X).sum() == n_missing
    view = view_of(read_table(X), classes)
    assert view.absence.tolist() == [asked, False]
    assert view.sharp().task.may_ask.tolist() == [asked, False]
    assert view.task.may_ask.tolist() == [asked, False]
