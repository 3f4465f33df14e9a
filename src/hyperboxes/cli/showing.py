"""Commands that draw and measure: plot, report, demo, reproduce."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..console import say, waiting
from ._app import command
from ._files import check_folder, read_labelled, read_model
from ._options import Model, Table, Target


class Picture(StrEnum):
    """The kinds of pictures, as a choice on the command line."""

    boxes = "boxes"
    pairs = "pairs"
    intervals = "intervals"
    parallel = "parallel"
    quality = "quality"


@command
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
        import matplotlib.figure
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "hyperboxes[plot]"') from error
    matplotlib.use("agg")  # a picture file needs no window
    from .. import plot as displays
    from ..sources import naming

    known = matplotlib.figure.Figure().canvas.get_supported_filetypes()
    if output.suffix[1:].lower() not in known:
        raise ValueError(f"{output}: a picture ends in one of .{', .'.join(known)}")
    check_folder(output)
    boxes = read_model(model)
    X, y = read_labelled(boxes, file, target)
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


@command
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
    from .. import report as write_report
    from ..sources import naming

    if output.suffix != ".html":
        raise ValueError(f"{output}: a page ends in .html")
    check_folder(output)
    boxes = read_model(model)
    X, y = read_labelled(boxes, file, target)
    with naming(file), waiting("writing the page"):
        write_report(boxes, X, y, output, title=title, held_out=held_out, max_rows=max_rows)
    say(f"wrote {output}")


@command
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
    from ..demo import run

    run(output)


@command
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
    from ..bench.reproduce import reproduce as run

    run(
        output, quick=quick, data=data or (), models=model or (), folder=folder, workers=workers, retry=retry,
        update=update, measure=not tables_only, say=say,
    )  # fmt: skip
