"""What sets a cluster apart, and what varies along its axes, are two lists."""

from dataclasses import replace

import dask.array
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from subspaces import PSC, KSubspaces, MiniBatchPSC, load, recipes
from subspaces.core.contrast import contrast, means_and_spread
from subspaces.core.partition import Partition
from subspaces.facts import facts_of
from subspaces.metrics import adjusted_rand_score
from subspaces.runtime import model_file
from tests.estimators.checks import CLUSTERERS
from tests.warned import refuses

SIZES, P = (30, 40, 50), 600


@pytest.fixture(scope="module")
def shifted():
    """Three sub-types: each has 50 genes that are shifted, and others that vary along two axes."""
    random = np.random.default_rng(0)
    X, truth = random.normal(0, 0.5, (sum(SIZES), P)), np.repeat(range(3), SIZES)
    for k, size in enumerate(SIZES):
        members = truth == k
        X[np.ix_(members, range(50 * k, 50 * k + 50))] += 3
        varying = 150 + 150 * k + np.arange(150)
        X[np.ix_(members, varying)] += random.normal(size=(size, 2)) @ random.normal(size=(2, 150))
    return X, truth


@pytest.fixture(scope="module")
def model(shifted):
    return PSC(3, n_components=2, affine=True, random_state=0).fit(shifted[0])


def test_the_genes_that_are_shifted_are_found_by_difference(model, shifted):
    assert adjusted_rand_score(shifted[1], model.labels_) == 1
    for k in range(3):
        apart = model.get_variables(k, by="difference")[:50]
        assert sorted(apart) == list(range(50 * k, 50 * k + 50))
        along = model.get_variables(k)
        assert_array_equal(along, model.get_variables(k, by="axes"))
        assert set(along[:50]) <= set(150 + 150 * k + np.arange(150))
    with refuses("by", "size"):
        model.get_variables(0, by="size")


def test_means_and_spread_are_those_of_the_members(model, shifted):
    X, labels = shifted[0], model.labels_
    means = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.cluster_means_, means)
    within = sum(((X[labels == k] - means[k]) ** 2).sum(axis=0) for k in range(3))
    assert_allclose(model.within_std_, np.sqrt(within / (len(X) - 3)))
    found = facts_of(model).contrast(1)
    others = X[labels != 1].mean(axis=0)
    assert_allclose(found.difference, means[1] - others, atol=1e-12)
    assert_allclose(found.effect, found.difference / model.within_std_)
    assert (np.diff(np.abs(found.effect[found.order])) <= 0).all()


@pytest.mark.parametrize("affine", [False, True])
def test_linear_subspaces_have_means_too(shifted, affine):
    X = shifted[0] + 1
    model = PSC(3, n_components=3, affine=affine, n_init=2, random_state=0).fit(X)
    means, spread = means_and_spread(X, Partition(model.labels_, 3))
    assert_allclose(model.cluster_means_, means)
    assert_allclose(model.within_std_, spread)


def test_constant_variables_leave_the_others_their_deviations(shifted):
    """Such as the corners of images of digits: a table that has them was not projected."""
    X = shifted[0][:, ::50].copy()
    X[:, [0, 4]] = [0, 3]
    model = PSC(3, n_components=3, affine=True, n_init=1, random_state=0).fit(X)
    assert X.shape[1] < 1 + 3 * 4  # the subspaces of the clusters could hold all directions
    _, spread = means_and_spread(X, Partition(model.labels_, 3))
    assert_allclose(model.within_std_, spread)
    assert np.isfinite(facts_of(model).contrast(0).effect).all()


def test_every_estimator_knows_the_means(shifted):
    X = shifted[0][:, ::10]
    for name, kind in CLUSTERERS.items():
        model = kind(3, random_state=0)
        if "n_init" in model.get_params():
            model.set_params(n_init=2)
        model.fit(X)
        expected = means_and_spread(X, Partition(model.labels_, 3))[0]
        assert_allclose(model.cluster_means_, expected, err_msg=name)


