"""A training run: the rows, the state that changes from epoch to epoch, and the steps that change it."""

from __future__ import annotations

import copy
import math
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .checkpoint import CheckpointError, Contents, Scalar, digest
from .fused import CrossEntropy
from .module import BoxLayer, Output, box_layers, set_temperatures
from .objective import Loss, Objective, Regularizer, crisp_error, describe, exact_sum
from .schedules import Plateau, RateSchedule, Schedule

#: Times an epoch is tried again, each at half the learning rate, after a loss or gradient that is not finite.
RETRIES = 3
#: Rows of a hold-out that are evaluated at a time.
EVALUATED_ROWS = 16_384
COLUMNS = ("train_loss", "monitored", "learning_rate", "boundary_temperature", "union_temperature")


class NonFiniteError(FloatingPointError):
    """A loss, gradient or parameter is infinite or no number, in the first epoch already."""


class TrainingWarning(RuntimeWarning):
    """Training ended early on numbers that are not finite; the model is the last finite one."""


@dataclass
class History:
    """What happened, epoch by epoch.

    Attributes
    ----------
    train_loss : list of float
        Mean loss of the training rows, each before its own step, without penalties.
    monitored : list of float
        What early stopping watches, lower is better; empty if nothing is watched.
    learning_rate, boundary_temperature, union_temperature : list of float
        As in the last step of each epoch.
    best_epoch, best_value : int or None, float
        The epoch whose state the model has been given back, and its monitored value.
    stopped : str
        ``"max_epochs"``, ``"patience"``, ``"on_epoch"``, ``"interrupted"`` or ``"not finite"``.
    interrupted : bool
        Whether SIGINT ended the run.
    resumed_at : int
        Epochs taken over from a checkpoint.
    """

    train_loss: list[float] = field(default_factory=list)
    monitored: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    boundary_temperature: list[float] = field(default_factory=list)
    union_temperature: list[float] = field(default_factory=list)
    best_epoch: int | None = None
    best_value: float = math.inf
    stopped: str = ""
    interrupted: bool = False
    resumed_at: int = 0

    @property
    def n_epochs(self) -> int:
        """Epochs completed."""
        return len(self.train_loss)

    def last(self) -> dict[str, float]:
        """Give the last epoch's values by name."""
        return {name: column[-1] for name in COLUMNS if (column := getattr(self, name))}


@dataclass
class Rows:
    """Inputs, targets and weights (mean 1) as tensors on the model's device."""

    x: Tensor
    target: Tensor
    weight: Tensor

    @classmethod
    def make(
        cls,
        model: nn.Module,
        X: ArrayLike | Tensor,
        y: ArrayLike | Tensor,
        weight: ArrayLike | Tensor | None,
        loss: str | Loss,
    ) -> Rows:
        """Check the rows and bring them into the form that the model and the loss take."""
        like = next(iter(model.parameters()))
        x = _tensor(X).to(like)
        target = _tensor(y).to(like.device)
        rows = torch.ones(len(x)).to(like) if weight is None else _tensor(weight).to(like)
        if len(x) == 0:
            raise ValueError("training needs at least one row, got none")
        if len(target) != len(x) or rows.shape != (len(x),):
            raise ValueError(f"{len(x)} rows, {len(target)} targets and weights of shape {tuple(rows.shape)}")
        if not bool(torch.isfinite(x).all()):
            raise ValueError(f"X must be finite numbers in {like.dtype}; fill missing values first")
        if not bool(torch.isfinite(rows).all() and (rows >= 0).all() and (rows > 0).any()):
            raise ValueError("sample_weight must be finite, not negative, and positive for some row")
        layers = box_layers(model)
        n_classes = layers[-1].n_classes if layers else 1
        numbered = not target.is_floating_point() and target.ndim == 1 and n_classes > 1
        if loss == "softmax" or (numbered and callable(loss)):
            target = target.long()
        elif numbered:
            target = torch.nn.functional.one_hot(target.long(), n_classes).to(like)
        else:
            target = target.to(like)
        return cls(x, target, rows * (len(rows) / exact_sum(rows)) if weight is not None else rows)


