"""Threads for kernels that release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
#: Cells of a table below which starting threads takes longer than reading them.
SERIAL_CELLS = 50_000


def n_threads() -> int:
    """Give the number of threads to use: the cores this process may use, or fewer if OMP_NUM_THREADS says so.

    joblib sets that variable in its workers, so a parallel search does not overload the machine.
    """
    cores = _n_cores()
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(asked))) if asked.isdecimal() else cores


def _n_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1


def _n_workers(n_tasks: int) -> int:
    """Give the number of threads for so many tasks.

    A few tasks seldom fill the cores evenly: of three alike, two cores would each take one, and one the
    third. With a thread to each, the system shares the cores out, and all are done after one and a half.
    Not where fewer threads than cores were asked for: then threads beyond that would find a core.
    """
    threads = n_threads()
    shared_out = 1 < threads == _n_cores() and n_tasks < 4 * threads
    return min(2 * threads if shared_out else threads, n_tasks)


def run(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    progress: str | None = None,
    *,
    cells: int = SERIAL_CELLS,
) -> list[Result]:
    """Apply a function to independent tasks, results in the order of the tasks.

    With ``progress``, show a bar of that name. ``cells`` is how many cells of a table the tasks read in all,
    where that is about all they do.

    Plain threads rather than numba's own: kernels are compiled once without a parallel back end,
    start in less time, and may be called from any number of threads and after a fork.
    """
    tasks = list(tasks)
    workers = _n_workers(len(tasks)) if cells >= SERIAL_CELLS else 1
    if workers <= 1:
        return list(_shown(map(function, tasks), len(tasks), progress))
    with ThreadPoolExecutor(workers) as pool:
        return list(_shown(pool.map(function, tasks), len(tasks), progress))


def joined_progress(
    tell: Callable[[float], None] | None, n_tasks: int
) -> Callable[[int], Callable[[float], None]]:
    """Give a function that gives each task, by number, what to tell the share of it that is done.

    ``tell``, if any, is told the share of all tasks.
    """
    shares = [0.0] * n_tasks

    def of_task(task: int) -> Callable[[float], None]:
        def told(share: float) -> None:
            shares[task] = share
            if tell is not None:
                tell(sum(shares) / n_tasks)

        return told

    return of_task


def _shown(results: Iterable[Result], total: int, progress: str | None) -> Iterable[Result]:
    if progress is None:
        return results
    from tqdm.auto import tqdm

    bar: Iterable[Result] = tqdm(results, desc=progress, total=total, leave=False)
    return bar
