"""Figures 3 and 4 and the growth of Table 1, drawn with matplotlib; None where nothing was measured."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..plot import COLOURS as BOX_COLOURS
from .plan import BY_FEATURES, BY_ROWS, DATASETS, DEFAULT_SIZE, SIZES
from .published import published
from .reports import growth_points, method
from .results import Results, title_of

COLOURS = (*BOX_COLOURS, "#8C8C8C")
#: Methods of the paper's Figure 3, ours and theirs.
BARS = (
    ("HyperNN", method("hypernn", n_boxes=DEFAULT_SIZE), "hypernn"),
    ("PRIM", method("prim"), "prim"),
    ("FMM", method("fmm"), "fmm"),
)
#: What stands beside a published time: on one thread, and undisturbed by other work, it is the same.
OURS = {"fit_seconds": "fit_processor_seconds"}
#: Lines of Figure 4 that are ours.
LINES = (("hypernn", "ours", "-"), ("hypernn-paper-soft", "paper's preset, soft", ":"))


def as_bytes(figure: Any) -> Iterator[tuple[str, bytes]]:
    """Give a figure as PNG and SVG, the same bytes every time."""
    import matplotlib

    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        sink = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "hyperboxes", "svg.fonttype": "none"}):
            figure.savefig(sink, format=suffix, dpi=110, metadata=metadata)
        yield suffix, sink.getvalue()


def _figure(width: float, height: float, *shape: int, **options: Any) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(*shape, squeeze=False, **options)


def figure3(results: Results) -> Any:
    """Draw F1 and training time by data set, ours beside the published."""
    shown = [data for data in DATASETS if any(results.has_mean(data, one) for _, one, _ in BARS)]
    if not shown:
        return None
    figure, axes = _figure(max(6.0, 1.25 * len(shown) + 2), 6, 2, 1, sharex=True)
    paper = published()["figure3"]
    panels: tuple[tuple[str, str], ...] = (("f1", "F1"), ("fit_seconds", "training, processor s"))
    for ax, (what, label) in zip(axes[:, 0], panels, strict=True):
        for place, (name, one, theirs) in enumerate(BARS):
            colour, at = COLOURS[place], np.arange(len(shown)) + (place - 1) * 0.28
            ours = [results.estimate(data, one, OURS.get(what, what)) for data in shown]
            ax.bar(at - 0.065, [e.mean for e in ours], 0.13, color=colour, label=f"{name}, ours")
            if what == "f1":
                error = [0 if math.isnan(e.half_width) else e.half_width for e in ours]
                ax.errorbar(at - 0.065, [e.mean for e in ours], error, fmt="none", ecolor="black", lw=0.8)
            known = [paper.get(data, {}).get(theirs, {}).get(what) for data in shown]
            ax.bar(
                at + 0.065, [math.nan if value is None else value for value in known], 0.13, color="white",
                edgecolor=colour, hatch="////", label=f"{name}, published",
            )  # fmt: skip
        ax.set_ylabel(label)
    axes[0, 0].set_ylim(0, 1.02)
    axes[1, 0].set_yscale("log")
    axes[1, 0].set_xticks(range(len(shown)), shown, rotation=20)
    _shared_legend(figure, axes[:, 0], loc="outside upper center", ncols=3)
    return figure


def figure3_all(results: Results, methods: list[str]) -> Any:
    """Draw F1 of every method by data set, as dots."""
    shown = [data for data in DATASETS if any(results.has_mean(data, one) for one in methods)]
    if not shown:
        return None
    measured = [one for one in methods if any(results.has_mean(data, one) for data in shown)]
    figure, axes = _figure(11, 1.0 + 0.75 * len(shown), 1, 1)
    markers = "osDv^<>Pphd8*X"
    for place, one in enumerate(measured):
        values = [results.estimate(data, one).mean for data in shown]
        offset = 0.6 * (place / max(1, len(measured) - 1) - 0.5)
        axes[0, 0].plot(
            values, np.arange(len(shown)) + offset, linestyle="none", marker=markers[place % len(markers)],
            color=COLOURS[place % len(COLOURS)], markersize=5, label=title_of(one),
        )  # fmt: skip
    axes[0, 0].set(xlabel="F1 on held-out rows", yticks=range(len(shown)), yticklabels=shown)
    axes[0, 0].invert_yaxis()
    axes[0, 0].grid(axis="x", alpha=0.3)
    _shared_legend(figure, axes[0], loc="outside right upper", fontsize=8)
    return figure


def figure4(results: Results) -> Any:
    """Draw the effect of the number of boxes on F1 and times, ours beside the published."""
    from matplotlib.ticker import NullFormatter

    first = [method("hypernn", n_boxes=size) for size in SIZES]
    shown = [data for data in DATASETS if any(results.has_mean(data, one) for one in first)]
    if not shown:
        return None
    panels = (("f1", "F1"), ("fit_seconds", "training, processor s"), ("predict_seconds", "prediction, s"))
    figure, axes = _figure(1.9 * max(3, len(shown)), 6, 3, len(shown), sharex=True)
    for column, data in enumerate(shown):
        axes[0, column].set_title(data, fontsize=10)
        for row, (what, label) in enumerate(panels):
            ax = axes[row, column]
            for model, name, style in LINES:
                ours = [method(model, n_boxes=size) for size in SIZES]
                values = [results.estimate(data, one, OURS.get(what, what)) for one in ours]
                if not all(math.isnan(value.mean) for value in values):
                    ax.plot(
                        SIZES, [v.mean for v in values], style, marker="o", ms=3, color=COLOURS[0], label=name
                    )
            known = published()["boxes"].get(data, {})
            if known:
                theirs = [known[str(size)][what] for size in SIZES]
                ax.plot(SIZES, theirs, "--", marker="s", ms=3, color=COLOURS[1], label="published")
            if row:
                ax.set_yscale("log")
                ax.yaxis.set_minor_formatter(NullFormatter())
            if not column:
                ax.set_ylabel(label)
            ax.tick_params(labelsize=7)
    for ax in axes[-1]:
        ax.set_xlabel("M")
    _shared_legend(figure, axes[0], loc="outside upper center", ncols=3)
    return figure


def growth(results: Results) -> Any:
    """Draw training time against rows and against features."""
    names = [*BY_ROWS, *BY_FEATURES]
    if not any(results.good(name, one) for name in names for one in results.methods(names)):
        return None
    figure, axes = _figure(10, 4, 1, 2, sharey=True)
    for ax, series, place, label in (
        (axes[0, 0], BY_ROWS, 1, "rows, at 10 features"),
        (axes[0, 1], BY_FEATURES, 2, "features, at 2,000 rows"),
    ):
        for index, one in enumerate(results.methods(names)):
            points = growth_points(results, series, one, place)
            if points:
                ax.plot(
                    *zip(*points, strict=True),
                    marker="o",
                    ms=3,
                    color=COLOURS[index % 8],
                    label=title_of(one),
                )
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("training, processor seconds")
    _shared_legend(figure, axes[0], loc="outside right upper", fontsize=8)
    return figure


def _shared_legend(figure: Any, axes: Any, **options: Any) -> None:
    """Name each line once, whichever panels it is in."""
    named = {
        label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    if named:
        figure.legend(named.values(), named.keys(), frameon=False, **options)


#: Pictures made of results alone, by file name.
PICTURES: dict[str, Callable[[Results], Any]] = {"table1": growth, "figure3": figure3, "figure4": figure4}
