"""The command line: each command reads a table or a model, calls one public function, writes or prints."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec

import typer

from .console import one_line, print_rules, print_text, say, waiting

if TYPE_CHECKING:
    from .boxes import Boxes
    from .sources import TableFile
    from .summary import Summary

# Everything else is imported where it is used: --help answers at once, rules and sql load no torch.

P = ParamSpec("P")
#: Exit codes, beside 0 for done and 2, which is typer's, for a command that was not understood.
FAILED, DIFFERS, INTERRUPTED, PIPE_CLOSED = 1, 3, 130, 141

app = typer.Typer(
    name="hyperboxes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _model_files(incomplete: str) -> list[str]:
    """Complete names of model files, and folders on the way to them."""
    from glob import escape, glob

    found = sorted(glob(escape(incomplete) + "*"))
    return [
        path + "/" if os.path.isdir(path) else path
        for path in found
        if os.path.isdir(path) or path.endswith(".boxes.json")
    ]


Model = Annotated[
    str,
    typer.Argument(
        help="Model file, *.boxes.json; - for standard input.",
        show_default=False,
        autocompletion=_model_files,
    ),
]
_TABLE = (
    "Table: *.csv, *.tsv (any delimiter, also .gz), *.parquet, *.arrow, FILE.duckdb::TABLE, "
    "postgresql://HOST/DB::TABLE; - for standard input."
)
Table = Annotated[str, typer.Argument(help=_TABLE, show_default=False)]
OptionalTable = Annotated[str | None, typer.Argument(help=_TABLE, show_default=False)]
Target = Annotated[str, typer.Option(help="Column that holds the classes.", show_default=False)]
OptionalTarget = Annotated[
    str | None, typer.Option(help="Column that holds the classes.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]


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


class Form(StrEnum):
    """The forms of rules, as a choice on the command line."""

    text = "text"
    markdown = "markdown"
    json = "json"
    csv = "csv"
    python = "python"
    pandas = "pandas"


class Picture(StrEnum):
    """The kinds of pictures, as a choice on the command line."""

    boxes = "boxes"
    pairs = "pairs"
    intervals = "intervals"
    parallel = "parallel"
    quality = "quality"


class Dialect(StrEnum):
    """The databases, as a choice on the command line."""

    duckdb = "duckdb"
    postgres = "postgres"
    sqlite = "sqlite"
    spark = "spark"


class SqlKind(StrEnum):
    """The kinds of SQL, as a choice on the command line."""

    case = "case"
    where = "where"
    select = "select"
    view = "view"


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a letter gets its number, not an error.
            stream.reconfigure(errors="backslashreplace")
    app()


def _command(function: Callable[P, None]) -> Callable[P, None]:
    """Register a command whose errors and warnings are one line each, without a traceback."""

    @app.command(function.__name__.rstrip("_"))
    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: say(f"warning: {one_line(message)}")
            try:
                function(*args, **kwargs)
                sys.stdout.flush()
            except BrokenPipeError:  # the reader, head for instance, has seen enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(PIPE_CLOSED) from None
            except KeyboardInterrupt:
                say("interrupted")
                raise typer.Exit(INTERRUPTED) from None
            except (OSError, ValueError, TypeError, ImportError) as error:
                say(f"error: {one_line(error)}")
                raise typer.Exit(FAILED) from None

    return guarded


def _version(asked: bool) -> None:
    if asked:
        from . import __version__

        print_text(f"hyperboxes {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn classifiers you can read, and serve them as rules and SQL.

    \b
    A model is an ordered list of boxes: the first box that contains a row
    decides its class; a row in no box gets the default.

    \b
    hyperboxes demo                                        see it at work
    hyperboxes fit patients.csv --target ill -o ill.boxes.json
    hyperboxes rules ill.boxes.json                        read it
    hyperboxes rules ill.boxes.json new.csv --target ill   judge it on new rows
    hyperboxes round ill.boxes.json patients.csv --target ill -o short.boxes.json
    hyperboxes predict ill.boxes.json new.csv -o answers.csv
    hyperboxes sql ill.boxes.json --table patients | duckdb clinic.db
    hyperboxes verify ill.boxes.json patients.parquet      SQL against predict
    hyperboxes plot ill.boxes.json patients.csv --target ill -o ill.png
    hyperboxes report ill.boxes.json patients.csv --target ill -o ill.html
    hyperboxes search patients.parquet --like 17 --like 40  rows like these two
    hyperboxes inspect ill.boxes.json                      what is in the file

    \b
    Exit codes: 0 done, 1 failed (one line says why), 2 not understood,
    3 verify found a difference, 130 interrupted.
    """  # noqa: D301 - \b keeps the lines of the help apart


