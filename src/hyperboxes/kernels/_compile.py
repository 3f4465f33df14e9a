"""How kernels are compiled: those that Python calls are kept on disk, those they call become part of them.

What makes a kernel slow to compile: ``a[:] = b`` with two arrays (two seconds, for the message of an error
that cannot happen), arrays made and summed by numpy inside it (up to 0.2 s each), and an integer that is a
literal in one place and an int64 in another (all that takes it is compiled twice).
"""

from __future__ import annotations

import gc
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from ._helper import start_if_wanted

#: Dividing by zero gives what IEEE 754 says rather than an error, whose tests keep loops from vectorising.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
#: For functions that make no arrays: references to those they are given are not counted. Each view of a row
#: and each call would count, by an atomic step that takes longer than a sum over a few features.
BARE: dict[str, Any] = {**OPTIONS, "_nrt": False}

#: For functions that only kernels call. They have no file of their own: numba links what it finds on disk,
#: and two processes that compile for the first time side by side could leave files that do not fit.
inner = numba.njit(**OPTIONS)


bare_inner = numba.njit(**BARE)


def kernel(function: Callable[..., Any], signature: Any = None, options: dict[str, Any] = OPTIONS) -> Any:
    """Compile a function that Python calls, once for all processes if there is a place to keep it.

    With a signature, at once and for those types alone; else when and for what it is called with.
    """
    try:
        return numba.njit(signature, cache=True, **options)(function)
    except RuntimeError:  # no folder that may be written to
        _notice.kept = False
        return numba.njit(signature, **options)(function)


def bare_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls and that makes no arrays."""
    return kernel(function, options=BARE)


class CompileNotice(event.Listener):
    """Say once, where a person waits for it, that kernels of this package are being compiled.

    Said when compiling has taken a while and goes on: a single kernel, met for the first time with another
    type of table, is not worth a line. Goes to the log as information, and to standard error if that is a
    terminal or the interpreter is interactive and the log does not show it;
    ``logging.getLogger("hyperboxes").setLevel(logging.ERROR)`` keeps it quiet.
    """

    #: Seconds of compiling before it is said.
    patience = 0.5

    def __init__(self) -> None:
        self.kept = True
        self.spent = 0.0
        self.said = False
        self._compiling: list[tuple[bool, float]] = []

    def on_start(self, compiling: Any) -> None:
        """Note when a function begins; those it calls are compiled within its time."""
        ours = compiling.data["dispatcher"].py_func.__module__.startswith("hyperboxes.")
        if ours and self.kept:
            start_if_wanted()
        if ours and self.spent > self.patience and not self.said:
            self.said = True
            self._say()
        self._compiling.append((ours, time.perf_counter()))

    def on_end(self, compiling: Any) -> None:
        """Add up the time of our functions."""
        ours, start = self._compiling.pop()
        if ours and not self._compiling:
            self.spent += time.perf_counter() - start

    def _say(self) -> None:
        text = "hyperboxes: compiling its kernels for this machine, 10 to 20 s in all; " + (
            "kept for next time"
            if self.kept
            else "not kept, as no folder may be written to: set NUMBA_CACHE_DIR to one"
        )
        log = logging.getLogger("hyperboxes")
        log.info(text)
        watched = hasattr(sys, "ps1") or (sys.stderr is not None and sys.stderr.isatty())
        if watched and logging.INFO < log.getEffectiveLevel() <= logging.WARNING:
            print(text, file=sys.stderr, flush=True)


class Uncollected(event.Listener):
    """Let the garbage collector rest while our kernels are compiled.

    It would walk, again and again, over all that the compiler has made so far and still needs: a tenth of
    the time. Threads compile one after the other, so that what is found here is what is put back.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._collecting = False

    def on_start(self, compiling: Any) -> None:
        """Stop it when a function of ours begins that no other one is waiting for."""
        if self._depth or compiling.data["dispatcher"].py_func.__module__.startswith("hyperboxes."):
            self._depth += 1
        if self._depth == 1:
            self._collecting = gc.isenabled()
            gc.disable()

    def on_end(self, compiling: Any) -> None:
        """Start it again when that function is done."""
        if self._depth == 1 and self._collecting:
            gc.enable()
        self._depth = max(0, self._depth - 1)


_notice = CompileNotice()
for _listener in (_notice, Uncollected()):
    event.register("numba:compile", _listener)  # type: ignore[no-untyped-call]
