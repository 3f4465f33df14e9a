"""Laws of the value that everything else reads."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import boxes, boxes_and_table

from hyperboxes import Boxes

INF = np.inf


def box_of(lower=0.0, upper=1.0, label=1, default=0, **options):
    """One box over one feature."""
    return Boxes([[lower]], [[upper]], [label], default=default, **options)


def kinds_of(*values):
    return [(type(value), value) for value in values]


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
