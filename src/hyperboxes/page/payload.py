"""What the page is told: the model, the rows and the counts, as one JSON value."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..boxes import Boxes, Floats
from ..conditions import format_name
from ..model_document import canonical_pieces, to_document
from ..scaling import standardise
from ..summary import Summary, format_category, format_label, format_percent, summarize, training_summary
from ..tables import Category

#: A column of decimals is shipped as whole numbers and this many places; a power of ten is exact up to 22.
MAX_PLACES = 15
#: float64 tells neighbouring integers apart up to here.
LARGEST_EXACT = 2**53

RowKind = Literal["held out", "training", "given"]


def to_payload(
    boxes: Boxes,
    matrix: NDArray[Any],
    y: Sequence[Any],
    *,
    title: str,
    meta: dict[str, Any],
    held_out: bool | None,
    scale: Floats | None,
    fidelity: float | None,
    max_rows: int,
) -> dict[str, Any]:
    """Gather what the page shows.

    Figures of the model as it is are of all rows. Rows beyond ``max_rows`` are left out by lot, and the page
    says so wherever it shows a figure of the rows it has.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    summary = summarize(boxes, matrix, y)
    place = {label: code for code, label in enumerate(summary.classes)}
    codes = np.fromiter((place[label] for label in y), dtype=np.float64, count=len(matrix))
    shown = _sample(len(matrix), max_rows)
    if scale is None:
        finite = np.where(np.isfinite(matrix), matrix, np.nan)
        _, scale = standardise(finite, np.ones(len(matrix)))
    columns = [*matrix[shown].T, codes[shown], shown.astype(np.float64)]
    return {
        "title": title,
        "version": __version__,
        "model": _model(boxes, meta),
        "classes": [{"shown": format_label(label), **_literal(label)} for label in summary.classes],
        "features": _features(boxes, scale),
        "rows": {"n": len(shown), "total": len(matrix), **_pack(columns)},
        "kind": _kind(boxes, summary, held_out),
        "counts": summary.counts.ravel().tolist(),
        "inside": summary.inside.tolist(),
        "fidelity": None if fidelity is None or fidelity == 1 else format_percent(fidelity),
    }


def _sample(n_rows: int, max_rows: int) -> NDArray[np.int64]:
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, max_rows, replace=False))


def _kind(boxes: Boxes, summary: Summary, held_out: bool | None) -> RowKind:
    """Tell what the rows are; those that give the counts stored while learning are the training rows."""
    if held_out is not None:
        return "held out" if held_out else "training"
    if boxes.counts is None or boxes.counts.shape != summary.counts.shape:
        return "given"
    return "training" if np.array_equal(training_summary(boxes).counts, summary.counts) else "given"


def _model(boxes: Boxes, meta: dict[str, Any]) -> dict[str, Any]:
    """Give the model file in canonical pieces, which the page keeps as they are where it changes nothing."""
    document = to_document(boxes, meta)
    pieces: dict[str, list[str]] = {}
    for key, piece in canonical_pieces(document):
        pieces.setdefault(key, []).append(piece)
    members = {key: "".join(parts[1:]) for key, parts in pieces.items() if key not in ("", "meta", "sha256")}
    encode = json.JSONEncoder(sort_keys=True, allow_nan=False, separators=(",", ":")).encode
    return {
        "members": members,
        "meta": [[key, encode(value)] for key, value in document["meta"].items()],
        "sha256": document["sha256"],
    }


def _features(boxes: Boxes, unit: Floats) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "shown": format_name(name),
            "python": ascii(name),
            "folded": name.casefold(),
            "unit": float(scale),
            "categories": [
                {"shown": format_category(value), "quoted": _quoted(value), **_literal(value)}
                for value in boxes.categories[name]
            ]
            if name in boxes.categories
            else None,
        }
        for name, scale in zip(boxes.feature_names, unit, strict=True)
    ]


def _quoted(value: Category | None) -> str:
    """Write a category as rules do."""
    return json.dumps(value) if isinstance(value, str) else format_category(value)


def _literal(value: Category | None) -> dict[str, Any]:
    """Give a label or category as code: JavaScript would round a long integer."""
    kinds = {bool: "bool", int: "int", float: "float", str: "text", type(None): "missing"}
    kind = next(name for kind, name in kinds.items() if isinstance(value, kind))
    literal: dict[str, Any] = {"kind": kind, "python": ascii(value)}
    if kind == "text":
        literal["value"] = value
    return literal


def _pack(columns: Sequence[Floats]) -> dict[str, Any]:
    """Pack columns without loss: whole numbers where possible, bytes of like weight together, deflated."""
    divisors, planes = [], []
    for column in columns:
        divisor = _divisor(column)
        whole = column if divisor == 1 else np.rint(column * divisor)
        divisors.append(divisor)
        planes.append(np.ascontiguousarray(whole, dtype="<f8").view(np.uint8).reshape(-1, 8).T.tobytes())
    data = base64.b64encode(zlib.compress(b"".join(planes))).decode("ascii")
    return {"data": data, "divisors": divisors}


def _divisor(column: Floats) -> int:
    """Find the power of ten by which every value is a whole number, 1 if there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        for places in range(MAX_PLACES + 1):
            divisor = int(10**places)
            whole = np.rint(column * divisor)
            if (np.abs(whole[np.isfinite(whole)]) >= LARGEST_EXACT).any():
                return 1
            if np.array_equal(whole / divisor, column, equal_nan=True):
                return divisor
    return 1
