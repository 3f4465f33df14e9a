"""Hostile and damaged model files are refused by name, within modest time and memory, or read as they are."""

from __future__ import annotations

import copy
import errno
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_files import RICH, SMALL, forge, random_boxes

from hyperboxes import Boxes, ModelFormatError, model_document, model_file, read_model, write_model
from hyperboxes.model_file import dumps, from_document, loads, read_meta, to_document

HERE = Path(__file__).parent
SCHEMA = Path(model_file.__file__).parent / "schema" / "hyperboxes-model-1.json"

# -- attacks ---------------------------------------------------------------------------------------

#: What the message says -> the files of tests/attacks that it refuses.
ATTACKS = {
    "not JSON": (
        "comment empty hexadecimal html leading_zero nul_byte pickle safetensors_overlapping "
        "trailing_comma two_documents utf16_without_bom yaml"
    ),
    "expected plain ASCII": (
        "gzip gzip_bomb overlong_utf8 pickle_binary raw_utf8 safetensors_long_header utf16 utf8_bom zip"
    ),
    "expected one JSON object": "array",
    "occurs twice in one object": "duplicate_bound duplicate_key duplicate_key_in_meta",
    "expected finite numbers": "infinite_bound minus_infinite_bound nan_bound nan_in_meta overflow_in_meta",
    "nested too deeply": "deep_array deep_object",
    "meta: expected at most 32 levels": "nested_33_levels",
    "at most 20 digits, got one of 21": "long_integer",
    "expected the canonical form": "another_spelling exponent_spelling needless_escape unsorted_keys",
    'the file: unknown key "__proto__"': "proto",
    'boxes[0]: unknown key "__proto__"': "proto_in_box",
    'unknown key "$ref"': "other_file",
    'features[0]: unknown key "location"': "weights_path",
    'the key "default" is missing': "missing_key",
    'the key "rule" is missing': "missing_rule",
    "boxes[0].class: expected a position, counted from 0": "boolean_class float_class negative_class",
    "boxes[0].class: expected a position among 2 classes": "class_out_of_range",
    "default: expected a position": "default_out_of_range negative_default",
    'boxes[0].bounds["0"]: expected [lower, upper]': (
        "boolean_bound both_sides_open integer_bound overflowing_bound text_bound three_sides"
    ),
    'boxes[0].bounds["0"]: expected lower <= upper': "crossed_bounds",
    'boxes[0].bounds["0"]: expected 0.0 for zero': "negative_zero",
    "boxes[0].bounds: expected keys that are positions of features": (
        "arabic_digit_feature feature_with_newline negative_feature padded_feature"
    ),
    "boxes[0].bounds: expected keys that are positions of numeric": (
        "bounds_on_categories feature_out_of_range"
    ),
    "boxes[0].categories: expected keys": "categories_on_number",
    'boxes[0].categories["1"]: expected fewer than all': "all_categories",
    'boxes[0].categories["1"]: expected rising positions': "category_out_of_range category_twice",
    'boxes[0].categories["1"]: expected an array of one': "no_category",
    'boxes[0].categories["1"][0]: expected a position': "negative_category",
    "features[1].categories: expected different": "equal_categories same_categories",
    "features: expected different": "same_names",
    "classes: expected different": "same_labels",
    "classes[1]: expected": (
        "label_ending_in_nul lone_surrogate_label mixed_labels null_label wide_integer_label"
    ),
    "features[0]: expected whole Unicode": "lone_surrogate_name",
    "meta: expected whole Unicode": "lone_surrogate_meta",
    "boxes[0].counts[1]: expected": "negative_counts",
    "boxes[0].counts: expected": "counts_in_one_box short_counts",
    "scale: expected": "nearest_without_scale scale_without_nearest short_scale",
    "scale[1]: expected": "scale_not_power_of_two zero_scale",
    'rule: expected "first-match", got "last-match"': "other_rule",
    'missing: expected "outside", got "inside"': "other_missing",
    "bytes of memory": "wide_label_bomb",
    "the file is of format 2.0, hyperboxes 0.1.0 reads format 1": "higher_major",
    "the file is of format 0.9": "lower_major",
    "the file is of format 1.7, hyperboxes 0.1.0 reads 1.1: take a newer release": (
        "higher_minor_unknown_key"
    ),
    "format_version: expected [major, minor]": "boolean_version",
    'format: expected "hyperboxes-model"': "other_format",
    "sha256: expected": "edited_bound hash_with_newline upper_case_hash wrong_hash",
}


