"""Checkpoints: a run that was killed ends in the same bits, and nothing damaged or foreign is resumed."""

import errno
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch
from torch import Tensor

from hyperboxes.nn import (
    BoxLayer,
    BoxSize,
    CheckpointError,
    CheckpointWarning,
    Geometric,
    checkpoint,
    run,
    train,
)
from hyperboxes.nn.checkpoint import SUFFIX, CheckpointFolder, Contents, read_checkpoint, write_checkpoint


def ring(n: int, seed: int) -> tuple[Tensor, Tensor]:
    X = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    return X, (X.abs() < 0.8).all(1).float()


def settings() -> dict[str, object]:
    """A run in which every piece of state matters: batches, moments, a plateau, patience, temperatures."""
    X, y = ring(60, 1)
    return {
        "X": X, "y": y, "validation": ring(60, 2), "batch_size": 20, "max_epochs": 60, "patience": 12,
        "monitor": "loss", "temperatures": Geometric(1.0, 0.6), "learning_rate": 0.1, "seed": 3,
        "plateau": {"factor": 0.7, "patience": 1, "threshold": 0.02}, "checkpoint_every": 4,
    }  # fmt: skip


def fresh() -> BoxLayer:
    return BoxLayer(2, 3, generator=torch.Generator().manual_seed(0))


def outcome(model: BoxLayer, history: run.History) -> str:
    """Hash the model's bytes and all that history tells."""
    told = {name: getattr(history, name) for name in (*run.COLUMNS, "best_epoch", "best_value", "stopped")}
    bits = [value.numpy().tobytes() for value in model.state_dict().values()]
    return hashlib.sha256(b"".join([repr(told).encode(), *bits])).hexdigest()


def go(folder: pathlib.Path | None, until: int | None = None, pause: float = 0, **changes: object) -> str:
    """Train; with ``until``, crash after that epoch; with ``pause``, rest after each."""

    def crash(epoch: int, info: dict[str, float]) -> None:
        time.sleep(pause)
        if epoch == until:
            raise SystemExit("crash")

    model = fresh()
    history = train(model, **{**settings(), **changes}, checkpoint=folder, on_epoch=crash)
    return outcome(model, history)


def crash_and_resume(folder: pathlib.Path, at: int) -> str:
    with pytest.raises(SystemExit):
        go(folder, until=at)
    return go(folder)


@pytest.fixture(scope="module")
def uninterrupted() -> str:
    return go(None)


@pytest.mark.parametrize("at", [0, 3, 9, 17])
def test_a_resumed_run_ends_in_the_same_bits(at, tmp_path, uninterrupted):
    assert crash_and_resume(tmp_path / "a b\nü", at) == uninterrupted


def test_the_run_used_here_is_one_in_which_all_state_matters():
    history = train(fresh(), **settings())
    assert history.stopped == "patience"
    assert 3 < history.best_epoch < 20 < history.n_epochs - 1
    rates = history.learning_rate
    assert rates[0] != rates[20] != rates[-1]


PIECES = {
    "model": lambda saved: saved.tensors.update({"model/minimum": torch.zeros(1, 3, 2)}),
    "best state": lambda saved: [saved.tensors.pop(n) for n in list(saved.tensors) if n.startswith("best/")],
    "temperatures of the best state": lambda saved: saved.tensors["best/boundary_temperature"].fill_(1.0),
    "first moments": lambda saved: saved.tensors["optimizer/0/exp_avg"].zero_(),
    "second moments": lambda saved: saved.tensors["optimizer/1/exp_avg_sq"].zero_(),
    "step count": lambda saved: saved.tensors["optimizer/0/step"].zero_(),
    "epoch": lambda saved: [saved.tensors.update({f"history/{n}": saved.tensors[f"history/{n}"][1:]})
                            for n in run.COLUMNS],
    "learning rate": lambda saved: saved.scalars.update(rate=1.0),
    "plateau's best": lambda saved: saved.scalars.update(plateau_best=float("inf")),
    "plateau's wait": lambda saved: saved.scalars.update(plateau_waited=0),
    "patience": lambda saved: saved.scalars.update(waited=0),
    "reference of patience": lambda saved: saved.scalars.update(reference=float("inf")),
    "best value": lambda saved: saved.scalars.update(best_value=float("inf")),
    "best epoch": lambda saved: saved.scalars.update(best_epoch=None),
}  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_without_any_one_piece_of_state_the_bits_differ(piece, tmp_path, uninterrupted, monkeypatch):
    # The crash comes where the plateau is waiting, the patience running and the best epoch past.
    with pytest.raises(SystemExit):
        go(tmp_path, until=20)
    whole = CheckpointFolder.load

    def load(self: CheckpointFolder) -> Contents | None:
        saved = whole(self)
        PIECES[piece](saved)
        return saved

    monkeypatch.setattr(CheckpointFolder, "load", load)
    assert go(tmp_path) != uninterrupted


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [(torch.optim.SGD, {"momentum": 0.9}), (torch.optim.SGD, {}), (torch.optim.NAdam, {}),
     (torch.optim.RMSprop, {}), (torch.optim.AdamW, {"amsgrad": True})],
)  # fmt: skip
def test_other_optimizers_resume_too(optimizer, options, tmp_path):
    changes = {"optimizer": optimizer, "optimizer_options": options, "max_epochs": 12}
    with pytest.raises(SystemExit):
        go(tmp_path, until=8, **changes)
    assert go(tmp_path, **changes) == go(None, **changes)