def _tensor(values: ArrayLike | Tensor) -> Tensor:
    # A copy: a tensor over read-only memory makes torch warn.
    return values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.array(values))


@dataclass
class Run:
    """A model on its way: what changes from epoch to epoch, and the steps that change it."""

    model: nn.Module
    rows: Rows
    objective: Objective
    regularizers: tuple[Regularizer, ...]
    watched: Rows | None
    monitor: str
    optimizer: torch.optim.Optimizer
    learning_rate: float | RateSchedule
    temperatures: Schedule | None
    plateau: Plateau | None
    batch_size: int
    max_epochs: int
    patience: int | None
    tolerance: float
    seed: int
    #: Stands in for the model and the objective where they are a `BoxLayer` and its full batch.
    cross_entropy: CrossEntropy | None = None
    history: History = field(default_factory=History)
    rate: float = 1.0
    waited: int = 0
    reference: float = math.inf
    best: dict[str, Tensor] | None = None

    def __post_init__(self) -> None:
        self.module, self.n_processes, self.process = self.model, 1, 0
        if isinstance(self.model, DistributedDataParallel):
            self.module, self.n_processes, self.process = (
                self.model.module,
                dist.get_world_size(),
                dist.get_rank(),
            )
        self.layers = box_layers(self.module)
        self.good = (_copy_state(self.module), copy.deepcopy(self.optimizer.state_dict()))

    # -- one epoch ---------------------------------------------------------------------------------

    def epoch(self, interrupt: Interrupt) -> bool:
        """Train for one epoch and judge it; False if interrupted, `good` then being the epoch before."""
        number, n_rows = self.history.n_epochs, len(self.rows.x)
        order = torch.arange(n_rows)
        if self.batch_size < n_rows:
            order = torch.randperm(n_rows, generator=torch.Generator().manual_seed(_mix(self.seed, number)))
        batches = torch.split(order.to(self.rows.x.device), self.batch_size)
        total = 0.0
        self.model.train()
        with _own_randomness(self.rows.x.device, _mix(self.seed, number, 1 + self.process)):
            for place, batch in enumerate(batches):
                # Processes must stop at the same step, so that none waits for another: between epochs.
                if interrupt.requested and self.n_processes == 1:
                    return False
                total += self._step(number + place / len(batches), batch)
        total, stop = self._over_processes(total, float(interrupt.requested))
        state = _copy_state(self.module)
        if not _finite(state.values()):
            raise NonFiniteError("parameters are not finite")
        if stop and self.n_processes > 1:
            return False
        self.good = (state, copy.deepcopy(self.optimizer.state_dict()))
        self._record(total / n_rows)
        self._judge(number)
        return True

    def _step(self, at: float, batch: Tensor) -> float:
        """Take one optimizer step; return the sum of this process's losses."""
        if self.temperatures is not None:
            set_temperatures(self.layers, *self.temperatures(at, self.max_epochs))
        rate = self.rate * (
            self.learning_rate(at, self.max_epochs) if callable(self.learning_rate) else self.learning_rate
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        size, batch = len(batch), batch[self.process :: self.n_processes]
        self.optimizer.zero_grad(set_to_none=True)
        if self.cross_entropy is not None:
            losses = self.cross_entropy(self.layers[-1])
        else:
            with _output(self.layers, self.objective.output):
                output = self.model(self.rows.x[batch])
            losses = self.objective(output, self.rows.target[batch], self.rows.weight[batch])
        # DDP averages over processes; times their number it is the sum over the whole batch.
        mean = losses.sum() * (self.n_processes / size) if losses.ndim else losses
        for regularizer in self.regularizers:
            mean = mean + regularizer(self.module)
        if not math.isfinite(mean.item()):
            # Spoils the gradient, which every process gets to see, whoever's loss it was.
            mean = mean * math.nan
        torch.autograd.backward(mean)
        if not _finite(value.grad for value in self.module.parameters() if value.grad is not None):
            raise NonFiniteError(f"loss or gradient not finite at learning rate {rate:g}")
        self.optimizer.step()
        return exact_sum(losses) if losses.ndim else losses.item() * len(batch)

    def _over_processes(self, *values: float) -> tuple[float, ...]:
        if self.n_processes == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64, device=self.rows.x.device)
        dist.all_reduce(total)
        return tuple(total.tolist())

    def _record(self, loss: float) -> None:
        history = self.history
        history.train_loss.append(loss)
        history.learning_rate.append(float(self.optimizer.param_groups[0]["lr"]))
        if self.layers:
            history.boundary_temperature.append(self.layers[-1].boundary_temperature.item())
            history.union_temperature.append(self.layers[-1].union_temperature.item())
        if self.plateau is not None:
            factor = self.plateau.update(loss)
            lowest = self.plateau.minimum / max(history.learning_rate[-1] / self.rate, 1e-300)
            self.rate = max(self.rate * factor, min(self.rate, lowest))

    def _judge(self, number: int) -> None:
        if self.watched is None:
            return
        value = self.evaluate(self.watched)
        history = self.history
        history.monitored.append(value)
        if value < self.reference - self.tolerance:
            self.reference, self.waited = value, 0
        else:
            self.waited += 1
        if value <= history.best_value:
            history.best_epoch, history.best_value = number, value
            # `good` is never written to, so that both may hold the same copy.
            self.best = self.good[0]

    def evaluate(self, rows: Rows) -> float:
        """Return the monitored value of some rows; NaN counts as infinitely bad."""
        self.model.eval()
        crisp = self.monitor == "crisp"
        with torch.no_grad(), _output(self.layers, "margins" if crisp else self.objective.output):
            if self.cross_entropy is not None and rows is self.rows and not crisp:
                value = exact_sum(self.cross_entropy(self.layers[-1])) / len(rows.x)
            else:
                output = torch.cat([self.module(piece) for piece in torch.split(rows.x, EVALUATED_ROWS)])
                if crisp:
                    value = crisp_error(output, rows.target, rows.weight)
                else:
                    losses = self.objective(output, rows.target, rows.weight)
                    value = exact_sum(losses) / max(1, losses.numel())
        return math.inf if math.isnan(value) else value

    # -- going back, and on ------------------------------------------------------------------------

    def back(self, rate: float = 1.0) -> None:
        """Return to the end of the last finite epoch, with the learning rate multiplied by ``rate``."""
        model, optimizer = self.good
        self.module.load_state_dict(model)
        # Torch may keep the very tensors it is given, and would then write into the copy.
        self.optimizer.load_state_dict(copy.deepcopy(optimizer))
        self.rate *= rate

    def give_up(self, problem: str) -> None:
        """End the run at its last finite epoch, or raise if there is none."""
        number = self.history.n_epochs
        advice = "standardise X, lower learning_rate, or look at the loss for a logarithm or division of zero"
        if number == 0:
            raise NonFiniteError(f"epoch 0: {problem}, {RETRIES} times halved; {advice}")
        self.history.stopped = "not finite"
        warnings.warn(
            f"epoch {number}: {problem}, {RETRIES} times halved; the model is the last finite one. "
            f"To go on, {advice}", TrainingWarning, stacklevel=4,
        )  # fmt: skip

    def finish(self) -> None:
        """Give the model the state that counts: the best one watched, else the last finite one."""
        self.optimizer.zero_grad(set_to_none=True)
        self.module.load_state_dict(self.good[0] if self.best is None else self.best)

    def fingerprint(self) -> dict[str, str]:
        """Name the model, its start and the data, so that a checkpoint of others is refused."""
        named = {"X": self.rows.x, "y": self.rows.target, "sample_weight": self.rows.weight}
        if self.watched is not None:
            x, y, weight = self.watched.x, self.watched.target, self.watched.weight
            named |= {"validation X": x, "validation y": y, "validation sample_weight": weight}
        start = {name: digest(value) for name, value in self.good[0].items()}
        return {name: digest(value) for name, value in named.items()} | {
            "model": repr(self.module), "start of the model (seed its generator)": describe(start)
        }  # fmt: skip

    def pack(self) -> tuple[dict[str, Tensor], dict[str, Scalar]]:
        """Lay out all that the next epoch depends on, as tensors and scalars by name."""
        model, optimizer = self.good
        history = self.history
        tensors = {f"model/{name}": value for name, value in model.items()}
        tensors |= {f"best/{name}": value for name, value in (self.best or {}).items()}
        for name in COLUMNS:
            tensors[f"history/{name}"] = torch.tensor(getattr(history, name), dtype=torch.float64)
        scalars: dict[str, Scalar] = {
            "rate": self.rate, "waited": self.waited, "reference": self.reference,
            "best_epoch": history.best_epoch, "best_value": history.best_value,
            "stopped": "" if history.stopped == "interrupted" else history.stopped,
        }  # fmt: skip
        if self.plateau is not None:
            scalars |= {"plateau_best": self.plateau.best, "plateau_waited": self.plateau.waited}
        for index, state in optimizer["state"].items():
            for key, value in state.items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer/{index}/{key}"] = value
                elif value is None or isinstance(value, bool | int | float | str):
                    scalars[f"optimizer/{index}/{key}"] = value
                else:
                    raise CheckpointError(
                        f"{type(self.optimizer).__name__} keeps {key} as a {type(value).__name__}, which a "
                        "checkpoint cannot hold; train without checkpoint or with another optimizer"
                    )
        return tensors, scalars

    def unpack(self, saved: Contents) -> None:
        """Take over the state that `pack` laid out."""
        parts: dict[str, dict[str, Any]] = {"model": {}, "best": {}, "history": {}, "optimizer": {}}
        for name, value in {**saved.tensors, **saved.scalars}.items():
            part, _, rest = name.partition("/")
            if rest:
                parts[part][rest] = value
        state: dict[int, dict[str, Any]] = {}
        for name, value in parts["optimizer"].items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = value
        self.good = (parts["model"], {**self.optimizer.state_dict(), "state": state})
        self.back()
        device = self.rows.x.device
        self.best = {name: value.to(device) for name, value in parts["best"].items()} or None
        for name in COLUMNS:
            setattr(self.history, name, parts["history"][name].tolist())
        scalars: dict[str, Any] = saved.scalars
        self.rate, self.waited, self.reference = scalars["rate"], scalars["waited"], scalars["reference"]
        self.history.best_epoch, self.history.best_value = scalars["best_epoch"], scalars["best_value"]
        self.history.stopped, self.history.resumed_at = scalars["stopped"], self.history.n_epochs
        if self.plateau is not None:
            self.plateau.best, self.plateau.waited = scalars["plateau_best"], scalars["plateau_waited"]


def _finite(tensors: Iterable[Tensor]) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


def _copy_state(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _mix(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


@contextmanager
def _own_randomness(device: torch.device, seed: int) -> Iterator[None]:
    """Let dropout and the like draw from a seed of our own, and put the global generators back."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextmanager
def _output(layers: Sequence[BoxLayer], output: Output | None) -> Iterator[None]:
    """Let the last box layer give another output for a while."""
    if output is None or not layers:
        yield
        return
    before = layers[-1].output
    layers[-1].output = output
    try:
        yield
    finally:
        layers[-1].output = before


@contextmanager
def restored_modes(model: nn.Module) -> Iterator[None]:
    """Put every module back into training or evaluation mode, as it was."""
    modes = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


class Interrupt:
    """SIGINT as a flag, read between steps; the second one raises. Inactive outside the main thread."""

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def _note(self, number: int, frame: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __enter__(self) -> Interrupt:
        # A process that ignores SIGINT, as under nohup, goes on ignoring it; None is a handler set in C.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) not in (
            None, signal.SIG_IGN,
        ):  # fmt: skip
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
