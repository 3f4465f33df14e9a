"""What training minimises: losses of rows, penalties on boxes, and sums that never depend on threads."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .functional import SERIAL_ELEMENTS, in_pieces, log_sigmoid
from .module import BoxLayer, Output, box_layers

Loss = Callable[..., Tensor]
Regularizer = Callable[[nn.Module], Tensor]

#: Rows summed at a time. Torch splits longer sums over threads, and their last digits follow the split.
SUM_ROWS = 16_384


def exact_sum(values: Tensor) -> float:
    """Sum in double, in an order that no thread count changes; decisions on losses rest on it."""
    values = values.detach().to("cpu", torch.float64).reshape(-1)
    return math.fsum(piece.sum().item() for piece in torch.split(values, SUM_ROWS))


def _ordered_sum(values: Tensor) -> Tensor:
    """Sum over rows as `exact_sum` does, but keep the gradient."""
    return torch.stack([piece.sum(0) for piece in torch.split(values.double(), SUM_ROWS)]).sum(0)


def _serial_rows(values: Tensor) -> int:
    return max(1, SERIAL_ELEMENTS // max(1, values[:1].numel()))


# -- losses: (output, target) -> one value for each row, or a scalar -----------------------------------


def bce(logits: Tensor, target: Tensor) -> Tensor:
    """Return −y log p − (1 − y) log(1 − p), p = σ(logit)."""
    return weighted_bce(logits, target, 1.0)


def weighted_bce(logits: Tensor, target: Tensor, pos_weight: float | Tensor) -> Tensor:
    """Return `bce` with positives weighted: −pos_weight · y log p − (1 − y) log(1 − p)."""
    return -pos_weight * target * log_sigmoid(logits) - (1 - target) * log_sigmoid(-logits)


def focal(logits: Tensor, target: Tensor, gamma: float = 2.0) -> Tensor:
    """Return −y (1 − p)^γ log p − (1 − y) p^γ log(1 − p): rows already right count less."""
    log_p, log_not_p = log_sigmoid(logits), log_sigmoid(-logits)
    return (
        -target * torch.exp(gamma * log_not_p) * log_p - (1 - target) * torch.exp(gamma * log_p) * log_not_p
    )


def soft_f1(logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return 1 − 2 Σ w y p / (Σ w p + Σ w y), averaged over classes: a scalar."""
    (p,) = in_pieces(lambda piece: (torch.sigmoid(piece),), logits, rows=_serial_rows(logits))
    rows = 1.0 if weight is None else weight.reshape(-1, *[1] * (p.ndim - 1))
    hits, p, target = rows * p * target, rows * p, rows * target
    total = (_ordered_sum(p) + _ordered_sum(target)).clamp(min=torch.finfo(p.dtype).tiny)
    return (1 - 2 * _ordered_sum(hits) / total).mean().to(logits.dtype)


def softmax(scores: Tensor, target: Tensor) -> Tensor:
    """Return −log softmax(scores)[y] for class numbers y; scores are the layer's ``class_scores``."""
    return torch.logsumexp(scores, -1) - scores.gather(-1, target.unsqueeze(-1)).squeeze(-1)