# -- learning --------------------------------------------------------------------------------------


@_command
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
    _check_model_path(output)
    table = _read_table(file, ignore=ignore or ())
    X, y = table.split_off(target)
    _warn_of_names(table, X)
    from .sources import naming

    begin = time.perf_counter()
    if sys.stderr.isatty():
        say(f"learning from {len(y)} rows of {X.shape[1]} columns")
    # HyperNN has bars of its own.
    shown = contextlib.nullcontext() if learner is Learner.hypernn else waiting("learning")
    with naming(file), shown:
        model = _learn(learner.value, X, y, _same_label(positive, y), n_boxes, uncovered.value, seed)
    seconds = time.perf_counter() - begin
    _write_model(model, output)
    _tell_fit(model, learner.value, output, seconds, len(y), as_json)


def _learn(
    learner: str, X: Any, y: Any, positive: Any, n_boxes: str | None, uncovered: str, seed: int
) -> Any:
    from . import FMMClassifier, HyperNNClassifier, PRIMClassifier

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
        return PRIMClassifier(
            n_boxes=limit, positive_label=positive, uncovered=uncovered, random_state=seed,  # type: ignore[arg-type]
        ).fit(X, y)  # fmt: skip
    if isinstance(size, int):
        raise ValueError("fmm chooses the number of its boxes itself: leave --n-boxes out")
    if uncovered == "reject":
        raise ValueError("fmm answers every row: --uncovered is default or nearest")
    rest: Any = "nearest" if uncovered == "auto" else uncovered
    return FMMClassifier(uncovered=rest, random_state=seed).fit(X, y)


def _merged(y: Any, positive: Any) -> Any:
    """Make one class of all others, named as ``HyperNNClassifier`` does."""
    import numpy as np

    return np.array([str(label) if label == positive else f"not {positive}" for label in y.tolist()])


def _tell_fit(model: Any, learner: str, output: str, seconds: float, rows: int, as_json: bool) -> None:
    from .rules import to_dict, to_text
    from .summary import format_percent

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
        say(f"wrote {output}: {boxes.n_boxes} boxes with {boxes.n_conditions} conditions in {seconds:.1f} s")


@_command
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
    from .rounding import round_bounds
    from .sources import naming

    _check_model_path(output)
    boxes = _read_model(model)
    X, y = _read_labelled(boxes, file, target)
    with naming(file), waiting("rounding"):
        made = round_bounds(boxes, X, y, max_loss=max_loss, scoring=scoring)  # type: ignore[arg-type]
    _write_model(made.boxes, output)
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


# -- reading ---------------------------------------------------------------------------------------


@_command
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
    from . import sources

    sources.check_output(output)
    boxes = _read_model(model)
    table = _read_table(file, boxes)
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


