"""Laws of the runner: killed at any moment it goes on, never repeats, and no peer can stop it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench_peers import PEERS

from hyperboxes.bench.cells import Cell
from hyperboxes.bench.runner import Remaining, finished, outstanding, run_cells
from hyperboxes.bench.store import open_store, read_records

HERE = Path(__file__).parent
DATA = "planted-1000x3"
CELLS = [(Cell(DATA, "True", "good", seed), 5.0) for seed in range(3)]


def cells_of(model, limit=5.0, seeds=(0,)):
    return [(Cell(DATA, "True", model, seed), limit) for seed in seeds]


def run(path, cells, workers=2, **options):
    with open_store(path) as store:
        run_cells(cells, PEERS, store, run="r", workers=workers, **options)
    return read_records(path)


def said(records):
    return {(one["model"], one["seed"]): (one["status"], one.get("message")) for one in records}


def without_clock(records):
    return sorted(str({name: value for name, value in one.items() if name != "clock"}) for one in records)


# -- peers that misbehave --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def misbehaved(tmp_path_factory):
    path = tmp_path_factory.mktemp("runner") / "results.jsonl"
    cells = [
        *cells_of("failing", seeds=(0, 1)),
        *cells_of("spinning", 0.4, seeds=(0, 1)),
        *cells_of("sleeping", 0.4),
        *cells_of("crashing"),
        *cells_of("good", seeds=(0, 1, 2)),
    ]
    return said(run(path, cells, workers=1))


def test_a_failing_peer_is_shown_with_its_message(misbehaved):
    assert misbehaved["failing", 0] == ("failed", "RuntimeError: no boxes today")
    assert misbehaved["failing", 1][0] == "failed"


def test_a_hanging_peer_is_ended_and_not_tried_again_on_the_table(misbehaved):
    assert misbehaved["spinning", 0] == ("timeout", "no answer after 0.4 processor seconds")
    told = f"not tried: spinning on {DATA}, class True, seed 0 took more than 0.4 s"
    assert misbehaved["spinning", 1] == ("timeout", told)


def test_a_peer_that_only_waits_is_ended(misbehaved):
    assert misbehaved["sleeping", 0] == ("timeout", "no answer after 0.4 s without computing")


def test_a_peer_whose_process_cannot_end_itself_is_ended_by_the_clock(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperboxes.bench.runner.PATIENCE", 3.0)
    records = run(tmp_path / "r.jsonl", cells_of("holding", 0.5))
    assert said(records)["holding", 0] == ("timeout", "no answer after 1.5 s by the clock")


def test_a_peer_that_takes_its_process_down_is_shown(misbehaved):
    assert misbehaved["crashing", 0] == ("failed", "its process ended, code 9")


def test_the_others_are_measured(misbehaved):
    assert [misbehaved["good", seed][0] for seed in range(3)] == ["ok"] * 3


def test_a_changed_package_stops_the_run(tmp_path):
    def changed():
        raise ValueError("has changed")

    with pytest.raises(ValueError, match="has changed"):
        run(tmp_path / "r.jsonl", CELLS, check=changed)


# -- what is left to do ----------------------------------------------------------------------------


def record(cell, status="ok", **more):
    told = {"run": "r", "status": status, "clock": {"fit_seconds": 2.0}}
    return {"kind": "cell", **vars(cell), **told, **more}


def test_a_finished_cell_is_never_repeated_and_a_planned_one_only_once():
    done = [record(CELLS[1][0]), {"kind": "run", "id": "r", "commit": "c"}]
    assert outstanding([*CELLS, *CELLS], done) == [CELLS[0], CELLS[2]]
    assert outstanding(CELLS, [record(cell) for cell, _ in CELLS], retry=True) == []


def test_what_failed_or_took_too_long_is_tried_again_only_for_a_reason():
    cell = CELLS[0][0]
    ended, failed = record(cell, "timeout", limit=5.0, message=""), record(cell, "failed", message="")
    assert not outstanding([(cell, 5.0)], [ended])
    assert outstanding([(cell, 6.0)], [ended]) == [(cell, 6.0)]
    assert not outstanding([(cell, 6.0)], [failed])
    assert outstanding([(cell, 5.0)], [failed], retry=True) == [(cell, 5.0)]
    assert finished([failed, record(cell)])[cell.key]["status"] == "ok"


def test_what_other_code_measured_is_measured_again_if_asked():
    runs = [{"kind": "run", "id": name, "commit": name} for name in ("old", "new")]
    done = [*runs, record(CELLS[0][0], run="old"), record(CELLS[1][0], run="new")]
    assert outstanding(CELLS, done) == CELLS[2:]
    assert outstanding(CELLS, done, commit="new") == [CELLS[0], CELLS[2]]
    assert outstanding(CELLS, [*done, record(CELLS[0][0], run="new")], commit="new") == CELLS[2:]


def test_a_cell_is_named_by_all_that_makes_it():
    one = Cell("iris", "0", "tree", 0, {"a": 1, "b": 2}, {"c": [1]})
    assert one.key == Cell("iris", "0", "tree", 0, {"b": 2, "a": 1}, {"c": [1]}).key
    changes = {"data": "wine", "label": "1", "model": "prim", "seed": 1, "params": {"a": 1}, "grid": {}}
    others = [replace(one, **{name: value}) for name, value in changes.items()]
    assert len({cell.key for cell in [one, *others]}) == 7
    assert Cell.of(record(one)) == one


def test_remaining_time_is_that_of_cells_alike():
    alike = Cell(DATA, "True", "good", 7)
    remaining = Remaining([cell for cell, _ in CELLS], [record(alike)], workers=2)
    assert remaining.seconds() == 3 * 2.0 / 2
    remaining.done(record(CELLS[0][0]))
    assert (len(remaining.left), remaining.total) == (2, 3)


# -- kills -----------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from hyperboxes.bench.plan import Method, Part
from hyperboxes.bench.reproduce import measure_outstanding

if __name__ == "__main__":
    methods = [Method("tree"), *(Method("boosting", {"max_iter": n}) for n in (70, 80, 90))]
    parts = [Part(("iris", "wine"), methods, (0, 1), 30.0)]
    measure_outstanding(Path(sys.argv[1]), parts, workers=2)
"""


