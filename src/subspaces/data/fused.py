"""Costs and scatter matrices by kernels of our own, where the rows are on a GPU with Triton."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from subspaces.core.array_namespace import namespace

# Rows of so many variables are scored where they are; their clusters have so many axes at most.
MOST_VARIABLES, MOST_AXES = 256, 64

Facts = tuple[Any, Any, Any, Any]  # see kernels/_triton.py


def knows(rows: Any, criterion: str = "residual") -> bool:
    """Whether there are kernels for these rows, and for the costs of a criterion."""
    looks = _looks(rows)
    return looks is not None and criterion in looks.NAMES


def fused_assignment(
    scores: Any,
    squared: Any,
    labels: Any | None,
    plan: Any,
    lengths: Any = None,
    own: Any = None,
) -> tuple[Any, Any, Facts]:
    """Next labels, the costs under the present ones, and facts, the energy from squared lengths.

    own (n, R), if given, becomes the scores on the new clusters.
    """
    return _looks(scores).from_scores(scores, squared, labels, plan, lengths, own)


def sums_where_they_are(rows: Any, plan: Any) -> bool:
    """Whether rows are summed without a sorted copy of them, or a place for all scores."""
    if (
        not knows(rows, plan.criterion)
        or not str(rows.dtype).endswith("float32")
        or not rows.is_contiguous()
    ):
        return False
    return plan.flats.spectra.shape[1] < MOST_AXES


def looks_where_they_are(rows: Any, plan: Any) -> bool:
    """Whether rows of few variables are scored without a place for the scores."""
    return rows.shape[1] <= MOST_VARIABLES and sums_where_they_are(rows, plan)


def fused_look(rows: Any, labels: Any | None, plan: Any) -> tuple[Any, Any, Facts]:
    """`fused_assignment` of rows that are not scored yet."""
    return _looks(rows).from_rows(rows, labels, plan)


def fused_images(rows: Any, own: Any, labels: Any, plan: Any) -> tuple[Any, Any]:
    """Sums of centred rows (K, p), and the images of the axes (K, p, R), from own scores (n, R)."""
    return _module("_triton_sums").images(rows, own, labels, len(plan.flats.sizes))


def fused_count(rows: Any, labels: Any, plan: Any) -> tuple[Any, Any, Any, Any]:
    """`block_pass.sums` with images, of centred rows that are not scored yet."""
    sizes, energy, own = _module("_triton_sums").own_scores(rows, labels, plan)
    return sizes, energy, *fused_images(rows, own, labels, plan)


def fused_sums(rows: Any, labels: Any, plan: Any) -> tuple[Any, Any, Any, Any]:
    """`block_pass.sums` with scatter matrices."""
    n_clusters = len(plan.flats.sizes)
    sizes, products, totals = _module("_triton_sums").scatter(rows, labels, None, n_clusters, plan)
    return sizes, _energy(products), totals, products


def fused_changes(rows: Any, before: Any, after: Any, plan: Any) -> tuple[Any, Any, Any]:
    """What rows that moved add to the energy, totals and scatter matrices of the clusters."""
    n_clusters, xp = len(plan.flats.sizes), namespace(rows)
    (chosen,) = xp.nonzero(before != after)
    labels = xp.concat([before[chosen], after[chosen] + n_clusters])
    both = xp.concat([chosen, chosen])
    _, products, totals = _module("_triton_sums").scatter(rows, labels, both, 2 * n_clusters, plan)
    products, totals = (sums[n_clusters:] - sums[:n_clusters] for sums in (products, totals))
    return _energy(products), totals, products


def _energy(products: Any) -> Any:
    return products.diagonal(dim1=1, dim2=2).sum(1)


def _looks(array: Any) -> Any:
    """The kernels that look, of arrays on a GPU with Triton; None elsewhere."""
    if isinstance(array, np.ndarray) or not type(array).__module__.startswith("torch"):
        return None
    return _module("_triton") if array.is_cuda else None


@cache
def _module(name: str) -> Any:
    return import_module(f"subspaces.kernels.{name}") if find_spec("triton") else None
