"""One PCA of a table with holes: against refitting, and against complete rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from subspaces.core.incomplete import Cells, Gaussian, observed_cells, posterior
from subspaces.core.influence import hat_errors
from subspaces.core.leave_one_out import graded_axes
from subspaces.pca.missing import IncompletePCA, column_regressions, fit_pca, hotelling, row_errors


def table(n=120, p=20, r=2, share=0.2, seed=0, shift=2.0):
    """Rows about a plane off the origin, with noise and holes."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, r)) @ random.normal(size=(r, p)) + shift * random.normal(size=p)
    rows += 0.3 * random.normal(size=rows.shape)
    return np.where(random.random(rows.shape) < share, np.nan, rows)


def of_complete(rows, r, affine):
    """The PCA of complete rows, as that of a table without holes."""
    centre = rows.mean(axis=0) if affine else np.zeros(rows.shape[1])
    axes = graded_axes(rows - centre)
    noise = axes.eigenvalues[r:].sum() / (len(rows) * (rows.shape[1] - r))
    spread = np.sqrt(axes.eigenvalues[:r] / len(rows) - noise)
    cells = Cells(rows, np.ones_like(rows))
    return IncompletePCA(cells, Gaussian(axes.basis[:, :r] * spread, centre), noise, affine)


@pytest.mark.parametrize("affine", [True, False])
def test_complete_rows_have_the_usual_measures(affine):
    rows = table(share=0.0)
    pca = of_complete(rows, 3, affine)
    axes = graded_axes(rows - pca.cluster.centre)
    scores, residual, spectrum = axes.split(3)
    fitted, left_out = row_errors(pca)
    assert_allclose(fitted, residual, rtol=1e-9)
    assert_allclose(left_out, hat_errors(scores, residual, spectrum, affine), rtol=1e-9)
    assert_allclose(hotelling(pca), len(rows) * np.sum(scores**2 / spectrum, axis=1), rtol=1e-9)
    assert_allclose(pca.completed, rows)


@pytest.mark.parametrize("affine", [True, False])
def test_regressions_are_those_of_each_column(affine):
    rows = table(n=30, p=6, share=0.3, shift=1.0)
    pca = fit_pca(observed_cells(rows), 2, affine)
    rest, leverage = column_regressions(pca)
    scores = posterior(pca.cells, pca.cluster, pca.noise).scores
    for j in range(6):
        seen = ~np.isnan(rows[:, j])
        design = np.column_stack([scores, np.ones(30)]) if affine else scores
        hat = design[seen] @ np.linalg.pinv(design[seen])
        assert_allclose(leverage[seen, j], np.diag(hat), rtol=1e-6)
        assert_allclose(rest[seen, j], rows[seen, j] - hat @ rows[seen, j], atol=1e-6)
        assert np.all(rest[~seen, j] == 0.0)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_left_out_errors_are_near_refitting(share):
    rows = table(share=share, seed=3)
    pca = fit_pca(observed_cells(rows), 2, True)
    found = row_errors(pca)[1]
    plain = np.array([refitted_error(rows, i) for i in range(len(rows))])
    assert np.corrcoef(found, plain)[0, 1] > 0.995
    assert np.median(np.abs(found - plain) / plain) < 0.02


def refitted_error(rows, i):
    """The error of row i, as if it had all cells, under the PCA of the other rows."""
    others = fit_pca(observed_cells(np.delete(rows, i, axis=0)), 2, True)
    seen = ~np.isnan(rows[i])
    basis = others.cluster.loadings[seen]
    rest = rows[i, seen] - others.cluster.centre[seen]
    rest = rest - basis @ np.linalg.lstsq(basis, rest)[0]
    return np.sum(rest**2) * (len(seen) - 2) / (seen.sum() - 2)  # noise has o - 2 left of o cells


def test_distances_within_the_axes_do_not_depend_on_how_many_cells_place_a_row():
    random = np.random.default_rng(1)
    n, p, r = 4000, 12, 2
    loadings = random.normal(size=(p, r))
    rows = random.normal(size=(n, r)) @ loadings.T + 0.8 * random.normal(size=(n, p))
    rows[: n // 2][random.random((n // 2, p)) < 0.5] = np.nan
    rows = rows[np.count_nonzero(~np.isnan(rows), axis=1) >= r]
    pca = IncompletePCA(observed_cells(rows), Gaussian(loadings, np.zeros(p)), 0.64, False)
    found = hotelling(pca)
    complete = ~np.isnan(rows).any(axis=1)
    assert_allclose([found[complete].mean(), found[~complete].mean()], r, rtol=0.06)
    assert_allclose([found[complete].std(), found[~complete].std()], np.sqrt(2 * r), rtol=0.1)


def test_no_axis_is_the_mean_of_what_was_observed():
    rows = table(share=0.3)
    pca = fit_pca(observed_cells(rows), 0, True)
    # The prior pulls a mean towards that of all, by less than a thousandth of a row.
    assert_allclose(pca.cluster.centre, np.nanmean(rows, axis=0), rtol=1e-6, atol=1e-6)
    assert np.all(hotelling(pca) == 0.0)
    through_origin = fit_pca(observed_cells(rows), 0, False)
    assert_allclose(row_errors(through_origin)[0], 20 * np.nanmean(rows**2, axis=1), rtol=1e-12)
