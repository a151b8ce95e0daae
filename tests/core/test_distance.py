"""The criterion "distance" against refits and the long way round, wherever rows may be."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from subspaces import PSC, load
from subspaces.core import criteria, likelihood
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import DenseRows, GramRows
from subspaces.data import block_pass, pass_kernels
from subspaces.data.blocks import ArrayBlocks
from subspaces.data.in_blocks import WITNESSES, BlockProblem, RowsInBlocks
from subspaces.data.kinds import FEW_ROWS
from subspaces.data.pass_plan import Pass
from subspaces.datasets import make_subspaces
from tests.plain import generic, plain_code
from tests.warned import warns

N, P = 42, 7
LABELS = np.arange(N) % 3
BOTH = pytest.mark.parametrize("affine", [False, True], ids=["linear", "affine"])


def pca(rows, dimension, affine):
    """Centre, axes (p, R) and energies (R,) of the members of a cluster."""
    centre = rows.mean(axis=0) if affine else np.zeros(rows.shape[1])
    _, values, vectors = np.linalg.svd(rows - centre, full_matrices=False)
    return centre, vectors[:dimension].T, values[:dimension] ** 2


def seen(rows, centre, axes):
    """Squared scores (n, R) and squared residuals (n,)."""
    scores = (rows - centre) @ axes
    return scores**2, np.sum((rows - centre - scores @ axes.T) ** 2, axis=1)


def plain_variance(X, labels, dimensions, affine):
    """The variance of the noise, by hand: pooled, but at most by the median residual."""
    own, freedom, rank = [], 0, X.shape[1]
    for k, r in enumerate(dimensions):
        members = X[labels == k]
        own.append(seen(members, *pca(members, r, affine)[:2])[1])
        freedom += (len(members) - affine) * (rank - r)
    own = np.concatenate(own)
    return own.sum() / freedom, 2.0 * np.median(own) / (rank - min(dimensions))


def plain_distance(rows, members, dimension, affine, noise):
    """The distance of rows from the Gaussian of members that they are not among, (n,)."""
    centre, axes, energies = pca(members, dimension, affine)
    scores, residual = seen(rows, centre, axes)
    return residual + scores @ (noise / np.maximum(energies / len(members), noise))


def views_of(X, labels, dimensions, affine, form=DenseRows):
    rows = form(X if form is DenseRows else X @ X.T)
    return [rows.view(np.flatnonzero(labels == k), r, affine) for k, r in enumerate(dimensions)]


def data_of(X):
    return likelihood.Data(*X.shape, float(np.mean(X**2)))


def posed(far):
    """Rows off the origin and off the axes; far: some of them so far off that the median caps."""
    X = generic(N, P, seed=1, decay=0.85)
    X[:12] += far * np.random.default_rng(2).normal(size=(12, P))
    return X


@BOTH
@pytest.mark.parametrize("far", [0.0, 6.0])
@pytest.mark.parametrize("dimensions", [(2, 2, 2), (1, 2, 3)])
def test_the_variance_is_the_pooled_one_unless_the_median_says_half(dimensions, far, affine):
    X = posed(far)
    pooled, capped = plain_variance(X, LABELS, dimensions, affine)
    assert (capped < pooled) == (far > 0)
    found = likelihood.robust_variance(views_of(X, LABELS, dimensions, affine), data_of(X))
    assert_allclose(found, min(pooled, capped), rtol=1e-10)


def test_the_variance_of_rows_without_noise_has_a_floor():
    rows = np.outer(np.arange(1.0, 9), [1.0, 2.0, 3.0])
    view = DenseRows(rows).view(np.arange(8), 1, False)
    found = likelihood.robust_variance([view], likelihood.Data(8, 3, 2.0))
    assert found == pytest.approx(2.0 * likelihood.VARIANCE_FLOOR)


@BOTH
@pytest.mark.parametrize("form", [DenseRows, GramRows])
@pytest.mark.parametrize("far", [0.0, 6.0])
@pytest.mark.parametrize("dimensions", [(2, 2, 2), (1, 2, 3), (6, 6, 6)])
def test_costs_are_those_of_refits(dimensions, far, form, affine):
    """A member's cluster is fitted without it: axes, energies, number and mean."""
    X = posed(far)
    found = criteria.costs("distance", views_of(X, LABELS, dimensions, affine, form), data_of(X))
    noise = min(plain_variance(X, LABELS, dimensions, affine))
    expected = np.empty((N, 3))
    for i in range(N):
        for k, r in enumerate(dimensions):
            others = X[(k == LABELS) & (np.arange(N) != i)]
            expected[i, k] = plain_distance(X[i : i + 1], others, r, affine, noise)[0]
    assert_allclose(found, expected, rtol=1e-10)