@_command
def rules(
    model: Model,
    file: OptionalTable = None,
    target: OptionalTarget = None,
    form: Annotated[
        Form, typer.Option("--as", help="Form of the rules; python and pandas are source code.")
    ] = Form.text,
    markdown: Annotated[bool, typer.Option("--markdown", help="The same as --as markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --as json.")] = False,
    label: Annotated[
        str | None, typer.Option(help="Class that a pandas query selects.", show_default=False)
    ] = None,
) -> None:
    """Print a model as IF … THEN … ELSE, with its figures.

    The figures are those of the training rows, or of a table that you give.

    \b
    hyperboxes rules iris.boxes.json
    hyperboxes rules iris.boxes.json new.csv --target species
    hyperboxes rules iris.boxes.json --as python > iris_rules.py
    hyperboxes rules iris.boxes.json --as pandas --label setosa
    """  # noqa: D301
    boxes = _read_model(model)
    if (file is None) != (target is None):
        raise ValueError("give both a table and --target to judge the rules on it, or neither")
    summary = None if file is None or target is None else _judge(boxes, file, target)
    chosen = "json" if as_json else "markdown" if markdown else form.value
    if chosen != "text":
        print_text(_other_form(chosen, boxes, summary, label))
        return
    from .rules import to_text

    print_rules(to_text(boxes, summary))
    if summary is not None:
        print_text(f"\n{summary}")


def _other_form(form: str, boxes: Boxes, summary: Summary | None, label: str | None) -> str:
    from . import rules

    if form == "markdown":
        return rules.to_markdown(boxes, summary)
    if form == "json":
        return rules.to_json(boxes, summary)
    if form == "python":
        return rules.to_python(boxes).rstrip("\n")
    if form == "csv":
        text: str = rules.to_frame(boxes, summary).to_csv(index=False, lineterminator="\n")
        return text.rstrip("\n")
    if label is None:
        return rules.to_pandas_query(boxes)
    return rules.to_pandas_query(boxes, _same_label(label, boxes.classes, "--label"))


@_command
def inspect(model: Model, as_json: AsJson = False) -> None:
    """Tell what is in a model file: origin, features, classes, size.

    \b
    hyperboxes inspect ill.boxes.json
    hyperboxes inspect ill.boxes.json --json | jq .features
    """  # noqa: D301
    from .model_file import read_meta

    boxes = _read_model(model)
    told = _contents(boxes, {} if model == "-" else read_meta(model))
    if as_json:
        print_text(json.dumps(told))
        return
    print_text(_contents_text(model, told))


def _contents(boxes: Boxes, meta: dict[str, Any]) -> dict[str, Any]:
    used = boxes.restricted.sum(axis=0).tolist()
    features = [
        {
            "name": name,
            "kind": "number" if name not in boxes.categories else "category",
            **({"categories": list(boxes.categories[name])} if name in boxes.categories else {}),
            "boxes": count,
        }
        for name, count in zip(boxes.feature_names, used, strict=True)
    ]
    labels = boxes.labels.tolist()
    return {
        "made_by": meta,
        "boxes": boxes.n_boxes,
        "conditions": boxes.n_conditions,
        "classes": [{"label": label, "boxes": labels.count(label)} for label in boxes.classes.tolist()],
        "default": boxes.default,
        "uncovered": boxes.uncovered,
        "training_rows": None if boxes.counts is None else float(boxes.counts.sum()),
        "features": features,
    }


