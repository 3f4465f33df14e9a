"""Laws of fit_prim and of the trajectory as a value."""

from __future__ import annotations

import doctest
import importlib
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from planted import ONE_BOX, TWO_BOXES, planted
from scipy import stats
from test_prim_kernel import random_table

from hyperboxes import Boxes
from hyperboxes.crisp import Limits
from hyperboxes.prim import PAPER, Settings, Trajectory, fit_prim, fit_rotation, resample, trade_off
from hyperboxes.prim.search import Target

X, Y = planted(ONE_BOX, 1500, 20, seed=0)
NOISY = Y ^ (np.random.default_rng(1).uniform(size=len(Y)) < 0.05)


@pytest.fixture(scope="module")
def fit():
    return fit_prim(X, NOISY)


@pytest.fixture(scope="module")
def trajectory(fit):
    return fit.trajectories[0]


def f1(boxes, X, y):
    answers = boxes.predict(X)
    return 2 * (answers & y).sum() / (answers.sum() + y.sum())


def ancestors(trajectory, point):
    """Give the points that led to one, itself included."""
    return {point} | (ancestors(trajectory, trajectory.parent[point]) if point > 0 else set())


# -- learning --------------------------------------------------------------------------------------


def test_a_planted_box_is_found(fit):
    (box,) = ONE_BOX
    found = {condition.feature: condition for condition in fit.boxes.conditions(0)}
    assert found.keys() == box.keys()
    for feature, (lower, upper) in box.items():
        assert found[feature].lower == pytest.approx(lower, abs=0.05)
        assert found[feature].upper == pytest.approx(upper, abs=0.05)


def test_covering_finds_every_planted_box_and_stops():
    table, y = planted(TWO_BOXES, 4000, 15, seed=3)
    fit = fit_prim(table, y, n_boxes=None)
    assert len(fit.boxes) <= 5
    held_out, truth = planted(TWO_BOXES, 4000, 15, seed=4)
    assert f1(fit.boxes, held_out, truth) > 0.95


@pytest.mark.parametrize("seed", range(60))
def test_boxes_in_table_units_hold_the_rows_that_were_counted(seed):
    table, target, weight, _ = random_table(seed)
    settings = Settings(criterion="wracc", peel_fraction=0.1, condition_price=0.1)
    fit = fit_prim(table, target, sample_weight=weight, n_boxes=3, settings=settings)
    left = np.ones(len(target), bool)
    for trajectory in fit.trajectories:
        inside = trajectory.boxes.contains(table.matrix) & left[:, None]
        assert trajectory.support == pytest.approx(weight @ inside)
        assert trajectory.mean == pytest.approx((weight * target) @ inside / (weight @ inside))
        left &= ~inside[:, trajectory.chosen]
    chosen = [one.box() for one in fit.trajectories]
    assert [fit.boxes.lower.tolist(), fit.boxes.upper.tolist()] == [
        [row for box in chosen for row in box.lower.tolist()],
        [row for box in chosen for row in box.upper.tolist()],
    ]


@pytest.mark.parametrize("seed", range(12))
def test_a_weight_of_two_is_a_row_twice_and_order_does_not_matter(seed):
    table, target, _, rng = random_table(seed)
    times = rng.integers(0, 3, len(target))
    if not times.any():
        return
    settings = Settings(criterion="wracc", condition_price=0.1)
    heavy = fit_prim(table, target, sample_weight=times, n_boxes=2, settings=settings)
    rows = rng.permutation(np.repeat(np.arange(len(target)), times))
    again = fit_prim(table._replace(matrix=table.matrix[rows]), target[rows], n_boxes=2, settings=settings)
    assert heavy.boxes == again.boxes


def test_another_unit_gives_the_same_boxes_in_that_unit():
    there = fit_prim(X * 4 - 8, NOISY).boxes
    here = fit_prim(X, NOISY).boxes
    assert (there.contains(X * 4 - 8) == here.contains(X)).all()


def test_same_rows_and_seed_same_bytes_at_any_number_of_threads(monkeypatch):
    made = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        made.append(pickle.dumps(fit_prim(X, NOISY, n_boxes=2, seed=3).boxes))
    assert made[0] == made[1]


