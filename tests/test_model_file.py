"""A model file reads back as what was written, and nothing else is ever read from one."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_files import RICH, SMALL, forge, random_boxes

from hyperboxes import Boxes, ModelFormatError, model_file, read_model, write_model
from hyperboxes.model_file import dumps, from_document, loads, read_meta, to_document

HERE = Path(__file__).parent
SCHEMA = Path(model_file.__file__).parent / "schema" / "hyperboxes-model-1.json"


def exact(boxes: Boxes) -> list[Any]:
    """List what equality of values overlooks: 1, 1.0 and True are equal."""
    values = [boxes.default, *boxes.classes.tolist(), *boxes.labels.tolist()]
    values += [value for name in sorted(boxes.categories) for value in boxes.categories[name]]
    return [boxes.classes.dtype.kind, boxes.labels.dtype.kind, *((type(value), value) for value in values)]


# -- round trip ------------------------------------------------------------------------------------


@given(random_boxes(), st.booleans())
def test_round_trip_is_identity(boxes: Boxes, pretty: bool) -> None:
    read = loads(dumps(boxes, pretty=pretty))
    assert read == boxes
    assert exact(read) == exact(boxes)


@given(random_boxes())
def test_text_is_canonical_and_its_hash_covers_all_but_itself(boxes: Boxes) -> None:
    document = to_document(boxes, {"note": "é"})
    text = dumps(boxes, {"note": "é"})
    canonical = {"sort_keys": True, "allow_nan": False, "ensure_ascii": True, "separators": (",", ":")}
    assert text == json.dumps(document, **canonical) + "\n"
    body = text.rstrip("\n").replace(f'"sha256":"{document["sha256"]}",', "")
    assert hashlib.sha256(body.encode()).hexdigest() == document["sha256"]


@given(random_boxes())
def test_pretty_text_is_the_same_document(boxes: Boxes) -> None:
    assert json.loads(dumps(boxes, pretty=True)) == json.loads(dumps(boxes))


def test_pretty_text_gives_each_box_and_feature_a_line() -> None:
    lines = dumps(SMALL, pretty=True).splitlines()
    assert '{"bounds":{"2":[null,30.0]},"class":0}' in lines
    assert '{"name":"bmi"}' in lines


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\t " + text + " \n"]
)
def test_white_space_is_free(change: Any) -> None:
    assert loads(change(dumps(SMALL, pretty=True))) == SMALL


@pytest.mark.parametrize("pretty", [False, True])
@pytest.mark.parametrize("boxes", [SMALL, RICH], ids=["small", "rich"])
def test_file_round_trip_is_identity(tmp_path: Path, boxes: Boxes, pretty: bool) -> None:
    path = tmp_path / "m.boxes.json"
    write_model(boxes, path, pretty=pretty)
    assert read_model(path) == boxes == read_model(str(path))
    assert exact(read_model(path)) == exact(boxes)
    assert path.read_text(encoding="ascii") == dumps(boxes, read_meta(path), pretty)


def test_bytes_do_not_depend_on_process_or_hash_seed(tmp_path: Path) -> None:
    code = (
        "import sys; from hyperboxes.model_file import read_model, write_model; "
        "write_model(read_model(sys.argv[1]), sys.argv[2])"
    )
    first = tmp_path / "m.boxes.json"
    write_model(SMALL, first)
    for seed in ("1", "2"):
        other = tmp_path / f"{seed}.boxes.json"
        environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo"}
        subprocess.run([sys.executable, "-c", code, first, other], check=True, env=environment, cwd=tmp_path)
        assert other.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("path", sorted(HERE.glob("data/models/*/*.boxes.json")), ids=lambda path: path.stem)
def test_models_of_every_release_load_and_predict_as_ever(path: Path) -> None:
    boxes = read_model(path)
    rows, answers = zip(
        *json.loads(path.with_name(path.name.replace(".boxes.", ".expected.")).read_text()), strict=True
    )
    predicted = boxes.predict(np.array(rows, dtype=object)).tolist()
    assert predicted == list(answers)
    assert [type(label) for label in predicted] == [type(label) for label in answers]


def test_every_release_has_its_models() -> None:
    folders = [
        folder
        for folder in (HERE / "data" / "models").iterdir()
        if folder.is_dir() and folder.name[0].isdigit()
    ]
    assert folders
    for folder in folders:
        names = {path.name for path in folder.iterdir()}
        for kind in ("binary", "multiclass", "sparse", "hostile_names"):
            assert {f"{kind}.boxes.json", f"{kind}.expected.json"} <= names


# -- estimators and meta ---------------------------------------------------------------------------


class Estimator:
    """The least that counts as an estimator."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        assert not deep
        return self.params

    def fit(self) -> Estimator:
        self.boxes_ = SMALL
        return self


def test_estimator_writes_its_boxes_and_plain_parameters(tmp_path: Path) -> None:
    path = tmp_path / "m.boxes.json"
    plain = {
        "n": 5,
        "rate": 0.5,
        "on": True,
        "none": None,
        "name": "soft",
        "sizes": [1, 2],
        "nested": {"a": [None]},
    }
    numpy = {"np_int": np.int64(3), "np_float": np.float32(0.5), "pair": (1, 2)}
    dropped = {
        "call": len, "array": np.ones(2), "inner": object(), "inf": math.inf, "nan": [math.nan],
        "path": Path("a"), "file": "/home/me/run.ckpt", "windows": "C:\\Users\\me", "half": "\ud800",
        "long": 10**20, "keys": {1: 2}, "deep": [object()], "bytes": b"x", "set": {1},
        "n_jobs": 2, "verbose": 1,
    }  # fmt: skip
    loop: list[Any] = []
    loop.append(loop)
    write_model(Estimator(**plain, **numpy, **dropped, loop=loop).fit(), path)
    assert read_model(path) == SMALL
    meta = read_meta(path)
    assert meta.keys() == {"hyperboxes", "estimator", "params"}
    assert meta["estimator"] == "Estimator"
    assert meta["params"] == plain | {"np_int": 3, "np_float": 0.5, "pair": [1, 2]}


