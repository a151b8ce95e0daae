import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from subspaces.core.eigenvalues import rank_of
from subspaces.datasets import make_subspaces
from subspaces.starts import self_expression as shared
from subspaces.starts.self_expression import (
    admm_coefficients,
    admm_fidelity,
    elastic_net_coefficients,
    fidelities,
    lsr_coefficients,
    lsr_from_products,
    omp_coefficients,
    omp_from_products,
)
from tests.plain import generic

ROWS = shared.unit_rows(generic(40, 8, seed=3, decay=0.9))
# More than one block, and supports that have to grow.
MANY = shared.unit_rows(generic(560, 8, seed=3, decay=0.9))


def plain_pursuit(rows, i, n_nonzero, tolerance):
    taken, residual, found = [], rows[i], np.zeros(len(rows))
    while len(taken) < n_nonzero and np.linalg.norm(residual) > tolerance * np.linalg.norm(rows[i]):
        correlations = np.abs(rows @ residual)
        correlations[[i, *taken]] = -1.0
        taken.append(int(correlations.argmax()))
        values = np.linalg.lstsq(rows[taken].T, rows[i], rcond=None)[0]
        residual = rows[i] - values @ rows[taken]
    found[taken] = values
    return found


@pytest.mark.parametrize(
    ("rows", "n_nonzero", "tolerance"), [(ROWS, 1, 0.0), (ROWS, 8, 0.25), (MANY, 4, 0.0)]
)
def test_pursuit_is_its_plain_definition(rows, n_nonzero, tolerance):
    found = omp_coefficients(rows, n_nonzero, tolerance).toarray()
    expected = [plain_pursuit(rows, i, n_nonzero, tolerance) for i in range(len(rows))]
    assert_allclose(found, expected, atol=1e-10)


