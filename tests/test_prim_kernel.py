"""Peeling and pasting in compiled code against slow and obvious loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference_prim as reference

from hyperboxes.crisp import Limits
from hyperboxes.kernels import prim as kernels
from hyperboxes.prim.ranks import Ranks
from hyperboxes.prim.search import Search, Target, boxes_of_drops, boxes_of_moves
from hyperboxes.prim.settings import Settings
from hyperboxes.tables import Table

OBJECTIVES = kernels.OBJECTIVES[:6]


def random_table(seed):
    """Draw a table of continuous, tied, integer, ordered and unordered columns with missing values."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 160)), int(rng.integers(1, 6))
    matrix = np.empty((n, d))
    categories, ordered = {}, set()
    for j in range(d):
        kind = rng.integers(5)
        if kind == 0:
            matrix[:, j] = rng.normal(size=n)
        elif kind == 1:
            matrix[:, j] = np.round(rng.normal(size=n), 1)
        elif kind == 2:
            matrix[:, j] = rng.integers(-3, 4, n) * rng.choice([1, 100_000])
        else:
            levels = int(rng.integers(1, 5))
            matrix[:, j] = rng.integers(0, levels, n)
            categories[f"x{j}"] = tuple("abcde"[:levels])
            if kind == 3:
                ordered.add(f"x{j}")
        if rng.integers(3) == 0:
            matrix[rng.uniform(size=n) < 0.1, j] = np.nan
    y = rng.uniform(size=n) < 1 / (1 + np.exp(1 - 2 * np.clip(np.nan_to_num(matrix[:, 0]), -9, 9)))
    weight = rng.integers(1, 4, n) if rng.integers(2) else np.ones(n, int)
    target = y.astype(float) if rng.integers(3) else rng.integers(-5, 9, n).astype(float)
    names = tuple(f"x{j}" for j in range(d))
    return Table(matrix, names, categories, frozenset(ordered)), target, weight.astype(float), rng


def columns_of(table):
    return [
        reference.Column(
            [None if np.isnan(cell) else float(cell) for cell in column],
            name in table.categories,
            name in table.categories and name not in table.ordered,
        )
        for name, column in zip(table.feature_names, table.matrix.T, strict=True)
    ]


