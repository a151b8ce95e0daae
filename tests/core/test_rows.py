import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core.eigenvalues import MORE_PAIRS, count_positive, gram_factor
from subspaces.core.rows import DenseRows, GramRows, choose_rows
from subspaces.subspace import fit_subspace, principal_axes, scores, squared_residual
from tests.plain import generic

MEMBERS = np.array([1, 4, 5, 7, 8, 11, 12, 13, 17, 19])
SHAPES = [(20, 6), (20, 40)]
FORMS = {"dense": DenseRows, "gram": lambda X: GramRows(X @ X.T)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_view_is_the_pca_of_its_members(form, affine, shape):
    X = generic(*shape, decay=0.9)
    view = FORMS[form](X).view(MEMBERS, 3, affine)
    subspace = fit_subspace(X[MEMBERS], 3, affine=affine)
    axes = principal_axes(X[MEMBERS] - subspace.centre)
    assert_allclose(np.abs(view.scores), np.abs(scores(X, subspace)), atol=1e-10)
    assert_allclose(view.squared_residual, squared_residual(X, subspace), rtol=1e-8)
    assert_allclose(view.eigenvalues, axes.eigenvalues, rtol=1e-8)
    assert_allclose(view.spectrum, subspace.spectrum)
    assert_allclose(np.abs(view.coordinates), np.abs(axes.coordinates), atol=1e-8)
    assert view.size == len(MEMBERS)


@pytest.mark.parametrize("form", FORMS)
def test_inner_products_norms_and_subsets(form):
    X = generic(12, 5)
    rows = FORMS[form](X)
    some = np.array([2, 7])
    assert_allclose(rows.inner(some), X @ X[some].T)
    assert_allclose(rows.squared_norms, np.sum(X**2, axis=1))
    assert_allclose(rows.subset(some).squared_norms, np.sum(X[some] ** 2, axis=1))
    assert_allclose(rows.spectrum, np.linalg.svd(X)[1] ** 2)


def test_dense_residuals_do_not_cancel():
    # Rows on a line, far out: their residual is known to rounding of the row, squared.
    direction = np.array([3.0, -2.0, 1.0]) / np.sqrt(14)
    X = np.vstack([1e5 * np.outer(np.arange(1, 9), direction), generic(3, 3)])
    off = np.array([1.0, 2.0, 1.0]) / np.sqrt(6)
    X[:8] += np.outer([1e-3, -1e-3] * 4, off)
    view = DenseRows(X).view(np.arange(8), 1, False)
    subspace = fit_subspace(X[:8], 1)
    assert_allclose(view.squared_residual, squared_residual(X, subspace), rtol=1e-6)


def test_a_view_uses_no_more_axes_than_its_members_span():
    X = np.outer(np.arange(1.0, 9), [1.0, 2.0, 3.0])
    view = DenseRows(X).view(np.arange(8), 2, False)
    assert view.n_components == 1


def test_the_form_follows_the_shape():
    assert isinstance(choose_rows(generic(100, 5), 3), DenseRows)
    assert isinstance(choose_rows(generic(30, 50, decay=0.99), 3), GramRows)
    low_rank = generic(40, 4) @ np.random.default_rng(0).normal(size=(4, 300))
    rotated = choose_rows(low_rank, 3)
    assert isinstance(rotated, DenseRows)
    assert rotated.matrix.shape == (40, 4)
    assert_allclose(rotated.matrix @ rotated.matrix.T, low_rank @ low_rank.T, rtol=1e-9, atol=1e-9)


def test_leave_one_out_is_computed_once():
    view = DenseRows(generic(20, 6)).view(MEMBERS, 2, False)
    assert view.leave_one_out is view.leave_one_out
    assert_array_equal(view.members, MEMBERS)


def of_rank(kind, n=230, p=250):
    X = generic(n, p, decay=0.99)
    return {
        "full": X,
        "centred": X - X.mean(axis=0),
        "low": X[:, :7] @ generic(7, p),
        "lacking": np.vstack([X[:-5], X[:5]]),
        "zero rows": np.vstack([X[:-3], np.zeros((3, p))]),
        "zeros": np.zeros((n, p)),
        "on many scales": X * np.logspace(0, -5, n)[:, None],
    }[kind]


RANKS = {"full": 230, "centred": 229, "low": 7, "lacking": 225, "zero rows": 227, "zeros": 0}


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", [*RANKS, "on many scales"])
def test_the_rank_of_many_rows_is_counted_as_their_eigenvalues_would_be(kind, scale):
    X = scale * of_rank(kind)
    values = np.linalg.eigvalsh(X @ X.T)[::-1]
    expected = np.count_nonzero(values > len(X) * np.finfo(float).eps * values[0])
    assert expected == RANKS.get(kind, expected)
    counted = GramRows(X @ X.T)
    assert not counted.decomposed
    assert counted.rank == expected
    assert_allclose(counted.energy, values.sum(), rtol=1e-9, atol=1e-9 * scale**2)
    leading = counted.leading(5)
    assert len(leading) == min(expected, 5)
    assert_allclose(leading, values[: len(leading)], rtol=0.1)
    assert np.all(leading <= values[: len(leading)] * (1 + 1e-9))


def test_positive_eigenvalues_of_an_indefinite_matrix_are_counted():
    matrix = generic(30, 30)
    matrix = matrix + matrix.T - 0.1 * np.eye(30)
    np.fill_diagonal(matrix[:10, :10], 0.0)
    expected = np.count_nonzero(np.linalg.eigvalsh(matrix) > 0)
    assert count_positive(matrix.copy().T) == expected


@pytest.mark.parametrize("shape", [(60, 80), (60, 20), (230, 300), (230, 210), (230, 20)])
def test_the_rank_of_the_rows_is_known_in_either_form(shape):
    X = generic(*shape, decay=0.99)
    assert choose_rows(X, 4).rank == min(shape)
    low = X[:, :3] @ generic(3, 310)
    assert choose_rows(low, 4).matrix.shape == (shape[0], 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_residuals_from_many_subspaces_are_those_of_each(form, affine, n_components):
    X = generic(30, 40)
    X[:6] = np.outer(np.arange(1.0, 7.0), X[0])  # members that span less than they might
    rows, random = FORMS[form](X), np.random.default_rng(0)
    subsets = np.array([np.arange(6), *(random.permutation(30)[:6] for _ in range(9))])
    plain = [rows.view(members, n_components, affine).squared_residual for members in subsets]
    assert_allclose(rows.residuals(subsets, n_components, affine), plain, atol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dimension", [0, 1, 3])
def test_residuals_of_many_subsets_are_those_of_their_views(affine, dimension):
    matrix = generic(30, 7)
    subsets = np.random.default_rng(0).integers(30, size=(5, 6))
    for rows in (DenseRows(matrix), GramRows(matrix @ matrix.T)):
        expected = [rows.view(own, dimension, affine).squared_residual for own in subsets]
        assert_allclose(rows.residuals(subsets, dimension, affine), expected, atol=1e-8)


@pytest.mark.parametrize("rank", [0, 1, 4, 9])
def test_rows_are_found_again_from_their_inner_products(rank):
    random = np.random.default_rng(rank)
    rows = random.normal(size=(12, rank)) @ random.normal(size=(rank, 9))
    gram = rows @ rows.T
    factor = gram_factor(gram)
    assert factor.shape == (12, rank)
    assert_allclose(factor @ factor.T, gram, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(200, 150), (160, 400)])
def test_a_quick_view_leaves_out_nearly_as_an_exact_one(form, affine, shape):
    X = generic(*shape, decay=0.97) + 3.0
    members = np.arange(5, len(X) - 5)
    exact, quick = (FORMS[form](X).view(members, 3, affine, q) for q in (False, True))
    assert quick.coordinates.shape == (len(members), 3 + MORE_PAIRS + 1)
    assert_allclose(quick.spectrum, exact.spectrum, rtol=1e-3)
    assert_allclose(quick.squared_residual, exact.squared_residual, rtol=0.02)
    found, wanted = quick.leave_one_out, exact.leave_one_out
    assert_allclose(found.squared_error, wanted.squared_error, rtol=0.02)
    assert_allclose(found.eigenvalues, wanted.eigenvalues, rtol=1e-3)
    assert_allclose(np.sum(quick.coordinates**2), np.sum(exact.coordinates**2))


def test_a_quick_view_is_exact_if_all_axes_beyond_the_leading_ones_are_alike():
    n, p = 150, 130
    U, V = (np.linalg.qr(generic(size, size))[0] for size in (n, p))
    X = U[:, :p] * np.append([1e4, 5e3], np.ones(p - 2)) @ V.T
    exact, quick = (DenseRows(X).view(np.arange(n), 2, False, q) for q in (False, True))
    assert_allclose(quick.leave_one_out.squared_error, exact.leave_one_out.squared_error, rtol=1e-7)


def test_a_quick_view_of_a_small_cluster_is_exact():
    X = generic(30, 20)
    exact, quick = (DenseRows(X).view(np.arange(30), 2, True, q) for q in (False, True))
    assert_array_equal(quick.coordinates, exact.coordinates)
