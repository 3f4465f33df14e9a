"""Store: results as JSON lines that are only ever appended to, by one process at a time.

A line is written whole and forced to disk before the next cell counts as done. A process that is killed can
leave one torn line at the end: it is no record when the file is read, and cut off when the file is next
written to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .cells import Record


def read_records(path: Path) -> list[Record]:
    """Read all whole lines of a file; none if there is no file."""
    return _read(path)[0]


class Store:
    """A results file that this process alone writes to; use ``open_store``."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.records, whole = _read(path)
        os.ftruncate(descriptor, whole)

    def add(self, record: Record) -> None:
        """Append a record and force it to disk."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        while line:  # a full disk may take a part
            line = line[os.write(self._descriptor, line) :]
        os.fsync(self._descriptor)
        self.records.append(record)


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open a results file to add to it, made if need be; refuse if another process has it open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        _lock(descriptor, path)
        yield Store(path, descriptor)
    finally:
        os.close(descriptor)  # lets go of the lock, as does the end of the process, however it comes


def _lock(descriptor: int, path: Path) -> None:
    try:
        if os.name == "nt":
            import msvcrt

            # Far beyond the content: here a lock keeps others from reading what it covers.
            os.lseek(descriptor, 2**62, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(
            f"{path}: another process is adding to this file; wait for it or give another --output"
        ) from error


def _read(path: Path) -> tuple[list[Record], int]:
    """Give the records, and how many bytes their lines take."""
    if not path.exists():
        return [], 0
    lines = path.read_bytes().split(b"\n")
    records: list[Record] = []
    whole = 0
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("not an object")
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError among them
            if number == len(lines) - 1 and not lines[-1]:
                break  # the file system kept the length of the last line, but not its content
            raise ValueError(
                f"{path}, line {number}: not a record ({error}); remove the line to measure its cell again"
            ) from error
        records.append(record)
        whole += len(line) + 1
    return records, whole
