"""Whether clusters are more than chance: the gain, tables without clusters, p-values, verdicts."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.spatial.distance import pdist
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import GPCA, PSC, KSubspaces
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import _is_real, is_real
from subspaces.messages import Grade, ParameterError, ParameterTypeError
from tests.core.test_choosing import refitted_student

PLANES = make_subspaces([25, 25], 8, [2, 2], noise=0.1, random_state=0).data
NOISE = np.random.default_rng(6).normal(size=(50, 8))
MODEL = PSC(2, n_components=2, random_state=0).fit(PLANES)
FAST = {"n_nulls": 19, "n_init": 1, "random_state": 0}


@pytest.mark.parametrize("affine", [False, True])
def test_the_gain_is_that_of_refits_without_each_sample(affine):
    X = 3.0 + PLANES[:24] @ np.random.default_rng(1).normal(size=(8, 5))
    model = PSC(3, n_components=1, affine=affine, n_init=2)
    search = _is_real.Search(model, PSC(2, n_components=1, affine=affine, n_init=2))
    found = search(X, 5)
    three, two = found.clusters.labels, found.fewer.labels
    costs = refitted_student(X, three, [1, 1, 1], affine).sum()
    assert found.gain == pytest.approx(refitted_student(X, two, [1, 1], affine).sum() - costs)
    one = [refitted_student(X, np.zeros(24, dtype=int), [r], affine).sum() for r in (1, 3)]
    assert _is_real.Search(model)(X, 5).gain == pytest.approx(min(one) - costs)


def test_wide_tables_have_the_gain_of_their_coordinates():
    wide = PLANES @ np.linalg.qr(np.random.default_rng(1).normal(size=(70, 8)))[0].T
    search = _is_real.Search(PSC(2, n_components=2, n_init=2))
    assert search(wide, 1).gain == pytest.approx(search(PLANES, 1).gain)


def drawn(X, null, labels=None, seed=0):
    clouds = _is_real.clouds_of(X, null, labels)
    return _is_real.drawn_table(clouds, X.shape, np.random.default_rng(seed))


@pytest.mark.parametrize("width", [4, 40])
def test_rotated_tables_keep_means_and_covariance(width):
    X = 3.0 + np.random.default_rng(0).normal(size=(20, width)) * np.geomspace(1, 50, width)
    found = drawn(X, "rotation")
    assert_allclose(found.mean(axis=0), X.mean(axis=0))
    assert_allclose(np.cov(found.T), np.cov(X.T), atol=1e-9)
    assert np.abs(stats.pearsonr(found[:, 0], X[:, 0])[0]) < 0.6


def test_copula_tables_keep_all_values_and_nearly_the_ranks_dependence():
    random = np.random.default_rng(0)
    factor = random.normal(size=(400, 1)) + 0.5 * random.normal(size=(400, 3))
    X = np.column_stack([np.exp(factor[:, 0]), -factor[:, 1], np.round(factor[:, 2])])
    found = drawn(X, "copula")
    assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))
    ranks = stats.spearmanr(found).statistic - stats.spearmanr(X).statistic
    assert np.abs(ranks).max() < 0.1


@pytest.mark.parametrize("affine", [False, True])
def test_tables_of_few_directions_are_drawn_in_these(affine):
    few = 2.0 + NOISE[:, :3] @ np.random.default_rng(0).normal(size=(3, 30))
    rows = _is_real.in_own_directions(few, affine)
    assert np.linalg.matrix_rank(drawn(rows, "copula")) == rows.shape[1] == 4 - affine
    assert_allclose(pdist(rows), pdist(few))
    if not affine:  # the origin stays where it is
        assert_allclose(rows @ rows.T, few @ few.T)
    assert _is_real.in_own_directions(NOISE, affine) is NOISE


@pytest.mark.parametrize("null", ["copula", "rotation"])
def test_each_of_fewer_clusters_is_drawn_on_its_own(null):
    X, labels = PLANES + np.repeat([[0.0], [9.0]], 25, axis=0), np.repeat([0, 1], 25)
    found = drawn(X, null, labels)
    for k in (0, 1):
        assert_allclose(found[labels == k].mean(axis=0), X[labels == k].mean(axis=0), atol=1e-12)
        assert not np.allclose(found[labels == k], X[labels == k])


@pytest.mark.parametrize(
    ("gains", "stop", "p", "n_drawn"),
    [
        ([0.0, 1.0, 4.0], 9, 1 / 4, 3),
        ([0.0, 6.0, 4.0], 9, 2 / 4, 3),
        ([5.0, 1.0, 6.0], 2, 2 / 3, 3),
        ([5.0, 6.0, 1.0], 2, 2 / 2, 2),
        ([1.0, 5.0, 6.0], 1, 1 / 2, 2),
    ],
)
def test_the_sequential_p_value(gains, stop, p, n_drawn):
    found, kept = _is_real.sequential_p_value(5.0, iter(gains), 3, stop)
    assert found == pytest.approx(p)
    assert_array_equal(kept, gains[:n_drawn])


@pytest.mark.parametrize("stop", [1, 2, 5])
def test_the_sequential_p_value_is_valid(stop):
    """In all orders of six gains, p <= a in at most a share a of them."""
    orders = permutations(range(6))
    p = np.array([_is_real.sequential_p_value(g, iter(rest), 5, stop)[0] for g, *rest in orders])
    assert np.min(p) == pytest.approx(1 / 6)
    for level in np.unique(p):
        assert np.mean(p <= level) <= level + 1e-12


@pytest.mark.parametrize("null", ["copula", "rotation"])
def test_planes_are_more_than_chance_and_noise_is_not(null):
    found = is_real(MODEL, PLANES, null=null, **FAST)
    assert (found.p_value, found.grade, found.null) == (0.05, Grade.SURE, null)
    assert found.z > 3
    assert found.conclusion.code == "more_than_chance"
    assert len(found.null_gains) == 19
    model = PSC(2, n_components=2, random_state=0).fit(NOISE)
    labels = model.labels_.copy()
    found = is_real(model, NOISE, null=null, **FAST)
    assert (found.grade, found.conclusion.code) == (Grade.NO, "chance")
    assert found.p_value == 10 / len(found.null_gains)
    assert_array_equal(model.labels_, labels)


def test_one_of_two_lines_too_many_is_chance_and_the_second_is_not():
    lines = make_subspaces([25, 25], 8, [1, 1], noise=0.15, scores="normal", random_state=1).data
    three, two = (PSC(k, random_state=0).fit(lines) for k in (3, 2))
    assert is_real(three, lines, against=2, **FAST).p_value > 0.05
    assert is_real(two, lines, against=1, **FAST).p_value == 0.05


def test_a_random_walk_is_doubtful():
    walk = np.cumsum(np.random.default_rng(1).normal(size=(60, 6)), axis=0)
    found = is_real(PSC(2, affine=True, random_state=0).fit(walk), walk, **FAST)
    assert (found.grade, found.conclusion.code) == (Grade.DOUBTFUL, "neighbours_depend")


def test_arrays_of_a_device_are_tested_as_those_of_numpy():
    torch = pytest.importorskip("torch")
    with config_context(array_api_dispatch=True):
        model = PSC(2, n_components=2, random_state=0).fit(torch.asarray(PLANES))
        found = is_real(model, torch.asarray(PLANES), **FAST)
    expected = is_real(MODEL, PLANES, **FAST)
    assert (found.gain, found.p_value) == (expected.gain, expected.p_value)


def test_threads_do_not_change_the_answer():
    first, second = (
        is_real(PSC(2, n_components=2, random_state=0, n_jobs=n).fit(PLANES), PLANES, **FAST)
        for n in (1, 3)
    )
    assert_array_equal(first.null_gains, second.null_gains)
    assert (first.gain, first.p_value) == (second.gain, second.p_value)


def test_one_cluster_has_nothing_to_test():
    found = is_real(PSC(1, random_state=0).fit(PLANES), PLANES)
    assert np.isnan(found.p_value)
    assert (found.grade, found.conclusion.code) == (Grade.UNKNOWN, "one_cluster")


def with_few_missing():
    X = PLANES.copy()
    X[::9, 3] = np.nan
    return X


def many_samples():
    return make_subspaces([600, 600], 3, [1, 1], noise=0.1, random_state=0).data


@pytest.mark.parametrize(
    ("model", "make"),
    [
        (PSC(2, n_components=2), with_few_missing),
        (PSC(2), many_samples),
        (PSC(2, n_components=2, n_variables=4), lambda: PLANES),
        (PSC(2, n_components="auto"), lambda: PLANES),
        (PSC(2, n_components=2, init=np.repeat([0, 1], 25)), lambda: PLANES),
        (PSC(2, n_components=[2, 1]), lambda: PLANES),
        (KSubspaces(2, n_components=2), lambda: PLANES),
        (make_pipeline(StandardScaler(), PSC(2, n_components=2)), lambda: PLANES),
    ],
)  # fmt: skip
def test_kinds_of_models_and_tables(model, make):
    X = make()
    found = is_real(model.fit(X), X, **FAST)
    assert found.p_value == 0.05


def test_tables_of_other_libraries_have_the_same_answer():
    dask = pytest.importorskip("dask.array")
    X = many_samples()
    tables = X, sparse.csr_array(X), dask.from_array(X, chunks=(300, 3))
    found = [_is_real._samples(PSC(2, random_state=0).fit(each), each) for each in tables]
    for rows, first in found:
        assert rows.shape == (1000, 3)
        assert_allclose(rows, found[0][0])
        assert_allclose(first, X[:1000] - X[:1000].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize(
    ("parameter", "given"),
    [
        ("n_nulls", {"n_nulls": 18}),
        ("against", {"against": 2}),
        ("against", {"against": 0}),
        ("null", {"null": "permutation"}),
        ("n_init", {"n_init": 0}),
        ("early_stop", {"early_stop": 0}),
    ],
)
def test_impossible_parameters(parameter, given):
    with pytest.raises(ParameterError) as caught:
        is_real(MODEL, PLANES, **given)
    assert caught.value.parameter == parameter


def test_few_tables_tell_which_p_value_they_reach():
    with pytest.raises(ParameterError) as caught:
        is_real(MODEL, PLANES, n_nulls=9)
    assert caught.value.parameters["least"] == 0.1


def test_other_models_and_mostly_incomplete_samples_do_not_work():
    with pytest.raises(ParameterTypeError) as caught:
        is_real(GPCA(2).fit(PLANES), PLANES)
    assert caught.value.parameter == "model"
    X = PLANES.copy()
    X[np.arange(50), np.arange(50) % 8] = np.nan
    with pytest.raises(ParameterError) as caught:
        is_real(PSC(2, n_components=2, random_state=0).fit(X), X)
    assert caught.value.parameter == "X"


def test_a_table_of_fewer_variables_does_not_work():
    with pytest.raises(ValueError, match="features"):
        is_real(MODEL, PLANES[:, :5], **FAST)
