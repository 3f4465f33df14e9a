"""The paper's objective and its gradient in one pass over the rows.

For box k with gaps a = min_j(x_j − lower_j) and b = min_j(upper_j − x_j): membership h = σ(a/τ) σ(b/τ), union
p = Σ h exp(h/φ) / Σ exp(h/φ) over the boxes of a class, and the sum over rows and classes of
α log p + β log(1 − p). Cross entropy is α = −y and β = y − 1 times weights; since α and β do not depend on
p, a row's gradient is known as soon as its memberships are, and nothing per row and box is kept.

Rows are taken in tiles whose work stays in the cache. Gaps and the faces that attain them are found in
float32, as the data; all that follows is float64, where it costs little and exp(h/φ) needs it: at φ = 0.01 a
rounding error of h in float32 is an error of 1e-5 in its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

from ._compile import kernel
from ._threads import run

#: Rows of a vector; LLVM splits it where the processor's are shorter.
LANES = 16
#: Rows of a strip: two vectors, so that the additions of one fill the waiting times of the other.
STRIP_ROWS = 2 * LANES
#: Rows of a tile, whole strips.
TILE_ROWS = 128
#: Least rows of a task for a thread, and most tasks. Sums are made task by task: neither follows the threads.
TASK_ROWS, MOST_TASKS = 4096, 64
#: Rows times boxes times features below which threads cost more than they save.
SERIAL_WORK = 500_000
#: The terms of a tile's gradient are left out where their sum is below this share of its weights.
NEGLIGIBLE = 1e-12
#: Gaps in temperatures up to which a product of two exponentials is a normal float64.
LINEAR = 300.0
#: Gaps in temperatures beyond which a float64 holds no difference; keeps infinite gaps out of differences.
FARTHEST = 1e30
#: Sums of the same gradient that are kept side by side.
COPIES = 4
#: Strips that the processor is told to fetch ahead, evenly over the work on one: fetched at once they would
#: have to wait for each other.
AHEAD = 4
#: Contraction fuses products and sums. Reassociation would undo the rounding in `_exp`.
STRAIGHT = {"contract", "nsz"}

Floats = NDArray[np.float32]


class Strips(NamedTuple):
    """A table laid out for the pass: cells[i, j, r] is feature j of row i · STRIP_ROWS + r, then zeros.

    Each strip is read from beginning to end once per box, and stays in the first-level cache between boxes.
    """

    cells: Floats
    n_rows: int
    finite: bool


class Union(NamedTuple):
    """What a pass gives.

    ``log_p`` and ``log_not_p`` = log(1 − p) have shape (n_rows, n_classes), and ``losses``, the sum of
    α log p + β log(1 − p) over classes, shape (n_rows,); ``lower`` and ``upper`` are the gradient of their
    sum, of the shape of the bounds. Without α and β these three are zero. If ``finite`` is False, a cell or a
    bound is not, and the rest means nothing.
    """

    log_p: Floats
    log_not_p: Floats
    losses: Floats
    lower: Floats
    upper: Floats
    finite: bool


@intrinsic
def _nearest_faces(typing_context, strip, begin, lower, upper, box, ahead, step, gaps, faces):  # type: ignore[no-untyped-def]
    """Find a box's gaps, min_j(x_j − lower_j) and min_j(upper_j − x_j), and their faces for a strip.

    ``gaps`` and ``faces`` hold a tile, first the lower side of all its rows, then the upper; the strip's rows
    go from ``begin``. The first face counts among equal ones. Written in vectors because the compiler makes
    none here by itself: the running minimum and its place would go through memory at every feature.
    Meanwhile it fetches what lies at the address ``ahead``, ``step`` bytes further with every feature.
    """
    number, word = ir.IntType(64), ir.IntType(32)
    cells, places = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(word, LANES)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        strip, lower, upper, gaps, faces = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
            if isinstance(kind, numba.types.Array)
        )
        _, begin, _, _, box, ahead, step, _, _ = arguments
        n_features = builder.extract_value(lower.shape, 1)

        def constant(value: int) -> Any:
            return ir.Constant(number, value)

        def splat(value: Any, kind: Any) -> Any:
            empty = ir.Constant(kind, ir.Undefined)
            first = builder.insert_element(empty, value, ir.Constant(word, 0))
            return builder.shuffle_vector(first, empty, ir.Constant(places, [0] * LANES))

        before, loop, after = builder.block, *map(builder.append_basic_block, ("features", "found"))
        offset = builder.mul(box, n_features)
        builder.branch(loop)
        builder.position_at_end(loop)
        feature = builder.phi(number)
        feature.add_incoming(constant(0), before)
        state = [(builder.phi(cells), builder.phi(places)) for _ in range(4)]
        for least, place in state:
            least.add_incoming(ir.Constant(cells, [float("inf")] * LANES), before)
            place.add_incoming(ir.Constant(places, [0] * LANES), before)
        low, high = (
            splat(builder.load(builder.gep(side.data, [builder.add(offset, feature)])), cells)
            for side in (lower, upper)
        )
        here = splat(builder.trunc(feature, word), places)
        cell = builder.mul(feature, constant(STRIP_ROWS))
        found = []
        for half in range(2):
            pointer = builder.gep(strip.data, [builder.add(cell, constant(half * LANES))])
            x = builder.load(builder.bitcast(pointer, cells.as_pointer()), align=4)
            for side, gap in enumerate((builder.fsub(x, low), builder.fsub(high, x))):
                least, place = state[2 * half + side]
                nearer = builder.fcmp_ordered("<", gap, least)
                found.append((builder.select(nearer, gap, least), builder.select(nearer, here, place)))
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.inttoptr(builder.add(ahead, builder.mul(feature, step)), byte)
        # A read (0), to be kept in all caches (3), of data (1).
        builder.call(prefetch, [address, *(ir.Constant(word, value) for value in (0, 3, 1))])
        following = builder.add(feature, constant(1))
        feature.add_incoming(following, loop)
        for olds, news in zip(state, found, strict=True):
            for old, new in zip(olds, news, strict=True):
                old.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, n_features), loop, after)
        builder.position_at_end(after)
        for half in range(2):
            for side in range(2):
                place = builder.add(begin, constant(side * TILE_ROWS + half * LANES))
                for array, value in zip((gaps, faces), found[2 * half + side], strict=True):
                    pointer = builder.bitcast(builder.gep(array.data, [place]), value.type.as_pointer())
                    builder.store(value, pointer, align=4)
        return context.get_dummy_value()

    return numba.types.void(strip, begin, lower, upper, box, ahead, step, gaps, faces), generate


@numba.njit(nogil=True, inline="always", error_model="numpy")
def _exp(x):  # type: ignore[no-untyped-def]
    """Return exp(x) for x ≤ 0 to 6e-11; below −700, exp(−700).

    Straight-line code that vectorises, which a call of the C library does not.
    """
    x = max(x, -700.0)
    # Adding 1.5 · 2^52 rounds to a whole number n, and leaves it in the last bits.
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    r = x - (shifted - 6755399441055744.0) * 0.6931471805599453
    # Interpolates exp at the Chebyshev nodes of |r| ≤ log(2) / 2.
    p = 0.00019907579913310515
    p = p * r + 0.0013948590223997939
    p = p * r + 0.008333283524270554
    p = p * r + 0.041666218140889215
    p = p * r + 0.16666666786348716
    p = p * r + 0.5000000107793307
    p = p * r + 0.99999999999551
    p = p * r + 0.9999999999595297
    # p · 2^n: n is added to the exponent.
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << np.int64(52))
    return np.int64(bits).view(np.float64)


@numba.njit(nogil=True, inline="always", error_model="numpy")
def _log(x):  # type: ignore[no-untyped-def]
    """Return log(x) for positive normal x to 2e-11, in code that vectorises."""
    bits = np.float64(x).view(np.int64)
    # x = 2^n · m with m between √½ and √2.
    n = (bits - np.int64(0x3FE6A09E667F3BCD)) >> np.int64(52)
    m = np.int64(bits - (n << np.int64(52))).view(np.float64)
    s = (m - 1) / (m + 1)
    z = s * s
    # log m = 2 artanh s; |s| ≤ 0.172, whose 13th power over 13 is 1e-11.
    p = 1 / 11.0
    p = p * z + 1 / 9.0
    p = p * z + 1 / 7.0
    p = p * z + 1 / 5.0
    p = p * z + 1 / 3.0
    return n * 0.6931471805599453 + 2 * (s + s * z * p)


@numba.njit(nogil=True, fastmath={"reassoc"})
def _fill(X, begin, end, strips):  # type: ignore[no-untyped-def]
    """Turn rows begin:end into strips; tell whether all their cells are finite."""
    strange = np.float32(0)
    for s in range(-(-(end - begin) // STRIP_ROWS)):
        first = begin + s * STRIP_ROWS
        for r in range(min(STRIP_ROWS, end - first)):
            for j in range(X.shape[1]):
                x = X[first + r, j]
                strange += x - x
                strips[s, j, r] = x
    return strange == 0


# Fields of a tile's work, for each box and for the rows, as offsets into one array: at constant distances the
# compiler knows that they do not overlap, and vectorises the loops. `_size` takes two at a time.
N_BOX_FIELDS, N_ROW_FIELDS = 8, 8
MEMBER, ODDS, ABOVE, BELOW, DEPTH, MISS, NEAR, DEEP = (i * TILE_ROWS for i in range(N_BOX_FIELDS))
LEAST, TOP, MOST, TOTAL, HIT, MISSED, POSITIVE, NEGATIVE = (i * TILE_ROWS for i in range(N_ROW_FIELDS))


@numba.njit(nogil=True)
def _farthest(gaps):  # type: ignore[no-untyped-def]
    """Give the largest gap without its sign."""
    # Positive floats are ordered as their bits are, and the maximum of integers vectorises.
    largest = np.int32(0)
    for r in range(2 * TILE_ROWS):
        largest = max(largest, np.float32(abs(gaps[r])).view(np.int32))
    return np.int32(largest).view(np.float32)


@numba.njit(nogil=True, fastmath={"reassoc"})
def _size(values):  # type: ignore[no-untyped-def]
    """Add up a field and the next without their signs."""
    total = 0.0
    for r in range(2 * TILE_ROWS):
        total += abs(values[r])
    return total


@numba.njit(nogil=True, fastmath=STRAIGHT, error_model="numpy")
def _memberships(gaps, inverse_tau, box, row):  # type: ignore[no-untyped-def]
    """Turn a box's gaps u and v, in temperatures, into h, 1 − h, 1 − σ(u) and 1 − σ(v)."""
    for r in range(TILE_ROWS):
        u, v = gaps[r] * inverse_tau, gaps[TILE_ROWS + r] * inverse_tau
        exp_u, exp_v = _exp(-abs(u)), _exp(-abs(v))
        inverse = 1 / ((1 + exp_u) * (1 + exp_v))
        large_u, large_v = inverse * (1 + exp_v), inverse * (1 + exp_u)
        above = large_u if u < 0 else large_u * exp_u
        below = large_v if v < 0 else large_v * exp_v
        inside = large_u * exp_u if u < 0 else large_u
        h = inside * (large_v * exp_v if v < 0 else large_v)
        box[MEMBER + r] = h
        box[ABOVE + r] = above
        box[BELOW + r] = below
        box[MISS + r] = above + inside * below
        row[MOST + r] = max(row[MOST + r], h)


