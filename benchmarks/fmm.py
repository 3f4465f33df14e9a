"""The fuzzy min-max family: speed beside hyperbox-brain, large tables, published F1, and one box in noise.

Speed: both packages learn and answer the same rows, in the same order and at the same width, in one run on
one thread; the bar is 30 times. Processor time counts, which other work on the machine disturbs least; the
ratio by the clock stands beside it. Rows are scaled to [0, 1] first, which hyperbox-brain needs. Boxes differ
a little: its contraction leaves gaps of 1e-5, and equal memberships are settled differently. It runs in a
process of its own, which ends after so many processor seconds (``--limit``): then "> 40" is a lower bound of
the ratio, and it answers with our boxes instead of its own.

Large: letter, sensit and covtype, where the paper reports that fuzzy min-max did not finish in ten hours.
First as published, all classes at once, at the width that is best on half of 20,000 rows, held out, and how
time grows with the rows and boxes; bar: ten minutes. Then FMMClassifier as it comes, one class against the
rest, up to seven classes; bar: two minutes each. Times are those of the processor. (The sensit table is the
part of it with the two vehicle classes.)

F1: the paper's protocol. Every class against the rest, 70/30 stratified splits by seed, settings by grid
search with the best mean F1 over five folds of the training rows, F1 on the rest, means over classes and
seeds: ten of these for the tables so small that three splits say little. Small tables try more settings.

Inner: FMMClassifier as it comes beside published networks of one width, every class against the rest, on
splits of the training rows of the paper's protocol alone: such as its defaults were chosen by.

One box: 3,000 × 10 uniform rows, one class being a box in two features; at most 25 boxes at F1 of 0.95 or
more, for every variant, where boxes are pruned.

    HYPERBOXES_DATA=folder python benchmarks/fmm.py speed large f1 inner one-box
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from hyperboxes import FMMClassifier
from hyperboxes.bench.published import published
from hyperboxes.datasets import as_numbers, load_dataset
from hyperboxes.fmm import VARIANTS, Network, Rows, Settings, Space, fit_fmm, intervals

#: How many times faster than hyperbox-brain fitting and answering have to be.
BAR = 30.0
SPEED_WIDTHS = (0.3, 0.1)
#: Processor seconds that hyperbox-brain has to learn, and again to answer.
PEER_LIMIT = 30
#: Processor seconds to fit a large table as published, and to fit one class of it as it comes.
LARGE_BAR, DEFAULT_BAR = 600.0, 120.0
#: Classes of a large table that are fitted against the rest, at most.
LARGE_CLASSES = 7
LARGE_WIDTHS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
#: Rows that the width is chosen on, at most.
CHOOSING_ROWS = 20_000
#: F1 of the paper's fuzzy min-max row.
PUBLISHED = {name: told["fmm"]["f1"] for name, told in published()["figure3"].items() if told["fmm"]["f1"]}
SEEDS = 3
#: Sets so small that three splits say little.
TEN_SEEDS = ("iris", "wine", "blood")
PRUNED = {"variant": ["iol"], "max_width": [0.3, 0.5, 1.0], "prune": [True]}
GRID = [
    {"variant": ["simpson", "iol"], "max_width": [0.1, 0.2, 0.3, 0.5, 0.7, 0.9], "prune": [False]},
    PRUNED,
]
SMALL_GRID = [
    {"variant": list(VARIANTS), "max_width": [width / 10 for width in range(1, 10)], "prune": [False]},
    PRUNED,
]
#: Training rows up to which the larger grid is searched.
SMALL_ROWS = 1_500


def table(name):
    """Give a table as numbers and class codes."""
    X, classes = load_dataset(name)
    return as_numbers(X), np.unique(np.asarray(classes), return_inverse=True)[1].astype(np.int64)


def halves(X, y, seed=0):
    """Split 70/30, and scale both parts by the ranges of the first."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    low, high = train.min(axis=0), train.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return (train - low) / spread, np.clip((test - low) / spread, 0, 1), y_train, y_test


def seconds(function, times=1):
    """Give the least time of several runs, by processor and by clock, and the last result."""
    taken = []
    for _ in range(times):
        begin = time.process_time(), time.perf_counter()
        result = function()
        taken.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
    return np.min(taken, axis=0), result


