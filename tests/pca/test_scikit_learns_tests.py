"""Scikit-learn's own tests of its PCA, run on ours through a shim.

All its solvers are one here, so each case runs with one of them. Cases that do not apply, and those
that we fail, stand below with their reasons.
"""

import importlib.util
from unittest import mock

import numpy as np
import pytest
from sklearn import decomposition

import subspaces

# Tests that are not of a PCA like ours, and why.
NOT_OURS = {
    "test_sparse_pca_solver_error": "there are no solvers to refuse",
    "test_pca_svd_solver_auto": "there are no solvers to choose",
    "test_n_components_mle": "Minka's rule is not here: 'auto' has another answer",
    "test_n_components_mle_error": "Minka's rule is not here",
    "test_pca_dim": "Minka's rule is not here",
    "test_mle_redundant_data": "Minka's rule is not here",
    "test_mle_simple_case": "Minka's rule is not here",
    "test_fit_mle_too_few_samples": "Minka's rule is not here",
    "test_pca_mle_array_api_compliance": "Minka's rule is not here",
    "test_assess_dimension_bad_rank": "of Minka's rule alone",
    "test_small_eigenvalues_mle": "of Minka's rule alone",
    "test_assess_dimension_rank_one": "of Minka's rule alone",
    "test_array_api_error_and_warnings_on_unsupported_params": "there are no solvers to refuse",
}
# Cases that apply and fail, by the parameters that tell them from others, and why.
DIFFERENT = {
    "test_pca_score": "theirs takes a whitened PCA for another density, ours for the same",
    "test_pca_validation": "0 components are an answer here, and our errors have other words",
}
# The one solver, among those of a test, that its cases run with: they are all one here.
SOLVERS = ("full", "auto", "arpack")


class PCA(subspaces.PCA):
    """Ours with the default and the parameters of theirs."""

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
    ):
        super().__init__(n_components, whiten=whiten, random_state=random_state)
        self.copy, self.svd_solver, self.tol = copy, svd_solver, tol
        self.iterated_power, self.n_oversamples = iterated_power, n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer


def their_tests():
    """Their module, with our PCA for theirs."""
    path = importlib.util.find_spec("sklearn.decomposition.tests.test_pca").origin
    spec = importlib.util.spec_from_file_location("their_test_pca", path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(decomposition, "PCA", PCA):
        spec.loader.exec_module(module)
    return {name: test for name, test in vars(module).items() if name.startswith("test_")}


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(params=[np.float64, np.float32], ids=["double", "single"])
def global_dtype(request):
    return request.param


def kept_cases(names, values):
    """The cases of a parameter: one solver, and one kind of sparse matrix, as all become CSR."""
    values = list(values)
    if names in ("svd_solver", "solver", "other_svd_solver"):
        return [next((each for each in SOLVERS if each in values), values[0])]
    if names == "sparse_container":
        return [each for each in values if each.__name__ == "csc_array"] or values[-1:]
    if names == "solver, n_components_":
        return values[:1]
    return values


def adapted(name, test):
    """A test with fewer cases, skipped if it is not of a PCA like ours."""
    test.pytestmark = [
        pytest.mark.parametrize(mark.args[0], kept_cases(*mark.args[:2]), **mark.kwargs).mark
        if mark.name == "parametrize"
        else mark
        for mark in getattr(test, "pytestmark", [])
    ]
    if name in NOT_OURS:
        return pytest.mark.skip(reason=NOT_OURS[name])(test)
    if name in DIFFERENT:
        return pytest.mark.xfail(reason=DIFFERENT[name], strict=True)(test)
    return test


globals().update({name: adapted(name, test) for name, test in their_tests().items()})
