from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles

from subspaces.core.partition import canonical
from subspaces.datasets import make_subspaces
from subspaces.rivals.gpca import (
    clearness,
    cut_by_normals,
    elect,
    gradients,
    homogeneous,
    hyperplane_labels,
    hyperplane_normals,
    mean_space,
    n_monomials,
    n_vanishing,
    normal_directions,
    projectors,
    unit_rows,
    vanishing,
    veronese,
    vote_labels,
)
from subspaces.starts.spectral import cut
from tests.plain import generic

HYPERPLANES = pytest.mark.parametrize(
    ("dimension", "n_clusters"), [(2, 2), (2, 5), (3, 2), (3, 4), (4, 3), (5, 3), (6, 2)]
)
MIXTURES = pytest.mark.parametrize(
    ("dimensions", "dimension"),
    [([1, 2], 3), ([2, 1, 1], 3), ([1, 3], 4), ([3, 2, 1], 4), ([2, 2], 4), ([5, 4, 1, 1], 6)],
)
TOLERANCE = 0.4


def union(dimensions, dimension, seed=0, n=100):
    return make_subspaces(
        [n] * len(dimensions), dimension, dimensions, shuffle=True, random_state=seed
    )


def source(seed=0):
    return np.random.default_rng(seed)


@HYPERPLANES
@pytest.mark.parametrize("seed", [0, 1])
def test_hyperplanes_without_noise_are_exact(dimension, n_clusters, seed):
    planes = union([dimension - 1] * n_clusters, dimension, seed)
    normals = hyperplane_normals(planes.data, n_clusters)
    for k, flat in enumerate(planes.subspaces):
        own = normals[planes.target == k]
        assert_allclose(np.linalg.norm(own, axis=1), 1.0)
        assert_allclose(own @ flat.basis, 0.0, atol=1e-6)
    labels = cut_by_normals(normals, n_clusters, source())
    assert_array_equal(canonical(labels), canonical(planes.target))


def test_the_factor_gives_the_spectral_clustering_of_the_whole_affinity():
    random = source(3)
    centres = unit_rows(random.normal(size=(3, 4)))
    normals = unit_rows(np.repeat(centres, 30, axis=0) + 0.15 * random.normal(size=(90, 4)))
    whole = cut((normals @ normals.T) ** 2, 3, source())
    assert_array_equal(canonical(cut_by_normals(normals, 3, source())), canonical(whole))


def test_inner_products_of_projectors_are_traces():
    bases = np.linalg.qr(source(1).normal(size=(5, 4, 2)))[0]
    plain = [[np.trace(a @ a.T @ b @ b.T) for b in bases] for a in bases]
    assert_allclose(projectors(bases) @ projectors(bases).T, plain)


@MIXTURES
def test_unequal_dimensions_without_noise_are_exact(dimensions, dimension):
    parts = union(dimensions, dimension)
    labels, sizes = vote_labels(parts.data, dimensions, TOLERANCE, source()), np.array(dimensions)
    assert_array_equal(canonical(labels), canonical(parts.target))
    assert_array_equal(sizes[labels], sizes[parts.target])


def test_elected_normals_are_those_of_the_subspaces():
    parts = union([3, 1, 2], 4, seed=2)
    rows = unit_rows(parts.data)
    elected = elect(*normal_directions(rows, [3, 1, 2]), [3, 1, 2], TOLERANCE, source())
    for normals, flat in zip(elected, parts.subspaces, strict=True):
        assert normals.shape == (4, 4 - flat.basis.shape[1])
        assert_allclose(normals.T @ flat.basis, 0.0, atol=1e-6)


def test_directions_at_a_row_span_its_normals():
    parts = union([1, 2], 3, seed=5)
    directions, lengths = normal_directions(parts.data, [1, 2])
    for k, flat in enumerate(parts.subspaces):
        own, codimension = parts.target == k, 3 - flat.basis.shape[1]
        assert_allclose(flat.basis.T @ directions[own][:, :, :codimension], 0.0, atol=1e-8)
        assert (lengths[own, codimension - 1] > 1e-3).all()
        assert_allclose(lengths[own, codimension:], 0.0, atol=1e-7)


def test_candidates_in_blocks_are_enough():
    """Of more than 500 rows some run, and of more than 8000 the votes are counted in blocks."""
    parts = union([1, 2], 3, n=4500)
    assert_array_equal(vote_labels(parts.data, [1, 2], TOLERANCE, source()), parts.target)


def test_noise_within_the_tolerance():
    parts = make_subspaces([100, 100], 3, [1, 2], noise=0.005, random_state=0)
    assert np.mean(vote_labels(parts.data, [1, 2], TOLERANCE, source()) == parts.target) > 0.9