@pytest.mark.parametrize("criterion", ["f1", "wracc", "mean"])
def test_on_training_rows_no_peel_beats_the_chosen_one(criterion):
    settings = Settings(criterion=criterion, validation="training", paste_fraction=0, condition_price=0)
    (trajectory,) = fit_prim(X, NOISY, settings=settings).trajectories
    values = getattr(trajectory, criterion)
    assert values[trajectory.chosen] == values.max()
    assert trajectory.best(criterion) == trajectory.chosen


def test_peak_is_where_the_mean_first_stops_rising_and_last_is_the_end():
    settings = replace(PAPER, paste_fraction=0.0)
    (trajectory,) = fit_prim(X, NOISY, settings=settings).trajectories
    rises = np.diff(trajectory.mean) > 0
    assert rises[: trajectory.chosen].all()
    assert trajectory.chosen == len(rises) or not rises[trajectory.chosen]
    (trajectory,) = fit_prim(X, NOISY, settings=replace(settings, criterion="last")).trajectories
    assert trajectory.chosen == len(trajectory) - 1


@pytest.mark.parametrize("criterion", ["f1", "wracc"])
def test_a_bound_lies_in_the_middle_of_the_rows_that_it_alone_tells_apart(criterion):
    # The class is x0 <= 10 and x1 <= 10. Between 10 and 20 on either axis lie only rows that the other
    # axis keeps out: they say nothing about where the bound should be.
    inside = [(a, b) for a in range(11) for b in range(11)]
    right = [(a, b) for a in range(20, 31) for b in range(11)]
    above = [(b, a) for a, b in right]
    corner = [(a, b) for a in range(11, 31) for b in range(25, 31)]
    table = np.array(inside + right + above + corner) + 0.5  # integers have bounds of their own
    y = np.arange(len(table)) < len(inside)
    (trajectory,) = fit_prim(table, y, settings=Settings(criterion=criterion)).trajectories
    assert trajectory.moves[trajectory.chosen] == "centre"
    assert (trajectory.box().contains(table)[:, 0] == y).all()
    lower, upper = trajectory.box().lower[0], trajectory.box().upper[0]
    assert np.isneginf(lower).all()
    assert (upper > 14).all()
    assert (upper < 17).all()


@pytest.mark.parametrize("criterion", ["f1", "wracc"])
def test_centring_is_the_last_move_and_changes_no_figure(criterion):
    fit = fit_prim(X, NOISY, n_boxes=3, settings=Settings(criterion=criterion))
    centred = [one for one in fit.trajectories if one.moves[one.chosen] == "centre"]
    assert centred
    for one in centred:
        at, parent = one.chosen, one.parent[one.chosen]
        assert at == len(one) - 1
        assert (one.support[at], one.mean[at]) == (one.support[parent], one.mean[parent])
        assert one.boxes.restricted[at].tolist() == one.boxes.restricted[parent].tolist()


@pytest.mark.parametrize("criterion", ["mean", "peak", "last"])
def test_criteria_of_the_mean_alone_leave_bounds_where_peels_and_pastes_put_them(criterion):
    fit = fit_prim(X, NOISY, n_boxes=3, settings=replace(PAPER, criterion=criterion))
    assert not any("centre" in one.moves for one in fit.trajectories)


def test_the_paper_preset_takes_every_box_until_rows_run_out():
    fit = fit_prim(X, NOISY, n_boxes=None, settings=PAPER)
    share = [trajectory.share[trajectory.chosen] for trajectory in fit.trajectories]
    assert min(share) >= 0.05
    assert fit.boxes.labels.all()
    low = [trajectory.precision[trajectory.chosen] < NOISY.mean() for trajectory in fit.trajectories]
    assert any(low), "the handicap: boxes below the base rate count as positive"
    assert f1(fit.boxes, X, NOISY) < f1(fit_prim(X, NOISY, n_boxes=None).boxes, X, NOISY)


