"""Model documents: the JSON object of a model file, made from boxes and checked in full."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .boxes import Boxes
from .tables import Category

FORMAT = "hyperboxes-model"
FORMAT_VERSION = (1, 1)
#: What stands for the bounds of a feature whose value must be missing.
MUST_MISS = "missing"

#: Limits that keep the reading of any file, however hostile, to two seconds and 200 MB at most.
MAX_ITEMS = 1_000_000
MAX_MODEL_BYTES = 32 * 2**20
MAX_TEXT = 8 * 2**20
MAX_BOXES = 1_000_000
MAX_CLASSES = 10_000
MAX_FEATURES = 100_000
MAX_CATEGORICAL = 5_000
MAX_CATEGORIES = 200_000
MAX_META = 100_000
MAX_DEPTH = 32
MAX_DIGITS = 20

Document = dict[str, Any]

_KINDS = ("format", "format_version", "rule", "missing", "uncovered")
_REQUIRED = (*_KINDS, "features", "classes", "default", "boxes", "meta", "sha256")
_OPTIONAL = ("scale", "uncovered_counts")
_PLACE = re.compile(r"0|[1-9][0-9]{0,4}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FINITE = "a finite number written with a point or an exponent, such as 18.0"


class ModelFormatError(ValueError):
    """A model file is not what it should be; the message says where, what was expected and what came."""


# -- documents -------------------------------------------------------------------------------------


def to_document(boxes: Boxes, meta: Mapping[str, Any]) -> Document:
    """Turn boxes into the JSON object that a model file holds.

    Raises
    ------
    ModelFormatError
        If JSON cannot express the boxes or ``meta``: an infinite category, or half a Unicode character.
    """
    place = {label: index for index, label in enumerate(_labels_of(boxes.classes))}
    document: Document = {
        "format": FORMAT,
        "format_version": [FORMAT_VERSION[0], int(_names_missing(boxes))],
        "classes": list(place),
        "default": None if boxes.default is None else place[boxes.default],
        "rule": "first-match",
        "missing": "outside",
        "uncovered": boxes.uncovered,
        "features": [
            {"name": name, "categories": list(boxes.categories[name])}
            if name in boxes.categories
            else {"name": name}
            for name in boxes.feature_names
        ],
        "boxes": [
            _box_to_document(boxes, box, place[label]) for box, label in enumerate(_labels_of(boxes.labels))
        ],
        "meta": dict(meta),
    }
    if boxes.scale is not None:
        document["scale"] = boxes.scale.tolist()
    if boxes.counts is not None:
        document["uncovered_counts"] = boxes.counts[-1].tolist()
    document["sha256"] = "0" * 64
    _check_shape(document)
    _check_size(document)
    document["sha256"] = _digest(document)
    if _build(document) != boxes:
        raise ModelFormatError("these boxes would not read back as they are")
    return document


def _names_missing(boxes: Boxes) -> bool:
    """Tell whether a missing value is a category of a feature, or asked for, which takes format 1.1."""
    return any(None in known for known in boxes.categories.values()) or bool(np.isnan(boxes.lower).any())


def _labels_of(labels: NDArray[Any]) -> list[Any]:
    # Narrow and wide floats alike become Python floats, which JSON writes exactly.
    return list((labels.astype(np.float64) if labels.dtype.kind == "f" else labels).tolist())


def _box_to_document(boxes: Boxes, box: int, label: int) -> Document:
    bounds, sets = {}, {}
    for condition in boxes.conditions(box):
        key = str(condition.feature)
        if condition.categories is not None:
            sets[key] = np.flatnonzero(boxes.allowed[condition.name][box]).tolist()
        else:
            sides = (condition.lower, condition.upper)
            closed = [side if math.isfinite(side) else None for side in sides]
            bounds[key] = MUST_MISS if condition.takes_missing else closed
    document: Document = {"class": label, "bounds": bounds}
    if sets:
        document["categories"] = sets
    if boxes.counts is not None:
        document["counts"] = boxes.counts[box].tolist()
    return document


def from_document(document: Any, text: str | None = None) -> Boxes:
    """Turn the JSON object of a model file into boxes, checking all of it.

    Parameters
    ----------
    document : dict
        The object, as JSON has it.
    text : str, optional
        What the object was parsed from; if given it must be the canonical text, white space aside.

    Raises
    ------
    ModelFormatError
        Saying where the document is wrong, what was expected there and what came.
    """
    minor = _check_version(document)
    try:
        _check_shape(document)
    except ModelFormatError as error:
        if minor <= FORMAT_VERSION[1]:
            raise
        ours, theirs = ".".join(map(str, FORMAT_VERSION)), f"{FORMAT_VERSION[0]}.{minor}"
        raise ModelFormatError(
            f"{error} (the file is of format {theirs}, hyperboxes {__version__} reads {ours}: "
            "take a newer release)"
        ) from None
    _check_size(document)
    _check_digest(document, text)
    return _build(document)


# -- canonical text --------------------------------------------------------------------------------


_ENCODER = json.JSONEncoder(sort_keys=True, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
#: Long arrays are rendered in runs, so that hashing a large file needs no second copy of it.
_RUN = 1000


def canonical_pieces(document: Document, newline: str = "") -> Iterator[tuple[str, str]]:
    """Render a document canonically, piece by piece, each with the top-level key that it belongs to."""
    start = "{"
    for key in sorted(document):
        yield key, f'{start}{newline}"{key}":'
        start = ","
        if key not in ("boxes", "features"):
            yield key, _ENCODER.encode(document[key])
            continue
        before = "["
        for first in range(0, len(document[key]), _RUN):
            run = document[key][first : first + _RUN]
            items = f",{newline}".join(map(_ENCODER.encode, run)) if newline else _ENCODER.encode(run)[1:-1]
            yield key, f"{before}{newline}{items}"
            before = ","
        yield key, f"{newline}]" if before == "," else "[]"
    yield "", f"{newline}}}"


def _digest(document: Document) -> str:
    """Hash the canonical text without the hash itself."""
    sha256 = hashlib.sha256()
    for key, piece in canonical_pieces(document):
        if key != "sha256":
            sha256.update(piece.encode("ascii"))
    return sha256.hexdigest()


def _check_digest(document: Document, text: str | None) -> None:
    """Refuse content that does not have its hash, and text that is not the canonical one.

    The hash alone would let some damage pass: ``1e-05`` and ``1E-05`` are one number, and so are many
    digits. White space is free, so that an editor or git may change the ends of lines.
    """
    # White space inside strings can go too: the hash vouches for their content.
    rest = text
    for blank in " \n\r\t":
        rest = rest and rest.replace(blank, "")
    place, strange = 0, None
    sha256 = hashlib.sha256()
    for key, piece in canonical_pieces(document):
        if key != "sha256":
            sha256.update(piece.encode("ascii"))
        if rest is not None and strange is None:
            piece = piece.replace(" ", "")
            strange = None if rest.startswith(piece, place) else key
            place += len(piece)
    if sha256.hexdigest() != document["sha256"]:
        raise ModelFormatError(
            f"sha256: expected {sha256.hexdigest()} for this content, got {document['sha256']}: "
            "the file was damaged or edited"
        )
    if strange is not None:
        raise ModelFormatError(
            f"{strange}: expected the canonical form (sorted keys, shortest numbers, \\u escapes), "
            "got another spelling of the same; write the file with hyperboxes"
        )


# -- shape: what the JSON Schema says, and no more ---------------------------------------------------


def _refuse(where: str, expected: str, got: object) -> NoReturn:
    raise ModelFormatError(f"{where}: expected {expected}, got {show(got)}")


def show(value: object, nested: bool = False) -> str:
    """Name a value in an error message: short, and without a character that a terminal could obey."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value[:40]) + ("…" if len(value) > 40 else "")
    if isinstance(value, int):
        return str(value) if abs(value) < 10**MAX_DIGITS else "a huge integer"
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, list | tuple):
        if len(value) <= 4 and not nested:
            return f"[{', '.join(show(item, nested=True) for item in value)}]"
        return f"an array of {len(value)}"
    return f"an object of {len(value)} members" if isinstance(value, dict) else f"a {type(value).__name__}"


