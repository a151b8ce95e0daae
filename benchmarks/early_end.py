"""When may a search end? Starts made, and what is missed, if few starts agree.

    python benchmarks/early_end.py [--data DIR]     # DIR, or SUBSPACES_DATA: see benchmarks/real.py

Writes benchmarks/results/early_end.md. Without real data the simulated sets alone, printed only. A
run that was interrupted goes on where it stopped.
"""

import argparse
import os
from dataclasses import replace
from functools import partial

import numpy as np
from harness import markdown, run_cells, save
from real import load
from small_clusters import FAMILIES
from threadpoolctl import threadpool_limits

from subspaces.core.problem import Problem
from subspaces.core.rows import choose_rows
from subspaces.core.search import Plan, search
from subspaces.core.which_run import best_run
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import matched_accuracy
from subspaces.psc.best_partition import DEFAULT_STARTS
from subspaces.starts.registry import portfolio

RULES = (None, 2, 3, 4)
SIMULATED = {"small clusters": 40, "scenarios": 40, "unions": 60}
REAL = {"motion": 78, "faces2": 10, "faces5": 10, "faces10": 5}


def drawn(folder, name, index):
    """Rows, classes, and the dimension of all clusters."""
    if name in REAL:
        return load(folder, name, index)
    random = np.random.default_rng(index)
    if name == "scenarios":
        union = make_scenario("bc"[index % 2], noise=0.05, n_features=50, random_state=index)
        return union.data, union.target, int(union.n_components[0])
    if name == "small clusters":
        sizes, dimension, n_features, noise = list(FAMILIES.values())[index % len(FAMILIES)]
    else:
        n_clusters, dimension = int(random.integers(2, 11)), int(random.integers(1, 6))
        n_samples = int(random.choice([100, 200, 400]))
        n_features = int(random.choice([20, 50, 200]))
        shares = random.dirichlet(np.full(n_clusters, 5.0))
        sizes = np.maximum((shares * n_samples).astype(int), 2 * dimension + 4).tolist()
        noise = float(random.choice([0.03, 0.1, 0.3, 1.0]))
    union = make_subspaces(
        sizes, n_features, [dimension] * len(sizes), noise=np.sqrt(noise * dimension / n_features),
        scores="normal", random_state=index,
    )  # fmt: skip
    return union.data, union.target, dimension


def outcomes(folder, name, index):
    """For each rule: the error in %, the starts made, and whether the partition is that of all."""
    rows, truth, dimension = drawn(folder, name, index)
    n_clusters = len(np.unique(truth))
    found = []
    with threadpool_limits(1):
        dimensions = (dimension,) * n_clusters
        problem = Problem(choose_rows(rows, n_clusters), dimensions, "distance", False)
        starts = portfolio(problem, DEFAULT_STARTS)
        plan = Plan("t_likelihood", problem.alike, 50)
        seeds = np.random.default_rng(index).integers(2**31, size=DEFAULT_STARTS).tolist()
        for rule in RULES:
            runs = search(problem, starts, seeds, replace(plan, enough=rule))
            found.append((best_run(runs).clustering.labels, len(runs)))
    return [
        (100 * (1 - matched_accuracy(truth, labels)), n_starts,
         bool(matched_accuracy(found[0][0], labels) == 1.0))
        for labels, n_starts in found
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    folder = parser.parse_args().data
    sets = SIMULATED | (REAL if folder else {})
    cells = [(name, index) for name, count in sets.items() for index in range(count)]
    results = run_cells(partial(outcomes, folder), cells, keep="early_end")
    rows = []
    for name, count in sets.items():
        table = np.array([results[name, index] for index in range(count)])  # (sets, rules, 3)
        rows.append([name, count])
        for place, rule in enumerate(RULES):
            error, starts, same = table[:, place].mean(axis=0)
            text = f"{error:.2f} / {starts:.1f}"
            rows[-1].append(text if rule is None else f"{text} / {round(count * (1 - same))}")
    heads = ["all" if rule is None else f"{rule} agree" for rule in RULES]
    table = markdown(["data", "sets", *heads], rows)
    if not folder:
        print(table)
        return
    save(
        "early_end",
        "# When a search may end\n\n`python benchmarks/early_end.py`: no more starts are made once "
        "so many, of two kinds at least, have ended in the best partition so far. Each cell: mean "
        "error in %, starts made, and in how many sets the partition is not that of all "
        "starts. The default is three. Scenarios: b and c of the paper in 50 variables, noise .05; "
        "b has a line and a plane, and is fitted with dimension 1 for both.\n\n" + table,
    )


if __name__ == "__main__":
    main()
