from __future__ import annotations

import dataclasses

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from hyperboxes import Boxes
from hyperboxes.plot import COLOURS, BoxesDisplay, HistoryDisplay

matplotlib.use("agg")
from matplotlib import pyplot as plt

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (60, 3))
BOXES = Boxes.from_rules(
    [({"a": (2, 5), "c": (1, None)}, "x"), ({"c": (None, 4), "b": (3, 8)}, "y"), ({"b": (9, None)}, "x")],
    default="z",
    feature_names=["a", "b", "c"],
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def rectangles(display):
    found = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    return [
        (*patch.get_xy(), patch.get_xy()[0] + patch.get_width(), patch.get_xy()[1] + patch.get_height())
        for patch in found
    ]


def edges(display):
    """Straight lines as (x, x, y, y)."""
    return [tuple(float(v) for v in (*line.get_xdata(), *line.get_ydata())) for line in display.ax_.lines]


def test_boxes_stand_where_their_bounds_are():
    boxes = Boxes.from_rules([({"a": (2, 5), "b": (1, 4)}, "x")], default="y")
    display = BoxesDisplay.from_boxes(boxes, X[:, :2], boxes.predict(X[:, :2]))
    assert rectangles(display) == [pytest.approx((2, 1, 5, 4))]
    assert sorted(edges(display)) == [(2, 2, 1, 4), (2, 5, 1, 1), (2, 5, 4, 4), (5, 5, 1, 4)]


def test_open_sides_reach_the_edge_of_the_picture_without_a_line():
    boxes = Boxes.from_rules([({"a": (2, None), "b": (None, 4)}, "x")], default="y")
    display = BoxesDisplay.from_boxes(boxes, X[:, :2], boxes.predict(X[:, :2]))
    (_, right), (bottom, _) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert right > X[:, 0].max()
    assert rectangles(display) == [pytest.approx((2, bottom, right, 4))]
    assert sorted(edges(display)) == [pytest.approx((2, 2, bottom, 4)), pytest.approx((2, right, 4, 4))]


def test_box_that_asks_nothing_of_the_shown_features_spans_the_picture_dashed():
    display = BoxesDisplay.from_boxes(BOXES, X, BOXES.predict(X), features=["a", "b"])
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert rectangles(display)[0] == pytest.approx((2, bottom, 5, top))
    assert rectangles(display)[1] == pytest.approx((left, 3, right, 8))
    assert [line.get_linestyle() for line in display.ax_.lines] == ["--", "--", "--", "--", "-"]
    assert "also restricts other features" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]


def test_the_two_most_used_features_are_shown_by_default():
    display = BoxesDisplay.from_boxes(BOXES, X, BOXES.predict(X))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("b", "c")
    counted = dataclasses.replace(BOXES, counts=[[9, 0, 0], [0, 2, 0], [1, 0, 0], [0, 0, 9]])
    weighed = BoxesDisplay.from_boxes(counted, X, BOXES.predict(X))
    assert (weighed.ax_.get_xlabel(), weighed.ax_.get_ylabel()) == ("a", "c")
    chosen = BoxesDisplay.from_boxes(BOXES, X, BOXES.predict(X), features=["c", 0])
    assert (chosen.ax_.get_xlabel(), chosen.ax_.get_ylabel()) == ("c", "a")


def test_every_point_is_drawn_once_and_classes_differ_in_colour_and_marker():
    y = np.array(["x", "y", "z"] * 20)
    display = BoxesDisplay.from_boxes(BOXES, X, y)
    drawn = np.concatenate([collection.get_offsets() for collection in display.ax_.collections])
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, X[:, 1:].tolist()))
    colours = [to_hex(collection.get_facecolor()[0]).upper() for collection in display.ax_.collections]
    assert len(set(colours)) == 3
    assert len(set(colours) & set(COLOURS)) == 2  # the class without boxes is grey
    shapes = {collection.get_paths()[0].vertices.tobytes() for collection in display.ax_.collections}
    assert len(shapes) == 3


def test_missing_and_infinite_cells_are_left_out():
    cells = np.array([[np.nan, 1.0], [1.0, np.inf], [2.0, 3.0]])
    boxes = Boxes.from_rules([({"a": (0, 1), "b": (0, 1)}, 1)], default=0)
    display = BoxesDisplay.from_boxes(boxes, cells, [0, 0, 0])
    assert [
        collection.get_offsets().tolist()
        for collection in display.ax_.collections
        if len(collection.get_offsets())
    ] == [[[2, 3]]]


def test_categories_are_named_and_admitted_ones_are_boxed():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"colour": pd.Categorical(["red", "green", "$x$", "blue"]), "age": [1.0, 2.0, 3.0, 4.0]}
    )
    boxes = Boxes.from_rules(
        [({"colour": {"red", "green", "$x$"}, "age": (2, 3)}, 1)],
        default=0,
        categories={"colour": ["red", "green", "blue", "$x$"]},
    )
    display = BoxesDisplay.from_boxes(boxes, frame, [0, 1, 1, 0])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["red", "green", "blue", r"\$x\$"]
    spans = [(round(left, 6), round(right, 6)) for left, _, right, _ in rectangles(display)]
    assert spans == [(-0.42, 1.42), (2.58, 3.42)]


def test_numbers_of_boxes_do_not_hide_each_other():
    boxes = Boxes.from_rules(
        [({"a": (None, 5)}, "x"), ({"a": (None, 7)}, "x")], default="y", feature_names=["a", "b"]
    )
    display = BoxesDisplay.from_boxes(boxes, X[:, :2], boxes.predict(X[:, :2]))
    assert [text.get_text() for text in display.ax_.texts] == ["0", "1"]
    assert len({tuple(text.xy) for text in display.ax_.texts}) == 2


def test_legend_lies_outside_the_data():
    display = BoxesDisplay.from_boxes(BOXES, X, BOXES.predict(X))
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x0 >= display.ax_.get_window_extent().x1
    assert legend.x1 <= display.figure_.bbox.x1


def test_given_axes_are_used_and_estimators_are_read():
    class Fitted(BaseEstimator):
        def fit(self, X, y):
            self.boxes_ = BOXES
            self.history_ = {"loss": [2.0, 1.0], "temperature": [1.0, 0.1], "step": [0, 10]}
            return self

    _, ax = plt.subplots()
    with pytest.raises(NotFittedError):
        BoxesDisplay.from_estimator(Fitted(), X, BOXES.predict(X))
    fitted = Fitted().fit(X, None)
    display = BoxesDisplay.from_estimator(fitted, X, BOXES.predict(X), ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    history = HistoryDisplay.from_estimator(fitted)
    assert [panel.get_ylabel() for panel in history.axes_] == ["loss", "temperature"]
    assert history.axes_[0].lines[0].get_xdata().tolist() == [0, 10]
    assert history.axes_[1].get_yscale() == "log"


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["a"], "two different ones"),
        (["a", "a"], "two different ones"),
        (["a", "q"], "no feature 'q'"),
        ([0, 7], "no feature 7"),
    ],
)
def test_impossible_features_are_named(features, message):
    with pytest.raises(ValueError, match=message):
        BoxesDisplay.from_boxes(BOXES, X, BOXES.predict(X), features=features)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="one label for each"):
        BoxesDisplay.from_boxes(BOXES, X, ["x"])
    with pytest.raises(ValueError, match="needs two features"):
        BoxesDisplay.from_boxes(Boxes.from_rules([({"a": (0, 1)}, 1)], default=0), [[0]], [1])
    with pytest.raises(ValueError, match="no curve"):
        HistoryDisplay.from_history({"step": [1, 2]})
