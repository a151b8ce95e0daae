"""The expression recipes on labelled data: beside K-means and Leiden, their seeds, their stability.

    python benchmarks/expression.py --data DIR [--seeds 3] [--other-seeds 2]

DIR, or SUBSPACES_DATA, holds gene_expression/*.npz and omics/*.npz, each with `X` (samples x genes,
as the source has it) and `y` (the class of each sample; only to measure with). K is the true number
of classes, except where it is chosen. Leiden needs scanpy and igraph, and is left out without them.
Writes benchmarks/results/expression.md; an interrupted run goes on where it stopped.
"""

import argparse
import os
import time
import warnings
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import numpy as np
from harness import markdown, mean_and_error, run_cells, save
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from subspaces import PSC, EnsembleKSubspaces
from subspaces.diagnostics import stability
from subspaces.metrics import adjusted_rand_score
from subspaces.recipes import ExpressionScaler, expression, single_cell
from subspaces.selection import select_n_clusters

# The files with which the recipe was first built; the others came later.
FILES = ["leukemia", "st_jude", "novartis", "lung_cancer", "cns_tumors", "novartis_1571",
         "novartis_5565", "cns_tumors_5597", "gcm_tumors", "tissues_dslabs"]  # fmt: skip
CELLS = ["sc_celseq2", "rnamix_celseq2", "pbmc10x", "pollen"]
# What the recipe is to reach: its mean distance from K-means, and the agreement of its seeds.
LEAST_DIFFERENCE, LEAST_AGREEMENT = -0.005, 0.95
# Below this adjusted Rand index clusters have next to nothing to do with the classes.
UNRELATED = 0.1
# Numbers of clusters among which one is chosen.
NUMBERS = range(2, 9)


def altered(**parameters):
    """The recipe with some parameters of its steps changed."""
    return lambda K, seed: expression(K, random_state=seed).set_params(**parameters)


def ended_with(build):
    """The recipe's preparation before another estimator."""
    return lambda K, seed: make_pipeline(ExpressionScaler(n_axes=K), build(K, seed))


def recipe_clusterer(K, seed):
    return expression(K, random_state=seed)[-1]


def before(function):
    """Something done to the raw values first."""
    return lambda K, seed: make_pipeline(
        FunctionTransformer(function), *expression(K, random_state=seed)
    )


def capped(X):
    return np.minimum(X, 16000.0)


def logged(X, floor=20.0):
    """Intensities with another floor; what is logged already stays."""
    return np.log2(np.maximum(X, floor)) if X.max() > 30 else X


def standard_rows(X):
    return StandardScaler().fit_transform(logged(X).T).T


def scaled_genes(K, seed):
    return make_pipeline(
        ExpressionScaler(), StandardScaler(), PCA(K, random_state=0), recipe_clusterer(K, seed)
    )


def gaussian(K, seed):
    prepared = make_pipeline(ExpressionScaler(n_axes=K), PCA(K, random_state=0))
    mixture = GaussianMixture(K, covariance_type="tied", n_init=10, random_state=seed)
    return make_pipeline(prepared, mixture)


RECIPE, KMEANS = "the recipe", "KMeans, same data"
MAIN = {
    RECIPE: altered(),
    KMEANS: ended_with(lambda K, seed: KMeans(K, n_init=20, random_state=seed)),
}
VARIANTS = {
    **MAIN,
    "no logarithm": altered(prepare__log="no"),
    "samples not centred": altered(prepare__centre_samples=False),
    "all axes": altered(prepare__n_axes=None),
    "all genes": altered(prepare__n_genes=None),
    "criterion likelihood": altered(cluster__criterion="likelihood"),
    "1000 genes": altered(prepare__n_genes=1000),
    "floor 10": before(partial(logged, floor=10.0)),
    "floor 50": before(partial(logged, floor=50.0)),
    "ceiling 16000": before(capped),
    "samples scaled too": before(standard_rows),
    "genes scaled too": scaled_genes,
    "K-means++ starts, 50": altered(cluster__init="k-means++", cluster__n_init=50),
    "refined by ppca": altered(cluster__refine="ppca"),
    "R = 1": lambda K, seed: expression(K, n_components=1, random_state=seed),
    "ensemble, R = 1": ended_with(
        lambda K, seed: EnsembleKSubspaces(K, affine=True, random_state=seed)
    ),
    "Gaussian mixture, tied": gaussian,
    "KMeans, all axes": lambda K, seed: make_pipeline(
        ExpressionScaler(), KMeans(K, n_init=20, random_state=seed)
    ),
    "PSC, default, R = 1": lambda K, seed: make_pipeline(
        ExpressionScaler(), PSC(K, random_state=seed)
    ),
}


