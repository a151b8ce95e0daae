"""Figures from results: each takes and returns matplotlib Axes, and never shows."""

from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["influence"]

# Okabe & Ito's colours: told apart with any colour vision, in print and on a projector.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


def influence(result: Any, *, n_named: int = 5, names: Any = None, ax: Any = None) -> Any:
    """Leverage against leave-one-out error of every sample, the largest errors named.

    Parameters
    ----------
    result : PCAInfluence
        From `subspaces.diagnostics.pca_influence`.
    n_named : int, default 5
        How many samples, largest leave-one-out error first, get their name written.
    names : sequence of str, optional
        Names of the samples; by default their row numbers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes() if ax is None else ax
    named = np.argsort(-result.loo_error, kind="stable")[:n_named]
    ax.scatter(result.leverage, result.loo_error, s=12, color="0.65", linewidths=0)
    ax.scatter(result.leverage[named], result.loo_error[named], s=26, color=COLOURS[4])
    for i in named:
        ax.annotate(
            str(i if names is None else names[i]),
            (result.leverage[i], result.loo_error[i]),
            textcoords="offset points",
            xytext=(6, -3),
            fontsize=8,
        )
    ax.set_xlabel("leverage (share of the axes)")
    ax.set_ylabel("squared leave-one-out error")
    ax.margins(x=0.12, y=0.12)
    return ax


def new_axes(**options: Any) -> Any:
    """One Axes on a fresh figure."""
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **options)[1]


def require_matplotlib() -> None:
    """Raise ImportError with the remedy where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise ImportError("plots need matplotlib: pip install 'subspaces[plots]'")
