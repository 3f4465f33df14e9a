"""The fused objective of the paper: equal to the plain formulas, the same bits on any number of threads."""

import hashlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hyperboxes.kernels import paper
from hyperboxes.nn import BoxLayer, functional, fused, paper_settings, train

SIZES = st.tuples(st.integers(1, 300), st.integers(1, 6), st.integers(1, 3), st.integers(1, 5))
TEMPERATURES = st.floats(0.01, 1.0)


def make(n, d, n_classes, n_boxes, seed=0, grid=64):
    """Rows, bounds and weights; differences of multiples of 1/64 are exact, and often equal."""
    draw = np.random.default_rng(seed)
    x = np.round(draw.normal(size=(n, d)) * grid) / grid
    lower = np.round(draw.normal(-1, 1, (n_classes, n_boxes, d)) * grid) / grid
    upper = lower + np.round(draw.uniform(0, 4, lower.shape) * grid) / grid
    alpha, beta = -draw.random((2, n, n_classes)) / n
    return [values.astype(np.float32) for values in (x, lower, upper, alpha, beta)]


def plain(x, lower, upper, alpha, beta, tau, phi, dtype=torch.float64):
    """Return log p, log(1 − p), losses and the gradient by rows × boxes × features tensors."""
    x, alpha, beta = (torch.from_numpy(values).to(dtype) for values in (x, alpha, beta))
    lower, upper = (torch.from_numpy(values).to(dtype).requires_grad_() for values in (lower, upper))
    u = torch.min(x[:, None, None] - lower, dim=-1).values / tau
    v = torch.min(upper - x[:, None, None], dim=-1).values / tau
    h = torch.sigmoid(u) * torch.sigmoid(v)
    w = torch.softmax(h / phi, dim=-1)
    log_p = torch.log((w * h).sum(-1))
    # As 1 − p it would be rounded to zero deep inside a box.
    log_not_p = torch.log((w * (torch.sigmoid(-u) + torch.sigmoid(u) * torch.sigmoid(-v))).sum(-1))
    losses = (alpha * log_p + beta * log_not_p).sum(-1)
    torch.autograd.backward(losses.sum())
    return [value.detach().numpy() for value in (log_p, log_not_p, losses, lower.grad, upper.grad)]


def assert_close(found, expected, tolerance=1e-6):
    """Compare values number by number, and gradients on the scale of the largest."""
    for name, one, two in zip(("log_p", "log_not_p", "losses"), found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=name)
    scale = max(np.abs(side).max() for side in expected[3:])
    for name, one, two in zip(("lower", "upper"), found[3:5], expected[3:], strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * scale + 1e-12, err_msg=name)


# -- the kernel ----------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SIZES, TEMPERATURES, TEMPERATURES, st.integers(0, 1000))
def test_values_and_gradients_are_the_plain_formulas(size, tau, phi, seed):
    case = make(*size, seed)
    assert_close(paper.union(*case[:3], tau, phi, *case[3:]), plain(*case, tau, phi))


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.3])
def test_cross_entropy_is_torchs_own_in_single_precision(temperature):
    x, lower, upper, *_ = make(5000, 6, 1, 4, seed=1)
    y = (np.random.default_rng(0).random((len(x), 1)) < 0.3).astype(np.float32)
    bounds = [torch.from_numpy(bound).requires_grad_() for bound in (lower, upper)]
    rows = torch.from_numpy(x)[:, None, None]
    h = torch.sigmoid(torch.min(rows - bounds[0], -1).values / temperature)
    h = h * torch.sigmoid(torch.min(bounds[1] - rows, -1).values / temperature)
    p = (h * torch.softmax(h / temperature, -1)).sum(-1)
    loss = nn.functional.binary_cross_entropy(p, torch.from_numpy(y))
    torch.autograd.backward(loss)
    alpha, beta = -y / len(y), (y - 1) / len(y)
    found = paper.union(x, lower, upper, temperature, temperature, alpha, beta)
    assert found.losses.sum(dtype=np.float64) == pytest.approx(loss.item(), rel=1e-6)
    for side, bound in zip((found.lower, found.upper), bounds, strict=True):
        scale = bound.grad.abs().max().item()
        np.testing.assert_allclose(side, bound.grad.numpy(), rtol=0, atol=1e-6 * max(1, scale))