def search_on(table, target, weight, **settings):
    ranks = Ranks.from_table(table)
    return Search(
        ranks, Target.from_data(target, weight), Settings(**settings), Limits.none(len(ranks.n_values))
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("block", range(5))
def test_peels_are_those_of_the_slow_loops(objective, block):
    for seed in range(40 * block, 40 * block + 40, 6 if objective != "lenient2" else 1):
        table, target, weight, rng = random_table(seed)
        if objective == "f1" and not np.isin(target, (0, 1)).all():
            continue
        fraction, support = float(rng.choice([0.03, 0.05, 0.2])), int(rng.integers(1, 10))
        most = int(rng.integers(1, 7))
        search = search_on(
            table, target, weight, objective=objective, peel_fraction=fraction, max_features=most
        )
        path = search.peel(search.target.units, np.arange(len(target)), support)
        units = search.target.units
        slow = reference.peel(
            columns_of(table), units[:, 0].tolist(), units[:, 1].tolist(), fraction, support, objective, most
        )
        fast = [set(np.flatnonzero(path.leaves > point).tolist()) for point in range(len(path))]
        assert fast == slow, (seed, objective)
        assert (path.sums == [[units[list(rows), k].sum() for k in range(2)] for rows in slow]).all()


def test_counts_in_bytes_give_the_same_peels_and_are_used_where_they_fit(monkeypatch):
    rng = np.random.default_rng(0)
    matrix = rng.permuted(np.repeat(np.arange(300.0), 2)[:, None] + np.zeros((600, 4)), axis=0)
    y = (matrix[:, 0] > 120) & (rng.uniform(size=600) < 0.8)
    table = Table(matrix, tuple("abcd"), {}, frozenset())

    def search(weight):
        return search_on(table, y.astype(float), np.full(600, weight))

    assert search(63.0).in_bytes  # two rows of a cell make 126
    assert not search(64.0).in_bytes
    rows = np.arange(600)
    narrow = search(63.0).peel(search(63.0).target.units, rows, 630)
    monkeypatch.setattr("hyperboxes.prim.search.LARGEST_IN_BYTE", 0)
    assert not search(63.0).in_bytes
    wide = search(63.0).peel(search(63.0).target.units, rows, 630)
    assert len(wide) > 20
    assert (narrow.steps == wide.steps).all()
    assert (narrow.sums == wide.sums).all()
    assert (narrow.leaves == wide.leaves).all()


def test_the_most_equal_cells_are_counted_missing_ones_too():
    def most(*columns):
        names = tuple("abc"[: len(columns)])
        return Ranks.from_table(Table(np.array(columns, float).T, names, {}, frozenset())).most_equal

    distinct = np.arange(400)
    assert most(distinct) == 1
    assert most(distinct, distinct // 3) == 3
    assert most(distinct, np.where(distinct < 90, np.nan, distinct)) == 90
    assert most(distinct, np.zeros(400)) == 400


def test_a_cut_lies_in_the_middle_of_the_values_that_only_rows_left_out_have():
    values = np.arange(100.0)
    table = Table(values[:, None], ("x",), {}, frozenset())
    y = ((values >= 10) & (values <= 80)).astype(float)
    search = search_on(table, y, np.ones(100), peel_fraction=0.1)
    units = np.where((values % 10 == 0)[:, None], search.target.units, 0).astype(np.int32)
    path = search.peel(units, np.arange(100), 8)
    assert path.steps.tolist() == [[0, kernels.LOW, 5], [0, kernels.HIGH, 85]]
    assert np.flatnonzero(path.leaves > 2).tolist() == list(range(5, 86))


def test_ties_are_told_apart_by_every_cell_where_targets_have_both_signs():
    # Targets of a block that sum to zero hide positive ones.
    rng = np.random.default_rng(0)
    matrix = np.stack([rng.permutation(400) for _ in range(6)], axis=1).astype(float)
    target = rng.choice([-1.0, 0.0, 0.0, 1.0], 400)
    table = Table(matrix, tuple(f"x{j}" for j in range(6)), {}, frozenset())
    search = search_on(table, target, np.ones(400))
    path = search.peel(search.target.units, np.arange(400), 5)
    units = search.target.units
    slow = reference.peel(columns_of(table), units[:, 0].tolist(), units[:, 1].tolist(), 0.05, 5, "lenient2")
    assert [set(np.flatnonzero(path.leaves > point).tolist()) for point in range(len(path))] == slow


@pytest.mark.parametrize("seed", range(120))
def test_pastes_are_those_of_the_slow_loops_and_never_lower_the_mean(seed):
    table, target, weight, rng = random_table(seed)
    search = search_on(
        table, target, weight, peel_fraction=0.2, paste_fraction=float(rng.choice([0.05, 0.3]))
    )
    rows = np.arange(len(target))
    peels = search.peel(search.target.units, rows, 2)
    start = boxes_of_moves(search.ranks, peels, widening=False)[len(peels) // 2]
    pastes = search.paste(start, rows)
    columns = columns_of(table)
    box = reference.Box(
        {
            j: admitted_values(search.ranks, start, j, columns[j])
            for j in range(len(columns))
            if not start.open[j]
        }
    )
    units = search.target.units
    slow = reference.paste(
        columns, units[:, 0].tolist(), units[:, 1].tolist(), box, search.settings.paste_fraction
    )
    boxes = boxes_of_moves(search.ranks, pastes, widening=True)
    fast = [set(np.flatnonzero(search.ranks.inside(box, rows)).tolist()) for box in boxes]
    assert fast == slow
    mean = search.target.mean(pastes.sums)
    assert (np.diff(mean) >= 0).all()


@pytest.mark.parametrize("block", range(5))
def test_centred_bounds_lie_in_the_middle_and_no_row_changes_sides(block):
    n_moved = 0
    for seed in range(40 * block, 40 * block + 40):
        table, target, weight, _ = random_table(seed)
        search = search_on(table, target, weight, peel_fraction=0.1)
        ranks, rows = search.ranks, np.arange(len(target))
        peels = search.peel(search.target.units, rows, 2)
        for box in boxes_of_moves(ranks, peels, widening=False):
            centred = search.centre(box, rows)
            assert (ranks.inside(centred, rows) == ranks.inside(box, rows)).all()
            assert (centred.open == box.open).all()
            assert (centred.allowed == box.allowed).all()
            n_moved += (centred.low != box.low).sum() + (centred.high != box.high).sum()
            for j in np.flatnonzero(~box.open & ~ranks.unordered):
                check_middle(ranks, centred, j, rows)
    assert n_moved > 50


def check_middle(ranks, box, j, rows):
    """Check that as many values lie on the one side of a bound as on the other, one more outside if odd."""
    others = box.copy()
    others.low[j], others.high[j], others.open[j] = 0, ranks.n_values[j] - 1, True
    decided = {int(ranks.codes[j, row]) for row in rows[ranks.inside(others, rows)]} - {
        int(ranks.n_values[j])
    }
    low, high = int(box.low[j]), int(box.high[j])
    inside = [code for code in decided if low <= code <= high]
    below, above = [code for code in decided if code < low], [code for code in decided if code > high]
    if below:
        assert (low - max(below) - 1) - (min(inside) - low) in (0, 1)
    if above:
        assert (min(above) - high - 1) - (high - max(inside)) in (0, 1)


def admitted_values(ranks, box, j, column):
    if column.named:
        return {float(k) for k in np.flatnonzero(ranks.admitted(j, box))} & (set(column.cells) - {None})
    return {ranks.value(j, place) for place in range(int(box.low[j]), int(box.high[j]) + 1)}


@pytest.mark.parametrize("seed", range(60))
def test_dropped_sides_cost_less_than_their_price_and_none_is_left_that_would(seed):
    table, target, weight, _ = random_table(seed)
    target = (target > 0).astype(float)
    if target.min() == target.max():
        return
    search = search_on(table, target, weight, peel_fraction=0.2, condition_price=1.0)
    rows = np.arange(len(target))
    peels = search.peel(search.target.units, rows, 2)
    start = boxes_of_moves(search.ranks, peels, widening=False)[-1]
    earlier = np.array([3, 2])
    drops = search.loosen(start, rows, earlier)
    boxes = boxes_of_drops(search.ranks, drops)

    def worth(box):
        inside = search.ranks.inside(box, rows)
        sums = search.target.units[inside].sum(axis=0, dtype=np.int64)
        return float(search.value(sums, earlier)) - search.price * search.n_conditions(box)

    values = [worth(box) for box in boxes]
    assert (np.diff(values) > 0).all()
    for box, sums in zip(boxes, drops.sums, strict=True):
        inside = search.ranks.inside(box, rows)
        assert (search.target.units[inside].sum(axis=0) == sums).all()
    last = boxes[-1]
    for j in np.flatnonzero(~last.open):
        for sides in ((True, True), (True, False), (False, True)):
            opened = boxes_of_drops(
                search.ranks, replace(drops, start=last, steps=np.array([[j, *map(int, sides)]]))
            )[-1]
            assert worth(opened) <= values[-1] + 1e-9
