"""The application: how commands are registered, what an error looks like, the exit codes."""

from __future__ import annotations

import functools
import io
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from ..console import one_line, print_text, say

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


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a letter gets its number, not an error.
            stream.reconfigure(errors="backslashreplace")
    app()


def command(function: Callable[P, None]) -> Callable[P, None]:
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
                say(f"error: {one_line(_told(error))}")
                raise typer.Exit(FAILED) from None

    return guarded


def _told(error: Exception) -> str:
    """Say what went wrong, of a file by its name first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

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
