"""Scores and residuals of all rows under a cluster's sparse loadings.

The loadings V are not orthogonal, so that what they capture of a row is ``d^T S^+ d``.

==========  ============  ==========  ==================================================
symbol      name          shape       meaning
==========  ============  ==========  ==================================================
mu          centre        (p,)        the members' mean; zero without one
V           basis         (p, R)      unit loadings (`sparse_loadings.py`)
S           overlap       (R, R)      V^T V
d           scores        (n, R)      (x - mu) V
==========  ============  ==========  ==================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Indices, Labels, Mask
from subspaces.core import loo_projection
from subspaces.core.influence import squared_influence_oblique
from subspaces.core.rows import ClusterView, DenseRows, Rows
from subspaces.core.sparse_loadings import Sparsity, captured_energy, sparse_loadings
from subspaces.runtime.threads import cached_property
from subspaces.subspace import by_weight, inverse_overlap, weighted_sum


@dataclass(frozen=True)
class SparseView(ClusterView):
    """A `ClusterView` whose scores and residuals are on sparse loadings in place of principal axes.

    basis (p, R) and centre (p,): the loadings, and the members' mean or zero; matrix (n, p): all
    rows; captured (n,): squared length of each row's projection on the span of the loadings.
    """

    basis: Array
    centre: Array
    matrix: Array
    captured: Array

    @cached_property
    def overlap(self) -> Array:
        """``S = V^T V``, (R, R)."""
        return self.basis.T @ self.basis

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse ``S^+`` of the overlap ``S = V^T V`` of the R loadings V, (R, R)."""
        return inverse_overlap(self.overlap)

    @cached_property
    def support(self) -> Mask:
        """Mask of the variables with a non-zero loading, (p,)."""
        return np.any(self.basis != 0.0, axis=1)

    def projection_errors(self) -> Array:
        """Squared residual of each member by `loo_projection`, (m,): loadings down-dated by it."""
        centred = by_weight(self.matrix[self.members] - self.centre, self.weights)
        return loo_projection.sparse_errors(
            centred, self.basis, self.spectrum, self.affine, self.weights
        )

    def squared_norms_on(self, part: Array, variables: Indices) -> Array:
        """``||x - mu||^2`` of each row over ``variables``, (n,); part (n, q): the values there."""
        centre = self.centre[variables]
        part = part - centre if centre.any() else part
        return np.einsum("ij,ij->i", part, part)


def loadings_of(views: Sequence[ClusterView]) -> tuple[Array, ...] | None:
    """Return the sparse basis (p, R) of every cluster; None if clusters have principal axes."""
    return tuple(view.basis for view in views if isinstance(view, SparseView)) or None


def sparse_view(
    rows: Rows,
    members: Indices,
    n_components: int,
    affine: bool,
    sparsity: Sparsity,
    cluster: int,
    known: ClusterView | None = None,
) -> SparseView:
    """Return the view of a cluster with sparse loadings fitted to rows ``members`` (m,).

    The iteration starts from the loadings of ``known`` if it is a `SparseView`.
    """
    start = known.basis if isinstance(known, SparseView) else None
    own, weights = _matrix_of(rows)[members], rows.weights_of(members)
    own = own - np.average(own, 0, weights) if affine else own
    own = by_weight(own, weights)
    asked = n_components, sparsity.n_variables[cluster], sparsity.penalty, start
    return seen_through(sparse_loadings(own, *asked), rows, members, affine)


def _matrix_of(rows: Rows) -> Array:
    """Return the matrix (n, p) of rows, which are never known by inner products alone here."""
    assert isinstance(rows, DenseRows)
    return rows.matrix


def seen_through(basis: Array, rows: Rows, members: Indices, affine: bool) -> SparseView:
    """Return the view of the cluster of rows ``members`` (m,) with loadings ``basis`` (p, R)."""
    matrix, squared, weights = _matrix_of(rows), rows.squared_norms, rows.weights_of(members)
    centre = np.zeros(matrix.shape[1])
    if affine:
        centre = np.average(matrix[members], 0, weights)
        squared = squared - 2.0 * (matrix @ centre) + centre @ centre
    used = np.flatnonzero(basis.any(axis=1))
    loaded = basis[used]
    scores = matrix[:, used] @ loaded - centre[used] @ loaded
    captured = captured_energy(scores, loaded.T @ loaded)
    residual = np.maximum(squared - captured, 0.0)
    own = by_weight(scores[members], weights)
    spectrum = np.sum(own**2, axis=0)
    pca = members, spectrum, scores, residual, own, affine, weights
    return SparseView(*pca, basis, centre, matrix, captured)


def influence_on(
    support: Mask, clusters: Sequence[ClusterView], labels: Labels | None, copy: Array | None = None
) -> Array:
    """Squared influence ``||pi||^2`` of rows under sparse clusters, (n,) or (n, K).

    support (p,): mask of the variables that count; labels: the members' clusters, cluster by
    cluster, for (n,) costs of members under their own; None for (n, K), all rows under all; copy:
    how much of each row leaves or joins, None for all of it.
    """
    views = _sparse_views(clusters)
    n_axes, variables = max(view.n_components for view in views), np.flatnonzero(support)
    part = views[0].matrix[:, variables]
    lengths = np.column_stack([view.squared_norms_on(part, variables) for view in views])
    residual = np.maximum(lengths - np.column_stack([view.captured for view in views]), 0.0)
    # Axes beyond those of a cluster have no scores, and are orthonormal to the others.
    scores, spectra = np.zeros((*lengths.shape, n_axes)), np.ones((len(views), n_axes))
    overlap = np.tile(np.eye(n_axes), (len(views), 1, 1))
    inverse = overlap.copy()
    for k, view in enumerate(views):
        own = slice(view.n_components)
        scores[:, k, own], spectra[k, own] = view.scores, view.spectrum
        overlap[k, own, own], inverse[k, own, own] = view.overlap, view.inverse
    if labels is None:
        return squared_influence_oblique(scores, residual, spectra, overlap, False, inverse, copy)
    at = np.concatenate([view.members for view in views]), labels
    tables = spectra[labels], overlap[labels], True, inverse[labels]
    return squared_influence_oblique(scores[at], residual[at], *tables, copy)


def union_of_supports(clusters: Sequence[ClusterView]) -> Mask:
    """Mask of the variables with a non-zero loading in any cluster, (p,)."""
    return np.any([view.support for view in _sparse_views(clusters)], axis=0)


def energy_on_loadings(clusters: Sequence[ClusterView]) -> float:
    """Sum over all members of their squared projection on the sparse loadings of their cluster."""
    return sum(
        weighted_sum(view.captured[view.members], view.weights) for view in _sparse_views(clusters)
    )


def _sparse_views(clusters: Sequence[ClusterView]) -> list[SparseView]:
    """Return ``clusters`` as a list of `SparseView`, which they all are."""
    sparse = [view for view in clusters if isinstance(view, SparseView)]
    assert len(sparse) == len(clusters)
    return sparse
