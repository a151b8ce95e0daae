"""The mixtures: seconds and memory where variables are many, accuracy on the scenarios.

    python benchmarks/mixtures.py

Writes benchmarks/results/mixtures.md. BLAS is held to one thread.
"""

import time
import tracemalloc
import warnings

from harness import markdown, mean_and_error, run_cells, save
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from subspaces import MCFA, MPPCA, MCtFA
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import rand_score

N, K, Q = 200, 4, 3
SEEDS, SPARSE_SEEDS = 20, 5
PAPER = {"a": 0.812, "b": 0.984, "c": 0.883, "d": 0.942, "e": 0.974}


def cost(estimator, p):
    """Seconds of processor time, and the most memory held at once in MB, X not counted.

    Tracing is slow, so memory is taken over the starts and their first steps: it does not grow.
    """
    X = make_subspaces(N, p, [Q] * K, noise=0.1, offset=0.3, random_state=0).data
    start = time.process_time()
    quietly_fit(estimator, X)
    seconds = time.process_time() - start
    brief = clone(estimator).set_params(max_iter=12)
    tracemalloc.start()
    quietly_fit(brief, X)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak, X.nbytes / 1e6


def costs():
    rows = []
    for p in (1000, 5000):
        for estimator in (
            MCtFA(K, n_components=Q, random_state=0),
            MCFA(K, n_components=Q, random_state=0),
            MPPCA(K, n_components=Q, random_state=0),
        ):
            seconds, peak, own = cost(estimator, p)
            square = 8 * p * p / 1e6
            name = type(estimator).__name__
            rows.append([name, p, f"{seconds:.1f}", f"{peak:.1f}", f"{own:.1f}", f"{square:.0f}"])
    return rows


def factors(n_components, n_features):
    """The largest dimension, one more, and what the union of all clusters spans."""
    wanted = max(n_components), max(n_components) + 1, sum(n_components)
    return sorted({int(min(q, n_features)) for q in wanted})


def quietly_fit(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X)


def fit(estimator, scenario):
    quietly_fit(estimator, scenario.data)
    return rand_score(scenario.target, estimator.labels_), estimator.bic_


def cell(name, sparse, seed):
    """Rand index and BIC of MCtFA for each number of factors, and Rand index of MPPCA."""
    scenario = make_scenario(name, sparse=sparse, random_state=seed)
    n_clusters = len(scenario.n_components)
    found = {}
    for q in factors(scenario.n_components, scenario.data.shape[1]):
        found[q] = fit(MCtFA(n_clusters, n_components=q, random_state=seed), scenario)
    dimensions = scenario.n_components.tolist()
    plain = [
        fit(MPPCA(n_clusters, n_components=dimensions, noise=noise, random_state=seed), scenario)[0]
        for noise in ("own", "shared")
    ]
    return found, plain


def accuracy(sparse, seeds):
    cells = [(name, sparse, seed) for name in PAPER for seed in range(seeds)]
    results = run_cells(cell, cells, n_jobs=1)
    rows = []
    for name in PAPER:
        runs = [results[name, sparse, seed] for seed in range(seeds)]
        each = {q: mean_and_error([found[q][0] for found, _ in runs]) for q in runs[0][0]}
        by_bic = [min(found.values(), key=lambda pair: pair[1])[0] for found, _ in runs]
        own, shared = (mean_and_error([plain[i] for _, plain in runs]) for i in (0, 1))
        listed = ", ".join(f"q={q}: {text}" for q, text in each.items())
        paper = "" if sparse else PAPER[name]
        rows.append([name, listed, mean_and_error(by_bic), paper, own, shared])
    return rows


def main():
    header = ["scenario", "MCtFA by q", "MCtFA, q by BIC", "MCtFA in the paper"]
    header += ["MPPCA, own noise", "MPPCA, shared noise"]
    with threadpool_limits(1):
        table = costs()
        dense, sparse = accuracy(False, SEEDS), accuracy(True, SPARSE_SEEDS)
    save(
        "mixtures",
        f"# Mixtures: cost and accuracy\n\n`python benchmarks/mixtures.py`, one thread.\n\n"
        f"## {N} samples, {K} clusters, q = R = {Q}, default settings (10 starts)\n\n"
        + markdown(
            ["estimator", "P", "seconds", "peak, MB", "X itself, MB", "one P x P array, MB"], table
        )
        + f"\n\n## Rand index on the noise-free scenarios, {SEEDS} seeds (standard error)\n\n"
        "K is known; MPPCA is told the dimensions. q is tried at the largest dimension, one more, "
        "and the rank of the union of all clusters.\n\n"
        + markdown(header, dense)
        + f"\n\n## Rand index on the sparse scenarios (noise 0.5), {SPARSE_SEEDS} seeds\n\n"
        + markdown(header, sparse),
    )


if __name__ == "__main__":
    main()
