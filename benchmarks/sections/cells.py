"""Cells: the smallest things that are measured, run side by side and kept as JSON lines."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from tqdm import tqdm

from hyperboxes.bench import machine
from hyperboxes.bench.store import read_records
from hyperboxes.datasets import DatasetNotFoundError

#: Figures of one cell, with what names it; or of one run, with the commit.
Record = dict[str, Any]
#: Packages whose versions change figures.
PACKAGES = ("numpy", "numba", "scikit-learn")


class Cell(NamedTuple):
    """One learner on one split of one task."""

    section: str
    data: str
    model: str
    size: int
    label: Any
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What names the cell in a file."""
        return (*self[:4], str(self.label), self.seed)


def key_of(record: Record) -> tuple[Any, ...]:
    """Give the key of the cell that a record holds."""
    return tuple(record[part] for part in Cell._fields)


@dataclass(frozen=True)
class Choice:
    """Which cells to measure; None leaves the choice to the section."""

    quick: bool = False
    data: Sequence[str] | None = None
    sizes: Sequence[int] | None = None
    seeds: int | None = None

    def names(
        self, known: Iterable[str], quick: Iterable[str], load: Callable[[str], object]
    ) -> Iterator[str]:
        """Give the tables asked for among those known, in their order; say which cannot be had."""
        for name in quick if self.quick and self.data is None else known:
            if self.data is not None and name not in self.data:
                continue
            try:
                load(name)
            except DatasetNotFoundError as error:
                print(f"skipped: {error}")
            else:
                yield name

    def n_seeds(self, usual: int, quick: int = 1) -> int:
        """Give the number of seeds."""
        return self.seeds or (quick if self.quick else usual)


class Store:
    """Records in memory, and in a file if one is given: appended to as they come, gone on from later."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.records: list[Record] = []
        if path is not None and path.exists():
            self.records = read_records(path)

    def add(self, record: Record) -> None:
        """Keep a record."""
        self.records.append(record)
        if self.path is not None:
            with self.path.open("a") as sink:
                sink.write(json.dumps(record) + "\n")

    def take(self, records: Iterable[Record]) -> None:
        """Keep the cells among records that are not there yet."""
        known = {key_of(record) for record in self.records if record["section"] != "run"}
        for record in records:
            if key_of(record) not in known:
                self.add(record)

    def runs(self) -> list[Record]:
        """Give the runs that measured something, oldest first."""
        return [record for record in self.records if record["section"] == "run"]

    def taken_from(self) -> list[str]:
        """Say which commits measured the cells that were taken from elsewhere, and how many."""
        commits = Counter(
            record["commit"] for record in self.records if record["section"] != "run" and "commit" in record
        )
        return [
            f"{count:,} cells by hyperboxes reproduce at commit {commit}" for commit, count in commits.items()
        ]

    def of(self, section: str) -> list[Record]:
        """Give the cells of a section."""
        return [record for record in self.records if record["section"] == section]


def measure_cells(cells: Iterable[Cell], measure: Callable[[Cell], Record], store: Store) -> None:
    """Measure the cells that the store lacks, one on each core."""
    done = {key_of(record) for record in store.records if record["section"] != "run"}
    todo = [cell for cell in cells if cell.key not in done]
    if not todo:
        return
    store.add(this_run())
    work = Parallel(n_jobs=os.cpu_count(), return_as="generator_unordered")(
        delayed(_measured)(measure, cell) for cell in todo
    )
    for record in tqdm(work, desc=todo[0].section, total=len(todo), smoothing=0.02):
        store.add(record)


def _measured(measure: Callable[[Cell], Record], cell: Cell) -> Record:
    return {**cell._replace(label=str(cell.label))._asdict(), **measure(cell)}


def this_run() -> Record:
    """Describe the code and the machine that figures come from."""
    return {"section": "run", **machine.this_run(PACKAGES)}