@numba.njit(nogil=True, fastmath=STRAIGHT, error_model="numpy")
def _weigh(inverse_phi, box, row):  # type: ignore[no-untyped-def]
    """Add a box's weight w = exp(h/φ), w h and w (1 − h) to the row's sums, the largest power taken out."""
    for r in range(TILE_ROWS):
        h = box[MEMBER + r]
        w = _exp((h - row[MOST + r]) * inverse_phi)
        box[DEEP + r] = w
        row[TOTAL + r] += w
        row[HIT + r] += w * h
        row[MISSED + r] += w * box[MISS + r]


@numba.njit(nogil=True, fastmath=STRAIGHT, error_model="numpy")
def _far_memberships(gaps, inverse_tau, inverse_phi, box, row):  # type: ignore[no-untyped-def]
    """Take powers of e out of what `_memberships` found, so that nothing vanishes far out or deep inside.

    h = exp(−n) odds, where n = max(−u, 0) + max(−v, 0); 1 − h, 1 − σ(u) and 1 − σ(v) lose the factor
    exp(−m), m the smaller of the positive parts of u and v.
    """
    for r in range(TILE_ROWS):
        u = min(max(gaps[r] * inverse_tau, -FARTHEST), FARTHEST)
        v = min(max(gaps[TILE_ROWS + r] * inverse_tau, -FARTHEST), FARTHEST)
        exp_u, exp_v = _exp(-abs(u)), _exp(-abs(v))
        odds = 1 / ((1 + exp_u) * (1 + exp_v))
        large_u, large_v = odds * (1 + exp_v), odds * (1 + exp_u)
        inside_u, inside_v = max(u, 0.0), max(v, 0.0)
        m = min(inside_u, inside_v)
        n = max(-u, 0.0) + max(-v, 0.0)
        smaller = _exp(-abs(inside_u - inside_v))
        above = large_u * smaller if inside_u > inside_v else large_u
        below = large_v * smaller if inside_v > inside_u else large_v
        exponent = box[MEMBER + r] * inverse_phi - m
        box[ABOVE + r] = above
        box[BELOW + r] = below
        box[MISS + r] = above + (large_u * exp_u if u < 0 else large_u) * below
        box[ODDS + r] = odds
        box[DEPTH + r] = _exp(-m)
        box[NEAR + r] = n
        box[DEEP + r] = exponent
        row[LEAST + r] = min(row[LEAST + r], n)
        row[TOP + r] = max(row[TOP + r], exponent)


