"""Rows as combinations of other rows, by five methods, and the graph of the coefficients.

Each row is written as ``x_i = sum_j C_ij x_j`` with ``C_ii = 0`` and few or small coefficients. On
a union of subspaces the other rows of its own subspace do that best, so ``|C| + |C|^T`` is a graph
whose parts are the subspaces [Elhamifar & Vidal 2013]. Row i of C belongs to row i of the data; C
is sparse, and is found for a block of rows at a time, so that only ADMM may hold a dense array of
size (n, n).

- `omp_coefficients`: orthogonal matching pursuit, few other rows;
- `lsr_coefficients`: ridge regression on all other rows, in closed form;
- `admm_coefficients`: the lasso, with coefficients that may have to sum to 1;
- `elastic_net_coefficients`: the elastic net and the lasso, one row at a time on a small support;
- `local_elastic_net`: the elastic net on each row's nearest rows alone.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from subspaces._types import Array, Indices, Sparse
from subspaces.core.eigenvalues import positive_eigenpairs, smaller_scatter
from subspaces.runtime.threads import changed_filters
from subspaces.subspace import principal_axes

# Numbers in one block of a dense (rows of the block, n) array.
BLOCK = 2**18


def row_blocks(n: int, numbers: int = BLOCK, fewest: int = 16) -> Iterator[Indices]:
    """Yield blocks of row indices, such that an array (block, n) has about ``numbers`` entries."""
    size = max(fewest, numbers // n)
    return (np.arange(first, min(first + size, n)) for first in range(0, n, size))


def unit_rows(rows: Array) -> Array:
    """Return the rows (n, p) scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def lifted_rows(rows: Array) -> Array:
    """Return ``[(x - mean) / rms, 1]``, (n, p + 1).

    It turns an affine subspace of dimension d into a linear one of dimension d + 1.
    """
    centred = rows - rows.mean(axis=0)
    rms = np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred)))
    return np.column_stack([centred / (rms if rms > 0 else 1.0), np.ones(len(rows))])


def largest_products(rows: Array) -> Array:
    """Return ``max_{j != i} |<x_i, x_j>|`` of each row, (n,)."""
    found = np.empty(len(rows))
    for block in row_blocks(len(rows)):
        inner = np.abs(rows[block] @ rows.T)
        inner[np.arange(len(block)), block] = 0.0
        found[block] = inner.max(axis=1)
    return found


def largest(values: Array, count: int) -> Indices:
    """Return the columns of the ``count`` largest values of each row, in no order: (b, count)."""
    rest = max(values.shape[1] - count, 0)
    return np.argpartition(values, rest, axis=1)[:, rest:].copy()  # a view would hold them all


def from_entries(columns: Indices, values: Array, n: int) -> Sparse:
    """Return a csr array (b, n) with these columns and values (b, m) in each row, zeros dropped."""
    starts = np.arange(len(columns) + 1) * columns.shape[1]
    matrix = sparse.csr_array(
        (values.ravel(), columns.ravel().astype(np.int32), starts), shape=(len(columns), n)
    )
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def affinity(
    coefficients: Sparse, *, share: float = 1.0, scale: bool = True, power: float = 1.0
) -> Sparse:
    """Return the graph ``|C| + |C|^T``, sparse, (n, n).

    First each row of ``|C|`` keeps its largest entries, the fewest whose sum reaches ``share`` of
    the row's sum, is divided by its largest (if ``scale``), and raised to a power.
    """
    weights = sparse.csr_array(abs(coefficients))
    if share < 1.0:
        weights = _keep_share(weights, share)
    if scale:
        top = weights.max(axis=1).toarray().ravel()
        weights.data /= np.repeat(top, np.diff(weights.indptr))
    weights.data **= power
    return sparse.csr_array(weights + weights.T)


