"""Write the models of a new release, with what they predict: ``python tests/data/models/write_models.py``.

Run it once for each release and never again for an old one: later releases must read what is here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import hyperboxes
from hyperboxes import Boxes, write_model

HOSTILE = [
    "a'; DROP TABLE t; --",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "名前 \U0001f600",
]


def models() -> dict[str, tuple[Boxes, list[list[Any]]]]:
    """Give each model with rows on, beside and far from its bounds, and with missing values."""
    binary = Boxes.from_rules(
        [({"age": (65, None), "bmi": (None, 25.5)}, True), ({"bmi": (0.1, 0.30000000000000004)}, True)],
        default=False,
    )
    multiclass = Boxes(
        lower=[[-np.inf, 1.5], [4.95, -np.inf], [2.5, 0.2]],
        upper=[[2.45, np.inf], [np.inf, 1.7], [4.9, np.inf]],
        labels=[0, 2, 1],
        feature_names=("petal length (cm)", "petal width (cm)"),
        default=1,
        uncovered="nearest",
        scale=[4.0, 0.5],
        counts=[[50, 0, 0], [0, 1, 44.5], [0, 48, 3], [0, 1, 2.5]],
    )
    sparse = Boxes.from_rules(
        [
            ({"f3": (5e-324, None), "city": {"Oslo", "Rome"}}, "in"),
            ({"f17": (-1e308, 1e308), "grade": {2, 3}}, "out"),
            ({}, "rest"),
        ],
        default=None,
        feature_names=[*(f"f{j}" for j in range(20)), "city", "grade"],
        categories={"city": ["Bern", "Oslo", "Rome"], "grade": [1, 2, 3, 4]},
    )
    hostile = Boxes.from_rules(
        [({HOSTILE[0]: (None, 0), HOSTILE[1]: (1, 2)}, HOSTILE[2]), ({HOSTILE[4]: {HOSTILE[3], "NULL"}}, "")],
        default=HOSTILE[0],
        feature_names=[HOSTILE[0], HOSTILE[1], HOSTILE[4]],
        categories={HOSTILE[4]: [HOSTILE[3], "NULL", "", "nan"]},
    )
    open_cells: list[Any] = [None] * 22
    return {
        "binary": (
            binary,
            [
                [65, 25.5],
                [64.99999999999999, 25.5],
                [65, 25.500000000000004],
                [None, 0.3],
                [0, 0.1],
                [70, None],
            ],
        ),
        "multiclass": (
            multiclass,
            [[1, 2], [5, 1.7], [3, 0.2], [2.47, 0], [100, 1.8], [-9, 0.3], [None, None]],
        ),
        "sparse": (
            sparse,
            [
                [*open_cells[:3], 5e-324, *open_cells[4:20], "Oslo", None],
                [*open_cells[:3], 0.0, *open_cells[4:17], 1e308, None, None, "Oslo", 3],
                [*open_cells[:17], 0.5, None, None, "Paris", 4],
                open_cells,
            ],
        ),
        "hostile_names": (hostile, [[0, 1, "nan"], [0, 3, HOSTILE[3]], [None, None, "NULL"], [1, 1, None]]),
    }


def main() -> None:
    """Write the folder of this release, which must not exist yet."""
    folder = Path(__file__).parent / hyperboxes.__version__
    folder.mkdir()
    for name, (boxes, rows) in models().items():
        write_model(boxes, folder / f"{name}.boxes.json")
        answers = boxes.predict(np.array(rows, dtype=object)).tolist()
        lines = ",\n".join(json.dumps([row, answer]) for row, answer in zip(rows, answers, strict=True))
        (folder / f"{name}.expected.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
