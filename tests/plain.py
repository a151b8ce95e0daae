"""The long way round: what the fast formulas are held against."""

from contextlib import contextmanager

import numpy as np
import pytest

from subspaces.kernels import compiled


@contextmanager
def plain_code():
    """Run the plain code in the block, as ``SUBSPACES_PURE=1`` does."""
    try:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SUBSPACES_PURE", "1")
            compiled.cache_clear()
            yield
    finally:
        compiled.cache_clear()


def refitted_errors(X, n_components, center=False):
    """Squared leave-one-out errors by fitting a PCA without each row."""
    errors = np.empty(len(X))
    for i in range(len(X)):
        others = np.delete(X, i, axis=0)
        centre = others.mean(axis=0) if center else np.zeros(X.shape[1])
        axes = np.linalg.svd(others - centre, full_matrices=False)[2][:n_components]
        difference = X[i] - centre
        difference = difference - axes.T @ (axes @ difference)
        errors[i] = difference @ difference
    return errors


def downdated_error(x, basis, weights):
    """e_-i = sum_r w_r (x - d_r v_r) - (R - 1) x  [MM2014, eq. pca_press], as a P-vector."""
    error = -(basis.shape[1] - 1) * x
    for w, v in zip(weights, basis.T, strict=True):
        error = error + w * (x - (x @ v) * v)
    return error


def influence_vector(x, basis, weights):
    """pi = e_-i (sum_r w_r (I - v_r v_r^T) - (R - 1) I)  [MM2014, eq. final_press]."""
    p, r = basis.shape
    operator = -(r - 1) * np.eye(p)
    for w, v in zip(weights, basis.T, strict=True):
        operator += w * (np.eye(p) - np.outer(v, v))
    return downdated_error(x, basis, weights) @ operator


def leave_one_out_weights(x, basis, spectrum, member):
    """w_r = 1 + d_r^2 / (s_r - [member] d_r^2)."""
    squared = (x @ basis) ** 2
    return 1 + squared / (spectrum - member * squared)


def generic(n, p, seed=0, decay=0.7):
    """Rows off the origin and off the axes, with a falling spectrum."""
    random = np.random.default_rng(seed)
    rotation = np.linalg.qr(random.normal(size=(p, p)))[0]
    return random.normal(size=(n, p)) * decay ** np.arange(p) @ rotation + random.normal(size=p)