@BOTH
def test_an_axis_weaker_than_noise_counts_as_residual(affine):
    """A cluster that is all within the noise of the others: the distance is that from its mean."""
    X = generic(N, P, seed=3, decay=1.0)
    small = LABELS == 2
    X[small] = 1.0 + 0.01 * np.random.default_rng(0).normal(size=(small.sum(), P))
    X[small] -= 0.0 if affine else 1.0
    found = criteria.costs("distance", views_of(X, LABELS, (2, 2, 2), affine), data_of(X))[:, 2]
    for i in range(N):
        others = X[small & (np.arange(N) != i)]
        centre = others.mean(axis=0) if affine else 0.0
        assert_allclose(found[i], np.sum((X[i] - centre) ** 2), rtol=1e-9)


@BOTH
def test_a_strong_axis_is_nearly_free(affine):
    """As far out as the members are, and 1e4 times the noise: for one variance of the noise."""
    random = np.random.default_rng(0)
    rotation = np.linalg.qr(random.normal(size=(P, P)))[0]
    X = random.normal(size=(N, P))
    X[LABELS == 0, 0] *= 1e4
    X = X @ rotation + affine * 5.0
    views = views_of(X, LABELS, (1, 1, 1), affine)
    noise = likelihood.robust_variance(views, data_of(X))
    centre, axes, energies = pca(X[LABELS == 0], 1, affine)
    spread = np.sqrt(energies[0] / np.sum(LABELS == 0))
    assert spread > 5e3
    i, costs = 1, []  # of another cluster; first on the foot of the axis, then as far out
    foot = X[i] - ((X[i] - centre) @ axes) @ axes.T
    for steps in (0.0, 1.0, 3.0):
        moved = X.copy()
        moved[i] = foot + steps * spread * axes[:, 0]
        view = DenseRows(moved).view(np.flatnonzero(LABELS == 0), 1, affine)
        # The other clusters are those of the rows as they were, so that the noise stays.
        costs.append(criteria.costs("distance", [view, *views[1:]], data_of(X))[i, 0])
    assert_allclose(np.diff(costs), np.array([1.0, 8.0]) * noise, rtol=1e-5)


@BOTH
def test_scale_and_rotation_change_what_they_should(affine):
    X = posed(0.0)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(P, P)))[0]
    plain = criteria.costs("distance", views_of(X, LABELS, (2, 2, 2), affine), data_of(X))
    Y = 3.0 * X @ rotation + (2.0 if affine else 0.0)
    moved = criteria.costs("distance", views_of(Y, LABELS, (2, 2, 2), affine), data_of(Y))
    assert_allclose(moved, 9.0 * plain, rtol=1e-8)


def planned(affine, noise, n=1100, p=9, dimensions=(2, 1, 3)):
    """Rows, labels, and a pass with their subspaces, one PCA at a time."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(n, p)) * np.linspace(3.0, 0.5, p) + 2.0 * random.normal(size=p)
    labels = random.integers(3, size=n).astype(np.int32)
    problem = BlockProblem(
        ArrayBlocks(rows), dimensions, "distance", affine, p, 1.0, lambda: rows[::3]
    )
    found = RowsInBlocks(problem).begin(problem.blocks.split(labels)).subspaces
    return rows, labels, Pass(replace(found, noise=noise), "distance", p, n, affine=affine)


def by_hand(rows, labels, dimensions, affine, noise):
    """Costs (n, K) in passes: a member's error is that of "hat", its Gaussian that of all."""
    costs = np.empty((len(rows), 3))
    for k, r in enumerate(dimensions):
        own = labels == k
        centre, axes, energies = pca(rows[own], r, affine)
        scores, residual = seen(rows, centre, axes)
        leverage = (scores / energies).sum(axis=1) + affine / own.sum()
        error = np.where(own, residual / (1.0 - leverage) ** 2, residual)
        costs[:, k] = error + scores @ (noise / np.maximum(energies / own.sum(), noise))
    return costs


def as_numpy(rows):
    return rows


def as_torch(rows):
    return pytest.importorskip("torch").asarray(rows)


def as_strict(rows):
    return pytest.importorskip("array_api_strict").asarray(rows)


# Between the variances along the axes, so that weights of 1 are among them, and below all.
@pytest.mark.parametrize("noise", [5.0, 0.3])
@pytest.mark.parametrize("cast", [as_numpy, as_torch, as_strict])
@BOTH
def test_passes_cost_what_they_cost_by_hand(affine, cast, noise):
    rows, labels, plan = planned(affine, noise)
    expected = by_hand(rows, labels, (2, 1, 3), affine, noise)
    held, given = cast(rows), cast(labels)
    found = np.from_dlpack(block_pass.score(held, given, 0, plan)[0])
    assert_allclose(found, expected, rtol=1e-9)
    own, total = block_pass.own_cost(held, given, 0, plan)
    assert_allclose(np.from_dlpack(own), expected[np.arange(len(rows)), labels], rtol=1e-9)
    assert float(total) == pytest.approx(np.from_dlpack(own).sum(), rel=1e-12)


