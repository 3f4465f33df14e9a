"""One full-batch epoch of the paper's objective, value and gradient by all bounds, in float32.

Ours against the plain torch form with its rows × boxes × features tensors. The two take turns and the fastest
epoch of each counts, which other work on the machine disturbs least; a turn of ours is several epochs, as in
training they follow one another, and the threads of torch spin for a while after their last work.

"differs" is the largest difference of a gradient from the plain form in float64, on the first rows, as a
share of the largest gradient. Cells and bounds are multiples of 1/1024, so that gaps are the same in float32.
(Torch in float32 differs itself: its cross entropy clips where p is below 1e-12.)

"MB" is memory beyond the input: in a fresh process, after an epoch of few rows, the peak resident size from
laying the table out to the end of three epochs, less the resident size before. Linux only.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hyperboxes.nn import BoxLayer
from hyperboxes.nn.fused import CrossEntropy
from hyperboxes.nn.objective import Objective

from .bars import Bar, forget_peak, resident, say, seconds

#: The agreement asked for, as a share of the largest gradient, and the rows it is measured on.
AGREEMENT, COMPARED_ROWS = 1e-6, 10_000
#: Steps of the grid that cells and bounds lie on.
GRID = 1024
#: Memory allowed beyond the input: as a share of it, and in bytes for each row and box.
INPUT_SHARE, BYTES = 1.3, 16
#: What a process may take for itself (buffers of threads, page rounding) where the input is tiny.
SLACK_MEGABYTES = 4.0


class Shape(NamedTuple):
    """Rows, features and boxes of a measurement, and how many times faster it has to be."""

    n_rows: int
    n_features: int
    n_boxes: int
    bar: float

    @property
    def megabytes(self) -> float:
        """Give the memory allowed beyond the input."""
        cells = 4 * INPUT_SHARE * self.n_features + BYTES * self.n_boxes
        return self.n_rows * cells / 1e6 + SLACK_MEGABYTES


SMALL = (Shape(69_000, 100, 5, 15.0), Shape(100, 4, 2, 1.0))
SHAPES = (Shape(406_708, 54, 5, 40.0), Shape(406_708, 54, 30, 40.0), *SMALL)
QUICK_SHAPES = (Shape(100_000, 54, 5, 40.0), Shape(50_000, 54, 30, 40.0), *SMALL)
#: Epochs of ours in a turn.
TURN = 5

Epoch = Callable[[], tuple[Tensor, ...]]


def make_rows(shape: Shape) -> tuple[Tensor, Tensor]:
    """Draw standardised rows, a third of them positive."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(shape.n_rows, shape.n_features, generator=source).mul_(GRID).round_().div_(GRID)
    return x, (torch.rand(shape.n_rows, generator=source) < 1 / 3).float()


def make_layer(shape: Shape, temperature: float) -> BoxLayer:
    """Make the paper's layer from the paper's random start."""
    layer = BoxLayer(
        shape.n_features, shape.n_boxes, width="absolute", boundary_temperature=temperature,
        union_temperature=temperature, generator=torch.Generator().manual_seed(1),
    )  # fmt: skip
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(GRID).round_().div_(GRID)
    return layer


def plain_epoch(layer: BoxLayer, x: Tensor, y: Tensor) -> Epoch:
    """Write the paper's objective down as it stands there, in the precision of the rows."""
    tau, phi = layer.boundary_temperature.item(), layer.union_temperature.item()
    lower, upper = (bound.detach()[0].to(x).requires_grad_() for bound in (layer.lower, layer.upper))

    def epoch() -> tuple[Tensor, ...]:
        above = torch.min(x[:, None] - lower, dim=-1).values
        below = torch.min(upper - x[:, None], dim=-1).values
        h = torch.sigmoid(above / tau) * torch.sigmoid(below / tau)
        p = (h * torch.softmax(h / phi, dim=-1)).sum(-1)
        if x.dtype == torch.float64:
            loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
        else:
            loss = nn.functional.binary_cross_entropy(p, y)
        return torch.autograd.grad(loss, (lower, upper))

    return epoch


