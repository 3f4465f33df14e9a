"""The command line: each command reads files, calls one public function, writes a file or prints."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec

import typer

if TYPE_CHECKING:
    from .boxes import Boxes

# Everything else is imported where it is used: --help answers at once, rules and sql load no torch.

P = ParamSpec("P")

app = typer.Typer(
    name="hyperboxes",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Model = Annotated[Path, typer.Argument(help="Model file, *.boxes.json.", show_default=False)]
Table = Annotated[Path, typer.Argument(help="Table, *.csv or *.parquet.", show_default=False)]
Target = Annotated[str, typer.Option(help="Column that holds the classes.", show_default=False)]


def main() -> None:
    """Run the command line."""
    app()


def _command(function: Callable[P, None]) -> Callable[P, None]:
    """Register a command whose errors and warnings are one line each, without a traceback."""

    @app.command()
    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: typer.echo(f"warning: {_one_line(message)}", err=True)
            try:
                function(*args, **kwargs)
            except (OSError, ValueError, TypeError, ImportError) as error:
                typer.echo(f"error: {_one_line(error)}", err=True)
                raise typer.Exit(1) from None

    return guarded


def _version(asked: bool) -> None:
    if asked:
        from . import __version__

        typer.echo(f"hyperboxes {__version__}")
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
    hyperboxes predict ill.boxes.json new.csv -o answers.csv
    hyperboxes sql ill.boxes.json --table patients | duckdb clinic.db
    hyperboxes plot ill.boxes.json patients.csv --target ill -o ill.png
    """  # noqa: D301 - \b keeps the lines of the help apart


@_command
def fit(
    file: Table,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, *.boxes.json.")],
    positive: Annotated[
        str | None, typer.Option(help="Class that the boxes describe; the rest is everything else.")
    ] = None,
    n_boxes: Annotated[str, typer.Option(help="Most boxes to use, or auto.")] = "10",
    uncovered: Annotated[
        str,
        typer.Option(help="Rows in no box: default (one class; SQL needs it), nearest (box) or auto."),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same boxes.")] = 0,
) -> None:
    """Learn boxes from a table and write them to a model file.

    Columns of text are taken as categories.

    \b
    hyperboxes fit iris.csv --target species --uncovered default -o iris.boxes.json
    hyperboxes fit iris.csv --target species --positive setosa --n-boxes 2 \\
        -o setosa.boxes.json
    """  # noqa: D301
    from . import HyperNNClassifier, write_model
    from .model_file import SUFFIX
    from .rules import to_text

    # Found out before the work, not after it.
    if not output.name.endswith(SUFFIX):
        raise ValueError(f"{output}: a model file ends in {SUFFIX}")
    if not output.parent.is_dir():
        raise ValueError(f"{output}: there is no directory {output.parent}")
    X, y = _read_labelled(file, target)
    with _naming(file):
        model = HyperNNClassifier(
            n_boxes=_count(n_boxes),
            positive_label=_same_label(positive, y),
            uncovered=uncovered,  # type: ignore[arg-type]  # the estimator checks it
            random_state=seed,
        ).fit(X, y)
    write_model(model, output)
    typer.echo(to_text(model.boxes_))
    typer.echo(f"wrote {output}", err=True)


@_command
def predict(
    model: Model,
    file: Table,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Table to write; standard output by default.")
    ] = None,
) -> None:
    """Add the column "prediction" to a table.

    \b
    hyperboxes predict iris.boxes.json new.csv -o answers.csv
    hyperboxes predict iris.boxes.json new.parquet -o answers.parquet
    """  # noqa: D301
    from . import read_model

    boxes = read_model(model)
    with _naming(file):
        answers = boxes.predict(_read_table(file))
    table = _read_table(file, as_written=True)
    if "prediction" in table.columns:
        raise ValueError(f"{file}: there is a column 'prediction' already; rename or drop it")
    table["prediction"] = answers
    if output is None:
        table.to_csv(sys.stdout, index=False)
    elif output.suffix == ".csv":
        table.to_csv(output, index=False)
    elif output.suffix == ".parquet":
        table.to_parquet(output, index=False)
    else:
        raise ValueError(f"{output}: a table ends in .csv or .parquet")


@_command
def rules(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(help="Table to judge the rules on.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column that holds the classes.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write a Markdown table.")] = False,
) -> None:
    """Print a model as IF … THEN … ELSE, with its figures.

    The figures are those of the training rows, or of a table that you give.

    \b
    hyperboxes rules iris.boxes.json
    hyperboxes rules iris.boxes.json new.csv --target species
    """  # noqa: D301
    from . import read_model
    from .rules import to_markdown, to_text
    from .summary import summarize

    boxes = read_model(model)
    if (file is None) != (target is None):
        raise ValueError("give both a table and --target to judge the rules on it, or neither")
    summary = None
    if file is not None and target is not None:
        X, y = _read_labelled(file, target)
        with _naming(file):
            summary = summarize(boxes, X, _one_against_rest(boxes, y))
    typer.echo(to_markdown(boxes, summary) if markdown else to_text(boxes, summary))
    if summary is not None and not markdown:
        typer.echo(f"\n{summary}")


