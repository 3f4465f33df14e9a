"""Representative rows: for each box, the rows it decides that lie nearest to their common centre."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .boxes import Boxes
from .conditions import Condition
from .measures import Measure, sum_of
from .scaling import standardise
from .sql.dialects import DIALECTS, Dialect
from .sql.predicates import Columns

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Units beyond which a cell is no farther away: one wild value must not decide alone.
FARTHEST = 1024.0


class Representatives(NamedTuple):
    """Rows that stand for boxes, box by box, the most central first.

    ``box`` is the box that decides a row, ``row`` the row's position in the table, ``distance`` how far
    it is from the centre of the rows of its box.
    """

    box: Ints
    row: Ints
    distance: Floats


def representatives(boxes: Boxes, X: ArrayLike, k: int = 3) -> Representatives:
    """Find for each box the rows that stand for those it decides.

    The centre of a box is, feature by feature, the median of the rows it decides (of an even number the
    lower one of the two, so that it is a value of the table), or their most frequent category. The
    distance of a row from it is the sum over the features of the difference in standard deviations of the
    table; another category and a missing value count as one. So neither the unit of a feature nor
    the side on which a box is open matters. Equal distances are settled by the order of the rows.

    Parameters
    ----------
    boxes : Boxes
        The model.
    X : data frame or array
        The rows, as ``boxes.predict`` takes them.
    k : int
        How many rows for each box, or as many as it decides if that is less.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperboxes import Boxes, representatives
    >>> X = load_iris(as_frame=True).data
    >>> boxes = Boxes.from_rules([({"petal length (cm)": (None, 2.5)}, "setosa")],
    ...                          default="other", feature_names=list(X.columns))
    >>> representatives(boxes, X, k=1).row
    array([39])
    """
    return centres(boxes, X).rank(X, k)


@dataclass(frozen=True)
class Centres:
    """The centres of boxes in a table, and what one unit of each feature is there.

    ``centre`` has shape (n_boxes, n_features) and holds positions for categories; NaN where no row of the
    box has a value.
    """

    boxes: Boxes
    centre: Floats
    unit: Floats

    def rank(self, X: ArrayLike, k: int = 3) -> Representatives:
        """Find the ``k`` rows nearest to the centre of the box that decides them."""
        _check_k(k)
        matrix = self.boxes._matrix(X)
        decided = self.boxes.apply(matrix)
        found = []
        for box in range(self.boxes.n_boxes):
            rows = np.flatnonzero(decided == box)
            away = self.distance(box, matrix[rows])
            nearest = np.argsort(away, kind="stable")[:k]
            found.append((np.full(len(nearest), box), rows[nearest], away[nearest]))
        if not found:
            return Representatives(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return Representatives(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def distance(self, box: int, matrix: NDArray[np.floating]) -> Floats:
        """Give how far rows are from the centre of a box, whether it decides them or not."""
        terms = []
        for feature in self._measured(box):
            cells = np.asarray(matrix[:, feature], dtype=np.float64)
            if self._is_category(feature):
                terms.append(np.where(cells == self.centre[box, feature], 0.0, 1.0))
            else:
                terms.append(self._measure(box, feature).of(cells))
        return sum_of(terms, len(matrix))

    def to_sql(
        self,
        table: str | Sequence[str],
        key: str,
        k: int = 3,
        *,
        dialect: str = "duckdb",
        types: dict[str, str] | None = None,
    ) -> str:
        """Write the query that finds the same rows: their key, box and distance, to the last bit.

        Parameters
        ----------
        table : str or sequence of str
            One name, or catalog, schema and table.
        key : str
            A column that tells rows apart; it settles equal distances.
        k : int
            How many rows for each box.
        dialect : {"duckdb", "postgres", "sqlite", "spark"}
            The database.
        types : dict of column name to type, optional
            The types of the columns, as the database spells them.
        """
        _check_k(k)
        syntax = DIALECTS[dialect]
        parts = [table] if isinstance(table, str) else list(table)
        return self.query(".".join(map(syntax.identifier, parts)), key, k, syntax, types)

    def query(
        self, source: str, key: str, k: int, syntax: Dialect, types: dict[str, str] | None = None
    ) -> str:
        """Write the query over a source that is SQL already."""
        columns = Columns.of(syntax, types)
        boxes = [columns.box(self.boxes.conditions(box)) for box in range(self.boxes.n_boxes)]
        whens = "".join(f"\n      WHEN {box} THEN {place}" for place, box in enumerate(boxes))
        aways = "".join(
            f"\n      WHEN {box} THEN {self._distance_sql(place, columns)}" for place, box in enumerate(boxes)
        )
        if not boxes:
            whens = aways = " WHEN 1 = 0 THEN 0"
        return (
            "SELECT key, box, distance\nFROM (\n"
            "  SELECT key, box, distance,"
            " ROW_NUMBER() OVER (PARTITION BY box ORDER BY distance, key) AS place\n  FROM (\n"
            f"    SELECT {syntax.identifier(key)} AS key,\n    CASE{whens} END AS box,\n"
            f"    CASE{aways} END AS distance\n    FROM {source}\n"
            "  ) AS decided\n  WHERE box IS NOT NULL\n"
            f") AS ranked\nWHERE place <= {k}\nORDER BY box, place"
        )

    # -- inside ------------------------------------------------------------------------------------

    def _measured(self, box: int) -> Ints:
        return np.flatnonzero(~np.isnan(self.centre[box]))

    def _is_category(self, feature: int) -> bool:
        return self.boxes.feature_names[feature] in self.boxes.categories

    def _measure(self, box: int, feature: int) -> Measure:
        return Measure.around(float(self.centre[box, feature]), float(self.unit[feature]), FARTHEST)

    def _distance_sql(self, box: int, columns: Columns) -> str:
        number = columns.dialect.number
        terms = [number(0.0)]
        for feature in self._measured(box):
            name = self.boxes.feature_names[feature]
            if self._is_category(feature):
                usual = (self.boxes.categories[name][int(self.centre[box, feature])],)
                sort = self.boxes.sort_of(name)
                same = columns.box([Condition(int(feature), name, -np.inf, np.inf, usual, sort)])
                terms.append(f"CASE WHEN {same} THEN {number(0.0)} ELSE {number(1.0)} END")
            else:
                terms.append(self._measure(box, int(feature)).to_sql(f"({columns.as_double(name)})", number))
        return "\n        + ".join(terms)


def centres(boxes: Boxes, X: ArrayLike) -> Centres:
    """Find the centre of the rows that each box decides, and the unit of each feature in the table."""
    matrix = boxes._matrix(X)
    decided = boxes.apply(matrix)
    cells = np.array(matrix, dtype=np.float64)
    cells[~np.isfinite(cells)] = np.nan
    n_known = np.array([len(boxes.categories.get(name, ())) for name in boxes.feature_names])
    category = n_known > 0
    places = cells[:, category]
    named = (places >= 0) & (places < n_known[category]) & (places == np.floor(places))
    cells[:, category] = np.where(named, places, np.nan)
    unit = standardise(cells, np.ones(len(cells)))[1] if len(cells) else np.ones(boxes.n_features)
    unit[category] = 1.0
    centre = np.full((boxes.n_boxes, boxes.n_features), np.nan)
    for box in range(boxes.n_boxes):
        rows = cells[decided == box]
        for feature in range(boxes.n_features):
            known = rows[~np.isnan(rows[:, feature]), feature]
            if len(known):
                centre[box, feature] = _most_frequent(known) if category[feature] else _lower_median(known)
    return Centres(boxes, centre, unit)


def _lower_median(values: Floats) -> float:
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def _most_frequent(positions: Floats) -> float:
    return float(np.bincount(positions.astype(np.int64)).argmax())


def _check_k(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number of rows, at least 1, got {k!r}")