def scanpy_cells(X):
    """The cells as scanpy's own steps prepare them: an AnnData with 50 principal components."""
    import scanpy
    from anndata import AnnData

    cells = AnnData(X.copy())
    if X.max() > 30:  # counts
        scanpy.pp.normalize_total(cells, target_sum=1e4)
        scanpy.pp.log1p(cells)
    scanpy.pp.highly_variable_genes(cells, n_top_genes=2000)
    scanpy.pp.pca(cells, n_comps=50)
    return cells


def leiden(X, K, seed):
    """Leiden's clusters at a resolution, found by bisection, that gives K of them, if one does."""
    import scanpy

    cells = scanpy_cells(X)
    scanpy.pp.neighbors(cells)
    low, high = 0.0, 8.0
    for _ in range(20):
        middle = (low + high) / 2
        scanpy.tl.leiden(cells, middle, flavor="igraph", n_iterations=2, random_state=seed)
        found = cells.obs["leiden"].cat.codes.to_numpy()
        if len(np.unique(found)) == K:
            break
        low, high = (middle, high) if len(np.unique(found)) < K else (low, middle)
    return found


def k_means_on_components(X, K, seed):
    components = scanpy_cells(X).obsm["X_pca"]
    return KMeans(K, n_init=20, random_state=seed).fit_predict(components)


def annotated(X, K, seed):
    """What `scverse.psc` finds by default in an AnnData with 50 principal components."""
    from subspaces import scverse

    cells = scanpy_cells(X)
    scverse.psc(cells, K, random_state=seed)
    return cells.obs["psc"].astype(int)


CELL_METHODS = {
    "single-cell recipe": lambda X, K, seed: single_cell(K, random_state=seed).fit_predict(X),
    "KMeans, same preparation": lambda X, K, seed: MAIN[KMEANS](K, seed).fit_predict(X),
    "scverse.psc on 50 PCs": annotated,
    "KMeans on 50 PCs": k_means_on_components,
    "Leiden at K": leiden,
}


def read(folder, name):
    (path,) = Path(folder).glob(f"*/{name}.npz")
    with np.load(path) as data:
        return data["X"].astype(float), data["y"]


def measured(folder, name, variant, seed):
    """Index, processor seconds, labels and whether a single sample was warned of, of one fit."""
    X, y = read(folder, name)
    K = len(np.unique(y))
    with threadpool_limits(1), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        begin = time.process_time()
        if variant in CELL_METHODS:
            found = CELL_METHODS[variant](X, K, seed)
        else:
            found = VARIANTS[variant](K, seed).fit_predict(X)
        seconds = time.process_time() - begin
    warned = any("one sample" in str(warning.message) for warning in said)
    return adjusted_rand_score(y, found), seconds, np.asarray(found).tolist(), warned


def trusted(folder, name):
    """Stability of the recipe at the true K, as `subspaces fit` says it: a number and a verdict."""
    X, y = read(folder, name)
    recipe = expression(len(np.unique(y)), random_state=0)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = recipe[0].fit(X).transform(X)
        found = stability(recipe[-1], prepared, random_state=0, budget_s=30.0)
    words = {"sure": "Stable", "doubtful": "Doubtful", "no": "Not stable"}
    return found.stability, words[found.grade]


