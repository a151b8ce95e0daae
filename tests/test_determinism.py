"""Same seed, same labels: whatever the number of jobs, processes or threads, and over releases."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from subspaces import EnsembleKSubspaces, KSubspaces
from tests.estimators.checks import CLUSTERERS
from tests.references import MODELS, STORE, data, found

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:tests")

SOME = ("PSC", "PSC sparse", "KSubspaces", "SSC", "SCC", "MPPCA", "SparseKMeans")
# The first setting of every estimator.
ONE_EACH = list({type(MODELS[name]): name for name in reversed(MODELS)}.values())
CODE = (
    "import sys, tests.references as r; print(r.json.dumps({n: r.found(n) for n in sys.argv[1:]}))"
)


@pytest.mark.parametrize("name", MODELS)
def test_the_labels_of_earlier_releases(name):
    assert found(name) == json.loads(STORE.read_text())[name]


def test_every_clusterer_has_a_reference():
    assert set(json.loads(STORE.read_text())) == set(MODELS) >= set(CLUSTERERS)


@pytest.mark.parametrize("name", ["PSC", "PSC sparse", "KSubspaces", "EnsembleKSubspaces"])
def test_the_number_of_jobs(name):
    one, *others = (
        clone(MODELS[name]).set_params(n_jobs=n_jobs).fit(data())
        for n_jobs in ((1, 2, 4) if name == "PSC" else (1, 4))
    )
    for other in others:
        np.testing.assert_array_equal(one.labels_, other.labels_)
        assert one.objective_ == other.objective_


@pytest.mark.parametrize("name", ONE_EACH)
def test_numpy_tables_where_scikit_learn_dispatches_arrays(name):
    quick = {"n_init": 1, "max_iter": 5}
    model = clone(MODELS[name])
    model.set_params(**{key: quick[key] for key in quick.keys() & model.get_params()})
    expected = clone(model).fit(data())
    with config_context(array_api_dispatch=True):
        model.fit(data())
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    # Scikit-learn's randomized_svd takes numpy's decompositions there, in place of scipy's.
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-11)


def test_another_process_with_other_threads_of_blas():
    """Here BLAS has one thread (`conftest`)."""
    threads = "4"
    settings = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, *SOME],
        env={**os.environ, **settings, "PYTHONHASHSEED": threads},
        capture_output=True,
        text=True,
        check=True,
    )
    references = json.loads(STORE.read_text())
    assert json.loads(done.stdout) == {name: references[name] for name in SOME}


@pytest.mark.parametrize("estimator", [KSubspaces, EnsembleKSubspaces])
def test_another_seed_is_another_draw(estimator):
    settings = {"n_init": 1, "init": "random"} if estimator is KSubspaces else {"n_runs": 2}
    noise = np.random.default_rng(0).normal(size=(60, 5))
    seeds = [estimator(3, random_state=seed, **settings).fit(noise).labels_ for seed in range(4)]
    assert len({labels.tobytes() for labels in seeds}) > 1
