"""Model files: boxes as strict, versioned JSON, in and out."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NoReturn

import numpy as np

from . import __version__
from .atomic import write_atomic
from .boxes import Boxes
from .model_document import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_ITEMS,
    ModelFormatError,
    canonical_pieces,
    from_document,
    is_text,
    show,
    to_document,
)

__all__ = [
    "ModelFormatError",
    "dumps",
    "from_document",
    "loads",
    "read_meta",
    "read_model",
    "to_document",
    "write_model",
]

SUFFIX = ".boxes.json"
#: Checked before a byte is read.
MAX_BYTES = 64 * 2**20
#: One escaped character makes Python hold its whole string with up to four bytes for each character.
MAX_ESCAPED = 16 * 2**20
#: Parameters that say how to run, not what to learn: the same model gives the same bytes without them.
_RUN_PARAMETERS = frozenset(["n_jobs", "verbose"])


# -- files -----------------------------------------------------------------------------------------


def write_model(model: object, path: str | os.PathLike[str], *, pretty: bool = False) -> None:
    """Write boxes, or the boxes of a fitted estimator, to a model file.

    The file is replaced wholly or left untouched, and is read back before it takes its place. Equal
    models of equal estimators give equal bytes.

    Parameters
    ----------
    model : Boxes or fitted estimator
        An estimator is anything whose ``boxes_`` is a Boxes; its class name and its parameters, as far
        as they are plain values, go into ``meta``.
    path : path-like
        Where to write; the name must end in ``.boxes.json``.
    pretty : bool
        Give each box and each feature a line of its own.

    Raises
    ------
    ModelFormatError
        If the name has another ending, or the model cannot be expressed in a file.
    OSError
        If the file system refuses; a file that was there before is untouched.

    Examples
    --------
    >>> import os, tempfile
    >>> from hyperboxes import Boxes, read_model, write_model
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "risk.boxes.json")
    ...     write_model(boxes, path)
    ...     read_model(path) == boxes
    True
    """
    name = _check_path(path)
    boxes, meta = boxes_and_meta(model)
    data = dumps(boxes, meta, pretty).encode("ascii")

    def check(written: bytes) -> None:
        try:
            same = loads(_to_text(written)) == boxes
        except ModelFormatError as error:
            raise ModelFormatError(f"this model does not fit into a model file: {error}") from None
        if not same:
            raise ModelFormatError(
                f"{name!r} did not read back as the model that was written; nothing was replaced"
            )

    write_atomic(name, data, check)


def read_model(path: str | os.PathLike[str]) -> Boxes:
    """Read boxes from a model file; nothing in it is ever run, or opened as another file.

    Parameters
    ----------
    path : path-like
        A regular file whose name ends in ``.boxes.json``.

    Raises
    ------
    ModelFormatError
        If the file is not a model file, is damaged, or asks for a newer release.
    OSError
        If the file cannot be opened or read.
    """
    return _read(path)[0]


def read_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says of its origin; the whole file is checked as by `read_model`."""
    return _read(path)[1]


def _read(path: str | os.PathLike[str]) -> tuple[Boxes, dict[str, Any]]:
    name = _check_path(path)
    try:
        return _parse(_to_text(_read_bytes(name)))
    except ModelFormatError as error:
        raise ModelFormatError(f"{name!r}: {error}") from None


def _check_path(path: str | os.PathLike[str]) -> str:
    name = os.fsdecode(path)
    if "\0" in name:
        raise OSError(errno.EINVAL, "a path cannot hold a NUL character", name)
    if not name.endswith(SUFFIX):
        raise ModelFormatError(f"{name!r}: the name of a model file ends in {SUFFIX}")
    return name


def _read_bytes(name: str) -> bytes:
    _check_status(os.stat(name))
    # Should a FIFO take the file's place meanwhile, opening it must not wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(name, flags)
    try:
        size = _check_status(os.fstat(descriptor))
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(size + 1)
    finally:
        os.close(descriptor)
    if len(data) != size:
        raise ModelFormatError(
            f"the file changed while it was read: {size} bytes announced, {len(data)} or more read"
        )
    return data


def _check_status(status: os.stat_result) -> int:
    """Give the size of a regular file that is small enough; refuse everything else unread."""
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    if not stat.S_ISREG(status.st_mode):
        kind = kinds.get(stat.S_IFMT(status.st_mode), "something else")
        raise ModelFormatError(f"expected a regular file, got {kind}")
    if status.st_size > MAX_BYTES:
        raise ModelFormatError(f"expected at most {MAX_BYTES} bytes, got {status.st_size}")
    return status.st_size


