"""Laws of FMMClassifier and its ensemble: what they obey, and how they take tables, streams and intervals."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from planted import blobs
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from hyperboxes import FMMClassifier, ModelFormatError, RandomHyperboxesClassifier, read_model, write_model
from hyperboxes.fmm import VARIANTS
from hyperboxes.summary import summarize

EVERY = [*VARIANTS, "ensemble"]
SHIPPED = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


def make(kind, **options):
    if kind == "ensemble":
        return RandomHyperboxesClassifier(n_estimators=8, random_state=0, **options)
    return FMMClassifier(kind, random_state=0, **{"max_width": 0.3, **options})


def published(kind, **options):
    return make(kind, prune=False, **options)


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_in_a_box_obey_the_boxes_and_fidelity_says_how_often_all_do(variant, prune):
    X, y = load_wine(return_X_y=True)
    model = make(variant, prune=prune).fit(X, y)
    inside = model.apply(X) >= 0
    assert inside.mean() > 0.1
    assert_array_equal(model.predict(X)[inside], model.boxes_.labels[model.apply(X)[inside]])
    agreement = np.mean(model.boxes_.predict(X) == model.predict(X))
    assert model.fidelity_ == agreement
    assert (
        f"{100 * agreement:.3f} %" in str(summarize(model.boxes_, X, y, predictions=model.predict(X)))
        or agreement == 1
    )


@pytest.mark.parametrize("uncovered", ["nearest", "default"])
@pytest.mark.parametrize("kind", EVERY)
def test_counts_are_those_of_the_boxes_decisions(kind, uncovered):
    X, y = load_iris(return_X_y=True)
    model = published(kind, uncovered=uncovered).fit(X, y)
    counts = np.zeros_like(model.boxes_.counts)
    np.add.at(counts, (model.boxes_.decide(X), y), 1.0)
    assert_array_equal(model.boxes_.counts, counts)


@pytest.mark.parametrize("kind", EVERY)
def test_the_most_probable_class_is_the_predicted_one(kind):
    X, y = load_iris(return_X_y=True)
    model = make(kind).fit(X, y)
    far = np.random.default_rng(0).uniform(-5, 15, size=(300, 4))
    for rows in (X, far):
        assert_array_equal(model.classes_[model.predict_proba(rows).argmax(axis=1)], model.predict(rows))
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("kind", EVERY)
def test_published_networks_know_their_training_rows(name, kind):
    X, y = SHIPPED[name](return_X_y=True)
    assert f1_score(y, published(kind).fit(X, y).predict(X), average="macro") > 0.85


def test_membership_is_one_inside_a_box_and_the_winner_has_the_highest():
    X, y = load_iris(return_X_y=True)
    model = published("gfmm").fit(X, y)
    membership = model.membership(X)
    assert_array_equal(membership == 1, model.boxes_.contains(X))
    assert_array_equal(model.boxes_.labels[membership.argmax(axis=1)], model.predict(X))


def test_pruning_keeps_few_boxes_and_chooses_a_width():
    X, y = load_breast_cancer(return_X_y=True)
    pruned, full = FMMClassifier(random_state=0).fit(X, y), published("iol").fit(X, y)
    assert len(pruned.boxes_) <= 20 < len(full.boxes_)
    assert pruned.max_width_ in (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
    assert f1_score(y, pruned.predict(X)) > 0.93


@pytest.mark.parametrize("name", SHIPPED)
def test_pruned_boxes_are_few_and_about_as_good_as_the_published_ones(name):
    X, y = SHIPPED[name](return_X_y=True)
    scores = []
    for seed in range(4):
        rows, test, classes, truth = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed + 40)
        pruned = FMMClassifier(random_state=0).fit(rows, classes)
        full = published("simpson").fit(rows, classes)
        assert len(pruned.boxes_) <= 12
        scores.append([f1_score(truth, model.predict(test), average="macro") for model in (pruned, full)])
    ours, theirs = np.mean(scores, axis=0)
    assert ours > theirs - 0.025


def test_min_support_drops_small_boxes_but_no_class():
    X, y = load_iris(return_X_y=True)
    model = published("iol", max_width=0.1, min_support=4).fit(X, y)
    assert len(model.boxes_) < len(published("iol", max_width=0.1).fit(X, y).boxes_)
    assert (model._network.weight >= 4).all()
    huge = published("iol", min_support=1_000).fit(X, y)
    assert sorted(huge.boxes_.labels.tolist()) == [0, 1, 2]


# -- invariance ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
def test_fit_forgets_an_earlier_fit_and_clone_forgets_all(kind):
    A, B = blobs(seed=0), blobs(n=90, d=3, seed=1)
    twice, once = make(kind).fit(*A).fit(*B), make(kind).fit(*B)
    assert twice.boxes_ == once.boxes_
    with pytest.raises(NotFittedError):
        clone(twice).predict(B[0])
    assert clone(twice).get_params() == twice.get_params()


@pytest.mark.parametrize("kind", EVERY)
def test_same_seed_same_boxes_and_row_order_does_not_matter(kind):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    assert make(kind).fit(X[order], y[order]).boxes_ == make(kind).fit(X, y).boxes_


@pytest.mark.parametrize("variant", VARIANTS)
def test_permuted_columns_permute_the_boxes(variant):
    draw = np.random.default_rng(0)
    X, y = draw.random((200, 4)) * [1, 2, 3, 4], draw.integers(0, 2, 200)
    order = np.array([2, 0, 3, 1])
    model = published(variant, shuffle=False).fit(X, y)
    other = published(variant, shuffle=False).fit(X[:, order], y)
    assert_array_equal(other.boxes_.lower, model.boxes_.lower[:, order])


@pytest.mark.parametrize("kind", EVERY)
def test_scaling_a_column_by_a_power_of_two_scales_its_bounds(kind):
    X, y = load_iris(return_X_y=True)
    scale = np.array([1.0, 2.0**40, 2.0**-30, 1.0])
    model, scaled = published(kind).fit(X, y), published(kind).fit(X * scale, y)
    assert_array_equal(scaled.boxes_.lower, model.boxes_.lower * scale)
    assert_array_equal(scaled.predict(X * scale), model.predict(X))


@pytest.mark.parametrize("variant", VARIANTS)
def test_any_units_give_the_same_boxes(variant):
    draw = np.random.default_rng(5)
    X, y = draw.normal(size=(150, 3)), draw.integers(0, 2, 150)
    celsius = published(variant, shuffle=False).fit(X, y)
    fahrenheit = published(variant, shuffle=False).fit(X * [1.8, 1, 1] + [32, 0, 0], y)
    np.testing.assert_allclose(
        fahrenheit.boxes_.upper, celsius.boxes_.upper * [1.8, 1, 1] + [32, 0, 0], rtol=1e-12
    )


@pytest.mark.parametrize("kind", EVERY)
def test_renamed_classes_rename_the_labels_and_frames_add_names(kind):
    X, y = load_iris(return_X_y=True)
    names, columns = np.array(["a", "b", "c"]), ["sl", "sw", "pl", "pw"]
    number, text = make(kind).fit(X, y), make(kind).fit(pd.DataFrame(X, columns=columns), names[y])
    assert_array_equal(text.predict(pd.DataFrame(X, columns=columns)), names[number.predict(X)])
    assert text.boxes_.feature_names == tuple(columns)


@pytest.mark.parametrize("kind", ["simpson", "iol", "ensemble"])
def test_weight_is_repetition_to_the_last_bit(kind):
    X, y = blobs(80, seed=5)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    heavy = make(kind).fit(X, y, sample_weight=weight)
    assert heavy.boxes_ == make(kind).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).boxes_


@pytest.mark.parametrize("kind", EVERY)
def test_pickle_gives_the_same_answers(kind):
    X, y = load_iris(return_X_y=True)
    model = make(kind).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


SCRIPT = """
import hashlib, sys
import numpy as np
from hyperboxes import FMMClassifier, RandomHyperboxesClassifier, write_model
draw = np.random.default_rng(0)
X = draw.random((3_000, 5)); y = (np.abs(X[:, :2] - 0.5) < 0.3).all(axis=1).astype(int)
models = [FMMClassifier(random_state=0), RandomHyperboxesClassifier(5, random_state=0)]
for number, model in enumerate(models):
    write_model(model.fit(X, y), f"{sys.argv[1]}/{number}.boxes.json")
    print(hashlib.sha256(open(f"{sys.argv[1]}/{number}.boxes.json", "rb").read()).hexdigest())
    print(hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest())
