"""Displays show what the boxes ask, for few and for many features and boxes."""

from __future__ import annotations

import dataclasses
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hostile import TEXTS
from patients import patients
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from hyperboxes import Boxes
from hyperboxes.plot import (
    COLOURS,
    BoxesDisplay,
    IntervalsDisplay,
    PairsDisplay,
    ParallelDisplay,
    QualityDisplay,
)
from hyperboxes.summary import summarize

matplotlib.use("agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

OVER_FEATURES = [BoxesDisplay, PairsDisplay, IntervalsDisplay, ParallelDisplay]
DISPLAYS = [*OVER_FEATURES, QualityDisplay]
FRAME = patients(120)
Y = FRAME.pop("ill").to_numpy()
FRAME = FRAME.drop(columns="id").astype({"sex": "category", "smoker": "category"})
BOXES = Boxes.from_rules(
    [({"age": (60, None), "blood pressure": (125, 160)}, "yes"), ({"smoker": {"yes", "former"}}, "yes")],
    default="no",
    feature_names=list(FRAME.columns),
    categories={"smoker": ["yes", "no", "former"], "sex": ["female", "male"]},
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def random_boxes(n_features, n_boxes, rng):
    lower = np.where(
        rng.random((n_boxes, n_features)) < 0.15, rng.normal(-1, 0.3, (n_boxes, n_features)), -np.inf
    )
    upper = np.where(
        rng.random((n_boxes, n_features)) < 0.15, rng.normal(1, 0.3, (n_boxes, n_features)), np.inf
    )
    lower[:, :2] = -0.5
    names = [f"measurement of kind {feature}" for feature in range(n_features)]
    return Boxes(lower, upper, rng.integers(0, 5, n_boxes), names, 0, classes=range(5))


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize(("n_features", "n_boxes"), [(2, 2), (60, 30), (60, 2), (2, 30)])
def test_text_stays_inside_the_picture(display, n_features, n_boxes):
    rng = np.random.default_rng(0)
    boxes = random_boxes(n_features, n_boxes, rng)
    X = rng.normal(size=(200, n_features))
    drawn = display.from_boxes(boxes, X, rng.integers(0, 5, 200))
    figure = drawn.figure_
    figure.canvas.draw()
    for part in [*figure.axes, *figure.legends]:
        place = part.get_tightbbox()
        assert min(place.x0, place.y0) >= -1, part
        assert place.x1 <= figure.bbox.x1 + 1, part
        assert place.y1 <= figure.bbox.y1 + 1, part


@pytest.mark.parametrize("display", DISPLAYS)
def test_categories_and_gaps_are_drawn(display):
    drawn = display.from_boxes(BOXES, FRAME, Y)
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_boxes_that_ask_for_missing_values_are_drawn(display):
    boxes = Boxes.from_rules(
        [({"age": {None}, "smoker": {"yes", None}}, "yes"), ({"age": (30, None), "smoker": {None}}, "yes")],
        default="no",
        feature_names=list(FRAME.columns),
        categories={"smoker": ["yes", "no", "former", None], "sex": ["female", "male"]},
    )
    drawn = display.from_boxes(boxes, FRAME, Y)
    drawn.figure_.canvas.draw()
    if display is IntervalsDisplay:
        assert [text.get_text() for text in drawn.ax_.texts].count("missing") == 2
    if display is ParallelDisplay:
        ParallelDisplay.from_boxes(boxes, FRAME, Y, box=0).figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimators_are_read_and_must_be_fitted(display):
    class Fitted(BaseEstimator):
        def fit(self, X, y):
            self.boxes_ = BOXES
            return self

    with pytest.raises(NotFittedError):
        display.from_estimator(Fitted(), FRAME, Y)
    assert display.from_estimator(Fitted().fit(FRAME, Y), FRAME, Y).boxes is BOXES


@pytest.mark.parametrize("display", DISPLAYS)
def test_labels_of_another_number_are_refused(display):
    with pytest.raises(ValueError, match="one label for each"):
        display.from_boxes(BOXES, FRAME, ["yes"])


@pytest.mark.parametrize("display", OVER_FEATURES)
def test_unknown_features_are_named(display):
    with pytest.raises(ValueError, match="no feature 'q'"):
        display.from_boxes(BOXES, FRAME, Y, features=["age", "q"])


@pytest.mark.parametrize("display", DISPLAYS)
def test_hostile_names_and_labels_are_text(display):
    for text in ["$x^2$", "a_b$", "two\nlines", TEXTS[-1]]:
        boxes = Boxes.from_rules([({text: (0, 1), "other": (0, 1)}, text)], default=text + "!")
        X = np.array([[0.5, 0.5], [2.0, 2.0]])
        display.from_boxes(boxes, X, boxes.predict(X)).figure_.canvas.draw()
        plt.close("all")


@pytest.mark.parametrize("display", DISPLAYS)
def test_an_empty_table_and_no_boxes_are_drawn(display):
    boxes = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), [], ["a", "b", "c"], "x")
    display.from_boxes(boxes, np.zeros((5, 3)), ["x"] * 5).figure_.canvas.draw()
    two = Boxes.from_rules([({"a": (0, 1), "b": (2, None)}, "x")], default="y")
    display.from_boxes(two, np.full((4, 2), np.nan), ["x", "y", "x", "y"]).figure_.canvas.draw()


def bars(display):
    """Bars as (row, box, from, to), the ends as shares of the range of the data."""
    found = []
    for patch in display.ax_.patches:
        box = int(patch.get_x() + 1e-9)
        left = (patch.get_x() - box - 0.07) / 0.86
        row = round(patch.get_y() + patch.get_height() / 2 - 0.18)
        found.append((row, box, round(left, 6), round(left + patch.get_width() / 0.86, 6)))
    return sorted(found)


