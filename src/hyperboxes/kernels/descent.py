"""Gradient descent on soft boxes: the compiled form of the product and noisy-or network.

A row's membership in a box is the product of a sigmoid for each of its 2d faces; that of the union is
p = 1 - prod (1 - h) over boxes. Both are kept as logarithms: far from every box a positive still feels a
force towards the nearest, where the product itself would be zero.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from ._compile import BARE, bare_inner, bare_kernel
from ._helper import shared
from .random import draw

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
#: Gradients below this share of the largest possible one move nothing at the learning rates used.
NEGLIGIBLE = 1e-4
#: A box whose log membership is this far below another's has a negligible share in the union.
FAR = 12.0
#: Log memberships stay below zero by this much: the logarithm of 1 - h must be finite.
NEARLY_ONE = -1e-9
#: Products of 1 - h below this go on as a logarithm, before they vanish.
SMALLEST_PRODUCT = 1e-200
#: Floor of the running F1, so that false positives keep a cost from the first step.
SMALLEST_F1 = 0.1
#: Faces whose factors are multiplied before a logarithm is taken; each is at most 2, so nothing overflows.
FACES_PER_LOG = 64
#: Below this exponent an exponential is taken to be zero.
LEAST_EXPONENT = np.float32(-60)
#: Faces of all boxes up to which they are computed together, far ones too: few at a time do not vectorise.
FEW_FACES = 640
#: Reassociation and contraction let the loops over features vectorise; NaN and infinity cannot occur.
FAST = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@numba.njit(inline="always", **BARE)
def _exp(x):  # type: ignore[no-untyped-def]
    """Exponential of x <= 0 in single precision, in operations that vectorise.

    Adding 1.5 * 2**23 rounds to the nearest integer and leaves it in the low bits, from where it moves to
    the exponent; a polynomial does the rest. Relative error below 3e-6. What is too small to count is zero:
    gradients made of it would be subnormal, which take a hundred times as long to add.
    """
    t = max(x, LEAST_EXPONENT) * np.float32(1.4426950408889634)
    shifted = t + np.float32(12582912)
    r = (t - (shifted - np.float32(12582912))) * np.float32(0.6931471805599453)
    p = np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + np.float32(0.5)
    p = p * r + np.float32(1)
    p = p * r + np.float32(1)
    power = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    return p * np.int32(power).view(np.float32) if x > LEAST_EXPONENT else np.float32(0)


@numba.njit(fastmath=FAST, **BARE)
def violation(x, lower, upper, k):  # type: ignore[no-untyped-def]
    """Give minus the sum of the lengths by which a row violates box k; 0 inside.

    Bounds come whole, with a number: making a view of each box takes longer than the sum.
    """
    total = np.float32(0)
    for j in range(len(x)):
        total += min(x[j] - lower[k, j], np.float32(0)) + min(upper[k, j] - x[j], np.float32(0))
    return total


# Not reassociated: the rounding inside _exp is the point of it.
@numba.njit(fastmath={"contract", "nsz"}, **BARE)
def _tails(x, lower, upper, k, scale, tails):  # type: ignore[no-untyped-def]
    """Write exp(-|distance| * scale) of each face of box k; the first index of ``tails`` is the side.

    All boxes laid end to end are one box too, if the row is repeated as often.
    """
    for j in range(len(x)):
        tails[0, k, j] = _exp(-abs(x[j] - lower[k, j]) * scale)
        tails[1, k, j] = _exp(-abs(upper[k, j] - x[j]) * scale)


@numba.njit(fastmath=FAST, **BARE)
def _log_of_factors(tails, k):  # type: ignore[no-untyped-def]
    """Give the sum of log(1 + tail) over the faces of box k, with few logarithms."""
    total = 0.0
    d = tails.shape[2]
    for begin in range(0, d, FACES_PER_LOG // 2):
        product = np.float32(1)
        for j in range(begin, min(begin + FACES_PER_LOG // 2, d)):
            product *= (np.float32(1) + tails[0, k, j]) * (np.float32(1) + tails[1, k, j])
        total += math.log(product)
    return total


@bare_inner
def log_membership(x, lower, upper, k, scale, tails):  # type: ignore[no-untyped-def]
    """Give the log membership in box k, the sum of log sigmoid(distance * scale) over its faces.

    log sigmoid(a) = min(a, 0) - log(1 + exp(-|a|)). ``tails`` keeps the exponentials for the gradient.
    """
    _tails(x, lower, upper, k, scale, tails)
    return min(violation(x, lower, upper, k) * scale - _log_of_factors(tails, k), NEARLY_ONE)


@numba.njit(fastmath=FAST, **BARE)
def add_gradient(x, lower, upper, k, g, tails, gradient):  # type: ignore[no-untyped-def]
    """Add g, of each feature, times the gradient of the log membership in box k, in units of the scale.

    ``gradient`` has shape (2, n_boxes, n_features): by lower and by upper bounds. A face at scaled distance
    a contributes sigmoid(-a), from its tail.
    """
    one = np.float32(1)
    for j in range(len(x)):
        below, above = tails[0, k, j], tails[1, k, j]
        gradient[0, k, j] -= g[j] * (below if x[j] >= lower[k, j] else one) / (one + below)
        gradient[1, k, j] += g[j] * (above if x[j] <= upper[k, j] else one) / (one + above)


@bare_inner
def _repeat(x, n_times, out):  # type: ignore[no-untyped-def]
    """Write a row several times, end to end."""
    d = len(x)
    for k in range(n_times):
        for j in range(d):
            out[k * d + j] = x[j]


@bare_inner
def log_outside(log_h):  # type: ignore[no-untyped-def]
    """Give log(1 - h) from log h < 0, accurate at both ends."""
    return math.log1p(-math.exp(log_h)) if log_h < -0.7 else math.log(-math.expm1(log_h))


@bare_inner
def union_loss(log_h, positive, slopes):  # type: ignore[no-untyped-def]
    """Loss of one row under the noisy-or union; ``slopes`` takes its derivatives by the log memberships.

    A positive that no box nearly holds has log p = logsumexp(log h), which does not vanish. A box of log
    membership minus infinity adds nothing.
    """
    # One exponential for each box: h or 1 - h, whichever is small, and the other from it.
    nearest, outside, log_of_rest = -np.inf, 1.0, 0.0
    for k in range(len(log_h)):
        nearest = max(nearest, log_h[k])
        if log_h[k] < -0.7:
            inside_k = math.exp(log_h[k])
            outside_k = 1 - inside_k
        else:
            outside_k = -math.expm1(log_h[k])
            inside_k = 1 - outside_k
        slopes[k] = inside_k / outside_k
        outside *= outside_k
        if outside < SMALLEST_PRODUCT:
            log_of_rest += math.log(outside)
            outside = 1.0
    if not positive:
        return -log_of_rest - math.log(outside)
    if nearest < -FAR:
        total = 0.0
        for k in range(len(log_h)):
            slopes[k] = math.exp(log_h[k] - nearest)
            total += slopes[k]
        for k in range(len(log_h)):
            slopes[k] /= -total
        return -nearest - math.log(total)
    if log_of_rest < 0:
        outside = 0.0
    inside = 1 - outside
    for k in range(len(log_h)):
        slopes[k] *= -outside / inside
    return -math.log(inside)


@shared
@bare_kernel
def _descend(  # type: ignore[no-untyped-def]
    X, weight, positives, negatives, lower, upper, n_steps, batch_size, least_positive_share,
    learning_rate, last_learning_rate, temperature, last_temperature, state, history,
    gradient, mean, square, tails, log_h, slopes, together, repeated, pull,
    one_lower, one_upper, one_tails, one_gradient,
):  # fmt: skip
    n_boxes, d = lower.shape
    n_pos, n_neg = len(positives), len(negatives)
    full = n_pos + n_neg <= batch_size
    if full:
        draws_pos, draws_neg = n_pos, n_neg
    else:
        share = max(n_pos / (n_pos + n_neg), least_positive_share)
        draws_pos = max(1, int(batch_size * share))
        draws_neg = max(1, batch_size - draws_pos)
    total_pos, total_neg = 0.0, 0.0
    for i in positives:
        total_pos += weight[i]
    for i in negatives:
        total_neg += weight[i]
    running_f1 = 0.5
    only = np.int64(0)  # of boxes laid end to end; a literal would have what takes it compiled twice
    for step in range(n_steps):
        progress = step / n_steps
        tau = temperature * (last_temperature / temperature) ** progress
        scale = np.float32(1 / tau)
        rate = last_learning_rate + (learning_rate - last_learning_rate) * 0.5 * (
            1 + math.cos(math.pi * progress)
        )
        f1 = max(running_f1, SMALLEST_F1)
        # Mean weights per drawn row, so that the batch stands for the table and the weights sum to one.
        each_pos = (2 - f1) * n_pos / draws_pos
        each_neg = f1 * n_neg / draws_neg
        norm = (2 - f1) * total_pos + f1 * total_neg
        gradient[:] = 0
        true, false, loss = 0.0, 0.0, 0.0
        for b in range(draws_pos + draws_neg):
            positive = b < draws_pos
            if full:
                i = positives[b] if positive else negatives[b - draws_pos]
            else:
                i = positives[draw(state, n_pos)] if positive else negatives[draw(state, n_neg)]
            x = X[i]
            closest = 0
            for k in range(n_boxes):
                log_h[k] = violation(x, lower, upper, k) * scale
                if log_h[k] > log_h[closest]:
                    closest = k
            share = weight[i] * (each_pos if positive else each_neg) / norm
            if log_h[closest] == 0:
                if positive:
                    true += weight[i] * n_pos / draws_pos
                else:
                    false += weight[i] * n_neg / draws_neg
            elif not positive and log_h[closest] < -FAR:
                continue
            if together:
                _repeat(x, n_boxes, repeated)
                _tails(repeated, one_lower, one_upper, only, scale, one_tails)
            # The violation bounds the log membership from above: most boxes are too far to look at faces.
            least = -FAR
            for turn in range(n_boxes):
                k = closest if turn == 0 else (turn if turn > closest else turn - 1)
                if turn > 0 and log_h[k] < least:
                    log_h[k] = -np.inf
                    continue
                if not together:
                    _tails(x, lower, upper, k, scale, tails)
                log_h[k] = min(log_h[k] - _log_of_factors(tails, k), NEARLY_ONE)
                if turn == 0 and positive:
                    least += log_h[k]
            loss += share * union_loss(log_h, positive, slopes)
            for k in range(n_boxes):
                moves = abs(slopes[k]) > NEGLIGIBLE
                g = np.float32(slopes[k] * share * scale) if moves else np.float32(0)
                for j in range(d):
                    pull[k * d + j] = g
                if moves and not together:
                    add_gradient(x, lower, upper, k, pull[k * d : k * d + d], tails, gradient)
            if together:
                add_gradient(repeated, one_lower, one_upper, only, pull, one_tails, one_gradient)
        running_f1 += 0.05 * (2 * true / max(true + false + total_pos, 1e-300) - running_f1)
        bias1 = 1 - 0.9 ** (step + 1)
        bias2 = 1 - 0.99 ** (step + 1)
        for side in range(2):
            bound = lower if side == 0 else upper
            for k in range(n_boxes):
                for j in range(d):
                    g = gradient[side, k, j]
                    mean[side, k, j] = 0.9 * mean[side, k, j] + 0.1 * g
                    square[side, k, j] = 0.99 * square[side, k, j] + 0.01 * g * g
                    bound[k, j] -= (
                        rate * (mean[side, k, j] / bias1) / (math.sqrt(square[side, k, j] / bias2) + 1e-6)
                    )
        if len(history):
            slot = step * len(history) // n_steps
            history[slot, 0] = loss
            history[slot, 1] = running_f1
            history[slot, 2] = tau
    return running_f1


def descend(
    X: Floats32, weight: Floats, positives: Ints, negatives: Ints, lower: Floats32, upper: Floats32,
    n_steps: int, batch_size: int, least_positive_share: float, learning_rate: float,
    last_learning_rate: float, temperature: float, last_temperature: float, seed: int, history: Floats,
) -> float:  # fmt: skip
    """Adam on the binary cross entropy of a noisy-or union of soft boxes; bounds, row-major, change in place.

    Positives weigh 2 - F and negatives F, where F is the running F1 of the crisp boxes: near a
    solution, that makes the loss follow F1. A batch holds at least ``least_positive_share`` positives;
    their weights undo the uneven draw. ``history`` takes (loss, F1, temperature) of evenly spaced steps.
    """
    n_boxes, d = lower.shape
    gradient, mean, square, tails = (np.zeros((2, n_boxes, d), np.float32) for _ in range(4))
    together = 2 * n_boxes * d <= FEW_FACES
    repeated, pull = np.empty(n_boxes * d, np.float32), np.empty(n_boxes * d, np.float32)
    # All boxes laid end to end, as one.
    as_one = (part.reshape(*part.shape[:-2], 1, n_boxes * d) for part in (lower, upper, tails, gradient))
    f1: float = _descend(
        X, weight, positives, negatives, lower, upper, n_steps, batch_size, least_positive_share,
        learning_rate, last_learning_rate, temperature, last_temperature, np.array([seed], np.uint64),
        history, gradient, mean, square, tails, np.zeros(n_boxes), np.zeros(n_boxes), together,
        repeated, pull, *as_one,
    )  # fmt: skip
    return f1
