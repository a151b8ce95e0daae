"""Seconds and memory of spectral curvature clustering and of local best-fit flats at N 4000, P 200.

    python benchmarks/curvature.py

Writes benchmarks/results/curvature.md. BLAS is held to one thread. Peak memory is that of the
arrays and objects allocated during the fit, the data not counted.
"""

import time
import tracemalloc

from harness import markdown, save
from threadpoolctl import threadpool_limits

from subspaces import SCC, SLBF
from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score

N, P, K, R = 4000, 200, 4, 5
METHODS = {
    "SCC": SCC(K, n_components=R, random_state=0),
    "SCC, linear": SCC(K, n_components=R, linear=True, random_state=0),
    "LBF": SLBF(K, n_components=R, spectral=False, random_state=0),
}


def seconds(model, X):
    """On the clock, and of the processor: the same on an idle machine."""
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(X)
    return time.perf_counter() - clock, time.process_time() - processor


def peak_megabytes(model, X):
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main():
    rows = []
    with threadpool_limits(1):
        for noise in (0.0, 0.02):
            union = make_subspaces(N, P, [R] * K, noise=noise, random_state=0)
            for name, model in METHODS.items():
                clock, processor = seconds(model, union.data)
                rand = rand_score(union.target, model.labels_)
                memory = peak_megabytes(model, union.data)
                rounds = getattr(model, "n_iter_", "")
                times = [f"{clock:.1f}", f"{processor:.1f}"]
                rows.append([name, noise, *times, f"{memory:.0f}", rounds, f"{rand:.3f}"])
    save(
        "curvature",
        f"# {N} samples, {P} variables, {K} clusters of dimension {R}, default settings\n\n"
        "`python benchmarks/curvature.py`, one BLAS thread; noise is the standard deviation on\n"
        f"every variable; a matrix of shape (n, n) would take {N * N * 8 / 1e6:.0f} MB.\n\n"
        + markdown(
            ["method", "noise", "s", "processor, s", "peak MB", "rounds", "Rand index"], rows
        ),
    )


if __name__ == "__main__":
    main()
