"""Search by classification in a database: boxes are range queries, which an index serves."""

from __future__ import annotations

from .advice import Advice
from .indexes import Index
from .plans import Plan
from .session import Hits, Search, search

__all__ = ["Advice", "Hits", "Index", "Plan", "Search", "search"]
