"""fit_fmm: rows → a network of the fuzzy min-max family, pruned or as published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from ..kernels._threads import joined_progress, run
from .network import Floats, Network, Space
from .rows import Rows, folds, informative, shuffled
from .variants import VARIANTS

Progress = Callable[[float], None]
#: Passes over the rows, at most, where boxes are pruned after each.
PRUNED_PASSES = 10
#: Rows of such a pass, at most: boxes that others do not need are dropped before the next rows come.
ROWS_A_PASS = 6_000
#: Rows, at most, that judge and grow the boxes of all turns together.
ROWS_AT_LAST = 40_000


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

    The score is the weight of the rows put right, less the price of the boxes where they are pruned, over
    all turns of holding out.
    """

    network: Network
    max_width: float
    score: float


def fit_fmm(rows: Rows, settings: Settings, seed: int = 0, progress: Progress | None = None) -> Fit:
    """Learn boxes for every class.

    Where there is something to choose (boxes to prune, one of several widths), shares of the rows are held
    out in turn to choose by. Unpruned boxes are then learned anew, from all rows. Pruned ones, of all turns,
    have proved themselves on rows that they were not made of: they are put together. ``progress`` is told
    the share of the rows, times passes, turns and widths, that have been presented.
    """
    rows = informative(rows)
    if settings.shuffle:
        rows = shuffled(rows, seed)
    space = Space.of(rows, settings.sensitivity)
    if not settings.prune and len(settings.max_width) == 1:
        width = float(settings.max_width[0])
        return Fit(
            _published(rows, space, width, settings, seed, joined_progress(progress, 1)(0)), width, nan
        )
    turns = folds(rows, settings.validation_fraction, seed)
    tasks = [(width, turn) for width in settings.max_width for turn in range(len(turns))]
    tell = joined_progress(progress, len(tasks) + (not settings.prune))

    def attempt(place: int) -> Fit:
        width, turn = tasks[place]
        learning, held = turns[turn]
        if settings.prune:
            found = _pruned(learning, held, space, width, settings, seed, tell(place))
        else:
            network = _published(learning, space, width, settings, seed, tell(place))
            found = Fit(network, width, right(network, held))
        tell(place)(1.0)  # it may have stopped before the last pass
        return found

    fits = run(attempt, range(len(tasks)))
    tried = [fits[begin : begin + len(turns)] for begin in range(0, len(fits), len(turns))]
    best = max(tried, key=lambda fits: tuple(map(sum, zip(*map(_merit, fits), strict=True))))
    score, width = sum(fit.score for fit in best), best[0].max_width
    if settings.prune:
        return Fit(_joined([fit.network for fit in best], rows, settings), width, score)
    return Fit(_published(rows, space, width, settings, seed, tell(len(tasks))), width, score)


def _merit(fit: Fit) -> tuple[float, int]:
    """Give what is better the larger it is."""
    return fit.score, -len(fit.network)


def _published(
    rows: Rows, space: Space, max_width: float, settings: Settings, seed: int, tell: Progress
) -> Network:
    """Pass over the rows once or several times, each time with boxes narrower by the decay."""
    network = Network(VARIANTS[settings.variant], space)
    draw = np.random.default_rng(seed)
    n_passes = settings.n_passes or 1
    for turn in range(n_passes):
        changes = network.n_changes
        if turn and settings.shuffle:
            rows = rows.take(draw.permutation(len(rows.classes)))
        network.forget_weights()
        for done in _pass(network, rows, max_width * settings.width_decay**turn, settings):
            tell((turn + done) / n_passes)
        network.drop_lighter_than(settings.min_support)
        if network.n_changes == changes or (
            turn + 1 < n_passes and right(network, rows) == rows.weight.sum()
        ):
            break
    return network


def _pass(network: Network, rows: Rows, max_width: float, settings: Settings) -> Iterator[float]:
    """Learn from the rows, and give now and then the share of them that has been presented."""
    if network.variant.batch:
        network.agglomerate(rows, max_width, settings.similarity, settings.min_similarity)
        yield 1.0
    else:
        yield from network.presented(rows, max_width)


# -- pruning ---------------------------------------------------------------------------------------


def _pruned(
    rows: Rows, held: Rows, space: Space, max_width: float, settings: Settings, seed: int, tell: Progress
) -> Fit:
    """Learn boxes as published, and prune; let those that are left grow, beside new ones, as long as it pays.

    What keeps a box small at first, its width or what it met, may have been noise that is pruned by now.
    """
    network = Network(VARIANTS[settings.variant], space)
    draw = np.random.default_rng(seed)
    n_passes = settings.n_passes or PRUNED_PASSES
    best = None
    for turn in range(n_passes):
        some = _next_rows(rows, turn, draw if settings.shuffle else None)
        network.forget_weights()
        if best is None:
            for done in _pass(network, some, max_width, settings):
                tell((turn + done) / n_passes)
        else:
            network.grow(some, found=True)
            tell((turn + 1) / n_passes)
        network.drop_lighter_than(settings.min_support)
        network.prune(held, settings.box_price)
        fit = Fit(network.copy(), max_width, _gain(network, held, settings))
        if best is not None and _merit(fit) <= _merit(best):
            break
        best = fit
    return best or Fit(network, max_width, nan)


def _next_rows(rows: Rows, turn: int, draw: np.random.Generator | None) -> Rows:
    """Give the rows of a pass: all, in another order each time, or those after the pass before."""
    n = len(rows.classes)
    if n > ROWS_A_PASS:
        return rows.take(np.arange(turn * ROWS_A_PASS, (turn + 1) * ROWS_A_PASS) % n)
    return rows.take(draw.permutation(n)) if turn and draw is not None else rows


def _joined(networks: Sequence[Network], rows: Rows, settings: Settings) -> Network:
    """Put pruned networks together, drop what is not needed beside the others, and let the rest grow.

    Here all rows judge, learned from or held out: no box is made.
    """
    n = len(rows.classes)
    some = rows if n <= ROWS_AT_LAST else rows.take(np.arange(ROWS_AT_LAST) * n // ROWS_AT_LAST)
    network = Network.union(networks)
    network.weigh(some)
    network.prune(some, settings.box_price)
    gain = _gain(network, some, settings)
    for _ in range(settings.n_passes or PRUNED_PASSES):
        grown = network.copy()
        grown.grow(some, found=False)
        if grown.n_changes == network.n_changes:
            break
        grown.weigh(some)
        grown.prune(some, settings.box_price)
        before, gain = gain, _gain(grown, some, settings)
        if gain < before:
            break
        network = grown
    network.weigh(rows)
    network.drop_lighter_than(settings.min_support)
    return network


def _gain(network: Network, rows: Rows, settings: Settings) -> float:
    """Give the weight of the rows that get their class, less the price of the boxes."""
    return right(network, rows) - settings.box_price * len(network)


def right(network: Network, rows: Rows) -> float:
    """Give the weight of the rows that get their class."""
    if not len(network) or not len(rows.classes):
        return 0.0
    rank, _ = network.winners(rows.low, rows.high)
    return float(rows.weight[network.labels[rank] == rows.classes].sum())
