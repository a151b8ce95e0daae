"""Labels are integers of 32 bits, as scikit-learn's KMeans has them; criteria go by their names."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans

from subspaces import PSC, KSubspaces, MiniBatchPSC, load
from subspaces.datasets import make_subspaces
from subspaces.runtime.model_file import SavedModel, read, write
from tests.estimators.checks import CLUSTERERS

UNION = make_subspaces([60, 60], 6, [1, 1], noise=0.05, random_state=0)
X = UNION.data
IN_PASSES = (PSC, KSubspaces, MiniBatchPSC)
MANY = make_subspaces([5001, 5000], 6, [1, 1], noise=0.05, random_state=0)


def many_rows(kind):
    """More rows than are held in view, as an array of a kind."""
    if kind == "sparse":
        return sparse.csr_array(MANY.data)
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(MANY.data, chunks=(4000, 6))
    return MANY.data if kind == "array" else pytest.importorskip("torch").asarray(MANY.data)


@pytest.mark.parametrize("name", CLUSTERERS)
def test_labels_are_of_the_type_of_k_means(name):
    model = CLUSTERERS[name](2, random_state=0)
    if "n_init" in model.get_params():
        model.set_params(n_init=1)
    assert model.fit_predict(X).dtype == np.int32
    expected = KMeans(2, n_init=1, random_state=0).fit(X)
    assert model.labels_.dtype == expected.labels_.dtype == np.int32
    assert model.predict(X).dtype == expected.predict(X).dtype


@pytest.mark.parametrize("kind", ["array", "sparse", "dask", "torch"])
@pytest.mark.parametrize("cls", IN_PASSES)
def test_labels_in_passes_are_of_the_same_type(cls, kind):
    rows = many_rows(kind)
    with config_context(array_api_dispatch=kind == "torch"):
        model = cls(2, init="random", n_init=1, random_state=0).fit(rows)
        assert str(model.labels_.dtype).endswith("int32")
        assert str(model.predict(rows).dtype).endswith("int32")
        few = model.predict(rows[:10])
        assert str(few.dtype).endswith("int32")


def test_labels_of_a_batch_are_of_the_same_type():
    model = MiniBatchPSC(2, random_state=0).partial_fit(X)
    assert model.labels_.dtype == np.int32


def test_files_with_labels_of_64_bits_load(tmp_path):
    model = PSC(2, random_state=0).fit(X)
    model.save(tmp_path / "now.npz")
    saved = read(tmp_path / "now.npz")
    state = {**saved.state, "labels_": model.labels_.astype(np.int64)}
    write(tmp_path / "old.npz", SavedModel(saved.estimator, saved.parameters, state))
    again = load(tmp_path / "old.npz")
    assert again.labels_.dtype == np.int32
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("kind", ["array", "sparse", "dask", "torch"])
@pytest.mark.parametrize(
    ("asked", "few", "many"),
    [
        ("auto", "distance", "distance"),
        ("loo", "loo", "hat"),
        ("hat", "hat", "hat"),
        ("influence", "influence", "influence"),
        ("likelihood", "likelihood", "likelihood"),
    ],
)
def test_the_criterion_is_named_by_what_ran(asked, few, many, kind):
    """Beyond 10,000 rows a member is left out to first order, which is "hat"."""
    assert PSC(2, criterion=asked, init=UNION.target).fit(X).criterion_ == few
    with config_context(array_api_dispatch=kind == "torch"):
        assert PSC(2, criterion=asked, init=MANY.target).fit(many_rows(kind)).criterion_ == many


def test_the_criterion_of_more_than_ten_thousand_rows_is_named_by_what_ran():
    model = PSC(2, init=MANY.target, criterion="loo").fit(MANY.data)
    assert (model.criterion_, model.labels_.dtype) == ("hat", np.int32)
    labels = model.labels_
    np.testing.assert_array_equal(
        PSC(2, init=MANY.target, criterion="hat").fit(MANY.data).labels_, labels
    )


NOISY = {
    "equal": make_subspaces([40] * 3, 8, [2] * 3, noise=0.3, random_state=0),
    "unequal": make_subspaces([40] * 3, 8, [1, 2, 3], noise=0.15, random_state=0),
    "as many as the rank": make_subspaces([40] * 3, 3, [1, 1, 3], noise=0.05, random_state=0),
    "many rows": make_subspaces([3600] * 3, 8, [2] * 3, noise=0.3, random_state=0),
    "many rows, unequal": make_subspaces([3600] * 3, 8, [1, 2, 3], noise=0.3, random_state=0),
}
TAKEN = {
    PSC: dict.fromkeys(NOISY, "likelihood") | {"equal": "distance", "many rows": "distance"},
    MiniBatchPSC: dict.fromkeys(NOISY, "likelihood")
    | {"equal": "residual", "many rows": "residual"},
}


@pytest.mark.filterwarnings("ignore:n_components=3 equals the rank")
@pytest.mark.parametrize("data", list(NOISY))
@pytest.mark.parametrize("cls", [PSC, MiniBatchPSC])
def test_the_criterion_that_auto_takes_gives_the_same_model_by_its_name(cls, data):
    union, name = NOISY[data], TAKEN[cls][data]
    model = cls(len(union.n_components), n_components=union.n_components, random_state=0)
    automatic = model.fit(union.data)
    named = clone(model).set_params(criterion=name).fit(union.data)
    assert automatic.criterion_ == named.criterion_ == name
    np.testing.assert_array_equal(named.labels_, automatic.labels_)
    assert named.objective_ == automatic.objective_
    if cls is PSC:
        assert named.starts_ == automatic.starts_
        assert named.start_margin_ == automatic.start_margin_


def test_other_criteria_are_compared_by_their_own_objective():
    union = NOISY["equal"]
    model = PSC(3, n_components=2, criterion="loo", random_state=0).fit(union.data)
    assert all(row["promise"] == 0.0 for row in model.starts_)
    assert all(row["merit"] == row["objective"] for row in model.starts_)
    assert model.objective_ == min(row["objective"] for row in model.starts_)


def as_kind(rows, kind):
    if kind == "sparse":
        return sparse.csr_array(rows)
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(rows, chunks=(400, rows.shape[1]))
    return pytest.importorskip("torch").asarray(rows) if kind == "torch" else rows


@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.parametrize("kind", ["array", "many rows", "sparse", "dask", "torch"])
@pytest.mark.parametrize("max_iter", [1, 2, 50])
@pytest.mark.parametrize("affine", [False, True])
def test_k_subspaces_labels_are_predicted_whenever_it_stops(kind, max_iter, affine):
    sizes = [4000] * 3 if kind in ("many rows", "torch") else [300] * 3
    made = make_subspaces(sizes, 7, [2] * 3, noise=0.6, offset=affine, random_state=5)
    rows = as_kind(made.data, kind)
    with config_context(array_api_dispatch=kind == "torch"):
        model = KSubspaces(
            3, n_components=2, affine=affine, max_iter=max_iter, n_init=1, random_state=3
        ).fit(rows)
        labels, placed = np.asarray(model.labels_), np.asarray(model.predict(rows))
        scores = np.asarray(model.transform(rows))
    np.testing.assert_array_equal(labels, placed)
    np.testing.assert_allclose(model.objective_, scores.min(axis=1).sum(), rtol=1e-9)
    means = [made.data[labels == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(np.asarray(model.cluster_means_), means, atol=1e-6)


@pytest.mark.parametrize("max_iter", [2, 50])
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_psc_subspaces_are_those_of_its_labels_whenever_it_stops(max_iter):
    few = make_subspaces([300] * 3, 7, [2] * 3, noise=0.6, random_state=5).data
    for kind in ("array", "sparse", "dask"):
        rows = as_kind(few, kind)
        model = PSC(3, n_components=2, max_iter=max_iter, n_init=1, random_state=3).fit(rows)
        labels = np.asarray(model.labels_)
        for k, subspace in enumerate(model.subspaces_):
            axes = np.linalg.svd(few[labels == k], full_matrices=False)[2][:2]
            np.testing.assert_allclose(
                subspace.basis @ subspace.basis.T, axes.T @ axes, atol=1e-8, err_msg=kind
            )


def messages_of(model, rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    return {str(warning.message).split(":")[0] for warning in caught}


@pytest.mark.filterwarnings("ignore:.*clusters are empty")
@pytest.mark.parametrize("seed", [3, 4, 7])
def test_equal_samples_are_treated_and_told_alike_by_all_kinds_of_data(seed):
    distinct = np.random.default_rng(seed).normal(size=(5, 3))
    rows = distinct[[0, 1, 2, 3, 4, 0, 1, 0]]
    means = {"n_components": 0, "affine": True, "random_state": 0}
    for n_clusters in (5, 6):
        found = {
            kind: KSubspaces(n_clusters, **means).fit(as_kind(rows, kind)).labels_.tolist()
            for kind in ("array", "sparse")
        }
        assert found["array"] == found["sparse"] == [0, 1, 2, 3, 4, 0, 1, 0]
    for kind in ("array", "sparse", "dask"):
        said = messages_of(KSubspaces(6, **means), as_kind(rows, kind))
        assert any("1 of n_clusters=6 clusters are empty" in text for text in said), kind
        said = messages_of(PSC(2, random_state=0), as_kind(rows, kind))
        assert any("3 of 8 samples are exact copies" in text for text in said), kind


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("cls", IN_PASSES)
def test_a_model_of_any_kind_of_data_places_rows_of_any_other(cls, affine):
    rows = make_subspaces([300] * 2, 7, [2] * 2, noise=0.3, offset=affine, random_state=6).data
    kinds = ("array", "sparse", "dask")
    for of_fit in kinds:
        model = cls(2, n_components=2, affine=affine, random_state=0).fit(as_kind(rows, of_fit))
        expected = model.predict(as_kind(rows, of_fit))
        for kind in kinds:
            found = model.predict(as_kind(rows, kind))
            np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), kind)
