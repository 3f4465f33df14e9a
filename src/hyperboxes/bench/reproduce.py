"""Reproduce: look for data and models, measure what is outstanding, and write the tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from ..datasets import SOURCES, DatasetNotFoundError, checksum, load_dataset
from .cells import Cell, Record
from .machine import fingerprint, short_hash, this_run
from .models import MODELS
from .plan import DATASETS, FULL, QUICK, Part, cells_of, select
from .results import Results
from .runner import Remaining, outstanding, run_cells
from .store import open_store, read_records

RESULTS_FILE = "results.jsonl"
Say = Callable[[str], None]


def reproduce(
    output: Path,
    *,
    quick: bool = False,
    data: Sequence[str] = (),
    models: Sequence[str] = (),
    folder: str | None = None,
    workers: int | None = None,
    retry: bool = False,
    update: bool = False,
    measure: bool = True,
    say: Say = print,
) -> Results:
    """Measure the paper's tables and figures again, and write them beside what was published.

    Parameters
    ----------
    output : Path
        Directory for ``results.jsonl``, to which each cell is added as it is done, and for what is made of
        it. What the file has is not measured again.
    quick : bool
        Small data sets, one seed, short time limits.
    data, models : sequence of str
        Only these; all by default.
    folder : str, optional
        Folder of Parquet files; by default what HYPERBOXES_DATA names.
    workers : int, optional
        Processes at a time; by default as many as there are cores.
    retry : bool
        Whether to try again what failed or was ended.
    update : bool
        Whether to measure again what another commit of the package measured.
    measure : bool
        Whether to measure at all, or only to write tables of what there is.
    say : callable
        Takes lines for a person to read.
    """
    _check_names("data set", data, DATASETS)
    _check_names("model", models, MODELS)
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    parts = select(QUICK if quick else FULL, data, models)
    path = output / RESULTS_FILE
    if measure:
        measure_outstanding(path, parts, folder=folder, workers=workers, retry=retry, update=update, say=say)
    elif not path.exists():
        raise ValueError(f"{path}: there are no results to write tables of")
    from .render import render

    records = read_records(path)
    results = Results(records, [cell for cell, _ in cells_of(parts, _known_classes(records))])
    for written in render(results, output, quick=quick):
        say(f"wrote {written}")
    return results


def _check_names(what: str, asked: Sequence[str], known: Collection[str]) -> None:
    for name in asked:
        if name not in known:
            raise ValueError(f"no {what} {name!r}; known are {', '.join(known)}")


def measure_outstanding(
    path: Path,
    parts: list[Part],
    *,
    folder: str | None = None,
    workers: int | None = None,
    retry: bool = False,
    update: bool = False,
    say: Say = print,
) -> None:
    """Measure what a plan asks for and a results file lacks, and add it to the file; see ``reproduce``."""
    workers = workers or os.cpu_count() or 1
    begun = fingerprint()

    def check() -> None:
        if fingerprint() != begun:
            raise ValueError("the code of hyperboxes has changed since this run began; run the command again")

    with open_store(path) as store:
        run = _describe_run(parts, folder, say)
        if run["id"] not in {record.get("id") for record in store.records}:
            store.add(run)
        classes = {name: told["classes"] for name, told in run["data"].items()}
        cells = [pair for pair in cells_of(parts, classes) if pair[0].model not in run["missing_models"]]
        todo = outstanding(cells, store.records, retry=retry, commit=run["commit"] if update else None)
        say(f"{len(cells)} cells, {len(cells) - len(todo)} of them measured already; {workers} at a time")
        try:
            with Bar(len(todo)) as bar:
                run_cells(
                    todo, MODELS, store, run=run["id"], workers=workers, folder=folder, check=check,
                    show=bar.show,
                )  # fmt: skip
        except KeyboardInterrupt:
            say(f"stopped; {path} has all that was measured, and the same command goes on from there")
            raise


def _describe_run(parts: list[Part], folder: str | None, say: Say) -> Record:
    """Describe code, machine, data and what is missing, by a record that is the same if these are."""
    data, missing_data = _look_for_data(parts, folder, say)
    wanted = dict.fromkeys(method.model for part in parts for method in part.methods)
    missing_models = {name: why for name in wanted if (why := MODELS[name].missing()) is not None}
    for name, why in missing_models.items():
        say(f"skipped: model {name}: {why}")
    run = {**this_run(), "data": data, "missing_data": missing_data, "missing_models": missing_models}
    return {"kind": "run", "id": short_hash(run), **run}


def _look_for_data(
    parts: list[Part], folder: str | None, say: Say
) -> tuple[dict[str, Record], dict[str, str]]:
    """Describe the data sets that are on hand, and say why others are not."""
    found: dict[str, Record] = {}
    missing: dict[str, str] = {}
    asked = {name for part in parts for name in part.data}
    for name in [name for name in DATASETS if name in asked]:
        try:
            X, y = load_dataset(name, folder)
        except (DatasetNotFoundError, ValueError, OSError, ImportError) as error:
            missing[name] = " ".join(str(error).split())
            say(f"skipped: data set {name}: {missing[name]}")
            continue
        digest = checksum(X, y)
        expected = SOURCES[name].sha256
        if expected is not None and digest != expected:
            say(f"note: the content of {name} differs from the table known here (SHA-256 {digest})")
        found[name] = {
            "rows": len(X), "features": X.shape[1], "sha256": digest,
            "classes": np.unique(np.asarray(y)).astype(str).tolist(),
        }  # fmt: skip
    return found, missing


def _known_classes(records: list[Record]) -> dict[str, list[str]]:
    """Give the classes of each data set that a run has found."""
    runs = [record for record in records if record["kind"] == "run"]
    return {name: told["classes"] for run in runs for name, told in run.get("data", {}).items()}


class Bar:
    """Progress on standard error: cells done, and about how long the rest takes."""

    def __init__(self, total: int) -> None:
        from tqdm import tqdm

        self.bar = tqdm(
            total=total, file=sys.stderr, unit="cell", mininterval=0.5,
            bar_format="{n_fmt}/{total_fmt} cells |{bar:20}| {elapsed} so far{postfix}",
        )  # fmt: skip
        self.bar.set_postfix_str("no idea yet how long the rest takes", refresh=False)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def show(self, remaining: Remaining, record: Record) -> None:
        """Move on by one cell."""
        left = self.bar.format_interval(remaining.seconds())
        self.bar.set_postfix_str(
            f"about {left} to go; last: {Cell.of(record)}, {record['status']}", refresh=False
        )
        self.bar.update(1)
