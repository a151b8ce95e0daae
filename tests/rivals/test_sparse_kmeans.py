import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from subspaces.core.partition import canonical
from subspaces.rivals.sparse_kmeans import (
    PERMUTATIONS,
    STARTS,
    GapTable,
    alternate_weights,
    best_of_starts,
    between_squares,
    bounded_weights,
    candidate_bounds,
    counted_weights,
    first_partitions,
    gap_table,
)
from tests.plain import generic


def bisected_weights(between, bound):
    """w = (a - D)_+ / ||.||_2 with D by halving the interval until ||w||_1 meets the bound."""

    def weights(threshold):
        above = np.maximum(between - threshold, 0.0)
        return above / np.linalg.norm(above)

    if weights(0.0).sum() <= bound:
        return weights(0.0)
    low, high = 0.0, between.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if weights(middle).sum() > bound else (low, middle)
    return weights(low)


def three_groups(n=45, p=30, informative=4, shift=2.0, seed=0):
    random = np.random.default_rng(seed)
    target = np.arange(n) % 3
    X = random.normal(size=(n, p)) + 5.0
    X[:, 7 : 7 + informative] += shift * target[:, None]
    return X, target


@pytest.mark.parametrize("p", [2, 3, 10, 200])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_the_exact_threshold_is_that_of_the_bisection(p, share):
    for seed in range(10):
        between = np.random.default_rng(seed).gamma(0.5, size=p) + 0.1
        bound = 1.0 + share * (np.sqrt(p) - 1.0)
        weights = bounded_weights(between, bound)
        assert_allclose(weights, bisected_weights(between, bound), atol=1e-9)


@pytest.mark.parametrize("bound", [1.0, 1.5, 3.0, 5.0])
def test_optimality_conditions(bound):
    """a = D + 2 l w on the support, a <= D off it, D = 0 unless the bound is met."""
    between = np.random.default_rng(3).gamma(0.5, size=40)
    weights = bounded_weights(between, bound)
    assert weights.min() >= 0.0
    assert np.linalg.norm(weights) <= 1.0 + 1e-12
    assert weights.sum() <= bound + 1e-12
    used = weights > 0
    if used.sum() > 1:
        slope, threshold = np.polyfit(weights[used], between[used], 1)
        assert_allclose(between[used], threshold + slope * weights[used], rtol=1e-9)
        assert slope > 0
        assert between[~used].max(initial=0.0) <= threshold + 1e-9
        assert abs(threshold) < 1e-9 or weights.sum() == pytest.approx(bound)


def test_no_feasible_weights_do_better():
    random = np.random.default_rng(0)
    between, bound = random.gamma(0.5, size=12), 1.8
    best = bounded_weights(between, bound) @ between
    for _ in range(2000):
        other = np.abs(random.normal(size=12)) * (random.random(12) < 0.4)
        other /= max(np.linalg.norm(other), other.sum() / bound, 1e-12)
        assert other @ between <= best + 1e-12


def test_without_constraint_the_weights_are_proportional():
    between = np.array([3.0, 1.0, 0.0, 2.0])
    assert_allclose(bounded_weights(between, 2.0), between / np.sqrt(14.0), rtol=1e-14)
    assert_allclose(counted_weights(between, 4), between / np.sqrt(14.0), rtol=1e-14)


def test_a_bound_of_one_is_one_variable():
    assert_allclose(bounded_weights(np.array([1.0, 5.0, 4.99]), 1.0), [0, 1, 0])


def test_variables_that_tie_share_the_bound():
    between = np.array([2.0, 7.0, 7.0, 1.0, 7.0])
    assert_allclose(bounded_weights(between, 1.5), [0, 0.5, 0.5, 0, 0.5])
    weights = bounded_weights(between, 1.9)
    assert weights.sum() == pytest.approx(1.9)
    assert weights @ between <= 1.9 * 7.0
    assert_allclose(weights, bisected_weights(between, 1.9), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-280, 1e280])