def test_bars_stand_for_what_a_box_admits():
    X = np.column_stack([np.linspace(0, 10, 21), np.linspace(-1, 1, 21)])
    boxes = Boxes.from_rules([({"a": (2, 5)}, "x"), ({"b": (None, 0), "a": (20, None)}, "y")], default="z")
    display = IntervalsDisplay.from_boxes(boxes, X, ["x"] * 21, features=["a", "b"])
    # A box beyond the data is a mark at their end.
    assert bars(display) == [(0, 0, 0.2, 0.5), (0, 1, 0.975, 1.0), (1, 1, 0.0, 0.5)]
    written = [text.get_text() for text in display.ax_.texts]
    assert {"2 to 5", "≥ 20", "≤ 0"} <= set(written)


def test_bars_of_categories_are_their_places():
    display = IntervalsDisplay.from_boxes(BOXES, FRAME, Y, features=["smoker"])
    thirds = [(0, 1, 0.0, round(1 / 3, 6)), (0, 1, round(2 / 3, 6), 1.0)]
    assert bars(display) == thirds


def test_a_rounded_bound_in_a_picture_is_marked():
    boxes = Boxes.from_rules([({"a": (0.8000000417232512, None)}, "x")], default="y")
    display = IntervalsDisplay.from_boxes(boxes, [[0.0], [1.0]], ["y", "x"])
    assert "≥ ≈0.8" in [text.get_text() for text in display.ax_.texts]


def test_only_restricted_features_are_shown_most_used_first():
    counted = dataclasses.replace(BOXES, counts=[[1, 4], [30, 20], [0, 0]])
    display = IntervalsDisplay.from_boxes(counted, FRAME, Y)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["smoker", "age", "blood pressure"]


def test_pairs_are_all_pairs():
    display = PairsDisplay.from_boxes(BOXES, FRAME, Y, features=["age", "bmi", "smoker"])
    assert [len(row) for row in display.axes_] == [1, 2, 3]
    assert [axes.get_xlabel() for axes in display.axes_[-1]] == ["age", "bmi", "smoker"]
    with pytest.raises(ValueError, match="at most 8"):
        PairsDisplay.from_boxes(BOXES, FRAME, Y, features=["age"] * 9)


def test_one_box_alone_shows_the_rows_it_decides():
    display = ParallelDisplay.from_boxes(BOXES, FRAME, Y, box=0)
    coloured = [
        len(lines.get_segments())
        for lines in display.ax_.collections
        if hasattr(lines, "get_segments") and to_hex(lines.get_colors()[0]) == COLOURS[0].lower()
    ]
    decided = (BOXES.decide(FRAME) == 0) & (Y == "yes")
    assert sum(coloured) == decided.sum()
    with pytest.raises(ValueError, match="no box 7"):
        ParallelDisplay.from_boxes(BOXES, FRAME, Y, box=7)


def test_missing_values_have_a_place_of_their_own():
    assert "missing" in [text.get_text() for text in ParallelDisplay.from_boxes(BOXES, FRAME, Y).ax_.texts]
    full = FRAME.assign(smoker="yes").ffill().bfill()
    assert "missing" not in [text.get_text() for text in ParallelDisplay.from_boxes(BOXES, full, Y).ax_.texts]


def test_quality_is_that_of_the_summary_and_grows_to_that_of_the_class():
    display = QualityDisplay.from_boxes(BOXES, FRAME, Y)
    summary = summarize(BOXES, FRAME, Y)
    recall, precision = display.growing(np.array([0, 1]))
    place = summary.classes.index("yes")
    assert recall[0] == summary.recall[0]
    assert recall[-1] == pytest.approx(summary.class_recall[place])
    assert precision[-1] == pytest.approx(summary.class_precision[place])
    marks = display.axes_[0].collections[0].get_offsets()
    np.testing.assert_allclose(marks, np.column_stack([summary.recall, summary.precision])[:2])
    assert [text.get_text() for text in display.axes_[0].texts] == ["0", "1"]


def test_many_boxes_that_say_nothing_of_two_features_are_counted_not_drawn():
    rules = [({"c": (k, k + 1)}, "x") for k in range(12)] + [({"a": (0, 1), "b": (0, 1)}, "y")]
    boxes = Boxes.from_rules(rules, default="z", feature_names=["a", "b", "c"])
    X = pd.DataFrame(np.random.default_rng(0).uniform(0, 2, (30, 3)), columns=["a", "b", "c"])
    display = BoxesDisplay.from_boxes(boxes, X, boxes.predict(X), features=["a", "b"])
    assert [text.get_text() for text in display.ax_.texts] == ["12"]
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "not drawn: 12 boxes that restrict neither" in legend


@pytest.mark.parametrize(
    ("features", "told"),
    [
        (None, "not shown: 2 features that no box restricts"),
        (["age", "sex", "bmi"], "not shown: 2 features that boxes restrict"),
        (["age", "bmi"], "not shown: 1 feature that no box restricts, 2 features that boxes restrict"),
        (list(FRAME.columns), ""),
    ],
)
def test_intervals_say_which_features_they_leave_out(features, told):
    display = IntervalsDisplay.from_boxes(BOXES, FRAME, Y, features=features)
    assert display.figure_.legends[0].get_title().get_text() == told


def test_intervals_say_that_any_value_will_do():
    boxes = Boxes.from_rules([({"width": (-sys.float_info.max, None)}, "a")], default="b")
    rows = np.array([[1.0], [2.0], [np.nan]])
    display = IntervalsDisplay.from_boxes(boxes, rows, ["a", "a", "b"])
    assert "known" in [text.get_text() for text in display.ax_.texts]
