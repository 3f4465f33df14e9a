"""Explanations: every listed change does what it says, and the smallest one is the smallest."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from strategies import boxes_and_table

from hyperboxes import Boxes
from hyperboxes.explain import explain


def clinic():
    return Boxes.from_rules(
        [
            ({"age": (65, None), "bmi": (None, 25.5)}, "high"),
            ({"age": (40, 60), "smoker": {"yes", "often"}}, "high"),
            ({"bmi": (35, None)}, "ill"),
        ],
        default="low",
        feature_names=["age", "bmi", "smoker"],
        categories={"smoker": ["no", "yes", "often"]},
    )


def changed(boxes, row, change):
    """The row, as positions, with a change applied."""
    moved = np.array(row, np.float64)[None]
    for name, value in change.values.items():
        known = boxes.categories.get(name)
        place = math.nan if value is None else value
        moved[0, boxes.feature_names.index(name)] = place if known is None else known.index(value)
    return moved


@given(boxes_and_table(counts=False))
def test_every_change_leads_where_it_says(made):
    boxes, table = made
    for row in table.astype(np.float64):
        found = explain(boxes, row)
        assert found.prediction == boxes.predict(row[None])[0]
        assert found.box == (None if boxes.decide(row[None])[0] < 0 else boxes.decide(row[None])[0])
        held = boxes.apply(row[None])[0]
        assert {change.box for change in found.changes if change.enters} == set(
            np.flatnonzero(~boxes.contains(row[None])[0]).tolist()
        )
        for change in found.changes:
            moved = changed(boxes, row, change)
            assert change.prediction == boxes.predict(moved)[0]
            if change.enters:
                assert boxes.contains(moved)[0, change.box]
                assert 0 <= boxes.apply(moved)[0] <= change.box
            else:
                assert change.box == held
                assert not boxes.contains(moved)[0, change.box]
        distances = [change.distance for change in found.changes]
        assert distances == sorted(distances)
        assert not any(math.isnan(distance) for distance in distances)
        assert str(found)


@given(boxes_and_table(counts=False))
def test_the_smallest_change_is_the_nearest_of_those_that_alter_the_class(made):
    boxes, table = made
    scale = np.ldexp(1.0, np.arange(boxes.n_features) - 1)
    for row in table.astype(np.float64):
        found = explain(boxes, row, scale)
        other = [c for c in found.changes if c.prediction != found.prediction and c.distance < math.inf]
        smallest = found.smallest_change
        assert (smallest is None) == (not other)
        if other:
            assert smallest.distance == min(change.distance for change in other)
        for change in found.changes:
            steps = [0.0]
            for name, value in change.values.items():
                j = boxes.feature_names.index(name)
                cell = float(row[j])
                if name not in boxes.categories:
                    # Leaving goes to the number beside the bound; the distance is that to the bound.
                    if value is None:
                        steps.append(1.0)
                        continue
                    target = value if change.enters else math.nextafter(value, cell)
                    steps.append(abs(target - cell) / float(scale[j]))
                    if math.isnan(cell):  # no number is nearest to none
                        steps.append(math.inf)
                lost = change.enters and reference.is_missing(boxes, j, cell)
                steps.append(math.inf if lost else float(name in boxes.categories))
            assert change.distance == max(step for step in steps if not math.isnan(step))


def test_margins_tell_the_distance_to_each_bound():
    found = explain(clinic(), [50, 30.0, "yes"])
    assert (found.prediction, found.box) == ("high", 1)
    age, smoker = found.margins
    assert (age.value, age.holds, age.to_lower, age.to_upper) == (50.0, True, 10.0, 10.0)
    assert (smoker.value, smoker.holds) == ("yes", True)
    assert math.isnan(smoker.to_lower)
    (bmi,) = explain(clinic(), [30, 40.0, "no"]).margins
    assert (bmi.to_lower, bmi.to_upper) == (5.0, math.inf)


def test_the_nearest_way_is_measured_in_the_units_given():
    row = [62, 24.0, "no"]
    plain = explain(clinic(), row).smallest_change
    assert (plain.box, plain.values, plain.distance) == (1, {"age": 60.0, "smoker": "yes"}, 2.0)
    scaled = explain(clinic(), row, np.array([1.0, 16.0, 1.0])).smallest_change
    assert (scaled.prediction, scaled.values) == ("ill", {"bmi": 35.0})
    assert scaled.distance == 11 / 16


def test_a_missing_value_in_a_restricted_feature_is_infinitely_far():
    found = explain(clinic(), [np.nan, 20.0, "no"])
    assert found.prediction == "low"
    by_box = {change.box: change for change in found.changes}
    assert by_box[0].distance == by_box[1].distance == math.inf
    assert by_box[2].distance == 15.0
    assert found.smallest_change.box == 2
    none = explain(clinic(), [50.0, np.nan, None])
    assert {change.box: change.distance for change in none.changes} == {0: math.inf, 1: math.inf, 2: math.inf}
    assert none.smallest_change is None


@pytest.mark.parametrize("position", [-1.0, 0.5, 1.5, 3.0, np.inf])
def test_a_position_that_is_no_category_is_an_unknown_one(position):
    found = explain(clinic(), np.array([50.0, 30.0, position]))
    (change,) = (change for change in found.changes if change.box == 1)
    assert (change.values, change.distance, change.prediction) == ({"smoker": "yes"}, 1.0, "high")


def test_ways_in_and_out_of_sets_that_name_missing_values():
    boxes = Boxes.from_rules(
        [({"colour": {None}}, "lost"), ({"colour": {"red", "blue"}, "size": (5, None)}, "large")],
        default="small", categories={"colour": ["red", "blue", None]},
    )  # fmt: skip
    assert str(boxes.conditions(1)[0]) == "colour is known"
    lost = explain(boxes, [None, 3.0])
    assert (lost.prediction, lost.margins[0].value, lost.margins[0].holds) == ("lost", None, True)
    assert (lost.smallest_change.values, lost.smallest_change.distance) == ({"colour": "red"}, 1.0)
    assert {change.box: change.distance for change in lost.changes} == {0: 1.0, 1: math.inf}
    green = explain(boxes, ["green", 7.0])  # not known by name, but there is a value
    assert (green.prediction, green.margins[0].value, green.margins[0].holds) == ("large", None, True)
    ways = {(change.box, change.enters): change for change in green.changes}
    assert ways[0, True].values == {"colour": None}
    assert ways[0, True].distance == 1.0
    assert "colour is known   (a new value)" in str(green)
    assert "colour to missing" in str(green)


def test_ways_in_and_out_of_boxes_that_ask_a_number_to_be_missing():
    boxes = Boxes.from_rules([({"dose": {None}, "age": (50, None)}, "ask")], default="fine")
    gone = explain(boxes, [None, 60.0])
    assert [margin.holds for margin in gone.margins] == [True, True]
    ways = {tuple(change.values): change for change in gone.changes}
    assert ways["dose",].distance == math.inf  # which number it would be is not known
    assert ways["age",].distance == 10.0
    given = explain(boxes, [3.0, 60.0]).smallest_change
    assert (given.values, given.distance, given.enters) == ({"dose": None}, 1.0, True)


def test_leaving_a_box_leaves_those_behind_it_that_give_the_same_class():
    boxes = Boxes([[0.0, -9.0], [-2.0, 0.0]], [[1.0, 9.0], [1.5, 5.0]], ["a", "a"], ["x", "y"], "b")
    smallest = explain(boxes, [0.9, 4.0]).smallest_change
    assert (smallest.box, smallest.enters, smallest.prediction) == (0, False, "b")
    assert set(smallest.values) == {"x", "y"}
    assert smallest.distance == 1.0


@pytest.mark.parametrize(
    "row", [[1e308, 0.0], [-1e308, 0.0], [np.inf, 0.0], [-np.inf, np.inf], [0.5, -np.inf]]
)
def test_the_ends_of_float64_are_explained_without_a_warning(row):
    boxes = Boxes(
        [[-1.7e308, -np.inf], [5.0, -np.inf], [-np.inf, -1e308]],
        [[1e308, 3.0], [np.inf, 1e308], [7.0, np.inf]],
        [1, 2, 3], default=0,
    )  # fmt: skip
    found = explain(boxes, np.array(row), np.array([0.5, 4.0]))
    for change in found.changes:
        moved = changed(boxes, row, change)
        assert boxes.contains(moved)[0, change.box] == change.enters
    assert str(found)


def test_the_text_names_the_rule_the_values_and_the_way():
    assert str(explain(clinic(), [70, 22.0, "no"])) == (
        "'high' by box 0:\n"
        "  age >= 65   (value 70)\n"
        "  bmi <= 25.5   (value 22)\n"
        "  to get 'low', leave box 0: change bmi to 25.500000000000004"
    )
    assert str(explain(clinic(), [30, 20.0, None])).startswith(
        "'low': in no box\n  to get 'ill', enter box 2"
    )
    nearest = replace(clinic(), uncovered="nearest", scale=np.ones(3))
    assert 'smoker in {"yes", "often"}   (value \'no\')' in str(explain(nearest, [39.0, 30.0, "no"]))


@pytest.mark.parametrize(
    "row",
    [
        [50, 30.0, "yes"],
        (50, 30.0, "yes"),
        [[50, 30.0, "yes"]],
        np.array([50, 30.0, 1.0]),
        np.array([[50, 30.0, 1.0]]),
        [50, 30.0, 1],
        np.array([50, 30.0, "yes"], dtype=object),
        pd.DataFrame({"smoker": ["yes"], "bmi": [30.0], "age": [50]}),
        pl.DataFrame({"smoker": ["yes"], "bmi": [30.0], "age": [50]}),
    ],
)
def test_a_row_may_come_as_list_array_or_frame(row):
    expected = explain(clinic(), np.array([50, 30.0, 1.0]))
    assert repr(explain(clinic(), row)) == repr(expected)
    assert expected.box == 1


@pytest.mark.parametrize(
    "rows",
    [
        [[50, 30.0, "yes"]] * 2, np.ones((2, 3)), np.ones((0, 3)),
        pd.DataFrame({"age": [1, 2], "bmi": [1, 2], "smoker": ["no", "no"]}),
    ],
)  # fmt: skip
def test_other_than_one_row_is_refused(rows):
    with pytest.raises(ValueError, match=r"one row, got [02]"):
        explain(clinic(), rows)


@pytest.mark.parametrize("rows", [[[1.0], [2.0]], np.ones((2, 1)), [1.0], [1.0, 2.0, 3.0]])
def test_a_table_of_another_shape_is_not_taken_for_a_row(rows):
    boxes = Boxes([[0.0, 0.0]], [[1.0, 1.0]], ["a"], default="b")
    with pytest.raises(ValueError, match="columns"):
        explain(boxes, rows)