def test_estimator_must_be_fitted(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Estimator is not fitted yet: call fit"):
        write_model(Estimator(), tmp_path / "m.boxes.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [3, "m", None, object(), {"boxes_": SMALL}])
def test_only_boxes_and_estimators_are_written(tmp_path: Path, model: object) -> None:
    with pytest.raises(TypeError, match="expected Boxes, or a fitted estimator"):
        write_model(model, tmp_path / "m.boxes.json")


def test_meta_is_free_and_changes_no_boxes() -> None:
    meta = {"a": [1, 1.0, None, True, "é", {"": {}}], "boxes": [], "__proto__": {}}
    assert loads(dumps(SMALL, meta)) == SMALL
    assert to_document(SMALL, meta)["meta"] == meta


@pytest.mark.parametrize(
    "value",
    [math.nan, -math.inf, 10**20, 10**5000, "\ud800", {1: 2}, {"\udfff": 1}, b"", (1,), {1}, len, SMALL],
    ids=lambda value: type(value).__name__,
)
def test_meta_that_json_cannot_express_is_refused(value: object) -> None:
    with pytest.raises(ModelFormatError, match=r"^meta: expected"):
        dumps(SMALL, {"a": [value]})


def test_endless_meta_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    with pytest.raises(ModelFormatError, match="at most 32 levels"):
        dumps(SMALL, loop)


@pytest.mark.parametrize(
    ("boxes", "where"),
    [
        (Boxes.from_rules([({"\ud800": (1, 2)}, 1)], default=0), r"features\[0\]"),
        (Boxes.from_rules([({"a": (1, 2)}, "\ud800")], default=""), r"classes\[1\]"),
        (
            Boxes.from_rules([], default=0, feature_names=["a"], categories={"a": ["\ud800"]}),
            r"features\[0\].cat",
        ),
        (
            Boxes.from_rules([], default=0, feature_names=["a"], categories={"a": [10**20]}),
            r"features\[0\].cat",
        ),
    ],
)
def test_boxes_that_json_cannot_express_are_refused(boxes: Boxes, where: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match=where):
        write_model(boxes, tmp_path / "m.boxes.json")
    assert not list(tmp_path.iterdir())


def test_model_beyond_the_limits_is_refused_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.boxes.json"
    write_model(SMALL, path)
    before = path.read_bytes()
    monkeypatch.setattr(model_file, "MAX_ITEMS", 40)
    with pytest.raises(ModelFormatError, match="does not fit into a model file: expected at most 40 values"):
        write_model(SMALL, path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("labels", "default", "kind"), [([1, 2], 0.5, "f"), ([], "a", "U"), ([], True, "b"), ([], None, "i")]
)
def test_labels_of_one_model_are_of_one_kind(labels: list[Any], default: Any, kind: str) -> None:
    shape = (len(labels), 1)
    boxes = Boxes(np.zeros(shape), np.ones(shape), labels, default=default)
    assert boxes.labels.dtype.kind == boxes.classes.dtype.kind == kind
    assert exact(loads(dumps(boxes))) == exact(boxes)


# -- versions --------------------------------------------------------------------------------------


def test_higher_minor_without_unknown_keys_is_read() -> None:
    assert (
        from_document(forge(to_document(SMALL, {}) | {"format_version": [1, 9], "meta": {"new": 1}})) == SMALL
    )


GAPS = Boxes.from_rules([({"city": {"A", None}}, "yes")], default="no", categories={"city": ["A", "B", None]})


def test_the_lowest_minor_that_can_express_a_model_is_written() -> None:
    assert to_document(SMALL, {})["format_version"] == [1, 0]
    document = to_document(GAPS, {})
    assert document["format_version"] == [1, 1]
    assert document["features"] == [{"name": "city", "categories": ["A", "B", None]}]
    assert from_document(document).predict(np.array([["A"], ["B"], [None]], object)).tolist() == [
        "yes", "no", "yes",
    ]  # fmt: skip
    with pytest.raises(
        ModelFormatError, match=r"format_version: expected \[1, 1\], for missing values are named"
    ):
        from_document(forge(document | {"format_version": [1, 0]}))


@pytest.mark.parametrize("categories", [[None, "A", "B"], ["A", None, "B"], ["A", None, None]])
def test_null_is_one_category_among_others_and_the_last(categories: list[Any]) -> None:
    document = to_document(GAPS, {})
    with pytest.raises(ModelFormatError, match=r"have None, a missing value, last|expected different ones"):
        from_document(forge(document | {"features": [{"name": "city", "categories": categories}]}))


def test_unknown_key_of_this_version_does_not_ask_for_a_newer_release() -> None:
    with pytest.raises(ModelFormatError) as caught:
        from_document(forge(to_document(SMALL, {}) | {"weights": []}))
    assert "newer" not in str(caught.value)
