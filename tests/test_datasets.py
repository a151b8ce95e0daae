import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.datasets import load_penguins, make_proteomics, make_scenario, make_subspaces
from subspaces.subspace import squared_residual
from tests.warned import refuses


@pytest.mark.parametrize("name", list("abcde"))
def test_noise_free_scenarios_lie_on_their_truth(name):
    scenario = make_scenario(name, random_state=3)
    for k, flat in enumerate(scenario.subspaces):
        members = scenario.data[scenario.target == k]
        assert len(members) == 100
        assert_allclose(squared_residual(members, flat), 0, atol=1e-25)
        assert_allclose(flat.basis.T @ flat.basis, np.eye(scenario.n_components[k]), atol=1e-13)
        assert_allclose(np.sum((members @ flat.basis) ** 2, axis=0), flat.spectrum)
        assert np.all(np.abs(members @ flat.basis) <= 1 + 1e-12)


@pytest.mark.parametrize("name", list("abcde"))
def test_sparse_scenarios_have_ten_variables_a_loading(name):
    scenario = make_scenario(name, sparse=True, random_state=1)
    assert scenario.data.shape[1] == 200
    for flat in scenario.subspaces:
        assert_array_equal(np.count_nonzero(flat.basis, axis=0), 10)
        assert_allclose(np.linalg.norm(flat.basis, axis=0), 1)
    for flat, loadings in zip(scenario.subspaces, scenario.loadings, strict=True):
        assert_allclose(flat.basis * np.linalg.norm(loadings, axis=0), loadings)
    noise = make_scenario(name, sparse=True, noise=0, random_state=1)
    assert np.std(scenario.data - noise.data) == pytest.approx(0.5, rel=0.02)


def test_offsets_move_the_flats_off_the_origin():
    union = make_subspaces([20, 30], 6, [1, 2], offset=5.0, random_state=0)
    for k, flat in enumerate(union.subspaces):
        assert np.linalg.norm(flat.centre) > 1
        assert_allclose(squared_residual(union.data[union.target == k], flat), 0, atol=1e-22)


def test_ball_scores_fill_the_unit_ball():
    union = make_subspaces(4000, 3, [3], scores="ball", random_state=0)
    radius = np.linalg.norm(union.data, axis=1)
    assert radius.max() <= 1 + 1e-12
    assert np.mean(radius < 0.5) == pytest.approx(1 / 8, abs=0.02)


def test_sizes_total_or_per_cluster_and_shuffling():
    assert_array_equal(np.bincount(make_subspaces(10, 4, [1, 1, 2]).target), [4, 3, 3])
    plain = make_subspaces([5, 9], 4, [1, 2], random_state=0)
    mixed = make_subspaces([5, 9], 4, [1, 2], shuffle=True, random_state=0)
    assert_array_equal(np.bincount(mixed.target), [5, 9])
    assert not np.array_equal(plain.target, mixed.target)
    assert_allclose(np.sort(mixed.data, axis=0), np.sort(plain.data, axis=0))


def test_same_seed_same_data():
    one, other = (make_scenario("e", noise=0.1, random_state=7).data for _ in range(2))
    assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        (lambda: make_scenario("f"), "name"),
        (lambda: make_scenario("d", n_features=2), "n_components[2]"),
        (lambda: make_subspaces(10, 3, 2), "n_components"),
        (lambda: make_subspaces(1, 3, [1, 1]), "n_samples"),
        (lambda: make_subspaces([3], 3, [1, 1]), "n_samples"),
        (lambda: make_subspaces(10, 3, [1], noise=-1), "noise"),
        (lambda: make_subspaces(10, 3, [1], scores="cubic"), "scores"),
        (lambda: make_subspaces(10, 3, [1], n_variables=4), "n_variables"),
    ],
)
def test_bad_parameters_get_one_line(call, refused):
    with refuses(refused):
        call()


@pytest.mark.parametrize("low", [0.0, 0.5, 1.0])
def test_proteins_are_missing_at_random_and_because_they_are_low(low):
    made = make_proteomics([40, 30, 30], 200, missing=0.3, low=low, random_state=0)
    holes = np.isnan(made.data)
    assert_allclose(holes.mean(), 0.3, atol=0.01)
    assert_allclose(made.is_low.mean(), 0.3 * low, atol=0.01)
    assert_allclose(made.data[~holes], made.whole[~holes], rtol=0)
    assert not (made.is_low & ~holes).any()
    if low:
        assert made.whole[made.is_low].mean() < made.whole[~made.is_low].mean() - 2.0
    at_random = holes & ~made.is_low
    if low < 1:
        seen = made.whole[~holes].mean()
        assert_allclose(made.whole[at_random].mean(), seen, atol=0.1)
    assert_array_equal(np.bincount(made.target), [40, 30, 30])


def test_markers_of_proteins_set_their_group_apart():
    made = make_proteomics(300, 100, n_groups=2, n_markers=10, missing=0.0, random_state=1)
    assert not np.isnan(made.data).any()
    first = made.target == 0
    apart = np.abs(made.whole[first].mean(axis=0) - made.whole[~first].mean(axis=0))
    found = set(np.argsort(-apart)[:20].tolist())
    assert found == set(np.concatenate(made.markers).tolist())


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"n_markers": 101}, "n_markers"),
        ({"missing": 1.0}, "missing"),
        ({"low": -0.1}, "low"),
        ({"n_groups": 0}, "n_groups"),
    ],
)
def test_bad_proteins(options, refused):
    with refuses(refused):
        make_proteomics(**options)


def test_penguins_have_their_species_names_and_gaps():
    penguins = load_penguins()
    assert penguins.target_names.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert_array_equal(np.bincount(penguins.target), [152, 68, 124])
    units = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    assert penguins.variable_names.tolist() == units
    assert penguins.data.shape == (344, 4)
    gaps = np.isnan(penguins.data)
    assert_array_equal(np.flatnonzero(gaps.any(axis=1)), [3, 271])
    assert gaps.sum() == 8
    assert_allclose(penguins.data[[0, -1]], [[39.1, 18.7, 181, 3750], [50.2, 18.7, 198, 3775]])


def test_penguins_have_an_island_and_mostly_a_sex():
    penguins = load_penguins()
    assert penguins.target_names[
        np.unique(penguins.target[penguins.island == "Biscoe"])
    ].tolist() == ["Adelie", "Gentoo"]
    kinds, counts = np.unique(penguins.sex, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {
        "": 11,
        "female": 165,
        "male": 168,
    }
