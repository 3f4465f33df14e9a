"""A private PostgreSQL for the tests: its own cluster on a Unix socket, gone when they end."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Where Debian and Fedora keep the programs of the server, which are not on PATH there.
HOMES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
_NUMBERS = itertools.count()
#: Nothing of the cluster outlives the tests, so that nothing has to reach the disk.
SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "20",
}


def unavailable(reason: str) -> None:
    """Skip what needs a service, or fail where every service has to be there."""
    if os.environ.get("HYPERBOXES_REQUIRE_SERVICES") == "1":
        pytest.fail(f"{reason}, and HYPERBOXES_REQUIRE_SERVICES=1 asks for it")
    pytest.skip(reason)


def programs() -> Path | None:
    """Find the directory of initdb and pg_ctl; None if there is no server."""
    on_path = shutil.which("initdb")
    if on_path and (Path(on_path).parent / "pg_ctl").exists():
        return Path(on_path).parent
    root = Path("/")
    found = [path for home in HOMES for path in root.glob(f"{home[1:]}/initdb")]
    return max(found, key=lambda path: _version(path.parts)).parent if found else None


def _version(parts: tuple[str, ...]) -> int:
    return max(
        (int(part.rpartition("-")[2]) for part in parts if part.rpartition("-")[2].isdigit()), default=0
    )


def _account() -> str | None:
    """Name whom to run the server as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("postgres").pw_name
    return "nobody"


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """Start a cluster and give the connection string of its first database; stop it whatever happens."""
    binaries = programs()
    if binaries is None:
        unavailable("no PostgreSQL server: neither initdb on PATH nor under /usr/lib/postgresql")
    account = _account()
    # Not the tests' own temporary directory: a path of a socket has at most 107 bytes.
    home = Path(tempfile.mkdtemp(prefix="hb_pg_"))
    data, log = home / "data", home / "log"

    def run(program: str, *arguments: str) -> None:
        # A session of its own: Ctrl-C at the terminal is for the tests, which then stop the server.
        done = subprocess.run(
            [str(binaries / program), *arguments], user=account, cwd=home, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode:
            told = done.stdout + (log.read_text() if log.exists() else "")
            raise RuntimeError(f"{program} failed: {told[-2000:]}")

    try:
        if account is not None:
            shutil.chown(home, account)
        options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
        run("initdb", "-D", str(data), "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        # With a log of its own, the server does not hold open the pipe that is read to its end.
        run(
            "pg_ctl", "-D", str(data), "-l", str(log), "-w", "-t", "60", "-o", f"{options} -k {home}", "start"
        )
        try:
            yield f"host={home} user=tests dbname=postgres"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def database(address: str) -> Iterator[str]:
    """Make an empty database in a cluster, and give its connection string; drop it in the end."""
    import psycopg

    name = f"tests_{next(_NUMBERS)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield address.replace("dbname=postgres", f"dbname={name}")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
