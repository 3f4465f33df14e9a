"""Training: right objectives, the best state given back, only finite numbers, nothing global touched."""

import contextlib
import doctest
import functools
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hyperboxes.nn import (
    BoxCount,
    BoxLayer,
    BoxSize,
    ConditionCount,
    Cosine,
    Geometric,
    NonFiniteError,
    Steps,
    TrainingWarning,
    objective,
    paper_settings,
    schedules,
    train,
    training,
)  # fmt: skip


def layer(n_boxes: int = 3, n_classes: int = 1, seed: int = 0, **options) -> BoxLayer:
    return BoxLayer(2, n_boxes, n_classes, generator=torch.Generator().manual_seed(seed), **options)


def ring(n: int = 200, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A square of positives amid negatives."""
    X = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    return X, (X.abs() < 0.8).all(1).float()


def clusters(n: int = 100, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two clusters of positives either side of a wide one of negatives."""
    draw = torch.randn(3, n, 2, generator=torch.Generator().manual_seed(seed))
    X = torch.cat([draw[0] * 0.3 + 2, draw[1] * 0.3 - 2, draw[2] * 0.5])
    return X, torch.cat([torch.ones(2 * n), torch.zeros(n)])


def state(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


# -- objectives ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bce", "weighted_bce", "focal", "soft_f1", "softmax"])
def test_a_loss_is_the_plain_formula(name):
    z = torch.randn(9, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(9) % 3
    y = nn.functional.one_hot(labels, 3).double()
    w = torch.linspace(0.5, 1.5, 9, dtype=torch.float64)
    p = 1 / (1 + torch.exp(-z))
    positive, negative = -torch.log(p), -torch.log(1 - p)
    expected = {
        "bce": w * (y * positive + (1 - y) * negative).mean(1),
        "weighted_bce": w * (((w[:, None] * (1 - y)).sum(0) / (w[:, None] * y).sum(0)) * y * positive
                             + (1 - y) * negative).mean(1),
        "focal": w * (y * (1 - p) ** 2 * positive + (1 - y) * p**2 * negative).mean(1),
        "soft_f1": (1 - 2 * (w[:, None] * y * p).sum(0) / (w[:, None] * (y + p)).sum(0)).mean(),
        "softmax": -w * torch.log(torch.exp(z) / torch.exp(z).sum(1, keepdim=True))[range(9), labels],
    }[name]  # fmt: skip
    target = labels if name == "softmax" else y
    torch.testing.assert_close(objective.Objective.make(name, target, w)(z, target, w), expected)


def test_losses_take_options_and_callables_their_weights():
    X, y = ring(60)
    weight = torch.linspace(0.1, 2, 60)
    for loss in (functools.partial(objective.focal, gamma=0.5), nn.BCEWithLogitsLoss(reduction="none"),
                 lambda output, target: (output - target).square(), objective.soft_f1):  # fmt: skip
        assert math.isfinite(
            train(layer(), X, y, loss=loss, sample_weight=weight, max_epochs=2).train_loss[-1]
        )
    with pytest.raises(ValueError, match="scalar"):
        train(layer(), X, y, loss=nn.BCEWithLogitsLoss(), sample_weight=weight, max_epochs=1)
    with pytest.raises(ValueError, match="one of"):
        train(layer(), X, y, loss="hinge")


def test_the_error_of_crisp_boxes_is_one_minus_f1_or_accuracy():
    margins = torch.tensor([1.0, 0.0, -1.0, -2.0, 3.0])
    target, weight = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0]), torch.tensor([1.0, 1.0, 2.0, 1.0, 1.0])
    assert objective.crisp_error(margins, target, weight) == pytest.approx(1 - 2 * 2 / (2 * 2 + 1 + 2))
    assert objective.crisp_error(-torch.ones(3), torch.zeros(3), torch.ones(3)) == 0
    scores = torch.tensor([[1.0, 2.0], [3.0, 0.0], [-1.0, -2.0]])
    assert objective.crisp_error(
        scores, torch.tensor([1, 1, 0]), torch.tensor([1.0, 2.0, 1.0])
    ) == pytest.approx(0.5)


def test_regularizers_are_the_plain_formulas():
    model = layer(3, 2, width="absolute")
    lower, width = model.minimum.detach().numpy(), model.raw_width.detach().abs().numpy()
    low, high = np.array([-1.0, -0.5]), np.array([1.5, 1.0])
    depth = np.maximum(np.stack([lower - low, high - lower - width]), 0)
    for penalty, expected in (
        (BoxSize(0.1, l1=2, l2=3), 0.1 * (2 * width.sum() + 3 * (width**2).sum())),
        (BoxCount(2.0, size=0.7), 2 * (1 - np.exp(-width.min(-1) / 0.7)).sum()),
        (ConditionCount(0.5, low, high, size=0.4), 0.5 * (1 - np.exp(-depth / 0.4)).sum()),
    ):
        assert penalty(nn.Sequential(nn.Identity(), model)).item() == pytest.approx(expected, rel=1e-5)
        with pytest.raises(ValueError, match="no BoxLayer"):
            penalty(nn.Linear(2, 1))


@pytest.mark.parametrize(
    ("penalty", "measure"),
    [(BoxSize(0.01), lambda m: m.width.sum()), (BoxCount(0.3), lambda m: m.width.amin(-1).sum()),
     (ConditionCount(0.05), lambda m: ((m.lower > -3).sum() + (m.upper < 3).sum()).float())],
)  # fmt: skip
def test_a_penalty_lowers_what_it_penalises(penalty, measure):
    X, y = ring()
    plain, penalised = layer(), layer()
    train(plain, X, y, max_epochs=150, learning_rate=0.05)
    train(penalised, X, y, max_epochs=150, learning_rate=0.05, regularizers=[penalty])
    assert measure(penalised) < measure(plain)


def test_a_weight_of_two_is_a_row_twice():
    X, y = ring(50)
    weight = torch.ones(50)
    weight[:10] = 2
    weighted, repeated = layer(dtype=torch.float64), layer(dtype=torch.float64)
    train(weighted, X, y, sample_weight=weight * 7, max_epochs=20)
    train(repeated, torch.cat([X, X[:10]]), torch.cat([y, y[:10]]), max_epochs=20)
    torch.testing.assert_close(state(weighted), state(repeated))


# -- learning ------------------------------------------------------------------------------------------


def test_the_recipe_of_the_paper_learns_two_clusters():
    X, y = clusters()
    paper = paper_settings()
    model = layer(5, **paper.layer)
    history = train(
        model, X[::2], y[::2], validation=(X[1::2], y[1::2]), **{**paper.train, "max_epochs": 700}
    )
    assert model.to_boxes().predict(X.numpy()).tolist() == pytest.approx(y.tolist(), abs=1)
    assert np.mean(model.to_boxes().predict(X.numpy()) == y.numpy()) > 0.97
    assert history.boundary_temperature[:11:10] == pytest.approx([1.0, 0.95])
    assert history.stopped in ("patience", "max_epochs")
    assert isinstance(paper_settings(1e-3, 1e-3).train["regularizers"][0], BoxSize)


@pytest.mark.parametrize("membership", ["min", "margin", "product"])
def test_noisy_or_with_annealing_learns_two_clusters(membership):
    X, y = clusters()
    model = layer(4, membership=membership, union="noisy_or")
    train(model, X, y, temperatures=Geometric(), learning_rate=Cosine(0.05), batch_size=64, max_epochs=60)
    assert objective.crisp_error(model.margins(X)[:, 0], y, torch.ones(len(y))) < 0.03


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_several_classes_are_learned_at_once(loss):
    X, _ = clusters(80)
    y = np.repeat([0, 1, 2], 80)
    model = layer(2, 3, membership="product", union="noisy_or")
    before = model.output
    history = train(
        model,
        X,
        y,
        loss=loss,
        temperatures=Geometric(),
        learning_rate=Cosine(0.05),
        max_epochs=150,
        patience=150,
    )
    assert model.output == before
    assert (model.margins(X).argmax(1).numpy() == y).mean() > 0.97
    assert history.best_value < 0.05


def test_a_network_that_ends_in_boxes_is_trained_whole():
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(2, 3), nn.Dropout(0.2), BoxLayer(3, 3, membership="product", union="noisy_or")
    )
    X, y = ring()
    start = state(network)
    history = train(network, X, y, temperatures=Geometric(1.0, 0.2), max_epochs=30, batch_size=50)
    assert history.train_loss[-1] < history.train_loss[0]
    assert not torch.equal(start["0.weight"], network[0].weight)
    assert network.training


