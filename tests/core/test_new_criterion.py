"""The recipe of docs/develop/extend.md: a criterion is one entry in the one list."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from subspaces import PSC
from subspaces.core.criteria import CRITERIA, Criterion, ScoreInputs
from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score
from tests.warned import refuses


def log_residual(inputs: ScoreInputs):
    """A toy: the logarithm of the squared residual, for members and outsiders alike."""
    xp = np if isinstance(inputs.residual, np.ndarray) else pytest.importorskip("torch")
    return xp.log(inputs.residual + 1e-12)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(CRITERIA, "toy", Criterion(log_residual, log_residual, passes="toy"))


def union(n, p, affine=False):
    given = {"noise": 0.05, "shuffle": True, "offset": 2.0 * affine, "random_state": 0}
    return make_subspaces([n // 3] * 3, p, [2, 2, 2], **given)


def fitted(X, **options):
    settings = {"init": "k-means++", "n_init": 3, "random_state": 0}
    return PSC(3, n_components=2, criterion="toy", **settings, **options).fit(X)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("n", "p"), [(90, 6), (90, 200), (12_000, 8)])
def test_it_runs_for_few_and_many_rows(n, p, affine):
    made = union(n, p, affine)
    model = fitted(made.data, affine=affine)
    assert model.criterion_ == "toy"
    assert rand_score(made.target, model.labels_) > 0.95
    own = model.transform(made.data)[np.arange(n), model.labels_]
    np.testing.assert_allclose(model.objective_, own.sum(), rtol=1e-6)


def test_it_runs_for_sparse_matrices_and_dask():
    array = pytest.importorskip("dask.array")
    X = union(600, 8).data
    labels = fitted(sparse.csr_array(X)).labels_
    np.testing.assert_array_equal(fitted(array.from_array(X, (200, 8))).labels_.compute(), labels)


def test_it_runs_on_a_device():
    torch = pytest.importorskip("torch")
    X = union(12_000, 8).data
    with config_context(array_api_dispatch=True):
        found = fitted(torch.asarray(X)).labels_
    assert rand_score(union(12_000, 8).target, found.numpy()) > 0.95


def test_the_error_lists_its_name():
    with refuses("criterion", "unknown") as raised:
        PSC(2, criterion="unknown").fit(union(90, 6).data)
    assert "toy" in str(raised.value)


def test_where_it_is_not_defined_it_is_refused(monkeypatch):
    with refuses("criterion", "toy"):
        fitted(union(90, 6).data, n_variables=3)
    monkeypatch.setitem(CRITERIA, "toy", Criterion(log_residual, log_residual))
    with refuses("criterion"):
        fitted(sparse.csr_array(union(90, 6).data))
