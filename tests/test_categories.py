"""Categories in an order: what tells is told apart, what differs by chance is not."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from test_problem import view_of

from hyperboxes import HyperNNClassifier, rules, sql
from hyperboxes.binning import MAX_BINS
from hyperboxes.nn.categories import (
    FEW_LEVELS,
    SURE_ROWS,
    category_places,
    differ_mostly,
    missing_that_tell,
)
from hyperboxes.nn.fit import _admitted
from hyperboxes.tables import read_table, with_missing


def test_more_categories_than_bins_are_sorted_and_joined():
    draw = np.random.default_rng(0)
    tells = draw.uniform(size=900) < 0.3
    codes = draw.integers(0, 900, 20_000)
    table = pd.DataFrame({"city": pd.Categorical.from_codes(codes, [f"c{k}" for k in range(900)])})
    y = tells[codes]
    place = category_places(np.bincount(codes, y, 900), np.bincount(codes, minlength=900) * 1.0, 0.3)
    assert set(place.tolist()) == set(range(MAX_BINS))
    assert place[~tells].max() <= place[tells].min()
    model = HyperNNClassifier(n_boxes=2, random_state=0).fit(table[:15_000], y[:15_000])
    assert f1_score(y[15_000:], model.predict(table[15_000:])) > 0.99


def places_of_draws(shares, n_draws=200, n_levels=60):
    """Places of categories with one to seven rows each, drawn with the shares that a function gives."""
    draw = np.random.default_rng(0)
    for _ in range(n_draws):
        rows = draw.integers(1, 8, n_levels)
        hits = draw.binomial(rows, shares(draw, n_levels)).astype(float)
        yield hits, rows, category_places(hits, rows.astype(float), hits.sum() / rows.sum())


def test_categories_of_few_rows_that_differ_by_chance_have_one_place():
    places = [place for *_, place in places_of_draws(lambda draw, n: np.full(n, 0.3))]
    assert np.mean([len(set(place.tolist())) == 1 for place in places]) > 0.98


def test_categories_of_few_rows_that_do_differ_are_told_apart():
    together = 0
    for hits, rows, place in places_of_draws(lambda draw, n: draw.beta(0.5, 1.2, n)):
        if len(set(place.tolist())) == 1:
            together += 1
            continue
        share = (hits + hits.sum() / rows.sum()) / (rows + 1)
        assert place.tolist() == np.unique(share, return_inverse=True)[1].tolist()
    assert together < 20


def test_categories_of_many_rows_and_few_categories_keep_their_places():
    n = FEW_LEVELS + 2
    rows = np.array([4.0] * n + [SURE_ROWS] * 3)
    hits = np.array([1.0] * n + [0.0, SURE_ROWS, 5.0])
    place = category_places(hits, rows, 0.25)
    together, *others = set(place[:n].tolist())
    assert not others
    assert place[n] < together < place[n + 1]
    assert place[n + 2] not in (together, place[n], place[n + 1])
    few = category_places(hits[2:n], rows[2:n], 0.25)
    assert sorted(few.tolist()) == list(range(FEW_LEVELS))


def test_a_category_of_many_rows_with_the_share_of_few_others_does_not_part_them():
    rows, hits = np.full(FEW_LEVELS + 3, 4.0), np.full(FEW_LEVELS + 3, 1.0)
    rows[6], hits[6] = 31.0, 7.75
    place = category_places(hits, rows, 0.25)
    assert len(set(np.delete(place, 6).tolist())) == 1
    assert place[6] != place[5]


def test_categories_of_rows_that_weigh_next_to_nothing_have_a_place():
    place = category_places(np.full(30, 0.01), np.full(30, 0.02), 0.5)
    assert set(place.tolist()) == {0}


def test_boxes_admit_categories_of_one_place_together():
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 80, 240)
    x = draw.normal(size=240)
    table = pd.DataFrame({"x": x, "kind": pd.Categorical.from_codes(codes, [f"v{k}" for k in range(80)])})
    model = HyperNNClassifier(n_boxes=4, random_state=0).fit(table, x > 0.4)
    assert (model.predict(table) == (x > 0.4)).all()
    assert [condition.name for condition in model.boxes_.conditions(0)] == ["x"]
    view = view_of(read_table(table), (x > 0.4).astype(np.int64))
    assert view.features.binning.n_bins[1] == 1


def test_a_column_of_many_categories_that_says_nothing_does_no_harm():
    lost = []
    for seed in range(4):
        draw = np.random.default_rng(seed)
        X = pd.DataFrame(draw.normal(size=(2_250, 4)), columns=list("abcd"))
        y = draw.uniform(size=2_250) < 1 / (1 + np.exp(1 - 4 * X["a"] + 3 * X["b"]))
        with_noise = X.assign(kind=pd.Categorical.from_codes(draw.integers(0, 100, 2_250), range(100)))
        scores = []
        for table in (X, with_noise):
            model = HyperNNClassifier(n_boxes=5, random_state=0).fit(table[:250], y[:250])
            scores.append(f1_score(y[250:], model.predict(table[250:])))
        lost.append(scores[0] - scores[1])
    assert np.mean(lost) < 0.02


def test_categories_differ_mostly_by_no_chance_where_their_rows_agree():
    draw = np.random.default_rng(5)

    def told(correlation, rows):
        spread = 1 / correlation - 1
        chance = draw.beta(0.3 * spread, 0.7 * spread, 4_000)
        return differ_mostly(draw.binomial(rows, chance).astype(float), np.full(4_000, rows * 1.0), 0.3)

    # Of r rows with correlation c, r c / (1 + (r - 1) c) of what they differ by is no chance.
    assert [told(0.04, 20), told(0.06, 20)] == [False, True]
    assert [told(0.2, 3), told(0.3, 3)] == [False, True]
    assert not differ_mostly(draw.integers(0, 2, 500) * 1.0, np.ones(500), 0.5)


def test_places_of_three_rows_each_that_differ_a_little_do_no_harm():
    lost = []
    for seed in (2, 4):  # draws in which they differ by more than chance
        draw = np.random.default_rng(seed)
        X = pd.DataFrame(draw.normal(size=(6_000, 4)), columns=list("abcd"))
        places = draw.integers(0, 1_000, 6_000)
        odds = 3 * X["a"] - 2 * X["b"] - 2.5 + draw.normal(0, 1.5, 1_000)[places]
        y = draw.uniform(size=6_000) < 1 / (1 + np.exp(-odds))
        scores = []
        for table in (X, X.assign(place=pd.Categorical(places.astype(str)))):
            model = HyperNNClassifier(n_boxes=5, random_state=0).fit(table[:3_000], y[:3_000])
            scores.append(f1_score(y[3_000:], model.predict(table[3_000:])))
        lost.append(scores[0] - scores[1])
    assert np.mean(lost) < 0.02


def coloured(n, share=0.3, seed=0):
    """Numbers and a colour, which a share of the rows lack."""
    draw = np.random.default_rng(seed)
    codes = np.where(draw.random(n) < share, -1, draw.integers(0, 4, n))
    colour = pd.Categorical.from_codes(codes, ["red", "green", "blue", "grey"])
    return pd.DataFrame({"colour": colour, "size": draw.normal(size=n), "noise": draw.normal(size=n)})


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (lambda X: X["colour"].isna(), "colour is missing"),
        (lambda X: X["colour"].isna() | (X["colour"] == "red"), 'colour in {"red", missing}'),
        (lambda X: X["colour"].notna() & (X["size"] > 0), "colour is known"),
        (lambda X: X["colour"] == "blue", 'colour = "blue"'),
    ],
)
def test_missing_categories_are_asked_for_as_others_are(target, rule):
    X = coloured(400)
    model = HyperNNClassifier(n_boxes=3, positive_label=True, random_state=0).fit(X, target(X))
    assert rule in rules.to_text(model.boxes_)
    new = coloured(400, seed=1)
    new["colour"] = new["colour"].cat.add_categories("new")
    new.loc[::50, "colour"] = "new"
    assert (model.predict(new) == target(new)).mean() > 0.99
    with duckdb.connect() as connection:
        connection.register("new", new.astype({"colour": object}))
        connection.execute("CREATE TABLE t AS SELECT * FROM new")
        assert sql.verify(model.boxes_, connection, "t").mismatches == 0


def test_without_missing_ones_no_set_speaks_of_them():
    X = coloured(400, share=0)
    model = HyperNNClassifier(n_boxes=3, random_state=0).fit(X, X["colour"].isin(["red", "blue"]))
    assert model.boxes_.categories["colour"] == ("red", "green", "blue", "grey")
    assert not model.boxes_.contains(pd.DataFrame({"colour": [None], "size": 0.0, "noise": 0.0})).any()


def test_missing_values_have_no_place_in_an_order():
    X = coloured(400)
    X["colour"] = X["colour"].cat.as_ordered()
    y = X["colour"] >= "blue"
    model = HyperNNClassifier(n_boxes=3, positive_label=True, random_state=0).fit(X, y)
    assert [str(condition) for condition in model.boxes_.conditions(0)] == ['colour in {"blue", "grey"}']
    assert (model.predict(X) == y).all()


VALUES = ("a", "b", "c", None)


@pytest.mark.parametrize(
    ("values", "order", "low", "high", "admitted"),
    [
        (VALUES, [2, 0, 1, 3], 2, 3, [True, False, False, True]),
        (VALUES, [2, 0, 1, 3], 0, 1, [False, True, True, False]),
        (VALUES, [1, 2, 3, 0], 1, 3, [True, True, True, False]),  # all but missing ones
        (VALUES, [1, 0], 0, 0, [False, True, False, False]),  # "c" and None were not seen
        (VALUES, [1, 0], 0, 1, [True, True, True, False]),  # all that were seen
        (VALUES, None, 1, np.inf, [False, True, True, False]),
        (VALUES, None, np.nan, np.nan, [False, False, False, True]),  # missing ones alone
        (VALUES, [1, 0], np.nan, np.nan, [False, False, False, True]),
        (VALUES, None, -np.inf, np.inf, [True, True, True, False]),
        (VALUES[:3], [1, 0], 0, 1, [True, True, False]),
        (VALUES[:3], None, -np.inf, 1, [True, True, False]),
    ],
)
def test_bounds_on_places_are_sets_of_categories(values, order, low, high, admitted):
    order = None if order is None else np.array(order)
    assert _admitted(values, order, low, high).tolist() == admitted


def test_missing_cells_become_a_category_in_a_copy():
    table = read_table(coloured(50))
    before = table.matrix.copy()
    named = with_missing(table, ["colour"])
    np.testing.assert_array_equal(table.matrix, before)
    missing = np.isnan(before[:, 0])
    assert missing.any()
    assert named.categories == {"colour": ("red", "green", "blue", "grey", None)}
    np.testing.assert_array_equal(named.matrix[:, 0], np.where(missing, 4, before[:, 0]))
    assert with_missing(named, ["colour"]).matrix is named.matrix
    other = with_missing(table, [])
    assert other.categories == named.categories
    assert other.matrix is table.matrix


@pytest.mark.parametrize(
    ("n_missing", "of_class", "tells"),
    [(11, 3, False), (11, 10, True), (8, 1, False), (20, 0, True), (SURE_ROWS, 8, True), (0, 0, False)],
)
def test_missing_values_tell_where_they_are_many_or_differ(n_missing, of_class, tells):
    classes = np.r_[np.arange(n_missing) < of_class, np.arange(200) % 3 == 0].astype(np.int64)
    codes = np.r_[np.full(n_missing, -1), np.arange(200) % 4]
    frame = pd.DataFrame({"colour": pd.Categorical.from_codes(codes, list("abcd")), "size": 1.0})
    table, weight = read_table(frame), np.ones(len(classes))
    assert missing_that_tell(table, classes, weight) == (["colour"] if tells else [])
    assert missing_that_tell(table, classes, np.where(codes < 0, 0.0, 1.0)) == []
    assert missing_that_tell(table._replace(ordered=frozenset(["colour"])), classes, weight) == []


def test_few_missing_values_that_do_not_tell_are_no_category_but_may_be_kept_out():
    X = coloured(400, share=0)
    X.loc[X.index[:8], "colour"] = None
    y = (X["size"] > 0) & (X["colour"] != "red") & X["colour"].notna()
    model = HyperNNClassifier(n_boxes=3, positive_label=True, random_state=0).fit(X, y)
    assert model.boxes_.categories["colour"][-1] is None
    assert not model.boxes_.allowed["colour"][:, -1].any()
