"""The paper's tables and figures as tables of ours beside what was published."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..datasets import SOURCES
from .cells import Record
from .plan import BY_FEATURES, BY_ROWS, CUT, DATASETS, DEFAULT_SIZE, SIZES
from .protocol import PLANTED
from .published import published
from .results import CLOCKS, CONFIDENCE, Estimate, Results, title_of
from .runner import NOT_TRIED
from .tables import Table, number, seconds, signed

#: Which published method a model of ours stands beside.
FAMILY = {
    "hypernn": "hypernn", "hypernn-paper-soft": "hypernn", "hypernn-paper-crisp": "hypernn", "prim": "prim",
    "prim-paper": "prim", "prim-package": "prim", "fmm": "fmm", "fmm-package": "fmm",
}  # fmt: skip
DEFAULT = json.dumps(["hypernn", {"n_boxes": DEFAULT_SIZE}, {}], sort_keys=True)
#: Our methods as they come.
DEFAULTS = (DEFAULT, *(json.dumps([name, {}, {}], sort_keys=True) for name in ("prim", "fmm")))
#: Times below this say nothing about growth.
LEAST_SECONDS = 0.005
#: A difference in F1 that is worth a line.
WORTH_MENTIONING = 0.01


def method(model: str, **params: object) -> str:
    """Name a method without a grid."""
    return json.dumps([model, params, {}], sort_keys=True)


def how_to_read(results: Results) -> list[str]:
    """Give the notes that all tables share."""
    busy = results.busy()
    notes = [
        "F1, precision and recall are those of one class against the rest on the 30 % held out, means over "
        "all classes and seeds; seeds that lack a class are left out.",
        f"± is half a {CONFIDENCE:.0%} interval of Student's t over seeds. Splits of a table share rows, and "
        "published numbers come without spread: it is too narrow rather than too wide. One seed has none.",
        "Seconds are of one thread of a processor, without grid search; the published HyperNN ran on a GPU.",
    ]
    if busy:
        notes.append(
            f"Timings to be taken with care: {busy:.0%} of the fits were timed while the machine had more "
            "work than cores. Processor seconds suffer less from that than seconds by the clock."
        )
    return notes


# -- Table 1 ---------------------------------------------------------------------------------------


def table1(results: Results) -> Table:
    """Set out how training time grows with rows and features, beside the paper's ticks."""
    names = [name for name in (*BY_ROWS, *BY_FEATURES) if any(data == name for data, _ in results.groups)]
    rows, columns = (
        [name for name in names if name in BY_ROWS],
        [name for name in names if name in BY_FEATURES],
    )
    table = Table(
        "Table 1: training time as the table grows, in processor seconds",
        (
            "approach", "paper: large N", "paper: large d", *map(_shape, rows), "grows as N^",
            *map(_shape, columns), "grows as d^", "boxes found", "F1 at most rows", "note",
        ),
    )  # fmt: skip
    for one in results.methods(names):
        model = json.loads(one)[0]
        ticks = published()["table1"].get(FAMILY.get(model, ""), {})
        largest = [name for name in rows if results.good(name, one)][-1:]
        table.rows.append((
            title_of(one), *(_tick(ticks.get(what)) for what in ("large_n", "large_d")),
            *(_growth_cell(results, name, one) for name in rows), _exponent(results, rows, one, 1),
            *(_growth_cell(results, name, one) for name in columns), _exponent(results, columns, one, 2),
            *(number(results.estimate(name, one, "boxes").mean, 0) for name in largest or ["-"]),
            *(number(results.estimate(name, one).mean) for name in largest or ["-"]),
            "; ".join(dict.fromkeys(told for name in names if (told := results.trouble(name, one)))),
        ))  # fmt: skip
    table.notes = [
        "Uniform rows with three planted boxes in three features each; 70 % of the rows are learned from.",
        "Exponents are slopes on logarithmic scales, through all times of 5 ms and more and through the last "
        "two; 1 means that twice the table takes twice the time.",
        "HyperNN learns from at most 100,000 rows: of a larger table it takes a sample of each class.",
        "The paper states ticks and crosses; it says of HyperNN alone that training is end-to-end, and of "
        "all three that there may be several boxes.",
    ]
    return table


def _shape(name: str) -> str:
    found = PLANTED.fullmatch(name)
    return f"{int(found[1]):,} × {found[2]}" if found else name


def _tick(value: bool | None) -> str:
    return "" if value is None else "✓" if value else "✗"


def _growth_cell(results: Results, name: str, one: str) -> str:
    group = results.groups.get((name, one), [])
    for record in group:
        if record["status"] == "timeout":
            return f"> {record['limit']:g}"
        if record["status"] == "failed":
            return "failed"
    return seconds(results.estimate(name, one, "fit_processor_seconds").mean)


def growth_points(results: Results, names: Sequence[str], one: str, place: int) -> list[tuple[int, float]]:
    """Give sizes and processor seconds of a method; place 1 of a shape is rows, 2 features."""
    points = []
    for name in names:
        taken = results.estimate(name, one, "fit_processor_seconds").mean
        found = PLANTED.fullmatch(name)
        if found is not None and not math.isnan(taken):
            points.append((int(found[place]), taken))
    return points


