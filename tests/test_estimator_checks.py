"""scikit-learn's own checks, those its generator leaves out, and how models behave inside its tools."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from planted import blobs
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperboxes import (
    FMMClassifier,
    HyperNNClassifier,
    PRIMClassifier,
    PRIMRegressor,
    RandomHyperboxesClassifier,
)
from hyperboxes.fmm import VARIANTS

CLASSIFIERS = [HyperNNClassifier(), PRIMClassifier(), FMMClassifier()]
ESTIMATORS = [
    HyperNNClassifier(),
    PRIMClassifier(),
    PRIMRegressor(),
    *(FMMClassifier(variant) for variant in VARIANTS),
    RandomHyperboxesClassifier(n_estimators=10),
]


@parametrize_with_checks(ESTIMATORS, xfail_strict=True)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_check(estimator, check):
    check(estimator)


def _check_omitted(name, estimator):
    X, y = blobs()
    kind, check = type(estimator).__name__, getattr(estimator_checks, name)
    match name:
        case "check_classifiers_predictions":
            for labels in (y, y == 1, np.array(["one", "two", "three"])[y]):
                check(X, labels, kind, estimator)
        case "check_estimators_data_not_an_array":
            for wrapped in ("NotAnArray", "PandasDataframe"):
                check(kind, estimator, X, y, wrapped)
        case "check_class_weight_balanced_classifiers":
            check(kind, estimator, *_shifted_prior(), None)
        case _:
            check(kind, estimator)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize(
    "name",
    [
        "check_param_validation",
        "check_dataframe_column_names_consistency",
        "check_classifiers_predictions",
        "check_class_weight_balanced_classifiers",
        "check_estimators_data_not_an_array",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_check_that_the_generator_omits(estimator, name):
    _check_omitted(name, clone(estimator))


def _shifted_prior():
    """Overlapping classes, one of them rare in training but not in the test: balancing must help."""
    draw = np.random.default_rng(0)
    y = np.repeat([0, 1], 2000)
    X = draw.normal(size=(4000, 2)) + 1.5 * y[:, None]
    train = (np.arange(4000) % 2 == 0) & ((y == 0) | (np.arange(4000) % 20 == 0))
    test = np.arange(4000) % 2 == 1
    return X[train], y[train], X[test], y[test]


@pytest.fixture(scope="module")
def fitted():
    return HyperNNClassifier(n_boxes=2, random_state=0).fit(*blobs())


def test_clone_of_a_fitted_one_is_unfitted(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(blobs()[0])


def test_pickle_gives_the_same_answers(fitted):
    X, _ = blobs(seed=1)
    copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert copy.boxes_ == fitted.boxes_
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))


def test_works_in_pipeline_grid_search_and_parallel_cross_validation():
    X, y = blobs()
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"), HyperNNClassifier(random_state=0)
    )
    search = GridSearchCV(pipeline, {"hypernnclassifier__n_boxes": [1, 2]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert "x0" in pipeline.fit(X, y)[-1].boxes_.feature_names
    scores = cross_val_score(HyperNNClassifier(n_boxes=1, random_state=0), X, y, cv=2, n_jobs=2)
    np.testing.assert_array_equal(
        scores, cross_val_score(HyperNNClassifier(n_boxes=1, random_state=0), X, y, cv=2)
    )


def test_column_transformer_hands_names_over():
    X, y = blobs()
    frame = pd.DataFrame(X, columns=list("abcd"))
    chosen = make_column_transformer(("passthrough", ["a", "d"]), verbose_feature_names_out=False)
    model = make_pipeline(chosen.set_output(transform="pandas"), HyperNNClassifier(n_boxes=1)).fit(frame, y)
    assert model[-1].feature_names_in_.tolist() == ["a", "d"]


def test_sample_weight_is_routed():
    X, y = blobs()
    with sklearn.config_context(enable_metadata_routing=True):
        model = HyperNNClassifier(n_boxes=1, random_state=0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"max_conditions": [2, 3]}, cv=2)
        search.fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert 2 not in search.best_estimator_.boxes_.labels


def test_weights_and_repetitions_give_the_same_model_to_the_last_bit():
    X, y = blobs(80, seed=5)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    heavy = HyperNNClassifier(n_boxes=2, random_state=0).fit(X, y, sample_weight=weight)
    again = HyperNNClassifier(n_boxes=2, random_state=0).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert heavy.boxes_ == again.boxes_


def test_no_warning_on_clean_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HyperNNClassifier(n_boxes=1, random_state=0).fit(*blobs())
