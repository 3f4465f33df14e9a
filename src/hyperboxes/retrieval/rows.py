"""Rows that a search learns from: the marked ones, and a sample of all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables import Table
from .sources import NUMERIC_SORTS, Source

Floats = NDArray[np.float64]
#: Most rows that a predicate may mark; more are thinned out.
MOST_MARKED = 20_000
#: Below this share of numbers in use, keys are listed rather than guessed.
LEAST_DENSE = 0.01


@dataclass(frozen=True)
class Sample:
    """Rows of a source as learners take them: ``table.matrix`` has one row for each of ``keys``."""

    keys: tuple[Any, ...]
    table: Table

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, places: NDArray[np.bool_]) -> Sample:
        """Give some of the rows, by a mask."""
        keys = tuple(key for key, yes in zip(self.keys, places.tolist(), strict=True) if yes)
        return Sample(keys, self.table._replace(matrix=self.table.matrix[places]))


def find_features(source: Source, asked: Sequence[str] | None) -> tuple[str, ...]:
    """Name the columns that boxes may restrict: those asked for, or all numbers except the key."""
    if asked is None:
        found = [
            name for name in source.types if source.sort_of(name) in NUMERIC_SORTS and name != source.key
        ]
        if not found:
            raise ValueError(
                f"{source.title} has no numeric column to search by; it has {list(source.types)[:20]}"
            )
        return tuple(found)
    if isinstance(asked, str):
        raise ValueError(f"features is the text {asked!r}; give a list of column names")
    for name in asked:
        if name not in source.types:
            raise ValueError(f"{source.title} has no column {name!r}; it has {list(source.types)[:20]}")
        if source.sort_of(name) not in NUMERIC_SORTS | {"text", "enum"}:
            raise ValueError(
                f"column {name!r} of {source.title} is {source.types[name]}; "
                "boxes restrict numbers, booleans and text"
            )
    if not asked:
        raise ValueError("features is empty; leave it out to search by all numeric columns")
    return tuple(dict.fromkeys(asked))


def marked_keys(source: Source, marked: str | Iterable[Any] | None, what: str, seed: int) -> tuple[Any, ...]:
    """Give the keys of marked rows, which are named by their keys or by a condition in SQL."""
    if marked is None:
        return ()
    if isinstance(marked, str):
        found = [
            row[0] for row in source.rows(f"SELECT {source.key_sql} FROM {source.text} WHERE ({marked}\n)")
        ]
        if not found:
            raise ValueError(f"no row of {source.title} fulfils the {what} {marked!r}")
        found = _in_order(found)
        if len(found) > MOST_MARKED:
            chosen = np.random.default_rng(seed).choice(len(found), MOST_MARKED, replace=False)
            found = [found[place] for place in np.sort(chosen)]
        return tuple(found)
    if not isinstance(marked, Iterable):
        raise ValueError(f"{what} must be keys of rows or a condition in SQL, got {marked!r}")
    keys = tuple(dict.fromkeys(key.item() if isinstance(key, np.generic) else key for key in marked))
    present = set(_found_keys(source, keys))
    absent = [key for key in keys if key not in present]
    if absent:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        raise ValueError(
            f"{what} names rows that {source.title} does not have: "
            f"{source.key} = {', '.join(map(repr, absent[:3]))}{more}"
        )
    return keys


def _found_keys(source: Source, keys: Sequence[Any]) -> list[Any]:
    if not keys:
        return []
    query = f"SELECT {source.key_sql} FROM {source.text} WHERE {source.has_key()}"
    try:
        return [row[0] for row in source.rows(query, source.key_list(keys))]
    except Exception as error:  # each driver has its own error for a value of another type
        raise ValueError(
            f"cannot compare {keys[0]!r} with the key {source.key!r} of {source.title}, "
            f"which is {source.types[source.key] or 'of any type'}: {error}"
        ) from error


def drawn_keys(source: Source, n: int, seed: int) -> tuple[Any, ...]:
    """Draw rows, each with the same chance; the same seed draws the same rows."""
    rng = np.random.default_rng(seed)
    key = source.key_sql
    if source.sort_of(source.key) in ("integer", "unknown"):
        low, high = source.rows(f"SELECT min({key}), max({key}) FROM {source.text}")[0]
        whole = isinstance(low, int) and isinstance(high, int)
        if whole and source.n_rows >= LEAST_DENSE * (high - low + 1):
            return _guessed(source, n, low, high, rng)
    listed = _in_order([row[0] for row in source.rows(f"SELECT {key} FROM {source.text}")])
    return tuple(listed[place] for place in rng.permutation(len(listed))[:n].tolist())


def _guessed(source: Source, n: int, low: int, high: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw numbers between the ends until enough of them are keys; no scan of the table is needed."""
    span = high - low + 1
    if span <= 4 * n:
        order = [low + step for step in rng.permutation(span).tolist()]
        present = set(_found_keys(source, order))
        return tuple(key for key in order if key in present)[:n]
    found: list[int] = []
    tried: set[int] = set()
    while len(found) < min(n, source.n_rows) and len(tried) < span:
        wanted = int(1.1 * (n - len(found)) * span / source.n_rows) + 16
        fresh = dict.fromkeys(low + step for step in rng.integers(0, span, wanted).tolist())
        draw = [key for key in fresh if key not in tried]
        tried.update(draw)
        present = set(_found_keys(source, draw))
        found += [key for key in draw if key in present]
    return tuple(found[:n])


