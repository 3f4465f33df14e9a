"""Settings: how boxes are peeled, chosen, pasted and kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

Objective = Literal["original", "lenient1", "lenient2", "f1", "wracc", "lift"]
Criterion = Literal["f1", "wracc", "mean", "peak", "last"]
Validation = Literal["cv", "training"]


@dataclass(frozen=True)
class Settings:
    """How PRIM looks for boxes.

    Parameters
    ----------
    objective : {"lenient2", "lenient1", "original", "f1", "wracc", "lift"}
        Which peel comes next: the one that leaves the highest mean (``"original"``, Friedman & Fisher;
        ``"lift"``, the mean in units of the overall one, chooses the same), that raises the mean most for
        each row removed (``"lenient1"``), whose rows have the lowest mean (``"lenient2"``), or that leaves
        the box of the highest F1 or weighted relative accuracy.
    criterion : {"f1", "wracc", "mean", "peak", "last"}
        Which point of a trajectory becomes the box: the one where the F1 of all boxes so far is highest,
        or their weighted relative accuracy, or the mean; or where the mean first stops rising, as in
        published packages; or the last. With ``"f1"`` and ``"wracc"``, restrictions that do not pay
        are dropped.
    validation : {"cv", "training"}
        Whether points are judged on rows left out of peeling, by cross-validation, or on all rows.
    n_folds : int
        Folds of the cross-validation. Large tables use fewer of them: their rows left out are many anyway.
    peel_fraction, paste_fraction : float
        Share of a box's rows that a peel removes, at least, and that a paste adds; 0 pastes nothing.
    min_support : float, optional
        Fewest rows in a box, by weight; below 1, as a share of all rows. By default ten rows, or a third of
        the positives if there are fewer than thirty of them.
    max_features : int, optional
        Most features that a box restricts.
    threshold : float, optional
        Least mean of a box to be kept.
    keep_all : bool
        Whether boxes are sought until rows run out, however low their mean.
    condition_price : float
        What a condition must earn, in rows put right.
    """

    objective: Objective = "lenient2"
    criterion: Criterion = "f1"
    validation: Validation = "cv"
    n_folds: int = 5
    peel_fraction: float = 0.05
    paste_fraction: float = 0.05
    min_support: float | None = None
    max_features: int | None = None
    threshold: float | None = None
    keep_all: bool = False
    condition_price: float = 0.7

    def __post_init__(self) -> None:
        for name, kind in (("objective", Objective), ("criterion", Criterion), ("validation", Validation)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} must be one of {list(get_args(kind))}, got {getattr(self, name)!r}")
        for name, least, most in (("peel_fraction", 0.0, 1.0), ("paste_fraction", -1.0, 1.0)):
            share = getattr(self, name)
            if not _is_number(share) or not least < share < most or share < 0:
                raise ValueError(f"{name} must be a share of the rows of a box, below 1, got {share!r}")
        if self.min_support is not None and not (_is_number(self.min_support) and self.min_support > 0):
            raise ValueError(f"min_support must be a positive count or share, got {self.min_support!r}")
        for name, least in (("n_folds", 2), ("max_features", 1)):
            number = getattr(self, name)
            if number is not None and not (isinstance(number, int) and number >= least):
                raise ValueError(f"{name} must be a whole number from {least} on, got {number!r}")
        if not (_is_number(self.condition_price) and self.condition_price >= 0):
            raise ValueError(f"condition_price must not be negative, got {self.condition_price!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def default_settings(binary: bool) -> Settings:
    """Give the settings for a class as target, or for a number, which has no F1."""
    return Settings(criterion="f1" if binary else "wracc")


#: The set-up of the published comparison: the defaults of the package it used, in which every box counts
#: as positive and none may hold less than 5 % of all rows.
PAPER = Settings(
    objective="lenient1", criterion="peak", validation="training", paste_fraction=0.05, min_support=0.05,
    keep_all=True, condition_price=0.0,
)  # fmt: skip
