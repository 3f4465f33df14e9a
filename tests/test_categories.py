"""Categories in an order: what tells is told apart, what differs by chance is not."""

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score
from test_problem import view_of

from hyperboxes import HyperNNClassifier
from hyperboxes.binning import MAX_BINS
from hyperboxes.nn.categories import FEW_LEVELS, SURE_ROWS, category_places
from hyperboxes.tables import read_table


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
        assert sorted(place.tolist()) == list(range(len(rows)))
        share = (hits + hits.sum() / rows.sum()) / (rows + 1)
        assert (np.diff(share[np.argsort(place)]) >= 0).all()
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
    assert "kind" not in str(model.boxes_.conditions(0))
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
