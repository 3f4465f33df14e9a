"""The page: all tables and pictures in one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

from .tables import Table

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; max-height: 75vh; border: 1px solid var(--line); }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%; }
th { position: sticky; top: 0; background: Canvas; text-align: left; vertical-align: bottom; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
td:last-child { white-space: normal; min-width: 10rem; }
tbody tr:hover { background: var(--soft); }
img { max-width: 100%; background: white; display: block; margin: 1rem 0; }
nav a { margin-right: 1rem; } .notes { color: GrayText; font-size: 13px; }
.warn { border-left: 4px solid #D55E00; padding-left: .8rem; }
"""


def to_page(
    title: str,
    notes: Sequence[str],
    runs: Sequence[str],
    absent: Sequence[str],
    tables: Mapping[str, Table],
    pictures: Mapping[str, bytes],
) -> str:
    """Give the page.

    Parameters
    ----------
    title : str
        Its heading.
    notes, runs, absent : sequence of str
        How to read it, where figures come from, and what could not be measured.
    tables : dict of Table
        By name, in order.
    pictures : dict of bytes
        SVG by the name of the table that they go with; further ones by a name that begins with it.
    """
    links = " ".join(f'<a href="#{name}">{escape(table.title)}</a>' for name, table in tables.items())
    parts = [
        f'<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>'
        '<meta name=viewport content="width=device-width">'
        f"<style>{STYLE}</style><h1>{escape(title)}</h1>",
        _list(notes), f"<nav>{links}</nav>",
    ]  # fmt: skip
    if absent:
        parts.append(f"<div class=warn><p>Not measured:</p>{_list(absent)}</div>")
    for name, table in tables.items():
        parts.append(f"<section id={name}><h2>{escape(table.title)}</h2>")
        parts += [
            f'<img alt="{escape(table.title)}" src="{_embedded(svg)}">'
            for key, svg in pictures.items()
            if key == name or key.startswith(f"{name}_")
        ]
        parts.append(table.to_html() + "</section>")
    parts.append(f"<h2>Where the figures come from</h2>{_list(runs)}</html>")
    return "\n".join(parts) + "\n"


def _embedded(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