def test_min_support_threshold_and_max_features_are_kept():
    settings = Settings(min_support=60, max_features=2)
    (trajectory,) = fit_prim(X, NOISY, settings=settings).trajectories
    assert trajectory.support.min() >= 60
    assert trajectory.n_restricted.max() <= 2
    share = fit_prim(X, NOISY, settings=Settings(min_support=0.1)).trajectories[0]
    assert share.share.min() >= 0.1
    free = fit_prim(X, NOISY).trajectories[0]
    mean = free.mean[free.chosen] + 0.02
    assert free.mean.max() > mean
    for criterion in ("f1", "wracc", "mean"):
        asked = Settings(threshold=mean, criterion=criterion)
        found = fit_prim(X, NOISY, n_boxes=None, settings=asked)
        assert found.trajectories
        assert all(one.mean[one.chosen] >= mean for one in found.trajectories)
    assert not fit_prim(X, NOISY, settings=Settings(threshold=1.1)).trajectories


def test_sides_that_may_not_be_closed_stay_open():
    limits = Limits.none(20)
    limits.may_low[3] = limits.may_high[11] = limits.may_low[17] = limits.may_high[17] = False
    boxes = fit_prim(X, NOISY, limits=limits).trajectories[0].boxes
    assert np.isneginf(boxes.lower[:, 3]).all()
    assert np.isfinite(boxes.upper[:, 3]).any()
    assert np.isposinf(boxes.upper[:, 11]).all()
    assert not boxes.restricted[:, 17].any()


def test_rows_with_missing_values_leave_with_the_first_restriction_of_their_feature():
    table = X.copy()
    table[::4, 3] = np.nan
    (trajectory,) = fit_prim(table, NOISY).trajectories
    restricted = trajectory.boxes.restricted[:, 3]
    inside = trajectory.boxes.contains(table)[::4]
    assert restricted.any()
    assert not inside[:, restricted].any()


def test_where_missing_itself_is_the_reason_only_missing_rows_leave():
    rng = np.random.default_rng(0)
    table = rng.uniform(size=(400, 2))
    table[rng.uniform(size=400) < 0.3, 0] = np.nan
    y = ~np.isnan(table[:, 0])
    (trajectory,) = fit_prim(table, y).trajectories
    (condition,) = trajectory.box().conditions(0)
    assert (condition.feature, condition.lower, condition.upper) == (0, np.nanmin(table[:, 0]), np.inf)
    assert trajectory.f1[trajectory.chosen] == 1


def test_categories_are_peeled_level_by_level_and_ordered_ones_from_the_ends():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], 900)),
            "size": pd.Categorical(
                rng.choice(["s", "m", "l", "xl"], 900), ["s", "m", "l", "xl"], ordered=True
            ),
            "noise": rng.uniform(size=900),
        }
    )
    y = frame["colour"].isin(["red", "blue"]) & frame["size"].isin(["m", "l"])
    (trajectory,) = fit_prim(frame, y).trajectories
    asked = {condition.name: set(condition.categories) for condition in trajectory.box().conditions(0)}
    assert asked == {"colour": {"red", "blue"}, "size": {"m", "l"}}
    for sets in trajectory.boxes.allowed["size"]:
        places = np.flatnonzero(sets)
        assert (np.diff(places) == 1).all()


def test_one_value_of_the_target_gives_no_box():
    assert len(fit_prim(X, np.ones(len(X), bool)).boxes) == 0
    assert len(fit_prim(X, np.full(len(X), 2.5), settings=Settings(criterion="wracc")).boxes) == 0


def test_a_number_gives_the_mean_of_each_box_as_its_label():
    target = 5 + 3 * Y + np.random.default_rng(0).normal(size=len(Y))
    fit = fit_prim(X, target, n_boxes=2, settings=Settings(criterion="wracc"))
    decided = fit.boxes.apply(X)
    for box, label in enumerate(fit.boxes.labels):
        assert label == pytest.approx(target[decided == box].mean())
    assert fit.boxes.default == pytest.approx(target[decided < 0].mean())
    assert {condition.feature for condition in fit.boxes.conditions(0)} == set(ONE_BOX[0])
    assert np.isnan(fit.trajectories[0].f1).all()


def test_a_large_offset_of_the_target_does_not_blur_it():
    target = 3.0 * Y + np.random.default_rng(0).normal(size=len(Y))
    settings = Settings(criterion="wracc")
    near, far = (fit_prim(X, target + shift, settings=settings).boxes for shift in (0.1, 1e9))
    assert (near.contains(X) == far.contains(X)).all()


