"""Penalised PSC on the sparse scenarios: two criteria, the variables found, signs, time.

    python benchmarks/sparse_scenarios.py [--sets 50]

Writes benchmarks/results/sparse_scenarios.md. Data: loadings N(0, 1) on 10 of 200 variables, scores
N(0, 1), noise of standard deviation 0.5, 100 samples a cluster; ten variables are asked for. Beside
the paper and the Bayes classifier: docs/develop/reproduction.md.
"""

import argparse
import time
import warnings

import numpy as np
from harness import markdown, mean_and_error, run_cells, save
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from subspaces import PSC
from subspaces.datasets import SPARSE_NOISE, make_scenario, make_subspaces
from subspaces.metrics import adjusted_rand_score

SCENARIOS = "abcde"
N_VARIABLES = 10


def penalised(scenario, seed, **options):
    dimensions = scenario.n_components
    model = PSC(len(dimensions), n_components=dimensions, random_state=seed, **options)
    return model.fit(scenario.data)


def f1_of_variables(model, truth, target):
    """F1 of the selected against the true variables, clusters matched by their samples."""
    n_clusters = len(truth)
    table = np.array(
        [[np.sum((model.labels_ == j) & (target == k)) for k in range(n_clusters)]
         for j in range(n_clusters)]
    )  # fmt: skip
    owner = dict(zip(*linear_sum_assignment(table, maximize=True), strict=True))
    scores = []
    for j, chosen in enumerate(model.variables_):
        true = np.flatnonzero(truth[owner[j]].any(axis=1))
        scores.append(2 * len(np.intersect1d(chosen, true)) / (len(chosen) + len(true)))
    return np.mean(scores)


def one_set(name, seed):
    """Every row of the table on one data set."""
    scenario = make_scenario(name, sparse=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = penalised(scenario, seed, n_variables=N_VARIABLES)
        projection = penalised(scenario, seed, n_variables=N_VARIABLES, criterion="loo_projection")
    labels = {
        "PSC(n_variables=10), defaults": default.labels_,
        'PSC(n_variables=10, criterion="loo_projection")': projection.labels_,
    }
    found = {row: adjusted_rand_score(scenario.target, given) for row, given in labels.items()}
    return found, f1_of_variables(default, scenario.loadings, scenario.target)


def nonnegative_f1(seed):
    """F1 with a truth that is not negative: l1 and non-negative loadings."""
    union = make_subspaces(
        [100, 100], 200, [2, 2], noise=SPARSE_NOISE, scores="normal", n_variables=N_VARIABLES,
        nonnegative=True, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            penalised(union, seed, n_variables=N_VARIABLES, penalty=penalty)
            for penalty in ("l1", "nonnegative")
        ]
    return [f1_of_variables(model, union.loadings, union.target) for model in models]


def wall_time():
    """One fit of 250 x 1000, K = 6, R = 2, beside KMeans with as many starts."""
    union = make_subspaces(
        [42] * 4 + [41] * 2, 1000, [2] * 6, noise=0.3, scores="normal", n_variables=20,
        random_state=0,
    )  # fmt: skip
    seconds = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (
            PSC(6, n_components=2, n_variables=20, n_init=20, random_state=0),
            KMeans(6, n_init=20, random_state=0),
        ):
            start = time.perf_counter()
            model.fit(union.data)
            seconds.append(time.perf_counter() - start)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50)
    sets = parser.parse_args().sets
    ours, lloyd = wall_time()
    results = run_cells(one_set, [(name, seed) for name in SCENARIOS for seed in range(sets)])
    signs = np.array(list(run_cells(nonnegative_f1, [(seed,) for seed in range(sets)]).values()))
    rows = []
    for row in results["a", 0][0]:
        cells = [mean_and_error([results[n, s][0][row] for s in range(sets)]) for n in SCENARIOS]
        rows.append([row, *cells])
    recovered = [mean_and_error([results[n, s][1] for s in range(sets)]) for n in SCENARIOS]
    save(
        "sparse_scenarios",
        f"# Adjusted Rand index on the sparse scenarios, {sets} data sets a cell\n\n"
        "`python benchmarks/sparse_scenarios.py`. Mean and its standard error, seeds 0, 1, 2...;\n"
        "nothing is chosen by the labels.\n\n"
        + markdown(["", *SCENARIOS], rows)
        + "\n\nF1 of the selected against the true variables, defaults:\n\n"
        + markdown(["", *SCENARIOS], [["F1", *recovered]])
        + "\n\nF1 where the true loadings are not negative (two planes): penalty l1 "
        + f"{mean_and_error(signs[:, 0])}, nonnegative {mean_and_error(signs[:, 1])}; paired\n"
        + f"difference {mean_and_error(signs[:, 1] - signs[:, 0], 4)}.\n\n"
        + "One fit of 250 x 1000, K = 6, R = 2, 20 variables, 20 starts, one BLAS thread: "
        + f"{ours:.2f} s; KMeans(n_init=20): {lloyd:.2f} s.",
    )


if __name__ == "__main__":
    main()