def test_every_attack_is_listed() -> None:
    listed = [name for names in ATTACKS.values() for name in names.split()]
    assert sorted(listed) == sorted(
        path.name.removesuffix(".boxes.json") for path in HERE.glob("attacks/*.boxes.json")
    )


@pytest.mark.parametrize(
    ("said", "name"), [(said, name) for said, names in ATTACKS.items() for name in names.split()]
)
def test_attack_is_refused_for_its_reason(said: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_document, "__version__", "0.1.0")
    path = HERE / "attacks" / f"{name}.boxes.json"
    for read in (read_model, read_meta):
        with pytest.raises(ModelFormatError) as caught:
            read(path)
        assert said in str(caught.value)
        assert repr(str(path)) in str(caught.value)
        assert str(caught.value).replace("…", "").isascii()
        assert len(str(caught.value)) < 600


def test_nothing_in_a_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.boxes.json"
    names = ["/etc/passwd", "../secret", "file:///etc/passwd", "C:\\x", "$(touch owned)"]
    boxes = Boxes.from_rules([(dict.fromkeys(names, (0, 1)), "/etc/shadow")], default="/dev/zero")
    write_model(boxes, path)
    opened, real = [], os.open
    monkeypatch.setattr(os, "open", lambda name, *rest: opened.append(name) or real(name, *rest))
    assert read_model(path) == boxes
    assert opened == [str(path)]


@pytest.mark.parametrize("name", ["m.json", "m.boxes.json.gz", "m.pkl", "m", "m.BOXES.JSON", "m.boxes.json "])
def test_other_suffixes_are_refused_both_ways(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(ModelFormatError, match=r"ends in \.boxes\.json"):
        write_model(SMALL, path)
    path.write_text(dumps(SMALL))
    with pytest.raises(ModelFormatError, match=r"ends in \.boxes\.json"):
        read_model(path)


def test_file_system_errors_are_os_errors_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.boxes\.json"):
        read_model(tmp_path / "absent.boxes.json")
    for call in (read_model, lambda path: write_model(SMALL, path)):
        with pytest.raises(OSError, match="NUL") as caught:
            call("a\0.boxes.json")
        assert caught.value.errno == errno.EINVAL


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix files")
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["directory", "pipe", "device"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str, linked: bool) -> None:
    path = tmp_path / "m.boxes.json"
    target = tmp_path / "target" if linked or kind == "device" else path
    if kind == "directory":
        target.mkdir()
    elif kind == "pipe":
        os.mkfifo(target)
    else:
        target = Path("/dev/zero")
    if target != path:
        path.symlink_to(target)
    with pytest.raises(ModelFormatError, match=f"expected a regular file, got a {kind}"):
        read_model(path)


def test_pipe_that_takes_the_place_of_the_file_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, regular = tmp_path / "m.boxes.json", tmp_path / "regular"
    os.mkfifo(path)
    regular.touch()
    real = os.stat
    monkeypatch.setattr(model_file.os, "stat", lambda name: real(regular))
    with pytest.raises(ModelFormatError, match="got a pipe"):
        read_model(path)


def test_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "target").write_text(dumps(SMALL))
    (tmp_path / "m.boxes.json").symlink_to("target")
    assert read_model(tmp_path / "m.boxes.json") == SMALL


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_file_that_grows_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.boxes.json"
    path.symlink_to("/proc/self/status")  # announces no bytes and has many
    with pytest.raises(ModelFormatError, match="changed while it was read"):
        read_model(path)