def test_scale_does_not_matter(scale):
    between = np.random.default_rng(1).gamma(0.5, size=20)
    for rule in (lambda a: bounded_weights(a, 2.2), lambda a: counted_weights(a, 6)):
        assert_allclose(rule(scale * between), rule(between), rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 24, 25])
def test_a_count_is_met_and_is_the_solution_of_its_own_bound(count):
    between = np.random.default_rng(2).gamma(0.5, size=25)
    weights = counted_weights(between, count)
    assert np.count_nonzero(weights) == count
    assert_array_equal(np.sort(np.argsort(-between)[:count]), np.flatnonzero(weights))
    assert_allclose(bounded_weights(between, weights.sum()), weights, atol=1e-7)


def test_a_count_is_met_where_variables_tie():
    assert_allclose(
        counted_weights(np.array([4.0, 4.0, 1.0, 4.0]), 2), np.array([1, 1, 0, 0]) / 2**0.5
    )
    assert_array_equal(
        np.flatnonzero(counted_weights(np.array([1.0, 2.0, 1.0, 1.0]), 3)), [0, 1, 2]
    )
    assert_array_equal(np.flatnonzero(counted_weights(np.array([0.0, 2.0, 0.0]), 2)), [1])


def test_between_squares_are_half_the_papers_differences_of_pairs():
    """a_j = (1/n) sum d_ii'j - sum_k (1/n_k) sum_(i,i' in k) d_ii'j, d the squared difference."""
    X = generic(17, 4)
    labels = np.random.default_rng(0).integers(3, size=17)

    def pairs(rows):
        return sum((x - y) ** 2 for x in rows for y in rows) / len(rows)

    plain = pairs(X) - sum(pairs(X[labels == k]) for k in range(3))
    assert_allclose(between_squares(X, labels), plain / 2, rtol=1e-9)
    assert not between_squares(X, np.zeros(17, dtype=int)).any()


@pytest.mark.parametrize("bound", [1.3, 2.0, 4.0, 30**0.5])
def test_the_objective_never_falls(bound):
    for seed in range(8):
        X, _ = three_groups(shift=0.8, seed=seed)
        random = np.random.default_rng(seed)
        start = random.integers(3, size=len(X))
        end = alternate_weights(X, start, lambda a: bounded_weights(a, bound), 50, 1e-4)
        assert min(np.diff(end.path)) >= -1e-10 * end.path[-1]
        assert end.path[-1] == pytest.approx(end.weights @ between_squares(X, end.labels))
        assert end.path[-1] > 1.05 * end.path[0]
        assert end.stop_reason == "converged"


def test_the_end_is_a_fixed_point_of_both_steps():
    X, _ = three_groups(shift=1.0)
    (start,) = first_partitions(X, 3, 1, np.random.default_rng(0))
    end = alternate_weights(X, start, lambda a: bounded_weights(a, 2.0), 50, 0.0)
    assert_allclose(bounded_weights(between_squares(X, end.labels), 2.0), end.weights, atol=1e-12)
    centres = np.array([X[end.labels == k].mean(axis=0) for k in range(3)])
    distances = ((X[:, None] - centres) ** 2 * end.weights).sum(axis=2)
    assert_array_equal(distances.argmin(axis=1), end.labels)


def test_equal_weights_are_k_means():
    X, _ = three_groups(shift=0.8)
    seed = int(np.random.default_rng(4).integers(2**31, size=1)[0])
    plain = KMeans(3, n_init=1, tol=0.0, random_state=seed).fit(X).labels_
    (start,) = first_partitions(X, 3, 1, np.random.default_rng(4))
    assert_array_equal(start, plain)
    end = alternate_weights(X, start, lambda a: np.full(30, 30**-0.5), 50, 1e-4)
    assert_array_equal(end.labels, plain)


def test_without_constraint_it_is_k_means_where_all_variables_separate_alike():
    """The limit s = sqrt(p): columns that are copies of one another have equal a."""
    column = generic(40, 1)
    X = np.hstack([column, -column, column + 3.0])
    (start,) = first_partitions(X, 4, 1, np.random.default_rng(0))
    end = alternate_weights(X, start, lambda a: bounded_weights(a, 3**0.5), 50, 1e-4)
    assert_allclose(end.weights, 3**-0.5, rtol=1e-7)
    assert_array_equal(end.labels, start)


