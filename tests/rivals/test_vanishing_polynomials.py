from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.datasets import make_subspaces
from subspaces.rivals.vanishing_polynomials import (
    gradients,
    n_monomials,
    n_vanishing,
    vanishing,
    veronese,
)
from tests.plain import generic

SIZES = pytest.mark.parametrize(("degree", "dimension"), [(1, 4), (2, 3), (3, 2), (4, 3), (3, 5)])


def union(dimensions, dimension, seed=0, n=120):
    sizes = [n] * len(dimensions)
    return make_subspaces(sizes, dimension, dimensions, random_state=seed).data


def nullity(embedded):
    singular = np.linalg.svd(embedded, compute_uv=False)
    return np.count_nonzero(singular < 1e-9 * singular[0])


@SIZES
def test_the_number_of_monomials(degree, dimension):
    exponents = [e for e in product(range(degree + 1), repeat=dimension) if sum(e) == degree]
    assert n_monomials(degree, dimension) == len(exponents)
    assert veronese(np.ones((2, dimension)), degree).shape == (2, len(exponents))


@SIZES
def test_the_embedding_is_the_weighted_products(degree, dimension):
    rows = generic(6, dimension)
    plain = np.empty((6, n_monomials(degree, dimension)))
    for j, factors in enumerate(combinations_with_replacement(range(dimension), degree)):
        orders = factorial(degree) / prod(factorial(factors.count(v)) for v in range(dimension))
        for i, row in enumerate(rows):
            plain[i, j] = np.sqrt(orders) * prod(row[v] for v in factors)
    assert_allclose(veronese(rows, degree), plain, rtol=1e-12)


@SIZES
def test_inner_products_of_the_embedding_are_powers(degree, dimension):
    one, other = generic(5, dimension), generic(4, dimension, seed=1)
    found = veronese(one, degree) @ veronese(other, degree).T
    assert_allclose(found, (one @ other.T) ** degree, rtol=1e-10)


@SIZES
def test_gradients_against_finite_differences(degree, dimension):
    rows, step = generic(5, dimension), 1e-5
    coefficients = np.random.default_rng(2).normal(size=(n_monomials(degree, dimension), 3))
    found = gradients(rows, coefficients, degree)
    assert found.shape == (5, 3, dimension)
    for v, shift in enumerate(step * np.eye(dimension)):
        change = veronese(rows + shift, degree) - veronese(rows - shift, degree)
        assert_allclose(found[:, :, v], change @ coefficients / (2 * step), rtol=1e-6, atol=1e-6)


@SIZES
def test_eulers_identity(degree, dimension):
    rows = generic(5, dimension)
    coefficients = np.random.default_rng(2).normal(size=(n_monomials(degree, dimension), 2))
    along = np.einsum("nmd,nd->nm", gradients(rows, coefficients, degree), rows)
    assert_allclose(along, degree * veronese(rows, degree) @ coefficients, rtol=1e-10)


@pytest.mark.parametrize("n", [60, 430_000])  # of the larger, blocks
def test_the_least_polynomials_are_the_last_singular_vectors(n):
    rows = generic(n, 3)
    embedded = veronese(rows, 3)
    found = vanishing(rows, 3, 2)
    plain = np.linalg.svd(embedded, full_matrices=False)[2][-2:].T
    assert_allclose(found @ found.T, plain @ plain.T, atol=1e-9)
    assert_allclose(found.T @ found, np.eye(2), atol=1e-12)


def test_fewer_rows_than_monomials():
    rows = generic(7, 3)
    found = vanishing(rows, 3, 3)
    assert_allclose(veronese(rows, 3) @ found, 0.0, atol=1e-10)
    assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("dimensions", "dimension"),
    [([2], 5), ([1, 2], 3), ([2, 2], 3), ([1, 1], 4), ([3, 2, 1], 4), ([2, 2, 2], 4), ([1, 3], 3)],
)
def test_the_number_of_vanishing_polynomials(dimensions, dimension):
    embedded = veronese(union(dimensions, dimension), len(dimensions))
    assert n_vanishing(dimensions, dimension) == nullity(embedded)


def test_polynomials_vanish_on_new_rows_of_the_same_subspaces_only():
    parts = make_subspaces([80, 80], 3, [1, 2], random_state=3)
    coefficients = vanishing(parts.data, 2, 2)
    random = np.random.default_rng(4)
    for flat in parts.subspaces:
        new = random.normal(size=(10, flat.basis.shape[1])) @ flat.basis.T
        assert_allclose(veronese(new, 2) @ coefficients, 0.0, atol=1e-10)
        normals = gradients(new, coefficients, 2)
        assert_allclose(normals @ flat.basis, 0.0, atol=1e-10)
        assert np.linalg.matrix_rank(normals[0], tol=1e-8) == 3 - flat.basis.shape[1]
    assert np.abs(veronese(generic(10, 3), 2) @ coefficients).max() > 0.1
