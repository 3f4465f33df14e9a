"""A file is replaced wholly or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from hyperboxes import Boxes, atomic, read_model, write_model
from hyperboxes.model_file import dumps

OLD = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
NEW = Boxes.from_rules([({"age": (None, 30)}, "low")], default="high")
LARGE = Boxes.from_rules([({"age": (box, box)}, "high") for box in range(500)], default="low")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.boxes.json"
    write_model(OLD, path)
    return path


def run_child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def assert_untouched(path: Path, before: bytes) -> None:
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


KILL = """
import json, os, signal, sys
from hyperboxes import atomic, read_model
from hyperboxes.model_file import loads, write_model

path, old, new = sys.argv[1], open(sys.argv[2]).read(), loads(open(sys.argv[3]).read())
outcomes = []

def die_at(step):
    count = 0
    def guard(call, half=False):
        def guarded(*args, **kwargs):
            nonlocal count
            if count == step:
                if half:
                    args[0].raw.write(args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            return call(*args, **kwargs)
        return guarded
    for name in ("open", "stat", "fchmod", "fsync", "replace", "close"):
        setattr(os, name, guard(getattr(os, name)))
    real_open = open
    class Half:
        def __init__(self, file): self.file = file
        def __enter__(self): return self
        def __exit__(self, *error): self.file.close()
        def __getattr__(self, name): return getattr(self.file, name)
        def write(self, data): return guard(type(self.file).write, half=True)(self.file, data)
    atomic.open = lambda *args: Half(real_open(*args))

for step in range(50):
    with open(path, "w") as file:
        file.write(old)
    child = os.fork()
    if not child:
        die_at(step)
        write_model(new, path)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    after = open(path).read()
    outcomes.append([killed, "old" if after == old else "new" if read_model(path) == new else "?"])
    if not killed:
        break
print(json.dumps(outcomes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_between_any_two_steps_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    old, new, path = tmp_path / "old", tmp_path / "new", tmp_path / "m.boxes.json"
    old.write_text(dumps(OLD))
    new.write_text(dumps(NEW))
    outcomes = json.loads(run_child(KILL, path, old, new).stdout)
    assert outcomes[-1] == [False, "new"]
    killed = [after for was_killed, after in outcomes[:-1] if was_killed]
    assert len(killed) == len(outcomes) - 1 >= 9
    assert killed == sorted(killed, reverse=True)  # old up to the rename, new from there on
    assert set(killed) == {"old", "new"}


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_failing_step_leaves_the_old_file_and_no_litter(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(atomic.os, step, fail)
    with pytest.raises(type(error)) as caught:
        write_model(NEW, path)
    monkeypatch.undo()
    assert_untouched(path, before)
    if isinstance(error, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert str(path) in str(caught.value)


def test_bytes_that_read_back_wrong_are_not_put_in_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    write = atomic._write_synced
    monkeypatch.setattr(atomic, "_write_synced", lambda name, data, mode: write(name, data[:-30], mode))
    with pytest.raises(ValueError, match="does not fit into a model file"):
        write_model(NEW, path)
    assert_untouched(path, before)


FULL = """
import resource, sys
from hyperboxes.model_file import loads, write_model
boxes = loads(open(sys.argv[2]).read())
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_model(boxes, sys.argv[1])
except OSError as error:
    print(error.errno, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_full_disk_leaves_the_old_file_and_names_path_and_bytes(path: Path) -> None:
    before, text = path.read_bytes(), dumps(LARGE)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as large:
        large.write(text)
        large.flush()
        said = run_child(FULL, path, large.name).stdout
    assert said.startswith(f"{errno.EFBIG} ")
    assert str(path) in said
    assert "bytes" in said
    assert_untouched(path, before)


READ_ONLY = """
import os, sys
from hyperboxes.model_file import loads, write_model
boxes = loads(open(sys.argv[2]).read())
if os.geteuid() == 0:
    os.setuid(65534)
try:
    write_model(boxes, sys.argv[1])
except OSError as error:
    print(error.errno, error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs Unix permissions")
def test_read_only_directory_is_a_clear_error(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.write_text(dumps(NEW))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.boxes.json"
        write_model(OLD, path)
        before = path.read_bytes()
        os.chmod(folder, 0o555)  # noqa: S103
        said = run_child(READ_ONLY, path, model).stdout
        os.chmod(folder, 0o755)  # noqa: S103
        assert said.startswith(f"{errno.EACCES} ")
        assert str(path) in said
        assert_untouched(path, before)


def test_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"directory to write into does not exist.*absent/m\.boxes\.json"
    ):
        write_model(NEW, tmp_path / "absent" / "m.boxes.json")
    assert list(tmp_path.iterdir()) == []


def test_directory_in_the_place_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.boxes.json"
    path.mkdir()
    with pytest.raises(IsADirectoryError, match=r"m\.boxes\.json"):
        write_model(NEW, path)
    assert path.is_dir()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_pipe_in_the_place_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.boxes.json"
    os.mkfifo(path)
    with pytest.raises(OSError, match="only a regular file can be replaced"):
        write_model(NEW, path)
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("name", ["a b", "naïve 日本", "two\nlines", "-rf", "'; --", "x" * 240])
def test_awkward_file_names_work(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.boxes.json"
    write_model(OLD, path)
    write_model(NEW, path)
    assert read_model(path) == NEW
    assert len(list(tmp_path.iterdir())) == 1


def test_symbolic_link_stays_one(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.boxes.json"
    link.symlink_to(path.name)
    write_model(NEW, link)
    assert link.is_symlink()
    assert read_model(path) == NEW == read_model(link)


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix permissions")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_mode_of_a_new_file_follows_the_umask_and_of_an_old_one_stays(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "m.boxes.json"
    before = os.umask(umask)
    try:
        write_model(OLD, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        path.chmod(0o640)
        write_model(NEW, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_litter_of_a_killed_process_goes_once_it_is_stale(path: Path) -> None:
    stale, fresh, other = (
        path.parent / name for name in (".hyperboxes-0.tmp", ".hyperboxes-1.tmp", ".other-0.tmp")
    )
    for file in (stale, fresh, other):
        file.touch()
    for file in (stale, other):
        os.utime(file, times=(time.time() - 2 * atomic.STALE_SECONDS,) * 2)
    write_model(NEW, path)
    assert not stale.exists()
    assert fresh.exists()
    assert other.exists()
