"""A table like those of a clinic: numbers, categories, gaps, an identifier, and a planted rule."""

from __future__ import annotations

import numpy as np
import pandas as pd


def patients(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"P{number:05d}" for number in range(rows)],
            "age": rng.integers(18, 95, rows),
            "bmi": np.round(rng.normal(26, 4, rows), 1),
            "blood pressure": np.round(rng.normal(130, 18, rows), 1),
            "sex": rng.choice(["female", "male"], rows),
            "smoker": rng.choice(["yes", "no", "former"], rows),
        }
    )
    ill = ((frame["age"] >= 60) & (frame["blood pressure"] >= 125)) | (
        (frame["smoker"] == "yes") & (frame["bmi"] >= 29)
    )
    frame["ill"] = np.where(ill, "yes", "no")
    for name in ("bmi", "blood pressure"):
        frame.loc[rng.random(rows) < 0.08, name] = np.nan
    frame.loc[rng.random(rows) < 0.08, "smoker"] = None
    return frame