def test_constant_variables_come_first_where_they_differ_and_never_otherwise():
    sizes = np.array([2.0, 3.0, 5.0])
    means = np.array([[1, 0.1, 2, 9], [1, 0.1, 0, 7], [1, 0.1, 1, 7]])
    found = contrast(0, sizes, means, np.array([0.0, 0.0, 0.0, 0.5]))
    assert_array_equal(found.effect, [0, 0, np.inf, 4])
    assert found.order.tolist() == [2, 3]
    turned = contrast(1, sizes, np.column_stack([means, means[:, 2] * 3]), np.zeros(5))
    assert turned.effect.tolist() == [0, 0, -np.inf, -np.inf, -np.inf]
    assert turned.order.tolist() == [4, 2, 3]  # equal effects, the larger difference first


def test_constants_have_no_spread_however_they_round():
    rows = np.tile([0.1, 1e9 + 0.3], (7, 1))
    rows[3:, 1] += 0.1
    means, spread = means_and_spread(rows, Partition(np.array([0, 0, 0, 1, 1, 1, 1]), 2))
    assert spread.tolist() == [0, 0]
    assert contrast(0, np.array([3.0, 4.0]), means, spread).order.tolist() == [1]


def test_a_cluster_without_members_does_not_count():
    rows = np.random.default_rng(0).normal(size=(10, 3))
    labels = np.array([0] * 4 + [2] * 6)
    means, spread = means_and_spread(rows, Partition(labels, 3))
    assert_allclose(means[1], rows.mean(axis=0))
    assert_allclose(spread, means_and_spread(rows, Partition(labels // 2, 2))[1])
    found = contrast(0, np.array([4.0, 0, 6]), means, spread)
    assert_allclose(found.difference, means[0] - means[2])


@pytest.fixture(scope="module")
def many():
    random = np.random.default_rng(1)
    truth = random.integers(3, size=12_000)
    X = random.normal(0, 0.1, (12_000, 5))
    X[np.arange(12_000), truth] += random.normal(20, 3, 12_000)
    X[:, 3] = truth / 10  # constant within the clusters
    X[:, 4] = 0.7  # and everywhere
    return X


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("kind", ["double", "single", "dask", "csr"])
@pytest.mark.parametrize("estimator", [PSC, KSubspaces, MiniBatchPSC])
def test_passes_find_what_all_rows_at_once_show(many, kind, affine, estimator):
    forms = {
        "double": lambda: many,
        "single": lambda: many.astype(np.float32),
        "dask": lambda: dask.array.from_array(many, chunks=(5000, 5)),
        "csr": lambda: sparse.csr_array(many),
    }
    model = estimator(3, n_components=1, affine=affine, init="k-means++", random_state=0)
    model.fit(forms[kind]())
    means, spread = means_and_spread(many, Partition(np.asarray(model.labels_), 3))
    tolerance = 1e-5 if kind == "single" else 1e-9
    assert_allclose(model.cluster_means_, means, rtol=tolerance, atol=1e-9)
    assert_allclose(model.within_std_, spread, rtol=tolerance, atol=1e-9)
    if estimator is PSC:
        assert spread[3:].tolist() == [0, 0]
        assert model.within_std_[3:].tolist() == [0, 0]
        found = model.get_variables(int(np.argmax(means[:, 3])), by="difference")
        assert found[0] == 3
        assert 4 not in found


def test_zeros_that_are_not_written_count():
    random = np.random.default_rng(2)
    X = random.poisson(0.3, (300, 250)).astype(float)
    X[:150, :20] += random.poisson(2, (150, 20))
    for affine in (False, True):
        model = PSC(2, n_components=1, affine=affine, n_init=2, random_state=0)
        model.fit(sparse.csr_array(X))
        means, spread = means_and_spread(X, Partition(model.labels_, 2))
        assert_allclose(model.cluster_means_, means, atol=1e-12)
        assert_allclose(model.within_std_, spread, rtol=1e-9)


def test_a_stream_keeps_no_means(many):
    model = MiniBatchPSC(3, affine=True, random_state=0).fit(many[:3000])
    assert facts_of(model).contrasts is not None
    model.partial_fit(many[3000:4000])
    assert facts_of(model).contrasts is None


def test_the_lists_are_kept_in_a_file_and_one_without_means_says_so(model, tmp_path):
    path = tmp_path / "model.npz"
    model.save(path)
    same = load(path)
    assert_array_equal(same.get_variables(1, "difference"), model.get_variables(1, "difference"))
    saved = model_file.read(path)
    saved.state["fit_"] = replace(saved.state["fit_"], means=None, within_std=None)
    model_file.write(path, saved)
    older = load(path)
    assert_array_equal(older.get_variables(1), model.get_variables(1))
    with refuses("by"):
        older.get_variables(1, by="difference")


def test_one_cluster_differs_from_nothing(shifted):
    model = PSC(1, n_components=2, n_init=1, random_state=0).fit(shifted[0])
    with refuses("by"):
        model.get_variables(0, by="difference")


def test_mean_profiles_have_variables():
    random = np.random.default_rng(0)
    X = 2.0 ** random.normal(8, 1, (60, 300))
    X[:20, :10] *= 30
    X[20:45, 100:110] *= 30
    model = recipes.expression(3, random_state=0).fit(X)
    names = model[:-1].get_feature_names_out()
    for k, first in enumerate((0, 100)):
        found = names[model[-1].get_variables(k)[:10]]
        assert sorted(found) == sorted(f"x{j}" for j in range(first, first + 10))
    assert len(model[-1].get_variables(0, by="axes")) == 0


def test_projected_samples_have_no_spread_of_their_own():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 40)) + 4 * np.repeat(np.eye(3, 40), 20, axis=0)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:3]
    projected = (X - X.mean(axis=0)) @ axes.T @ axes
    model = PSC(3, n_components=0, affine=True, random_state=0).fit(projected)
    assert np.isnan(model.within_std_).all()
    found = facts_of(model).contrast(0)
    assert np.isnan(found.effect).all()
    assert (np.diff(np.abs(found.difference[found.order])) <= 0).all()
    whole = PSC(3, n_components=0, affine=True, random_state=0).fit(X)
    assert np.isfinite(whole.within_std_).all()


