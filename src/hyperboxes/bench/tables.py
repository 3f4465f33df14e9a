"""Table: text cells with a title and notes, written as Markdown, CSV, HTML or plain text."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from html import escape


@dataclass
class Table:
    """A table of text cells with its title, and notes below it."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_text(self) -> str:
        """Align columns: the first to the left, the others to the right."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[c]) for line in lines) for c in range(len(self.header))]
        shown = [
            " ".join(
                cell.ljust(width) if c == 0 else cell.rjust(width)
                for c, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, "", *shown, *(["", *self.notes] if self.notes else [])])

    def to_markdown(self) -> str:
        """Give title, table and notes as Markdown."""
        lines = [self.header, ("---",) + ("---:",) * (len(self.header) - 1), *self.rows]
        shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        return "\n".join([f"## {self.title}", "", *shown, "", *(f"- {note}" for note in self.notes)]).rstrip()

    def to_csv(self) -> str:
        """Give header and rows, without title and notes."""
        sink = io.StringIO()
        csv.writer(sink, lineterminator="\n").writerows([self.header, *self.rows])
        return sink.getvalue()

    def to_html(self) -> str:
        """Give the table and its notes as HTML, without the title."""
        head = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in self.header)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div class=wide>{table}</div>" + (f"<ul class=notes>{notes}</ul>" if notes else "")


def number(value: float | None, digits: int = 3) -> str:
    """Write a figure; a dash where there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """Write a time with three significant digits."""
    return "–" if value is None or math.isnan(value) else f"{value:.3g}"


def signed(value: float, half_width: float) -> str:
    """Write a difference with what may be added or taken away."""
    return (
        "–"
        if math.isnan(value)
        else f"{value:+.3f}" + ("" if math.isnan(half_width) else f" ± {half_width:.3f}")
    )
