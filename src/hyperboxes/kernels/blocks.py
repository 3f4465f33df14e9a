"""A table in blocks of rows: small enough for a cache, alike for every kernel, the same for any threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._threads import run

Result = TypeVar("Result")
#: Bytes of a block.
BLOCK_BYTES = 1 << 20


def row_blocks(X: NDArray[Any]) -> list[slice]:
    """Cut the rows into blocks that depend on the shape of the table alone."""
    step = max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))
    return [slice(begin, min(begin + step, len(X))) for begin in range(0, len(X), step)]


def over_blocks(function: Callable[[NDArray[np.float64], slice], Result], X: NDArray[Any]) -> list[Result]:
    """Apply a function to (cells, rows) of each block, in threads; results in the order of the rows.

    Cells come as row-major float64 that may be written to, copied only where the table is something else, so
    that one compiled form serves every table. Sums made of the blocks' sums are the same at any number of
    threads.
    """
    return run(lambda rows: function(np.require(X[rows], np.float64, ["C", "W"]), rows), row_blocks(X))
