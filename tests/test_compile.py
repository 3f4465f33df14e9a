"""Compiling: said once where a person waits, silent elsewhere, and kept for the next process."""

import gc
import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from hyperboxes.kernels import _compile
from hyperboxes.kernels._compile import CompileNotice

pty = pytest.importorskip("pty", reason="a terminal is made with pty, which this platform lacks")
SAID = "hyperboxes: compiling its kernels"
PREDICT = """
import numpy as np
from hyperboxes import Boxes
from hyperboxes.kernels import _compile
_compile.CompileNotice.patience = 0.0
boxes = Boxes([[0.0]], [[1.0]], [1], default=0)
boxes.predict(np.array([[0.5]]))
boxes.contains(np.array([[0.5]]))
"""


def run_in_terminal(program, **environment):
    """Run a program with a terminal as its standard error; give what it wrote there."""
    ours, theirs = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", program], check=True, stderr=theirs, env={**os.environ, **environment}
        )
        os.write(theirs, b"\n.")  # so that there is something to read
        return os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_the_first_process_says_that_it_compiles_and_the_next_finds_it_done(tmp_path):
    first, again = (run_in_terminal(PREDICT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.count(SAID) == 1
    assert "kept for next time" in first
    assert SAID not in again


def first_cells(X):
    """Sum over views of rows, each of which numba counts unless told not to."""
    total = 0.0
    for i in range(len(X)):
        total += X[i][0]
    return total


def test_a_bare_function_counts_no_references():
    compiled = numba.njit(**_compile.BARE)(first_cells)
    assert compiled(np.ones((3, 2))) == 3
    (code,) = compiled.inspect_llvm().values()
    assert "NRT_incref" not in code
    assert "NRT_decref" not in code


class Compilation:
    """Kernels compiled one after another, told to a notice as numba tells them."""

    def __init__(self, monkeypatch, terminal):
        self.clock = 0.0
        self.notice = CompileNotice()
        self.lines = []
        watched = SimpleNamespace(isatty=lambda: terminal, write=self.lines.append, flush=lambda: None)
        monkeypatch.setattr(_compile.sys, "stderr", watched)
        monkeypatch.setattr(_compile.time, "perf_counter", lambda: self.clock)

    def compile(self, seconds, module="hyperboxes.kernels.rows", inner=()):
        """Let a function and, within its time, those it calls be compiled."""
        function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
        told = SimpleNamespace(data={"dispatcher": function})
        self.notice.on_start(told)
        for part in inner:
            self.compile(*part)
        self.clock += seconds
        self.notice.on_end(told)

    @property
    def said(self):
        return "".join(self.lines).count(SAID)


@pytest.mark.parametrize("terminal", [True, False])
def test_it_is_said_once_and_only_to_a_terminal(terminal, monkeypatch):
    compilation = Compilation(monkeypatch, terminal)
    for _ in range(5):
        compilation.compile(1.0)
    assert compilation.said == int(terminal)


def test_an_interactive_interpreter_counts_as_a_terminal(monkeypatch):
    compilation = Compilation(monkeypatch, terminal=False)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    compilation.compile(1.0)
    compilation.compile(1.0)
    assert compilation.said == 1


@pytest.mark.parametrize(
    "parts",
    [
        [(9.0,)],
        [(0.2,), (0.2,)],
        [(9.0, "elsewhere"), (0.1,)],
        [(0.1, "elsewhere", [(9.0,)]), (0.1,)],
        [(0.1, "hyperboxes.kernels.rows", [(0.1,), (0.1,)])],
    ],
    ids=["one alone", "little", "of others", "called by others", "one with its parts"],
)
def test_what_is_not_worth_a_line_is_not_said(parts, monkeypatch):
    compilation = Compilation(monkeypatch, terminal=True)
    for part in parts:
        compilation.compile(*part)
    assert compilation.said == 0


@pytest.mark.parametrize(("level", "lines", "logged"), [("INFO", 0, 1), ("WARNING", 1, 0), ("ERROR", 0, 0)])
def test_the_log_shows_it_instead_or_keeps_it_quiet(level, lines, logged, monkeypatch, caplog):
    compilation = Compilation(monkeypatch, terminal=True)
    caplog.set_level(getattr(logging, level), logger="hyperboxes")
    compilation.compile(1.0)
    compilation.compile(1.0)
    assert compilation.said == lines
    assert len(caplog.records) == logged


def test_where_nothing_can_be_kept_it_says_what_to_do(monkeypatch):
    compilation = Compilation(monkeypatch, terminal=True)
    monkeypatch.setattr(_compile, "_notice", compilation.notice)
    monkeypatch.setattr(_compile.numba, "njit", _no_folder)
    assert _compile.kernel(len) is len
    compilation.compile(1.0)
    compilation.compile(1.0)
    assert "set NUMBA_CACHE_DIR" in "".join(compilation.lines)


def _no_folder(signature, cache=False, **options):
    """Stand in for numba where no folder may be written to."""
    if cache:
        raise RuntimeError("no locator available")
    return lambda function: function


@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_rests_while_a_kernel_is_compiled_and_is_put_back(collecting):
    listener = _compile.Uncollected()
    outer, others = (
        SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})
        for module in ("hyperboxes.kernels.rows", "elsewhere")
    )
    seen = []
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        for begin, told in [(1, others), (1, outer), (1, others), (0, others), (0, outer), (0, others)]:
            (listener.on_start if begin else listener.on_end)(told)
            seen.append(gc.isenabled())
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [collecting, False, False, False, collecting, collecting]