def _exponent(results: Results, names: Sequence[str], one: str, place: int) -> str:
    points = [point for point in growth_points(results, names, one, place) if point[1] >= LEAST_SECONDS]
    if len(points) < 2:
        return "–"
    sizes, taken = np.log(np.array(points)).T
    overall, last = np.polyfit(sizes, taken, 1)[0], np.polyfit(sizes[-2:], taken[-2:], 1)[0]
    return f"{overall:.2f}, at the end {last:.2f}"


# -- Table 2 ---------------------------------------------------------------------------------------


def table2(results: Results) -> Table:
    """Set out the data sets."""
    table = Table(
        "Table 2: data sets",
        (
            "data set",
            "N",
            "N, paper",
            "d",
            "d, paper",
            "classes",
            "classes, paper",
            "origin",
            "SHA-256",
            "note",
        ),
    )
    found: dict[str, Record] = {}
    for run in results.runs.values():
        found |= run["data"]
    for name in DATASETS:
        paper, here = published()["table2"].get(name, {}), found.get(name)
        note = "" if here else results.missing_data.get(name, "not asked for")
        if here and SOURCES[name].sha256 not in (None, here["sha256"]):
            note = "content differs from the table known here"
        ours = (len(here["classes"]), here["rows"], here["features"]) if here else None
        table.rows.append((
            name, f"{ours[1]:,}" if ours else "missing", f"{paper['rows']:,}" if paper else "–",
            str(ours[2]) if ours else "missing", str(paper.get("features", "–")),
            str(ours[0]) if ours else "missing", str(paper.get("classes", "–")),
            SOURCES[name].origin, here["sha256"][:12] if here else "–", note,
        ))  # fmt: skip
    table.notes = [
        "sensit_aav_dw holds the two vehicle classes of sensit, half its rows; nothing published is of it.",
        "blood has four features at UCI; the paper says five.",
    ]
    return table


# -- Figure 3 --------------------------------------------------------------------------------------


def compared_methods(results: Results) -> list[str]:
    """Give the methods of Figure 3: of a series over sizes, those of our default."""
    return [one for one in results.methods(DATASETS) if _is_compared(*json.loads(one))]


def _is_compared(model: str, params: Record, grid: Record) -> bool:
    if grid or not params:
        return True
    if model == "tree":
        return params["max_leaf_nodes"] in (DEFAULT_SIZE + 1, 2 * DEFAULT_SIZE)
    return bool(params["n_boxes"] == DEFAULT_SIZE)


def figure3(results: Results, cut: Sequence[str] = CUT) -> Table:
    """Set out F1, time and size by data set and method."""
    table = Table(
        "Figure 3: F1, training time and size by data set and method",
        (
            "data set", "method", "F1", "F1, paper", "ours − paper", "HyperNN − this", "precision", "recall",
            "fidelity", "boxes", "conditions", "fit s", "processor s", "fit s, paper", "predict s",
            "search s", "fits", "note",
        ),
    )  # fmt: skip
    for data in DATASETS:
        table.rows += _missing_row(results, data, len(table.header))
        for one in compared_methods(results):
            if (data, one) in results.groups or (data, one) in results.planned:
                table.rows.append(_figure3_row(results, data, one))
    table.notes = [
        f"HyperNN − this: paired difference in F1 of HyperNN (M = {DEFAULT_SIZE}, our default) and the "
        "method on the same splits; below zero the method is ahead.",
        "Fidelity: how often the boxes alone give the model's answer on held-out rows. Boxes of a tree are "
        "its leaves of the class; conditions are closed sides.",
        "What the paper tuned it does not say: its numbers stand beside all variants of a method.",
        *cut,
    ]
    return table


def _missing_row(results: Results, data: str, width: int) -> list[tuple[str, ...]]:
    """Give the row that says that a data set is missing, if it is."""
    why = results.missing_data.get(data)
    return [] if why is None else [(data, "missing", *("–",) * (width - 3), why)]


def _figure3_row(results: Results, data: str, one: str) -> tuple[str, ...]:
    model = json.loads(one)[0]
    paper = published()["figure3"].get(data, {}).get(FAMILY.get(model, ""), {})
    f1 = results.estimate(data, one)
    beside = "" if not paper else "none in 10 h" if paper["f1"] is None else number(paper["f1"])
    apart = results.difference(data, DEFAULT, one) if one != DEFAULT else Estimate(math.nan)

    def mean(what: str) -> float:
        return results.estimate(data, one, what).mean

    return (
        data, title_of(one), _with_interval(f1), beside, _less(f1, paper.get("f1")), signed(*apart),
        *(number(mean(what)) for what in ("precision", "recall", "fidelity")),
        *(number(mean(what), 1) for what in ("boxes", "conditions")),
        seconds(mean("fit_seconds")), seconds(mean("fit_processor_seconds")),
        seconds(paper.get("fit_seconds")), seconds(mean("predict_seconds")), seconds(mean("search_seconds")),
        results.count(data, one),
        results.trouble(data, one),
    )  # fmt: skip


