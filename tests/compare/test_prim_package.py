"""Our PRIM beside the published package ``prim`` (Project Platypus), where it is installed.

The definitions coincide for numeric columns without ties and missing values: a peel takes the least number of
rows at one end that makes up the fraction. They differ where

- several peels score the same: we take the one with the most rows before the next positive, the package goes
  by an order of its own; so sequences are compared up to the first tie;
- the package stops at the first peel that does not raise the mean; we go on to the least support;
- a bound lies between two rows: we take the shortest decimal there; so rows are compared, not numbers;
- columns are small integers: the package's table of pastes takes ``int8`` for categories;
- values are missing: the package refuses them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hyperboxes.prim import PAPER, fit_prim

prim = pytest.importorskip("prim", reason="the published package is not installed")
OBJECTIVES = ("lenient1", "lenient2", "original")


def noisy_box(seed, n=1500, d=4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    inside = (X[:, 0] > 0.3) & (X[:, 1] < 0.6) & (X[:, 2] > 0.15)
    return X, rng.uniform(size=n) < np.where(inside, 0.8, 0.25)


def published_box(X, y, objective):
    from prim import prim_objfcn

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    chosen = getattr(prim_objfcn, objective)
    model = prim.Prim(
        frame, y, threshold=0.5, threshold_type=">", obj_func=chosen, peel_alpha=0.05, mass_min=0.05
    )
    return model.find_box()


def first_tie(X, y, trajectory, objective):
    """Give the first point whose best peels score the same, by slow loops over both ends of each feature."""
    for point in range(len(trajectory)):
        inside = trajectory.boxes.select([point]).contains(X)[:, 0]
        rows, hits = inside.sum(), y[inside].sum()
        take = int(np.ceil(0.05 * rows - 1e-9))
        scores = []
        for column in X[inside].T:
            order = np.argsort(column)
            for gone in (order[:take], order[-take:]):
                left = (hits - y[inside][gone].sum()) / (rows - take)
                scores.append({"original": left}.get(objective, left - hits / rows))
        scores.sort()
        if scores[-1] == scores[-2]:
            return point
    return len(trajectory)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.filterwarnings("ignore")
def test_same_peels_up_to_the_first_tie(objective):
    compared = 0
    for seed in range(12):
        X, y = noisy_box(seed)
        theirs = published_box(X, y, objective).peeling_trajectory
        settings = {"objective": objective, "criterion": "last", "paste_fraction": 0.0}
        (ours,) = fit_prim(X, y, settings=type(PAPER)(**{**vars(PAPER), **settings})).trajectories
        length = min(len(theirs), len(ours), first_tie(X, y, ours, objective) + 1)
        compared += length - 1
        assert ours.share[:length] == pytest.approx(theirs["mass"].to_numpy()[:length], abs=1e-9)
        assert ours.precision[:length] == pytest.approx(theirs["density"].to_numpy()[:length], abs=1e-9)
        assert ours.recall[:length] == pytest.approx(theirs["coverage"].to_numpy()[:length], abs=1e-9)
        assert ours.n_restricted[:length].tolist() == theirs["res dim"].tolist()[:length]
    assert compared > 60, "ties everywhere: the comparison says little"


@pytest.mark.filterwarnings("ignore")
def test_bounds_separate_the_same_rows():
    compared = 0
    for seed in range(8):
        X, y = noisy_box(seed)
        box = published_box(X, y, "lenient1")
        (ours,) = fit_prim(X, y, settings=PAPER).trajectories
        point = min(first_tie(X, y, ours, "lenient1"), len(box.peeling_trajectory) - 1)
        if point == 0:
            continue
        box.select(point)
        inside = np.ones(len(X), bool)
        for name, limits in box.limits.iterrows():
            column = X[:, int(name.removeprefix("x"))]
            inside &= (column >= limits["min"]) & (column <= limits["max"])
        assert (inside == ours.boxes.select([point]).contains(X)[:, 0]).all()
        compared += 1
    assert compared >= 4
