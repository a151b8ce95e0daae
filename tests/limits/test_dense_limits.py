"""Where the method becomes another one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from subspaces import MCFA, MPPCA, PSC, SLBF, KSubspaces, MCtFA, SparseKMeans
from subspaces.datasets import make_scenario
from subspaces.diagnostics import pca_influence, pca_press
from subspaces.metrics import rand_score
from tests.estimators.checks import CLUSTERERS, made
from tests.plain import generic

pytestmark = pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")


@pytest.mark.parametrize(
    "model",
    [
        *(
            made(kind, 1, n_components=2, affine=affine, linear=not affine)
            for affine in (True, False)
            for kind in CLUSTERERS.values()
            # Which have no subspace of their own, or none through the origin.
            if kind not in (MCFA, MCtFA, SparseKMeans) and (affine or kind is not MPPCA)
        ),
        PSC(1, n_components=2, n_variables=6, affine=True),
        SLBF(1, n_components=2, spectral=False),
    ],
    ids=str,
)
def test_one_cluster_is_pca(model):
    affine = not getattr(model, "linear", not getattr(model, "affine", True))
    X = generic(50, 6, decay=0.6) + 3.0 * affine
    X.setflags(write=False)
    centre = X.mean(axis=0) * affine
    axes = np.linalg.svd(X - centre)[2][:2]
    model.fit(X)
    assert_array_equal(model.labels_, 0)
    assert_allclose(model.subspaces_[0].centre, centre)
    assert_allclose(model.reconstruct(X), centre + (X - centre) @ axes.T @ axes, atol=1e-6)


def test_one_cluster_has_the_influence_and_press_of_one_pca():
    X = generic(50, 6, decay=0.6)
    model = PSC(1, n_components=2).fit(X)
    assert_allclose(model.influence_, pca_influence(X, 2, center=False).influence)
    assert model.press_ == pytest.approx(pca_press(X, 2, center=False).press)


@pytest.mark.parametrize("seed", range(3))
def test_dimension_zero_is_k_means(seed):
    random = np.random.default_rng(seed)
    X = np.vstack(
        [random.normal(size=(40, 3)) + centre for centre in random.normal(size=(4, 3)) * 2]
    )
    start = random.integers(4, size=160)
    centres = np.array([X[start == k].mean(axis=0) for k in range(4)])
    lloyd = KMeans(4, init=centres, n_init=1, tol=0, max_iter=300, algorithm="lloyd").fit(X)
    for model in (
        KSubspaces(4, n_components=0, affine=True, init=start, max_iter=300),
        PSC(4, n_components=0, affine=True, criterion="residual", init=start, max_iter=300),
    ):
        model.fit(X)
        assert rand_score(lloyd.labels_, model.labels_) == 1.0
        assert_allclose(model.objective_, lloyd.inertia_)


@pytest.mark.parametrize("seed", range(8))
def test_mean_profiles_are_no_worse_than_from_k_means(seed):
    """Few samples of many variables, of which some differ between the groups and some co-vary."""
    random = np.random.default_rng(seed)
    X = random.normal(20, 1.5, 300) + random.normal(0, 0.8, (30, 300))
    X[:15, :25] += 1.6
    X[:, 40:60] += random.normal(size=(30, 1))
    model = PSC(2, n_components=0, affine=True, random_state=0).fit(X)
    start = KMeans(2, n_init=10, random_state=0).fit(X).labels_
    begun = PSC(2, n_components=0, affine=True, init=start, random_state=0).fit(X)
    assert model.objective_ <= begun.objective_ * (1 + 1e-9)


def test_all_of_a_few_thousand_samples_are_searched_for_mean_profiles():
    X = make_blobs(2500, 6, centers=8, cluster_std=5, random_state=4)[0]
    start = KMeans(8, n_init=10, random_state=0).fit(X).labels_
    model = PSC(8, n_components=0, affine=True, random_state=0).fit(X)
    begun = PSC(8, n_components=0, affine=True, init=start, random_state=0).fit(X)
    assert {start["start"] for start in model.starts_} == {"k-means", "sequential"}
    assert model.objective_ <= begun.objective_ * (1 + 1e-9)


def test_residual_criterion_is_k_subspaces():
    X = generic(80, 6)
    one = PSC(3, n_components=2, criterion="residual", random_state=4).fit(X)
    other = KSubspaces(3, n_components=2, random_state=4).fit(X)
    assert_array_equal(one.labels_, other.labels_)
    assert one.objective_ == other.objective_


def test_all_criteria_agree_when_every_cluster_is_large_and_clean():
    scenario = make_scenario("c", noise=0.01, n_features=10, random_state=0)
    labels = [
        PSC(2, n_components=2, criterion=criterion, random_state=0).fit(scenario.data).labels_
        for criterion in ("influence", "loo", "hat", "residual", "likelihood")
    ]
    for other in labels[1:]:
        assert rand_score(labels[0], other) > 0.97