def test_units_stand_for_weights_and_targets():
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=100), rng.uniform(0.1, 2, 100)
    target = Target.from_data(y, weight)
    assert target.units[:, 0] * target.unit == pytest.approx(weight)
    assert target.units[:, 1] * target.target_unit == pytest.approx(weight * (y - target.centre))
    whole = Target.from_data((y > 0).astype(float), np.full(100, 3.0))
    assert whole.units.dtype == np.int32
    assert (whole.units == np.stack([np.full(100, 3), 3 * (y > 0)], axis=1)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": NOISY[:-1]}, "one value for each of the 1500 rows"),
        ({"y": np.where(NOISY, "a", "b")}, "pass y == label"),
        ({"y": np.where(NOISY, np.nan, 1.0)}, r"y, row \d+ is nan"),
        ({"sample_weight": -np.ones(1500)}, r"sample_weight, row 0 is -1"),
        ({"sample_weight": np.zeros(1500)}, "zero everywhere"),
        ({"sample_weight": np.ones(3)}, "one number for each"),
        ({"n_boxes": 0}, "n_boxes must be 1 or more"),
        ({"y": X[:, 0], "settings": Settings()}, "criterion='f1' needs a class"),
        ({"y": X[:, 0], "settings": Settings(objective="f1", criterion="mean")}, "objective='f1' needs"),
        ({"X": np.zeros((0, 3)), "y": []}, "no rows"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, message):
    given = {"X": X, "y": NOISY} | arguments
    with pytest.raises((ValueError, TypeError), match=message):
        fit_prim(**given)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("objective", "best"), ("criterion", "auc"), ("validation", "no"), ("peel_fraction", 0),
        ("peel_fraction", 1.0), ("paste_fraction", -0.1), ("min_support", 0), ("n_folds", 1),
        ("max_features", 0), ("condition_price", -1.0), ("peel_fraction", float("nan")),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named(setting, value):
    with pytest.raises(ValueError, match=setting):
        Settings(**{setting: value})


# -- the trajectory --------------------------------------------------------------------------------


def test_peels_shrink_the_box_row_by_row_and_trade_recall_for_precision(trajectory):
    peels = [k for k, move in enumerate(trajectory.moves) if move in ("start", "peel")]
    inside = trajectory.boxes.contains(X)[:, peels]
    assert (inside[:, :-1] | ~inside[:, 1:]).all()
    assert (np.diff(trajectory.recall[peels]) <= 0).all()
    assert trajectory.precision[peels[-1]] > 3 * trajectory.precision[0]
    # The Bryant-Lempert picture: along the way to the box, precision rises as recall falls.
    way = peels[: max(ancestors(trajectory, trajectory.chosen) & set(peels)) + 1]
    assert (np.diff(trajectory.precision[way]) > 0).mean() > 0.9


def test_figures_follow_from_counts(trajectory):
    at = trajectory.chosen
    inside = trajectory.box().contains(X)[:, 0]
    hits = (inside & NOISY).sum()
    assert trajectory.support[at] == inside.sum()
    assert trajectory.precision[at] == pytest.approx(hits / inside.sum())
    assert trajectory.recall[at] == pytest.approx(hits / NOISY.sum())
    assert trajectory.f1[at] == pytest.approx(2 * hits / (inside.sum() + NOISY.sum()))
    assert trajectory.lift[at] == pytest.approx(hits / inside.sum() / NOISY.mean())
    assert trajectory.share[at] == pytest.approx(inside.mean())
    assert trajectory.wracc[at] == pytest.approx(inside.mean() * (hits / inside.sum() - NOISY.mean()))


def test_on_the_same_rows_evaluation_repeats_the_figures(trajectory):
    again = trajectory.evaluate(X, NOISY)
    assert again.support == pytest.approx(trajectory.support)
    assert again.mean == pytest.approx(trajectory.mean)
    fresh, truth = planted(ONE_BOX, 800, 20, seed=9)
    other = trajectory.evaluate(fresh, truth)
    assert other.total == 800
    assert other.f1[trajectory.chosen] == pytest.approx(f1(trajectory.box(), fresh, truth))


def test_dropping_a_restriction_adds_a_point_with_its_cost(trajectory):
    feature = trajectory.box().conditions(0)[0].name
    wider = trajectory.drop(None, feature, X, NOISY)
    assert len(wider) == len(trajectory) + 1
    assert (wider.moves[-1], wider.parent[-1]) == ("drop", trajectory.chosen)
    opened = trajectory.box().open(0, feature)
    assert wider.box(-1).lower.tolist() == opened.lower.tolist()
    inside = opened.contains(X)[:, 0]
    assert (wider.support[-1], wider.precision[-1]) == (inside.sum(), pytest.approx(NOISY[inside].mean()))
    assert wider.precision[-1] < trajectory.precision[trajectory.chosen]
    one_side = trajectory.drop(None, feature, X, NOISY, side="lower")
    assert one_side.box(-1).upper.tolist() == trajectory.box().upper.tolist()
    assert one_side.box(-1).lower.tolist() == opened.lower.tolist()
    assert one_side.support[-1] <= wider.support[-1]


def test_quasi_p_is_the_binomial_tail_of_the_box_without_the_restriction(trajectory):
    found = trajectory.quasi_p(None, X, NOISY)
    box = trajectory.box()
    inside = box.contains(X)[:, 0]
    for condition in box.conditions(0):
        wider = box.open(0, condition.name).contains(X)[:, 0]
        tail = stats.binom.sf((inside & NOISY).sum() - 1, inside.sum(), NOISY[wider].mean())
        assert found[condition.name] == pytest.approx(tail, rel=1e-6, abs=0)
    assert found.keys() == {condition.name for condition in box.conditions(0)}


def test_quasi_p_of_a_number_is_small_for_a_true_restriction_only():
    target = 3.0 * Y + np.random.default_rng(0).normal(size=len(Y))
    (trajectory,) = fit_prim(X, target, settings=None).trajectories
    hand = Boxes.from_rules(
        [({"x3": (0.2, 0.7), "x0": (0.2, None)}, True)],
        default=False,
        feature_names=trajectory.boxes.feature_names,
    )
    made = replace(trajectory, boxes=hand, support=np.ones(1), mean=np.ones(1), chosen=0)
    found = made.quasi_p(0, X, target)
    assert found["x3"] < 1e-6 < 0.01 < found["x0"]


@pytest.mark.parametrize("joined", [False, True])
def test_pareto_points_are_those_that_none_dominates(trajectory, joined):
    if joined:  # a point twice is on the front once
        trajectory = Trajectory.concat([trajectory, trajectory])
    goals = list(zip(trajectory.precision, trajectory.recall, -trajectory.n_restricted, strict=True))
    front = [
        k for k, own in enumerate(goals)
        if not any(all(a >= b for a, b in zip(other, own, strict=True)) and other != own for other in goals)
        and own not in goals[:k]
    ]  # fmt: skip
    assert trajectory.pareto().tolist() == front
    assert len(front) > 3


def test_trade_off_joins_searches_of_few_and_many_features():
    joined = trade_off(X, NOISY)
    assert len({int(n) for n in joined.n_restricted}) > 3
    held_to_one = fit_prim(X, NOISY, settings=Settings(max_features=1)).trajectories[0]
    assert joined.support[: len(held_to_one)].tolist() == held_to_one.support.tolist()
    for point, parent in enumerate(joined.parent):
        if parent >= 0 and joined.moves[point] != "centre":  # which moves several bounds at once
            change = (joined.boxes.lower[point] != joined.boxes.lower[parent]) | (
                joined.boxes.upper[point] != joined.boxes.upper[parent]
            )
            assert np.flatnonzero(change).tolist() == [joined.features[point]]


def test_best_obeys_the_limit_of_features_and_refuses_unknown_figures(trajectory):
    at = trajectory.best("f1", max_features=2)
    assert trajectory.n_restricted[at] <= 2
    few = trajectory.n_restricted <= 2
    assert trajectory.f1[at] == trajectory.f1[few].max()
    with pytest.raises(ValueError, match="figure must be"):
        trajectory.best("auc")
    with pytest.raises(ValueError, match="point must be a number from 0 to"):
        trajectory.box(len(trajectory))
    with pytest.raises(ValueError, match="about a class"):
        trajectory.evaluate(X, X[:, 0])


def test_a_trajectory_prints_as_a_table_and_gives_columns(trajectory):
    text = str(trajectory)
    assert len(text.splitlines()) == len(trajectory) + 1
    assert sum(line.endswith("chosen") for line in text.splitlines()) == 1
    frame = pd.DataFrame(trajectory.to_dict())
    assert frame["recall"].to_list() == trajectory.recall.tolist()
    assert pickle.loads(pickle.dumps(trajectory)).boxes == trajectory.boxes  # noqa: S301
    assert "chosen" in repr(trajectory)
    with pytest.raises(ValueError, match="at least one"):
        Trajectory.concat([])


# -- resampling and rotation -----------------------------------------------------------------------


def test_true_restrictions_are_reproducible_and_intervals_hold_the_truth():
    found = resample(X, NOISY, n_samples=40, seed=1)
    names = {f"x{feature}" for feature in ONE_BOX[0]}
    assert all(found.frequency[name] > 0.9 for name in names)
    assert max(share for name, share in found.frequency.items() if name not in names) < 0.5
    for feature, (lower, upper) in ONE_BOX[0].items():
        (a, b), (c, d) = found.interval(f"x{feature}")
        assert a - 0.02 <= lower <= b + 0.02
        assert c - 0.02 <= upper <= d + 0.02
    assert found.precision.shape == found.recall.shape == (found.boxes.n_boxes,)
    assert "x3: restricted in" in str(found)
    assert resample(X, NOISY, n_samples=5, seed=1).boxes == resample(X, NOISY, n_samples=5, seed=1).boxes
    with pytest.raises(ValueError, match="no numeric feature 'age'"):
        found.interval("age")
    with pytest.raises(ValueError, match="level"):
        found.interval("x3", 1.5)
    with pytest.raises(ValueError, match="n_samples"):
        resample(X, NOISY, n_samples=0)


def test_noise_alone_is_not_reproducible():
    y = np.random.default_rng(2).uniform(size=600) < 0.3
    found = resample(X[:600], y, n_samples=20)
    assert max(found.frequency.values()) < 0.9


def test_a_box_that_lies_askew_is_found_after_rotation():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.uniform(-1, 1, (3000, 3)), 100 * rng.uniform(-1, 1, 3000)])
    y = (np.abs(table[:, 0] - table[:, 3] / 100) < 0.3) & (table[:, 1] > 0)
    rotation = fit_rotation(table, y, [["x0", "x3"]])
    turned = rotation.transform(table)
    assert turned.feature_names == ("x1", "x2", "axis 1 of x0, x3", "axis 2 of x0, x3")
    straight, askew = fit_prim(table, y), fit_prim(turned, y)
    assert f1(askew.boxes, turned.matrix, y) > f1(straight.boxes, table, y) + 0.1
    named = {condition.name for condition in askew.boxes.conditions(0)}
    assert named == {"x1", "axis 2 of x0, x3"}
    # Turning keeps distances between standardised rows.
    old = (table[:, [0, 3]] - rotation.centre[[0, 3]]) / rotation.scale[[0, 3]]
    assert np.linalg.norm(turned.matrix[:, 2:], axis=1) == pytest.approx(np.linalg.norm(old, axis=1))
    assert "x0" in rotation.formula("axis 1 of x0, x3")


