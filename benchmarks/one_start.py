"""What a single start of each name finds, beside the whole portfolio, on unions of subspaces.

    python benchmarks/one_start.py

Writes benchmarks/results/one_start.md: adjusted Rand index with its standard error over the seeds,
sweeps, and milliseconds of a whole fit by the default criterion.
"""

import time
import warnings

import numpy as np
from harness import markdown, mean_and_error, run_cells, save
from sklearn.metrics import adjusted_rand_score

from subspaces import PSC
from subspaces.datasets import make_subspaces

# Samples a cluster, variables, clusters, dimension, noise, and whether flats have own centres.
UNIONS = [
    (40, 100, 6, 2, 0.05, False),
    (40, 100, 6, 2, 0.05, True),
    (60, 30, 5, 3, 0.13, False),
    (200, 50, 10, 5, 0.1, False),
    (200, 50, 10, 5, 0.3, False),
    (200, 50, 10, 5, 0.3, True),
]
STARTS, SEEDS = ("random", "local", "k-means++", "portfolio"), 20


def fit(union, name, seed):
    """Adjusted Rand index, sweeps and milliseconds."""
    size, p, k, r, noise, affine = UNIONS[union]
    made = make_subspaces([size] * k, p, [r] * k, noise=noise, random_state=seed)
    X = made.data + affine * made.target[:, None]
    n_init = "auto" if name == "portfolio" else 1
    model = PSC(k, n_components=r, affine=affine, init=name, n_init=n_init, random_state=seed)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    taken = 1e3 * (time.perf_counter() - begun)
    return adjusted_rand_score(made.target, model.labels_), model.n_iter_, taken


def main():
    cells = [
        (union, name, seed)
        for union in range(len(UNIONS))
        for name in STARTS
        for seed in range(SEEDS)
    ]
    found = run_cells(fit, cells, n_jobs=1)
    rows = []
    for union, (size, p, k, r, noise, affine) in enumerate(UNIONS):
        for name in STARTS:
            index, sweeps, taken = zip(*(found[union, name, s] for s in range(SEEDS)), strict=True)
            shape = f"{size * k} x {p}, K {k}, R {r}, noise {noise}{', affine' if affine else ''}"
            rows.append(
                [
                    *(shape, name, mean_and_error(index)),
                    *(f"{np.mean(sweeps):.1f}", f"{np.median(taken):.0f}"),
                ]
            )
    save(
        "one_start",
        "# One start of each name\n\n`python benchmarks/one_start.py`: adjusted Rand index with "
        f"its standard error over {SEEDS} seeds, sweeps of the winner, median milliseconds.\n\n"
        + markdown(["union", "start", "adjusted Rand index", "sweeps", "ms"], rows),
    )


if __name__ == "__main__":
    main()
