"""Soft membership in a box and soft union of boxes: stateless functions of torch tensors.

Shapes: ``x`` is (..., n_features), ``lower`` and ``upper`` are (*boxes, n_features), and a membership is
(..., *boxes). Below, τ is the boundary temperature and φ the union temperature.

A membership h close to 0 or 1 loses its gradient to rounding long before log h or log(1 − h) does, so
training works on the pair (log h, log(1 − h)); names that begin with ``log_`` stay in that space.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.utils.checkpoint import checkpoint

MembershipForm = Literal["min", "margin", "product"]
UnionForm = Literal["smooth_max", "noisy_or"]
Temperature = float | Tensor

#: Rows × boxes × features that are laid out at a time: 16 MB in float32.
CHUNK_ELEMENTS = 1 << 22
#: Numbers up to which torch does not split an elementwise function over threads. Where it splits, the ends of
#: the parts are rounded by other code than the rest, and the last digit of an exp or log follows the split.
SERIAL_ELEMENTS = 1 << 15


def sigmoid(x: Tensor, temperature: Temperature) -> Tensor:
    """Return σ_τ(x) = 1 / (1 + exp(−x/τ)), the paper's generalised sigmoid."""
    return torch.sigmoid(x / temperature)


def log_sigmoid(x: Tensor) -> Tensor:
    """Return log σ(x) = −softplus(−x).

    Torch's own logsigmoid, like its log_softmax and min over a dimension, calls in all threads for a handful
    of numbers, which costs milliseconds on a busy machine; softplus, logsumexp and amin only do so for many.
    """
    return -F.softplus(-x, threshold=40)


def log1mexp(x: Tensor) -> Tensor:
    """Return log(1 − exp(x)) for x ≤ 0, accurate at both ends; 0 is taken as the smallest number below it."""
    x = x.clamp(max=-torch.finfo(x.dtype).tiny)
    near = x > -math.log(2)
    # Each branch only sees values it can take: an infinite gradient times zero would be NaN.
    close = torch.log(-torch.expm1(torch.where(near, x, -1.0)))
    far = torch.log1p(-torch.exp(torch.where(near, -1.0, x)))
    return torch.where(near, close, far)


def membership(x: Tensor, lower: Tensor, upper: Tensor, temperature: Temperature) -> Tensor:
    """Return the paper's containment check, σ_τ(min_j(x_j − lower_j)) · σ_τ(min_j(upper_j − x_j))."""
    above, below = _over_rows(_two_gaps, x, lower, upper)
    return sigmoid(above, temperature) * sigmoid(below, temperature)