def _contents_text(model: str, told: dict[str, Any]) -> str:
    from .conditions import format_name
    from .summary import format_label

    meta, features = told["made_by"], told["features"]
    origin = [f"hyperboxes {meta['hyperboxes']}"] if "hyperboxes" in meta else []
    origin += [str(meta["estimator"])] if "estimator" in meta else []
    classes = ", ".join(
        f"{format_label(item['label'])} ({item['boxes']} {'box' if item['boxes'] == 1 else 'boxes'})"
        for item in told["classes"]
    )
    default = format_label(told["default"])
    nearest = told["uncovered"] == "nearest"
    used = [item for item in features if item["boxes"]]
    idle = len(features) - len(used)
    lines = [
        ("file", model),
        ("made by", ", ".join(origin) or "unknown"),
        ("boxes", f"{told['boxes']} with {told['conditions']} conditions"),
        ("classes", classes),
        (
            "in no box",
            f"class of the nearest box; if none can be compared, {default}" if nearest else default,
        ),
        (
            "training rows",
            "not recorded" if told["training_rows"] is None else f"{told['training_rows']:.10g}",
        ),
        ("features", f"{len(features)}, of which rules mention {len(used)}"),
    ]
    text = [f"{title:<15}{one_line(value)}" for title, value in lines]
    for item in sorted(used, key=lambda item: -item["boxes"]):
        kind = item["kind"] if item["kind"] == "number" else f"{len(item['categories'])} categories"
        text.append(
            f"{'':<15}{format_name(item['name'])} ({kind}): in {item['boxes']} of {told['boxes']} boxes"
        )
    if idle:
        text.append(f"{'':<15}{idle} others are not mentioned")
    return "\n".join(text)


# -- databases -------------------------------------------------------------------------------------


