"""Choosing the dimensions and the number of variables, and nothing where there is nothing.

    python benchmarks/selection.py [--sets 50]

Writes benchmarks/results/selection.md; an interrupted run goes on where it stopped. Sparse
scenarios as in sparse_scenarios.py; K from 1 to 6. How often the right K is chosen there:
docs/develop/reproduction.md.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, mean_and_error, run_cells, save

from subspaces import PSC
from subspaces.datasets import make_scenario
from subspaces.diagnostics import stability
from subspaces.psc import choosing
from subspaces.selection import select_n_clusters, select_n_variables

SCENARIOS = "abcde"
CANDIDATES = range(1, 7)


def dimensions_at_the_truth(name, seed):
    """Share of the clusters whose dimension is found, by sparse PRESS and the noise edge."""
    scenario = make_scenario(name, sparse=True, random_state=seed)
    right = []
    for k, r in enumerate(scenario.n_components):
        rows = scenario.data[scenario.target == k]
        right.append(
            [
                int(np.argmin(choosing.dimension_by_press(rows, 7, 10, "l1"))) + 1 == r,
                max(choosing.dimension_by_noise(rows, 7), 1) == r,
            ]
        )
    return np.mean(right, axis=0).tolist()


def number_of_variables(seed):
    """The number of variables per loading that is chosen in scenario c (true: 10)."""
    warnings.simplefilter("ignore")
    X = make_scenario("c", sparse=True, random_state=seed).data
    estimator = PSC(2, n_components=2, n_variables=20, n_init=8, random_state=seed)
    return select_n_variables(estimator, X).best_


def pure_noise(seed):
    """K chosen in noise, dense and sparse, and the stability of three clusters forced on it."""
    warnings.simplefilter("ignore")
    X = np.random.default_rng(seed).normal(size=(200, 200))
    chosen = [
        select_n_clusters(PSC(n_init=4, random_state=seed, **options), X, CANDIDATES).best_
        for options in ({}, {"n_variables": 10})
    ]
    forced = PSC(3, n_init=4, random_state=seed)
    steady = stability(forced, X, n_resamples=3, random_state=seed).stability if seed < 10 else None
    return chosen, steady


def noise_free(name, seed):
    """Whether K and all dimensions are found with everything left open."""
    scenario = make_scenario(name, random_state=seed)
    model = PSC("auto", n_components="auto", random_state=seed).fit(scenario.data)
    return sorted(model.n_components_) == sorted(scenario.n_components)


def share(hits):
    return f"{np.mean(hits):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50)
    sets = range(parser.parse_args().sets)
    exact = run_cells(
        noise_free, [(name, seed) for name in "abc" for seed in sets], keep="selection/exact"
    )
    noise = run_cells(pure_noise, [(seed,) for seed in sets], keep="selection/noise")
    variables = run_cells(
        number_of_variables, [(seed,) for seed in sets], keep="selection/variables"
    )
    counts = np.array(list(variables.values()))
    grid = [(name, seed) for name in SCENARIOS for seed in sets]
    right = run_cells(dimensions_at_the_truth, grid, keep="selection/dimensions")
    dimension_rows = [
        [row, *[share([right[n, s][i] for s in sets]) for n in SCENARIOS]]
        for i, row in enumerate(("sparse PRESS", "noise edge"))
    ]
    drawn = [noise[(seed,)] for seed in sets]
    forced = [steady for _, steady in drawn if steady is not None]
    save(
        "selection",
        f"# Choosing R_k and the number of variables, {len(sets)} data sets a cell\n\n"
        "`python benchmarks/selection.py`.\n\n"
        "Share of the clusters with the right dimension at the true partition:\n\n"
        + markdown(["", *SCENARIOS], dimension_rows)
        + "\n\nVariables per loading at the fitted partition, scenario c (true: 10): median "
        + f"{np.median(counts):g}, share in 8 to 15 {share((counts >= 8) & (counts <= 15))}."
        + "\n\nPure noise, 200 x 200, share with K = 1: dense "
        + f"{share([d[0][0] == 1 for d in drawn])}, ten variables "
        + f"{share([d[0][1] == 1 for d in drawn])}; stability of three forced clusters "
        + f"{mean_and_error(forced)}.\n\n"
        + "Noise-free, K and dimensions left open, share right: "
        + ", ".join(f"{n} {share([exact[n, s] for s in sets])}" for n in "abc")
        + ".",
    )


if __name__ == "__main__":
    main()
