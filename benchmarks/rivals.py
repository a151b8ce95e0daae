"""Every method on the paper's scenarios, noise-free and sparse.

    python benchmarks/rivals.py [--sets 50]

Writes benchmarks/results/rivals.md. An interrupted run goes on where it stopped.
The paper's numbers are in docs/develop/reproduction.md.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, mean_and_error, run_cells, save

from subspaces import PSC, SSC, SparseKMeans, compare
from subspaces.comparison import METHODS, Setting
from subspaces.datasets import make_scenario


def methods_for(scenario, sparse, seed):
    """All methods of `compare`; where loadings are sparse, those that use it are told so."""
    dimensions = [int(r) for r in scenario.n_components]
    setting = Setting(len(dimensions), dimensions, False, seed, scenario.data.shape[1])
    chosen = {name: build(setting) for name, build in METHODS.items()}
    chosen["SSC omp"] = SSC(solver="omp", **setting.own)
    if sparse:
        chosen["PSC, 10 variables"] = PSC(n_variables=10, **setting.own)
        chosen["PSC, 10 variables, refined"] = PSC(n_variables=10, refine="ppca", **setting.own)
        chosen["SparseKMeans, 10 variables"] = SparseKMeans(n_variables=10, **setting.bare)
    return chosen


def one_set(name, kind, seed):
    """Rand, adjusted Rand and seconds of every method on one data set."""
    warnings.simplefilter("ignore")
    sparse = kind == "sparse"
    scenario = make_scenario(name, sparse=sparse, random_state=seed)
    methods = methods_for(scenario, sparse, seed)
    columns = compare(scenario.data, 2, methods=methods, labels=scenario.target).columns
    return {key: columns[key] for key in ("method", "rand", "ari", "seconds", "error")}


def rows_of(results, kind, sets, measure):
    """One row per method."""
    rows = []
    for place, method in enumerate(results["a", kind, 0]["method"]):
        cells = []
        for name in "abcde":
            values = [results[name, kind, seed][measure][place] for seed in range(sets)]
            values = [value for value in values if value == value]
            cells.append(mean_and_error(values) if len(values) > 1 else "failed")
        rows.append([method, *cells])
    return rows


def seconds_of(results, kind, sets):
    rows = []
    for place, method in enumerate(results["a", kind, 0]["method"]):
        cells = [
            np.mean([results[name, kind, seed]["seconds"][place] for seed in range(sets)])
            for name in "abcde"
        ]
        rows.append([method, *[f"{value:.2f}" for value in cells]])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50)
    sets = parser.parse_args().sets
    cells = [(n, kind, s) for kind in ("dense", "sparse") for n in "abcde" for s in range(sets)]
    results = run_cells(one_set, cells, keep="rivals")
    header = ["", *"abcde"]
    parts = []
    for kind, title in (
        ("dense", "Noise-free"),
        ("sparse", "Sparse loadings, noise sd 0.5, P 200"),
    ):
        for measure, named in (("rand", "Rand index"), ("ari", "adjusted Rand index")):
            table = markdown(header, rows_of(results, kind, sets, measure))
            parts.append(f"## {title}: {named}\n\n{table}")
        parts.append(f"## {title}: seconds\n\n{markdown(header, seconds_of(results, kind, sets))}")
    save(
        "rivals",
        f"# Every method on the paper's scenarios, {sets} data sets a cell\n\n"
        "`python benchmarks/rivals.py`. Mean and its standard error. All methods know K and the\n"
        "dimensions. SCC, SLBF and RSIM, which have one for all clusters, get the largest; MCFA\n"
        "and MCtFA as many factors as all clusters together have dimensions (the paper does not\n"
        "say). All but the K-means methods and the mixtures look for subspaces through the\n"
        "origin. Seconds are by the clock, several data sets side by side.\n\n"
        + "\n\n".join(parts),
    )


if __name__ == "__main__":
    main()