def _keep_share(weights: Sparse, share: float) -> Sparse:
    """Return the graph with each row's largest entries alone, enough for ``share`` of its sum."""
    counts = np.diff(weights.indptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(owner)) - weights.indptr[owner]
    padded = np.zeros((len(counts), int(counts.max(initial=0))))
    padded[owner, place] = weights.data
    order = np.argsort(-padded, axis=1, kind="stable")
    values = np.take_along_axis(padded, order, axis=1)
    reached = np.cumsum(values, axis=1)
    kept = (reached - values < share * reached[:, -1:]) & (values > 0.0)
    rows, columns = np.nonzero(kept)
    chosen = weights.indptr[rows] + order[rows, columns]
    entries = (values[kept], (rows, weights.indices[chosen]))
    return sparse.csr_array(entries, shape=weights.shape)


# A row taken must leave the span of those before by this share of its length.
INDEPENDENT = 1e-8


def omp_coefficients(rows: Array, n_nonzero: int, tolerance: float = 1e-6) -> Sparse:
    """Return the coefficients of each row on at most ``n_nonzero`` other rows, sparse, (n, n).

    Step by step each row takes the other row that is most correlated with its residual, and the
    residual is what is left after projecting on all rows taken [You, Robinson & Vidal 2016]. All
    rows of a block take their step together.

    rows: (n, p), of unit length for the correlations to be comparable. A row stops when its
    residual is at most ``tolerance`` times as long as the row itself.
    """
    n, p = rows.shape
    steps = min(n_nonzero, n - 1, p)
    short = rows.astype(np.float32)  # digits enough to tell which row correlates most
    blocks = [_pursue(rows, short, block, steps, tolerance) for block in row_blocks(n)]
    return sparse.csr_array(sparse.vstack(blocks))


def omp_from_products(products: Array, n_nonzero: int, tolerance: float = 1e-6) -> Sparse:
    """Return `omp_coefficients` of rows known by their inner products (n, n), to some rounding."""
    n = len(products)
    steps = min(n_nonzero, n - 1)
    blocks = [_pursue_products(products, block, steps, tolerance) for block in row_blocks(n)]
    return sparse.csr_array(sparse.vstack(blocks))


def _pursue_products(products: Array, block: Indices, steps: int, tolerance: float) -> Sparse:
    """Return the coefficients of a block of rows, (b, n), by the normal equations of each step."""
    own, squared = products[block], products.diagonal()
    taken, values = np.zeros((len(block), steps), np.intp), np.zeros((len(block), steps))
    active, left = np.arange(len(block)), squared[block]
    for step in range(steps):
        active = active[left[active] > tolerance**2 * squared[block[active]]]
        before = taken[active, :step]
        rest = own[active] - np.einsum("bt,btn->bn", values[active, :step], products[before])
        chosen, most = _largest_other(np.abs(rest), block[active], before)
        found = most > INDEPENDENT * np.sqrt(left[active] * squared[chosen])
        active, chosen = active[found], chosen[found]
        if not len(active):
            break
        taken[active, step] = chosen
        now = taken[active, : step + 1]
        right = np.take_along_axis(own[active], now, axis=1)
        system = products[now[:, :, None], now[:, None, :]]
        solved = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        values[active, : step + 1] = solved
        left[active] = squared[block[active]] - np.einsum("bt,bt->b", right, solved)
    return from_entries(taken, values, len(products))


def _largest_other(correlations: Array, own: Indices, taken: Indices) -> tuple[Indices, Array]:
    """Return the column of the largest correlation of each row, (b,), and its value, (b,).

    correlations (b, n), overwritten; own (b,): the rows themselves; taken (b, t): rows taken
    before. Neither is eligible.
    """
    place = np.arange(len(own))
    correlations[place, own] = -1.0
    correlations[place[:, None], taken] = -1.0
    chosen = correlations.argmax(axis=1)
    return chosen, correlations[place, chosen]


