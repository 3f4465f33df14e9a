"""Laws of the results file: whole lines only, one writer, nothing lost, nothing made up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperboxes.bench.store import open_store, read_records

RECORDS = [{"kind": "run", "id": "a"}, {"kind": "cell", "f1": 0.5, "label": "ü\n"}]


def write(path, records):
    with open_store(path) as store:
        for record in records:
            store.add(record)


def test_what_was_added_is_read(tmp_path):
    write(tmp_path / "new" / "results.jsonl", RECORDS[:1])
    write(tmp_path / "new" / "results.jsonl", RECORDS[1:])
    assert read_records(tmp_path / "new" / "results.jsonl") == RECORDS
    assert read_records(tmp_path / "none.jsonl") == []


@given(cut=st.integers(0, 200))
def test_a_file_cut_anywhere_has_the_whole_lines_before_the_cut(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "results.jsonl"
    write(path, RECORDS * 2)
    content = path.read_bytes()[:cut]
    path.write_bytes(content)
    kept = (RECORDS * 2)[: content.count(b"\n")]
    assert read_records(path) == kept
    write(path, [{"more": 1}])
    assert read_records(path) == [*kept, {"more": 1}]
    assert path.read_bytes().count(b"\n") == len(kept) + 1


def test_a_last_line_of_zeros_is_torn_too(tmp_path):
    path = tmp_path / "results.jsonl"
    write(path, RECORDS)
    path.write_bytes(path.read_bytes() + b"\0" * 40 + b"\n")
    assert read_records(path) == RECORDS
    write(path, RECORDS[:1])
    assert read_records(path) == [*RECORDS, RECORDS[0]]


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff", b""])
def test_a_broken_line_in_the_middle_is_named(tmp_path, line):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b'\n{"b": 2}\n')
    with pytest.raises(ValueError, match=r"results.jsonl, line 2: not a record"):
        read_records(path)


def test_a_second_writer_is_refused_and_the_first_goes_on(tmp_path):
    path = tmp_path / "results.jsonl"
    with open_store(path) as store:
        with pytest.raises(ValueError, match="another process is adding"), open_store(path):
            pass
        store.add(RECORDS[0])
    write(path, RECORDS[1:])
    assert read_records(path) == RECORDS


def test_numbers_that_json_does_not_know_are_refused(tmp_path):
    with open_store(tmp_path / "results.jsonl") as store, pytest.raises(ValueError, match="JSON"):
        store.add({"f1": float("nan")})
    assert (tmp_path / "results.jsonl").read_bytes() == b""


def test_floats_survive(tmp_path):
    values = [0.1, 1 / 3, 5e-324, 1e308]
    write(tmp_path / "results.jsonl", [{"values": values}])
    assert read_records(tmp_path / "results.jsonl") == [{"values": values}]
    assert json.loads((tmp_path / "results.jsonl").read_text())["values"] == values