def test_a_wider_tolerance_joins_what_a_narrow_one_parts():
    angles = np.array([0.0, 0.0, 0.0, 0.3, 0.3, 1.5])
    directions = np.stack(
        [
            np.column_stack([np.cos(angles), np.sin(angles)]),
            np.column_stack([-np.sin(angles), np.cos(angles)]),
        ],
        axis=2,
    )
    lengths = np.tile([1.0, 0.0], (6, 1))
    narrow = elect(directions, lengths, [1, 1], 0.2, source())
    wide = elect(directions, lengths, [1, 1], 0.4, source())
    assert_allclose(np.abs(narrow[1][:, 0]), [np.cos(0.3), np.sin(0.3)])
    assert_allclose(np.abs(wide[1][:, 0]), [np.cos(1.5), np.sin(1.5)])


def test_clearness_is_the_gap_relative_to_the_longest():
    lengths = np.array([[4.0, 3.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert_allclose(clearness(lengths, 1), [0.25, 1.0, 0.0])
    assert_allclose(clearness(lengths, 2), [0.5, 0.0, 0.0])


def test_the_mean_of_spaces_is_weighted():
    angles, weights = np.array([0.2, 0.9]), np.array([3.0, 1.0])
    bases = np.column_stack([np.cos(angles), np.sin(angles)])[:, :, None]
    # Doubling the angles turns lines into vectors, whose mean is plain.
    east, north = weights @ np.cos(2 * angles), weights @ np.sin(2 * angles)
    half = np.arctan2(north, east) / 2
    expected = np.array([[np.cos(half)], [np.sin(half)]])
    assert subspace_angles(mean_space(bases, weights), expected)[0] < 1e-7


def test_length_and_sign_of_rows_do_not_matter():
    parts = union([1, 2], 3)
    factors = source(1).uniform(0.01, 100.0, (200, 1)) * source(2).choice([-1.0, 1.0], (200, 1))
    one = vote_labels(parts.data, [1, 2], TOLERANCE, source())
    assert_array_equal(vote_labels(factors * parts.data, [1, 2], TOLERANCE, source()), one)
    planes = union([2, 2], 3)
    one = hyperplane_labels(planes.data, 2, source())
    # The two planes are alike, so that rounding decides which comes first.
    other = hyperplane_labels(factors * planes.data, 2, source())
    assert_array_equal(canonical(other), canonical(one))


def test_zero_rows_do_no_harm():
    for dimensions, find in [([2, 2], hyperplane_labels), ([1, 2], vote_labels)]:
        parts = union(dimensions, 3)
        rows = parts.data.copy()
        rows[[3, 50]] = 0.0
        second = (2,) if find is hyperplane_labels else (dimensions, TOLERANCE)
        labels, rest = find(rows, *second, source()), np.arange(200) % 47 != 3
        assert_array_equal(canonical(labels[rest]), canonical(parts.target[rest]))


def test_a_cluster_as_large_as_the_space_gets_the_rows_far_from_the_others():
    line = np.array([2.0, 1.0]) / np.sqrt(5)
    rows = np.vstack([np.outer(np.linspace(0.5, 1, 40), line), [[-1.0, 2.0], [1.0, -0.8]]])
    assert_array_equal(vote_labels(rows, [2, 1], TOLERANCE, source()), [1] * 40 + [0, 0])
    turned = np.array([[np.cos(0.15), np.sin(0.15)], [np.cos(0.3), np.sin(0.3)]])
    near = np.vstack([np.outer(np.linspace(0.5, 1, 4000), [1.0, 0.0]), turned])
    assert_array_equal(vote_labels(near, [2, 1], TOLERANCE, source())[-2:], [1, 0])


def test_rows_of_one_subspace_only_still_give_an_answer():
    line = np.outer(np.linspace(-1, 1, 30), [1.0, 2.0, 2.0])
    labels = vote_labels(line, [1, 2], TOLERANCE, source())
    assert labels.shape == (30,)


def test_a_constant_makes_flats_subspaces():
    rows = generic(30, 4)
    rows = rows - rows.mean(axis=0)
    lifted = homogeneous(rows)
    assert_allclose(lifted[:, :4], rows)
    assert_allclose(lifted[:, 4], np.sqrt(np.mean(np.linalg.norm(rows, axis=1) ** 2)))
    assert_allclose(homogeneous(7.0 * rows), 7.0 * lifted)


SIZES = pytest.mark.parametrize(("degree", "dimension"), [(1, 4), (2, 3), (3, 2), (4, 3), (3, 5)])


def rows_of_union(dimensions, dimension, seed=0, n=120):
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
    embedded = veronese(rows_of_union(dimensions, dimension), len(dimensions))
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
