"""Whether what is installed works: quick, with pytest and the library's own requirements alone.

These tests are copied beside a wheel and run where there is no source (`.ci/smoke`, cibuildwheel).
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module, metadata

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster  # before the kernels: it may switch the lock on, and they may not
from numpy.testing import assert_allclose, assert_array_equal

import subspaces
from subspaces import PCA, PSC, KSubspaces, compare, diagnostics, load
from subspaces.datasets import load_penguins, make_scenario, make_subspaces
from subspaces.metrics import matched_accuracy

KERNELS = ("block_pass", "gram", "secular", "sparse_loadings")
LOCKED = getattr(sys, "_is_gil_enabled", lambda: True)()
PURE = "Root-Is-Purelib: true" in (metadata.distribution("subspaces").read_text("WHEEL") or "")


@pytest.fixture(scope="module")
def union():
    return make_subspaces([40, 60, 60], 30, [1, 2, 3], noise=0.02, random_state=0)


def test_the_version_is_that_of_the_package():
    assert subspaces.__version__ == metadata.version("subspaces")


@pytest.mark.skipif(PURE, reason="a wheel without kernels")
@pytest.mark.parametrize("name", KERNELS)
def test_a_wheel_for_a_platform_has_its_kernels(name):
    assert import_module(f"subspaces.kernels.{name}").__file__.endswith((".so", ".pyd"))


@pytest.mark.skipif(LOCKED, reason="this Python has its lock on")
def test_the_kernels_leave_the_lock_off():
    for name in KERNELS:
        import_module(f"subspaces.kernels.{name}")
    assert not sys._is_gil_enabled()


def test_the_penguins_were_packed():
    assert load_penguins().data.shape == (344, 4)


def test_clusters_are_found_and_new_samples_placed(union):
    model = PSC(3, n_components=[1, 2, 3], random_state=0).fit(union.data[::2])
    assert matched_accuracy(union.target[::2], model.labels_) > 0.95
    assert matched_accuracy(union.target[1::2], model.predict(union.data[1::2])) > 0.95


def test_the_plain_code_agrees_with_what_was_compiled(union, tmp_path):
    np.save(tmp_path / "data.npy", union.data)
    code = (
        "import numpy as np; from subspaces import PSC; X = np.load('data.npy')\n"
        "model = PSC(3, n_components=2, random_state=0).fit(X)\n"
        "sparse = PSC(3, n_components=2, n_variables=5, random_state=0).fit(X)\n"
        "np.savez('pure', labels=model.labels_, sparse=sparse.labels_, press=model.press_)\n"
    )
    environment = {**os.environ, "SUBSPACES_PURE": "1"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    pure = np.load(tmp_path / "pure.npz")
    model = PSC(3, n_components=2, random_state=0).fit(union.data)
    sparse = PSC(3, n_components=2, n_variables=5, random_state=0).fit(union.data)
    assert_array_equal(model.labels_, pure["labels"])
    assert_array_equal(sparse.labels_, pure["sparse"])
    assert_allclose(model.press_, pure["press"], rtol=1e-9)


def test_many_rows_go_through_the_block_pass():
    many = make_subspaces([6000, 6000], 20, [2, 2], noise=0.02, random_state=0)
    model = PSC(2, n_components=2, random_state=0).fit(many.data.astype(np.float32))
    assert matched_accuracy(many.target, model.labels_) > 0.95
    sparse = PSC(2, n_components=2, random_state=0).fit(scipy.sparse.csr_array(many.data))
    assert matched_accuracy(many.target, sparse.labels_) > 0.95


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_leaving_one_out_is_leaving_one_out():
    X = np.random.default_rng(0).standard_normal((15, 6)) + 1.0
    errors = []
    for i, row in enumerate(X):
        _, _, axes = np.linalg.svd(np.delete(X, i, axis=0), full_matrices=False)
        errors.append(np.sum((row - axes[:2].T @ (axes[:2] @ row)) ** 2))
    found = diagnostics.pca_press(X, 2, center=False).per_sample
    assert_allclose(found, errors, rtol=1e-9)


def test_a_saved_model_predicts_as_before(union, tmp_path):
    model = KSubspaces(3, n_components=2, random_state=0).fit(union.data)
    model.save(tmp_path / "model.npz")
    assert_array_equal(load(tmp_path / "model.npz").predict(union.data), model.predict(union.data))


def test_variables_components_and_rivals():
    planes = make_scenario("c", sparse=True, random_state=0)
    model = PSC(2, n_components=2, n_variables=10, random_state=0).fit(planes.data)
    assert matched_accuracy(planes.target, model.labels_) > 0.9
    assert PCA().fit(planes.data).n_components_ >= 1
    pytest.importorskip("pandas", reason="the table of a comparison is a data frame")
    found = compare(planes.data, 2, 2, methods=["PSC", "SSC", "KMeans"], labels=planes.target)
    assert set(found.table.index) == {"PSC", "SSC", "KMeans"}


def test_threads_find_what_one_finds(union):
    def fit(seed):
        return PSC(3, n_components=2, random_state=seed).fit(union.data).labels_

    alone = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for labels, expected in zip(pool.map(fit, range(4)), alone, strict=True):
            assert_array_equal(labels, expected)


def test_the_command_runs_or_says_what_it_needs():
    done = subprocess.run(
        [sys.executable, "-m", "subspaces", "--help"], capture_output=True, text=True
    )
    if done.returncode:
        assert "Run: pip install 'subspaces[cli]'" in done.stderr
    else:
        assert "fit" in done.stdout


def test_estimators_are_those_of_scikit_learn(union):
    kmeans = sklearn.cluster.KMeans(3, n_init=1, random_state=0).fit(union.data)
    assert PSC(3, init=kmeans.labels_).fit(union.data).labels_.dtype == kmeans.labels_.dtype
