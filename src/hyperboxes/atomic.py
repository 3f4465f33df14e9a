"""Replace a file wholly or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator

_PREFIX, _ENDING = ".hyperboxes-", ".tmp"
#: No write takes this long: what is older was left behind by a process that was killed.
STALE_SECONDS = 3600.0


def write_atomic(path: str, data: bytes, check: Callable[[bytes], None]) -> None:
    """Write ``data`` to ``path`` so that the file holds the old bytes or the new ones, never anything else.

    The bytes go to a temporary file in the same directory, are forced to disk, read back and given to
    ``check``; only then does the file take its place. A symbolic link stays one: its target is replaced.

    Parameters
    ----------
    path : str
        The file to make or replace. A file that exists keeps its permissions, a new one follows the umask.
    data : bytes
        All of its content.
    check : callable
        Raises if the bytes read back are not what they should be.

    Raises
    ------
    OSError
        Naming the path, if the file system refuses; what was there before is untouched.
    """
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    mode = _mode_of_target(path, target, directory)
    temporary = os.path.join(directory, f"{_PREFIX}{secrets.token_hex(8)}{_ENDING}")
    _remove_stale(directory)
    try:
        try:
            _write_synced(temporary, data, mode)
            with open(temporary, "rb") as file:
                written = file.read()
            check(written)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"{reason} (writing {len(data):,} bytes failed; what was there before is untouched)"
        raise OSError(error.errno or errno.EIO, message, path) from error
    _sync_directory(directory)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Give a name beside ``path`` for another program to write to; the file then takes its place.

    If the block raises, what was written is removed, and what was at ``path`` before is untouched.
    """
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    mode = _mode_of_target(path, target, directory)
    temporary = os.path.join(directory, f"{_PREFIX}{secrets.token_hex(8)}{_ENDING}")
    _remove_stale(directory)
    try:
        yield temporary
        descriptor = os.open(temporary, os.O_RDWR)
        try:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(directory)


def _mode_of_target(path: str, target: str, directory: str) -> int | None:
    """Give the permissions of the file to replace, None for a new one; refuse what is not a file."""
    if not os.path.isdir(directory):
        raise FileNotFoundError(errno.ENOENT, "the directory to write into does not exist", path)
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a directory cannot be replaced by a file", path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "only a regular file can be replaced", path)
    return stat.S_IMODE(status.st_mode)


def _write_synced(temporary: str, data: bytes, mode: int | None) -> None:
    # Not tempfile.mkstemp: it makes files of mode 0600, and reading the umask to widen that is a race.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(temporary, flags, 0o666), "wb") as file:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(directory: str) -> None:
    """Make the new name durable, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a directory; there the rename is as durable as it gets.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(
                error.errno, "the new file is in place, but may not survive a power cut", directory
            ) from error
    finally:
        os.close(descriptor)


def _remove_stale(directory: str) -> None:
    oldest = time.time() - STALE_SECONDS
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_ENDING):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(entry.path)