def test_schedules_start_and_end_where_they_say():
    assert Steps()(0, 10_000) == (1.0, 1.0)
    assert Steps()(10, 10_000)[0] == pytest.approx(0.95)
    assert Steps()(9_999, 10_000) == (0.02, 0.02)
    assert Geometric(0.5, 0.05, hold=0.1)(0, 100)[0] == 0.5
    assert Geometric(0.5, 0.05, hold=0.1)(45, 100)[0] == pytest.approx(math.sqrt(0.5 * 0.05))
    assert Geometric(0.5, 0.05, hold=0.1)(90, 100)[0] == pytest.approx(0.05)
    assert Cosine(0.02, 0.001)(0, 10) == pytest.approx(0.02)
    assert Cosine(0.02, 0.001)(10, 10) == pytest.approx(0.001)
    plateau = schedules.Plateau(factor=0.5, patience=1)
    assert [plateau.update(loss) for loss in (1.0, 1.0, 1.0, 0.5, 0.5, 0.5)] == [1, 1, 0.5, 1, 1, 0.5]


def test_a_plateau_lowers_the_rate_to_its_minimum():
    X, y = ring(40)
    options = {"factor": 0.1, "patience": 0, "threshold": 0.5, "minimum": 1e-3}
    history = train(layer(), X, y, learning_rate=0.1, plateau=options, max_epochs=8)
    assert history.learning_rate[0] == 0.1
    assert history.learning_rate[-1] == pytest.approx(1e-3)