def test_size_is_checked_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.boxes.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    monkeypatch.setattr(model_file.os, "open", None)
    with pytest.raises(ModelFormatError, match="expected at most 67108864 bytes, got 1099511627776"):
        read_model(path)


@pytest.mark.parametrize("pretty", [False, True])
def test_every_flipped_bit_is_refused(tmp_path: Path, pretty: bool) -> None:
    path = tmp_path / "m.boxes.json"
    data = dumps(SMALL, {"note": "1e-05 é"}, pretty).encode()
    assert b"1e-05" in data
    assert b"\\u00e9" in data
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            with pytest.raises(ModelFormatError):
                read_model(path)


def test_every_truncation_is_refused() -> None:
    text = dumps(SMALL)
    assert text.endswith("}\n")
    for length in range(len(text) - 1):
        with pytest.raises(ModelFormatError):
            loads(text[:length])


# -- mutations -------------------------------------------------------------------------------------

VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    2**63,
    10**20,
    10**30,
    0.5,
    -0.5,
    -0.0,
    5e-324,
    1e308,
    math.inf,
    "",
    "0",
]
VALUES += [
    "x\0",
    "\ud800",
    "nearest",
    "default",
    "a" * 64,
    [],
    {},
    [None, None],
    [1.0, 0.5],
    [0.5, 1.0],
    [None, 1.0],
    [0.5, 1.0, 2.0],
]
VALUES += [
    [0],
    [0, 1],
    [1, 0],
    ["a", 1],
    [1.0],
    [2.0, 2.0],
    {"0": [0.0, 1.0]},
    {"0": [0]},
    {"00": [0.0, 1.0]},
    {"a": 1},
]
KEYS = [
    "0",
    "1",
    "9",
    "00",
    "0\n",
    "-1",
    "name",
    "categories",
    "bounds",
    "class",
    "counts",
    "scale",
    "__proto__",
    "",
]


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """List every container of a document with each of its keys."""
    for key in range(len(value)) if type(value) is list else list(value):
        yield value, key
        if type(value[key]) in (list, dict):
            yield from spots(value[key])


@st.composite
def mutated_documents(draw: st.DrawFn) -> dict[str, Any]:
    document = to_document(draw(random_boxes()), {})
    random_ = draw(st.randoms(use_true_random=False))
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        container, key = random_.choice(list(spots(document)) or [(document, "meta")])
        mutation = random_.randrange(6)
        if mutation <= 1:
            container[key] = copy.deepcopy(random_.choice(VALUES))
        elif mutation == 2:
            del container[key]
        elif mutation == 3 and type(container) is list:
            container.insert(key, copy.deepcopy(random_.choice([container[key], *VALUES])))
        elif mutation == 3:
            container[random_.choice(KEYS)] = copy.deepcopy(random_.choice([container[key], *VALUES]))
        else:
            other, other_key = random_.choice(list(spots(document)))
            container[key] = copy.deepcopy(other[other_key])
    return forge(document)


def every_mutation(boxes: Boxes) -> Iterator[dict[str, Any]]:
    """Put each value in each place, take each place away, and add each key to each object."""
    whole = to_document(boxes, {})
    for number in range(len(list(spots(whole)))):
        changes = [*(("set", value) for value in VALUES), ("delete", None)]
        changes += [("add", key) for key in KEYS]
        for change, argument in changes:
            document = copy.deepcopy(whole)
            container, key = list(spots(document))[number]
            if change == "set":
                container[key] = argument
            elif change == "delete":
                del container[key]
            elif type(container) is dict and argument not in container:
                container[argument] = copy.deepcopy(container[key])
            else:
                continue
            yield forge(document)


def is_fixed_point_or_refused(document: dict[str, Any]) -> bool:
    """Tell whether a document loads, and then that writing and reading changes nothing any more."""
    try:
        boxes = from_document(document)
    except ModelFormatError:
        return False
    text = dumps(boxes)
    assert loads(text) == boxes
    assert dumps(loads(text)) == text
    return True


