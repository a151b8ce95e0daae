from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC
from subspaces.core.criteria import costs
from subspaces.core.influence import squared_influence_oblique
from subspaces.core.likelihood import Data
from subspaces.core.loo_projection import sparse_errors
from subspaces.core.partition import canonical
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.core.sparse_view import union_of_supports
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import adjusted_rand_score
from tests.estimators.checks import check_as_scikit_learn_does
from tests.plain import generic, influence_vector, leave_one_out_weights, plain_code
from tests.warned import refuses, warns

pytestmark = pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")

UNION = make_subspaces(
    [40, 50], 60, [1, 2], noise=0.2, scores="normal", n_variables=6, random_state=0
)
X = UNION.data


def fitted(**options):
    settings = {"n_components": [1, 2], "n_variables": 6, "n_init": 5, "random_state": 0}
    return PSC(**{"n_clusters": 2, **settings, **options}).fit(X)


@pytest.mark.filterwarnings("ignore::subspaces.messages.SubspacesWarning")
def test_scikit_learns_own_checks():
    weights = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}
    expected = dict.fromkeys(weights, "starts draw from other samples")
    check_as_scikit_learn_does(PSC(n_variables=1, affine=True, n_init=1, random_state=0), expected)


@pytest.mark.parametrize("criterion", ["auto", "residual", "loo_projection"])
def test_attributes(criterion):
    model = fitted(criterion=criterion, n_init=10)
    for k, flat in enumerate(model.subspaces_):
        assert_array_equal(np.count_nonzero(flat.basis, axis=0), 6)
        assert_allclose(np.linalg.norm(flat.basis, axis=0), 1)
        assert_array_equal(model.variables_[k], np.flatnonzero(flat.basis.any(axis=1)))
        members = X[model.labels_ == k]
        assert_allclose(np.sum((members @ flat.basis) ** 2, axis=0), flat.spectrum)
    assert_array_equal(model.support_, np.union1d(*model.variables_))
    assert_array_equal(model.n_components_, [1, 2])
    assert model.influence_.shape == (90,)
    assert np.isfinite(model.press_)
    assert adjusted_rand_score(UNION.target, model.labels_) > 0.5
    assert np.mean(model.predict(X) != model.labels_) < 0.05
    assert_allclose(model.reconstruct(X[:3]), nearest(model, X[:3]), atol=1e-10)


def nearest(model, rows):
    points = []
    for x, k in zip(rows, model.predict(rows), strict=True):
        basis = model.subspaces_[k].basis
        points.append(basis @ np.linalg.lstsq(basis, x, rcond=None)[0])
    return np.array(points)


def test_union_influence_is_the_influence_on_the_union():
    problem = Problem(DenseRows(X), (1, 2), "union_influence", False, Sparsity((6, 6), "l1"))
    views = view_clusters(problem, UNION.target)
    union = np.flatnonzero(union_of_supports(views))
    for name, variables in (("union_influence", union), ("sparse_influence", np.arange(60))):
        found = costs(name, views, Data(90, 60, 1.0))
        for k, view in enumerate(views):
            basis = view.basis[variables]
            for i in (0, 33, 60, 89):
                x = X[i, variables]
                weights = leave_one_out_weights(x, basis, view.spectrum, UNION.target[i] == k)
                plain = np.sum(influence_vector(x, basis, weights) ** 2)
                assert_allclose(found[i, k], plain, rtol=1e-8)


def test_a_new_row_is_scored_on_the_union():
    model = fitted()
    new = generic(1, 60, seed=5)[0]
    for k, flat in enumerate(model.subspaces_):
        basis, x = flat.basis[model.support_], new[model.support_]
        weights = leave_one_out_weights(x, basis, flat.spectrum, False)
        plain = np.sum(influence_vector(x, basis, weights) ** 2)
        assert_allclose(model.transform(new[None])[0, k], plain, rtol=1e-8)


@pytest.mark.parametrize(("name", "least"), [("c", 0.8), ("d", 0.6)])
def test_sparse_scenarios_are_recovered(name, least):
    """One of the sets of benchmarks/sparse_scenarios.py."""
    scenario = make_scenario(name, sparse=True, random_state=0)
    dimensions = scenario.n_components
    model = PSC(len(dimensions), n_components=dimensions, n_variables=10, random_state=0)
    assert adjusted_rand_score(scenario.target, model.fit_predict(scenario.data)) > least


