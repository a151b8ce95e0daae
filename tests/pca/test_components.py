import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.pca.components import (
    all_axes,
    break_of_spectrum,
    column_kurtosis,
    correlation_of_residuals,
    count_components,
    kurtosis,
    noise_after,
    without_most_influential,
)
from subspaces.pca.verdict import verdict_on_components
from subspaces.subspace import principal_axes
from tests.plain import generic


def planted(n, p, rank, strength, seed, noise="equal"):
    """Noise of a kind, and components of ``strength`` times the threshold of equal noise."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, p))
    if noise == "unequal":
        rows *= np.exp(random.uniform(0, np.log(10), p))
    if noise == "heavy":
        rows = random.standard_t(4, size=(n, p)) / np.sqrt(2)
    if noise == "correlated":
        for j in range(1, p):
            rows[:, j] = 0.5 * rows[:, j - 1] + np.sqrt(0.75) * rows[:, j]
    size = np.sqrt(np.mean(rows**2)) * (n * p) ** 0.25
    lengths = strength * size * (1.0 + 0.4 * np.arange(rank))
    left = np.linalg.qr(random.normal(size=(n, rank)))[0]
    right = np.linalg.qr(random.normal(size=(p, rank)))[0]
    return rows + (left * lengths) @ right.T + random.normal(size=p)


def counted(rows, center=True, **options):
    centre = rows.mean(axis=0) if center else 0.0
    return count_components(all_axes(rows - centre), center=center, **options)


@pytest.mark.parametrize("shape", [(60, 20), (120, 60), (60, 200)])
@pytest.mark.parametrize("rank", [0, 1, 4])
@pytest.mark.parametrize("noise", ["equal", "unequal", "heavy"])
def test_components_are_counted(shape, rank, noise):
    found = [counted(planted(*shape, rank, 3.5, seed, noise)) for seed in range(10, 18)]
    assert np.mean([each.count == rank for each in found]) >= 0.8
    assert all(each.low <= each.count <= each.high for each in found)
    assert np.mean([each.low <= rank <= each.high for each in found]) >= 0.9


@pytest.mark.parametrize("rank", [0, 2])
def test_correlated_columns_are_told_and_counted_by_the_break(rank):
    found = [counted(planted(200, 60, rank, 4.0, seed, "correlated")) for seed in range(5)]
    assert [each.noise for each in found] == ["correlated"] * 5
    assert all(each.low is None and each.high is None for each in found)
    assert np.mean([each.count == rank for each in found]) > 0.7


def test_kinds_of_noise_are_told():
    kinds = ("equal", "unequal", "heavy", "correlated")
    found = [counted(planted(200, 60, 2, 3.0, 5, kind)).noise for kind in kinds]
    assert found == list(kinds)


@pytest.mark.parametrize("center", [True, False])
def test_order_place_and_unit_do_not_matter(center):
    rows = planted(90, 30, 2, 2.5, 1)
    random = np.random.default_rng(2)
    other = 1e3 * rows[random.permutation(90)][:, random.permutation(30)]
    other = other + 1e4 if center else other
    one, two = counted(rows, center), counted(other, center)
    assert (one.count, one.low, one.high, one.noise) == (two.count, two.low, two.high, two.noise)
    assert_allclose(one.ratio, two.ratio, rtol=1e-6)
    assert_allclose(one.hidden, two.hidden, rtol=1e-6)


@pytest.mark.parametrize("center", [True, False])
def test_without_most_influential_is_that_of_deleting_each_row(center):
    rows = generic(25, 8, seed=4) + 3.0
    axes = principal_axes(rows - rows.mean(axis=0) if center else rows)
    values, places = without_most_influential(axes, 3, center=center)
    deleted = []
    for i in range(25):
        others = np.delete(rows, i, axis=0)
        others = others - others.mean(axis=0) if center else others
        deleted.append(np.linalg.svd(others, compute_uv=False)[:3] ** 2)
    deleted = np.array(deleted)
    scale = (25 - center) / (24 - center)
    assert_array_equal(places, deleted.argmin(axis=0))
    assert_allclose(values, np.minimum(scale * deleted.min(axis=0), axes.eigenvalues[:3]))


def test_a_component_of_one_row_is_told():
    rows = planted(80, 30, 0, 1.0, 3)
    rows[17] += 5 * np.sign(np.random.default_rng(0).normal(size=30))
    found = counted(rows)
    assert found.rests_on[0] == 17
    assert found.ratio[0] > 1.0 > found.ratio_without[0]


def test_rows_without_noise_have_their_rank():
    rows = generic(40, 3, seed=1) @ generic(3, 20, seed=2)
    found = counted(rows)
    assert (found.count, found.low, found.high, found.noise) == (3, 3, 3, "none")
    assert counted(np.zeros((20, 6))).count == 0


def test_more_axes_are_tried_while_all_are_components():
    found = counted(planted(200, 100, 20, 3.0, 0))
    assert found.count == 20
    assert len(found.ratio) > 20
    assert len(counted(planted(200, 100, 20, 3.0, 0), most=15).ratio) == 15


def test_the_noise_may_be_given():
    rows = planted(200, 60, 2, 3.0, 5, "correlated")
    assert counted(rows, noise="equal").count > counted(rows, noise="correlated").count
    axes = all_axes(rows - rows.mean(axis=0))
    assert np.ptp(noise_after(axes, 2, 199, "equal").variances) == 0.0
    scaled = all_axes((rows - rows.mean(axis=0)) * np.geomspace(1, 3, 60))
    assert np.ptp(noise_after(scaled, 2, 199, "equal").variances) == 0.0
    assert np.ptp(noise_after(scaled, 2, 199).variances) > 0.0


def test_equal_columns_called_unequal_stay_equal():
    # Every column has the energy 1, whose logarithm is 0.
    rows = 0.5 * np.vstack([np.eye(6), -np.eye(6), np.eye(6), -np.eye(6)])
    edges = [noise_after(all_axes(rows), 0, 24, noise) for noise in ("equal", "unequal")]
    assert_allclose(edges[1].variances, edges[0].variances)


def test_variances_of_unequal_columns_are_found():
    spread = np.geomspace(0.3, 30, 40)
    rows = planted(400, 40, 0, 1.0, 0) * spread
    found = noise_after(all_axes(rows - rows.mean(axis=0)), 0, 399).variances
    assert_allclose(np.log(found / spread**2), 0.0, atol=0.3)


def test_correlation_is_near_zero_for_independent_columns_after_any_number_of_axes():
    z = []
    for seed in range(20):
        rows = planted(100, 50, 0, 1.0, seed)
        axes = all_axes(rows - rows.mean(axis=0))
        z.append([correlation_of_residuals(axes, r, 99) for r in (0, 3)])
    assert np.abs(np.mean(z, axis=0)[0]) < 1.0
    # Taking out the axes of noise leaves less than random axes would.
    assert np.all(np.mean(z, axis=0)[1] < 1.0)


def test_kurtosis_of_noise():
    gauss, heavy = (planted(400, 30, 0, 1.0, 0, kind) for kind in ("equal", "heavy"))
    axes = [all_axes(rows - rows.mean(axis=0)) for rows in (gauss, heavy)]
    assert kurtosis(axes[0], 2) == pytest.approx(3.0, abs=0.15)
    assert kurtosis(axes[1], 2) > 4.0
    rest = gauss - gauss.mean(axis=0)
    assert kurtosis(axes[0], 0) == pytest.approx(
        np.mean(np.mean(rest**4, 0) / np.mean(rest**2, 0) ** 2)
    )


def test_the_spectrum_breaks_after_the_last_large_gap():
    tail = 10.0 - np.arange(1, 30) ** (2 / 3)
    assert break_of_spectrum(np.r_[90.0, 60.0, 40.0, tail], 8) == 3
    assert break_of_spectrum(tail, 8) == 0
    assert break_of_spectrum(tail[:5], 3) == 0


def test_many_rows_and_faint_axes_have_the_same_decomposition():
    for rows in (
        generic(300, 10),
        generic(30, 10, decay=0.05),
        np.vstack([1e9 * generic(1, 12), generic(40, 12)]),
    ):
        axes = all_axes(rows)
        assert_allclose(axes.coordinates @ axes.basis.T, rows, atol=1e-12 * np.abs(rows).max())
        assert axes.rank == min(rows.shape)
    assert_allclose(
        all_axes(rows).eigenvalues[1:],
        np.linalg.svd(
            rows[1:] - rows[1:] @ np.outer(*2 * [rows[0] / np.linalg.norm(rows[0])]),
            compute_uv=False,
        )[:11]
        ** 2,
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("shape", "n_loud", "sd"), [((100, 200), 1, 3.0), ((100, 500), 1, 10.0), ((80, 600), 8, 5.0)]
)
@pytest.mark.parametrize("tails", ["light", "heavy"])
def test_loud_columns_are_no_components(shape, n_loud, sd, tails):
    counts = []
    for seed in range(40, 46):
        random = np.random.default_rng(seed)
        rows = random.normal(size=shape) if tails == "light" else random.standard_t(4, shape)
        rows[:, :n_loud] *= sd
        counts.append(counted(rows).count)
    assert counts == [0] * 6


def test_components_beside_a_loud_column_are_counted():
    rows = planted(100, 300, 2, 5.0, 0)
    rows[:, 0] += 3.0 * np.random.default_rng(1).normal(size=100)
    assert counted(rows).count == 2


def beside_a_loud_column(n, p, rank, seed):
    rows = planted(n, p, rank, 4.0, seed)
    rows[:, 0] += 10.0 * np.random.default_rng(100 + seed).normal(size=n)
    return rows


def words_on(found):
    return str(verdict_on_components(found, np.full(len(found.ratio), 0.05), (100, 300)))


def test_a_loud_column_does_not_make_noise_correlated():
    """The axis of the loud column lies among the components, and is counted with them."""
    found = [counted(beside_a_loud_column(100, 300, 2, seed)) for seed in range(10)]
    assert [(each.count, each.noise) for each in found] == [(3, "unequal")] * 10
    assert all(each.above < each.low <= each.count <= each.high for each in found)
    assert all(abs(each.correlation) < 3.0 for each in found)
    assert all("large scale" in words_on(each) for each in found)
    assert "large scale" not in words_on(counted(planted(100, 300, 2, 4.0, 0)))


def test_correlated_noise_beside_a_loud_column_stays_correlated():
    for seed in range(5):
        rows = planted(100, 300, 2, 4.0, seed, "correlated")
        rows[:, 0] += 5.0 * np.random.default_rng(100 + seed).normal(size=100)
        found = counted(rows)
        assert (found.noise, found.low) == ("correlated", None)


def test_far_values_do_not_make_a_column_loud():
    rows = planted(100, 60, 0, 1.0, 2)
    rows[:2, 5] = 20.0, -20.0
    axes = all_axes(rows - rows.mean(axis=0))
    without, with_tails = (
        noise_after(axes, 0, 99, "auto", tails) for tails in (None, column_kurtosis(axes, 0))
    )
    assert without.variances.argmax() == 5
    assert without.at(0.99) > 1.2 * with_tails.at(0.99)


def closed(parts):
    return parts / parts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["closed", "rounded", "logarithms", "two wholes", "unequal"])
def test_parts_of_a_whole_are_no_components(kind):
    found = []
    for seed in range(60, 72):
        random = np.random.default_rng(seed)
        shape = 5.0 * np.geomspace(1.0, 10.0, 12) if kind == "unequal" else 5.0
        rows = closed(random.gamma(shape, size=(600, 12)))
        if kind == "two wholes":
            rows = np.hstack([closed(random.gamma(5.0, size=(600, 6))) for _ in range(2)])
        if kind == "rounded":
            rows = rows.round(4)
        if kind == "logarithms":
            rows = random.normal(size=(600, 12))
            rows -= rows.mean(axis=1, keepdims=True)
        found.append(counted(rows))
    assert sum(each.count > 0 for each in found) <= 1  # at the level of 1 %
    assert "correlated" not in {each.noise for each in found}


@pytest.mark.parametrize("n_parts", [3, 4])
def test_some_axis_of_few_parts_is_compared_with_the_noise(n_parts):
    rows = closed(np.random.default_rng(5).gamma(5.0, size=(200, n_parts)))
    found = counted(rows)
    assert (found.count, len(found.ratio)) == (0, 1)


def test_components_of_parts_of_a_whole_are_counted():
    random = np.random.default_rng(3)
    strengths = np.outer(random.normal(size=600), random.normal(size=12))
    parts = random.gamma(50.0, size=(600, 12)) * np.exp(0.1 * strengths)
    assert counted(closed(parts)).count == 1


@pytest.mark.parametrize(
    ("n", "p", "rho"), [(400, 10, 0.7), (600, 12, 0.7), (600, 12, 0.9), (1000, 15, 0.9)]
)
def test_closely_correlated_columns_of_long_tables_are_told(n, p, rho):
    """All axes that can be tried pass, and the others are as correlated as these were."""
    kinds = []
    for seed in range(50, 70):
        rows = np.random.default_rng(seed).normal(size=(n, p))
        for j in range(1, p):
            rows[:, j] = rho * rows[:, j - 1] + np.sqrt(1.0 - rho**2) * rows[:, j]
        kinds.append(counted(rows).noise)
    assert kinds.count("correlated") >= 18


@pytest.mark.parametrize(("n", "p"), [(600, 12), (1000, 15)])
def test_as_many_components_as_can_be_tried_are_no_correlation(n, p):
    found = [counted(planted(n, p, p // 2, 5.0, seed)) for seed in range(70, 80)]
    assert [(each.low, each.count) for each in found] == [(p // 2, p // 2)] * 10


def test_correlated_columns_of_long_tables_are_told():
    for shape in ((600, 12), (1500, 8)):
        found = [counted(planted(*shape, 0, 1.0, seed, "correlated")) for seed in range(30, 36)]
        assert [(each.noise, each.count) for each in found] == [("correlated", 0)] * 6
        alone = [counted(planted(*shape, 0, 1.0, seed)).noise for seed in range(30, 36)]
        assert "correlated" not in alone
    assert counted(planted(600, 12, 5, 4.0, 1)).noise == "equal"


@pytest.mark.parametrize("most", [None, 50])
def test_many_directions_without_noise_are_their_rank(most):
    random = np.random.default_rng(0)
    few, many = (
        counted(random.normal(size=(200, rank)) @ random.normal(size=(rank, 60)), most=most)
        for rank in (20, 35)
    )
    assert (few.count, few.noise) == (20, "none")
    assert many.count <= 35
