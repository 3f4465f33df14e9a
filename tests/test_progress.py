"""What a person who waits is told: how far the learning is, and how long it may still take."""

from __future__ import annotations

import numpy as np
import pytest

from hyperboxes import FMMClassifier, PRIMClassifier, console
from hyperboxes.fmm import network


def table(rows=600):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    return X, np.digitize(X[:, 0] + X[:, 1] / 2, [-0.5, 0.7])


@pytest.mark.parametrize(
    "model",
    [
        PRIMClassifier(random_state=0),
        PRIMClassifier(n_boxes=None, random_state=0),
        FMMClassifier(random_state=0),
        FMMClassifier(prune=False, max_width=0.3, random_state=0),
        FMMClassifier(prune=False, max_width=[0.2, 0.4], n_passes=2, random_state=0),
        FMMClassifier(variant="agglomerative", max_width=0.3, random_state=0),
    ],
    ids=repr,
)
def test_shares_rise_to_the_whole_and_change_nothing(model, monkeypatch):
    expected = model.fit(*table()).boxes_
    monkeypatch.setattr(network, "ROWS_AT_ONCE", 50)
    told = []
    monkeypatch.setattr(model, "_progress", told.append)
    assert model.fit(*table()).boxes_ == expected
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] == pytest.approx(1)


def test_a_clock_expects_the_rest_to_go_as_what_is_done(monkeypatch):
    now = iter([0.0, 4.0, 10.0, 12.0, 50.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    clock = console.Clock()
    assert str(clock) == "4 s"
    clock.tell(0.25)
    assert str(clock) == "12 s, about 28 s left"
    assert str(clock) == "50 s, almost done"
