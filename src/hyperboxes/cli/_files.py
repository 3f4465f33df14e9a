"""What commands read and write: models, tables, and tables with their classes."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ..console import one_line, print_text, say, waiting

if TYPE_CHECKING:
    from ..boxes import Boxes
    from ..sources import TableFile
    from ..summary import Summary


def read_model(path: str) -> Boxes:
    """Read a model from a file, or from standard input."""
    from .. import model_file

    return model_file.loads(sys.stdin.read()) if path == "-" else model_file.read_model(path)


def check_model_path(path: str) -> None:
    """Find out before the work, not after it, that a model cannot be written there."""
    from ..model_file import SUFFIX

    if path == "-":
        return
    if not path.endswith(SUFFIX):
        raise ValueError(f"{path}: a model file ends in {SUFFIX}")
    check_folder(path)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Find out before the work that there is no directory to write to."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise ValueError(f"{os.fspath(path)}: there is no directory {folder}")


def write_model(model: Any, path: str) -> None:
    """Write a model to a file, or to standard output."""
    from .. import model_file

    if path != "-":
        model_file.write_model(model, path)
        return
    print_text(model_file.dumps(getattr(model, "boxes_", model)))


def read_table(
    source: str, boxes: Boxes | None = None, *, target: str | None = None, ignore: Collection[str] = ()
) -> TableFile:
    """Read a table; columns that a model holds to be text are read as text."""
    from .. import sources

    text = [] if boxes is None else text_columns(boxes)
    if boxes is not None and target is not None and boxes.classes.dtype.kind == "U":
        text.append(target)
    with waiting(f"reading {one_line(source)}") as tell:
        table = sources.read(source, text_columns=text, ignore=ignore, progress=tell)
    for note in table.notes:
        say(f"note: {one_line(note)}")
    return table


def text_columns(boxes: Boxes) -> list[str]:
    """List the columns that a model knows as text."""
    return [name for name, known in boxes.categories.items() if isinstance(known[0], str)]


def read_labelled(boxes: Boxes, source: str, target: str) -> tuple[Any, Any]:
    """Read a table to judge a model on: features and classes, the latter of the model's type."""
    import numpy as np

    from ..summary import one_against_rest

    X, y = read_table(source, boxes, target=target).split_off(target)
    labels = y.tolist()
    renamed = one_against_rest(boxes, labels)
    return X, y if renamed is labels else np.array(renamed)


def judge(boxes: Boxes, source: str, target: str) -> Summary:
    """Tell how a model fares on a table with its classes."""
    from ..sources import naming
    from ..summary import summarize

    X, y = read_labelled(boxes, source, target)
    with naming(source):
        return summarize(boxes, X, y)


def same_label(text: str | None, y: Any, option: str = "--positive") -> Any:
    """Find the class that is written like the text, whatever its type."""
    if text is None:
        return None
    known = sorted(set(y.tolist()), key=str)
    for label in known:
        if str(label) == text:
            return label
    raise ValueError(f"{option} {text!r} is not among the classes {[str(label) for label in known[:10]]}")