# -- early stopping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("monitor", ["loss", "crisp"])
def test_the_best_state_is_given_back(monitor):
    X, y = ring(60, seed=1)
    model, states = layer(), []
    history = train(
        model, X, y, validation=ring(60, seed=2), monitor=monitor, temperatures=Geometric(1.0, 0.05),
        learning_rate=1.0, max_epochs=60, on_epoch=lambda *_: states.append(state(model)),
    )  # fmt: skip
    assert history.best_epoch != 59
    assert history.best_value == min(history.monitored) == history.monitored[history.best_epoch]
    assert same(state(model), states[history.best_epoch])
    assert not same(state(model), states[-1])
    assert model.boundary_temperature.item() == history.boundary_temperature[history.best_epoch]


def test_patience_counts_epochs_without_improvement():
    X, y = ring(60)
    history = train(layer(), X, y, validation=ring(60, seed=2), patience=7, learning_rate=0.5, max_epochs=500)
    assert history.stopped == "patience"
    assert history.n_epochs == history.best_epoch + 8
    assert train(layer(), X, y, patience=3, tolerance=1e9, max_epochs=50).n_epochs == 4


def test_by_default_a_loss_is_only_watched_at_one_temperature():
    X, y = ring(60)
    fixed = train(layer(), X, y, validation=(X, y), max_epochs=2)
    assert fixed.monitored[0] == pytest.approx(fixed.train_loss[1])
    model, errors = layer(), []

    def measure(epoch: int, info: dict[str, float]) -> None:
        errors.append(objective.crisp_error(model.margins(X)[:, 0], y, torch.ones(60)))

    annealed = train(model, X, y, validation=(X, y), max_epochs=2, temperatures=Geometric(), on_epoch=measure)
    assert annealed.monitored == errors
    with pytest.raises(ValueError, match="crisp"):
        train(nn.Sequential(nn.Linear(2, 1), nn.Flatten(0)), X, y, patience=1, monitor="crisp")


def test_a_caller_can_end_training():
    seen = []
    history = train(
        layer(), *ring(40), max_epochs=50, on_epoch=lambda epoch, info: seen.append(info) or epoch == 4
    )
    assert (history.stopped, history.n_epochs) == ("on_epoch", 5)
    assert seen[-1]["train_loss"] == history.train_loss[-1]


# -- numbers that are not finite -----------------------------------------------------------------------


