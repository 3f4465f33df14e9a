"""Results: records grouped by data set and method, with means, intervals and paired differences."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .cells import Cell, Record
from .models import MODELS
from .runner import finished

#: Confidence of intervals.
CONFIDENCE = 0.95
#: A machine is busy when more processes want to run than it has cores.
BUSY_MARGIN = 0.5
CLOCKS = ("fit_seconds", "fit_processor_seconds", "predict_seconds", "search_seconds")


class Estimate(NamedTuple):
    """A mean over seeds, and half the width of its interval; NaN where there are too few."""

    mean: float
    half_width: float = math.nan


def interval(values: Sequence[float]) -> Estimate:
    """Give the mean of independent values and half the width of Student's interval around it."""
    from scipy.stats import t

    if not len(values):
        return Estimate(math.nan)
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean)
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(mean, float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error)


class Results:
    """What a results file says.

    Parameters
    ----------
    records : iterable of dict
        Lines of the file.
    planned : iterable of Cell
        Cells that the plan asks for, to tell what is missing.
    """

    def __init__(self, records: Iterable[Record], planned: Iterable[Cell] = ()) -> None:
        records = list(records)
        self.runs = {record["id"]: record for record in records if record["kind"] == "run"}
        self.classes = {
            name: set(told["classes"]) for run in self.runs.values() for name, told in run["data"].items()
        }
        self.cells = list(finished(records).values())
        self.groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for record in self.cells:
            self.groups[record["data"], Cell.of(record).method].append(record)
        self.planned: dict[tuple[str, str], int] = defaultdict(int)
        for cell in planned:
            self.planned[cell.data, cell.method] += 1

    def methods(self, data: Iterable[str]) -> list[str]:
        """Give the methods that were measured or planned on any of the data sets, in a fixed order."""
        wanted = set(data)
        found = {method for name, method in (*self.groups, *self.planned) if name in wanted}
        return sorted(found, key=_method_order)

    def good(self, data: str, method: str) -> list[Record]:
        """Give the records of cells that came to an end."""
        return [record for record in self.groups.get((data, method), ()) if record["status"] == "ok"]

    def estimate(self, data: str, method: str, what: str = "f1") -> Estimate:
        """Give the mean over classes and seeds; classes of a seed first, as they share a table.

        Seeds that lack a class are left out: classes differ more than methods do.
        """
        by_seed: dict[int, dict[str, float]] = defaultdict(dict)
        for record in self.good(data, method):
            value = _value(record, what)
            if value is not None:
                by_seed[record["seed"]][record["label"]] = value
        whole = [found for found in by_seed.values() if found.keys() >= self.classes.get(data, set())]
        return interval([float(np.mean(list(found.values()))) for found in whole])

    def has_mean(self, data: str, method: str) -> bool:
        """Tell whether there is a seed with all classes."""
        return not math.isnan(self.estimate(data, method).mean)

    def difference(self, data: str, one: str, other: str, what: str = "f1") -> Estimate:
        """Give the mean difference of two methods on the same classes and seeds."""
        theirs = {
            (record["label"], record["seed"]): _value(record, what) for record in self.good(data, other)
        }
        by_seed = defaultdict(list)
        for record in self.good(data, one):
            value, their = _value(record, what), theirs.get((record["label"], record["seed"]))
            if value is not None and their is not None:
                by_seed[record["seed"]].append(value - their)
        return interval([float(np.mean(values)) for values in by_seed.values()])

    def count(self, data: str, method: str) -> str:
        """Write how many fits there are, and of how many planned."""
        good, planned = len(self.good(data, method)), self.planned.get((data, method), 0)
        return str(good) if good >= planned else f"{good} of {planned}"

    def trouble(self, data: str, method: str) -> str:
        """Say in few words what failed, was ended or is missing."""
        group = self.groups.get((data, method), [])
        told = []
        failed = [record for record in group if record["status"] == "failed"]
        if failed:
            told.append(f"{len(failed)} failed: {failed[0]['message']}")
        ended = [record for record in group if record["status"] == "timeout"]
        if ended:
            told.append(f"over {max(record['limit'] for record in ended):g} s")
        missing = self.planned.get((data, method), 0) - len(group)
        reason = self.missing_models.get(json.loads(method)[0])
        if missing > 0:
            told.append(reason if reason and not group else f"{missing} not run yet")
        return "; ".join(told)

    def busy(self, records: Iterable[Record] | None = None) -> float:
        """Give the share of cells that were timed while the machine had more to do than cores."""
        loads = [
            record["clock"]["load"] > self.runs[record["run"]]["cores"] + BUSY_MARGIN
            for record in (self.cells if records is None else records)
            if record["status"] == "ok"
            and record["clock"].get("load") is not None
            and record["run"] in self.runs
        ]
        return float(np.mean(loads)) if loads else 0.0

    @property
    def missing_data(self) -> dict[str, str]:
        """Why data sets could not be had that no run has found."""
        found = {name for run in self.runs.values() for name in run["data"]}
        return self._missing("missing_data", found)

    @property
    def missing_models(self) -> dict[str, str]:
        """Which models were never measured as their packages are not installed."""
        return self._missing("missing_models", {record["model"] for record in self.cells})

    def _missing(self, what: str, found: set[str]) -> dict[str, str]:
        told = {name: why for run in self.runs.values() for name, why in run[what].items()}
        return {name: why for name, why in told.items() if name not in found}


def title_of(method: str) -> str:
    """Write a method for people."""
    model, params, grid = json.loads(method)
    title = MODELS[model].title if model in MODELS else model
    told = [
        _TOLD.get(name, "{name} = {value}").format(name=name, value=value) for name, value in params.items()
    ]
    if grid:
        told.append("tuned")
    elif model == "tree" and not params:
        told.append("unrestricted")
    return f"{title} ({', '.join(told)})" if told else title


_TOLD = {"n_boxes": "M = {value}", "max_leaf_nodes": "{value} leaves"}


def _method_order(method: str) -> tuple[int, bool, str, int, str]:
    model, params, grid = json.loads(method)
    known = list(MODELS)
    size = params.get("n_boxes", params.get("max_leaf_nodes", 0))
    return known.index(model) if model in known else len(known), bool(grid), model, size, method


def _value(record: Record, what: str) -> float | None:
    value = record["clock" if what in CLOCKS else "figures"].get(what)
    return None if value is None else float(value)
