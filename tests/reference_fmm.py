"""The fuzzy min-max family as the papers tell it: slow, obvious loops, one feature at a time.

A row is a list of (low, high) per feature, None where the value is missing; a box likewise, None where it
knows nothing yet. Ranges of features are one, so widths need no scaling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Box:
    sides: list
    label: int
    weight: float


def deficit(row, box, average, sensitivity=1.0):
    """Give one minus membership: Simpson's times 2 d, or the general network's."""
    found = []
    for cell, side in zip(row, box.sides, strict=True):
        for gap in gaps(cell, side):
            gap = max(0.0, gap)
            found.append(min(1.0, sensitivity * min(1.0, gap) if average else sensitivity * gap))
    return sum(found) if average else max(found, default=0.0)


def gaps(cell, side):
    """How far a row reaches beyond the upper and the lower bound."""
    return () if cell is None or side is None else (cell[1] - side[1], side[0] - cell[0])


def hull(row, sides):
    return [
        cell if side is None else side if cell is None else (min(side[0], cell[0]), max(side[1], cell[1]))
        for cell, side in zip(row, sides, strict=True)
    ]


def fits(sides, max_width, total):
    widths = [side[1] - side[0] for side in sides if side is not None]
    return sum(widths) <= len(sides) * max_width if total else all(width <= max_width for width in widths)


def meet(one, other):
    return all(
        a is None or b is None or (a[0] <= b[1] and b[0] <= a[1]) for a, b in zip(one, other, strict=True)
    )


def overlap(a, b, nine):
    """Name the case of overlap along a feature, None if there is none, and how long the overlap is."""
    (v, w), (other_v, other_w) = a, b
    either = min(w - other_v, other_w - v)
    if v < other_v < w < other_w:
        return "right", w - other_v
    if other_v < v < other_w < w:
        return "left", other_w - v
    if v < other_v <= other_w < w:
        return "around", either
    if other_v < v <= w < other_w:
        return "within", either
    if nine:
        if v == other_v < w < other_w:
            return "within, low sides equal", either
        if v < other_v < w == other_w:
            return "around, high sides equal", either
        if v == other_v < other_w < w:
            return "around, low sides equal", either
        if other_v < v < w == other_w:
            return "within, high sides equal", either
        if v == other_v < w == other_w:
            return "same", w - v
    return None, 0.0


def contract(box, other, row, nine):
    """Part two boxes along the feature of shortest overlap."""
    cases = {}
    for j, (a, b) in enumerate(zip(box.sides, other.sides, strict=True)):
        if a is None or b is None:
            continue
        case, length = overlap(a, b, nine)
        if case is None:
            return
        cases[j] = (length, case)
    if not cases:
        return
    j = min(cases, key=lambda feature: cases[feature][0])
    case = cases[j][1]
    (v, w), (other_v, other_w) = box.sides[j], other.sides[j]
    below = other_w - v < w - other_v
    if case == "right" or (case == "same" and row[j][1] == w):
        middle = w / 2 + other_v / 2
        box.sides[j], other.sides[j] = (v, middle), (middle, other_w)
    elif case in ("left", "same"):
        middle = v / 2 + other_w / 2
        box.sides[j], other.sides[j] = (middle, w), (other_v, middle)
    elif case == "around, low sides equal" or (case == "around" and below):
        box.sides[j] = (other_w, w)
    elif case in ("around, high sides equal", "around"):
        box.sides[j] = (v, other_v)
    elif case == "within, high sides equal" or (case == "within" and below):
        other.sides[j] = (other_v, v)
    else:
        other.sides[j] = (w, other_w)


def present(boxes, row, label, weight, variant, max_width, sensitivity=1.0):
    """Learn one row, in place."""
    average, nine = variant in ("simpson", "enhanced"), variant == "enhanced"
    own = [box for box in boxes if box.label == label]
    far = [deficit(row, box, average, sensitivity) for box in own]
    order = sorted(range(len(own)), key=lambda k: far[k])  # stable: the older of equals first
    if order and far[order[0]] == 0:
        own[order[0]].sides = [
            cell if side is None else side for cell, side in zip(row, own[order[0]].sides, strict=True)
        ]
        own[order[0]].weight += weight
        return
    for k in order[:1] if average else order:
        grown = hull(row, own[k].sides)
        if not fits(grown, max_width, variant == "simpson"):
            continue
        others = [box for box in boxes if box.label != label]
        if variant == "iol" and any(meet(grown, other.sides) for other in others):
            continue
        own[k].sides, own[k].weight = grown, own[k].weight + weight
        if variant != "iol":
            for other in others:
                contract(own[k], other, row, nine)
        return
    boxes.append(Box(list(row), label, weight))


def dissimilarity(one, other, measure):
    """Give one minus similarity of two boxes."""
    known = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    if measure == "short":
        return largest([max(a[0] - b[1], b[0] - a[1]) for a, b in known])
    if measure == "long":
        return largest([max(b[1] - a[0], a[1] - b[0]) for a, b in known])
    return min(
        largest([max(a[1] - b[1], b[0] - a[0]) for a, b in known]),
        largest([max(b[1] - a[1], a[0] - b[0]) for a, b in known]),
    )


def largest(gaps):
    return min(1.0, max([0.0, *gaps]))


def agglomerate(rows, labels, weights, max_width, measure, min_similarity=0.0):
    """Merge boxes, each with the most similar that allows it, until nothing changes."""
    boxes = []
    for row, label, weight in zip(rows, labels, weights, strict=True):
        boxes.append(Box(list(row), label, weight))
    changed = True
    while changed:
        changed, k = False, 0
        while k < len(boxes):
            partner = most_similar(boxes, k, max_width, measure, min_similarity)
            if partner is None:
                k += 1
                continue
            changed = True
            stays, goes = sorted((k, partner))
            boxes[stays].sides = hull(boxes[goes].sides, boxes[stays].sides)
            boxes[stays].weight += boxes[goes].weight
            del boxes[goes]
            k += goes != k  # the next one has moved up if k itself is gone
    return boxes


def most_similar(boxes, k, max_width, measure, min_similarity):
    near = [
        (dissimilarity(boxes[k].sides, box.sides, measure), index)
        for index, box in enumerate(boxes)
        if index != k and box.label == boxes[k].label
    ]
    for far, index in sorted(near):
        both = hull(boxes[k].sides, boxes[index].sides)
        others = [box for box in boxes if box.label != boxes[k].label]
        free = not any(meet(both, other.sides) for other in others)
        if free and far <= 1 - min_similarity and fits(both, max_width, False):
            return index
    return None


def winner(boxes, row, average):
    """Give the box of highest membership, the first of equals."""
    return min(range(len(boxes)), key=lambda k: deficit(row, boxes[k], average))


def prune(boxes, rows, labels, weights, average, price):
    """Drop the box that earns least as long as it earns no more than the price; boxes come heaviest first."""
    boxes = sorted(boxes, key=lambda box: -box.weight)
    while len(boxes) > 1:
        earned = [0.0] * len(boxes)
        for row, label, weight in zip(rows, labels, weights, strict=True):
            k = winner(boxes, row, average)
            rest = [box for box in boxes if box is not boxes[k]]
            earned[k] += weight * (boxes[k].label == label)
            earned[k] -= weight * (rest[winner(rest, row, average)].label == label)
        may_go = [
            k
            for k, box in enumerate(boxes)
            if box.label in labels or sum(other.label == box.label for other in boxes) > 1
        ]
        may_go = [k for k in may_go if earned[k] <= price]
        if not may_go:
            break
        del boxes[min(may_go, key=lambda k: (earned[k], boxes[k].weight, k))]
    return boxes


def as_rows(low, high):
    """Make rows of two matrices; a cell with a missing end is missing."""
    return [
        [
            None if np.isnan(a) or np.isnan(b) else (float(a), float(b))
            for a, b in zip(lows, highs, strict=True)
        ]
        for lows, highs in zip(low, high, strict=True)
    ]
