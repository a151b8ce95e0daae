"""Rules for the number of clusters, of dimensions and of variables, as functions.

By default the leave-one-out likelihood chooses K: the candidate with the lowest sum of
`left_out_likelihood`, which is -log density, as are all columns called "likelihood"; K = 1 is
compared by `against_one_subspace`. PRESS chooses K only on request; by default it chooses the
dimensions of clusters with sparse loadings.

PRESS here is the paper's closed form [MM2014, eq. pca_press]: a sample that is left out keeps the
score that it had before, so that a further axis or cluster has to pay for its leverage, once for
the noise of every variable. The exact leave-one-out error has no such cost, and prefers more.
Which rule does what, with the evidence: "How many clusters, dimensions, variables?",
https://subspaces.readthedocs.io.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from subspaces._types import Array, Labels, NoiseKind, Penalty
from subspaces.core.criteria import costs, own_costs
from subspaces.core.influence import paper_errors_oblique
from subspaces.core.likelihood import student_costs
from subspaces.core.partition import Partition
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import choose_rows
from subspaces.core.secular import refit_factor
from subspaces.core.sparse_loadings import captured_energy, sparse_loadings
from subspaces.messages import Grade, Verdict, in_a_row
from subspaces.pca.components import (
    FEWEST_COLUMNS,
    FEWEST_ROWS,
    Components,
    count_components,
    without_noise,
)
from subspaces.subspace import centre_of, principal_axes

# Number of copies with permuted columns that a gap averages.
PERMUTATIONS = 4
# A gap within this share of the largest counts as equal, because the curve is flat beyond it.
FLAT = 0.005
# Columns per component from which on their noise can be distinguished from components.
COLUMNS_A_COMPONENT = 4
# A column whose spread is below this share of the largest has no digits of its own.
LEAST_SPREAD = 1e-9
# A larger K within 1 s.e. of the best, or a smaller one within 2, is reported as "about as good":
# cutting a cluster in two costs little.
TIE_OF_LARGER, TIE = 1.0, 2.0


def closed_form_errors(rows: Array, basis: Array, affine: bool = False) -> Array:
    """Squared leave-one-out errors of a cluster's members by the paper's closed form, (n,).

    rows (n, p): the members; basis (p, R): the cluster's axes or sparse loadings; errors are on all
    p variables. affine: whether the rows are from their mean, which then is refitted without each
    row (`secular`).
    """
    f = refit_factor(len(rows), affine)
    if np.isinf(f):
        return np.full(len(rows), np.inf)
    scores, overlap = rows @ basis, basis.T @ basis
    outside = np.einsum("ij,ij->i", rows, rows) - captured_energy(scores, overlap)
    spectrum = np.sum(scores**2, axis=0)
    outside = f * np.maximum(outside, 0.0)
    return f * paper_errors_oblique(np.sqrt(f) * scores, outside, spectrum, overlap)


def press_of_clusters(errors: Array, labels: Labels) -> Array:
    """Each sample's squared error divided by K times the size of its cluster, (n,).

    The sum is the mean over the clusters of their mean errors: a small cluster counts as much as a
    large one. A sample in no cluster has 0 and does not count.
    """
    partition = Partition(labels, int(labels.max()) + 1)
    own = np.where(labels >= 0, errors, 0.0) / partition.of_own(partition.sizes, 1)
    return own / len(np.unique(labels[labels >= 0]))


def differences(shares: Array) -> tuple[Array, Array]:
    """Each candidate's total less the lowest, (m,), and the standard errors of these differences.

    shares (m, n): what each sample adds to each candidate's total. All candidates have the same
    samples, so that the error is that of a sum of n paired differences; 0 for the lowest candidate.
    """
    totals = shares.sum(axis=1)
    lowest = int(np.argmin(np.where(np.isfinite(totals), totals, np.inf)))
    with np.errstate(invalid="ignore"):
        paired = shares - shares[lowest]
        errors = np.sqrt(shares.shape[1]) * paired.std(axis=1, ddof=1)
    return totals - totals[lowest], errors


def verdict_on_clusters(
    numbers: Sequence[int], behind: Array, errors: Array, dimension: int | None = None
) -> Verdict:
    """Return the chosen K and the numbers that come near it.

    All of them are named; if none does, the next best, with its difference.

    numbers (m,): the candidates for K; behind, errors (m,): what `differences` returns for them; an
    error may be nan. dimension: that of the single subspace which the clusters were compared with,
    if it is larger than the user asked for.
    """
    order = [i for i in np.argsort(behind, kind="stable") if np.isfinite(behind[i])]
    chosen = numbers[order[0]]
    wide = f" (one subspace of {dimension} dimensions)" if dimension else ""
    first = f"1 cluster{wide} fits best." if chosen == 1 else "{chosen} clusters fit best."
    figures: dict[str, Any] = {"chosen": chosen, "near": []}
    if len(order) == 1:
        return Verdict("alone", "Only one number of clusters was tried: {chosen}.", figures)
    # After the dimensions of one subspace a bare number would pass for dimensions.
    many = "clusters are" if chosen == 1 else "are"
    widths = [TIE if k < chosen else TIE_OF_LARGER for k in numbers]
    near = sorted(numbers[i] for i in order[1:] if behind[i] < widths[i] * errors[i])
    if near:
        figures["near"] = near
        named = in_a_row([f"{k}{wide}" if k == 1 else k for k in near])
        verb = "is" if near == [1] else many
        simpler = ", and simpler" if len(near) == 1 else f", and {near[0]} is the simplest"
        simplest = simpler if near[0] < chosen else ""
        fact = f"{first} {named} {verb} about as good (within two standard errors){simplest}."
        return Verdict("as_good", fact, figures, grade=Grade.DOUBTFUL)
    rival, gap, error = numbers[order[1]], float(behind[order[1]]), float(errors[order[1]])
    figures |= {"rival": rival, "difference": gap, "standard_error": error}
    verb = f"cluster{wide} is" if rival == 1 else "clusters are"
    known = f" (standard error {_short(error)})" if np.isfinite(error) else ""
    fact = f"{first} {rival} {verb} worse by {_short(gap)}{known}."
    return Verdict("worse", fact, figures, grade=Grade.SURE)


def _short(value: float) -> str:
    """Return a number as text: whole from 10 on, two significant digits below."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def normal_scores(matrix: Array, affine: bool) -> Array:
    """Each column's values replaced by normal quantiles of their ranks, (n, p).

    Whatever its tails, skewness and unit, a column becomes standard normal, and the order of its
    values stays. Without ``affine``, for subspaces through the origin, the absolute values are
    ranked and every value keeps its sign.
    """
    n = len(matrix)
    if affine:
        return stats.norm.ppf(stats.rankdata(matrix, axis=0) / (n + 1))
    ranks = stats.rankdata(np.abs(matrix), axis=0)
    return np.sign(matrix) * stats.norm.ppf(0.5 + 0.5 * ranks / (n + 1))


