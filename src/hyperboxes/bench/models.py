"""The models that are measured: ours, the baselines a user would pick instead, and peers where installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

import numpy as np

from . import peers

#: Boxes and conditions of a fitted model, or None where it has none.
Shape = tuple[int, int] | None


def no_shape(model: Any) -> Shape:
    """Give None: the model is no boxes."""
    return None


@dataclass(frozen=True)
class Model:
    """How a model is made, and what it looks like once it has learned.

    ``make`` takes the seed and hyper-parameters and gives a scikit-learn classifier. ``needs`` names the
    modules that have to be there, and ``distribution`` what to install for them.
    """

    title: str
    make: Callable[..., Any]
    shape: Callable[[Any], Shape] = no_shape
    needs: tuple[str, ...] = ()
    distribution: str = ""

    def missing(self) -> str | None:
        """Say what is not installed, or None."""
        absent = [module for module in self.needs if find_spec(module) is None]
        return f"{self.distribution or absent[0]} is not installed" if absent else None


@dataclass(frozen=True)
class Make:
    """Makes classifiers of a class, or by a function of one, that is imported where it is used."""

    module: str
    name: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, seed: int, **params: Any) -> Any:
        """Make one that has learned nothing yet."""
        make = attrgetter(self.name)(import_module(self.module))
        return make(random_state=seed, **{**self.fixed, **params})


def own_shape(model: Any) -> Shape:
    """Count the boxes of ours."""
    return int(model.boxes_.n_boxes), int(model.boxes_.n_conditions)


def tree_shape(model: Any) -> Shape:
    """Read a tree as boxes: its positive leaves, and the sides that the way to each closes."""
    tree = model.tree_
    boxes = conditions = 0
    paths: list[tuple[int, frozenset[tuple[int, bool]]]] = [(0, frozenset())]
    while paths:
        node, sides = paths.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left == right:  # both -1: a leaf
            if model.classes_[np.argmax(tree.value[node, 0])]:
                boxes, conditions = boxes + 1, conditions + len(sides)
            continue
        feature = int(tree.feature[node])
        paths += [(left, sides | {(feature, False)}), (right, sides | {(feature, True)})]
    return boxes, conditions


def _ours(title: str, name: str, needs: tuple[str, ...] = (), **fixed: Any) -> Model:
    return Model(title, Make("hyperboxes", name, fixed), own_shape, needs)


def _imodels(title: str, name: str) -> Model:
    return Model(title, Make("imodels", name), needs=("imodels", "six"), distribution="imodels")


def _adapted(title: str, make: Callable[..., Any], needs: tuple[str, ...], distribution: str) -> Model:
    return Model(title, make, peers.counted_shape, needs, distribution)


_PAPER: dict[str, Any] = {"name": "HyperNNClassifier", "needs": ("torch",), "recipe": "paper"}
#: Ours and what scikit-learn has, then extras, by the name that cells know them by.
MODELS: dict[str, Model] = {
    "hypernn": _ours("HyperNN", "HyperNNClassifier"),
    "hypernn-paper-soft": _ours("HyperNN, paper's preset, soft", **_PAPER, decision="soft"),
    "hypernn-paper-crisp": _ours("HyperNN, paper's preset, crisp", **_PAPER, decision="crisp"),
    "prim": _ours("PRIM", "PRIMClassifier"),
    "prim-paper": _ours("PRIM, paper's preset", "PRIMClassifier.paper"),
    "fmm": _ours("FMM", "FMMClassifier"),
    "tree": Model("decision tree", Make("sklearn.tree", "DecisionTreeClassifier"), tree_shape),
    "boosting": Model("gradient boosting", Make("sklearn.ensemble", "HistGradientBoostingClassifier")),
    "prim-package": _adapted("PRIM, package prim", peers.PublishedPrim, ("prim", "pandas"), "prim"),
    "fmm-package": _adapted("FMM, hyperbox-brain", peers.HyperboxBrain, ("hbbrain",), "hyperbox-brain"),
    "ebm": Model(
        "EBM", Make("interpret.glassbox", "ExplainableBoostingClassifier", {"n_jobs": 1}),
        needs=("interpret",), distribution="interpret-core",
    ),
    "ripper": _adapted("RIPPER", peers.Ripper, ("wittgenstein", "pandas"), "wittgenstein"),
    "skope-rules": _imodels("SkopeRules", "SkopeRulesClassifier"),
    "rulefit": _imodels("RuleFit", "RuleFitClassifier"),
    "boosted-rules": _imodels("BoostedRules", "BoostedRulesClassifier"),
    "figs": _imodels("FIGS", "FIGSClassifier"),
}  # fmt: skip
#: Models of other packages: they may be absent, fail or hang.
EXTRAS = tuple(list(MODELS)[list(MODELS).index("prim-package") :])
