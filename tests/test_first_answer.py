"""The automatic choice of the number of clusters, their dimensions and centre."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from subspaces import PSC
from subspaces.core.ppca_mixture import n_parameters
from subspaces.datasets import make_subspaces
from subspaces.messages import Grade, ParameterError
from subspaces.metrics import adjusted_rand_score
from subspaces.psc import candidates, choice
from tests.warned import refuses

LEFT_OPEN = {"n_components": "auto", "affine": "auto", "random_state": 0}
# Off the origin, and along no axis of the table.
UNION = make_subspaces([50, 60, 40], 9, [2, 1, 0], noise=0.15, offset=1.0, random_state=3)


def memberships(seed=0, n_clusters=3):
    weights = np.random.default_rng(seed).random((len(UNION.data), n_clusters))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dimensions", [(2, 1, 3), (1, 1, 1)])
def test_one_step_of_em_is_that_of_gaussians_written_out(dimensions, affine):
    X, z = UNION.data, memberships()
    n, p = X.shape
    sizes = z.sum(axis=0)
    centres = [z[:, k] @ X / sizes[k] * affine for k in range(3)]
    spectra = []
    for k in range(3):
        rows = X - centres[k]
        values, axes = np.linalg.eigh((rows * z[:, [k]]).T @ rows / sizes[k])
        spectra.append((values[::-1], axes[:, ::-1]))
    left = sum(sizes[k] * spectra[k][0][r:].sum() for k, r in enumerate(dimensions))
    noise = left / sum(sizes[k] * (p - r) for k, r in enumerate(dimensions))
    joint = np.empty((n, 3))
    for k, r in enumerate(dimensions):
        values, axes = spectra[k]
        kept = np.r_[np.maximum(values[:r], noise), np.full(p - r, noise)]
        density = multivariate_normal(centres[k], axes * kept @ axes.T)
        joint[:, k] = sizes[k] / n * density.pdf(X)
    after = joint / joint.sum(axis=1, keepdims=True)
    free = n_parameters(dimensions, p, affine=affine, shared=True)
    penalty = 0.5 * candidates.PENALTY * free * np.log(n)
    entropy = -np.sum(after * np.log(after)) * affine
    cost = penalty - np.log(joint.sum(axis=1)).sum() + entropy
    found = candidates.climb(X, z, dimensions, affine, 1)
    assert_allclose(found.memberships, after, atol=1e-9)
    assert_allclose(found.cost, cost)


def test_own_dimensions_are_those_of_the_best_criterion_at_given_labels():
    hard = np.eye(3)[UNION.target]
    start = candidates.climb(UNION.data, hard, (2, 2, 2), True, 1)
    found = candidates.own_dimensions(UNION.data, start, True, 4)
    assert found == (2, 1, 0)


def test_a_wide_table_is_seen_along_its_axes_and_a_narrow_one_as_it_is():
    wide = np.random.default_rng(0).normal(2.0, 1.0, (40, 30))
    seen = candidates.leading_axes(wide)
    assert seen.shape == (40, candidates.AXES)
    assert_allclose(seen.mean(axis=0), (wide @ np.linalg.pinv(wide) @ seen).mean(axis=0))
    assert candidates.leading_axes(UNION.data) is UNION.data


def test_subspaces_through_the_origin_are_not_joined_though_they_overlap():
    union = make_subspaces([50, 50, 50], 20, [1, 2, 3], noise=0.2, random_state=0)
    model = PSC("auto", **LEFT_OPEN).fit(union.data)
    assert sorted(model.n_components_) == [1, 2, 3]
    assert not model.affine_


def test_everything_is_chosen_and_each_answer_is_found_again():
    model = PSC("auto", **LEFT_OPEN).fit(UNION.data)
    assert sorted(model.n_components_) == [0, 1, 2]
    assert model.affine_
    assert adjusted_rand_score(UNION.target, model.labels_) > 0.9
    assert model.selection_["grade"] == Grade.SURE
    answers = model.selection_["answers"]
    assert [answer["n_clusters"] for answer in answers] == sorted(
        answer["n_clusters"] for answer in answers
    )
    assert len(answers) == 3
    for answer in answers:
        again = PSC(answer["n_clusters"], **LEFT_OPEN).fit(UNION.data)
        assert_array_equal(again.n_components_, answer["n_components"])
        assert again.affine_ == answer["affine"]
        if answer["n_clusters"] == 3:
            assert_array_equal(again.labels_, model.labels_)


def test_subspaces_through_the_origin_are_seen_unless_columns_are_centred():
    planes = make_subspaces([60, 60], 12, [2, 2], noise=0.1, random_state=1).data
    assert not PSC("auto", **LEFT_OPEN).fit(planes).affine_
    assert not PSC(2, n_components=2, affine="auto", random_state=0).fit(planes).affine_
    centred = planes - planes.mean(axis=0)
    assert all(PSC(2, **LEFT_OPEN).fit(centred).selection_["affine"])


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_noise_is_one_cluster(draw):
    X = getattr(np.random.default_rng(1), draw)(size=(100, 12))
    model = PSC("auto", **LEFT_OPEN).fit(X)
    assert model.n_clusters_ == 1
    assert model.selection_["answers"][0] == {"n_clusters": 1}


def test_a_part_of_many_rows_decides_and_all_are_clustered(monkeypatch):
    monkeypatch.setattr(choice, "MOST_ROWS", 80)
    model = PSC("auto", **LEFT_OPEN).fit(UNION.data)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(UNION.target, model.labels_) > 0.9


def test_one_variable_constant_columns_and_few_samples():
    column = np.random.default_rng(0).normal(size=80) + np.repeat([0.0, 20.0], 40)
    assert PSC("auto", **LEFT_OPEN).fit(column[:, None]).n_clusters_ == 2
    constant = np.column_stack([UNION.data, np.ones(len(UNION.data))])
    assert PSC("auto", **LEFT_OPEN).fit(constant).n_clusters_ == 3
    assert PSC("auto", **LEFT_OPEN).fit(UNION.data[:5]).n_clusters_ == 1
    with pytest.raises(ParameterError):
        PSC("auto", **LEFT_OPEN).fit(np.ones((20, 3)))


@pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")
def test_a_given_number_of_few_samples_is_the_one_in_the_verdict():
    model = PSC(4, **LEFT_OPEN).fit(UNION.data[:7])
    assert model.n_clusters_ == 4
    assert "4 clusters" in model.selection_["verdict"]


def test_what_is_impossible_is_refused_by_name():
    with refuses("affine", "auto"):
        PSC(2, n_variables=3, affine="auto").fit(UNION.data)
    with refuses("n_clusters", 200):
        PSC(200, **LEFT_OPEN).fit(UNION.data)
