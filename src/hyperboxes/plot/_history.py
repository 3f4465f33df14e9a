"""The course of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import COLOURS, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class HistoryDisplay:
    """The course of training: one small panel for each recorded figure.

    Parameters
    ----------
    history : mapping of str to array-like
        Figures by name, such as ``"loss"``, ``"f1"`` and ``"temperature"``, one value for each step;
        ``"step"``, if there, numbers the steps.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
    figure_ : matplotlib Figure
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(self, history: Mapping[str, ArrayLike]) -> None:
        self.history = history

    @classmethod
    def from_history(cls, history: Mapping[str, ArrayLike]) -> HistoryDisplay:
        """Plot a training history."""
        return cls(history).plot()

    @classmethod
    def from_estimator(cls, estimator: Any) -> HistoryDisplay:
        """Plot the training history of a fitted estimator."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "history_")
        return cls.from_history(estimator.history_)

    def plot(self) -> HistoryDisplay:
        """Draw, and return self."""
        from matplotlib.ticker import LogLocator

        columns = {name: np.asarray(values) for name, values in self.history.items()}
        steps = columns.pop("step", None)
        curves = {
            name: values
            for name, values in columns.items()
            if values.ndim == 1 and values.dtype.kind in "biuf"
        }
        if not curves:
            raise ValueError(f"the history holds no curve: {list(self.history)}")
        self.figure_ = new_figure(6.0, 0.6 + 1.5 * len(curves))
        panels = self.figure_.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
        self.axes_ = list(panels)
        for panel, (name, values), colour in zip(panels, curves.items(), COLOURS * len(curves), strict=False):
            x = steps if steps is not None and len(steps) == len(values) else np.arange(len(values))
            panel.plot(x, values, color=colour, linewidth=1.6)
            panel.set_ylabel({"f1": "F1"}.get(name, name.replace("_", " ")))
            if "temperature" in name and (values > 0).all():
                panel.set_yscale("log")
                panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
                panel.yaxis.set_major_formatter("{x:g}")
                panel.yaxis.set_minor_formatter("{x:g}")
            plain(panel)
        self.axes_[-1].set_xlabel("step")
        return self
