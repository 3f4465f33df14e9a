"""What the second process does at the first fit: compile kernels by calling each on a few cells.

What a fit needs last comes first, because the first process begins at the other end. Types and layouts are
those of a fit: ``tests/test_first_fit.py`` holds that it then finds all of them compiled.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import containment, crisp, descent, faces, forest

ROWS, FEATURES, BOXES = 4, 2, 1


def tasks() -> dict[str, Callable[[], Any]]:
    """Give calls by the name of the kernel that each of them is there for, in the order to make them."""
    rows = np.zeros((ROWS, FEATURES), np.uint8)
    columns = np.zeros((FEATURES, ROWS), np.uint8)
    Z, bounds = np.zeros((ROWS, FEATURES), np.float32), np.zeros((BOXES, FEATURES), np.float32)
    positive, weight = np.arange(ROWS) < 1, np.ones(ROWS)
    n_bins, no, yes = np.ones(FEATURES, np.int64), np.zeros(FEATURES, bool), np.ones(FEATURES, bool)
    codes = np.zeros((BOXES, FEATURES), np.int64)
    violations, cover = np.zeros((BOXES, ROWS), np.int16), np.zeros(ROWS, np.int16)
    one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
    exact = containment.Conditions(
        none, np.arange(2), none, np.zeros(1), np.ones(1), -one, none, np.zeros(1, np.uint8), np.ones(1)
    )
    boxes = {"float64": exact, "float32": exact.for_float32()}
    X = np.zeros((1, 1))
    return {
        "count_violations": partial(crisp.count_violations, columns, codes, codes, violations, cover),
        "_polish": partial(
            crisp.polish, rows, columns, positive, weight, n_bins, no, yes, yes, no, no, 1, 0.0, 0.0,
            codes.copy(), codes.copy(), 1, 1, 0,
        ),
        "_select": partial(
            crisp.select, np.ones((BOXES, ROWS), bool), positive, weight, np.zeros(BOXES), 1, 1
        ),
        "_judge": partial(crisp.objective, columns, positive, weight, n_bins, no, codes, codes, 0.0, 0.0),
        "_decide": partial(containment.first_box, X, boxes),
        "_contains": partial(containment.contains, X, boxes),
        "_sole_violations": partial(containment.sole_violations, X, boxes),
        "_descend": partial(
            descent.descend, Z, weight, np.arange(1), np.arange(1, ROWS), bounds.copy(), bounds.copy(),
            1, ROWS, 0.5, 0.1, 0.1, 1.0, 1.0, 0, np.zeros((1, 3)),
        ),
        "ask_trees": partial(
            forest.ask_trees, columns, positive, weight, np.arange(ROWS), np.ascontiguousarray(columns.T),
            1, 1, np.arange(FEATURES), np.zeros((2 * ROWS, 3), np.int64), np.zeros(2 * ROWS),
            np.zeros((2 * ROWS, 3), np.int64), np.ones(1, np.uint64), np.zeros(ROWS),
        ),
        "nearest_others": partial(
            forest.nearest_others, Z, np.ascontiguousarray(Z.T), np.zeros(ROWS, np.float32),
            np.zeros((ROWS, 1), np.float32), np.zeros((ROWS, 1), np.int64),
        ),
        "open_idle_faces": partial(
            faces.open_idle_faces, Z, positive, weight, bounds.copy(), bounds.copy(), 1.0, 1.0
        ),
    }  # fmt: skip


def main() -> None:
    """Compile all that the process that started this one does not, and tell it what is begun and ended."""
    taken: set[str] = set()
    threading.Thread(target=_read, args=(taken,), daemon=True).start()
    for name, task in tasks().items():
        if name not in taken:
            print(f"begin {name}", flush=True)
            task()
            print(f"end {name}", flush=True)


def _read(taken: set[str]) -> None:
    """Note what the other process compiles; when it has ended, end."""
    for line in sys.stdin:
        taken.add(line.strip())
    os._exit(0)
