"""PRIM as slow and obvious loops over rows: what each peel and paste means."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

LOW, HIGH, LEVEL = "low", "high", "level"


@dataclass
class Column:
    """One feature: its cells (None where missing), and whether it is a category and unordered."""

    cells: list
    named: bool = False
    unordered: bool = False


@dataclass
class Box:
    """For each restricted feature, the values it admits of those in the table."""

    admitted: dict = field(default_factory=dict)

    def keeps_out(self, columns, row):
        """List the features that reject a row; every restriction rejects a missing value."""
        return [
            j for j, values in self.admitted.items()
            if columns[j].cells[row] is None or columns[j].cells[row] not in values
        ]  # fmt: skip


def score(objective, mass, total, gone, gone_total, base, positives):
    left, left_total = mass - gone, total - gone_total
    match objective:
        case "original" | "lift":
            return left_total / left
        case "lenient1":
            return (left_total / left - total / mass) / gone
        case "lenient2":
            return total / mass - gone_total / gone
        case "f1":
            return 2 * left_total / (left + positives)
        case "wracc":
            return left_total - left * base


def tail(columns, j, rows, side, need, w):
    """Take from one end of a feature until it weighs enough: missing values first, then whole values."""
    column = columns[j]
    taken = {row for row in rows if column.cells[row] is None}
    mass = sum(w[row] for row in taken)
    if column.named and mass >= need:
        need = mass + 1
    values = sorted({column.cells[row] for row in rows} - {None}, reverse=side == HIGH)
    for value in values:
        if mass >= need:
            break
        same = [row for row in rows if column.cells[row] == value]
        taken.update(same)
        mass += sum(w[row] for row in same)
    return taken


def reach(columns, j, rows, side, taken, w, s):
    """Weigh what lies beyond a slice up to the first value with a positive target."""
    column = columns[j]
    left = [row for row in rows if row not in taken]
    mass = 0
    for value in sorted({column.cells[row] for row in left}, reverse=side == HIGH):
        same = [row for row in left if column.cells[row] == value]
        if sum(s[row] for row in same) > 0:
            break
        mass += sum(w[row] for row in same)
    return mass


def slices(columns, rows, restricted, max_features, need, w, s):
    """List every peel: (feature, what, rows taken, weight up to the first positive)."""
    for j, column in enumerate(columns):
        if j not in restricted and len(restricted) >= max_features:
            continue
        if column.unordered:
            missing = {row for row in rows if column.cells[row] is None}
            for level in sorted({column.cells[row] for row in rows} - {None}):
                taken = missing | {row for row in rows if column.cells[row] == level}
                yield j, LEVEL, taken, sum(w[row] for row in taken)
            continue
        for side in (LOW, HIGH):
            taken = tail(columns, j, rows, side, need, w)
            if taken:
                mass = sum(w[row] for row in taken)
                yield j, side, taken, mass + reach(columns, j, rows, side, taken, w, s)


def peel(columns, w, s, peel_fraction, min_support, objective, max_features=math.inf):
    """Give the rows of the whole table and of the box after each peel."""
    rows = set(range(len(w)))
    base, positives = sum(s) / sum(w), sum(s)
    path, restricted = [rows], set()
    while True:
        mass, total = sum(w[row] for row in rows), sum(s[row] for row in rows)
        need = max(1, peel_fraction * mass * (1 - 1e-12))
        best = None
        for j, _, taken, far in slices(columns, rows, restricted, max_features, need, w, s):
            m, t = sum(w[row] for row in taken), sum(s[row] for row in taken)
            if m == 0 or mass - m < min_support:
                continue
            key = (score(objective, mass, total, m, t, base, positives), far)
            if best is None or key > best[0]:
                best = key, j, taken
        if best is None:
            return path
        _, j, taken = best
        restricted.add(j)
        rows = rows - taken
        path.append(rows)


def paste(columns, w, s, box, paste_fraction):
    """Give the rows of a box and after each paste; ``box`` changes."""
    everything = {j: {cell for cell in column.cells if cell is not None} for j, column in enumerate(columns)}
    path = []
    while True:
        out = [box.keeps_out(columns, row) for row in range(len(w))]
        rows = {row for row in range(len(w)) if not out[row]}
        path.append(rows)
        mass, total = sum(w[row] for row in rows), sum(s[row] for row in rows)
        need = max(1, paste_fraction * mass * (1 - 1e-12))
        best, most, chosen = total / mass, 0, None
        for j in sorted(box.admitted):
            sole = [row for row in range(len(w)) if out[row] == [j]]
            for values in widened(columns[j], everything[j], box.admitted[j], sole, need, w):
                opens = values == everything[j]
                more = [
                    row for row in sole
                    if columns[j].cells[row] in values or (opens and columns[j].cells[row] is None)
                ]  # fmt: skip
                m, t = sum(w[row] for row in more), sum(s[row] for row in more)
                if m == 0:
                    continue
                mean = (total + t) / (mass + m)
                if mean > best or (mean == best and m > most):
                    best, most, chosen = mean, m, (j, values, opens)
        if chosen is None:
            return path
        j, values, opens = chosen
        if opens:
            del box.admitted[j]
        else:
            box.admitted[j] = values


def widened(column, everything, admitted, sole, need, w):
    """List the sets of values that one paste of a feature leads to."""
    if column.unordered:
        for level in sorted(everything - admitted):
            yield admitted | {level}
        return
    order = sorted(everything)
    for side in (LOW, HIGH):
        beyond = (
            [value for value in reversed(order) if value < min(admitted)]
            if side == LOW
            else [value for value in order if value > max(admitted)]
        )
        weight = {value: sum(w[row] for row in sole if column.cells[row] == value) for value in beyond}
        taken, mass = 0, 0
        while taken < len(beyond) and mass < need:
            mass += weight[beyond[taken]]
            taken += 1
        # Cut in the middle of the values that no row of interest has; at the end if none follows.
        following = [k for k in range(taken, len(beyond)) if weight[beyond[k]] > 0]
        taken = taken + (following[0] - taken) // 2 if following else len(beyond)
        yield admitted | set(beyond[:taken])