def test_of_equal_gaps_the_first_takes_the_gradient():
    x = np.zeros((3, 5), np.float32)
    lower, upper = -np.ones((1, 2, 5), np.float32), np.ones((1, 2, 5), np.float32)
    lower[0, 1, 0] = -2
    upper[0, 1, :2] = 2
    ones = np.ones((3, 1), np.float32)
    found = paper.union(x, lower, upper, 0.5, 0.5, ones, 0 * ones)
    assert np.argwhere(found.lower).tolist() == [[0, 0, 0], [0, 1, 1]]
    assert np.argwhere(found.upper).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert_close(found, plain(x, lower, upper, ones, 0 * ones, 0.5, 0.5))


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_far_and_deep_rows_keep_their_values_and_gradients(scale):
    x, lower, upper, alpha, beta = make(400, 3, 2, 3, seed=2)
    x, lower, upper = x * np.float32(scale), lower * np.float32(scale), upper * np.float32(scale)
    found = paper.union(x, lower, upper, 0.01, 0.01, alpha, beta)
    assert all(np.isfinite(part).all() for part in found[:5])
    bounds = [torch.from_numpy(bound).double().requires_grad_() for bound in (lower, upper)]
    logs = functional.log_membership(torch.from_numpy(x).double(), *bounds, 0.01)
    log_p, log_not_p = functional.log_smooth_max(logs[0], 0.01, logs[1])
    torch.autograd.backward((torch.from_numpy(alpha) * log_p + torch.from_numpy(beta) * log_not_p).sum())
    np.testing.assert_allclose(found.log_p, log_p.detach(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.log_not_p, log_not_p.detach(), rtol=1e-6, atol=1e-6)
    # Among equal gaps the formulas share the gradient out: only its sum over features is comparable.
    for side, bound in zip((found.lower, found.upper), bounds, strict=True):
        expected = bound.grad.sum(-1).numpy()
        np.testing.assert_allclose(side.sum(-1), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("extreme", [3e38, -3e38])
def test_the_largest_numbers_overflow_nowhere(extreme):
    x, lower, upper, alpha, beta = make(40, 3, 1, 2)
    x[7, 1] = extreme
    found = paper.union(x, lower, upper, 0.01, 0.01, alpha, beta)
    assert found.finite
    assert all(np.isfinite(part).all() for part in found[:5])


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 127, 128, 129, 4095, 4097, 9001])
@pytest.mark.parametrize("turned", [False, True])
def test_any_number_of_rows_in_either_layout(n, turned):
    case = make(n, 3, 2, 2, seed=n)
    rows = paper.lay_out(case[0]) if turned else case[0]
    found = paper.union(rows, *case[1:3], 0.2, 0.3, *case[3:])
    assert found.log_p.shape == (n, 2)
    if n:
        assert_close(found, plain(*case, 0.2, 0.3))
        without = paper.union(rows, *case[1:3], 0.2, 0.3)
        assert (without.log_p == found.log_p).all()
        assert not without.lower.any()
        assert not without.losses.any()
        valued = paper.union(rows, *case[1:3], 0.2, 0.3, *case[3:], learns=False)
        assert (valued.losses == found.losses).all()
        assert not valued.lower.any()
    else:
        assert not found.lower.any()