def chosen(folder, name):
    """The number of clusters that is chosen, the sentence on it, and the index with it."""
    X, y = read(folder, name)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        found = select_n_clusters(expression(random_state=0), X, NUMBERS)
        seconds = time.process_time() - begin
    labels = found.best_estimator_[-1].labels_
    return found.best_, found.verdict, adjusted_rand_score(y, labels), seconds


def mean(results, names, variant, seeds, place=0):
    return np.mean([results[name, variant, seed][place] for name in names for seed in seeds])


def spread(results, name, variant, seeds):
    values = [results[name, variant, seed][0] for seed in seeds]
    return f"{np.mean(values):.3f} ({np.std(values):.3f})"


def agreement(results, name, variant, seeds):
    """Mean adjusted Rand index between the labels of two seeds."""
    labels = [results[name, variant, seed][2] for seed in seeds]
    return np.mean([adjusted_rand_score(*pair) for pair in combinations(labels, 2)])


def beside_k_means(results, names, seeds):
    """The table of all sets, and sentences on the difference, the seeds and single samples."""
    rows, ahead, seconds = [], [], []
    for name in names:
        own, other = (mean(results, [name], v, seeds) for v in MAIN)
        ahead.append(own - other)
        seconds.append(mean(results, [name], RECIPE, seeds, 1))
        rows.append(
            [
                name,
                *(spread(results, name, v, seeds) for v in MAIN),
                f"{own - other:+.3f}",
                f"{agreement(results, name, RECIPE, seeds):.2f}",
                f"{seconds[-1]:.2f}",
            ]
        )
    means = [mean(results, names, v, seeds) for v in MAIN]
    agreed = np.mean([agreement(results, name, RECIPE, seeds) for name in names])
    rows.append(["**mean**", *(f"**{m:.3f}**" for m in means), f"{np.mean(ahead):+.3f}",
                 f"{agreed:.3f}", f"{np.mean(seconds):.2f}"])  # fmt: skip
    old, later = ([name for name in names if (name in FILES) == is_old] for is_old in (True, False))
    for words, own in (("mean of the ten first files", old), ("mean of the others", later)):
        rows.append([words, *(f"{mean(results, own, v, seeds):.3f}" for v in MAIN), "", "", ""])
    alone = [
        name
        for name in names for seed in seeds
        if min(np.bincount(results[name, RECIPE, seed][2])) == 1
        and not results[name, RECIPE, seed][3]
    ]  # fmt: skip
    sentences = [
        f"The recipe minus K-means: {mean_and_error(ahead)} (standard error over the sets), "
        f"wanted at least {LEAST_DIFFERENCE}: {said(np.mean(ahead) >= LEAST_DIFFERENCE)}.",
        f"Two seeds of the recipe agree to {agreed:.3f} in the mean, wanted at least "
        f"{LEAST_AGREEMENT}: {said(agreed >= LEAST_AGREEMENT)}.",
        f"Clusters of one sample without a warning: {len(alone)}.",
    ]
    heads = ["set", *MAIN, "recipe - K-means", "seeds agree", "seconds"]
    return markdown(heads, rows) + "\n\n" + "\n\n".join(sentences)


def said(reached):
    return "reached" if reached else "**missed**"


def cells_beside(results, methods, seeds):
    rows = [
        [
            method,
            *(spread(results, name, method, seeds) for name in CELLS),
            f"{mean(results, CELLS, method, seeds):.3f}",
            f"{mean(results, ['pbmc10x'], method, seeds, 1):.1f}",
        ]
        for method in methods
    ]
    return markdown(["", *CELLS, "mean", "seconds, pbmc10x"], rows)


