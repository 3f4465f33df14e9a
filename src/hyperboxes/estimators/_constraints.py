"""What users forbid or require of boxes, read from estimator parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..crisp import Limits
from ..tables import Table


def read_limits(
    table: Table,
    n_classes: int,
    *,
    forbidden_features: Sequence[str | int],
    required_features: Sequence[str | int],
    monotonic_cst: Mapping[str, int] | Sequence[int] | None,
    max_conditions: int | None,
    against: bool = False,
) -> Limits:
    """Turn parameters into what boxes may ask; contradictions raise.

    ``against`` is for boxes of the other one of two classes: what speaks for the one speaks against it.
    """
    names = table.feature_names
    limits = Limits.none(len(names))
    forbidden = _columns("forbidden_features", forbidden_features, names)
    required = _columns("required_features", required_features, names)
    both = sorted(set(forbidden) & set(required))
    if both:
        raise ValueError(f"feature {names[both[0]]!r} is both forbidden and required")
    for column in required:
        cells = table.matrix[:, column]
        known = cells[~np.isnan(cells)]
        if not len(known) or known.min() == known.max():
            raise ValueError(
                f"required_features names {names[column]!r}, which has fewer than two values: "
                "no box can restrict it"
            )
    limits.may_low[forbidden] = limits.may_high[forbidden] = False
    limits.required[required] = True
    for column, sign in _signs(monotonic_cst, names).items():
        if sign not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of {names[column]!r} must be -1, 0 or 1, got {sign!r}")
        if sign and n_classes > 2:
            raise ValueError("monotonic_cst needs two classes: with more there is no one direction")
        if sign and names[column] in table.categories:
            raise ValueError(f"monotonic_cst names {names[column]!r}, which is categorical")
        if sign:
            closed = limits.may_low if (sign < 0) != against else limits.may_high
            closed[column] = False
    if max_conditions is None:
        return limits
    if (n_required := int(limits.required.sum())) > max_conditions:
        raise ValueError(f"{n_required} required features do not fit in max_conditions={max_conditions}")
    return replace(limits, max_conditions=int(max_conditions))


def is_position(item: Any) -> bool:
    """Tell whether something is a whole number; True and False are no positions, but parts of a mask."""
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def _signs(asked: Mapping[str, int] | Sequence[int] | None, names: tuple[str, ...]) -> dict[int, int]:
    """Read the direction of each feature that has one."""
    if asked is None:
        return {}
    if isinstance(asked, Mapping):
        return dict(zip(_columns("monotonic_cst", asked, names), asked.values(), strict=True))
    signs = np.asarray(asked)
    if signs.shape != (len(names),):
        raise ValueError(
            f"monotonic_cst has shape {signs.shape}; give one of -1, 0, 1 for each of {len(names)} features"
        )
    return dict(enumerate(signs.tolist()))


def _columns(parameter: str, asked: Iterable[Any], names: tuple[str, ...]) -> list[int]:
    """Read names or positions as positions."""
    columns = []
    for item in asked:
        if isinstance(item, str):
            if item not in names:
                raise ValueError(f"{parameter} names {item!r}; the features are {list(names)}")
            columns.append(names.index(item))
        elif is_position(item) and -len(names) <= item < len(names):
            columns.append(int(item) % len(names))
        else:
            raise ValueError(
                f"{parameter} has {item!r}; give names or positions of the {len(names)} features"
            )
    return columns
