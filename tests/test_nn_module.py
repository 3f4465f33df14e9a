"""BoxLayer: ordered bounds, the paper's output, a citizen of torch, and the way from and to Boxes."""

import copy
import doctest
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from hyperboxes import Boxes
from hyperboxes.nn import BoxLayer, functional, module

MEMBERSHIPS, UNIONS, WIDTHS = (
    ("min", "margin", "product"),
    ("smooth_max", "noisy_or"),
    ("softplus", "absolute"),
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("rows", [(4,), (2, 3), (0,)])
def test_shapes_follow_rows_and_classes(rows, n_classes):
    layer = BoxLayer(5, 2, n_classes, generator=seeded())
    x = torch.randn(*rows, 5, generator=seeded(1))
    tail = () if n_classes == 1 else (n_classes,)
    for output in ("logits", "class_scores", "margins"):
        layer.output = output
        assert layer(x).shape == (*rows, *tail)
        assert getattr(layer, output)(x).shape == (*rows, n_classes)
    assert layer.membership(x).shape == (*rows, n_classes, 2)
    assert layer.lower.shape == layer.upper.shape == layer.width.shape == (n_classes, 2, 5)


def test_the_sigmoid_of_the_logit_is_the_output_of_the_paper():
    layer = BoxLayer(
        3, 4, width="absolute", boundary_temperature=0.3, union_temperature=0.2, generator=seeded()
    )
    x = torch.randn(50, 3, generator=seeded(1))
    h = functional.membership(x, layer.minimum[0], layer.minimum[0] + layer.raw_width[0].abs(), 0.3)
    torch.testing.assert_close(torch.sigmoid(layer(x)), functional.smooth_max(h, 0.2))
    torch.testing.assert_close(layer.membership(x)[:, 0], h)


def test_class_scores_sum_memberships_in_log_space():
    layer = BoxLayer(3, 4, 2, membership="product", generator=seeded())
    x = torch.randn(20, 3, generator=seeded(1))
    torch.testing.assert_close(layer.class_scores(x), layer.membership(x).sum(-1).log(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
def test_widths_are_never_negative(width):
    layer = BoxLayer(4, 50, width=width, generator=seeded())
    with torch.no_grad():
        layer.raw_width.copy_(torch.randn(layer.raw_width.shape, generator=seeded(1)) * 50)
    assert (layer.width >= 0).all()
    assert (layer.upper >= layer.lower).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_start_is_normal_and_comes_from_the_generator(width):
    before = torch.get_rng_state()
    one, two = (BoxLayer(10, 400, width=width, generator=seeded(3)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one.minimum, two.minimum)
    assert torch.equal(one.raw_width, two.raw_width)
    assert one.minimum.mean().item() == pytest.approx(0, abs=0.06)
    assert one.minimum.std().item() == pytest.approx(1, abs=0.06)
    assert one.width.square().mean().item() == pytest.approx(1, abs=0.1)
    assert one.width.mean().item() == pytest.approx(0.798, abs=0.05)


@pytest.mark.parametrize("width", WIDTHS)
def test_given_bounds_are_the_bounds(width):
    layer = BoxLayer(3, 2, 2, width=width, dtype=torch.float64, generator=seeded())
    lower = np.random.default_rng(0).normal(size=(2, 2, 3))
    upper = lower + np.random.default_rng(1).uniform(0, 3, size=(2, 2, 3))
    layer.set_bounds(lower, upper)
    np.testing.assert_allclose(layer.lower.detach().numpy(), lower, atol=1e-12)
    np.testing.assert_allclose(layer.upper.detach().numpy(), upper, atol=2e-6)
    layer.set_bounds(torch.from_numpy(lower[0]), torch.from_numpy(upper[0]))
    np.testing.assert_allclose(layer.lower.detach().numpy()[1], lower[0], atol=1e-12)


def test_infinite_sides_are_put_at_the_reach():
    layer = BoxLayer(4, 1, dtype=torch.float64, generator=seeded())
    inf = np.inf
    lower, upper = [[-inf, 0.0, -inf, 30.0]], [[1.0, inf, inf, inf]]
    layer.set_bounds(lower, upper)
    np.testing.assert_allclose(layer.lower.detach().numpy()[0], [[-20, 0, -20, 30]])
    np.testing.assert_allclose(layer.upper.detach().numpy()[0], [[1, 20, 20, 70]])
    layer.set_bounds(lower, upper, reach=([-1, -2, -3, -4], [2, 3, 4, 5]))
    np.testing.assert_allclose(layer.lower.detach().numpy()[0], [[-1, 0, -3, 30]])
    np.testing.assert_allclose(layer.upper.detach().numpy()[0], [[1, 3, 4, 39]])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [([[1.0]], [[0.0]], "exceed"), ([[np.nan]], [[0.0]], "exceed"), ([[np.inf]], [[np.inf]], "no open side"),
     ([[0.0, 0.0]], [[1.0, 1.0]], "do not fit")],
)  # fmt: skip
def test_impossible_bounds_are_refused(lower, upper, message):
    with pytest.raises(ValueError, match=message):
        BoxLayer(1, 1, generator=seeded()).set_bounds(lower, upper)


@pytest.mark.parametrize(
    "options",
    [{"n_boxes": 0}, {"membership": "max"}, {"union": "or"}, {"width": "exp"}, {"output": "p"},
     {"boundary_temperature": 0.0}, {"union_temperature": -1.0}],
)  # fmt: skip
def test_impossible_layers_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        BoxLayer(**{"n_features": 2, "n_boxes": 2, **options})


def some_boxes() -> Boxes:
    inf = np.inf
    return Boxes(
        lower=[[10.0, -inf, 0.25], [-inf, 200.0, -inf], [40.0, 100.0, 0.5]],
        upper=[[30.0, 150.0, inf], [20.0, inf, 0.75], [60.0, 180.0, 0.875]],
        labels=["b", "a", "b"], feature_names=("p", "q", "r"), default="none",
    )  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_boxes_come_back_from_a_layer_as_they_went_in(width):
    boxes = some_boxes()
    center, scale = np.array([35.0, 150.0, 0.5]), np.array([20.0, 50.0, 0.25])
    layer = BoxLayer.from_boxes(boxes, center, scale, width=width, dtype=torch.float64)
    assert (layer.n_classes, layer.n_boxes) == (2, 2)
    data_range = (center - 10 * scale, center + 10 * scale)
    back = layer.to_boxes(center, scale, boxes.feature_names, ["a", "b"], "none", data_range=data_range)
    # Class a owns one box and repeats it.
    expected = boxes.select([1, 1, 0, 2])
    assert back.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(back.lower, expected.lower, rtol=1e-9)
    np.testing.assert_allclose(back.upper, expected.upper, rtol=1e-9)
    assert back.default == "none"


def test_a_side_is_open_only_if_it_excludes_no_row():
    layer = BoxLayer(2, 1, generator=seeded())
    layer.set_bounds([[0.0, -1.0]], [[2.0, 1.0]])
    kept = layer.to_boxes(data_range=([0.5, -1.5], [1.5, 0.5]))
    assert np.isneginf(kept.lower[0, 0])
    assert np.isposinf(kept.upper[0, 0])
    assert kept.lower[0, 1] == pytest.approx(-1)
    assert np.isposinf(kept.upper[0, 1])
    assert (kept.labels.tolist(), kept.default) == ([1], 0)


def test_what_a_layer_cannot_hold_is_refused():
    categorical = Boxes(
        [[-np.inf]],
        [[np.inf]],
        [1],
        ("c",),
        0,
        categories={"c": ("x", "y")},
        allowed={"c": np.array([[True, False]])},
    )
    with pytest.raises(ValueError, match="categories"):
        BoxLayer.from_boxes(categorical)
    with pytest.raises(ValueError, match="at least one box"):
        BoxLayer.from_boxes(some_boxes().select([]))
    with pytest.raises(ValueError, match="positive"):
        BoxLayer.from_boxes(some_boxes(), scale=0.0)
    with pytest.raises(ValueError, match="labels"):
        BoxLayer(2, 2, generator=seeded()).to_boxes(labels=["a", "b"])


@pytest.mark.parametrize("n_classes", [1, 3])
def test_margins_are_not_negative_exactly_where_a_box_contains_the_row(n_classes):
    layer = BoxLayer(2, 4, n_classes, dtype=torch.float64, generator=seeded(2))
    x = torch.randn(500, 2, generator=seeded(1), dtype=torch.float64)
    inside = layer.to_boxes().contains(x.numpy()).reshape(500, n_classes, 4).any(-1)
    assert 0 < inside.sum() < inside.size
    assert np.array_equal((layer.margins(x) >= 0).numpy(), inside)


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("union", UNIONS)
@pytest.mark.parametrize("width", WIDTHS)
def test_gradients_are_those_of_the_values(membership, union, width):
    layer = BoxLayer(
        2, 2, 2, membership=membership, union=union, width=width, boundary_temperature=0.5,
        union_temperature=0.4, dtype=torch.float64, generator=seeded(),
    )  # fmt: skip
    x = torch.randn(4, 2, generator=seeded(5), dtype=torch.float64, requires_grad=True)

    def output(x: torch.Tensor, minimum: torch.Tensor, raw_width: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, {"minimum": minimum, "raw_width": raw_width}, x)

    assert torch.autograd.gradcheck(output, (x, layer.minimum, layer.raw_width))


@pytest.mark.parametrize("union", UNIONS)
def test_a_state_dict_carries_bounds_and_temperatures(union):
    layer = BoxLayer(
        3, 2, union=union, boundary_temperature=0.25, union_temperature=0.125, generator=seeded()
    )
    other = BoxLayer(3, 2, union=union, generator=seeded(9))
    other.load_state_dict(layer.state_dict())
    x = torch.randn(10, 3, generator=seeded(1))
    assert torch.equal(other(x), layer(x))
    assert (other.boundary_temperature.item(), other.union_temperature.item()) == (0.25, 0.125)


def test_a_deep_copy_shares_nothing():
    layer = BoxLayer(3, 2, generator=seeded())
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        layer.minimum.add_(1)
        layer.boundary_temperature.fill_(9)
    assert torch.equal(twin.minimum + 1, layer.minimum)
    assert twin.boundary_temperature == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_layer_ends_a_network_and_plugs_into_a_torch_loss(dtype):
    network = nn.Sequential(nn.Linear(6, 3), BoxLayer(3, 2, membership="product", union="noisy_or")).to(dtype)
    x = torch.randn(20, 6, generator=seeded(), dtype=dtype)
    loss = nn.BCEWithLogitsLoss()(network(x), (x[:, 0] > 0).to(dtype))
    loss.backward()
    for parameter in network.parameters():
        assert torch.isfinite(parameter.grad).all()
        assert (parameter.grad != 0).any()
    assert network[1].boundary_temperature.dtype == dtype


def test_a_layer_can_be_laid_out_without_memory():
    layer = BoxLayer(3, 2, device="meta")
    assert layer(torch.empty(5, 3, device="meta")).shape == (5,)


def test_the_package_loads_without_torch():
    code = "import sys, hyperboxes.nn; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_examples_in_docstrings_hold():
    assert doctest.testmod(module).failed == 0
