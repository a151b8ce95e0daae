"""What is doubtful about a fit, told in warnings: the level of the data, and odd clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Codes
from subspaces.core.criteria import attraction
from subspaces.messages import Advice, DataWarning, NotConvergedWarning, use
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
# The attraction below which the influence of a member grows as it fits better (docs/repulsion.md).
REPULSIVE = 4.0


def warn_of_level(X: Array, names: NDArray[Any] | None) -> None:
    """Warn where subspaces through the origin fit X (n, p) badly, by its mean or its columns.

    names (p,): of the variables, or None.
    """
    warn_of_far_mean(X.mean(axis=0), float(np.einsum("ij,ij->", X, X)) / len(X))
    warn_of_constant_columns(X, names)


def warn_of_far_mean(mean: Array, mean_square: float) -> None:
    """Warn where the mean (p,) of all samples holds nearly all of their mean squared length."""
    with np.errstate(all="ignore"):
        share = float(mean @ mean / mean_square)
    if share >= MOSTLY_MEAN:
        warn(
            DataWarning(
                "far_mean",
                "The samples lie far from the origin: their mean holds {share:%} of the sum of "
                "squares, and each subspace spends an axis on it.",
                use("affine", True),
                Advice("centre the variables", command=""),
                share=share,
            )
        )


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


def warn_of_repulsion(
    criterion: str,
    subspaces: Sequence[Subspace],
    energies: Sequence[float] | Array | None,
    sizes: Array,
) -> None:
    """Warn of a cluster in which the influence, if it is the criterion, repels samples that fit.

    energies (K,): sums of the members' squared residuals; sizes (K,): numbers of members.
    """
    if energies is None or criterion not in ("influence", "union_influence"):
        return
    spectra = [subspace.spectrum for subspace in subspaces]
    pulls = list(map(attraction, sizes, spectra, energies))
    if min(pulls) < REPULSIVE:
        k = int(np.argmin(pulls))
        warn(
            f"cluster {k} has {sizes[k]:.0f} samples, and its weakest axis holds so little "
            f"beside what lies off its axes ({pulls[k]:.1f} times the mean squared residual, "
            "below 4) that the influence repels samples that fit. Use "
            "criterion='loo_projection', fewer components or fewer clusters",
        )


def warn_of_infinite_objective() -> None:
    """Warn that no finite number says how well the clusters fit."""
    warn(
        "the objective is infinite: some sample is alone along an axis of its cluster. Use fewer "
        "clusters or dimensions",
        ConvergenceWarning,
    )


def warn_of_single_samples(
    labels: Codes, sizes: Array, names: NDArray[Any] | None, instead: str
) -> bool:
    """Warn of clusters with one sample each, and return whether there are any.

    sizes (K,): of the clusters; names (n,): of the samples, None for none; instead: a criterion
    that makes no such clusters.
    """
    single = np.flatnonzero(sizes == 1).tolist()
    if not single:
        return False
    rows = [int(np.argmax(labels == k)) for k in single[:SHOWN]]
    listed = [f"row {i}" if names is None else str(names[i]) for i in rows]
    listed += ["..."] * (len(single) > SHOWN)
    hold = (
        f"cluster {single[0]} holds"
        if len(single) == 1
        else f"clusters {', '.join(map(str, single))} hold"
    )
    warn(
        f"{hold} one sample{' each' if len(single) > 1 else ''} ({', '.join(listed)}), which "
        f"sets it apart and tells nothing of a group. Leave it out, or use fewer clusters, "
        f"or criterion={instead!r}, which cuts no sample off"
    )
    return True


def warn_of_an_early_end(reason: str, max_iter: int, n_clusters: int) -> None:
    """Warn of iterations that ended at ``max_iter``, or with a cluster that cannot be kept."""
    if reason == "max_iter":
        warn(
            NotConvergedWarning(
                "max_iter",
                "Labels still changed after <max_iter={max_iter}> iterations.",
                Advice("use a larger <max_iter>", "max_iter", command="use another <random_state>"),
                max_iter=max_iter,
            )
        )
    if reason == "infeasible":
        warn(
            NotConvergedWarning(
                "infeasible",
                "One of <n_clusters={n_clusters}> clusters kept losing its samples.",
                Advice("use fewer clusters", "n_clusters"),
                Advice("use a smaller <n_components>", "n_components"),
                n_clusters=n_clusters,
            )
        )