def excess_kurtosis(residuals: Array) -> float:
    """Median over the columns of their excess kurtosis: 0 for a Gaussian, positive for heavy tails.

    Columns that hold nothing but rounding do not count; 0 if all columns are of that kind.
    """
    spread = residuals.std(axis=0)
    kept = residuals[:, spread > LEAST_SPREAD * spread.max(initial=0.0)]
    if not kept.size:
        return 0.0
    return float(np.median(stats.kurtosis(kept, axis=0)))


def values_of_columns(matrix: Array) -> float:
    """Return the median over the columns of how many different values they have."""
    ordered = np.sort(matrix, axis=0)
    return float(np.median(1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)))


def second_differences(values: Sequence[float]) -> Array:
    """``log W_{K-1} + log W_{K+1} - 2 log W_K`` for consecutive K, (m,); nan at both ends.

    values (m,): W_K, a total squared residual for each K. The largest entry marks the bend of the
    curve.
    """
    logs = np.log(np.maximum(values, np.finfo(float).tiny))
    inner = logs[:-2] + logs[2:] - 2.0 * logs[1:-1]
    return np.concatenate([[np.nan], inner, [np.nan]])[: len(logs)]


def left_out_likelihood(
    matrix: Array, labels: Labels, dimensions: Sequence[int], affine: bool
) -> Array:
    """-log density of every sample under the Gaussian of the others in its cluster, (n,).

    The sum over the samples chooses K; less is better. Clusters have their principal axes on all
    variables, never sparse loadings. Unlike an error this charges for room: a cluster of more
    dimensions, or a single one in place of two, spreads its density where no sample is. A sample in
    no cluster has 0, and the others are scored as if it were not there.
    """
    if (labels < 0).any():
        found, kept = np.zeros(len(labels)), labels >= 0
        found[kept] = left_out_likelihood(matrix[kept], labels[kept], dimensions, affine)
        return found
    problem = _likelihood_problem(matrix, dimensions, affine)
    views = view_clusters(problem, labels)
    return own_costs(costs("likelihood", views, problem.data), labels)


def _likelihood_problem(matrix: Array, dimensions: Sequence[int], affine: bool) -> Problem:
    """Return the `Problem` of criterion "likelihood", not sparse, on rows centred if affine."""
    rows = choose_rows(matrix - centre_of(matrix, affine), len(dimensions))
    return Problem(rows, tuple(dimensions), "likelihood", affine)


def left_out_student(
    matrix: Array, labels: Labels, dimensions: Sequence[int], affine: bool
) -> Array:
    """`left_out_likelihood` with Student tails (`student_costs`): far samples weigh less."""
    problem = _likelihood_problem(matrix, dimensions, affine)
    return student_costs(view_clusters(problem, labels), problem.data)


