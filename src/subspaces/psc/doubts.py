"""Warnings of what is doubtful about a fit: the level of the data, and odd clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array, Codes, Counts
from subspaces.core.criteria import attraction
from subspaces.messages import (
    FEWER_CLUSTERS,
    MORE_ITERATIONS,
    Advice,
    DataWarning,
    Message,
    NotConvergedWarning,
    TrustWarning,
    simpler,
    use,
)
from subspaces.runtime.warning import doubt
from subspaces.subspace import Subspace

# If the mean of all samples holds more than this share of the sum of squares, subspaces through the
# origin are doubtful. It is at most 0.79 in data for which they are right (moving points, faces,
# digits, objects), at least 0.89 for logarithms of expression, and 0.85 for simulated unions moved
# off the origin.
MOSTLY_MEAN = 0.85
# If the members' mean holds this share of the energy along an axis, the axis is called their level.
MOSTLY_LEVEL = 0.85
# Warn of constant columns from this share of the sum of squares. Smaller shares move no cluster.
TELLING = 0.05
# Names that a warning lists before it says "...".
SHOWN = 5
# The attraction below which the influence of a member grows as it fits better
# (docs/derivations/repulsion.md).
REPULSIVE = 4.0
# Standard deviations that differ by more than this factor are taken for different units, if a
# tenth of the variables at either end is set aside, or by its square if none is.
UNLIKE, ASIDE = 10.0, 0.1
# More variables than this come from one instrument: genes, pixels, wavelengths.
MOST_UNITS = 100
# A table is taken for centred by somebody if no mean is larger than this share of its spread.
CENTRED = 0.2
# From this many variables on, a table may hold the pixels of images. Half of these span at least
# half of the widest range.
FEWEST_PIXELS = 16
UNLIKE_SCALES = Message(
    "unlike_scales",
    "The variables have different units, so those with large values dominate.",
    advice=(Advice("scale them with StandardScaler", "scale", True, command="use <scale=True>"),),
    kind="DataWarning",
)


def differ_in_units(X: Array) -> bool:
    """Whether the variables of X (n, p), NaN for missing cells, have units that differ.

    They do if their standard deviations differ by more than a factor of 10, a tenth of them at
    either end aside, or by more than 100 altogether. They do not if there are more than 100
    variables, if the table is centred, or if the values may be pixels: not negative, and of one
    range.
    """
    if X.shape[1] > MOST_UNITS or not X.size:
        return False
    cells = np.ma.masked_invalid(X)
    with np.errstate(all="ignore"):
        spreads = cells.std(axis=0).filled(0.0)
        means = np.abs(cells.mean(axis=0).filled(0.0))
        ranges = np.ma.ptp(cells, axis=0).filled(0.0)
    vary = spreads > 0.0
    if not vary.any() or np.all(means[vary] <= CENTRED * spreads[vary]):
        return False
    least, low, high, most = np.quantile(spreads[vary], (0.0, ASIDE, 1.0 - ASIDE, 1.0))
    are_unlike = high > UNLIKE * low or most > UNLIKE**2 * least
    are_alike = 2.0 * np.median(ranges[vary]) >= ranges.max()
    are_pixels = np.count_nonzero(vary) >= FEWEST_PIXELS and cells.min() >= 0.0 and are_alike
    return bool(are_unlike and not are_pixels)


def warn_of_units(X: Array) -> None:
    """Warn of variables of X (n, p) whose units differ, since a fit never scales them."""
    if differ_in_units(X):
        doubt(DataWarning, UNLIKE_SCALES.code, UNLIKE_SCALES.fact, *UNLIKE_SCALES.advice)


def warn_of_level(X: Array, names: NDArray[Any] | None) -> None:
    """Warn if subspaces through the origin fit X (n, p) badly, by its mean or its columns.

    names (p,): of the variables, or None.
    """
    warn_of_far_mean(X.mean(axis=0), float(np.einsum("ij,ij->", X, X)) / len(X))
    warn_of_constant_columns(X, names)


def warn_of_far_mean(mean: Array, mean_square: float) -> None:
    """Warn if the mean (p,) of all samples holds nearly all of their mean squared length."""
    with np.errstate(all="ignore"):
        share = float(mean @ mean / mean_square)
    if share >= MOSTLY_MEAN:
        doubt(
            DataWarning,
            "far_mean",
            "The samples are far from the origin, so each subspace uses an axis just for their "
            "mean ({share:%} of the sum of squares).",
            Advice(
                "set <affine='auto'> and <n_components='auto'>",
                "affine",
                "auto",
                command="use <affine=True>",
            ),
            Advice("centre the variables", command=""),
            share=share,
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
    called = [f"column {j}" if names is None else repr(str(names[j])) for j in constant.tolist()]
    doubt(
        DataWarning,
        "constant_variables",
        "{n:#variable is|variables are} constant but not 0, which moves all samples away from the "
        "origin: {variables}.",
        use("affine", True),
        Advice(f"leave {'it' if len(called) == 1 else 'them'} out"),
        n=len(called),
        variables=called,
    )


def clusters_of_levels(subspaces: Sequence[Subspace], means: Array, sizes: Array) -> list[int]:
    """Return the clusters whose first axis is mostly the mean of its members, from the origin.

    means (K, p) and sizes (K,): of the clusters. None if subspaces have centres of their own.
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
        doubt(
            TrustWarning,
            "repulsion",
            "The weakest axis of cluster {cluster} is only {ratio:.1f} times as strong as noise, "
            "so the cluster may lose samples that belong to it.",
            use("criterion", "loo_projection"),
            *simpler(len(sizes), subspaces[k].basis.shape[1], bool(np.any(subspaces[k].centre))),
            cluster=k,
            size=int(sizes[k]),
            ratio=float(pulls[k]),
        )


