"""Choosing how to search: prices and blur are judged on rows left out, and only clear leads count."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score
from test_crisp import ROUNDING, random_boxes, random_task

from hyperboxes import HyperNNClassifier
from hyperboxes.crisp import BinBoxes, Limits
from hyperboxes.kernels.crisp import MISSING
from hyperboxes.kernels.descent import descend
from hyperboxes.nn import finish, ways
from hyperboxes.nn.advice import Advice
from hyperboxes.nn.finish import thin_faces, times_for_other
from hyperboxes.nn.initialise import needed_sides
from hyperboxes.nn.problem import Problem
from hyperboxes.nn.settings import Settings
from hyperboxes.nn.starts import OUT_OF_REACH, compiled_descent, make_starts, train_starts
from hyperboxes.nn.ways import PRICES, Way, choose_way, lead, price_path
from hyperboxes.tables import read_table

QUICK = Settings(n_steps=100)


def view_of(X, positive, settings=QUICK, limits=None):
    problem = Problem.from_table(read_table(X), positive.astype(np.int64), np.ones(len(X)), settings, 0)
    return problem.for_class(1, limits or Limits.none(X.shape[1]), 0)


def planted(n=600, d=5, wrong=0.0, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.uniform(-1, 1, (n, d))
    positive = (X[:, 0] > 0) & (X[:, 1] < 0.4)
    return X, positive ^ (draw.random(n) < wrong)


def by_lot(seed, n=100, d=600):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(n, d)), draw.random(n) < 0.5


def test_what_is_left_out_of_a_wide_table_is_not_known_by_the_starts():
    right = []
    for seed in range(8):
        view = view_of(*by_lot(seed))
        verdict = choose_way(view, train_starts(view, 4), 4)
        right.append((verdict.answers == view.positive[verdict.seen]).mean())
    # Labels by lot cannot be guessed; of 800 rows .57 would be four standard errors, and with starts that
    # have seen them it is .61.
    assert np.mean(right) < 0.57


@pytest.mark.parametrize(("n", "d", "anew"), [(60, 60, 3), (61, 60, 0)])
def test_starts_are_trained_without_the_rows_that_judge_where_features_are_as_many(n, d, anew, monkeypatch):
    sizes = []

    def recorded(view, n_boxes):
        sizes.append(len(view.positive))
        return train_starts(view, n_boxes)

    monkeypatch.setattr(ways, "train_starts", recorded)
    view = view_of(*by_lot(0, n, d))
    trained = train_starts(view, 2)
    choose_way(view, trained, 2)
    assert len(sizes) == anew
    assert sum(n - size for size in sizes) == (n if anew else 0)
    sizes.clear()
    choose_way(view, trained._replace(leaves=None), 2)  # as boxes given by a user are: these are the starts
    assert not sizes


@pytest.mark.parametrize("seed", range(5))
def test_a_part_of_a_task_scores_its_rows_and_their_copies(seed):
    task = random_task(seed)
    twice = replace(
        task, columns=np.tile(task.columns, 2), rows=np.tile(task.rows, (2, 1)),
        positive=np.tile(task.positive, 2), weight=np.tile(task.weight, 2) / 2,
    )  # fmt: skip
    boxes = random_boxes(task, 3, seed)
    kept = np.random.default_rng(seed).random(40) < 0.6
    kept[:2] = True
    part = task.part(kept)
    np.testing.assert_array_equal(part.inside(boxes), task.inside(boxes)[:, kept])
    np.testing.assert_array_equal(part.columns, part.rows.T)
    assert twice.part(kept).score(boxes) == pytest.approx(part.score(boxes))
    assert twice.part(kept).columns.flags.c_contiguous


@pytest.mark.parametrize("seed", range(5))
def test_a_dearer_task_charges_so_many_times(seed):
    task = random_task(seed)
    boxes = random_boxes(task, 3, seed)
    np.testing.assert_allclose(task.priced(3.0).prices(boxes), 3 * task.prices(boxes))
    assert task.priced(3.0).score(boxes)[1] == task.score(boxes)[1]


def test_the_path_of_prices_leads_to_ever_simpler_boxes():
    X, positive = planted(wrong=0.15)
    view = view_of(X, positive)
    path = list(price_path(view.task, train_starts(view, 8), 8))
    assert len(path) == len(PRICES)
    bought = [view.task.prices(boxes).sum() for boxes in path]
    assert bought == sorted(bought, reverse=True)
    assert bought[0] > bought[-1]
    (shorter,) = price_path(view.task, train_starts(view, 8), 8, 0)
    np.testing.assert_array_equal(shorter.first, path[0].first)


def test_one_is_in_the_lead_exactly_if_its_f1_is_higher():
    draw = np.random.default_rng(0)
    for seed in range(300):
        task = random_task(seed % 7)
        one, other = draw.random((2, 40)) < draw.random((2, 1))

        def f1(answer, task=task):
            true = task.weight[answer & task.positive].sum()
            return 2 * true / (task.weight[answer].sum() + task.weight[task.positive].sum())

        gain, error = lead(task, one, other)
        if abs(f1(one) - f1(other)) > ROUNDING:
            assert (gain > 0) == (f1(one) > f1(other))
        assert error >= abs(gain) / np.sqrt(max((one != other).sum(), 1)) - ROUNDING


def test_wrong_labels_call_for_a_higher_price_and_a_clean_table_does_not():
    X, positive = planted(1500, wrong=0.2)
    view = view_of(X, positive)
    assert choose_way(view, train_starts(view, 10), 10).way.price > 0
    X, positive = planted(600)
    view = view_of(X, positive)
    assert choose_way(view, train_starts(view, 4), 4).way.price == 0


def test_without_evidence_the_search_is_the_usual_one(monkeypatch):
    monkeypatch.setattr(ways, "EVIDENCE", np.inf)
    X, positive = planted(300, wrong=0.2)
    view = view_of(X, positive)
    assert choose_way(view, train_starts(view, 5), 5).way == Way(True, 0)
    X, positive = planted(300)
    one = np.zeros(300, bool)
    one[0] = True  # no fold without it has a positive
    view = view_of(X, one)
    verdict = choose_way(view, train_starts(view, 2), 2)
    assert (verdict.way, verdict.answers) == (Way(True, 0), None)


@pytest.mark.parametrize("threads", [1, 2])
def test_with_a_core_to_spare_all_rows_are_searched_while_folds_judge(threads, monkeypatch):
    monkeypatch.setattr(ways, "n_threads", lambda: threads)
    view = view_of(*planted(200))
    trained = train_starts(view, 2)
    verdict = choose_way(view, trained, 2)
    assert verdict.tree[view.positive].mean() > 0.9
    assert verdict.tree[~view.positive].mean() < 0.1
    assert (verdict.found is None) == (threads == 1)
    if verdict.found is not None:
        _, boxes = finish.search(view, trained, 2, verdict.way)
        np.testing.assert_array_equal(verdict.found[1], boxes)
    monkeypatch.setattr(ways, "lead", lambda rows, one, other: (float(one is not other), 0.0))
    other = choose_way(view, trained, 2)
    assert other.way != verdict.way
    assert other.found is None


def clean_and_few(seed, wrong=0):
    draw = np.random.default_rng(seed)
    X = draw.uniform(size=(60, 4))
    positive = (X[:, 0] > 0.35) & (X[:, 1] < 0.65)
    positive[:wrong] = ~positive[:wrong]
    return X, positive


def finished(X, positive, n_boxes=3):
    view = view_of(X, positive)
    found, boxes, _ = finish.finish(view, train_starts(view, n_boxes), n_boxes, may_stay_soft=False)
    return found.sharp().task, boxes


def test_few_rows_that_boxes_tell_without_fault_are_told_so(monkeypatch):
    for module in (finish, ways):  # rows left out alone prove nothing here
        monkeypatch.setattr(module, "EVIDENCE", np.inf)
    faults = {True: 0, False: 0}
    for seed in range(12):
        for taken in faults:
            with monkeypatch.context() as patch:
                if not taken:
                    patch.setattr(finish, "_faultless", lambda *_: None)
                task, boxes = finished(*clean_and_few(seed))
                faults[taken] += int((task.union(boxes) != task.positive).sum())
    assert faults[True] < faults[False] / 2


def faultless(view, trained, max_boxes, verdict):
    advice = finish.teachers_advice(view, max_boxes, verdict)
    return finish._faultless(view, trained, max_boxes, verdict, advice)


@pytest.mark.parametrize("threads", [1, 2])
def test_boxes_without_fault_are_taken_where_rows_refute_the_blur(threads, monkeypatch):
    monkeypatch.setattr(ways, "EVIDENCE", np.inf)
    monkeypatch.setattr(ways, "n_threads", lambda: threads)
    told = []
    for seed in range(12):
        view = view_of(*clean_and_few(seed))
        trained = train_starts(view, 3)
        verdict = choose_way(view, trained, 3)
        found = faultless(view, trained, 3, verdict)
        told.append(found is not None)
        if found is None:
            continue
        sharp, boxes = found
        np.testing.assert_array_equal(sharp.task.union(boxes), view.positive)
        copies = sharp.copies()
        wrong = copies.weight * (copies.union(boxes) != copies.positive)
        hidden = len(boxes.first) + finish._n_conditions(sharp, boxes)
        for side in (copies.positive, ~copies.positive):
            assert 2 * wrong[side].sum() >= hidden
        assert faultless(view, trained, 3, verdict._replace(clean=False)) is None
        for advice in (None, Advice(view.positive, 1.0, 9.0, few=False)):
            assert finish._faultless(view, trained, 3, verdict, advice) is None
    assert 6 <= sum(told) < len(told)


def test_the_blur_stands_where_no_row_lies_near_a_bound():
    draw = np.random.default_rng(0)
    positive = np.arange(90) % 3 == 0
    X = draw.normal(size=(90, 3)) + 12.0 * positive[:, None]
    view = view_of(X, positive)
    trained = train_starts(view, 2)
    verdict = choose_way(view, trained, 2)
    assert verdict.clean
    assert faultless(view, trained, 2, verdict) is None


def test_rows_on_one_side_of_a_bound_alone_refute_nothing():
    """A gap among many rows holds a few of another class, which need not end where the others begin."""
    x = np.concatenate([np.linspace(0, 0.4, 80), [0.47, 0.5, 0.53], np.linspace(0.6, 1, 80)])
    positive = (x > 0.4) & (x < 0.6)
    view = view_of(x[:, None], positive)
    trained = train_starts(view, 1)
    verdict = choose_way(view, trained, 1)._replace(clean=True)
    found, boxes = finish.search(view, trained, 1, Way(False, 0))
    np.testing.assert_array_equal(found.task.union(boxes), view.positive)
    copies = found.copies()
    wrong = copies.weight * (copies.union(boxes) != copies.positive)
    hidden = 1 + finish._n_conditions(found, boxes)
    assert hidden == 3
    assert 2 * wrong[copies.positive].sum() < hidden < 2 * wrong.sum()
    advice = Advice(view.positive, -1.0, 1.0, few=False)
    assert finish._faultless(view, trained, 1, verdict, advice) is None


def test_labels_that_are_wrong_refute_no_blur():
    for seed in range(4):  # no handful of boxes explains them
        view = view_of(*clean_and_few(seed, wrong=12))
        trained = train_starts(view, 3)
        verdict = choose_way(view, trained, 3)
        assert not verdict.clean
        assert faultless(view, trained, 3, verdict._replace(clean=True)) is None


def test_thinned_faces_leave_the_decision_and_respect_what_is_open():
    X, positive = planted(800)
    view = view_of(X, positive)
    boxes = train_starts(view, 2).starts[0]
    boxes.first[:, 3], boxes.last[:, 3] = 2, view.features.binning.n_bins[3] - 1  # cuts off next to nothing
    thin = thin_faces(view, boxes)
    task = view.sharp().task
    assert task.prices(thin).sum() < task.prices(boxes).sum()
    assert task.score(thin)[1] > task.score(boxes)[1] - 0.02
    assert (thin.first[boxes.first == 0] == 0).all()


@pytest.mark.parametrize("better", [False, True])
def test_the_boxes_of_the_gradient_stay_where_they_hold_better(monkeypatch, better):
    X, positive = planted(2_200)
    monkeypatch.setattr(finish, "_soft_holds_better", lambda *_: better)
    view = view_of(X, positive)
    trained = train_starts(view, 2)
    monkeypatch.setattr(
        finish, "search", lambda view, *_: (view, trained.starts[0].take(np.array([False, False])))
    )
    _, boxes, _ = finish.finish(view, trained, 2, may_stay_soft=True)
    soft = thin_faces(view, trained.starts[0])
    assert len(boxes.first) == (2 if better else 0)
    if better:
        np.testing.assert_array_equal(boxes.first, soft.first)
    assert len(finish.finish(view, trained, 2, may_stay_soft=False)[1].first) == 0


@pytest.mark.parametrize("worse", ["thin_faces", "search"])
def test_rows_left_out_tell_whether_gradient_or_search_is_better(monkeypatch, worse):
    """Whichever of the two finds nothing loses."""
    real = getattr(finish, worse)

    def nothing(view, *rest):
        found = real(view, *rest)
        none = np.zeros(0, np.int64)
        return found.take(none) if worse == "thin_faces" else (found[0], found[1].take(none))

    monkeypatch.setattr(finish, worse, nothing)
    X, positive = planted(2_200)
    view = view_of(X, positive)
    assert finish._soft_holds_better(view, 2, Way(False, 0)) == (worse == "search")


def test_gradient_boxes_that_break_a_limit_do_not_stay(monkeypatch):
    X, positive = planted(2_200)
    monkeypatch.setattr(finish, "_soft_holds_better", lambda *_: True)
    for limits in (
        replace(Limits.none(5), max_conditions=1),
        replace(Limits.none(5), required=np.arange(5) == 4),
    ):
        view = view_of(X, positive, limits=limits)
        found, boxes, _ = finish.finish(view, train_starts(view, 2), 2, may_stay_soft=True)
        restricted = (boxes.first > 0) | (boxes.last < found.features.binning.n_bins - 1)
        assert restricted[:, limits.required].all()
        assert (found.task.prices(boxes) <= QUICK.condition_price * limits.max_conditions + 1).all()


def hole(n, draw):
    """Everything but a ball: no box of it is large, one box of the rest is nearly true."""
    X = draw.normal(size=(n, 6))
    return X, (X**2).sum(axis=1) > 5


def test_the_other_class_is_described_where_that_holds_better():
    X, y = hole(800, np.random.default_rng(0))
    X_new, y_new = hole(4000, np.random.default_rng(1))
    asked = HyperNNClassifier(4, random_state=0, positive_label=True).fit(X, y)
    free = HyperNNClassifier(4, random_state=0).fit(X, y)
    assert set(asked.boxes_.labels.tolist()) == {True}
    assert asked.boxes_.default is False
    assert set(free.boxes_.labels.tolist()) == {False}
    assert free.boxes_.default is True
    assert f1_score(y_new, free.predict(X_new)) > f1_score(y_new, asked.predict(X_new)) + 0.05


def scarce(n, draw):
    """A sixth of the rows, which no box holds for want of values: high ones are often missing."""
    X = draw.uniform(size=(n, 5))
    positive = (X > 0.3).all(axis=1)
    X[draw.random(X.shape) < 0.7 * X] = np.nan
    return X, positive


def test_boxes_of_a_frequent_class_tell_a_rare_one():
    X, y = scarce(1000, np.random.default_rng(0))
    X_new, y_new = scarce(5000, np.random.default_rng(1))
    assert 0.1 < y.mean() < 0.2
    model = HyperNNClassifier(5, random_state=0).fit(X, y)
    assert set(model.boxes_.labels.tolist()) == {False}
    assert f1_score(y_new, model.predict(X_new)) > 0.8


def test_rows_of_a_rare_class_count_more_in_boxes_of_the_other():
    # By its own F1 a class of four fifths, with labels that are often wrong, is told by a box that holds all.
    draw = np.random.default_rng(0)
    X = draw.uniform(size=(900, 4))
    rare = (X[:, 0] > 0.4) & (X[:, 1] > 0.4) & (draw.random(900) < 0.55)
    view = view_of(X, rare)
    rows = view.sharp().task
    scores = []
    for times in (1.0, times_for_other(rows, view.positive & (np.arange(900) % 2 == 0))):
        turned = view.turned(times)
        found, boxes = finish.search(turned, train_starts(turned, 2), 2, Way(True, 0))
        scores.append(finish.f1_of(rows, ~found.sharp().task.union(boxes)))
    assert scores[1] > scores[0] + 0.2


def scattered(n, draw):
    """Draw two boxes with one row in forty, two fifths of them of the class, and a few elsewhere."""
    X = draw.normal(size=(n, 12))
    one = (X[:, 0] > 1) & (X[:, 1] > 0.5) & (np.abs(X[:, 2]) < 0.8)
    two = (X[:, 3] < -1) & (X[:, 4] > 0.5) & (np.abs(X[:, 5]) < 0.8)
    return X, draw.random(n) < np.where(one | two, 0.4, 0.004)


def test_few_rows_of_a_class_among_many_are_not_fitted_too_closely(monkeypatch):
    monkeypatch.setattr(finish, "_soft_holds_better", lambda *_: True)  # had they been asked
    X, y = scattered(6000, np.random.default_rng(9))
    X_new, y_new = scattered(40_000, np.random.default_rng(109))
    model = HyperNNClassifier(20, random_state=0).fit(X, y)
    assert np.isfinite([model.boxes_.lower, model.boxes_.upper]).sum() <= 12
    assert f1_score(y_new, model.predict(X_new)) > 0.42


@pytest.mark.parametrize(("n_positive", "judged"), [(399, 3), (400, 1), (4601, 1), (4602, 3)])
def test_one_fold_judges_a_large_table_unless_a_class_has_few_rows(n_positive, judged):
    X = np.random.default_rng(0).uniform(size=(5001, 2))
    positive = np.argsort(np.argsort(X[:, 0])) < n_positive
    view = view_of(X, positive, Settings(n_steps=5))
    assert choose_way(view, train_starts(view, 1), 1).judged == judged


@pytest.mark.parametrize("seed", range(10))
def test_a_row_in_a_box_of_the_other_class_costs_what_it_costs_this_one(seed):
    view = view_of(*planted(200, wrong=0.1, seed=seed))
    rows = view.sharp().task
    answers = view.positive ^ (np.random.default_rng(seed).random(200) < 0.15)  # mostly right
    times, f1 = times_for_other(rows, answers), finish.f1_of(rows, answers)
    turned = view.turned(times)
    assert turned.target != view.target
    np.testing.assert_allclose(turned.problem.weight, np.where(view.positive, times, 1.0))
    other_f1 = finish.f1_of(turned.sharp().task, ~answers)
    # To the boxes' own class a row of it is worth 2 - F, and one of this class costs F, so many times.
    assert times * other_f1 / (2 - other_f1) == pytest.approx((2 - f1) / f1)
    assert 1 < times < finish.MOST_TIMES
    assert times_for_other(rows, view.positive) == 1
    assert times_for_other(rows, ~view.positive) == finish.MOST_TIMES


def test_boxes_of_the_other_class_that_tell_less_are_not_taken(monkeypatch):
    view = view_of(*planted(400))
    trained = train_starts(view, 3)
    straight = finish.search(view, trained, 3, Way(False, 0))
    everything = BinBoxes(np.zeros((1, 5), np.int64), np.full((1, 5), MISSING))
    nothing = everything.take(np.zeros(1, bool))
    assert not finish._tells_better(view, (view.turned(), everything), straight)
    assert finish._tells_better(view, (view.turned(), everything), (view, nothing))
    monkeypatch.setattr(finish, "_misses_much", lambda *_: True)
    monkeypatch.setattr(finish, "_turned_if_better", lambda *_: finish.Turned(2.0, view.positive))
    monkeypatch.setattr(finish, "_tree_if_better", lambda *_, **__: None)
    monkeypatch.setattr(finish, "_finish_turned", lambda turned, *_, **__: (turned, everything))
    found, boxes, _ = finish.finish(view, trained, 3, may_stay_soft=False, may_turn=True)
    assert found.target == view.target
    assert found.sharp().task.score(boxes)[1] > 0.9


def test_boxes_of_the_other_class_hold_the_rows_they_must(monkeypatch):
    X, y = planted(400)
    view = view_of(X, y, replace(QUICK, min_support=30))
    turned = view.turned(5.0)
    # The first half of a feature holds many rows; a single bin of it few, but these count five times.
    bins = BinBoxes(
        np.array([[0] * 5, [200] + [0] * 4]), np.array([[120] + [MISSING] * 4, [212] + [MISSING] * 4])
    )
    held = turned.sharp().task.support(bins)
    rows = turned.sharp().task.inside(bins).sum(axis=1)
    assert (held >= 30).all()
    assert (rows >= 30).tolist() == [True, False]
    monkeypatch.setattr(finish, "finish", lambda *_, **__: finish.Found(turned, bins))
    _, boxes = finish._finish_turned(turned, view, 2, may_stay_soft=False)
    np.testing.assert_array_equal(boxes.first, bins.first[:1])


def test_boxes_are_not_turned_without_evidence(monkeypatch):
    X, y = hole(800, np.random.default_rng(0))
    monkeypatch.setattr(finish, "EVIDENCE", np.inf)
    assert set(HyperNNClassifier(4, random_state=0).fit(X, y).boxes_.labels.tolist()) == {True}


@pytest.mark.parametrize("seed", range(5))
def test_needed_sides_keep_out_every_negative_that_any_side_does(seed):
    draw = np.random.default_rng(seed)
    negatives = draw.normal(size=(60, 40)).astype(np.float32)
    lower = draw.normal(-1.5, 0.3, (3, 40)).astype(np.float32)
    upper = draw.normal(1.5, 0.3, (3, 40)).astype(np.float32)
    low, high = needed_sides(lower, upper, negatives)
    for k in range(3):
        out = np.concatenate([negatives < lower[k], negatives > upper[k]], axis=1)
        kept = np.concatenate([low[k], high[k]])
        np.testing.assert_array_equal(np.minimum(out.sum(1), 3), np.minimum(out[:, kept].sum(1), 3))
        assert kept.sum() < 60
    assert not needed_sides(lower - 99, upper + 99, negatives)[0].any()


def test_faces_grow_sharper_with_the_number_of_rows_within_limits():
    lasts = [Settings().temperatures(n)[1] for n in (0, 1, 300, 301, 1000, 2700, 10**7)]
    assert lasts == sorted(lasts, reverse=True)
    assert lasts[0] == lasts[2] == Settings().last_boundary_temperature
    assert lasts[2] > lasts[3] > lasts[4] > lasts[5] == lasts[6] == Settings().last_boundary_temperature / 3


def test_features_out_of_reach_take_no_part_in_training():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 150))
    view = view_of(X, X[:, 0] > 0)
    (start,) = (start for start in make_starts(view, 2) if start.kind == "clusters")
    idle = (start.lower <= -OUT_OF_REACH).all(axis=0) & (start.upper >= OUT_OF_REACH).all(axis=0)
    assert idle.any()
    assert not idle.all()
    ((lower, upper),), _ = compiled_descent([start])
    np.testing.assert_array_equal(lower[:, idle], start.lower[:, idle])
    assert (lower[:, ~idle] != start.lower[:, ~idle]).any()
    # Training all of them, which moves none that is out of reach, gives the same but for the last digits.
    everything = replace(start, lower=start.lower.copy(), upper=start.upper.copy())
    expected = everything.lower, everything.upper
    descend(
        start.space.Z, view.problem.weight, np.flatnonzero(view.positive), np.flatnonzero(~view.positive),
        *expected, QUICK.n_steps, QUICK.batch_size, QUICK.least_positive_share, QUICK.learning_rate,
        QUICK.last_learning_rate, *QUICK.temperatures(60), start.seed, np.zeros((60, 3)),
    )  # fmt: skip
    np.testing.assert_allclose(lower, expected[0], rtol=1e-4)
    np.testing.assert_allclose(upper, expected[1], rtol=1e-4)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_a_handful_of_rows_is_learned_whatever_folds_are_left(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    y = np.arange(n) % 2 == 1
    assert HyperNNClassifier(2, random_state=0).fit(X, y).predict(X).shape == (n,)
