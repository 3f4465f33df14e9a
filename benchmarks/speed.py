"""Speed and memory of training, in sections; each prints a table, and all bars are told at the end.

objective    a full-batch epoch of the paper's objective against plain torch
default_fit  HyperNNClassifier as it comes, beside the paper's RTX 3090
first_call   the first fit on a fresh machine, which compiles, and the next process, which does not
growth       how time and memory grow with rows, features and boxes
peers        F1 against training time beside trees, boosting and rule learners, as a table and a plot

    python benchmarks/speed.py --quick
    HYPERBOXES_DATA=folder python benchmarks/speed.py default_fit peers --plot peers.png

The module of a section (benchmarks/timing) says what is measured and how. Exits with 1 if a bar is missed.
Comparisons use all cores: the figures mean something on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from timing.bars import Bar

#: Load from which other work is in the way.
BUSY = 0.7
SECTIONS = ("objective", "default_fit", "first_call", "growth", "peers")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help="all of them by default")
    parser.add_argument("--quick", action="store_true", help="subsets, under two minutes")
    parser.add_argument("--plot", type=Path, help="file for the plot of the peers, .png")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return arguments


def main() -> int:
    """Run the sections asked for; return 1 if a bar was missed."""
    arguments = read_arguments()
    # Ended by a signal, Python would leave the processes of its sections at work.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}")
    if load > BUSY:
        print("other work keeps this machine busy: seconds mean little and ratios not much")
    bars: dict[str, list[Bar]] = {}
    for name in arguments.sections or SECTIONS:
        # Here rather than above: processes that a section starts import this file, and most need no torch.
        section = import_module(f"timing.{name}")
        print(f"\n{name}: {section.__doc__.splitlines()[0]}")
        options = {"plot": arguments.plot} if name == "peers" else {}
        bars[name] = section.run(arguments.quick, **options)
    print()
    for name, found in bars.items():
        for bar in found:
            print(f"{name:12} {bar}")
    missed = sum(bar.held is False for found in bars.values() for bar in found)
    print(f"{missed} bars missed" if missed else "every bar that was judged held")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