def _to_text(data: bytes) -> str:
    if not data.isascii():
        place = next(index for index, byte in enumerate(data) if byte > 127)
        raise ModelFormatError(
            f"byte {place} is {data[place]:#04x}: expected plain ASCII "
            "(no byte order mark, other characters as \\u escapes, no compression)"
        )
    return data.decode("ascii")


def boxes_and_meta(model: object) -> tuple[Boxes, dict[str, Any]]:
    """Give the boxes of a model, which may be a fitted estimator, and what a file tells of its origin."""
    if isinstance(model, Boxes):
        return model, {"hyperboxes": __version__}
    name = type(model).__name__
    boxes = getattr(model, "boxes_", None)
    if boxes is None and hasattr(model, "fit"):
        raise ValueError(f"this {name} is not fitted yet: call fit before writing it to a file")
    if not isinstance(boxes, Boxes):
        raise TypeError(f"expected Boxes, or a fitted estimator whose boxes_ is a Boxes, got {name}")
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    plain = {key: _plain(value) for key, value in given.items() if key not in _RUN_PARAMETERS}
    params = {key: value for key, value in plain.items() if value is not _NOT_PLAIN}
    return boxes, {"hyperboxes": __version__, "estimator": name, "params": params}


_NOT_PLAIN = object()


def _plain(value: object, depth: int = 0) -> object:
    """Give a parameter as a JSON value, or ``_NOT_PLAIN``: an absolute path speaks of one machine."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 10**MAX_DIGITS else _NOT_PLAIN
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _NOT_PLAIN
    if isinstance(value, str):
        local = PurePosixPath(value).is_absolute() or PureWindowsPath(value).is_absolute()
        return str(value) if is_text(str(value)) and not local else _NOT_PLAIN
    if depth == MAX_DEPTH // 2:
        return _NOT_PLAIN
    if isinstance(value, list | tuple):
        items = [_plain(item, depth + 1) for item in value]
        return _NOT_PLAIN if any(item is _NOT_PLAIN for item in items) else items
    if isinstance(value, dict) and all(isinstance(key, str) and is_text(key) for key in value):
        members = {str(key): _plain(item, depth + 1) for key, item in value.items()}
        return _NOT_PLAIN if any(item is _NOT_PLAIN for item in members.values()) else members
    return _NOT_PLAIN


# -- text ------------------------------------------------------------------------------------------


def dumps(boxes: Boxes, meta: Mapping[str, Any] | None = None, pretty: bool = False) -> str:
    """Write boxes as the text of a model file.

    Parameters
    ----------
    boxes : Boxes
        The model.
    meta : mapping, optional
        What else the file should tell: any JSON object. It never changes a prediction.
    pretty : bool
        Give each box and each feature a line of its own. The hash stays the same.
    """
    document = to_document(boxes, {} if meta is None else meta)
    return "".join(piece for _, piece in canonical_pieces(document, "\n" if pretty else "")) + "\n"


def loads(text: str) -> Boxes:
    """Read boxes from the text of a model file.

    Raises
    ------
    ModelFormatError
        If the text is not, but for white space, what `dumps` writes.
    """
    return _parse(text)[0]


def _parse(text: str) -> tuple[Boxes, dict[str, Any]]:
    document = _decode(text)
    try:
        boxes = from_document(document, text)
    except RecursionError:
        raise ModelFormatError(f"nested too deeply: expected at most {MAX_DEPTH} levels") from None
    return boxes, document["meta"]


def _decode(text: str) -> Any:
    """Parse JSON, refusing what Python's parser lets pass and what would cost too much."""
    if len(text) > MAX_BYTES or not text.isascii():
        raise ModelFormatError(f"expected at most {MAX_BYTES} characters of plain ASCII")
    if len(text) > MAX_ESCAPED and "\\u" in text:
        raise ModelFormatError(
            f"expected at most {MAX_ESCAPED} bytes in a file with \\u escapes, got {len(text)}"
        )
    # Each value but the outermost follows one of these, so this bounds what the parser will allocate.
    items = sum(text.count(sign) for sign in "[{,:")
    if items > MAX_ITEMS:
        raise ModelFormatError(
            f"expected at most {MAX_ITEMS} values, keys, arrays and objects, got about {items}"
        )
    try:
        return json.loads(
            text, object_pairs_hook=_unique_keys, parse_int=_short_integer, parse_constant=_no_constant
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise ModelFormatError(
            f"not JSON: {error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise ModelFormatError(f"nested too deeply: expected at most {MAX_DEPTH} levels") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ModelFormatError(f"the key {show(key)} occurs twice in one object")
            seen.add(key)
    return members


def _short_integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ModelFormatError(f"expected integers of at most {MAX_DIGITS} digits, got one of {len(digits)}")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ModelFormatError(f"expected finite numbers, got {name}")
