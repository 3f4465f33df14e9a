"""Variants: what tells the members of the fuzzy min-max family apart."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.fmm_rules import FOUR_CASES, NINE_CASES, NO_CONTRACTION


@dataclass(frozen=True)
class Variant:
    """One member of the family, as the choices it makes in the loop that all of them share.

    Parameters
    ----------
    average : bool
        Whether membership is the mean over features (Simpson) or the least of them (general FMM).
    total_width : bool
        Whether the widths of a box are bounded in sum or one by one.
    winner_only : bool
        Whether only the box of highest membership may take a row, or the next best after it.
    contraction : int
        Which cases of overlap between classes are contracted; none forbids such overlap instead.
    batch : bool
        Whether all rows start as boxes, which are merged pair by pair, rather than come one by one.
    """

    average: bool
    total_width: bool
    winner_only: bool
    contraction: int
    batch: bool = False


#: Simpson 1992; Mohammed & Lim 2015; Gabrys & Bargiela 2000; Khuat, Chen & Gabrys 2020; Gabrys 2002.
VARIANTS = {
    "simpson": Variant(average=True, total_width=True, winner_only=True, contraction=FOUR_CASES),
    "enhanced": Variant(average=True, total_width=False, winner_only=True, contraction=NINE_CASES),
    "gfmm": Variant(average=False, total_width=False, winner_only=False, contraction=FOUR_CASES),
    "iol": Variant(average=False, total_width=False, winner_only=False, contraction=NO_CONTRACTION),
    "agglomerative": Variant(
        average=False, total_width=False, winner_only=False, contraction=NO_CONTRACTION, batch=True
    ),
}
