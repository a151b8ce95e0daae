import numpy as np
from numpy.testing import assert_allclose
from scipy import linalg

from subspaces import subspace as eigenpairs
from subspaces.subspace import largest_eigenpairs


def symmetric(n=12):
    matrix = np.random.default_rng(0).normal(size=(n, n))
    return matrix + matrix.T


def test_they_are_the_largest():
    values, vectors = largest_eigenpairs(symmetric(), 3)
    assert_allclose(values, np.linalg.eigvalsh(symmetric())[-3:])
    assert_allclose(symmetric() @ vectors, vectors * values, atol=1e-12)
    assert len(largest_eigenpairs(symmetric(2), 3)[0]) == 2


def test_where_the_quick_method_gives_up(monkeypatch):
    def gives_up(*matrix, **options):
        raise linalg.LinAlgError("Internal Error.")

    expected = largest_eigenpairs(symmetric(), 3)
    monkeypatch.setattr(eigenpairs.linalg, "eigh", gives_up)
    values, vectors = largest_eigenpairs(symmetric(), 3)
    assert_allclose(values, expected[0])
    assert_allclose(np.abs(vectors), np.abs(expected[1]), atol=1e-12)
