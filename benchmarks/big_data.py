"""Past memory: a file of ten million rows, Dask workers, a sparse matrix, a stream.

    python benchmarks/big_data.py                 # all of it, some minutes and 2 GB of disk
    python benchmarks/big_data.py file sparse     # these parts again, the rest as it was

Writes benchmarks/results/big_data.md. Every part runs in a process of its own, whose peak memory is
what Linux counts as anonymous (RssAnon), read every 20 ms. CPU s are those of all threads together:
they say the same on a machine that others use, too.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from harness import ROOT, markdown, save
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from subspaces import PSC, KSubspaces, MiniBatchPSC, progress
from subspaces.metrics import rand_score

KEPT = ROOT / "build" / "big_data"
CORES = 2
CLUSTERS, DIMENSIONS, NOISE = 5, 3, 0.35
BLOCK = 100_000


def union(out, target, seed=0):
    """Fill the rows with a noisy union of subspaces, block by block."""
    random = np.random.default_rng(seed)
    p = out.shape[1]
    axes = np.linalg.qr(random.standard_normal((CLUSTERS, p, DIMENSIONS)))[0].astype(np.float32)
    for start in range(0, len(out), BLOCK):
        part = slice(start, min(start + BLOCK, len(out)))
        size = part.stop - part.start
        target[part] = own = random.integers(CLUSTERS, size=size)
        scores = random.standard_normal((size, DIMENSIONS), dtype=np.float32)
        noise = NOISE * random.standard_normal((size, p), dtype=np.float32)
        for k in range(CLUSTERS):
            noise[own == k] += scores[own == k] @ axes[k].T
        out[part] = noise
    return axes


def anonymous():
    """Bytes of memory that no file backs."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split("RssAnon:")[1].split()[0])


