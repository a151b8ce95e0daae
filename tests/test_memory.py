"""What does not fit into memory is refused before any of it is taken."""

import resource
import subprocess
import sys

import numpy as np
import pytest

from subspaces import MCFA, PSC, SLBF, SSC, KSubspaces, MiniBatchPSC, _memory


def huge(n, p, kind=float):
    """A table that takes no room itself."""
    return np.broadcast_to(np.zeros(1, dtype=kind), (n, p))


@pytest.mark.parametrize("model", [PSC(2), SSC(2), MCFA(2)], ids=str)
def test_a_fit_that_cannot_fit(model):
    said = rf"{type(model).__name__} of 5000 samples x 100000000 variables needs about 8,000 GB of"
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


def test_graphs_of_all_samples_count(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: 10**9)
    X = huge(9000, 2)
    with pytest.raises(MemoryError, match=r"SLBF of 9000 .* needs about 3.89 GB .* and 1 GB are"):
        SLBF(2).fit(X)
    assert SSC(2, solver="admm")._numbers_held(100, 5) == 11_000
    assert SLBF(2, spectral=False)._numbers_held(100, 5) == 1000


def test_where_nobody_says_how_much_there_is_nothing_is_refused(monkeypatch):
    for part in ("machine", "group", "process"):
        monkeypatch.setattr(_memory, f"_of_the_{part}", list)
    assert _memory.available() is None
    assert _memory.no_room(10**18) is None


def test_the_least_of_what_machine_container_and_process_have(monkeypatch):
    monkeypatch.setattr(_memory, "_of_the_machine", lambda: [3000])
    monkeypatch.setattr(_memory, "_of_the_group", lambda: [2000])
    monkeypatch.setattr(_memory, "_of_the_process", lambda: [5000])
    monkeypatch.setattr(_memory, "LITTLE", 1000)
    assert _memory.available() == 2000
    assert _memory.no_room(2000) is None
    assert _memory.no_room(2001) == "needs about 2 kB of memory, and 2 kB are free"


def test_a_container(monkeypatch, tmp_path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 200000\n")
    group = (str(tmp_path), "memory.max", "memory.current")
    monkeypatch.setattr(_memory, "GROUPS", (group,))
    assert _memory._of_the_group() == [500_000]
    (tmp_path / "memory.max").write_text("max\n")
    assert _memory._of_the_group() == []


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is of Linux")
def test_a_limit_of_the_process():
    code = "from subspaces._memory import available; print(available())"
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
    assert _memory.in_words(n_bytes) == words
