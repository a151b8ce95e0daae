"""A start is added in one place; a device that does not know it says so."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from subspaces import PSC, KSubspaces, MiniBatchPSC
from subspaces.core.array import to_host
from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score
from subspaces.starts.graphs import ADMM_MOST_ROWS
from subspaces.starts.registry import STARTS, NamedStart, find, portfolio
from tests.starts.posed import pose
from tests.warned import refuses

PLANES = make_subspaces([150, 150], 6, [2, 2], noise=0.02, random_state=0)
MANY = make_subspaces([5001, 5000], 6, [2, 2], noise=0.02, random_state=0)
DOCS = Path(__file__).parents[2] / "docs"


def in_order(problem, random):
    n = len(problem.rows.squared_norms)
    return np.arange(n) * problem.n_clusters // n


def in_order_there(points, dimensions, affine, random):
    return np.arange(points.shape[0]) * len(dimensions) // points.shape[0]


@pytest.fixture
def toy(monkeypatch):
    entry = NamedStart("toy", "The rows in their order, cut into equal parts.", in_order)
    monkeypatch.setitem(STARTS, entry.name, entry)
    return entry


def of_many_rows(library):
    """The planes as an array of another library, with more rows than are fetched."""
    return pytest.importorskip(library).asarray(MANY.data)


@pytest.mark.parametrize("estimator", [PSC, KSubspaces])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["in view", "in passes"])
def test_a_new_start_is_taken_by_its_name(estimator, form, toy):
    rows = form(PLANES.data)
    model = estimator(2, n_components=2, init="toy", n_init=3, random_state=0).fit(rows)
    assert [each["start"] for each in model.starts_] == ["toy"] * 3
    assert rand_score(PLANES.target, model.labels_) > 0.9


def test_a_new_start_is_taken_by_streams(toy):
    model = MiniBatchPSC(2, n_components=2, init="toy", random_state=0).fit(PLANES.data)
    assert rand_score(PLANES.target, model.labels_) > 0.9


@pytest.mark.parametrize("estimator", [PSC, KSubspaces, MiniBatchPSC])
def test_a_new_start_is_listed_beside_the_others(estimator, toy):
    with refuses("init", "best") as raised:
        estimator(2, init="best").fit(PLANES.data)
    assert "toy" in str(raised.value)


@pytest.mark.parametrize("estimator", [PSC, KSubspaces])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_a_start_for_main_memory_alone_is_refused_on_a_device(estimator, library, toy):
    rows = of_many_rows(library)
    with config_context(array_api_dispatch=True), refuses("init", "toy") as raised:
        estimator(2, n_components=2, init="toy").fit(rows)
    assert "k-means++" in str(raised.value)  # one that does work there


def test_few_rows_of_a_device_are_fetched_and_take_any_start(toy):
    torch = pytest.importorskip("torch")
    model = PSC(2, n_components=2, init="toy", random_state=0)
    with config_context(array_api_dispatch=True):
        model.fit(torch.asarray(PLANES.data))
    assert {each["start"] for each in model.starts_} == {"toy"}


def test_a_start_with_a_function_for_devices_runs_there(monkeypatch):
    both = NamedStart("toy", "The rows in their order.", in_order, in_order_there)
    monkeypatch.setitem(STARTS, "toy", both)
    rows = of_many_rows("torch")
    model = PSC(2, n_components=2, init="toy", random_state=0)
    with config_context(array_api_dispatch=True):
        model.fit(rows)
    assert [each["start"] for each in model.starts_] == ["toy"]
    assert rand_score(MANY.target, to_host(model.labels_)) > 0.9


@pytest.mark.parametrize("init", ["best", None, 3])
@pytest.mark.parametrize("estimator", [PSC, KSubspaces, MiniBatchPSC])
def test_an_unknown_start_is_refused_on_a_device(estimator, init):
    rows = of_many_rows("torch")
    message = f"init={init!r} is unknown. (Choose from|Use one of) portfolio"
    with config_context(array_api_dispatch=True), pytest.raises(ValueError, match=message):
        estimator(2, n_components=2, init=init).fit(rows)


def test_entries_say_what_they_are_and_stay_so():
    page = (DOCS / "derivations" / "starts.md").read_text()
    for name, entry in STARTS.items():
        assert entry.name == name
        assert entry.meaning[0].isupper()
        assert entry.meaning.endswith(".")
        assert f'"{name}"' in page
        assert find(name) is entry
    with pytest.raises(FrozenInstanceError):
        STARTS["local"].name = "global"
    assert find("best") is None
    assert find([0, 1]) is None


def names_of(problem, n_starts=12):
    return [name for name, _ in portfolio(problem, n_starts)]


def test_the_portfolio_fits_the_problem():
    unequal = names_of(pose(make_subspaces(60, 8, [1, 2], random_state=0)), 20)
    assert [unequal.count(kind) for kind in ("sequential", "angular", "swapped")] == [10, 6, 4]
    equal = names_of(pose(make_subspaces(60, 8, [2, 2], random_state=0)))
    lasso = {"LSR + ADMM", "OMP + ADMM", "ADMM"}
    judges = {"shape interaction", "near expression"}
    assert {"OMP + LSR", "sequential", "angular", "swapped"} | lasso | judges == set(equal)
    many = names_of(pose(make_subspaces(ADMM_MOST_ROWS + 1, 8, [2, 2], random_state=0)))
    assert lasso.isdisjoint(many)
    profiles = replace(pose(make_subspaces(60, 8, [1, 1], random_state=0), True), dimensions=(0, 0))
    assert names_of(profiles, 4) == ["k-means", "sequential"] * 2
    filling = names_of(pose(make_subspaces(60, 2, [2, 2], random_state=0)))
    assert set(filling) == {"sequential", "angular", "swapped"}


def test_a_portfolio_of_few_has_different_starts():
    for dimensions in ([2, 2], [1, 2]):
        assert len(set(names_of(pose(make_subspaces(60, 8, dimensions)), 3))) == 3


@pytest.mark.parametrize("affine", [False, True])
def test_all_starts_of_the_portfolio_are_partitions(affine):
    union = make_subspaces([30, 40], 8, [2, 2], noise=0.05, offset=1.0, random_state=1)
    problem = pose(union, affine)
    for _, start in portfolio(problem, 12):
        labels = start(problem, np.random.default_rng(0))
        assert labels.shape == (70,)
        assert set(labels) <= {0, 1}
