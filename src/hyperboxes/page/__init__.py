"""The page: a model and its rows as one HTML file to look at, question and change."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..atomic import write_atomic
from ..boxes import Boxes
from ..model_file import boxes_and_meta
from ..summary import labels_of, one_against_rest
from ..tables import to_matrix
from .bundle import to_html
from .payload import to_payload

__all__ = ["Page", "explore", "report"]

#: Rows beyond this many are drawn by lot; so are rows beyond this many cells, for tables with many columns.
MAX_ROWS = 20_000
MAX_CELLS = 1_200_000


class Page:
    """The page of a model: shows itself in a notebook, and writes itself to a file.

    Attributes
    ----------
    html : str
        The whole page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced wholly or left untouched."""
        write_atomic(os.fsdecode(path), self.html.encode("utf-8"), lambda written: None)

    def _repr_html_(self) -> str:
        # A frame of its own: neither the notebook's style nor its scripts meet the page's.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="hyperboxes" '
            'sandbox="allow-scripts allow-downloads allow-popups" '
            'style="width:100%;height:860px;border:1px solid #ccc;border-radius:8px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({len(self.html):,} characters; write(path) saves it)"


def report(
    model: object,
    X: ArrayLike,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    held_out: bool | None = None,
    max_rows: int | None = None,
) -> None:
    """Write a model and the rows to judge it on as one interactive HTML file.

    The file needs no network. It shows the quality of the model with confidence intervals, its boxes as
    cards, the data in linked views, and for any row why it got its class. Edges can be dragged, and boxes
    deleted, copied and reordered, while the figures follow; the edited model is saved as a model file.

    Parameters
    ----------
    model : Boxes or fitted estimator
        The model; of an estimator, its ``boxes_``.
    X : data frame or array-like of shape (n_samples, n_features)
        The rows to judge it on, best those it has not seen.
    y : array-like of shape (n_samples,)
        Their classes.
    path : path-like
        The file to write; one that is there is replaced wholly or left untouched.
    title : str, optional
        The heading; by default the name of the file.
    held_out : bool, optional
        Whether the model has not seen the rows while it was learned. By default the page says that they are
        the training rows if they give the counts stored in the model, and leaves it open otherwise.
    max_rows : int, optional
        Rows to put into the file; by default 20,000, and fewer from 60 features on, so that there are at
        most 1.2 million cells. Of more rows that many are drawn by lot. The figures of the model as it is
        are then still of all rows; those of an edited model are of the rows drawn, and the page says so.

    Examples
    --------
    >>> import os, tempfile
    >>> from hyperboxes import Boxes, report
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(boxes, [[70], [80], [30]], ["high", "high", "low"], os.path.join(folder, "risk.html"))
    """
    name = Path(os.fsdecode(path)).name.removesuffix(".html")
    page = explore(model, X, y, title=title or name, held_out=held_out, max_rows=max_rows)
    page.write(path)


def explore(
    model: object,
    X: ArrayLike,
    y: ArrayLike,
    *,
    title: str | None = None,
    held_out: bool | None = None,
    max_rows: int | None = None,
) -> Page:
    """Show the page of a model in a notebook; see `report` for the parameters.

    Examples
    --------
    >>> from hyperboxes import Boxes, explore
    >>> boxes = Boxes.from_rules([({"age": (65, None)}, "high")], default="low")
    >>> page = explore(boxes, [[70], [80], [30]], ["high", "high", "low"])
    >>> page.html.startswith("<!doctype html>")
    True
    """
    boxes, meta = boxes_and_meta(model)
    if not boxes.n_features:
        raise ValueError("a page needs at least one feature to show")
    # A fitted estimator was given categories as they are, also where its table was an array.
    matrix = to_matrix(X, boxes.feature_names, boxes.categories, positions=isinstance(model, Boxes))
    if not len(matrix):
        raise ValueError("X has no rows: a page needs rows to judge the model on")
    labels = one_against_rest(boxes, labels_of("y", y, len(matrix)))
    if max_rows is None:
        max_rows = min(MAX_ROWS, max(1, MAX_CELLS // boxes.n_features))
    if max_rows < 1:
        raise ValueError(f"max_rows must be 1 or more, got {max_rows}")
    estimator: Any = None if isinstance(model, Boxes) else model
    payload = to_payload(
        boxes, matrix, labels, title=title or meta.get("estimator", "Boxes"), meta=meta, held_out=held_out,
        scale=getattr(estimator, "_scale", None), fidelity=getattr(estimator, "fidelity_", None),
        max_rows=max_rows,
    )  # fmt: skip
    return Page(to_html(payload))
