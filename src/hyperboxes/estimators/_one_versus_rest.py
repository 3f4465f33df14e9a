"""OneVersusRest: which classes get boxes, and what rows in no box get."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..boxes import Boxes
from ..crisp import Limits
from ..scaling import power_of_two_scale
from ..tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class OneVersusRest:
    """For classifiers with the parameters ``positive_label`` and ``uncovered``."""

    classes_: NDArray[Any]
    positive_label: Any
    uncovered: Any

    def _plain_labels(self) -> NDArray[Any]:
        """Class labels as Boxes takes them."""
        return np.array(self.classes_.tolist())

    def _narrow_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        """With a positive label among more than two, merge the other classes."""
        if self.positive_label is None:
            return labels
        found = np.unique(labels)
        if self.positive_label not in found.tolist():
            raise ValueError(
                f"positive_label {self.positive_label!r} is not among the classes {found.tolist()}"
            )
        if len(found) <= 2:
            return labels
        if labels.dtype.kind != "U":
            raise ValueError(
                f"y has {len(found)} classes; to describe one against the rest, "
                f"pass y == {self.positive_label!r}"
            )
        return np.where(labels == self.positive_label, self.positive_label, f"not {self.positive_label}")

    def _described(self) -> list[int]:
        """Classes that get boxes: one of two, unless rows in no box need every class described."""
        if len(self.classes_) > 2 or self.uncovered in ("nearest", "reject"):
            return list(range(len(self.classes_)))
        return [self._positive()]

    def _positive(self) -> int:
        """Give the class that is positive where there are two."""
        if self.positive_label is not None:
            return int(np.flatnonzero(self.classes_ == self.positive_label)[0])
        return len(self.classes_) - 1

    @abstractmethod
    def _limits(self, table: Table, *, against: bool) -> Limits:
        """Read what boxes of the positive class may ask, or those ``against`` it."""

    def _limits_by_class(self, table: Table) -> dict[int, Limits]:
        """Read what boxes of each class may ask."""
        positive = self._positive()
        return {
            target: self._limits(table, against=target != positive) for target in range(len(self.classes_))
        }

    def _with_uncovered(self, boxes: Boxes, table: Table, classes: Ints, weight: Floats) -> Boxes:
        """Set what rows in no box get."""
        labels = self._plain_labels()
        rule = self.uncovered
        if rule == "auto":
            rule = "nearest" if len(self.classes_) > 2 else "default"
        if rule == "reject":
            return replace(boxes, default=None, uncovered="default", scale=None)
        outside = boxes.apply(table.matrix) < 0
        shares = np.bincount(
            classes,
            weights=weight * (outside if (weight * outside).sum() > 0 else 1.0),
            minlength=len(labels),
        )
        described = (
            np.isin(labels, boxes.labels) if boxes.n_boxes else np.isin(range(len(labels)), self._described())
        )
        if len(labels) == 2 and described.sum() == 1 and (boxes.n_boxes or shares[~described].any()):
            shares[described] = -1.0  # the boxes already say all there is to say about this class
        default = labels[int(shares.argmax())].item()
        if rule == "nearest" and boxes.n_boxes:
            return replace(
                boxes, default=default, uncovered="nearest", scale=power_of_two_scale(table, weight)
            )
        return replace(boxes, default=default, uncovered="default", scale=None)
