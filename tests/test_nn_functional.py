"""The soft formulas: equal to plain loops, finite everywhere, crisp in the limit."""

import doctest
import itertools
import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from hyperboxes.nn import functional

FORMS = ("min", "margin", "product")
UNIONS = ("smooth_max", "noisy_or")


def union(form: str, log_h: Tensor, log_not_h: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    if form == "noisy_or":
        return functional.log_noisy_or(log_h, log_not_h)
    return functional.log_smooth_max(log_h, temperature, log_not_h)


def problem(seed: int, rows: int, boxes: int, features: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = [torch.randn(n, features, generator=generator, dtype=torch.float64) for n in (rows, boxes, boxes)]
    return draw[0], draw[1] - 0.5, draw[1] + 0.5 + draw[2].abs()


def sigma(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def plain_membership(x: list[float], lower: list[float], upper: list[float], t: float, form: str) -> float:
    above = [a - b for a, b in zip(x, lower, strict=True)]
    below = [b - a for a, b in zip(x, upper, strict=True)]
    if form == "min":
        return sigma(min(above) / t) * sigma(min(below) / t)
    if form == "product":
        return math.prod(sigma(gap / t) for gap in above + below)
    return sigma(plain_margin(x, lower, upper) / t)


def plain_margin(x: list[float], lower: list[float], upper: list[float]) -> float:
    gaps = [min(a - b, c - a) for a, b, c in zip(x, lower, upper, strict=True)]
    return min(gaps) if min(gaps) >= 0 else -math.sqrt(sum(min(gap, 0) ** 2 for gap in gaps))


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 2), (5, 1, 9), (12, 4, 5)])
@pytest.mark.parametrize("chunk", [1 << 22, 7])
@pytest.mark.parametrize("form", FORMS)
def test_a_membership_is_the_plain_formula(form, chunk, shape, monkeypatch):
    monkeypatch.setattr(functional, "CHUNK_ELEMENTS", chunk)
    x, lower, upper = problem(sum(shape), *shape)
    expected = [
        [
            plain_membership(row, low, up, 0.7, form)
            for low, up in zip(lower.tolist(), upper.tolist(), strict=True)
        ]
        for row in x.tolist()
    ]
    log_h, log_not_h = functional.log_membership(x, lower, upper, 0.7, form)
    torch.testing.assert_close(log_h.exp(), torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)
    torch.testing.assert_close(log_not_h.exp(), 1 - torch.tensor(expected, dtype=torch.float64))
    if form == "min":
        torch.testing.assert_close(functional.membership(x, lower, upper, 0.7), log_h.exp())
    if form == "product":
        torch.testing.assert_close(functional.log_product(x, lower, upper, 0.7), log_h)
    if form == "margin":
        margins = [[plain_margin(row, *box) for box in zip(lower.tolist(), upper.tolist(), strict=True)]
                   for row in x.tolist()]  # fmt: skip
        found = functional.margin(x, lower, upper)
        torch.testing.assert_close(found, torch.tensor(margins, dtype=torch.float64))


