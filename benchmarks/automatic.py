"""The first answer: `PSC` left to itself on labelled tables, beside other automatic methods.

    python benchmarks/automatic.py --data DIRECTORY [--seeds 20]

Writes benchmarks/results/automatic.md. DIRECTORY holds tables.npz: ``names``, and for each name
``X__name`` and ``y__name``. Columns with units are scaled to standard deviation 1, and all methods
get the same table. The second part counts how often one cluster is found in eight kinds of noise,
and the right number in unions of subspaces. The third part removes values of the penguins at
random. Seconds are those of one core.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from harness import markdown, mean_and_error, run_cells, save
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture

from subspaces import PSC
from subspaces.datasets import load_penguins, make_subspaces

P, MOST = 20, 10
# Shares of the penguins' values that are removed.
GAPS = (0.02, 0.05, 0.1, 0.2)
# Tables whose variables have one unit.
ONE_UNIT = ("expr_", "motion_", "faces_", "digits_")
NOISE = {
    "Gauss": "independent normal cells",
    "t3": "independent cells, Student with 3 degrees of freedom, scaled",
    "lognormal": "independent lognormal cells, scaled",
    "scales": "normal columns with standard deviations from .01 to 100, scaled",
    "AR .9": "each column .9 times the one before, plus normal noise, scaled",
    "plane": "one plane with noise .2",
    "rows t3": "rows of a spherical t with 3 degrees of freedom",
    "correlated lognormal": "the exponential of AR .9, scaled",
}
UNIONS = {
    "2 linear planes": ([75] * 2, [2, 2], 0.0),
    "3 linear planes": ([50] * 3, [2, 2, 2], 0.0),
    "linear, 1, 2 and 3": ([50] * 3, [1, 2, 3], 0.0),
    "2 affine planes": ([75] * 2, [2, 2], 1.0),
    "3 affine planes": ([50] * 3, [2, 2, 2], 1.0),
    "affine, 1, 2 and 3": ([50] * 3, [1, 2, 3], 1.0),
    "3 means": ([50] * 3, [0, 0, 0], 1.0),
    "5 means": ([30] * 5, [0, 0, 0, 0, 0], 1.0),
}
SHORT = {"psc": "PSC", "mixture": "mixture, BIC", "silhouette": "K-means, silhouette"}
SHORT |= {"gap": "K-means, gap", "hdbscan": "HDBSCAN"}


def scaled(X):
    """Columns of mean 0 and standard deviation 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def table(path, name):
    """The rows of a table and its classes, numbered."""
    with np.load(path, allow_pickle=True) as stored:
        X, classes = stored[f"X__{name}"].astype(float), stored[f"y__{name}"]
    X = X[:, X.std(axis=0) > 0]
    X = X if name.startswith(ONE_UNIT) else scaled(X)
    return X, np.unique(classes, return_inverse=True)[1]


def noise(family, n, seed):
    """Rows without clusters."""
    random = np.random.default_rng([seed, n, 51])
    normal, student = random.normal(size=(n, P)), random.standard_t(3, size=(n, P))
    axes = np.linalg.qr(random.normal(size=(P, 2)))[0]
    correlated = normal.copy()
    for j in range(1, P):
        correlated[:, j] = 0.9 * correlated[:, j - 1] + np.sqrt(1 - 0.9**2) * normal[:, j]
    rows = {
        "Gauss": lambda: normal,
        "t3": lambda: scaled(student),
        "lognormal": lambda: scaled(np.exp(normal)),
        "scales": lambda: scaled(normal * 10 ** random.uniform(-2, 2, P)),
        "AR .9": lambda: scaled(correlated),
        "plane": lambda: random.normal(size=(n, 2)) @ axes.T + 0.2 * normal,
        "rows t3": lambda: normal / np.sqrt(random.chisquare(3, size=(n, 1)) / 3),
        "correlated lognormal": lambda: scaled(np.exp(correlated)),
    }
    return rows[family]()


def union(kind, seed):
    """Rows and labels of a union of subspaces."""
    sizes, dimensions, offset = UNIONS[kind]
    found = make_subspaces(sizes, P, dimensions, noise=0.2, offset=offset, random_state=seed)
    return found.data, found.target


