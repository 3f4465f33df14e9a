"""BoxLayer: raw parameters → ordered bounds → soft union, as one layer of any torch network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..boxes import Boxes, Label
from . import functional, fused
from .functional import MembershipForm, UnionForm

WidthForm = Literal["softplus", "absolute"]
Output = Literal["logits", "class_scores", "margins"]
Floats = NDArray[np.float64]

#: The narrowest side that softplus can be started with.
NARROWEST = 1e-6


class BoxLayer(nn.Module):
    """A soft union of boxes for each class, differentiable in its input and its bounds.

    Parameters
    ----------
    n_features, n_boxes : int
        Columns of the input; boxes of each class.
    n_classes : int
        Classes that own boxes: 1 for the binary task of the paper.
    membership : {"min", "margin", "product"}
        How a row's place relative to a box becomes a membership, see `functional.log_membership`;
        ``"min"`` is the paper's.
    union : {"smooth_max", "noisy_or"}
        How memberships become one probability; ``"smooth_max"`` is the paper's. Its value falls with the
        number of boxes that miss a row, which noisy-or's does not.
    width : {"softplus", "absolute"}
        How a raw parameter becomes a side length ≥ 0; ``"absolute"`` is the paper's.
    boundary_temperature, union_temperature : float
        Softness of a side and of ``"smooth_max"``; buffers, so that they travel in ``state_dict``.
    output : {"logits", "class_scores", "margins"}
        Which of the methods of these names ``forward`` is.
    device, dtype : optional
        As for every torch layer.
    generator : torch.Generator, optional
        Source of the random start: lower bounds N(0, 1), side lengths the absolute value of N(0, 1).

    Attributes
    ----------
    minimum, raw_width : Parameter of shape (n_classes, n_boxes, n_features)

    Examples
    --------
    >>> import torch
    >>> layer = BoxLayer(2, n_boxes=1, boundary_temperature=0.1)
    >>> layer.set_bounds([[-1.0, -1.0]], [[1.0, 1.0]])
    >>> layer(torch.tensor([[0.0, 0.0], [3.0, 0.0]])) > 0
    tensor([ True, False])
    """

    boundary_temperature: Tensor
    union_temperature: Tensor

    def __init__(
        self,
        n_features: int,
        n_boxes: int,
        n_classes: int = 1,
        *,
        membership: MembershipForm = "min",
        union: UnionForm = "smooth_max",
        width: WidthForm = "softplus",
        boundary_temperature: float = 1.0,
        union_temperature: float = 1.0,
        output: Output = "logits",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        for name, count in (("n_features", n_features), ("n_boxes", n_boxes), ("n_classes", n_classes)):
            if count < 1:
                raise ValueError(f"{name} must be at least 1, got {count}")
        for name, value in (("boundary", boundary_temperature), ("union", union_temperature)):
            if not value > 0:
                raise ValueError(f"{name}_temperature must be positive, got {value}")
        for name, form, allowed in (
            ("membership", membership, MembershipForm), ("union", union, UnionForm),
            ("width", width, WidthForm), ("output", output, Output),
        ):  # fmt: skip
            if form not in get_args(allowed):
                raise ValueError(f"{name} must be one of {get_args(allowed)}, got {form!r}")
        self.n_features, self.n_boxes, self.n_classes = n_features, n_boxes, n_classes
        self.membership_form, self.union_form, self.width_form = membership, union, width
        self.output: Output = output
        shape = (n_classes, n_boxes, n_features)
        self.minimum = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.raw_width = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        for name, value in (("boundary", boundary_temperature), ("union", union_temperature)):
            self.register_buffer(f"{name}_temperature", self.minimum.new_tensor(value))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the paper's start: lower bounds from N(0, 1), absolute side lengths likewise."""
        if self.minimum.is_meta:
            return
        source = self.minimum.device if generator is None else generator.device
        for parameter in (self.minimum, self.raw_width):
            start = torch.randn(parameter.shape, generator=generator, device=source, dtype=parameter.dtype)
            if parameter is self.raw_width:
                start = self._raw(start.abs())
            with torch.no_grad():
                parameter.copy_(start)

    # -- bounds ------------------------------------------------------------------------------------

    def _raw(self, width: Tensor) -> Tensor:
        if self.width_form == "absolute":
            return width
        width = width.clamp(min=NARROWEST)
        return width + functional.log1mexp(-width)

    @property
    def width(self) -> Tensor:
        """Side lengths, never negative, shape (n_classes, n_boxes, n_features)."""
        return self.raw_width.abs() if self.width_form == "absolute" else F.softplus(self.raw_width)

    @property
    def lower(self) -> Tensor:
        """Lower bounds, shape (n_classes, n_boxes, n_features)."""
        return self.minimum

    @property
    def upper(self) -> Tensor:
        """Upper bounds, shape (n_classes, n_boxes, n_features)."""
        return self.minimum + self.width

    def set_bounds(
        self, lower: ArrayLike, upper: ArrayLike, *, reach: float | tuple[ArrayLike, ArrayLike] = 20.0
    ) -> None:
        """Start from given boxes.

        Parameters
        ----------
        lower, upper : array-like of shape (n_classes, n_boxes, n_features)
            Or (n_boxes, n_features) for all classes alike. A side may be infinite.
        reach : float or pair of array-like
            Where infinite sides are put: at ∓ ``reach``, or at a lower and an upper end for each
            feature. Far out is not better: an upper bound is stored as lower + width and loses digits.
        """
        ends = (-reach, reach) if isinstance(reach, int | float) else reach
        low, high = (np.broadcast_to(np.asarray(end, np.float64), self.n_features) for end in ends)
        shape = tuple(self.minimum.shape)
        try:
            bounds = [np.broadcast_to(_to_numpy(bound), shape).copy() for bound in (lower, upper)]
        except ValueError:
            raise ValueError(
                f"bounds of shapes {np.shape(_to_numpy(lower))} and {np.shape(_to_numpy(upper))} do not fit "
                f"a layer of (n_classes, n_boxes, n_features) = {shape}"
            ) from None
        below, above = bounds
        if not (below <= above).all():
            box = tuple(int(place) for place in np.argwhere(~(below <= above))[0])
            raise ValueError(f"lower must not exceed upper, but at {box}: {below[box]} against {above[box]}")
        # A finite side beyond the reach keeps its place; the open one opposite is put as far again.
        span = high - low
        open_below, open_above = np.isneginf(below), np.isposinf(above)
        below = np.where(open_below, np.where((above > low) | open_above, low, above - span), below)
        above = np.where(open_above, np.where(below < high, high, below + span), above)
        if not (np.isfinite(below).all() and np.isfinite(above).all()):
            raise ValueError("a lower bound of +inf or an upper bound of -inf is no open side; use a number")
        with torch.no_grad():
            self.minimum.copy_(torch.from_numpy(below))
            self.raw_width.copy_(self._raw(torch.from_numpy(above - below)))

    @classmethod
    def from_boxes(
        cls,
        boxes: Boxes,
        center: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        *,
        reach: float | tuple[ArrayLike, ArrayLike] = 20.0,
        **options: Any,
    ) -> BoxLayer:
        """Start a layer from boxes in table units, at (bound − center) / scale.

        Each label that owns boxes becomes a class, in the order of ``boxes.classes``; the order of boxes
        of different labels is not kept. A class with fewer boxes than another repeats its own, which
        leaves its crisp union as it was.

        Parameters
        ----------
        boxes : Boxes
            Over numeric features.
        center, scale : array-like of shape (n_features,)
            What the layer's input has been standardised with.
        reach : float or pair of array-like
            See `set_bounds`; in standardised units.
        **options
            Passed to the constructor.
        """
        if boxes.n_boxes == 0:
            raise ValueError("a layer needs at least one box, and these Boxes hold none")
        for name, table in boxes.allowed.items():
            if not table.all():
                raise ValueError(f"feature {name!r} is restricted by categories; a layer only knows numbers")
        if np.isnan(boxes.lower).any():
            feature = boxes.feature_names[int(np.argwhere(np.isnan(boxes.lower))[0, 1])]
            raise ValueError(f"a box asks that {feature!r} be missing; a layer only knows numbers")
        owned = [np.flatnonzero(boxes.labels == label) for label in boxes.classes.tolist()]
        owned = [places for places in owned if len(places)]
        n_boxes = max(map(len, owned))
        index = np.stack([np.resize(places, n_boxes) for places in owned])
        layer = cls(boxes.n_features, n_boxes, len(owned), **options)
        center, scale = np.asarray(center, np.float64), _positive(scale)
        layer.set_bounds(
            (boxes.lower[index] - center) / scale, (boxes.upper[index] - center) / scale, reach=reach
        )
        return layer

    def to_boxes(
        self,
        center: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        feature_names: Sequence[str] = (),
        labels: Sequence[Label] | None = None,
        default: Label | None = None,
        *,
        data_range: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Boxes:
        """Give the boxes in table units, bound · scale + center, class after class.

        Parameters
        ----------
        center, scale : array-like of shape (n_features,)
            What the layer's input has been standardised with.
        feature_names : sequence of str
            Names for the columns.
        labels : sequence of n_classes labels, optional
            What the boxes of each class vote for; ``[1]`` for one class, else 0, 1, ….
        default : label, optional
            The answer for rows in no box; 0 if ``labels`` is left out and there is one class.
        data_range : pair of array-like of shape (n_features,), optional
            Smallest and largest value of each column, in table units: a side that excludes nothing
            between them is left open.
        """
        if labels is None:
            labels = [1] if self.n_classes == 1 else list(range(self.n_classes))
            default = 0 if self.n_classes == 1 and default is None else default
        if len(labels) != self.n_classes:
            raise ValueError(f"{len(labels)} labels for {self.n_classes} classes")
        center, scale = np.asarray(center, np.float64), _positive(scale)
        with torch.no_grad():
            # In double the sum is exact enough for upper never to fall below lower.
            start, width = self.minimum.cpu().double().numpy(), self.width.cpu().double().numpy()
        lower, upper = start * scale + center, (start + width) * scale + center
        if data_range is not None:
            low, high = (np.asarray(end, np.float64) for end in data_range)
            lower, upper = np.where(lower <= low, -np.inf, lower), np.where(upper >= high, np.inf, upper)
        return Boxes(
            lower.reshape(-1, self.n_features), upper.reshape(-1, self.n_features),
            np.repeat(np.asarray(labels), self.n_boxes), tuple(feature_names), default,
        )  # fmt: skip

    # -- outputs -----------------------------------------------------------------------------------

    def forward(self, x: Tensor) -> Tensor:
        """Give the layer's ``output``, shape (...) for one class, else (..., n_classes)."""
        method = {"logits": self.logits, "class_scores": self.class_scores, "margins": self.margins}[
            self.output
        ]
        result = method(x)
        return result.squeeze(-1) if self.n_classes == 1 else result

    def _by_rows(self, function: Callable[[Tensor, Tensor, Tensor], Tensor], x: Tensor) -> Tensor:
        """Apply a function of rows, lower and upper; on the CPU to so few rows that threads stay out."""
        lower, upper = self.lower, self.upper
        flat = x.reshape(-1, x.shape[-1])
        rows = len(flat)
        if x.device.type == "cpu":
            # Memberships in the other forms are arithmetic up to one number for each row and box.
            depth = self.n_features if self.membership_form == "product" else 1
            rows = max(1, functional.SERIAL_ELEMENTS // (self.n_classes * self.n_boxes * depth))
        (result,) = functional.in_pieces(
            lambda piece: (function(piece, lower, upper),), flat, rows=rows,
            recompute=len(flat) * lower.numel() > functional.CHUNK_ELEMENTS,
        )  # fmt: skip
        return result.reshape(*x.shape[:-1], *result.shape[1:])

    def _log_membership(self, x: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        return functional.log_membership(x, lower, upper, self.boundary_temperature, self.membership_form)

    def membership(self, x: Tensor) -> Tensor:
        """Give the degree to which each box holds each row, shape (..., n_classes, n_boxes)."""
        return self._by_rows(lambda *tensors: self._log_membership(*tensors)[0].exp(), x)

    def logits(self, x: Tensor) -> Tensor:
        """Give log p − log(1 − p) of each class's soft union p, shape (..., n_classes)."""

        def of_rows(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
            log_h, log_not_h = self._log_membership(x, lower, upper)
            if self.union_form == "noisy_or":
                log_p, log_not_p = functional.log_noisy_or(log_h, log_not_h)
            else:
                log_p, log_not_p = functional.log_smooth_max(log_h, self.union_temperature, log_not_h)
            return log_p - log_not_p

        result = fused.logits(self, x, of_rows) if fused.fits(self, x) else None
        return self._by_rows(of_rows, x) if result is None else result

    def class_scores(self, x: Tensor) -> Tensor:
        """Give logsumexp_k log h_k of each class, for a softmax over classes, shape (..., n_classes)."""
        return self._by_rows(lambda *tensors: torch.logsumexp(self._log_membership(*tensors)[0], dim=-1), x)

    def margins(self, x: Tensor) -> Tensor:
        """Give the largest margin over a class's boxes, shape (..., n_classes).

        It knows no temperature: ≥ 0 exactly where a box of the class contains the row.
        """
        return functional.margin(x, self.lower, self.upper).amax(-1)

    def extra_repr(self) -> str:
        """Describe the layer in one line."""
        return (
            f"n_features={self.n_features}, n_boxes={self.n_boxes}, n_classes={self.n_classes}, "
            f"membership={self.membership_form!r}, union={self.union_form!r}, width={self.width_form!r}"
        )


def box_layers(model: nn.Module) -> list[BoxLayer]:
    """Find the box layers of a model, in order."""
    return [module for module in model.modules() if isinstance(module, BoxLayer)]


def set_temperatures(layers: Iterable[BoxLayer], boundary: float, union: float) -> None:
    """Set both temperatures of the given layers."""
    for layer in layers:
        layer.boundary_temperature.fill_(boundary)
        layer.union_temperature.fill_(union)


def _to_numpy(values: ArrayLike | Tensor) -> Floats:
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, np.float64)


def _positive(scale: ArrayLike) -> Floats:
    scale = np.asarray(scale, np.float64)
    if not (scale > 0).all():
        raise ValueError(f"scale must be positive, got {scale}")
    return scale