@_command
def sql(
    model: Model,
    table: Annotated[
        str | None,
        typer.Option(help="Table to select from; dots separate schema and table.", show_default=False),
    ] = None,
    dialect: Annotated[str, typer.Option(help="duckdb or postgres.")] = "duckdb",
) -> None:
    """Print a model as SQL that gives the same answers, bit for bit.

    Without a table, it is a CASE expression for a query of your own.

    \b
    hyperboxes sql iris.boxes.json --table flowers
    hyperboxes sql iris.boxes.json --table public.flowers --dialect postgres
    """  # noqa: D301
    from . import read_model
    from .sql import to_sql

    parts = None if table is None else table.split(".")
    text = to_sql(read_model(model), table=parts, dialect=dialect)  # type: ignore[arg-type]
    typer.echo(text if table is None else f"{text};")


@_command
def plot(
    model: Model,
    file: Table,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: png, svg, pdf.")],
    feature: Annotated[
        list[str] | None, typer.Option(help="Feature to show; give it twice. The two most used by default.")
    ] = None,
) -> None:
    """Draw the boxes over the points of a table, in two features.

    \b
    hyperboxes plot iris.boxes.json iris.csv --target species -o iris.png \\
        --feature "petal length" --feature "petal width"
    """  # noqa: D301
    import matplotlib

    matplotlib.use("agg")  # a picture file needs no window
    from . import read_model
    from .plot import BoxesDisplay

    boxes = read_model(model)
    X, y = _read_labelled(file, target)
    with _naming(file):
        display = BoxesDisplay.from_boxes(boxes, X, _one_against_rest(boxes, y), features=feature or None)
    display.figure_.savefig(output, dpi=150)
    typer.echo(f"wrote {output}", err=True)


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
        update=update, measure=not tables_only, say=lambda line: typer.echo(line, err=True),
    )  # fmt: skip


# -- tables in -------------------------------------------------------------------------------------


def _read_table(path: Path, *, as_written: bool = False) -> Any:
    """Read a CSV or Parquet file; text becomes categories, or every CSV cell stays as it is written."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('reading tables needs pandas: pip install "hyperboxes[data]"') from error

    with _naming(path):
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif path.suffix == ".csv" and as_written:
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        elif path.suffix == ".csv":
            # Until 3.1, the default parser of pandas might miss the nearest float64.
            old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
            frame = pd.read_csv(path, **({"float_precision": "round_trip"} if old else {}))
        else:
            raise ValueError("a table ends in .csv or .parquet")
    if not as_written:
        for name, dtype in frame.dtypes.items():
            if pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype):
                frame[name] = frame[name].astype("category")
    return frame


def _read_labelled(path: Path, target: str) -> tuple[Any, Any]:
    """Read a table and split off the column of classes."""
    import numpy as np

    frame = _read_table(path)
    if target not in frame.columns:
        raise ValueError(f"{path}: no column {target!r}; the columns are {list(frame.columns)}")
    column = frame.pop(target)
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise ValueError(
            f"{path}: column {target!r} has no value in row {row + 1}; drop such rows or fill them"
        )
    return frame, np.asarray(column.tolist())


def _count(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--n-boxes must be a positive number or auto, got {text!r}")
    return int(text)


def _same_label(text: str | None, y: Any) -> Any:
    """Find the class that is written like the text, whatever its type."""
    if text is None:
        return None
    known = sorted(set(y.tolist()), key=str)
    for label in known:
        if str(label) == text:
            return label
    raise ValueError(f"--positive {text!r} is not among the classes {[str(label) for label in known[:10]]}")


def _one_against_rest(boxes: Boxes, y: Any) -> Any:
    """Rename the classes that a model of one class against the rest was not told apart."""
    import numpy as np

    known = boxes.classes.tolist()
    if len(known) != 2 or not isinstance(boxes.default, str) or boxes.default in y.tolist():
        return y
    if boxes.default not in [f"not {label}" for label in known]:
        return y
    return np.array([label if label in known else boxes.default for label in y.tolist()])


# -- errors out ------------------------------------------------------------------------------------


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Put the file into the message of an error."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def _one_line(message: object) -> str:
    """Keep a message, which may quote a stranger's file, from more than one line and from commands."""
    words = " ".join(str(message).split())
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in words)