def _pursue(rows: Array, short: Array, block: Indices, steps: int, tolerance: float) -> Sparse:
    """Return the coefficients of a block of rows, (b, n); short: the rows in single precision.

    The rows taken are orthogonalised as they come, ``A = R^T Q``, so that a residual costs one
    projection; the coefficients on A come from the triangles R at the end.
    """
    size, p = len(block), rows.shape[1]
    taken = np.zeros((size, steps), dtype=np.intp)
    directions = np.zeros((size, steps, p))
    triangles = np.broadcast_to(np.eye(steps), (size, steps, steps)).copy()
    heights = np.zeros((size, steps))
    residual = rows[block]
    enough = tolerance * np.linalg.norm(residual, axis=1)
    active = np.arange(size)
    for step in range(steps):
        active = active[np.linalg.norm(residual[active], axis=1) > enough[active]]
        lengths = np.linalg.norm(residual[active], axis=1, keepdims=True)
        correlations = (residual[active] / lengths).astype(np.float32) @ short.T
        chosen, most = _largest_other(
            np.abs(correlations, out=correlations), block[active], taken[active, :step]
        )
        active, chosen = active[most > 0.0], chosen[most > 0.0]
        if not len(active):
            break
        shadow, direction = _orthogonal_part(rows[chosen], directions[active, :step])
        length = np.linalg.norm(direction, axis=1)
        independent = length > INDEPENDENT * np.linalg.norm(rows[chosen], axis=1)
        active, chosen = active[independent], chosen[independent]
        direction = direction[independent] / length[independent, None]
        height = np.einsum("ij,ij->i", residual[active], direction)
        taken[active, step] = chosen
        directions[active, step] = direction
        triangles[active, :step, step] = shadow[independent]
        triangles[active, step, step] = length[independent]
        heights[active, step] = height
        residual[active] -= height[:, None] * direction
    values = np.linalg.solve(triangles, heights[:, :, None])[:, :, 0]
    return from_entries(taken, values, len(rows))


def _orthogonal_part(atoms: Array, directions: Array) -> tuple[Array, Array]:
    """Return the components (b, t) of atoms (b, p) along orthonormal directions, and the rest.

    directions (b, t, p). Done twice: the second pass takes away what rounding left.
    """
    first = np.einsum("btp,bp->bt", directions, atoms)
    rest = atoms - np.einsum("bt,btp->bp", first, directions)
    second = np.einsum("btp,bp->bt", directions, rest)
    return first + second, rest - np.einsum("bt,btp->bp", second, directions)


