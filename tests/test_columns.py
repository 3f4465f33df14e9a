"""Kernels over columns: equal to the plain formula, whatever the layout of the table and the threads."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import numbers

from hyperboxes.kernels import _threads, blocks, columns
from hyperboxes.kernels.crisp import MISSING

LAYOUTS = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
}


@pytest.fixture(params=[1, 3, 1 << 20], ids=lambda rows: f"blocks-of-{rows}")
def small_blocks(request, monkeypatch):
    """Make blocks so small that a few rows fill several."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 16 * request.param)


def table(n=40, seed=0):
    """Two columns with missing values."""
    draw = np.random.default_rng(seed)
    X = draw.standard_normal((n, 2)) * [1.0, 1e3] + [0.0, 1e6]
    X[draw.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_extents_are_the_least_and_largest_known_value(layout):
    X = table()
    lowest, highest = columns.extents(LAYOUTS[layout](X))
    np.testing.assert_array_equal(lowest, np.nanmin(X, axis=0))
    np.testing.assert_array_equal(highest, np.nanmax(X, axis=0))


@pytest.mark.parametrize("X", [np.zeros((0, 2)), np.full((3, 2), np.nan)], ids=["no rows", "no values"])
def test_the_extents_of_nothing_are_reversed(X):
    lowest, highest = columns.extents(X)
    assert (lowest == np.inf).all()
    assert (highest == -np.inf).all()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_moments_are_the_weighted_sums_of_the_formula(layout):
    X = table()
    weight = 1.0 + np.arange(len(X)) % 3
    known = ~np.isnan(X)
    mass = weight @ known
    mean = weight @ np.where(known, X, 0.0) / mass
    squares = weight @ np.where(known, X - mean, 0.0) ** 2
    found = columns.moments(LAYOUTS[layout](X), weight, np.ones(2), *columns.extents(X))
    np.testing.assert_allclose(found, (mass, mean, squares), rtol=1e-12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_standard_units_are_clipped_and_a_missing_value_is_at_the_centre(layout):
    X = table()
    centre, scale, unit = np.array([0.1, 1e6]), np.array([0.5, 700.0]), np.array([1.0, 0.25])
    expected = np.nan_to_num(np.clip((X * unit - centre * unit) / (scale * unit), -2, 2)).astype(np.float32)
    found = columns.standard_units(LAYOUTS[layout](X), unit, centre * unit, scale * unit, 2.0)
    np.testing.assert_array_equal(found, expected)
    assert (np.abs(found) == 2).any()


@given(
    st.lists(st.lists(numbers, max_size=12).map(sorted), min_size=1, max_size=4),
    st.lists(numbers | st.just(np.nan), min_size=1, max_size=9),
)
def test_a_code_is_the_number_of_edges_below(edges, cells):
    X = np.array([cells] * len(edges)).T
    codes = columns.encode(X, columns.ruler([np.array(part) for part in edges]))
    for j, part in enumerate(edges):
        for i, x in enumerate(cells):
            assert codes[j, i] == (MISSING if x != x else sum(edge < x for edge in part))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_edges", [0, 1, 2, 249])
def test_codes_are_those_of_searchsorted(layout, n_edges):
    X = table(n=200)
    edges = tuple(
        np.sort(column[:n_edges] if n_edges < 200 else np.repeat(column, 2)[:249]) for column in X.T
    )
    edges = tuple(part[~np.isnan(part)] for part in edges)
    codes = columns.encode(LAYOUTS[layout](X), columns.ruler(edges))
    for j, part in enumerate(edges):
        expected = np.where(np.isnan(X[:, j]), MISSING, np.searchsorted(part, X[:, j]))
        np.testing.assert_array_equal(codes[j], expected)


@pytest.mark.usefixtures("small_blocks")
def test_weights_are_summed_and_values_looked_up_by_code():
    draw = np.random.default_rng(0)
    codes = draw.choice(np.array([0, 3, 7, MISSING], np.uint8), (3, 50))
    weight, values = draw.random(50), draw.random((3, MISSING + 1)).astype(np.float32)
    mass, found = columns.bin_weights(codes, weight), columns.look_up(codes, values)
    for j in range(3):
        np.testing.assert_allclose(mass[j], np.bincount(codes[j], weight, MISSING + 1))
        np.testing.assert_array_equal(found[:, j], values[j][codes[j]])


def test_one_thread_and_two_give_the_same_bytes(monkeypatch):
    X = np.random.default_rng(0).lognormal(size=(200_000, 3))
    weight = np.random.default_rng(1).random(len(X))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(np.array(columns.moments(X, weight, np.ones(3), *columns.extents(X))).tobytes())
    assert found[0] == found[1]


def test_few_cells_are_read_without_threads(monkeypatch):
    monkeypatch.setattr(_threads, "n_threads", lambda: 2)
    here = threading.get_ident()

    def threads(cells):
        return set(_threads.run(lambda _: threading.get_ident(), range(4), cells=cells))

    assert threads(10) == {here}
    assert here not in threads(_threads.SERIAL_CELLS)


@pytest.mark.parametrize(
    ("cores", "asked", "workers"),
    [
        (2, None, {1: 1, 2: 2, 3: 3, 4: 4, 5: 4, 7: 4, 8: 2, 100: 2}),
        (2, "2", {3: 3, 8: 2}),
        (2, "1", {3: 1}),
        (4, "2", {3: 2, 100: 2}),
        (1, None, {3: 1}),
    ],
)
def test_a_few_tasks_get_a_thread_each_unless_fewer_were_asked_for(cores, asked, workers, monkeypatch):
    monkeypatch.setattr(_threads, "_n_cores", lambda: cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert {n: _threads._n_workers(n) for n in workers} == workers
