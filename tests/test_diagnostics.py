import warnings
from functools import partial
from inspect import isfunction, signature

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from subspaces import diagnostics
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import ols_press, pca_influence, pca_press
from tests.plain import generic, refitted_errors
from tests.warned import refuses, warns


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(("n", "p"), [(10, 3), (10, 40), (10, 500), (60, 3), (60, 40), (400, 3)])
def test_exact_press_equals_refitting(n, p, center):
    X = generic(n, p, seed=n + p, decay=0.95)
    for r in range(1, 6):
        if r > min(n - 1 - center, p):
            continue
        fast = pca_press(X, r, center=center)
        assert_allclose(fast.per_sample, refitted_errors(X, r, center), rtol=1e-10, atol=1e-20)
        assert fast.press == pytest.approx(fast.per_sample.mean())


def test_exact_press_equals_refitting_on_a_large_matrix():
    X = generic(400, 500, decay=0.98)
    rows = np.random.default_rng(0).choice(400, 8, replace=False)
    fast = pca_press(X, 5, center=True).per_sample[rows]
    plain = []
    for i in rows:
        others = np.delete(X, i, axis=0)
        axes = np.linalg.svd(others - others.mean(axis=0), full_matrices=False)[2][:5]
        difference = X[i] - others.mean(axis=0)
        plain.append(np.sum((difference - axes.T @ (axes @ difference)) ** 2))
    assert_allclose(fast, plain, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
@given(st.integers(4, 30), st.integers(2, 20), st.integers(0, 999), st.booleans())
def test_exact_press_with_duplicated_rows(n, p, seed, center):
    X = np.repeat(generic(n, p, seed), 2, axis=0)
    r = min(3, n - 1, p)
    assert_allclose(
        pca_press(X, r, center=center).per_sample,
        refitted_errors(X, r, center),
        rtol=1e-9,
        atol=1e-12 * np.sum(X**2),
    )


def test_exact_press_with_a_mean_a_million_times_the_spread():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 8)) * [4, 3, 2, 1, 1, 1, 1, 1] + 1e6 * random.normal(size=8)
    assert_allclose(pca_press(X, 3, center=False).per_sample, refitted_errors(X, 3), rtol=1e-7)
    near = X - X.mean(axis=0)
    assert_allclose(
        pca_press(X, 3, center=True).per_sample, refitted_errors(near, 3, True), rtol=1e-8
    )


def test_every_pca_has_a_mean_unless_it_is_told_otherwise():
    public = [getattr(diagnostics, name) for name in diagnostics.__all__]
    defaults = {
        function.__name__: signature(function).parameters["center"].default
        for function in public
        if isfunction(function) and "center" in signature(function).parameters
    }
    assert {"pca_components", "pca_outliers", "pca_influence", "pca_press"} <= set(defaults)
    assert set(defaults.values()) == {True}


