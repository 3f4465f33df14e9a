"""
From PRIM to HyperNN: before and after
======================================

PRIM is greedy: it peels slice after slice and never looks back. HyperNN can start from its boxes, train them
by gradient and move them to exact optima. Ten splits of the breast cancer data; F1 of the malignant class.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from hyperboxes import HyperNNClassifier, PRIMClassifier, rules

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
labels = np.where(y == 0, "malignant", "benign")

before, after = [], []
for seed in range(10):
    train, test, y_train, y_test = train_test_split(
        X, labels, test_size=0.3, stratify=labels, random_state=seed
    )
    prim = PRIMClassifier(n_boxes=3, positive_label="malignant", random_state=seed).fit(train, y_train)
    polished = HyperNNClassifier(
        n_boxes=3, init=prim.boxes_, positive_label="malignant", random_state=seed
    ).fit(train, y_train)
    for scores, model in ((before, prim), (after, polished)):
        scores.append(f1_score(y_test, model.predict(test), pos_label="malignant"))
    if seed == 0:
        print("PRIM:", rules.to_text(prim.boxes_), "", sep="\n")
        print("Polished by gradient:", rules.to_text(polished.boxes_), "", sep="\n")

print(f"F1 on rows left out, mean of {len(before)} splits")
print(f"  PRIM                  {np.mean(before):.3f}")
print(f"  polished by gradient  {np.mean(after):.3f}")