@numba.njit(nogil=True, fastmath=STRAIGHT, error_model="numpy")
def _far_weigh(inverse_phi, box, row):  # type: ignore[no-untyped-def]
    """Do as `_weigh`, with the largest power taken out of each of the three sums."""
    for r in range(TILE_ROWS):
        w = _exp((box[MEMBER + r] - row[MOST + r]) * inverse_phi)
        near = w * box[ODDS + r] * _exp(row[LEAST + r] - box[NEAR + r])
        deep = _exp(box[DEEP + r] - row[TOP + r])
        box[NEAR + r] = near
        box[DEEP + r] = deep
        row[TOTAL + r] += w
        row[HIT + r] += near
        row[MISSED + r] += deep * box[MISS + r]


@numba.njit(nogil=True, fastmath=STRAIGHT, error_model="numpy")
def _unite(inverse_phi, far, row):  # type: ignore[no-untyped-def]
    """Turn the row's sums into log p (LEAST), log(1 − p) (TOP), p (MOST), α/Σ w h and −β/Σ w (1 − h)."""
    for r in range(TILE_ROWS):
        inverse = 1 / row[TOTAL + r]
        hit, missed = row[HIT + r], row[MISSED + r]
        p = _exp(-row[LEAST + r]) * hit * inverse
        row[LEAST + r] = _log(hit * inverse) - row[LEAST + r]
        row[TOP + r] = _log(missed * inverse) + (row[TOP + r] - row[MOST + r] * inverse_phi if far else 0.0)
        row[MOST + r] = p
        row[HIT + r] = row[POSITIVE + r] / hit
        row[MISSED + r] = -row[NEGATIVE + r] / missed


