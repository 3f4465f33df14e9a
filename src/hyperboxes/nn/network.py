"""The gradient stage in torch: any device, loss, regulariser and optimizer; and the soft decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .module import BoxLayer
from .schedules import Cosine, Geometric, paper_settings
from .settings import Settings
from .starts import Bounds, History, Start
from .training import train

#: Share of rows that the paper's recipe watches for early stopping: every fifth of each class.
HOLDOUT_FOLDS = 5


class BalancedByF1:
    """Binary cross entropy with positives weighing 2 - F and negatives F, F a running F1 of each class.

    Near a solution the weighted loss then follows F1: a positive found is worth 2 - F, a false one costs F.
    """

    def __init__(self) -> None:
        self.f1: Tensor | None = None

    def __call__(self, logits: Tensor, target: Tensor) -> Tensor:
        """Give each row's loss."""
        with torch.no_grad():
            answer = (logits > 0).to(logits.dtype)
            hits = (answer * target).sum(0)
            f1 = 2 * hits / (answer.sum(0) + target.sum(0)).clamp(min=1)
            self.f1 = torch.full_like(f1, 0.5) if self.f1 is None else self.f1 + 0.05 * (f1 - self.f1)
            f1 = self.f1.clamp(min=0.1)
            weight = target * (2 - f1) + (1 - target) * f1
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none") * weight
        return loss if loss.ndim == 1 else loss.sum(-1)


@dataclass
class TorchDescent:
    """Train starts as box layers, all classes of a kind of start in one tensor.

    After the call, ``layers`` holds the trained layers and ``n_epochs`` how long each took.
    """

    layer_options: dict[str, Any]
    train_options: dict[str, Any]
    device: str = "auto"
    hold_out: bool = False
    seed: int = 0
    layers: list[BoxLayer] = field(default_factory=list)
    n_epochs: int = 0

    def __call__(self, starts: Sequence[Start]) -> tuple[list[Bounds], History]:
        """Train all starts; give their bounds in the order of the starts."""
        bounds: list[Bounds | None] = [None] * len(starts)
        history: History = {}
        for group in self._groups(starts):
            layer, history = self._train([starts[index] for index in group])
            with torch.no_grad():
                lower, upper = layer.lower.cpu().float().numpy(), layer.upper.cpu().float().numpy()
            for place, index in enumerate(group):
                n_boxes = len(starts[index].lower)
                bounds[index] = (lower[place, :n_boxes].copy(), upper[place, :n_boxes].copy())
            self.layers.append(layer)
        return [bound for bound in bounds if bound is not None], history

    def _groups(self, starts: Sequence[Start]) -> list[list[int]]:
        """Put the classes of one kind of start together, unless each has its own order of categories."""
        groups: dict[object, list[int]] = {}
        for index, start in enumerate(starts):
            own = bool(start.view.orders)
            if own and self.train_options["loss"] == "softmax" and len(starts) > 1:
                raise ValueError(
                    "loss='softmax' trains all classes on the same coordinates, but unordered categories are "
                    "ordered for each class: make them ordered, or use another loss"
                )
            groups.setdefault((start.number, index if own else -1), []).append(index)
        return list(groups.values())

    def _train(self, group: list[Start]) -> tuple[BoxLayer, History]:
        start, n_boxes = group[0], max(len(start.lower) for start in group)
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            torch.empty(0, device=device)
        except (AssertionError, RuntimeError) as reason:  # each kind of device has an error of its own
            raise ValueError(f"device {device!r} cannot be used: {reason}") from reason
        Z = start.space.Z
        layer = BoxLayer(Z.shape[1], n_boxes, len(group), device=device, **self.layer_options)
        # A class with fewer boxes repeats its own, which leaves its union as it is.
        index = [np.resize(np.arange(len(each.lower)), n_boxes) for each in group]
        layer.set_bounds(
            np.stack([each.lower[rows] for each, rows in zip(group, index, strict=True)]),
            np.stack([each.upper[rows] for each, rows in zip(group, index, strict=True)]),
        )
        weight = start.view.problem.weight
        target = np.stack([each.view.positive for each in group], axis=1).astype(np.float32)
        if len(group) == 1:
            target = target[:, 0]
        elif self.train_options["loss"] == "softmax":
            target = target.argmax(axis=1)
        options = dict(self.train_options)
        learn = np.ones(len(Z), bool)
        if self.hold_out:
            learn = _every_fifth(start.view.problem.classes)
            if not learn.all():
                options["validation"] = (Z[~learn], target[~learn], weight[~learn])
        done = train(layer, Z[learn], target[learn], sample_weight=weight[learn], seed=self.seed, **options)
        self.n_epochs = max(self.n_epochs, done.n_epochs)
        epochs = np.arange(1, done.n_epochs + 1, dtype=np.float64)
        return layer, {
            "step": epochs,
            "loss": np.array(done.train_loss),
            "temperature": np.array(done.boundary_temperature),
        }


def _every_fifth(classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the rows to learn from; every fifth row of each class is left out."""
    learn = np.ones(len(classes), bool)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        learn[rows[HOLDOUT_FOLDS - 1 :: HOLDOUT_FOLDS]] = False
    return learn


def torch_descent(
    settings: Settings | None,
    n_rows: int,
    *,
    loss: str | Callable[..., Any] | None = None,
    regularizers: Sequence[Callable[..., Any]] = (),
    optimizer: Callable[..., Any] | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    max_epochs: int | None = None,
    device: str = "auto",
    progress: bool = False,
    seed: int = 0,
) -> TorchDescent:
    """Make the gradient stage of a recipe in torch; ``settings=None`` is the paper's recipe."""
    if settings is None:
        paper = paper_settings()
        layer, options = paper.layer, dict(paper.train)
        if learning_rate is not None:
            options["learning_rate"] = learning_rate
    else:
        rows = min(settings.batch_size, n_rows)
        temperatures = settings.temperatures(n_rows)
        layer = {
            "membership": "product",
            "union": "noisy_or",
            "boundary_temperature": temperatures[0],
        }
        options = {
            "loss": BalancedByF1(),
            "batch_size": rows,
            "max_epochs": max(1, math.ceil(settings.n_steps * rows / max(n_rows, 1))),
            "learning_rate": Cosine(settings.learning_rate, settings.last_learning_rate),
            "temperatures": Geometric(*temperatures),
            "optimizer_options": {"betas": (0.9, 0.99)},
        }
    if loss is not None:
        options["loss"] = loss
    if optimizer is not None:
        options["optimizer"] = optimizer
        options.pop("optimizer_options", None)
    if regularizers:
        options["regularizers"] = (*options.get("regularizers", ()), *regularizers)
    if batch_size is not None:
        options["batch_size"] = batch_size
    if max_epochs is not None:
        options["max_epochs"] = max_epochs
    options["progress"] = progress
    return TorchDescent(layer, options, device, hold_out=settings is None, seed=seed)


def soft_scores(layer: BoxLayer, Z: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the network's output in [0, 1] for each row and class, shape (n_samples, n_classes)."""
    layer = layer.to("cpu")
    with torch.no_grad():
        return layer.logits(torch.from_numpy(Z).to(layer.minimum.dtype)).sigmoid().double().numpy()