@pytest.mark.parametrize("cast", [as_numpy, as_torch, as_strict])
@pytest.mark.parametrize("pure", [False, True], ids=["compiled", "plain"])
@BOTH
def test_passes_assign_by_the_costs_by_hand(affine, pure, cast):
    """Compiled loops, plain code and other libraries: labels, objective and rows that move."""
    rows, labels, plan = planned(affine, 5.0)
    expected = by_hand(rows, labels, (2, 1, 3), affine, 5.0)
    if pure:
        with plain_code():
            assert not pass_kernels.has_loops(rows, "distance")
            new, sums = block_pass.assign_and_sum(cast(rows), cast(labels), 0, plan)
    else:
        new, sums = block_pass.assign_and_sum(cast(rows), cast(labels), 0, plan)
    assert_array_equal(np.from_dlpack(new), expected.argmin(axis=1))
    objective = expected[np.arange(len(rows)), labels].sum()
    assert float(sums.objective) == pytest.approx(objective, rel=1e-9)
    assert int(sums.moved) == np.sum(expected.argmin(axis=1) != labels)


@BOTH
def test_passes_leave_out_to_first_order(affine):
    """The member's cost in passes nears the exact one as clusters grow."""
    off = []
    for n in (300, 3000):
        union = make_subspaces([n] * 3, 8, [2] * 3, noise=0.2, random_state=0)
        X = union.data + 3.0 * affine
        problem = Problem(DenseRows(X), (2, 2, 2), "distance", affine)
        views = view_clusters(problem, union.target)
        noise = likelihood.robust_variance(views, problem.data)
        exact = criteria.own_costs(criteria.costs("distance", views, problem.data), union.target)
        first = by_hand(X, union.target, (2, 2, 2), affine, noise)
        off.append(np.abs(first[np.arange(len(X)), union.target] / exact - 1.0).max())
    assert off[0] < 0.1
    assert off[1] < 0.2 * off[0]


def clear(affine, seed=0, sizes=(100, 120, 140)):
    """Clear clusters, in which some rows lie so far off that the median caps the noise."""
    union = make_subspaces(list(sizes), 8, [2] * 3, noise=0.02, random_state=seed)
    random = np.random.default_rng(seed)
    X, target = union.data.copy(), union.target.copy()
    X[::12] += 0.3 * random.normal(size=X[::12].shape)
    if affine:
        X = 3.0 + X + 2.0 * random.normal(size=(3, 8))[target]
    order = random.permutation(len(X))
    return X[order], target[order]


def in_blocks(X, affine, criterion="distance", step=1):
    origin = X.mean(axis=0) if affine else None
    rows = X - origin if affine else X
    return BlockProblem(
        ArrayBlocks(X, block_rows=70), (2, 2, 2), criterion, affine, X.shape[1],
        float(np.mean(rows**2)), lambda: rows[::step], origin,
    )  # fmt: skip


@BOTH
def test_the_noise_in_passes_is_that_in_view(affine):
    X, target = clear(affine)
    assert len(X) <= WITNESSES
    blocked = in_blocks(X, affine)
    subspaces = RowsInBlocks(blocked).begin(blocked.blocks.split(target)).subspaces
    views = views_of(X, target, (2, 2, 2), affine)
    pooled, capped = plain_variance(X, target, (2, 2, 2), affine)
    assert capped < 0.5 * pooled
    assert_allclose(subspaces.noise, pooled, rtol=1e-8)
    expected = likelihood.robust_variance(views, data_of(X))
    assert_allclose(blocked.robust_noise(subspaces), expected, rtol=1e-8)
    assert blocked.plan(subspaces, "distance").subspaces.noise == blocked.robust_noise(subspaces)
    assert blocked.plan(subspaces, "likelihood").subspaces.noise == subspaces.noise
    # A fourth of the rows says nearly the same.
    some = in_blocks(X, affine, step=4).robust_noise(subspaces)
    assert 0.7 * expected < some < 1.4 * expected
    assert some != pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("cast", [as_torch, as_strict])
@BOTH
def test_the_noise_on_a_device_is_that_in_main_memory(affine, cast):
    X, target = clear(affine)
    blocked = in_blocks(X, affine)
    subspaces = RowsInBlocks(blocked).begin(blocked.blocks.split(target)).subspaces
    centres = cast(subspaces.centres) if affine else subspaces.centres
    moved = replace(subspaces, axes=cast(subspaces.axes), centres=centres)
    expected = blocked.robust_noise(subspaces)
    assert_allclose(blocked.robust_noise(moved), expected, rtol=1e-10)


