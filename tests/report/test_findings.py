import numpy as np
import pandas as pd
import pytest

from subspaces import PSC, KSubspaces, SparseKMeans, load
from subspaces.app.report._findings import gather, loadings_of, rivalry
from subspaces.datasets import make_subspaces
from subspaces.estimators._record import Record
from subspaces.subspace import Subspace


@pytest.fixture(scope="module")
def union():
    return make_subspaces([20, 25], 12, [2, 2], noise=0.1, random_state=1)


def found(model, X=None, **options):
    given = {"classes": None, "sample_names": None, "variable_names": None, **options}
    return gather(model, X, **given)


def test_the_nearest_other_cluster_off_the_diagonal():
    scores = np.array([[1.0, 4.0, 2.0], [9.0, 3.0, 6.0], [5.0, 1.0, 0.5]])
    seen = rivalry(scores, np.array([0, 1, 1]), likelihoods=False)
    np.testing.assert_allclose(seen.own, [1, 3, 1])
    np.testing.assert_allclose(seen.other, [2, 6, 0.5])
    np.testing.assert_array_equal(seen.rival, [2, 2, 2])
    np.testing.assert_allclose(seen.closeness, [0.5, 0.5, 1.0])
    likely = rivalry(scores, np.array([0, 1, 1]), likelihoods=True)
    np.testing.assert_allclose(likely.closeness, [np.exp(-1), np.exp(-3), 1.0])


def test_scores_at_the_edge_of_numbers():
    scores = np.array([[0.0, 0.0], [np.inf, np.inf], [0.0, 1.0]])
    np.testing.assert_allclose(
        rivalry(scores, np.zeros(3, int), likelihoods=False).closeness, [1, 1, 0]
    )
    assert rivalry(np.ones((3, 1)), np.zeros(3, int), likelihoods=False) is None


def test_variables_are_ranked_by_energy_and_not_by_loading_alone():
    basis = np.array([[0.8, 0.0], [0.6, 0.0], [0.0, 1.0], [0.0, 0.0]])
    loadings = loadings_of(Subspace(np.zeros(4), basis, np.array([9.0, 1.0])))
    np.testing.assert_array_equal(loadings.places, [0, 1, 2])
    np.testing.assert_allclose(loadings.strength, [0.576, 0.324, 0.1])
    np.testing.assert_allclose(loadings.values, basis[:3])


@pytest.mark.parametrize("n_components", [0, 2])
def test_what_sets_a_cluster_apart_is_the_list_of_the_model(union, n_components):
    X = union.data + 5.0
    model = PSC(2, n_components=n_components, affine=True, random_state=0).fit(X)
    seen = found(model).clusters[1]
    order = model.get_variables(1, by="difference")
    assert seen.apart.names == [f"x{j}" for j in order]
    away = X[model.labels_ == 1].mean(axis=0) - X[model.labels_ == 0].mean(axis=0)
    np.testing.assert_allclose(seen.apart.difference, away[order], atol=1e-12)
    assert len(seen.loadings.places) == (12 if n_components else 0)


def test_one_cluster_and_an_older_file_have_no_differences(union):
    alone = PSC(1, n_components=2, random_state=0).fit(union.data)
    assert found(alone).clusters[0].apart is None
    older = PSC(2, n_components=2, random_state=0).fit(union.data)
    del older.cluster_means_, older.within_std_
    assert found(older).clusters[0].apart is None


def test_variables_in_the_order_of_the_model(union):
    model = PSC(2, n_components=2, n_variables=4, random_state=0).fit(union.data)
    for k, cluster in enumerate(found(model).clusters):
        np.testing.assert_array_equal(cluster.loadings.places, model.get_variables(k))


def test_the_data_add_nothing_to_a_record(union):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    without, with_data = found(model), found(model, union.data)
    for one, other in zip(without.clusters, with_data.clusters, strict=True):
        np.testing.assert_allclose(one.coordinates, other.coordinates)
        np.testing.assert_allclose(one.height, other.height)


def test_a_record_too_large_to_keep_is_made_again_from_the_data(union):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    kept = found(model)
    model.record_ = Record(1.0, (), None, None, None, None)
    bare = found(model)
    assert bare.rivalry is None
    assert bare.clusters[0].coordinates is None
    made = found(model, union.data)
    np.testing.assert_allclose(made.clusters[0].coordinates, kept.clusters[0].coordinates)
    np.testing.assert_allclose(made.clusters[0].height, kept.clusters[0].height)
    np.testing.assert_allclose(made.rivalry.closeness, kept.rivalry.closeness)


def test_a_saved_model_tells_the_same(union, tmp_path):
    frame = pd.DataFrame(union.data, index=[f"s{i}" for i in range(45)])
    frame.columns = [f"g{j}" for j in range(12)]
    model = PSC(2, n_components=2, random_state=0).fit(frame)
    model.save(tmp_path / "model.npz")
    one, other = found(model), found(load(tmp_path / "model.npz"))
    assert other.sample_names == [f"s{i}" for i in range(45)]
    assert other.variable_names == one.variable_names
    np.testing.assert_allclose(other.rivalry.closeness, one.rivalry.closeness)
    np.testing.assert_allclose(other.influence, one.influence)


def test_a_method_without_subspaces_shares_its_weights(union):
    model = SparseKMeans(2, n_variables=5, random_state=0).fit(union.data)
    seen = found(model, union.data)
    np.testing.assert_array_equal(seen.common.places, model.get_variables())
    assert [cluster.dimension for cluster in seen.clusters] == [None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0, 1]}, "classes has 2 entries for 45 samples"),
        ({"sample_names": ["a"]}, "sample_names has 1 entry for 45 samples"),
        ({"variable_names": list("abc")}, "variable_names has 3 entries for 12 variables"),
        (
            {"X": np.ones((3, 12))},
            r"X has shape \(3, 12\), but the model was fitted to a table of shape \(45, 12\)",
        ),
    ],
)
def test_what_does_not_fit_the_model_is_named(union, options, message):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    with pytest.raises(ValueError, match=message):
        found(model, **options)


def test_other_data_of_the_same_shape_are_found_out(union):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    wrong = union.data.copy()
    wrong[7] *= 1.01
    with pytest.raises(ValueError, match="fitted to: row 7 differs"):
        found(model, wrong)
