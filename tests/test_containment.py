"""Which boxes hold a row, and which is nearest: the kernels and their reference."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import boxes_and_table

from hyperboxes import Boxes
from hyperboxes.kernels import containment

INF = np.inf


def box_of(lower=0.0, upper=1.0, label=1, default=0, **options):
    """One box over one feature."""
    return Boxes([[lower]], [[upper]], [label], default=default, **options)


def kinds_of(*values):
    return [(type(value), value) for value in values]


@given(boxes_and_table())
def test_contains_is_the_reference_loop(case):
    made, X = case
    np.testing.assert_array_equal(made.contains(X), reference.contains(made, X))


@given(boxes_and_table())
def test_apply_is_the_first_box_that_contains(case):
    made, X = case
    inside = made.contains(X)
    expected = [np.flatnonzero(row)[0] if row.any() else -1 for row in inside]
    np.testing.assert_array_equal(made.apply(X), expected)
    assert made.apply(X).dtype == np.int64


@given(boxes_and_table(uncovered=("nearest",)))
def test_nearest_is_the_reference_loop_and_obeys_containment(case):
    made, X = case
    np.testing.assert_array_equal(made.nearest(X), reference.nearest(made, X))
    first = made.apply(X)
    np.testing.assert_array_equal(made.nearest(X)[first >= 0], first[first >= 0])


def test_nearest_finds_the_box_that_contains_although_another_distance_rounds_to_zero():
    made = Boxes(
        [[1.0], [-1.0]], [[2.0], [0.0]], ["far", "inside"],
        default="none", uncovered="nearest", scale=[2.0**1023],
    )  # fmt: skip
    tiny = made.select([0]).open(0, "x0", "upper")
    assert (1e-300 * 2.0**-1023) == 0
    shifted = dataclasses.replace(made, lower=[[1e-300], [-1.0]], upper=[[2.0], [0.0]])
    assert shifted.predict([[0.0]]).tolist() == ["inside"]
    assert tiny.nearest([[0.0]]).tolist() == [0]


@pytest.mark.parametrize("cell", [np.nan, INF, -INF])
def test_no_box_is_near_to_a_missing_or_infinite_value(cell):
    made = box_of(uncovered="nearest", scale=[1.0])
    assert made.nearest([[cell]]).tolist() == [-1]
    assert made.predict([[cell]]).tolist() == [0]


def test_nearest_needs_a_scale():
    with pytest.raises(ValueError, match="no scale"):
        box_of().nearest([[1.0]])


@given(boxes_and_table())
def test_predict_is_the_answer_of_the_deciding_box(case):
    made, X = case
    predicted = made.predict(X)
    assert kinds_of(*predicted.tolist()) == kinds_of(*reference.predict(made, X))
    decided = made.decide(X)
    answers = [*made.labels.tolist(), made.default]
    assert predicted.tolist() == [answers[box] for box in decided]
    assert predicted.dtype == (object if made.default is None else made.labels.dtype)


@given(boxes_and_table())
def test_an_open_feature_accepts_everything_and_a_restricted_one_no_missing_value_it_does_not_name(case):
    made, X = case
    X = np.array(X, np.float64)
    for column, name in enumerate(made.feature_names):
        known = made.categories.get(name, ())
        for strange in (np.nan, -1.0 if known else INF):
            changed = X.copy()
            changed[:, column] = strange
            inside, before = made.contains(changed), made.contains(X)
            is_open = ~made.restricted[:, column]
            np.testing.assert_array_equal(inside[:, is_open], before[:, is_open])
            if None in known:
                asked = made.allowed[name][:, -1] if math.isnan(strange) else made.admits_unknown[name]
                assert not inside[:, ~asked].any()
            elif math.isnan(strange) or strange == -1.0:
                asked = np.isnan(made.lower[:, column]) & math.isnan(strange)
                assert not inside[:, ~is_open & ~asked].any()


@given(boxes_and_table())
def test_a_table_means_its_float64_values(case):
    made, X = case
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(made.contains(X), made.contains(wide))
    np.testing.assert_array_equal(made.decide(X), made.decide(wide))


@pytest.mark.parametrize("bound", [0.1, 1e-50, 5e-324, 16777217.0, 1e39, 1e308, 3.4028235677973366e38])
@pytest.mark.parametrize("sign", [1, -1])
def test_float32_cells_meet_bounds_that_float32_cannot_hold(bound, sign):
    with np.errstate(over="ignore"):
        near = np.float32(sign * bound)
    down, up = np.float32(-INF), np.float32(INF)
    with np.errstate(all="ignore"):
        X = np.array([[down], [np.nextafter(near, down)], [near], [np.nextafter(near, up)], [up]], np.float32)
    for made in (box_of(sign * bound, INF), box_of(-INF, sign * bound), box_of(sign * bound, sign * bound)):
        np.testing.assert_array_equal(made.contains(X), made.contains(X.astype(np.float64)))


LAYOUTS = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "reversed rows": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "reversed columns": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "every other cell": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "long double": lambda X: X.astype(np.longdouble),
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "matrix": lambda X: X.view(np.matrix),
}


def unaligned(X):
    """Put the table one byte off."""
    raw = np.zeros(X.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(X.tobytes(), np.uint8)
    return np.ndarray(X.shape, X.dtype, buffer=raw.data, offset=1)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def grid(n_rows, n_features=3, n_boxes=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    X[rng.random(X.shape) < 0.02] = np.nan
    start = rng.random((n_boxes, n_features)) * 0.5
    lower = np.where(rng.random(start.shape) < 0.3, -INF, start)
    upper = np.where(rng.random(start.shape) < 0.3, INF, start + 0.4)
    return Boxes(lower, upper, [f"c{k % 3}" for k in range(n_boxes)], default="other"), X


@pytest.mark.parametrize("cells", [np.float64, np.float32])
@pytest.mark.parametrize(
    "layout", [*LAYOUTS.values(), unaligned, read_only], ids=[*LAYOUTS, "unaligned", "read-only"]
)
def test_the_layout_of_a_table_does_not_matter(layout, cells):
    made, X = grid(300)
    X = X.astype(cells)
    given_ = layout(X)
    np.testing.assert_array_equal(made.contains(given_), reference.contains(made, X))
    np.testing.assert_array_equal(made.predict(given_), reference.predict(made, X))
    near = dataclasses.replace(made, uncovered="nearest", scale=[1.0, 0.5, 2.0])
    np.testing.assert_array_equal(near.decide(given_), reference.nearest(near, X))


@pytest.mark.parametrize("cells", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("extra", [-1, 0, 1, 130])
def test_blocks_and_threads_do_not_matter(cells, extra, monkeypatch):
    monkeypatch.setattr(containment, "SERIAL_WORK", 500)
    monkeypatch.setattr(containment, "TASK_ROWS", 300)
    monkeypatch.setattr(containment, "CONVERTED_BYTES", 4096)
    monkeypatch.setattr(containment, "n_threads", lambda: 2)
    made, X = grid(containment.BLOCK_ROWS * 6 + extra)
    X = np.nan_to_num(X * 10, nan=-1).astype(cells)
    made = dataclasses.replace(made, lower=made.lower * 10, upper=made.upper * 10)
    np.testing.assert_array_equal(made.contains(X), reference.contains(made, X))
    np.testing.assert_array_equal(made.apply(X), reference.apply(made, X))
    np.testing.assert_array_equal(made.predict(X), reference.predict(made, X))


def test_just_above_the_thread_threshold_nothing_changes():
    made, X = grid(1000)
    n_conditions = int(made.restricted.sum())
    n_rows = containment.SERIAL_WORK // (n_conditions + 1) + 1
    X = np.resize(X, (n_rows, X.shape[1]))
    threaded, serial = made.predict(X), np.concatenate([made.predict(part) for part in np.array_split(X, 10)])
    np.testing.assert_array_equal(threaded, serial)
    np.testing.assert_array_equal(threaded[:1000], reference.predict(made, X[:1000]))


def test_the_number_of_threads_does_not_matter():
    program = (
        "import numpy as np, hashlib; from hyperboxes import Boxes\n"
        "X = np.random.default_rng(0).random((200_000, 3))\n"
        "lower, upper = [[.2, -np.inf, .1], [.5, .5, .5]], [[.6, .9, np.inf], [.9, .9, .9]]\n"
        "made = Boxes(lower, upper, ['a', 'b'], default='c')\n"
        "print(hashlib.sha256(made.predict(X).tobytes() + made.contains(X).tobytes()).hexdigest())"
    )
    printed = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OMP_NUM_THREADS": threads}
        printed.add(
            subprocess.run(
                [sys.executable, "-c", program], env=environment, check=True, capture_output=True
            ).stdout
        )
    assert len(printed) == 1


@given(boxes_and_table())
def test_predicting_does_not_change_the_table(case):
    made, X = case
    before = X.tobytes()
    made.predict(X)
    made.contains(X)
    assert X.tobytes() == before


@pytest.mark.parametrize("position", [0.5, 1.5, -0.5, -1, 2, 1e300, np.nan, INF])
def test_a_position_that_is_no_category_is_unknown(position):
    made = Boxes.from_rules([({"c": {"a"}}, 1)], default=0, categories={"c": ["a", "b"]})
    assert made.predict(np.array([[position]])).tolist() == [0]
    near = dataclasses.replace(made, uncovered="nearest", scale=[1.0])
    assert near.nearest(np.array([[position]])).tolist() == [-1 if math.isnan(position) else 0]
    assert containment.sole_violations(np.array([[position]]), made._compiled).tolist() == [[0]]


@given(boxes_and_table())
def test_the_sole_violation_is_the_feature_whose_opening_admits_the_row(case):
    made, X = case
    X = np.asarray(X, np.float64)
    sole = containment.sole_violations(made._matrix(X), made._compiled)
    for row in range(len(X)):
        for box in range(made.n_boxes):
            failed = [
                j for j in range(made.n_features) if not reference.holds(made, box, j, float(X[row, j]))
            ]
            assert sole[row, box] == (failed[0] if len(failed) == 1 else -1)


@pytest.mark.parametrize("step", [1, 10**6])
@given(case=boxes_and_table(), seed=st.integers(0, 99))
def test_a_feature_keeps_out_the_weight_of_the_foreign_rows_that_it_alone_keeps_out(step, case, seed):
    made, X = case
    X = np.asarray(X, np.float64)
    draw = np.random.default_rng(seed)
    classes, weight = draw.integers(0, 2, len(X)), draw.random(len(X))
    foreign = draw.random((2, made.n_boxes)) < 0.5
    expected = np.zeros(made.n_features)
    for row, box in np.ndindex(len(X), made.n_boxes):
        failed = [j for j in range(made.n_features) if not reference.holds(made, box, j, float(X[row, j]))]
        if len(failed) == 1 and foreign[classes[row], box]:
            expected[failed[0]] += weight[row]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containment, "SERIAL_WORK", step)
        found = containment.weight_kept_out(made._matrix(X), made._compiled, foreign, classes, weight)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("n_features", [0, 2])
@pytest.mark.parametrize("n_rows", [0, 3])
def test_no_boxes_no_features_no_rows(n_rows, n_features):
    X = np.zeros((n_rows, n_features))
    none = Boxes(np.empty((0, n_features)), np.empty((0, n_features)), [], default="d")
    assert none.contains(X).shape == (n_rows, 0)
    assert none.predict(X).tolist() == ["d"] * n_rows
    assert none.covers().shape == none.overlaps().shape == (0, 0)
    assert none.predict(X).dtype == "<U1"
    one = Boxes(np.full((1, n_features), -INF), np.full((1, n_features), INF), ["all"], default="d")
    assert one.predict(X).tolist() == ["all"] * n_rows
    assert "always" in one._repr_html_()
    silent = Boxes(np.empty((0, n_features)), np.empty((0, n_features)), [])
    assert silent.predict(X).tolist() == [None] * n_rows
    assert silent.classes.tolist() == []


def test_a_table_of_another_width_is_refused():
    with pytest.raises(ValueError, match="X has 2 columns; these boxes speak of 1 features"):
        box_of().predict(np.zeros((3, 2)))
