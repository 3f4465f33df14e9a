"""Laws of the benchmark tables: what is shipped loads, what is missing is named, orders are kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperboxes.datasets import SOURCES, DatasetNotFoundError, as_numbers, load_dataset

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
    with pytest.raises(DatasetNotFoundError, match="no data set 'nope'"):
        load_dataset("nope")
