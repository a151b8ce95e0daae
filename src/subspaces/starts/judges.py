"""Two graphs whose cuts are first partitions, and which have a voice in the choice among all.

A likelihood sees how well clusters fit, not whether they are separate, as the normalised cut does:

    ncut = sum_k (weight that leaves cluster k) / (weight of cluster k)

So a judge charges a partition ``8 S trust ncut`` nats a row, S the sum of the dimensions, which
puts a cut on the scale of a likelihood of as many coordinates. The trust, from 0 to 1, silences a
graph that has nothing to say; e is the mean share of the weight that leaves a cluster in the
graph's own cut:

- `ShapeInteraction`, for clusters in independent subspaces, ``(1 - q)^2 (1 - 5 e)``: q is the K-th
  eigenvalue of the graph's Laplacian over the next, near 1 without a gap. If S exceeds the rank of
  the rows the subspaces cannot be independent, and there is no such graph.
- `NearExpression`, for clusters that are curved and apart, ``(1 - e/.007)^2 q^4``: a graph of near
  rows speaks only if it nearly falls apart, and q^4, of the other graph's q, silences it if that
  has a gap.

`benchmarks/judges.py` shows what each start and each voice buys.
"""

from dataclasses import dataclass

import numpy as np

from subspaces._types import Array, Labels, Sparse
from subspaces.core.partition import Partition
from subspaces.core.problem import Problem
from subspaces.core.which_run import JudgingStart
from subspaces.runtime.threads import computed_once
from subspaces.starts.graphs import Graphs
from subspaces.starts.landmarks import extend
from subspaces.starts.self_expression import (
    affinity,
    lifted_rows,
    local_elastic_net,
    local_elastic_net_from_products,
    unit_rows,
)
from subspaces.starts.spectral import Affinity, cut, normalised, rows_to_labels
from subspaces.subspace import largest_eigenpairs

# Cost of a cut per summed dimension and unit of trust, in nats per row.
NATS = 8.0
# If every cut of a graph takes more than this share of its weight, the graph is not trusted. Random
# directions in K dimensions, or planes in strong noise, leave a third of it between clusters.
LOOSE = 0.2
# Nor is a graph of near rows, whose neighbours are in their own cluster as a rule.
NEARLY_APART = 0.007
# The graph of shape interaction is dense: of more rows than FEW_ROWS a sample, of as many, or of
# PER_DIMENSION for each of the summed dimensions.
FEW_ROWS, PER_DIMENSION = 500, 8
# Rows by which `NearExpression` expresses a row.
N_NEAREST = 10
# Ranks that are tried for the graph of shape interaction.
N_RANKS = 5
# Eigenvalues of a normalised Laplacian, which lie in 0 to 2, are at least this: the rounding of
# single precision.
LEAST_EIGENVALUE = 1e-6


def leaving(graph: Affinity, labels: Labels, n_clusters: int) -> Array:
    """Return the share of each cluster's weight that leaves it, (K,); 0 for an empty cluster.

    graph (n, n): symmetric, dense or sparse, without the rows in no cluster; the sum of the shares
    is the normalised cut.
    """
    kept = np.flatnonzero(labels >= 0)
    if len(kept) < len(labels):
        graph, labels = graph[kept][:, kept], labels[kept]
    members = Partition(labels, n_clusters).indicator
    inside = np.einsum("ik,ik->k", members, graph @ members)
    weight = np.asarray(graph.sum(axis=1)).ravel() @ members
    return 1.0 - np.divide(inside, weight, out=np.ones(n_clusters), where=weight > 0.0)


def summed_dimensions(problem: Problem) -> int:
    """Return the sum of the clusters' dimensions; a centre counts as one more."""
    return sum(problem.dimensions) + problem.affine * problem.n_clusters


@dataclass(frozen=True)
class Interaction:
    """A graph (n, n), its K leading eigenvectors (n, K), and the quotient q of its gap, 0 to 1."""

    graph: Array
    vectors: Array
    quotient: float