@pytest.mark.parametrize("method", ["exact", "hat", "paper"])
def test_the_place_of_a_table_does_not_matter_by_default(method):
    X = generic(30, 6, seed=11)
    far = X + 20 * np.random.default_rng(5).normal(size=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(
            pca_press(far, 2, method=method).per_sample,
            pca_press(X, 2, method=method).per_sample,
            rtol=1e-9,
        )
        assert_allclose(pca_influence(far, 2).influence, pca_influence(X, 2).influence, rtol=1e-9)


@pytest.mark.parametrize("gap", [0.0, np.nan])
@pytest.mark.parametrize("ask", [partial(pca_press, method="hat"), pca_influence])
def test_a_mean_that_is_most_of_the_table_is_told(ask, gap):
    X = np.random.default_rng(0).normal(size=(40, 6)) + 2.0
    X[3, 2] += gap
    with warns("far_mean") as told:
        ask(X, 2, center=False)
    assert told[0].filename == __file__
    in_mean = np.tile(np.nanmean(X, axis=0), (40, 1)) ** 2
    share = in_mean[~np.isnan(X)].sum() / np.nansum(X**2)
    assert told[0].message.parameters["share"] == pytest.approx(share)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(X, 2)
        ask(X - 1.5, 2, center=False)


def test_exact_press_with_all_eigenvalues_tied():
    X = np.vstack([np.eye(5), -np.eye(5)])
    assert_allclose(pca_press(X, 2, center=False).per_sample, 1.0, rtol=1e-13)
    assert_allclose(pca_press(X, 2, center=True).per_sample, (10 / 9) ** 2, rtol=1e-12)


@pytest.mark.parametrize("method", ["exact", "hat", "paper"])
def test_no_axis_leaves_the_distance_from_the_refitted_mean(method):
    X = generic(15, 4)
    plain = refitted_errors(X, 0, center=True)
    assert_allclose(pca_press(X, 0, center=True, method=method).per_sample, plain, rtol=1e-12)


def relative_gap(n, method, noise):
    gaps = []
    for seed in range(5):
        X = make_subspaces(n, 20, [3], noise=noise, random_state=seed).data
        near, exact = (pca_press(X, 3, center=False, method=m).press for m in (method, "exact"))
        gaps.append(abs(near / exact - 1))
    return np.mean(gaps)


def test_hat_is_far_closer_than_paper_at_low_noise():
    assert relative_gap(50, "hat", 0.01) < 1e-3 * relative_gap(50, "paper", 0.01)


@pytest.mark.parametrize("method", ["hat", "paper"])
def test_approximations_improve_with_n(method):
    assert relative_gap(400, method, 0.05) < 0.25 * relative_gap(50, method, 0.05)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_units_do_not_matter(scale):
    X = generic(20, 6)
    for method in ("exact", "hat", "paper"):
        one = pca_press(X, 2, center=True, method=method).per_sample
        other = pca_press(scale * X, 2, center=True, method=method).per_sample
        assert_allclose(other / scale / scale, one, rtol=1e-9)
    one, other = (pca_influence(table, 2, center=False) for table in (X, scale * X))
    assert_allclose(other.leverage, one.leverage, rtol=1e-9)
    assert_allclose(other.influence / scale / scale, one.influence, rtol=1e-9)
    assert_allclose(other.gradient / scale, one.gradient, rtol=1e-7)


def test_rotation_and_row_order_do_not_matter():
    X = generic(30, 6)
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    order = np.random.default_rng(4).permutation(30)
    one, other = (
        pca_influence(X, 2, center=True),
        pca_influence(X[order] @ rotation, 2, center=True),
    )
    for name in ("leverage", "loo_error", "influence"):
        assert_allclose(getattr(other, name), getattr(one, name)[order], rtol=1e-10)
    assert_allclose(other.gradient, one.gradient[order] @ rotation, atol=1e-11)


def test_a_mean_makes_the_origin_irrelevant():
    X = generic(30, 6)
    shifted = X + np.arange(6) * 100.0
    for name in ("leverage", "loo_error", "influence"):
        one = getattr(pca_influence(X, 2, center=True), name)
        assert_allclose(getattr(pca_influence(shifted, 2, center=True), name), one, rtol=1e-8)


def test_planted_samples_are_found():
    X = make_subspaces(100, 12, [2], noise=0.05, offset=3.0, random_state=0).data
    planted = [5, 50, 95]
    X[planted] += np.random.default_rng(0).normal(scale=0.4, size=(3, 12))
    found = pca_influence(X, 2, center=True)
    assert set(np.argsort(-found.loo_error)[:3]) == set(planted)
    assert set(np.argsort(-found.influence)[:3]) == set(planted)


def test_leverages_sum_to_the_number_of_axes():
    assert pca_influence(generic(30, 6), 4).leverage.sum() == pytest.approx(4)


def test_data_without_energy_have_no_error():
    for X in (np.zeros((5, 3)), np.ones((5, 3))):
        result = pca_influence(X, 1, center=False)
        assert_allclose(result.loo_error, 0, atol=1e-28)
        assert_allclose(pca_press(X, 2, center=True).per_sample, 0, atol=1e-28)
        assert np.isfinite(result.influence).all()
        assert np.isfinite(result.gradient).all()


def test_input_is_left_alone_and_frames_are_welcome():
    X = generic(12, 4)
    X.setflags(write=False)
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert pca_press(frame, 2).press == pca_press(X, 2).press


def test_ols_press_of_a_row_that_the_others_determine_all_the_same():
    """Its leverage is 1 - 5e-12: not one, though nearly all of the digits of 1 - h are gone."""
    X, y = np.array([[1e6], [1.0], [2.0]]), np.array([2e6, 1.0, 3.0])
    true = (2e6 - 1e6 * 7.0 / 5.0) ** 2
    assert_allclose(ols_press(X, y).per_sample[0], true, rtol=1e-12)


def test_ols_press_equals_refitting():
    random = np.random.default_rng(0)
    X, y = np.column_stack([generic(40, 5), np.ones(40)]), random.normal(size=40) + 7
    plain = []
    for i in range(40):
        rest = np.arange(40) != i
        beta = np.linalg.lstsq(X[rest], y[rest], rcond=None)[0]
        plain.append((y[i] - X[i] @ beta) ** 2)
    assert_allclose(ols_press(X, y).per_sample, plain, rtol=1e-9)
    assert ols_press(X, y).press == pytest.approx(np.mean(plain))


GOOD = generic(8, 4)
BAD = {
    "infinity": (np.where(np.eye(8, 4), np.inf, GOOD), ValueError, "row 0, column 0 .and 3 more"),
    "one dimension": (GOOD[0], ValueError, "1 dimension .*Reshape your data"),
    "three dimensions": (GOOD[None], ValueError, r"3 dimensions.* X\.reshape\(len\(X\), -1\)"),
    "strings": ([["a", "b"], ["c", "d"]], ValueError, "has text .'a'. at"),
    "lists": ([[1, [2]], [3, [4]]], ValueError, "column 1 of X is not a number"),
    "one string": ("data.csv", TypeError, "'data.csv' is not a table"),
    "nothing": (None, TypeError, "X=None is not a table"),
    "complex": (GOOD * 1j, ValueError, "Complex data not supported"),
    "sparse": (sparse.csr_array(GOOD), TypeError, "toarray"),
    "one sample": (GOOD[:1], ValueError, "1 sample. You need at least 2"),
    "no variables": (GOOD[:, :0], ValueError, "0 feature"),
    "too large": (GOOD * 1e200, ValueError, "Multiply X by a constant"),
    "too small": (GOOD * 1e-200, ValueError, "Multiply X by a constant"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("function", [pca_press, pca_influence])
def test_bad_matrices_get_one_line(case, function):
    X, kind, message = BAD[case]
    with pytest.raises(kind, match=message) as caught:
        function(X, 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("n_components", "center", "kind", "refused"),
    [
        (5, False, ValueError, "n_components"),
        (-1, False, ValueError, "n_components"),
        (1.5, False, TypeError, "n_components"),
        (True, False, TypeError, "n_components"),
        ("2", False, TypeError, "n_components"),
    ],
)
def test_bad_dimensions_get_one_line(n_components, center, kind, refused):
    with refuses(refused, kind=kind):
        pca_press(GOOD, n_components, center=center)


def test_a_refitted_mean_costs_one_dimension():
    X = generic(5, 9)
    pca_press(X, 4, center=False)
    with refuses("n_components", 4):
        pca_press(X, 4)


def test_unknown_method():
    with refuses("method", "loo"):
        pca_press(GOOD, 1, method="loo")


def test_center_is_a_bool():
    with refuses("center", "no", kind=TypeError):
        pca_press(GOOD, 1, center="no")


def test_bad_values_in_a_frame_are_named():
    frame = pd.DataFrame(GOOD.copy(), columns=list("abcd"))
    frame.loc[3, "c"] = np.inf
    with refuses("X", place="row 3, column 'c'"):
        pca_press(frame, 1)


def test_bad_regressions():
    for y in (None, 3, GOOD):
        with refuses("y"):
            ols_press(GOOD, y)
    with refuses("y"):
        ols_press(GOOD, [1, 2, 3])
    with refuses("X", naming=["Row 0"]):
        ols_press(GOOD[:4], np.ones(4))
