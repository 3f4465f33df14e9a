"""Commands that make and use models: fit, round, predict."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..console import counted, one_line, print_rules, print_text, say, waiting
from ._app import command
from ._files import (
    check_model_path,
    read_labelled,
    read_model,
    read_table,
    same_label,
    write_model,
)
from ._options import AsJson, Model, Table, Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..sources import TableFile


class Learner(StrEnum):
    """The learners, as a choice on the command line."""

    hypernn = "hypernn"
    prim = "prim"
    fmm = "fmm"


class Uncovered(StrEnum):
    """What rows in no box get, as a choice on the command line."""

    auto = "auto"
    default = "default"
    nearest = "nearest"
    reject = "reject"


@command
def fit(
    file: Table,
    target: Target,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Model file to write, *.boxes.json; - for standard output.")
    ],
    positive: Annotated[
        str | None,
        typer.Option(help="Class that the boxes describe; the rest is everything else.", show_default=False),
    ] = None,
    learner: Annotated[
        Learner, typer.Option(help="hypernn: few, accurate boxes; prim: by peeling; fmm: fuzzy min-max.")
    ] = Learner.hypernn,
    n_boxes: Annotated[
        str | None,
        typer.Option(help="Most boxes (of each class), or auto; 10 by default.", show_default=False),
    ] = None,
    uncovered: Annotated[
        Uncovered, typer.Option(help="Rows in no box: one default class, the nearest box's, or no answer.")
    ] = Uncovered.auto,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out, such as an identifier; may be repeated.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same boxes.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn boxes from a table and write them to a model file.

    Columns of text are taken as categories; empty cells are missing values.

    \b
    hyperboxes fit iris.csv --target species -o iris.boxes.json
    hyperboxes fit iris.csv --target species --positive setosa --n-boxes 2 \\
        -o setosa.boxes.json
    hyperboxes fit clinic.duckdb::visits --target ill --ignore id --n-boxes auto \\
        -o ill.boxes.json
    zcat patients.csv.gz | hyperboxes fit - --target ill --learner prim -o - | jq
    """  # noqa: D301
    check_model_path(output)
    table = read_table(file, ignore=ignore or ())
    X, y = table.split_off(target)
    if not len(y):
        raise ValueError(f"{file}: there are no rows to learn from")
    _warn_of_names(table, X)
    from ..sources import naming

    begin = time.perf_counter()
    if sys.stderr.isatty():
        say(f"learning from {len(y)} rows of {X.shape[1]} columns")
    # HyperNN has bars of its own.
    shown = contextlib.nullcontext() if learner is Learner.hypernn else waiting("learning")
    with naming(file), shown as progress:
        model = _learn(learner.value, X, y, same_label(positive, y), n_boxes, uncovered.value, seed, progress)
    seconds = time.perf_counter() - begin
    write_model(model, output)
    _tell_fit(model, learner.value, output, seconds, len(y), as_json)


def _learn(
    learner: str, X: Any, y: Any, positive: Any, n_boxes: str | None, uncovered: str, seed: int,
    progress: Callable[[float], None] | None,
) -> Any:  # fmt: skip
    from .. import FMMClassifier, HyperNNClassifier, PRIMClassifier

    size = _count(n_boxes)
    if learner == "hypernn":
        return HyperNNClassifier(
            n_boxes=10 if size is None else size, positive_label=positive, uncovered=uncovered,  # type: ignore[arg-type]
            random_state=seed, verbose=sys.stderr.isatty(),
        ).fit(X, y)  # fmt: skip
    if positive is not None and len(set(y.tolist())) > 2:
        y, positive = _merged(y, positive), str(positive)
    if learner == "prim":
        limit = None if size == "auto" else 10 if size is None else size  # without a limit it stops by itself
        prim = PRIMClassifier(
            n_boxes=limit, positive_label=positive, uncovered=uncovered, random_state=seed,  # type: ignore[arg-type]
        )  # fmt: skip
        prim._progress = progress
        return prim.fit(X, y)
    if isinstance(size, int):
        raise ValueError("fmm chooses the number of its boxes itself: leave --n-boxes out")
    if uncovered == "reject":
        raise ValueError("fmm answers every row: --uncovered is default or nearest")
    rest: Any = "nearest" if uncovered == "auto" else uncovered
    fmm = FMMClassifier(uncovered=rest, random_state=seed)
    fmm._progress = progress
    return fmm.fit(X, y)


def _merged(y: Any, positive: Any) -> Any:
    """Make one class of all others, named as ``HyperNNClassifier`` does."""
    import numpy as np

    return np.array([str(label) if label == positive else f"not {positive}" for label in y.tolist()])


