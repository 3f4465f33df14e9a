"""Which rows lie in which boxes: the loops behind ``contains``, ``apply`` and ``predict``.

Rows are taken in blocks. The features that any box restricts are copied from a block into a small
feature-major buffer, and each condition is one vectorised comparison over the buffer's row. The
answers are looked up while their rows are still in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

from ._compile import BARE, bare_inner, kernel
from ._helper import wait_for
from ._threads import n_threads, run

if TYPE_CHECKING:
    from ..boxes import Boxes

#: Rows of a block: the buffer of fifty features stays inside the first-level cache.
BLOCK_ROWS = 128
#: Cells between the buffer's rows: at a power of two they would all fall into the same few cache sets.
PADDING = 16
#: Rows that the processor is told to fetch ahead, and the bytes it fetches at a time.
ROWS_AHEAD, LINE_BYTES = 16, 64
NO_LINES = np.empty(0, np.int64)
#: Conditions tested between two looks at whether any row of the block is left.
CONDITIONS_PER_LOOK = 8
#: Rows times conditions below which threads cost more than they save.
SERIAL_WORK = 200_000
#: Rows of a task for a thread: small enough to share the work evenly, large enough to be worth it.
TASK_ROWS = 1 << 16
#: Bytes converted at a time where the table is not float32 or float64.
CONVERTED_BYTES = 4 << 20


class Conditions(NamedTuple):
    """Restricted features only, box after box: conditions ``start[k]:start[k + 1]`` belong to box k.

    ``slot`` is a position in ``used``, the features that any box restricts. A categorical condition
    has ``table >= 0``: where its ``n_categories`` flags begin in ``flags``. Before them stand two
    more: for unknown categories, and whether the last category is that of missing values.
    """

    used: NDArray[np.int64]
    start: NDArray[np.int64]
    slot: NDArray[np.int64]
    lower: NDArray[np.floating[Any]]
    upper: NDArray[np.floating[Any]]
    table: NDArray[np.int64]
    n_categories: NDArray[np.int64]
    flags: NDArray[np.uint8]
    inverse_scale: NDArray[np.float64]

    def for_float32(self) -> Conditions:
        """Move each bound inwards to the next float32, which no float32 cell can tell from the original."""
        with np.errstate(all="ignore"):
            lower, upper = self.lower.astype(np.float32), self.upper.astype(np.float32)
            lower = np.where(lower < self.lower, np.nextafter(lower, np.float32(np.inf)), lower)
            upper = np.where(upper > self.upper, np.nextafter(upper, np.float32(-np.inf)), upper)
        return self._replace(lower=lower, upper=upper)


def compile_conditions(boxes: Boxes) -> dict[str, Conditions]:
    """Lay out what the boxes ask as flat arrays, for each type of cell the loops take."""
    box, feature = np.nonzero(boxes.restricted)
    start = np.zeros(boxes.n_boxes + 1, np.int64)
    np.cumsum(boxes.restricted.sum(axis=1), out=start[1:])
    used, slot = np.unique(feature, return_inverse=True)
    table = np.full(len(box), -1, np.int64)
    size = np.zeros(len(box), np.int64)
    flags: list[NDArray[np.bool_]] = [np.zeros(1, bool)]
    length = 1
    for name, allowed in boxes.allowed.items():
        named = boxes.categories[name][-1] is None
        for index in np.flatnonzero(feature == boxes.feature_names.index(name)):
            own = allowed[box[index]]
            table[index], size[index] = length + 2, len(own)
            flags += [np.array([boxes.admits_unknown[name][box[index]], named]), own]
            length += 2 + len(own)
    inverse = np.ones(len(used)) if boxes.scale is None else 1 / boxes.scale[used]
    exact = Conditions(
        used.astype(np.int64), start, slot.astype(np.int64), boxes.lower[box, feature],
        boxes.upper[box, feature], table, size, np.concatenate(flags).astype(np.uint8), inverse,
    )  # fmt: skip
    return {"float64": exact, "float32": exact.for_float32()}


@intrinsic
def _prefetch(typing_context, address):  # type: ignore[no-untyped-def]
    """Ask the processor to fetch an address that will be read soon; harmless past the end of a table."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        # A read (0), to be kept in all caches (3), of data (1).
        how = [ir.Constant(number, value) for value in (0, 3, 1)]
        builder.call(call, [builder.inttoptr(arguments[0], pointer), *how])
        return context.get_dummy_value()

    return numba.types.void(numba.types.intp), generate


