"""The demonstration: two models learned, read, queried and drawn, on data that come with scikit-learn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import HyperNNClassifier, read_model, write_model
from .boxes import Boxes
from .rules import to_text
from .sql import to_sql
from .summary import format_percent

#: Conditions of SQL that are shown; the rest is more of the same.
SQL_LINES = 12


def run(output: Path) -> None:
    """Run the whole demonstration and leave its models and pictures in a directory."""
    begin = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    iris(output)
    cancer(output)
    _say(f"\nDone in {time.perf_counter() - begin:.0f} s. Look at the pictures and model files in {output}/.")


def iris(output: Path) -> None:
    """Cover one class of iris by two boxes over two features, as in Figure 1 of the HyperNN paper."""
    from sklearn.datasets import load_iris

    _title("1. Iris: one class, two features, two boxes (Figure 1 of the paper)")
    data = load_iris(as_frame=True)
    X = data.data[["sepal length (cm)", "sepal width (cm)"]]
    y = np.where(data.target == list(data.target_names).index("setosa"), "setosa", "not setosa")
    model = _fit(X, y, "setosa", 2)
    _say("\n" + to_text(model.boxes_))
    _say("\nThe same model as SQL:\n\n" + to_sql(model.boxes_, table="iris"))
    _draw(model, X, y, output / "figure1.png")


def cancer(output: Path) -> None:
    """Learn breast cancer, and set the boxes beside decision trees on rows that none has seen."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.metrics import f1_score
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier

    _title("2. Breast cancer: 30 features, 70 % of rows to learn from, 30 % held out")
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, np.asarray(data.target_names)[data.target]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    model = _fit(X_train, y_train, "malignant", 5)
    _say("\n" + to_text(model.boxes_))
    path = output / "cancer.boxes.json"
    write_model(model, path)
    boxes = read_model(path)
    query = to_sql(boxes, table="cancer")
    lines = query.split("\n")
    more = [f"… {len(lines) - SQL_LINES} more lines"] if len(lines) > SQL_LINES else []
    _say("\nThe same model as SQL:\n\n" + "\n".join(lines[:SQL_LINES] + more))

    _say(f"\nF1 of malignant on the {len(y_test)} rows held out:")
    rows = [(f"{boxes.n_boxes} boxes with {boxes.n_conditions} conditions", model.predict(X_test))]
    for what, leaves in (
        ("as many leaves as boxes and default", boxes.n_boxes + 1),
        ("at most as many splits as the boxes have conditions", boxes.n_conditions + 1),
    ):
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X_train, y_train)
        rows.append((f"decision tree, {what} ({tree.get_n_leaves()} leaves)", tree.predict(X_test)))
    width = max(len(name) for name, _ in rows)
    for name, answers in rows:
        _say(f"  {name:<{width}}  {f1_score(y_test, answers, pos_label='malignant'):.3f}")

    same = format_percent(float((boxes.predict(X) == model.predict(X)).mean()))
    _say(f"\nRead back from {path}, the boxes alone reproduce predict on {same} of rows.")
    _check_in_duckdb(boxes, X, query)
    _draw(model, X_test, y_test, output / "cancer.png")


def _fit(X: Any, y: NDArray[Any], positive: str, n_boxes: int) -> Any:
    _say(f"learning from {len(X)} rows … ", end="")
    begin = time.perf_counter()
    model = HyperNNClassifier(n_boxes=n_boxes, positive_label=positive, random_state=0).fit(X, y)
    _say(f"{model.boxes_.n_boxes} boxes in {time.perf_counter() - begin:.1f} s")
    return model


def _check_in_duckdb(boxes: Boxes, X: Any, query: str) -> None:
    try:
        import duckdb
    except ImportError:
        return
    with duckdb.connect() as connection:
        connection.register("cancer", X)
        answers = [row[-1] for row in connection.execute(query).fetchall()]
    same = sum(ours == theirs for ours, theirs in zip(answers, boxes.predict(X).tolist(), strict=True))
    _say(f"DuckDB, given the SQL, agrees on {same} of {len(X)} rows.")


def _draw(model: Any, X: Any, y: NDArray[Any], path: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        _say('\nno picture: pip install "hyperboxes[plot]"')
        return
    matplotlib.use("agg")
    from .plot import BoxesDisplay

    BoxesDisplay.from_estimator(model, X, y).figure_.savefig(path, dpi=150)
    _say(f"\nwrote {path}")


def _title(text: str) -> None:
    _say(f"\n{text}\n{'-' * len(text)}")


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)