def test_every_single_mutation_is_refused_or_reaches_a_fixed_point() -> None:
    loaded = [is_fixed_point_or_refused(document) for document in every_mutation(RICH)]
    assert len(loaded) > 2000
    assert 50 < sum(loaded) < len(loaded) / 4


@given(mutated_documents())
def test_mutated_document_is_refused_or_reaches_a_fixed_point(document: dict[str, Any]) -> None:
    is_fixed_point_or_refused(document)


def test_mutated_text_raises_nothing_but_format_errors() -> None:
    random_ = random.Random(0)  # noqa: S311
    text = dumps(SMALL, {"a": [1, {"b": 1e-05}]})
    pieces = [
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        '"',
        "\\",
        "\\u",
        "e",
        "-",
        "0",
        "9" * 30,
        "null",
        "NaN",
        " ",
        "\n",
        "\0",
        "é",
    ]
    for _ in range(5000):
        start = random_.randrange(len(text))
        end = min(len(text), start + random_.choice([0, 0, 1, 1, 5, 50]))
        mutated = text[:start] + "".join(random_.choices(pieces, k=random_.choice([0, 1, 1, 3]))) + text[end:]
        try:
            assert loads(mutated) == SMALL
        except ModelFormatError:
            continue
        assert "".join(mutated.split()) == "".join(text.split())


@pytest.mark.parametrize("document", [None, 3, [], "x", {}, {"format": {}}, {"format": "hyperboxes-model"}])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(ModelFormatError):
        from_document(document)


# -- schema ----------------------------------------------------------------------------------------


def test_schema_states_the_limits_of_the_validator() -> None:
    keys = json.loads(SCHEMA.read_text())["properties"]
    assert keys["boxes"]["maxItems"] == model_document.MAX_BOXES
    assert keys["features"]["maxItems"] == model_document.MAX_FEATURES
    assert keys["classes"]["maxItems"] == model_document.MAX_CLASSES
    assert keys["scale"]["maxItems"] == model_document.MAX_ITEMS
    assert set(keys) == {*model_document._REQUIRED, *model_document._OPTIONAL}


def test_schema_and_validator_agree() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    standard = jsonschema.Draft202012Validator
    standard.check_schema(schema)

    def exact_type(validator: Any, name: str, value: Any, within: Any) -> Iterator[Any]:
        # The schema language takes 1 and 1.0 for one value; the files, and its description, do not.
        wrong = {"integer": int, "number": float}.get(name, type(value)) is not type(value)
        yield from [jsonschema.ValidationError(name)] if wrong else ()
        yield from standard.VALIDATORS["type"](validator, name, value, within)

    validator = jsonschema.validators.extend(standard, validators={"type": exact_type})(schema)

    def agree(document: dict[str, Any]) -> None:
        try:
            model_document._check_shape(document)
            error = None
        except ModelFormatError as refusal:
            error = refusal
        assert validator.is_valid(document) == (error is None), (document, error)

    for document in every_mutation(RICH):
        agree(document)
    given(mutated_documents())(agree)()
    for path in sorted(HERE.glob("data/models/*/*.boxes.json")):
        assert standard(schema).is_valid(json.loads(path.read_text()))


# -- cost ------------------------------------------------------------------------------------------

BASE = {"classes": ["x", "y"], "features": [{"name": "a"}], "boxes": [{"class": 0, "bounds": {}}]}
MEBIBYTE = 2**20


def sealed(**changes: Any) -> str:
    document = forge(to_document(SMALL, {}) | {"default": 0} | BASE | changes)
    return "".join(piece for _, piece in model_document.canonical_pieces(document))


def with_meta(text: str) -> str:
    return sealed(meta={"a": 0}).replace('{"a":0}', f'{{"a":{text}}}')


def dense(last: int) -> str:
    bounds = {str(column): [0.30000000000000004, 1.1] for column in range(100)}
    boxes = [{"class": 0, "bounds": bounds} for _ in range(2400)] + [{"class": last, "bounds": bounds}]
    return sealed(boxes=boxes, features=[{"name": str(column)} for column in range(100)])