@pytest.mark.parametrize("form", UNIONS)
def test_a_union_is_the_plain_formula(form):
    h = torch.rand(6, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    if form == "noisy_or":
        expected = [1 - math.prod(1 - value for value in row) for row in h.tolist()]
    else:
        weights = [[math.exp(value / 0.3) for value in row] for row in h.tolist()]
        expected = [
            sum(a * b for a, b in zip(row, weight, strict=True)) / sum(weight)
            for row, weight in zip(h.tolist(), weights, strict=True)
        ]
        torch.testing.assert_close(functional.smooth_max(h, 0.3), torch.tensor(expected, dtype=torch.float64))
    log_p, log_not_p = union(form, h.log(), torch.log1p(-h), 0.3)
    torch.testing.assert_close(log_p.exp(), torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)
    torch.testing.assert_close(log_not_p.exp(), 1 - torch.tensor(expected, dtype=torch.float64))
    alone = (
        functional.log_noisy_or(h.log()) if form == "noisy_or" else functional.log_smooth_max(h.log(), 0.3)
    )
    torch.testing.assert_close(alone, (log_p, log_not_p))


@pytest.mark.parametrize("form", FORMS)
def test_chunks_change_neither_values_nor_gradients(form, monkeypatch):
    x, lower, upper = problem(3, 40, 3, 4)

    def gradients() -> list[Tensor]:
        inputs = [value.clone().requires_grad_() for value in (x, lower, upper)]
        pair = functional.log_membership(*inputs, 0.3, form)
        (pair[0] - 2 * pair[1]).sum().backward()
        return [pair[0].detach(), *(value.grad for value in inputs)]

    whole = gradients()
    monkeypatch.setattr(functional, "CHUNK_ELEMENTS", 50)
    torch.testing.assert_close(gradients(), whole)


def test_rows_and_boxes_keep_their_dimensions():
    x, lower, upper = torch.zeros(2, 3, 5), torch.zeros(4, 6, 5), torch.ones(4, 6, 5)
    assert functional.margin(x, lower, upper).shape == (2, 3, 4, 6)
    with pytest.raises(ValueError, match="5 features"):
        functional.margin(x, torch.zeros(4, 3), torch.ones(4, 3))


@pytest.mark.parametrize("temperature", [0.01, 0.02, 1.0])
def test_the_smooth_maximum_never_overflows_in_float32(temperature):
    h = torch.tensor([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], requires_grad=True)
    result = functional.smooth_max(h, temperature)
    result.sum().backward()
    assert torch.isfinite(result).all()
    assert torch.isfinite(h.grad).all()
    assert result[1:].tolist() == pytest.approx([1.0, 0.0])
    if temperature < 0.1:
        assert result[0].item() == pytest.approx(1.0)


@pytest.mark.parametrize("form", UNIONS)
@pytest.mark.parametrize("membership", FORMS)
@pytest.mark.parametrize("temperature", [1e-3, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize(("place", "target"), [(10.0, 1.0), (-10.0, 1.0), (0.0, 0.0)])
def test_a_row_on_the_wrong_side_always_pulls_at_some_bound(form, membership, temperature, place, target):
    # A positive ten deviations off, or a negative deep inside.
    x = torch.full((2, 500), place)
    lower = torch.full((3, 500), -5.0, requires_grad=True)
    upper = torch.full((3, 500), 5.0, requires_grad=True)
    log_p, log_not_p = union(form, *functional.log_membership(x, lower, upper, temperature, membership), 1.0)
    assert torch.isfinite(log_p).all()
    assert torch.isfinite(log_not_p).all()
    loss = F.binary_cross_entropy_with_logits(log_p - log_not_p, torch.full((2,), target))
    loss.backward()
    gradient = torch.cat([lower.grad, upper.grad])
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum() > 1e-3
    # Downhill is outwards for a positive and inwards for a negative.
    assert (upper.grad.sum() - lower.grad.sum()) * (1 if target else -1) < 0


@pytest.mark.parametrize("form", UNIONS)
@pytest.mark.parametrize("membership", FORMS)
def test_soft_becomes_crisp_as_temperature_falls(form, membership):
    x, lower, upper = problem(5, 300, 4, 3)
    inside = ((x[:, None] >= lower) & (x[:, None] <= upper)).all(-1).any(-1)
    assert 0 < inside.sum() < len(x)
    wrong = []
    for temperature in (1.0, 0.1, 1e-4):
        log_p, _ = union(
            form, *functional.log_membership(x, lower, upper, temperature, membership), temperature
        )
        wrong.append((log_p.exp() - inside.double()).abs().max().item())
    assert wrong[-1] < 1e-3 < wrong[0]


@pytest.mark.parametrize("form", UNIONS)
@pytest.mark.parametrize("membership", FORMS)
def test_gradients_are_those_of_the_values(form, membership):
    x, lower, upper = (value.requires_grad_() for value in problem(7, 5, 3, 2))

    def logits(*tensors: Tensor) -> Tensor:
        log_p, log_not_p = union(form, *functional.log_membership(*tensors, 0.4, membership), 0.5)
        return log_p - log_not_p

    assert torch.autograd.gradcheck(logits, (x, lower, upper))


def test_boxes_that_miss_a_row_do_not_dilute_the_noisy_or():
    h = torch.tensor([0.9, *[1e-30] * 49]).log()
    assert functional.log_noisy_or(h)[0].exp().item() == pytest.approx(0.9)
    # The smooth maximum is diluted: one box that holds the row and 49 that do not give 0.05.
    assert functional.log_smooth_max(h, 1.0)[0].exp().item() < 0.1


def test_more_copies_of_a_box_never_lower_the_noisy_or():
    h = torch.linspace(0.01, 0.99, 20, dtype=torch.float64)
    unions = [functional.log_noisy_or(h.log()[:, None].expand(-1, n))[0] for n in range(1, 6)]
    for fewer, more in itertools.pairwise(unions):
        assert (more >= fewer).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_noisy_or_has_no_step_where_its_formula_changes(dtype):
    log_h = torch.linspace(-45, -0.1, 2001, dtype=dtype)[:, None].repeat(1, 2)
    log_p, _ = functional.log_noisy_or(log_h)
    expected = [math.log(-math.expm1(2 * math.log1p(-math.exp(value)))) for value in log_h[:, 0].tolist()]
    torch.testing.assert_close(log_p, torch.tensor(expected, dtype=dtype))


@pytest.mark.parametrize("value", [-1e-30, -1e-10, -1e-3, -math.log(2), -1.0, -50.0, -1e5, 0.0])
def test_log1mexp_is_accurate_at_both_ends(value):
    x = torch.tensor(value, requires_grad=True)
    result = functional.log1mexp(x)
    result.backward()
    assert torch.isfinite(result)
    assert torch.isfinite(x.grad)
    if value < 0:
        exact = math.log(-math.expm1(value)) if value > -0.7 else math.log1p(-math.exp(value))
        assert result.item() == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("row", [[1.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]])
def test_the_margin_has_a_gradient_on_edges_corners_and_centre(row):
    inputs = [torch.tensor([value], requires_grad=True) for value in (row, [-1.0, -1.0], [1.0, 1.0])]
    functional.margin(*inputs).sum().backward()
    assert all(torch.isfinite(value.grad).all() for value in inputs)
    assert any(value.grad.abs().sum() > 0 for value in inputs)


def test_outside_every_violated_feature_draws_its_bound():
    x = torch.tensor([[3.0, -4.0, 0.0]])
    lower = torch.full((1, 3), -1.0, requires_grad=True)
    upper = torch.full((1, 3), 1.0, requires_grad=True)
    margin = functional.margin(x, lower, upper)
    margin.backward()
    assert margin.item() == pytest.approx(-math.hypot(2, 3))
    assert (upper.grad[0] != 0).tolist() == [True, False, False]
    assert (lower.grad[0] != 0).tolist() == [False, True, False]


def test_examples_in_docstrings_hold():
    assert doctest.testmod(functional).failed == 0
