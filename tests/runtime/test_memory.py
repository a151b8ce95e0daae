"""What does not fit into memory is refused before any of it is taken; a fit takes little."""

import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from subspaces import MCFA, PSC, RSIM, SLBF, SSC, KSubspaces, MiniBatchPSC
from subspaces.kernels import compiled
from subspaces.runtime import memory

needs_kernels = pytest.mark.skipif(
    compiled("block_pass") is None, reason="plain code makes copies of a block"
)


def huge(n, p, kind=float):
    """A table that takes no room itself."""
    return np.broadcast_to(np.zeros(1, dtype=kind), (n, p))


@pytest.mark.parametrize("model", [PSC(2), SSC(2), MCFA(2)], ids=str)
def test_a_fit_that_cannot_fit(model):
    said = rf"{type(model).__name__} for 5000 samples x 100000000 variables needs about 8,000 GB of"
    with pytest.raises(MemoryError, match=said):
        model.fit(huge(5000, 10**8))


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize(
    ("X", "needs"),
    [(huge(10**6, 10**8), 800), (huge(10**6, 10**6, bool), 8000)],
    ids=["sample", "copy"],
)
@pytest.mark.parametrize("model", [PSC(2), KSubspaces(2), MiniBatchPSC(2)], ids=str)
def test_many_rows_that_cannot_fit(model, X, needs, n_jobs):
    with pytest.raises(MemoryError, match=rf" needs about {needs:,} GB of memory"):
        model.set_params(n_jobs=n_jobs).fit(X)


def test_graphs_of_all_samples_count(container):
    container(10**9)
    with pytest.raises(
        MemoryError, match=r"SLBF for 9000 .* needs about 3.89 GB .* but only 1 GB is"
    ):
        SLBF(2).fit(huge(9000, 2))
    assert SSC(2, solver="admm")._numbers_held(100, 5) == 11_000
    assert RSIM(2)._numbers_held(100, 5) == 51_000
    assert SLBF(2, spectral=False)._numbers_held(100, 5) == 1000
    assert PSC(2)._numbers_held(9, 5) == 171
    assert PSC("auto")._numbers_held(9, 5) == PSC(2, n_variables=3)._numbers_held(9, 5) == 90


def test_where_nobody_says_how_much_there_is_nothing_is_refused(monkeypatch):
    for part in ("machine", "group", "process"):
        monkeypatch.setattr(memory, f"_of_the_{part}", list)
    assert memory.available() is None
    assert memory.no_room(10**18) is None


def test_the_least_of_what_machine_container_and_process_have(monkeypatch):
    monkeypatch.setattr(memory, "_of_the_machine", lambda: [30_000_000])
    monkeypatch.setattr(memory, "_of_the_group", lambda: [20_000_000])
    monkeypatch.setattr(memory, "_of_the_process", lambda: [50_000_000])
    assert memory.available() == 20_000_000
    assert memory.no_room(20_000_000) is None
    assert memory.no_room(20_000_001) == "needs about 20 MB of memory, but only 20 MB is free"


def test_a_container(container, tmp_path):
    container(500_000)
    assert memory.available() == 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() != 500_000


def long_union(kind, n_rows=100_000):
    """Rows of ten subspaces, many for their number of variables."""
    random = np.random.default_rng(0)
    X = 0.1 * random.standard_normal((n_rows, 50), dtype=np.float32)
    for k in range(10):
        axes = np.linalg.qr(random.normal(size=(50, 5)))[0].T.astype(np.float32)
        X[k::10] += random.standard_normal((n_rows // 10, 5), dtype=np.float32) @ axes
    return X.astype(kind, copy=False)


def beside(model, X):
    """Bytes that a fit takes beside the rows; an earlier one has imported what it needs."""
    clone(model).set_params(n_init=1).fit(X[:10_001])
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@needs_kernels
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.parametrize(
    ("kind", "share", "criterion"), [("float32", 10, "loo"), ("float64", 19, "influence")]
)
def test_a_fit_of_many_rows_takes_a_tenth_of_them_at_most(kind, share, criterion):
    options = {"init": "random", "n_init": 1, "max_iter": 2, "random_state": 0}
    model = PSC(10, n_components=5, criterion=criterion, **options)
    X = long_union(kind, 400_000)  # the sample that is searched takes 5 to 8 MB, however many
    assert beside(model, X) < X.nbytes / share
    assert model.labels_.dtype == np.int32


@needs_kernels
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
def test_the_search_of_a_sample_takes_less_than_the_rows():
    X = long_union("float32")
    assert beside(PSC(10, n_components=5, max_iter=4, random_state=0), X) < X.nbytes


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is of Linux")
def test_a_limit_of_the_process():
    code = "from subspaces.runtime.memory import available; print(available())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)),
    )
    assert 0 < int(done.stdout) < 2**30


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(12, "12 bytes"), (2_400_000, "2.4 MB"), (16 * 10**9, "16 GB"), (10**16, "10,000,000 GB")],
)
def test_sizes_in_words(n_bytes, words):
    assert memory.in_words(n_bytes) == words