def against_one_subspace(
    matrix: Array,
    labels: Labels,
    dimensions: Sequence[int],
    affine: bool,
    tried: Sequence[int],
) -> tuple[Array, int]:
    """Each sample's -log density under one subspace less that under K, (n,); its dimension.

    labels (n,), dimensions (K,): of the K clusters. One subspace of R dimensions cannot hold what K
    of them hold, so that any correlation of the variables would favour clusters. The one
    subspace therefore has the likeliest of the dimensions ``tried``, ascending, and this is
    returned second. Tails are Student's (`student_costs`), so that a few far samples do not decide.
    No fit is needed: each dimension is a down-date of one PCA.
    A sample in no cluster has 0, and the others are scored as if it were not there.
    """
    if (labels < 0).any():
        found, kept = np.zeros(len(labels)), labels >= 0
        rest = dimensions, affine, tried
        found[kept], r = against_one_subspace(matrix[kept], labels[kept], *rest)
        return found, r
    problem = _likelihood_problem(matrix, dimensions, affine)
    clusters = student_costs(view_clusters(problem, labels), problem.data)
    # A subspace as large as the rank would hold every sample without error.
    tried = [r for r in tried if r < problem.rows.rank] or tried[:1]
    widest = problem.rows.view(np.arange(len(matrix)), tried[-1], affine)
    alone = [student_costs([widest.narrowed(r)], problem.data) for r in tried]
    best = int(np.argmin([each.sum() for each in alone]))
    return alone[best] - clusters, tried[best]


def dimension_by_press(
    rows: Array, max_components: int, n_variables: int, penalty: Penalty, affine: bool = False
) -> Array:
    """PRESS of a cluster with 1, 2, ... sparse loadings, (max_components,); least is best.

    rows (n, p): the members, from their mean if affine. Infinite if no more loading is found.
    """
    basis = sparse_loadings(rows, max_components, n_variables, penalty)
    found = int(np.count_nonzero(basis.any(axis=0)))
    values = [closed_form_errors(rows, basis[:, :r], affine).mean() for r in range(1, found + 1)]
    return np.array(values + [np.inf] * (max_components - found))


def components_of_members(
    rows: Array, max_components: int, affine: bool = False
) -> Components | None:
    """Return how many components of a cluster's members are more than noise (`components.py`).

    rows (n, p): from their mean if affine. Members that span fewer directions than they could have
    no noise. None if they are too few to tell, or their columns are.

    Beside few columns a component looks like the noise of some loud ones. The noise of all is then
    taken as equal, which is what the distances of a cluster assume.
    """
    varies = np.any(rows != 0.0, axis=0)
    rows = rows if varies.all() else rows[:, varies]
    n, p = rows.shape
    axes = principal_axes(rows)
    if axes.rank < min(n - affine, p) and axes.rank <= max_components:
        return without_noise(axes, center=affine)
    if n < FEWEST_ROWS or p < FEWEST_COLUMNS:
        return None
    noise: NoiseKind = "auto" if p >= COLUMNS_A_COMPONENT * max_components else "equal"
    return count_components(axes, max_components, noise, center=affine)


def dimension_by_noise(rows: Array, max_components: int, affine: bool = False) -> int:
    """Return the count of `components_of_members`, which may be 0; 1 if it is unknown."""
    found = components_of_members(rows, max_components, affine)
    return 1 if found is None else found.count


def permutation_gap(
    members: Sequence[Array],
    dimensions: Sequence[int],
    candidates: Sequence[int],
    penalty: Penalty,
    random: np.random.Generator,
) -> Array:
    """Log captured energy less its mean over copies with permuted columns, (len(candidates),).

    members: the centred rows of each cluster; candidates: numbers of variables per loading.
    """
    copies = [[random.permuted(rows, axis=0) for rows in members] for _ in range(PERMUTATIONS)]
    observed = _log_energies(members, dimensions, candidates, penalty)
    return observed - np.mean(
        [_log_energies(copy, dimensions, candidates, penalty) for copy in copies], axis=0
    )


def smallest_of_the_best(gaps: Array) -> int:
    """Return the index of the first gap within the share FLAT of the largest gap."""
    top = float(gaps.max())
    return int(np.argmax(gaps >= top - FLAT * abs(top)))


def _log_energies(
    members: Sequence[Array], dimensions: Sequence[int], candidates: Sequence[int], penalty: Penalty
) -> Array:
    """Log of the members' energy on loadings of m variables, for each m, (len(candidates),)."""
    totals = []
    for m in candidates:
        total = 0.0
        for rows, r in zip(members, dimensions, strict=True):
            basis = sparse_loadings(rows, r, m, penalty)
            total += float(captured_energy(rows @ basis, basis.T @ basis).sum())
        totals.append(total)
    return np.log(np.maximum(totals, np.finfo(float).tiny))


def largest_dimension(rows: Array, max_components: int) -> int:
    """Return the largest dimension to try for members (n, p): they need two beyond it."""
    n, p = rows.shape
    return max(min(max_components, n - 2, p), 1)


def variable_candidates(n_features: int) -> list[int]:
    """Return the numbers of variables to try: each up to 20, then about seven a decade."""
    small = range(1, min(20, n_features) + 1)
    steps = int(7 * np.log10(max(n_features / 20, 1))) + 2
    large = np.unique(np.geomspace(20, max(n_features, 20), steps).round()).astype(int)
    return [*small, *[int(m) for m in large if 20 < m <= n_features]]
