"""The models that are measured: ours, the baselines a user would pick instead, and peers where installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
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


def _hypernn(seed: int, **params: Any) -> Any:
    from .. import HyperNNClassifier

    return HyperNNClassifier(random_state=seed, **params)


def _paper_soft(seed: int, **params: Any) -> Any:
    return _hypernn(seed, recipe="paper", decision="soft", **params)


def _paper_crisp(seed: int, **params: Any) -> Any:
    return _hypernn(seed, recipe="paper", decision="crisp", **params)


def _prim(seed: int, **params: Any) -> Any:
    from .. import PRIMClassifier

    return PRIMClassifier(random_state=seed, **params)


def _prim_paper(seed: int, **params: Any) -> Any:
    from .. import PRIMClassifier

    return PRIMClassifier.paper(random_state=seed, **params)


def _fmm(seed: int, **params: Any) -> Any:
    from .. import FMMClassifier

    return FMMClassifier(random_state=seed, **params)


def _tree(seed: int, **params: Any) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=seed, **params)


def _boosting(seed: int, **params: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, **params)


def _own_shape(model: Any) -> Shape:
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


#: Ours and what scikit-learn has, then extras, by the name that cells know them by.
MODELS: dict[str, Model] = {
    "hypernn": Model("HyperNN", _hypernn, _own_shape),
    "hypernn-paper-soft": Model("HyperNN, paper's preset, soft", _paper_soft, _own_shape, ("torch",)),
    "hypernn-paper-crisp": Model("HyperNN, paper's preset, crisp", _paper_crisp, _own_shape, ("torch",)),
    "prim": Model("PRIM", _prim, _own_shape),
    "prim-paper": Model("PRIM, paper's preset", _prim_paper, _own_shape),
    "fmm": Model("FMM", _fmm, _own_shape),
    "tree": Model("decision tree", _tree, tree_shape),
    "boosting": Model("gradient boosting", _boosting),
    "prim-package": Model("PRIM, prim", peers.PublishedPrim, peers.counted_shape, ("prim", "pandas"), "prim"),
    "fmm-package": Model(
        "FMM, package hyperbox-brain",
        peers.HyperboxBrain,
        peers.counted_shape,
        ("hbbrain",),
        "hyperbox-brain",
    ),
    "ebm": Model("EBM", peers.explainable_boosting, needs=("interpret",), distribution="interpret-core"),
    "ripper": Model("RIPPER", peers.Ripper, peers.counted_shape, ("wittgenstein", "pandas"), "wittgenstein"),
    "skope-rules": Model("SkopeRules", peers.skope_rules, needs=("imodels", "six"), distribution="imodels"),
    "rulefit": Model("RuleFit", peers.rulefit, needs=("imodels", "six"), distribution="imodels"),
    "boosted-rules": Model(
        "BoostedRules", peers.boosted_rules, needs=("imodels", "six"), distribution="imodels"
    ),
    "figs": Model("FIGS", peers.figs, needs=("imodels", "six"), distribution="imodels"),
}
#: Models of other packages: they may be absent, fail or hang.
EXTRAS = tuple(list(MODELS)[list(MODELS).index("prim-package") :])