def test_the_best_start_wins():
    X, _ = three_groups(shift=0.6, seed=1)
    starts = first_partitions(X, 3, 8, np.random.default_rng(0))

    def rule(between):
        return bounded_weights(between, 3.0)

    ends = [alternate_weights(X, start, rule, 50, 1e-4).path[-1] for start in starts]
    assert max(ends) > min(ends)
    assert best_of_starts(X, starts, rule, 50, 1e-4).path[-1] == max(ends)


def test_the_rounds_are_capped():
    X, _ = three_groups(shift=0.5)
    start = np.arange(45) // 15
    end = alternate_weights(X, start, lambda a: bounded_weights(a, 2.0), 1, 0.0)
    assert end.stop_reason == "max_iter"
    assert len(end.path) == 2
    assert end.path[-1] == pytest.approx(end.weights @ between_squares(X, end.labels))
    assert end.path[-1] > end.path[0]


def test_the_gap_is_that_of_the_plain_loop():
    """Gap(s) = log O(s) - mean_b log O_b(s), columns permuted; O(s) the best up to s."""
    X, _ = three_groups(n=24, p=6, informative=2)
    table = gap_table(X, 3, max_iter=50, tol=1e-4, random=np.random.default_rng(5))
    random = np.random.default_rng(5)
    logs = []
    for copy in range(PERMUTATIONS + 1):
        data = X.copy()
        if copy:
            data = random.permuted(X, axis=0)
            assert_allclose(np.sort(data, axis=0), np.sort(X, axis=0))
            assert not np.array_equal(np.sort(data.sum(axis=1)), np.sort(X.sum(axis=1)))
        starts = first_partitions(data, 3, STARTS, random)
        logs.append([])
        for bound in candidate_bounds(6):
            ends = [
                alternate_weights(data, start, lambda a, s=bound: bisected_weights(a, s), 50, 1e-4)
                for start in starts
            ]
            logs[-1].append(np.log(max(end.path[-1] for end in ends)))
        logs[-1] = [max(logs[-1][: place + 1]) for place in range(len(logs[-1]))]
    observed, *permuted = logs
    assert_allclose(table.gaps, np.array(observed) - np.mean(permuted, axis=0), atol=1e-7)
    errors = np.std(permuted, axis=0, ddof=1) / np.sqrt(PERMUTATIONS)
    assert_allclose(table.standard_errors, errors, atol=1e-7)
    assert_allclose(np.log(table.objectives), observed, atol=1e-7)
    assert table.counts[0] <= table.counts[-1] == 6


def test_the_smallest_bound_near_the_largest_gap():
    bounds, gaps = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.82, 0.9, 0.5])
    for error, chosen in [(0.1, 2.0), (0.05, 3.0), (2.0, 1.0)]:
        errors = np.array([9.0, 9.0, error, 9.0])
        assert GapTable(bounds, gaps, gaps, errors, bounds).chosen == chosen


@pytest.mark.parametrize("p", [1, 2, 50])
def test_candidate_bounds_are_within_range(p):
    bounds = candidate_bounds(p)
    assert bounds[0] >= 1.0
    assert bounds[-1] == pytest.approx(np.sqrt(p))
    assert np.all(np.diff(bounds) > 0)


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat(generic(2, 3), 5, axis=0)
    (start,) = first_partitions(X, 4, 1, np.random.default_rng(0))
    end = alternate_weights(X, start, lambda a: bounded_weights(a, 1.2), 50, 1e-4)
    assert_array_equal(canonical(end.labels), [0] * 5 + [1] * 5)


def test_variables_that_differ_by_rounding_alone_share_the_bound():
    eps = np.finfo(float).eps
    between = 1.0 - eps / 2 * np.array([3, 2, 2, 1, 1, 0, 0, 0, 0])
    weights = bounded_weights(between, 3.0)
    np.testing.assert_allclose(weights, 1 / 3, rtol=1e-12)
