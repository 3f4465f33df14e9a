"""Render: write the tables, the pictures and the page that results give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..atomic import write_atomic
from . import figure1, reports
from .machine import described
from .page import to_page
from .plan import CUT, QUICK_CUT
from .results import Results
from .tables import Table

TITLE = "The paper and its peers, measured again"


def render(results: Results, output: Path, *, quick: bool = False) -> list[Path]:
    """Write all of it into a directory; give the files that a person would open first."""
    title = f"{TITLE} (quick run)" if quick else TITLE
    output.mkdir(parents=True, exist_ok=True)
    tables, pictures = _tables(results, quick), _pictures(results)
    runs = _runs(results)
    for name, table in tables.items():
        _write(output / f"{name}.csv", table.to_csv())
        _write(output / f"{name}.md", "\n\n".join([table.to_markdown(), *runs]) + "\n")
    for name, picture in pictures.items():
        for suffix, content in picture.items():
            _write(output / f"{name}.{suffix}", content)
    notes, absent = reports.how_to_read(results), reports.absent(results)
    readme, page = output / "README.md", output / "index.html"
    _write(readme, _markdown(title, notes, runs, absent, tables, list(pictures)))
    vectors = {name: picture["svg"] for name, picture in pictures.items()}
    _write(page, to_page(title, notes, runs, absent, tables, vectors))
    return [readme, page]


def _tables(results: Results, quick: bool) -> dict[str, Table]:
    return {
        "losses": reports.losses(results),
        "table1": reports.table1(results),
        "table2": reports.table2(results),
        "figure1": figure1.to_table(),
        "figure3": reports.figure3(results, QUICK_CUT if quick else CUT),
        "figure4": reports.figure4(results),
        "failures": reports.failures(results),
    }


def _pictures(results: Results) -> dict[str, dict[str, bytes]]:
    """Draw what there is to draw; nothing without matplotlib."""
    try:
        from .pictures import PICTURES, as_bytes, figure3_all

        figures = {"figure1": figure1.draw()}
    except ImportError:
        return {}
    figures["figure3_all"] = figure3_all(results, reports.compared_methods(results))
    figures |= {name: draw(results) for name, draw in PICTURES.items()}
    return {name: dict(as_bytes(figure)) for name, figure in sorted(figures.items()) if figure is not None}


def _runs(results: Results) -> list[str]:
    """Describe each run that measured something, with how many cells it did."""
    counts = Counter(record["run"] for record in results.cells)
    return [
        f"{counts[name]} cells: " + described({key: run[key] for key in run if key not in ("kind", "id")})
        for name, run in results.runs.items()
        if counts[name]
    ]


def _markdown(
    title: str,
    notes: list[str],
    runs: list[str],
    absent: list[str],
    tables: dict[str, Table],
    pictures: list[str],
) -> str:
    parts = [
        f"# {title}",
        "Written by `hyperboxes reproduce`, as are all files here.",
        _bullets([*notes, *absent]),
    ]
    parts += ["Where the figures come from:", _bullets(runs)]
    for name, table in tables.items():
        parts += [
            f"![{table.title}]({key}.svg)" for key in pictures if key == name or key.startswith(f"{name}_")
        ]
        parts.append(table.to_markdown())
    return "\n\n".join(part for part in parts if part) + "\n"


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _write(path: Path, content: str | bytes) -> None:
    data = content.encode("utf-8") if isinstance(content, str) else content

    def same(written: bytes) -> None:
        if written != data:
            raise OSError(f"{path}: what was written reads back differently")

    write_atomic(str(path), data, same)
