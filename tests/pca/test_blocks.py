"""One PCA of rows that are read in blocks: equal to that of the same rows in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context

from subspaces import PCA, load
from subspaces.data import kinds
from tests.warned import refuses

RANDOM = np.random.default_rng(0)
SIGNAL = RANDOM.normal(size=(400, 2)) @ RANDOM.normal(size=(2, 9))
X = np.where(RANDOM.random((400, 9)) < 0.4, 0.0, SIGNAL + 0.3 * RANDOM.normal(size=(400, 9)) + 2.0)
WEIGHTS = RANDOM.integers(0, 3, 400)


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    """As if rows were too many to be one matrix."""
    monkeypatch.setattr(kinds, "FEW_ROWS", 50)


def as_csr(X):
    return sparse.csr_array(X)


def as_dask(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(90, 9))


def as_file(X, folder):
    mapped = np.memmap(folder / "rows.bin", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


def as_tensor(X):
    """A tensor on the GPU if there is one, else in main memory."""
    torch = pytest.importorskip("torch")
    return torch.asarray(X, device="cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(params=["csr", "dask", "file", "tensor"])
def given(request, tmp_path):
    """Rows of one kind; under array API dispatch if they are tensors."""
    with config_context(array_api_dispatch=request.param == "tensor"):
        if request.param == "file":
            yield as_file(X, tmp_path)
        else:
            yield {"csr": as_csr, "dask": as_dask, "tensor": as_tensor}[request.param](X)


def on_host(values):
    values = values.cpu() if hasattr(values, "cpu") else values
    return np.asarray(values.compute() if hasattr(values, "compute") else values)


@pytest.mark.parametrize(
    "options", [{}, {"scale": True}, {"center": False}, {"whiten": True}, {"rotation": "varimax"}]
)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_components_and_scores(given, options, weights):
    model, plain = (PCA(3, **options).fit(rows, sample_weight=weights) for rows in (given, X))
    assert model.fit_.axes is None
    for name in ("mean_", "components_", "explained_variance_", "explained_variance_ratio_"):
        assert_allclose(on_host(getattr(model, name)), getattr(plain, name), atol=1e-9)
    assert_allclose(model.noise_variance_, plain.noise_variance_, rtol=1e-9)
    scores = model.transform(given)
    assert type(scores) is type(given) or isinstance(scores, np.ndarray)
    assert_allclose(on_host(scores), plain.transform(X), atol=1e-9)
    back = plain.inverse_transform(plain.transform(X))
    assert_allclose(on_host(model.inverse_transform(scores)), back, atol=1e-9)
    assert_allclose(on_host(model.score_samples(given)), plain.score_samples(X), rtol=1e-8)
    assert_allclose(model.score(given), plain.score(X), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::subspaces.messages.SubspacesWarning")
def test_the_number_is_that_of_a_sample(given, tmp_path):
    model = PCA(random_state=0).fit(given)
    assert model.n_components_ == PCA().fit(X).n_components_ == model.choice_.n_components
    assert str(model).startswith(model.choice_.verdict)
    model.save(tmp_path / "pca.npz")
    same = load(tmp_path / "pca.npz")
    assert same.choice_.verdict == model.choice_.verdict
    assert_array_equal(same.components_, on_host(model.components_))


def test_a_share_or_all(given):
    for number in (0.9, None):
        model, plain = PCA(number).fit(given), PCA(number).fit(X)
        assert model.n_components_ == plain.n_components_
        assert_allclose(on_host(model.components_), plain.components_, atol=1e-9)


def test_what_needs_all_axes_says_so(given):
    model = PCA(2).fit(given)
    for ask in (lambda: model.choice_, lambda: model.influence_):
        with refuses("X"):
            ask()


def test_missing_values_are_imputed_where_they_are(given):
    model, held = PCA(2).fit(given), X.copy()
    held[3, 4] = held[200, 0] = np.nan
    expected = PCA(2).fit(X).impute(held)
    if sparse.issparse(given):
        assert model.impute(given) is given
        with refuses("X"):
            model.impute(as_csr(held))
    elif hasattr(given, "chunks"):
        assert_allclose(on_host(model.impute(as_dask(held))), expected, atol=1e-9)
    else:
        rows = as_tensor(held) if not isinstance(given, np.ndarray) else held
        assert_allclose(on_host(model.impute(rows)), expected, atol=1e-9)


def test_too_many_variables_for_blocks(monkeypatch):
    monkeypatch.setattr("subspaces.pca.blocks.MOST_VARIABLES", 8)
    with refuses("X"):
        PCA(2).fit(as_csr(X))
