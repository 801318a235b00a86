"""Figures of a run. Needs the extra ``appropo[plot]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .extras import needed

if TYPE_CHECKING:
    from .result import Result


def course(result: Result) -> Any:
    """Distance and lower bound by rounds or samples, and beside it every measure that is constrained."""
    with needed("plot"):
        import matplotlib.pyplot as plt

    history = result.history
    across, label = (history["samples"], "samples") if history["samples"].any() else (history["round"], "rounds")
    names = [name.removeprefix("mixture/") for name in history if name.startswith("mixture/")]
    figure, axes = plt.subplots(1, 1 + len(names), figsize=(3.4 * (1 + len(names)), 3), layout="constrained")
    axes = np.atleast_1d(axes)
    axes[0].plot(across, history["distance"], label="distance")
    if history["lower_bound"].any():
        axes[0].plot(across, history["lower_bound"], label="lower bound", linestyle="--")
    axes[0].set(xlabel=label, title=result.verdict)
    axes[0].set_yscale("symlog", linthresh=1e-6)
    axes[0].legend(frameon=False)
    for axis, name in zip(axes[1:], names, strict=True):
        axis.plot(across, history[f"answer/{name}"], ".", color="0.7", label="answers")
        axis.plot(across, history[f"mixture/{name}"], label="mixture")
        axis.set(xlabel=label, title=name)
        axis.legend(frameon=False)
    return figure
