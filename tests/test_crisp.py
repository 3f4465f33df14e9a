"""Crisp search: kernels equal loops over everything, and no step lowers its objective."""

from dataclasses import replace

import numpy as np
import pytest
import reference_crisp as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperboxes import crisp
from hyperboxes.crisp import BinBoxes, CrispTask, Limits
from hyperboxes.kernels import crisp as kernels
from hyperboxes.kernels.crisp import MISSING

ROUNDING = 1e-9


def random_task(seed, n=40, d=3, bins=6, limits=None, **options):
    draw = np.random.default_rng(seed)
    n_bins = draw.integers(1, bins + 1, d)
    codes = draw.integers(0, n_bins, (n, d))
    codes[draw.random((n, d)) < 0.1] = MISSING
    rows = np.ascontiguousarray(codes, np.uint8)
    positive = (rows[:, 0] >= n_bins[0] // 2) ^ (draw.random(n) < 0.25)
    positive[:2] = True, False
    weight = draw.choice([1.0, 2.0, 0.5, 0.1], n)
    categorical = draw.random(d) < 0.3
    prices = {"condition_price": draw.choice([0.0, 0.1, 0.6]), "box_price": draw.choice([0.0, 0.5])}
    return CrispTask(
        np.ascontiguousarray(rows.T), rows, positive, weight, n_bins.astype(np.int64), categorical,
        limits or Limits.none(d), seed=seed, max_sweeps=100, **{**prices, **options},
    )  # fmt: skip


def random_boxes(task, n_boxes, seed, closed=0.6):
    """Boxes as the other modules make them: what covers all is unrestricted."""
    draw = np.random.default_rng(seed)
    shape = (n_boxes, len(task.n_bins))
    sides = np.sort(draw.integers(0, task.n_bins, (2, *shape)), axis=0)
    open_ = (draw.random(shape) > closed) | ((sides[0] == 0) & (sides[1] == task.n_bins - 1))
    first, last = np.where(open_, 0, sides[0]), np.where(open_, MISSING, sides[1])
    asked = draw.random(shape)  # that there is a value, or that there is none
    last = np.where((asked < 0.05) & open_, task.n_bins - 1, last)
    return BinBoxes(np.where(asked > 0.95, MISSING, first), np.where(asked > 0.95, MISSING, last))


def random_limits(seed, d=3):
    draw = np.random.default_rng(seed)
    return Limits(
        draw.random(d) < 0.7, draw.random(d) < 0.7, draw.random(d) < 0.3, int(draw.integers(d, 2 * d + 1))
    )


@pytest.mark.parametrize("seed", range(5))
def test_violations_conditions_and_score_equal_loops(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 4, seed)
    counts, cover = np.full((4, 40), 9, np.int16), np.full(40, 9, np.int16)
    kernels.count_violations(task.columns, *boxes, counts, cover)
    expected = reference.violations(task, boxes)
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(cover, (expected == 0).sum(axis=0))
    conditions = kernels.count_conditions(*boxes, task.n_bins, task.categorical)
    assert conditions.tolist() == reference.box_conditions(task, boxes)
    assert task.score(boxes)[0] == pytest.approx(reference.score(task, boxes))
    np.testing.assert_array_equal(task.inside(boxes), expected == 0)
    np.testing.assert_allclose(task.support(boxes), (expected == 0) @ task.weight)
    np.testing.assert_array_equal(task.union(boxes), (expected == 0).any(axis=0))


@st.composite
def histograms(draw):
    n_bins = draw(st.integers(1, 7))
    masses = st.lists(
        st.sampled_from([0.0, 0.0, 1.0, 0.5, 3.0, 0.1]), min_size=n_bins + 1, max_size=n_bins + 1
    )
    gain, loss = np.zeros(MISSING + 1), np.zeros(MISSING + 1)
    for target in (gain, loss):
        *target[:n_bins], target[MISSING] = draw(masses)
    return n_bins, gain, loss


@given(
    histograms(), st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.2]), st.floats(1, 9),
    st.tuples(*[st.booleans()] * 4), st.integers(0, 2),
)  # fmt: skip
def test_the_best_interval_is_the_best_of_all_permitted_ones(made, needed, price, size, flags, allowance):
    n_bins, gain, loss = made
    categorical, may_low, may_high, required = flags
    limits = Limits(*(np.array([flag]) for flag in (may_low, may_high, required)), max_conditions=2)
    task = replace(
        random_task(0, d=1), n_bins=np.array([n_bins]), categorical=np.array([categorical]), limits=limits
    )
    may_ask = bool(task.may_ask[0])
    found = kernels._best_interval(
        gain, loss, n_bins, needed, price, size, categorical, may_low, may_high, may_ask, required, allowance
    )

    def value(interval):
        kept = slice(interval[0], interval[1] + 1)
        true, false = gain[kept].sum(), loss[kept].sum()
        asked = reference.n_conditions(task, 0, interval)
        return 2 * true - (needed + asked * price) * (true + false + size), true, false

    candidates = reference.intervals(task, 0, allowance)
    assert found[0] == pytest.approx(max((value(interval)[0] for interval in candidates), default=-np.inf))
    if candidates:
        assert found[1:3] in candidates
        assert (found[0], *found[3:]) == pytest.approx(value(found[1:3]))


