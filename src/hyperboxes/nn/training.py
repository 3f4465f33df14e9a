"""train: loss, annealing, early stopping that restores the best state, and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Literal

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from .checkpoint import CheckpointFolder
from .fused import CrossEntropy
from .module import box_layers
from .objective import Loss, Objective, Regularizer, describe
from .run import (
    RETRIES,
    History,
    Interrupt,
    NonFiniteError,
    Rows,
    Run,
    TrainingWarning,
    restored_modes,
)  # fmt: skip
from .schedules import PaperSettings, Plateau, RateSchedule, Schedule, paper_settings

__all__ = ["History", "NonFiniteError", "PaperSettings", "TrainingWarning", "paper_settings", "train"]


def train(
    model: nn.Module,
    X: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    sample_weight: ArrayLike | Tensor | None = None,
    loss: str | Loss = "bce",
    regularizers: Sequence[Regularizer] = (),
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
    learning_rate: float | RateSchedule = 0.02,
    optimizer_options: Mapping[str, Any] | None = None,
    batch_size: int | None = None,
    max_epochs: int = 500,
    validation: Sequence[ArrayLike | Tensor] | None = None,
    patience: int | None = None,
    tolerance: float = 0.0,
    monitor: Literal["crisp", "loss"] | None = None,
    temperatures: Schedule | None = None,
    plateau: Mapping[str, Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 50,
    on_epoch: Callable[[int, dict[str, float]], bool | None] | None = None,
    progress: bool = False,
    seed: int = 0,
) -> History:
    """Train a model that is, or ends in, a `BoxLayer`.

    The batch order and any dropout are functions of ``seed`` and the epoch alone. No global random state
    is read or changed. SIGINT ends the run after the current step and the model gets its best state; a
    second SIGINT raises. Under `DistributedDataParallel` every process passes the same rows and takes its
    share of each batch.

    Parameters
    ----------
    model : Module
        Trained in place, on its own device and in its own dtype.
    X : array-like of shape (n_rows, n_features)
        Finite numbers, standardised.
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        0 and 1 for one class; class numbers, or a column for each class, for several.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; their scale does not matter.
    loss : {"bce", "weighted_bce", "focal", "soft_f1", "softmax"} or callable
        ``"weighted_bce"`` balances the classes; ``"softmax"`` is for several exclusive classes. A callable
        takes (output, target) and gives a value for each row, or a scalar; if it has an argument ``weight``
        it gets the row weights.
    regularizers : sequence of callables
        Penalties model → scalar: `BoxSize`, `BoxCount`, `ConditionCount` or your own.
    optimizer, optimizer_options
        A class of torch.optim that needs no closure, and its options besides ``lr``.
    learning_rate : float or callable
        A number, or a schedule such as `Cosine`.
    batch_size : int, optional
        Rows of a step; all rows by default.
    max_epochs : int
        Passes over the rows.
    validation : (X, y) or (X, y, sample_weight), optional
        A hold-out to watch. With it, or with ``patience``, the model ends in its best state. Without it,
        ``patience`` watches the training rows.
    patience : int, optional
        Epochs without improvement before training stops.
    tolerance : float
        What an improvement must exceed to restart the patience.
    monitor : {"crisp", "loss"}, optional
        What is watched: the `crisp_error` of the boxes, or the loss. A loss changes its meaning with the
        temperature, so by default it is only watched where no schedule moves temperatures. Of equal crisp
        errors the latest counts as best: it is the most trained.
    temperatures : callable, optional
        `Geometric`, `Steps`, or any (epoch, max_epochs) → (boundary, union).
    plateau : mapping, optional
        Options of `Plateau`, which lowers the learning rate when the training loss stalls.
    checkpoint : path-like, optional
        A folder for this run's checkpoints. If it holds some, the run continues from there, to the same
        bits as without the break; other data, settings or start raise `CheckpointError`.
    checkpoint_every : int
        Epochs between checkpoints.
    on_epoch : callable, optional
        Called with the epoch and its values; returning True ends training.
    progress : bool
        Show a tqdm bar.
    seed : int
        Source of the batch order.

    Returns
    -------
    History

    Raises
    ------
    NonFiniteError
        If the first epoch never gives finite numbers, at any of the learning rates tried.

    Examples
    --------
    >>> import torch
    >>> from hyperboxes.nn import BoxLayer, train
    >>> X = torch.linspace(-2, 2, 41)[:, None]
    >>> layer = BoxLayer(1, 1, boundary_temperature=0.1, generator=torch.Generator().manual_seed(0))
    >>> history = train(layer, X, (X[:, 0].abs() < 1).float(), max_epochs=200)
    >>> layer.to_boxes(feature_names=["x"]).predict([[0.0], [1.9]])
    array([1, 0])
    """
    if max_epochs < 1 or (batch_size is not None and batch_size < 1) or checkpoint_every < 1:
        raise ValueError("max_epochs, batch_size and checkpoint_every must be at least 1")
    if monitor not in (None, "crisp", "loss"):
        raise ValueError(f"monitor must be 'crisp', 'loss' or None, got {monitor!r}")
    rows = Rows.make(model, X, y, sample_weight, loss)
    objective = Objective.make(loss, rows.target, rows.weight)
    watched = None
    if validation is not None:
        weight = validation[2] if len(validation) > 2 else None
        watched = Rows.make(model, validation[0], validation[1], weight, loss)
    elif patience is not None:
        watched = rows
    layers = box_layers(model)
    monitor = monitor or ("crisp" if temperatures is not None and layers else "loss")
    if monitor == "crisp" and not layers:
        raise ValueError("monitor='crisp' reads the boxes of a BoxLayer, and the model has none")
    whole = None
    if loss in ("bce", "weighted_bce") and (batch_size or len(rows.x)) >= len(rows.x):
        whole = CrossEntropy.make(model, objective, rows.x, rows.target, rows.weight)
    run = Run(
        model, rows, objective, tuple(regularizers), watched, monitor,
        optimizer(model.parameters(), lr=1.0, **(optimizer_options or {})),
        learning_rate, temperatures, Plateau(**plateau) if plateau is not None else None,
        batch_size or len(rows.x), max_epochs, patience, tolerance, seed, whole,
    )  # fmt: skip
    settings = {
        "loss": loss, "regularizers": tuple(regularizers), "optimizer": optimizer,
        "optimizer_options": dict(optimizer_options or {}), "learning_rate": learning_rate,
        "batch_size": batch_size, "max_epochs": max_epochs, "patience": patience, "tolerance": tolerance,
        "monitor": monitor, "temperatures": temperatures, "plateau": dict(plateau or {}), "seed": seed,
        "processes": run.n_processes,
    }  # fmt: skip
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(restored_modes(model))
        folder = None
        if checkpoint is not None:
            known = {name: describe(value) for name, value in settings.items()} | run.fingerprint()
            folder = stack.enter_context(CheckpointFolder(checkpoint, known, writes=run.process == 0))
            saved = folder.load()
            if saved is not None:
                run.unpack(saved)
        try:
            _loop(run, folder, checkpoint_every, on_epoch, interrupt, progress)
        finally:
            run.finish()
            run.history.interrupted = interrupt.requested
    return run.history


def _loop(
    run: Run,
    folder: CheckpointFolder | None,
    checkpoint_every: int,
    on_epoch: Callable[[int, dict[str, float]], bool | None] | None,
    interrupt: Interrupt,
    progress: bool,
) -> None:
    history, failures = run.history, 0
    bar = None
    if progress:
        from tqdm import tqdm

        bar = tqdm(total=run.max_epochs, initial=history.n_epochs, unit="epoch")
    try:
        while not history.stopped:
            try:
                if not run.epoch(interrupt):
                    history.stopped = "interrupted"
                    break
            except NonFiniteError as problem:
                failures += 1
                run.back(rate=0.5)
                if failures > RETRIES:
                    run.give_up(str(problem))
                continue
            failures = 0
            epoch = history.n_epochs
            if bar is not None:
                bar.update()
                bar.set_postfix({name: f"{value:.4g}" for name, value in history.last().items()})
            if on_epoch is not None and on_epoch(epoch - 1, history.last()):
                history.stopped = "on_epoch"
            elif run.patience is not None and run.waited >= run.patience:
                history.stopped = "patience"
            elif epoch >= run.max_epochs:
                history.stopped = "max_epochs"
            if folder is not None and not history.stopped and epoch % checkpoint_every == 0:
                folder.save(epoch, *run.pack())
    finally:
        if bar is not None:
            bar.close()
    if folder is not None and history.n_epochs > history.resumed_at:
        folder.save(history.n_epochs, *run.pack())
