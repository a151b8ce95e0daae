"""The jackknife from one decomposition is the jackknife of n refits."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import subspace_angles

from subspaces.pca.intervals import jackknife, t_intervals, turns
from subspaces.pca.rotation import rotated, varimax
from subspaces.subspace import PrincipalAxes
from tests.plain import plain_code


def table(n, p, seed=0, strength=(6.0, 4.0, 2.5)):
    """Three components off the axes, noise, and a mean off the origin.

    Each variable belongs to one of three groups, which varimax finds.
    """
    random = np.random.default_rng(seed)
    groups = np.eye(3)[np.arange(p) % 3] + 0.1 * random.normal(size=(p, 3))
    axes = np.linalg.qr(groups)[0] @ np.linalg.qr(random.normal(size=(3, 3)))[0]
    scores = random.normal(size=(n, 3)) * strength
    return scores @ axes.T + 0.7 * random.normal(size=(n, p)) + random.normal(size=p)


def weighted_pca(X, weights, affine):
    """All axes of weighted samples, and their centre."""
    centre = np.average(X, axis=0, weights=weights) if affine else np.zeros(X.shape[1])
    rows = X - centre
    _, singular, axes = np.linalg.svd(np.sqrt(weights)[:, None] * rows, full_matrices=False)
    basis = axes[singular > 1e-12 * singular[0]].T
    return PrincipalAxes(rows @ basis, singular[: basis.shape[1]] ** 2, basis), centre


def matched(loadings, reference):
    """Columns in the order and with the signs of the reference."""
    order = np.argmax(np.abs(reference.T @ loadings), axis=1)
    return loadings[:, order] * np.sign(np.sum(loadings[:, order] * reference, axis=0))


def refits(X, count, affine, weights, rotate=False):
    """Standard errors of loadings, scores, variances and first gaps by refits, and angles."""

    def solution(weights):
        axes, centre = weighted_pca(X, weights, affine)
        basis, values = axes.basis[:, :count], axes.eigenvalues[: count + 1]
        turn = varimax(basis) if rotate else np.eye(count)
        return basis @ turn, centre, values / (weights.sum() - affine), turn

    total, removed = weights.sum(), np.minimum(weights, 1.0)
    reference = rotated(*_first(X, count, affine, weights)) if rotate else np.eye(count)
    _, centre, values, _ = solution(weights)
    axes = weighted_pca(X, weights, affine)[0]
    loadings = axes.basis[:, :count] @ reference
    full = (loadings, (X - centre) @ loadings, values[:count] @ reference**2, values)
    pseudo, angles = [[], [], [], []], np.zeros(len(X))
    present = np.flatnonzero(weights)
    for i in present:
        others = weights - removed * (np.arange(len(X)) == i)
        new, centre, values, turn = solution(others)
        angles[i] = subspace_angles(loadings, new).max()
        spread = np.diag(turn.T @ np.diag(values[:count]) @ turn)
        order = np.argmax(np.abs(loadings.T @ new), axis=1) if rotate else np.arange(count)
        new = matched(new, loadings) if rotate else new * np.sign(np.sum(new * loadings, axis=0))
        without = (new, (X - centre) @ new, spread[order], values)
        for part, (now, before) in enumerate(zip(without, full, strict=True)):
            pseudo[part].append((total - removed[i]) / removed[i] * (now - before))
    copies = weights[present]

    def error(values):
        deviation = values - np.average(values, axis=0, weights=copies)
        return np.sqrt(np.tensordot(copies, deviation**2, 1) / (total * (total - 1.0)))

    *errors, eigenvalues = (np.array(part) for part in pseudo)
    return [error(part) for part in errors], error(-np.diff(eigenvalues, axis=1)), angles


def _first(X, count, affine, weights):
    axes, _ = weighted_pca(X, weights, affine)
    return axes.basis[:, :count], axes.eigenvalues[:count]


WEIGHTS = np.random.default_rng(5).choice([0.0, 0.3, 1.0, 2.0, 3.5], size=30)


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("weights", [np.ones(30), WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("p", [8, 60])
def test_errors_and_turns_are_those_of_refits(p, affine, weights, rotate):
    X = table(30, p)
    axes, _ = weighted_pca(X, weights, affine)
    turn = rotated(*_first(X, 3, affine, weights)) if rotate else None
    found = jackknife(axes, 3, affine=affine, weights=weights, rotation=turn)
    (loadings, scores, variances), gaps, angles = refits(X, 3, affine, weights, rotate)
    np.testing.assert_allclose(found.loadings, loadings, rtol=1e-10)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-10)
    np.testing.assert_allclose(found.variances, variances, rtol=1e-10)
    np.testing.assert_allclose(turns(axes, 3, affine=affine, weights=weights), angles, atol=1e-12)
    eigenvalues = axes.eigenvalues[:4] / (weights.sum() - affine)
    close = -np.diff(eigenvalues) <= 2.0 * gaps
    expected = [close[2]] * 3 if rotate else close | np.append(False, close[:2])
    np.testing.assert_array_equal(found.mixed, expected)
    assert found.degrees == weights.sum() - 1.0


def test_unit_weights_are_tukeys_jackknife():
    X = table(25, 6)
    axes, _ = weighted_pca(X, np.ones(25), True)
    without = []
    for i in range(25):
        others = np.delete(X, i, axis=0)
        basis = np.linalg.svd(others - others.mean(axis=0))[2][:2].T
        without.append(basis * np.sign(np.sum(basis * axes.basis[:, :2], axis=0)))
    spread = np.var(without, axis=0) * 24
    np.testing.assert_allclose(jackknife(axes, 2).loadings, np.sqrt(spread), rtol=1e-10)


def test_a_weight_is_a_number_of_copies():
    X, copies = table(20, 7), np.arange(20) % 3
    twice = np.repeat(X, copies, axis=0)
    weighted = jackknife(weighted_pca(X, copies * 1.0, True)[0], 2, weights=copies * 1.0)
    repeated = jackknife(weighted_pca(twice, np.ones(len(twice)), True)[0], 2)
    np.testing.assert_allclose(weighted.loadings, repeated.loadings, rtol=1e-10)
    np.testing.assert_allclose(weighted.variances, repeated.variances, rtol=1e-10)


def test_a_table_far_larger_in_one_sample():
    X = table(30, 8)
    X[3] *= 1e7  # without it nothing is left of the first axis but a small difference
    axes, _ = weighted_pca(X, np.ones(30), True)
    found = jackknife(axes, 2)
    (loadings, *_), _, angles = refits(X, 2, True, np.ones(30))
    np.testing.assert_allclose(found.loadings[:, 0], loadings[:, 0], rtol=1e-6)
    np.testing.assert_allclose(turns(axes, 2)[3], angles[3], rtol=1e-6)
    assert found.mixed.all()


def test_a_sample_that_is_an_axis_by_itself():
    X = np.zeros((12, 4))
    X[:, :2] = table(12, 6)[:, :2]
    X[5, 3] = 40.0  # all of the fourth variable, and nearly all of the first axis
    axes, _ = weighted_pca(X, np.ones(12), True)
    found = turns(axes, 1)
    assert found.argmax() == 5
    np.testing.assert_allclose(found, refits(X, 1, True, np.ones(12))[2], atol=1e-10)
    low, high, p_value = t_intervals(axes.basis[3, :1], jackknife(axes, 1).loadings[3], 11, 0.95)
    assert low[0] < 0.0 < high[0]
    assert p_value[0] > 0.05
    assert jackknife(axes, 1).mixed[0]


def test_equal_eigenvalues_are_mixed_and_their_plane_is_not():
    angles = np.arange(12) * np.pi / 6
    random = np.random.default_rng(0)
    X = np.column_stack([np.cos(angles), np.sin(angles), 0.01 * random.normal(size=12)])
    axes, _ = weighted_pca(X, np.ones(12), True)
    assert jackknife(axes, 2).mixed.all()
    assert turns(axes, 1).max() > 0.1
    _, _, refitted = refits(X, 2, True, np.ones(12))
    np.testing.assert_allclose(turns(axes, 2), refitted, atol=1e-10)
    assert not jackknife(axes, 2, rotation=np.eye(2)).mixed.any()


def test_axes_that_a_sample_takes_with_it_have_no_interval():
    X = table(6, 20)  # five axes, four without any sample
    found = jackknife(weighted_pca(X, np.ones(6), True)[0], 6)
    assert np.isinf(found.loadings[:, 4:]).all()
    assert np.isfinite(found.loadings[:, :4]).all()
    assert found.mixed[4:].all()
    low, high, p_values = t_intervals(np.full(20, 0.3), found.loadings[:, 5], found.degrees, 0.95)
    np.testing.assert_array_equal([low, high, p_values], [[-1.0] * 20, [1.0] * 20, [1.0] * 20])


@pytest.mark.parametrize("X", [np.ones((4, 3)), table(1, 3), table(2, 3)])
def test_tables_too_small_for_a_jackknife(X):
    rows = X - X.mean(axis=0)
    _, singular, axes = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.count_nonzero(singular > 1e-12))
    basis = axes[:rank].T
    found = jackknife(PrincipalAxes(rows @ basis, singular[:rank] ** 2, basis), 1)
    assert np.isinf(found.loadings).all()
    assert found.mixed.all()


def test_a_constant_variable_has_loading_0_for_sure():
    X = table(20, 5)
    X[:, 2] = 7.0
    axes, _ = weighted_pca(X, np.ones(20), True)
    assert np.all(jackknife(axes, 2).loadings[2] < 1e-12)


def test_plain_and_compiled_agree():
    axes, _ = weighted_pca(table(40, 12), np.ones(40), True)
    with plain_code():
        plain = jackknife(axes, 3)
    np.testing.assert_allclose(jackknife(axes, 3).loadings, plain.loadings, rtol=1e-12)


def test_intervals_are_students():
    estimate, error = np.array([0.5, 0.0, -0.2]), np.array([0.1, 0.0, 0.0])
    low, high, p_value = t_intervals(estimate, error, 9, 0.9)
    np.testing.assert_allclose((low[0], high[0]), stats.t.interval(0.9, 9, 0.5, 0.1))
    np.testing.assert_allclose(p_value, [2 * stats.t.sf(5, 9), 1.0, 0.0])
    np.testing.assert_array_equal(low[1:], high[1:])


def test_many_axes_in_blocks_of_axes_and_samples(monkeypatch):
    axes, _ = weighted_pca(table(30, 10), np.ones(30), True)
    whole = jackknife(axes, 8)
    angles = turns(axes, 4)
    monkeypatch.setattr("subspaces.pca.intervals.BLOCK_ELEMENTS", 250)
    monkeypatch.setattr("subspaces.pca.intervals.FEWEST_ROWS", 2)
    np.testing.assert_allclose(turns(axes, 4), angles, atol=1e-14)
    in_blocks = jackknife(axes, 8)
    np.testing.assert_allclose(in_blocks.loadings, whole.loadings, rtol=1e-12)
    np.testing.assert_allclose(in_blocks.scores, whole.scores, rtol=1e-12)


def test_varimax_is_stationary_and_spans_the_same():
    basis = np.linalg.qr(table(12, 4))[0]
    turn = varimax(basis)
    np.testing.assert_allclose(turn.T @ turn, np.eye(4), atol=1e-12)
    rows = basis / np.linalg.norm(basis, axis=1, keepdims=True) @ turn
    # At the optimum the gradient of the criterion is symmetric [Magnus and Neudecker].
    gradient = rows.T @ (rows**3 - rows * np.mean(rows**2, axis=0))
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-10)
    assert criterion(basis, turn) > criterion(basis, np.eye(4))


def criterion(basis, turn):
    """Kaiser's varimax of rotated axes."""
    squares = (basis / np.linalg.norm(basis, axis=1, keepdims=True) @ turn) ** 2
    return np.var(squares, axis=0).sum()


def test_varimax_finds_simple_structure():
    simple = np.kron(np.eye(3), np.ones((4, 1))) / 2.0
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    found = simple @ turn @ rotated(simple @ turn, np.ones(3))
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(simple, axis=0), atol=1e-10)