"""


def test_same_seed_same_bytes_at_one_and_two_threads(tmp_path):
    def digest(threads):
        script = [sys.executable, "-c", SCRIPT, str(tmp_path)]
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        return subprocess.run(script, env=environment, capture_output=True, text=True, check=True).stdout

    assert digest("1") == digest("2")


# -- streams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_batch_of_a_stream_is_the_published_fit_in_table_order(variant):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    stream = make(variant).partial_fit(X, y)
    assert_array_equal(stream.predict(X), published(variant, shuffle=False).fit(X, y).predict(X))


@pytest.mark.parametrize("variant", [name for name in VARIANTS if not VARIANTS[name].batch])
def test_batches_of_a_stream_make_the_boxes_of_one(variant):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    first = [int(X[:, j].argmin()) for j in range(4)] + [int(X[:, j].argmax()) for j in range(4)]
    order = np.array(list(dict.fromkeys([*first, *range(len(y))])))  # all ranges are known from the start
    X, y = X[order], y[order]
    whole, parts = make(variant).partial_fit(X, y), make(variant)
    for begin in range(0, len(y), 30):
        parts.partial_fit(X[begin : begin + 30], y[begin : begin + 30], classes=[0, 1, 2])
    assert {*map(tuple, parts.boxes_.lower)} == {*map(tuple, whole.boxes_.lower)}
    assert {*map(tuple, parts.boxes_.upper)} == {*map(tuple, whole.boxes_.upper)}


def test_a_stream_widens_its_ranges_and_refuses_new_classes_and_categories():
    model = FMMClassifier("iol", max_width=0.5).partial_fit([[0.0], [1.0]], ["a", "b"])
    model.partial_fit([[100.0], [120.0]], ["a", "b"])
    assert_array_equal(model.predict([[99.0], [121.0]]), ["a", "b"])
    assert len(model.boxes_) == 4
    with pytest.raises(ValueError, match="'c'"):
        model.partial_fit([[0.0]], ["c"])
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "blue"])})
    model = FMMClassifier("iol").partial_fit(frame, [0, 1])
    with pytest.raises(ValueError, match="'green'"):
        model.partial_fit(pd.DataFrame({"colour": pd.Categorical(["red", "green"])}), [0, 1])


# -- intervals, missing values, categories ---------------------------------------------------------


def test_interval_rows_are_inside_the_boxes_they_make():
    X, y = load_iris(return_X_y=True)
    upper = X + np.random.default_rng(0).random(X.shape) * 0.2
    model = published("iol", max_width=0.4).fit(X, y, upper=upper)
    covered = (model.boxes_.contains(X) & model.boxes_.contains(upper)).any(axis=1)
    assert covered.mean() > 0.95
    assert f1_score(y, model.predict(X, upper=upper), average="macro") > 0.95
    assert_array_equal(
        published("iol").fit(X, y, upper=X).boxes_.lower, published("iol").fit(X, y).boxes_.lower
    )
    with pytest.raises(ValueError, match="give one cell for each"):
        model.predict(X, upper=X[:3])
    with pytest.raises(ValueError, match=r"row 0, column 'x0': X is .* and upper is"):
        model.fit(X, y, upper=X - 1)


@pytest.mark.parametrize("kind", EVERY)
def test_missing_values_speak_against_no_box(kind):
    X, y = load_iris(return_X_y=True)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    holes[7] = np.nan
    model = make(kind).fit(holes, y)
    assert f1_score(y, model.predict(holes), average="macro") > 0.85
    assert model.predict(np.full((1, 4), np.nan))[0] in y


def test_a_table_of_nothing_but_missing_values_answers_the_largest_class():
    X = np.full((5, 1), np.nan)
    with pytest.warns(UserWarning, match="no value at all"):
        model = FMMClassifier().fit(X, [1, 0, 0, 0, 1])
    assert model.predict(X).tolist() == [0] * 5
    assert model.predict_proba(X).argmax(axis=1).tolist() == [0] * 5


@pytest.mark.parametrize("kind", EVERY)
def test_boxes_name_sets_of_categories(kind):
    draw = np.random.default_rng(0)
    colour = draw.choice(["red", "green", "blue", "grey"], 200)
    size = pd.Categorical(draw.choice(["s", "m", "l"], 200), ["s", "m", "l"], ordered=True)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size, "x": draw.random(200)})
    y = np.isin(colour, ["red", "blue"])
    options = {"max_features": 3} if kind == "ensemble" else {}
    model = make(kind, **options).fit(frame, y)
    assert f1_score(y, model.predict(frame)) > 0.9
    assert model.boxes_.categories["colour"] == ("blue", "green", "grey", "red")
    unknown = pd.DataFrame({"colour": pd.Categorical(["pink"]), "size": ["m"], "x": [0.5]})
    assert model.predict(unknown)[0] in (True, False)


# -- bad wishes, large models ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_width": []}, "max_width must be"),
        ({"max_width": [0.5, -1.0]}, "max_width must be"),
        ({"sensitivity": [1.0, 2.0]}, "one for each of 4 features"),
        ({"sensitivity": [1.0, 2.0, -1.0, 1.0]}, "positive"),
        ({"variant": "fuzzy"}, "'variant' parameter"),
        ({"width_decay": 1.5}, "'width_decay' parameter"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_by_name(options, match):
    with pytest.raises(ValueError, match=match):
        FMMClassifier(**options).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="there are 4 features"):
        RandomHyperboxesClassifier(max_features=9).fit(*load_iris(return_X_y=True))


def test_a_model_file_holds_the_crisp_boxes_and_says_when_there_are_too_many(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = make("iol").fit(X, y)
    write_model(model, tmp_path / "wine.boxes.json")
    assert read_model(tmp_path / "wine.boxes.json") == model.boxes_
    draw = np.random.default_rng(0)
    X, y = draw.random((6_000, 50)), draw.integers(0, 2, 6_000)
    large = published("simpson", max_width=0.0).fit(X, y)
    with pytest.raises(ModelFormatError, match=r"does not fit into a model file.*at most 1000000 values"):
        write_model(large, tmp_path / "large.boxes.json")
    assert not (tmp_path / "large.boxes.json").exists()
