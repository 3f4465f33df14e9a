"""Laws of the value that everything else reads."""

from __future__ import annotations

import copy
import dataclasses
import html.parser
import json
import math
import os
import pickle
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import HOSTILE_TEXTS, boxes, boxes_and_table, numbers

from hyperboxes import Boxes, Condition
from hyperboxes.conditions import LEAST_NUMBER, format_name, format_number
from hyperboxes.kernels import containment

INF = np.inf


def box_of(lower=0.0, upper=1.0, label=1, default=0, **options):
    """One box over one feature."""
    return Boxes([[lower]], [[upper]], [label], default=default, **options)


def kinds_of(*values):
    return [(type(value), value) for value in values]


# -- containment -----------------------------------------------------------------------------------


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


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "default", "dtype", "answers"),
    [
        (["a", "b"], "longer", "<U6", ["a", "b", "longer"]),
        (np.array(["a", "b"], object), "c", "<U1", ["a", "b", "c"]),
        (np.array([np.str_("a"), "bb"], object), "c", "<U2", ["a", "bb", "c"]),
        ([0, 1], 2, "int64", [0, 1, 2]),
        (np.array([0, 1], np.uint8), np.int16(2), "int64", [0, 1, 2]),
        (np.array([0, np.int64(1)], object), 2, "int64", [0, 1, 2]),
        ([True, False], False, "bool", [True, False, False]),
        (np.array([True, np.False_], object), np.True_, "bool", [True, False, True]),
        ([0.5, 1.5], 2, "float64", [0.5, 1.5, 2.0]),
        ([0, 1], 0.5, "float64", [0.0, 1.0, 0.5]),
        (np.array([0.5, 1], np.float32), 1.0, "float64", [0.5, 1.0, 1.0]),
        (["a", "b"], None, "object", ["a", "b", None]),
        ([True, False], None, "object", [True, False, None]),
    ],
)
def test_answers_keep_the_type_of_the_labels(labels, default, dtype, answers):
    made = Boxes([[0], [1]], [[0], [1]], labels, default=default)
    predicted = made.predict([[0], [1], [2]])
    assert predicted.dtype == dtype
    assert kinds_of(*predicted.tolist()) == kinds_of(*answers)
    if default is not None:
        assert type(made.default) is type(answers[2])
        assert made.classes.dtype == made.labels.dtype == dtype


