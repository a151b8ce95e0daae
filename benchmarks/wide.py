"""Does the number of variables matter once the inner products are known? 250 samples, K 6, R 3.

    python benchmarks/wide.py

Writes benchmarks/results/wide.md. BLAS is held to one thread.
"""

import time

import numpy as np
from harness import markdown, save
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score

N, K, R = 250, 6, 3


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def main():
    rows = []
    with threadpool_limits(1):
        for p in (1000, 5000, 20_000):
            noise = np.sqrt(R / p)
            union = make_subspaces(N, p, [R] * K, noise=noise, scores="normal", random_state=0)
            _, gram = seconds(lambda X: X @ X.T, union.data)
            model, fit = seconds(PSC(K, n_components=R, random_state=0).fit, union.data)
            _, lloyd = seconds(KMeans(K, n_init=10, random_state=0).fit, union.data)
            rand = rand_score(union.target, model.labels_)
            rows.append([p, f"{rand:.3f}", f"{fit:.2f}", f"{gram:.2f}", f"{lloyd:.2f}"])
    save(
        "wide",
        f"# {N} samples, {K} clusters of dimension {R}, default settings\n\n"
        "`python benchmarks/wide.py`, one BLAS thread; noise energy equal to signal energy.\n\n"
        + markdown(
            ["P", "Rand index", "PSC, s", "inner products alone, s", "KMeans(n_init=10), s"], rows
        ),
    )


if __name__ == "__main__":
    main()
