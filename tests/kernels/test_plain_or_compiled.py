"""Which code runs, and that both find the same clusters."""

import sys

import numpy as np
import pytest

from subspaces import PSC
from subspaces.core.secular import downdate
from subspaces.data.kinds import FEW_ROWS
from subspaces.datasets import make_subspaces
from subspaces.kernels import _missing, compiled
from tests.plain import plain_code

needs_kernels = pytest.mark.skipif(compiled("secular") is None, reason="the kernels are not built")


@pytest.fixture
def choose_again(monkeypatch):
    """Forget which code was chosen, before a test and after it."""
    monkeypatch.delenv("SUBSPACES_PURE", raising=False)
    compiled.cache_clear()
    _missing.clear()
    yield compiled.cache_clear
    compiled.cache_clear()
    _missing.clear()


def test_the_plain_code_can_be_asked_for(monkeypatch, choose_again):
    for plain in ("1", "yes"):
        monkeypatch.setenv("SUBSPACES_PURE", plain)
        choose_again()
        assert compiled("secular") is None


@needs_kernels
@pytest.mark.parametrize("unset", ["", "0"])
def test_an_empty_wish_is_none(unset, monkeypatch, choose_again):
    monkeypatch.setenv("SUBSPACES_PURE", unset)
    assert compiled("secular") is not None


def test_missing_modules_are_told_of_once(monkeypatch, choose_again):
    for name in ("secular", "block_pass"):
        monkeypatch.setitem(sys.modules, f"subspaces.kernels.{name}", None)
    with pytest.warns(RuntimeWarning, match="compiled part"):
        assert compiled("secular") is None
    # Warnings are errors here: a second one would be seen.
    assert compiled("block_pass") is None
    assert compiled("secular") is None


@needs_kernels
def test_rows_left_out_have_the_same_errors_by_both_codes():
    random = np.random.default_rng(0)
    left, values, _ = np.linalg.svd(random.normal(size=(40, 12)), full_matrices=False)
    found = downdate(left * values, values**2, 5)
    with plain_code():
        plain = downdate(left * values, values**2, 5)
    for name in ("eigenvalues", "energies", "squared_error"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-11)


@needs_kernels
@pytest.mark.parametrize(
    ("criterion", "n_variables", "affine"),
    [
        ("influence", 12, False),
        ("loo", 12, True),
        ("likelihood", 12, True),
        ("influence", 210, False),
    ],
)
def test_a_fit_of_many_rows_is_the_same_by_both_codes(criterion, n_variables, affine):
    sizes = [FEW_ROWS // 2, FEW_ROWS // 3, FEW_ROWS // 3]
    X = make_subspaces(sizes, n_variables, [2, 2, 2], noise=0.1, random_state=0).data + affine
    options = {"init": "random", "n_init": 1, "criterion": criterion, "affine": affine}
    found = PSC(3, n_components=2, random_state=0, **options).fit(X)
    with plain_code():
        plain = PSC(3, n_components=2, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(found.labels_, plain.labels_)
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(found.influence_, plain.influence_, rtol=1e-6)
