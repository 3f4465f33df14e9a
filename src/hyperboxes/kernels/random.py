"""A small random generator for kernels: explicit state, no global one, the same numbers everywhere."""

from __future__ import annotations

import numpy as np

from ._compile import bare_inner


@bare_inner
def mix(x):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finaliser of splitmix64, Steele et al. 2014)."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@bare_inner
def draw(state, n):  # type: ignore[no-untyped-def]
    """Advance ``state`` (one uint64 in an array) and give an integer below n."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mix(state[0]) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@bare_inner
def draw_float(state):  # type: ignore[no-untyped-def]
    """Advance ``state`` and give a float64 in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return (mix(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
