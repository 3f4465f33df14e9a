"""How the time of a fit grows with rows, features and boxes: planted tables and the exponents fitted to them.

A third of the rows lie in planted boxes, each of which restricts four features; one label in twenty is wrong.
"exponent" is the slope of log seconds on log size by least squares over all sizes, "last" that of the two
largest alone, where what does not grow weighs least. "MB" is the peak resident size during the fit beyond
that before it, in a fresh process for each series. Linux only.
"""

from __future__ import annotations

import multiprocessing

import numpy as np

from .bars import Bar, forget_peak, resident, say, seconds

#: The exponent asked for, and the memory, as a multiple of the table with what a small one cannot do without.
EXPONENT, MEMORY, SLACK_MEGABYTES = 1.1, 3.0, 200.0
#: (rows, features, boxes) of each series.
SERIES = {
    "rows": [(n, 5, 5) for n in (10**4, 10**5, 10**6, 10**7)],
    "features": [(20_000, d, 5) for d in (5, 20, 100, 500)],
    "boxes": [(50_000, 10, m) for m in (1, 3, 10, 30, 100)],
}
QUICK_SERIES = {
    "rows": [(n, 5, 5) for n in (10**4, 10**5, 10**6)],
    "features": [(5_000, d, 5) for d in (5, 20, 100)],
    "boxes": [(10_000, 10, m) for m in (1, 5, 25)],
}
#: Features that a planted box restricts.
RESTRICTED = 4


def planted(n_rows: int, n_features: int, n_boxes: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table in which boxes hold a third of the rows."""
    draw = np.random.default_rng(0)
    X = draw.random((n_rows, n_features))
    inside = np.zeros(n_rows, bool)
    # Sides such that boxes drawn independently cover a third in expectation.
    side = (1 - (2 / 3) ** (1 / n_boxes)) ** (1 / RESTRICTED)
    for _ in range(n_boxes):
        features = draw.choice(n_features, RESTRICTED, replace=False)
        lower = draw.random(RESTRICTED) * (1 - side)
        held = np.ones(n_rows, bool)
        for feature, low in zip(features, lower, strict=True):
            held &= (X[:, feature] >= low) & (X[:, feature] <= low + side)
        inside |= held
    return X, inside ^ (draw.random(n_rows) < 0.05)


def fit(shape: tuple[int, int, int]) -> tuple[float, float, float]:
    """Give seconds of a warm fit, the peak of memory beyond the table, and the table, in megabytes."""
    from hyperboxes import HyperNNClassifier

    X, y = planted(*shape)
    model = HyperNNClassifier(n_boxes=shape[2], random_state=0)
    model.fit(X[:500], y[:500])
    before = resident("VmRSS")
    forget_peak()
    took = seconds(lambda: model.fit(X, y))
    beyond = resident("VmHWM") - before
    if took < 1:
        took = min(took, *(seconds(lambda: model.fit(X, y)) for _ in range(2)))
    return took, beyond, X.nbytes / 1e6


def slope(sizes: list[int], times: list[float]) -> float:
    """Fit the exponent."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def run(quick: bool) -> list[Bar]:
    """Print the series and their exponents."""
    bars = []
    print("series          rows  features  boxes  seconds      MB  table MB")
    for place, (name, shapes) in enumerate((QUICK_SERIES if quick else SERIES).items()):
        say(f"growth with {name}")
        times = []
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            for shape, (took, beyond, table) in zip(shapes, pool.imap(fit, shapes), strict=True):
                say(f"{shape}: {took:.2f} s")
                times.append(took)
                print(
                    f"{name:9}{shape[0]:11} {shape[1]:9} {shape[2]:6} {took:8.2f} {beyond:7.0f} {table:9.0f}",
                    flush=True,
                )
                bars.append(Bar(f"{shape}, MB beyond the table", beyond, MEMORY * table + SLACK_MEGABYTES))
        sizes = [shape[place] for shape in shapes]
        exponent, last = slope(sizes, times), slope(sizes[-2:], times[-2:])
        print(f"{name:9} exponent {exponent:.2f}, last {last:.2f}", flush=True)
        bars.append(Bar(f"exponent of {name}", exponent, EXPONENT))
        bars.append(Bar(f"exponent of {name} between the two largest", last))
    return bars
