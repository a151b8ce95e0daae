"""First partitions. A start is a function from the problem and a generator to labels.

Random starts rarely reach the optimum of a union of subspaces; the default is a portfolio:

- `sequential`: the best of a pool of candidate flats takes the rows near it, then the next, lowest
  dimension first (least quantile of squares, as in robust regression);
- `angular`: spectral clustering of the graph of angular neighbours (TSC, Heckel & Boelcskei 2015);
- `swapped`: K flats of a pool of local ones, swapped while the sum of distances falls (in the
  manner of LBF, Zhang et al. 2012).
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import spectral_clustering

from subspaces.core.criteria import Data, costs
from subspaces.core.partition import assign, smallest_size
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows, Rows
from subspaces.core.screening import screen_variables

Array = NDArray[np.floating]
Labels = NDArray[np.intp]
Start = Callable[[Problem, np.random.Generator], Labels]

CANDIDATES = 30
REACH = 3.125
SPARSE_NEIGHBOURS = 25
# Rows beyond this are sampled: the starts look at so many, the loop at all of them.
LANDMARKS = 2000


def random_labels(problem: Problem, random: np.random.Generator) -> Labels:
    """Clusters of equal size, at random."""
    n = len(problem.rows.squared_norms)
    return random.permutation(np.arange(n) % problem.n_clusters)


def local_flats(problem: Problem, random: np.random.Generator) -> Labels:
    """Flats through the neighbourhoods of K random rows; each row to the nearest flat."""
    seeds = random.permutation(len(problem.rows.squared_norms))[: problem.n_clusters]
    pairs = zip(seeds, problem.dimensions, strict=True)
    return _nearest(_local_residual(problem, i, r) for i, r in pairs)


def spread_flats(problem: Problem, random: np.random.Generator) -> Labels:
    """The manner of k-means++: each next row is drawn by its squared distance from the flats."""
    n = len(problem.rows.squared_norms)
    residuals: list[Array] = []
    weights = np.full(n, 1.0 / n)
    for dimension in problem.dimensions:
        seed = int(random.choice(n, p=weights))
        residuals.append(_local_residual(problem, seed, dimension))
        nearest = np.minimum.reduce(residuals)
        total = nearest.sum()
        weights = nearest / total if total > 0 else np.full(n, 1.0 / n)
    return _nearest(residuals)


def energetic_flats(problem: Problem, random: np.random.Generator) -> Labels:
    """As `local_flats`, but rows are drawn by their squared length, with 25 neighbours each.

    Where most variables are noise a long row says more, and a few neighbours say too little.
    """
    squared = problem.rows.squared_norms
    drawn = min(problem.n_clusters, int(np.count_nonzero(squared)))
    seeds = random.choice(len(squared), drawn, replace=False, p=squared / squared.sum())
    pairs = zip(seeds, problem.dimensions, strict=False)
    return _nearest(_local_residual(problem, i, r, SPARSE_NEIGHBOURS) for i, r in pairs)


def portfolio(n_starts: int) -> list[tuple[str, Start]]:
    """Five sequential starts, three angular, two swapped; more or fewer in that proportion."""
    kinds: list[tuple[str, Start]] = [
        ("sequential", sequential(0.5)),
        ("angular", angular(10)),
        ("swapped", swapped),
        ("sequential", sequential(0.3)),
        ("angular", angular(5)),
        ("sequential", sequential(0.7)),
        ("sequential", sequential(0.5, any_order=True)),
        ("angular", angular(20)),
        ("swapped", swapped),
        ("sequential", sequential(0.3, any_order=True)),
    ]
    return list(islice(cycle(kinds), n_starts))


def on_landmarks(start: Start) -> Start:
    """Run a start on a sample of the rows and give each other row to the nearest flat."""

    def sampled(problem: Problem, random: np.random.Generator) -> Labels:
        n = len(problem.rows.squared_norms)
        if n <= LANDMARKS:
            return start(problem, random)
        chosen = np.sort(random.choice(n, LANDMARKS, replace=False))
        small = Problem(
            problem.rows.subset(chosen), problem.dimensions, problem.criterion, problem.affine
        )
        labels = start(small, random)
        return _nearest(
            problem.rows.view(chosen[labels == k], r, problem.affine).squared_residual
            if np.any(labels == k)
            else np.full(n, np.inf)
            for k, r in enumerate(problem.dimensions)
        )

    return sampled


def screened_rows(problem: Problem) -> DenseRows:
    """The rows on the variables that carry more than noise."""
    matrix = problem.rows.coordinates
    return DenseRows(matrix[:, screen_variables(matrix, fewest=2 * sum(problem.dimensions) + 2)])


def on_screened_variables(start: Start) -> Start:
    """Run a start on the variables that carry more than noise."""

    def screened(problem: Problem, random: np.random.Generator) -> Labels:
        small = Problem(
            screened_rows(problem), problem.dimensions, problem.criterion, problem.affine
        )
        return on_landmarks(start)(small, random)

    return screened


def sequential(fraction: float, any_order: bool = False) -> Start:
    """One flat after the other, each through the densest part of what is left.

    Of the pool, the flat with the least sum of its q smallest squared residuals is refitted twice
    to its q nearest rows; it takes the rows within 3.125 times the q-th squared residual. q is a
    fraction of the rows left per remaining cluster. The last cluster takes the rest.
    """

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        n, dimensions = len(problem.rows.squared_norms), problem.dimensions
        full = np.array([r >= len(problem.rows.spectrum) for r in dimensions])
        shuffled = random.permutation(len(dimensions))
        keys = full[shuffled] if any_order else np.array(dimensions)[shuffled]
        order = shuffled[np.argsort(keys, kind="stable")]
        labels = np.full(n, order[-1])
        left = np.arange(n)
        floor = 1e-24 * float(problem.rows.squared_norms.mean())
        for place, k in enumerate(order[:-1]):
            quota = max(int(fraction * len(left) / (len(order) - place)), dimensions[k] + 1)
            if len(left) <= quota:
                break
            residual = _densest_flat(problem, left, dimensions[k], quota, random)
            reach = REACH * np.partition(residual[left], quota - 1)[quota - 1] + floor
            taken = residual[left] <= reach
            labels[left[taken]] = k
            left = left[~taken]
        return labels

    return start


def angular(n_neighbours: int) -> Start:
    """Spectral clustering of ``exp(-2 arccos |cos|)`` on each row's angular neighbours."""

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        affinity = angular_affinity(_cosines(problem.rows, problem.affine), n_neighbours)
        parts = _spectral(affinity, problem.n_clusters, random)
        return match_dimensions(problem, parts)

    return start