def _tell_fit(model: Any, learner: str, output: str, seconds: float, rows: int, as_json: bool) -> None:
    from ..rules import to_dict, to_text
    from ..summary import format_percent

    boxes = model.boxes_
    if as_json:
        told = {
            "model": output, "learner": learner, "rows": rows, "seconds": round(seconds, 3),
            "boxes": boxes.n_boxes, "conditions": boxes.n_conditions, "fidelity": model.fidelity_,
            **to_dict(boxes),
        }  # fmt: skip
        (say if output == "-" else print_text)(json.dumps(told))
        return
    if output != "-":
        print_rules(to_text(boxes))
    if model.fidelity_ < 1:
        say(f"the boxes alone give the network's answer on {format_percent(model.fidelity_)} of these rows")
    if output != "-":
        size = f"{counted(boxes.n_boxes, 'box', 'boxes')} with "
        size += counted(boxes.n_conditions, "condition", "conditions")
        say(f"wrote {output}: {size} in {seconds:.1f} s")


@command
def round_(
    model: Model,
    file: Table,
    target: Target,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Model file to write, *.boxes.json; - for standard output.")
    ],
    max_loss: Annotated[
        float, typer.Option(help="How much of the score may be given up; 0 changes no answer.")
    ] = 0.0,
    scoring: Annotated[str, typer.Option(help="The score: f1 or accuracy.")] = "f1",
    as_json: AsJson = False,
) -> None:
    """Round the bounds of a model to numbers a person can keep in mind.

    The table, best that of training, tells what each rounding costs.

    \b
    hyperboxes round ill.boxes.json patients.csv --target ill -o short.boxes.json
    hyperboxes round ill.boxes.json patients.csv --target ill --max-loss 0.01 \\
        -o short.boxes.json
    """  # noqa: D301
    from ..rounding import round_bounds
    from ..sources import naming

    check_model_path(output)
    boxes = read_model(model)
    X, y = read_labelled(boxes, file, target)
    with naming(file), waiting("rounding"):
        made = round_bounds(boxes, X, y, max_loss=max_loss, scoring=scoring)  # type: ignore[arg-type]
    write_model(made.boxes, output)
    tell = say if output == "-" else print_text
    if as_json:
        moves = [move._asdict() for move in made.moves]
        tell(
            json.dumps({"model": output, "moves": moves, "answers_changed": made.changed, "loss": made.loss})
        )
        return
    tell("\n".join(one_line(line) for line in str(made).split("\n")))
    if output != "-":
        say(f"wrote {output}")


@command
def predict(
    model: Model,
    file: Table,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Table to write; standard output by default.")
    ] = None,
    column: Annotated[str, typer.Option(help="Name of the added column.")] = "prediction",
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object for each row: row, prediction, box.")
    ] = False,
) -> None:
    """Add the answers of a model to a table.

    Cells of delimited text are copied as they are written.

    \b
    hyperboxes predict iris.boxes.json new.csv -o answers.csv
    hyperboxes predict iris.boxes.json new.parquet -o answers.parquet
    cat new.csv | hyperboxes predict iris.boxes.json - | head
    hyperboxes predict iris.boxes.json new.csv --json | jq .prediction
    """  # noqa: D301
    from .. import sources

    sources.check_output(output)
    boxes = read_model(model)
    table = read_table(file, boxes)
    with sources.naming(file):
        answers = boxes.predict(table.frame)
        decided = boxes.decide(table.frame) if as_json else None
    if decided is not None:
        for row, (answer, box) in enumerate(zip(answers.tolist(), decided.tolist(), strict=True), 1):
            told = {"row": row, "prediction": answer, "box": None if box < 0 else box}
            print_text(json.dumps(told))
        return
    written = table.as_written
    if column in written.columns:
        raise ValueError(f"{file}: there is a column {column!r} already; rename it or choose --column")
    written = written.assign(**{column: answers})
    sources.write(written, output, table.delimiter)
    if output not in (None, "-"):
        say(f"wrote {output}: {len(written)} rows")


def _warn_of_names(table: TableFile, X: Any) -> None:
    from ..sources import looks_like_names

    for name in X.columns:
        if looks_like_names(X[name]):
            say(
                f"warning: {one_line(table.name)}: no two cells of column {name!r} are the same: --ignore it?"
            )


def _count(text: str | None) -> int | Literal["auto"] | None:
    if text is None or text == "auto":
        return text  # type: ignore[return-value]
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--n-boxes must be a positive number or auto, got {text!r}")
    return int(text)