def start(program, *arguments):
    command = [sys.executable, str(program), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_killed_at_ten_random_moments_it_ends_with_the_same_content(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    assert start(program, whole).wait(timeout=200) == 0
    draw, torn = random.Random(7), 0  # noqa: S311
    for _ in range(10):
        process = start(program, killed)
        # A moment is so many lines and a while: a slow machine meets as many of them as a fast one.
        target, deadline = lines_of(killed) + draw.randrange(0, 5), time.monotonic() + 100
        while lines_of(killed) < target and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        torn += lines_of(killed) < lines_of(whole)
    assert torn >= 5, "killed when all was done: the test says little"
    assert start(program, killed).wait(timeout=200) == 0
    records = read_records(killed)
    assert without_clock(records) == without_clock(read_records(whole))
    assert len(records) == 1 + 4 * 2 * 6


NOTING = """
import sys
from pathlib import Path
from bench_peers import PEERS
from hyperboxes.bench.cells import Cell
from hyperboxes.bench.runner import run_cells
from hyperboxes.bench.store import open_store

if __name__ == "__main__":
    with open_store(Path(sys.argv[1])) as store:
        cell = Cell("planted-1000x3", "True", "noting", 0, {"file": sys.argv[2]})
        run_cells([(cell, 100.0)], PEERS, store, run="r", workers=1)
"""


def test_workers_end_with_a_runner_that_is_killed(tmp_path):
    program, note = tmp_path / "program.py", tmp_path / "pid"
    program.write_text(NOTING)
    process = start(program, tmp_path / "r.jsonl", note)
    deadline = time.monotonic() + 100
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    worker = int(note.read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def alive(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
