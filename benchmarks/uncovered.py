"""What rows in no box should get, with more than two classes: one default, or the class of the nearest box.

Accuracy and macro F1 on the held-out 30 % of stratified splits, means over seeds, beside a decision tree
with as many leaves as there are boxes. Tables shipped with scikit-learn, and those in the folder that
HYPERBOXES_DATA names.

    python benchmarks/uncovered.py --seeds 3
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from hyperboxes import HyperNNClassifier

SHIPPED = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
LOCAL = ("satimage",)


def tables():
    for name, load in SHIPPED.items():
        yield name, *load(return_X_y=True)
    folder = Path(os.environ.get("HYPERBOXES_DATA", ""))
    for name in LOCAL:
        if (folder / f"{name}.parquet").is_file():
            import pandas as pd

            frame = pd.read_parquet(folder / f"{name}.parquet")
            yield name, frame.drop(columns="target").to_numpy(np.float64), frame["target"].to_numpy()


def measure(X, y, seed, n_boxes):
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    answers = {}
    for uncovered in ("default", "nearest"):
        model = HyperNNClassifier(n_boxes, uncovered=uncovered, random_state=seed).fit(train, y_train)
        answers[uncovered] = model.predict(test)
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, len(model.boxes_)), random_state=seed)
    answers["tree"] = tree.fit(train, y_train).predict(test)
    scores = [
        score
        for found in answers.values()
        for score in (accuracy_score(y_test, found), f1_score(y_test, found, average="macro"))
    ]
    return [len(model.boxes_), np.mean(model.apply(test) < 0), *scores]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-boxes", type=int, default=5, help="most boxes of each class")
    arguments = parser.parse_args()
    print("             in no   default        nearest        tree")
    print("data   boxes   box   acc.  F1       acc.  F1       acc.  F1")
    for name, X, y in tables():
        rows = [measure(X, y, seed, arguments.n_boxes) for seed in range(arguments.seeds)]
        boxes, share, *scores = np.mean(rows, axis=0)
        shown = "   ".join(f"{a:.3f} {f:.3f}" for a, f in zip(scores[::2], scores[1::2], strict=True))
        print(f"{name:8} {boxes:4.0f}  {share:.3f}   {shown}", flush=True)


if __name__ == "__main__":
    main()
