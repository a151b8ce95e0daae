import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from subspaces.core.exact_union import exact_union
from subspaces.datasets import make_subspaces
from subspaces.metrics import adjusted_rand_score


def without_noise(sizes, n_features, dimensions, affine, seed):
    offset = 3.0 if affine else 0.0
    union = make_subspaces(sizes, n_features, dimensions, offset=offset, random_state=seed)
    return union.data + (50.0 if affine else 0.0), union.target


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize(
    ("n_features", "dimensions"),
    [(20, [1, 2, 3]), (3, [2, 2, 2]), (4, [3, 3, 3]), (10, [1] * 8), (200, [5, 4, 1, 1])],
)
def test_unions_without_noise_are_found(n_features, dimensions, seed, affine):
    X, target = without_noise([20] * len(dimensions), n_features, dimensions, affine, seed)
    for unit in (1.0, 1e-9):
        labels, found = exact_union(unit * X, min(5, n_features - 1), affine, 8)
        assert found == sorted(dimensions)
        assert adjusted_rand_score(target, labels) == 1.0


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dimensions", [[2, 2, 2], [1, 2, 3], [1, 1, 2, 3], [3, 3]])
@pytest.mark.parametrize("n_features", [9, 12])
def test_unions_of_whole_numbers_are_found(n_features, dimensions, affine):
    # Some rows of a plane lie on one line by chance, and neighbours may be parallel.
    random = np.random.default_rng([n_features, *dimensions, affine])
    for _ in range(12):
        parts = []
        for r in dimensions:
            axes = random.integers(-3, 4, (r, n_features))
            offset = random.integers(-9, 10, n_features) if affine else 0
            parts.append(random.integers(-5, 6, (25, r)) @ axes + offset)
        X = np.vstack(parts).astype(float)
        labels, found = exact_union(X, 5, affine, len(dimensions))
        assert found == dimensions
        for k, r in enumerate(found):
            rows = X[labels == k]
            centre = rows.mean(axis=0) if affine else 0.0
            assert np.linalg.matrix_rank(rows - centre) == r


@pytest.mark.parametrize("affine", [False, True])
def test_repeated_rows_change_nothing(affine):
    X, target = without_noise([15, 15, 15], 12, [1, 2, 3], affine, 5)
    again = np.arange(0, 45, 3)
    labels, found = exact_union(np.vstack([X, X[again]]), 5, affine, 8)
    assert found == [1, 2, 3]
    assert adjusted_rand_score(target, labels[:45]) == 1.0
    assert_array_equal(labels[45:], labels[again])


def test_a_row_at_the_origin_lies_on_every_subspace():
    X, target = without_noise([15, 15], 8, [1, 2], False, 3)
    labels, found = exact_union(np.vstack([X, np.zeros(8)]), 5, False, 8)
    assert found == [1, 2]
    assert adjusted_rand_score(target, labels[:-1]) == 1.0


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(
    "X",
    [
        load_iris().data,  # repeated rows, values with one decimal
        np.repeat(np.random.default_rng(0).normal(size=(12, 6)), 10, axis=0),
        np.random.default_rng(1).integers(1, 11, size=(150, 9)).astype(float),
        without_noise([20, 20], 10, [1, 2], False, 0)[0]
        + 1e-6 * np.random.default_rng(2).normal(size=(40, 10)),
    ],
    ids=["iris", "copies", "integers", "little noise"],
)
def test_rounded_or_noisy_tables_are_no_exact_union(X, affine):
    assert exact_union(X, min(5, X.shape[1] - 1), affine, 8) is None


def test_more_subspaces_than_allowed_are_none():
    X, _ = without_noise([10] * 4, 9, [1, 1, 2, 2], False, 1)
    assert exact_union(X, 5, False, 3) is None
    assert exact_union(X, 5, False, 4)[1] == [1, 1, 2, 2]
