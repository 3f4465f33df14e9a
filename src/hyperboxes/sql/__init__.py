"""SQL: boxes as expressions and queries that give the answer of ``predict`` on every row."""

from __future__ import annotations

from .databases import column_types
from .query import to_sql
from .verify import Verification, verify

__all__ = ["Verification", "column_types", "to_sql", "verify"]
