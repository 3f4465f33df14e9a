"""Whether the boxes of a class learn from teachers: where these are asked, and whether they are believed.

What they teach, and how, is in ``answers``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..crisp import f1_of
from .problem import ClassProblem
from .ways import ONE_FOLD_ROWS, Verdict, lead

Bools = NDArray[np.bool_]
#: Rows of the smaller class for each box below which teachers are asked of larger tables too: from more rows
#: boxes learn as much without. From fewer than one box needs, teachers learn less than boxes do.
ROWS_PER_BOX = 40
#: Rows of the smaller class below which teachers are believed unless they are behind by a standard error: so
#: few rows left out prove little, and boxes fit them too closely.
FEW_JUDGES = 30


class Advice(NamedTuple):
    """What teachers say of the rows left out, and by how much that is better than what boxes say.

    ``error`` is the standard error of ``gain``; ``few`` says that too few rows of a class can tell.
    """

    said: Bools
    gain: float
    error: float
    few: bool

    @property
    def believed(self) -> bool:
        """Whether boxes shall learn from it."""
        return self.gain > (-self.error if self.few else 0.0)


def asks_teachers(view: ClassProblem, max_boxes: int) -> bool:
    """Tell whether boxes may have more to learn than rows can teach: of a small table, or many of few rows.

    None are asked where no copies are blurred either: so many rows leave little open.
    """
    if view.problem.blur[1] == 0:
        return False
    smaller = _smaller_class(view)
    return len(view.positive) < ONE_FOLD_ROWS or ROWS_PER_BOX <= smaller < ROWS_PER_BOX * max_boxes


def teachers_advice(view: ClassProblem, max_boxes: int, verdict: Verdict) -> Advice | None:
    """Ask teachers about the rows left out; None where none are asked, or no rows could be left out."""
    if verdict.answers is None or not asks_teachers(view, max_boxes):
        return None
    rows = view.sharp().task.part(verdict.seen)
    # F1 gains by a row that is more likely positive than half of F1: the same sum as in `lead`.
    said = np.asarray(view.answers.of_rows[verdict.seen] > f1_of(rows, verdict.answers) / 2)
    return Advice(said, *lead(rows, said, verdict.answers), few=_smaller_class(view) < FEW_JUDGES)


def _smaller_class(view: ClassProblem) -> int:
    """Count the rows of the class or of the others, whichever are fewer."""
    n_positive = int(view.positive.sum())
    return min(n_positive, len(view.positive) - n_positive)