def _check_version(document: Any) -> int:
    """Refuse another format or another major version before anything else; give the minor version."""
    if type(document) is not dict:
        _refuse("the file", "one JSON object", document)
    if type(document.get("format")) is not str or document["format"] != FORMAT:
        _refuse("format", json.dumps(FORMAT), document.get("format"))
    version = document.get("format_version")
    if (
        type(version) is not list
        or len(version) != 2
        or not all(type(part) is int and part >= 0 for part in version)
    ):
        _refuse("format_version", "[major, minor]", version)
    major, minor = version
    if major != FORMAT_VERSION[0]:
        raise ModelFormatError(
            f"format_version: the file is of format {show(major)}.{show(minor)}, "
            f"hyperboxes {__version__} reads format {FORMAT_VERSION[0]}"
        )
    return int(minor)


def _check_shape(document: Any) -> None:
    _check_version(document)
    _check_keys(document, "the file", _REQUIRED, _OPTIONAL)
    for key, known in (
        ("rule", ("first-match",)),
        ("missing", ("outside",)),
        ("uncovered", ("default", "nearest")),
    ):
        if type(document[key]) is not str or document[key] not in known:
            _refuse(key, " or ".join(map(json.dumps, known)), document[key])
    if type(document["sha256"]) is not str or not _DIGEST.fullmatch(document["sha256"]):
        _refuse("sha256", "64 lower-case hexadecimal digits", document["sha256"])
    if type(document["meta"]) is not dict:
        _refuse("meta", "an object", document["meta"])
    if document["default"] is not None:
        _check_place(document["default"], "default")
    _check_classes(document["classes"])
    _check_list(document["features"], "features", MAX_FEATURES)
    for index, feature in enumerate(document["features"]):
        _check_feature(feature, f"features[{index}]")
    _check_list(document["boxes"], "boxes", MAX_BOXES)
    for index, box in enumerate(document["boxes"]):
        _check_box(box, f"boxes[{index}]")
    if (document["uncovered"] == "nearest") != ("scale" in document):
        _refuse("scale", 'this key with uncovered "nearest", and only then', document["uncovered"])
    if "scale" in document:
        _check_numbers(document["scale"], "scale", least=2.0**-1023)
    if "uncovered_counts" in document:
        _check_numbers(document["uncovered_counts"], "uncovered_counts", least=0.0)