def test_groups_that_cannot_be_turned_are_named():
    with pytest.raises(ValueError, match="groups name 'age'"):
        fit_rotation(X, NOISY, [["age"]])
    with pytest.raises(ValueError, match="more than once"):
        fit_rotation(X, NOISY, [["x0", "x1"], [0, 2]])
    with pytest.raises(ValueError, match="one value only"):
        fit_rotation(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="no axis"):
        fit_rotation(X, NOISY).formula("x0")


def test_objectives_choose_different_peels():
    table, y = planted(TWO_BOXES, 1500, 13, seed=1)
    table = np.floor(table * (3 + np.arange(13)))  # slices of many sizes: else all objectives agree
    paths = {}
    for objective in ("original", "lenient1", "lenient2", "f1", "wracc", "lift"):
        found = fit_prim(table, y, settings=Settings(objective=objective)).trajectories
        paths[objective] = tuple(found[0].features.tolist()) if found else ()
    assert paths["lift"] == paths["original"]
    assert all(paths.values())
    assert len(set(paths.values())) >= 4


@pytest.mark.parametrize("name", ["prim.fit", "prim.resampling", "prim.rotation", "estimators._prim"])
def test_examples_in_the_documentation_hold(name):
    found = doctest.testmod(importlib.import_module(f"hyperboxes.{name}"))
    assert found.attempted
    assert not found.failed
