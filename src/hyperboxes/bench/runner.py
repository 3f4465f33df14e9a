"""Runner: cells side by side in processes, each with a time limit; can be killed and run again at any moment.

A process serves cells of one model only, so that no package can disturb another, and is warmed up before the
first. Limits are in processor seconds, so that other work on the machine decides nothing: a process that
passes the limit of its cell ends itself, and so does one that waits for as long without computing. Only one
that cannot even do that is ended by the clock, many times as long. Workers never touch the results file: they
answer, and this process appends. When it dies, however that comes, they end themselves.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait

from .cells import Cell, Record
from .models import Model
from .store import Store

#: Seconds that a process may take to start, to load and compile what its model needs, and to read its table.
START_LIMIT = 300.0
#: What a worker says when the time of a cell begins.
BEGUN = "begun"
#: A cell may take so many times its limit by the clock.
PATIENCE = 25.0
#: Seconds between two looks at the processor time; least share of it, and seconds, to tell work from waiting.
TICK, IDLE_SHARE, IDLE_SECONDS = 0.25, 0.01, 2.0
#: Exit codes of a process that has used up its processor time, and of one that only waits.
USED_UP, IDLE = 75, 76
#: Told by each worker: one thread, so that cells side by side do not take each other's.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def finished(records: Sequence[Record]) -> dict[str, Record]:
    """Give the record of each cell that was measured, the last one if there are several."""
    return {Cell.of(record).key: record for record in records if record["kind"] == "cell"}


def outstanding(
    cells: Sequence[tuple[Cell, float]],
    records: Sequence[Record],
    *,
    retry: bool = False,
    commit: str | None = None,
) -> list[tuple[Cell, float]]:
    """Leave out what was measured, or was given up at a limit no lower.

    With ``retry``, what failed or was given up is tried again; with ``commit``, what other code measured.
    """
    done = finished(records)
    commits = {record["id"]: record["commit"] for record in records if record["kind"] == "run"}

    def is_due(cell: Cell, limit: float) -> bool:
        record = done.get(cell.key)
        if record is None or (commit is not None and commits.get(record["run"]) != commit):
            return True
        if record["status"] == "timeout":
            return retry or bool(record["limit"] < limit)
        return retry and record["status"] == "failed"

    return list({cell.key: (cell, limit) for cell, limit in cells if is_due(cell, limit)}.values())


def run_cells(
    cells: Sequence[tuple[Cell, float]],
    models: Mapping[str, Model],
    store: Store,
    *,
    run: str,
    workers: int,
    folder: str | None = None,
    check: Callable[[], None] = lambda: None,
    show: Callable[[Remaining, Record], None] = lambda remaining, record: None,
) -> None:
    """Measure cells, and add each to the store as it is done.

    Parameters
    ----------
    cells : sequence of (Cell, float)
        What is to be measured, in this order, and the seconds each may take.
    models : dict
        Models by the name that cells know them by.
    store : Store
        Where records go.
    run : str
        Name of the record that describes code and machine.
    workers : int
        Processes at a time.
    folder : str, optional
        Folder of data sets.
    check : callable
        Called before a process is started, which reads the code anew; raises if that has changed.
    show : callable
        Called with what remains and the record after each cell.
    """
    queue = deque(cells)
    given_up: dict[tuple[str, str], str] = {}
    remaining = Remaining([cell for cell, _ in cells], store.records, workers)
    team: list[Worker] = []

    def finish(cell: Cell, limit: float, answer: Record) -> None:
        record: Record = {"kind": "cell", **vars(cell), "run": run, **answer}
        if record["status"] == "timeout":
            record["limit"] = limit
            given_up.setdefault((cell.data, cell.method), f"{cell} took more than {limit:g} s")
        store.add(record)
        remaining.done(record)
        show(remaining, record)

    try:
        while queue or any(worker.cell for worker in team):
            for worker in [worker for worker in team if worker.cell is None]:
                if not queue or queue[0][0].model != worker.name:
                    team.remove(worker)
                    worker.end()
            while queue and (free := _free(team, workers, queue[0][0].model)) is not None:
                cell, limit = queue.popleft()
                reason = given_up.get((cell.data, cell.method))
                if reason is not None:
                    finish(cell, limit, _failure("timeout", f"not tried: {reason}"))
                    continue
                if isinstance(free, Worker):
                    worker = free
                else:
                    check()
                    worker = Worker(cell.model, models[cell.model], folder)
                    team.append(worker)
                worker.begin(cell, limit)
            for worker in _answering(team):
                served, limit = worker.cell, worker.limit
                answer = worker.answer()
                if answer is not None and served is not None:
                    finish(served, limit, answer)
                if worker.ended:
                    team.remove(worker)
    finally:
        for worker in team:
            worker.end()


def _free(team: list[Worker], workers: int, name: str) -> Worker | bool | None:
    """Give an idle worker of the model, True if there is room for a new one, None if all are at work."""
    for worker in team:
        if worker.cell is None and worker.name == name:
            return worker
    return True if len(team) < workers else None


def _answering(team: list[Worker]) -> list[Worker]:
    """Wait until workers have something to say or have used up their time."""
    busy = [worker for worker in team if worker.cell is not None]
    if not busy:
        return []
    patience = min(worker.deadline for worker in busy) - time.monotonic()
    heard = wait([worker.pipe for worker in busy], max(0.0, patience))
    now = time.monotonic()
    return [worker for worker in busy if worker.pipe in heard or worker.deadline <= now]


class Worker:
    """A process that measures cells of one model, and the cell it is at."""

    def __init__(self, name: str, model: Model, folder: str | None) -> None:
        # Spawned, not forked: a fork takes along threads' locks and whatever this process has loaded.
        context = multiprocessing.get_context("spawn")
        self.name, self.ended = name, False
        self.cell: Cell | None = None
        self.limit = self.patience = self.deadline = 0.0
        self.pipe, theirs = context.Pipe()
        before = {variable: os.environ.get(variable) for variable in THREADS}
        os.environ.update(THREADS)  # a spawned process reads them before it imports anything
        try:
            self.process = context.Process(target=serve, args=(theirs, model, folder), daemon=True)
            self.process.start()
        finally:
            for variable, value in before.items():
                os.environ.pop(variable) if value is None else os.environ.update({variable: value})
        theirs.close()

    def begin(self, cell: Cell, limit: float) -> None:
        """Give the worker a cell."""
        self.cell, self.limit = cell, limit
        self._wait(START_LIMIT)
        with suppress(OSError):  # a process that has ended is noticed when it should answer
            self.pipe.send((cell, limit))

    def answer(self) -> Record | None:
        """Take what the worker says: the answer, or None if it has only now begun."""
        try:
            if not self.pipe.poll():
                self.end()
                return _failure("timeout", f"no answer after {self.patience:g} s by the clock")
            told = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code, limit = self.process.exitcode, self.limit
            self.end()
            if code in (USED_UP, IDLE):
                what = "processor seconds" if code == USED_UP else "s without computing"
                return _failure("timeout", f"no answer after {limit:g} {what}")
            return _failure("failed", f"its process ended, code {code}")
        if told == BEGUN:
            self._wait(PATIENCE * self.limit)
            return None
        self.cell = None
        answer: Record = told
        return answer

    def _wait(self, patience: float) -> None:
        self.patience, self.deadline = patience, time.monotonic() + patience

    def end(self) -> None:
        """End the process at once; it holds nothing that could be lost."""
        self.ended, self.cell = True, None
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _failure(status: str, message: str) -> Record:
    return {"status": status, "message": message, "clock": {}}


# -- in the process of a worker ---------------------------------------------------------------------


def serve(pipe: Connection, model: Model, folder: str | None) -> None:
    """Measure the cells that come through a pipe."""
    from .protocol import load_split, measure, warm_up

    budget = Budget()
    warnings.simplefilter("ignore")
    warm = False
    with suppress(EOFError, OSError):  # nobody there any more
        while True:
            cell, limit = pipe.recv()
            try:
                split = load_split(cell, folder)
                if not warm:
                    warm_up(cell, model, split)
                    warm = True
                pipe.send(BEGUN)
                with budget.of(limit):
                    figures, clock = measure(cell, model, split)
                clock["when"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                answer: Record = {"status": "ok", "figures": figures, "clock": clock}
            except Exception as error:  # whatever another package raises is what there is to report
                answer = _failure("failed", _told(error))
            pipe.send(answer)


class Budget:
    """Ends this process when its processor time is used up, when it only waits, or when its starter dies."""

    def __init__(self) -> None:
        self._limit = math.inf
        self._begin()
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def of(self, seconds: float) -> Iterator[None]:
        """Allow so many processor seconds for what is done within, and as many of waiting."""
        self._begin()
        self._limit = seconds
        try:
            yield
        finally:
            self._limit = math.inf

    def _begin(self) -> None:
        self._from = time.process_time()
        self._last_look = time.monotonic(), self._from

    def _watch(self) -> None:
        parent = multiprocessing.parent_process()
        while parent is not None and parent.is_alive():
            self._check(time.monotonic(), time.process_time())
            parent.join(TICK)
        os._exit(1)

    def _check(self, clock: float, processor: float) -> None:
        if processor - self._from > self._limit:
            os._exit(USED_UP)
        last_clock, last_processor = self._last_look
        if clock - last_clock > max(self._limit, IDLE_SECONDS):
            if processor - last_processor < IDLE_SHARE * (clock - last_clock):
                os._exit(IDLE)
            self._last_look = clock, processor


def _told(error: Exception) -> str:
    """Write an error as one line of moderate length."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else text[:299] + "…"


