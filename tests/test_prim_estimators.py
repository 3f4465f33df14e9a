"""PRIMClassifier and PRIMRegressor: faces of fit_prim."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from planted import ONE_BOX, blobs, planted
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score

from hyperboxes import HyperNNClassifier, PRIMClassifier, PRIMRegressor
from hyperboxes.prim import Settings, fit_prim

X, Y = planted(ONE_BOX, 1200, 20, seed=0)


def test_with_two_classes_the_boxes_are_those_of_fit_prim():
    model = PRIMClassifier(random_state=0).fit(X, np.where(Y, "in", "out"))
    model.set_params(positive_label="in").fit(X, np.where(Y, "in", "out"))
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    found = fit_prim(X, Y, n_boxes=10, seed=seed)
    assert model.boxes_.lower.tolist() == found.boxes.lower.tolist()
    assert model.boxes_.upper.tolist() == found.boxes.upper.tolist()
    assert (model.predict(X) == np.where(found.boxes.predict(X), "in", "out")).all()
    assert [len(one) for one in model.trajectories_["in"]] == [len(one) for one in found.trajectories]


def test_with_more_classes_each_has_boxes_in_one_order_and_answers_obey_them():
    table, y = load_iris(return_X_y=True)
    model = PRIMClassifier(random_state=0).fit(table, y)
    assert set(model.boxes_.labels.tolist()) == {0, 1, 2}
    assert model.trajectories_.keys() == {0, 1, 2}
    assert len(model.boxes_) == sum(len(group) for group in model.trajectories_.values())
    assert (model.predict(table) == model.boxes_.predict(table)).all()
    assert model.score(table, y) > 0.93
    shares = model.predict_proba(table)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(table)).all()
    assert shares.sum(axis=1) == pytest.approx(1)


def test_where_boxes_of_several_classes_overlap_the_surer_one_comes_first():
    rng = np.random.default_rng(0)
    y = np.arange(900) % 3
    table = rng.normal(size=(900, 3)) + 1.5 * y[:, None]
    boxes = PRIMClassifier(random_state=0, uncovered="default").fit(table, y).boxes_
    accuracy = [
        np.mean(boxes.select(order).predict(table) == y)
        for order in (np.arange(len(boxes)), np.arange(len(boxes))[::-1])
    ]
    assert accuracy[0] > accuracy[1] + 0.01


def test_renamed_classes_rename_labels():
    table, y = load_wine(return_X_y=True)
    numbers = PRIMClassifier(random_state=0).fit(table, y)
    names = PRIMClassifier(random_state=0).fit(table, np.array(["a", "b", "c"])[y])
    assert (np.array(["a", "b", "c"])[numbers.predict(table)] == names.predict(table)).all()
    assert numbers.boxes_.lower.tolist() == names.boxes_.lower.tolist()


def test_a_frame_gives_the_same_boxes_with_names():
    table, y = blobs()
    plain = PRIMClassifier(random_state=0).fit(table, y)
    framed = PRIMClassifier(random_state=0).fit(pd.DataFrame(table, columns=list("abcd")), y)
    assert framed.boxes_.lower.tolist() == plain.boxes_.lower.tolist()
    assert framed.boxes_.feature_names == tuple("abcd")


def test_weights_and_repetitions_give_the_same_model_to_the_last_bit():
    table, y = blobs(90, seed=5)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    heavy = PRIMClassifier(random_state=0).fit(table, y, sample_weight=weight)
    again = PRIMClassifier(random_state=0).fit(np.repeat(table, weight, axis=0), np.repeat(y, weight))
    assert heavy.boxes_.lower.tolist() == again.boxes_.lower.tolist()
    assert (heavy.boxes_.counts == again.boxes_.counts).all()


def test_weights_that_sum_to_one_give_the_same_boxes():
    plain = PRIMClassifier(random_state=0).fit(X, Y)
    tiny = PRIMClassifier(random_state=0).fit(X, Y, sample_weight=np.full(len(Y), 1 / len(Y)))
    assert tiny.boxes_.lower.tolist() == plain.boxes_.lower.tolist()


def test_a_rare_class_is_found_by_default_but_not_in_the_paper_setup():
    table, y = planted([{0: (0.4, 0.55), 1: (0.4, 0.5)}], 4000, 6, seed=1)
    assert 0.01 < y.mean() < 0.02
    default = PRIMClassifier(random_state=0).fit(table, y)
    paper = PRIMClassifier.paper().fit(table, y)
    recall = [(model.predict(table) & y).sum() / y.sum() for model in (default, paper)]
    precision = [(model.predict(table) & y).sum() / model.predict(table).sum() for model in (default, paper)]
    assert min(recall[0], precision[0]) > 0.9
    assert precision[1] < 0.4
    assert paper.get_params()["min_support"] == 0.05


def test_polish_never_worsens_the_training_f1_much_and_keeps_the_number_of_boxes():
    table, y = load_wine(return_X_y=True)
    for label in range(3):
        plain, polished = (
            PRIMClassifier(polish=polish, random_state=0).fit(table, y == label) for polish in (False, True)
        )
        assert len(polished.boxes_) <= len(plain.boxes_)
        assert polished.score(table, y == label) >= plain.score(table, y == label) - 0.01


def test_impatient_boxes_start_hypernn_and_come_out_better():
    start = PRIMClassifier(n_boxes=1, peel_fraction=0.3, random_state=0).fit(X, Y)
    model = HyperNNClassifier(n_boxes=1, init=start.boxes_, random_state=0).fit(X, Y)
    fresh, truth = planted(ONE_BOX, 3000, 20, seed=7)
    before, after = (np.mean(one.predict(fresh) == truth) for one in (start, model))
    assert after > before + 0.02
    assert (model.boxes_.restricted == start.boxes_.restricted).all()


def test_forbidden_features_directions_and_limits_are_obeyed():
    model = PRIMClassifier(
        forbidden_features=[3], monotonic_cst={"x11": 1}, max_features=2, random_state=0
    ).fit(X, Y)
    assert not model.boxes_.restricted[:, 3].any()
    assert np.isposinf(model.boxes_.upper[:, 11]).all()
    assert model.boxes_.restricted.sum(axis=1).max() <= 2


def test_rows_in_no_box_get_no_answer_if_asked():
    model = PRIMClassifier(uncovered="reject", random_state=0).fit(*blobs())
    anywhere = np.random.default_rng(0).uniform(-5, 15, (500, 4))
    outside = model.apply(anywhere) < 0
    assert 0 < outside.sum() < 500
    assert all((answer is None) == out for answer, out in zip(model.predict(anywhere), outside, strict=True))


def test_balanced_classes_shift_boxes_towards_the_rare_one():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=3000) < 0.05
    table = rng.normal(size=(3000, 2)) + 1.2 * y[:, None]
    plain = PRIMClassifier(random_state=0).fit(table, y)
    balanced = PRIMClassifier(class_weight="balanced", random_state=0).fit(table, y)
    assert balanced.predict(table).sum() > 2 * plain.predict(table).sum()


def test_a_subgroup_finder_finds_the_group_and_predicts_means():
    rng = np.random.default_rng(0)
    target = 10 + 4.0 * Y + rng.normal(size=len(Y))
    model = PRIMRegressor(n_boxes=1, random_state=0).fit(X, target)
    assert {condition.feature for condition in model.boxes_.conditions(0)} == set(ONE_BOX[0])
    inside = model.apply(X) == 0
    assert model.predict(X)[inside] == pytest.approx(target[inside].mean())
    assert model.predict(X)[~inside] == pytest.approx(target[~inside].mean())
    assert (model.predict(X) == model.boxes_.predict(X)).all()
    assert model.trajectories_[0].mean[model.trajectories_[0].chosen] == pytest.approx(target[inside].mean())


def test_a_target_of_zeros_and_ones_is_a_number_for_the_regressor():
    model = PRIMRegressor(random_state=0).fit(X, Y.astype(float))
    assert model.predict(X).dtype == np.float64
    assert model.predict(X).max() == pytest.approx(Y[model.apply(X) == 0].mean())


def test_clone_and_pickle():
    model = PRIMRegressor(n_boxes=2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    assert pickle.loads(pickle.dumps(model)).boxes_ == model.boxes_  # noqa: S301


def test_parameters_are_those_of_the_settings():
    for model in (PRIMClassifier(), PRIMRegressor()):
        shared = {name: value for name, value in vars(Settings()).items() if name != "criterion"}
        assert {name: model.get_params()[name] for name in shared} == shared


def test_a_common_class_is_described_although_all_rows_have_the_best_f1():
    X = np.random.default_rng(0).uniform(size=(600, 3))
    y = ~((X[:, 0] > 0.7) & (X[:, 1] > 0.6)) ^ (np.random.default_rng(1).uniform(size=600) < 0.1)
    assert y.mean() > 0.75
    model = PRIMClassifier(random_state=0).fit(X, y)
    assert model.boxes_.n_boxes
    assert model.boxes_.restricted.any(axis=1).all()
    assert f1_score(y, model.predict(X)) > f1_score(y, np.ones(600, bool))