def test_no_row_is_in_a_box_whose_bounds_are_crossed():
    task = random_task(0, d=1)
    counts, cover = np.zeros((2, 40), np.int16), np.zeros(40, np.int16)
    kernels.count_violations(task.columns, np.array([[0], [3]]), np.array([[-1], [2]]), counts, cover)
    np.testing.assert_array_equal(counts, 1)
    np.testing.assert_array_equal(cover, 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_move_keeps_counts_and_histograms_equal_to_a_recount(seed):
    task = random_task(seed, n=60, d=4)
    boxes = random_boxes(task, 3, seed)
    draw = np.random.default_rng(seed)
    counts, cover = np.zeros((3, 60), np.int16), np.zeros(60, np.int16)
    kernels.count_violations(task.columns, *boxes, counts, cover)
    gain, loss = np.zeros((2, 4, MISSING + 1))

    def histogram(k, *target):
        kernels._histogram(
            task.rows, boxes.first[k], boxes.last[k], counts[k], cover, task.positive, task.weight, *target,
            *kernels.marks_of(60),
        )  # fmt: skip

    k = int(draw.integers(3))
    histogram(k, gain, loss)
    for _ in range(5):
        covered = cover > 0
        j = int(draw.integers(4))
        new = random_boxes(task, 1, int(draw.integers(1000)))
        moved = kernels._move(
            task.rows, task.columns[j], j, new.first[0, j], new.last[0, j], boxes.first[k], boxes.last[k],
            counts[k], cover, task.positive, task.weight, gain, loss, *kernels.marks_of(60),
        )  # fmt: skip
        assert (boxes.first[k, j], boxes.last[k, j]) == (new.first[0, j], new.last[0, j])
        np.testing.assert_array_equal(counts, reference.violations(task, boxes))
        np.testing.assert_array_equal(cover, (counts == 0).sum(axis=0))
        change = task.weight * ((cover > 0).astype(float) - covered)
        assert moved == pytest.approx((change[task.positive].sum(), change[~task.positive].sum()))
        recounted = np.zeros((2, 4, MISSING + 1))
        histogram(k, *recounted)
        np.testing.assert_allclose([gain, loss], recounted, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_histogram_sums_the_rows_that_the_box_alone_decides(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 3, seed, closed=0.4)
    counts = reference.violations(task, boxes)
    cover = (counts == 0).sum(axis=0)
    gain, loss = np.zeros((2, 3, MISSING + 1))
    kernels._histogram(
        task.rows, boxes.first[0], boxes.last[0], counts[0], cover, task.positive, task.weight, gain, loss,
        *kernels.marks_of(len(task.rows)),
    )  # fmt: skip
    expected = np.zeros((2, 3, MISSING + 1))
    for i, j in np.ndindex(task.rows.shape):
        others = cover[i] - (counts[0, i] == 0)
        missed_here = not reference.holds(task.rows[i, j], boxes.first[0, j], boxes.last[0, j])
        if others == 0 and counts[0, i] == int(missed_here):
            expected[0 if task.positive[i] else 1, j, task.rows[i, j]] += task.weight[i]
    np.testing.assert_allclose([gain, loss], expected)


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_polishing_never_lowers_the_objective_and_ends_where_no_single_move_raises_it(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 1 + seed % 3, seed)
    polished = crisp.polish(task, boxes)
    assert task.score(polished)[0] >= task.score(boxes)[0] - ROUNDING
    assert reference.better_moves(task, polished, ROUNDING) == []


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_polished_boxes_obey_the_limits_and_are_best_within_them(seed):
    limits = random_limits(seed)
    task = random_task(seed, limits=limits)
    polished = crisp.polish(task, random_boxes(task, 2, seed, closed=0.9))
    assert max(reference.box_conditions(task, polished)) <= limits.max_conditions
    restrictable = (limits.may_low | limits.may_high) & (task.n_bins > 1)
    for first, last in zip(polished.first, polished.last, strict=True):
        assert (first[~limits.may_low] == 0).all()
        assert (last >= task.n_bins - 1)[~limits.may_high].all()
        assert (last != MISSING)[limits.required & restrictable].all()
    assert reference.better_moves(task, polished, ROUNDING) == []


@pytest.mark.parametrize("max_conditions", [1, 2, 3, 5])
def test_a_box_of_too_many_conditions_gives_up_those_it_misses_least(max_conditions):
    # Negatives beyond each side of a planted box, more of them from side to side.
    sides = [(0, 9), (0, 0), (1, 9), (1, 0), (2, 9), (2, 0)]
    rows = np.full((200, 3), 5, np.uint8)
    at = 20
    for number, (feature, code) in enumerate(sides):
        rows[at : at + 4 * (number + 1), feature] = code
        at += 4 * (number + 1)
    rows = rows[:at]
    limits = replace(Limits.none(3), max_conditions=max_conditions)
    task = replace(
        random_task(0), rows=rows, columns=np.ascontiguousarray(rows.T), weight=np.ones(at),
        positive=np.arange(at) < 20, n_bins=np.full(3, 10), categorical=np.zeros(3, bool), limits=limits,
        condition_price=0.0,
    )  # fmt: skip
    polished = crisp.polish(task, BinBoxes(np.full((1, 3), 3), np.full((1, 3), 7)))
    closed = {(j, 0) for j in range(3) if polished.first[0, j] > 0}
    closed |= {(j, 9) for j in range(3) if polished.last[0, j] < 9}
    assert closed == set(sides[6 - max_conditions :])


def test_a_required_feature_replaces_another_where_conditions_are_few():
    required = np.array([False, False, True])
    yes = np.ones(3, bool)
    task = replace(random_task(1, d=3), n_bins=np.array([6, 6, 6]), limits=Limits(yes, yes, required, 1))
    boxes = BinBoxes(np.array([[2, 0, 0]]), np.array([[5, MISSING, MISSING]]))
    polished = crisp.polish(task, boxes)
    assert polished.last[0].tolist()[:2] == [MISSING, MISSING]
    assert polished.last[0, 2] != MISSING


@pytest.mark.parametrize(
    ("positive", "start", "expected"),
    [([8, 9], (9, 9), (5, 9)), ([0, 1], (0, 0), (0, 4)), ([4, 5], (5, 5), (3, 6))],
)
def test_bounds_lie_in_the_middle_of_empty_bins(positive, start, expected):
    rows = np.array([[0], [1], [4], [5], [8], [9]] if 4 in positive else [[0], [1], [8], [9]], np.uint8)
    task = replace(
        random_task(0, d=1), rows=rows, columns=np.ascontiguousarray(rows.T), weight=np.ones(len(rows)),
        positive=np.isin(rows[:, 0], positive), n_bins=np.array([10]), categorical=np.array([False]),
        condition_price=0.1,
    )  # fmt: skip
    polished = crisp.polish(task, BinBoxes(np.array([[start[0]]]), np.array([[start[1]]])))
    assert (polished.first[0, 0], polished.last[0, 0]) == expected


@pytest.mark.parametrize("seed", range(20))
def test_polishing_leaves_its_argument_alone_and_repeats_itself(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 3, seed)
    kept = boxes.copy()
    once, again = crisp.polish(task, boxes), crisp.polish(task, boxes)
    for one, other in ((boxes, kept), (once, again)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(30))
def test_a_selection_is_small_and_no_worse_than_its_best_box(seed):
    task = random_task(seed)
    pool = random_boxes(task, 12, seed)
    for max_boxes in (1, 2, 5, 20):
        chosen = crisp.select(task, pool, max_boxes)
        assert len(chosen.first) <= max_boxes
        singles = [task.score(pool.take(np.array([k])))[0] for k in range(12)]
        assert task.score(chosen)[0] >= max(0.0, *singles) - ROUNDING


def test_a_selection_swaps_a_greedy_choice_that_others_have_made_idle():
    inside = np.zeros((4, 9), bool)
    for box, rows in enumerate([[0, 1, 3, 4], [0, 1, 2], [3, 4, 5], [6]]):
        inside[box, rows] = True
    chosen = kernels.select(inside, np.arange(9) < 7, np.ones(9), np.zeros(4), 3, 6)
    assert chosen.tolist() == [False, True, True, True]


@pytest.mark.parametrize("seed", range(30))
def test_the_worth_of_a_box_is_what_the_objective_loses_without_it(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 4, seed)
    expected = [task.score(boxes)[0] - task.score(boxes.take(np.arange(4) != k))[0] for k in range(4)]
    np.testing.assert_allclose(crisp._worth(task, boxes), expected, atol=1e-12)


@pytest.mark.parametrize("step", [crisp.drop_idle, crisp.merge])
@pytest.mark.parametrize("seed", range(30))
def test_dropping_and_merging_never_lower_the_objective(step, seed):
    task = random_task(seed)
    boxes = crisp.polish(task, random_boxes(task, 5, seed))
    fewer = step(task, boxes)
    assert task.score(fewer)[0] >= task.score(boxes)[0] - ROUNDING
    assert len(fewer.first) <= 5
    if step is crisp.drop_idle:
        assert len(fewer.first) == 1 or crisp._worth(task, fewer).min() >= 0


def test_merging_does_without_a_box_that_blocks_another():
    # Two halves of one interval: neither can grow while the other one holds its rows.
    rows = np.arange(10, dtype=np.uint8)[:, None].repeat(3, axis=0)
    task = replace(
        random_task(0, d=1), rows=rows, columns=np.ascontiguousarray(rows.T), weight=np.ones(30),
        positive=(rows[:, 0] >= 2) & (rows[:, 0] < 8), n_bins=np.array([10]), categorical=np.array([False]),
        condition_price=0.1, box_price=0.5,
    )  # fmt: skip
    halves = BinBoxes(np.array([[2], [5]]), np.array([[4], [7]]))
    merged = crisp.merge(task, halves)
    assert (merged.first.tolist(), merged.last.tolist()) == ([[2]], [[7]])


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_too_few_rows_are_dropped(seed):
    task = random_task(seed, min_support=6.0)
    boxes = crisp.improve(task, [random_boxes(task, 5, seed, closed=0.9)], 5)
    assert (task.support(boxes) >= 6.0).all()


@pytest.mark.parametrize("seed", range(20))
def test_improving_is_deterministic_and_no_worse_than_each_polished_start(seed):
    task = random_task(seed)
    starts = [random_boxes(task, 3, seed + part) for part in range(3)]
    best = crisp.improve(task, starts, 3)
    np.testing.assert_array_equal(best, crisp.improve(task, starts, 3))
    assert len(best.first) <= 3
    for start in starts:
        assert task.score(best)[0] >= task.score(crisp.polish(task, start))[0] - ROUNDING


def test_leaves_join_the_pool_as_they_are(monkeypatch):
    monkeypatch.setattr(crisp, "polish", lambda task, boxes: boxes)
    cells = np.stack(np.meshgrid(*[np.arange(10, dtype=np.uint8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    task = replace(
        random_task(0, d=3), rows=cells, columns=np.ascontiguousarray(cells.T), weight=np.ones(1000),
        positive=(cells < 3).all(axis=1), n_bins=np.full(3, 10), categorical=np.zeros(3, bool),
        condition_price=0.3, box_price=1.0,
    )  # fmt: skip
    far = BinBoxes(np.full((1, 3), 6), np.full((1, 3), 8))
    leaf = BinBoxes(np.zeros((1, 3), np.int64), np.full((1, 3), 2))
    assert task.score(crisp.improve(task, [far], 2))[1] == 0.0
    assert task.score(crisp.improve(task, [far], 2, leaf))[1] == 1.0


def test_improving_nothing_gives_no_boxes():
    task = random_task(0)
    none = random_boxes(task, 0, 0)
    assert crisp.improve(task, [none], 3).first.shape == (0, 3)
    assert crisp.improve(task, [none], 3, none).first.shape == (0, 3)
    assert crisp.merge(task, crisp.drop_idle(task, crisp.polish(task, none))).first.shape == (0, 3)


@given(st.data())
def test_boxes_are_ordered_as_the_slow_greedy_orders_them(data):
    n_boxes, n = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 8))
    bits = st.lists(st.booleans(), min_size=n_boxes * n, max_size=n_boxes * n)
    inside = np.array(data.draw(bits), bool).reshape(n_boxes, n)
    votes = data.draw(st.lists(st.integers(0, 3), min_size=n_boxes, max_size=n_boxes))
    classes = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weight = data.draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=n, max_size=n))
    found = crisp.order_boxes(
        inside, np.array(votes, np.int64), np.array(classes, np.int64), np.array(weight)
    )
    assert found.tolist() == reference.order(inside, votes, classes, weight)
