"""The first fit: a second process compiles beside it, and whatever becomes of that one, the fit goes on."""

import json
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from hyperboxes.kernels import _compile, _helper, first_fit
from hyperboxes.kernels._helper import Helper, side_by_side, start_if_wanted

#: Says that it has begun a kernel, and repeats what it is told.
ECHO = "print('begin one', flush=True)\nfor line in __import__('sys').stdin: print(line.strip(), flush=True)"
#: Kernels of a fit that the second process leaves to the first, which begins with them.
LEFT = {"_hash_rows", "_moments", "_assign", "_fill_guide", "_encode"}
FIT = """
import json
from numba.core import event
from sklearn.datasets import load_iris
from hyperboxes import HyperNNClassifier
from hyperboxes.kernels import _helper
_helper.n_threads = lambda: {threads}
compiling = event.RecordingListener()
event.register("numba:compile", compiling)
X, y = load_iris(return_X_y=True)
model = HyperNNClassifier(n_boxes=2, random_state=0).fit(X, y)
names = [told.data["dispatcher"].py_func.__name__ for _, told in compiling.buffer if told.is_start]
helper = _helper._helper
print(json.dumps([names, model.boxes_.lower.tolist(), model.predict(X).tolist(), helper is not None]))
if helper is not None:
    helper.process.wait()
"""


@pytest.fixture
def helper():
    """Make helpers of a program, and end them afterwards."""
    made = []

    def make(program):
        made.append(Helper([sys.executable, "-c", program]))
        return made[-1]

    yield make
    for one in made:
        one.end()
        assert one.process.poll() is not None


def until(true, seconds=20.0):
    """Wait for something to come true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def run_fit(folder, threads):
    """Fit in a process of its own; give what it compiled, bounds, answers and whether it had help."""
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(threads=threads)], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
    )  # fmt: skip
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_what_the_second_process_compiles_is_what_a_fit_needs(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _helper.PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    ) as process:  # fmt: skip
        process.stdin.write("open_idle_faces\n")  # which a fit of so few rows has no use for
        process.stdin.flush()
        said = process.stdout.read().splitlines()
    names = [name for name in first_fit.tasks() if name != "open_idle_faces"]
    assert said == [f"{what} {name}" for name in names for what in ("begin", "end")]
    compiled, bounds, answers, helped = run_fit(tmp_path, threads=1)
    assert set(compiled) & (LEFT | set(names)) == LEFT
    assert not helped
    for one in tmp_path.rglob("*.nb*"):
        one.unlink()
    side_by_side, *found, helped = run_fit(tmp_path, threads=2)
    assert helped
    assert "_polish" not in side_by_side
    assert found == [bounds, answers]
    assert run_fit(tmp_path, threads=2) == [[], bounds, answers, False]


def test_a_kernel_that_the_other_process_has_begun_is_waited_for(helper):
    other = helper(ECHO)
    until(lambda: "one" in other._begun)
    waiting = threading.Thread(target=other.wait_for, args=("one",))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    other._tell("end one")
    waiting.join(20)
    assert not waiting.is_alive()


def test_the_other_process_is_told_once_what_it_need_not_compile(helper):
    other = helper(
        "import sys\nfor n, line in enumerate(sys.stdin): print('begin', n, line.strip(), flush=True)"
    )
    for name in ("two", "two", "three"):
        other.wait_for(name)
    until(lambda: len(other._begun) == 2)
    assert list(other._begun) == ["0 two", "1 three"]


def test_a_process_that_dies_is_waited_for_no_longer(helper):
    other = helper("print('begin one', flush=True); input()")
    until(lambda: "one" in other._begun)
    threading.Timer(0.2, other.process.kill).start()
    other.wait_for("one")
    until(lambda: other.ended)
    other.wait_for("one")
    other.wait_for("two")


def test_a_process_that_hangs_is_ended(helper, monkeypatch):
    other = helper("print('begin one', flush=True)\nwhile True: input()")
    until(lambda: "one" in other._begun)
    monkeypatch.setattr(_helper, "PATIENCE", 0.1)
    other.wait_for("one")
    until(lambda: other.ended)


def test_a_fork_does_not_wait(helper, monkeypatch):
    other = helper(ECHO)
    until(lambda: "one" in other._begun)
    monkeypatch.setattr(_helper.os, "getpid", lambda: -1)
    other.wait_for("one")
    other.wait_for("two")
    other.end()
    assert other._ours == set()
    monkeypatch.undo()
    assert other.process.poll() is None


def test_the_second_process_ends_with_the_first(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _helper.PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, timeout=60,
    )  # fmt: skip
    assert "end _polish" not in done.stdout


@pytest.fixture
def started(monkeypatch):
    """Catch the second processes that would be started."""
    commands = []
    monkeypatch.setattr(_helper, "_helper", None)
    monkeypatch.setattr(_helper, "Helper", lambda command: commands.append(command) or "helper")
    monkeypatch.setattr(_helper, "n_threads", lambda: 2)
    monkeypatch.setattr(_helper.sys, "executable", "/usr/bin/python3")
    return commands


def compile_a_kernel(monkeypatch, kept=True):
    """Let a notice hear that one of our kernels begins to be compiled."""
    notice = _compile.CompileNotice()
    notice.kept = kept
    function = SimpleNamespace(py_func=SimpleNamespace(__module__="hyperboxes.kernels.rows"))
    notice.on_start(SimpleNamespace(data={"dispatcher": function}))


def test_a_second_process_is_started_once_when_a_fit_compiles(started, monkeypatch):
    compile_a_kernel(monkeypatch)
    with side_by_side(False):
        compile_a_kernel(monkeypatch)
    assert started == []
    with side_by_side():
        compile_a_kernel(monkeypatch)
        compile_a_kernel(monkeypatch)
    compile_a_kernel(monkeypatch)
    assert started == [["/usr/bin/python3", "-P", "-c", _helper.PROGRAM]]


def test_none_is_started_where_it_is_of_no_use(started, monkeypatch):
    with side_by_side():
        compile_a_kernel(monkeypatch, kept=False)
        monkeypatch.setattr(_helper, "n_threads", lambda: 1)
        compile_a_kernel(monkeypatch)
        monkeypatch.setattr(_helper, "n_threads", lambda: 2)
        monkeypatch.setattr(_helper.sys, "executable", "/opt/app/serve")
        compile_a_kernel(monkeypatch)
        monkeypatch.setattr(_helper.sys, "executable", None)
        compile_a_kernel(monkeypatch)
        monkeypatch.setattr(_helper.sys, "executable", "/usr/bin/python3")
        monkeypatch.setattr(_helper.sys, "frozen", True, raising=False)
        compile_a_kernel(monkeypatch)
    assert started == []


def test_where_no_process_is_to_be_had_there_is_none(started, monkeypatch):
    def refuse(command):
        raise PermissionError("no more processes")

    monkeypatch.setattr(_helper, "Helper", refuse)
    with side_by_side():
        start_if_wanted()
    assert _helper._helper is None


def test_the_other_process_finds_our_modules_and_our_folder(monkeypatch):
    monkeypatch.setattr(_helper.sys, "path", ["", "/a", "/b"])
    monkeypatch.setattr(_helper.config, "CACHE_DIR", "/c")
    found = _helper._environment()
    assert (found["PYTHONPATH"], found["NUMBA_CACHE_DIR"]) == (os.pathsep.join(["/a", "/b"]), "/c")
