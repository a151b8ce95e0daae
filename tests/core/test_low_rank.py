import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC
from subspaces.core.low_rank import in_few_coordinates


def flat_table(seed=0, n=150, p=60, q=6, shift=2.0):
    """Three groups of rows in q coordinates, and the same rows along q axes of a wider space."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(n, q)) + 4.0 * random.normal(size=(3, q))[np.arange(n) % 3]
    axes = np.linalg.qr(random.normal(size=(p, q)))[0]
    return points, points @ axes.T + shift * random.normal(size=p), axes


@pytest.mark.parametrize("affine", [True, False])
def test_the_coordinates_keep_all_distances(affine):
    _, table, _ = flat_table(shift=2.0 if affine else 0.0)
    found = in_few_coordinates(table, affine)
    assert found.points.shape == (150, 6)
    assert_allclose(found.origin + found.points @ found.axes.T, table, atol=1e-12)
    assert_allclose(found.axes.T @ found.axes, np.eye(6), atol=1e-13)


def test_a_table_of_many_directions_is_left_alone():
    points, table, _ = flat_table()
    random = np.random.default_rng(1)
    assert in_few_coordinates(points, True) is None
    assert in_few_coordinates(table + 1e-9 * random.normal(size=table.shape), True) is None
    outside = np.repeat(flat_table(shift=0.0)[1], 3, axis=0)
    assert in_few_coordinates(outside, False) is not None
    rare = [i for i in range(450) if i not in np.random.default_rng(0).permutation(450)[:128]]
    outside[rare[0], 0] += 1e-6
    assert in_few_coordinates(outside, False) is None


@pytest.mark.parametrize(
    ("n_components", "criterion"), [(0, "loo"), (1, "likelihood"), (2, "auto"), ([1, 2, 2], "auto")]
)
def test_a_fit_is_the_one_in_the_coordinates(n_components, criterion):
    points, table, axes = flat_table()
    model = PSC(3, n_components=n_components, affine=True, criterion=criterion, random_state=0)
    few = PSC(**model.get_params()).fit(points)
    model.fit(table)
    assert_array_equal(model.labels_, few.labels_)
    for name in ("objective_", "press_", "noise_variance_", "influence_"):
        assert_allclose(getattr(model, name), getattr(few, name), rtol=1e-7)
    for own, small in zip(model.subspaces_, few.subspaces_, strict=True):
        assert own.basis.shape == (60, small.basis.shape[1])
        assert_allclose(own.centre @ axes - (table[0] - points[0] @ axes.T) @ axes, small.centre)
        assert_allclose(own.spectrum, small.spectrum)
        assert_allclose((own.basis.T @ (axes @ small.basis)) ** 2, np.eye(len(small.spectrum)),
                        atol=1e-7)  # fmt: skip
    assert_array_equal(model.predict(table), few.predict(points))
