"""Checkpoints of a training run: safetensors files in a folder, replaced atomically, resumed bit for bit.

A folder belongs to one run. It holds the newest two checkpoints, ``epoch-<n>.ckpt.safetensors``, and a
lock. Each file carries a checksum of all it holds and a fingerprint of the data and settings it came
from. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from .. import __version__

Scalar = None | bool | int | float | str

SUFFIX = ".ckpt.safetensors"
KEPT = 2


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, read or resumed from; the message says which and why."""


class CheckpointWarning(UserWarning):
    """The newest checkpoint is damaged and an older one is used."""


class Contents(NamedTuple):
    """What a checkpoint holds: tensors and scalars by name, and the run's fingerprint."""

    tensors: dict[str, Tensor]
    scalars: dict[str, Scalar]
    fingerprint: dict[str, str]


def digest(tensor: Tensor | None) -> str:
    """Describe a tensor by dtype, shape and the SHA-256 of its bytes."""
    if tensor is None:
        return "none"
    tensor = tensor.detach().cpu().contiguous()
    flat = tensor.reshape(-1).view(torch.uint8) if tensor.numel() else tensor.new_empty(0, dtype=torch.uint8)
    return f"{tensor.dtype} {list(tensor.shape)} {hashlib.sha256(flat.numpy().data).hexdigest()}"


def _checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    lines = [f"{name} {digest(tensors[name])}" for name in sorted(tensors)]
    return hashlib.sha256("\n".join([text, *lines]).encode()).hexdigest()


def _encode(value: Scalar) -> Any:
    # Hexadecimal keeps every bit, infinities included, which JSON has no word for.
    return {"hex": value.hex()} if isinstance(value, float) else value


def _decode(value: Any) -> Scalar:
    return float.fromhex(value["hex"]) if isinstance(value, dict) else value


def write_checkpoint(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write a checkpoint so that a crash at any moment leaves the old file or the new one.

    Raises
    ------
    OSError
        If the disk is full or the folder not writable; nothing is left behind.
    """
    path = Path(path)
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in contents.tensors.items()}
    scalars = {name: _encode(value) for name, value in contents.scalars.items()}
    body = json.dumps(
        {"fingerprint": contents.fingerprint, "scalars": scalars}, sort_keys=True, allow_nan=False
    )
    data = safetensors.torch.save(tensors, {"body": body, "sha256": _checksum(tensors, body)})
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", suffix=SUFFIX, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise OSError(
            error.errno, f"{error.strerror}: cannot write a checkpoint of {len(data)} bytes", path
        ) from error
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_checkpoint(path: str | os.PathLike[str]) -> Contents:
    """Read a checkpoint and check it against its own checksum.

    Raises
    ------
    CheckpointError
        If the file is damaged, or is no checkpoint.
    """
    path = Path(path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path} is damaged or no checkpoint: {error}") from error
    if "body" not in metadata or "sha256" not in metadata:
        raise CheckpointError(
            f"{path} is a safetensors file but no checkpoint: its metadata lacks body or sha256"
        )
    if _checksum(tensors, metadata["body"]) != metadata["sha256"]:
        raise CheckpointError(f"{path} is damaged: its contents do not match its checksum")
    body = json.loads(metadata["body"])
    return Contents(
        tensors, {name: _decode(value) for name, value in body["scalars"].items()}, body["fingerprint"]
    )


class CheckpointFolder:
    """The checkpoints of one run, used as a context manager that holds the folder's lock.

    Parameters
    ----------
    path : path-like
        The folder; made if missing.
    fingerprint : mapping of str to str
        What must be the same for a run to be resumed.
    writes : bool
        False for the processes of a distributed run that only read.
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprint: Mapping[str, str], *, writes: bool = True
    ) -> None:
        self.path = Path(path)
        self.fingerprint = {"hyperboxes": __version__, **fingerprint}
        self.writes = writes
        self._lock: IO[str] | None = None

    def __enter__(self) -> CheckpointFolder:
        if not self.writes:
            return self
        self.path.mkdir(parents=True, exist_ok=True)
        # Opening for writing also shows, before any training, that the folder can be written to.
        self._lock = open(self.path / ".lock", "a+", encoding="utf-8")
        try:
            _lock(self._lock)
        except OSError:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "another process"
            self._lock.close()
            raise CheckpointError(f"{self.path} is in use by {owner}; give this run its own folder") from None
        self._lock.truncate(0)
        self._lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        self._lock.flush()
        for stale in self.path.glob(f".tmp-*{SUFFIX}"):
            stale.unlink()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _files(self) -> list[Path]:
        """List the checkpoints, newest first; names sort by epoch."""
        return sorted((file for file in self.path.glob(f"epoch-*{SUFFIX}") if file.is_file()), reverse=True)

    def save(self, epoch: int, tensors: Mapping[str, Tensor], scalars: Mapping[str, Scalar]) -> None:
        """Write the state after ``epoch`` epochs and remove all but the newest checkpoints."""
        if not self.writes:
            return
        contents = Contents(dict(tensors), dict(scalars), self.fingerprint)
        write_checkpoint(self.path / f"epoch-{epoch:09d}{SUFFIX}", contents)
        for old in self._files()[KEPT:]:
            old.unlink()

    def load(self) -> Contents | None:
        """Read the newest sound checkpoint; None if the folder holds none.

        Raises
        ------
        CheckpointError
            If every checkpoint is damaged, or the sound one belongs to other data or settings.
        """
        problems: list[str] = []
        for file in self._files():
            try:
                contents = read_checkpoint(file)
            except CheckpointError as error:
                problems.append(str(error))
                continue
            if problems:
                warnings.warn(f"{'; '.join(problems)}; resuming from {file}", CheckpointWarning, stacklevel=4)
            self._check(file, contents)
            return contents
        if problems:
            raise CheckpointError(
                f"no usable checkpoint: {'; '.join(problems)}; remove the folder to start again"
            )
        return None

    def _check(self, file: Path, contents: Contents) -> None:
        differences = list(self._differences(contents.fingerprint))
        if differences:
            raise CheckpointError(
                f"{file} belongs to another run; to start a new one give another folder. "
                f"What differs: {'; '.join(differences)}"
            )

    def _differences(self, saved: Mapping[str, str]) -> Iterator[str]:
        for name in sorted({*saved, *self.fingerprint}):
            before, now = saved.get(name, "absent"), self.fingerprint.get(name, "absent")
            if before != now:
                yield f"{name} was {before}, is {now}"


def _lock(file: IO[str]) -> None:
    """Lock a file until it is closed or its process ends, however it ends."""
    try:
        import fcntl
    except ImportError:
        # Windows has no lock that the end of a process is sure to free.
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
