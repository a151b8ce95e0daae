"""Noise that differs between samples or variables: factors and counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.diagnostics import pca_components
from subspaces.messages import Grade
from subspaces.pca.components import all_axes
from subspaces.pca.unequal_noise import noise_factors
from tests.warned import warns


def plain_energies(rows, ridge):
    """``row_i' (Y'Y + ridge I)^-1 row_i`` with Y the other rows, by inverting anew for each."""
    found = []
    for i, row in enumerate(rows):
        others = np.delete(rows, i, axis=0)
        metric = others.T @ others + ridge * np.eye(rows.shape[1])
        found.append(row @ np.linalg.solve(metric, row))
    return np.array(found)


@pytest.mark.parametrize("shape", [(30, 8), (12, 40)])
def test_factors_are_the_energy_in_the_metric_of_all_others(shape):
    random = np.random.default_rng(0)
    rows = random.normal(size=shape) * random.uniform(0.5, 2, shape[0])[:, None] + 3.0
    ridge = np.median(np.linalg.svd(rows, compute_uv=False) ** 2)
    found = noise_factors(all_axes(rows), 0, len(rows))
    assert_allclose(found.samples, plain_energies(rows, ridge), rtol=1e-9)
    assert_allclose(found.variables, plain_energies(rows.T, ridge), rtol=1e-9)


def test_spread_by_chance_is_that_of_equal_noise():
    random = np.random.default_rng(1)
    seen, told = [], []
    for _ in range(60):
        rows = random.normal(size=(80, 50))
        found = noise_factors(all_axes(rows), 0, 80)
        seen.append([np.log(found.samples).var(), np.log(found.variables).var()])
        told.append([found.of_sample, found.of_variable])
    assert_allclose(np.mean(seen, axis=0), np.mean(told, axis=0), rtol=0.15)


def unequal(n, p, rank, strength, seed, by):
    """Noise of sd 0.5 to 2 by sample or variable, and components that equal noise would show."""
    random = np.random.default_rng(seed)
    samples, variables = np.ones((n, 1)), np.ones(p)
    if "samples" in by:
        samples = random.uniform(0.5, 2.0, (n, 1))
    if "variables" in by:
        variables = random.uniform(0.5, 2.0, p)
    length = strength * (n * p) ** 0.25 / np.sqrt(np.mean(samples**-2) * np.mean(variables**-2))
    left = np.linalg.qr(random.normal(size=(n, rank)))[0]
    right = np.linalg.qr(random.normal(size=(p, rank)))[0]
    rows = samples * variables * random.normal(size=(n, p))
    return rows + length * left * (1.0 + 0.4 * np.arange(rank)) @ right.T + random.normal(size=p)


@pytest.mark.parametrize("by", ["samples", "variables", "samples and variables"])
@pytest.mark.parametrize(("rank", "strength"), [(0, 0.0), (3, 2.0), (3, 5.0)])
def test_components_are_counted_in_unequal_noise(by, rank, strength):
    found = [pca_components(unequal(150, 60, rank, strength, seed, by)) for seed in range(8)]
    assert np.mean([each.n_components == rank for each in found]) >= 0.8
    kind = "unequal_samples" if "samples" in by else "unequal"
    assert [each.noise for each in found] == [kind] * 8


def test_components_that_do_not_lead_are_said_to_need_scaling():
    random = np.random.default_rng(0)
    X = unequal(300, 40, 2, 4.0, 0, "none")
    X[:, :4] += 20.0 * random.normal(size=(300, 4))
    found = pca_components(X)
    assert found.n_components == 2
    assert "scale=True" in found.verdict
    assert found.conclusion.grade is Grade.SURE


def test_a_far_sample_stays_a_component_of_its_own():
    X = np.random.default_rng(3).normal(size=(100, 40))
    X[7] *= 6.0
    with warns("rests_on_one"):
        found = pca_components(X)
    assert (found.n_components, found.rests_on[0]) == (1, 7)
