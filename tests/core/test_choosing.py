import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats

from subspaces.core.sparse_loadings import sparse_loadings
from subspaces.datasets import make_subspaces
from subspaces.messages import Grade
from subspaces.psc import choosing as choice
from tests.plain import downdated_error, generic, leave_one_out_weights


def test_closed_form_errors_on_sparse_loadings():
    X = generic(20, 12, decay=0.9)
    basis = sparse_loadings(X, 3, 5, "l1")
    spectrum = np.sum((X @ basis) ** 2, axis=0)
    plain = [
        np.sum(downdated_error(x, basis, leave_one_out_weights(x, basis, spectrum, True)) ** 2)
        for x in X
    ]
    assert_allclose(choice.closed_form_errors(X, basis), plain, rtol=1e-9)


def test_press_is_the_mean_of_the_clusters_means():
    errors, labels = np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1])
    assert choice.press_of_clusters(errors, labels).sum() == pytest.approx(6)


def test_differences_have_the_error_of_paired_samples():
    shares = np.random.default_rng(0).normal(size=(3, 50)) + 1.0
    shares[1] -= 0.5
    behind, errors = choice.differences(shares)
    paired = shares[2] - shares[1]
    assert behind[1] == errors[1] == 0
    assert_allclose([behind[2], errors[2]], [paired.sum(), np.sqrt(50) * np.std(paired, ddof=1)])


@pytest.mark.parametrize(
    ("numbers", "behind", "errors", "code", "grade"),
    [
        ([2, 3], [1.1, 0], [4, 0], "as_good", Grade.DOUBTFUL),
        ([2, 3], [15, 0], [14, 0], "as_good", Grade.DOUBTFUL),
        ([1, 2], [15, 0], [14, 0], "as_good", Grade.DOUBTFUL),
        ([2, 3], [0, 15], [0, 14], "worse", Grade.SURE),
        ([2, 3], [0, 15], [0, 7], "worse", Grade.SURE),
        ([2, 3, 4], [0, 10, 12], [0, 3, 13], "as_good", Grade.DOUBTFUL),
        ([1, 2], [0, 50], [0, 9], "worse", Grade.SURE),
        ([1, 2], [9, 0], [np.nan, np.nan], "worse", Grade.SURE),
        ([1, 2, 3], [np.nan, 0, np.nan], [np.nan] * 3, "alone", Grade.UNKNOWN),
        ([1, 2, 3, 4], [5, 2, 3, 0], [2, 3, 9, 0], "as_good", Grade.DOUBTFUL),
        ([1, 2, 3], [0, 2, 3], [0, 3, 9], "as_good", Grade.DOUBTFUL),
    ],
)
def test_the_verdict_says_how_near_the_next_is(numbers, behind, errors, code, grade):
    found = choice.verdict_on_clusters(numbers, np.array(behind), np.array(errors))
    assert (found.code, found.grade) == (code, grade)
    assert found.parameters["chosen"] == numbers[int(np.nanargmin(behind))]
    near = found.parameters["near"]
    assert bool(near) == (code == "as_good")
    assert near == sorted(near)
    if "rival" in found.parameters:
        place = numbers.index(found.parameters["rival"])
        assert found.parameters["difference"] == behind[place]


def test_second_differences():
    values = np.exp([5.0, 3.0, 2.5, 2.4])
    assert_allclose(choice.second_differences(values), [np.nan, 1.5, 0.4, np.nan])


def test_left_out_likelihood_of_one_cluster():
    X = generic(15, 4, decay=0.8)
    total = 0.0
    s = np.linalg.svd(X, compute_uv=False)
    noise = np.sum(s[1:] ** 2) / (15 * 3)
    for i in range(15):
        rest = np.delete(X, i, axis=0)
        axis = np.linalg.svd(rest, full_matrices=False)[2][0]
        along = max(np.mean((rest @ axis) ** 2), noise)
        cov = noise * (np.eye(4) - np.outer(axis, axis)) + along * np.outer(axis, axis)
        total -= stats.multivariate_normal(cov=cov).logpdf(X[i]) + np.log(14 / 15)
    total -= 15 * 2 * np.log(2 * np.pi)
    found = choice.left_out_likelihood(X, np.zeros(15, dtype=int), [1], False)
    assert_allclose(found.sum(), total, rtol=1e-9)


@pytest.mark.parametrize("affine", [False, True])
def test_normal_scores_keep_the_order_and_nothing_else(affine):
    X = np.random.default_rng(0).normal([0.0, 1.0, -2.0], size=(40, 3))
    X[:5, 0] = 0.0
    found = choice.normal_scores(X, affine)
    assert_array_equal(found, choice.normal_scores(1e3 * np.sign(X) * np.abs(X) ** 3, affine))
    if affine:
        assert_allclose(found[:, 1:].mean(axis=0), 0, atol=1e-12)
        order = np.argsort(X[:, 1])
        assert_allclose(found[order, 1], stats.norm.ppf(np.arange(1, 41) / 41))
    else:
        assert_array_equal(np.sign(found), np.sign(X))
        order = np.argsort(np.abs(X[:, 1]))
        assert_allclose(np.abs(found[order, 1]), stats.halfnorm.ppf(np.arange(1, 41) / 41))


def test_kurtosis_is_that_of_most_columns():
    X = np.random.default_rng(0).normal(size=(4000, 5))
    X[:, 0] **= 5
    assert abs(choice.excess_kurtosis(X)) < 0.3
    assert choice.excess_kurtosis(X**3) > 5
    assert choice.excess_kurtosis(np.zeros((5, 2))) == 0.0