# -- how long it takes -----------------------------------------------------------------------------


class Remaining:
    """How many cells are left, and about how many seconds they take.

    A cell is expected to take what others of its method on its data set took, else those of its model there,
    else those of its model, else all.
    """

    def __init__(self, cells: Sequence[Cell], records: Sequence[Record], workers: int) -> None:
        self.workers = workers
        self.total = len(cells)
        self.left = {cell.key: cell for cell in cells}
        self._taken: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for record in records:
            self._learn(record)

    def done(self, record: Record) -> None:
        """Take a cell off the list."""
        self.left.pop(Cell.of(record).key, None)
        self._learn(record)

    def seconds(self) -> float:
        """Guess the time left."""
        return sum(self._expected(cell) for cell in self.left.values()) / self.workers

    def _learn(self, record: Record) -> None:
        if record["kind"] != "cell":
            return
        clock = record["clock"]
        seconds = sum(clock.get(name, 0.0) for name in ("search_seconds", "fit_seconds", "predict_seconds"))
        if record["status"] == "timeout" and not record["message"].startswith("not tried"):
            seconds = record["limit"]
        for key in self._keys(Cell.of(record)):
            self._taken[key][0] += seconds
            self._taken[key][1] += 1

    def _expected(self, cell: Cell) -> float:
        for key in self._keys(cell):
            if key in self._taken:
                total, count = self._taken[key]
                return total / count
        return 1.0

    @staticmethod
    def _keys(cell: Cell) -> list[tuple[str, ...]]:
        return [(cell.data, cell.method), (cell.data, cell.model), (cell.model,), ()]
