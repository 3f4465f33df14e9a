from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

from hyperboxes import Boxes
from hyperboxes.summary import format_label, summarize, training_summary

BOXES = Boxes.from_rules(
    [({"a": (0, 2)}, "x"), ({"a": (1, 5), "b": (0, None)}, "y"), ({"a": (1, 2)}, "x")], default="z"
)
cells = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0, 6.0])


@st.composite
def labelled_tables(draw):
    rows = draw(st.integers(1, 30))
    X = np.array(draw(st.lists(st.tuples(cells, cells), min_size=rows, max_size=rows)))
    y = np.array(draw(st.lists(st.sampled_from(["w", "x", "y", "z"]), min_size=rows, max_size=rows)))
    y[0] = "x"
    weight = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=rows, max_size=rows)))
    return X, y, weight


def counted(boxes, X, y, weight):
    """The figures of each box by one obvious loop over the rows."""
    n_boxes = boxes.n_boxes
    support, inside, hits = np.zeros(n_boxes + 1), np.zeros(n_boxes + 1), np.zeros(n_boxes + 1)
    labels = [*boxes.labels.tolist(), boxes.default]
    for within, label, heavy in zip(boxes.contains(X), y, weight, strict=True):
        containing = np.flatnonzero(within).tolist() or [n_boxes]
        for box in containing:
            inside[box] += heavy
        support[containing[0]] += heavy
        hits[containing[0]] += heavy * (labels[containing[0]] == label)
    share = np.array([weight[y == label].sum() for label in labels])
    return support, inside, hits, share / weight.sum(), weight.sum()


@given(labelled_tables())
def test_box_figures_are_those_of_a_plain_count(table):
    X, y, weight = table
    summary = summarize(BOXES, X, y, weight)
    support, inside, hits, share, total = counted(BOXES, X, y, weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = hits / support, hits / (share * total)
        lift = np.where(share > 0, precision / share, np.nan)
    np.testing.assert_allclose(summary.support, support)
    np.testing.assert_allclose(summary.inside, inside)
    np.testing.assert_allclose(summary.precision, precision)
    np.testing.assert_allclose(summary.recall, recall)
    np.testing.assert_allclose(summary.lift, lift)
    assert summary.in_no_box == pytest.approx(inside[-1] / total)
    assert summary.n_conditions.tolist() == [2, 3, 2, 0]


@given(labelled_tables())
def test_overall_figures_are_those_of_scikit_learn(table):
    X, y, weight = table
    summary = summarize(BOXES, X, y, weight)
    answers = BOXES.predict(X)
    precision, recall, f1, _ = precision_recall_fscore_support(
        y, answers, labels=list(summary.classes), sample_weight=weight, zero_division=np.nan
    )
    np.testing.assert_allclose(summary.class_precision, precision)
    np.testing.assert_allclose(summary.class_recall, recall)
    np.testing.assert_allclose(summary.class_f1, f1)
    assert summary.accuracy == pytest.approx(accuracy_score(y, answers, sample_weight=weight))
    assert summary.macro_f1 == pytest.approx(
        f1_score(y, answers, average="macro", sample_weight=weight, zero_division=0)
    )


def test_fidelity_is_the_share_of_rows_with_the_same_answer():
    X, y = [[0, 0], [3, 0], [9, 0], [0, 0]], ["x", "y", "z", "z"]
    assert summarize(BOXES, X, y).fidelity is None
    assert summarize(BOXES, X, y, predictions=BOXES.predict(X)).fidelity == 1
    assert summarize(BOXES, X, y, [1, 1, 1, 5], predictions=["x", "y", "z", "z"]).fidelity == 3 / 8
    assert "on 99.999 % of rows" in str(dataclasses.replace(summarize(BOXES, X, y), fidelity=1 - 1e-9))


def test_no_answer_is_no_class():
    silent = dataclasses.replace(BOXES, default=None, classes=None)
    summary = summarize(silent, [[0, 0], [9, 9]], ["x", "y"])
    assert summary.labels[-1] is None
    assert summary.accuracy == 0.5
    assert np.isnan([summary.precision[-1], summary.recall[-1], summary.lift[-1]]).all()
    assert "no answer" in str(summary)


def test_nothing_at_all_has_no_figures():
    empty = Boxes(np.empty((0, 1)), np.empty((0, 1)), np.empty(0, int), ("a",))
    summary = summarize(empty, np.empty((0, 1)), [])
    assert np.isnan(
        [summary.accuracy, summary.macro_f1, summary.in_no_box, *summary.recall, *summary.lift]
    ).all()
    assert "accuracy nan" in str(summary)


def test_training_counts_give_the_summary_of_the_training_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-1, 7, (50, 2)).astype(float), rng.choice(["x", "y", "z"], 50)
    given_rows = summarize(BOXES, X, y)
    trained = training_summary(dataclasses.replace(BOXES, counts=given_rows.counts))
    for figure in ("support", "precision", "recall", "lift", "class_f1", "n_conditions"):
        np.testing.assert_array_equal(getattr(trained, figure), getattr(given_rows, figure))
    assert (trained.accuracy, trained.in_no_box) == (given_rows.accuracy, given_rows.in_no_box)
    assert "training rows" in str(trained)
    assert "given rows" in str(given_rows)
    with pytest.raises(ValueError, match="carry no training counts"):
        training_summary(BOXES)


def test_rows_decided_by_the_nearest_box_are_its_support_but_in_no_box():
    near = dataclasses.replace(BOXES, uncovered="nearest", scale=[1.0, 1.0])
    summary = summarize(near, [[9, 9]], ["y"])
    assert summary.support.tolist() == [0, 1, 0, 0]
    assert summary.in_no_box == 1


def test_table_is_aligned_and_has_one_legend():
    lines = str(summarize(BOXES, [[0, 0], [9, 9]], ["x", "z"])).split("\n")
    assert lines[0].split() == ["box", "class", "rows", "inside", "precision", "recall", "lift", "conditions"]
    assert {len(line) for line in lines[:5]} == {len(lines[0])}
    assert lines[1].split() == ["0", "x", "1", "1", "1.000", "1.000", "2.00", "2"]
    assert sum(line.startswith("rows:") for line in lines) == 1


@pytest.mark.parametrize("kind", [str, int, float, bool])
def test_labels_of_every_kind_are_counted(kind):
    labels = {str: ["a", "b"], int: [1, 2], float: [0.5, 1.5], bool: [True, False]}[kind]
    boxes = Boxes.from_rules([({"a": (0, 1)}, labels[0])], default=labels[1])
    assert summarize(boxes, [[0], [5]], labels).accuracy == 1


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (["x"], None, "one label for each of the 2 rows"),
        (["x", None], None, "y holds None in row 1"),
        ([1.0, float("nan")], None, "y holds nan in row 1"),
        (["p", "q"], None, "none of the classes the boxes know"),
        (["x", "y"], [1], "2 finite numbers"),
        (["x", "y"], [1, -1], "not negative"),
    ],
)
def test_bad_labels_and_weights_are_named(y, weight, message):
    with pytest.raises(ValueError, match=message):
        summarize(BOXES, [[0, 0], [1, 1]], np.array(y, dtype=object), weight)


def test_labels_that_read_as_something_else_are_quoted():
    plain = ["setosa", "not setosa", "high risk", "naïve"]
    assert [format_label(label) for label in plain] == plain
    for label in ("1", "-2.5", "True", "no answer", "", " a", "a  b", 'a"b', "a\nb", "\u202ea"):
        assert format_label(label).startswith('"')
