"""Time and memory of `PCA("auto")` beside scikit-learn's full PCA.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/pca_speed.py [--repeats 5]

Times are processor times, the least of some fits on one core. Memory is what the process grew by at
its peak beyond the table, in sizes of the table; every fit has a process of its own. Linux only.
"""

import argparse
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import process_time

import numpy as np
from sklearn import decomposition

from subspaces import PCA

SHAPES = (200, 50), (2000, 200), (200, 20_000)
# Goals: at most this many times scikit-learn's time, or this many seconds, and so much memory.
MOST_TIMES, MOST_SECONDS, MOST_MEMORY = 3.0, 0.015, 3.0


def table(n, p):
    random = np.random.default_rng(0)
    signal = random.normal(size=(n, 3)) @ random.normal(size=(3, p))
    return signal + random.normal(size=(n, p))


def seconds(fit, X, repeats):
    took = []
    for _ in range(repeats):
        began = process_time()
        fit(X)
        took.append(process_time() - began)
    return min(took)


def peak():
    """The largest size of this process since the peak was reset, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def growth(kind, shape):
    """By how many tables the process grows at its peak while it fits one."""
    PCA().fit(table(60, 12))  # what is loaded on first use
    X = table(*shape)
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    (PCA("auto") if kind == "ours" else decomposition.PCA(svd_solver="full")).fit(X)
    return (peak() - before) / X.nbytes


def with_intervals(X):
    model = PCA("auto").fit(X)
    return model.fit_.standard_errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print("| samples x variables | scikit-learn, ms | ours, ms | times | with intervals, ms |"
          " times | memory, tables (theirs) | goals |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for shape in SHAPES:
        X = table(*shape)
        theirs, ours, sure = (
            seconds(fit, X, repeats)
            for fit in (decomposition.PCA(svd_solver="full").fit, PCA("auto").fit, with_intervals)
        )
        memory = {}
        for kind in ("ours", "theirs"):
            with get_context("spawn").Pool(1) as pool:
                memory[kind] = pool.apply(partial(growth, kind, shape))
        fast = ours <= max(MOST_TIMES * theirs, MOST_SECONDS)
        sure_fast = sure <= max(2 * MOST_TIMES * theirs, 0.040)
        reached = fast and sure_fast and memory["ours"] <= MOST_MEMORY
        print(
            f"| {shape[0]} x {shape[1]} | {1e3 * theirs:.1f} | {1e3 * ours:.1f} | "
            f"{ours / theirs:.1f} | {1e3 * sure:.1f} | {sure / theirs:.1f} | "
            f"{memory['ours']:.1f} ({memory['theirs']:.1f}) | {'yes' if reached else 'no'} |"
        )


if __name__ == "__main__":
    main()
