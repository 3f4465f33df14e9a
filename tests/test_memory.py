"""Memory: a fair sample of a stream, in which nothing is lost while there is room."""

import numpy as np
import pytest

from hyperboxes.estimators._memory import Memory
from hyperboxes.tables import Table, read_table


def batch(values, weight=None):
    values = np.asarray(values, np.float64)
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    return read_table(values[:, None]), (values % 2).astype(np.int64), weight


def test_everything_is_kept_as_given_until_there_is_no_room():
    memory = Memory(10, 0)
    memory.add(*batch([0, 1, 2], [1.0, 0.5, 2.0]))
    table, classes, weight = memory.add(*batch([3, 4], [1e-3, 7.0]))
    assert table.matrix[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert classes.tolist() == [0, 1, 0, 1, 0]
    assert weight.tolist() == [1.0, 0.5, 2.0, 1e-3, 7.0]


@pytest.mark.parametrize("size", [1, 5, 20])
def test_a_full_memory_has_its_size_and_shares_the_weight_of_all(size):
    memory, total = Memory(size, 0), 0.0
    for part in range(10):
        weight = 1.0 + np.arange(8) % 3
        total += weight.sum()
        table, classes, shared = memory.add(*batch(np.arange(8) + 8 * part, weight))
        assert len(table.matrix) == len(classes) == len(shared) == min(size, 8 * (part + 1))
        assert shared.sum() == pytest.approx(total)
        np.testing.assert_array_equal(classes, table.matrix[:, 0] % 2)


def test_rows_of_weight_zero_are_not_remembered():
    table, classes, weight = Memory(5, 0).add(*batch([0, 1, 2], [1, 0, 1]))
    assert table.matrix[:, 0].tolist() == [0, 2]
    assert (len(classes), weight.tolist()) == (2, [1.0, 1.0])


def kept_counts(weight, size, n_runs=400):
    """How often each row of a stream in four batches is kept."""
    counts = np.zeros(len(weight))
    for seed in range(n_runs):
        memory = Memory(size, seed)
        for part in np.array_split(np.arange(len(weight)), 4):
            table, _, _ = memory.add(*batch(part, weight[part]))
        counts[table.matrix[:, 0].astype(int)] += 1
    return counts / n_runs


def test_early_and_late_rows_are_kept_equally_often():
    share = kept_counts(np.ones(20), 5)
    assert share.sum() == pytest.approx(5)
    assert (np.abs(share - 0.25) < 0.09).all()  # four standard errors
    assert abs(share[:10].sum() - share[10:].sum()) < 0.4


def test_heavy_rows_are_kept_in_proportion_to_their_weight():
    weight = np.tile([1.0, 4.0], 20)
    share = kept_counts(weight, 2)
    light, heavy = share[::2].mean(), share[1::2].mean()
    assert 3.2 < heavy / light < 4.8


def test_the_same_seed_keeps_the_same_rows():
    runs = []
    for seed in (3, 3, 4):
        memory = Memory(10, seed)
        for part in range(5):
            table, _, _ = memory.add(*batch(np.arange(10) + 10 * part))
        runs.append(table.matrix[:, 0].tolist())
    assert runs[0] == runs[1] != runs[2]


def test_categories_of_all_batches_are_united_and_cells_keep_their_meaning():
    def categorical(values, known):
        cells = [np.nan if value is None else known.index(value) for value in values]
        table = Table(np.array(cells, float)[:, None], ("c",), {"c": known}, frozenset())
        return table, np.zeros(len(values), np.int64), np.ones(len(values))

    memory = Memory(10, 0)
    first, second = ["a", None, "c"], ["d", "c", None, "b"]
    memory.add(*categorical(first, ("a", "c")))
    given = categorical(second, ("b", "c", "d"))
    before = given[0].matrix.copy()
    table, _, _ = memory.add(*given)
    known = table.categories["c"]
    assert set(known) == set("abcd")
    assert len(known) == 4
    read = [None if np.isnan(cell) else known[int(cell)] for cell in table.matrix[:, 0]]
    assert read == [*first, *second]
    np.testing.assert_array_equal(given[0].matrix, before)


def test_other_categorical_columns_are_refused():
    memory = Memory(10, 0)
    memory.add(*batch([0, 1]))
    table = Table(np.zeros((1, 1)), ("x0",), {"x0": ("a",)}, frozenset())
    with pytest.raises(ValueError, match="categorical columns"):
        memory.add(table, np.zeros(1, np.int64), np.ones(1))