def _check_keys(value: Any, where: str, required: Collection[str], optional: Collection[str] = ()) -> None:
    if type(value) is not dict:
        _refuse(where, "an object", value)
    for key in value:
        if key not in required and key not in optional:
            raise ModelFormatError(
                f"{where}: unknown key {show(key)}; known are {sorted([*required, *optional])}"
            )
    for key in required:
        if key not in value:
            raise ModelFormatError(f"{where}: the key {show(key)} is missing")


def _check_list(value: Any, where: str, most: int) -> None:
    if type(value) is not list or len(value) > most:
        _refuse(where, f"an array of at most {most}", value)


def _check_place(value: Any, where: str) -> None:
    if type(value) is not int or value < 0:
        _refuse(where, "a position, counted from 0", value)


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _check_numbers(values: Any, where: str, least: float) -> None:
    _check_list(values, where, MAX_ITEMS)
    for index, value in enumerate(values):
        if not _is_number(value) or value < least:
            _refuse(f"{where}[{index}]", f"{_FINITE}, of {least} or more", value)


def _check_classes(classes: Any) -> None:
    _check_list(classes, "classes", MAX_CLASSES)
    for index, label in enumerate(classes):
        kind = type(label)
        if (
            kind not in (int, float, str, bool)
            or kind is not type(classes[0])
            or (kind is float and not _is_number(label))
        ):
            _refuse(
                f"classes[{index}]",
                "a label: all integers, all finite numbers, all texts or all booleans",
                label,
            )
        if kind is int and not -(2**63) <= label < 2**63:
            _refuse(f"classes[{index}]", "an integer of 64 bits", label)
        if kind is str and label.endswith("\0"):
            _refuse(f"classes[{index}]", "a text that does not end in NUL", label)


