"""Speed and memory of ``Boxes.predict``, as ratios to copying the same matrix in the same run.

Run ``python benchmarks/predict.py``, or with ``--quick`` on a tenth of the rows. Exits with 1 if a bar is
missed. Predicting uses all cores: the figures mean something on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperboxes import Boxes

N_FEATURES, N_BOXES, REPEATS = 50, 10, 9
#: Restricted features of each box -> the longest time allowed, in copies of the matrix.
COPIES = {5: 1.5, 50: 5.0}
MEGABYTES, MICROSECONDS = 64.0, 50.0


def make_boxes(n_restricted: int, rng: np.random.Generator) -> Boxes:
    """Draw boxes that decide most rows, some of them early and some late."""
    lower = np.full((N_BOXES, N_FEATURES), -np.inf)
    upper = np.full((N_BOXES, N_FEATURES), np.inf)
    margin = 1 / n_restricted
    for box in range(N_BOXES):
        features = rng.choice(N_FEATURES, n_restricted, replace=False)
        lower[box, features] = rng.uniform(0, margin, n_restricted)
        upper[box, features] = rng.uniform(1 - margin, 1, n_restricted)
    return Boxes(lower, upper, np.arange(N_BOXES) % 2, default=0)


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak_megabytes(function: Callable[[], object]) -> float:
    """Measure what numpy and Python allocate during a call, beyond what was there before."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(X: NDArray[Any], boxes: Boxes) -> tuple[float, float, float, float]:
    """Give seconds to copy, seconds to predict, peak megabytes, microseconds for one row."""
    copy, row = np.empty_like(X), X[:1]
    boxes.predict(X)
    np.copyto(copy, X)
    pairs = [(seconds(lambda: np.copyto(copy, X)), seconds(lambda: boxes.predict(X))) for _ in range(REPEATS)]
    copying, predicting = (statistics.median(times) for times in zip(*pairs, strict=True))
    one = statistics.median(seconds(lambda: boxes.predict(row)) for _ in range(2000))
    return copying, predicting, peak_megabytes(lambda: boxes.predict(X)), 1e6 * one


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows instead of 1,000,000")
    n_rows = 100_000 if parser.parse_args().quick else 1_000_000
    rng = np.random.default_rng(0)
    missed = False
    print(f"{n_rows:,} rows x {N_FEATURES} features, {N_BOXES} boxes; load {os.getloadavg()[0]:.1f}")
    print("cells    restricted  copy ms  predict ms  ratio   bar     MB  row us")
    for cells in (np.float32, np.float64):
        X = rng.random((n_rows, N_FEATURES), dtype=cells)
        for n_restricted, bar in COPIES.items():
            copying, predicting, megabytes, micro = measure(X, make_boxes(n_restricted, rng))
            ratio = predicting / copying
            missed |= ratio > bar or megabytes > MEGABYTES or micro > MICROSECONDS
            print(
                f"{cells.__name__:8} {n_restricted:10} {copying * 1e3:8.1f} {predicting * 1e3:11.1f} "
                f"{ratio:6.2f} {bar:5.1f} {megabytes:6.1f} {micro:7.1f}"
            )
    print("a bar was missed" if missed else "all bars held")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
