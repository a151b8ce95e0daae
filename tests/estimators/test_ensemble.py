import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from subspaces import EnsembleKSubspaces
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import alternate
from subspaces.core.partition import canonical
from subspaces.core.problem import Problem
from subspaces.core.rows import choose_rows
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score, subspace_angles
from subspaces.rivals import ensemble
from subspaces.rivals.ensemble import random_subspaces
from subspaces.subspace import fit_subspace, squared_residual
from tests.plain import generic
from tests.warned import refuses, warns

UNION = make_subspaces([30, 40], 8, [1, 2], noise=0.02, random_state=0)
X = UNION.data


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_one_run_is_k_subspaces_from_that_start(affine, seed):
    data = generic(60, 6, seed=seed)
    model = EnsembleKSubspaces(
        3, n_components=2, affine=affine, n_runs=1, max_iter=30, random_state=seed
    ).fit(data)
    first = int(np.random.RandomState(seed).randint(2**31 - 1))
    random = np.random.default_rng(int(np.random.default_rng(first).integers(2**31, size=1)[0]))
    rows = choose_rows(data - data.mean(axis=0) if affine else data, 3)
    problem = Problem(rows, (2, 2, 2), "residual", affine)
    run = alternate(
        RowsInView(problem), random_subspaces(problem, random), max_iter=30, random=random
    )
    assert_array_equal(model.labels_, canonical(run.labels))
    assert model.objective_ == pytest.approx(run.objective)
    assert model.n_iter_ == run.n_iter > 1
    if run.stop_reason == "converged":
        assert_array_equal(model.predict(data), model.labels_)


def test_attributes():
    model = EnsembleKSubspaces(2, n_components=[1, 2], n_runs=30, random_state=0).fit(X)
    assert_array_equal(model.n_components_, [1, 2])
    assert model.q_ == 18
    assert model.affinity_matrix_.shape == (70, 70)
    assert model.affinity_matrix_.nnz <= 2 * 18 * 70
    assert abs(model.affinity_matrix_ - model.affinity_matrix_.T).max() == 0
    assert model.n_iter_ <= 3
    errors = 0.0
    for k, flat in enumerate(model.subspaces_):
        members = X[model.labels_ == k]
        plain = fit_subspace(members, [1, 2][k])
        assert_allclose(subspace_angles(flat, plain), 0.0, atol=1e-7)
        errors += squared_residual(members, plain).sum()
    assert model.objective_ == pytest.approx(errors)
    assert_array_equal(model.predict(X), model.transform(X).argmin(axis=1))
    assert rand_score(UNION.target, model.labels_) > 0.9
    assert rand_score(model.labels_, model.predict(X)) > 0.9


def test_the_objective_is_that_of_the_own_clusters():
    data = generic(60, 6)
    model = EnsembleKSubspaces(2, n_components=2, n_runs=1, max_iter=1, random_state=0).fit(data)
    scores = model.transform(data)
    assert model.objective_ == pytest.approx(sum(scores[i, k] for i, k in enumerate(model.labels_)))
    assert model.objective_ > 1.01 * scores.min(axis=1).sum()


@pytest.mark.parametrize("dimensions", [[1, 2], [2, 1]])
def test_the_clusters_get_the_dimensions_that_fit(dimensions):
    model = EnsembleKSubspaces(2, n_components=dimensions, n_runs=30, random_state=0).fit(X)
    assert_array_equal(model.n_components_, dimensions)
    found = model.n_components_[model.labels_]
    assert np.mean(found == UNION.n_components[UNION.target]) > 0.9


@pytest.mark.parametrize(
    ("name", "least"), [("a", 1.0), ("b", 0.99), ("c", 0.99), ("d", 0.7), ("e", 0.99)]
)
def test_the_scenarios(name, least):
    found = []
    for seed in range(2):
        scenario = make_scenario(name, random_state=seed)
        K = len(scenario.n_components)
        model = EnsembleKSubspaces(
            K, n_components=scenario.n_components, n_runs=60, random_state=seed
        )
        if name == "d":
            with warns("full_rank"):
                model.fit(scenario.data)
        else:
            model.fit(scenario.data)
        found.append(rand_score(scenario.target, model.labels_))
    assert np.mean(found) >= least


def test_affine_flats_off_the_origin():
    union = make_subspaces([60, 60], 5, [1, 2], noise=0.01, offset=3.0, random_state=1)
    model = EnsembleKSubspaces(2, n_components=[1, 2], affine=True, n_runs=30, random_state=0).fit(
        union.data
    )
    assert rand_score(union.target, model.labels_) > 0.95
    for flat, true in zip(model.subspaces_, union.subspaces, strict=True):
        assert subspace_angles(flat, true).max() < 0.05


def test_more_candidates_of_another_dimension():
    model = EnsembleKSubspaces(
        2, n_components=2, n_candidates=5, n_base_components=1, n_runs=20, random_state=0
    ).fit(X)
    assert set(model.labels_) == {0, 1}
    assert_array_equal(model.n_components_, [2, 2])
    few = EnsembleKSubspaces(2, n_components=2, n_runs=20, random_state=0).fit(X)
    assert model.affinity_matrix_.sum() < few.affinity_matrix_.sum()


def test_base_dimensions_are_repeated_and_leave_room():
    model = EnsembleKSubspaces(2, n_components=[1, 2], n_candidates=5)
    rows = choose_rows(generic(60, 3), 2)
    assert model._base_problem(Problem(rows, (1, 2), "residual", False)).dimensions == (
        1,
        2,
        1,
        2,
        1,
    )
    assert model._base_problem(Problem(rows, (1, 3), "residual", False)).dimensions == (
        1,
        2,
        1,
        2,
        1,
    )
    given = EnsembleKSubspaces(2, n_base_components=[2, 1])
    assert given._base_problem(Problem(rows, (1, 1), "residual", False)).dimensions == (2, 1)


def test_missing_clusters_are_said(monkeypatch):
    monkeypatch.setattr(ensemble, "cut", lambda *_: np.arange(70) % 2)
    with warns("filled_up", kind=ConvergenceWarning):
        model = EnsembleKSubspaces(3, n_runs=2, random_state=0).fit(X)
    assert set(model.labels_) == {0, 1, 2}


@pytest.mark.parametrize(
    ("parameters", "kind", "refused"),
    [
        ({"n_runs": 0}, ValueError, "n_runs"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"q": 71}, ValueError, "q"),
        ({"q": "all"}, TypeError, "q"),
        ({"affine": 1}, TypeError, "affine"),
        ({"n_candidates": 30}, ValueError, "n_candidates"),
        ({"n_base_components": [1, 1, 2]}, ValueError, "n_base_components"),
        ({"n_base_components": 0}, ValueError, "n_base_components"),
        ({"n_components": [1, 1, 2]}, ValueError, "n_components"),
    ],
)
def test_bad_parameters_get_one_line(parameters, kind, refused):
    with refuses(refused, kind=kind) as caught:
        EnsembleKSubspaces(2, **parameters).fit(X)
    assert "\n" not in str(caught.value)


def test_data_of_too_low_a_rank():
    with refuses("X", naming=["zero"]):
        EnsembleKSubspaces(2).fit(np.zeros((10, 3)))
    with refuses("X", naming=["identical"]):
        EnsembleKSubspaces(2, affine=True).fit(np.ones((10, 3)))
    low_rank = generic(40, 2) @ np.random.default_rng(0).normal(size=(2, 9))
    with refuses("n_components", 3):
        EnsembleKSubspaces(2, n_components=3).fit(low_rank)
