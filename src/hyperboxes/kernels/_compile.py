"""How kernels are compiled: those that Python calls are kept on disk, those they call become part of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

#: For functions that only kernels call. They have no file of their own: numba links what it finds on disk,
#: and two processes that compile for the first time side by side could leave files that do not fit.
inner = numba.njit(nogil=True)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, once for all processes if there is a place to keep it."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder that may be written to
        return numba.njit(nogil=True)(function)
