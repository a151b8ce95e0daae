import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from subspaces import SSC
from subspaces.core.partition import canonical
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy, subspace_angles
from subspaces.subspace import fit_subspace, squared_residual
from tests.warned import refuses, warns

SOLVERS = ("elastic_net", "lasso", "omp", "admm", "lsr")


@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_subspaces_are_found(solver):
    union = make_subspaces(120, 15, [3, 3, 3], noise=0.02, shuffle=True, random_state=0)
    model = SSC(3, n_components=3, solver=solver, random_state=0).fit(union.data)
    assert matched_accuracy(union.target, model.labels_) >= 0.98
    assert_array_equal(model.labels_, canonical(model.labels_))


SHORT_OF_EDGES = {
    "omp": ({"n_nonzero": 1}, "n_nonzero above 1"),
    "lsr": ({"n_nonzero": 1}, "n_nonzero above 1"),
    "elastic_net": ({"alpha": 1.05}, "alpha above 1.05"),
    "lasso": ({"alpha": 1.05}, "alpha above 1.05"),
    "admm": ({"share": 0.05}, "share above 0.05 or alpha above 20"),
}


@pytest.mark.parametrize("solver", SHORT_OF_EDGES)
def test_a_graph_in_more_pieces_than_clusters_is_told(solver):
    union = make_subspaces([60, 60], 20, [2, 2], noise=0.3, random_state=0)
    setting, advice = SHORT_OF_EDGES[solver]
    model = SSC(2, n_components=2, solver=solver, random_state=0, **setting)
    with warns("pieces") as heard:
        model.fit(union.data)
    n_pieces = connected_components(model.affinity_matrix_, directed=False)[0]
    message = heard[0].message
    assert message.parameters == {"pieces": n_pieces, "n_clusters": 2}
    assert n_pieces > 2
    assert all(said in str(message) for said in advice.split(" or "))
    assert ("solver" in [each.parameter for each in message.advice]) == (solver == "omp")


def test_a_graph_in_as_many_pieces_as_clusters_is_no_matter():
    union = make_subspaces([40, 40], 20, [2, 2], noise=0.0, random_state=0)
    model = SSC(2, n_components=2, random_state=0).fit(union.data)
    assert connected_components(model.affinity_matrix_, directed=False)[0] <= 2


@pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")
@pytest.mark.parametrize("solver", ["elastic_net", "lasso", "admm", "lsr"])
def test_affine_flats_are_found(solver):
    union = make_subspaces(120, 12, [2, 2, 2], noise=0.01, offset=1.0, random_state=4)
    model = SSC(3, n_components=2, solver=solver, affine=True, random_state=0).fit(union.data)
    assert matched_accuracy(union.target, model.labels_) >= 0.98
    assert max(np.linalg.norm(flat.centre) for flat in model.subspaces_) > 1


@pytest.mark.parametrize("solver", ["elastic_net", "omp", "lsr"])
def test_the_graph_of_affine_flats_does_not_depend_on_place_or_scale(solver):
    union = make_subspaces(60, 6, [2, 2], noise=0.05, offset=1.0, random_state=0)
    model = SSC(2, n_components=2, solver=solver, affine=True)
    graphs = [model.fit(rows).affinity_matrix_ for rows in (union.data, 9 * union.data + 40)]
    assert_allclose(graphs[0].toarray(), graphs[1].toarray(), atol=1e-6)


def test_lines_on_one_ray_need_affine():
    random = np.random.default_rng(0)
    across = np.array([[0.6, -0.8, 0.0], [0.0, 0.6, 0.8]])
    rows = np.vstack([[4.0, 3.0, 1.0] + random.normal(size=(30, 1)) * axis for axis in across])
    rows[30:] *= 3
    truth = np.repeat([0, 1], 30)
    model = SSC(2, solver="admm", affine=True, random_state=0).fit(rows)
    assert matched_accuracy(truth, model.labels_) == 1.0


@pytest.mark.parametrize("solver", ["elastic_net", "lasso", "admm", "lsr"])
def test_unequal_dimensions_go_to_the_parts_they_suit(solver):
    union = make_subspaces([40, 60], 12, [4, 1], noise=0.01, shuffle=True, random_state=1)
    for dimensions in ([1, 4], [4, 1]):
        model = SSC(2, n_components=dimensions, solver=solver, random_state=0).fit(union.data)
        own = [int(np.argmax(np.equal(dimensions, r))) for r in (4, 1)]
        assert_array_equal(model.n_components_, dimensions)
        assert np.mean(np.array(own)[union.target] == model.labels_) > 0.95


@pytest.mark.parametrize("solver", SOLVERS)
def test_labels_do_not_depend_on_rotation_scale_or_order(solver):
    union = make_subspaces(90, 10, [2, 2], noise=0.1, random_state=0)
    random = np.random.default_rng(0)
    order, rotation = random.permutation(90), np.linalg.qr(random.normal(size=(10, 10)))[0]
    model = SSC(2, n_components=2, solver=solver, random_state=0)
    plain = model.fit(union.data).labels_
    moved = model.fit(7.0 * (union.data @ rotation)[order]).labels_
    assert matched_accuracy(plain[order], moved) > 0.97


def test_flats_are_those_of_the_labels():
    union = make_subspaces(80, 9, [2, 2], noise=0.05, offset=1.0, random_state=2)
    model = SSC(2, n_components=2, affine=True, solver="admm", random_state=0).fit(union.data)
    total = 0.0
    for k, flat in enumerate(model.subspaces_):
        members = union.data[model.labels_ == k]
        expected = fit_subspace(members, 2, affine=True)
        assert_allclose(subspace_angles(flat, expected), 0.0, atol=1e-6)
        total += squared_residual(members, expected).sum()
    assert_allclose(model.objective_, total)
    assert_array_equal(model.predict(union.data), np.argmin(model.transform(union.data), axis=1))


def test_the_graph_is_sparse_and_symmetric():
    union = make_subspaces(100, 10, [2, 2], noise=0.1, random_state=0)
    graph = SSC(2, solver="omp", n_nonzero=3, random_state=0).fit(union.data).affinity_matrix_
    assert sparse.issparse(graph)
    assert graph.shape == (100, 100)
    assert graph.nnz <= 2 * 3 * 100
    assert abs(graph - graph.T).max() == 0
    assert graph.data.min() > 0


def test_length_does_not_count_where_flats_are_linear():
    union = make_subspaces(60, 8, [2, 2], noise=0.05, random_state=0)
    factors = np.exp(np.random.default_rng(0).normal(size=(60, 1)))
    graphs = [SSC(2).fit(rows).affinity_matrix_ for rows in (union.data, union.data * factors)]
    assert_allclose(graphs[0].toarray(), graphs[1].toarray(), atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"solver": "lars"}, "solver"),
        ({"alpha": 0.0}, "alpha"),
        ({"l1_ratio": 0.0}, "l1_ratio"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"share": 2.0}, "share"),
        ({"solver": "omp", "n_nonzero": 0}, "n_nonzero"),
        ({"alpha": 0.5}, "alpha"),
        ({"n_components": [1, 2, 3]}, "n_components"),
    ],
)
def test_bad_parameters_are_named(parameters, refused):
    union = make_subspaces(40, 5, [1, 1], noise=0.1, random_state=0)
    with refuses(refused):
        SSC(**parameters).fit(union.data)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_but_zeros_is_refused(solver):
    with refuses("X", naming=["zero"]):
        SSC(2, solver=solver).fit(np.zeros((20, 3)))
