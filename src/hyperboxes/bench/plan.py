"""Plans: which cells make up the whole picture, in the order they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .cells import Cell
from .models import EXTRAS, MODELS

#: The paper's series of numbers of boxes, and the one that our default is.
SIZES = (2, 5, 10, 20, 30)
DEFAULT_SIZE = 10
SMALL = ("iris", "wine", "cancer", "blood", "cars")
MIDDLE = ("satimage",)
LARGE = ("letter", "sensit_aav_dw", "sensit", "covtype")
#: All that is reported on, in the order of the paper; what is on hand of sensit goes by its own name.
DATASETS = (
    "iris",
    "wine",
    "cancer",
    "blood",
    "cars",
    "satimage",
    "letter",
    "sensit",
    "sensit_aav_dw",
    "covtype",
)
#: Shapes of planted tables, one number at a time: rows at 10 features, and features at 2,000 rows.
BY_ROWS = tuple(f"planted-{rows}x10" for rows in (1_000, 4_000, 16_000, 64_000, 256_000))
BY_FEATURES = tuple(f"planted-2000x{features}" for features in (5, 20, 80, 320))


@dataclass(frozen=True)
class Method:
    """A model with its hyper-parameters."""

    model: str
    params: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Any] = field(default_factory=dict)


def sized(model: str, sizes: Iterable[int] = SIZES) -> list[Method]:
    """Give a model with each number of boxes."""
    return [Method(model, {"n_boxes": size}) for size in sizes]


HYPERNN = sized("hypernn")
PAPER = [*sized("hypernn-paper-soft"), *sized("hypernn-paper-crisp")]
BOXES = [Method("prim"), Method("prim-paper"), Method("fmm")]
#: Trees with as many leaves as M boxes and a default, with twice as many as boxes, and unrestricted.
TREES = [
    *(Method("tree", {"max_leaf_nodes": size + 1}) for size in SIZES),
    *(Method("tree", {"max_leaf_nodes": 2 * size}) for size in SIZES),
    Method("tree"),
]
BASELINES = [*TREES, Method("boosting")]
PEERS = [Method(name) for name in EXTRAS]
#: Peers that take seconds even on the smallest sets.
SLOW_PEERS = [one for one in PEERS if one.model in ("ebm", "rulefit")]
TUNED = [
    Method("prim", grid={"peel_fraction": [0.02, 0.05, 0.1], "objective": ["lenient2", "original", "f1"]}),
    Method("prim-paper", grid={"peel_fraction": [0.02, 0.05, 0.1], "min_support": [0.02, 0.05, 0.1]}),
    Method("tree", grid={"max_leaf_nodes": [3, 6, 11, 21, 31, None], "class_weight": [None, "balanced"]}),
    Method(
        "fmm", grid={"variant": ["simpson", "iol"], "max_width": [0.1, 0.3, 0.5, 0.7, 0.9], "prune": [False]}
    ),
    Method("boosting", grid={"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]}),
]
HYPERNN_TUNED = [Method("hypernn", grid={"n_boxes": list(SIZES)})]
GROWTH = [
    Method(name)
    for name in (
        "hypernn",
        "hypernn-paper-soft",
        "prim",
        "prim-paper",
        "fmm",
        "tree",
        "prim-package",
        "fmm-package",
    )
]


@dataclass(frozen=True)
class Part:
    """Methods on data sets, with seeds, and the seconds that a cell may take."""

    data: tuple[str, ...]
    methods: list[Method]
    seeds: tuple[int, ...]
    limit: float


PAPER_DEFAULT = [one for one in PAPER if one.params["n_boxes"] == DEFAULT_SIZE]
PAPER_OTHERS = [one for one in PAPER if one not in PAPER_DEFAULT]
#: What is quick comes first, so that a run that is ended early says most.
FULL = (
    Part(SMALL, [*HYPERNN, *BOXES, *BASELINES, *PAPER_DEFAULT], (0, 1, 2), 120.0),
    Part(SMALL, [one for one in PEERS if one not in SLOW_PEERS], (0, 1, 2), 60.0),
    Part(SMALL, TUNED, (0, 1, 2), 300.0),
    Part(MIDDLE, [*HYPERNN, *BOXES, *BASELINES, *PAPER_DEFAULT], (0, 1, 2), 300.0),
    *(Part((name,), HYPERNN, (0,), 600.0) for name in LARGE),
    Part((*BY_ROWS, *BY_FEATURES), GROWTH, (0,), 60.0),
    Part(LARGE, [*BOXES, *BASELINES], (0,), 120.0),
    *(Part((name,), HYPERNN, (1, 2), 600.0) for name in LARGE),
    Part(SMALL, SLOW_PEERS, (0, 1, 2), 60.0),
    Part(MIDDLE, PEERS, (0,), 60.0),
    Part((*SMALL, *MIDDLE), PAPER_OTHERS, (0,), 300.0),
    Part(SMALL, HYPERNN_TUNED, (0, 1, 2), 1200.0),
    Part(LARGE, [*BOXES, *BASELINES], (1, 2), 120.0),
    Part(MIDDLE, [one for one in TUNED if one.model in ("prim", "prim-paper", "tree")], (0, 1, 2), 600.0),
    Part(LARGE, PAPER_DEFAULT, (0,), 120.0),
    Part(LARGE, PEERS, (0,), 60.0),
)
QUICK = (
    Part(SMALL, [*HYPERNN, *BOXES, *TREES[2:3], *TREES[7:8], *TREES[-1:], Method("boosting")], (0,), 30.0),
    Part(SMALL, PAPER_DEFAULT, (0,), 30.0),
    Part((*BY_ROWS[:2], *BY_FEATURES[:3]), GROWTH, (0,), 8.0),
    Part(SMALL, [one for one in PEERS if one not in SLOW_PEERS], (0,), 8.0),
    Part(SMALL[:1], SLOW_PEERS, (0,), 8.0),
)
#: What the plans leave out, for the tables to say.
QUICK_CUT = (
    "A quick run: small data sets, one seed, no grid search; peers and growth end after 8 processor seconds, "
    "and EBM and RuleFit see iris alone.",
)
CUT = (
    "Grid search by 5-fold cross-validation on the five small sets only, and for PRIM and trees on satimage; "
    "everywhere else settings are fixed: HyperNN with M boxes, all others as they come.",
    "A fit that passes its limit of processor seconds is ended, and the method is not tried on the other "
    "classes and seeds of that data set. Peers have 60 s, on satimage and the large sets with seed 0 only.",
    "The paper's preset has three seeds with M = 10 on the small sets and satimage, and seed 0 elsewhere; on "
    "large sets M = 10 only: it takes all rows in each of up to 10,000 steps, which the paper did on a GPU.",
)


def cells_of(parts: Iterable[Part], classes: Mapping[str, list[str]]) -> Iterator[tuple[Cell, float]]:
    """List cells with their limits, one model after the other; data sets without classes are left out."""
    for part in parts:
        for method in part.methods:
            for data in part.data:
                labels = ["True"] if data.startswith("planted-") else classes.get(data, [])
                for seed in part.seeds:
                    for label in labels:
                        yield Cell(data, label, method.model, seed, method.params, method.grid), part.limit


def select(
    parts: Iterable[Part], data: Iterable[str] | None = None, models: Iterable[str] | None = None
) -> list[Part]:
    """Keep the data sets and models asked for; planted tables only if no data set is named."""
    wanted, chosen = set(data or ()), set(models or MODELS)
    return [
        Part(
            tuple(name for name in part.data if not wanted or name in wanted),
            [method for method in part.methods if method.model in chosen],
            part.seeds,
            part.limit,
        )
        for part in parts
    ]
