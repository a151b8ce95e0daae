"""One PCA of a table with missing cells: components, outliers, influence, errors, PCA."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles

from subspaces import PCA
from subspaces.core.incomplete import observed_cells
from subspaces.diagnostics import pca_components, pca_influence, pca_outliers, pca_press
from subspaces.pca.missing import fit_pca, row_errors
from tests.warned import refuses, warns

SHIFT = 5.0


def made(n=150, p=30, r=3, share=0.2, seed=0, noise=0.7):
    """Rows about R axes off the origin, and the same with holes."""
    random = np.random.default_rng(seed)
    signal = random.normal(size=(n, r)) @ random.normal(size=(r, p)) + SHIFT
    whole = signal + noise * random.normal(size=(n, p))
    return whole, np.where(random.random((n, p)) < share, np.nan, whole), signal


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("center", [True, False])
def test_components_are_counted_through_holes(share, center):
    whole, X, _ = made(share=share)
    found = pca_components(X, center=center)
    assert found.n_components == 3 + (not center)
    assert found.n_predictive == pca_components(whole, center=center).n_predictive


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_noise_with_holes_has_no_component(share):
    counts = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        X = random.normal(size=(100, 30)) * np.exp(random.normal(size=30)) + SHIFT
        X[random.random(X.shape) < share * 2 * random.random((100, 1))] = np.nan
        counts.append(pca_components(X).n_components)
    assert sum(counts) <= 1


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_pca_is_near_that_of_the_whole_table(center, scale):
    whole, X, signal = made()
    complete = PCA(center=center, scale=scale).fit(whole)
    model = PCA(center=center, scale=scale).fit(X)
    assert model.n_components_ == complete.n_components_
    angles = subspace_angles(model.components_.T, complete.components_.T)
    assert np.max(angles) < np.pi / 15
    assert_allclose(model.explained_variance_, complete.explained_variance_, rtol=0.2)
    assert_allclose(
        model.explained_variance_ratio_.sum(), complete.explained_variance_ratio_.sum(), rtol=0.1
    )
    assert_allclose(model.components_ @ model.components_.T, np.eye(len(angles)), atol=1e-9)
    assert_allclose(model.missing_share_, np.isnan(X).mean())
    assert complete.missing_share_ == 0.0
    holes = np.isnan(X)
    filled = model.impute(X)
    assert_allclose(filled[~holes], X[~holes], rtol=0)
    by_means = np.where(holes, np.nanmean(X, axis=0), X)
    assert np.std((filled - signal)[holes]) < 0.35 * np.std((by_means - signal)[holes])
    # Complete rows are projected, rows with holes by what is expected in them.
    rows = (whole - model.mean_) / (1.0 if model.scale_ is None else model.scale_)
    assert_allclose(model.transform(whole), rows @ model.components_.T)
    assert_allclose(model.transform(X), model.transform(filled), rtol=1e-9, atol=1e-9)
    assert model.inverse_transform(model.transform(X)).shape == X.shape


def test_a_model_of_a_whole_table_fills_holes_of_new_rows():
    whole, _, signal = made(n=300)
    model = PCA().fit(whole[:200])
    new = whole[200:].copy()
    holes = np.random.default_rng(1).random(new.shape) < 0.3
    new[holes] = np.nan
    filled = model.impute(new)
    plain = np.where(holes, model.mean_, new)
    assert np.std((filled - signal[200:])[holes]) < 0.35 * np.std((plain - signal[200:])[holes])
    assert_allclose(model.impute(new[:1]), filled[:1])  # a column without any value
    assert_allclose(model.impute(whole), whole, rtol=0)


def test_names_and_single_precision_are_kept():
    _, X, _ = made()
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    model = PCA().fit(frame)
    assert model.feature_names_in_[0] == "g0"
    unnamed = PCA().fit(X)
    assert unnamed.impute(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.impute(frame.astype("Float64")), unnamed.impute(X), rtol=1e-9)


@pytest.mark.parametrize("center", [True, False])
def test_influence_and_errors_are_those_of_the_observed_cells(center):
    whole, X, _ = made(share=0.02)
    r = 3 + (not center)
    complete, found = (pca_influence(each, r, center=center) for each in (whole, X))
    assert np.corrcoef(complete.influence, found.influence)[0, 1] > 0.9
    assert_allclose(found.leverage.sum(), r)
    pca = fit_pca(observed_cells(X), r, center)
    assert_allclose(found.loo_error, row_errors(pca)[1])
    press = pca_press(X, r, center=center, method="hat")
    assert_allclose(press.per_sample, found.loo_error)
    near = pca_press(whole, r, center=center, method="hat").press
    assert_allclose(press.press, near, rtol=0.05)
    assert_allclose(np.isnan(found.gradient), np.isnan(X))
    assert np.corrcoef(found.gradient[~np.isnan(X)], complete.gradient[~np.isnan(X)])[0, 1] > 0.95


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_outliers_are_found_through_holes(share):
    _, X, _ = made(n=200, share=share)
    random = np.random.default_rng(5)
    X[17] += 4.0 * random.normal(size=30)
    X[60] = SHIFT + 8.0 * (X[60] - SHIFT)
    found = pca_outliers(X, 3)
    assert {17, 60} <= set(found.outliers.tolist())
    assert len(found.outliers) <= 4


def test_nobody_is_an_outlier_by_missing_cells():
    rates = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        X = made(n=200, share=0.0, seed=seed)[0]
        X[random.random(X.shape) < random.beta(1, 3, size=(200, 1))] = np.nan
        X = X[np.count_nonzero(~np.isnan(X), axis=1) > 3]
        found = pca_outliers(X, 3)
        rates.append(len(found.outliers))
    assert np.mean(rates) < 3


def test_low_values_that_are_missing_are_told_of_one_pca():
    whole, _, _ = made(share=0.0)
    X = np.where(whole < np.quantile(whole, 0.2), np.nan, whole)
    for call in (
        pca_components,
        PCA().fit,
        lambda X: pca_outliers(X, 3),
        lambda X: pca_influence(X, 3, center=True),
        lambda X: pca_press(X, 3, center=True, method="hat"),
    ):
        with warns("missing_low"):
            call(X)


def test_what_cannot_be_is_refused():
    _, X, _ = made()
    for method in ("exact", "paper"):
        with refuses("method"):
            pca_press(X, 2, method=method)
    X[:, 4] = np.nan
    for call in (
        pca_components,
        PCA().fit,
        lambda X: pca_outliers(X, 2),
        lambda X: pca_influence(X, 2),
    ):
        with refuses("X", places="column 4"):
            call(X)
        with refuses("X", places="row 7"):
            call(np.vstack([np.delete(X, 4, axis=1)[:7], np.full((1, 29), np.nan)]))
        with refuses("X", naming=["row 0"]):
            call(np.where(np.isnan(X), np.inf, X))


def test_columns_that_do_not_vary_are_no_trouble():
    _, X, _ = made()
    X[:, 3] = 0.1
    X[5:, 3] = np.nan
    X[:, 8] = np.nan
    X[2, 8] = 4.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PCA(scale=True).fit(X)
    assert model.n_components_ == 3
    assert_allclose(model.impute(X)[:, [3, 8]], np.tile([0.1, 4.0], (150, 1)))


def test_one_hole_hardly_moves_a_table_with_more_variables_than_samples():
    random = np.random.default_rng(0)
    whole = random.normal(size=(20, 3)) @ random.normal(size=(3, 500)) + random.normal(
        size=(20, 500)
    )
    X = whole.copy()
    X[4, 7] = np.nan
    complete, model = PCA().fit(whole), PCA().fit(X)
    assert_allclose(model.explained_variance_, complete.explained_variance_, rtol=0.1)
    assert_allclose(model.noise_variance_, complete.noise_variance_, rtol=0.1)
    assert_allclose(model.explained_variance_ratio_, complete.explained_variance_ratio_, rtol=0.1)
    found, plain = pca_outliers(X, 3), pca_outliers(whole, 3)
    assert_allclose(found.error, plain.error, rtol=0.3)
    assert len(set(found.outliers) ^ set(plain.outliers)) <= 1


@pytest.mark.parametrize(("affected", "share"), [(0.5, 0.8), (0.2, 0.9), (0.9, 0.9)])
def test_rows_with_most_cells_missing_are_no_component(affected, share):
    counts = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        X = random.normal(size=(100, 50))
        rows = random.random(100) < affected
        X[np.outer(rows, np.ones(50)).astype(bool) & (random.random(X.shape) < share)] = np.nan
        X = X[np.count_nonzero(~np.isnan(X), axis=1) > 1]
        counts.append(pca_components(X).n_components)
    assert np.count_nonzero(counts) <= 2


def test_a_column_that_few_rows_have_is_not_predicted_for_nothing():
    whole, _, _ = made(n=40, share=0.0)
    X = whole.copy()
    X[:, 5] = np.nan
    X[[1, 2, 3], 5] = [10.0, 15.0, 1.0]
    errors = pca_press(X, 2, center=True, method="hat").per_sample
    without = pca_press(np.delete(whole, 5, axis=1), 2, center=True, method="hat").per_sample
    # A column that three rows have is fitted exactly by three numbers: it is not counted.
    assert_allclose(errors[[1, 2, 3]], without[[1, 2, 3]] * 30 / 29, rtol=0.3)


@pytest.mark.parametrize("seed", range(5))
def test_samples_that_lack_many_values_at_random_are_not_called_low(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 1)) + 0.5 * random.normal(size=(80, 30))
    rows = random.random(80) < 0.2
    X[rows[:, None] & (random.random(X.shape) < 0.5)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pca_outliers(X, 1)
