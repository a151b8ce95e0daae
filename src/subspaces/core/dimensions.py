"""Numbers of clusters and their dimensions, checked against the data."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from subspaces._types import Array
from subspaces.core import partition
from subspaces.messages import Advice, ParameterError, simpler
from subspaces.runtime.parameters import as_count

# A sample this many times as far out as the next leaves its own direction as the only one that is
# not rounding.
FAR = 1e6
TINY = np.finfo(float).tiny
ONE_EACH = Advice("give one number for all clusters, or one for each")


class HasSizes(Protocol):
    """Whatever asks for clusters: an estimator, or the settings of a fit."""

    @property
    def n_clusters(self) -> Any:
        """Number of clusters."""

    @property
    def n_components(self) -> Any:
        """Dimension of the subspaces, one for all or one for each."""


def per_cluster(
    asked: HasSizes, name: str, n_samples: int, *, low: int, high: int
) -> tuple[int, ...]:
    """Return the parameter ``name`` as K integers from ``low`` to ``high``; one stands for all."""
    why, most = " for {n:#sample}", n_samples
    if isinstance(asked.n_clusters, Integral) and not 1 <= int(asked.n_clusters) <= n_samples:
        most = _most_clusters(asked.n_components, n_samples)
    n_clusters = as_count(asked.n_clusters, "n_clusters", low=1, high=most, why=why, n=n_samples)
    given = getattr(asked, name)
    given = [given] * n_clusters if np.ndim(given) == 0 else list(given)
    if len(given) != n_clusters:
        fact = f"<{name}> has {{n:#entry|entries}} for <n_clusters={n_clusters}>."
        raise ParameterError(name, fact, ONE_EACH, value=given, n=len(given))
    why = " for {p:#variable}"
    return tuple(as_count(value, name, low=low, high=high, why=why, p=high) for value in given)


def _most_clusters(n_components: Any, n_samples: int) -> int:
    """Return how many clusters of a dimension a number of samples allows, at least 1."""
    dimension = int(n_components) if isinstance(n_components, Integral) else 0
    return max(n_samples // partition.smallest_size(max(dimension, 0)), 1)


def dimensions_of(asked: HasSizes, X: Any, *, low: int = 1, points: bool = True) -> tuple[int, ...]:
    """Return the dimension of each cluster, checked against the number of samples and variables.

    points: whether the method takes dimension 0 if its subspaces are affine.
    """
    n, p = X.shape
    through_origin = low and points and getattr(asked, "affine", None) is False
    given = asked.n_components
    if through_origin and isinstance(given, Integral) and given <= 0:
        fact = "<n_components={value}> does not work for subspaces through the origin."
        means = Advice("use <n_components=0> with <affine=True>", "affine", True)
        positive = Advice(f"use 1 to {p}" if p > 1 else "use 1", "n_components")
        raise ParameterError("n_components", fact, positive, means, value=int(given))
    fewest = partition.smallest_size(1)
    if n < fewest and np.any(given):
        fact = "The table has only {n:#sample}. You need at least {fewest}."
        raise ParameterError("X", fact, n=n, fewest=fewest)
    dimensions = per_cluster(asked, "n_components", n, low=low, high=p)
    needed = sum(partition.smallest_size(r) for r in dimensions)
    if n < needed:
        clusters = f"<n_clusters={{value}}> with <n_components={max(dimensions)}>"
        fact = f"{{n:#sample is|samples are}} too few for {clusters}: you need {needed}."
        affine = bool(getattr(asked, "affine", False)) and points
        smaller = simpler(len(dimensions), max(dimensions), affine)
        raise ParameterError("n_clusters", fact, *smaller, value=asked.n_clusters, n=n)
    return dimensions


def check_enough(weights: Array, dimensions: Sequence[int]) -> None:
    """Raise an error if fewer weights (n,) are positive than clusters of dimensions (K,) need."""
    needed = max(sum(map(partition.smallest_size, dimensions)), 2)
    positive = int(np.count_nonzero(weights))
    if positive < needed:
        fact = (
            "Only {n:#sample has|samples have} a positive <sample_weight>, but you need "
            f"{needed}."
        )
        smaller = simpler(len(dimensions), max(dimensions))
        raise ParameterError("sample_weight", fact, *smaller, n=positive)


def check_rank(rank: int, dimensions: Sequence[int], affine: bool, X: Any = None) -> None:
    """Raise an error if the rank of X is 0, or less than a dimension asked for, (K,).

    X (n, p): to name a sample so far out that nothing else counts; None if it is not at hand.
    """
    largest = max(dimensions, default=0)
    if rank == 0:
        kind = "All samples are identical" if affine else "All values are zero"
        raise nothing_to_cluster(kind)
    if largest > rank:
        far = None if X is None else far_row(X)
        if far is not None:
            fact = (
                "Row {row} of <X> (the first is row 0) is so far out that all other rows look the "
                "same."
            )
            raise ParameterError("X", fact, Advice("check that sample, or leave it out"), row=far)
        fact = f"<n_components={{value}}> is more than the rank of the table, {rank}."
        least = 0 if affine else 1
        most = rank if len(dimensions) == 1 else max(rank - 1, least)
        lower = f"set it to {most} or less" if most > least else f"set it to {most}"
        advice = [Advice(lower, "n_components", most)]
        if isinstance(X, np.ndarray) and _differ_in_scale(X):
            advice.append(Advice("scale the variables", "scale", True, command="use --scale"))
        raise ParameterError("n_components", fact, *advice, value=largest)


def which_contain(dimensions: Sequence[int]) -> str:
    """Return which subspaces contain all samples, with the verb, if the largest spans the table."""
    return (
        "every subspace contains" if len(set(dimensions)) == 1 else "the largest subspace contains"
    )


def nothing_to_cluster(why: str) -> ParameterError:
    """Return the error of a table without clusters; why: such as that all samples are equal."""
    fact = "{why}, so there is nothing to cluster."
    return ParameterError("X", fact, Advice("check the table"), why=why)


def _differ_in_scale(X: Array) -> bool:
    """Whether variables of X (n, p) are so small beside others that the rank leaves them out."""
    spread = np.ptp(X, axis=0)
    return bool(spread.max() > FAR * np.min(spread[spread > 0.0], initial=np.inf))


def far_row(X: Any) -> int | None:
    """Return the row of X (n, p) that lies far beyond all others; None if there is none."""
    if not isinstance(X, np.ndarray):
        return None
    reach = np.nanmax(np.abs(X - np.nanmedian(X, axis=0)), axis=1)
    order = np.argsort(reach)
    return int(order[-1]) if reach[order[-1]] > FAR * max(reach[order[-2]], TINY) else None
