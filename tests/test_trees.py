"""A decision tree read as boxes gives its answers, on every row of float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from hyperboxes import Boxes
from hyperboxes.rules import to_text
from hyperboxes.trees import last_left

finite32 = st.floats(allow_nan=False, width=32, min_value=-(2.0**127), max_value=2.0**127)


@given(st.floats(-3e38, 3e38) | finite32, finite32)
def test_the_last_double_that_goes_left_is_the_last_one(threshold, other):
    last = float(last_left(np.array([threshold]))[0])
    following = np.nextafter(last, np.inf)
    assert float(np.float32(last)) <= threshold
    assert not float(np.float32(following)) <= threshold
    assert (float(np.float32(other)) <= threshold) == (other <= last)


def table(rng, rows, gaps):
    X = rng.normal(size=(rows, 3)) * 10.0 ** rng.integers(-3, 4, 3)
    if rng.random() < 0.5:
        X = np.round(X, 1)
    if rng.random() < 0.2:
        X *= 2.0**-140  # float32 has few digits left down here
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def beside(tree, X, rng, rows):
    """Rows made of thresholds, bounds, their neighbours in both precisions, and missing values."""
    threshold = np.unique(tree.tree_.threshold[np.isfinite(tree.tree_.threshold)])
    single = threshold.astype(np.float32)
    pool = [X.ravel(), threshold, last_left(threshold), [np.nan] * 5]
    pool += [np.nextafter(last_left(threshold), side) for side in (-np.inf, np.inf)]
    pool += [np.nextafter(single, np.float32(side)).astype(np.float64) for side in (-np.inf, np.inf)]
    cells = np.concatenate(pool)
    return rng.choice(cells[~(np.abs(cells) > 3e38)], (rows, X.shape[1]))


@pytest.mark.parametrize("seed", range(60))
def test_boxes_of_a_tree_answer_as_the_tree(seed):
    rng = np.random.default_rng(seed)
    X = table(rng, rng.integers(5, 200), gaps=(0, 0.2, 0.6)[seed % 3])
    y = rng.integers(0, 3, len(X)) if seed % 2 else rng.choice(["a", "b"], len(X))
    weight = rng.uniform(0.5, 2, len(X)) if seed % 5 == 0 else None
    kind = ExtraTreeClassifier if seed % 7 == 0 else DecisionTreeClassifier
    tree = kind(max_depth=int(rng.integers(1, 9)), random_state=seed).fit(X, y, weight)
    boxes = Boxes.from_tree(tree)
    rows = beside(tree, X, rng, 5000)
    assert boxes.predict(rows).tolist() == tree.predict(rows).tolist()
    total = [(1 if weight is None else weight)[y == label].sum() if weight is not None else (y == label).sum()
             for label in tree.classes_]  # fmt: skip
    np.testing.assert_allclose(boxes.counts.sum(axis=0), total)


def test_a_split_by_whether_there_is_a_value_is_read():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    tree = DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1])
    assert np.isinf(tree.tree_.threshold[0])
    boxes = Boxes.from_tree(tree)
    assert boxes.predict([[5.0], [-1e300], [np.nan]]).tolist() == [0, 0, 1]


def test_leaves_that_say_the_same_are_one_box_and_conditions_are_few():
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    boxes = Boxes.from_tree(tree)
    assert boxes.feature_names == tuple(X.columns)
    assert boxes.n_boxes < tree.get_n_leaves()
    splits = tree.get_n_leaves() - 1
    assert all(len(boxes.conditions(box)) <= splits for box in range(boxes.n_boxes))
    assert "ELSE IF" in to_text(boxes)


def test_no_box_is_inside_a_next_one_of_its_class():
    X, y = load_breast_cancer(return_X_y=True)
    boxes = Boxes.from_tree(DecisionTreeClassifier(random_state=0).fit(X, y))
    same = boxes.labels[:-1] == boxes.labels[1:]
    assert not (np.diag(boxes.covers(), k=-1) & same).any()
    assert boxes.labels[-1] != boxes.default


def test_a_tree_of_one_leaf_is_its_default():
    tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    boxes = Boxes.from_tree(tree, feature_names=["x"])
    assert (boxes.n_boxes, boxes.default) == (0, "a")


def test_probabilities_are_the_trees_shares_smoothed():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    boxes = Boxes.from_tree(tree)
    assert (boxes.predict_proba(X).argmax(axis=1) == tree.predict_proba(X).argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (DecisionTreeClassifier(), "fit it first"),
        (3, "give a DecisionTreeClassifier"),
        (DecisionTreeRegressor().fit([[1], [2]], [1.0, 2.0]), "predicts numbers"),
        (DecisionTreeClassifier().fit([[1], [2]], [[0, 1], [1, 0]]), "2 outputs"),
    ],
)
def test_what_is_no_classification_tree_is_refused(tree, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Boxes.from_tree(tree)