def _with_interval(value: Estimate) -> str:
    return number(value.mean) + ("" if math.isnan(value.half_width) else f" ± {value.half_width:.3f}")


def _less(ours: Estimate, theirs: float | None) -> str:
    return "–" if theirs is None else signed(ours.mean - theirs, ours.half_width)


# -- Figure 4 --------------------------------------------------------------------------------------


def figure4(results: Results) -> Table:
    """Set out the effect of the number of boxes."""
    table = Table(
        "Figure 4: effect of the number of boxes M",
        (
            "data set", "M", "F1", "F1, paper", "ours − paper", "paper's preset, soft", "crisp",
            "tree, M + 1 leaves", "tree, 2 M leaves", "boxes", "conditions", "fit s", "processor s",
            "fit s, paper", "predict s", "predict s, paper", "fits", "note",
        ),
    )  # fmt: skip
    for data in DATASETS:
        table.rows += _missing_row(results, data, len(table.header))
        for size in SIZES:
            one = method("hypernn", n_boxes=size)
            if (data, one) not in results.groups and (data, one) not in results.planned:
                continue
            paper = published()["boxes"].get(data, {}).get(str(size), {})
            beside = [
                method("hypernn-paper-soft", n_boxes=size), method("hypernn-paper-crisp", n_boxes=size),
                method("tree", max_leaf_nodes=size + 1), method("tree", max_leaf_nodes=2 * size),
            ]  # fmt: skip
            f1 = results.estimate(data, one)
            taken = {what: results.estimate(data, one, what).mean for what in CLOCKS}
            table.rows.append((
                data, str(size), _with_interval(f1), number(paper.get("f1")), _less(f1, paper.get("f1")),
                *(number(results.estimate(data, other).mean) for other in beside),
                *(number(results.estimate(data, one, what).mean, 1) for what in ("boxes", "conditions")),
                seconds(taken["fit_seconds"]), seconds(taken["fit_processor_seconds"]),
                seconds(paper.get("fit_seconds")), seconds(taken["predict_seconds"]),
                seconds(paper.get("predict_seconds")), results.count(data, one), results.trouble(data, one),
            ))  # fmt: skip
    table.notes = [
        "M is a ceiling for ours: boxes that do not pay are dropped. Settings are fixed, none is tuned."
    ]
    return table


# -- what went wrong, and where we lose ------------------------------------------------------------


def losses(results: Results) -> Table:
    """List where another method, or the paper, is ahead of our defaults."""
    table = Table(
        "Where our defaults are behind",
        ("data set", "ours", "is behind", "ours − that", "beyond the interval"),
    )
    for data in DATASETS:
        for ours in DEFAULTS:
            behind = [pair for pair in _rivals(results, data, ours) if pair[1].mean < -WORTH_MENTIONING]
            for name, apart in sorted(behind, key=lambda pair: pair[1].mean):
                sure = "yes" if apart.mean + apart.half_width < 0 else "no"
                told = "–" if math.isnan(apart.half_width) else sure
                table.rows.append((data, title_of(ours), name, signed(*apart), told))
    table.notes = [
        f"By more than {WORTH_MENTIONING:g} in F1. HyperNN beside all, PRIM and FMM beside their kind.",
        "Of the paper, HyperNN stands beside its Figure 4 at the same M, the others beside its Figure 3.",
    ]
    return table


def _rivals(results: Results, data: str, ours: str) -> Iterator[tuple[str, Estimate]]:
    """Give what a default of ours is compared with, and the difference."""
    found = results.estimate(data, ours)
    family = FAMILY[json.loads(ours)[0]]
    if ours == DEFAULT:
        paper = published()["boxes"].get(data, {}).get(str(DEFAULT_SIZE), {}).get("f1")
    else:
        paper = published()["figure3"].get(data, {}).get(family, {}).get("f1")
    if paper is not None:
        yield "the paper", Estimate(found.mean - paper, found.half_width)
    for one in compared_methods(results):
        if one != ours and (ours == DEFAULT or FAMILY.get(json.loads(one)[0]) == family):
            yield title_of(one), results.difference(data, ours, one)


def failures(results: Results) -> Table:
    """List what failed or was ended, with what it said."""
    table = Table("Failed or ended at the time limit", ("data set", "method", "cells", "what happened"))
    grouped: dict[tuple[str, str, str], int] = {}
    for (data, one), group in results.groups.items():
        for record in group:
            if record["status"] != "ok":
                message = record["message"]
                if message.startswith(NOT_TRIED):
                    message = f"not tried after another class or seed took more than {record['limit']:g} s"
                key = (data, title_of(one), message)
                grouped[key] = grouped.get(key, 0) + 1
    table.rows = [
        (data, name, str(count), message) for (data, name, message), count in sorted(grouped.items())
    ]
    return table


def absent(results: Results) -> list[str]:
    """Name models that were not installed and data sets that could not be had."""
    return [
        *(f"data set {name}: missing; {why}" for name, why in results.missing_data.items()),
        *(f"model {name}: {why}" for name, why in results.missing_models.items()),
    ]