def lsr_coefficients(rows: Array, keep: int, ridge: float = 0.01) -> Sparse:
    """Return the ``keep`` largest coefficients of each row by ridge regression, sparse, (n, n).

    Each row is regressed on all others [Lu et al. 2012]. With ``X = U S V^T`` and the hat matrix
    ``H = U S^2 / (S^2 + ridge) U^T`` all leave-one-out regressions are ``C_ij = H_ij / (1 -
    H_ii)``. ``U S`` and ``S^2`` come from the smaller of ``X X^T`` and ``X^T X``: compared with the
    ridge it does not matter that small eigenvalues have fewer digits then.

    ridge: relative to the mean eigenvalue of ``X X^T``.
    """
    n, p = rows.shape
    if not rows.any():
        return sparse.csr_array((n, n))
    values, vectors = positive_eigenpairs(smaller_scatter(rows), max(n, p))
    coordinates = vectors * np.sqrt(values) if n < p else rows @ vectors
    factor = coordinates / np.sqrt(values + ridge * values.mean())  # H = factor factor^T
    leverages = np.einsum("ij,ij->i", factor, factor)
    blocks = [
        _kept(factor[block] @ factor.T, block, 1.0 - leverages[block], keep)
        for block in row_blocks(n)
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def lsr_from_products(products: Array, rank: int, keep: int, ridge: float = 0.01) -> Sparse:
    """Return `lsr_coefficients` of rows known by their inner products (n, n), of a known rank.

    ``H = I - ridge Q`` with ``Q = (X X^T + ridge I)^-1``, so that ``C_ij = - Q_ij / Q_ii``.
    """
    n, total = len(products), float(products.diagonal().sum())
    if total == 0.0:
        return sparse.csr_array((n, n))
    system = products + np.diag(np.full(n, ridge * total / rank))
    inverse = lapack.dpotri(lapack.dpotrf(system, lower=1)[0], lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    blocks = [
        _kept(-inverse[block], block, inverse.diagonal()[block], keep) for block in row_blocks(n)
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def _kept(numerators: Array, block: Indices, denominators: Array, keep: int) -> Sparse:
    """Return the ``keep`` largest coefficients of a block of rows, (b, n), none for a row itself.

    numerators (b, n), overwritten, and denominators (b,): of all coefficients.
    """
    n = numerators.shape[1]
    numerators[np.arange(len(block)), block] = 0.0
    columns = largest(np.abs(numerators), min(keep, n - 1))
    values = np.take_along_axis(numerators, columns, axis=1) / denominators[:, None]
    return from_entries(columns, values, n)


# Few enough numbers that the arrays of one block stay in the processor's cache.
CACHED = 2**15
# Single precision, which takes half the time, can tell changes above this.
SINGLE = 1e-5
# Steps between two tests of convergence. Each test reads all numbers of a block.
CHECK_EVERY = 10
# The entries of a block of rows that belong to the rows themselves: rows of the block, columns.
Own = tuple[Indices, Indices]


@dataclass(frozen=True)
class Split:
    """The maps of the Z step: U and its transpose (thin, see `_split`), or ``whole``, the matrix Q.

    weights: w; target: U without the column of ones.
    """

    left: Array
    right: Array
    weights: Array
    target: Array
    affine: bool
    whole: Array | None = None


def admm_fidelity(rows: Array, alpha: float) -> float:
    """Return the fidelity ``g = alpha / min_i max_{j != i} |<x_i, x_j>|``.

    Rows that are orthogonal to all others are left out of the minimum.
    """
    top = largest_products(rows)
    top = top[top > 0]
    return alpha / float(top.min()) if len(top) else alpha


def admm_coefficients(
    rows: Array,
    fidelity: float,
    *,
    penalty: float,
    affine: bool = False,
    tolerance: float = 2e-4,
    max_iter: int = 200,
) -> Sparse:
    """Return the coefficients C of the lasso, linear or affine, sparse, (n, n), by ADMM.

        min_C  ||C||_1 + g/2 ||X - C X||^2,   diag(C) = 0,   and C 1 = 1 if affine

    C is split into Z, which meets the data (and the affine constraint), and C, which is sparse
    [Elhamifar & Vidal 2013]. With ``X = U S V^T``, the penalty r of the split, ``w = g S^2 / (g S^2
    + r)`` and the scaled dual D:

        T = C - D,   Z = T + (U_i - T U) w U^T,   C = soft(Z + D, 1/r),   D = D + Z - C

    so a step costs two products with the thin U and nothing of size (n, n) is inverted: the rows of
    C are independent and go by blocks. The affine constraint moves Z along ``m = 1 - U w U^T 1``.
    If U has more than n/2 columns, one product is enough: ``Z - I_i = (T - I_i) Q`` with ``Q = I -
    U w U^T - m m^T / sum(m)``, the last term if affine; Q is dense, (n, n). A published run ends
    after 200 steps, converged or not, and so does this one: with affine subspaces, little noise and
    the published g its objective is then still some per cent above the optimum.

    fidelity: g; penalty: r. A block of rows stops when the largest change of C, and the largest
    difference of C from Z, is at most ``tolerance``.
    """
    split = _split(rows, fidelity, penalty, affine)
    split = _in_float32(split) if tolerance > SINGLE else split
    blocks = [
        _iterate(split, block, 1.0 / penalty, tolerance, max_iter)
        for block in row_blocks(len(rows), CACHED)
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def _in_float32(split: Split) -> Split:
    left, right, weights, target = (
        each.astype(np.float32) for each in (split.left, split.right, split.weights, split.target)
    )
    whole = None if split.whole is None else split.whole.astype(np.float32)
    return Split(left, right, weights, target, split.affine, whole)


def _split(rows: Array, fidelity: float, penalty: float, affine: bool) -> Split:
    """Return the maps: ``left`` = U, ``right`` = U^T; and ``whole`` = Q if U is not thin.

    If affine, ``left`` has a column of ones more, and ``right`` a row m / sum(m).
    """
    axes = principal_axes(rows, 0)
    basis = axes.coordinates / np.sqrt(axes.eigenvalues)
    weights = fidelity * axes.eigenvalues / (fidelity * axes.eigenvalues + penalty)
    whole = np.eye(len(rows)) - (basis * weights) @ basis.T if 2 * axes.rank > len(rows) else None
    if not affine:
        return Split(basis, np.ascontiguousarray(basis.T), weights, basis, False, whole)
    sums = basis.sum(axis=0)
    move = 1.0 - basis @ (weights * sums)
    ones, total = np.ones((len(rows), 1)), float(move.sum())
    # Rows of full rank, fitted without error but for rounding: any move to sum one will do.
    share = move / total if total > 0.0 else np.full(len(rows), 1.0 / len(rows))
    if whole is not None:
        whole -= np.outer(move, share)
    return Split(np.hstack([basis, ones]), np.vstack([basis.T, share]), weights, basis, True, whole)


def _meet(split: Split, start: Array, spare: Array, own: Own) -> tuple[Array, Array]:
    """Return Z computed from T, which is overwritten, and the array of the two that is now free.

    start: T; spare: an array to write to; own: the entries that belong to the rows themselves.
    """
    if split.whole is not None:
        start[own] -= 1.0
        np.matmul(start, split.whole, out=spare)
        spare[own] += 1.0
        return spare, start
    seen, rank = start @ split.left, len(split.weights)
    step = (split.target[own[1]] - seen[:, :rank]) * split.weights
    if split.affine:
        excess = seen[:, rank] + step @ split.target.sum(axis=0) - 1.0
        step = np.column_stack([step, -excess])
    np.matmul(step, split.right, out=spare)
    start += spare
    return start, spare


def _iterate(
    split: Split, block: Indices, threshold: float, tolerance: float, max_iter: int
) -> Sparse:
    own: Own = np.arange(len(block)), block
    room: Array = np.zeros((5, len(block), len(split.target)), split.left.dtype)
    met, spare, dual, sparse_part, before = room
    for step in range(1, max_iter + 1):
        np.subtract(sparse_part, dual, out=met)
        met, spare = _meet(split, met, spare, own)
        dual += met
        diagonal = dual[own]
        # soft(v, t) = v - clip(v, -t, t), and the new dual is what was clipped off
        np.clip(dual, -threshold, threshold, out=spare)
        sparse_part, before = before, sparse_part
        np.subtract(dual, spare, out=sparse_part)
        sparse_part[own] = 0.0
        spare[own] = diagonal
        dual, spare = spare, dual
        if step % CHECK_EVERY == 0:
            gap = max(np.abs(met - sparse_part).max(), np.abs(before - sparse_part).max())
            if gap <= tolerance:
                break
    return sparse.csr_array(sparse_part, dtype=float)


FIDELITY, L1_RATIO = 2.0, 0.9
# A row of length 1 is done if no coefficient moves by more than this in an iteration. Rows that are
# not done after MOST_SWEEPS are nearly copies of each other, so any of them is fine.
COEFFICIENT_TOLERANCE, MOST_SWEEPS, LOOK_EVERY = 1e-4, 100, 5


def local_elastic_net(rows: Array, nearest: Indices) -> Sparse:
    """Return the coefficients of rows (n, p) of length 1 by their nearest (n, m), sparse, (n, n).

    For each row, with l = 0.9 and ``g = 2 l / max_j |<x_i, x_j>|``, by coordinate descent for all
    rows at once:

        min_c  l ||c||_1 + (1 - l)/2 ||c||^2 + g/2 ||x_i - sum_j c_j x_j||^2,   j among its nearest

    If clusters are curved, as the views of a turning object are, a row's neighbours lie along the
    curve and express it, and no flat through the whole cluster is asked for. The fidelity is twice
    that at which all coefficients vanish (`SSC` has 5 times), so that few neighbours are used.
    """
    neighbours = rows[nearest]
    products = np.matmul(neighbours, neighbours.transpose(0, 2, 1))
    return _local_elastic_net(products, np.einsum("nmp,np->nm", neighbours, rows), nearest)


def local_elastic_net_from_products(products: Array, nearest: Indices) -> Sparse:
    """Return `local_elastic_net` of rows known by their inner products (n, n)."""
    among = products[nearest[:, :, None], nearest[:, None, :]]
    return _local_elastic_net(among, np.take_along_axis(products, nearest, axis=1), nearest)


def _local_elastic_net(among: Array, own: Array, nearest: Indices) -> Sparse:
    """Return the coefficients of each row by its nearest (n, m).

    among (n, m, m), own (n, m): inner products of the nearest with each other, and with the row.
    """
    n, m = nearest.shape
    products, own = among.transpose(1, 2, 0).copy(), own.T
    found, active = np.zeros((m, n)), np.arange(n)
    top = np.abs(own).max(axis=0)
    fidelity = FIDELITY * L1_RATIO / np.where(top > 0.0, top, 1.0)
    rest = own * fidelity
    products *= fidelity
    coefficients = np.zeros((m, n))
    for sweep in range(1, MOST_SWEEPS + 1):
        largest = np.zeros(len(active))
        for j in range(m):
            pull = rest[j] + products[j, j] * coefficients[j]
            value = np.sign(pull) * np.maximum(np.abs(pull) - L1_RATIO, 0.0)
            value /= products[j, j] + 1.0 - L1_RATIO
            step = value - coefficients[j]
            coefficients[j] = value
            rest -= products[j] * step
            np.maximum(largest, np.abs(step), out=largest)
        if sweep % LOOK_EVERY == 0 or sweep == MOST_SWEEPS:
            found[:, active] = coefficients
            moving = largest > COEFFICIENT_TOLERANCE
            if not moving.any():
                break
            active, rest, coefficients = active[moving], rest[:, moving], coefficients[:, moving]
            products = products[:, :, moving]
    return from_entries(nearest, found.T, n)


# Rows in the first support, most rows that join it in a round, and the rounds after which to stop.
FIRST_SUPPORT, GROWTH, MOST_ROUNDS = 50, 50, 100


@dataclass(frozen=True)
class Penalty:
    """The share of the l1 norm, the solver's tolerance, and its largest number of sweeps."""

    l1_ratio: float
    tolerance: float
    max_iter: int


@dataclass(frozen=True)
class Expansion:
    """One row's solution: its number, its fidelity g, and its support with coefficients."""

    own: int
    fidelity: float
    support: Indices
    values: Array


def fidelities(rows: Array, alpha: float, l1_ratio: float = 1.0) -> Array:
    """Return the fidelity of each row, ``g_i = alpha l / max_{j != i} |<x_i, x_j>|``, (n,).

    With alpha <= 1 all coefficients are 0. A row that is orthogonal to all others gets 0.
    """
    top = largest_products(rows)
    return np.divide(alpha * l1_ratio, top, out=np.zeros_like(top), where=top > 0)


def elastic_net_coefficients(
    rows: Array,
    fidelity: Array,
    l1_ratio: float = 1.0,
    *,
    tolerance: float = 1e-4,
    max_iter: int = 1000,
) -> Sparse:
    """Return the coefficients C of all rows, sparse, (n, n); an l1_ratio of 1 is the lasso.

    For each row, with ``l`` the l1 ratio and ``g`` the fidelity [You, Li, Robinson & Vidal 2016]:

        min_c  l ||c||_1 + (1 - l)/2 ||c||^2 + g/2 ||x_i - sum_j c_j x_j||^2,   c_i = 0

    A solution on a support solves the problem on all rows if ``g |<x_j, residual>| <= l`` for every
    other row. So each row is first solved on the rows nearest to it by angle; the others are
    checked, a whole block at once, and those that break the bound join the support.

    fidelity: (n,), see `fidelities`. ``tolerance`` bounds the duality gap relative to
    ``||x_i||^2``; its root is the share by which a row outside of the support may break its bound.
    ``max_iter`` bounds the sweeps on one support, many only if the rows are nearly collinear. A
    row of fidelity 0 stays empty.
    """
    penalty = Penalty(l1_ratio, tolerance, max_iter)
    solved: list[Expansion] = []
    plain = config_context(skip_parameter_validation=True, array_api_dispatch=False)
    with plain, changed_filters():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for block in row_blocks(len(rows)):
            solved += _solve_block(rows, block[fidelity[block] > 0], fidelity, penalty)
    return _as_sparse(solved, len(rows))


def _solve_block(rows: Array, block: Indices, fidelity: Array, penalty: Penalty) -> list[Expansion]:
    """Return the expansions of the rows of a block, each solved on a growing support.

    Rows that break the bound join the support until none does.
    """
    if not len(block):
        return []
    closeness = np.abs(rows[block] @ rows.T)
    closeness[np.arange(len(block)), block] = -1.0
    first = largest(closeness, min(FIRST_SUPPORT, len(rows) - 1))
    pending = [
        Expansion(own, float(fidelity[own]), support, np.zeros(len(support)))
        for own, support in zip(block, first, strict=True)
    ]
    done: list[Expansion] = []
    for _ in range(MOST_ROUNDS):
        pending = [_solve_row(rows, expansion, penalty) for expansion in pending]
        missed = _missed(rows, pending, penalty)
        pairs = list(zip(pending, missed, strict=True))
        done += [expansion for expansion, others in pairs if not len(others)]
        pending = [_grow(expansion, others) for expansion, others in pairs if len(others)]
        if not pending:
            break
    return done + pending


def _solve_row(rows: Array, expansion: Expansion, penalty: Penalty) -> Expansion:
    """Return the expansion solved on its support by coordinate descent, zeros dropped."""
    atoms, target = rows[expansion.support], rows[expansion.own]
    weight = 1.0 / (expansion.fidelity * len(target))
    values = enet_path(
        atoms.T, target, l1_ratio=penalty.l1_ratio, alphas=[weight], precompute=atoms @ atoms.T,
        Xy=atoms @ target, coef_init=expansion.values, check_input=False, tol=penalty.tolerance,
        max_iter=penalty.max_iter,
    )[1][:, 0]  # fmt: skip
    used = values != 0
    return replace(expansion, support=expansion.support[used], values=values[used])


def _missed(rows: Array, expansions: list[Expansion], penalty: Penalty) -> list[Indices]:
    """Return for each expansion up to 50 rows outside of its support that break the bound most."""
    own = np.array([expansion.own for expansion in expansions])
    factors = np.array([expansion.fidelity for expansion in expansions]) / penalty.l1_ratio
    residual = rows[own] - np.array([e.values @ rows[e.support] for e in expansions])
    excess = np.abs(residual @ rows.T) * factors[:, None]
    for row, expansion in zip(excess, expansions, strict=True):
        row[expansion.support] = row[expansion.own] = 0.0
    worst = largest(excess, GROWTH)
    heights = np.take_along_axis(excess, worst, axis=1)
    bound = 1.0 + np.sqrt(penalty.tolerance)
    return [row[height > bound] for row, height in zip(worst, heights, strict=True)]


def _grow(expansion: Expansion, others: Indices) -> Expansion:
    return replace(
        expansion,
        support=np.concatenate([expansion.support, others]),
        values=np.concatenate([expansion.values, np.zeros(len(others))]),
    )


def _as_sparse(expansions: list[Expansion], n: int) -> Sparse:
    if not expansions:
        return sparse.csr_array((n, n))
    owners = [np.full(len(e.support), e.own) for e in expansions]
    columns = np.concatenate([e.support for e in expansions])
    values = np.concatenate([e.values for e in expansions])
    return sparse.csr_array((values, (np.concatenate(owners), columns)), shape=(n, n))
