from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from planted import ONE_BOX, planted
from sklearn.exceptions import NotFittedError

from hyperboxes import PRIMClassifier, PRIMRegressor
from hyperboxes.plot import BoundsDisplay, TradeOffDisplay

matplotlib.use("agg")
from matplotlib import pyplot as plt

X, Y = planted(ONE_BOX, 800, 20, seed=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return PRIMClassifier(random_state=0).fit(X, Y)


def test_points_stand_at_recall_and_precision_in_the_colour_of_their_features(model):
    (trajectory, *_) = model.trajectories_[True]
    display = TradeOffDisplay.from_estimator(model)
    drawn = [collection for collection in display.ax_.collections if len(collection.get_offsets())]
    places = np.concatenate([np.asarray(one.get_offsets()) for one in drawn])
    expected = np.stack([trajectory.recall, trajectory.precision], axis=1)
    assert np.sort(places[: len(expected)], axis=0) == pytest.approx(np.sort(expected, axis=0))
    assert len(places) == len(expected) + 1  # the ring around the chosen one
    assert places[-1] == pytest.approx(expected[trajectory.chosen])
    peels = [k for k, move in enumerate(trajectory.moves) if move in ("start", "peel")]
    colours = [tuple(colour) for colour in drawn[0].get_facecolors()]
    assert len({(colours[i], int(trajectory.n_restricted[k])) for i, k in enumerate(peels)}) == len(
        set(colours)
    )
    assert "recall" in display.ax_.get_xlabel()
    assert "centre" in trajectory.moves
    assert "bounds centred" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_chosen_point_is_labelled_and_labels_do_not_collide(model):
    (trajectory, *_) = model.trajectories_[True]
    display = TradeOffDisplay.from_trajectory(trajectory)
    labels = {text.get_text(): np.array(text.xy) for text in display.ax_.texts}
    assert str(trajectory.chosen) in labels
    assert "0" in labels
    places = np.array(list(labels.values()))
    distances = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(len(places))
    assert distances.min() > 0.03


def test_bounds_are_drawn_as_shares_of_the_data_with_their_numbers_and_quasi_p(model):
    (trajectory, *_) = model.trajectories_[True]
    display = BoundsDisplay.from_trajectory(trajectory, X, Y)
    quasi_p = trajectory.quasi_p(None, X, Y)
    assert [one.name for one in display.ranges] == sorted(quasi_p, key=quasi_p.get)
    for one in display.ranges:
        column = int(one.name.removeprefix("x"))
        lower, upper = trajectory.box().lower[0, column], trajectory.box().upper[0, column]
        least, largest = X[:, column].min(), X[:, column].max()
        assert one.low == pytest.approx(np.clip((lower - least) / (largest - least), 0, 1))
        assert one.high == pytest.approx(np.clip((upper - least) / (largest - least), 0, 1))
    bars = {(round(bar.get_x(), 9), round(bar.get_width(), 9)) for bar in display.ax_.patches}
    assert {(round(one.low, 9), round(one.high - one.low, 9)) for one in display.ranges} <= bars
    texts = [text.get_text() for text in display.ax_.texts]
    assert f"{min(quasi_p.values()):.2g}" in texts
    assert f"precision {trajectory.precision[trajectory.chosen]:.3f}" in display.ax_.get_title()


def test_categories_show_the_admitted_ones_and_numbers_their_mean():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"colour": pd.Categorical(rng.choice(list("abcd"), 500)), "$x$": rng.normal(size=500)}
    )
    target = 3.0 * frame["colour"].isin(["a", "c"]).to_numpy() + rng.normal(size=500)
    model = PRIMRegressor(n_boxes=1, random_state=0).fit(frame, target)
    display = BoundsDisplay.from_trajectory(model.trajectories_[0], frame, target)
    assert display.ranges[0].low_text == "a, c"
    assert (display.ranges[0].low, display.ranges[0].high) == (0, 0.5)
    assert "mean" in display.ax_.get_title()
    assert TradeOffDisplay.from_estimator(model).ax_.get_ylabel() == "mean of the target"
    display.figure_.canvas.draw()


def test_what_is_not_there_is_named(model):
    with pytest.raises(NotFittedError):
        TradeOffDisplay.from_estimator(PRIMClassifier())
    with pytest.raises(ValueError, match="no trajectories of the class 'red'"):
        TradeOffDisplay.from_estimator(model, label="red")
    with pytest.raises(ValueError, match="no box 99"):
        TradeOffDisplay.from_estimator(model, box=99)