def fused_epoch(layer: BoxLayer, x: Tensor, y: Tensor) -> Epoch:
    """Do what `train` does in a step, up to the gradients by the bounds."""
    weight = torch.ones(len(x))
    rows = CrossEntropy.make(layer, Objective.make("bce", y, weight), x, y, weight)
    if rows is None:
        raise RuntimeError("the kernel does not fit this layer")

    class Bounds(BoxLayer):
        """The layer with its bounds as leaves, for gradients that the plain form can be compared with."""

        lower = layer.lower.detach().requires_grad_()
        upper = layer.upper.detach().requires_grad_()

    bounds = Bounds(layer.n_features, layer.n_boxes)
    bounds.load_state_dict(layer.state_dict())

    def epoch() -> tuple[Tensor, ...]:
        loss = rows(bounds).sum() / len(x)
        return tuple(side[0] for side in torch.autograd.grad(loss, (bounds.lower, bounds.upper)))

    return epoch


def difference(layer: BoxLayer, x: Tensor, y: Tensor) -> float:
    """Give the largest difference of the gradients of some rows as a share of the largest gradient."""
    x, y = x[:COMPARED_ROWS], y[:COMPARED_ROWS]
    found, expected = fused_epoch(layer, x, y)(), plain_epoch(layer, x.double(), y.double())()
    largest = max(part.abs().max().item() for part in expected)
    return max((one - two).abs().max().item() for one, two in zip(found, expected, strict=True)) / largest


def measure_epochs(shape: Shape, temperature: float, repeats: int) -> tuple[float, float, float, float]:
    """Give seconds of torch and of ours, their ratio, and how far the gradients differ."""
    x, y = make_rows(shape)
    layer = make_layer(shape, temperature)
    plain, ours = plain_epoch(layer, x, y), fused_epoch(layer, x, y)
    ours()
    plain()
    turns = [(seconds(plain), min(seconds(ours) for _ in range(TURN))) for _ in range(repeats)]
    slow, fast = (min(column) for column in zip(*turns, strict=True))
    return slow, fast, slow / fast, difference(layer, x, y)


def growth_of_epochs(shape: Shape) -> float:
    """Give the megabytes that epochs take beyond the table, in the process that this runs in."""
    few = Shape(1000, shape.n_features, shape.n_boxes, 0)
    fused_epoch(make_layer(few, 1.0), *make_rows(few))()
    x, y = make_rows(shape)
    layer = make_layer(shape, 1.0)
    before = resident("VmRSS")
    forget_peak()
    epoch = fused_epoch(layer, x, y)
    for _ in range(3):
        epoch()
    return resident("VmHWM") - before


def in_fresh_process(shape: Shape) -> float:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(growth_of_epochs, (shape,))


def run(quick: bool) -> list[Bar]:
    """Print the table of epochs."""
    print(f"{torch.get_num_threads()} threads in torch")
    print("             shape  tau    torch s      ours s  ratio  bar  differs     MB  MB bar")
    bars = []
    for shape in QUICK_SHAPES if quick else SHAPES:
        name = f"{shape.n_rows} x {shape.n_features} x {shape.n_boxes}"
        say(f"epochs of {name}")
        size = shape.n_rows * shape.n_features * shape.n_boxes
        repeats = 200 if size < 1e5 else 3 if size > 3e8 else 5
        beyond = in_fresh_process(shape)
        bars.append(Bar(f"{name}, MB beyond the input", beyond, shape.megabytes))
        for temperature in (1.0, 0.1):
            torch_seconds, our_seconds, ratio, differs = measure_epochs(shape, temperature, repeats)
            bars.append(Bar(f"{name}, tau {temperature}, times torch", ratio, shape.bar, at_least=True))
            bars.append(Bar(f"{name}, tau {temperature}, difference", differs, AGREEMENT))
            print(
                f"{name:>18} {temperature:4} {torch_seconds:10.5f} {our_seconds:11.6f} {ratio:6.1f} "
                f"{shape.bar:4.0f}  {differs:.1e} {beyond:6.1f} {shape.megabytes:7.1f}",
                flush=True,
            )
    return bars
