"""Our boxes against hyperbox-brain's, for the same rows in the same order; skipped where it is not installed.

The definitions coincide, and boxes are equal, where

- rows are points, no value is missing, and features run from 0 to 1, so that nothing is scaled;
- no two memberships tie: it takes the last or the first of equals, depending on the learner, we the oldest;
- nothing is contracted. Where it contracts, it leaves a gap of 1e-5 between the faces, of which the papers
  say nothing, and which can change what happens in later steps. So contraction is compared in single steps:
  one more row for given boxes.
"""

from __future__ import annotations

import numpy as np
import pytest

from hyperboxes.fmm import VARIANTS, Network, Rows, Space, intervals

pytest.importorskip("hbbrain", reason="hyperbox-brain is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

#: The gap that it leaves between contracted faces.
GAP = 1e-5


def learner(variant, width, **boxes):
    from hbbrain.numerical_data.batch_learner.accel_agglo_gfmm import AccelAgglomerativeLearningGFMM
    from hbbrain.numerical_data.incremental_learner.efmnn import EFMNNClassifier
    from hbbrain.numerical_data.incremental_learner.fmnn import FMNNClassifier
    from hbbrain.numerical_data.incremental_learner.iol_gfmm import ImprovedOnlineGFMM
    from hbbrain.numerical_data.incremental_learner.onln_gfmm import OnlineGFMM

    match variant:
        case "simpson":
            return FMNNClassifier(theta=width, **boxes)
        case "enhanced":
            return EFMNNClassifier(theta=width, **boxes)
        case "gfmm":
            return OnlineGFMM(theta=width, theta_min=width, **boxes)
        case "iol":
            return ImprovedOnlineGFMM(theta=width, **boxes)
    return AccelAgglomerativeLearningGFMM(theta=width, min_simil=0.0, simil_measure=boxes["measure"])


def random_table(seed, apart):
    """Draw rows that span the unit cube; with ``apart``, classes that no box can bridge."""
    draw = np.random.default_rng(seed)
    n, d = 80, int(draw.integers(2, 7))
    y = draw.integers(0, 3, n)
    X = draw.random((n, d))
    if apart:
        X[:, 0] = (X[:, 0] + 3 * y) / 7
    X[0], X[1] = 0.0, 1.0
    y[0], y[1] = 0, 2
    return X, y, float(draw.choice([0.05, 0.1, 0.2, 0.3]))


def ours(X, y, variant, width):
    rows = Rows(*intervals(X), y.astype(np.int64), np.ones(len(y)))
    network = Network(VARIANTS[variant], Space.of(rows, 1.0))
    network.present(rows, width)
    return network


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("variant", "apart"),
    [("iol", False), ("iol", True), ("gfmm", True), ("simpson", True), ("enhanced", True)],
)
def test_same_boxes_where_nothing_is_contracted(variant, apart, seed):
    X, y, width = random_table(seed, apart)
    network, theirs = ours(X, y, variant, width), learner(variant, width).fit(X.copy(), y.copy())
    lower, upper = network.bounds
    np.testing.assert_array_equal(theirs.C, network.labels)
    np.testing.assert_array_equal(theirs.V, lower)
    np.testing.assert_array_equal(theirs.W, upper)


@pytest.mark.parametrize("variant", ["simpson", "enhanced", "gfmm"])
def test_a_step_with_contraction_is_the_same_but_for_the_gap(variant):
    draw = np.random.default_rng(0)
    contracted = 0
    for _ in range(150):
        n, d = int(draw.integers(2, 7)), int(draw.integers(1, 4))
        lower = draw.random((n, d)) * 0.7
        upper = lower + draw.random((n, d)) * 0.3
        labels = np.arange(n) % 2
        row = draw.random((1, d))
        rows = Rows(row, row, np.zeros(1, np.int64), np.ones(1))
        unit_cube = Space(np.zeros(d), np.ones(d), np.ones(d), np.arange(d))
        network = Network(VARIANTS[variant], unit_cube)
        network._refill(lower, upper, labels, np.ones(n))
        network.present(rows, 0.5)
        theirs = learner(variant, 0.5, V=lower.copy(), W=upper.copy(), C=labels.copy()).fit(
            row, np.zeros(1, int)
        )
        ours_lower, ours_upper = network.bounds
        np.testing.assert_array_equal(theirs.C, network.labels)
        np.testing.assert_allclose(theirs.V, ours_lower, atol=2 * GAP, rtol=0)
        np.testing.assert_allclose(theirs.W, ours_upper, atol=2 * GAP, rtol=0)
        other = labels == 1
        contracted += not np.array_equal(ours_lower[:n][other], lower[other])
        contracted += not np.array_equal(ours_upper[:n][other], upper[other])
    assert contracted > 10


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", ["simpson", "enhanced", "gfmm", "iol"])
def test_same_answers_from_the_same_boxes(variant, seed):
    X, y, width = random_table(seed, apart=True)
    network, theirs = ours(X, y, variant, width), learner(variant, width).fit(X.copy(), y.copy())
    test = np.random.default_rng(seed + 1000).random((300, X.shape[1]))
    best = network.memberships(*intervals(test))
    by_class = np.stack([best[:, network.labels == label].max(axis=1) for label in range(3)], axis=1)
    clear = np.diff(np.sort(by_class, axis=1)[:, -2:]).ravel() > 1e-9  # ties are settled differently
    rank, _ = network.winners(*intervals(test))
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(theirs.predict(test)[clear], network.labels[rank][clear])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", ["short", "mid", "long"])
def test_same_boxes_by_agglomeration(measure, seed):
    X, y, width = random_table(seed, apart=False)
    rows = Rows(*intervals(X), y.astype(np.int64), np.ones(len(y)))
    network = Network(VARIANTS["agglomerative"], Space.of(rows, 1.0))
    network.agglomerate(rows, width, measure, 0.0)
    theirs = learner("agglomerative", width, measure=measure)
    theirs.fit(X.copy(), y.copy())
    lower, upper = network.bounds
    assert boxes_of(theirs.V, theirs.W, theirs.C) == boxes_of(lower, upper, network.labels)


def boxes_of(lower, upper, labels):
    return sorted(
        (label, *low, *high)
        for low, high, label in zip(lower.tolist(), upper.tolist(), labels.tolist(), strict=True)
    )
