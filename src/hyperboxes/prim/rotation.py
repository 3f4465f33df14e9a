"""PCA-PRIM: features rotated within groups, so that boxes may lie askew in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..scaling import standardise
from ..tables import Table, read_table, to_matrix
from .data import read_target, read_weight

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rotation:
    """A table's features turned within groups: standardised, then along their principal axes.

    Parameters
    ----------
    table : Table
        Names and categories of the columns; its rows do not matter.
    groups : tuple of tuple of str
        Features that are turned together; the others stay as they are.
    centre, scale : ndarray of shape (n_features,)
        What is subtracted from turned features, and what they are divided by.
    axes : tuple of ndarray
        For each group, its axes as columns, the widest first.
    """

    table: Table
    groups: tuple[tuple[str, ...], ...]
    centre: Floats
    scale: Floats
    axes: tuple[Floats, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the turned table's columns: the features that stay, then each group's axes."""
        turned = {name for group in self.groups for name in group}
        stay = [name for name in self.table.feature_names if name not in turned]
        return (
            *stay,
            *(f"axis {k + 1} of {', '.join(group)}" for group in self.groups for k in range(len(group))),
        )

    def transform(self, X: ArrayLike) -> Table:
        """Turn the rows of a table; a row with a missing value in a group has none on its axes."""
        names = self.table.feature_names
        matrix = np.asarray(to_matrix(X, names, self.table.categories), dtype=np.float64)
        return self._turn(matrix)

    def _turn(self, matrix: Floats) -> Table:
        names = self.table.feature_names
        turned = {name for group in self.groups for name in group}
        parts = [matrix[:, [j for j, name in enumerate(names) if name not in turned]]]
        for group, axes in zip(self.groups, self.axes, strict=True):
            columns = [names.index(name) for name in group]
            parts.append((matrix[:, columns] - self.centre[columns]) / self.scale[columns] @ axes)
        return Table(np.hstack(parts), self.feature_names, self.table.categories, self.table.ordered)

    def formula(self, name: str) -> str:
        """Write an axis as a sum over the features of the table, up to a constant."""
        for group, axes in zip(self.groups, self.axes, strict=True):
            for k in range(len(group)):
                if name == f"axis {k + 1} of {', '.join(group)}":
                    scale = self.scale[[self.table.feature_names.index(one) for one in group]]
                    return " ".join(
                        f"{weight:+.4g} * {one}"
                        for weight, one in zip(axes[:, k] / scale, group, strict=True)
                    )
        raise ValueError(f"no axis {name!r}; the turned columns are {list(self.feature_names)}")


def fit_rotation(
    X: ArrayLike | Table,
    y: ArrayLike,
    groups: Sequence[Sequence[str | int]] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Rotation:
    """Find the principal axes of the rows of interest within groups of features (Dalal et al. 2013).

    Axes are those of the correlation among rows with a high target: of the class, or above the mean.
    Look for boxes with ``fit_prim(rotation.transform(X), y)``.

    Parameters
    ----------
    X, y, sample_weight
        As in ``fit_prim``.
    groups : sequence of sequences of names or positions, optional
        Features to turn together; by default all numeric ones.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperboxes.prim import fit_prim, fit_rotation
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.abs(X[:, 0] - X[:, 1]) < 0.2
    >>> rotation = fit_rotation(X, y)
    >>> fit = fit_prim(rotation.transform(X), y)
    >>> [condition.name for condition in fit.boxes.conditions(0)]
    ['axis 2 of x0, x1']
    """
    table = X if isinstance(X, Table) else read_table(X)
    target = read_target(y, len(table.matrix))
    weight = read_weight(sample_weight, len(table.matrix))
    named = _named_groups(table, groups)
    high = target > np.average(target, weights=weight)
    if not (weight[high] > 0).any():
        raise ValueError("y has one value only: no rows stand out whose axes could be found")
    centre, scale = standardise(table.matrix, weight)
    axes = []
    for group in named:
        columns = [table.feature_names.index(name) for name in group]
        Z = (table.matrix[high][:, columns] - centre[columns]) / scale[columns]
        mass = weight[high] * ~np.isnan(Z).any(axis=1)
        Z = np.nan_to_num(Z)
        deviation = Z - mass @ Z / max(mass.sum(), 1e-300)
        _, vectors = np.linalg.eigh((deviation * mass[:, None]).T @ deviation)
        vectors = vectors[:, ::-1]  # widest first
        # An axis has no direction of its own: its largest part points up.
        largest = np.abs(vectors).argmax(axis=0)
        axes.append(vectors * np.sign(vectors[largest, np.arange(len(columns))]))
    return Rotation(table._replace(matrix=table.matrix[:0]), named, centre, scale, tuple(axes))


def _named_groups(table: Table, groups: Sequence[Sequence[Any]] | None) -> tuple[tuple[str, ...], ...]:
    names = table.feature_names
    numeric = [name for name in names if name not in table.categories]
    if groups is None:
        return (tuple(numeric),)
    found = []
    for group in groups:
        members = []
        for item in group:
            name = names[item] if isinstance(item, int | np.integer) and 0 <= item < len(names) else item
            if name not in numeric:
                raise ValueError(f"groups name {item!r}; the numeric features are {numeric}")
            members.append(name)
        found.append(tuple(members))
    flat = [name for group in found for name in group]
    twice = sorted({name for name in flat if flat.count(name) > 1})
    if twice:
        raise ValueError(f"groups name {twice} more than once: each feature turns in one group")
    return tuple(found)
