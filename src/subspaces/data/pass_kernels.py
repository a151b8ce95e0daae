"""Kernels for one pass over a block of rows: compiled loops for numpy, Triton for a GPU.

The loops are those of `kernels/block_pass.pyx`, without Python's lock, so that blocks run side by
side in threads; what they return is what `block_pass` returns. The tables that they read are made
from the subspaces once for all blocks of a pass, and kept in the cache of its plan.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from subspaces._types import AnyArray, Array, Block, Codes, Indices, Tensor
from subspaces.data.pass_plan import Pass
from subspaces.kernels import compiled

# One program of a Triton kernel holds rows of up to MOST_VARIABLES numbers, and their scores on
# fewer than MOST_AXES axes of a cluster, in its registers.
MOST_VARIABLES, MOST_AXES = 256, 64

# Sizes (K,), energy (K,), totals (K, p) and products of the rows of each cluster: the last four of
# `BlockSums`.
FourSums = tuple[AnyArray, AnyArray, AnyArray, AnyArray]
# Returns them under some labels, of the rows that have the given numbers, None for all rows.
SumClusters = Callable[[AnyArray, AnyArray | None], FourSums]
# The clusters as the compiled loops read them, the axes (K, R, p), and the origin (p,).
Tables = tuple[Any, Array, Array | None]


class ScoredRows(NamedTuple):
    """Rows that were assigned: their labels (n,), squared lengths (n,) and own scores (n, R).

    The scores are those on the axes of the new cluster; None if scatter matrices are summed.
    """

    labels: Codes
    squared: Array
    own_scores: Array | None


def has_loops(rows: Block, criterion: str = "residual") -> TypeGuard[Array]:
    """Whether compiled loops take these rows and criterion: numpy arrays of float32 or float64."""
    dense = isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)
    loops = compiled("block_pass") if dense and 0 not in rows.shape else None
    return loops is not None and criterion in loops.CRITERIA


def influence_and_errors(rows: Array, labels: AnyArray, plan: Pass) -> tuple[Array, float]:
    """Return each row's influence (b,), and the sum of the squared leave-one-out errors."""
    clusters, axes, origin = _tables(plan, rows.dtype)
    order, ends = _by_cluster(labels, None, plan.n_clusters)
    rows = np.ascontiguousarray(rows)
    return _loops().influence_and_errors(rows, origin, order, ends, axes, clusters)


def assigned(rows: Array, labels: AnyArray | None, plan: Pass) -> tuple[Codes, float, SumClusters]:
    """Return the next labels, the objective, and a function that sums the clusters.

    labels: the present ones, None for outsiders. The objective is the sum of the costs under them.
    The function is `cluster_sums` with these rows, their scores and the plan filled in.
    """
    clusters, axes, origin = _tables(plan, rows.dtype)
    rows = np.ascontiguousarray(rows)
    n_axes = plan.subspaces.axes.shape[2]
    own = None if plan.by_scatter else np.empty((len(rows), n_axes), rows.dtype)
    present = None if labels is None else np.ascontiguousarray(labels, dtype=np.intc)
    new, squared, objective = _loops().assign(rows, origin, axes, present, own, clusters)
    new = new.astype(plan.label_type)
    return new, objective, partial(cluster_sums, rows, ScoredRows(new, squared, own), plan)


def cluster_sums(
    rows: Array,
    known: ScoredRows | None,
    plan: Pass,
    labels: AnyArray,
    chosen: AnyArray | None = None,
) -> FourSums:
    """Return sizes, energy, totals and products, as `block_pass.cluster_sums` does.

    known: what `assigned` found; if `labels` are its labels, lengths and scores are taken from
    it.
    """
    found: tuple[Array | None, Array | None] = (None, None)
    if known is not None and known.labels is labels:
        found = known.squared, known.own_scores
    _, axes, origin = _tables(plan, rows.dtype)
    order, ends = _by_cluster(labels, chosen, plan.n_clusters)
    n_axes = plan.subspaces.axes.shape[2]
    rows = np.ascontiguousarray(rows)
    sums = _loops().cluster_sums(
        rows, origin, order, ends, *found, axes, n_axes, plan.by_scatter, plan.affine
    )
    return np.diff(ends) + 0.0, *sums