def angular_affinity(cosines: Array, n_neighbours: int) -> Array:
    """``exp(-2 arccos |cos|)`` on each row's nearest rows by angle, symmetrised by a sum."""
    n = len(cosines)
    others = np.where(np.eye(n, dtype=bool), -1.0, cosines)
    keep = min(n_neighbours, n - 1)
    neighbours = np.argpartition(-others, keep - 1, axis=1)[:, :keep]
    affinity = np.zeros((n, n))
    rows = np.arange(n)[:, None]
    affinity[rows, neighbours] = np.exp(-2.0 * np.arccos(cosines[rows, neighbours]))
    return affinity + affinity.T


def swapped(problem: Problem, random: np.random.Generator) -> Labels:
    """K flats of a pool, each slot in turn given the flat that most lowers the sum of distances."""
    n = len(problem.rows.squared_norms)
    pools = {
        r: np.sqrt(np.array(list(_candidates(problem, np.arange(n), r, random))))
        for r in set(problem.dimensions)
    }
    chosen = np.array([pools[r][random.integers(len(pools[r]))] for r in problem.dimensions])
    total = np.inf
    for _ in range(20):
        for k, r in enumerate(problem.dimensions):
            others = np.min(np.delete(chosen, k, axis=0), axis=0, initial=np.inf)
            chosen[k] = pools[r][np.argmin(np.minimum(pools[r], others).sum(axis=1))]
        before, total = total, float(chosen.min(axis=0).sum())
        if total >= before:
            break
    return _nearest(chosen)


