"""The first fit and predict of a fresh machine, and of the next process.

Each runs in a process of its own, with an empty folder for compiled code that the second one finds filled.
Seconds are those of importing the package and of fit and predict on iris with its three classes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from .bars import Bar, say

#: Seconds that importing, fitting and predicting may take in all on a fresh machine.
FIRST = 15.0
#: Kernels whose compile times are listed.
LISTED = 6

PROGRAM = """
import json, time
start = time.perf_counter()
from numba.core import event
from sklearn.datasets import load_iris
from hyperboxes import HyperNNClassifier
X, y = load_iris(return_X_y=True)
compiling = event.RecordingListener()
event.register("numba:compile", compiling)
imported = time.perf_counter()
HyperNNClassifier(n_boxes=5, random_state=0).fit(X, y).predict(X)
done = time.perf_counter()
kernels, within = {}, []
for when, told in compiling.buffer:
    if told.is_start:
        within.append(when)
    elif len(within) == 1:
        name = told.data["dispatcher"].py_func.__name__
        kernels[name] = kernels.get(name, 0) + when - within.pop()
    else:
        within.pop()
print(json.dumps({"import": imported - start, "fit": done - imported, "kernels": kernels}))
"""


def measure(folder: str) -> dict[str, object]:
    """Run the program with a folder for compiled code."""
    done = subprocess.run(  # noqa: S603 (a program of our own)
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
    )  # fmt: skip
    return json.loads(done.stdout)


def run(quick: bool) -> list[Bar]:
    """Print both processes and the kernels that take longest to compile."""
    with tempfile.TemporaryDirectory() as folder:
        say("first process, compiling")
        first = measure(folder)
        say("second process")
        second = measure(folder)
    print("process  import s  fit and predict s  kernels compiled")
    for name, found in (("first", first), ("second", second)):
        print(f"{name:8} {found['import']:8.2f} {found['fit']:18.2f} {len(found['kernels']):17}")
    slowest = sorted(first["kernels"].items(), key=lambda item: -item[1])[:LISTED]
    print("slowest to compile: " + ", ".join(f"{name.strip('_')} {took:.1f} s" for name, took in slowest))
    return [
        Bar("first call in all, seconds", first["import"] + first["fit"], FIRST),
        Bar("kernels that the second process compiles", len(second["kernels"]), 0),
    ]
