"""Cell: one experiment, and the name it goes by in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

#: One line of a results file.
Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One model on one split of one task: a class of a data set against the rest.

    Parameters
    ----------
    data, label : str
        The data set, and the class as text.
    model : str
        One of ``models.MODELS``.
    seed : int
        Seed of the split and of the model.
    params : dict
        Hyper-parameters that differ from the model's own.
    grid : dict of lists
        Hyper-parameters that are chosen by 5-fold cross-validation on the training rows; empty for none.
    """

    data: str
    label: str
    model: str
    seed: int
    params: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What names the cell in a file."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def method(self) -> str:
        """Name the model with its hyper-parameters: what a column of a table is about."""
        return json.dumps([self.model, self.params, self.grid], sort_keys=True)

    def __str__(self) -> str:
        chosen = [f"{name}={value}" for name, value in self.params.items()] + ["tuned"] * bool(self.grid)
        method = f"{self.model} ({', '.join(chosen)})" if chosen else self.model
        return f"{method} on {self.data}, class {self.label}, seed {self.seed}"

    @classmethod
    def of(cls, record: Record) -> Cell:
        """Read the cell that a record is of."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})
