"""First partitions by subspaces through some of the rows; each row goes to the nearest.

- `local_subspaces`, `kmeans_parallel_subspaces`, `energetic_subspaces`: through the neighbours of
  rows drawn at random, far apart, or by their length;
- `sequential`: the best of a pool of candidate subspaces takes the rows near it, then the next,
  lowest dimension first (least quantile of squares, as in robust regression);
- `swapped`: K subspaces of a pool of local ones, swapped while the sum of distances falls (in the
  manner of LBF, Zhang et al. 2012).
"""

from collections.abc import Callable, Sequence

import numpy as np

from subspaces._types import Array, Indices, Labels
from subspaces.core.partition import assign
from subspaces.core.problem import Problem
from subspaces.core.which_run import Start

# Subspaces in the pool of `sequential` and of `swapped`.
CANDIDATES = 30
# A subspace takes rows within this many times the squared residual of its quantile: 1.77 lengths.
REACH = 3.125
# Neighbours of a row if most variables are noise. Fewer are not informative.
SPARSE_NEIGHBOURS = 25
# Most passes of `swapped` through its subspaces.
MOST_SWAPS = 20
# In each of ROUNDS rounds SHARE times as many rows are drawn as there are clusters.
ROUNDS, SHARE = 3, 1.5
# The distances from the subspaces through AT_ONCE rows are found at once, which bounds the memory.
AT_ONCE = 32
# Distances are kept of evenly spaced rows: of at least EACH for each cluster, but no more than MOST
# distances (half a gigabyte in double precision).
EACH, MOST = 200, 1 << 26

# Squared distances (c, n) of all rows from the subspaces, of one dimension, through some rows (c,).
Around = Callable[[Indices, int], Array]


