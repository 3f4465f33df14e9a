"""Opening faces by the soft loss: the cheapest first, each judged as the plain formula would."""

import numpy as np
import pytest

from hyperboxes.kernels.faces import OPEN, open_idle_faces


def plain_loss(Z, positive, weight, lower, upper, temperature):
    """Cross entropy of the noisy-or union of products; an open face is no factor."""
    log_h = np.zeros((len(lower), len(Z)))
    for k in range(len(lower)):
        for j in range(Z.shape[1]):
            for bound, gap in ((lower[k, j], Z[:, j] - lower[k, j]), (upper[k, j], upper[k, j] - Z[:, j])):
                if abs(bound) < OPEN:
                    log_h[k] -= np.logaddexp(0, -gap / temperature)
    outside = np.log1p(-np.exp(np.minimum(log_h, -1e-9))).sum(axis=0)
    losses = np.where(positive, -np.log(np.maximum(-np.expm1(outside), 1e-300)), -outside)
    return float((weight * losses).sum())


def costs(Z, positive, weight, lower, upper, temperature, k):
    """What opening each closed face of box k would cost."""
    now = plain_loss(Z, positive, weight, lower, upper, temperature)
    found = []
    for side, bounds in enumerate((lower, upper)):
        for j in np.flatnonzero(np.abs(bounds[k]) < OPEN):
            kept, bounds[k, j] = bounds[k, j], 2 * OPEN * (1 if side else -1)
            found.append(plain_loss(Z, positive, weight, lower, upper, temperature) - now)
            bounds[k, j] = kept
    return found


def task(seed, n=120, d=4, n_boxes=2):
    draw = np.random.default_rng(seed)
    Z = draw.uniform(-2, 2, (n, d)).astype(np.float32)
    positive = (np.abs(Z[:, 0]) < 1) & (Z[:, 1] > -0.5)
    lower = draw.uniform(-2.2, -0.5, (n_boxes, d)).astype(np.float32)
    upper = draw.uniform(0.5, 2.2, (n_boxes, d)).astype(np.float32)
    lower[0, 2] = -2 * OPEN
    return Z, positive, draw.choice([1.0, 2.0, 0.5], n), lower, upper


@pytest.mark.parametrize("price", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_every_face_opened_costs_less_than_the_price_and_every_one_kept_more(seed, price):
    *rows, lower, upper = task(seed)
    closed = (np.abs(lower) < OPEN).sum() + (np.abs(upper) < OPEN).sum()
    found = lower.copy(), upper.copy()
    opened = open_idle_faces(*rows, *found, 0.2, price)
    assert closed - opened == (np.abs(found[0]) < OPEN).sum() + (np.abs(found[1]) < OPEN).sum()
    assert 0 < opened < closed
    rise = plain_loss(*rows, *found, 0.2) - plain_loss(*rows, lower, upper, 0.2)
    assert rise < opened * price + 1e-3
    for one, before in zip(found, (lower, upper), strict=True):
        moved = one != before
        assert (np.abs(one[moved]) == 2 * OPEN).all()
    assert (
        min(costs(*rows, *found, 0.2, 1)) > price - 1e-3
    )  # the last box, judged beside the others as they are


def test_one_box_opens_its_cheapest_face_first():
    *rows, lower, upper = task(3, n_boxes=1)
    lower[0, 2] = -1.9
    first = min(costs(*rows, lower, upper, 0.2, 0))
    found = lower.copy(), upper.copy()
    assert open_idle_faces(*rows, *found, 0.2, first * (1 - 1e-3) if first > 0 else first * (1 + 1e-3)) == 0
    assert open_idle_faces(*rows, *found, 0.2, first * (1 + 1e-3) if first > 0 else first * (1 - 1e-3)) >= 1
    rise = plain_loss(*rows, *found, 0.2) - plain_loss(*rows, lower, upper, 0.2)
    assert rise <= first + 1e-2


def test_nothing_is_opened_for_nothing():
    Z, positive, weight, lower, upper = task(1)
    found = lower.copy(), upper.copy()
    assert open_idle_faces(Z, positive, weight, *found, 0.2, -np.inf) == 0
    np.testing.assert_array_equal(found, (lower, upper))


def test_a_face_that_only_just_shares_its_work_is_kept_where_crisp_rows_would_let_it_go():
    """Negatives that two faces keep out, both barely: without either, crisp answers stay the same."""
    Z = np.array([[0.0, 0.0]] * 5 + [[1.05, 1.05]] * 5, np.float32)
    positive = np.arange(10) < 5
    lower, upper = np.full((1, 2), -2 * OPEN, np.float32), np.ones((1, 2), np.float32)
    open_idle_faces(Z, positive, np.ones(10), lower, upper, 0.1, 0.3)
    assert (upper == 1).all()
    Z[5:] = 2.0
    open_idle_faces(Z, positive, np.ones(10), lower, upper, 0.1, 0.3)
    assert (upper == 1).sum() == 1
