"""Criteria for the number of clusters, of dimensions and of variables, as functions.

The PRESS used here is the paper's closed form [MM2014, eq. pca_press]: a sample keeps the score
that it had when it was in, so a further axis or cluster has to pay for its leverage, once for the
noise of every variable. The exact leave-one-out error makes no such charge: it prefers more. docs/
choosing.md says which criterion does what, with the evidence.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from subspaces.core.criteria import costs, own_costs
from subspaces.core.influence import paper_errors_oblique
from subspaces.core.likelihood import student_costs
from subspaces.core.ppca_mixture import fit_mixture
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import choose_rows
from subspaces.core.secular import downdate, refit_factor
from subspaces.core.sparse_basis import captured_energy, sparse_loadings
from subspaces.core.subspace import centre_of, principal_axes

Array = NDArray[np.floating]
Labels = NDArray[np.intp]

PERMUTATIONS = 4
FLAT = 0.005
TRACY_WIDOM_99 = 2.0234
# A column this much smaller than the largest has no digits of its own.
ROUNDING = 1e-9
# Candidates nearer than so many standard errors of their difference are called nearly as good.
TIE = 1.0


def closed_form_errors(rows: Array, basis: Array, affine: bool = False) -> Array:
    """Squared leave-one-out errors of members under their loadings, on all variables.

    affine: whether the rows are from their mean, which then is refitted without each (`secular`).
    """
    f = refit_factor(len(rows), affine)
    if np.isinf(f):
        return np.full(len(rows), np.inf)
    scores, overlap = rows @ basis, basis.T @ basis
    outside = np.einsum("ij,ij->i", rows, rows) - captured_energy(scores, overlap)
    spectrum = np.sum(scores**2, axis=0)
    outside = f * np.maximum(outside, 0.0)
    return f * paper_errors_oblique(np.sqrt(f) * scores, outside, spectrum, overlap)


def press_of_points(errors: Array, labels: Labels) -> Array:
    """Each sample's share of the mean over the samples."""
    return errors / len(errors)


def press_of_clusters(errors: Array, labels: Labels) -> Array:
    """Each sample's share of the mean over the clusters of their means.

    A small cluster counts as much as a large one.
    """
    return press_sum(errors, labels) / len(np.unique(labels))


def press_sum(errors: Array, labels: Labels) -> Array:
    """Each sample's share of the sum over the clusters of their means.

    The sum grows with K, and so always takes the smallest.
    """
    return errors / np.bincount(labels)[labels]


def differences(shares: Array) -> tuple[Array, Array]:
    """How far each candidate is behind the lowest, and the standard error of that, (m,) each.

    shares (m, n): what each sample adds to the criterion of each candidate. The same samples speak
    for and against, so that the error is that of a sum of n paired differences; 0 for the lowest.
    """
    totals = shares.sum(axis=1)
    lowest = int(np.argmin(np.where(np.isfinite(totals), totals, np.inf)))
    with np.errstate(invalid="ignore"):
        paired = shares - shares[lowest]
        errors = np.sqrt(shares.shape[1]) * paired.std(axis=1, ddof=1)
    return totals - totals[lowest], errors


def verdict_on_clusters(
    numbers: Sequence[int], behind: Array, errors: Array, dimension: int | None = None
) -> str:
    """How many clusters, and how near the next best number comes, in one sentence.

    behind, errors: as `differences` gives them, for each of the numbers; an error may be nan.
    dimension: that of the one subspace which the clusters were compared with, if it is larger than
    asked for.
    """
    order = [i for i in np.argsort(behind, kind="stable") if np.isfinite(behind[i])]
    chosen = numbers[order[0]]
    words = "1 cluster" if chosen == 1 else f"{chosen} clusters"
    wide = f" (one subspace of {dimension} dimensions)" if dimension else ""
    words += wide if chosen == 1 else ""
    if len(order) == 1:
        return f"{words}; there is no other number to compare with"
    rival, gap, error = numbers[order[1]], float(behind[order[1]]), float(errors[order[1]])
    verb = f"{wide} is".lstrip() if rival == 1 else "are"
    known = f", standard error {_short(error)}" if np.isfinite(error) else ""
    close = "nearly as good" if gap < TIE * error else "worse"
    return f"{words}; {rival} {verb} {close} (difference {_short(gap)}{known})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def normal_scores(matrix: Array, affine: bool) -> Array:
    """Each column's values replaced by normal quantiles of their ranks, (n, p).

    Whatever its tails, skewness and unit, a column becomes standard normal, and the order of its
    values stays. For subspaces through the origin it is the absolute values that are ranked, and
    signs stay, too.
    """
    n = len(matrix)
    if affine:
        return stats.norm.ppf(stats.rankdata(matrix, axis=0) / (n + 1))
    ranks = stats.rankdata(np.abs(matrix), axis=0)
    return np.sign(matrix) * stats.norm.ppf(0.5 + 0.5 * ranks / (n + 1))


