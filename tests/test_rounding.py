from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier
from strategies import boxes_and_table

from hyperboxes import Boxes, round_bounds
from hyperboxes.rounding import _digits


@settings(max_examples=settings().max_examples // 2)
@given(boxes_and_table(), st.data())
def test_without_a_loss_no_answer_changes_and_no_bound_gets_longer(drawn, data):
    made, X = drawn
    if not len(made.classes):
        return
    y = data.draw(st.lists(st.sampled_from(made.classes.tolist()), min_size=len(X), max_size=len(X)))
    rounded = round_bounds(made, X, np.array(y, dtype=made.classes.dtype))
    assert rounded.boxes.decide(X).tolist() == made.decide(X).tolist()
    assert rounded.changed == 0
    assert rounded.loss == 0
    for move in rounded.moves:
        assert _digits(move.after) < _digits(move.before)


@pytest.mark.parametrize("scoring", ["f1", "accuracy"])
@pytest.mark.parametrize("max_loss", [0.0, 0.01, 0.05])
def test_the_cost_stays_within_what_was_allowed_and_is_reported(max_loss, scoring):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.where(y == 0, "malignant", "benign")
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    made = Boxes.from_tree(tree)
    rounded = round_bounds(made, X, y, max_loss=max_loss, scoring=scoring)

    def score(boxes):
        answers = boxes.predict(X)
        if scoring == "accuracy":
            return (answers == y).mean()
        return f1_score(y, answers, average="macro")

    assert rounded.loss == pytest.approx(score(made) - score(rounded.boxes))
    assert rounded.loss <= max_loss + 1e-12
    assert rounded.changed == (made.predict(X) != rounded.boxes.predict(X)).sum()
    assert rounded.boxes.counts.sum() == len(X)
    bounds = rounded.boxes.upper[np.isfinite(rounded.boxes.upper)]
    assert max(map(_digits, bounds.tolist())) <= 6  # the tree's have up to seventeen
    assert f"{len(rounded.moves)} bounds rounded" in str(rounded)


def test_allowing_a_loss_makes_bounds_shorter():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    made = Boxes.from_tree(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y))

    def length(boxes):
        bounds = np.concatenate(
            [boxes.lower[np.isfinite(boxes.lower)], boxes.upper[np.isfinite(boxes.upper)]]
        )
        return sum(map(_digits, bounds.tolist()))

    free, paid = (round_bounds(made, X, y, max_loss=loss).boxes for loss in (0.0, 0.03))
    assert length(paid) < length(free) < length(made)


def test_a_bound_never_moves_far_in_its_column():
    years = np.linspace(2008, 2020, 50)[:, None]
    made = Boxes.from_rules([({"year": (2013.7, None)}, 1)], default=0)
    rounded = round_bounds(made, years, made.predict(years), max_loss=0.5)
    assert rounded.boxes.lower[0, 0] == 2014


def test_one_class_is_scored_by_its_own_f1():
    X = np.arange(100.0)[:, None]
    y = np.where(X[:, 0] >= 43, "ill", "well")
    made = Boxes.from_rules([({"a": (42.6, None)}, "ill")], default="well")
    rounded = round_bounds(made, X, y, max_loss=1.0)
    assert rounded.boxes.lower[0, 0] == 40
    assert rounded.changed == 3
    assert rounded.loss == pytest.approx(1 - 2 * 57 / (57 + 60))


def test_nearest_boxes_are_rounded_without_another_answer():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (300, 2))
    made = Boxes.from_rules(
        [
            ({"a": (1.234, 3.456), "b": (1.234, 3.456)}, "x"),
            ({"a": (6.789, 8.765), "b": (5.4321, 9.876)}, "y"),
        ],
        default="x",
    )
    made = dataclasses.replace(made, uncovered="nearest", scale=[1.0, 1.0])
    rounded = round_bounds(made, X, made.predict(X))
    assert (rounded.boxes.decide(X) == made.decide(X)).all()
    assert rounded.moves


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_loss": -1}, "max_loss"), ({"max_loss": np.nan}, "max_loss"), ({"scoring": "auc"}, "scoring")],
)
def test_impossible_options_are_named(options, message):
    made = Boxes.from_rules([({"a": (0, 1)}, 1)], default=0)
    with pytest.raises(ValueError, match=message):
        round_bounds(made, [[0.5]], [1], **options)