def test_pursuit_ends_when_nothing_is_left():
    rows = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.0], [4.0, -3.0]]) / 5.0
    found = omp_coefficients(rows, 3).toarray()
    assert_allclose(found, [[0, 0.5, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize(("rows", "l1_ratio"), [(ROWS, 0.5), (MANY, 0.5), (MANY, 0.9), (ROWS, 1.0)])
def test_elastic_net_meets_its_optimality_conditions(rows, l1_ratio):
    fidelity = fidelities(rows, 12.0, l1_ratio)
    found = elastic_net_coefficients(
        rows, fidelity, l1_ratio, tolerance=1e-13, max_iter=100_000
    ).toarray()
    pull = fidelity[:, None] * ((rows - found @ rows) @ rows.T) - (1 - l1_ratio) * found
    np.fill_diagonal(pull, 0.0)
    assert_array_equal(np.diag(found), 0.0)
    assert np.abs(pull).max() <= l1_ratio + 1e-5
    used = found != 0
    assert used.sum(axis=1).min() >= 2
    assert_allclose(pull[used], l1_ratio * np.sign(found[used]), atol=1e-5)


@pytest.mark.parametrize("l1_ratio", [0.8, 1.0])
def test_elastic_net_is_scikit_learns_point_by_point(l1_ratio):
    fidelity = fidelities(ROWS, 8.0, l1_ratio)
    found = elastic_net_coefficients(
        ROWS, fidelity, l1_ratio, tolerance=1e-12, max_iter=100_000
    ).toarray()
    options = {"fit_intercept": False, "tol": 1e-12, "max_iter": 100_000}
    for i in (0, 13, 39):
        others = np.arange(len(ROWS)) != i
        alpha = 1.0 / (fidelity[i] * ROWS.shape[1])
        model = Lasso(alpha, **options) if l1_ratio == 1 else None
        model = model or ElasticNet(alpha, l1_ratio=l1_ratio, **options)
        model.fit(ROWS[others].T, ROWS[i])
        assert_allclose(found[i, others], model.coef_, atol=1e-5)


def test_up_to_alpha_1_all_coefficients_are_zero():
    assert elastic_net_coefficients(ROWS, fidelities(ROWS, 0.999)).nnz == 0
    assert elastic_net_coefficients(ROWS, fidelities(ROWS, 0.999, 0.6), 0.6).nnz == 0
    counts = np.diff(elastic_net_coefficients(ROWS, fidelities(ROWS, 1.01), tolerance=1e-10).indptr)
    assert counts.min() >= 1


# Of few axes for the rows, and of many: two thin products, or one of all rows.
@pytest.mark.parametrize("rows", [ROWS, shared.unit_rows(generic(40, 25, decay=0.95))])
def test_admm_reaches_the_lasso(rows):
    fidelity = admm_fidelity(rows, 8.0)
    found = admm_coefficients(rows, fidelity, penalty=8.0, tolerance=1e-11, max_iter=20_000)
    every = np.full(len(rows), fidelity)
    assert_allclose(
        found.toarray(),
        elastic_net_coefficients(rows, every, tolerance=1e-13, max_iter=100_000).toarray(),
        atol=1e-6,
    )


def test_admm_ends_as_far_from_the_optimum_as_it_says():
    """Little noise, an affine penalty of 800: some per cent by default, 1 % in 2000 steps."""
    union = make_subspaces([40] * 3, 30, [3] * 3, noise=0.02, offset=1.0, random_state=1)
    rows = union.data
    fidelity = admm_fidelity(rows, 800.0)

    def objective(**stop):
        found = admm_coefficients(rows, fidelity, penalty=800.0, affine=True, **stop)
        rest = rows - found @ rows
        return abs(found).sum() + 0.5 * fidelity * np.sum(rest**2)

    best = objective(tolerance=1e-6, max_iter=6000)
    assert 1.02 * best < objective() < 1.1 * best
    assert objective(max_iter=2000) < 1.01 * best


def test_admm_fidelity_is_by_the_least_of_the_largest_products():
    products = np.abs(ROWS @ ROWS.T) - np.eye(len(ROWS)) * 9
    assert_allclose(admm_fidelity(ROWS, 3.0), 3.0 / products.max(axis=1).min())


@pytest.mark.parametrize("p", [4, 14])
def test_affine_admm_is_optimal_among_rows_that_sum_to_one(p):
    rows = generic(25, p, seed=1)
    fidelity = admm_fidelity(rows, 30.0)
    found = admm_coefficients(
        rows, fidelity, penalty=30.0, affine=True, tolerance=1e-11, max_iter=50_000
    ).toarray()
    assert_allclose(found.sum(axis=1), 1.0, atol=1e-8)
    assert_array_equal(np.diag(found), 0.0)
    pull = fidelity * ((rows - found @ rows) @ rows.T)
    for i in range(len(rows)):
        used, others = found[i] != 0, np.arange(len(rows)) != i
        # pull_j = sign(c_j) + nu on the support, within 1 of nu elsewhere
        multiplier = (pull[i, used] - np.sign(found[i, used])).mean()
        assert_allclose(pull[i, used] - multiplier, np.sign(found[i, used]), atol=1e-5)
        assert np.abs(pull[i, others] - multiplier).max() <= 1 + 1e-5


def test_ridge_is_the_regression_on_all_others():
    n = len(ROWS)
    found = lsr_coefficients(ROWS, n - 1, ridge=0.05).toarray()
    ridge = 0.05 * np.linalg.svd(ROWS, compute_uv=False) ** 2
    for i in range(n):
        others = np.arange(n) != i
        model = Ridge(ridge.mean(), fit_intercept=False).fit(ROWS[others].T, ROWS[i])
        assert_allclose(found[i, others], model.coef_, atol=1e-10)


def test_ridge_keeps_the_largest():
    full = lsr_coefficients(ROWS, 39).toarray()
    kept = lsr_coefficients(ROWS, 6).toarray()
    assert_array_equal((kept != 0).sum(axis=1), 6)
    assert_allclose(kept[kept != 0], full[kept != 0])
    smallest_kept = np.where(kept != 0, np.abs(kept), np.inf).min(axis=1)
    assert np.all(np.where(kept == 0, np.abs(full), 0).max(axis=1) <= smallest_kept)


SOLVERS = {
    "omp": lambda rows: omp_coefficients(rows, 5),
    "elastic_net": lambda rows: elastic_net_coefficients(rows, fidelities(rows, 9.0, 0.9), 0.9),
    "lasso": lambda rows: elastic_net_coefficients(rows, fidelities(rows, 9.0)),
    "admm": lambda rows: admm_coefficients(rows, admm_fidelity(rows, 9.0), penalty=9.0),
    "lsr": lambda rows: lsr_coefficients(rows, 15),
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_rows_of_orthogonal_subspaces_do_not_express_each_other(solver):
    random = np.random.default_rng(0)
    rows = np.zeros((36, 7))
    rows[:16, :3] = random.normal(size=(16, 3))
    rows[16:, 3:] = random.normal(size=(20, 4))
    rotation = np.linalg.qr(random.normal(size=(7, 7)))[0]
    found = solver(shared.unit_rows(rows @ rotation)).toarray()
    assert np.abs(found[:16, 16:]).max() < 1e-10
    assert np.abs(found[16:, :16]).max() < 1e-10
    assert np.abs(found).sum(axis=1).min() > 0.1


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_coefficients_follow_rotation_and_order(solver):
    random = np.random.default_rng(5)
    order = random.permutation(len(ROWS))
    rotation = np.linalg.qr(random.normal(size=(8, 8)))[0]
    plain, moved = solver(ROWS).toarray(), solver((ROWS @ rotation)[order]).toarray()
    assert_allclose(moved, plain[np.ix_(order, order)], atol=0.02)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_zero_and_equal_rows_do_no_harm(solver):
    rows = np.vstack([ROWS, ROWS[:3], np.zeros((2, 8))])
    found = solver(rows).toarray()
    assert np.isfinite(found).all()
    assert_array_equal(np.diag(found), 0.0)
    assert not found[-2:].any()
    assert not found[:, -2:].any()


def plain_affinity(matrix, share, scale, power):
    kept = np.zeros_like(matrix)
    for i, row in enumerate(np.abs(matrix)):
        total = 0.0
        for j in np.argsort(-row):
            if total >= share * row.sum():
                break
            kept[i, j] = row[j]
            total += row[j]
        if scale and kept[i].max() > 0:
            kept[i] /= kept[i].max()
    kept = kept**power
    return kept + kept.T


@pytest.mark.parametrize("settings", [(1.0, True, 1.0), (0.7, True, 1.0), (0.4, False, 2.0)])
def test_affinity_is_its_plain_definition(settings):
    matrix = np.random.default_rng(2).normal(size=(12, 12))
    matrix[3], matrix[:, 5] = 0.0, 0.0
    found = shared.affinity(
        sparse.csr_array(matrix), share=settings[0], scale=settings[1], power=settings[2]
    )
    assert sparse.issparse(found)
    assert_allclose(found.toarray(), plain_affinity(matrix, *settings), atol=1e-14)


def test_lifted_rows_make_affine_flats_linear():
    random = np.random.default_rng(0)
    line = random.normal(size=(20, 1)) @ random.normal(size=(1, 5)) + random.normal(size=5)
    assert np.linalg.matrix_rank(line) == 2
    other = shared.lifted_rows(10.0 * line + 3.0)
    assert np.linalg.matrix_rank(other) == 2
    assert_allclose(other, shared.lifted_rows(line))
    assert_allclose(np.mean(np.sum(other[:, :-1] ** 2, axis=1)), 1.0)


@pytest.mark.parametrize("p", [6, 60])
def test_rows_known_by_their_products_are_written_alike(p):
    rows = shared.unit_rows(generic(40, p, seed=3))
    products = rows @ rows.T
    assert_allclose(
        omp_from_products(products, 4).toarray(), omp_coefficients(rows, 4).toarray(), atol=1e-10
    )
    assert_allclose(
        lsr_from_products(products, rank_of(np.linalg.eigvalsh(products)[::-1], 60), 39).toarray(),
        lsr_coefficients(rows, 39).toarray(),
        atol=1e-10,
    )


def test_rows_alike_and_zero_rows_are_written_from_their_products():
    rows = shared.unit_rows(np.vstack([generic(10, 4), generic(10, 4), np.zeros((2, 4))]))
    found = omp_from_products(rows @ rows.T, 5).toarray()
    assert np.isfinite(found).all()
    assert_allclose((found @ rows)[:20], rows[:20], atol=1e-6)
    assert not found[20:].any()
    assert not omp_from_products(np.zeros((5, 5)), 2).toarray().any()
    assert not lsr_from_products(np.zeros((5, 5)), 1, 2).toarray().any()
