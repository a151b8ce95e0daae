"""`PCA.loadings`: a table with intervals, for rotated, weighted and scaled PCAs too."""

import numpy as np
import pandas as pd
import pytest

from subspaces import PCA
from subspaces.pca.rotation import varimax
from tests.pca.test_intervals import refits, table
from tests.warned import refuses

COLUMNS = ["variable", "component", "loading", "low", "high", "p_value", "mixed"]


def errors_of(model, level=0.95):
    """Standard errors (p, R), read off the table."""
    from scipy import stats

    frame = model.loadings(level)
    half = (frame.high - frame.low).to_numpy() / 2
    quantile = stats.t.ppf(0.5 + level / 2, model.fit_.total - 1)
    return (half / quantile).reshape(model.n_components_, -1).T


@pytest.mark.parametrize("rotation", [None, "varimax"])
@pytest.mark.parametrize("p", [8, 60])
@pytest.mark.parametrize("center", [True, False])
def test_the_table_is_the_jackknife_of_refits(center, p, rotation):
    X = table(30, p)
    model = PCA(3, center=center, rotation=rotation).fit(X)
    (expected, *_), _, _ = refits(X, 3, center, np.ones(30), rotate=rotation is not None)
    # At a low level no interval reaches -1 or 1, where it would be cut.
    np.testing.assert_allclose(errors_of(model, 0.1), expected, rtol=1e-9)


def test_columns_names_and_order():
    X = pd.DataFrame(table(40, 5), columns=list("abcde"))
    model = PCA(2).fit(X)
    frame = model.loadings()
    assert list(frame.columns) == COLUMNS
    assert frame.variable.tolist() == list("abcde") * 2
    assert frame.component.tolist() == [1] * 5 + [2] * 5
    np.testing.assert_allclose(frame.loading.to_numpy().reshape(2, 5), model.components_)
    assert np.all((frame.low <= frame.loading) & (frame.loading <= frame.high))
    wider = model.loadings(0.99)
    assert np.all(wider.high >= frame.high)
    assert np.all((frame.p_value < 0.05) == ((frame.low > 0) | (frame.high < 0)))


def test_weights_are_copies():
    X, copies = table(25, 6), np.arange(25) % 3
    weighted = PCA(2).fit(X, sample_weight=copies)
    repeated = PCA(2).fit(np.repeat(X, copies, axis=0))
    np.testing.assert_allclose(errors_of(weighted), errors_of(repeated), rtol=1e-9)


def test_scaled_variables_have_loadings_of_held_scales():
    X = table(30, 6) * np.arange(1, 7)
    rows = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    scaled = PCA(2, scale=True).fit(X).loadings()
    pd.testing.assert_frame_equal(scaled, PCA(2).fit(rows).loadings())


def test_rotated_axes_are_orthonormal_and_sorted_by_variance():
    X = table(50, 9)
    plain, model = PCA(3).fit(X), PCA(3, rotation="varimax").fit(X)
    turn = model.components_ @ plain.components_.T
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-10)
    assert np.all(np.diff(model.explained_variance_) <= 0)
    np.testing.assert_allclose(
        model.explained_variance_, model.transform(X).var(axis=0, ddof=1), rtol=1e-10
    )
    np.testing.assert_allclose(varimax(model.components_.T), np.eye(3), atol=1e-9)


def test_no_components_give_no_rows():
    frame = PCA(0).fit(table(20, 5)).loadings()
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 0


def test_what_loadings_cannot_do():
    X = table(20, 5)
    for level in (0.0, 1.5, "x"):
        with refuses("level"):
            PCA(2).fit(X).loadings(level)
    X[3, 2] = np.nan
    with refuses("X"):
        PCA(2).fit(X).loadings()


def test_without_pandas_the_extra_is_named(monkeypatch):
    model = PCA(2).fit(table(20, 5))
    monkeypatch.setattr("subspaces.estimators.pca.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"subspaces\[cli\]"):
        model.loadings()


def test_axes_without_energy_are_not_rotated():
    X = table(5, 8)
    model = PCA(None, rotation="varimax").fit(X)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-10)
    assert model.explained_variance_[4] == pytest.approx(0.0, abs=1e-12)
    last = model.loadings().query("component >= 4")
    assert (last.low == -1).all()
    assert last.mixed.all()
