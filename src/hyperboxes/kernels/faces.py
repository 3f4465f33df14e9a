"""Which faces of soft boxes can go: opening them one by one while the loss hardly rises."""

from __future__ import annotations

import math

import numpy as np

from ._compile import inner, kernel
from ._helper import shared
from .descent import log_outside

#: A face at this distance or further is open: no row comes near.
OPEN = 50.0
#: A negative with a log membership below this costs nothing; nor does a row that others decide so clearly.
FAR = 12.0
NEARLY_ONE = -1e-9


@inner
def _log_sigmoid(a):  # type: ignore[no-untyped-def]
    return -math.log1p(math.exp(-a)) if a > 0 else a - math.log1p(math.exp(a))


@inner
def _row_loss(log_not_p, positive):  # type: ignore[no-untyped-def]
    """Cross entropy of a row from log(1 - p)."""
    if positive:
        return -math.log(max(-math.expm1(log_not_p), 1e-300))
    return -log_not_p


@inner
def _opening_cost(share, log_h, others, positive, weight):  # type: ignore[no-untyped-def]
    """Give by how much the loss rises without one face, whose share of each row's log membership is given."""
    cost = 0.0
    for i in range(len(log_h)):
        without = log_h[i] - share[i]
        if share[i] > -1e-6 or others[i] < -FAR or (without < -FAR and not positive[i]):
            continue
        before = others[i] + log_outside(min(log_h[i], NEARLY_ONE))
        after = others[i] + log_outside(min(without, NEARLY_ONE))
        cost += weight[i] * (_row_loss(after, positive[i]) - _row_loss(before, positive[i]))
    return cost


@shared
@kernel
def open_idle_faces(Z, positive, weight, lower, upper, temperature, price):  # type: ignore[no-untyped-def]
    """Open the faces of each box, cheapest first, that are not worth ``price``; bounds change in place.

    The loss is the cross entropy of the noisy-or union of products at the given temperature. In it a
    negative that two faces only just keep out speaks for both, where counting crisp rows would let either
    go: what is kept has a margin for rows not seen. Opening a face seldom makes another one cheaper, so
    costs computed earlier say which to look at next; all are computed anew before a box is left.
    """
    n, d = Z.shape
    n_boxes = len(lower)
    share = np.zeros((2 * d, n), np.float32)
    log_h = np.zeros((n_boxes, n))
    log_not_p = np.zeros(n)
    costs = np.zeros(2 * d)
    fresh = np.zeros(2 * d, np.bool_)
    others = np.zeros(n)
    for k in range(n_boxes):
        for j in range(d):
            for i in range(n):
                if lower[k, j] > -OPEN:
                    log_h[k, i] += _log_sigmoid((Z[i, j] - lower[k, j]) / temperature)
                if upper[k, j] < OPEN:
                    log_h[k, i] += _log_sigmoid((upper[k, j] - Z[i, j]) / temperature)
        for i in range(n):
            log_not_p[i] += log_outside(min(log_h[k, i], NEARLY_ONE))
    opened = 0
    for k in range(n_boxes):
        for face in range(2 * d):
            j, side = face % d, face // d
            bound = lower[k, j] if side == 0 else upper[k, j]
            costs[face] = np.inf
            if abs(bound) >= OPEN:
                continue
            for i in range(n):
                gap = Z[i, j] - bound if side == 0 else bound - Z[i, j]
                share[face, i] = _log_sigmoid(gap / temperature)
        for i in range(n):
            others[i] = log_not_p[i] - log_outside(min(log_h[k, i], NEARLY_ONE))
        for face in range(2 * d):
            j = face % d
            if abs(lower[k, j] if face < d else upper[k, j]) < OPEN:
                costs[face] = _opening_cost(share[face], log_h[k], others, positive, weight)
                fresh[face] = True
        while True:
            cheapest = 0
            for face in range(1, 2 * d):
                if costs[face] < costs[cheapest]:
                    cheapest = face
            settled = costs[cheapest] >= price
            stale = False
            for face in range(2 * d):
                if not fresh[face] and costs[face] < np.inf and (settled or face == cheapest):
                    costs[face] = _opening_cost(share[face], log_h[k], others, positive, weight)
                    fresh[face] = stale = True
            if stale:
                continue
            if settled:
                break
            for i in range(n):
                log_h[k, i] -= share[cheapest, i]
            if cheapest < d:
                lower[k, cheapest] = -2 * OPEN
            else:
                upper[k, cheapest - d] = 2 * OPEN
            costs[cheapest] = np.inf
            opened += 1
            for face in range(2 * d):
                fresh[face] = False
        for i in range(n):
            log_not_p[i] = others[i] + log_outside(min(log_h[k, i], NEARLY_ONE))
    return opened