def test_the_mixture_refines_unequal_dimensions():
    plain, refined = [], []
    for seed in range(2):
        scenario = make_scenario("b", sparse=True, random_state=seed)
        settings = {"n_components": [1, 2], "n_variables": 10, "random_state": seed}
        for refine, values in ((None, plain), ("ppca", refined)):
            labels = PSC(2, refine=refine, **settings).fit_predict(scenario.data)
            values.append(adjusted_rand_score(scenario.target, labels))
    assert np.mean(refined) > np.mean(plain) + 0.05


def test_nonnegative_loadings():
    model = fitted(penalty="nonnegative")
    assert all((flat.basis >= 0).all() for flat in model.subspaces_)


def test_one_number_of_variables_per_cluster():
    model = fitted(n_variables=[3, 9])
    counts = [np.count_nonzero(flat.basis, axis=0).tolist() for flat in model.subspaces_]
    assert counts == [[3], [9, 9]]


def test_names_come_back_the_strongest_first():
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(60)])
    model = PSC(2, n_components=[1, 2], n_variables=6, n_init=2, random_state=0).fit(frame)
    names = model.get_variables(0)
    assert set(names) == {f"gene{j}" for j in model.variables_[0]}
    loadings = np.abs(model.subspaces_[0].basis[[int(name[4:]) for name in names], 0])
    assert np.all(np.diff(loadings) <= 0)
    assert_array_equal(np.sort(fitted().get_variables(1)), fitted().variables_[1])
    with refuses("cluster", 2):
        model.get_variables(2)


@pytest.mark.parametrize("criterion", ["auto", "residual", "loo_projection"])
def test_all_variables_are_the_dense_algorithm(criterion):
    start = np.random.default_rng(0).permutation(np.arange(90) % 2)
    dense = "influence" if criterion == "auto" else criterion
    one = PSC(2, n_components=2, n_variables=60, criterion=criterion, init=start).fit(X)
    other = PSC(2, n_components=2, criterion=dense, init=start).fit(X)
    assert_array_equal(one.labels_, other.labels_)
    assert one.objective_ == other.objective_


def test_all_but_one_variable_is_nearly_the_dense_algorithm():
    start = UNION.target
    one = PSC(2, n_components=2, n_variables=59, criterion="residual", init=start).fit(X)
    other = PSC(2, n_components=2, criterion="residual", init=start).fit(X)
    assert adjusted_rand_score(one.labels_, other.labels_) > 0.9


@pytest.mark.parametrize("criterion", ["auto", "residual", "loo_projection"])
def test_laws(criterion):
    start = np.random.default_rng(0).permutation(np.arange(90) % 2)
    settings = {"n_components": 2, "n_variables": 6, "criterion": criterion}
    one = PSC(2, init=start, **settings).fit(X)
    random = np.random.default_rng(1)
    rows, columns = random.permutation(90), random.permutation(60)
    moved = PSC(2, init=start[rows], **settings).fit(X[rows][:, columns])
    assert_array_equal(canonical(one.labels_[rows]), canonical(moved.labels_))
    renamed = PSC(2, init=1 - start, **settings).fit(X)
    assert_array_equal(one.labels_, renamed.labels_)
    for scale in (1e-120, 1e120):
        scaled = PSC(2, init=start, **settings).fit(scale * X)
        assert_array_equal(one.labels_, scaled.labels_)
    shifted = PSC(2, init=start, affine=True, **settings).fit(X + 100.0)
    affine = PSC(2, init=start, affine=True, **settings).fit(X)
    assert_array_equal(affine.labels_, shifted.labels_)
    assert_allclose(shifted.subspaces_[0].centre, affine.subspaces_[0].centre + 100.0)


@pytest.mark.parametrize(
    ("options", "kind", "refused"),
    [
        ({"n_variables": 0}, ValueError, "n_variables"),
        ({"n_variables": 61}, ValueError, "n_variables"),
        ({"n_variables": [6]}, ValueError, "n_variables"),
        ({"n_variables": 2.5}, TypeError, "n_variables"),
        ({"penalty": "l2"}, ValueError, "penalty"),
        ({"criterion": "loo"}, ValueError, "criterion"),
        ({"criterion": "influence"}, ValueError, "criterion"),
        ({"criterion": "likelihood"}, ValueError, "criterion"),
        ({"criterion": "hat"}, ValueError, "criterion"),
        ({"refine": "descent"}, ValueError, "refine"),
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_clusters": 10**9}, ValueError, "n_clusters"),
        ({"n_clusters": "2"}, TypeError, "n_clusters"),
        ({"n_components": 0, "affine": True}, ValueError, "n_components"),
    ],
)
def test_bad_parameters_get_one_line(options, kind, refused):
    with refuses(refused, kind=kind) as caught:
        fitted(**options)
    assert "\n" not in str(caught.value)