@contextmanager
def watched():
    """A list that ends with the peak of anonymous memory inside, beyond that before."""
    gc.collect()
    before, peaks, over = anonymous(), [0], threading.Event()

    def watch():
        while not over.wait(0.02):
            peaks[0] = max(peaks[0], anonymous() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        over.set()
        watcher.join()


def timed(call):
    """Wall and CPU seconds of a call."""
    began, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began, time.process_time() - cpu


def timed_sweeps(model, X):
    """Wall and CPU seconds of the whole fit, and of its median sweep over all rows."""
    marks = []

    def hear(step):
        if step.stage == "sweep":
            marks.append((time.perf_counter(), time.process_time()))

    with progress.listen(hear):
        whole = timed(lambda: model.fit(X))
    sweeps = np.diff(np.array(marks[-model.n_iter_ :]), axis=0)
    return whole, np.median(sweeps, axis=0) if len(sweeps) else (np.nan, np.nan)


def bare_pass(X, axes):
    """Seconds to read all rows in blocks and multiply them by the axes, on the same threads."""
    flat = np.ascontiguousarray(np.moveaxis(axes, 0, 1).reshape(X.shape[1], -1))
    step = (1 << 19) // X.shape[1]

    def read():
        Parallel(CORES, prefer="threads")(
            delayed(lambda start: (X[start : start + step] @ flat).sum())(start)
            for start in range(0, len(X), step)
        )

    with threadpool_limits(1):
        return np.median([timed(read) for _ in range(3)], axis=0)


def file():
    """10M x 50 float32 from disk."""
    n, p = 10_000_000, 50
    with tempfile.TemporaryDirectory() as folder:
        X = np.memmap(Path(folder) / "rows.f32", dtype=np.float32, mode="w+", shape=(n, p))
        target = np.empty(n, dtype=np.int8)
        axes = union(X, target)
        X.flush()
        del X
        X = np.memmap(Path(folder) / "rows.f32", dtype=np.float32, mode="r", shape=(n, p))
        model = PSC(CLUSTERS, n_components=DIMENSIONS, random_state=0, n_jobs=CORES)
        with watched() as peaks:
            (seconds, _), (sweep, cpu) = timed_sweeps(model, X)
        bare, bare_cpu = bare_pass(X, axes)
    return {
        "size": f"{n:,} x {p} float32, {n * p * 4 / 1e9:.1f} GB",
        "fit, s": round(seconds, 1),
        "sweeps": model.n_iter_,
        "sweep, s (CPU s)": f"{sweep:.2f} ({cpu:.2f})",
        "bare read and product, s (CPU s)": f"{bare:.2f} ({bare_cpu:.2f})",
        "sweep / bare": f"{sweep / bare:.2f} ({cpu / bare_cpu:.2f})",
        "anonymous memory, MiB": round(peaks[0] / 2**20),
        "Rand": round(rand_score(target, model.labels_), 4),
    }


def counts(n=100_000, p=2000, density=0.1, seed=0):
    """A CSR matrix around flats of positive axes, and labels of which half are right."""
    random = np.random.default_rng(seed)
    axes = random.exponential(size=(CLUSTERS, 2, p)).astype(np.float32) ** 2
    target = random.integers(CLUSTERS, size=n)
    parts = []
    for start in range(0, n, 5000):
        own = target[start : start + 5000]
        scores = random.exponential(size=(len(own), 2)).astype(np.float32)
        block = np.zeros((len(own), p))
        for k in range(CLUSTERS):
            block[own == k] = scores[own == k] @ axes[k]
        block += random.exponential(size=block.shape)
        block *= random.random(block.shape) < density
        parts.append(sparse.csr_array(block))
    guesses = random.integers(CLUSTERS, size=n)
    return sparse.vstack(parts, format="csr"), np.where(random.random(n) < 0.5, target, guesses)


def sparse_rows():
    """100k x 2000 at 10 %, as it is and made dense, from the same first labels."""
    X, start = counts()
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    found = {
        "size": f"{X.shape[0]:,} x {X.shape[1]}, {X.nnz / X.shape[0] / X.shape[1]:.0%} not zero",
        "CSR, MB": round(held / 1e6),
    }
    for affine in (False, True):
        kind = "affine" if affine else "linear"
        model = KSubspaces(CLUSTERS, n_components=2, affine=affine, init=start, max_iter=10)
        with watched() as peaks:
            _, seconds = timed(lambda model=model: model.fit(X))
        labels = model.labels_
        with watched() as dense_peaks:
            _, dense_seconds = timed(lambda model=model: model.fit(X.toarray()))
        found |= {
            f"{kind}: sparse, CPU s": round(seconds, 1),
            f"{kind}: made dense, CPU s": round(dense_seconds, 1),
            f"{kind}: sparse, memory with X / X": round(1 + peaks[0] / held, 2),
            f"{kind}: made dense, memory with X / X": round(1 + dense_peaks[0] / held, 2),
            f"{kind}: labels that differ": int(np.count_nonzero(labels != model.labels_)),
        }
    sample = PSC(CLUSTERS, n_components=2, random_state=0, max_iter=10)
    with watched() as peaks:
        _, seconds = timed(lambda: sample.fit(X))
    found["PSC from a sample: CPU s"] = round(seconds, 1)
    found["PSC from a sample: memory with X / X"] = round(1 + peaks[0] / held, 2)
    return found


def make_chunk(block_info=None):
    """Rows of the same union for every chunk, other in every one; runs on a worker."""
    (start, stop), (_, p) = block_info[None]["array-location"]
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.standard_normal((CLUSTERS, p, DIMENSIONS)))[0].astype(np.float32)
    random = np.random.default_rng(start)
    own = random.integers(CLUSTERS, size=stop - start)
    rows = random.standard_normal((stop - start, p), dtype=np.float32)
    rows *= NOISE
    for k in range(CLUSTERS):
        chosen = np.flatnonzero(own == k)
        rows[chosen] += random.standard_normal((len(chosen), DIMENSIONS), np.float32) @ axes[k].T
    return rows


