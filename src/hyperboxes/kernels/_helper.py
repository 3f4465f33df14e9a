"""Compiling side by side: the first fit on a machine has a second process compile what it needs later.

numba compiles one function at a time, whatever the number of threads. So the second process
(``first_fit``) goes through the kernels of a fit from where the first will be last, and tells what it begins
and ends; what it compiled lies in numba's folder. The first process waits for a kernel that the other has
begun, compiles all others by itself, and says so, for the other to pass them over.

Nothing depends on the second process: where there is none, where it dies or keeps its files elsewhere, the
first compiles everything. It ends when it is done, or when the first one does, in whatever way.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba.core import config

from ._threads import n_threads

#: Seconds to wait for a kernel of the other process before compiling it here.
PATIENCE = 60.0
PROGRAM = "from hyperboxes.kernels.first_fit import main; main()"


class Helper:
    """A second process that compiles, as seen from the first."""

    def __init__(self, command: list[str]) -> None:
        self._owner = os.getpid()
        self._begun: dict[str, threading.Event] = {}
        self._ours: set[str] = set()
        self.ended = False
        self.process = subprocess.Popen(  # noqa: S603 (a program of our own)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=_environment(), creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        atexit.register(self.end)

    def _listen(self) -> None:
        """Hear what is begun and ended, and when the process has ended leave nothing of it."""
        with self.process:
            for line in self.process.stdout or ():
                what, _, name = line.strip().partition(" ")
                done = self._begun.setdefault(name, threading.Event())
                if what == "end":
                    done.set()
        self.ended = True
        for done in self._begun.values():
            done.set()
        atexit.unregister(self.end)

    def wait_for(self, name: str) -> None:
        """Wait until a kernel that the process has begun is there; one that it has not is for us."""
        if self.ended or name in self._ours or self._owner != os.getpid():  # a fork hears nothing
            return
        done = self._begun.get(name)
        if done is None:
            self._ours.add(name)
            self._tell(name)
        elif not done.wait(PATIENCE):
            self.end()

    def _tell(self, name: str) -> None:
        """Say that we compile a kernel here."""
        if self.process.stdin is None:
            return
        with suppress(OSError, ValueError):  # where it has ended
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()

    def end(self) -> None:
        """End the process, if it has not ended."""
        if self._owner == os.getpid():
            self.process.kill()
            self._listener.join(PATIENCE)


def _environment() -> dict[str, str]:
    """Give the other process our modules and our folder for compiled code."""
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        found["NUMBA_CACHE_DIR"] = config.CACHE_DIR  # type: ignore[attr-defined]
    return found


_helper: Helper | None = None
#: Fits that go on and would be glad of help.
_fits: list[object] = []


@contextmanager
def side_by_side(wanted: bool = True) -> Iterator[None]:
    """Within, a kernel that has to be compiled is the sign to start the second process."""
    fit = object()
    if wanted:
        _fits.append(fit)
    try:
        yield
    finally:
        if wanted:
            _fits.remove(fit)


def start_if_wanted() -> None:
    """Start the second process, once, if that can be of use: called when a kernel begins to be compiled."""
    global _helper
    if not _fits or _helper is not None or n_threads() < 2 or not _is_python(sys.executable):
        return
    with suppress(OSError):  # where no process is to be had
        _helper = Helper([sys.executable, "-P", "-c", PROGRAM])


def _is_python(program: str | None) -> bool:
    """Tell whether a program is an interpreter, not one that has Python built in and would start itself."""
    return bool(program) and not hasattr(sys, "frozen") and Path(str(program)).name.startswith("python")


def shared(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Give a kernel that is waited for where the second process is at it."""
    name = compiled.__name__

    def call(*arguments: Any) -> Any:
        wait_for(name)
        return compiled(*arguments)

    return call


def wait_for(name: str) -> None:
    """Wait for a kernel if the second process is at it."""
    if _helper is not None:
        _helper.wait_for(name)
