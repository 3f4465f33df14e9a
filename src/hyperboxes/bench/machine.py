"""The code and the machine that figures come from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__
from .cells import Record

PACKAGE = Path(__file__).resolve().parents[1]
#: Packages whose versions change figures.
PACKAGES = (
    "numpy", "numba", "scikit-learn", "torch", "prim", "hyperbox-brain", "interpret-core", "wittgenstein",
    "imodels",
)  # fmt: skip


def this_run(packages: tuple[str, ...] = PACKAGES) -> Record:
    """Describe the code and the machine; the same twice if neither has changed."""
    return {
        "hyperboxes": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        **{package: found for package in packages if (found := _version(package)) is not None},
        "cores": os.cpu_count(),
        "memory": _memory(),
    }


def fingerprint() -> str:
    """Tell the package's files apart from what they were before, cheaply."""
    files = sorted(PACKAGE.rglob("*.py"))
    states = [(str(file), (state := file.stat()).st_size, state.st_mtime_ns) for file in files]
    return hashlib.sha256(repr(states).encode()).hexdigest()


def short_hash(record: Record) -> str:
    """Name a record by its content."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:10]


def described(run: Record) -> str:
    """Write a run as one line."""
    told = [f"{name} {value}" for name, value in run.items() if isinstance(value, str | int)]
    return " · ".join(told)


def commit() -> str:
    """Give the last commit that changed the package, marked where its files differ from it."""
    last = _git("log", "-1", "--format=%h", "--", ".")
    if not last:
        return "unknown"
    return f"{last}, changed" if _git("status", "--porcelain", "--", ".") else last


def _git(*words: str) -> str:
    command = ["git", *words]
    try:
        told = subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True, encoding="utf-8")  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return "unknown"
