"""fit_fmm: rows → a network of the fuzzy min-max family, pruned or as published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels._threads import joined_progress, run
from .network import Floats, Network, Space
from .rows import Rows, hold_out, informative, shuffled
from .variants import VARIANTS

Progress = Callable[[float], None]
#: Passes over the rows where boxes are pruned after each.
PRUNED_PASSES = 5


@dataclass(frozen=True)
class Settings:
    """How a network learns; see ``FMMClassifier`` for what the numbers mean."""

    variant: str = "iol"
    max_width: Sequence[float] = (0.5,)
    sensitivity: float | Floats = 1.0
    n_passes: int | None = None
    width_decay: float = 1.0
    prune: bool = True
    box_price: float = 0.5
    min_support: float = 0.0
    validation_fraction: float = 0.25
    similarity: str = "mid"
    min_similarity: float = 0.0
    shuffle: bool = True


@dataclass(frozen=True)
class Fit:
    """A network and how it came about: the width chosen, and the score on held-out rows that chose it.

    The score is the weight of the rows put right, less the price of the boxes where they are pruned.
    """

    network: Network
    max_width: float
    score: float


def fit_fmm(rows: Rows, settings: Settings, seed: int = 0, progress: Progress | None = None) -> Fit:
    """Learn boxes for every class.

    Where there is something to choose (boxes to prune, one of several widths), a share of the rows is held
    out to choose by. Pruned boxes are final. Unpruned ones are learned anew, from all rows. ``progress`` is
    told the share of the rows, times passes and widths, that have been presented.
    """
    rows = informative(rows)
    if settings.shuffle:
        rows = shuffled(rows, seed)
    space = Space.of(rows, settings.sensitivity)
    if not settings.prune and len(settings.max_width) == 1:
        width = float(settings.max_width[0])
        last = joined_progress(progress, 1)(0)
        return Fit(_learn(rows, None, space, width, settings, seed, last).network, width, float("nan"))
    learning, held = hold_out(rows, settings.validation_fraction, seed)
    n_widths = len(settings.max_width)
    tell = joined_progress(progress, n_widths + (not settings.prune))

    def attempt(place: int) -> Fit:
        width = settings.max_width[place]
        found = _learn(learning, held, space, width, settings, seed, tell(place))
        tell(place)(1.0)  # it may have stopped before the last pass
        return found

    best = max(run(attempt, range(n_widths)), key=_merit)
    if settings.prune:
        return best
    again = _learn(rows, None, space, best.max_width, settings, seed, tell(n_widths))
    return Fit(again.network, best.max_width, best.score)


def _merit(fit: Fit) -> tuple[float, int]:
    """Give what is better the larger it is."""
    return fit.score, -len(fit.network)


def _learn(
    rows: Rows, held: Rows | None, space: Space, max_width: float, settings: Settings, seed: int,
    tell: Progress,
) -> Fit:  # fmt: skip
    """Pass over the rows once or several times, each time with boxes narrower by the decay."""
    network = Network(VARIANTS[settings.variant], space)
    draw = np.random.default_rng(seed)
    best = None
    for turn in range(_n_passes(settings)):
        changes = network.n_changes
        if turn and settings.shuffle:
            rows = rows.take(draw.permutation(len(rows.classes)))
        network.forget_weights()
        for done in _pass(network, rows, max_width * settings.width_decay**turn, settings):
            tell((turn + done) / _n_passes(settings))
        network.drop_lighter_than(settings.min_support)
        if settings.prune and held is not None:
            # Rows of dropped boxes are free, and the next pass lets the boxes that proved themselves grow.
            network.prune(held, settings.box_price)
            fit = Fit(network.copy(), max_width, right(network, held) - settings.box_price * len(network))
            if best is not None and _merit(fit) <= _merit(best):
                break
            best = fit
        elif network.n_changes == changes or (
            turn + 1 < _n_passes(settings) and right(network, rows) == rows.weight.sum()
        ):
            break
    return best or Fit(network, max_width, float("nan") if held is None else right(network, held))


def _pass(network: Network, rows: Rows, max_width: float, settings: Settings) -> Iterator[float]:
    """Learn from the rows, and give now and then the share of them that has been presented."""
    if network.variant.batch:
        network.agglomerate(rows, max_width, settings.similarity, settings.min_similarity)
        yield 1.0
    else:
        yield from network.presented(rows, max_width)


def _n_passes(settings: Settings) -> int:
    if settings.n_passes is not None:
        return settings.n_passes
    return PRUNED_PASSES if settings.prune else 1


def right(network: Network, rows: Rows) -> float:
    """Give the weight of the rows that get their class."""
    if not len(network) or not len(rows.classes):
        return 0.0
    rank, _ = network.winners(rows.low, rows.high)
    return float(rows.weight[network.labels[rank] == rows.classes].sum())
