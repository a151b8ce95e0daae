"""Outliers of one PCA: one PCA at a time, levels, crowds, reasons, new samples, bad input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_wine

from subspaces import PCA, plots
from subspaces.diagnostics import pca_outliers
from subspaces.messages import Grade
from subspaces.pca.components import all_axes
from subspaces.pca.outliers import _law_of_q, _law_of_t2, _measured
from subspaces.runtime.warning import collect_warnings
from tests.pca.test_components import planted
from tests.warned import refuses


def quietly(X, r, **options):
    with collect_warnings() as caught:
        found = pca_outliers(X, r, **options)
    return found, [warning.code for warning in caught]


def crowd(n, p, share, seed):
    """A table off the origin with two axes, and the first samples displaced together."""
    random = np.random.default_rng(seed)
    X = 5.0 + 4.0 * random.normal(size=(n, 2)) @ np.linalg.qr(random.normal(size=(p, 2)))[0].T
    X += random.normal(size=(n, p))
    X[: int(share * n)] += 14.0 * np.linalg.qr(random.normal(size=(p, 1)))[0].T
    return X


def left_out(X, others, i, r, center):
    """Squared scores (r,) and squared distance of sample i from the PCA of the others."""
    rows = X[others[others != i]]
    mean = rows.mean(axis=0) if center else 0.0
    axes = np.linalg.svd(rows - mean, full_matrices=False)[2][:r]
    scores = axes @ (X[i] - mean)
    return scores**2, np.sum((X[i] - mean - axes.T @ scores) ** 2)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(30, 8), (16, 25)])
def test_samples_are_judged_as_one_at_a_time(shape, center, robust):
    X = planted(*shape, 2, 3.0, 2)
    X[3] += 15.0 * np.cos(np.arange(shape[1]))
    found, _ = quietly(X, 2, center=center, robust=robust)
    inside = np.flatnonzero(found.members.judged.inside)
    assert_array_equal(inside, np.flatnonzero(~found.is_outlier))
    others = inside if robust else np.arange(len(X))
    energies, errors = map(
        np.array, zip(*(left_out(X, others, i, 2, center) for i in range(len(X))), strict=True)
    )
    assert_allclose(found.error, errors, rtol=1e-8)
    t2, q = np.empty(len(X)), np.empty(len(X))
    for i in range(len(X)):
        rest = inside[inside != i]
        t2[i] = np.sum(energies[i] / energies[rest].mean(axis=0))
        q[i] = errors[i] / (1.0 + t2[i] / len(rest))
    assert_allclose(found.t2, t2, rtol=1e-8)
    assert_allclose(found.q, q, rtol=1e-8)
    reference = found.members.judged.reference
    z = np.cbrt(1.0 + reference.bend * (q / reference.usual - 1.0))
    for i in range(len(X)):
        rest = z[inside[inside != i]]
        t = (z[i] - rest.mean()) / (rest.std(ddof=1) * np.sqrt(1.0 + 1.0 / len(rest)))
        assert_allclose(found.q_p_value[i], stats.t.sf(t, len(rest) - 1), rtol=1e-6)
    beyond = (t2 > found.t2_limit) | (q > found.q_limit)
    assert_array_equal(found.is_outlier, beyond)
    assert found.is_outlier[3]


def test_powers_of_eigenvalues_are_unbiased():
    omega, powers = np.array([3.0, 2.0, 1.0, 0.5]), []
    random = np.random.default_rng(0)
    for _ in range(3000):
        rows = random.normal(size=(12, 4)) * np.sqrt(omega)
        e = np.linalg.eigvalsh(rows.T @ rows)
        w, f = [np.sum(e**k) for k in (1, 2, 3)], 12
        t3 = f * (w[2] - 3 * w[0] * w[1] / f + 2 * w[0] ** 3 / f**2)
        powers.append(
            [(w[1] - w[0] ** 2 / f) / ((f - 1) * (f + 2)),
             t3 / ((f - 1) * (f - 2) * (f + 2) * (f + 4))]
        )  # fmt: skip
    assert_allclose(np.mean(powers, axis=0), [np.sum(omega**2), np.sum(omega**3)], rtol=0.03)
    # The law of Q puts the same numbers to use: with many samples, a is that of omega.
    rows = random.normal(size=(4000, 4)) * np.sqrt(omega)
    measured = _measured(all_axes(rows), np.ones(4000, dtype=bool), 0, 4, center=False)
    usual, bend = _law_of_q(measured, np.sum(rows**2, axis=1))
    t1, t2, t3 = (np.sum(omega**k) for k in (1, 2, 3))
    assert_allclose((usual, bend), (t1, t1 * t3 / t2**2), rtol=0.05)


@pytest.mark.parametrize(("r", "m"), [(1, 12), (4, 30)])
def test_the_law_of_t2_has_the_moments_of_its_sum(r, m):
    scale, freedom = _law_of_t2(r, m)
    one = stats.f(1, m)
    mine = stats.f(r, freedom)
    assert_allclose(scale * mine.mean(), r * one.mean())
    assert_allclose(scale**2 * mine.var(), r * one.var())


@pytest.mark.parametrize(("shape", "rank"), [((20, 8), 2), ((40, 80), 3), ((150, 12), 1)])
@pytest.mark.parametrize("unequal", [False, True])
def test_clean_tables_seldom_have_an_outlier(shape, rank, unequal):
    named = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = 5.0 * random.normal(size=(shape[0], rank)) @ random.normal(size=(rank, shape[1]))
        spread = np.geomspace(0.4, 2.5, shape[1]) if unequal else 1.0
        named += quietly(X + spread * random.normal(size=shape), rank)[0].is_outlier.any()
    assert named <= 4  # of 20 at 5 %: more in one of 400 times


def test_robust_names_as_few_in_small_clean_tables():
    named = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        axes = np.linalg.qr(random.normal(size=(8, 2)))[0]
        X = random.normal(size=(20, 2)) * [4.6, 3.3] @ axes.T
        X += np.geomspace(0.4, 2.5, 8) * random.normal(size=(20, 8))
        named += quietly(X, 2, robust=True)[0].is_outlier.any()
    assert named <= 7  # of 60 at 5 %: more in one of 100 times


def test_outliers_off_the_axes_and_within_them_are_named():
    random = np.random.default_rng(0)
    axes = random.normal(size=(2, 15))
    X = random.normal(size=(100, 2)) @ axes + 0.2 * random.normal(size=(100, 15))
    X[7] += random.normal(size=15)
    X[40] = 12.0 * axes[0]
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(100)])
    found = pca_outliers(frame, 2)
    assert set(found.outliers) >= {7, 40}
    assert found.q_p_value[7] < 1e-6
    assert found.t2_p_value[40] < 1e-6
    assert found.grade == Grade.DOUBTFUL
    assert "s7" in found.conclusion.parameters["off"]
    assert "s40" in found.conclusion.parameters["far"]
    assert all(f"s{i}" in found.verdict for i in (7, 40))
    assert found.table["outlier"].sum() == len(found.outliers)
    assert_array_equal(np.flatnonzero(found.is_outlier), np.sort(found.outliers))


def test_names_that_say_sample_are_not_called_samples_again():
    X = planted(60, 12, 2, 3.0, 2)
    X[3] += 15.0 * np.cos(np.arange(12))
    names = [f"sample{i}" for i in range(60)]
    assert "sample sample3" not in pca_outliers(pd.DataFrame(X, names), 2).verdict
    assert "sample 3 is" in pca_outliers(X, 2).verdict


@pytest.mark.parametrize("share", [0.1, 0.2])
@pytest.mark.parametrize("shape", [(60, 12), (50, 120)])
def test_a_crowd_hides_itself_unless_robust(shape, share):
    X = crowd(*shape, share, 1)
    hidden, codes = quietly(X, 2)
    found, none = quietly(X, 2, robust=True)
    there = np.arange(len(X)) < int(share * len(X))
    assert found.is_outlier[there].all()
    assert found.is_outlier[~there].mean() < 0.05
    assert (codes, none) == (["masked_outliers"] * (not hidden.is_outlier[there].all()), [])
    assert share < 0.2 or not hidden.is_outlier.any()


def test_a_clean_table_has_no_warning_of_hidden_outliers():
    assert sum(bool(quietly(crowd(60, 12, 0.0, seed), 2)[1]) for seed in range(20)) <= 2


def test_contributions_name_the_variables():
    random = np.random.default_rng(3)
    axes = np.linalg.qr(random.normal(size=(9, 2)))[0].T
    X = 3.0 + 4.0 * random.normal(size=(70, 2)) @ axes + 0.5 * random.normal(size=(70, 9))
    X[11, 6] -= 6.0
    X[30] += 40.0 * axes[1]
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(70)]).add_prefix("v")
    found = pca_outliers(frame, 2)
    off, far = found.contributions("s11"), found.contributions(30)
    assert off["q"].idxmin() == off["q"].abs().idxmax() == "v6"
    assert found.reasons(11) == ["v6"]
    assert found.reasons(30)[0] == far["t2"].idxmax()
    assert found.reasons(5) == []
    assert_allclose(far["t2"].sum(), 1.0)
    assert far["t2"].idxmax() == f"v{np.abs(axes[1]).argmax()}"
    # Residuals of samples that belong spread by about one.
    q = np.array([found.contributions(i)["q"] for i in range(40, 70)])
    assert_allclose(np.sqrt(np.mean(q**2, axis=0)), 1.0, atol=0.4)
    # A shift by one standard deviation of a new sample adds as much to its residual.
    again = PCA(2).fit(frame).outliers(frame)
    assert_allclose(again.contributions("s11")["q"], off["q"], rtol=1e-6)
    with refuses("sample"):
        found.contributions(70)
    with refuses("sample"):
        found.contributions("nobody")


def test_new_samples_are_judged_by_the_fit():
    random = np.random.default_rng(5)
    axes = random.normal(size=(2, 10))

    def drawn(n):
        return 2.0 + 3.0 * random.normal(size=(n, 2)) @ axes + random.normal(size=(n, 10))

    model = PCA(2).fit(drawn(60))
    new = drawn(400)
    new[0] += 30.0 * axes[0]
    new[1, 4] += 12.0
    found = model.outliers(new)
    assert_array_equal(found.outliers[:2], [0, 1])
    assert found.is_outlier.sum() <= 3
    assert found.t2_p_value[0] < 1e-6
    assert found.contributions(1)["q"].abs().idxmax() == "x4"
    one = model.outliers(new[2:3])
    assert_allclose((one.t2, one.q), (found.t2[2:3], found.q[2:3]))
    assert one.q_limit < found.q_limit  # of a single sample
    # Over many fits p-values of samples that belong are uniform.
    with collect_warnings():
        judged = [PCA(2).fit(drawn(30)).outliers(drawn(4)) for _ in range(60)]
    for name in ("t2_p_value", "q_p_value"):
        chances = np.concatenate([getattr(each, name) for each in judged])
        assert stats.kstest(chances, "uniform").pvalue > 1e-3
    with refuses("X"):
        model.outliers(np.where(new > 9, np.nan, new))


def test_a_pca_answers_as_the_function_does():
    X = crowd(50, 8, 0.04, 2)
    found, plain = PCA(2).fit(X).outliers(level=0.1), pca_outliers(X, 2, level=0.1)
    assert_allclose((found.t2, found.q), (plain.t2, plain.q))
    assert_allclose((found.t2_limit, found.q_limit), (plain.t2_limit, plain.q_limit))
    scaled = PCA(2, scale=True, robust=True).fit(X).outliers()
    assert_allclose(scaled.q, pca_outliers(X / X.std(axis=0, ddof=1), 2, robust=True).q)
    X[3, 2] = np.nan
    held = PCA(2).fit(X).outliers()
    assert_allclose(held.t2, pca_outliers(X, 2).t2, rtol=0.05)
    with refuses("robust"):
        pca_outliers(X, 2, robust=True)
    with refuses("sample_weight"):
        PCA(2).fit(np.nan_to_num(X), sample_weight=np.arange(50.0)).outliers()


def test_outliers_without_axes_and_with_all_of_them():
    X = planted(50, 5, 0, 1.0, 0)
    none, every = pca_outliers(X, 0), pca_outliers(X, 5)
    means = (X.sum(axis=0) - X) / 49
    assert_allclose(none.q, np.sum((X - means) ** 2, axis=1))
    assert np.all(none.t2 == 0)
    assert np.all(none.t2_p_value == 1)
    assert np.all(every.q < 1e-20)
    assert np.all(every.q_p_value == 1)
    assert none.grade == Grade.SURE
    X[3, 2] = np.nan
    with_gaps = PCA(5).fit(X).outliers()
    assert np.all(with_gaps.q == 0)
    assert np.all(with_gaps.q_p_value == 1)


def test_without_noise_whatever_is_off_is_an_outlier():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 2)) @ random.normal(size=(2, 6))
    X[4, 0] += 1e-3
    found, _ = quietly(X, 2, robust=True)
    assert_array_equal(found.outliers, [4])


def test_a_tenth_of_the_samples_is_too_many_for_outliers():
    random = np.random.default_rng(0)
    X = 0.1 * random.normal(size=(60, 8)) + random.normal(size=(60, 1)) * np.eye(8)[0]
    X[:12] += 3.0 * random.normal(size=(12, 8))
    found, _ = quietly(X, 1)
    assert (found.grade, found.conclusion.code) == (Grade.NO, "too_many")
    assert found.conclusion.parameters["count"] == len(found.outliers) > 6


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"n_components": 30}, "n_components"),
        ({"n_components": 1, "level": 0.0}, "level"),
        ({"n_components": 1, "level": 2.0}, "level"),
        ({"n_components": 10}, "n_components"),
    ],
)
def test_bad_options_of_outliers_are_refused(options, refused):
    with refuses(refused):
        pca_outliers(planted(30, 10, 0, 1.0, 0)[:, [0, *range(9)]], **options)


def test_plots_show_what_was_found():
    outliers, _ = quietly(load_wine().data, 2)
    names = [f"wine {i}" for i in range(178)]
    named = {text.get_text() for ax in outliers.plot(names=names) for text in ax.texts}
    assert named == {f"wine {i}" for i in outliers.outliers[:8]}
    with refuses("names"):
        plots.outliers(outliers, names=["a"])