def automatic(X, n_clusters="auto"):
    """The fitted `PSC` that is told nothing else."""
    return PSC(n_clusters, n_components="auto", affine="auto", random_state=0).fit(X)


def mixture(X):
    """Labels of the Gaussian mixture of least BIC, over four kinds of covariance."""
    floor = 1e-4 * X.var(axis=0).mean()
    fits = [
        GaussianMixture(k, covariance_type=kind, n_init=2, reg_covar=floor, random_state=0).fit(X)
        for kind in ("full", "tied", "diag", "spherical")
        for k in range(1, min(MOST, len(X) // 4) + 1)
    ]
    return min(fits, key=lambda fit: fit.bic(X)).predict(X)


def k_means(X, k):
    """A fitted K-means."""
    return KMeans(k, n_init=5, random_state=0).fit(X)


def silhouette(X):
    """Labels of K-means with the largest silhouette."""
    labels = [k_means(X, k).labels_ for k in range(2, min(MOST, len(X) // 4) + 1)]
    return max(labels, key=lambda found: silhouette_score(X, found))


def gap(X, references=8):
    """Labels of K-means by the gap statistic, against uniform tables along the principal axes."""
    random = np.random.default_rng(0)
    centred = X - X.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    low, high = turned.min(axis=0), turned.max(axis=0)
    uniform = [random.uniform(low, high, turned.shape) for _ in range(references)]
    numbers = range(1, min(MOST, len(X) // 4) + 1)
    drawn = np.array([[np.log(k_means(U, k).inertia_) for U in uniform] for k in numbers])
    gaps = drawn.mean(axis=1) - np.log([k_means(X, k).inertia_ for k in numbers])
    errors = drawn.std(axis=1) * np.sqrt(1 + 1 / references)
    first = next((i for i in range(len(gaps) - 1) if gaps[i] >= gaps[i + 1] - errors[i + 1]), -1)
    return k_means(X, numbers[first]).labels_


def hdbscan(X):
    """Labels of HDBSCAN; samples in no cluster are a cluster of their own."""
    return HDBSCAN(min_cluster_size=5, copy=True).fit_predict(X) + 1


def of_table(path, name):
    """Adjusted Rand index and error of K by method, best of the answers, seconds and grade."""
    warnings.simplefilter("ignore")
    X, classes = table(path, name)
    begun = time.process_time()
    model = automatic(X)
    seconds = time.process_time() - begun
    shown = [automatic(X, answer["n_clusters"]) for answer in model.selection_["answers"]]
    found = {"psc": model.labels_} | {f.__name__: f(X) for f in (mixture, silhouette, gap, hdbscan)}
    k = len(np.unique(classes))
    scores = {each: adjusted_rand_score(classes, found[each]) for each in found}
    numbers = {each: len(np.unique(found[each])) for each in found}
    best = max(adjusted_rand_score(classes, each.labels_) for each in shown)
    return {
        "shape": X.shape,
        "classes": k,
        "index": scores,
        "number": numbers,
        "shown": best,
        "seconds": seconds,
        "grade": model.selection_["grade"],
    }


def of_noise(family, n, seed):
    """The number of clusters found in noise."""
    warnings.simplefilter("ignore")
    return int(automatic(noise(family, n, seed)).n_clusters_)


def of_union(kind, seed):
    """Whether the number of clusters is right, and the adjusted Rand index."""
    warnings.simplefilter("ignore")
    X, labels = union(kind, seed)
    model = automatic(X)
    right = model.n_clusters_ == len(UNIONS[kind][0])
    return bool(right), float(adjusted_rand_score(labels, model.labels_))


def of_gaps(share, seed):
    """The number of clusters of the penguins, with a share of values removed, and the index."""
    warnings.simplefilter("ignore")
    birds = load_penguins()
    X = (birds.frame / birds.frame.std()).to_numpy(copy=True)
    X[np.random.default_rng([seed, 51]).random(X.shape) < share] = np.nan
    kept = ~np.isnan(X).all(axis=1)
    model = automatic(X[kept])
    return int(model.n_clusters_), float(adjusted_rand_score(birds.target[kept], model.labels_))


def table_page(results):
    """Rows of the tables, and the means."""
    methods = list(SHORT)
    rows = []
    for name, found in results.items():
        each = [f"{found['index'][m]:.2f}, {found['number'][m]}" for m in methods]
        n, p = found["shape"]
        sized = [name, f"{n} x {p}", found["classes"]]
        rows.append([*sized, *each, f"{found['shown']:.2f}", f"{found['seconds']:.1f}"])
    head = ["table", "shape", "classes", *SHORT.values(), "best answer shown", "seconds"]
    every = results.values()
    index = {m: [found["index"][m] for found in every] for m in methods}
    missed = {m: [abs(found["number"][m] - found["classes"]) for found in every] for m in methods}
    means = [[SHORT[m], mean_and_error(index[m]), mean_and_error(missed[m], 2)] for m in methods]
    best = max(methods[1:], key=lambda m: np.mean(index[m]))
    ahead = np.subtract(index["psc"], index[best])
    further = np.subtract([found["shown"] for found in every], index["psc"])
    seconds = [found["seconds"] for found in every]
    return "\n\n".join(
        [
            markdown(["method", "adjusted Rand index", "error of K"], means),
            f"PSC less {SHORT[best]}: {mean_and_error(ahead)}. The best of the answers shown less "
            f"the first: {mean_and_error(further)}. Seconds: median {np.median(seconds):.1f}, most "
            f"{max(seconds):.1f}.",
            "Adjusted Rand index and number of clusters:",
            markdown(head, rows),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"), required=False)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    if not given.data:
        parser.error("give --data DIRECTORY, or set SUBSPACES_DATA")
    path = str(Path(given.data) / "tables" / "tables.npz")
    with np.load(path, allow_pickle=True) as stored:
        names = stored["names"].tolist()
    tables = run_cells(of_table, [(path, name) for name in names], given.jobs)
    cells = [(f, n, s) for f in NOISE for n in (60, 150) for s in range(given.seeds)]
    alone = run_cells(of_noise, cells, given.jobs)
    joined = run_cells(of_union, [(u, s) for u in UNIONS for s in range(given.seeds)], given.jobs)
    gaps = run_cells(of_gaps, [(g, s) for g in GAPS for s in range(given.seeds)], given.jobs)
    removed = []
    for g in GAPS:
        numbers, index = zip(*(gaps[g, s] for s in range(given.seeds)), strict=True)
        right = f"{np.mean(np.equal(numbers, 3)):.2f}"
        removed.append([f"{g:.0%}", right, mean_and_error(index, 2), f"{min(index):.2f}"])
    shares = [
        [
            f,
            *(
                f"{np.mean([alone[f, n, s] == 1 for s in range(given.seeds)]):.2f}"
                for n in (60, 150)
            ),
        ]
        for f in NOISE
    ]
    kept = [
        [u, *(mean_and_error([joined[u, s][i] for s in range(given.seeds)], 2) for i in (0, 1))]
        for u in UNIONS
    ]
    whole = np.mean([k == 1 for k in alone.values()])
    save(
        "automatic",
        "\n\n".join(
            [
                "# The first answer\n\n`python benchmarks/automatic.py --data DIRECTORY`",
                "## Labelled tables\n\nTables on which the rule was tuned.",
                table_page({name: tables[path, name] for name in names}),
                f"## Noise\n\nShare of {given.seeds} sets of {P} variables in which one cluster is "
                f"found: {whole:.2f} over all.",
                markdown(["noise", "60 samples", "150 samples"], shares),
                "## Unions of subspaces",
                f"{given.seeds} sets of 150 samples of {P} variables, with noise .2.",
                markdown(["union", "share with the right number", "adjusted Rand index"], kept),
                f"## Missing values\n\nThe penguins, {given.seeds} times with values removed at "
                "random.",
                markdown(
                    ["removed", "share with 3 clusters", "adjusted Rand index", "least"], removed
                ),
            ]
        ),
    )


if __name__ == "__main__":
    main()
