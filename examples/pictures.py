"""
Pictures of a model
===================

Every Display on one model: breast cancer, 30 features, judged on rows held out. Each is made by
``from_estimator`` or ``from_boxes`` and keeps its figure, as scikit-learn's do.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("agg")
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hyperboxes import HyperNNClassifier, plot, rules

data = load_breast_cancer(as_frame=True)
y = np.asarray(data.target_names)[data.target]
train, test, y_train, y_test = train_test_split(data.data, y, test_size=0.3, stratify=y, random_state=0)
model = HyperNNClassifier(n_boxes=3, positive_label="malignant", random_state=0).fit(train, y_train)
print(rules.to_text(model.boxes_))

# %%
# Two features, as in Figure 1 of the paper
# -----------------------------------------
# A dashed side is the shadow of a box that restricts other features too.
plot.BoxesDisplay.from_estimator(model, test, y_test)

# %%
# Intervals
# ---------
# Each box as a bar within the range of the data, beside the distribution of the classes. One line per
# feature, so that it works for fifty of them.
plot.IntervalsDisplay.from_estimator(model, test, y_test)

# %%
# Pairs
# -----
plot.PairsDisplay.from_estimator(model, test, y_test)

# %%
# Parallel coordinates
# --------------------
plot.ParallelDisplay.from_estimator(model, test, y_test)

# %%
# Precision and recall of each box
# --------------------------------
plot.QualityDisplay.from_estimator(model, test, y_test)

# %%
# How training went
# -----------------
plot.HistoryDisplay.from_estimator(model)