def match_dimensions(problem: Problem, parts: Labels) -> Labels:
    """Give the parts of a partition to the clusters so that the influence they cost is least.

    The objective separates over the clusters, so the assignment is exact.
    """
    if len(set(problem.dimensions)) == 1:
        return parts
    unused = Data(len(parts), 0, 0.0)
    unfit = 1e3 * float(problem.rows.squared_norms.sum())
    price = np.empty((problem.n_clusters, problem.n_clusters))
    for j in range(problem.n_clusters):
        members = np.flatnonzero(parts == j)
        for r in set(problem.dimensions):
            value = unfit
            if len(members) >= smallest_size(r):
                view = problem.rows.view(members, r, problem.affine)
                value = min(float(costs("influence", [view], unused)[members, 0].sum()), unfit)
            price[j, np.equal(problem.dimensions, r)] = value
    return linear_sum_assignment(price)[1][parts]


def _densest_flat(
    problem: Problem, left: Labels, dimension: int, quota: int, random: np.random.Generator
) -> Array:
    pool = _candidates(problem, left, dimension, random)
    best = min(pool, key=lambda residual: np.partition(residual[left], quota - 1)[:quota].sum())
    for _ in range(2):
        nearest = left[np.argpartition(best[left], quota - 1)[:quota]]
        best = problem.rows.view(nearest, dimension, problem.affine).squared_residual
    return best


def _candidates(
    problem: Problem, among: Labels, dimension: int, random: np.random.Generator
) -> Sequence[Array]:
    """Squared residuals of all rows from a pool of flats.

    A third each through as few random rows as fix one, through neighbours by distance, and
    through neighbours by angle.
    """
    fewest = min(max(dimension + problem.affine, 1), len(among))
    nearby = min(2 * (dimension + 1), len(among))
    pool = []
    for kind in range(CANDIDATES):
        if kind % 3 == 0:
            subset = random.choice(among, fewest, replace=False)
        else:
            seed = int(random.choice(among))
            distance = _distances(problem, seed, by_angle=kind % 3 == 2)[among]
            subset = among[np.argpartition(distance, nearby - 1)[:nearby]]
        pool.append(problem.rows.view(subset, dimension, problem.affine).squared_residual)
    return pool


def _local_residual(problem: Problem, seed: int, dimension: int, fewest: int = 0) -> Array:
    n = len(problem.rows.squared_norms)
    nearby = min(max(2 * (dimension + 1), fewest), n)
    distance = _distances(problem, seed, by_angle=not problem.affine)
    subset = np.argpartition(distance, nearby - 1)[:nearby]
    return problem.rows.view(subset, dimension, problem.affine).squared_residual


def _distances(problem: Problem, seed: int, by_angle: bool) -> Array:
    """Distance of all rows from one: 1 - |cos|, or squared Euclidean."""
    rows = problem.rows
    products, squared = rows.inner(np.array([seed]))[:, 0], rows.squared_norms
    if not by_angle:
        return squared - 2.0 * products
    if problem.affine:
        lift = float(squared.mean())
        products, squared = products + lift, squared + lift
    lengths = np.sqrt(squared)
    scale = lengths * lengths[seed]
    return 1.0 - np.divide(np.abs(products), scale, out=np.zeros_like(scale), where=scale > 0)


def _cosines(rows: Rows, affine: bool) -> Array:
    """``|cos|`` between all rows; for affine flats with a constant coordinate appended."""
    squared = rows.squared_norms
    products = rows.inner(np.arange(len(squared)))
    if affine:
        lift = float(squared.mean())
        products, squared = products + lift, squared + lift
    lengths = np.sqrt(np.where(squared > 0, squared, 1.0))
    return np.clip(np.abs(products / lengths / lengths[:, None]), 0.0, 1.0)


def _spectral(affinity: Array, n_clusters: int, random: np.random.Generator) -> Labels:
    if n_clusters >= len(affinity) - 1:
        return np.arange(len(affinity)) % n_clusters
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected")
        parts = spectral_clustering(
            affinity,
            n_clusters=n_clusters,
            assign_labels="cluster_qr",
            random_state=int(random.integers(2**31)),
        )
    return np.asarray(parts, dtype=np.intp)


def _nearest(residuals: Iterable[Array]) -> Labels:
    return assign(np.column_stack(list(residuals)))