def random_labels(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels (n,) of a random partition into clusters of equal size."""
    n = len(problem.rows.squared_norms)
    return random.permutation(np.arange(n) % problem.n_clusters)


def local_subspaces(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels (n,): the nearest of K subspaces, each through neighbours of a random row."""
    n, shares = len(problem.rows.squared_norms), problem.rows.shares()
    if shares is None:
        return _nearest_through(problem, random.permutation(n)[: problem.n_clusters])
    seeds = random.choice(n, problem.n_clusters, replace=False, p=shares)
    return _nearest_through(problem, seeds)


def kmeans_parallel_subspaces(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels (n,): the nearest of K subspaces, each through neighbours of rows far apart.

    The K rows are chosen by `kmeans_parallel`.
    """

    def around(seeds: Labels, dimension: int) -> Array:
        subsets = np.array([_neighbours(problem, int(seed), dimension) for seed in seeds])
        return problem.rows.residuals(subsets, dimension, problem.affine)

    n = len(problem.rows.squared_norms)
    numbers = n, problem.dimensions, random, problem.rows.weights
    return _nearest_through(problem, kmeans_parallel(around, *numbers))


def energetic_subspaces(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels as `local_subspaces`, of rows drawn by squared length, with 25 neighbours each.

    If most variables are noise a long row says more, and a few neighbours say too little.
    """
    squared, weights = problem.rows.squared_norms, problem.rows.weights
    squared = squared if weights is None else squared * weights
    drawn = min(problem.n_clusters, int(np.count_nonzero(squared)))
    seeds = random.choice(len(squared), drawn, replace=False, p=squared / squared.sum())
    return _nearest_through(problem, seeds, SPARSE_NEIGHBOURS)


def sequential(fraction: float, *, any_order: bool = False) -> Start:
    """Return a start that finds one subspace after the other in the densest part of the rows left.

    From a pool, the subspace with the least sum of its q smallest squared residuals is refitted
    twice to its q nearest rows; it takes the rows within 3.125 times the q-th squared residual. q
    is ``fraction`` times the rows left per remaining cluster. The last cluster takes the rest.
    Clusters come in order of dimension; with ``any_order`` at random, those of full rank last.
    """

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        n, dimensions = len(problem.rows.squared_norms), problem.dimensions
        full = np.array([r >= problem.rows.rank for r in dimensions])
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
            residual = _densest_subspace(problem, left, dimensions[k], quota, random)
            reach = REACH * np.partition(residual[left], quota - 1)[quota - 1] + floor
            taken = residual[left] <= reach
            labels[left[taken]] = k
            left = left[~taken]
        return labels

    return start


def swapped(problem: Problem, random: np.random.Generator) -> Labels:
    """Return labels (n,): the nearest of K subspaces of a pool, improved by swaps.

    In turn each is replaced by the one of the pool that leaves the least sum of distances.
    """
    n = len(problem.rows.squared_norms)
    weights = 1.0 if problem.rows.weights is None else problem.rows.weights
    pools = {
        r: weights * np.sqrt(_candidates(problem, np.arange(n), r, random))
        for r in set(problem.dimensions)
    }
    chosen = np.array([pools[r][random.integers(len(pools[r]))] for r in problem.dimensions])
    total = np.inf
    for _ in range(MOST_SWAPS):
        for k, r in enumerate(problem.dimensions):
            others = np.min(np.delete(chosen, k, axis=0), axis=0, initial=np.inf)
            chosen[k] = pools[r][np.argmin(np.minimum(pools[r], others).sum(axis=1))]
        before, total = total, float(chosen.min(axis=0).sum())
        if total >= before:
            break
    return assign(chosen.T)


def _densest_subspace(
    problem: Problem, left: Labels, dimension: int, quota: int, random: np.random.Generator
) -> Array:
    """Return the squared residuals (n,) of all rows from the best candidate, refitted twice.

    Best is the least sum of the ``quota`` smallest squared residuals among the rows left.
    """
    pool = _candidates(problem, left, dimension, random)
    nearest_sums = np.partition(pool[:, left], quota - 1, axis=1)[:, :quota].sum(axis=1)
    best: Array = pool[np.argmin(nearest_sums)]
    for _ in range(2):
        nearest = left[np.argpartition(best[left], quota - 1)[:quota]]
        best = problem.rows.view(nearest, dimension, problem.affine).squared_residual
    return best


def _candidates(
    problem: Problem, among: Labels, dimension: int, random: np.random.Generator
) -> Array:
    """Return the squared residuals (30, n) of all rows from a pool of 30 candidate subspaces.

    A third each through as few random rows as fix a subspace, through neighbours by distance, and
    through neighbours by angle; all of them rows in ``among``.
    """
    fewest = min(max(dimension + problem.affine, 1), len(among))
    nearby = min(2 * (dimension + 1), len(among))
    through, around, shares = [], [], problem.rows.shares(among)
    for kind in range(CANDIDATES):
        if kind % 3 == 0:
            through.append(random.choice(among, fewest, replace=False, p=shares))
        else:
            seed = int(random.choice(among, p=shares))
            distance = _distances(problem, seed, by_angle=kind % 3 == 2)[among]
            around.append(among[np.argpartition(distance, nearby - 1)[:nearby]])
    found = [
        problem.rows.residuals(np.array(subsets), dimension, problem.affine)
        for subsets in (through, around)
    ]
    pool = np.empty((CANDIDATES, len(found[0][0])))
    by_distance = np.arange(CANDIDATES) % 3 > 0
    pool[~by_distance], pool[by_distance] = found
    return pool


def _nearest_through(problem: Problem, seeds: Labels, fewest: int = 0) -> Labels:
    """Return labels (n,): the nearest of the subspaces through the neighbours of each seed row.

    fewest: the least number of neighbours of a seed.
    """
    residuals = []
    for seed, dimension in zip(seeds, problem.dimensions, strict=False):
        nearby = _neighbours(problem, int(seed), dimension, fewest)
        residuals.append(problem.rows.view(nearby, dimension, problem.affine).squared_residual)
    return assign(np.column_stack(residuals))


def _neighbours(problem: Problem, seed: int, dimension: int, fewest: int = 0) -> Labels:
    n = len(problem.rows.squared_norms)
    nearby = min(max(2 * (dimension + 1), fewest), n)
    distance = _distances(problem, seed, by_angle=not problem.affine)
    return np.argpartition(distance, nearby - 1)[:nearby]


def _distances(problem: Problem, seed: int, *, by_angle: bool) -> Array:
    """Return distances (n,) of all rows from one: 1 - |cos|, or squared, less a constant."""
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


def kmeans_parallel(
    around: Around,
    n_rows: int,
    dimensions: Sequence[int],
    random: np.random.Generator,
    weights: Array | None = None,
) -> Indices:
    """Return K row numbers, (K,): the seed of each cluster's subspace, rows that lie far apart.

    The manner of k-means|| (Bahmani et al. 2012): a few rounds each draw more rows than there are
    clusters, by their squared distance from the subspaces through the rows drawn before, so that
    many distances are found at once. From all rows drawn, one per cluster is kept: each time the
    row whose subspace leaves the least sum of distances.

    around(seeds, dimension): squared distances (c, n) of all rows from the seeds' subspaces.
    weights (n,): of the rows, which their distances are multiplied by; None if all count one.
    """
    kinds, which = np.unique(dimensions, return_inverse=True)
    wanted = int(np.ceil(SHARE * len(dimensions)))
    step = max(n_rows // (EACH * len(dimensions)), 1)
    step = max(step, -(-ROUNDS * wanted * len(kinds) * n_rows // MOST))
    seen = np.arange(0, n_rows, step)
    nearest, counts = np.full(len(seen), np.inf), None if weights is None else weights[seen]
    shares = None if counts is None else _shares(counts)
    drawn, pool = [], []
    for _ in range(ROUNDS):
        seeds = _draw(seen, wanted, shares, random)
        found = np.stack([_in_parts(around, seeds, int(kind))[:, ::step] for kind in kinds])
        found = found if counts is None else found * counts
        drawn.append(seeds)
        pool.append(found)
        nearest = np.minimum(nearest, found[-1].min(axis=0))
        shares = _shares(nearest)
    chosen = _least_left(np.concatenate(pool, axis=1), which)
    return np.concatenate(drawn)[chosen]


def _draw(rows: Indices, wanted: int, shares: Array | None, random: np.random.Generator) -> Indices:
    """Return up to ``wanted`` different rows, drawn by shares; those of share 0 are never drawn."""
    possible = len(rows) if shares is None else int(np.count_nonzero(shares))
    return random.choice(rows, min(wanted, possible), replace=False, p=shares)


def _shares(values: Array) -> Array | None:
    """Return the values divided by their sum, (n,); None if the sum is zero."""
    total = values.sum(dtype=np.float64)
    return values / total if total > 0.0 else None


def _in_parts(around: Around, seeds: Indices, dimension: int) -> Array:
    """Return squared distances (c, n) of all rows from the seeds' subspaces, 32 seeds at a time."""
    starts = range(0, len(seeds), AT_ONCE)
    return np.concatenate([around(seeds[i : i + AT_ONCE], dimension) for i in starts])


def _least_left(pool: Array, which: Indices) -> list[int]:
    """Return the number of one drawn row per cluster, chosen greedily for the least distances left.

    pool (kinds, c, n): squared distances from the c rows' subspaces, by kind of dimension; which
    (K,): the kind of each cluster. Only rows that come nearer change what the other subspaces would
    leave.
    """
    left = pool.sum(axis=2, dtype=np.float64)
    nearest = np.full(pool.shape[2], np.inf, dtype=pool.dtype)
    chosen = []
    for kind in which:
        chosen.append(int(np.argmin(left[kind])))
        found = pool[kind, chosen[-1]]
        nearer = np.flatnonzero(found < nearest)
        before, now = nearest[nearer], found[nearer]
        lost = np.take(pool, nearer, axis=2)
        np.maximum(lost, now, out=lost)
        np.minimum(lost, before, out=lost)
        lost -= now
        left -= lost.sum(axis=2, dtype=np.float64)
        nearest[nearer] = now
    return chosen
