"""pandas and polars in and out, over all estimators."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone

from subspaces import MPPCA, PCA, PSC, SSC, KSubspaces
from subspaces.datasets import make_subspaces
from tests.estimators.checks import CLUSTERERS
from tests.warned import refuses

polars = pytest.importorskip("polars")

GENES = [f"g{j}" for j in range(5)]
CELLS = [f"c{i}" for i in range(45)]
QUICK = {"n_init": 3, "n_runs": 10, "bound": 1.5}


def quick(estimator):
    known = inspect.signature(estimator).parameters
    given = {name: value for name, value in QUICK.items() if name in known}
    return estimator(2, random_state=0, **given)


@pytest.fixture(scope="module")
def lines():
    return make_subspaces([20, 25], 5, [1, 1], noise=0.1, random_state=0).data


@pytest.fixture(scope="module")
def pandas_frame(lines):
    return pd.DataFrame(lines, columns=GENES, index=CELLS)


@pytest.fixture(scope="module")
def polars_frame(lines):
    return polars.DataFrame(lines, schema=GENES)


@pytest.mark.parametrize("estimator", CLUSTERERS.values(), ids=CLUSTERERS)
def test_pandas_in_and_out(estimator, pandas_frame, lines):
    model = quick(estimator).set_output(transform="pandas").fit(pandas_frame)
    scores = model.transform(pandas_frame[::3])
    assert scores.index.tolist() == CELLS[::3]
    name = estimator.__name__.lower()
    assert scores.columns.tolist() == [f"{name}0", f"{name}1"]
    plain = quick(estimator).fit(lines)
    np.testing.assert_array_equal(scores.to_numpy(), plain.transform(lines[::3]))
    assert isinstance(model.record_.scores, np.ndarray)


@pytest.mark.parametrize("estimator", CLUSTERERS.values(), ids=CLUSTERERS)
def test_polars_in_and_out(estimator, polars_frame, lines):
    model = quick(estimator).set_output(transform="polars").fit(polars_frame)
    scores = model.transform(polars_frame)
    assert isinstance(scores, polars.DataFrame)
    assert model.feature_names_in_.tolist() == GENES
    plain = quick(estimator).fit(lines)
    # columns are stored one by one there, so that sums round otherwise
    np.testing.assert_allclose(scores.to_numpy(), plain.transform(lines), rtol=1e-7)
    np.testing.assert_array_equal(model.predict(polars_frame), plain.predict(lines))
    assert model.record_.sample_names is None


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("method", ["predict", "transform", "project", "reconstruct"])
def test_columns_are_checked(kind, method, pandas_frame, polars_frame):
    frame = pandas_frame if kind == "pandas" else polars_frame
    model = KSubspaces(2, n_init=1, random_state=0).fit(frame)
    ask = getattr(model, method)
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- g4"):
        ask(frame[GENES[:4]])
    with pytest.raises(ValueError, match="must be in the same order"):
        ask(frame[GENES[::-1]])
    more = frame.assign(g9=1.0) if kind == "pandas" else frame.with_columns(g9=polars.lit(1.0))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- g9"):
        ask(more)


def test_one_kind_of_frame_serves_the_other(pandas_frame, polars_frame):
    model = PSC(2, n_init=2, n_variables=2, random_state=0).fit(pandas_frame)
    np.testing.assert_array_equal(model.predict(polars_frame), model.predict(pandas_frame))
    again = PSC(2, n_init=2, n_variables=2, random_state=0).fit(polars_frame)
    assert again.get_variables(0).tolist() == model.get_variables(0).tolist()


def test_whole_numbers_and_narrow_floats(polars_frame, lines):
    counts = polars_frame.select((polars.all() * 100).round().cast(polars.Int32))
    narrow = polars_frame.cast(polars.Float32)
    assert KSubspaces(2, n_init=1, random_state=0).fit(counts).labels_.shape == (45,)
    scores = KSubspaces(2, n_init=1, random_state=0).fit(narrow).record_.scores
    assert scores.dtype == np.float64


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_hole_is_named(value, polars_frame):
    holey = polars_frame.with_columns(g2=polars.Series([value] + [1.0] * 44, dtype=polars.Float64))
    with refuses("X", place="row 0, column 'g2'"):
        SSC(2).fit(holey)
    assert KSubspaces(2, n_init=1, random_state=0).fit(holey).missing_share_ > 0.0


def test_text_is_refused(polars_frame):
    with refuses("X", cell="high"):
        KSubspaces(2).fit(polars_frame.with_columns(g2=polars.lit("high")))


def test_a_column_of_text_is_named(pandas_frame, polars_frame):
    texts = ["b"] * len(pandas_frame)
    for frame in (
        pandas_frame.assign(tissue=texts),
        polars_frame.with_columns(polars.Series("tissue", texts)),
    ):
        with refuses("X", naming=["'tissue'"]):
            PSC(2).fit(frame)


@pytest.mark.parametrize("model", [PSC(2, random_state=0), MPPCA(2, random_state=0), PCA()])
def test_filled_tables_are_frames_where_these_were_asked_for(model, pandas_frame, polars_frame):
    holes = np.random.default_rng(0).random(pandas_frame.shape) < 0.1
    gaps = pandas_frame.mask(holes)
    plain = model.fit(gaps).impute(gaps)
    assert isinstance(plain, np.ndarray)
    filled = clone(model).set_output(transform="pandas").fit(gaps).impute(gaps[::3])
    pd.testing.assert_frame_equal(filled, pd.DataFrame(plain[::3], CELLS[::3], GENES))
    assert filled.equals(filled.where(holes[::3], pandas_frame[::3]))  # what was seen is as it was
    with config_context(transform_output="polars"):
        filled = clone(model).fit(gaps.to_numpy()).impute(gaps.to_numpy())
    assert filled.columns == [f"x{j}" for j in range(5)]
    np.testing.assert_array_equal(filled.to_numpy(), plain)


def test_what_is_reconstructed_is_a_frame_where_one_is_asked_for(pandas_frame, lines):
    model = PSC(2, random_state=0).fit(pandas_frame)
    assert isinstance(model.reconstruct(pandas_frame), np.ndarray)
    model.set_output(transform="pandas")
    found = model.reconstruct(pandas_frame[::3])
    assert (found.index.tolist(), found.columns.tolist()) == (CELLS[::3], GENES)
    plain = PSC(2, random_state=0).fit(lines)
    np.testing.assert_array_equal(found.to_numpy(), plain.reconstruct(lines[::3]))
