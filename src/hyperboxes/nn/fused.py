"""The paper's network on the CPU: `kernels.paper` as torch functions.

It stands in for the plain formulas of `functional` where it can: for the minimum form under the smooth
maximum, in float32, for rows that take no gradient. Among faces at the same distance the first gets the whole
gradient, where the plain formulas share it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from torch import Tensor, nn

from ..kernels import paper

if TYPE_CHECKING:
    from .module import BoxLayer
    from .objective import Objective

Plain = Callable[[Tensor, Tensor, Tensor], Tensor]

#: A logit at which log p, or at minus it log(1 − p), is zero to float32; dividing by a power of two is exact.
CERTAIN = 64.0


def fits(layer: BoxLayer, x: Tensor) -> bool:
    """Tell whether the kernel can stand in for a layer's formulas on some rows."""
    return (
        layer.membership_form == "min"
        and layer.union_form == "smooth_max"
        and type(x) is Tensor
        and not (layer.boundary_temperature.requires_grad or layer.union_temperature.requires_grad)
        and x.shape[-1:] == (layer.n_features,)
        and not (x.requires_grad and torch.is_grad_enabled())
        and all(
            tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.layout == torch.strided
            for tensor in (x, layer.minimum, layer.raw_width)
        )
        # Code that is being traced has no numbers yet.
        and not torch.compiler.is_compiling()
        and torch._C._get_tracing_state() is None
        and torch._C._functorch.maybe_current_level() is None
    )


def logits(layer: BoxLayer, x: Tensor, plain: Plain) -> Tensor | None:
    """Return log p − log(1 − p), shape (..., n_classes), or None where a number is not finite.

    ``plain`` is the same function of x, lower and upper by formulas, for derivatives of the gradient.
    """
    result: Tensor | None = _Logits.apply(  # type: ignore[no-untyped-call]
        x, layer.lower, layer.upper, _number(layer.boundary_temperature), _number(layer.union_temperature),
        plain,
    )  # fmt: skip
    return result


@dataclass(frozen=True)
class CrossEntropy:
    """The binary cross entropy of one set of rows: value and gradient in one pass, for the full batch.

    ``alpha`` and ``beta``, of shape (n_rows, n_classes), are the weights of log p and log(1 − p).
    """

    strips: paper.Strips
    alpha: paper.Floats
    beta: paper.Floats

    @classmethod
    def make(
        cls, model: nn.Module, objective: Objective, x: Tensor, target: Tensor, weight: Tensor
    ) -> CrossEntropy | None:
        """Lay the rows out, and read their weights off a loss that is linear in log p and log(1 − p).

        None if the model is anything but a layer that the kernel fits, or the target not what it puts out.
        """
        if not (_is_bare_layer(model) and fits(model, x)):
            return None
        if target.shape != (len(x), model.n_classes)[: 1 if model.n_classes == 1 else 2]:
            return None
        each = weight[:, None] / model.n_classes

        def slope(logit: float) -> paper.Floats:
            loss = objective.loss(torch.full_like(target, logit), target)
            result: paper.Floats = (-each * loss.reshape(len(x), -1) / CERTAIN).numpy()
            return result

        return cls(paper.lay_out(x.numpy()), slope(-CERTAIN), slope(CERTAIN))

    def __call__(self, layer: BoxLayer) -> Tensor:
        """Return the sum of the losses in float64, shape (1,); NaN where a number is not finite."""
        total: Tensor = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
            self, layer.lower, layer.upper, _number(layer.boundary_temperature),
            _number(layer.union_temperature), torch.is_grad_enabled(),
        )  # fmt: skip
        return total


class _Logits(torch.autograd.Function):
    """A pass forward and a pass back; to keep gaps and faces between them takes 16 bytes per row and box."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, lower: Tensor, upper: Tensor, boundary: float, union: float, plain: Plain
    ) -> Tensor | None:
        ctx.save_for_backward(x, lower, upper)
        ctx.options, ctx.plain = (boundary, union), plain
        found = _pass(x, lower, upper, boundary, union)
        if not found.finite:
            return None
        return torch.from_numpy(found.log_p - found.log_not_p).reshape(*x.shape[:-1], len(lower))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        x, lower, upper = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Views: upper may itself be made from lower, and only partial derivatives are asked for.
            bounds = lower.view_as(lower), upper.view_as(upper)
            by = torch.autograd.grad(ctx.plain(x, *bounds), bounds, slopes, create_graph=True)
            return None, *by, None, None, None
        slope = slopes[0].reshape(-1, len(lower)).numpy()
        found = _pass(x, lower, upper, *ctx.options, slope, -slope)
        return None, torch.from_numpy(found.lower), torch.from_numpy(found.upper), None, None, None


class _CrossEntropy(torch.autograd.Function):
    """The gradient is made with the value, and kept."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: CrossEntropy,
        lower: Tensor,
        upper: Tensor,
        boundary: float,
        union: float,
        learns: bool,
    ) -> Tensor:
        found = paper.union(
            rows.strips, lower.detach().numpy(), upper.detach().numpy(), boundary, union, rows.alpha,
            rows.beta, learns=learns,
        )  # fmt: skip
        ctx.save_for_backward(torch.from_numpy(found.lower), torch.from_numpy(found.upper))
        total = found.losses.sum(dtype=np.float64) if found.finite else np.nan
        return torch.tensor([total], dtype=torch.float64)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        lower, upper = ctx.saved_tensors
        slope = slope.to(lower.dtype)
        return None, slope * lower, slope * upper, None, None, None


def _pass(
    x: Tensor, lower: Tensor, upper: Tensor, boundary: float, union: float, *weights: paper.Floats
) -> paper.Union:
    rows = x.detach().reshape(-1, x.shape[-1]).numpy()
    return paper.union(rows, lower.detach().numpy(), upper.detach().numpy(), boundary, union, *weights)


def _is_bare_layer(model: nn.Module) -> TypeGuard[BoxLayer]:
    """Tell whether calling a model is calling `BoxLayer.forward`, and nothing else."""
    from .module import BoxLayer

    hooks = (model._forward_hooks, model._forward_pre_hooks, model._backward_hooks, model._backward_pre_hooks)
    return type(model) is BoxLayer and not any(hooks)


def _number(temperature: Tensor) -> float:
    return float(temperature.detach())
