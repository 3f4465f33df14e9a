"""Laws of the benchmark tables: what is shipped loads, what is missing is named, orders are kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperboxes.datasets import (
    SOURCES,
    DatasetNotFoundError,
    as_numbers,
    checksum,
    load_dataset,
    planted_boxes,
)

LOCAL = Path(os.environ.get("HYPERBOXES_DATA", "nowhere"))


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.shipped])
def test_shipped_tables_have_the_stated_shape(name):
    X, y = load_dataset(name)
    source = SOURCES[name]
    assert X.shape == (source.n_rows, source.n_features)
    assert len(np.unique(y)) == source.n_classes


@pytest.mark.parametrize("name", [name for name in SOURCES if (LOCAL / f"{name}.parquet").exists()])
def test_local_tables_have_the_stated_shape(name):
    X, y = load_dataset(name)
    assert as_numbers(X).shape == (SOURCES[name].n_rows, SOURCES[name].n_features)
    assert len(np.unique(y)) == SOURCES[name].n_classes


@pytest.mark.parametrize(
    "name",
    [name for name, source in SOURCES.items() if source.shipped or (LOCAL / f"{name}.parquet").exists()],
)
def test_tables_have_the_stated_content(name):
    assert checksum(*load_dataset(name)) == SOURCES[name].sha256


def test_a_checksum_tells_content_not_form_apart():
    X, y = pd.DataFrame({"a": [1, 2], "b": [3, 4]}), np.array([0, 1])
    same = checksum(X.astype(np.float32), y.astype(str))
    assert checksum(X, y) == same
    others = [checksum(X[["b", "a"]], y), checksum(X, y[::-1]), checksum(X.iloc[::-1], y), checksum(X + 1, y)]
    assert len({same, *others}) == 5


def test_a_folder_is_read_and_its_orders_are_kept(tmp_path):
    values = {
        name: [order[i % len(order)] for i in range(1728)] for name, order in SOURCES["cars"].orders.items()
    }
    pd.DataFrame({**values, "target": ["acc"] * 1728}).to_parquet(tmp_path / "cars.parquet")
    X, y = load_dataset("cars", tmp_path)
    assert X["safety"].cat.ordered
    assert as_numbers(X)[:4, 0].tolist() == [0, 1, 2, 3]
    assert set(y) == {"acc"}


def test_a_table_of_another_shape_is_refused(tmp_path):
    pd.DataFrame({"a": [1.0], "target": [0]}).to_parquet(tmp_path / "blood.parquet")
    with pytest.raises(ValueError, match=r"blood has shape \(1, 1\); expected \(748, 4\)"):
        load_dataset("blood", tmp_path)


def test_a_missing_table_is_named(monkeypatch, tmp_path):
    def no_answer(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_answer)
    monkeypatch.delenv("HYPERBOXES_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError, match="letter is not shipped"):
        load_dataset("letter", tmp_path)
    with pytest.raises(DatasetNotFoundError, match="OpenML does not have it"):
        load_dataset("sensit_aav_dw", tmp_path)
    with pytest.raises(DatasetNotFoundError, match="no data set 'nope'"):
        load_dataset("nope")


@pytest.mark.parametrize(("n", "d", "n_boxes"), [(500, 1, 1), (500, 3, 2), (2000, 40, 5)])
def test_planted_boxes_are_the_truth(n, d, n_boxes):
    X, y, boxes = planted_boxes(n, d, n_boxes=n_boxes, seed=3)
    assert X.shape == (n, d)
    assert ((X >= 0) & (X < 1)).all()
    assert (boxes.contains(X).any(axis=1) == y).all()
    assert (np.isfinite(boxes.lower).sum(axis=1) == min(3, d)).all()
    widths = (boxes.upper - boxes.lower)[np.isfinite(boxes.lower)].reshape(n_boxes, -1)
    assert widths.prod(axis=1).sum() == pytest.approx(0.3)


def test_planted_boxes_stay_as_rows_are_added_and_labels_can_be_wrong():
    X, y, boxes = planted_boxes(4000, 5, wrong=0.1)
    fewer, some, same = planted_boxes(1000, 5, wrong=0.1)
    assert (X[:1000] == fewer).all()
    assert (y[:1000] == some).all()
    assert (boxes.lower == same.lower).all()
    assert np.mean(boxes.predict(X) != y) == pytest.approx(0.1, abs=0.02)
    assert not (planted_boxes(10, 5, seed=1)[0] == X[:10]).any()
