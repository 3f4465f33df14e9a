"""Arguments and options that several commands have."""

from __future__ import annotations

import os
from typing import Annotated

import typer


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