def excess_kurtosis(residuals: Array) -> float:
    """Median over the columns of their excess kurtosis: 0 is Gaussian, above are heavy tails.

    Columns that hold nothing but rounding do not count; 0 where no other is left.
    """
    spread = residuals.std(axis=0)
    kept = residuals[:, spread > ROUNDING * spread.max(initial=0.0)]
    if not kept.size:
        return 0.0
    return float(np.median(stats.kurtosis(kept, axis=0)))


def second_differences(values: Sequence[float]) -> Array:
    """``SOD_K = log W_{K-1} + log W_{K+1} - 2 log W_K``; nan at both ends."""
    logs = np.log(np.maximum(values, np.finfo(float).tiny))
    inner = logs[:-2] + logs[2:] - 2.0 * logs[1:-1]
    return np.concatenate([[np.nan], inner, [np.nan]])[: len(logs)]


def verdict_on_exact(n_clusters: int) -> str:
    """The same where subspaces were found that hold every sample."""
    words = "1 cluster holds" if n_clusters == 1 else f"{n_clusters} clusters hold"
    return f"{words} every sample without error; no other number was tried"


def left_out_likelihood(
    matrix: Array, labels: Labels, dimensions: Sequence[int], affine: bool
) -> Array:
    """-log density of every sample under the Gaussian of the others in its cluster, (n,).

    Unlike an error it charges for room: a cluster of more dimensions, or a single one in place of
    two, spreads its density over positions where no sample is.
    """
    centred = matrix - centre_of(matrix, affine)
    rows = choose_rows(centred, len(dimensions))
    problem = Problem(rows, tuple(dimensions), "likelihood", affine)
    views = view_clusters(problem, labels)
    return own_costs(costs("likelihood", views, problem.data), labels)


def against_one_subspace(
    matrix: Array, labels: Labels, dimensions: Sequence[int], smallest: int, affine: bool
) -> tuple[Array, int]:
    """How much less likely each sample is under one subspace than under K, (n,), and its dimension.

    One subspace of R dimensions cannot hold what K of them hold, so that any correlation of the
    variables would speak for clusters. It may therefore have any dimension from ``smallest`` to the
    sum of theirs, whichever is likeliest. Tails are Student's (`student_costs`), so that a few far
    samples do not decide. No fit is needed: each dimension is a down-date of one PCA.
    """
    rows = choose_rows(matrix - centre_of(matrix, affine), len(dimensions))
    problem = Problem(rows, tuple(dimensions), "likelihood", affine)
    clusters = student_costs(view_clusters(problem, labels), problem.data)
    # A subspace as large as the rank would hold every sample without error.
    largest = max(min(sum(dimensions), rows.rank - 1), smallest)
    widest = rows.view(np.arange(len(matrix)), largest, affine)
    tried = range(smallest, largest + 1)
    alone = [student_costs([widest.narrowed(r)], problem.data) for r in tried]
    best = int(np.argmin([each.sum() for each in alone]))
    return alone[best] - clusters, tried[best]