def warn_of_infinite_objective(subspaces: Sequence[Subspace]) -> None:
    """Warn that no finite number says how well the clusters fit."""
    dimension = max(each.basis.shape[1] for each in subspaces)
    affine = any(np.any(each.centre) for each in subspaces)
    doubt(
        NotConvergedWarning,
        "infinite",
        "One sample defines an axis of its cluster by itself, so the objective is infinite.",
        *simpler(len(subspaces), dimension, affine),
    )


def warn_of_single_samples(
    labels: Codes, sizes: Array | Counts, names: NDArray[Any] | None, *advice: Advice
) -> bool:
    """Warn of clusters with one sample each, and return whether there are any.

    sizes (K,): of the clusters; names (n,): of the samples, None for none; advice: what else to do.
    """
    single = np.flatnonzero(sizes == 1).tolist()
    if not single:
        return False
    rows = [int(np.argmax(labels == k)) for k in single]
    called = [f"row {i}" if names is None else str(names[i]) for i in rows]
    doubt(
        TrustWarning,
        "single_samples",
        "{clusters:#cluster has only one sample|clusters have only one sample each}: {samples}.",
        Advice(f"leave {'that sample' if len(single) == 1 else 'these samples'} out"),
        FEWER_CLUSTERS,
        *advice,
        clusters=len(single),
        samples=called,
    )
    return True


def warn_of_an_early_end(reason: str, max_iter: int, n_clusters: int) -> None:
    """Warn of iterations that ended at ``max_iter``, or with a cluster that cannot be kept."""
    if reason == "max_iter":
        doubt(
            NotConvergedWarning,
            "max_iter",
            "The fit reached <max_iter={max_iter}> before it converged.",
            MORE_ITERATIONS,
            max_iter=max_iter,
        )
    if reason == "infeasible":
        doubt(
            NotConvergedWarning,
            "infeasible",
            "A cluster kept losing its samples, so <n_clusters={n_clusters}> may be too many.",
            FEWER_CLUSTERS,
            n_clusters=n_clusters,
        )


def warn_of_empty_clusters(found: int, n_clusters: int) -> None:
    """Warn if fewer clusters than ``n_clusters`` have samples."""
    if found < n_clusters:
        doubt(
            NotConvergedWarning,
            "empty_clusters",
            "Only {found:#cluster has|clusters have} samples, although <n_clusters={n_clusters}>.",
            FEWER_CLUSTERS,
            found=found,
            n_clusters=n_clusters,
        )