def spread(rows: Array, labels: AnyArray, points: Array) -> tuple[Array, Array, Array]:
    """Return sizes (K,), totals (K, p) and squares (p,), as `contrast_sums.sums_from` does."""
    own = np.ascontiguousarray(labels, dtype=np.intc)
    sizes = np.bincount(own, minlength=len(points)) + 0.0
    points = np.ascontiguousarray(points, dtype=np.float64)
    return sizes, *_loops().spread(np.ascontiguousarray(rows), own, points)


def _by_cluster(
    labels: AnyArray, chosen: AnyArray | None, n_clusters: int
) -> tuple[Indices, Indices]:
    """Return row indices cluster by cluster, and where each cluster begins, (K + 1,).

    chosen: indices of the rows that count, None for all rows.
    """
    # Short numbers are sorted quickest.
    short = np.asarray(labels, dtype=np.min_scalar_type(n_clusters))
    if chosen is None:
        order = np.argsort(short, kind="stable")
    else:
        among = np.asarray(chosen)
        order = among[np.argsort(short[among], kind="stable")]
    return order, np.searchsorted(short[order], np.arange(n_clusters + 1)).astype(np.intp)


def _loops() -> Any:
    return compiled("block_pass")


def _tables(plan: Pass, dtype: DTypeLike) -> Tables:
    """Return a kernel's `Clusters`, the axes (K, R, p), and the origin (p,); made once a pass.

    With affine subspaces the centre of each cluster follows its axes as one more line.
    """
    key = ("compiled", dtype)
    if key not in plan.cache:
        plan.cache[key] = _make_tables(plan, dtype)
    return plan.cache[key]


def _make_tables(plan: Pass, dtype: DTypeLike) -> Tables:
    subspaces = plan.subspaces
    axes, has_centres = np.swapaxes(subspaces.axes, 1, 2), not subspaces.linear
    if has_centres:
        axes = np.concatenate([axes, subspaces.centres[:, None, :]], axis=1)
    places = *subspaces.shift_and_lengths, has_centres
    clusters = _loops().Clusters(plan.criterion, *plan.stats.for_loops, *places)
    origin = None if plan.origin is None else np.asarray(plan.origin, dtype=dtype)
    return clusters, np.ascontiguousarray(axes, dtype=dtype), origin


def as_torch(array: AnyArray) -> AnyArray:
    """Return a CuPy array as a torch tensor of the same memory, if Triton has kernels for it.

    Other arrays are returned unchanged, and CuPy arrays if torch and Triton are not installed.
    """
    if not type(array).__module__.startswith("cupy") or _module("_triton") is None:
        return array
    return import_module("torch").from_dlpack(array)


def score_kernels(array: Block) -> Any:
    """Return the module `kernels._triton` for torch arrays on a GPU with Triton, else None."""
    return _module("_triton") if _is_tensor(array) and array.is_cuda else None


def sum_kernels() -> Any:
    """Return the module `kernels._triton_sums`; None without Triton."""
    return _module("_triton_sums")


def _is_tensor(array: Block) -> TypeGuard[Tensor]:
    return type(array).__module__.startswith("torch")


@cache
def _module(name: str) -> ModuleType | None:
    return import_module(f"subspaces.kernels.{name}") if find_spec("triton") else None


def has_triton(rows: Block, criterion: str = "residual") -> bool:
    """Whether Triton kernels exist for these rows and for the costs of this criterion."""
    kernels = score_kernels(rows)
    return kernels is not None and criterion in kernels.NAMES


def sums_in_place(rows: Block, plan: Pass) -> bool:
    """Whether kernels can sum these rows without a sorted copy of them or storing all scores."""
    if not has_triton(rows, plan.criterion) or plan.subspaces.spectra.shape[1] >= MOST_AXES:
        return False
    single = str(rows.dtype).endswith("float32")
    return single and _is_tensor(rows) and bool(rows.is_contiguous())


def scores_in_place(rows: Block, plan: Pass) -> bool:
    """Whether kernels can score these rows, of at most 256 variables, without storing scores."""
    return rows.shape[1] <= MOST_VARIABLES and sums_in_place(rows, plan)
