"""The guard against a repulsive influence: the weakest axis and the residual."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from subspaces import PSC
from subspaces.core.criteria import attraction
from subspaces.core.influence import squared_influence
from tests.warned import codes_of


def unequal_axes(n, noise, seed=0):
    """Two planes of n samples each; the second axis has a hundredth of the energy of the first."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(2):
        axes = np.linalg.qr(random.normal(size=(12, 2)))[0].T
        rows.append(random.normal(size=(n, 2)) * [10.0, 1.0] @ axes)
    return np.vstack(rows) + noise * random.normal(size=(2 * n, 12))


def caught(X):
    """Model and warnings of a fit by the influence from the true labels."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        labels = np.arange(X.shape[0]) // (X.shape[0] // 2)
        model = PSC(2, n_components=2, criterion="influence", init=labels).fit(X)
    return model, codes_of(warning.message for warning in heard)


# Dense rows are in view, sparse ones are read in passes.
BOTH = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@BOTH
def test_a_weak_axis_beside_a_tiny_residual_does_not_repel(form):
    """n s / E is 1.2 here, n s / (E - sum s) five million."""
    model, heard = caught(form(unequal_axes(120, 1.4e-3)))
    assert not heard
    assert sorted(np.bincount(model.labels_)) == [120, 120]


@BOTH
def test_a_weak_axis_beside_a_large_residual_repels(form):
    _, heard = caught(form(np.random.default_rng(0).normal(size=(120, 400))))
    assert "repulsion" in heard


def test_the_limit_is_where_fitting_better_begins_to_cost_more():
    """Along the weakest axis, at the length of the mean member, for any number of axes."""
    spectrum, size = np.array([50.0, 5.0]), 10
    for left in (1.0, 10.0, 12.0, 13.0, 20.0, 100.0):
        rest = left / size  # of the mean member, off its plane
        energy = np.array([1e-9, 1e-6])
        cost = [
            squared_influence(np.sqrt([along]), np.array([rest - moved]), spectrum)[0]
            for moved, along in ((0.0, energy * [1, 0]), (1e-6, energy))
        ]
        assert (cost[1] > cost[0]) == (attraction(size, spectrum, left) < 4.0)


def test_a_cluster_without_axes_or_residual_never_repels():
    assert attraction(5, np.array([]), 3.0) == np.inf
    assert attraction(5, np.array([1.0]), 0.0) == np.inf
