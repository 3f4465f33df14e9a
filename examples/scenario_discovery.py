"""
Scenario discovery with PRIM
============================

Under which conditions does a policy fail?

A made-up model of a water supply with five uncertain inputs, run 2,000 times. The search for failures is a
trajectory: we look at its trade-off, ask how sure the restrictions of its box are, and draw both pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import numpy as np
import pandas as pd

from hyperboxes import rules
from hyperboxes.plot import BoundsDisplay, TradeOffDisplay
from hyperboxes.prim import fit_prim, resample

rng = np.random.default_rng(0)
runs = pd.DataFrame(
    {
        "demand growth": rng.uniform(0, 4, 2000),
        "rainfall": rng.normal(800, 150, 2000),
        "leakage": rng.uniform(0.05, 0.35, 2000),
        "price response": rng.uniform(-0.6, 0, 2000),
        "reuse": rng.choice([0, 1], 2000),
    }
)
supply = runs["rainfall"] * (1 - runs["leakage"]) * (1 + 0.1 * runs["reuse"])
fails = supply < 480 + 45 * runs["demand growth"] + rng.normal(0, 20, 2000)

fit = fit_prim(runs, fails)
(trajectory,) = fit.trajectories
print(rules.to_text(fit.boxes), "", sep="\n")
print(pd.DataFrame(trajectory.to_dict()).iloc[trajectory.pareto()[::8]].round(3).to_string(index=False), "")

print("How easily would chance do as well?")
for name, chance in trajectory.quasi_p(None, runs, fails).items():
    wider = trajectory.drop(None, name, runs, fails)
    print(f"  {name}: quasi-p {chance:.1g}; without it, precision {wider.precision[-1]:.3f}")

print("", resample(runs, fails, n_samples=50), sep="\n")

pictures = {
    "trade-off.png": TradeOffDisplay.from_trajectory(trajectory),
    "bounds.png": BoundsDisplay.from_trajectory(trajectory, runs, fails),
}
if len(sys.argv) > 1:  # a folder to leave the pictures in
    for name, picture in pictures.items():
        picture.figure_.savefig(Path(sys.argv[1]) / name, dpi=120)