# -- speed -----------------------------------------------------------------------------------------


def rivals(width):
    from hbbrain.numerical_data.batch_learner.accel_agglo_gfmm import AccelAgglomerativeLearningGFMM
    from hbbrain.numerical_data.incremental_learner.efmnn import EFMNNClassifier
    from hbbrain.numerical_data.incremental_learner.fmnn import FMNNClassifier
    from hbbrain.numerical_data.incremental_learner.iol_gfmm import ImprovedOnlineGFMM
    from hbbrain.numerical_data.incremental_learner.onln_gfmm import OnlineGFMM

    return {
        "simpson": FMNNClassifier(theta=width),
        "enhanced": EFMNNClassifier(theta=width),
        "gfmm": OnlineGFMM(theta=width, theta_min=width),
        "iol": ImprovedOnlineGFMM(theta=width),
        "agglomerative": AccelAgglomerativeLearningGFMM(theta=width, min_simil=0.0),
    }


def measure_speed(names, variants, limit) -> bool:
    try:
        rivals(0.1)
    except ImportError:
        print("speed: skipped, hyperbox-brain is not installed\n")
        return True
    half = f" {'ours s':>8} {'theirs':>7} {'ratio':>6} {'clock':>6}"
    print(f"{'':42}{'fit':>31}{'predict':>31}\n{'data':9} {'variant':13} width  boxes  theirs{half}{half}")
    held = True
    for name in names:
        X, test, y, _ = halves(*table(name))
        for width in SPEED_WIDTHS:  # quick ones first
            for variant in variants:
                options = {"max_width": width, "prune": False, "shuffle": False}
                FMMClassifier(variant, **options).fit(X[:200], y[:200]).predict(test[:10])  # compile
                model = FMMClassifier(variant, **options)
                ours = (
                    seconds(lambda m=model, X=X, y=y: m.fit(X, y), 3)[0],
                    seconds(lambda m=model, test=test: m.predict(test), 3)[0],
                )
                n_theirs, theirs = rival_times(variant, width, X, y, test, model, limit)
                fast = all(taken[0] >= BAR * own[0] for own, (taken, _) in zip(ours, theirs, strict=True))
                held &= fast
                print(
                    f"{name:9} {variant:13} {width:5} {len(model.boxes_):6}  {n_theirs:>6}"
                    + "".join(beside(own, *their) for own, their in zip(ours, theirs, strict=True))
                    + ("" if fast else "  below the bar"),
                    flush=True,
                )
    print()
    return held


def beside(ours, theirs, ended):
    """Write processor seconds of both and the ratios, by processor and by clock, or lower bounds of them."""
    mark = "" if ended else ">"
    ratio, clock = (f"{mark}{their / own:.0f}" for own, their in zip(ours, theirs, strict=True))
    return f" {ours[0]:8.4f} {mark + format(theirs[0], '.1f'):>7} {ratio:>6} {clock:>6}"


def rival_times(variant, width, X, y, test, model, limit):
    """Give the number of hyperbox-brain's boxes, and its times to fit and to predict, and if it ended."""
    n_theirs, fit, answer = in_time(variant, width, (X, y), test, None, limit)
    if not fit[1]:  # it did not learn in time: it answers with our boxes
        _, _, answer = in_time(variant, width, (X[:50], y[:50]), test, model.boxes_, limit)
    return n_theirs, (fit, answer)


