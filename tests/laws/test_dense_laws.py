"""What must not matter: rotation, row order, names of clusters, units, origin of affine flats."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces import PSC, KSubspaces
from subspaces.core.partition import canonical
from subspaces.datasets import make_subspaces

pytestmark = pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")

MODELS = {
    "PSC loo": lambda **options: PSC(3, n_components=2, **options),
    "PSC likelihood": lambda **options: PSC(3, n_components=2, criterion="likelihood", **options),
    "PSC influence": lambda **options: PSC(3, n_components=2, criterion="influence", **options),
    "PSC hat": lambda **options: PSC(3, n_components=2, criterion="hat", **options),
    "K-subspaces": lambda **options: KSubspaces(3, n_components=2, **options),
}
PER_MODEL = pytest.mark.parametrize("name", MODELS)
TALL, WIDE = (90, 8), (60, 50)


def union_of(shape, seed=0, offset=0.0):
    n, p = shape
    return make_subspaces(n, p, [2, 2, 2], noise=0.1, offset=offset, random_state=seed)


def start_of(n, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % 3)


def fitted(name, X, **options):
    return MODELS[name](init=start_of(len(X)), **options).fit(X)


@PER_MODEL
@pytest.mark.parametrize("shape", [TALL, WIDE])
@pytest.mark.parametrize("affine", [False, True])
def test_rotation(name, shape, affine):
    X = union_of(shape).data
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(shape[1], shape[1])))[0]
    one, other = fitted(name, X, affine=affine), fitted(name, X @ rotation, affine=affine)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-8)


@PER_MODEL
@pytest.mark.parametrize("shape", [TALL, WIDE])
def test_row_order(name, shape):
    X = union_of(shape).data
    order = np.random.default_rng(2).permutation(len(X))
    one = fitted(name, X)
    other = MODELS[name](init=start_of(len(X))[order]).fit(X[order])
    assert_array_equal(canonical(one.labels_[order]), canonical(other.labels_))
    assert_allclose(one.objective_, other.objective_, rtol=1e-8)


@PER_MODEL
def test_names_of_the_first_clusters(name):
    X = union_of(TALL).data
    renamed = np.array([2, 0, 1])[start_of(len(X))]
    one, other = fitted(name, X), MODELS[name](init=renamed).fit(X)
    assert_array_equal(one.labels_, other.labels_)


@PER_MODEL
@pytest.mark.parametrize("shape", [TALL, WIDE])
@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_units(name, shape, scale):
    X = union_of(shape).data
    one, other = (
        MODELS[name](init="random", n_init=2, random_state=0).fit(factor * X)
        for factor in (1.0, scale)
    )
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.predict(X), other.predict(scale * X))


@PER_MODEL
@pytest.mark.parametrize("shape", [TALL, WIDE])
def test_origin_of_affine_flats(name, shape):
    X = union_of(shape, offset=1.0).data
    shift = 1e3 * np.random.default_rng(3).normal(size=shape[1])
    one, other = fitted(name, X, affine=True), fitted(name, X + shift, affine=True)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)


@PER_MODEL
def test_a_far_origin_of_affine_flats(name):
    X = union_of(TALL, offset=1.0).data
    one, other = fitted(name, X, affine=True), fitted(name, X + 1e8, affine=True)
    assert_array_equal(one.labels_, other.labels_)