def test_the_layout_of_the_table_does_not_matter():
    case = make(5000, 20, 1, 6, seed=3)
    results = [
        paper.union(rows, *case[1:3], 0.1, 0.1, *case[3:])
        for rows in (case[0], np.asfortranarray(case[0]), paper.lay_out(case[0]))
    ]
    for other in results[1:]:
        assert all((one == two).all() for one, two in zip(results[0][:5], other[:5], strict=True))
    frozen = [values.copy() for values in case]
    for values in frozen:
        values.setflags(write=False)
    again = paper.union(*frozen[:3], 0.1, 0.1, *frozen[3:])
    assert (again.lower == results[0].lower).all()


def test_one_thread_and_two_give_the_same_bits():
    program = "from test_paper_kernel import digest_of_a_large_case as digest; print(digest())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"OMP_NUM_THREADS": threads}, text=True,
            capture_output=True, check=True, cwd=os.path.dirname(__file__),
        ).stdout
        for threads in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1


def digest_of_a_large_case() -> str:
    case = make(60_001, 7, 2, 3, seed=4)
    total = hashlib.sha256()
    for rows in (case[0], paper.lay_out(case[0])):
        for part in paper.union(rows, *case[1:3], 0.1, 0.1, *case[3:])[:5]:
            total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()