@_command
def sql(
    model: Model,
    table: Annotated[
        str | None,
        typer.Option(help="Table to select from; dots separate schema and table.", show_default=False),
    ] = None,
    dialect: Annotated[
        Dialect | None, typer.Option(help="The database; duckdb by default.", show_default=False)
    ] = None,
    kind: Annotated[
        SqlKind | None,
        typer.Option(help="An expression, a predicate, a query or a view.", show_default=False),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Class whose rows a predicate selects.", show_default=False)
    ] = None,
    types_from: Annotated[
        str | None,
        typer.Option(
            help="Table whose types are looked up, so that indexes serve the query: FILE.parquet, "
            "FILE.duckdb::TABLE, postgresql://HOST/DB::TABLE.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print a model as SQL that gives the same answers, bit for bit.

    Without a table, it is a CASE expression for a query of your own.

    \b
    hyperboxes sql iris.boxes.json --table flowers
    hyperboxes sql iris.boxes.json --table public.flowers --dialect postgres
    hyperboxes sql ill.boxes.json --kind where --label yes --types-from clinic.duckdb::visits
    hyperboxes sql ill.boxes.json --kind view --types-from postgresql:///clinic::visits
    """  # noqa: D301
    from .sql import to_sql

    boxes = _read_model(model)
    options: dict[str, Any] = {"dialect": dialect and dialect.value, "kind": kind and kind.value}
    if label is not None:
        options["label"] = _same_label(label, boxes.classes, "--label")
    parts = None if table is None else table.split(".")
    if types_from is None:
        text = to_sql(boxes, table=parts, **options)
    else:
        from .sources import connected
        from .sql import column_types

        with connected(types_from, text_columns=_text_columns(boxes)) as (connection, found):
            options["types"] = column_types(connection, found)
            options["dialect"] = options["dialect"] or _dialect_of(connection)
        if parts is None and "::" in types_from and options["kind"] not in ("case", "where"):
            parts = found
        text = to_sql(boxes, table=parts, **options)
    whole = parts is not None and options["kind"] in (None, "select", "view")
    print_text(f"{text};" if whole else text)


def _dialect_of(connection: Any) -> str:
    from .sql.databases import dialect_of

    return dialect_of(connection).name


@_command
def verify(
    model: Model,
    file: Table,
    as_json: AsJson = False,
) -> None:
    """Compare the SQL of a model with its own answers, on every row of a table.

    A file is read into DuckDB, a database is asked itself. Exit code 3 if a single row differs.

    \b
    hyperboxes verify ill.boxes.json patients.parquet
    hyperboxes verify ill.boxes.json clinic.duckdb::visits --json
    hyperboxes verify ill.boxes.json postgresql:///clinic::visits
    """  # noqa: D301
    from . import sources, sql

    boxes = _read_model(model)
    with sources.naming(file), sources.connected(file, text_columns=_text_columns(boxes)) as (link, table):
        found = sql.verify(boxes, link, table, progress=sys.stderr.isatty())
    if as_json:
        told = {
            "rows": found.rows,
            "mismatches": found.mismatches,
            "database_rows_per_second": found.database_rows_per_second,
            "predict_rows_per_second": found.predict_rows_per_second,
        }
        print_text(json.dumps(told))
    else:
        print_text("\n".join(one_line(line) for line in str(found).split("\n")))
    if found.mismatches:
        raise typer.Exit(DIFFERS)


@_command
def search(
    file: Table,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Key of a row that is looked for; may be repeated.", show_default=False),
    ] = None,
    unlike: Annotated[
        list[str] | None,
        typer.Option(help="Key of a row that is not looked for; may be repeated.", show_default=False),
    ] = None,
    like_where: Annotated[
        str | None, typer.Option(help="Rows that are looked for, as a condition in SQL.", show_default=False)
    ] = None,
    unlike_where: Annotated[
        str | None, typer.Option(help="Rows that are not, as a condition in SQL.", show_default=False)
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Column that tells rows apart; by default the primary key or the row's place."),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that boxes may restrict; may be repeated. All numbers by default.",
            show_default=False,
        ),
    ] = None,
    max_boxes: Annotated[int, typer.Option(help="Most boxes.")] = 5,
    max_features: Annotated[int, typer.Option(help="Most columns that a box restricts.")] = 4,
    limit: Annotated[int, typer.Option(help="Most rows to print.")] = 20,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Model file for the boxes, *.boxes.json.", show_default=False),
    ] = None,
    show_sql: Annotated[bool, typer.Option("--sql", help="Print the query instead of rows.")] = False,
    advice: Annotated[
        bool, typer.Option("--advice", help="Print what index would serve the query, and the plan.")
    ] = False,
    create_indexes: Annotated[
        bool, typer.Option("--create-indexes", help="Create the advised indexes: this changes the database.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each row.")] = False,
) -> None:
    """Find the rows of a table that are like a few you mark.

    Boxes are learned from the marked rows against a sample of the others, and the database returns the rows
    in them, best first. Mark more of them and search again.

    \b
    hyperboxes search patients.parquet --key id --like 17 --like 40 --unlike 3
    hyperboxes search clinic.duckdb::visits --like-where "ill = 'yes'" --feature age \\
        --feature bmi --json
    hyperboxes search postgresql:///clinic::visits --key id --like 17 --like 40 --advice
    """  # noqa: D301
    from . import search as find
    from . import sources

    if bool(like) == bool(like_where):
        raise ValueError(
            "mark rows that are looked for: either --like KEY, repeated, or --like-where CONDITION"
        )
    if unlike and unlike_where:
        raise ValueError("give --unlike or --unlike-where, not both")
    if output is not None:
        _check_model_path(output)
    with sources.naming(file), sources.connected(file, change=create_indexes) as (link, table):
        keyed = functools.partial(_keys, link, table, key)
        with waiting("searching"):
            found = find(
                link, table, like_where or keyed(like) or (), unlike_where or keyed(unlike), key=key,
                features=feature or None, max_boxes=max_boxes, max_features=max_features, limit=limit,
            )  # fmt: skip
            if create_indexes:
                found = found.create_indexes()
        if output is not None:
            _write_model(found.boxes, output)
        if not show_sql and not advice:
            from .rules import to_text

            count = found.count()
            say(f"{to_text(found.boxes)}\n\n{count} rows lie in a box; the best {min(count, limit)}:")
        print_text(_found_text(found, show_sql, advice, as_json))


def _keys(link: Any, table: list[str], key: str | None, asked: list[str] | None) -> list[Any] | None:
    """Read keys from the command line as the column has them: whole numbers, or text."""
    from .sql import column_types

    if not asked:
        return None
    kind = "" if key is None else column_types(link, table).get(key, "").upper()
    text = any(word in kind for word in ("CHAR", "TEXT", "ENUM", "UUID"))
    return list(asked) if text else [int(item) if item.lstrip("-").isdecimal() else item for item in asked]


def _found_text(found: Any, show_sql: bool, advice: bool, as_json: bool) -> str:
    if show_sql:
        return f"{found.sql};"
    if advice:
        advised = [str(one) for one in found.advice()] or ["-- no index would serve these boxes"]
        return "\n".join([*advised, "", str(found.plan())])
    rows = found.rows()
    if as_json:
        return "\n".join(json.dumps(row, default=str) for row in rows)
    import csv

    sink = io.StringIO()
    writer = csv.DictWriter(sink, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue().rstrip("\n")


# -- pictures --------------------------------------------------------------------------------------


@_command
def plot(
    model: Model,
    file: Table,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: png, svg, pdf.")],
    kind: Annotated[
        Picture,
        typer.Option(
            help="boxes: over two features; pairs: over several; intervals: every box in every feature it "
            "restricts; parallel: coordinates side by side; quality: precision against recall."
        ),
    ] = Picture.boxes,
    feature: Annotated[
        list[str] | None,
        typer.Option(help="Feature to show; may be repeated. The most used by default.", show_default=False),
    ] = None,
) -> None:
    """Draw a model over the rows of a table.

    \b
    hyperboxes plot iris.boxes.json iris.csv --target species -o iris.png \\
        --feature "petal length" --feature "petal width"
    hyperboxes plot iris.boxes.json iris.csv --target species -o iris.svg --kind intervals
    """  # noqa: D301
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "hyperboxes[plot]"') from error
    matplotlib.use("agg")  # a picture file needs no window
    from . import plot as displays
    from .sources import naming

    if output.parent != Path() and not output.parent.is_dir():
        raise ValueError(f"{output}: there is no directory {output.parent}")
    boxes = _read_model(model)
    X, y = _read_labelled(boxes, file, target)
    with naming(file), waiting("drawing"):
        if kind is Picture.quality:
            if feature:
                raise ValueError("--kind quality shows no features: leave --feature out")
            display: Any = displays.QualityDisplay.from_boxes(boxes, X, y)
        else:
            draw: Any = {
                Picture.boxes: displays.BoxesDisplay,
                Picture.pairs: displays.PairsDisplay,
                Picture.intervals: displays.IntervalsDisplay,
                Picture.parallel: displays.ParallelDisplay,
            }[kind]
            display = draw.from_boxes(boxes, X, y, features=feature or None)
    display.figure_.savefig(output, dpi=150)
    say(f"wrote {output}")


@_command
def report(
    model: Model,
    file: Table,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write, *.html.")],
    title: Annotated[str | None, typer.Option(help="Heading; the name of the page by default.")] = None,
    held_out: Annotated[
        bool | None,
        typer.Option("--held-out/--training", help="Whether the model has not seen these rows."),
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="Rows to put into the page; of more, a sample is drawn.", min=1)
    ] = None,
) -> None:
    """Write a page to look at a model, question it and change it.

    One HTML file that needs no network: quality with confidence intervals, the boxes as cards, linked
    pictures, why a row got its class. Edges can be dragged, and the edited model saved.

    \b
    hyperboxes report iris.boxes.json test.csv --target species --held-out -o iris.html
    """  # noqa: D301
    from . import report as write_report
    from .sources import naming

    if output.suffix != ".html":
        raise ValueError(f"{output}: a page ends in .html")
    boxes = _read_model(model)
    X, y = _read_labelled(boxes, file, target)
    with naming(file), waiting("writing the page"):
        write_report(boxes, X, y, output, title=title, held_out=held_out, max_rows=max_rows)
    say(f"wrote {output}")


@_command
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for models and pictures.")] = Path(
        "demo"
    ),
) -> None:
    """Learn, read, query and draw two models, on data that come with scikit-learn.

    \b
    hyperboxes demo
    hyperboxes demo --output somewhere
    """  # noqa: D301
    from .demo import run

    run(output)


@_command
def reproduce(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for results, tables and pictures; gone on from.")
    ] = Path("results"),
    quick: Annotated[bool, typer.Option("--quick", help="Small data sets, one seed: a few minutes.")] = False,
    data: Annotated[list[str] | None, typer.Option(help="Only this data set; may be repeated.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this model; may be repeated.")] = None,
    folder: Annotated[
        str | None, typer.Option(help="Folder of <data set>.parquet; HYPERBOXES_DATA by default.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes at a time; one per core by default.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed or took too long.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Measure again what another commit of the package measured.")
    ] = False,
    tables_only: Annotated[bool, typer.Option("--tables-only", help="Measure nothing, only write.")] = False,
) -> None:
    """Measure the paper's tables and figures again, beside its peers.

    Kill it at any moment and run it again: it goes on where it was.

    \b
    hyperboxes reproduce --quick --output quick
    hyperboxes reproduce --folder data
    hyperboxes reproduce --update --model prim
    hyperboxes reproduce --tables-only
    """  # noqa: D301
    from .bench.reproduce import reproduce as run

    run(
        output, quick=quick, data=data or (), models=model or (), folder=folder, workers=workers, retry=retry,
        update=update, measure=not tables_only, say=say,
    )  # fmt: skip


# -- models and tables -----------------------------------------------------------------------------


def _read_model(path: str) -> Boxes:
    from .model_file import loads, read_model

    return loads(sys.stdin.read()) if path == "-" else read_model(path)


def _check_model_path(path: str) -> None:
    """Find out before the work, not after it, that a model cannot be written there."""
    from .model_file import SUFFIX

    if path == "-":
        return
    if not path.endswith(SUFFIX):
        raise ValueError(f"{path}: a model file ends in {SUFFIX}")
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise ValueError(f"{path}: there is no directory {folder}")


def _write_model(model: Any, path: str) -> None:
    from .model_file import dumps, write_model

    if path != "-":
        write_model(model, path)
        return
    print_text(dumps(getattr(model, "boxes_", model)))


def _read_table(
    source: str, boxes: Boxes | None = None, *, target: str | None = None, ignore: Collection[str] = ()
) -> TableFile:
    """Read a table; columns that a model holds to be text are read as text."""
    from . import sources

    text = [] if boxes is None else _text_columns(boxes)
    if boxes is not None and target is not None and boxes.classes.dtype.kind == "U":
        text.append(target)
    with waiting(f"reading {one_line(source)}"):
        table = sources.read(source, text_columns=text, ignore=ignore)
    for note in table.notes:
        say(f"note: {one_line(note)}")
    return table


def _text_columns(boxes: Boxes) -> list[str]:
    return [name for name, known in boxes.categories.items() if isinstance(known[0], str)]


def _read_labelled(boxes: Boxes, source: str, target: str) -> tuple[Any, Any]:
    """Read a table to judge a model on: features and classes, the latter of the model's type."""
    import numpy as np

    from .summary import one_against_rest

    X, y = _read_table(source, boxes, target=target).split_off(target)
    labels = y.tolist()
    renamed = one_against_rest(boxes, labels)
    return X, y if renamed is labels else np.array(renamed)


def _judge(boxes: Boxes, source: str, target: str) -> Summary:
    from .sources import naming
    from .summary import summarize

    X, y = _read_labelled(boxes, source, target)
    with naming(source):
        return summarize(boxes, X, y)


def _warn_of_names(table: TableFile, X: Any) -> None:
    from .sources import looks_like_names

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


def _same_label(text: str | None, y: Any, option: str = "--positive") -> Any:
    """Find the class that is written like the text, whatever its type."""
    if text is None:
        return None
    known = sorted(set(y.tolist()), key=str)
    for label in known:
        if str(label) == text:
            return label
    raise ValueError(f"{option} {text!r} is not among the classes {[str(label) for label in known[:10]]}")
