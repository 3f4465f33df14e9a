"""Gradient descent on soft boxes: the compiled form of the margin and noisy-or network."""

from __future__ import annotations

import math

import numba
import numpy as np

from ._compile import inner, kernel
from .random import draw

#: Gradients below this share of the largest possible one move nothing at the learning rates used.
NEGLIGIBLE = 1e-4
#: Floor of the running F1, so that false positives keep a cost from the first step.
SMALLEST_F1 = 0.1
#: Reassociation and contraction let the loops over features vectorise; NaN and infinity cannot occur.
FAST = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@numba.njit(nogil=True, fastmath=FAST)
def margin(x, lower, upper, k):  # type: ignore[no-untyped-def]
    """Give the signed distance to box k.

    Inside, it is the least distance to a face; outside, minus the length of the violations. Bounds come
    whole, with a number: making a view of each box takes longer than the distance.
    """
    least = np.float32(1e30)
    squares = np.float32(0)
    for j in range(len(x)):
        v = min(x[j] - lower[k, j], upper[k, j] - x[j])
        least = min(least, v)
        outside = min(v, np.float32(0))
        squares += outside * outside
    return least if least >= 0 else -np.sqrt(squares)


@numba.njit(nogil=True, fastmath=FAST)
def add_gradient(x, lower, upper, k, m, g, gradient):  # type: ignore[no-untyped-def]
    """Add g times the gradient of the margin m: one face inside, every violated face outside.

    ``gradient`` has shape (2, n_boxes, n_features): by lower and by upper bounds.
    """
    if m >= 0:
        face, upper_side = 0, False
        least = np.float32(1e30)
        for j in range(len(x)):
            if x[j] - lower[k, j] < least:
                least, face, upper_side = x[j] - lower[k, j], j, False
            if upper[k, j] - x[j] < least:
                least, face, upper_side = upper[k, j] - x[j], j, True
        if upper_side:
            gradient[1, k, face] += g
        else:
            gradient[0, k, face] -= g
        return
    for j in range(len(x)):
        gradient[0, k, j] -= g * max(lower[k, j] - x[j], np.float32(0)) / -m
        gradient[1, k, j] += g * max(x[j] - upper[k, j], np.float32(0)) / -m


@inner
def union_loss(margins, temperature, positive, memberships):  # type: ignore[no-untyped-def]
    """Loss of one row under the noisy-or union and its derivative by log(1 - p).

    With h = sigmoid(margin / temperature) per box, log(1 - p) = -sum softplus(margin / temperature). The
    derivative by a margin is then -derivative * h / temperature.
    """
    log_outside = 0.0
    for k in range(len(margins)):
        a = margins[k] / temperature
        if a > 0:
            e = math.exp(-a)
            memberships[k] = 1 / (1 + e)
            log_outside -= a + math.log1p(e)
        else:
            e = math.exp(max(a, -600.0))
            memberships[k] = e / (1 + e)
            log_outside -= math.log1p(e)
    if not positive:
        return -log_outside, -1.0
    inside = max(-math.expm1(log_outside), 1e-280)
    return -math.log(inside), math.exp(log_outside) / inside


@kernel
def descend(  # type: ignore[no-untyped-def]
    X, weight, positives, negatives, lower, upper, n_steps, batch_size, least_positive_share,
    learning_rate, last_learning_rate, temperature, last_temperature, seed, history,
):  # fmt: skip
    """Adam on the binary cross entropy of a noisy-or union of soft boxes; bounds change in place.

    Positives weigh 2 - F and negatives F, where F is the running F1 of the crisp boxes: near a
    solution, that makes the loss follow F1. A batch holds at least ``least_positive_share`` positives;
    their weights undo the uneven draw. ``history`` takes (loss, F1, temperature) of evenly spaced steps.
    """
    n_boxes, d = lower.shape
    state = np.array([np.uint64(seed)], np.uint64)
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
    gradient = np.zeros((2, n_boxes, d), np.float32)
    mean = np.zeros((2, n_boxes, d), np.float32)
    square = np.zeros((2, n_boxes, d), np.float32)
    margins = np.zeros(n_boxes)
    memberships = np.zeros(n_boxes)
    running_f1 = 0.5
    for step in range(n_steps):
        progress = step / n_steps
        tau = temperature * (last_temperature / temperature) ** progress
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
            held = False
            for k in range(n_boxes):
                margins[k] = margin(x, lower, upper, k)
                held = held or margins[k] >= 0
            row_loss, slope = union_loss(margins, tau, positive, memberships)
            share = weight[i] * (each_pos if positive else each_neg) / norm
            loss += share * row_loss
            if held:
                if positive:
                    true += weight[i] * n_pos / draws_pos
                else:
                    false += weight[i] * n_neg / draws_neg
            for k in range(n_boxes):
                g = -slope * memberships[k]
                if abs(g) > NEGLIGIBLE:
                    add_gradient(
                        x, lower, upper, k, np.float32(margins[k]), np.float32(g * share / tau), gradient
                    )
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
