"""The compiled gradient stage: equal to the plain formulas, and its loss falls."""

import math

import numpy as np
import pytest

from hyperboxes.kernels import descent
from hyperboxes.kernels.descent import (
    FACES_PER_LOG,
    FAR,
    add_gradient,
    descend,
    log_membership,
    union_loss,
    violation,
)


def plain_log_membership(x, lower, upper, scale):
    gaps = np.concatenate([x - lower, upper - x]) * scale
    return -np.logaddexp(0, -gaps).sum()


def cases(n=200, d=4, seed=0):
    """Rows inside, beside and far outside of boxes, and boxes whose bounds have crossed."""
    draw = np.random.default_rng(seed)
    for _ in range(n):
        lower = draw.uniform(-2, 0, d)
        upper = lower + draw.uniform(-0.3, 3, d)
        reach = draw.choice([0.0, 0.4, 3.0])
        yield draw.uniform(np.minimum(lower, upper) - reach, np.maximum(lower, upper) + reach), lower, upper


def single(*arrays):
    return tuple(np.asarray(array, np.float32) for array in arrays)


@pytest.mark.parametrize("scale", [2.0, 20.0])
@pytest.mark.parametrize("d", [1, 4, FACES_PER_LOG + 3])
def test_the_log_membership_is_the_plain_formula(d, scale):
    for x, lower, upper in cases(100, d):
        arrays = single(x, [lower - 9, lower], [upper + 9, upper])
        tails = np.full((2, 2, d), 7, np.float32)
        found = log_membership(*arrays, 1, np.float32(scale), tails)
        assert found == pytest.approx(
            min(plain_log_membership(x, lower, upper, scale), 0), rel=2e-5, abs=2e-5
        )
        assert (tails[:, 0] == 7).all()
        sides = np.stack([np.abs(x - lower), np.abs(upper - x)]) * scale
        np.testing.assert_allclose(tails[:, 1], np.exp(-sides), rtol=1e-4, atol=1e-26)
        gaps = np.minimum(x - lower, 0) + np.minimum(upper - x, 0)
        assert violation(*arrays, 1) == pytest.approx(gaps.sum(), rel=1e-5, abs=1e-5)
        assert violation(*arrays, 1) * scale >= found - 1e-4  # what lets far boxes be left out


def test_the_gradient_of_the_log_membership_is_its_finite_difference():
    for x, lower, upper in cases(100):
        tails, found = np.zeros((2, 2, 4), np.float32), np.full((2, 2, 4), 0.5, np.float32)
        arrays = single(x, [lower, lower], [upper, upper])
        log_membership(*arrays, 1, np.float32(3), tails)
        add_gradient(*arrays, 1, np.full(4, 2, np.float32), tails, found)
        assert (found[:, 0] == 0.5).all()
        for side in range(2):
            for j in range(4):
                step = np.zeros((2, 4))
                step[side, j] = 1e-5
                up = plain_log_membership(x, lower + step[0], upper + step[1], 3)
                down = plain_log_membership(x, lower - step[0], upper - step[1], 3)
                assert (found[side, 1, j] - 0.5) * 3 == pytest.approx(2 * (up - down) / 2e-5, abs=1e-3)


def test_a_box_out_of_reach_changes_neither_loss_nor_slopes():
    for positive in (True, False):
        slopes, alone = np.ones(3), np.ones(2)
        with_it = union_loss(np.array([-0.5, -np.inf, -3.0]), positive, slopes)
        assert with_it == union_loss(np.array([-0.5, -3.0]), positive, alone)
        np.testing.assert_array_equal(slopes, [alone[0], 0, alone[1]])


def plain_loss(log_h, positive):
    outside = np.log1p(-np.exp(log_h)).sum()
    return -math.log(-math.expm1(outside)) if positive else -outside


