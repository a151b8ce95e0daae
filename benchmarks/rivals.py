"""Every method on the paper's scenarios, noise-free and sparse, beside the paper's numbers.

    python benchmarks/rivals.py [--sets 50]

Writes benchmarks/results/rivals.md. An interrupted run goes on where it stopped.
"""

import argparse
import warnings

import numpy as np
from harness import markdown, mean_and_error, run_cells, save

from subspaces import PSC, SSC, SparseKMeans, compare
from subspaces.comparison import METHODS, Setting
from subspaces.datasets import make_scenario

# The paper's Rand and adjusted Rand index, scenarios a to e.
PAPER = {
    "dense": {
        "PSC": ((0.980, 0.999, 1.000, 0.942, 0.943), (0.960, 0.999, 1.000, 0.877, 0.943)),
        "GPCA": ((0.846, 0.786, 0.921, 0.791, 0.837), (0.693, 0.572, 0.843, 0.545, 0.576)),
        "KMeans": ((0.503, 0.525, 0.595, 0.635, 0.702), (0.007, 0.055, 0.190, 0.198, 0.213)),
        "KSubspaces": ((0.702, 0.804, 0.829, 0.766, 0.877), (0.401, 0.609, 0.659, 0.484, 0.687)),
        "SCC": ((0.999, 1.000, 1.000, 0.754, 0.893), (0.998, 1.000, 1.000, 0.454, 0.719)),
        "MCtFA": ((0.812, 0.984, 0.883, 0.942, 0.974), (0.625, 0.966, 0.767, 0.879, 0.936)),
    },
    "sparse": {
        "PSC": ((0.643, 0.708, 0.533, 0.680, 0.712), (0.287, 0.415, 0.034, 0.339, 0.196)),
        "PSC, 10 variables": (
            (0.776, 0.887, 0.941, 0.781, 0.812),
            (0.551, 0.774, 0.883, 0.509, 0.509),
        ),
        "GPCA": ((0.500, 0.500, 0.524, 0.634, 0.711), (0.096, 0.099, 0.132, 0.174, 0.232)),
        "KSubspaces": ((0.499, 0.499, 0.498, 0.560, 0.632), (0.002, 0.003, 0.004, 0.006, 0.015)),
        "SCC": ((0.607, 0.729, 0.832, 0.612, 0.733), (0.213, 0.457, 0.663, 0.134, 0.290)),
        "MCtFA": ((0.596, 0.650, 0.673, 0.574, 0.663), (0.194, 0.303, 0.347, 0.159, 0.284)),
        "SparseKMeans, 10 variables": (
            (0.575, 0.667, 0.787, 0.590, 0.637),
            (0.151, 0.335, 0.575, 0.080, 0.076),
        ),
    },
}


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
    """One row per method, the paper's below where it has one."""
    rows = []
    for place, method in enumerate(results["a", kind, 0]["method"]):
        cells = []
        for name in "abcde":
            values = [results[name, kind, seed][measure][place] for seed in range(sets)]
            values = [value for value in values if value == value]
            cells.append(mean_and_error(values) if len(values) > 1 else "failed")
        rows.append([method, *cells])
        if method in PAPER[kind]:
            paper = PAPER[kind][method][measure == "ari"]
            rows.append([f"- paper, {method}", *[f"{value:.3f}" for value in paper]])
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
        "dimensions. SCC and SLBF, which have one for all clusters, get the largest; MCFA and\n"
        "MCtFA as many factors as all clusters together have dimensions (the paper does not say).\n"
        "All but the K-means methods and the mixtures look for subspaces through the origin.\n"
        "Seconds are by the clock, two data sets side by side.\n\n" + "\n\n".join(parts),
    )


if __name__ == "__main__":
    main()