def refitted_student(X, labels, dimensions, affine):
    """-log t density of every row under its cluster, fitted anew without it; scale by search."""
    n, p = X.shape
    clusters = [X[labels == k] for k in range(len(dimensions))]
    energy = freedom = 0.0
    for rows, r in zip(clusters, dimensions, strict=True):
        singular = np.linalg.svd(rows - affine * rows.mean(axis=0), compute_uv=False)
        energy += np.sum(singular[r:] ** 2)
        freedom += (len(rows) - affine) * (p - r)
    noise, log_scale, distance = energy / freedom, np.empty(n), np.empty(n)
    for i in range(n):
        r = dimensions[labels[i]]
        others = X[(labels == labels[i]) & (np.arange(n) != i)]
        centre = affine * others.mean(axis=0)
        axes = np.linalg.svd(others - centre, full_matrices=False)[2][:r]
        along = np.maximum(np.mean(((others - centre) @ axes.T) ** 2, axis=0), noise)
        covariance = noise * np.eye(p) + axes.T @ np.diag(along - noise) @ axes
        x = X[i] - centre
        distance[i] = x @ np.linalg.solve(covariance, x)
        log_scale[i] = 0.5 * np.linalg.slogdet(covariance)[1] - np.log(len(others) / n)

    def costs(log_c):
        tails = np.log1p(distance / (3 * np.exp(log_c)))
        return log_scale + 0.5 * (p * log_c + (p + 3) * tails)

    return costs(optimize.minimize_scalar(lambda c: costs(c).sum(), (-1, 0), tol=1e-12).x)


@pytest.mark.parametrize("affine", [False, True])
def test_one_subspace_may_have_all_dimensions_of_the_clusters(affine):
    random = np.random.default_rng(3)
    X = random.standard_t(4, size=(24, 6)) * [5, 4, 3, 1, 1, 1] @ random.normal(size=(6, 6)) + 7
    labels = np.repeat([0, 1], [10, 14])
    clusters = refitted_student(X, labels, [1, 2], affine)
    alone = [refitted_student(X, np.zeros(24, dtype=int), [r], affine) for r in (1, 2, 3)]
    best = int(np.argmin([each.sum() for each in alone]))
    worse, dimension = choice.against_one_subspace(X, labels, [1, 2], affine, range(1, 4))
    assert dimension == 1 + best > 1
    assert_allclose(worse, alone[best] - clusters, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_dimensions_of_a_noisy_flat(dimension):
    for seed in range(3):
        rows = make_subspaces(
            80, 200, [dimension], noise=0.5, scores="normal", n_variables=10, random_state=seed
        ).data
        assert np.argmin(choice.dimension_by_press(rows, 6, 10, "l1")) + 1 == dimension
        assert choice.dimension_by_noise(rows, 6) == dimension
        dense = make_subspaces(80, 60, [dimension], noise=0.05, random_state=seed).data
        assert choice.dimension_by_noise(dense, 6) == dimension


def test_noise_has_no_dimension_and_noise_free_data_their_rank():
    random = np.random.default_rng(1)
    assert choice.dimension_by_noise(random.normal(size=(100, 50)), 5) == 0
    assert choice.dimension_by_noise(make_subspaces(30, 9, [3], random_state=0).data, 5) == 3
    assert choice.dimension_by_noise(make_subspaces(30, 3, [2], random_state=0).data, 3) == 2


@pytest.mark.parametrize("affine", [False, True])
def test_planes_among_three_variables_are_planes(affine):
    """Beside so few columns noise is taken as equal, or a component would look like loud noise."""
    for seed in range(5):
        rows = make_subspaces(60, 3, [2], noise=0.05, random_state=seed).data
        rows = rows - rows.mean(axis=0) if affine else rows
        assert choice.dimension_by_noise(rows, 3, affine) == 2


def test_loud_columns_are_no_dimensions_where_there_are_enough():
    random = np.random.default_rng(0)
    loud = np.exp(random.normal(size=40))
    line = 20 * np.outer(random.normal(size=80), random.normal(size=40))
    rows = line + loud * random.normal(size=(80, 40))
    assert choice.dimension_by_noise(rows, 5) == 1
    assert choice.dimension_by_noise(rows[:, :19], 5) > 1  # fewer than four for each of five


@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("p", [1, 2, 3, 50])
@pytest.mark.parametrize("affine", [False, True])
def test_clusters_of_few_members_have_a_dimension(n, p, affine):
    rows = np.random.default_rng(n).normal(size=(n, p))
    rows = rows - rows.mean(axis=0) if affine else rows
    most = choice.largest_dimension(rows, 5)
    found = choice.dimension_by_noise(rows, most, affine)
    rank = np.linalg.matrix_rank(rows)
    assert 0 <= found <= max(rank, 1)
    if n < 5 or p < 3:
        assert found == 1
    still = np.insert(rows, p // 2, 0.0, axis=1)  # a column that does not vary does not matter
    assert choice.dimension_by_noise(still, most, affine) == found


def test_the_gap_is_flat_past_the_true_number():
    random = np.random.default_rng(2)
    rows = make_subspaces(
        100, 80, [1], noise=0.3, scores="normal", n_variables=8, random_state=5
    ).data
    candidates = [*range(2, 20), 30, 80]
    gaps = choice.permutation_gap([rows], [1], candidates, "l1", random)
    assert 6 <= candidates[choice.smallest_of_the_best(gaps)] <= 10


def test_columns_of_few_values():
    columns = [np.arange(10), np.arange(10) % 2, np.arange(10) % 3]
    assert choice.values_of_columns(np.column_stack(columns).astype(float)) == 3.0
