"""Boxes in databases, in sections; each prints a table, and all bars are told at the end.

scoring  rows that a database answers in a second, beside its own sum, predict and a converted tree
indexes  what an index saves, in PostgreSQL, SQLite and DuckDB over Parquet
search   search by classification: precision and recall by round

    python benchmarks/sql.py scoring
    python benchmarks/sql.py --quick

The module of a section (benchmarks/database) says what is measured and how. Exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from importlib.util import find_spec

from timing.bars import Bar

#: Load from which other work is in the way.
BUSY = 0.7
SECTIONS = tuple(name for name in ("scoring", "indexes", "search") if find_spec(f"database.{name}"))


def main() -> int:
    """Run the sections asked for; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help="all of them by default")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}")
    if load > BUSY:
        print("other work keeps this machine busy: seconds mean little and ratios not much")
    bars: list[Bar] = []
    for name in arguments.sections or SECTIONS:
        section = import_module(f"database.{name}")
        print(f"\n{name}: {(section.__doc__ or '').splitlines()[0]}")
        bars += section.run(arguments.quick)
    print()
    for bar in bars:
        print(bar)
    return int(any(bar.held is False for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