class Faulty:
    """A loss that is not finite in the given calls."""

    def __init__(self, *calls: int, value: float = math.nan) -> None:
        self.calls, self.count, self.value = calls, 0, value

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        self.count += 1
        return objective.bce(output, target) + (self.value if self.count - 1 in self.calls else 0.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_one_bad_step_costs_half_the_learning_rate(value):
    model = layer()
    history = train(model, *ring(40), loss=Faulty(5, value=value), max_epochs=10, learning_rate=0.1)
    assert history.n_epochs == 10
    assert history.learning_rate[4:6] == [0.1, 0.05]
    assert all(torch.isfinite(value).all() for value in state(model).values())
    assert np.isfinite(history.train_loss).all()


def test_a_bad_gradient_of_a_good_loss_is_noticed():
    def loss(output: Tensor, target: Tensor) -> Tensor:
        calls.append(0)
        if len(calls) == 6:
            output.register_hook(lambda gradient: gradient * math.inf)
        return objective.bce(output, target)

    # Rprop only looks at the sign of a gradient and would step on as if nothing had happened.
    calls: list[int] = []
    history = train(layer(), *ring(40), loss=loss, optimizer=torch.optim.Rprop, max_epochs=10)
    assert history.learning_rate[4:6] == [0.02, 0.01]


def test_a_step_beyond_all_numbers_is_taken_back():
    model = layer()
    start = state(model)
    options = {"optimizer": torch.optim.SGD, "learning_rate": 1e38, "max_epochs": 1}
    with pytest.raises(NonFiniteError, match="parameters"):
        train(model, *ring(40), loss=lambda output, target: 1e4 * objective.bce(output, target), **options)
    assert same(state(model), start)


def test_going_back_twice_leads_to_the_same_place():
    # Two batches an epoch; the third epoch fails twice, in its second batch or in its first.
    late, early = layer(), layer()
    train(late, *ring(40), loss=Faulty(5, 7), batch_size=20, max_epochs=4)
    train(early, *ring(40), loss=Faulty(4, 5), batch_size=20, max_epochs=4)
    assert same(state(late), state(early))


def test_the_last_finite_model_survives_and_a_warning_names_the_epoch():
    model, states = layer(), []
    with pytest.warns(TrainingWarning, match=r"epoch 5: .*lower learning_rate"):
        history = train(
            model, *ring(40), loss=Faulty(*range(5, 99)), max_epochs=10,
            on_epoch=lambda *_: states.append(state(model)),
        )  # fmt: skip
    assert (history.stopped, history.n_epochs) == ("not finite", 5)
    assert same(state(model), states[-1])


def test_a_run_without_any_finite_epoch_is_an_error_and_leaves_the_model_alone():
    model = layer()
    start = state(model)
    with pytest.raises(NonFiniteError, match=r"epoch 0: .*standardise X"):
        train(model, *ring(40), loss=Faulty(*range(99)))
    assert same(state(model), start)
    assert issubclass(NonFiniteError, FloatingPointError)


@pytest.mark.parametrize("membership", ["min", "margin", "product"])
@pytest.mark.parametrize("union", ["smooth_max", "noisy_or"])
@pytest.mark.parametrize(("rate", "scale"), [(1e6, 1.0), (1e30, 1.0), (0.1, 1e30), (0.1, 1e37)])
def test_no_bound_is_ever_nan(membership, union, rate, scale):
    X, y = ring(40)
    model = layer(membership=membership, union=union)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        # Numbers as large as these may leave no finite loss to start from.
        with contextlib.suppress(*([NonFiniteError] if scale > 1 else [])):
            train(model, X * scale, y, learning_rate=rate, temperatures=Geometric(0.5, 0.01), max_epochs=10)
    assert all(torch.isfinite(value).all() for value in (*state(model).values(), model.upper))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"X": torch.full((40, 2), math.nan)}, "finite"), ({"y": torch.zeros(3)}, "40 rows, 3 targets"),
     ({"sample_weight": torch.full((40,), -1.0)}, "sample_weight"), ({"max_epochs": 0}, "at least 1"),
     ({"monitor": "f1"}, "monitor"), ({"X": torch.zeros(0, 2), "y": torch.zeros(0)}, "none")],
)  # fmt: skip
def test_impossible_input_is_refused(change, message):
    X, y = ring(40)
    with pytest.raises(ValueError, match=message):
        train(layer(), **{"X": X, "y": y, **change})


# -- repeatability and the world outside ---------------------------------------------------------------


def test_global_state_is_untouched():
    network = nn.Sequential(nn.Dropout(0.5), layer())
    network.eval()

    def world() -> list[object]:
        return [
            torch.get_rng_state().tolist(), str(np.random.get_state()), random.getstate(),  # noqa: NPY002
            torch.get_default_dtype(), torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(),
            warnings.filters[:], signal.getsignal(signal.SIGINT), network.training, network[1].output,
            torch.is_grad_enabled(),
        ]  # fmt: skip

    before = world()
    train(
        network, *ring(80), batch_size=16, validation=ring(40, seed=3), temperatures=Geometric(), max_epochs=3
    )
    assert world() == before


def test_the_seed_alone_decides_batches_and_dropout():
    def run(seed: int, noise: int) -> dict[str, Tensor]:
        torch.manual_seed(noise)
        network = nn.Sequential(nn.Dropout(0.3), layer())
        train(network, *ring(80), batch_size=16, max_epochs=3, seed=seed)
        return state(network)

    assert same(run(0, noise=1), run(0, noise=2))
    assert not same(run(0, noise=1), run(1, noise=1))