@pytest.mark.parametrize("sizes", [(40, 120), (4, 5), (3, 3, 4)])
def test_what_comes_by_chance(sizes):
    """Of groups that do not differ, any variable is beyond chance in 5 % of the tables at most."""
    labels, random = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(0)
    beyond, near = [], []
    for _ in range(200):
        rows = random.normal(size=(len(labels), 100))
        spread = means_and_spread(rows, Partition(labels, len(sizes)))
        found = contrast(0, np.array(sizes, dtype=float), *spread)
        beyond.append(len(found.beyond_chance) > 0)
        near.append(np.abs(found.effect).max() > 0.5 * found.by_chance)
    assert np.mean(beyond) < 0.1  # of 200 at .05, with probability .998
    assert np.mean(near) > 0.5


@pytest.mark.parametrize("share", [0.55, 0.1, 0.02])
def test_what_fills_cells_is_no_evidence(share):
    """Noise of which a share is observed, filled by the means of its clusters."""
    labels, random = np.repeat([0, 1, 2], [50, 60, 40]), np.random.default_rng(0)
    sizes, beyond, naive = np.bincount(labels).astype(float), [], []
    for _ in range(200):
        rows = random.normal(size=(150, 30))
        holes = np.tile(random.random((150, 1)) > share, (1, 30))
        for k in range(3):
            known = rows[(labels == k) & ~holes[:, 0]]
            fill = known.mean(axis=0) if len(known) else rows.mean(axis=0)
            rows[(labels == k) & holes[:, 0]] = fill
        observed = np.array([(~holes[labels == k]).sum(axis=0) for k in range(3)], dtype=float)
        found = contrast(0, sizes, *means_and_spread(rows, Partition(labels, 3), holes), observed)
        beyond.append(len(found.beyond_chance) > 0)
        naive.append(
            len(contrast(0, sizes, *means_and_spread(rows, Partition(labels, 3))).beyond_chance) > 0
        )
    assert np.mean(beyond) < 0.1
    assert np.mean(naive) > 0.5


def test_what_is_beyond_chance_is_the_first_of_the_order():
    labels = np.repeat([0, 1], [40, 120])
    rows = np.random.default_rng(0).normal(size=(160, 50))
    rows[labels == 0, :3] += [2.0, -3.0, 1.0]
    means, spread = means_and_spread(rows, Partition(labels, 2))
    found = contrast(0, np.array([40.0, 120.0]), means, spread)
    assert found.beyond_chance.tolist() == [1, 0, 2]
    unknown = contrast(0, np.array([40.0, 120.0]), means, np.full(50, np.nan))
    assert unknown.beyond_chance.tolist() == unknown.order.tolist()