def mixture_bic(matrix: Array, labels: Labels, dimensions: Sequence[int], affine: bool) -> float:
    """BIC of a mixture of probabilistic PCA with shared noise, EM started from the labels."""
    n, p = matrix.shape
    fitted = fit_mixture(matrix, np.eye(len(dimensions))[labels], dimensions, affine, 100)
    axes = sum(p * r - r * (r - 1) // 2 for r in dimensions)
    free = axes + len(dimensions) - 1 + 1 + (p * len(dimensions) if affine else 0)
    return float(-2.0 * fitted.log_likelihood + free * np.log(n))


def dimension_by_press(
    rows: Array, max_components: int, n_variables: int, penalty: str, affine: bool = False
) -> Array:
    """PRESS of 1, 2, ... sparse loadings on centred members; the least is the choice."""
    basis = sparse_loadings(rows, max_components, n_variables, penalty)
    found = int(np.count_nonzero(basis.any(axis=0)))
    values = [closed_form_errors(rows, basis[:, :r], affine).mean() for r in range(1, found + 1)]
    return np.array(values + [np.inf] * (max_components - found))


def dimension_by_exact_press(rows: Array, max_components: int, affine: bool = False) -> Array:
    """Exact PRESS of 1, 2, ... axes of centred members. It falls with every axis."""
    axes = principal_axes(rows)
    removed = [
        downdate(axes.coordinates, axes.eigenvalues, r, affine).squared_error.mean()
        for r in range(1, max_components + 1)
    ]
    return np.array(removed)


def dimension_by_noise_edge(rows: Array, max_components: int, affine: bool = False) -> int:
    """Eigenvalues above what noise alone reaches once in a hundred; the rank if there is none.

    The largest eigenvalue of n x p noise of variance sigma^2 is Tracy-Widom distributed (Johnstone
    2001); sigma^2 is what the axes left out carry, found by repetition (Kritchman & Nadler 2008).
    n rows from their mean have the scatter of n - 1 from the true one.
    """
    axes = principal_axes(rows)
    n, p = len(rows) - affine, rows.shape[1]
    directions = min(n, p)
    if axes.rank < directions and axes.rank <= max_components:
        return max(axes.rank, 1)
    r = 0
    for _ in range(max_components + 1):
        free = (n - r) * (p - r)
        noise = axes.eigenvalues[r:].sum() / max(free, 1)
        edge = noise * _largest_of_noise(n - r, p - r)
        above = int(np.count_nonzero(axes.eigenvalues[:max_components] > edge))
        if above <= r:
            break
        r = above
    return max(r, 1)


def _largest_of_noise(n: int, p: int) -> float:
    """The 99 % quantile of the largest eigenvalue of the scatter of n x p unit noise."""
    root = np.sqrt(max(n - 1, 1)) + np.sqrt(max(p, 1))
    width = root * (1.0 / np.sqrt(max(n - 1, 1)) + 1.0 / np.sqrt(max(p, 1))) ** (1.0 / 3.0)
    return float(root**2 + TRACY_WIDOM_99 * width)


def dimension_by_permutation(rows: Array, max_components: int, random: np.random.Generator) -> int:
    """Parallel analysis: eigenvalues above those of the rows with every column permuted."""
    observed = principal_axes(rows).eigenvalues[:max_components]
    shuffled = np.zeros(max_components)
    for _ in range(PERMUTATIONS + 1):
        values = principal_axes(random.permuted(rows, axis=0)).eigenvalues[:max_components]
        shuffled[: len(values)] += values / (PERMUTATIONS + 1)
    above = observed > shuffled[: len(observed)]
    return max(int(np.argmin(np.append(above, False))), 1)


def permutation_gap(
    members: Sequence[Array],
    dimensions: Sequence[int],
    candidates: Sequence[int],
    penalty: str,
    random: np.random.Generator,
) -> Array:
    """Log captured energy, less its mean over copies with permuted columns, for each candidate."""
    copies = [[random.permuted(rows, axis=0) for rows in members] for _ in range(PERMUTATIONS)]
    observed = _log_energies(members, dimensions, candidates, penalty)
    return observed - np.mean(
        [_log_energies(copy, dimensions, candidates, penalty) for copy in copies], axis=0
    )


def smallest_of_the_best(gaps: Array) -> int:
    """Place of the first gap within half a per cent of the largest: past it the curve is flat."""
    top = float(gaps.max())
    return int(np.argmax(gaps >= top - FLAT * abs(top)))


def _log_energies(
    members: Sequence[Array], dimensions: Sequence[int], candidates: Sequence[int], penalty: str
) -> Array:
    totals = []
    for m in candidates:
        total = 0.0
        for rows, r in zip(members, dimensions, strict=True):
            basis = sparse_loadings(rows, r, m, penalty)
            total += float(captured_energy(rows @ basis, basis.T @ basis).sum())
        totals.append(total)
    return np.log(np.maximum(totals, np.finfo(float).tiny))


def cross_fitted_p_values(rows: Array, n_components: int, random: np.random.Generator) -> Array:
    """Does a variable follow the cluster's axes? F-tests of each variable, (p,).

    The loadings come from one half of the members; in the other half each variable is regressed on
    the scores from which it has been taken out itself. The smaller of the two halves' p-values
    counts, doubled.
    """
    order = random.permutation(len(rows))
    halves = rows[order[::2]], rows[order[1::2]]
    both = [
        _p_values(test, principal_axes(fit).basis[:, :n_components])
        for fit, test in (halves, halves[::-1])
    ]
    return np.minimum(2.0 * np.minimum(*both), 1.0)


def _p_values(rows: Array, basis: Array) -> Array:
    n, r = len(rows), basis.shape[1]
    freedom = n - r
    scores = rows @ basis
    values = np.ones(rows.shape[1])
    for j, column in enumerate(rows.T):
        total = float(column @ column)
        if freedom < 1 or total == 0.0:
            continue
        without = scores - np.outer(column, basis[j])
        axes = linalg.qr(without, mode="economic")[0]
        explained = float(np.sum((axes.T @ column) ** 2))
        ratio = (explained / r) / max((total - explained) / freedom, np.finfo(float).tiny)
        values[j] = stats.f.sf(ratio, r, freedom)
    return values


def discoveries(p_values: Array, rate: float) -> NDArray[np.bool_]:
    """Benjamini & Hochberg: variables with a false discovery rate of at most ``rate``."""
    return stats.false_discovery_control(p_values) <= rate


def selection_frequency(
    rows: Array,
    n_components: int,
    n_variables: int,
    penalty: str,
    n_halves: int,
    random: np.random.Generator,
) -> Array:
    """How often each variable has a loading in a random half of the members, (p,)."""
    counts = np.zeros(rows.shape[1])
    for _ in range(n_halves):
        half = random.choice(len(rows), len(rows) // 2, replace=False)
        basis = sparse_loadings(rows[half], n_components, n_variables, penalty)
        counts += basis.any(axis=1)
    return counts / n_halves
