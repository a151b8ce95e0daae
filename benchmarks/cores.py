"""Wall time of a fit by the number of threads, and whether the labels stay the same.

    python benchmarks/cores.py [--threads 1 2 7 16]

Writes benchmarks/results/cores.md. Threads are limited as users limit them, by ``threadpoolctl``;
the starts run on as many (``n_jobs``). OMP_NUM_THREADS and OPENBLAS_NUM_THREADS must not be set.
A second table has the default call at nine sizes with ``n_jobs=-1`` beside ``n_jobs=1``.
"""

import argparse
import time
import warnings

import numpy as np
from harness import markdown, save
from joblib import cpu_count
from speed import DEFAULT_CALLS, machine, union
from threadpoolctl import threadpool_limits

from subspaces import PSC

# N, P, K, R, repeats
SIZES = [(1_000_000, 50, 10, 5, 2), (100_000, 2000, 8, 5, 1), (1000, 500, 8, 4, 5)]
CALLS = {"default": {}, "one `k-means++` start": {"init": "k-means++", "n_init": 1}}


def quickest(X, model, repeats):
    """Seconds of the quickest fit, and its labels."""
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        labels = model.fit(X).labels_
        taken.append(time.perf_counter() - begun)
    return min(taken), labels


def all_jobs():
    """The default call at nine sizes: seconds with one job and with all, by turns."""
    rows = []
    for n, p, k, r, _ in DEFAULT_CALLS:
        X = union(n, p, k, r, 0.1)
        taken = {1: [], -1: []}
        for _ in range(5):
            for n_jobs, times in taken.items():
                model = PSC(k, n_components=r, random_state=0, n_jobs=n_jobs)
                times.append(quickest(X, model, 1)[0])
        one, every = (min(times) for times in taken.values())
        rows.append([f"{n} x {p}", k, r, f"{one:.2f}", f"{every:.2f}", f"{every / one:.2f}"])
        print(*rows[-1], flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, cpu_count()])
    counts = parser.parse_args().threads
    warnings.simplefilter("ignore")
    rows = []
    for n, p, k, r, repeats in SIZES:
        X = union(n, p, k, r, 0.1)
        for call, options in CALLS.items():
            found = []
            for count in counts:
                model = PSC(k, n_components=r, random_state=0, n_jobs=count, **options)
                with threadpool_limits(count):
                    found.append(quickest(X, model, repeats))
            same = all(np.array_equal(found[0][1], labels) for _, labels in found)
            times = [f"{seconds:.2f} ({found[0][0] / seconds:.1f})" for seconds, _ in found]
            rows.append([f"{n} x {p}", k, r, call, *times, "yes" if same else "NO"])
            print(*rows[-1], flush=True)
    heads = [f"{count} thread{'s' * (count > 1)}" for count in counts]
    typed = " ".join(map(str, counts))
    save(
        "cores",
        f"# A fit by the number of threads\n\n`python benchmarks/cores.py --threads {typed}`: "
        "seconds of wall time, and how many times as quick as with the first number of threads. "
        "K clusters of dimension R.\n\n"
        + markdown(["size", "K", "R", "call", *heads, "labels the same"], rows)
        + "\n\nThe default call with `n_jobs=-1` beside `n_jobs=1`, quickest of five each:\n\n"
        + markdown(["size", "K", "R", "one job, s", "all, s", "all / one"], all_jobs())
        + f"\n\n{machine()}.",
    )


if __name__ == "__main__":
    main()