def _check_feature(feature: Any, where: str) -> None:
    _check_keys(feature, where, ("name",), ("categories",))
    if type(feature["name"]) is not str:
        _refuse(f"{where}.name", "a text", feature["name"])
    if "categories" not in feature:
        return
    values = feature["categories"]
    if type(values) is not list or not values:
        _refuse(f"{where}.categories", "an array of one category or more", values)
    for index, value in enumerate(values):
        kind = type(value)
        if kind not in (int, float, str, bool, type(None)) or (kind is float and not math.isfinite(value)):
            _refuse(f"{where}.categories[{index}]", "a text, a finite number, a boolean or null", value)
        if kind is int and abs(value) >= 10**MAX_DIGITS:
            _refuse(f"{where}.categories[{index}]", f"an integer of at most {MAX_DIGITS} digits", value)


def _check_box(box: Any, where: str) -> None:
    _check_keys(box, where, ("class", "bounds"), ("categories", "counts"))
    _check_place(box["class"], f"{where}.class")
    bounds = box["bounds"]
    if type(bounds) is not dict:
        _refuse(f"{where}.bounds", "an object", bounds)
    for key, sides in bounds.items():
        _check_feature_key(key, where, "bounds")
        if not (type(sides) is str and sides == MUST_MISS) and not (
            type(sides) is list and len(sides) == 2
            and (sides[0] is None or _is_number(sides[0])) and (sides[1] is None or _is_number(sides[1]))
            and not sides[0] is sides[1] is None
        ):  # fmt: skip
            _refuse(
                f'{where}.bounds["{key}"]',
                f'[lower, upper], each {_FINITE}, one of them perhaps null, or "missing"',
                sides,
            )
    if "categories" in box:
        sets = box["categories"]
        if type(sets) is not dict or not sets:
            _refuse(f"{where}.categories", "an object of one member or more", sets)
        for key, admitted in sets.items():
            _check_feature_key(key, where, "categories")
            if type(admitted) is not list or not admitted:
                _refuse(f'{where}.categories["{key}"]', "an array of one position or more", admitted)
            for index, value in enumerate(admitted):
                if type(value) is not int or value < 0:
                    _refuse(f'{where}.categories["{key}"][{index}]', "a position, counted from 0", value)
    if "counts" in box:
        _check_numbers(box["counts"], f"{where}.counts", least=0.0)


def _check_feature_key(key: Any, where: str, member: str) -> None:
    if type(key) is not str or not _PLACE.fullmatch(key):
        _refuse(f"{where}.{member}", 'keys that are positions of features, such as "0"', key)


# -- meaning: what no schema can say -----------------------------------------------------------------