@dataclass(frozen=True)
class Objective:
    """A loss, and what it needs of the model: which output, and whether it weighs the rows itself."""

    loss: Loss
    output: Output | None
    weighs: bool

    @classmethod
    def make(cls, loss: str | Loss, target: Tensor, weight: Tensor) -> Objective:
        """Find a loss by name, or take a callable; the rows give ``"weighted_bce"`` its balance."""
        if callable(loss):
            parameters = inspect.signature(loss).parameters
            return cls(loss, None, "weight" in parameters)
        if loss == "weighted_bce":
            rows = weight.reshape(-1, *[1] * (target.ndim - 1))
            positive = [exact_sum(column) for column in (target * rows).reshape(len(target), -1).T]
            total = exact_sum(weight)
            balance = torch.tensor([(total - share) / share if share > 0 else 1.0 for share in positive])
            balance = balance.reshape(target.shape[1:]).to(target)

            def balanced(logits: Tensor, target: Tensor) -> Tensor:
                return weighted_bce(logits, target, balance)

            return cls(balanced, "logits", False)
        named: dict[str, Objective] = {
            "bce": cls(bce, "logits", False),
            "focal": cls(focal, "logits", False),
            "soft_f1": cls(soft_f1, "logits", True),
            "softmax": cls(softmax, "class_scores", False),
        }
        if loss not in named:
            raise ValueError(f"loss must be a callable or one of {['weighted_bce', *named]}, got {loss!r}")
        return named[loss]

    def __call__(self, output: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        """Return weighted losses, shape (n_rows,), or a scalar where the loss only knows the whole."""
        if self.weighs:
            result = self.loss(output, target, weight=weight)
        elif self.output is None:
            result = self.loss(output, target)
        else:
            (result,) = in_pieces(
                lambda *rows: (self.loss(*rows),), output, target, rows=_serial_rows(output)
            )
        if result.ndim == 0:
            if not self.weighs and not bool((weight == 1).all()):
                raise ValueError(
                    "a loss that returns a scalar must take weight= to be used with sample_weight"
                )
            return result
        if len(result) != len(output):
            raise ValueError(
                f"the loss gave {len(result)} values for {len(output)} rows; give one for each, or one"
            )
        return result.reshape(len(result), -1).mean(1) * weight if result.ndim > 1 else result * weight


def crisp_error(margins: Tensor, target: Tensor, weight: Tensor) -> float:
    """Return how wrong the crisp boxes are, whatever the temperature.

    1 − accuracy of the class of the largest margin for class numbers; else 1 − F1 of margin ≥ 0,
    averaged over classes.
    """
    weight = weight.to("cpu", torch.float64)
    if not target.is_floating_point() and margins.ndim > 1:
        missed = (margins.argmax(1) != target).cpu()
        return exact_sum(weight[missed]) / exact_sum(weight)
    inside = (margins >= 0).reshape(len(margins), -1).cpu().T
    positive = (target > 0.5).reshape(len(margins), -1).cpu().T
    errors = []
    for found, wanted in zip(inside, positive, strict=True):
        hits, wrong = exact_sum(weight[found & wanted]), exact_sum(weight[found ^ wanted])
        errors.append(wrong / (2 * hits + wrong) if wrong else 0.0)
    return math.fsum(errors) / len(errors)


# -- regularisers: model -> scalar -----------------------------------------------------------------------


@dataclass(frozen=True)
class BoxSize:
    """Penalise side lengths: weight · Σ (l1 · length + l2 · length²), over all boxes and features.

    The paper's penalty. It also shrinks sides that should be ignored; with many features a weight of
    0.001 can make "no boxes" the best model.
    """

    weight: float = 1e-3
    l1: float = 1.0
    l2: float = 1.0

    def __call__(self, model: nn.Module) -> Tensor:
        """Return the penalty of a model."""
        return self.weight * _over_layers(
            model, lambda layer: (self.l1 * layer.width + self.l2 * layer.width.square()).sum()
        )


@dataclass(frozen=True)
class BoxCount:
    """Penalise the soft number of boxes in use: weight · Σ_boxes 1 − exp(−narrowest side / size)."""

    weight: float
    size: float = 0.5

    def __call__(self, model: nn.Module) -> Tensor:
        """Return the penalty of a model."""
        return self.weight * _over_layers(
            model, lambda layer: -torch.expm1(-layer.width.amin(-1) / self.size).sum()
        )


@dataclass(frozen=True)
class ConditionCount:
    """Penalise the soft number of sides that cut the data range.

    weight · Σ_sides 1 − exp(−depth / size), depth being how far the side stands inside
    ``low`` … ``high`` (numbers, or one for each feature, in the layer's units); a side outside costs nothing.
    """

    weight: float
    low: float | tuple[float, ...] = -3.0
    high: float | tuple[float, ...] = 3.0
    size: float = 1.0

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            values = torch.as_tensor(getattr(self, name), dtype=torch.float64).tolist()
            object.__setattr__(self, name, tuple(values) if isinstance(values, list) else values)

    def __call__(self, model: nn.Module) -> Tensor:
        """Return the penalty of a model."""

        def count(layer: BoxLayer) -> Tensor:
            low, high = (layer.minimum.new_tensor(end) for end in (self.low, self.high))
            depth = torch.stack([layer.lower - low, high - layer.upper]).clamp(min=0)
            return -torch.expm1(-depth / self.size).sum()

        return self.weight * _over_layers(model, count)


def _over_layers(model: nn.Module, penalty: Callable[[BoxLayer], Tensor]) -> Tensor:
    layers = box_layers(model)
    if not layers:
        raise ValueError("this regularizer is about boxes, and the model has no BoxLayer")
    return sum((penalty(layer) for layer in layers[1:]), penalty(layers[0]))


def describe(value: Any) -> str:
    """Name a setting the same way in every process: no memory addresses, no truncation."""
    if isinstance(value, nn.Module):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {describe(item)}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(describe, value)) + "]"
    if hasattr(value, "func") and hasattr(value, "keywords"):
        return f"{describe(value.func)}({describe(value.args)}, {describe(value.keywords)})"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if value is None or isinstance(value, bool | int | float | str) or hasattr(value, "__dataclass_fields__"):
        return repr(value)
    return f"{type(value).__module__}.{type(value).__qualname__}"
