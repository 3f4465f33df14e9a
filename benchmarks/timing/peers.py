"""F1 on held-out rows against training time: ours, the paper's preset, trees, boosting and rule learners.

One class against the rest, the first classes of each table, means over them; all learners as they come. Ours
and the paper's preset have ten boxes (the default), the small tree twenty leaves. Each learner works in a
process of its own, warmed by a fit of few rows; a fit that passes the time limit is ended and shown as such,
and so is one that fails. Rule learners that are not installed are named: pip install "hyperboxes[bench]".
"""

from __future__ import annotations

import multiprocessing
import warnings
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .bars import Bar, load_split, say, seconds

#: Boxes of ours; the small tree has twice as many leaves.
SIZE = 10


#: Module, class and options of each learner.
LEARNERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "hyperboxes": ("hyperboxes", "HyperNNClassifier", {"n_boxes": SIZE, "random_state": 0}),
    "paper's preset": (
        "hyperboxes", "HyperNNClassifier", {"n_boxes": SIZE, "recipe": "paper", "random_state": 0}
    ),
    "tree, 2M leaves": (
        "sklearn.tree", "DecisionTreeClassifier", {"max_leaf_nodes": 2 * SIZE, "random_state": 0}
    ),
    "tree, full": ("sklearn.tree", "DecisionTreeClassifier", {"random_state": 0}),
    "boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier", {"random_state": 0}),
    "RIPPER": ("wittgenstein", "RIPPER", {"random_state": 0}),
    "SkopeRules": ("imodels", "SkopeRulesClassifier", {"random_state": 0}),
    "RuleFit": ("imodels", "RuleFitClassifier", {"random_state": 0}),
    "BoostedRules": ("imodels", "BoostedRulesClassifier", {"random_state": 0}),
    "GreedyRuleList": ("imodels", "GreedyRuleListClassifier", {}),
    "FIGS": ("imodels", "FIGSClassifier", {"max_rules": 2 * SIZE, "random_state": 0}),
}  # fmt: skip


def make(learner: str) -> Any:
    """Make a learner that has learned nothing yet."""
    module, name, options = LEARNERS[learner]
    return getattr(import_module(module), name)(**options)


class Plan(NamedTuple):
    """Tables, most of their rows, classes of each, and seconds that a fit may take."""

    datasets: tuple[str, ...]
    most_rows: int | None
    n_classes: int
    limit: float


FULL = Plan(("wine", "blood", "satimage", "letter", "covtype"), None, 3, 120.0)
QUICK = Plan(("wine", "blood"), None, 1, 6.0)
#: Rows of the fit that warms a process up.
WARM_ROWS = 200
#: Seconds that a process may take to start and warm up.
START_LIMIT = 120.0


class Result(NamedTuple):
    """Mean seconds and F1 of a learner on a table, or why there are none."""

    seconds: float | None
    f1: float | None
    trouble: str = ""


def work(learner: str, datasets: list[str], plan: Plan, answers: Connection) -> None:
    """Measure a learner on tables, one class after another; send what comes out as it comes."""
    from sklearn.metrics import f1_score

    warnings.simplefilter("ignore")
    try:
        make(learner)
    except ImportError as error:
        answers.send(("missing", f"not installed ({error.name})"))
        return
    for name in datasets:
        split = load_split(name, plan.most_rows)
        if split is None:
            answers.send(("failed", "no data"))
            continue
        warm = slice(0, WARM_ROWS)
        labels = np.unique(split.train_classes).tolist()[: plan.n_classes]
        try:
            make(learner).fit(split.train[warm], (split.train_classes == labels[0])[warm].astype(int))
        except Exception as error:  # some learners cannot learn from so few rows
            say(f"{learner} on {name}: warming up failed: {error}")
        answers.send(("ready", labels))
        for label in labels:
            model, hit = make(learner), (split.train_classes == label).astype(int)
            try:
                took = seconds(lambda: model.fit(split.train, hit))  # noqa: B023 (called at once)
                found = np.asarray(model.predict(split.test)).astype(int)
            except Exception as error:  # whatever another package raises is what there is to report
                answers.send(("failed", f"{type(error).__name__}: {error}"))
                break
            answers.send(("done", (took, float(f1_score(split.test_classes == label, found)))))