@pytest.mark.parametrize("positive", [False, True])
def test_the_loss_of_the_union_and_its_slopes_are_the_plain_formulas(positive):
    draw = np.random.default_rng(0)
    for log_h in -draw.exponential(2, (50, 3)) - 0.01:
        slopes = np.zeros(3)
        loss = union_loss(log_h, positive, slopes)
        assert loss == pytest.approx(plain_loss(log_h, positive), rel=1e-9)
        for k in range(3):
            step = 1e-6 * (np.arange(3) == k)
            difference = plain_loss(log_h + step, positive) - plain_loss(log_h - step, positive)
            assert slopes[k] == pytest.approx(difference / 2e-6, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(
    "log_h", [[-1e4, -2e4], [-1e-9, -1e4], [-1e-9, -1e-9], [-70.0, -70.0], [-9.0, -np.inf]]
)
@pytest.mark.parametrize("positive", [False, True])
def test_loss_and_slopes_are_finite_far_away_and_deep_inside(log_h, positive):
    slopes = np.zeros(2)
    loss = union_loss(np.array(log_h), positive, slopes)
    assert np.isfinite([loss, *slopes]).all()
    assert loss >= 0
    if positive and max(log_h) < -5:  # a positive far from every box still draws the nearest
        assert slopes.sum() == pytest.approx(-1, abs=0.01)


def test_the_loss_of_a_row_deep_inside_many_boxes_is_finite_and_whole():
    log_h, slopes = np.full(100, -1e-9), np.zeros(100)
    assert union_loss(log_h, False, slopes) == pytest.approx(-100 * math.log(1e-9), rel=1e-6)
    np.testing.assert_allclose(slopes, 1e9, rtol=1e-6)
    assert union_loss(log_h, True, slopes) == 0
    assert (slopes == 0).all()


def test_the_loss_of_a_positive_has_no_step_where_its_formula_changes():
    for log_h in ([-FAR, -FAR - 3], [-FAR, -FAR]):
        near, far = np.zeros(2), np.zeros(2)
        losses = [
            union_loss(np.array(log_h) + shift, True, slopes)
            for shift, slopes in ((1e-9, near), (-1e-9, far))
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        np.testing.assert_allclose(near, far, rtol=1e-4)


def test_values_and_gradients_are_those_of_torch():
    torch = pytest.importorskip("torch")
    from hyperboxes.nn import functional

    for x, lower, upper in cases(20):
        for positive in (False, True):
            bounds = [
                torch.tensor(np.stack([bound, bound + 0.3]), requires_grad=True) for bound in (lower, upper)
            ]
            log_h, log_not_h = functional.log_membership(torch.tensor(x), *bounds, 0.5, "product")
            log_p, log_not_p = functional.log_noisy_or(log_h, log_not_h)
            expected = -(log_p if positive else log_not_p)
            expected.backward()
            arrays = single(x, *(bound.detach().numpy() for bound in bounds))
            tails, found, slopes = (
                np.zeros((2, 2, 4), np.float32),
                np.zeros((2, 2, 4), np.float32),
                np.zeros(2),
            )
            values = np.array([log_membership(*arrays, k, np.float32(2), tails) for k in range(2)])
            loss = union_loss(values, positive, slopes)
            assert loss == pytest.approx(expected.item(), rel=1e-4, abs=1e-5)
            for k in range(2):
                add_gradient(*arrays, k, np.full(4, slopes[k] * 2, np.float32), tails, found)
            for side in range(2):
                np.testing.assert_allclose(found[side], bounds[side].grad.numpy(), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("temperature", [0.5, 0.1])
def test_a_step_moves_every_bound_against_the_gradient_of_all_rows_and_boxes(temperature):
    """Adam's first step has the size of the rate, so its direction shows that no box was left out."""
    torch = pytest.importorskip("torch")
    from hyperboxes.nn import functional

    Z, positive = toy(200)
    draw = np.random.default_rng(2)
    lower = draw.uniform(-1.5, 0, (4, 3)).astype(np.float32)
    upper = lower + draw.uniform(0.5, 2, (4, 3)).astype(np.float32)
    bounds = [torch.tensor(bound.astype(np.float64), requires_grad=True) for bound in (lower, upper)]
    log_h, log_not_h = functional.log_membership(
        torch.tensor(Z.astype(float)), *bounds, temperature, "product"
    )
    log_p, log_not_p = functional.log_noisy_or(log_h, log_not_h)
    weight = torch.tensor(np.where(positive, 1.5, 0.5))  # 2 - F and F at the first F1, one half
    (-(torch.where(torch.tensor(positive), log_p, log_not_p)) * weight).mean().backward()
    moved = [lower.copy(), upper.copy()]
    descend(
        Z, np.ones(200), np.flatnonzero(positive), np.flatnonzero(~positive), *moved, 1, 10_000,
        0.25, 0.05, 0.005, temperature, temperature, 0, np.zeros((1, 3)),
    )  # fmt: skip
    for after, before, bound in zip(moved, (lower, upper), bounds, strict=True):
        slope = bound.grad.numpy()
        clear = np.abs(slope) > 1e-3
        assert clear.sum() >= 8
        np.testing.assert_allclose((after - before)[clear], -0.05 * np.sign(slope[clear]), rtol=0.02)


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


@pytest.mark.parametrize("batch_size", [64, 10_000])
def test_boxes_computed_together_and_one_by_one_are_the_same_to_the_last_bit(batch_size, monkeypatch):
    Z, positive = toy()
    together = run(Z, positive, batch_size=batch_size)
    monkeypatch.setattr(descent, "FEW_FACES", 0)
    for one, other in zip(together, run(Z, positive, batch_size=batch_size), strict=True):
        np.testing.assert_array_equal(one, other)


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


def test_what_is_too_small_to_count_is_zero_and_never_subnormal():
    distance = np.linspace(0, 300, 4001, dtype=np.float32)
    tails = np.ones((2, 1, len(distance)), np.float32)
    nothing = np.zeros(len(distance), np.float32)
    log_membership(nothing, -distance[None], distance[None], 0, np.float32(1), tails)
    shown = tails[:, 0]
    assert ((shown == 0) | (shown > 1e-27)).all()
    np.testing.assert_array_equal(shown == 0, np.broadcast_to(distance >= 60, shown.shape))
    near = distance < 60
    np.testing.assert_allclose(shown[0, near], np.exp(-distance[near].astype(float)), rtol=2e-5)
