"""The numbers of the paper, stored once."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=1)
def published() -> dict[str, Any]:
    """Give the published numbers.

    ``table1`` ticks by approach, ``table2`` shapes by data set, ``figure1`` the two boxes in scaled units,
    ``figure3`` F1 and seconds by data set and method, ``boxes`` the same of Figure 4 by number of boxes.
    """
    read: dict[str, Any] = json.loads(files(__package__).joinpath("published.json").read_text("utf-8"))
    return read
