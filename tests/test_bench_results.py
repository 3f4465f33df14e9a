"""Laws of the tables: means and intervals by hand, trouble in sight, one page that needs nothing else."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from scipy import stats
from typer.testing import CliRunner

from hyperboxes.bench import reports
from hyperboxes.bench.cells import Cell
from hyperboxes.bench.pictures import PICTURES, as_bytes, figure3_all
from hyperboxes.bench.reproduce import reproduce
from hyperboxes.bench.results import Results, interval, title_of
from hyperboxes.bench.tables import Table, number, seconds, signed
from hyperboxes.cli import app

RUN = {
    "kind": "run", "id": "r", "commit": "abc", "cores": 2,
    "data": {"iris": {"rows": 150, "features": 4, "sha256": "0" * 64, "classes": ["0", "1"]}},
    "missing_data": {"sensit": "sensit is nowhere"}, "missing_models": {"ebm": "interpret is not installed"},
}  # fmt: skip
OURS = reports.DEFAULT
TREE = reports.method("tree")


def record(model, label, seed, f1, status="ok", load=0.5, params=None, **more):
    params = {"n_boxes": 10} if model.startswith("hypernn") and params is None else params or {}
    figures = {"figures": {"f1": f1, "precision": f1, "recall": f1}} if status == "ok" else {}
    clock = {"load": load, "fit_seconds": 2.0, "fit_processor_seconds": 1.0, "predict_seconds": 0.001}
    cell = Cell("iris", label, model, seed, params)
    return {
        "kind": "cell", **vars(cell), "run": "r", "status": status, **figures,
        "clock": clock if status == "ok" else {}, **more,
    }  # fmt: skip


RECORDS = [
    RUN,
    record("hypernn", "0", 0, 0.9),
    record("hypernn", "1", 0, 0.7),
    record("hypernn", "0", 1, 0.8),
    record("hypernn", "1", 1, 0.4),
    record("tree", "0", 0, 0.95),
    record("tree", "1", 0, 0.85),
    record("tree", "0", 1, 0.9),
    record("prim", "0", 0, None, "failed", message="RuntimeError: <no> | boxes"),
    record("fmm", "0", 0, None, "timeout", message="no answer", limit=60.0),
    record("fmm", "1", 0, None, "timeout", message="not tried: fmm on iris", limit=60.0),
]
PLANNED = [Cell("iris", label, model, seed) for model in ("tree", "prim", "ebm") for label in "01" for seed in (0, 1)]  # fmt: skip  # noqa: E501


@pytest.fixture
def results():
    return Results(RECORDS, PLANNED)


def test_means_are_over_classes_then_seeds_and_intervals_are_students(results):
    found = results.estimate("iris", OURS)
    assert found.mean == pytest.approx(0.7)
    low, high = stats.t.interval(0.95, 1, loc=0.7, scale=stats.sem([0.8, 0.6]))
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx((low, high))


def test_a_seed_that_lacks_a_class_is_left_out(results):
    assert results.estimate("iris", TREE).mean == pytest.approx(0.9)  # seed 1 has one class of two
    assert math.isnan(Results([RUN, record("tree", "0", 0, 1.0)]).estimate("iris", TREE).mean)


def test_one_seed_has_no_interval_and_none_no_mean():
    assert interval([0.5])[0] == 0.5
    assert math.isnan(interval([0.5])[1])
    assert math.isnan(interval([])[0])


def test_differences_are_of_the_same_classes_and_seeds(results):
    found = results.difference("iris", OURS, TREE)
    assert found.mean == pytest.approx(((-0.05 - 0.15) / 2 + (0.8 - 0.9)) / 2)


def test_trouble_is_in_sight(results):
    assert results.count("iris", TREE) == "3 of 4"
    assert results.trouble("iris", TREE) == "1 not run yet"
    assert results.trouble("iris", reports.method("prim")).startswith("1 failed: RuntimeError: <no> | boxes")
    assert results.trouble("iris", reports.method("fmm")) == "over 60 s"
    assert results.trouble("iris", reports.method("ebm")) == "interpret is not installed"
    assert results.trouble("iris", OURS) == ""


def test_the_last_record_of_a_cell_counts():
    again = [*RECORDS, record("prim", "0", 0, 0.5), record("prim", "1", 0, 0.5)]
    assert Results(again).estimate("iris", reports.method("prim")).mean == 0.5


def test_timings_of_a_busy_machine_are_flagged():
    busy = [RUN, record("tree", "0", 0, 1.0, load=3.0), record("tree", "1", 0, 1.0, load=1.0)]
    assert Results(busy).busy() == 0.5
    assert any("50% of the fits were timed" in note for note in reports.how_to_read(Results(busy)))
    assert not any("timed while" in note for note in reports.how_to_read(Results(RECORDS)))


def test_figure_3_sets_ours_beside_the_published(results):
    table = reports.figure3(results)
    rows = {(row[0], row[1]): dict(zip(table.header, row, strict=True)) for row in table.rows}
    ours = rows["iris", "HyperNN (M = 10)"]
    assert (ours["F1, paper"], ours["fit s, paper"]) == ("0.972", "0.755")
    assert ours["ours − paper"].startswith("-0.272 ± ")
    assert ours["processor s"] == "1"
    assert rows["iris", "decision tree (unrestricted)"]["HyperNN − this"].startswith("-0.100")
    assert rows["sensit", "missing"]["note"] == "sensit is nowhere"


def test_losses_name_what_is_ahead(results):
    lost = {row[1:3] for row in reports.losses(results).rows}
    ours = "HyperNN (M = 10)"
    assert lost == {(ours, "the paper"), (ours, "decision tree (unrestricted)")}
    weak = [record("prim", label, 0, 0.5) for label in "01"] + [record("prim-paper", "0", 0, 0.7)]
    lost = {row[1:3] for row in reports.losses(Results([*RECORDS, *weak])).rows}
    assert {("PRIM", "the paper"), ("PRIM", "PRIM, paper's preset")} <= lost
    assert ("PRIM", "decision tree (unrestricted)") not in lost


def test_missing_data_are_shown_until_found(results):
    rows = {row[0]: row for row in reports.table2(results).rows}
    assert rows["sensit"][1] == "missing"
    assert rows["sensit"][-1] == "sensit is nowhere"
    assert rows["iris"][1:5] == ("150", "150", "4", "4")
    later = {**RUN, "id": "s", "data": {"sensit": RUN["data"]["iris"]}, "missing_data": {}}
    assert Results([*RECORDS, later]).missing_data == {}


def test_failures_are_listed_with_what_they_said(results):
    told = {row[1]: row[3] for row in reports.failures(results).rows}
    assert told["PRIM"] == "RuntimeError: <no> | boxes"


def test_table_1_reads_exponents_off_times():
    cells = [RUN]
    for rows, taken in ((1_000, 1.0), (4_000, 4.0), (16_000, 32.0)):
        one = record("tree", "True", 0, 1.0)
        one |= {"data": f"planted-{rows}x10", "clock": {"load": 0, "fit_processor_seconds": taken}}
        cells.append(one)
    cells.append(
        record("prim", "True", 0, None, "timeout", message="m", limit=60.0) | {"data": "planted-4000x10"}
    )
    table = reports.table1(Results(cells))
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows["decision tree (unrestricted)"]["grows as N^"] == "1.25, at the end 1.50"
    assert rows["PRIM"]["4,000 × 10"] == "> 60"
    assert rows["PRIM"]["paper: large N"] == "✗"


def test_methods_are_told_apart_for_people():
    assert title_of(json.dumps(["hypernn", {}, {"n_boxes": [2, 5]}])) == "HyperNN (tuned)"
    assert title_of(reports.method("tree", max_leaf_nodes=11)) == "decision tree (11 leaves)"


# -- text ------------------------------------------------------------------------------------------


def test_a_table_is_the_same_in_every_form():
    table = Table("T", ("a", "b"), [("x|y", "<1>"), ('q"u', "2")], ["a note"])
    assert list(csv.reader(io.StringIO(table.to_csv()))) == [["a", "b"], ["x|y", "<1>"], ['q"u', "2"]]
    assert "| x\\|y | <1> |" in table.to_markdown()
    assert "<td>x|y</td><td>&lt;1&gt;</td>" in table.to_html()
    assert table.to_text().splitlines()[2:4] == ["a     b", "x|y <1>"]


def test_numbers_that_are_not_there_are_dashes():
    assert (number(None), number(math.nan), seconds(math.nan), signed(math.nan, 1.0)) == ("–",) * 4
    assert (number(0.12345), seconds(1234.5), signed(-0.1, 0.02)) == ("0.123", "1.23e+03", "-0.100 ± 0.020")


# -- pictures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PICTURES, "figure3_all"])
def test_pictures_are_drawn_of_what_there_is_and_the_same_twice(name):
    more = [record("hypernn", label, 0, 0.5, params={"n_boxes": n}) for n in (2, 30) for label in "01"]
    more += [record("tree", "True", 0, 0.5) | {"data": f"planted-{rows}x10"} for rows in (1000, 4000)]

    def drawn(records):
        results = Results(records)
        if name == "figure3_all":
            return figure3_all(results, reports.compared_methods(results))
        return PICTURES[name](results)

    lacking = record("hypernn", "0", 0, 0.5) | {"data": "sensit_aav_dw"}
    assert drawn([RUN]) is None
    assert drawn([{**RUN, "data": {"sensit_aav_dw": {"classes": ["0", "1"]}}}, lacking]) is None
    assert dict(as_bytes(drawn([*RECORDS, *more]))) == dict(as_bytes(drawn([*RECORDS, *more])))


# -- all of it -------------------------------------------------------------------------------------


def test_the_command_measures_writes_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("HYPERBOXES_DATA", str(tmp_path / "none"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_answer)
    asked = ["--quick", "--data", "iris", "--data", "blood", "--model", "tree", "--output", str(tmp_path)]
    first = CliRunner().invoke(app, ["reproduce", *asked])
    assert first.exit_code == 0, first.output
    assert "skipped: data set blood: blood is not shipped" in first.output
    content = (tmp_path / "results.jsonl").read_bytes()
    again = CliRunner().invoke(app, ["reproduce", *asked])
    assert "9 cells, 9 of them measured already" in again.output
    assert (tmp_path / "results.jsonl").read_bytes() == content
    for name in ("table1", "table2", "figure1", "figure3", "figure4", "losses", "failures"):
        assert {(tmp_path / f"{name}.{suffix}").stat().st_size > 0 for suffix in ("csv", "md")} == {True}
    for name in ("figure1", "figure3_all"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()
    page = (tmp_path / "index.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "<script" not in page
    assert "blood is not shipped" in page
    assert "| blood | missing |" in (tmp_path / "README.md").read_text()


def no_answer(*_, **__):
    raise ConnectionError("no route")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--data", "moons"], "no data set 'moons'; known are iris"),
        (["--model", "svm"], "no model 'svm'; known are hypernn"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--tables-only"], "there are no results"),
    ],
)
def test_what_is_unknown_is_named(tmp_path, words, told):
    answer = CliRunner().invoke(app, ["reproduce", "--output", str(tmp_path / "new"), *words])
    assert answer.exit_code == 1
    assert told in answer.output


def test_without_pandas_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperboxes.bench.reproduce.find_spec", lambda _: None)
    answer = CliRunner().invoke(app, ["reproduce", "--output", str(tmp_path)])
    assert answer.exit_code == 1
    assert 'pip install "hyperboxes[all]"' in answer.output


def test_a_table_with_other_content_is_noted(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.setattr("hyperboxes.bench.reproduce.run_cells", lambda *_, **__: None)
    frame = pd.DataFrame({name: range(748) for name in "abcd"} | {"target": [0, 1] * 374})
    frame.to_parquet(tmp_path / "blood.parquet")
    said = []
    reproduce(tmp_path / "out", data=["blood"], models=["tree"], folder=str(tmp_path), say=said.append)
    assert any("the content of blood differs" in line for line in said)
