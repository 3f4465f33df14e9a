"""Boxes as IF … THEN … ELSE, for people: plain text and Markdown."""

from __future__ import annotations

import re

import numpy as np

from ..boxes import Boxes
from ..summary import Summary, format_label, training_summary


def to_text(boxes: Boxes, summary: Summary | None = None) -> str:
    """Write boxes as a decision list: the first rule whose conditions all hold decides.

    Numbers are those of the model, to the last digit. Names and labels that could mislead a reader or
    a terminal are quoted and escaped.

    Parameters
    ----------
    boxes : Boxes
        The model.
    summary : Summary, optional
        Figures to print beside each rule, from ``summarize(boxes, X, y)``; by default those of the
        training rows, if the boxes carry them.

    Examples
    --------
    >>> from hyperboxes import Boxes
    >>> from hyperboxes.rules import to_text
    >>> boxes = Boxes.from_rules([({"age": (65, None), "bmi": (None, 25.5)}, "high")], default="low")
    >>> print(to_text(boxes))
    IF      age >= 65
        AND bmi <= 25.5
    THEN high
    ELSE low
    """
    figures = figures_of(boxes, summary)
    answers = boxes.answers.tolist()
    lines: list[str] = []
    ends: list[int] = []
    for box in range(boxes.n_boxes):
        asked = [str(condition) for condition in boxes.conditions(box)] or ["always"]
        lines.append(f"{'ELSE IF' if box else 'IF':<8}{asked[0]}")
        lines += [f"    AND {condition}" for condition in asked[1:]]
        lines.append(f"THEN {format_label(answers[box])}")
        ends.append(len(lines) - 1)
    lines.append(f"{'ELSE' if boxes.n_boxes else 'ALWAYS'} {_otherwise(boxes)}")
    ends.append(len(lines) - 1)
    if figures is None:
        return "\n".join(lines)
    width = max(len(line) for line in lines)
    titles = ("rows", "precision", "recall")
    shown = _cells(figures)
    widths = [
        max(len(title), *map(len, column))
        for title, column in zip(titles, zip(*shown, strict=True), strict=True)
    ]
    for end, cells in zip(ends, shown, strict=True):
        lines[end] = lines[end].ljust(width) + _aligned(cells, widths)
    return "\n".join([" " * width + _aligned(titles, widths), *lines, "", _legend(figures)])


def to_markdown(boxes: Boxes, summary: Summary | None = None) -> str:
    """Write boxes as a Markdown table, one row for each rule; see ``to_text``."""
    figures = figures_of(boxes, summary)
    rows: list[tuple[str, ...]] = [("", "if", "then")]
    for box, answer in enumerate(boxes.answers.tolist()[:-1]):
        asked = " and ".join(_code(str(condition)) for condition in boxes.conditions(box)) or "always"
        rows.append((str(box), asked, _code(format_label(answer))))
    rows.append(("else", "in no box above", _code(_otherwise(boxes))))
    if figures is not None:
        cells = [("rows", "precision", "recall"), *_cells(figures)]
        rows = [(*row, *cell) for row, cell in zip(rows, cells, strict=True)]
    rules = ["---"] * 3 + ["---:"] * (len(rows[0]) - 3)
    table = [f"| {' | '.join(row)} |" for row in [rows[0], tuple(rules), *rows[1:]]]
    return "\n".join(table if figures is None else [*table, "", _legend(figures)])


def figures_of(boxes: Boxes, summary: Summary | None) -> Summary | None:
    if summary is None:
        return None if boxes.counts is None else training_summary(boxes)
    if len(summary.labels) != boxes.n_boxes + 1:
        raise ValueError(
            f"the summary is of {len(summary.labels) - 1} boxes, these are {boxes.n_boxes}: summarize these"
        )
    return summary


def _otherwise(boxes: Boxes) -> str:
    default = format_label(boxes.answers.tolist()[-1])
    return f"nearest box; if none can be compared, {default}" if boxes.uncovered == "nearest" else default


def _cells(figures: Summary) -> list[tuple[str, str, str]]:
    def share(value: float) -> str:
        return "–" if np.isnan(value) else f"{value:.3f}"

    return [
        (f"{rows:.10g}", share(precision), share(recall))
        for rows, precision, recall in zip(figures.support, figures.precision, figures.recall, strict=True)
    ]


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _legend(figures: Summary) -> str:
    data = "training" if figures.training else "given"
    return (
        f"rows: {data} rows the rule decides; precision: share of them in its class; "
        "recall: share of its class in them."
    )


def _code(text: str) -> str:
    """Write text as a Markdown code span inside a table."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")
