"""Rotation, order, scale and place of the samples do not matter to any estimator that says so."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from subspaces import GPCA, MCFA, MPPCA, PSC, SLBF, MCtFA, SparseKMeans
from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score
from tests.estimators.checks import CLUSTERERS, made

pytestmark = pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")

FEW = {"n_init": 3, "random_state": 0}
USUAL = {"n_components": 2, "affine": True, "n_runs": 20, **FEW}
MODELS = {
    **{name: made(kind, **USUAL) for name, kind in CLUSTERERS.items()},
    "PSC sparse": PSC(2, n_variables=4, n_components=2, affine=True, **FEW),
    "GPCA of the papers": GPCA(2, n_components=2, affine=True, polish=False, random_state=0),
    "LBF": SLBF(2, n_components=2, spectral=False, random_state=0),
    "MPPCA": MPPCA(2, n_components=2, max_iter=30, **FEW),
    "MCFA": MCFA(2, n_components=4, max_iter=30, **FEW),
    "MCtFA": MCtFA(2, n_components=4, max_iter=30, **FEW),
    "SparseKMeans": SparseKMeans(2, bound=2.0, **FEW),
}
# Axes of few variables, weights of single ones and noise of each variable turn with nothing.
TURNS = [name for name in MODELS if name not in ("PSC sparse", "SparseKMeans", "MCFA", "MCtFA")]
# Common factors pass through the origin.
MOVES = [name for name in MODELS if name not in ("MCFA", "MCtFA")]
# Of samples in another order other ones are drawn; these data have no sparse axes to be found.
DRAWN = [name for name in MODELS if name != "PSC sparse"]


@cache
def union(noise):
    """Clear where random draws differ, and else so noisy that other distances give other labels."""
    made = make_subspaces([50, 60], 7, [2, 2], noise=noise, offset=0.5, random_state=1)
    made.data.setflags(write=False)
    return made.data


CLEAR, NOISY = 0.02, 0.3


def labels_of(name, X):
    return clone(MODELS[name]).fit(X).labels_


def assert_same(name, X):
    """The labels of the plain data; a graph of noisy data is cut where rounding may decide."""
    least = 0.95 if name == "EnsembleKSubspaces" else 1.0
    assert rand_score(plain(name), labels_of(name, X)) >= least


@cache
def plain(name, noise=NOISY):
    return labels_of(name, union(noise))


@pytest.mark.parametrize("name", TURNS)
def test_rotation(name):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    assert_same(name, union(NOISY) @ rotation)


@pytest.mark.parametrize("name", DRAWN)
def test_order_of_the_samples(name):
    order = np.random.default_rng(0).permutation(110)
    found = labels_of(name, union(CLEAR)[order])
    assert rand_score(plain(name, CLEAR)[order], found) == 1.0


@pytest.mark.parametrize("name", MODELS)
def test_order_of_the_variables(name):
    order = np.random.default_rng(0).permutation(7)
    assert_same(name, union(NOISY)[:, order])


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("name", MODELS)
def test_scale(name, scale):
    assert_same(name, scale * union(NOISY))


@pytest.mark.parametrize("name", MOVES)
def test_translation(name):
    place = 1e3 * np.random.default_rng(0).normal(size=7)
    assert_same(name, union(NOISY) + place)