def clearest(rows: Array, n_clusters: int, most: int) -> Interaction:
    """Return the shape-interaction graph of rows (n, p), for the rank r with the least quotient.

    The left singular vectors U (n, r) of rows on independent subspaces give inner products ``u_i .
    u_j`` that are zero between rows of different subspaces, if r is the sum S of their dimensions
    [Costeira & Kanade 1998]. With rows of U scaled to length 1, a power, and the r of the clearest
    gap it is robust to noise [Ji, Salzmann & Li 2015]:

        A = |u_i . u_j|^3.5,  no diagonal,      r: of five from S/2 to S the one of least q

    q is ``lambda_K / lambda_(K+1)`` of the eigenvalues lambda of the graph's normalised Laplacian,
    smallest first. Rows are centred and get a constant, which makes affine subspaces linear ones;
    on motion that helps linear ones, too.

    most: the sum of the dimensions of the subspaces, the largest rank tried.
    """
    axes = left_vectors(lifted_rows(rows), most)
    ranks = np.linspace(-(-most // 2), most, N_RANKS).round().astype(int)
    tried = np.unique(np.minimum(ranks, axes.shape[1])).tolist()
    return min(
        (interaction(axes[:, :rank], n_clusters) for rank in tried), key=lambda each: each.quotient
    )


def interaction(axes: Array, n_clusters: int) -> Interaction:
    """Return the graph of left singular vectors (n, r), in single precision, enough for a cut."""
    unit = unit_rows(axes).astype(np.float32)
    cosines = np.abs(unit @ unit.T)
    graph = cosines**3 * np.sqrt(cosines)  # quicker than a power of 3.5
    np.fill_diagonal(graph, 0.0)
    values, vectors = largest_eigenpairs(normalised(graph), n_clusters + 1)
    gap = np.maximum(1.0 - values[:2], LEAST_EIGENVALUE)  # ascending: the (K + 1)-th, the K-th
    return Interaction(graph, vectors[:, :0:-1], float(min(gap[1] / gap[0], 1.0)))


def left_vectors(rows: Array, count: int) -> Array:
    """Return the leading left singular vectors of rows (n, p), ``count`` or as many as the rank.

    From inner products: vectors whose singular value is below 1e-8 of the largest are lost.
    """
    n, p = rows.shape
    products = rows @ rows.T if n <= p else rows.T @ rows
    values, vectors = largest_eigenpairs(products, min(count, n, p))
    kept = values > max(n, p) * np.finfo(float).eps * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    return vectors if n <= p else rows @ vectors / np.sqrt(values)


class ShapeInteraction(JudgingStart):
    """The graph of shape interaction of a problem's rows, or of a sample of them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        n = len(problem.rows.squared_norms)
        enough = max(FEW_ROWS, PER_DIMENSION * summed_dimensions(problem))
        self.chosen = np.sort(np.random.default_rng(0).permutation(n)[:enough])

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether subspaces of these dimensions can be independent, which the graph assumes."""
        n = len(problem.rows.squared_norms)
        return (
            problem.n_clusters < n - 1
            and summed_dimensions(problem) <= problem.rows.rank + problem.affine
        )

    def __call__(self, problem: Problem, random: np.random.Generator) -> Labels:
        """Return the labels (n,) of the graph's cut; those of rows not in it by `extend`."""
        labels = rows_to_labels(self.found.vectors, problem.n_clusters, random)
        if len(labels) == len(problem.rows.squared_norms):
            return labels
        return extend(problem, self.chosen, labels)

    def charge(self, labels: Labels) -> float:
        """Return ``8 S (1 - q)^2 (1 - 5 e) ncut`` of a partition, times the number of rows."""
        found, n_clusters = self.found, self.problem.n_clusters
        cuts = leaving(found.graph, labels[self.chosen], n_clusters)
        weight = NATS * summed_dimensions(self.problem) * self.trust
        n = Partition(labels, n_clusters, self.problem.rows.weights).sizes.sum()
        return float(n * weight * cuts.sum())

    @computed_once
    def trust(self) -> float:
        """How far the graph is to be trusted, 0 to 1."""
        n_clusters = self.problem.n_clusters
        own = rows_to_labels(self.found.vectors, n_clusters, np.random.default_rng(0))
        share = leaving(self.found.graph, own, n_clusters).mean()
        return float((1.0 - self.found.quotient) ** 2 * max(1.0 - share / LOOSE, 0.0))

    @computed_once
    def found(self) -> Interaction:
        """The graph of the rank with the clearest gap."""
        rows = self.problem.rows.subset(self.chosen).coordinates
        return clearest(rows, self.problem.n_clusters, summed_dimensions(self.problem))


class NearExpression(JudgingStart):
    """The graph of rows that are expressed by near ones; shape: the other judge, if it suits."""

    def __init__(self, graphs: Graphs, shape: ShapeInteraction | None) -> None:
        self.graphs, self.shape = graphs, shape

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether there are more rows than clusters by two, so that the graph can be cut."""
        return problem.n_clusters < len(problem.rows.squared_norms) - 1

    def __call__(self, problem: Problem, random: np.random.Generator) -> Labels:
        """Return the labels (n,) of the graph's cut."""
        return self.labels

    def charge(self, labels: Labels) -> float:
        """Return ``8 S (1 - e/.007)^2 q^4 ncut`` of a partition, times the number of rows."""
        problem = self.graphs.problem
        if self.trust == 0.0:
            return 0.0
        cuts = leaving(self.graph, labels, problem.n_clusters)
        n = Partition(labels, problem.n_clusters, problem.rows.weights).sizes.sum()
        return float(n * NATS * summed_dimensions(problem) * self.trust * cuts.sum())

    @computed_once
    def trust(self) -> float:
        """How far the graph is to be trusted, 0 to 1."""
        own = leaving(self.graph, self.labels, self.graphs.problem.n_clusters).mean()
        trust = max(1.0 - float(own) / NEARLY_APART, 0.0) ** 2
        return trust if self.shape is None else trust * self.shape.found.quotient**4

    @computed_once
    def labels(self) -> Labels:
        """The labels (n,) of the graph's own cut."""
        return cut(self.graph, self.graphs.problem.n_clusters, np.random.default_rng(0))

    @computed_once
    def graph(self) -> Sparse:
        """The graph, symmetric and sparse, (n, n)."""
        graphs, nearest = self.graphs, self.graphs.neighbours[0][:, :N_NEAREST]
        if graphs.cosines is not None:
            coefficients = local_elastic_net_from_products(graphs.cosines, nearest)
        else:
            coefficients = local_elastic_net(graphs.directions, nearest)
        return affinity(coefficients, scale=False)
