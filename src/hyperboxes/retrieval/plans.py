"""Plans: how a database would answer a query, and whether an index serves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .sources import Source


@dataclass(frozen=True)
class Plan:
    """How the database goes about a search.

    ``served`` says whether every box is served by an index, or by zone maps that rule out most row groups;
    ``steps`` names how the rows of each box are found; ``text`` is what the database says itself;
    ``row_groups`` is how many of them DuckDB read, and of how many.
    """

    served: bool
    steps: tuple[str, ...]
    text: str
    row_groups: tuple[int, int] | None = None

    def __str__(self) -> str:
        said = "Yes: an index serves every box." if self.served else "No: the table is read from end to end."
        if self.row_groups is not None:
            said = "Yes: most row groups are passed over." if self.served else "No: most row groups are read."
        return "\n".join([said, *(f"  {step}" for step in self.steps)])


def explain(source: Source, query: str) -> Plan:
    """Ask the database how it would run a query. DuckDB runs it, to count the row groups it reads."""
    return {"postgres": _postgres, "sqlite": _sqlite, "duckdb": _duckdb}[source.dialect.name](source, query)


def _postgres(source: Source, query: str) -> Plan:
    text = "\n".join(row[0] for row in source.rows(f"EXPLAIN {query}"))
    found = source.rows(f"EXPLAIN (FORMAT JSON) {query}")[0][0]
    tree = found if isinstance(found, list) else json.loads(found)
    scans = [node for node in _nodes(tree[0]["Plan"]) if node["Node Type"].endswith("Scan")]
    scans = [node for node in scans if node["Node Type"] not in ("Bitmap Index Scan", "Subquery Scan")]
    steps = [_postgres_step(node) for node in scans]
    served = all(node["Node Type"] != "Seq Scan" for node in scans)
    return Plan(served, tuple(steps), text)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _postgres_step(node: dict[str, Any]) -> str:
    names = [inner["Index Name"] for inner in _nodes(node) if "Index Name" in inner]
    return f"{node['Node Type']} using {', '.join(names)}" if names else str(node["Node Type"])


def _sqlite(source: Source, query: str) -> Plan:
    lines = [str(row[3]) for row in source.rows(f"EXPLAIN QUERY PLAN {query}")]
    # A table has the name of an alias only in queries of the caller's own.
    table = source.parts[-1] if source.parts else ""
    steps = [line for line in lines if line.startswith((f"SCAN {table}", f"SEARCH {table}"))]
    served = all(line.startswith("SEARCH") for line in steps)
    return Plan(served, tuple(steps), "\n".join(lines))


def _duckdb(source: Source, query: str) -> Plan:
    found = source.rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}")
    tree = json.loads(found[0][1])
    scans = [node for node in _operators(tree) if "SCAN" in str(node.get("type", ""))]
    groups = [(node.get("row_groups_scanned"), node.get("total_row_groups_to_scan")) for node in scans]
    known = [(int(done), int(all_)) for done, all_ in groups if done is not None and all_]
    steps = [f"{done} of {all_} row groups" for done, all_ in known]
    served = bool(known) and len(known) == len(scans) and all(2 * done <= all_ for done, all_ in known)
    if not steps:
        return Plan(False, ("a scan; this version of DuckDB does not count row groups",), found[0][1])
    read, present = (sum(counts) for counts in zip(*known, strict=True))
    return Plan(served, tuple(steps), found[0][1], (read, present))


def _operators(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for key in ("operator", "children"):
            for child in tree.get(key) or ():
                yield from _operators(child)
