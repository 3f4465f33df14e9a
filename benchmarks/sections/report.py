"""Tables of figures: grouped means, paired differences, and one value that prints as text or Markdown."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hyperboxes.bench import tables
from hyperboxes.bench.tables import number, signed

from .cells import Record

__all__ = ["ALLOWED_LOSS", "SHAPE", "Figures", "Table", "beside_trees", "judge", "number", "signed"]

#: Columns that every table of ours ends with: what the model looks like and what it cost.
SHAPE = ("boxes", "cond./box", "s/fit", "fits")
#: How far below a tree of like size a model may fall, in F1.
ALLOWED_LOSS = 0.01


@dataclass
class Table(tables.Table):
    """A table, whether every bar in it holds, and whether it has any."""

    held: bool = True
    barred: bool = True


class Figures:
    """Records by data, model and size, with means over their classes and seeds."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.groups: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
        for record in records:
            self.groups[record["data"], record["model"], record["size"]].append(record)

    def has(self, data: str, model: str, size: int = 0) -> bool:
        """Tell whether anything was measured."""
        return (data, model, size) in self.groups

    def count(self, data: str, model: str, size: int = 0) -> int:
        """Count the fits."""
        return len(self.groups.get((data, model, size), ()))

    def sizes(self, data: str, model: str) -> list[int]:
        """Give the sizes that were measured."""
        return sorted(size for name, kind, size in self.groups if (name, kind) == (data, model))

    def mean(self, data: str, model: str, size: int = 0, what: str = "f1") -> float:
        """Give the mean of a figure; NaN if there is none."""
        found = [record[what] for record in self.groups.get((data, model, size), ()) if what in record]
        return float(np.mean(found)) if found else math.nan

    def conditions_per_box(self, data: str, model: str, size: int = 0) -> float:
        """Give the mean number of conditions of a box, over all boxes."""
        boxes = self.mean(data, model, size, "boxes")
        return self.mean(data, model, size, "conditions") / boxes if boxes else math.nan

    def shape(self, data: str, model: str, size: int = 0) -> tuple[str, ...]:
        """Write the columns of ``SHAPE``."""
        return (
            number(self.mean(data, model, size, "boxes"), 1),
            number(self.conditions_per_box(data, model, size), 1),
            number(self.mean(data, model, size, "seconds"), 2),
            str(self.count(data, model, size)),
        )

    def difference(
        self, data: str, one: tuple[str, int], other: tuple[str, int], what: str = "f1"
    ) -> tuple[float, float]:
        """Give the mean difference of two learners on the same splits, and its standard error.

        The error is taken over seeds, as the classes of a seed share a split. Splits of a real table share
        rows, so for these it is somewhat too small.
        """
        by_seed = defaultdict(list)
        values = {self._split(record): record[what] for record in self.groups.get((data, *other), ())}
        for record in self.groups.get((data, *one), ()):
            if self._split(record) in values:
                by_seed[record["seed"]].append(record[what] - values[self._split(record)])
        return _mean_and_error([float(np.mean(found)) for found in by_seed.values()])

    def error(self, data: str, model: str, size: int = 0, what: str = "f1") -> float:
        """Give the standard error of the mean of a figure, over seeds; see ``difference``."""
        by_seed = defaultdict(list)
        for record in self.groups.get((data, model, size), ()):
            by_seed[record["seed"]].append(record[what])
        return _mean_and_error([float(np.mean(found)) for found in by_seed.values()])[1]

    @staticmethod
    def _split(record: Record) -> tuple[str, int]:
        return record["label"], record["seed"]


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Give the mean of values and its standard error, each NaN where too few are there."""
    mean = float(np.mean(values)) if values else math.nan
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return mean, error


def judge(difference: float, error: float) -> str:
    """Say whether a difference breaks the bar, and whether noise alone would do that."""
    if not difference < -ALLOWED_LOSS:
        return ""
    return "loses" if difference + 2 * error < 0 else "loses?"


def beside_trees(
    title: str, records: list[Record], traits: Mapping[str, str], others: Sequence[str] = ()
) -> Table:
    """Set out ours beside a tree of 2 M leaves and learners without a size, with paired differences.

    ``traits`` names the tables in their order, with a word on each.
    """
    figures = Figures(records)
    header = (
        "data", "trait", "M", "ours", "tree 2M", *others, "ours − tree 2M", "train F1", "tree's", *SHAPE, "",
    )  # fmt: skip
    result = Table(title, header)
    means, verdicts = defaultdict(list), defaultdict(list)
    for name, trait in traits.items():
        for size in figures.sizes(name, "hypernn"):
            difference, error = figures.difference(name, ("hypernn", size), ("tree", size))
            lost = judge(difference, error)
            verdicts[size].append("wins" if difference > 2 * error else lost)
            result.held &= not lost
            shown = [figures.mean(name, model, size) for model in ("hypernn", "tree")]
            shown += [figures.mean(name, model) for model in others]
            means[size].append(shown)
            result.rows.append((
                name, trait, str(size), *map(number, shown), signed(difference, error),
                *(number(figures.mean(name, model, size, "train_f1")) for model in ("hypernn", "tree")),
                *figures.shape(name, "hypernn", size), lost,
            ))  # fmt: skip
    for size, found in sorted(means.items()):
        shown = np.mean(found, axis=0)
        blank = ("",) * (len(header) - len(shown) - 4)
        result.rows.append(
            ("mean", "", str(size), *map(number, shown), f"{shown[0] - shown[1]:+.3f}", *blank)
        )
        won, sure, unsure = (verdicts[size].count(verdict) for verdict in ("wins", "loses", "loses?"))
        result.notes.append(
            f"M = {size}, {len(found)} tables: ahead by more than two standard errors on {won}; "
            f"behind by more than {ALLOWED_LOSS} on {sure + unsure}, "
            f"of these by more than two standard errors on {sure}"
        )
    return result
