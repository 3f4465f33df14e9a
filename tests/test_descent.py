"""The compiled gradient stage: equal to the plain formulas, and its loss falls."""

import math

import numpy as np
import pytest

from hyperboxes.kernels.descent import add_gradient, descend, margin, union_loss


def plain_margin(x, lower, upper):
    gap = np.minimum(x - lower, upper - x)
    return gap.min() if gap.min() >= 0 else -math.sqrt((np.minimum(gap, 0) ** 2).sum())


def cases(n=300, d=4, seed=0):
    """Rows inside and outside of boxes, well away from the kinks of the margin."""
    draw = np.random.default_rng(seed)
    while n:
        lower = draw.uniform(-2, 0, d)
        upper = lower + draw.uniform(0.5, 3, d)
        x = draw.uniform(lower - 0.4, upper + 0.4)
        faces = np.sort(np.abs(np.concatenate([x - lower, upper - x])))
        if faces[0] > 1e-3 and np.diff(np.sort(np.minimum(x - lower, upper - x)))[0] > 1e-3:
            n -= 1
            yield x, lower, upper


def single(*arrays):
    return tuple(np.asarray(array, np.float32) for array in arrays)


def test_the_margin_is_the_plain_formula():
    signs = set()
    for x, lower, upper in cases():
        expected = plain_margin(x, lower, upper)
        signs.add(expected > 0)
        other = lower - 100, upper + 100
        assert margin(*single(x, [other[0], lower], [other[1], upper]), 1) == pytest.approx(
            expected, abs=1e-6
        )
    assert signs == {False, True}


def test_the_gradient_of_the_margin_is_its_finite_difference():
    for x, lower, upper in cases(100):
        found = np.full((2, 2, 4), 0.5, np.float32)
        m = np.float32(plain_margin(x, lower, upper))
        add_gradient(*single(x, [lower, lower], [upper, upper]), 1, m, np.float32(2), found)
        assert (found[:, 0] == 0.5).all()
        for side in range(2):
            for j in range(4):
                step = np.zeros((2, 4))
                step[side, j] = 1e-5
                up = plain_margin(x, lower + step[0], upper + step[1])
                down = plain_margin(x, lower - step[0], upper - step[1])
                assert found[side, 1, j] - 0.5 == pytest.approx(2 * (up - down) / 2e-5, abs=1e-4)


def test_a_row_on_a_face_has_margin_zero_and_a_finite_gradient():
    lower, upper = single([[0.0, 0.0]], [[1.0, 1.0]])
    for x in ([0.0, 0.5], [1.0, 1.0], [-1e-30, 0.5]):
        (x,) = single(x)
        m = margin(x, lower, upper, 0)
        assert m == pytest.approx(0, abs=1e-20)
        found = np.zeros((2, 1, 2), np.float32)
        add_gradient(x, lower, upper, 0, m, np.float32(1), found)
        assert np.isfinite(found).all()
        assert np.abs(found).sum() == 1


