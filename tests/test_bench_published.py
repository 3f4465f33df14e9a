"""Laws of the published numbers: those stored are those in the LaTeX source of the paper, one by one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from hyperboxes.bench.figure1 import flowers, published_boxes
from hyperboxes.bench.published import published

ROWS = Path(__file__).parent / "data" / "paper_rows.tex"


def section(name):
    """Give the rows below a heading of the extract, split into cells."""
    part = ROWS.read_text().split(f"% {name}\n")[1].split("\n% ")[0]
    lines = [line.strip().removesuffix("\\\\") for line in part.splitlines() if line.strip()]
    return [[cell.strip() for cell in line.split("&")] for line in lines]


def with_header(name):
    header, *rows = section(name)
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_table_1():
    rows = {re.match(r"\W*(textbf\W*sysname|PRIM|FMM)", row[0])[1][:4]: row[1:] for row in section("table 1")}
    ours = published()["table1"]
    assert {"PRIM": "prim", "FMM": "fmm", "text": "hypernn"}.keys() == rows.keys()
    for theirs, name in (("PRIM", "prim"), ("FMM", "fmm"), ("text", "hypernn")):
        training, *ticks = rows[theirs]
        assert ours[name]["training"] == training
        expected = [ours[name][what] for what in ("large_d", "large_n", "end_to_end", "multiple_boxes")]
        assert expected == [tick == "\\cmark" for tick in ticks]


def test_table_2():
    rows = {re.search(r"\{(\w+)\}", row[0])[1]: [int(n.replace(",", "")) for n in row[1:]] for row in section("table 2")}  # fmt: skip  # noqa: E501
    assert {name: list(told.values()) for name, told in published()["table2"].items()} == {
        name: [classes, features, n] for name, (n, features, classes) in rows.items()
    }


def test_figure_1_boxes():
    rectangles = [re.findall(r"\((.*?),\s*(.*?)\)", row[0]) for row in section("figure 1, boxes")]
    corners = np.array(rectangles, dtype=float)
    assert published()["figure1"] == {"lower": corners[:, 0].tolist(), "upper": corners[:, 1].tolist()}


def test_figure_1_points_are_the_training_rows_of_a_split_that_anyone_can_repeat():
    points = np.array([row[0].split() for row in section("figure 1, points")[1:]], dtype=float)
    rows = flowers()
    matrix = rows.X.to_numpy()
    scaled = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
    np.testing.assert_allclose(scaled, points[:, :2], rtol=0, atol=1e-12)
    assert ((rows.y == "setosa") == (points[:, 2] == 1)).all()
    inside = published_boxes(rows).contains(rows.X).any(axis=1)
    assert inside[rows.y == "setosa"].mean() > 0.9


@pytest.mark.parametrize(("what", "heading"), [("f1", "f1"), ("fit_seconds", "seconds")])
def test_figure_3(what, heading):
    rows = {row["dataset"]: row for row in with_header(f"figure 3, {heading}")}
    assert rows.keys() == published()["figure3"].keys()
    for name, methods in published()["figure3"].items():
        for method, column in (("hypernn", "ours"), ("prim", "PRIM"), ("fmm", "FMM")):
            stored = methods[method][what]
            # The paper draws N/A where a method did not finish, and keeps zeros there.
            assert float(rows[name][column]) == (0.0 if stored is None else stored)


@pytest.mark.parametrize("name", sorted(published()["boxes"]))
def test_figure_4(name):
    rows = {row["nboxes"]: row for row in with_header(f"figure 4, {name}")}
    columns = {"f1": "f1score", "fit_seconds": "traintime", "predict_seconds": "predtime"}
    assert published()["boxes"][name] == {
        size: {what: float(row[column]) for what, column in columns.items()} for size, row in rows.items()
    }


@pytest.mark.skipif("HYPERBOXES_PAPER" not in os.environ, reason="HYPERBOXES_PAPER names no LaTeX source")
def test_the_extract_is_in_the_source():
    source = " ".join(Path(os.environ["HYPERBOXES_PAPER"]).read_text().split())
    lines = [line for line in ROWS.read_text().splitlines() if not line.startswith("%")]
    assert not [line for line in lines if " ".join(line.split()) not in source]