def in_time(variant, width, rows, test, boxes, limit):
    """Run hyperbox-brain in its own process; give its number of boxes, and each time and if it ended."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=run_rival, args=(theirs, variant, width, rows, test, boxes, limit)
    )
    process.start()
    theirs.close()
    told, n_theirs = [], "-"
    for _ in range(2):
        begin = time.perf_counter()
        try:
            taken, n_theirs = ours.recv()
            told.append((taken, True))
        except EOFError:  # the system ended it
            told.append((np.array([limit, time.perf_counter() - begin]), False))
    process.join()
    return n_theirs, *told


def run_rival(pipe, variant, width, rows, test, boxes, limit):
    """Tell the times to fit and to predict, with other boxes if given, and the number of its own."""
    rival = rivals(width)[variant]
    allow(limit)
    fit, _ = seconds(lambda: rival.fit(rows[0].copy(), rows[1].copy()))
    n_boxes = len(rival.C)
    pipe.send((fit, n_boxes))
    if boxes is not None:
        labels = boxes.labels.astype(rival.C.dtype)
        rival.V, rival.W, rival.C = boxes.lower.copy(), boxes.upper.copy(), labels
        if hasattr(rival, "N_samples"):
            rival.N_samples = np.ones(len(labels))
    allow(limit)
    pipe.send((seconds(lambda: rival.predict(test))[0], n_boxes))


def allow(limit):
    """Have the system end this process after some more processor seconds."""
    spent = math.ceil(time.process_time())
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + limit, most))


# -- large tables ----------------------------------------------------------------------------------


def as_rows(X, y):
    return Rows(*intervals(X), y, np.ones(len(y)))


def measure_large(names, variants) -> bool:
    held = True
    for name in names:
        X, test, y, y_test = halves(*table(name))
        for variant in variants:
            settings = Settings(variant, LARGE_WIDTHS, prune=False, validation_fraction=0.5)
            some = as_rows(X[:CHOOSING_ROWS], y[:CHOOSING_ROWS])  # the split has shuffled them
            (taken, _), fit = seconds(lambda s=settings, r=some: fit_fmm(r, s))
            width = fit.max_width
            print(
                f"{name} {X.shape[0]:,} × {X.shape[1]}, {variant}: width {width}, the best of {LARGE_WIDTHS},"
            )
            print(f"chosen in {taken:.1f} s on half, held out, of {len(some.classes):,} rows")
            print("     rows    boxes    fit s  predict s  accuracy  macro F1")
            for rows in sorted({len(X) // 16, len(X) // 4, len(X)}):
                part = as_rows(X[:rows], y[:rows])
                network = Network(VARIANTS[variant], Space.of(part, 1.0))
                (fit_s, _), _ = seconds(lambda n=network, p=part, w=width: learn(n, p, w))
                (predict_s, _), (rank, _) = seconds(lambda n=network: n.winners(*intervals(test)))  # noqa: B023
                held &= fit_s <= LARGE_BAR
                answers = network.labels[rank]
                accuracy, f1 = np.mean(answers == y_test), f1_score(y_test, answers, average="macro")
                print(
                    f"{rows:9,} {len(network):8,} {fit_s:8.2f} {predict_s:10.2f} {accuracy:9.3f} {f1:9.3f}",
                    flush=True,
                )
        held &= measure_default(name)
        print()
    return held


def measure_default(name) -> bool:
    """Fit the classifier as it comes to each class against the rest."""
    X, classes = table(name)
    print("as it comes, by class:  boxes  width  processor s  predict s     F1")
    held = True
    for label in np.unique(classes)[:LARGE_CLASSES]:
        y = classes == label
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        (spent, _), model = seconds(
            lambda rows=train, own=y_train: FMMClassifier(random_state=0).fit(rows, own)
        )
        (answering, _), answers = seconds(lambda m=model, rows=test: m.predict(rows))
        held &= spent <= DEFAULT_BAR
        print(
            f"{label:21}  {len(model.boxes_):6} {model.max_width_:6} {spent:12.1f} {answering:10.2f}"
            f"  {f1_score(y_test, answers):.3f}{'' if spent <= DEFAULT_BAR else '  below the bar'}",
            flush=True,
        )
    return held


def learn(network, rows, width):
    if network.variant.batch:
        network.agglomerate(rows, width, "mid", 0.0)
    else:
        network.present(rows, width)


# -- published F1 ----------------------------------------------------------------------------------


def published_cell(name, label, seed):
    X, classes = table(name)
    y = classes == label
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    grid = SMALL_GRID if len(train) <= SMALL_ROWS else GRID
    search = GridSearchCV(FMMClassifier(random_state=seed), grid, scoring="f1", cv=folds).fit(train, y_train)
    return (
        name,
        f1_score(y_test, search.predict(test)),
        len(search.best_estimator_.boxes_),
        search.best_params_,
    )


def measure_f1(names, seeds) -> bool:
    print("data       ours  published  boxes  chosen most often")
    held = True
    for name in names:
        _, classes = table(name)
        n_seeds = seeds or (10 if name in TEN_SEEDS else SEEDS)
        cells = Parallel(n_jobs=2)(
            delayed(published_cell)(name, label, seed)
            for seed in range(n_seeds)
            for label in np.unique(classes)
        )
        ours = float(np.mean([f1 for _, f1, _, _ in cells]))
        boxes = float(np.mean([count for _, _, count, _ in cells]))
        chosen = [" ".join(map(str, params.values())) for *_, params in cells]
        most = max(set(chosen), key=chosen.count)
        held &= ours >= PUBLISHED[name]
        mark = "" if ours >= PUBLISHED[name] else "  below"
        print(f"{name:9} {ours:.3f}  {PUBLISHED[name]:9.3f} {boxes:6.0f}  {most}{mark}", flush=True)
    print()
    return held


# -- inner splits ----------------------------------------------------------------------------------


def measure_inner(names, seeds) -> None:
    models = {
        "as it comes": {},
        "simpson 0.3": {"variant": "simpson", "max_width": 0.3, "prune": False},
        "iol 0.3": {"max_width": 0.3, "prune": False},
    }
    print(f"{'data':9}" + "".join(f"{name:>13}: F1  boxes" for name in models))
    for name in names:
        X, classes = table(name)
        found = []
        for label in np.unique(classes):
            for seed in range(seeds):
                y = classes == label
                rows, _, own, _ = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
                rows, test, own, truth = train_test_split(
                    rows, own, test_size=0.3, stratify=own, random_state=seed + 100
                )
                fits = [FMMClassifier(**o, random_state=seed).fit(rows, own) for o in models.values()]
                found.append([(f1_score(truth, fit.predict(test)), len(fit.boxes_)) for fit in fits])
        means = np.mean(found, axis=0)
        print(f"{name:9}" + "".join(f"{f1:17.3f} {boxes:6.1f}" for f1, boxes in means), flush=True)
    print()


# -- one box in noise ------------------------------------------------------------------------------


def measure_one_box(seeds) -> bool:
    print("seed  variant        boxes     F1  published: boxes     F1")
    held = True
    for seed in range(seeds):
        (X, y), (test, y_test) = one_box(3_000, seed), one_box(10_000, seed + 1_000)
        for variant in VARIANTS:
            found = []
            for prune in (True, False):
                width = "auto" if prune else 0.3
                model = FMMClassifier(variant, max_width=width, prune=prune, random_state=seed).fit(X, y)
                found += [len(model.boxes_), f1_score(y_test, model.predict(test))]
            held &= found[0] <= 25 and found[1] >= 0.95
            print(
                f"{seed:4}  {variant:13} {found[0]:6}  {found[1]:.3f} {found[2]:17}  {found[3]:.3f}",
                flush=True,
            )
    return held


def one_box(n, seed):
    X = np.random.default_rng(seed).uniform(size=(n, 10))
    return X, ((X[:, :2] > (0.2, 0.3)) & (X[:, :2] < (0.7, 0.8))).all(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", default=["speed"], choices=["speed", "large", "f1", "inner", "one-box"]
    )
    parser.add_argument("--data", nargs="+", default=None)
    parser.add_argument("--variants", nargs="+", default=None, choices=list(VARIANTS))
    parser.add_argument("--seeds", type=int, help=f"{SEEDS} by default, in f1 ten for {', '.join(TEN_SEEDS)}")
    parser.add_argument("--limit", type=int, default=PEER_LIMIT, help="processor seconds for hyperbox-brain")
    arguments = parser.parse_args()
    held = True
    if "speed" in arguments.what:
        variants = arguments.variants or list(VARIANTS)
        held &= measure_speed(arguments.data or ["satimage", "letter"], variants, arguments.limit)
    if "large" in arguments.what:
        held &= measure_large(
            arguments.data or ["letter", "sensit_aav_dw", "covtype"], arguments.variants or ["iol"]
        )
    if "f1" in arguments.what:
        held &= measure_f1(arguments.data or list(PUBLISHED), arguments.seeds)
    if "inner" in arguments.what:
        names = arguments.data or ["iris", "wine", "cancer", "blood", "cars"]
        measure_inner(names, arguments.seeds or SEEDS)  # for choosing by: it has no bar
    if "one-box" in arguments.what:
        held &= measure_one_box(arguments.seeds or SEEDS)
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