def plain_loss(margins, temperature, positive):
    h = 1 / (1 + np.exp(-np.asarray(margins) / temperature))
    outside = np.prod(1 - h)
    return -math.log(1 - outside if positive else outside)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_the_loss_of_the_union_and_its_slope_are_the_plain_formulas(positive, temperature):
    draw = np.random.default_rng(0)
    for margins in draw.uniform(-1, 1, (50, 3)):
        memberships = np.zeros(3)
        loss, slope = union_loss(margins, temperature, positive, memberships)
        assert loss == pytest.approx(plain_loss(margins, temperature, positive), rel=1e-9)
        np.testing.assert_allclose(memberships, 1 / (1 + np.exp(-margins / temperature)))
        for k in range(3):
            step = 1e-6 * (np.arange(3) == k)
            difference = plain_loss(margins + step, temperature, positive) - plain_loss(
                margins - step, temperature, positive
            )
            found = -slope * memberships[k] / temperature
            assert found == pytest.approx(difference / 2e-6, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("margins", [[-1e4, -2e4], [1e4, -1e4], [0.0, 0.0], [1e4, 1e4], [-70.0, -70.0]])
@pytest.mark.parametrize("positive", [False, True])
def test_loss_and_slope_are_finite_far_away_and_deep_inside(margins, positive):
    memberships = np.zeros(2)
    loss, slope = union_loss(np.array(margins), 0.1, positive, memberships)
    assert np.isfinite([loss, *(slope * memberships)]).all()
    assert loss >= 0
    if positive and max(margins) < 0:  # a positive far from every box still draws the nearest
        assert (slope * memberships).max() == pytest.approx(1, rel=0.6)


def test_values_and_gradients_are_those_of_torch():
    torch = pytest.importorskip("torch")
    from hyperboxes.nn import functional

    for x, lower, upper in cases(20):
        for positive in (False, True):
            bounds = [
                torch.tensor(np.stack([bound, bound + 0.3]), requires_grad=True) for bound in (lower, upper)
            ]
            log_h, log_not_h = functional.log_membership(torch.tensor(x), *bounds, 0.5, "margin")
            log_p, log_not_p = functional.log_noisy_or(log_h, log_not_h)
            expected = -(log_p if positive else log_not_p)
            expected.backward()
            arrays = single(*(bound.detach().numpy() for bound in bounds))
            (row,) = single(x)
            margins = np.array([margin(row, *arrays, k) for k in range(2)])
            memberships, found = np.zeros(2), np.zeros((2, 2, 4), np.float32)
            loss, slope = union_loss(margins, 0.5, positive, memberships)
            assert loss == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
            for k in range(2):
                g = np.float32(-slope * memberships[k] / 0.5)
                add_gradient(row, *arrays, k, np.float32(margins[k]), g, found)
            for side in range(2):
                np.testing.assert_allclose(found[side], bounds[side].grad.numpy(), atol=1e-5)


def toy(n=400, seed=0):
    Z = np.random.default_rng(seed).uniform(-2, 2, (n, 3)).astype(np.float32)
    return Z, (np.abs(Z[:, 0]) < 1) & (Z[:, 1] > -0.5)


def run(Z, positive, *, n_steps=200, batch_size=64, seed=0, history=20, weight=None):
    lower, upper = single(np.full((2, 3), -0.4), np.full((2, 3), 0.4))
    upper[1] += np.float32(0.5)
    record = np.zeros((history, 3))
    weight = np.ones(len(Z)) if weight is None else weight
    f1 = descend(
        Z, weight, np.flatnonzero(positive), np.flatnonzero(~positive), lower, upper, n_steps, batch_size,
        0.25, 0.05, 0.005, 0.5, 0.1, seed, record,
    )  # fmt: skip
    return lower, upper, record, f1


@pytest.mark.parametrize("batch_size", [64, 10_000])
def test_the_loss_falls_and_the_planted_box_is_found(batch_size):
    Z, positive = toy()
    lower, upper, record, f1 = run(Z, positive, batch_size=batch_size, n_steps=400)
    assert record[-1, 0] < 0.5 * record[0, 0]
    assert f1 > 0.85
    inside = ((lower[:, None] <= Z) & (upper[:, None] >= Z)).all(axis=2).any(axis=0)
    assert (inside == positive).mean() > 0.9
    assert (np.diff(record[:, 2]) < 0).all()


def test_the_same_seed_gives_the_same_boxes_and_another_one_others():
    Z, positive = toy()
    first, again, other = run(Z, positive), run(Z, positive), run(Z, positive, seed=1)
    for one, same in zip(first[:3], again[:3], strict=True):
        np.testing.assert_array_equal(one, same)
    assert (first[0] != other[0]).any()


def test_scaled_weights_give_the_same_boxes_up_to_rounding():
    Z, positive = toy()
    one, other = run(Z, positive), run(Z, positive, weight=np.full(len(Z), 8.0))
    np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_two_rows_are_enough(batch_size):
    Z, positive = single([[0, 0, 0], [1.5, 1.5, 1.5]])[0], np.array([True, False])
    lower, upper, record, _ = run(Z, positive, batch_size=batch_size, n_steps=60)
    assert np.isfinite([lower, upper]).all()
    assert np.isfinite(record).all()
    assert (lower[0] <= 0).all()
    assert (upper[0] >= 0).all()