def test_a_finished_run_is_not_run_again(tmp_path, uninterrupted):
    assert go(tmp_path) == uninterrupted
    assert go(tmp_path, until=0) == uninterrupted
    assert len(list(tmp_path.glob(f"*{SUFFIX}"))) == 2


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, uninterrupted):
    def press(epoch: int, info: dict[str, float]) -> None:
        if epoch == 6:
            os.kill(os.getpid(), signal.SIGINT)

    history = train(fresh(), **settings(), checkpoint=tmp_path, on_epoch=press)
    assert (history.interrupted, history.n_epochs) == (True, 7)
    model = fresh()
    history = train(model, **settings(), checkpoint=tmp_path)
    assert history.resumed_at == 7
    assert outcome(model, history) == uninterrupted


# -- kill -9: a parent that has loaded torch but used no thread forks children and kills them ---------------

NURSERY = """
import os, signal, sys, time, json, pathlib, random
sys.path.insert(0, {here!r})
import torch
torch.set_num_threads(1)
import test_nn_checkpoint as law
from hyperboxes.nn import checkpoint

def child(job):
    pid = os.fork()
    if pid == 0:
        try:
            job()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(3)
    return pid

{body}
"""


def nursery(body: str) -> dict[str, object]:
    """Run code in a process of its own; it prints JSON."""
    code = NURSERY.format(here=str(pathlib.Path(__file__).parent), body=textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_killed_at_random_moments_ends_in_the_same_bits(tmp_path, uninterrupted):
    result = nursery(f"""
        law.go(None)  # torch loads more of itself at the first step, and a child has no time for that
        chance, hashes, kills, epochs = random.Random(0), [], 0, set()
        for trial in range(5):
            folder = pathlib.Path({str(tmp_path)!r}) / str(trial)
            def job():
                (folder.parent / f"{{trial}}.txt").write_text(law.go(folder, pause=0.02, checkpoint_every=2))
            killed = 0
            while True:
                before = set(folder.glob("epoch-*"))
                pid = child(job)
                if killed < 3:
                    # Twice in three times after progress, however slow the machine; else at any moment.
                    if killed:
                        until = time.monotonic() + 20
                        while set(folder.glob("epoch-*")) <= before and time.monotonic() < until:
                            time.sleep(0.005)
                    time.sleep(chance.uniform(0, 0.1))
                    os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                if os.WIFSIGNALED(status):
                    killed += 1
                    epochs.update(file.name for file in folder.glob("epoch-*"))
                    continue
                assert os.WEXITSTATUS(status) == 0
                break
            kills += killed
            hashes.append((folder.parent / f"{{trial}}.txt").read_text())
        print(json.dumps({{"hashes": hashes, "kills": kills, "epochs": len(epochs)}}))
    """)
    assert result["hashes"] == [go(None, checkpoint_every=2)] * 5 == [uninterrupted] * 5
    assert result["kills"] >= 10
    assert result["epochs"] >= 2  # a busy machine is killed soon after its first progress


def test_a_kill_inside_a_write_leaves_the_old_file_or_the_new(tmp_path):
    result = nursery(f"""
        found = []
        for place in ("write", "fsync", "replace", "folder"):
            folder = pathlib.Path({str(tmp_path)!r}) / place
            with checkpoint.CheckpointFolder(folder, {{"a": "1"}}) as files:
                files.save(1, {{"t": torch.zeros(3)}}, {{"n": 1}})
            def job():
                def die(*_):
                    os.kill(os.getpid(), signal.SIGKILL)
                name = {{"write": "fdopen", "fsync": "fsync", "replace": "replace"}}.get(place)
                if name:
                    setattr(os, name, die)
                else:
                    checkpoint._sync_folder = die
                with checkpoint.CheckpointFolder(folder, {{"a": "1"}}) as files:
                    files.save(2, {{"t": torch.ones(3)}}, {{"n": 2}})
            _, status = os.waitpid(child(job), 0)
            assert os.WIFSIGNALED(status)
            litter = len(list(folder.glob(".tmp-*")))
            with checkpoint.CheckpointFolder(folder, {{"a": "1"}}) as files:
                found.append([place, litter, files.load().scalars["n"], len(list(folder.glob(".tmp-*")))])
        print(json.dumps({{"found": found}}))
    """)
    assert result["found"] == [
        ["write", 1, 1, 0],
        ["fsync", 1, 1, 0],
        ["replace", 1, 1, 0],
        ["folder", 0, 2, 0],
    ]


# -- damage, mix-ups, full disks ---------------------------------------------------------------------------


def newest(folder: pathlib.Path) -> pathlib.Path:
    return max(folder.glob(f"*{SUFFIX}"))


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "text"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(damage, tmp_path, uninterrupted):
    with pytest.raises(SystemExit):
        go(tmp_path, until=13)
    spoil(newest(tmp_path), damage)
    with pytest.warns(CheckpointWarning, match=r"epoch-000000012.* resuming from .*epoch-000000008"):
        assert go(tmp_path) == uninterrupted


def spoil(file: pathlib.Path, damage: str) -> None:
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    replaced = {
        "truncate": bytes(data[: len(data) // 2]),
        "flip": bytes(data),
        "empty": b"",
        "text": b"{}" * 99,
    }
    file.write_bytes(replaced[damage])


def test_when_all_checkpoints_are_damaged_the_error_names_them(tmp_path):
    with pytest.raises(SystemExit):
        go(tmp_path, until=13)
    for file in tmp_path.glob(f"*{SUFFIX}"):
        spoil(file, "truncate")
    with pytest.raises(CheckpointError, match=r"000000012.*damaged.*000000008.*damaged.*remove the folder"):
        go(tmp_path)


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    file = tmp_path / "small"
    scalars = {"n": 1, "x": 0.1, "inf": float("inf"), "none": None, "text": "ü", "yes": True}
    contents = Contents({"t": torch.arange(3.0), "empty": torch.zeros(0)}, scalars, {"a": "1"})
    write_checkpoint(file, contents)
    data = file.read_bytes()
    assert read_checkpoint(file)[1:] == contents[1:]
    for place in range(len(data)):
        for bit in (0, 6):
            spoiled = bytearray(data)
            spoiled[place] ^= 1 << bit
            file.write_bytes(bytes(spoiled))
            try:
                found = read_checkpoint(file)
            except CheckpointError:
                continue
            assert found[1:] == contents[1:]
            assert found.tensors.keys() == contents.tensors.keys()
            assert all(torch.equal(found.tensors[name], contents.tensors[name]) for name in found.tensors)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"seed": 4}, "seed was 3, is 4"), ({"learning_rate": 0.2}, "learning_rate was 0.1, is 0.2"),
     ({"X": ring(60, 9)[0]}, "X was torch.float32"), ({"y": torch.ones(60)}, "y was"),
     ({"validation": ring(50, 2)}, "validation X"), ({"sample_weight": torch.arange(60) + 1}, "weight"),
     ({"regularizers": [BoxSize(0.1)]}, r"regularizers was \[\]"), ({"loss": "focal"}, "loss was 'bce'"),
     ({"model": BoxLayer(2, 4)}, "model was"), ({"model": BoxLayer(2, 3)}, "start of the model"),
     ({"optimizer": torch.optim.SGD}, "optimizer was torch.optim.adam.Adam")],
)  # fmt: skip
def test_a_checkpoint_of_another_run_is_refused_with_what_differs(change, named, tmp_path):
    with pytest.raises(SystemExit):
        go(tmp_path, until=4)
    with pytest.raises(CheckpointError, match=named):
        train(**{"model": fresh(), **settings(), **change}, checkpoint=tmp_path)