def as_csr(X):
    return sparse.csr_array(X)


def as_dask(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(2000, -1))


def as_array(X):
    return np.asarray(X)


@BOTH
@pytest.mark.parametrize(
    ("cast", "many"), [(as_array, False), (as_array, True), (as_csr, False), (as_dask, True)]
)
def test_the_default_is_the_distance_and_transform_its_formula(cast, many, affine):
    sizes = (3300, 3400, FEW_ROWS - 6699) if many else (100, 120, 140)
    X, target = clear(affine, sizes=sizes)
    model = PSC(3, n_components=2, affine=affine, init=target, random_state=0).fit(cast(X))
    labels = np.asarray(model.labels_)
    assert model.criterion_ == "distance"
    pooled, capped = plain_variance(X, labels, (2, 2, 2), affine)
    assert_allclose(model.noise_variance_, pooled, rtol=1e-6)
    in_view = cast is as_array and not many
    # In passes the median is that of a sample, of the residuals from the nearest subspace.
    assert_allclose(model.score_variance_, capped, rtol=1e-9 if in_view else 0.3)
    new = X[:40] + 0.5 * np.random.default_rng(1).normal(size=(40, 8))
    found = np.asarray(model.transform(cast(new)))
    noise = model.score_variance_
    expected = [plain_distance(new, X[labels == k], 2, affine, noise) for k in range(3)]
    assert_allclose(found, np.transpose(expected), rtol=1e-6)
    assert_array_equal(np.asarray(model.predict(cast(new))), found.argmin(axis=1))
    near = near_their_own(X, labels, affine)
    assert near.mean() > 0.9
    assert_array_equal(np.asarray(model.predict(cast(X)))[near], labels[near])


def near_their_own(X, labels, affine):
    """Whether rows are as near to their subspace as noise without far rows allows, (n,)."""
    near = np.zeros(len(X), dtype=bool)
    for k in range(3):
        own = labels == k
        near[own] = seen(X[own], *pca(X[own], 2, affine)[:2])[1] < 30 * 0.03**2
    return near


def test_unequal_dimensions_have_the_likelihood_and_a_named_criterion_is_kept():
    union = make_subspaces([60, 60], 8, [1, 3], noise=0.05, random_state=0)
    model = PSC(2, n_components=[1, 3], init=union.target)
    assert model.fit(union.data).criterion_ == "likelihood"
    with warns("unequal_dimensions"):
        model.set_params(criterion="distance").fit(union.data)
    assert model.criterion_ == "distance"
    expected = [
        plain_distance(union.data, union.data[model.labels_ == k], r, False, model.score_variance_)
        for k, r in enumerate(model.n_components_)
    ]
    assert_allclose(model.transform(union.data), np.transpose(expected), rtol=1e-8)
    pooled_and_capped = plain_variance(union.data, model.labels_, model.n_components_, False)
    assert model.score_variance_ == pytest.approx(min(pooled_and_capped), rel=1e-9)


def test_the_objective_is_the_sum_of_the_members_costs():
    X, target = clear(True)
    model = PSC(3, n_components=2, affine=True, init=target, random_state=0).fit(X)
    noise, total = model.score_variance_, 0.0
    for i, k in enumerate(model.labels_):
        others = X[(model.labels_ == k) & (np.arange(len(X)) != i)]
        total += plain_distance(X[i : i + 1], others, 2, True, noise)[0]
    assert model.objective_ == pytest.approx(total, rel=1e-8)


@BOTH
@pytest.mark.parametrize("cast", [as_array, as_csr])
def test_a_saved_model_scores_the_same_to_the_last_bit(cast, affine, tmp_path):
    X, target = clear(affine)
    model = PSC(3, n_components=2, affine=affine, init=target, random_state=0).fit(cast(X))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.criterion_ == "distance"
    assert again.score_variance_ == model.score_variance_ < model.noise_variance_
    assert_array_equal(again.transform(cast(X)), model.transform(cast(X)))


def test_rows_without_noise_have_a_variance_to_be_scored_by_in_passes():
    random = np.random.default_rng(0)
    X = np.zeros((400, 6))
    X[:150, 0], X[150:, 3] = random.integers(1, 4, 150), random.integers(1, 4, 250)
    model = PSC(2, n_components=1, init=np.repeat([0, 1], [150, 250]))
    expected = model.fit(X).score_variance_
    assert expected > model.noise_variance_ == 0.0
    assert model.fit(sparse.csr_array(X)).score_variance_ == pytest.approx(expected, rel=0.5)
    assert np.isfinite(model.transform(sparse.csr_array(X))).all()
