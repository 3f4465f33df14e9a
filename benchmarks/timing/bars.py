"""What sections share: bars, progress, data, time and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from hyperboxes.datasets import DatasetNotFoundError, as_numbers, load_dataset


class Bar(NamedTuple):
    """A figure and what it has to reach; without a limit it is told and not judged, and so is no figure."""

    name: str
    value: float | None
    limit: float | None = None
    at_least: bool = False

    @property
    def held(self) -> bool | None:
        """Whether the figure reaches the limit; None if that cannot be told."""
        if self.value is None or self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        """Write the verdict, the figure and the limit as one line."""
        verdict = {True: "held", False: "NOT HELD", None: "not judged"}[self.held]
        value = "not measured" if self.value is None else f"{self.value:.3g}"
        limit = (
            "" if self.limit is None else f", {'at least' if self.at_least else 'at most'} {self.limit:.3g}"
        )
        return f"{verdict:10} {self.name}: {value}{limit}"


class Split(NamedTuple):
    """A table cut 70/30, each class evenly."""

    train: np.ndarray
    test: np.ndarray
    train_classes: np.ndarray
    test_classes: np.ndarray


def say(text: str) -> None:
    """Tell on standard error what is going on."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def load_split(name: str, most_rows: int | None = None) -> Split | None:
    """Load a table as numbers and split it; None if it is not to be had."""
    try:
        X, y = load_dataset(name)
    except DatasetNotFoundError as error:
        say(str(error))
        return None
    numbers = as_numbers(X)
    if most_rows is not None and most_rows < len(y):
        numbers, _, y, _ = train_test_split(numbers, y, train_size=most_rows, stratify=y, random_state=0)
    return Split(*train_test_split(numbers, y, test_size=0.3, stratify=y, random_state=0))


def seconds(function: Callable[[], Any]) -> float:
    """Give the time that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def resident(name: str) -> float:
    """Read the resident size (VmRSS) or its peak (VmHWM) of this process, in megabytes."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(name))
    return int(line.split()[1]) * 1024 / 1e6


def forget_peak() -> None:
    """Let the peak of the resident size start again from here."""
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
