"""Tables from anywhere read as the same table, and errors name file, line and column."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patients import patients
from pyarrow import feather, ipc

from hyperboxes import sources

FRAME = patients(40)


def stored(folder, kind):
    """Write the table in one of the ways it may come, and give its name."""
    path = folder / f"t{kind}"
    if kind == ".csv":
        FRAME.to_csv(path, index=False)
    elif kind == ".csv.gz":
        FRAME.to_csv(path, index=False, compression="gzip")
    elif kind == ".tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == ";.csv":
        FRAME.to_csv(path, index=False, sep=";", decimal=",", quoting=csv.QUOTE_NONNUMERIC)
    elif kind == "|.txt":
        FRAME.to_csv(path, index=False, sep="|", lineterminator="\r\n")
    elif kind == "bom.csv":
        FRAME.to_csv(path, index=False, encoding="utf-8-sig")
    elif kind == "index.csv":
        FRAME.to_csv(path)
    elif kind == ".parquet":
        FRAME.to_parquet(path)
    elif kind == ".feather":
        FRAME.to_feather(path)
    elif kind == ".arrow":
        table = pa.Table.from_pandas(FRAME)
        with pa.OSFile(str(path), "wb") as sink, ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind == ".duckdb":
        frame = FRAME  # noqa: F841 - DuckDB finds it by its name
        with duckdb.connect(str(path)) as connection:
            connection.execute('CREATE SCHEMA s; CREATE TABLE s."my table" AS SELECT * FROM frame')
        return f"{path}::s.my table"
    elif kind == ".sqlite":
        with sqlite3.connect(path) as connection:
            FRAME.to_sql("patients", connection, index=False)
        connection.close()
        return f"{path}::patients"
    return str(path)


KINDS = [".csv", ".csv.gz", ".tsv", ";.csv", "|.txt", "bom.csv", "index.csv", ".parquet", ".feather",
         ".arrow", ".duckdb", ".sqlite"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_reads_as_the_same_table(tmp_path, kind):
    table = sources.read(stored(tmp_path, kind))
    assert list(table.frame.columns) == list(FRAME.columns)
    for name in FRAME:
        got, expected = table.frame[name], FRAME[name]
        assert got.isna().tolist() == expected.isna().tolist(), name
        assert got.dropna().tolist() == expected.dropna().tolist(), name
        assert (str(got.dtype) == "category") == (name in ("id", "sex", "smoker", "ill"))


@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".parquet", ".feather"])
def test_standard_input_is_known_by_its_first_bytes(tmp_path, kind, monkeypatch):
    data = Path(stored(tmp_path, kind)).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert sources.read("-").frame["age"].tolist() == FRAME["age"].tolist()


@pytest.mark.parametrize("path", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow"])
def test_a_written_table_reads_back(tmp_path, path):
    sources.write(FRAME, str(tmp_path / path))
    back = sources.read(str(tmp_path / path)).frame
    assert back["bmi"].fillna(-1).tolist() == FRAME["bmi"].fillna(-1).tolist()
    assert back["smoker"].dropna().tolist() == FRAME["smoker"].dropna().tolist()


cells = st.sampled_from(
    ["", "a", "1", "2.5", " x ", 'say "hi"', "a,b", "a;b", "two\nlines", "tab\there", "ü"]
)


@settings(max_examples=settings().max_examples // 2)
@given(st.data(), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]))
def test_quoted_text_keeps_every_cell(data, delimiter, ending):
    width = data.draw(st.integers(2, 4))
    rows = data.draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6))
    rows = [row for row in rows if any(row)]
    header = [f"c{j}" for j in range(width)]
    sink = io.StringIO()
    quoting = data.draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
    writer = csv.writer(sink, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    writer.writerows([header, *rows])
    text = sink.getvalue().encode()
    assert sources._check_shape("t", text, delimiter) == header
    written = sources.TableFile("t", None, text, delimiter).as_written
    assert [[cell.replace("\r\n", "\n") for cell in row] for row in written.to_numpy().tolist()] == rows


@pytest.mark.parametrize("sign", ["", ";", '"'])
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.booleans())
def test_a_line_of_another_length_is_found_where_it_is(sign, lengths, last):
    """The fast count of cells and the slow one find the same line."""
    lines = ["a,b,c"] + [",".join([f"{sign}1{sign}"] * length) for length in lengths]
    wrong = [number for number, length in enumerate(lengths, 2) if length not in (0, 3)]
    data = ("\n".join(lines) + ("\n" if last else "")).encode()
    if not wrong:
        sources._check_shape("t", data, ",")
        return
    with pytest.raises(ValueError, match=f"t, line {wrong[0]}: there (is|are) {lengths[wrong[0] - 2]} cell"):
        sources._check_shape("t", data, ",")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a,b\n1,2\n1,2,3\n",
            "line 3: there are 3 cells where the header has 2; the last is in column 'b': '3'",
        ),
        (b"a,b\n1,2\n3\n", "line 3: there is 1 cell where the header has 2; the last is in column 'a': '3'"),
        (b'a,b\n1,"x\ny"\n1,2\n7\n', "line 5: there is 1 cell"),
        (b'a,b\n1,"x\n2,3\n', "line 2: a quote is opened and never closed"),
        (b"a,a\n1,2\n", "line 1: the column 'a' occurs 2 times"),
        (b"a,b\n1,2\n\xff,3\n", "line 3: byte 0xff is not UTF-8"),
        (b"a,b\n1,2\n\0,3\n", "line 3: a NUL character"),
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"\x1f\x8bnot gzip", "damaged gzip"),
        (b"a,b\n" + b"1,2\n" * 20 + b"1,n/k\n", "line 22, column 'b': 'n/k' is not a number"),
        (b'a,b\n"1\n",2\n' + b"1,2\n" * 20 + b"1,n/k\n", "line 24, column 'b': 'n/k' is not a number"),
    ],
)
def test_malformed_text_is_named_with_its_line(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.csv") as caught:
        sources.read(str(path))
    assert message in str(caught.value)
    assert str(caught.value).count("t.csv") == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent.csv", "No such file"),
        ("absent.duckdb::t", "No such file"),
        ("{folder}/t.duckdb::absent", "absent does not exist"),
        ("{folder}/t.duckdb", "::TABLE; it has"),
        ("{folder}/t.duckdb::a..b", "names no table"),
        ("{folder}/t.sqlite::absent", "no such table: absent"),
        ("{folder}/t.sqlite", "it has ['patients']"),
        ("{folder}/t.xls", "a table ends in .csv"),
        ("postgresql://nowhere.invalid/db", "say which table"),
        ("{folder}", "a table ends in"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, source, message):
    stored(tmp_path, ".duckdb")
    stored(tmp_path, ".sqlite")
    (tmp_path / "t.xls").write_text("x")
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        sources.read(source.format(folder=tmp_path))
    assert "\n" not in str(caught.value)


def test_text_that_looks_like_numbers_stays_text_where_the_model_says_so(tmp_path):
    (tmp_path / "t.csv").write_text("code,x\n01,1\n02,2\n")
    table = sources.read(str(tmp_path / "t.csv"), text_columns=["code"])
    assert table.frame["code"].tolist() == ["01", "02"]


def test_a_column_that_names_the_rows_is_noticed():
    frame = FRAME.astype({"id": "category", "sex": "category"})
    assert sources.looks_like_names(frame["id"])
    assert not sources.looks_like_names(frame["sex"])
    assert not sources.looks_like_names(frame["age"])


def test_arrow_files_without_pandas_types_are_read(tmp_path):
    table = pa.table({"a": pa.array([1, None, 3], pa.int64()), "b": pa.array(["x", None, "y"])})
    feather.write_feather(table, str(tmp_path / "t.arrow"))
    frame = sources.read(str(tmp_path / "t.arrow")).frame
    np.testing.assert_array_equal(frame["a"].to_numpy(float), [1, np.nan, 3])
    assert pd.isna(frame["b"][1])


def test_gzip_is_known_by_its_content(tmp_path):
    (tmp_path / "t.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert sources.read(str(tmp_path / "t.csv")).frame["b"].tolist() == [2]


def test_reading_text_tells_the_share_that_is_read(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1.5,2\n" * 400_000)
    shares = []
    told = sources.read(str(path), progress=shares.append).frame
    assert len(shares) > 5
    assert shares == sorted(shares)
    assert shares[0] < 0.3
    assert shares[-1] == 1.0
    assert told.equals(sources.read(str(path)).frame)