def is_text(value: str) -> bool:
    """Tell whether a text is made of whole Unicode characters."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_text(value: object, where: str) -> None:
    if type(value) is str and not value.isascii() and not is_text(value):
        _refuse(where, "whole Unicode characters", value)


def _check_size(document: Document) -> None:
    """Refuse a small file of a large model, and text beyond measure, before either costs anything."""
    # A sparse file can announce arrays far larger than itself, and one long label widens every label.
    n_boxes, n_features = len(document["boxes"]), len(document["features"])
    sets = [feature["categories"] for feature in document["features"] if "categories" in feature]
    if len(sets) > MAX_CATEGORICAL:
        _refuse("features", f"at most {MAX_CATEGORICAL} categorical ones", len(sets))
    n_categories = sum(map(len, sets))
    if n_categories > MAX_CATEGORIES:
        _refuse("features", f"at most {MAX_CATEGORIES} categories in all", n_categories)
    longest = max((len(label) for label in document["classes"] if type(label) is str), default=2)
    size = n_boxes * (16 * n_features + n_categories) + 4 * longest * (n_boxes + len(document["classes"]))
    if size > MAX_MODEL_BYTES:
        raise ModelFormatError(
            f"{n_boxes} boxes over {n_features} features, with {n_categories} categories and labels of up "
            f"to {longest} characters, would take {size} bytes of memory: expected at most {MAX_MODEL_BYTES}"
        )
    length = sum(len(feature["name"]) for feature in document["features"])
    length += sum(len(value) for values in sets for value in values if type(value) is str)
    if length > MAX_TEXT:
        _refuse("features", f"at most {MAX_TEXT} characters of names and categories", length)
    _check_meta(document["meta"])


def _check_meta(meta: Document) -> None:
    """Refuse what JSON cannot express, or not safely; everything else in ``meta`` is free."""
    level: list[Any] = [meta]
    n_values = length = 0
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                deeper.extend(value)
                deeper.extend(value.values())
                if not all(type(key) is str for key in value):
                    _refuse("meta", "keys that are texts", next(key for key in value if type(key) is not str))
            elif kind is list:
                deeper.extend(value)
            elif kind is str:
                length += len(value)
                _check_text(value, "meta")
            elif kind is int and abs(value) >= 10**MAX_DIGITS:
                _refuse("meta", f"integers of at most {MAX_DIGITS} digits", value)
            elif kind not in (int, float, bool, type(None)) or (kind is float and not math.isfinite(value)):
                _refuse("meta", "finite numbers, texts, booleans, nulls, arrays and objects", value)
        if length > MAX_TEXT:
            _refuse("meta", f"at most {MAX_TEXT} characters", length)
        n_values += len(deeper)
        if n_values > MAX_META:
            _refuse("meta", f"at most {MAX_META} keys and values", n_values)
        if not deeper:
            return
        level = deeper
    raise ModelFormatError(f"meta: expected at most {MAX_DEPTH} levels")


def _build(document: Document) -> Boxes:
    """Make the boxes of a document of the right shape, or say where it contradicts itself."""
    classes, features, rows = document["classes"], document["features"], document["boxes"]
    _check_distinct(classes, "classes")
    if document["default"] is not None and document["default"] >= len(classes):
        _refuse("default", f"a position among {len(classes)} classes", document["default"])
    names = tuple(feature["name"] for feature in features)
    _check_distinct(names, "features")
    for index, feature in enumerate(features):
        _check_distinct(feature.get("categories", ()), f"features[{index}].categories")
    numeric = {str(place): place for place, feature in enumerate(features) if "categories" not in feature}
    categories = {feature["name"]: feature["categories"] for feature in features if "categories" in feature}
    allowed = {name: np.ones((len(rows), len(values)), bool) for name, values in categories.items()}
    categorical = {str(place): name for place, name in enumerate(names) if name in categories}
    lower, upper = np.full((len(rows), len(names)), -np.inf), np.full((len(rows), len(names)), np.inf)
    for index, row in enumerate(rows):
        if row["class"] >= len(classes):
            _refuse(f"boxes[{index}].class", f"a position among {len(classes)} classes", row["class"])
        for key, sides in row["bounds"].items():
            if key not in numeric:
                _refuse(f"boxes[{index}].bounds", "keys that are positions of numeric features", key)
            low, high = (math.nan, math.nan) if sides == MUST_MISS else sides
            lower[index, numeric[key]] = -np.inf if low is None else low
            upper[index, numeric[key]] = np.inf if high is None else high
        for key, admitted in row.get("categories", {}).items():
            if key not in categorical:
                _refuse(f"boxes[{index}].categories", "keys that are positions of categorical features", key)
            table = allowed[categorical[key]]
            _check_admitted(admitted, table.shape[1], f'boxes[{index}].categories["{key}"]')
            table[index] = False
            table[index, admitted] = True
    _check_bounds(lower, upper)
    labels = np.array(classes)
    try:
        boxes = Boxes(
            lower, upper, labels[[row["class"] for row in rows]] if rows else labels[:0], names,
            None if document["default"] is None else classes[document["default"]], labels,
            {name: tuple(values) for name, values in categories.items()}, allowed, document["uncovered"],
            _scale(document, len(names)), _counts(document, len(classes)),
        )  # fmt: skip
        if _names_missing(boxes) and document["format_version"][1] < 1:
            _refuse("format_version", "[1, 1], for missing values are named", document["format_version"])
        return boxes
    except ModelFormatError:
        raise
    except ValueError as error:
        raise ModelFormatError(f"these boxes contradict themselves: {error}") from None


def _check_distinct(values: Collection[Category | None], where: str) -> None:
    if len(set(values)) != len(values):
        seen: set[Category | None] = set()
        for value in values:
            if value in seen:
                raise ModelFormatError(f"{where}: expected different ones, got {show(value)} twice")
            seen.add(value)
    for index, value in enumerate(values):
        _check_text(value, f"{where}[{index}]")


def _check_bounds(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    negative_zero = (np.signbit(lower) & (lower == 0)) | (np.signbit(upper) & (upper == 0))
    for wrong, expected in ((lower > upper, "lower <= upper"), (negative_zero, "0.0 for zero")):
        if wrong.any():
            box, feature = np.argwhere(wrong)[0]
            sides = [lower[box, feature].item(), upper[box, feature].item()]
            _refuse(f'boxes[{box}].bounds["{feature}"]', expected, sides)


def _check_admitted(admitted: list[int], n_categories: int, where: str) -> None:
    if admitted[-1] >= n_categories or any(a >= b for a, b in pairwise(admitted)):
        _refuse(where, f"rising positions among {n_categories} categories", admitted)
    if len(admitted) == n_categories:
        _refuse(where, "fewer than all categories: a box that admits all leaves the feature out", admitted)


def _scale(document: Document, n_features: int) -> NDArray[np.float64] | None:
    if "scale" not in document:
        return None
    scale = document["scale"]
    if len(scale) != n_features:
        _refuse("scale", f"one number for each of {n_features} features", scale)
    for index, value in enumerate(scale):
        if math.frexp(value)[0] != 0.5:
            _refuse(f"scale[{index}]", "a power of two", value)
    return np.array(scale, dtype=np.float64)


def _counts(document: Document, n_classes: int) -> NDArray[np.float64] | None:
    carried = "uncovered_counts" in document
    for index, row in enumerate(document["boxes"]):
        if ("counts" in row) != carried:
            raise ModelFormatError(
                f"boxes[{index}].counts: expected counts in all boxes and uncovered_counts, or in none"
            )
        if carried and len(row["counts"]) != n_classes:
            _refuse(f"boxes[{index}].counts", f"one number for each of {n_classes} classes", row["counts"])
    if not carried:
        return None
    if len(document["uncovered_counts"]) != n_classes:
        _refuse(
            "uncovered_counts", f"one number for each of {n_classes} classes", document["uncovered_counts"]
        )
    rows = [row["counts"] for row in document["boxes"]] + [document["uncovered_counts"]]
    counts = np.array(rows, dtype=np.float64).reshape(len(rows), n_classes)
    if np.signbit(counts).any():
        raise ModelFormatError("counts: expected 0.0 for zero, got -0.0")
    return counts
