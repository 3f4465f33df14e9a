"""What every classifier promises of odd input: the right answer, or an error that says what to do."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score

from hyperboxes import Boxes, FMMClassifier, HyperNNClassifier, PRIMClassifier
from hyperboxes.estimators._hypernn import _that_help
from hyperboxes.model_file import dumps
from hyperboxes.tables import read_table

ALL = pytest.mark.parametrize("kind", [HyperNNClassifier, PRIMClassifier, FMMClassifier])
BOXES = pytest.mark.parametrize("kind", [HyperNNClassifier, PRIMClassifier])


def make(kind, **options):
    return kind(random_state=0, **({} if kind is FMMClassifier else {"n_boxes": 3}) | options)


def data(n=200, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, 3))
    y = ((X[:, 0] > 0) & (X[:, 1] < 0.5)) ^ (draw.random(n) < 0.1)
    return X, y.astype(int)


# -- one class that counts -----------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("through", ["sample_weight", "class_weight", "balanced"])
def test_a_class_that_alone_has_weight_is_every_rows_answer(kind, only, through):
    X, y = data()
    weight = None if through == "class_weight" else (y == only) * 1.0
    asked = {"class_weight": {1 - only: 0}, "balanced": "balanced"}.get(through)
    with pytest.warns(UserWarning, match="one class only"):
        model = make(kind, class_weight=asked).fit(X, y, sample_weight=weight)
    assert set(model.predict(X).tolist()) == {only}


@pytest.mark.parametrize("only", [0, 1])
def test_a_first_batch_of_one_class_is_answered_with_it(only):
    X, y = data()
    with pytest.warns(UserWarning, match="one class only"):
        model = make(HyperNNClassifier).partial_fit(X[y == only], y[y == only], classes=[0, 1])
    assert set(model.predict(X).tolist()) == {only}


# -- names, and fits that fail -------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("names", [["a", "b", "c"], ["x2", "x1", "x0"]])
def test_a_model_learned_from_an_array_takes_the_columns_of_a_frame_as_they_come(kind, names):
    X, y = data()
    model = make(kind).fit(X, y)
    frame = pd.DataFrame(X, columns=names)
    with pytest.warns(UserWarning, match="feature names"):
        answers = model.predict(frame)
    np.testing.assert_array_equal(answers, model.predict(X))
    assert str(model.explain(frame[:1])) == str(model.explain(X[:1]))


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_so_do_frames_of_other_libraries(library):
    X, y = data()
    model = make(HyperNNClassifier).fit(X, y)
    frame = library(dict(zip(["x2", "x0", "x1"], X.T, strict=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn sees names in some of them only
        np.testing.assert_array_equal(model.predict(frame), model.predict(X))


def test_so_do_columns_of_categories():
    X, y = data()
    cells = np.column_stack([X[:, 0], np.where(X[:, 1] < 0.5, 7.0, 9.0)])
    model = make(HyperNNClassifier, categorical_features=[1]).fit(cells, y)
    assert any(condition.categories is not None for condition in model.boxes_.conditions(0))
    with pytest.warns(UserWarning, match="feature names"):
        answers = model.predict(pd.DataFrame(cells, columns=["x1", "x0"]))
    np.testing.assert_array_equal(answers, model.predict(cells))


def test_a_model_learned_from_a_frame_goes_by_names():
    X, y = data()
    frame = pd.DataFrame(X, columns=[0, 1, 2])  # no text, so that scikit-learn does not keep them
    model = make(HyperNNClassifier).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame[[2, 0, 1]]), model.predict(frame))


@ALL
@pytest.mark.parametrize("before", [False, True])
def test_after_a_fit_that_failed_there_is_no_model(kind, before):
    X, y = data()
    model = make(kind)
    if before:
        model.fit(X, y)
    with pytest.raises(ValueError, match="categorical_features"):
        model.set_params(categorical_features=[9]).fit(X, y)
    for ask in (model.predict, model.predict_proba, model.apply, model.membership, model.explain):
        with pytest.raises(NotFittedError):
            ask(X[:1])


# -- weights and labels --------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), None, "2"])
def test_a_bad_class_weight_is_named(kind, factor):
    with pytest.raises(ValueError, match=r"class_weight of 1 must be a number from 0 on, got"):
        make(kind, class_weight={1: factor}).fit(*data())


@ALL
@pytest.mark.parametrize("weight", [1e300, 1e-323])
def test_weights_that_cannot_be_summed_are_refused(kind, weight):
    X, y = data()
    with pytest.raises(ValueError, match="weights of all rows sum to"):
        make(kind).fit(X, y, sample_weight=np.full(len(y), weight))


@ALL
def test_dates_are_refused_as_labels(kind):
    X, y = data()
    days = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    for labels in (
        days[y],
        days.astype(object)[y],
        pd.Series(days[y]),
        np.array([datetime.timedelta(1)] * 200),
    ):
        with pytest.raises(ValueError, match="y holds dates or times"):
            make(kind).fit(X, labels)


def test_fractions_of_weight_sum_alike_in_any_order():
    X, y = data()
    draw = np.random.default_rng(1)
    weight = draw.uniform(0.1, 3, len(y))
    order = draw.permutation(len(y))
    one = make(HyperNNClassifier).fit(X, y, sample_weight=weight)
    other = make(HyperNNClassifier).fit(X[order], y[order], sample_weight=weight[order])
    assert dumps(one.boxes_) == dumps(other.boxes_)


# -- what boxes may ask, and boxes that are kept -------------------------------------------------------------


@BOXES
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options", [{}, {"uncovered": "nearest"}, {"uncovered": "reject"}, {"positive_label": 0}]
)
def test_a_direction_holds_whichever_classes_have_boxes(kind, sign, seed, options):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(300, 2))
    y = ((np.abs(X[:, 0]) < 0.8) ^ (draw.random(300) < 0.05)).astype(int)
    model = make(kind, monotonic_cst=[sign, 0], **options).fit(X, y)
    line = np.linspace(-4, 4, 60)[:: sign if options != {"positive_label": 0} else -sign]
    for height in draw.normal(size=30):
        answers = model.predict(np.column_stack([line, np.full(60, height)])).tolist()
        told = [answer for answer in answers if answer is not None]
        assert told == sorted(told)


@pytest.mark.parametrize("n_boxes", [{0: 3}, {0: 3, 1: 3}])
def test_a_direction_holds_for_boxes_of_the_other_class(n_boxes):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 2))
    y = (np.abs(X[:, 0]) < 0.8).astype(int)
    boxes = make(HyperNNClassifier, n_boxes=n_boxes, monotonic_cst=[1, 0]).fit(X, y).boxes_
    assert np.isneginf(boxes.lower[boxes.labels == 0, 0]).all()
    assert np.isposinf(boxes.upper[boxes.labels == 1, 0]).all()
    assert (boxes.labels == 0).any()


def test_boxes_learned_beside_kept_ones_do_no_harm():
    for seed in range(8):
        X, y = data(seed=seed)
        model = make(HyperNNClassifier).fit(X, y)
        kept = make(HyperNNClassifier, init=model.boxes_, frozen=True).fit(X, y)
        assert f1_score(y, kept.predict(X)) >= f1_score(y, model.predict(X))
        assert kept.boxes_.n_boxes >= model.boxes_.n_boxes
        np.testing.assert_array_equal(kept.boxes_.lower[: model.boxes_.n_boxes], model.boxes_.lower)


def test_boxes_learned_beside_kept_ones_help_where_they_can():
    draw = np.random.default_rng(0)
    X = draw.uniform(size=(600, 2))
    y = (X[:, 0] < 0.2) | (X[:, 0] > 0.7)
    two = make(HyperNNClassifier, n_boxes=2).fit(X, y).boxes_
    assert two.n_boxes == 2
    model = make(HyperNNClassifier, init=two, frozen=[0]).fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.97


def test_a_row_that_one_new_box_decides_does_not_count_for_the_next():
    x = np.concatenate([np.linspace(0, 1, 10), np.linspace(1.1, 2, 10)])
    classes = np.repeat([1, 0], 10)

    def boxes(*intervals):
        lower, upper, labels = zip(*intervals, strict=True)
        cells = (np.array(lower)[:, None], np.array(upper)[:, None], np.array(labels))
        return Boxes(*cells, ("x",), 0, classes=np.array([0, 1]))

    kept, more = boxes((1.15, 2, 0)), boxes((0, 1, 1), (0, 2, 0), (0.9, 1.3, 1))
    assert _that_help(kept, more, read_table(x[:, None]), classes, np.ones(20)).tolist() == [
        True,
        True,
        False,
    ]


def test_which_boxes_are_kept_can_be_told_by_position_or_mark():
    draw = np.random.default_rng(0)
    X = draw.uniform(size=(400, 2))
    y = (X[:, 0] < 0.2) | (X[:, 0] > 0.7)
    two = make(HyperNNClassifier, n_boxes=2).fit(X, y).boxes_

    def learn(frozen):
        return make(HyperNNClassifier, init=two, frozen=frozen).fit(X, y).boxes_

    assert learn([1]) == learn([-1]) == learn([False, True]) == learn(np.array([1]))
    assert learn([]) == learn([False, False]) == learn(False)
    for wrong in ([0.5], [2], [-3], ["0"]):
        with pytest.raises(ValueError, match="give positions of the 2 boxes of init"):
            learn(wrong)
    with pytest.raises(ValueError, match="frozen marks 3 boxes; init has 2"):
        learn([True, False, True])
    with pytest.raises(ValueError, match="frozen needs init"):
        make(HyperNNClassifier, frozen=[0]).fit(X, y)


@pytest.mark.parametrize("name", ["forbidden_features", "required_features"])
def test_a_mask_is_not_taken_for_positions(name):
    with pytest.raises(ValueError, match=f"{name} has True; give names or positions"):
        make(HyperNNClassifier, **{name: [True, False, False]}).fit(*data())


@pytest.mark.parametrize("value", [1.0, np.nan])
@pytest.mark.filterwarnings("ignore:column 'x3' holds no value")
def test_a_feature_that_no_box_can_restrict_cannot_be_required(value):
    X, y = data()
    with pytest.raises(ValueError, match="'x3', which has fewer than two values: no box can restrict"):
        make(HyperNNClassifier, required_features=[3]).fit(np.column_stack([X, np.full(len(X), value)]), y)


def test_a_feature_may_be_required_twice():
    boxes = make(HyperNNClassifier, required_features=["x2", 2], max_conditions=1).fit(*data()).boxes_
    assert boxes.n_boxes
    assert all([condition.name for condition in boxes.conditions(k)] == ["x2"] for k in range(boxes.n_boxes))


def test_a_ceiling_beyond_all_rows_is_none():
    X, y = data(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(HyperNNClassifier, n_boxes=10**9).fit(X, y).boxes_.n_boxes < 60


@pytest.mark.parametrize("device", ["nothing", "cuda:99"])
def test_a_device_that_is_not_there_is_named(device):
    with pytest.raises(ValueError, match=f"device '{device}' cannot be used: "):
        make(HyperNNClassifier, device=device).fit(*data())