def peak():
    """Peak memory of a worker; runs on it."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def workers():
    """4M x 50 float32 on a local cluster of two processes, held by the workers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    n, p, chunk = 4_000_000, 50, 250_000
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "ERROR"}
    model = PSC(CLUSTERS, n_components=DIMENSIONS, random_state=0)
    with LocalCluster(CORES, **options) as cluster, Client(cluster) as client:

        def rows(size):
            chunks = ((size,) * (n // chunk), (p,))
            meta = np.empty((0, 0), np.float32)
            return da.map_blocks(make_chunk, chunks=chunks, dtype=np.float32, meta=meta)

        model.fit(rows(2000))
        before = client.run(peak)
        unheld = MiniBatchPSC(CLUSTERS, n_components=DIMENSIONS, max_batches=1, random_state=0)
        unheld.fit(rows(chunk))
        most = max(value - before[worker] for worker, value in client.run(peak).items())
        X = rows(chunk).persist()
        (seconds, _), (sweep, _) = timed_sweeps(model, X)
        held, labels = X.compute(), model.labels_.compute()
    local = PSC(CLUSTERS, n_components=DIMENSIONS, random_state=0, n_jobs=CORES)
    (plain_seconds, _), (plain_sweep, _) = timed_sweeps(local, held)
    different = int(np.count_nonzero(labels != local.labels_))
    return {
        "size": f"{n:,} x {p} float32, chunks of {chunk:,} rows ({chunk * p * 4 / 1e6:.0f} MB)",
        "fit, s": round(seconds, 1),
        "s per sweep": round(sweep, 2),
        "numpy, two threads: fit, s": round(plain_seconds, 1),
        "numpy, two threads: s per sweep": round(plain_sweep, 2),
        "million rows per s and worker": round(n / sweep / CORES / 1e6, 2),
        "peak of a worker beyond its start, chunks": round(most / (chunk * p * 4), 2),
        "labels that differ from numpy's": different,
    }


def stream():
    """1M x 50: MiniBatchPSC beside the full fit, in turn."""
    n, p = 1_000_000, 50
    X, target = np.empty((n, p), dtype=np.float32), np.empty(n, dtype=np.int8)
    union(X, target)
    options = {"n_components": DIMENSIONS, "random_state": 0, "n_jobs": CORES}
    models = [PSC(CLUSTERS, **options), MiniBatchPSC(CLUSTERS, **options)]
    taken = [[timed(lambda model=model: model.fit(X)) for model in models] for _ in range(3)]
    (full, full_cpu), (quick, quick_cpu) = np.median(taken, axis=0)
    labels = [model.labels_ for model in models]
    one_pass = MiniBatchPSC(CLUSTERS, **options)
    streamed, _ = timed(lambda: [one_pass.partial_fit(batch) for batch in np.split(X, 100)])
    return {
        "size": f"{n:,} x {p} float32",
        "PSC, s (CPU s)": f"{full:.1f} ({full_cpu:.1f})",
        "MiniBatchPSC, s (CPU s)": f"{quick:.1f} ({quick_cpu:.1f})",
        "MiniBatchPSC / PSC": f"{quick / full:.2f} ({quick_cpu / full_cpu:.2f})",
        "PSC, Rand": round(rand_score(target, labels[0]), 4),
        "MiniBatchPSC, Rand": round(rand_score(target, labels[1]), 4),
        "100 batches by partial_fit, s": round(streamed, 1),
        "then predict, Rand": round(rand_score(target, one_pass.predict(X)), 4),
    }


def wide():
    """50k x 2000 float32 on one core, and what follows for a billion rows on 100 workers."""
    n, p = 50_000, 2000
    X, target = np.empty((n, p), dtype=np.float32), np.empty(n, dtype=np.int8)
    union(X, target)
    random = np.random.default_rng(0)
    start = np.where(random.random(n) < 0.3, target, random.integers(CLUSTERS, size=n))
    model = PSC(CLUSTERS, n_components=DIMENSIONS, init=start, max_iter=8)
    (_, whole), (_, sweep) = timed_sweeps(model, X)
    passes = whole / sweep
    billion = 1e9 / n * sweep / 100
    return {
        "size": f"{n:,} x {p} float32",
        "sweep, CPU s": round(sweep, 2),
        "rows per s and core": f"{n / sweep:,.0f}",
        "MB per s and core": round(n * p * 4 / sweep / 1e6),
        "whole fit, in sweeps": round(passes, 1),
        "1e9 rows, 100 workers of one core: minutes per sweep": round(billion / 60, 1),
        "1e9 rows, 100 workers of 16 cores: s per sweep": round(billion / 16),
        "1e9 rows: TB read per pass, GB per worker": "8, 80",
    }


PARTS = {"file": file, "workers": workers, "sparse": sparse_rows, "stream": stream, "wide": wide}


def page():
    text = ["# Past memory", "", f"`python benchmarks/big_data.py`, {CORES} cores.", ""]
    for name, part in PARTS.items():
        kept = KEPT / f"{name}.json"
        if kept.exists():
            rows = list(json.loads(kept.read_text()).items())
            text += [f"## {part.__doc__.rstrip('.')}", "", markdown(["", ""], rows), ""]
    save("big_data", "\n".join(text))


def main():
    chosen = sys.argv[1:] or list(PARTS)
    if chosen[0] == "--alone":
        warnings.simplefilter("ignore", ConvergenceWarning)
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{chosen[1]}.json").write_text(json.dumps(PARTS[chosen[1]](), indent=1))
        return
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for name in chosen:
        command = [sys.executable, __file__, "--alone", name]
        subprocess.run(command, check=True, env={**os.environ, **one_thread})
    page()


if __name__ == "__main__":
    main()