@pytest.mark.parametrize(
    ("labels", "default", "classes", "message"),
    [
        (["a", 1], "b", None, "labels must be all text, all finite numbers or all booleans"),
        ([True, 2], 0, None, "labels must be all text, all finite numbers or all booleans"),
        ([1, 2], "b", None, "labels are numbers but default holds text: 'b'"),
        ([1, 2], False, None, "labels are numbers but default holds booleans: False"),
        ([1, 2], 1, [True, 1, 2], "classes must be all text"),
        (["a", "b"], "a", [1, 2], "labels are text but classes holds numbers: 1"),
        ([1, 2], 3, [1, 2], "label 3 is not among classes"),
        ([1, 2], 1, [1, 2, 2], "classes holds a label twice"),
        ([1, None], 1, None, "labels must be all text"),
        ([1, np.nan], 1, None, "labels must be all text, all finite numbers"),
        ([1.5, INF], 1, None, "labels must be all text, all finite numbers"),
        ([b"a", b"b"], 1, None, "labels must be all text"),
        ([1, 2], INF, None, "default must be all text, all finite numbers"),
        ([1, 2**63], 1, None, "labels must be integers of 64 bits or fewer"),
        ([1.5, 10**400], 1, None, "labels must be integers of 64 bits or fewer"),
        (np.array([1, 2**63], np.uint64), 1, None, "labels must be integers of 64 bits or fewer"),
        (["a", "b\0"], "a", None, "zero character"),
        ([1], 1, None, "one for each of 2 boxes, got 1"),
        ([[1, 2]], 1, None, r"labels must be a list of labels, got shape \(1, 2\)"),
        ("ab", "a", None, r"labels must be a list of labels, got shape \(\)"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_told_apart_or_written_are_refused(labels, default, classes, message):
    with pytest.raises(ValueError, match=message):
        Boxes([[0], [1]], [[0], [1]], labels, default=default, classes=classes)


def test_classes_are_sorted_unless_given():
    made = Boxes([[0], [1]], [[0], [1]], ["b", "a"], default="c")
    assert made.classes.tolist() == ["a", "b", "c"]
    ordered = dataclasses.replace(made, classes=["low", "c", "b", "a"])
    assert ordered.classes.tolist() == ["low", "c", "b", "a"]
    assert ordered.predict([[9]]).dtype == "<U3"


# -- probabilities ---------------------------------------------------------------------------------


@given(boxes_and_table(counts=True))
def test_the_most_probable_class_is_the_predicted_one(case):
    made, X = case
    if not len(made.classes):
        return
    probabilities, predicted = made.predict_proba(X), made.predict(X)
    assert probabilities.shape == (len(X), len(made.classes))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-12)
    answered = np.array([answer is not None for answer in predicted.tolist()], bool)
    likely = made.classes[probabilities.argmax(axis=1)]
    assert likely[answered].tolist() == predicted[answered].tolist()
    np.testing.assert_array_equal(probabilities, made.shares[made.decide(X)])


def test_shares_are_smoothed_training_shares():
    made = box_of(counts=[[1, 3], [4, 0]])
    prior = np.array([5, 3]) / 8
    np.testing.assert_allclose(made.shares, [(np.array([1, 3]) + prior) / 5, (np.array([4, 0]) + prior) / 5])


def test_probabilities_need_counts():
    with pytest.raises(ValueError, match="no training counts"):
        box_of().predict_proba([[1.0]])


# -- conditions ------------------------------------------------------------------------------------


@given(boxes())
def test_conditions_say_what_the_boxes_hold(made):
    total = 0
    for box in range(made.n_boxes):
        asked = made.conditions(box)
        assert [condition.feature for condition in asked] == np.flatnonzero(made.restricted[box]).tolist()
        for condition in asked:
            assert condition.name == made.feature_names[condition.feature]
            np.testing.assert_equal(condition.lower, made.lower[box, condition.feature])
            np.testing.assert_equal(condition.upper, made.upper[box, condition.feature])
            if condition.categories is not None:
                flags = [condition.admits(value) for value in made.categories[condition.name]]
                assert flags == made.allowed[condition.name][box].tolist()
                assert condition.takes_missing == (flags[-1] and made.categories[condition.name][-1] is None)
            total += condition.n_conditions
    assert made.n_conditions == total
    assert len(made) == made.n_boxes


NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
NAME = r'(?:"(?:[^"\\]|\\.)*"|[^"<>={},\\]+?)'


def parse_condition(text, categorical):
    """Read a printed condition back: (name, lower, upper, categories)."""

    def name_of(printed):
        return json.loads(printed) if printed.startswith('"') else printed

    def value_of(printed):
        if printed in ("True", "False", "missing"):
            return {"True": True, "False": False, "missing": None}[printed]
        return json.loads(printed)

    if match := re.fullmatch(rf"({NAME}) is known", text, re.DOTALL):
        return name_of(match[1]), *((-INF, INF, ()) if categorical else (LEAST_NUMBER, INF, None))
    if match := re.fullmatch(rf"({NAME}) is missing", text, re.DOTALL):
        return name_of(match[1]), *((-INF, INF, (None,)) if categorical else (math.nan, math.nan, None))
    if match := re.fullmatch(rf"({NUMBER}) <= ({NAME}) <= ({NUMBER})", text, re.DOTALL):
        return name_of(match[2]), float(match[1]), float(match[3]), None
    if match := re.fullmatch(rf"({NAME}) (<=|>=|=) ({NUMBER})", text, re.DOTALL) if not categorical else None:
        value = float(match[3])
        sides = {"<=": (-INF, value), ">=": (value, INF), "=": (value, value)}[match[2]]
        return name_of(match[1]), *sides, None
    if match := re.fullmatch(rf"({NAME}) = (.*)", text, re.DOTALL):
        return name_of(match[1]), -INF, INF, (value_of(match[2]),)
    match = re.fullmatch(rf"({NAME}) in \{{(.*)\}}", text, re.DOTALL)
    items = re.findall(r'"(?:[^"\\]|\\.)*"|[^,\s]+', match[2])
    return name_of(match[1]), -INF, INF, tuple(map(value_of, items))


@given(boxes())
def test_a_printed_condition_reads_back_as_the_same_numbers(made):
    for box in range(made.n_boxes):
        for condition in made.conditions(box):
            name, lower, upper, categories = parse_condition(str(condition), condition.categories is not None)
            assert name == condition.name
            assert (lower, upper, categories) == (condition.lower, condition.upper, condition.categories)


@given(numbers)
@example(1e16)
@example(123456789.0)
def test_a_formatted_number_is_the_shortest_that_reads_back(value):
    text = format_number(value)
    assert float(text) == value
    assert len(text) <= len(repr(value))
    assert not text.endswith(".0")


@pytest.mark.parametrize(
    "name", ["", "3", "1e5", "nan", " a", "a\n", "x <= 3", "a and b", "OR", "a,b", '"', "\u202e"]
)
def test_a_name_that_could_mislead_is_quoted(name):
    assert format_name(name) == json.dumps(name)


@pytest.mark.parametrize("name", ["age", "sepal length (cm)", "naïve", "brand", "% fat", "a.b"])
def test_a_harmless_name_is_printed_as_it_is(name):
    assert format_name(name) == name


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition(0, "a", 1.0, INF), "a >= 1"),
        (Condition(0, "a", -INF, 2.5), "a <= 2.5"),
        (Condition(0, "a", 1.0, 2.5), "1 <= a <= 2.5"),
        (Condition(0, "a", 1.0, 1.0), "a = 1"),
        (Condition(0, "a", -INF, INF, ("x",)), 'a = "x"'),
        (Condition(0, "a", -INF, INF, (1, 2)), "a in {1, 2}"),
        (Condition(0, "a", -INF, INF, ("x", None)), 'a in {"x", missing}'),
        (Condition(0, "a", -INF, INF, (1, 2, None)), "a in {1, 2, missing}"),
        (Condition(0, "a", -INF, INF, (None,)), "a is missing"),
        (Condition(0, "a", -INF, INF, ()), "a is known"),
        (Condition(0, "a", LEAST_NUMBER, INF), "a is known"),
    ],
)
def test_a_condition_reads_like_one(condition, text):
    assert str(condition) == text


