"""Section reach: what other learners reach on the splits of the small tables, read or not.

The published figures of iris, wine and blood are means of three splits that the paper does not give, and
differ from size to size by more than a table this small can tell. This section asks what can be had on the
ten splits of section published, by the same protocol: by usual classifiers on standardised features, as they
come and with the threshold that is best by F1 on training rows (five folds); and by ours at every size, had
it learned from the held-out rows too, which no honest fit can count on. It has no bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hyperboxes.bench.published import published

from .cells import Cell, Choice, Record
from .learners import fit_and_score, make_learner
from .published import SIZES, TEN_SEEDS, table
from .report import Figures, Table, number
from .splits import split_rows

#: Ours, by whether it has learned from the held-out rows too.
OURS = {"hypernn": "ours", "hypernn, all rows": "ours, held-out rows learned too"}
Maker = Callable[[int], Any]
#: By name, a function of the seed. A little regularisation, because of blood two columns are one.
AS_THEY_COME: dict[str, Maker] = {
    "SVM": lambda seed: SVC(),
    "Gaussian process": lambda seed: GaussianProcessClassifier(random_state=seed),
    "nearest neighbours": lambda seed: KNeighborsClassifier(),
    "quadratic discriminant": lambda seed: QuadraticDiscriminantAnalysis(reg_param=1e-3),
    "naive Bayes": lambda seed: GaussianNB(),
    "logistic regression": lambda seed: LogisticRegression(max_iter=1000),
    "random forest": lambda seed: RandomForestClassifier(300, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(300, random_state=seed),
}


def for_f1(make: Maker) -> Maker:
    """Give the same learner with the threshold that is best by F1 on training rows."""

    def tuned(seed: int) -> Any:
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        return TunedThresholdClassifierCV(make(seed), scoring="f1", cv=folds)

    return tuned


LEARNERS = AS_THEY_COME | {f"{name}, threshold by F1": for_f1(make) for name, make in AS_THEY_COME.items()}


def cells(choice: Choice) -> Iterator[Cell]:
    """List what is to be measured."""
    sizes = [size for size in SIZES if size in (choice.sizes or ((10,) if choice.quick else SIZES))]
    for name in choice.names(TEN_SEEDS, TEN_SEEDS[:1], table):
        for seed in range(choice.n_seeds(10)):
            for label in sorted(set(table(name)[1].tolist())):
                for model, size in product(OURS, sizes):
                    yield Cell("reach", name, model, size, label, seed)
                for model in LEARNERS:
                    yield Cell("reach", name, model, 0, label, seed)


def measure(cell: Cell) -> Record:
    """Fit one cell and score it on the held-out rows."""
    split = split_rows(*table(cell.data), cell.label, cell.seed)
    if cell.model in OURS:
        if cell.model == "hypernn, all rows":
            X, y = np.concatenate([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
            split = split._replace(X=X, y=y)
        return fit_and_score(make_learner(cell._replace(model="hypernn"), split.X), split)
    return fit_and_score(make_pipeline(StandardScaler(), LEARNERS[cell.model](cell.seed)), split)


def report(records: list[Record]) -> Table:
    """Set out what was reached, with its standard error over seeds, best learners first."""
    figures, paper = Figures(records), published()["boxes"]
    names = [name for name in TEN_SEEDS if any(record["data"] == name for record in records)]
    models = {(record["model"], record["size"]) for record in records}
    others = sorted(
        (model for model in models if model[0] not in OURS),
        key=lambda model: -figures.mean(names[0], *model),
    )
    result = Table("What is within reach, F1 on held-out rows", ("learner", *names), barred=False)
    for model, size in [*sorted(model for model in models if model[0] in OURS), *others]:
        shown = f"{OURS[model]}, at most {size} boxes" if model in OURS else model
        result.rows.append((
            shown,
            *(
                f"{number(figures.mean(name, model, size))} ± {number(figures.error(name, model, size))}"
                for name in names
            ),
        ))  # fmt: skip
    if records:
        spans = [[paper[name][str(size)]["f1"] for size in SIZES] for name in names]
        result.rows.append(
            ("published, lowest to highest", *(f"{number(min(s))} to {number(max(s))}" for s in spans))
        )
    return result