def _in_order(keys: list[Any]) -> list[Any]:
    """Sort keys, so that a draw does not depend on how a database happens to list them."""
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=repr)


def read_sample(source: Source, features: Sequence[str], keys: Sequence[Any]) -> Sample:
    """Read rows by their keys, in that order; numbers as the doubles that predicates compare."""
    columns = source.columns
    keys = tuple(keys)
    is_text = {name: source.sort_of(name) in ("text", "enum") for name in features}
    cells = [_text_cell(source, name) if is_text[name] else columns.as_double(name) for name in features]
    listed = (
        []
        if not keys
        else source.rows(
            f"SELECT {', '.join([source.key_sql, *cells])} FROM {source.text} WHERE {source.has_key()}",
            source.key_list(keys),
        )
    )
    rows = {row[0]: row[1:] for row in listed}
    ordered = [rows[key] for key in keys]
    matrix = np.full((len(keys), len(features)), np.nan)
    categories: dict[str, tuple[Any, ...]] = {}
    for place, name in enumerate(features):
        values = [row[place] for row in ordered]
        if is_text[name]:
            categories[name] = tuple(sorted({value for value in values if value is not None}))
            at = {value: position for position, value in enumerate(categories[name])}
            matrix[:, place] = [np.nan if value is None else at[value] for value in values]
        else:
            matrix[:, place] = [np.nan if value is None else value for value in values]
    return Sample(tuple(keys), Table(matrix, tuple(features), categories, frozenset()))


def aligned(samples: Sequence[Sample]) -> list[Sample]:
    """Give samples the same known categories: those of any of them."""
    tables = [sample.table for sample in samples]
    known = {
        name: tuple(sorted({str(value) for table in tables for value in table.categories[name]}))
        for name in tables[0].categories
    }
    return [Sample(sample.keys, _recoded(sample.table, known)) for sample in samples]


def _recoded(table: Table, known: dict[str, tuple[Any, ...]]) -> Table:
    matrix = table.matrix.copy()
    for name, values in known.items():
        place = table.feature_names.index(name)
        codes = np.array([values.index(value) for value in table.categories[name]] + [np.nan])
        old = matrix[:, place]
        matrix[:, place] = codes[np.where(np.isnan(old), len(codes) - 1, old).astype(np.int64)]
    return table._replace(matrix=matrix, categories=known)


def _text_cell(source: Source, name: str) -> str:
    return f"CAST({source.dialect.identifier(name)} AS {source.dialect.text_type})"