def categorical(n_features: int, n_boxes: int) -> str:
    features = [{"name": str(column), "categories": ["a", "b"]} for column in range(n_features)]
    box = {"class": 0, "bounds": {}, "categories": {str(column): [0] for column in range(n_features)}}
    return sealed(features=features, boxes=[box] * n_boxes)


HEAVY = {
    "dense": lambda: dense(0),
    "dense_bad_end": lambda: dense(7),
    "many_boxes": lambda: sealed(boxes=BASE["boxes"] * 160_000),
    "sparse_bomb": lambda: sealed(
        features=[{"name": str(j)} for j in range(99_999)], boxes=BASE["boxes"] * 80_000
    ),
    "large_cells": lambda: sealed(
        features=[{"name": str(j)} for j in range(2000)], boxes=BASE["boxes"] * 1040
    ),
    "categorical": lambda: categorical(4999, 30),
    "one_wide_feature": lambda: sealed(features=[{"name": "a", "categories": list(range(900_000))}]),
    "many_labels": lambda: sealed(classes=[f"{j}" for j in range(900_000)]),
    "long_label": lambda: sealed(classes=["x" * 400, "y"], boxes=BASE["boxes"] * 20_000),
    "long_names": lambda: sealed(features=[{"name": f"{j}" + "x" * 6000} for j in range(10_000)]),
    "lists": lambda: with_meta("[" + "[]," * 490_000 + "0]"),
    "many_lists": lambda: with_meta("[" + "[]," * (20 * MEBIBYTE) + "0]"),
    "keys": lambda: with_meta("{" + ",".join(f'"{j}":1' for j in range(490_000)) + "}"),
    "wide_texts": lambda: with_meta("[" + ",".join(['"\\u4e00a\\ud83d\\ude00"'] * 660_000) + "]"),
    "long_text": lambda: with_meta('"' + "x" * (63 * MEBIBYTE) + '"'),
    "one_wide_character": lambda: with_meta('"' + "x" * (63 * MEBIBYTE) + '\\ud83d\\ude00"'),
    "smaller_wide_text": lambda: with_meta('"' + "x" * (15 * MEBIBYTE) + '\\ud83d\\ude00"'),
    "integer_of_60_million_digits": lambda: with_meta("1" * 60_000_000),
    "number_of_60_million_digits": lambda: with_meta("1." + "1" * 60_000_000),
    "100_million_digits": lambda: with_meta("1" * 100_000_000),
    "million_levels_of_lists": lambda: "[" * 1_000_000,
    "levels_of_lists": lambda: with_meta("[" * 490_000 + "]" * 490_000),
    "levels_of_objects": lambda: with_meta('{"a":' * 300_000),
    "white_space": lambda: sealed().replace(",", "," + " " * (4 * MEBIBYTE)),
    "only_white_space": lambda: " " * (63 * MEBIBYTE),
    "nul_bytes": lambda: "\0" * (63 * MEBIBYTE),
}
MEASURE = """
import sys, time
from hyperboxes.model_file import ModelFormatError, read_model
start = time.process_time()
try:
    read_model(sys.argv[1])
except ModelFormatError:
    pass
seconds = time.process_time() - start
print(seconds, int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", HEAVY)
def test_any_file_costs_at_most_two_seconds_and_200_megabytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.boxes.json"
    path.write_text(HEAVY[name]())
    cost = []
    for _ in range(3):  # the best of three: neighbours on the machine slow it down, nothing speeds it up
        run = subprocess.run(
            [sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True
        )
        cost.append([float(figure) for figure in run.stdout.split()])
        if cost[-1][0] < 2:
            break
    path.unlink()
    assert min(seconds for seconds, _ in cost) < 2
    assert min(megabytes for _, megabytes in cost) < 200


def test_model_files_need_neither_torch_nor_scikit_learn() -> None:
    code = (
        "import sys; import hyperboxes.model_file; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'sklearn', 'numba', 'pandas', 'matplotlib')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