def stability_beside(results, trust, names, seeds):
    """How stability goes with the index: rank correlation, verdicts, and the exceptions."""
    index = {name: mean(results, [name], RECIPE, seeds) for name in names}
    rank = spearmanr([trust[name][0] for name in names], [index[name] for name in names])
    rows = []
    for verdict in ("Stable", "Doubtful", "Not stable"):
        own = [name for name in names if trust[name][1] == verdict]
        low = [name for name in own if index[name] < UNRELATED]
        average = f"{np.mean([index[name] for name in own]):.2f}" if own else ""
        rows.append([verdict, len(own), average, ", ".join(low) or "none"])
    heads = ["verdict", "sets", "mean index", f"sets with an index below {UNRELATED}"]
    each = [[name, f"{trust[name][0]:.2f}", trust[name][1], f"{index[name]:.3f}"] for name in names]
    return (
        f"Rank correlation of the stability with the index: {rank.statistic:.2f}.\n\n"
        + markdown(heads, rows)
        + "\n\n"
        + markdown(["set", "stability", "verdict", "index"], each)
    )


def numbers_chosen(choices, truth, names):
    rows = [
        [name, truth[name], choices[name][0], f"{choices[name][2]:.3f}", choices[name][1]]
        for name in names
    ]
    within = [name for name in names if truth[name] in NUMBERS]
    right = sum(choices[name][0] == truth[name] for name in within)
    seconds = np.mean([choices[name][3] for name in names])
    return (
        f"Of 2 to 8 clusters. Right on {right} of the {len(within)} sets with 2 to 8 classes; "
        f"{seconds:.1f} processor seconds in the mean.\n\n"
        + markdown(["set", "classes", "chosen", "index", "verdict"], rows)
    )


def parts(results, seeds):
    rows = [
        [
            variant,
            *[f"{mean(results, [name], variant, seeds):.2f}" for name in FILES],
            f"{mean(results, FILES, variant, seeds):.3f}",
            f"{mean(results, FILES, variant, seeds, 1):.2f}",
        ]
        for variant in VARIANTS
    ]
    return markdown(["", *FILES, "mean", "seconds"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    parser.add_argument("--seeds", type=int, default=3, help="of the recipes and their rivals")
    parser.add_argument("--other-seeds", type=int, default=2, help="of the recipe's parts")
    given = parser.parse_args()
    if not given.data:
        parser.error("--data DIR, or SUBSPACES_DATA, is needed")
    paths = [*Path(given.data).glob("gene_expression/*.npz"), *Path(given.data).glob("omics/*.npz")]
    names = [*FILES, *sorted(path.stem for path in paths if path.stem not in FILES)]
    truth = {name: len(np.unique(read(given.data, name)[1])) for name in names}
    seeds, few = range(given.seeds), range(given.other_seeds)
    has_leiden = all(find_spec(name) for name in ("scanpy", "igraph"))
    methods = [method for method in CELL_METHODS if has_leiden or method != "Leiden at K"]
    run, alone = partial(run_cells, n_jobs=1), [(name,) for name in names]
    trust = run(partial(trusted, given.data), alone, keep="expression_stability")
    choices = run(partial(chosen, given.data), alone, keep="expression_numbers")
    trust, choices = ({name: found[name,] for name in names} for found in (trust, choices))
    cells = [(name, variant, seed) for variant in MAIN for name in names for seed in seeds]
    cells += [(name, method, seed) for method in methods for name in CELLS for seed in seeds]
    cells += [(n, v, seed) for v in VARIANTS if v not in MAIN for n in FILES for seed in few]
    results = run(partial(measured, given.data), cells, keep="expression")
    sections = {
        f"# The expression recipes, {given.seeds} seeds": (
            "`python benchmarks/expression.py --data DIR`. Adjusted Rand index, mean (sd over the "
            "seeds); processor seconds a fit. Every table goes in as its source has it; the true "
            "number of clusters is given unless it is chosen.\n\n"
            + beside_k_means(results, names, seeds)
        ),
        "## Single cells": cells_beside(results, methods, seeds),
        "## Does stability tell?": stability_beside(results, trust, names, seeds),
        "## The number of clusters": numbers_chosen(choices, truth, names),
        f"## One part changed at a time, and other methods, {given.other_seeds} seeds": parts(
            results, few
        ),
    }
    save("expression", "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()))


if __name__ == "__main__":
    main()
