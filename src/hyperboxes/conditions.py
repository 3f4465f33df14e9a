"""Condition: what one box asks of one feature, and how people read it."""

from __future__ import annotations

import json
import math
import sys
from typing import Literal, NamedTuple

from .tables import Category

#: What cells of a feature are, as far as its categories tell.
Sort = Literal["number", "text", "boolean"]
#: As a lower bound, it asks only that there is a value.
LEAST_NUMBER = -sys.float_info.max


def format_number(value: float) -> str:
    """Write a bound with the fewest digits that read back as the same float64."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def format_name(name: str) -> str:
    """Write a column name as it is if that is harmless, else quoted and escaped."""
    plain = name.isprintable() and name == name.strip() and not any(sign in name for sign in '"<>={},\\')
    # A column called 3 would read "3 <= 5", one called "a and b" like two conditions.
    plain = plain and not _reads_as_number(name) and _SPOKEN.isdisjoint(name.lower().split())
    return name if plain and name else json.dumps(name)


_SPOKEN = frozenset(("and", "else", "if", "in", "is", "or", "then"))


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Condition(NamedTuple):
    """What one box asks of one feature: an interval, or a set of categories.

    ``categories`` is None for a numeric feature. A set may hold None, which admits a missing value; an empty
    one admits any value that is not missing. Bounds that are NaN admit missing values alone, an open side is
    infinite. ``sort`` tells what cells of the feature are.
    """

    feature: int
    name: str
    lower: float
    upper: float
    categories: tuple[Category | None, ...] | None = None
    sort: Sort = "number"

    @property
    def n_conditions(self) -> int:
        """Count one for each closed side, or one for a set of categories."""
        if self.categories is not None or self.takes_missing:
            return 1
        return int(math.isfinite(self.lower)) + int(math.isfinite(self.upper))

    @property
    def takes_any_value(self) -> bool:
        """Tell whether all that is asked is that there is a value."""
        if self.categories is not None:
            return not self.categories
        return self.lower == LEAST_NUMBER and self.upper == math.inf

    @property
    def takes_missing(self) -> bool:
        """Tell whether a missing value is admitted."""
        return None in self.categories if self.categories is not None else math.isnan(self.lower)

    @property
    def must_miss(self) -> bool:
        """Tell whether a missing value alone is admitted."""
        return self.takes_missing and not self.values

    @property
    def asks_missing(self) -> bool:
        """Tell whether it has to be asked if a value is missing; other conditions just fail then."""
        return self.takes_missing or (self.categories is not None and self.takes_any_value)

    @property
    def values(self) -> tuple[Category, ...]:
        """The categories of a set that are not missing."""
        return tuple(value for value in self.categories or () if value is not None)

    def admits(self, category: Category | None) -> bool:
        """Tell whether a category, None where it is missing, is in the set."""
        return category is not None if self.takes_any_value else category in (self.categories or ())

    def __str__(self) -> str:
        name = format_name(self.name)
        if self.takes_any_value:
            return f"{name} is known"
        if self.must_miss:
            return f"{name} is missing"
        if self.categories is not None:
            shown = [json.dumps(item) if isinstance(item, str) else str(item) for item in self.values]
            shown += ["missing"] * self.takes_missing
            return f"{name} = {shown[0]}" if len(shown) == 1 else f"{name} in {{{', '.join(shown)}}}"
        if self.lower == self.upper:
            return f"{name} = {format_number(self.lower)}"
        if self.lower == -math.inf:
            return f"{name} <= {format_number(self.upper)}"
        if self.upper == math.inf:
            return f"{name} >= {format_number(self.lower)}"
        return f"{format_number(self.lower)} <= {name} <= {format_number(self.upper)}"
