"""A tree as boxes: leaves or a list say what the tree says, and are taken where they hold clearly better."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier
from test_crisp import random_boxes, random_task
from test_finish import QUICK, view_of

from hyperboxes import HyperNNClassifier, rules, sql
from hyperboxes.crisp import BinBoxes, Limits, f1_of
from hyperboxes.kernels.crisp import MISSING
from hyperboxes.nn import finish, fit, leaves
from hyperboxes.nn.leaves import (
    CELL_ROWS,
    LARGEST_CELL,
    first_holder,
    open_idle_sides,
    shown_rows,
    thin_list,
    tree_cells,
    tree_leaves,
    tree_list,
)
from hyperboxes.nn.starts import train_starts
from hyperboxes.nn.ways import PRICES


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
        found, boxes, _ = finish.finish(view, train_starts(view, 20), 20, may_stay_soft=True)
        assert finish._within_limits(found, boxes)
    assert finish._leaves(view_of(X, y), 20, may_turn=False) is not None


# -- lists of both classes -----------------------------------------------------------------------------


def with_gaps(n, draw, gone=0.3):
    """Draw rows with missing cells: high ones, which speak for the class in one column."""
    X = np.round(draw.normal(size=(n, 4)), 2)
    y = (X[:, 0] > 1) | ((X[:, 1] > 0) & (X[:, 2] < 0.3))
    X[(X[:, 0] > 1) & (draw.random(n) < 0.8), 0] = np.nan
    X[:, 1:][draw.random((n, 3)) < gone * (X[:, 1:] > 0)] = np.nan
    return X, y


@pytest.mark.parametrize("seed", range(20))
def test_a_list_says_what_the_tree_says_missing_values_too(seed, monkeypatch):
    monkeypatch.setattr(leaves, "thin_list", lambda task, boxes, says: (boxes, says))
    draw = np.random.default_rng(seed)
    view = view_of(*with_gaps(draw.integers(20, 300), draw, gone=draw.uniform(0, 0.6)))
    n_boxes = int(draw.integers(1, 12))
    tree = DecisionTreeClassifier(max_leaf_nodes=n_boxes + 1, random_state=0)
    tree.fit(view.problem.X, view.positive, sample_weight=view.problem.weight)
    found = finish.Found(*tree_list(view, n_boxes))
    assert len(found.boxes.first) <= n_boxes
    np.testing.assert_array_equal(found.tells(view.target, view.problem), tree.predict(view.problem.X))
    other = int(view.problem.classes[~view.positive][0])
    np.testing.assert_array_equal(found.tells(other, view.problem), ~tree.predict(view.problem.X))


@pytest.mark.parametrize("seed", range(30))
def test_thinning_a_list_never_lowers_f1_less_prices(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 4, seed)
    says = np.random.default_rng(seed).random(5) < 0.5

    def value(boxes, says):
        plain = f1_of(task, says[first_holder(task.inside(boxes))])
        return plain - task.prices(boxes).sum() / (2 * task.weight[task.positive].sum())

    thinned, said = thin_list(task, boxes, says)
    assert len(said) == len(thinned.first) + 1
    assert said[-1] == says[-1]
    assert value(thinned, said) >= value(boxes, says)
    again, said_again = thin_list(task, thinned, said)
    np.testing.assert_array_equal(again, thinned)
    np.testing.assert_array_equal(said_again, said)


def test_the_first_box_that_holds_a_row_is_found():
    inside = np.array([[True, False, False], [True, True, False]])
    assert first_holder(inside).tolist() == [0, 1, -1]
    assert first_holder(inside[:0]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(("n_boxes", "told"), [(3, {False, True}), (5, {True})])
def test_values_missing_for_a_reason_are_told_by_a_list_of_both_classes_where_boxes_are_few(n_boxes, told):
    X, y = with_gaps(1500, np.random.default_rng(0))
    X_new, y_new = with_gaps(20_000, np.random.default_rng(1))
    model = HyperNNClassifier(n_boxes, random_state=0).fit(X, y)
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * n_boxes, random_state=0).fit(X, y)
    assert set(model.boxes_.labels.tolist()) == told
    assert len(model.boxes_) <= n_boxes
    assert f1_score(y_new, model.predict(X_new)) > f1_score(y_new, tree.predict(X_new)) - 0.01
    asked = HyperNNClassifier(n_boxes, random_state=0, positive_label=True).fit(X, y)
    assert set(asked.boxes_.labels.tolist()) == {True}


@pytest.mark.parametrize("seed", range(4))
def test_a_learned_list_keeps_its_order(seed, monkeypatch):
    """Boxes of both classes overlap; sorted by precision they would give other answers."""
    kept = []
    assemble = fit._assemble
    monkeypatch.setattr(fit, "_assemble", lambda *given: kept.append(given) or assemble(*given))
    monkeypatch.setattr(finish, "EVIDENCE", -np.inf)  # a list whatever it is worth
    monkeypatch.setattr(finish, "_misses_much", lambda *_: True)
    monkeypatch.setattr(finish, "_leaves", lambda *_, **__: None)
    X, y = with_gaps(400, np.random.default_rng(seed))
    model = HyperNNClassifier(12, random_state=0).fit(X, y ^ (np.random.default_rng(9).random(400) < 0.1))
    ((_, problem, _, (found,)),) = kept
    assert found.votes is not None
    np.testing.assert_array_equal(model.predict(problem.X), found.tells(1, problem))


def test_a_list_says_what_rows_in_none_of_its_boxes_are(monkeypatch):
    """F1 may call rows of the class that mostly are not; the majority of what is left does not decide."""

    def two_boxes(view, *_, **__):
        return finish.Found(view, BinBoxes(np.array([[0], [90]]), np.array([[9], [99]])), np.array([0, 1, 1]))

    monkeypatch.setattr(fit, "finish", two_boxes)
    X = np.arange(100.0)[:, None]
    model = HyperNNClassifier(2, random_state=0).fit(X, X[:, 0] > 80)
    assert model.predict([[3.0], [50.0], [95.0]]).tolist() == [False, True, True]


def test_no_list_is_without_boxes(monkeypatch):
    view = view_of(*with_gaps(200, np.random.default_rng(0)))
    none = np.zeros((0, 4), np.int64)
    monkeypatch.setattr(finish, "tree_list", lambda *_: (view, BinBoxes(none, none), np.array([1])))
    assert finish._list(view, 3, factor=1.0) is None


def test_dearer_lists_are_shorter():
    X, y = with_gaps(1500, np.random.default_rng(0))
    view = view_of(X, y ^ (np.random.default_rng(1).random(1500) < 0.1))
    lengths = [len(finish._list(view, 20, factor=factor).boxes.first) for factor in PRICES]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1] <= 6


def test_whether_there_is_a_value_can_be_the_rule():
    draw = np.random.default_rng(0)
    X = draw.uniform(size=(1000, 3))
    y = (X[:, 0] > 0.7) | ((X[:, 1] > 0.5) & (X[:, 2] < 0.5))
    X[X[:, 0] > 0.7, 0] = np.nan  # whatever the values that are left, there is one or there is none
    model = HyperNNClassifier(4, random_state=0).fit(X, y)
    text = rules.to_text(model.boxes_)  # boxes of the class, or a list of both that says the same
    assert "x0 is missing" in text or "x0 is known" in text
    rows = np.array([[-1e300, 0, 0], [1e300, 0, 0], [0.3, 0.9, 0.1], [np.nan, 0, 0]])
    assert model.predict(rows).tolist() == [False, False, True, True]


@pytest.mark.parametrize("n_rows", [150, 1000])
def test_that_there_is_a_value_may_be_one_condition_among_others(n_rows):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_rows, 4))
    X[draw.random(n_rows) < 0.4, 0] = np.nan
    y = ~np.isnan(X[:, 0]) & (X[:, 1] > 0.2)
    model = HyperNNClassifier(5, positive_label=True, random_state=0).fit(X, y)
    assert [str(condition).split(" >=")[0] for condition in model.boxes_.conditions(0)] == [
        "x0 is known",
        "x1",
    ]
    assert len(model.boxes_) == 1
    assert (model.predict(X) == y).all()
    forbidden = HyperNNClassifier(5, positive_label=True, forbidden_features=["x0"], random_state=0).fit(X, y)
    assert not forbidden.boxes_.restricted[:, 0].any()


@pytest.mark.parametrize("n_rows", [200, 1500])
def test_that_a_value_is_missing_may_be_one_condition_among_others(n_rows):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_rows, 5))
    gone = draw.random(n_rows) < 0.25
    y = (gone & (X[:, 0] > -0.3)) | ((X[:, 1] > 0.6) & (X[:, 3] < 0.3))
    X[gone, 4] = np.nan
    model = HyperNNClassifier(5, random_state=0).fit(X, y)
    asked = [str(condition) for box in range(2) for condition in model.boxes_.conditions(box)]
    assert "x4 is missing" in asked
    assert (model.predict(X) == y).mean() > 0.98
    new = draw.normal(size=(2000, 5))
    truth = (new[:, 1] > 0.6) & (new[:, 3] < 0.3)
    assert (model.predict(new) == truth).mean() > 0.95
    new[:, 4] = np.nan
    assert (model.predict(new) == truth | (new[:, 0] > -0.3)).mean() > 0.95
    forbidden = HyperNNClassifier(5, positive_label=True, forbidden_features=["x4"], random_state=0).fit(X, y)
    assert not forbidden.boxes_.restricted[:, 4].any()


def test_databases_answer_as_boxes_that_ask_for_missing_values():
    import duckdb

    draw = np.random.default_rng(0)
    X = draw.normal(size=(600, 3)).round(2)
    X[draw.random(600) < 0.3, 0] = np.nan
    y = np.isnan(X[:, 0]) & (X[:, 1] > 0)
    model = HyperNNClassifier(3, positive_label=True, random_state=0).fit(X, y)
    assert [str(one).split(" >=")[0] for one in model.boxes_.conditions(0)] == ["x0 is missing", "x1"]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x0 DOUBLE, x1 DOUBLE, x2 DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", X.tolist())  # NaN
        connection.execute("INSERT INTO t VALUES (NULL, 1, 1), (NULL, -1, 1), ('inf', 1, 1), ('-inf', 1, 1)")
        assert sql.verify(model.boxes_, connection, "t").mismatches == 0


def test_a_list_keeps_the_limits_of_boxes():
    X, y = with_gaps(600, np.random.default_rng(0))
    X[y, 0] = np.nan
    free = Limits.none(4)
    forbidden = replace(free, may_low=np.arange(4) > 0, may_high=np.arange(4) > 0)
    assert finish._list(view_of(X, y), 5, factor=1.0) is not None
    assert finish._list(view_of(X, y, limits=forbidden), 5, factor=1.0) is None
    assert finish._list(view_of(X, y, replace(QUICK, min_support=500)), 5, factor=1.0) is None


def test_a_condition_that_takes_any_value_counts_and_is_a_limit_too():
    view = view_of(*with_gaps(200, np.random.default_rng(0)))
    ends = view.features.binning.n_bins - 1
    known = BinBoxes(np.zeros((1, 4), np.int64), np.array([[ends[0], MISSING, MISSING, MISSING]]))
    assert view.sharp().task.prices(known).tolist() == [1.3]
    assert finish._within_limits(view, known)
    barred = replace(view, limits=replace(view.limits, may_low=np.arange(4) > 0))
    assert not finish._within_limits(barred, known)


def test_databases_answer_as_a_list_of_both_classes():
    import duckdb

    X, y = with_gaps(1500, np.random.default_rng(0))
    model = HyperNNClassifier(3, random_state=0).fit(X, np.where(y, "yes", "no"))
    assert set(model.boxes_.labels.tolist()) == {"yes", "no"}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x0 DOUBLE, x1 DOUBLE, x2 DOUBLE, x3 DOUBLE)")
        cells = [[None if np.isnan(cell) else cell for cell in row] for row in X.tolist()]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", cells)
        assert sql.verify(model.boxes_, connection, "t").mismatches == 0


@pytest.mark.parametrize("n_rows", [0, 7, CELL_ROWS, 2 * CELL_ROWS + 3])
def test_cells_for_a_tree_are_those_of_its_rows_and_none_is_infinite(n_rows):
    draw = np.random.default_rng(n_rows)
    X = draw.normal(size=(3_000, 2)) * 10.0 ** draw.integers(-40, 300, size=(3_000, 2))
    X[::7, 0] = np.nan
    rows = draw.integers(0, len(X), n_rows)
    expected = np.clip(X[rows], -LARGEST_CELL, LARGEST_CELL).astype(np.float32)
    np.testing.assert_array_equal(tree_cells(X, rows), expected)
