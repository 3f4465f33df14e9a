"""Leaves of a tree as boxes: they say what the tree says, and are taken where they hold clearly better."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier
from test_crisp import random_boxes, random_task
from test_finish import view_of

from hyperboxes import HyperNNClassifier
from hyperboxes.crisp import Limits, f1_of
from hyperboxes.nn import finish, leaves
from hyperboxes.nn.leaves import open_idle_sides, shown_rows, tree_leaves
from hyperboxes.nn.starts import train_starts


def extremes(n, draw, beyond=3.2):
    """Draw ten features; a row that is extreme in any of them is of the class."""
    X = draw.normal(size=(n, 10))
    return X, (np.abs(X) > beyond).any(axis=1)


@pytest.mark.parametrize("seed", range(20))
def test_leaves_hold_the_rows_that_the_tree_puts_into_the_class(seed, monkeypatch):
    monkeypatch.setattr(leaves, "open_idle_sides", lambda task, boxes: boxes)
    draw = np.random.default_rng(seed)
    X = np.round(draw.normal(size=(draw.integers(20, 300), 4)), draw.integers(0, 4))
    view = view_of(X, X[:, 0] * X[:, 1] + draw.normal(size=len(X)) > 0.5)
    problem = view.problem
    tree = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0)
    tree.fit(problem.X, view.positive, sample_weight=problem.weight)
    found, boxes = tree_leaves(view, 100)
    np.testing.assert_array_equal(found.task.union(boxes), tree.predict(problem.X))
    np.testing.assert_array_equal(found.holdout_task(problem).union(boxes), tree.predict(problem.X))


@pytest.mark.parametrize("seed", range(30))
def test_opening_idle_sides_widens_boxes_and_never_lowers_f1(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 3, seed)
    wider = open_idle_sides(task, boxes)
    assert (task.inside(wider) >= task.inside(boxes)).all()
    assert f1_of(task, task.union(wider)) >= f1_of(task, task.union(boxes))
    assert (task.prices(wider) <= task.prices(boxes)).all()
    np.testing.assert_array_equal(open_idle_sides(task, wider), wider)


def test_a_side_that_another_box_makes_idle_is_opened():
    draw = np.random.default_rng(0)
    X = draw.uniform(size=(400, 2))
    found, boxes = tree_leaves(view_of(X, (X > 0.7).any(axis=1)), 5)
    assert found.task.prices(boxes).tolist() == [1.3, 1.3]  # one condition each, though the tree needs three


def test_leaves_that_are_too_many_are_none():
    draw = np.random.default_rng(0)
    X = draw.uniform(size=(2000, 1))
    stripes = np.floor(X[:, 0] * 600) % 2 == 0
    assert tree_leaves(view_of(*extremes(1500, draw, beyond=2.8)), 5) is None  # each leaf a corner
    assert tree_leaves(view_of(X, stripes), 400) is None  # more cuts than codes
    assert tree_leaves(view_of(X, X[:, 0] > 2), 2) is None  # none of the class


def test_a_class_that_weighs_less_than_a_box_costs_gets_no_leaves():
    X = np.random.default_rng(0).uniform(size=(200, 1))
    view = view_of(X, X[:, 0] > 0.5)
    light = replace(view.problem, weight=np.where(view.positive, 1e-3, 1.0))
    assert finish._leaves(view, 2, may_turn=True) is not None
    assert finish._leaves(light.for_class(view.target, view.limits, view.seed), 2, may_turn=True) is None


@pytest.mark.parametrize("n_rare", [3, 20_000])
def test_rows_shown_to_a_tree_are_few_and_weigh_as_much_as_all(n_rare):
    positive = np.arange(100_000) < n_rare
    weight = np.random.default_rng(0).uniform(1, 3, len(positive))
    rows, shown = shown_rows(positive, weight)
    assert len(rows) <= 30_000
    assert positive[rows].sum() == min(n_rare, 15_000)
    for side in (True, False):
        assert shown[positive[rows] == side].sum() == pytest.approx(weight[positive == side].sum())
    some = np.arange(100_000) % 7 == 0
    assert shown_rows(positive[some], weight[some])[1] is not weight
    np.testing.assert_array_equal(shown_rows(positive[some], weight[some])[1], weight[some])


@pytest.mark.parametrize(("n_boxes", "options"), [(5, {}), (20, {}), (20, {"positive_label": True})])
def test_rows_that_are_extreme_in_any_feature_are_found(n_boxes, options):
    X, y = extremes(5000, np.random.default_rng(0))
    X_new, y_new = extremes(20_000, np.random.default_rng(1))
    assert y.sum() < 80
    model = HyperNNClassifier(n_boxes, random_state=0, **options).fit(X, y)
    assert len(model.boxes_) <= n_boxes
    assert f1_score(y_new, model.predict(X_new)) > 0.8


def test_leaves_keep_the_limits_of_boxes():
    X, y = extremes(1500, np.random.default_rng(0), beyond=2.8)
    free = Limits.none(10)
    for forbidden in (
        Limits(np.zeros(10, bool), free.may_high, free.required, free.max_conditions),
        Limits(free.may_low, np.zeros(10, bool), free.required, free.max_conditions),
        Limits(free.may_low, free.may_high, np.arange(10) == 3, free.max_conditions),
    ):
        view = view_of(X, y, limits=forbidden)
        assert finish._leaves(view, 20, may_turn=True) is None
        found, boxes = finish.finish(view, train_starts(view, 20), 20, may_stay_soft=True)
        assert finish._within_limits(found, boxes)
    assert finish._leaves(view_of(X, y), 20, may_turn=False) is not None