@pytest.mark.parametrize("place", ["x", "lower", "upper"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_not_finite_is_reported(place, bad, turned):
    x, lower, upper, *_ = make(200, 3, 1, 2)
    assert paper.union(x, lower, upper, 0.5, 0.5).finite
    {"x": x[150], "lower": lower[0, 1], "upper": upper[0, 1]}[place][2] = bad
    assert not paper.union(paper.lay_out(x) if turned else x, lower, upper, 0.5, 0.5).finite


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("which", [3, 4])
def test_weights_that_are_not_finite_spoil_the_gradient(bad, which):
    case = make(200, 3, 1, 2)
    case[which][5] = bad
    assert not np.isfinite(paper.union(*case[:3], 0.5, 0.5, *case[3:]).lower).all()


# -- the layer and training ----------------------------------------------------------------------------


def pair(n_classes=2, **options):
    """A layer that uses the kernel, and its twin in float64, which does not."""
    layer = BoxLayer(4, 3, n_classes, boundary_temperature=0.2, union_temperature=0.3,
                     generator=torch.Generator().manual_seed(0), **options)  # fmt: skip
    twin = BoxLayer(4, 3, n_classes, dtype=torch.float64, **options)
    twin.load_state_dict(layer.state_dict())
    return layer, twin


def rows(*shape: int) -> Tensor:
    return torch.randn(*shape, 4, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("shape", [(), (1,), (50,), (5, 7), (0,)])
@pytest.mark.parametrize("width", ["absolute", "softplus"])
def test_a_layer_gives_the_same_logits_and_gradients(n_classes, shape, width):
    layer, twin = pair(n_classes, width=width)
    x = rows(*shape)
    assert fused.fits(layer, x)
    assert not fused.fits(twin, x.double())
    out, expected = layer(x), twin(x.double())
    assert out.shape == expected.shape
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)
    slope = torch.linspace(-1, 1, expected.numel()).reshape(expected.shape)
    torch.autograd.backward(out, slope)
    torch.autograd.backward(expected, slope.double())
    for one, two in zip(layer.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad.double(), two.grad, rtol=1e-5, atol=1e-5)


def test_the_kernel_serves_without_gradients_too():
    layer, twin = pair()
    for context in (torch.no_grad(), torch.inference_mode()):
        with context:
            x = rows(40).requires_grad_() if context.__class__ is torch.no_grad else rows(40)
            assert fused.fits(layer, x)
            torch.testing.assert_close(layer(x).double(), twin(x.double()), rtol=1e-5, atol=1e-5)


def test_rows_that_take_a_gradient_get_it():
    layer, twin = pair()
    x = rows(40)
    ours, theirs = x.clone().requires_grad_(), x.double().requires_grad_()
    assert not fused.fits(layer, ours)
    for model, values in ((layer, ours), (twin, theirs)):
        torch.autograd.backward(model(values).sum())
    torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-4, atol=1e-5)


def test_a_gradient_can_be_differentiated_again():
    layer, twin = pair(1)
    seconds = []
    for model, x in ((layer, rows(20)), (twin, rows(20).double())):
        parameters = tuple(model.parameters())
        first = torch.autograd.grad(model(x).square().sum(), parameters, create_graph=True)
        penalty = sum(part.square().sum() for part in first)
        seconds.append(torch.autograd.grad(penalty, parameters))
    for one, two in zip(*seconds, strict=True):
        torch.testing.assert_close(one.double(), two, rtol=1e-3, atol=1e-3 * two.abs().max().item())


def test_missing_values_stay_missing():
    layer, _ = pair(1)
    x = rows(300)
    x[200, 1] = math.nan
    out = layer(x)
    assert torch.nonzero(out.isnan()).flatten().tolist() == [200]
    out.nan_to_num().sum().backward()


def test_functions_of_functions_fall_back():
    layer, _ = pair(1)
    x = rows(20)
    expected = layer(x)
    torch.testing.assert_close(torch.func.vmap(layer)(x), expected)
    for options in ({"membership": "margin"}, {"union": "noisy_or"}):
        assert not fused.fits(pair(**options)[0], x)
    layer.union_temperature.requires_grad_()
    torch.autograd.backward(layer(x).sum())
    assert layer.union_temperature.grad.abs() > 0


@pytest.mark.parametrize("loss", ["bce", "weighted_bce"])
@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("validated", [False, True])
def test_training_is_the_same_with_and_without_the_kernel(loss, n_classes, validated, monkeypatch):
    x = rows(300)
    y = (x[:, 0].abs() < 0.5).float() if n_classes == 1 else torch.arange(300) % 3
    weight = torch.linspace(0.5, 2, 300)
    recipe = paper_settings()
    options = recipe.train | {"loss": loss, "max_epochs": 25, "sample_weight": weight}
    if validated:
        options["validation"] = (rows(301)[200:], torch.cat([y, y[:1]])[200:])
    histories, layers = [], []
    for fast in (True, False):
        if not fast:
            monkeypatch.setattr(fused, "fits", lambda *_: False)
        layers.append(BoxLayer(4, 3, n_classes, generator=torch.Generator().manual_seed(0), **recipe.layer))
        histories.append(train(layers[-1], x, y, **options))
    np.testing.assert_allclose(histories[0].train_loss, histories[1].train_loss, rtol=1e-4)
    np.testing.assert_allclose(histories[0].monitored, histories[1].monitored, rtol=1e-4)
    for one, two in zip(*(layer.parameters() for layer in layers), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-3)


def test_the_full_batch_is_laid_out_once(monkeypatch):
    laid, lay_out = [], paper.lay_out
    monkeypatch.setattr(paper, "lay_out", lambda X: laid.append(len(X)) or lay_out(X))
    x, y = rows(50), (rows(50)[:, 0] > 0).float()
    train(pair(1)[0], x, y, max_epochs=5)
    assert laid == [50]
    train(pair(1)[0], x, y, max_epochs=2, batch_size=20)
    train(nn.Sequential(nn.Linear(4, 4), pair(1)[0]), x, y, max_epochs=2)
    assert laid == [50]


def test_a_layer_with_hooks_is_called_as_ever():
    layer, calls = pair(1)[0], []
    layer.register_forward_hook(lambda *_: calls.append(0))
    train(layer, rows(30), (rows(30)[:, 0] > 0).float(), max_epochs=3)
    assert len(calls) == 3


@pytest.mark.parametrize(("n_classes", "columns"), [(1, (30, 2)), (3, (30, 2)), (3, (30,))])
def test_targets_of_another_shape_are_refused_as_ever(n_classes, columns):
    with pytest.raises(RuntimeError, match="size of tensor"):
        train(pair(n_classes)[0], rows(30), torch.zeros(columns), max_epochs=1)
