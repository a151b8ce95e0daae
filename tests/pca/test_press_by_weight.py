"""Weights of samples in the diagnostics of one PCA: 2 is the sample twice, 0 its absence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.diagnostics import pca_influence, pca_press
from tests.plain import generic
from tests.warned import refuses

X = generic(14, 5) + 2.0
WEIGHTS = np.array([1, 2, 0, 1, 3, 1, 1, 2, 0, 1, 4, 1, 1, 2.0])
AGAIN = np.repeat(np.arange(14), WEIGHTS.astype(int))
pytestmark = pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dimension", [1, 2])
def test_a_weight_counts_as_so_many_equal_samples(center, dimension):
    found = pca_press(X, dimension, center=center, sample_weight=WEIGHTS)
    expected = pca_press(X[AGAIN], dimension, center=center)
    assert_allclose(found.press, expected.press, rtol=1e-10)
    assert_allclose(found.per_sample[AGAIN], expected.per_sample, rtol=1e-9)
    drives = pca_influence(X, dimension, center=center, sample_weight=WEIGHTS)
    repeated = pca_influence(X[AGAIN], dimension, center=center)
    assert_allclose(drives.influence[AGAIN], repeated.influence, rtol=1e-9)
    assert_allclose(drives.loo_error[AGAIN], repeated.loo_error, rtol=1e-9)
    assert_allclose(drives.angle[AGAIN], repeated.angle, rtol=1e-6)
    assert_allclose(drives.leverage, WEIGHTS * _per_copy(repeated.leverage), rtol=1e-9)
    assert drives.gradient is None


def _per_copy(values):
    """The value of one copy of each sample, 0 of those that are not there."""
    found = np.zeros(14)
    found[AGAIN] = values
    return found


def test_an_absent_sample_is_measured_as_a_new_one():
    kept = WEIGHTS > 0
    mean = np.average(X, axis=0, weights=WEIGHTS)
    scatter = (X - mean).T @ (WEIGHTS[:, None] * (X - mean))
    axes = np.linalg.eigh(scatter)[1][:, :-3]
    found = pca_press(X, 3, sample_weight=WEIGHTS).per_sample
    assert_allclose(found[~kept], np.sum(((X - mean) @ axes) ** 2, axis=1)[~kept])


def test_weights_of_one_are_no_weights():
    plain = pca_press(X, 2)
    found = pca_press(X, 2, sample_weight=np.ones(14))
    assert found.per_sample.tobytes() == plain.per_sample.tobytes()


def test_what_weights_do_not_go_with_is_refused():
    with refuses("method", "hat"):
        pca_press(X, 2, method="hat", sample_weight=WEIGHTS)
    with refuses("sample_weight"):
        pca_influence(np.where(np.eye(14, 5), np.nan, X), 2, sample_weight=WEIGHTS)
    with refuses("sample_weight"):
        pca_press(X, 1, sample_weight=[1, 1, *[0] * 12])
    with refuses("sample_weight"):
        pca_influence(X, 1, sample_weight=-WEIGHTS)