def margin(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """Return how deep a row lies in a box, or minus its distance to it.

    With v_j = min(x_j − lower_j, upper_j − x_j): the margin is min_j v_j where that is ≥ 0, and
    −‖min(v, 0)‖₂ elsewhere, so that every violated feature receives a gradient. At the edge of the
    box the gradient is that of the inside.
    """
    (result,) = _over_rows(_margin, x, lower, upper)
    return result


def log_product(x: Tensor, lower: Tensor, upper: Tensor, temperature: Temperature) -> Tensor:
    """Return log h = Σ_j log σ((x_j − lower_j)/τ) + log σ((upper_j − x_j)/τ), the product form."""
    return _over_rows(partial(_log_faces, temperature=temperature), x, lower, upper)[0]


def log_membership(
    x: Tensor, lower: Tensor, upper: Tensor, temperature: Temperature, form: MembershipForm = "min"
) -> tuple[Tensor, Tensor]:
    """Return (log h, log(1 − h)) of the membership h, both finite however far or deep a row lies.

    Parameters
    ----------
    x : Tensor of shape (..., n_features)
    lower, upper : Tensor of shape (*boxes, n_features)
        Finite bounds.
    temperature : float or Tensor
        The boundary temperature τ.
    form : {"min", "margin", "product"}
        ``"min"`` is the paper's `membership`, h = ab with a, b its two sigmoids, and
        1 − h = (1 − a) + a(1 − b); ``"margin"`` is h = σ_τ(`margin`); ``"product"`` is exp `log_product`.

    Returns
    -------
    log_h, log_not_h : Tensor of shape (..., *boxes)

    Examples
    --------
    >>> import torch
    >>> bounds = torch.tensor([[-1.0, -1.0]]), torch.tensor([[1.0, 1.0]])
    >>> log_h, log_not_h = log_membership(torch.tensor([[0.0, 0.5], [0.0, 900.0]]), *bounds, 0.1, "margin")
    >>> log_h.exp().round(decimals=3)
    tensor([[0.9930],
            [0.0000]])
    >>> log_h[1]
    tensor([-8990.])
    """
    if form == "min":
        above, below = (gap / temperature for gap in _over_rows(_two_gaps, x, lower, upper))
        log_a, log_b = log_sigmoid(above), log_sigmoid(below)
        return log_a + log_b, torch.logaddexp(log_sigmoid(-above), log_a + log_sigmoid(-below))
    if form == "margin":
        depth = margin(x, lower, upper) / temperature
        return log_sigmoid(depth), log_sigmoid(-depth)
    if form == "product":
        log_h, log_missing = _over_rows(partial(_log_faces, temperature=temperature), x, lower, upper)
        # 1 − Π σ(u_i) is Σ exp(−u_i) up to its square, and log h = −Σ exp(−u_i) may underflow to zero.
        tiny = log_missing < math.log(torch.finfo(log_h.dtype).eps)
        return log_h, torch.where(tiny, log_missing, log1mexp(torch.where(tiny, -1.0, log_h)))
    raise ValueError(f"form must be 'min', 'margin' or 'product', got {form!r}")


def smooth_max(h: Tensor, temperature: Temperature, dim: int = -1) -> Tensor:
    """Return the paper's union S_φ = Σ_k h_k exp(h_k/φ) / Σ_k exp(h_k/φ).

    The weights are a softmax, which subtracts the largest exponent first: exp(1/0.01) never occurs.
    """
    return (h * torch.softmax(h / temperature, dim)).sum(dim)


def log_smooth_max(
    log_h: Tensor, temperature: Temperature, log_not_h: Tensor | None = None, dim: int = -1
) -> tuple[Tensor, Tensor]:
    """Return (log S, log(1 − S)) of the `smooth_max` S.

    With w = softmax(h/φ): log S = logsumexp(log w + log h), log(1 − S) = logsumexp(log w + log(1 − h)).
    """
    log_not_h = log1mexp(log_h) if log_not_h is None else log_not_h
    h = log_h.exp() / temperature
    log_weights = h - torch.logsumexp(h, dim, keepdim=True)
    return torch.logsumexp(log_weights + log_h, dim), torch.logsumexp(log_weights + log_not_h, dim)


def log_noisy_or(log_h: Tensor, log_not_h: Tensor | None = None, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Return (log p, log(1 − p)) of the noisy-or union p = 1 − Π_k (1 − h_k).

    log(1 − p) = Σ_k log(1 − h_k), and log p = log1mexp of that; where p is below rounding,
    log p = logsumexp_k log h_k, so that a row far from every box still draws the nearest one.

    Parameters
    ----------
    log_h : Tensor
        Log memberships, boxes along ``dim``.
    log_not_h : Tensor, optional
        log(1 − h) where the caller has it more exactly than log1mexp(log_h) can give it.
    dim : int
        The dimension of the boxes.
    """
    log_not_p = (log1mexp(log_h) if log_not_h is None else log_not_h).sum(dim)
    total = torch.logsumexp(log_h, dim)
    tiny = total < math.log(torch.finfo(log_h.dtype).eps)
    return torch.where(tiny, total, log1mexp(torch.where(tiny, -1.0, log_not_p))), log_not_p


def _two_gaps(x: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, ...]:
    return (x - lower).amin(-1), (upper - x).amin(-1)


def _margin(x: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, ...]:
    gap = torch.minimum(x - lower, upper - x)
    depth = gap.amin(-1)
    # vector_norm has gradient zero, not NaN, at the zero vector.
    distance = torch.linalg.vector_norm(gap.clamp(max=0), dim=-1)
    return (torch.where(depth >= 0, depth, -distance),)


def _log_faces(x: Tensor, lower: Tensor, upper: Tensor, temperature: Temperature) -> tuple[Tensor, ...]:
    """Return Σ log σ(u_i) and log Σ exp(−u_i) over the faces, u_i the distance to a face over τ."""
    above, below = (x - lower) / temperature, (upper - x) / temperature
    log_h = (log_sigmoid(above) + log_sigmoid(below)).sum(-1)
    log_missing = torch.logaddexp(torch.logsumexp(-above, -1), torch.logsumexp(-below, -1))
    return log_h, log_missing


def _over_rows(
    function: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]], x: Tensor, lower: Tensor, upper: Tensor
) -> tuple[Tensor, ...]:
    """Apply a function of (rows, 1, features) and (boxes, features) to rows and boxes of any dimensions."""
    if x.shape[-1] != lower.shape[-1] or lower.shape != upper.shape:
        raise ValueError(
            f"x has {x.shape[-1]} features, lower shape {tuple(lower.shape)} and upper {tuple(upper.shape)}: "
            "all three need the same last dimension, and the bounds the same shape"
        )
    rows, boxes = x.shape[:-1], lower.shape[:-1]
    flat = x.reshape(-1, 1, x.shape[-1])
    lower, upper = lower.reshape(-1, x.shape[-1]), upper.reshape(-1, x.shape[-1])
    chunk = max(1, CHUNK_ELEMENTS // max(1, lower.numel()))
    results = in_pieces(
        lambda piece: function(piece, lower, upper), flat, rows=chunk, recompute=len(flat) > chunk
    )
    return tuple(result.reshape(*rows, *boxes) for result in results)


def in_pieces(
    function: Callable[..., tuple[Tensor, ...]], *tensors: Tensor, rows: int, recompute: bool = False
) -> tuple[Tensor, ...]:
    """Apply a function of the rows of some tensors to a number of rows at a time.

    With ``recompute`` a piece forgets its intermediate values and finds them anew in the backward pass,
    so that no more than one piece's exist at once.
    """
    if len(tensors[0]) <= rows:
        return function(*tensors)
    pieces = zip(*(torch.split(tensor, rows) for tensor in tensors), strict=True)
    if recompute and torch.is_grad_enabled():
        parts = [
            checkpoint(function, *piece, use_reentrant=False, preserve_rng_state=False) for piece in pieces
        ]
    else:
        parts = [function(*piece) for piece in pieces]
    return tuple(torch.cat(results) for results in zip(*parts, strict=True))