def measure(learner: str, plan: Plan) -> list[Result]:
    """Measure a learner on all tables; what a process that passes the limit leaves undone, another does."""
    results: list[Result] = []
    while len(results) < len(plan.datasets):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        left = list(plan.datasets[len(results) :])
        process = multiprocessing.get_context("spawn").Process(
            target=work, args=(learner, left, plan, theirs), daemon=True
        )
        process.start()
        theirs.close()
        results += _collect(ours, left, plan)
        process.kill()
        process.join()
    return results


def _collect(answers: Connection, left: list[str], plan: Plan) -> list[Result]:
    """Read answers until all tables are done or one passes the limit."""
    results: list[Result] = []
    try:
        while len(results) < len(left):
            if not answers.poll(START_LIMIT):
                return [*results, Result(None, None, "did not start")]
            kind, told = answers.recv()
            if kind == "missing":
                return [Result(None, None, told)] * len(left)
            cells = []
            while kind == "ready" and len(cells) < len(told):
                if not answers.poll(plan.limit):
                    return [*results, Result(None, None, f"over {plan.limit:.0f} s")]
                outcome, cell = answers.recv()
                if outcome == "failed":
                    kind, told = outcome, cell
                    break
                cells.append(cell)
            if kind == "failed":
                results.append(Result(None, None, " ".join(told.split())[:60]))
            else:
                took, f1 = np.mean(cells, axis=0)
                results.append(Result(float(took), float(f1)))
    except EOFError:
        results.append(Result(None, None, "its process ended"))
    return results


def draw(results: dict[str, list[Result]], plan: Plan, path: Path) -> None:
    """Draw F1 against seconds, one panel for each table."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    columns = min(3, len(plan.datasets) + 1)
    n_rows = -(-(len(plan.datasets) + 1) // columns)
    figure, axes = plt.subplots(
        n_rows, columns, figsize=(4.2 * columns, 3.4 * n_rows), squeeze=False, layout="constrained"
    )
    tints = mpl.colormaps["tab20"].colors
    colours, markers = tints[::2] + tints[1::2], "*Xs^Dov<>PHd"  # strong ones first
    flat = axes.ravel()
    for panel, axis in enumerate(flat):
        if panel >= len(plan.datasets):
            axis.axis("off")
            continue
        for place, (learner, found) in enumerate(results.items()):
            if found[panel].seconds is not None:
                axis.scatter(
                    found[panel].seconds, found[panel].f1, label=learner, marker=markers[place],
                    s=55 if place else 180, zorder=2 if place else 3,
                    color=colours[place] if place else "black",
                )  # fmt: skip
        axis.set(xscale="log", xlabel="seconds of training", ylabel="F1", title=plan.datasets[panel])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
        axis.margins(0.12)
        low, high = np.log10(axis.get_xlim())
        axis.set_xlim(10 ** np.floor(low), 10 ** np.ceil(high))  # whole decades, which have labels
    seen = {}
    for axis in flat:
        handles, labels = axis.get_legend_handles_labels()
        seen.update(dict(zip(labels, handles, strict=True)))
    ordered = [name for name in results if name in seen]
    flat[len(plan.datasets)].legend([seen[name] for name in ordered], ordered, loc="center", frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def run(quick: bool, plot: Path | None = None) -> list[Bar]:
    """Print F1 and seconds of every learner on every table, and draw them."""
    plan = QUICK if quick else FULL
    print(f"mean F1 and seconds of a fit, {plan.n_classes} classes each, at most {plan.limit:.0f} s a fit")
    print(f"{'':16}" + "".join(f"{name:>16}" for name in plan.datasets))
    results = {}
    for learner in LEARNERS:
        say(f"peers: {learner}")
        results[learner] = measure(learner, plan)
        cells = [
            f"{found.f1:.3f} {found.seconds:8.3f}s" if found.seconds is not None else "-"
            for found in results[learner]
        ]
        print(f"{learner:16}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    for learner, found in results.items():
        for trouble in dict.fromkeys(result.trouble for result in found if result.trouble):
            where = [
                name for name, result in zip(plan.datasets, found, strict=True) if result.trouble == trouble
            ]
            print(f"{learner} on {', '.join(where)}: {trouble}")
    if plot is not None:
        draw(results, plan, plot)
        print(f"drawn in {plot}")
    return []