@pytest.mark.parametrize("loss", ["bce", "soft_f1"])
@pytest.mark.parametrize("membership", ["min", "product"])
def test_one_thread_and_two_give_the_same_bits(loss, membership):
    threads = torch.get_num_threads()
    X, y = ring(40_003)
    results = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            model = layer(3, membership=membership, union="noisy_or")
            history = train(model, X, y, loss=loss, max_epochs=2, patience=2, monitor="loss")
            results.append((history.train_loss, history.monitored, state(model)))
    finally:
        torch.set_num_threads(threads)
    assert results[0][:2] == results[1][:2]
    assert same(results[0][2], results[1][2])


def test_sums_for_decisions_keep_what_float32_loses():
    values = torch.cat([torch.tensor([1e8]), torch.full((50_000,), 0.25)])
    assert objective.exact_sum(values) == 1e8 + 12_500


# -- signals -------------------------------------------------------------------------------------------


def test_sigint_ends_the_run_with_its_best_state():
    X, y = ring(60)
    model, states = layer(), []

    def press(epoch: int, info: dict[str, float]) -> None:
        states.append(state(model))
        if epoch == 5:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    history = train(model, X, y, validation=ring(60, 2), learning_rate=0.5, max_epochs=500, on_epoch=press)
    assert (history.interrupted, history.stopped, history.n_epochs) == (True, "interrupted", 6)
    assert same(state(model), states[history.best_epoch])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_sigint_raises_and_leaves_a_whole_state():
    model, states = layer(), []

    def press(epoch: int, info: dict[str, float]) -> None:
        states.append(state(model))
        if epoch == 5:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(model, *ring(60), max_epochs=500, on_epoch=press)
    assert same(state(model), states[-1])
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("trial", range(8))
def test_sigint_at_any_moment_leaves_the_state_of_an_epoch(trial):
    delay = np.random.default_rng(trial).uniform(0.0, 0.05)
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    model, states = layer(), []

    def note(epoch: int, info: dict[str, float]) -> None:
        states.append(state(model))
        if epoch == 0:
            timer.start()

    history = train(model, *ring(200), batch_size=20, max_epochs=10_000, on_epoch=note)
    timer.join()
    assert history.interrupted
    assert same(state(model), states[-1])


def test_other_threads_leave_signals_alone():
    found = []
    before = signal.getsignal(signal.SIGINT)

    def work() -> None:
        train(
            layer(),
            *ring(40),
            max_epochs=2,
            on_epoch=lambda *_: found.append(signal.getsignal(signal.SIGINT)),
        )

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before, before]


# -- several processes ---------------------------------------------------------------------------------

WORKER = """
import os, sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from hyperboxes.nn import BoxLayer, Geometric, train
rank, size, meeting, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(1)
X = torch.randn(101, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
y = (X.abs() < 0.8).all(1).double()
model = BoxLayer(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
if size > 1:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    model = DistributedDataParallel(model)
history = train(model, X, y, batch_size=25, max_epochs=6, temperatures=Geometric(), patience=6)
if rank == 0:
    module = model.module if size > 1 else model
    numbers = [*module.minimum.flatten().tolist(), *module.raw_width.flatten().tolist(), *history.train_loss]
    open(out, "w").write(" ".join(map(repr, numbers)))
if size > 1:
    dist.barrier()
    # Threads of gloo that outlive their group can abort the interpreter while it ends, though rarely.
    os._exit(0)
"""


def test_two_processes_take_the_steps_of_one(tmp_path):
    code, meeting = textwrap.dedent(WORKER), str(tmp_path / "meeting")
    jobs = [(0, 1, "one"), (0, 2, "two"), (1, 2, "two")]
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(rank), str(size), meeting, str(tmp_path / name)])
        for rank, size, name in jobs
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    one, two = (
        [float(number) for number in (tmp_path / name).read_text().split()] for name in ("one", "two")
    )
    assert one == pytest.approx(two, rel=1e-9)


def test_progress_is_shown_on_request(capsys):
    train(layer(), *ring(40), max_epochs=2, progress=True)
    assert "2/2" in capsys.readouterr().err
    train(layer(), *ring(40), max_epochs=2)
    assert capsys.readouterr().err == ""


def test_examples_in_docstrings_hold():
    assert doctest.testmod(training).failed + doctest.testmod(schedules).failed == 0