def test_a_name_must_mean_one_variable():
    frame = pd.DataFrame(X[:, :4], columns=["a", "b", "a", "c"])
    with refuses("X", twice="a"):
        PSC(2, n_variables=2).fit(frame)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_constant_variables_and_one_of_huge_variance(affine):
    awkward = X.copy()
    awkward[:, 3] = 7.0
    awkward[:, 5] = 0.0
    awkward[:, 8] = 1e6 * np.random.default_rng(0).normal(size=90)
    model = PSC(2, n_components=1, n_variables=4, affine=affine, n_init=3, random_state=0)
    model.fit(awkward)
    assert set(model.labels_) == {0, 1}
    assert np.isfinite(model.transform(awkward)).all()
    if affine:
        assert not {3, 5} & set(model.support_)


def test_a_repulsive_cluster_is_named():
    noise = np.random.default_rng(0).normal(size=(30, 400))
    with warns("repulsion"):
        PSC(2, n_components=1, criterion="influence", init="random", random_state=0).fit(noise)


def objective_under(model, X):
    """The costs of the rows under their own clusters, from the attributes of a model alone."""
    total = 0.0
    for k, flat in enumerate(model.subspaces_):
        rows = X[model.labels_ == k] - flat.centre
        scores, overlap = rows @ flat.basis, flat.basis.T @ flat.basis
        if model.criterion_ == "loo_projection":
            total += sparse_errors(rows, flat.basis, flat.spectrum, model.affine).sum()
            continue
        on = rows[:, model.support_] if model.criterion_ == "union_influence" else rows
        captured = np.einsum("ir,rs,is->i", scores, np.linalg.pinv(overlap), scores)
        residual = np.sum(on**2, axis=1) - captured
        if model.criterion_ == "union_influence":
            residual = squared_influence_oblique(scores, residual, flat.spectrum, overlap)
        total += residual.sum()
    return total


@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.parametrize(("penalty", "affine"), [("l1", False), ("nonnegative", True)])
@pytest.mark.parametrize("criterion", ["auto", "residual", "loo_projection"])
@pytest.mark.parametrize("code", [nullcontext, plain_code], ids=["compiled", "plain"])
def test_the_objective_is_that_of_the_subspaces(code, criterion, penalty, affine):
    """Loadings depend on where their iteration began: those of the last sweep are stored."""
    options = {"criterion": criterion, "penalty": penalty, "affine": affine, "init": "random"}
    stops = set()
    made = make_subspaces([25] * 3, 30, [2] * 3, noise=0.6, n_variables=8, random_state=0)
    order = np.random.default_rng(0).permutation(75)
    rows = made.data[order] + (2.0 if affine else 0.0)
    for max_iter, refine in ((50, None), (2, None), (50, "ppca")):
        model = PSC(3, n_components=2, n_variables=5, n_init=2, random_state=0, **options)
        with code():
            model.set_params(max_iter=max_iter, refine=refine).fit(rows)
        assert_allclose(model.objective_, objective_under(model, rows), rtol=1e-10)
        stops.add(model.stop_reason_)
    assert "max_iter" in stops
    assert len(stops) > 1


@pytest.mark.filterwarnings("ignore")
def test_the_objective_where_every_partition_is_degenerate():
    """All rows but one on a line: no clusters of two dimensions span their axes."""
    rows = np.outer(np.random.default_rng(0).normal(size=30), np.ones(8))
    rows[0] += np.random.default_rng(1).normal(size=8)
    options = {"n_variables": 8, "penalty": "nonnegative", "n_init": 2, "random_state": 0}
    model = PSC(3, n_components=2, **options).fit(rows)
    assert model.stop_reason_ == "infeasible"
    assert_allclose(model.objective_, objective_under(model, rows), rtol=1e-10)
