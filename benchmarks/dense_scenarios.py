"""Rand index of dense PSC and of K-subspaces on the paper's scenarios, without and with noise.

    python benchmarks/dense_scenarios.py [--sets 100]

Writes benchmarks/results/dense_scenarios.md.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, mean_and_error, run_cells, save

from subspaces import PSC, KSubspaces
from subspaces.datasets import make_scenario
from subspaces.metrics import rand_score

COLUMNS = (
    *[(name, 0.0, None) for name in "abcde"],
    *[(name, noise, 50) for noise in (0.05, 0.1) for name in "abcd"],
    ("b", 0.05, 3),
    ("e", 0.05, None),
)
METHODS = {
    "PSC influence": lambda truth, **options: PSC(criterion="influence", **options),
    "PSC influence, from the truth": lambda truth, **options: PSC(
        criterion="influence", init=truth, **options
    ),
    "K-subspaces, same starts": lambda truth, **options: KSubspaces(**options),
    "PSC, default settings": lambda truth, **options: PSC(**options),
    "PSC default, from the truth": lambda truth, **options: PSC(init=truth, **options),
}


def rand_indices(name, noise, n_features, seed):
    """One data set, every method; also the share of labels that predict gives otherwise."""
    scenario = make_scenario(name, noise=noise, n_features=n_features, random_state=seed)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, build in METHODS.items():
            model = build(
                scenario.target,
                n_clusters=len(scenario.n_components),
                n_components=scenario.n_components,
                random_state=seed,
            ).fit(scenario.data)
            moved = np.mean(model.predict(scenario.data) != model.labels_)
            found[method] = (rand_score(scenario.target, model.labels_), moved)
    return found


def title(name, noise, n_features):
    return f"{name}, sd {noise:g}, P {n_features or (200 if name == 'e' else 3)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    sets = parser.parse_args().sets
    cells = [(*column, seed) for column in COLUMNS for seed in range(sets)]
    results = run_cells(rand_indices, cells)
    rows, moved_rows = [], []
    for column in COLUMNS:
        runs = [results[(*column, seed)] for seed in range(sets)]
        row = [mean_and_error([run[method][0] for run in runs]) for method in METHODS]
        moved = [f"{100 * np.mean([run[method][1] for run in runs]):.2f}" for method in METHODS]
        rows.append([title(*column), *row])
        moved_rows.append([title(*column), *moved])
    save(
        "dense_scenarios",
        f"# Rand index on the dense scenarios, {sets} data sets a row\n\n"
        f"`python benchmarks/dense_scenarios.py --sets {sets}`. Mean and its standard error; "
        "scenario, standard\ndeviation of the noise, number of variables; seed of data and method "
        "0, 1, 2, ...\n\n"
        + markdown(["scenario", *METHODS], rows)
        + "\n\nShare of the training labels (%) that `predict` gives otherwise:\n\n"
        + markdown(["scenario", *METHODS], moved_rows),
    )


if __name__ == "__main__":
    main()