def _lines(X: NDArray[Any], used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give byte offsets within a row that reach, one by one, the cache lines of the used features.

    None where a table is too short for fetching ahead.
    """
    if len(X) <= ROWS_AHEAD:
        return NO_LINES
    lines: list[int] = []
    for offset in (used * X.strides[1]).tolist():
        if not lines or abs(offset - lines[-1]) >= LINE_BYTES:
            lines.append(offset)
    return np.array(lines, dtype=np.int64)


@bare_inner
def _fill(X, begin, used, lines, buffer):  # type: ignore[no-untyped-def]
    """Copy a block's used features into the feature-major buffer; return its number of rows."""
    rows = min(BLOCK_ROWS, len(X) - begin)
    if abs(X.strides[0]) < abs(X.strides[1]):
        for u in range(len(used)):
            for r in range(rows):
                buffer[u, r] = X[begin + r, used[u]]
        return rows
    ahead = X.ctypes.data + (begin + ROWS_AHEAD) * X.strides[0]
    for r in range(rows):
        for line in lines:
            _prefetch(ahead + line)  # type: ignore[call-arg]
        ahead += X.strides[0]
        for u in range(len(used)):
            buffer[u, r] = X[begin + r, used[u]]
    return rows


@bare_inner
def _is_admitted(value, table, n_categories, flags):  # type: ignore[no-untyped-def]
    """Look a position up in a set of categories; one between two categories is unknown."""
    if value != value:
        return np.uint8(0)
    if not 0 <= value < n_categories:
        return flags[table - 2]
    position = np.int64(value)
    return flags[table + position] if position == value else flags[table - 2]


@bare_inner
def _test_box(buffer, first, last, slot, lower, upper, table, n_categories, flags, mask):  # type: ignore[no-untyped-def]
    """Clear the mask where a row of the block violates one of the conditions first:last.

    A missing value compares false with everything; bounds that are NaN themselves hold it, and nothing else.
    One that is known as a category has its position.
    """
    for begin in range(first, last, CONDITIONS_PER_LOOK):
        end = min(begin + CONDITIONS_PER_LOOK, last)
        for c in range(begin, end):
            x = buffer[slot[c]]
            if table[c] < 0:
                low, high = lower[c], upper[c]
                if low != low:
                    for r in range(BLOCK_ROWS):
                        mask[r] &= np.uint8(x[r] != x[r])
                    continue
                for r in range(BLOCK_ROWS):
                    mask[r] &= np.uint8(low <= x[r]) & np.uint8(x[r] <= high)
            else:
                for r in range(BLOCK_ROWS):
                    mask[r] &= _is_admitted(x[r], table[c], n_categories[c], flags)
        if end < last:
            left = 0
            for r in range(BLOCK_ROWS):
                left += mask[r]
            if left == 0:
                return


@bare_inner
def _first_in_block(buffer, start, slot, lower, upper, table, n_categories, flags, mask, todo, first):  # type: ignore[no-untyped-def]
    """Find the first box that contains each row of the block, -1 where there is none."""
    todo[:] = 1
    first[:] = -1
    for k in range(len(start) - 1):
        for r in range(BLOCK_ROWS):  # not mask[:] = todo, whose checks take two seconds to compile
            mask[r] = todo[r]
        _test_box(buffer, start[k], start[k + 1], slot, lower, upper, table, n_categories, flags, mask)
        left = 0
        for r in range(BLOCK_ROWS):
            if mask[r]:
                first[r] = k
            todo[r] &= np.uint8(1) - mask[r]
            left += todo[r]
        if left == 0:
            break


def _contains(  # type: ignore[no-untyped-def]
    X, used, start, slot, lower, upper, table, n_categories, flags, inverse_scale, lines, buffer,
    marks, places, out,
):  # fmt: skip
    """Tell which rows lie in which boxes."""
    mask = marks[0]
    for begin in range(0, len(X), BLOCK_ROWS):
        rows = _fill(X, begin, used, lines, buffer)
        for k in range(len(start) - 1):
            mask[:] = 1
            _test_box(buffer, start[k], start[k + 1], slot, lower, upper, table, n_categories, flags, mask)
            for r in range(rows):
                out[begin + r, k] = mask[r] != 0


@bare_inner
def _nearest_of(buffer, r, start, slot, lower, upper, table, n_categories, flags, inverse_scale):  # type: ignore[no-untyped-def]
    """Find the first box with the smallest largest violation for a row that none contains."""
    best, nearest = np.inf, -1
    for k in range(len(start) - 1):
        worst = 0.0
        for c in range(start[k], start[k + 1]):
            value = np.float64(buffer[slot[c], r])
            if table[c] >= 0:
                if _is_admitted(value, table[c], n_categories[c], flags):
                    continue
                missing = value != value or (flags[table[c] - 1] and value == n_categories[c] - 1)
                violation = np.inf if missing else 1.0
            elif lower[c] != lower[c] and value != value:
                continue
            elif lower[c] != lower[c] or value != value:
                violation = np.inf
            elif value < lower[c]:
                violation = (lower[c] - value) * inverse_scale[slot[c]]
            elif value > upper[c]:
                violation = (value - upper[c]) * inverse_scale[slot[c]]
            else:
                continue
            worst = max(worst, violation)
            if worst >= best:
                break
        if worst < best:
            best, nearest = worst, k
    return nearest


def _decide(  # type: ignore[no-untyped-def]
    X, used, start, slot, lower, upper, table, n_categories, flags, inverse_scale, lines, buffer,
    marks, places, nearest, out,
):  # fmt: skip
    """Take the first box that contains a row, else -1 or, if asked for, the nearest.

    Whether a box contains a row is decided by the comparisons: a tiny violation may round to zero
    once it is divided by a large scale.
    """
    mask, todo, first = marks[0], marks[1], places[0]
    for begin in range(0, len(X), BLOCK_ROWS):
        rows = _fill(X, begin, used, lines, buffer)
        _first_in_block(buffer, start, slot, lower, upper, table, n_categories, flags, mask, todo, first)
        for r in range(rows):
            out[begin + r] = first[r]
            if nearest and first[r] < 0:
                out[begin + r] = _nearest_of(
                    buffer, r, start, slot, lower, upper, table, n_categories, flags, inverse_scale
                )


def _sole_violations(  # type: ignore[no-untyped-def]
    X, used, start, slot, lower, upper, table, n_categories, flags, inverse_scale, lines, buffer,
    marks, places, out,
):  # fmt: skip
    """Give the feature that alone keeps a row out of a box; -1 where none or several do."""
    violated, feature = places[0], places[1]
    for begin in range(0, len(X), BLOCK_ROWS):
        rows = _fill(X, begin, used, lines, buffer)
        for k in range(len(start) - 1):
            violated[:] = 0
            feature[:] = -1
            for c in range(start[k], start[k + 1]):
                x, j = buffer[slot[c]], np.int32(used[slot[c]])
                if table[c] < 0:
                    low, high = lower[c], upper[c]
                    for r in range(BLOCK_ROWS):
                        fails = not (low <= x[r]) & (x[r] <= high) | (low != low) & (x[r] != x[r])
                        violated[r] += np.int32(fails)
                        feature[r] = j if fails else feature[r]
                else:
                    for r in range(BLOCK_ROWS):
                        fails = _is_admitted(x[r], table[c], n_categories[c], flags) == 0
                        violated[r] += np.int32(fails)
                        feature[r] = j if fails else feature[r]
            for r in range(rows):
                out[begin + r, k] = feature[r] if violated[r] == 1 else -1


@cache
def _compiled(
    loop: Callable[..., None], cells: str, layout: Literal["A", "C"], bounds: str
) -> Callable[..., None]:
    """Compile a loop for one type of cell; layout "C" is a row-major table, "A" any other.

    Left to itself, numba would compile once more for column-major and for read-only tables. What a loop
    needs room for is made by Python: arrays made in a kernel take long to compile.
    """
    types = numba.types
    table = types.Array(getattr(types, cells), 2, layout, readonly=True)
    bound, whole = getattr(types, bounds)[::1], types.int64[::1]
    conditions = (whole, whole, whole, bound, bound, whole, whole, types.uint8[::1], types.float64[::1])
    outs = {
        _contains: (types.boolean[:, ::1],),
        _decide: (types.boolean, whole),
        _sole_violations: (types.int32[:, ::1],),
    }
    room = (whole, getattr(types, cells)[:, ::1], types.uint8[:, ::1], types.int32[:, ::1])
    wait_for(loop.__name__)
    compiled: Callable[..., None] = kernel(loop, types.void(table, *conditions, *room, *outs[loop]), BARE)
    return compiled


def _over_rows(
    loop: Callable[..., None],
    X: NDArray[Any],
    conditions: Conditions,
    out: NDArray[Any],
    answers: NDArray[Any] | None = None,
    options: tuple[bool, ...] = (),
) -> None:
    """Run a loop over the rows, in threads if that pays, converting odd types block by block.

    With ``answers``, each row gets its box's entry there; -1 finds the last. ``options`` go to the loop.
    """
    native = X.dtype in (np.float64, np.float32) and X.flags.aligned
    cells = X.dtype.name if native else "float64"
    layout: Literal["A", "C"] = "C" if X.flags.c_contiguous else "A"
    kernel = _compiled(loop, cells, layout, conditions.lower.dtype.name)

    def part(rows: slice) -> None:
        block = X[rows] if native else X[rows].astype(np.float64)
        lines = _lines(block, conditions.used)
        buffer = np.zeros((len(conditions.used), BLOCK_ROWS + PADDING), block.dtype)
        room = lines, buffer, np.empty((2, BLOCK_ROWS), np.uint8), np.empty((2, BLOCK_ROWS), np.int32)
        if answers is None:
            kernel(block, *conditions, *room, *options, out[rows])
        else:
            box = np.empty(len(block), np.int64)
            kernel(block, *conditions, *room, *options, box)
            # Wrapping finds -1, and unlike checking it writes into out without a copy between.
            answers.take(box, axis=0, out=out[rows], mode="wrap")

    if native and len(X) * (len(conditions.slot) + 1) <= SERIAL_WORK:
        part(slice(0, len(X)))
        return
    step = max(1, CONVERTED_BYTES // (8 * max(1, X.shape[1])))
    if native:
        step = min(TASK_ROWS, -(-len(X) // n_threads()))
    run(part, [slice(begin, begin + step) for begin in range(0, len(X), step)])


def _for_cells(X: NDArray[Any], compiled: dict[str, Conditions]) -> Conditions:
    return compiled["float32" if X.dtype == np.float32 and X.flags.aligned else "float64"]


def contains(X: NDArray[Any], compiled: dict[str, Conditions]) -> NDArray[np.bool_]:
    """Tell which rows lie in which boxes."""
    conditions = _for_cells(X, compiled)
    out = np.empty((len(X), len(conditions.start) - 1), np.bool_)
    _over_rows(_contains, X, conditions, out)
    return out


def first_box(X: NDArray[Any], compiled: dict[str, Conditions]) -> NDArray[np.int64]:
    """Give the first box that contains each row, -1 where there is none."""
    out = np.empty(len(X), np.int64)
    _over_rows(_decide, X, _for_cells(X, compiled), out, options=(False,))
    return out


def nearest_box(X: NDArray[Any], compiled: dict[str, Conditions]) -> NDArray[np.int64]:
    """Give the box with the smallest largest violation, -1 where a missing value forbids all.

    Distances are taken from the float64 bounds whatever the cells are: they are part of the model.
    """
    out = np.empty(len(X), np.int64)
    _over_rows(_decide, X, compiled["float64"], out, options=(True,))
    return out


def answer(
    X: NDArray[Any], compiled: dict[str, Conditions], answers: NDArray[Any], nearest: bool
) -> NDArray[Any]:
    """Give each row the entry of ``answers`` for the box that decides it, the last where none does."""
    out = np.empty((len(X), *answers.shape[1:]), answers.dtype)
    conditions = compiled["float64"] if nearest else _for_cells(X, compiled)
    _over_rows(_decide, X, conditions, out, answers, options=(nearest,))
    return out


def sole_violations(X: NDArray[Any], compiled: dict[str, Conditions]) -> NDArray[np.int32]:
    """Give, for each row and box, the feature that alone keeps the row out; -1 where none or several do."""
    conditions = _for_cells(X, compiled)
    out = np.empty((len(X), len(conditions.start) - 1), np.int32)
    _over_rows(_sole_violations, X, conditions, out)
    return out


def weight_kept_out(
    X: NDArray[np.float64],
    compiled: dict[str, Conditions],
    foreign: NDArray[np.bool_],
    classes: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum, by feature, the weight of the rows that it alone keeps out of boxes foreign to their class.

    ``foreign`` tells for each class (row) and box (column) whether the box is of another class.
    """

    def of_block(rows: slice) -> NDArray[np.float64]:
        sole = sole_violations(X[rows], compiled)
        counted = np.where(foreign[classes[rows]], weight[rows, None], 0.0)
        sums = np.bincount(sole.ravel() + 1, counted.ravel(), X.shape[1] + 1)
        return np.asarray(sums[1:], dtype=np.float64)

    step = max(1, SERIAL_WORK // (len(compiled["float64"].slot) + 1))
    parts = run(of_block, [slice(begin, begin + step) for begin in range(0, len(X), step)])
    return np.sum(parts, axis=0) if parts else np.zeros(X.shape[1])