@numba.njit(nogil=True, fastmath=STRAIGHT, error_model="numpy")
def _slopes(inverse_tau, inverse_phi, far, box, row):  # type: ignore[no-untyped-def]
    """Put the derivatives by both gaps into ABOVE and BELOW.

    With w normalised: ∂log p/∂u = w (1 + (h − p)/φ) h (1 − σ(u)) / p; for log(1 − p) it is minus that,
    over 1 − p instead of p.
    """
    for r in range(TILE_ROWS):
        h = box[MEMBER + r]
        deep = box[DEEP + r]
        near = box[NEAR + r] * box[DEPTH + r] if far else deep * h
        common = (
            (1 + (h - row[MOST + r]) * inverse_phi)
            * (row[HIT + r] * near + row[MISSED + r] * h * deep)
            * inverse_tau
        )
        box[ABOVE + r] *= common
        box[BELOW + r] *= common


@numba.njit(nogil=True, fastmath=STRAIGHT)
def _add_losses(row, losses):  # type: ignore[no-untyped-def]
    """Add α log p + β log(1 − p) of one class."""
    for r in range(len(losses)):
        losses[r] += row[POSITIVE + r] * row[LEAST + r] + row[NEGATIVE + r] * row[TOP + r]


@numba.njit(nogil=True)
def _scatter(box, faces, above, below):  # type: ignore[no-untyped-def]
    """Add a tile's derivatives to the faces they belong to.

    Neighbouring rows use different copies of the sums: often their face is the same, and an addition would
    wait for the one before.
    """
    for r in range(0, TILE_ROWS, COPIES):
        for c in range(COPIES):
            above[c, faces[r + c]] += box[ABOVE + r + c]
            below[c, faces[TILE_ROWS + r + c]] += box[BELOW + r + c]


