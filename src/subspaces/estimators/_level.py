"""Subspaces through the origin where the samples lie far from it: the mean level is an axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array
from subspaces.runtime.warning import warn
from subspaces.subspace import Subspace

# The share of the sum of squares that the mean of all samples may hold before subspaces through the
# origin are doubted. Where they are right it was .79 at most (moving points, faces, digits,
# objects); of logarithms of expression .89 and more, of simulated unions moved off the origin .85.
MOSTLY_MEAN = 0.85
# The share of the energy along an axis that the members' mean holds, from which on the axis is
# called their level.
MOSTLY_LEVEL = 0.85
# The share of the sum of squares from which on constant columns are told: less moves no cluster.
TELLING = 0.05
# Names that a warning lists before it says "...".
SHOWN = 5


def warn_of_far_mean(mean: Array, mean_square: float) -> None:
    """Warn where the mean (p,) of all samples holds nearly all of their mean squared length."""
    with np.errstate(all="ignore"):
        share = float(mean @ mean / mean_square)
    if share >= MOSTLY_MEAN:
        warn(
            f"the mean of all samples holds {_percent(share)} of the sum of squares, so that an "
            "axis of each subspace through the origin is spent on it. Use affine=True, or centred "
            "variables"
        )


def _percent(share: float) -> str:
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def warn_of_constant_columns(X: Array, names: NDArray[Any] | None) -> None:
    """Warn of columns of X (n, p) that are constant, not 0 and not small; names (p,), or None."""
    constant = np.flatnonzero((X[0] == X).all(axis=0) & (X[0] != 0))
    if not 0 < len(constant) < X.shape[1]:
        return
    with np.errstate(all="ignore"):
        share = len(X) * float(np.sum(X[0, constant] ** 2)) / float(np.einsum("ij,ij->", X, X))
    if not share >= TELLING:
        return
    shown = constant[:SHOWN].tolist()
    listed = [f"column {j}" if names is None else repr(str(names[j])) for j in shown]
    listed += ["..."] * (len(constant) > SHOWN)
    are, it = ("is", "it") if len(constant) == 1 else ("are", "them")
    warn(
        f"{', '.join(listed)} {are} constant and not 0, which moves all samples off the origin, "
        f"and subspaces pass through it. Use affine=True, or leave {it} out"
    )


def clusters_of_levels(subspaces: Sequence[Subspace], means: Array, sizes: Array) -> list[int]:
    """Return the clusters whose first axis is mostly the mean of its members, from the origin.

    means (K, p) and sizes (K,): of the clusters. None where subspaces have centres of their own.
    """
    found = []
    for k, subspace in enumerate(subspaces):
        if not subspace.basis.shape[1] or np.any(subspace.centre):
            continue
        along = float(subspace.basis[:, 0] @ means[k])
        if sizes[k] * along**2 >= MOSTLY_LEVEL * subspace.spectrum[0]:
            found.append(k)
    return found