def test_a_folder_serves_one_run_at_a_time(tmp_path):
    with CheckpointFolder(tmp_path, {}):
        with pytest.raises(CheckpointError, match=f"in use by process {os.getpid()} on"):
            go(tmp_path)
        with CheckpointFolder(tmp_path, {}, writes=False) as reader:
            assert reader.load() is None
    with CheckpointFolder(tmp_path, {}):
        pass


def test_a_full_disk_leaves_the_old_checkpoint_and_no_litter(tmp_path, monkeypatch):
    file = tmp_path / f"one{SUFFIX}"
    write_checkpoint(file, Contents({"t": torch.zeros(3)}, {}, {}))
    before = file.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left.* \d+ bytes.*{file.name}"):
        write_checkpoint(file, Contents({"t": torch.ones(3)}, {}, {}))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_an_unusable_folder_is_an_error_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        go(tmp_path / "file", until=0)


def test_scalars_and_tensors_come_back_to_the_bit(tmp_path):
    tensors = {"a": torch.tensor([0.1, -0.0, 1e-45]), "b": torch.tensor(7), "c": torch.zeros(2, 0).double()}
    scalars = {"third": 1 / 3, "inf": float("inf"), "big": 2**60, "text": "τ", "none": None, "flag": True}
    write_checkpoint(tmp_path / "x", Contents(tensors, scalars, {"k": "v"}))
    found = read_checkpoint(tmp_path / "x")
    assert (found.scalars, found.fingerprint) == (scalars, {"k": "v"})
    for name, value in tensors.items():
        assert found.tensors[name].dtype == value.dtype
        assert found.tensors[name].shape == value.shape
        assert found.tensors[name].numpy().tobytes() == value.numpy().tobytes()