class Reader(html.parser.HTMLParser):
    """Collect the tags and the text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text.append(data)


@given(boxes())
def test_html_holds_hostile_text_as_text(made):
    page = made._repr_html_()
    reader = Reader()
    reader.feed(page)
    assert reader.tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    text = "".join(reader.text)
    for box in range(made.n_boxes):
        for condition in made.conditions(box):
            assert str(condition) in text


@pytest.mark.parametrize("hostile", [text for text in HOSTILE_TEXTS if "<" in text])
def test_html_escapes_names_categories_and_labels(hostile):
    made = Boxes.from_rules(
        [({hostile: {hostile}}, hostile)], default=hostile, categories={hostile: [hostile, "b"]}
    )
    assert hostile not in made._repr_html_()


def test_repr_counts_boxes_and_conditions():
    made = Boxes.from_rules([({"a": (1, 2)}, "x"), ({"b": (1, None)}, "x")], default="y")
    assert repr(made) == "Boxes(2 boxes over 2 features, 3 conditions; {'x': 2, 'y': 0}, default 'y')"


# -- set operations --------------------------------------------------------------------------------


@given(boxes())
def test_covers_and_overlaps_are_their_definitions(made):
    np.testing.assert_array_equal(made.covers(), reference.covers(made))
    np.testing.assert_array_equal(made.overlaps(), reference.overlaps(made))


@given(boxes_and_table(counts=False))
def test_a_covered_row_is_in_the_covering_box_and_boxes_that_share_a_row_overlap(case):
    made, X = case
    inside, covers, overlaps = made.contains(X), made.covers(), made.overlaps()
    for i in range(made.n_boxes):
        for j in range(made.n_boxes):
            if covers[i, j]:
                assert (inside[:, i] >= inside[:, j]).all()
            complete = ~np.isnan(np.asarray(X, np.float64)).any(axis=1)
            if not overlaps[i, j]:
                assert not (inside[complete, i] & inside[complete, j]).any()


def test_a_box_that_restricts_does_not_cover_one_that_admits_missing_values():
    largest = np.finfo(float).max
    made = Boxes([[-INF, 0], [-INF, 0]], [[INF, 1], [INF, 1]], [0, 1])
    assert made.covers().all()
    assert not dataclasses.replace(made, lower=[[-largest, 0], [-INF, 0]]).covers()[0, 1]


@given(boxes_and_table())
def test_a_shadowed_box_never_decides(case):
    made, X = case
    shadowed = made.shadowed()
    decided = made.decide(X)
    assert not shadowed[decided[decided >= 0]].any()
    np.testing.assert_array_equal(
        shadowed, [reference.covers(made)[:j, j].any() for j in range(made.n_boxes)]
    )
    np.testing.assert_array_equal(made.drop(shadowed).predict(X), made.predict(X))


# -- editing ---------------------------------------------------------------------------------------


@given(boxes_and_table(), st.data())
def test_select_keeps_boxes_in_the_given_order(case, data):
    made, X = case
    index = data.draw(st.lists(st.integers(0, made.n_boxes - 1), max_size=6)) if made.n_boxes else []
    chosen = made.select(index)
    np.testing.assert_array_equal(chosen.contains(X), made.contains(X)[:, index])
    assert chosen.labels.tolist() == made.labels[np.array(index, int)].tolist()
    assert (chosen.default, chosen.uncovered, chosen.counts) == (made.default, made.uncovered, None)
    assert chosen.classes.tolist() == made.classes.tolist()


@given(boxes(), st.data())
def test_drop_is_selecting_the_rest(made, data):
    index = data.draw(st.lists(st.integers(0, made.n_boxes - 1), max_size=6)) if made.n_boxes else []
    rest = [box for box in range(made.n_boxes) if box not in index]
    assert made.drop(index) == made.select(rest)
    mask = np.isin(np.arange(made.n_boxes), index)
    assert made.drop(mask) == made.select(~mask) == made.select(rest)


def test_select_refuses_one_box_without_a_list():
    with pytest.raises(ValueError, match="list of boxes or a mask"):
        box_of().select(0)


@given(boxes_and_table(), st.data())
def test_open_lifts_what_a_box_asks(case, data):
    made, X = case
    if not made.n_boxes or not made.n_features:
        return
    box, column = data.draw(st.integers(0, made.n_boxes - 1)), data.draw(st.integers(0, made.n_features - 1))
    name = made.feature_names[column]
    opened = made.open(box, name)
    assert not opened.restricted[box, column]
    others = np.arange(made.n_boxes) != box
    np.testing.assert_array_equal(opened.contains(X)[:, others], made.contains(X)[:, others])
    expected = [
        all(reference.holds(made, box, j, float(row[j])) for j in range(made.n_features) if j != column)
        for row in X
    ]
    np.testing.assert_array_equal(opened.contains(X)[:, box], expected)
    below, above = made.open(box, name, "lower"), made.open(box, name, "upper")
    assert below.open(box, name, "upper") == above.open(box, name, "lower") == opened
    if np.isnan(made.lower[box, column]):  # has no sides
        assert below == above == opened
        return
    assert below.lower[box, column] == -INF
    assert below.upper[box, column] == made.upper[box, column]
    assert above.lower[box, column] == made.lower[box, column]


@pytest.mark.parametrize(
    ("arguments", "message"), [((0, "q"), "no feature 'q'"), ((0, "x0", "left"), "side must be")]
)
def test_open_names_what_it_does_not_know(arguments, message):
    with pytest.raises(ValueError, match=message):
        box_of().open(*arguments)


@given(boxes_and_table(), st.integers(0, 5))
def test_concat_of_parts_is_the_whole(case, cut):
    made, X = case
    parts = [made.select(np.arange(made.n_boxes) < cut), made.select(np.arange(made.n_boxes) >= cut)]
    whole = Boxes.concat(parts)
    assert whole == dataclasses.replace(made, counts=None)
    np.testing.assert_array_equal(
        whole.contains(X), np.concatenate([part.contains(X) for part in parts], axis=1)
    )


def test_concat_unites_categories_and_keeps_sets():
    first = Boxes.from_rules([({"c": {"a"}}, 1), ({}, 2)], default=0, categories={"c": ["a", "b"]})
    second = Boxes.from_rules([({"c": {"z"}}, 3)], default=9, categories={"c": ["z", "a"]})
    both = Boxes.concat([first, second])
    assert both.categories == {"c": ("a", "b", "z")}
    assert both.allowed["c"].tolist() == [[True, False, False], [True, True, True], [False, False, True]]
    assert both.default == 9
    assert both.classes.tolist() == [0, 1, 2, 3, 9]
    frame = np.array([["a"], ["b"], ["z"], ["?"], [None]], object)
    assert both.predict(frame).tolist() == [1, 2, 2, 2, 2]


def test_other_known_categories_leave_sets_and_open_features_as_they_were():
    made = Boxes.from_rules([({"c": {"a"}}, 1), ({}, 2)], default=0, categories={"c": ["a", "b"]})
    other = made.with_categories({"c": ["z", "a"]})
    assert other.categories == {"c": ("z", "a")}
    assert other.allowed["c"].tolist() == [[False, True], [True, True]]
    assert not made.with_categories({"c": ["a"]}).restricted.any()
    with pytest.raises(ValueError, match="admits no category of 'c'"):
        made.with_categories({"c": ["b"]})
    with pytest.raises(ValueError, match="categorical features are"):
        made.with_categories({})


COLOURS = ("red", "blue", None)
CELLS = np.array([["red"], ["blue"], ["green"], [None]], object)


@pytest.mark.parametrize(
    ("admitted", "inside"),
    [
        ({None}, [False, False, False, True]),
        ({"red", None}, [True, False, False, True]),
        ({"red", "blue"}, [True, True, True, False]),
        ({"blue"}, [False, True, False, False]),
        ({"red", "blue", None}, [True, True, True, True]),
    ],
)
def test_a_set_says_whether_it_admits_missing_values(admitted, inside):
    made = Boxes.from_rules([({"colour": admitted}, 1)], default=0, categories={"colour": COLOURS})
    assert made.contains(CELLS)[:, 0].tolist() == inside
    codes = np.array([[0.0], [1.0], [-1.0], [np.nan], [2.0]])
    before = codes.copy()
    for dtype in (np.float64, np.float32):
        assert made.contains(codes.astype(dtype))[:, 0].tolist() == [*inside, inside[-1]]
    made.contains(codes)
    np.testing.assert_array_equal(codes, before)  # a missing cell is put in its place in a copy


def test_rules_may_name_missing_values():
    made = Boxes.from_rules([({"colour": {None}}, 1), ({"colour": {"red"}}, 2)], default=0)
    assert made.categories == {"colour": ("red", None)}
    assert [str(made.conditions(box)[0]) for box in range(2)] == ["colour is missing", "colour is known"]


def test_a_number_may_have_to_be_missing():
    made = Boxes.from_rules([({"x": {None}, "y": (1, None)}, 1), ({"x": (0, None)}, 2), ({}, 3)], default=0)
    assert np.isnan([made.lower[0, 0], made.upper[0, 0]]).all()
    assert [str(condition) for condition in made.conditions(0)] == ["x is missing", "y >= 1"]
    assert made.n_conditions == 3
    rows = np.array([[np.nan, 1], [np.nan, 0], [-np.inf, 1], [np.inf, 1], [0, 1]])
    assert made.predict(rows).tolist() == [1, 3, 3, 2, 2]
    assert made.predict(rows.astype(np.float32)).tolist() == [1, 3, 3, 2, 2]
    assert made.covers().tolist() == [[True, False, False], [False, True, False], [True, True, True]]
    assert made.overlaps().tolist() == [[True, False, True], [False, True, True], [True, True, True]]
    assert not made.open(0, "x", "lower").restricted[0, 0]
    assert made == dataclasses.replace(made, lower=made.lower.copy())
    with pytest.raises(ValueError, match="lower of box 0, feature 'x0' is nan; give a number"):
        Boxes([[np.nan]], [[1.0]], [1], default=0)


def test_a_number_is_out_of_reach_of_boxes_that_ask_for_none():
    made = Boxes.from_rules([({"x": {None}, "y": (5, 6)}, "none"), ({"y": (7, None)}, "high")], default="far")
    made = dataclasses.replace(made, uncovered="nearest", scale=[1.0, 1.0])
    rows = np.array([[np.nan, 6.4], [np.nan, 8.5], [1.0, 4.5], [np.inf, 5.5], [np.nan, np.nan]])
    assert made.nearest(rows).tolist() == [0, 1, 1, 1, -1]
    assert made.predict(rows.astype(np.float32)).tolist() == ["none", "high", "high", "high", "far"]


def test_a_missing_value_that_is_known_stays_so():
    rules = [({"c": {None}}, 1), ({"c": {"a", "b"}}, 2), ({"c": {"a"}}, 3)]
    made = Boxes.from_rules(rules, default=0, categories={"c": ["a", "b", None]})
    other = made.with_categories({"c": ["z", "a"]})
    assert other.categories == {"c": ("z", "a", None)}
    assert other.allowed["c"].tolist() == [[False, False, True], [True, True, False], [False, True, False]]
    plain = Boxes.from_rules([({"c": {"z"}}, 4), ({}, 5)], default=9, categories={"c": ["z", "a"]})
    both = Boxes.concat([made, plain])
    assert both.categories == {"c": ("a", "b", "z", None)}
    frame = np.array([["a"], ["b"], ["z"], ["?"], [None]], object)
    whole = np.concatenate([made.contains(frame), plain.contains(frame)], axis=1)
    # Of a set of all that one list knows, what the other one knows is a value like any.
    np.testing.assert_array_equal(both.contains(frame), whole)
    assert Boxes.concat([plain, made]).categories == {"c": ("z", "a", "b", None)}


def test_concat_takes_a_default_and_the_order_of_the_list_that_has_all_classes():
    first = Boxes([[0]], [[1]], ["mid"], default="low", classes=["low", "mid", "high"])
    second = Boxes([[2]], [[3]], ["high"], default="mid")
    assert Boxes.concat([first, second]).classes.tolist() == ["low", "mid", "high"]
    assert Boxes.concat([second, first], default="new").classes.tolist() == ["high", "low", "mid", "new"]
    assert Boxes.concat([second, first], default="new").predict([[9]]).tolist() == ["new"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Boxes([[0, 0]], [[1, 1]], [1], default=0), "the same features"),
        (box_of(label="a", default="b"), "must be all text|labels are|holds"),
        (box_of(label=True, default=False), "must be all text|labels are|holds"),
        (Boxes.from_rules([({"x0": {1}}, 1)], default=0, categories={"x0": [1, 2]}), "categorical features"),
    ],
)
def test_concat_refuses_what_does_not_fit(other, message):
    with pytest.raises(ValueError, match=message):
        Boxes.concat([box_of(), other])


def test_concat_needs_a_part():
    with pytest.raises(ValueError, match="at least one"):
        Boxes.concat([])


# -- hand-written rules ----------------------------------------------------------------------------


def test_rules_become_boxes():
    made = Boxes.from_rules(
        [
            ({"age": (65, None), "city": {"Oslo", "Rome"}}, "a"),
            ({"bmi": (None, 25.5)}, "b"),
            ({"city": {"Bern"}}, "c"),
        ],
        default="d",
    )
    assert made.feature_names == ("age", "city", "bmi")
    assert made.categories == {"city": ("Bern", "Oslo", "Rome")}
    assert [[str(c) for c in made.conditions(k)] for k in range(3)] == [
        ["age >= 65", 'city in {"Oslo", "Rome"}'],
        ["bmi <= 25.5"],
        ['city = "Bern"'],
    ]
    table = np.array([[70, "Oslo", 30], [70, "Bern", None], [None, None, 20]], object)
    assert made.predict(table).tolist() == ["a", "c", "b"]
    assert Boxes.from_rules([], default=1, feature_names=["a"]).predict([[0]]).tolist() == [1]
    numbers_ = Boxes.from_rules([({"n": {10, 9}}, 1), ({"n": {2}}, 2)], default=0)
    assert numbers_.categories == {"n": (2, 9, 10)}


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        ({"a": 3}, {}, "rule 0 restricts 'a' by 3; give"),
        ({"a": "12"}, {}, "rule 0 restricts 'a' by '12'"),
        ({"a": ["x", "y"]}, {}, "rule 0 restricts 'a' by"),
        ({"a": (1, 2, 3)}, {}, "rule 0 restricts 'a' by"),
        ({"a": (2, 1)}, {}, "box 0 is empty.*'a'"),
        ({"a": (0, 1)}, {"feature_names": ["b"]}, "rule 0 names the feature 'a'"),
        ({"a": {"x"}}, {"categories": {"a": ["y"]}}, "rule 0 asks 'a' to be 'x'"),
        ({"a": {"x", "y"}}, {}, "rule 0 admits every value of 'a'"),
        ({"a": set()}, {"categories": {"a": ["y"]}}, "admits no category of 'a'"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(rule, options, message):
    with pytest.raises(ValueError, match=message):
        Boxes.from_rules([(rule, 1)], default=0, **options)


# -- construction ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": [0]}, r"lower must have shape \(n_boxes, n_features\)"),
        ({"lower": [["0"]]}, "lower must be a matrix of numbers"),
        ({"upper": [["1", 2.0]]}, "upper must be a matrix of numbers"),
        ({"upper": [[1j]]}, "upper must be a matrix of numbers"),
        ({"upper": [[10**400]]}, "upper must be a matrix of numbers"),
        ({"lower": [[0, 1]]}, r"lower has shape \(1, 2\) but upper has \(1, 1\)"),
        ({"lower": [[np.nan]]}, "lower of box 0, feature 'x0' is nan"),
        ({"lower": [[INF]]}, "lower of box 0, feature 'x0' is inf; give a number, -inf"),
        ({"upper": [[-INF]]}, "upper of box 0, feature 'x0' is -inf; give a number, inf"),
        ({"upper": [[-1]]}, "box 0 is empty: lower 0.0 > upper -1.0 for feature 'x0'"),
        ({"feature_names": ["a", "b"]}, "2 feature names for 1 columns"),
        ({"feature_names": "a"}, "feature_names must be a list of names"),
        ({"feature_names": [3]}, "feature names must be text, got 3"),
        ({"categories": {"q": ["a"]}}, "categories names the feature 'q'"),
        ({"categories": {"x0": []}}, "categories of 'x0' must be one or more different values"),
        ({"categories": {"x0": ["a", "a"]}}, "categories of 'x0' must be one or more different values"),
        ({"categories": {"x0": [1, True]}}, "categories of 'x0' must be one or more different values"),
        ({"categories": {"x0": [None]}}, "categories of 'x0' must be one or more different values"),
        ({"categories": {"x0": [None, "a"]}}, "categories of 'x0' must have None, a missing value, last"),
        ({"categories": {"x0": [["a"]]}}, "categories of 'x0' must be text, numbers or booleans"),
        (
            {"categories": {"x0": [np.nan]}},
            "categories of 'x0' must be .* None for a missing value, got nan",
        ),
        ({"categories": {"x0": "ab"}}, "categories of 'x0' must be a sequence in a fixed order"),
        ({"categories": {"x0": {"a", "b"}}}, "categories of 'x0' must be a sequence in a fixed order"),
        ({"categories": {"x0": ["a"]}}, "feature 'x0' is categorical: restrict it by allowed"),
        ({"allowed": {"x0": [[True]]}}, "allowed names 'x0', which has no categories"),
        (
            {
                "lower": [[-INF]],
                "upper": [[INF]],
                "categories": {"x0": ["a", "b"]},
                "allowed": {"x0": [[True]]},
            },
            r"allowed\['x0'\] must be a bool array of shape \(1, 2\)",
        ),
        (
            {"lower": [[-INF]], "upper": [[INF]], "categories": {"x0": ["a"]}, "allowed": {"x0": [[1]]}},
            r"allowed\['x0'\] must be a bool array of shape \(1, 1\), got int64",
        ),
        (
            {"lower": [[-INF]], "upper": [[INF]], "categories": {"x0": ["a"]}, "allowed": {"x0": [[False]]}},
            "box 0 admits no category of 'x0'",
        ),
        ({"uncovered": "never"}, "uncovered must be 'default' or 'nearest', got 'never'"),
        ({"scale": [1.0]}, "scale only has a meaning with"),
        ({"uncovered": "nearest"}, "needs scale"),
        ({"uncovered": "nearest", "scale": [3.0]}, "scale must be 1 positive powers of two"),
        ({"uncovered": "nearest", "scale": [-1.0]}, "scale must be 1 positive powers of two"),
        ({"uncovered": "nearest", "scale": [INF]}, "scale must be 1 positive powers of two"),
        ({"uncovered": "nearest", "scale": [5e-324]}, "scale must be 1 positive powers of two"),
        ({"uncovered": "nearest", "scale": [1.0, 1.0]}, "scale must be 1 positive powers of two"),
        ({"counts": [[1, 2]]}, r"counts must have shape \(2, 2\)"),
        ({"counts": [[1, -1], [0, 0]]}, "counts must be finite and not negative"),
        ({"counts": [[1, np.nan], [0, 0]]}, "counts must be finite and not negative"),
        ({"counts": [[1, INF], [0, 0]]}, "counts must be finite and not negative"),
    ],
)
def test_the_constructor_names_what_is_wrong(change, message):
    arguments = {"lower": [[0]], "upper": [[1]], "labels": [1], "default": 0} | change
    with pytest.raises(ValueError, match=message):
        Boxes(**arguments)


def test_duplicate_names_are_named():
    with pytest.raises(ValueError, match=r"duplicate column names \['a'\]"):
        Boxes(np.zeros((1, 3)), np.ones((1, 3)), [1], ["a", "b", "a"])


def test_names_may_come_from_an_array_and_be_left_out():
    assert Boxes([[0, 0]], [[1, 1]], [1], np.array(["a", "b"])).feature_names == ("a", "b")
    made = Boxes([[0, 0]], [[1, 1]], [1], None, categories=None, allowed=None)
    assert made.feature_names == ("x0", "x1")
    assert all(type(name) is str for name in made.feature_names)


def test_minus_zero_is_zero():
    assert box_of(-0.0, 0.0) == box_of(0.0, -0.0)
    assert hash(box_of(-0.0, 0.0)) == hash(box_of(0.0, -0.0))
    assert str(box_of(-0.0, 1.0).conditions(0)[0]) == "0 <= x0 <= 1"


# -- value -----------------------------------------------------------------------------------------


@given(boxes())
def test_equal_boxes_have_equal_hashes_and_survive_a_pickle(made):
    made.predict(np.zeros((1, made.n_features)))
    for other in (
        pickle.loads(pickle.dumps(made)),  # noqa: S301
        copy.deepcopy(made),
        copy.copy(made),
        dataclasses.replace(made),
    ):
        assert other == made
        assert hash(other) == hash(made)
        for field in dataclasses.fields(made):
            assert type(getattr(other, field.name)) is type(getattr(made, field.name))
        with pytest.raises(ValueError, match="read-only"):
            other.lower[:] = 0
        for table in other.allowed.values():
            with pytest.raises(ValueError, match="read-only"):
                table[:] = True
        np.testing.assert_array_equal(
            other.predict(np.zeros((1, made.n_features))), made.predict(np.zeros((1, made.n_features)))
        )


def test_any_difference_is_seen():
    plain = Boxes.from_rules([({"a": (0, 1), "c": {1}}, 1)], default=0, categories={"c": [1, 2]})
    others = [
        plain,
        dataclasses.replace(plain, lower=[[0.5, -INF]]),
        dataclasses.replace(plain, upper=[[1.5, INF]]),
        dataclasses.replace(plain, labels=[0]),
        dataclasses.replace(plain, labels=[1.0], default=0.0, classes=[0.0, 1.0]),
        dataclasses.replace(plain, labels=[True], default=False, classes=[False, True]),
        dataclasses.replace(plain, default=1),
        dataclasses.replace(plain, default=None),
        dataclasses.replace(plain, classes=[1, 0]),
        dataclasses.replace(plain, feature_names=("b", "c")),
        dataclasses.replace(plain, categories={"c": (2, 1)}),
        dataclasses.replace(plain, categories={"c": (1.0, 2.0)}),
        dataclasses.replace(plain, categories={"c": (True, 2)}),
        dataclasses.replace(plain, allowed={"c": [[True, True]]}),
        dataclasses.replace(plain, uncovered="nearest", scale=[1.0, 1.0]),
        dataclasses.replace(plain, uncovered="nearest", scale=[2.0, 1.0]),
        dataclasses.replace(plain, counts=np.zeros((2, 2))),
        dataclasses.replace(plain, counts=np.ones((2, 2))),
    ]
    for i, one in enumerate(others):
        for j, other in enumerate(others):
            assert (one == other) == (i == j), (i, j)
    assert plain != "text"
    assert len(set(others)) == len(others)


def test_the_order_in_which_categories_are_named_does_not_matter():
    known = {"a": ("x",), "b": ("y",)}
    one, other = (
        Boxes([[-INF, -INF]], [[INF, INF]], [1], ["a", "b"], categories=dict(items))
        for items in (list(known.items()), list(known.items())[::-1])
    )
    assert one == other


def test_boxes_cannot_be_written_to():
    made = Boxes(
        [[0, -INF]], [[1, INF]], [1], ["a", "c"], 0,
        categories={"c": ["x", "y"]}, allowed={"c": [[True, False]]}, counts=[[1, 2], [3, 4]],
    )  # fmt: skip
    for name in ("lower", "upper", "labels", "classes", "counts", "restricted", "shares"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(made, name)[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        made.allowed["c"][0, 1] = True
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.lower = 0
    for mapping in (made.allowed, made.categories):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["c"] = 0


def test_boxes_do_not_share_memory_with_their_source():
    source = {
        "lower": np.zeros((1, 1)), "upper": np.ones((1, 1)), "labels": np.array([1]),
        "classes": np.array([0, 1]), "counts": np.ones((2, 2)), "scale": np.ones(1),
    }  # fmt: skip
    made = Boxes(**source, default=0, uncovered="nearest")
    for name, array in source.items():
        assert not np.shares_memory(getattr(made, name), array)
        assert array.flags.writeable
    answers = made.predict([[0.5]])
    answers[0] = 7
    assert made.predict([[0.5]]).tolist() == [1]
    flags = np.array([[True, False]])
    categorical = Boxes([[-INF]], [[INF]], [1], ["c"], categories={"c": ["x", "y"]}, allowed={"c": flags})
    assert flags.flags.writeable
    assert not np.shares_memory(categorical.allowed["c"], flags)


@pytest.mark.parametrize("n_boxes", [1000])
def test_many_boxes_are_handled_in_modest_memory(n_boxes):
    rng = np.random.default_rng(0)
    lower = rng.random((n_boxes, 20))
    made = Boxes(lower, lower + 0.5, rng.integers(0, 2, n_boxes), default=0)
    assert made.n_conditions == 2 * lower.size
    covers = made.covers()
    assert covers.diagonal().all()
    for box, other in pairwise(range(10)):
        assert covers[box, other] == (
            np.all(lower[box] <= lower[other]) and np.all(lower[other] <= lower[box])
        )


def test_zero_is_one_label_however_it_is_signed():
    boxes = Boxes([[0.0], [1.0]], [[1.0], [2.0]], [0.0, -0.0], default=-0.0)
    assert [repr(label) for label in (*boxes.answers.tolist(), *boxes.classes.tolist())] == ["0.0"] * 4
