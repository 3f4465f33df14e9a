"""Laws of the protocol: splits and figures that anyone can repeat, cells that come out the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from hyperboxes.bench.cells import Cell
from hyperboxes.bench.models import MODELS, Model, tree_shape
from hyperboxes.bench.plan import FULL, QUICK, SIZES, cells_of, select
from hyperboxes.bench.protocol import load_split, measure, table
from hyperboxes.bench.runner import finished
from hyperboxes.bench.store import read_records

STORED = Path(__file__).parents[1] / "results" / "results.jsonl"


@pytest.mark.parametrize("label", [0, 1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_splits_are_those_of_scikit_learn(label, seed):
    X, classes = load_wine(return_X_y=True)
    y = classes == label
    expected = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    split = load_split(Cell("wine", str(label), "tree", seed))
    for ours, theirs in zip((split.X, split.X_test, split.y, split.y_test), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_class_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="iris has no class '7'"):
        load_split(Cell("iris", "7", "tree", 0))


def test_figures_are_those_of_a_plain_fit():
    cell = Cell("iris", "1", "tree", 1, {"max_leaf_nodes": 3})
    figures, clock = measure(cell, MODELS["tree"], load_split(cell))
    X, classes = load_iris(return_X_y=True)
    y = classes == 1
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=1)
    answers = DecisionTreeClassifier(max_leaf_nodes=3, random_state=1).fit(train, y_train).predict(test)
    assert figures["f1"] == f1_score(y_test, answers)
    assert figures["precision"] == precision_score(y_test, answers)
    assert figures["recall"] == recall_score(y_test, answers)
    assert clock.keys() == {"load", "fit_seconds", "fit_processor_seconds", "predict_seconds"}


def test_a_grid_is_searched_by_f1_over_five_folds_of_the_training_rows():
    grid = {"max_leaf_nodes": [2, 3, 6], "class_weight": [None, "balanced"]}
    cell = Cell("wine", "1", "tree", 2, grid=grid)
    split = load_split(cell)
    figures, clock = measure(cell, MODELS["tree"], split)
    folds = StratifiedKFold(5, shuffle=True, random_state=2)
    search = GridSearchCV(DecisionTreeClassifier(random_state=2), grid, scoring="f1", cv=folds)
    search.fit(split.X, split.y)
    assert figures["best"] == search.best_params_
    assert figures["f1"] == f1_score(split.y_test, search.predict(split.X_test))
    assert clock["search_seconds"] > 0


def test_the_shape_of_a_tree_counts_positive_leaves_and_closed_sides():
    X = np.arange(12.0)[:, None]
    stripes = DecisionTreeClassifier(random_state=0).fit(X, (X[:, 0] // 3) % 2)
    assert tree_shape(stripes) == (2, 3)  # 3 to 5 has two sides, 9 and more one
    assert tree_shape(DecisionTreeClassifier().fit(X, np.zeros(12, int))) == (0, 0)
    assert tree_shape(DecisionTreeClassifier().fit(X, np.ones(12, int))) == (1, 0)


@pytest.mark.parametrize("name", ["hypernn", "prim", "prim-paper", "fmm"])
def test_our_models_know_their_boxes_and_how_faithful_these_are(name):
    cell = Cell("iris", "1", name, 0)
    split = load_split(cell)
    figures, _ = measure(cell, MODELS[name], split)
    model = MODELS[name].make(0).fit(split.X, split.y)
    assert (figures["boxes"], figures["conditions"]) == (model.boxes_.n_boxes, model.boxes_.n_conditions)
    same = model.boxes_.predict(split.X_test) == model.predict(split.X_test)
    assert figures["fidelity"] == same.mean()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.missing() is None])
def test_every_model_that_is_installed_learns_iris(name):
    params = {"max_iter": 300} if name.startswith("hypernn-paper") else {}
    cell = Cell("iris", "0", name, 0, params)
    with threadpool_limits(1):  # as in a run
        figures, _ = measure(cell, MODELS[name], load_split(cell))
    assert figures["f1"] > 0.9


def test_a_missing_package_is_named():
    model = Model("m", print, needs=("no_such_module",), distribution="such")
    assert model.missing() == "such is not installed"


# -- plans -----------------------------------------------------------------------------------------

CLASSES = {"iris": ["0", "1", "2"], "covtype": ["1"]}


def test_the_full_plan_has_the_series_over_three_seeds_for_all_data_at_hand():
    cells = {cell.key for cell, _ in cells_of(FULL, CLASSES)}
    for data, labels in CLASSES.items():
        for label in labels:
            for seed in range(3):
                for size in SIZES:
                    assert Cell(data, label, "hypernn", seed, {"n_boxes": size}).key in cells


def test_every_model_is_in_both_plans():
    for plan in (FULL, QUICK):
        assert {method.model for part in plan for method in part.methods} == MODELS.keys()


def test_quick_cells_serve_a_full_run_too():
    full = {cell.key for cell, _ in cells_of(FULL, CLASSES)}
    assert {cell.key for cell, _ in cells_of(QUICK, CLASSES)} <= full


def test_a_choice_leaves_the_rest_out():
    cells = [cell for cell, _ in cells_of(select(FULL, ["iris"], ["tree"]), CLASSES)]
    assert {(cell.data, cell.model) for cell in cells} == {("iris", "tree")}
    planted = {cell.data for cell, _ in cells_of(select(FULL, None, ["tree"]), CLASSES)}
    assert any(name.startswith("planted-") for name in planted)


def test_planted_tables_load_by_name():
    X, classes = table("planted-50x7")
    assert X.shape == (50, 7)
    assert set(classes) == {"True", "False"}


# -- stored results --------------------------------------------------------------------------------


@pytest.mark.skipif(not STORED.exists(), reason="results/ is not there")
@pytest.mark.parametrize(
    "cell",
    [
        Cell("wine", "1", "hypernn", 2, {"n_boxes": 5}),
        Cell("cancer", "0", "prim", 1),
        Cell("iris", "2", "fmm", 0),
        Cell("wine", "0", "tree", 1),
    ],
    ids=str,
)
def test_stored_cells_come_out_the_same(cell):
    stored = finished(read_records(STORED))[cell.key]
    figures, _ = measure(cell, MODELS[cell.model], load_split(cell))
    assert figures == stored["figures"], (
        f"{cell.model} learns otherwise than when results/ was made: "
        f"hyperboxes reproduce --update --model {cell.model}"
    )