def _pass(  # type: ignore[no-untyped-def]
    X, strips, begin, end, lower, upper, n_boxes, tau, phi, alpha, beta, log_p, log_not_p, losses,
    gradient,
):  # fmt: skip
    """Do rows begin:end; tell whether all cells of X are finite.

    If X is empty the rows are in ``strips``, else a tile of those is used to turn them. The bounds hold the
    boxes of one class after those of another. If α, β and ``gradient`` are empty, so is what depends on them.
    """
    d = lower.shape[1]
    inverse_tau, inverse_phi = 1 / tau, 1 / phi
    step = 4 * STRIP_ROWS // n_boxes
    gaps = np.zeros((n_boxes, 2 * TILE_ROWS), np.float32)
    faces = np.zeros((n_boxes, 2 * TILE_ROWS), np.int32)
    boxes = np.empty((n_boxes, N_BOX_FIELDS * TILE_ROWS))
    row = np.empty(N_ROW_FIELDS * TILE_ROWS)
    sums = np.zeros((len(lower) if len(gradient) else 0, 2, COPIES, d))
    finite = True
    for first in range(begin, end, TILE_ROWS):
        rows = min(TILE_ROWS, end - first)
        strip = first // STRIP_ROWS
        if len(X):
            strip = 0
            finite &= _fill(X, first, first + rows, strips)
        for c in range(len(lower) // n_boxes):
            for r in range(0, rows, STRIP_ROWS):
                x = strips[strip + r // STRIP_ROWS]
                ahead = x.ctypes.data + AHEAD * x.nbytes
                for k in range(n_boxes):
                    _nearest_faces(
                        x,
                        r,
                        lower,
                        upper,
                        c * n_boxes + k,
                        ahead + k * x.nbytes // n_boxes,
                        step,
                        gaps[k],
                        faces[k],
                    )  # type: ignore[call-arg]
            far = False
            for k in range(n_boxes):
                far |= _farthest(gaps[k]) * inverse_tau > LINEAR
            row[LEAST : LEAST + TILE_ROWS] = np.inf if far else 0.0
            row[TOP : TOP + TILE_ROWS] = -np.inf
            row[MOST:] = 0
            if len(alpha):
                row[POSITIVE : POSITIVE + rows] = alpha[c, first : first + rows]
                row[NEGATIVE : NEGATIVE + rows] = beta[c, first : first + rows]
            for k in range(n_boxes):
                _memberships(gaps[k], inverse_tau, boxes[k], row)
                if far:
                    _far_memberships(gaps[k], inverse_tau, inverse_phi, boxes[k], row)
            for k in range(n_boxes):
                if far:
                    _far_weigh(inverse_phi, boxes[k], row)
                else:
                    _weigh(inverse_phi, boxes[k], row)
            _unite(inverse_phi, far, row)
            log_p[c, first : first + rows] = row[LEAST : LEAST + rows]
            log_not_p[c, first : first + rows] = row[TOP : TOP + rows]
            if len(alpha):
                _add_losses(row, losses[first : first + rows])
            if not len(gradient):
                continue
            least = NEGLIGIBLE * _size(row[POSITIVE:])
            for k in range(n_boxes):
                _slopes(inverse_tau, inverse_phi, far, boxes[k], row)
                # Not the same as ">=": infinity and NaN among α and β must reach the gradient.
                if not _size(boxes[k, ABOVE:]) < least:
                    sides = sums[c * n_boxes + k]
                    _scatter(boxes[k], faces[k], sides[0], sides[1])
    for k in range(len(sums)):
        for j in range(d):
            for c in range(COPIES):
                gradient[0, k, j] -= sums[k, 0, c, j]
                gradient[1, k, j] += sums[k, 1, c, j]
    return finite


def _turn(X, strips):  # type: ignore[no-untyped-def]
    return _fill(X, 0, len(X), strips)


@cache
def _compiled(loop: Callable[..., bool]) -> Callable[..., bool]:
    """Compile a loop for the one set of types it is called with, which includes read-only tables."""
    types = numba.types
    table, strips = types.Array(types.float32, 2, "C", readonly=True), types.float32[:, :, ::1]
    out, whole, real = types.float32[:, ::1], types.int64, types.float64
    arguments = {
        _turn: (table, strips),
        _pass: (table, strips, whole, whole, table, table, whole, real, real, table, table, out, out,
                types.float32[::1], real[:, :, ::1]),
    }[loop]  # fmt: skip
    signature = types.boolean(*arguments)
    compiled: Callable[..., bool] = kernel(loop, signature)
    return compiled


def lay_out(X: Floats) -> Strips:
    """Turn a table of shape (n, d) once, for many passes over it."""
    n, d = X.shape
    cells = np.zeros((-(-n // STRIP_ROWS), d, STRIP_ROWS), np.float32)
    kernel = _compiled(_turn)

    def part(begin: int) -> bool:
        first = begin // STRIP_ROWS
        block = np.ascontiguousarray(X[begin : begin + TASK_ROWS])
        return kernel(block, cells[first : first + TASK_ROWS // STRIP_ROWS])

    begins = range(0, n, TASK_ROWS)
    return Strips(cells, n, all(map(part, begins) if n * d <= SERIAL_WORK else run(part, begins)))


def union(
    X: Floats | Strips,
    lower: Floats,
    upper: Floats,
    boundary_temperature: float,
    union_temperature: float,
    alpha: Floats | None = None,
    beta: Floats | None = None,
    *,
    learns: bool = True,
) -> Union:
    """Give log p and log(1 − p) for each row and class and, with α and β, losses and their gradient.

    The same whatever the number of threads. Terms of the gradient are left out where they are too small for
    a float32: in all at most 1e-12 · Σ (|α| + |β|).

    Parameters
    ----------
    X : ndarray of shape (n, d), float32, or Strips
        `lay_out` pays if the same rows are passed more than a few times.
    lower, upper : ndarray of shape (n_classes, n_boxes, d), float32
        The boxes of each class.
    boundary_temperature, union_temperature : float
        τ and φ.
    alpha, beta : ndarray of shape (n, n_classes), float32, optional
        Weights of log p and log(1 − p).
    learns : bool
        Whether the gradient is wanted.
    """
    n_classes, n_boxes, d = lower.shape
    nothing = np.empty((0, 0), np.float32)
    strips = X if isinstance(X, Strips) else None
    table = nothing if isinstance(X, Strips) else np.ascontiguousarray(X)
    n = len(table) if strips is None else strips.n_rows
    bounds = [np.ascontiguousarray(bound).reshape(-1, d) for bound in (lower, upper)]
    weights = [nothing if weight is None else np.ascontiguousarray(weight.T) for weight in (alpha, beta)]
    log_p, log_not_p = np.empty((2, n_classes, n), np.float32)
    losses = np.zeros(n, np.float32)
    learns = learns and alpha is not None
    tiles = -(-n // TILE_ROWS)
    step = TILE_ROWS * max(TASK_ROWS // TILE_ROWS, -(-tiles // MOST_TASKS))
    begins = range(0, n, step)
    gradient = np.zeros((len(begins), 2 if learns else 0, n_classes * n_boxes, d))
    kernel = _compiled(_pass)

    def part(task: int) -> bool:
        begin = begins[task]
        # A strip that is being turned belongs to its task.
        cells = (
            np.zeros((TILE_ROWS // STRIP_ROWS, d, STRIP_ROWS), np.float32) if strips is None else strips.cells
        )
        return kernel(
            table, cells, begin, min(begin + step, n), *bounds, n_boxes, boundary_temperature,
            union_temperature, *weights, log_p, log_not_p, losses, gradient[task],
        )  # fmt: skip

    serial = n * d * n_classes * n_boxes <= SERIAL_WORK
    finite = list(map(part, range(len(begins))) if serial else run(part, range(len(begins))))
    finite += [strips is None or strips.finite, *(bool(np.isfinite(bound).all()) for bound in bounds)]
    sides = np.zeros((2, *lower.shape), np.float32)
    if learns:
        sides[:] = gradient.sum(0).reshape(sides.shape)
    return Union(log_p.T, log_not_p.T, losses, sides[0], sides[1], all(finite))
