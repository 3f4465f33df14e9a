"""The soft decision: a trained network that answers instead of its boxes, as in the paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..nn.problem import LARGEST_Z
from ..scaling import scaled

Floats = NDArray[np.float64]


class SoftNetwork(NamedTuple):
    """A trained layer with the scaling of its input and the classes its outputs stand for."""

    layer: Any
    centre: Floats
    scale: Floats
    described: NDArray[np.int64]

    def probabilities(self, matrix: NDArray[Any], n_classes: int) -> Floats:
        """Give class probabilities; with one described class of two, its output and the rest's."""
        Z = np.clip(scaled(matrix.astype(np.float64), self.centre, self.scale), -LARGEST_Z, LARGEST_Z)
        scores = import_network().soft_scores(self.layer, np.nan_to_num(Z, nan=0.0).astype(np.float32))
        proba = np.zeros((len(scores), n_classes))
        proba[:, self.described] = scores
        if len(self.described) == 1 and n_classes == 2:
            proba[:, 1 - self.described[0]] = 1 - scores[:, 0]
        total = proba.sum(axis=1, keepdims=True)
        return np.divide(proba, total, out=np.full_like(proba, 1 / n_classes), where=total > 0)


def import_network() -> Any:
    """Import the torch side, or say what to install."""
    try:
        from ..nn import network
    except ImportError as error:
        raise ImportError(
            "this needs torch: install it with  pip install 'hyperboxes[nn]', "
            "or use the default recipe, which does not"
        ) from error
    return network
