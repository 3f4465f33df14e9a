"""Laws of HyperNNClassifier: what it finds, what it obeys, and how it takes tables good and bad."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from planted import ONE_BOX, TWO_BOXES, blobs, planted
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from hyperboxes import Boxes, HyperNNClassifier
from hyperboxes.nn import fit
from hyperboxes.nn.advice import Advice
from hyperboxes.nn.settings import Settings
from hyperboxes.nn.ways import Verdict, Way, search

SHIPPED = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}


def small(n_boxes=2, **options):
    return HyperNNClassifier(n_boxes, random_state=0, **options)


# -- what it finds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_box_is_found_in_twenty_noisy_dimensions(seed):
    model = HyperNNClassifier(random_state=seed).fit(*planted(ONE_BOX, 5_000, 20, seed))
    X, y = planted(ONE_BOX, 20_000, 20, seed + 100)
    assert f1_score(y, model.predict(X)) >= 0.99
    assert model.boxes_.n_conditions <= 6
    assert_array_equal(np.flatnonzero(model.boxes_.restricted.any(axis=0)), sorted(ONE_BOX[0]))


@pytest.mark.parametrize("seed", [0, 1])
def test_two_planted_boxes_of_different_size_are_found(seed):
    model = HyperNNClassifier(random_state=seed).fit(*planted(TWO_BOXES, 5_000, 20, seed))
    X, y = planted(TWO_BOXES, 20_000, 20, seed + 100)
    assert f1_score(y, model.predict(X)) >= 0.99
    assert model.boxes_.n_conditions <= 10


@pytest.mark.parametrize("name", SHIPPED)
def test_boxes_alone_reproduce_predict_on_every_row(name):
    X, y = SHIPPED[name](return_X_y=True)
    train, _, y_train, _ = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model = small().fit(train, y_train)
    assert_array_equal(model.boxes_.predict(X), model.predict(X))
    assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-12)
    assert model.fidelity_ == 1.0
    covered = model.apply(X) >= 0
    assert_array_equal(model.boxes_.labels[model.apply(X)[covered]], model.predict(X)[covered])


def test_auto_uses_one_box_where_one_will_do_and_more_where_they_help():
    X, y = planted([{0: (0.3, 0.8)}], 600, 3, 0)
    assert len(small("auto").fit(X, y).boxes_) == 1
    four = [{0: (low, low + 0.12)} for low in (0.05, 0.3, 0.55, 0.8)]
    assert len(small("auto").fit(*planted(four, 1_500, 2, 0)).boxes_) == 4


@pytest.mark.parametrize("way", [Way(False, 0), Way(True, 2)])
def test_auto_tries_sizes_in_the_way_that_suits_the_table(way, monkeypatch):
    tried = []

    def spy(view, trained, max_boxes, way):
        tried.append((max_boxes, way))
        return search(view, trained, max_boxes, way)

    monkeypatch.setattr(fit, "choose_way", lambda *_: Verdict(way, np.zeros(0, np.int64), 0, None))
    monkeypatch.setattr(fit, "search", spy)
    small("auto").fit(*planted([{0: (0.2, 0.7)}], 200, 2, 0))
    assert {one for _, one in tried} == {way}
    assert len({size for size, _ in tried}) >= 3


@pytest.mark.parametrize("believed", [False, True])
def test_auto_tries_sizes_that_learn_from_teachers_if_so_many_boxes_will(believed, monkeypatch):
    tried = {}

    def spy(view, trained, max_boxes, way):
        tried[max_boxes] = way.answered
        return search(view, trained, max_boxes, way)

    advice = Advice(np.zeros(0, bool), 1.0 if believed else -1.0, 0.5, few=False)
    monkeypatch.setattr(fit, "teachers_advice", lambda *_: advice)
    monkeypatch.setattr(fit, "asks_teachers", lambda _, max_boxes: max_boxes > 2)
    monkeypatch.setattr(fit, "search", spy)
    small("auto").fit(*planted([{0: (0.2, 0.7)}], 200, 2, 0))
    assert {2, 4} <= set(tried)
    assert tried == {size: believed and size > 2 for size in tried}


def test_gradient_in_torch_and_compiled_find_the_same_planted_box():
    X, y = planted([{0: (0.2, 0.7), 2: (0.3, 0.9)}], 1_000, 4, 0)
    for options in ({}, {"loss": "bce", "max_iter": 40}, {"loss": "soft_f1", "max_iter": 40}):
        model = small(1, **options).fit(X, y)
        assert f1_score(y, model.predict(X)) > 0.98, options


# -- invariance ------------------------------------------------------------------------------------


def test_fit_forgets_an_earlier_fit():
    A, B = blobs(seed=0), blobs(n=90, d=3, seed=1)
    assert small().fit(*A).fit(*B).boxes_ == small().fit(*B).boxes_


def test_same_seed_same_boxes_and_row_order_does_not_matter():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = small().fit(X, y)
    assert small().fit(X, y).boxes_ == model.boxes_
    assert small().fit(X[order], y[order]).boxes_ == model.boxes_


def test_scaling_a_column_by_a_power_of_two_scales_its_bounds():
    X, y = load_iris(return_X_y=True)
    scale = np.array([1.0, 2.0**40, 2.0**-30, 1.0])
    small_boxes, large = small().fit(X, y == 1), small().fit(X * scale, y == 1)
    assert_array_equal(large.predict(X * scale), small_boxes.predict(X))


def test_permuted_columns_permute_the_boxes():
    X, y = planted(ONE_BOX, 5_000, 20, 0)
    order = np.random.default_rng(1).permutation(20)
    model = HyperNNClassifier(random_state=0).fit(X[:, order], y)
    found = order[np.flatnonzero(model.boxes_.restricted.any(axis=0))]
    assert_array_equal(np.sort(found), sorted(ONE_BOX[0]))


def test_renamed_classes_rename_the_labels():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])
    number, text = small().fit(X, y), small().fit(X, names[y])
    assert_array_equal(text.predict(X), names[number.predict(X)])
    assert text.predict(X).dtype.kind == "U"


def test_a_frame_gives_the_boxes_of_the_array_plus_names():
    X, y = load_iris(return_X_y=True)
    names = ["sl", "sw", "pl", "pw"]
    array = small().fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = small().fit(frame, y)
        assert model.boxes_.feature_names == tuple(names)
        assert_array_equal(model.boxes_.lower, array.boxes_.lower)
        assert_array_equal(model.predict(frame), array.predict(X))


SCRIPT = """
import hashlib, sys
import numpy as np
from sklearn.datasets import load_wine
from hyperboxes import HyperNNClassifier, write_model
X, y = load_wine(return_X_y=True)
if sys.argv[2] == "large":
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60_000, 5)); y = (np.abs(X[:, :2]) < 1).all(axis=1).astype(int)
model = HyperNNClassifier(n_boxes=2, random_state=0, **eval(sys.argv[3])).fit(X, y)
write_model(model, sys.argv[1])
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
"""


@pytest.mark.parametrize(
    ("data", "options"),
    [("wine", {}), ("large", {"max_iter": 50}), ("wine", {"loss": "bce", "max_iter": 20})],
)
def test_same_seed_same_file_bytes_at_one_and_two_threads(tmp_path, data, options):
    def digest(number, **environment):
        script = [sys.executable, "-c", SCRIPT, str(tmp_path / f"{number}.boxes.json"), data, repr(options)]
        done = subprocess.run(
            script, env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
        return done.stdout

    one = digest(1, OMP_NUM_THREADS="1", PYTHONHASHSEED="1")
    assert digest(2, OMP_NUM_THREADS="2", PYTHONHASHSEED="2", TZ="Asia/Tokyo", LC_ALL="C") == one


def test_global_random_state_is_untouched():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    small().fit(*blobs())
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


# -- what it obeys ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


def test_max_conditions_holds_for_every_box(cancer):
    model = small(5, max_conditions=2).fit(*cancer)
    for box in range(len(model.boxes_)):
        assert sum(c.n_conditions for c in model.boxes_.conditions(box)) <= 2
    assert f1_score(cancer[1], model.predict(cancer[0])) > 0.9


def test_forbidden_features_stay_open_and_required_ones_are_restricted(cancer):
    free = small(3).fit(*cancer)
    used = [cancer[0].columns[j] for j in np.flatnonzero(free.boxes_.restricted.any(axis=0))]
    model = small(3, forbidden_features=used, required_features=["mean symmetry"]).fit(*cancer)
    restricted = dict(zip(cancer[0].columns, model.boxes_.restricted.T, strict=True))
    assert not any(restricted[name].any() for name in used if name != "mean symmetry")
    assert restricted["mean symmetry"].all()


def test_monotone_features_have_one_sided_bounds(cancer):
    model = small(4, monotonic_cst={"worst area": -1, "mean texture": 1}).fit(*cancer)
    columns = list(cancer[0].columns)
    assert np.isneginf(model.boxes_.lower[:, columns.index("worst area")]).all()
    assert np.isposinf(model.boxes_.upper[:, columns.index("mean texture")]).all()


def test_min_support_is_a_least_number_of_rows(cancer):
    for least in (100, 100 / len(cancer[1])):
        model = small(8, min_support=least).fit(*cancer)
        assert len(model.boxes_) >= 1
        assert (model.boxes_.contains(cancer[0]).sum(axis=0) >= 100).all()


def test_positive_label_chooses_the_described_class(cancer):
    model = small(positive_label=0).fit(*cancer)
    assert set(model.boxes_.labels.tolist()) == {0}
    assert model.boxes_.default == 1


def test_positive_label_merges_the_other_text_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = small(positive_label="versicolor").fit(X, names)
    assert model.classes_.tolist() == ["not versicolor", "versicolor"]
    assert f1_score(names == "versicolor", model.predict(X) == "versicolor") > 0.9
    with pytest.raises(ValueError, match="y == 1"):
        small(positive_label=1).fit(X, y)


def test_n_boxes_by_class_limits_each_class():
    X, y = load_iris(return_X_y=True)
    model = small({0: 1, 1: 2}).fit(X, y)
    counts = {label: int((model.boxes_.labels == label).sum()) for label in (0, 1, 2)}
    assert counts[0] == 1
    assert 1 <= counts[1] <= 2
    assert counts[2] == 0
    with pytest.raises(ValueError, match="'virginica'"):
        small({"virginica": 1}).fit(X, y)


def test_uncovered_rows_get_the_default_the_nearest_or_no_answer():
    X, y = load_iris(return_X_y=True)
    far = np.random.default_rng(0).uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(500, 4))
    default = small(uncovered="default").fit(X, y)
    nearest = small(uncovered="nearest").fit(X, y)
    reject = small(uncovered="reject").fit(X, y)
    outside = default.boxes_.apply(far) < 0
    assert outside.any()
    assert set(default.predict(far[outside])) == {default.boxes_.default}
    assert len(set(nearest.predict(far))) > 1
    assert all(answer is None for answer in reject.predict(far[outside]))
    assert_array_equal(reject.apply(X) >= 0, [answer is not None for answer in reject.predict(X)])
    assert len(small(uncovered="reject").fit(X, y == 0).boxes_.labels) >= 2


def test_frozen_boxes_stay_and_decide_first():
    X, y = load_iris(return_X_y=True)
    names = ("x0", "x1", "x2", "x3")
    rule = Boxes.from_rules([({"x2": (None, 2.5)}, 0)], default=0, feature_names=names)
    model = small(init=rule, frozen=True).fit(X, y)
    assert_array_equal(model.boxes_.upper[0], rule.upper[0])
    assert model.boxes_.labels[0] == 0
    assert (model.boxes_.labels == 0).sum() == 1, "nothing is left to learn about what the frozen box decides"
    assert (model.boxes_.apply(X)[y == 0] == 0).all()
    assert f1_score(y, model.predict(X), average="macro") > 0.9


def test_given_boxes_are_a_start_that_learning_improves():
    X, y = planted([{0: (0.2, 0.7), 2: (0.3, 0.9)}], 1_000, 4, 0)
    names = ("x0", "x1", "x2", "x3")
    rough = Boxes.from_rules([({"x0": (0.3, 0.9)}, True)], default=False, feature_names=names)
    model = small(init=rough).fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.98 > f1_score(y, rough.predict(X))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"forbidden_features": ["zz"]}, "'zz'"),
        ({"required_features": [9]}, "9"),
        ({"forbidden_features": [0], "required_features": [0]}, "both forbidden and required"),
        ({"monotonic_cst": [1, 0]}, "for each of 4"),
        ({"monotonic_cst": {"x0": 2}}, "-1, 0 or 1"),
        ({"required_features": [0, 1], "max_conditions": 1}, "do not fit"),
        ({"frozen": True}, "init to be Boxes"),
        ({"positive_label": "maybe"}, "'maybe'"),
        ({"init": Boxes.from_rules([({"a": (0, 1)}, 1)], default=0)}, "'a'"),
    ],
)
def test_contradictory_wishes_are_refused_by_name(options, match):
    X, y = blobs(classes=2)
    with pytest.raises(ValueError, match=match):
        small(**options).fit(X, y)


# -- the paper's recipe and the soft decision ------------------------------------------------------


def test_the_papers_recipe_learns_and_its_soft_decision_nearly_agrees_with_its_boxes():
    X, y = planted([{0: (0.2, 0.8), 1: (0.1, 0.7)}], 400, 2, 0)
    model = small(2, recipe="paper", max_iter=800).fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.9
    assert model.fidelity_ > 0.9
    assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    crisp = small(2, recipe="paper", max_iter=800, decision="crisp").fit(X, y)
    assert_array_equal(crisp.predict(X), crisp.boxes_.predict(X))
    assert crisp.boxes_ == model.boxes_


def test_a_soft_decision_over_final_boxes_is_close_to_them():
    X, y = load_iris(return_X_y=True)
    model = small(decision="soft").fit(X, y == 1)
    assert model.fidelity_ > 0.9


def test_softmax_trains_all_classes_together():
    X, y = load_iris(return_X_y=True)
    model = small(1, loss="softmax", max_iter=60).fit(X, y)
    assert f1_score(y, model.predict(X), average="macro") > 0.9


# -- tables ----------------------------------------------------------------------------------------


def patients(n=300, seed=0):
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 90, n),
            "sex": pd.Categorical(draw.choice(["f", "m"], n)),
            "stage": pd.Categorical(
                draw.choice(["I", "II", "III"], n), categories=["I", "II", "III"], ordered=True
            ),
            "site": pd.Categorical(draw.choice(list("abcde"), n)),
            "smoker": draw.random(n) < 0.4,
            "marker": pd.array(np.where(draw.random(n) < 0.2, np.nan, draw.normal(size=n))).astype("Float64"),
        }
    )
    ill = (frame["age"] >= 50) & frame["site"].isin(["b", "d"]) & (frame["stage"] != "I")
    return frame, np.where(ill, "ill", "well")


def test_categories_are_found_and_printed_as_sets():
    frame, y = patients(800)
    model = small(positive_label="ill").fit(frame, y)
    assert f1_score(y == "ill", model.predict(frame) == "ill") > 0.99
    conditions = {c.name: c for c in model.boxes_.conditions(0)}
    assert set(conditions["site"].categories) == {"b", "d"}
    assert set(conditions["stage"].categories) == {"II", "III"}
    assert 48 <= conditions["age"].lower <= 52
    strange = frame.assign(site=pd.Categorical(["z"] * len(frame)))
    assert set(model.predict(strange)) == {"well"}
    polars = pl.from_pandas(frame.assign(sex=frame["sex"].astype(str), site=frame["site"].astype(str)))
    assert_array_equal(model.predict(polars), model.predict(frame))


def test_missing_values_are_kept_out_by_a_restricted_feature_only():
    X, y = planted([{0: (0.2, 0.7)}], 600, 3, 0)
    X[::5, 1] = np.nan
    model = small(1).fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.98
    hole = np.array([[np.nan, 0.5, 0.5], [0.5, np.nan, np.nan]])
    assert_array_equal(model.predict(hole), [False, True])


def test_informative_missingness_can_be_used():
    X, _ = planted([], 400, 2, 0)
    X[:, 1] = np.where(np.arange(400) % 2, X[:, 1], np.nan)
    model = small(1).fit(X, ~np.isnan(X[:, 1]))
    assert f1_score(~np.isnan(X[:, 1]), model.predict(X)) > 0.6


def test_constant_empty_and_repeated_columns_are_no_obstacle():
    X, y = load_iris(return_X_y=True)
    wide = np.column_stack([X, np.full(len(X), 7.0), X[:, 2], np.full(len(X), np.nan)])
    with pytest.warns(UserWarning, match="'x6' holds no value"):
        model = small().fit(wide, y)
    assert not model.boxes_.restricted[:, 4].any()
    assert not model.boxes_.restricted[:, 6].any()
    assert f1_score(y, model.predict(wide), average="macro") > 0.9


@pytest.mark.parametrize("scale", [1e300, 1.7e308, 5e-324, 1e-300])
def test_extreme_magnitudes_give_finite_ordered_bounds(scale):
    draw = np.random.default_rng(0)
    X = np.column_stack([draw.choice([-1.0, -0.5, 0.5, 1.0], 200) * scale, draw.normal(size=200)])
    y = X[:, 0] > 0
    model = small(1).fit(X, y)
    assert_array_equal(model.predict(X), y)
    finite = np.isfinite(model.boxes_.lower)
    assert (np.abs(model.boxes_.lower[finite]) <= np.abs(X).max()).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_heavy_tails_and_rare_positives_still_give_boxes(seed):
    draw = np.random.default_rng(seed)
    X = draw.standard_cauchy(size=(20_000, 4))
    y = (np.abs(X[:, 0] - 3) < 0.02) & (X[:, 1] > 0)
    assert 5 <= y.sum() <= 60
    model = small(2).fit(X, y)
    assert f1_score(y, model.predict(X)) > 0.8


@pytest.mark.parametrize("layout", ["C", "F", "strided", "readonly", "float32", "int8", "bool"])
def test_memory_layout_and_type_do_not_matter_and_input_is_unchanged(layout):
    draw = np.random.default_rng(0)
    X = draw.integers(0, 2 if layout == "bool" else 20, size=(200, 3)).astype(float)
    y = X[:, 0] > X[:, 0].mean()
    same = {
        "C": X.copy(order="C"),
        "F": X.copy(order="F"),
        "strided": np.repeat(X, 2, axis=1)[:, ::2][::-1][::-1],
        "readonly": X.copy(),
        "float32": X.astype(np.float32),
        "int8": X.astype(np.int8),
        "bool": X.astype(bool),
    }[layout]
    if layout == "readonly":
        same.flags.writeable = False
    before = same.tobytes()
    assert small().fit(same, y).boxes_ == small().fit(X, y).boxes_
    assert same.tobytes() == before


# -- bad input -------------------------------------------------------------------------------------

X4, Y4 = blobs(60, classes=2)


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        (np.empty((0, 3)), [], ValueError, r"0 sample\(s\)"),
        (np.empty((3, 0)), [0, 1, 0], ValueError, r"0 feature\(s\)"),
        (np.zeros(5), [0, 1, 0, 1, 0], ValueError, "Reshape your data"),
        (np.float64(3), [0], ValueError, "2D array"),
        (X4[:1], Y4[:1], ValueError, r"1 sample\(s\)"),
        (np.where(np.eye(60, 4) * np.eye(60, 4) > 0, np.inf, X4), Y4, ValueError, "column 'x0', row 0"),
        ([["1", "2"], ["3", "4"]], [0, 1], ValueError, "'x0' holds text"),
        (pd.DataFrame({"a": ["1", "2"]}), [0, 1], ValueError, "'a' holds text"),
        (
            pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020", "2021"])}),
            [0, 1],
            TypeError,
            "'when'",
        ),
        (pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]), [0, 1], ValueError, r"\['a'\]"),
        (X4 * 1j, Y4, ValueError, "Complex data not supported"),
        (X4, Y4[:-1], ValueError, "inconsistent"),
        (X4, np.where(np.arange(60) == 7, np.nan, Y4), ValueError, "row 7"),
        (X4, np.linspace(0, 1, 60), ValueError, "Unknown label type"),
        (X4, np.array(["a", 1] * 30, dtype=object), ValueError, "row 0 is 'a', row 1 is 1"),
        (X4, np.column_stack([Y4, Y4]), ValueError, "1d array"),
    ],
)
def test_bad_input_is_refused_with_what_and_where(X, y, error, match):
    with pytest.raises(error, match=match):
        small().fit(X, y)


def test_wrong_columns_at_predict_are_listed():
    frame = pd.DataFrame(X4, columns=list("abcd"))
    model = small(1).fit(frame, Y4)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[list("badc")])
    with pytest.raises(ValueError, match="- d"):
        model.predict(frame[list("abc")])
    with pytest.raises(ValueError, match="- e"):
        model.predict(frame.assign(e=1))
    with pytest.raises(ValueError, match="3 features"):
        small(1).fit(X4, Y4).predict(X4[:, :3])


def test_one_class_is_learned_with_a_warning():
    with pytest.warns(UserWarning, match="one class only, 'yes'"):
        model = small().fit(X4, ["yes"] * len(X4))
    assert set(model.predict(X4)) == {"yes"}


def test_weights_must_not_be_negative_or_all_zero():
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        small().fit(X4, Y4, sample_weight=np.full(60, -1.0))
    with pytest.raises(ValueError, match="non-zero"):
        small().fit(X4, Y4, sample_weight=np.zeros(60))


def test_sparse_tables_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="toarray"):
        small().fit(csr_array(X4), Y4)


def test_a_category_of_its_own_for_every_row_is_not_asked_for():
    frame = pd.DataFrame({"id": pd.Categorical([f"p{i}" for i in range(300)]), "v": np.arange(300.0)})
    model = small().fit(frame, np.arange(300) > 200)
    assert model.predict(frame.assign(id="p0")).tolist() == (np.arange(300) > 200).tolist()
    assert model.boxes_.allowed["id"].all()


# -- answers and streams ---------------------------------------------------------------------------


def test_membership_is_high_inside_and_falls_outside():
    X, y = planted([{0: (0.2, 0.7)}], 600, 2, 0)
    model = small(1).fit(X, y)
    near = model.membership([[0.45, 0.5], [0.71, 0.5], [0.9, 0.5], [np.nan, 0.5]])[:, 0]
    assert near[0] > 0.9 > near[1] > near[2] > near[3] == 0
    assert ((model.membership(X) > 0.25).any(axis=1) >= (model.apply(X) >= 0)).all()


def test_membership_of_missing_values_is_full_where_they_are_asked_for():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"a": draw.normal(size=400), "c": pd.Categorical(draw.choice(list("xyz"), 400))})
    X.loc[draw.random(400) < 0.3, "c"] = None
    X.loc[draw.random(400) < 0.3, "a"] = np.nan
    for y in (X["a"].isna(), X["c"].isna()):
        model = small(1, positive_label=True).fit(X, y)
        inside = model.membership(X)[:, 0]
        assert (inside[y] == 1).all()
        assert (inside[~y] < 0.25).all()
        assert model.fidelity_ == 1


def test_counts_are_the_weights_of_the_training_rows_by_deciding_box_and_class():
    X, y = load_wine(return_X_y=True)
    weight = 1.0 + np.arange(len(y)) % 3
    for labels in (y, y == 1):
        model = HyperNNClassifier(n_boxes=2, random_state=0, max_iter=50).fit(X, labels, weight)
        decided = model.boxes_.decide(X)
        classes = model.classes_
        expected = [
            [weight[(decided == box) & (labels == label)].sum() for label in classes]
            for box in [*range(model.boxes_.n_boxes), -1]
        ]
        np.testing.assert_allclose(model.boxes_.counts, expected)


def test_importances_point_to_the_planted_features():
    X, y = planted(ONE_BOX, 2_000, 20, 0)
    importance = HyperNNClassifier(3, random_state=0).fit(X, y).feature_importances_
    assert importance.sum() == pytest.approx(1)
    assert set(np.argsort(importance)[-3:]) == set(ONE_BOX[0])


def test_explain_names_the_rule_and_a_change_that_works():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = small().fit(X, y == 2)
    for row in (0, 60, 120):
        told = model.explain(X.iloc[[row]])
        assert told.prediction == model.predict(X.iloc[[row]])[0]
        change = told.smallest_change
        moved = X.iloc[[row]].assign(**change.values)
        assert model.predict(moved)[0] == change.prediction != told.prediction
        assert str(told)


def test_history_and_iterations_are_kept():
    model = small(max_iter=120).fit(*blobs())
    assert model.n_iter_ == 120
    assert set(model.history_) == {"step", "loss", "f1", "temperature"}
    assert (np.diff(model.history_["temperature"]) < 0).all()


def test_partial_fit_learns_from_a_stream_and_new_categories():
    X, y = planted(ONE_BOX, 3_000, 20, 0)
    model = small(3)
    for part in np.array_split(np.arange(3_000), 3):
        model.partial_fit(X[part], y[part], classes=[False, True])
    assert f1_score(y, model.predict(X)) > 0.97
    frame, sick = patients()
    stream = small(2).partial_fit(frame, sick)
    stream.partial_fit(frame.assign(site=pd.Categorical(["new"] * len(frame))), sick)
    assert "new" in stream.boxes_.categories["site"]
    with pytest.raises(ValueError, match="'dead', which is not among"):
        stream.partial_fit(frame, ["dead"] * len(frame))
    assert stream.fit(frame, sick).boxes_ == small(2).fit(frame, sick).boxes_
    more = patients(seed=1)
    fresh = small(2).fit(frame, sick)
    assert stream.partial_fit(*more).boxes_ == fresh.partial_fit(*more).boxes_, "fit forgets the stream"


def test_settings_are_a_recipe_of_their_own():
    X, y = blobs()
    one = small(recipe=Settings(starts=("tree",), n_steps=50)).fit(X, y)
    assert one.n_iter_ == 50
    assert one.boxes_ == small(init="tree", max_iter=50).fit(X, y).boxes_


def test_categories_of_an_array_are_its_values_at_fit_and_at_predict():
    draw = np.random.default_rng(0)
    X = np.column_stack([draw.choice([10.0, 20.0, 30.0], 300), draw.normal(size=300)])
    y = X[:, 0] == 20
    model = small(1, categorical_features=[0]).fit(X, y)
    assert_array_equal(model.predict(X), y)
    assert model.boxes_.conditions(0)[0].categories == (20.0,)
