"""Tables of Rand and adjusted Rand index on the gene-expression data sets, 32 rows.

    python -m reproduction.expression --sets 10        # needs SUBSPACES_DATA

There is one data set a column, so a seed is one of the starts: one in ten of those asked for. "As
printed": the intensities as they are, flats through the origin; the paper does not say how it
prepared them. "Defaults": `recipes.expression` for PSC; for the others the library's settings on
data prepared by `ExpressionScaler`.
"""

import numpy as np
from sklearn.cluster import KMeans

from reproduction.harness import Cell, Study, data_folder, main
from reproduction.printed import agreement, judged, judged_as_printed
from subspaces import GPCA, SCC, KSubspaces, MCtFA, SparseKMeans
from subspaces.datasets import read_expression
from subspaces.recipes import ExpressionScaler, expression

# The file nearest to the paper's, and how it differs from what the paper used.
FILES = {
    "leukemia": ("leukemia", ""),
    "cns_tumors": ("cns_tumors", "42 samples of 1379 genes; the paper has 48 of 1000"),
    "normal_tissues": ("normal_tissues", "not to be had"),
    "st_jude": ("st_jude", ""),
    "lung_cancer": ("lung_cancer", "1543 genes by another filter; the paper has 1000"),
    "novartis": ("novartis", "500 genes, presumably half of the paper's 1000"),
}
COUNTS = (10, 50, 100, 500, None)
RESTARTS = 50
RECIPE = "recipe, R = 0"
VARIANTS = ("as printed", "defaults")
MEASURES = ("rand", "ari", "objective", "at_truth")


def _named(count):
    return f"{'P' if count is None else count} variables"


PSC_ROWS = {f"PSC, R = {r}, {_named(m)}": (r, m) for r in (1, 2, 3) for m in COUNTS}
SKM_ROWS = {f"Sparse K-means, {_named(m)}": m for m in COUNTS}
FLAT_ROWS = {
    f"{name}, R = {r}": (name, r)
    for name in ("K-subspaces", "SCC", "MCtFA", "GPCA")
    for r in (1, 2, 3)
}
ROWS = (*PSC_ROWS, *SKM_ROWS, *FLAT_ROWS)


def file_of(column):
    """The column's file, an .npz with X and y or a .gct beside its .cls; None where neither is."""
    folder = data_folder()
    paths = [folder / f"{FILES[column][0]}.{kind}" for kind in ("npz", "gct")] if folder else []
    return next((path for path in paths if path.exists()), None)


def sets_at_hand():
    return [column for column in FILES if file_of(column) is not None]


def load(column):
    """Samples by genes, and the number of each sample's class."""
    path = file_of(column)
    if path.suffix == ".gct":
        table = read_expression(path, classes=path.with_suffix(".cls"))
        return table.data, table.target
    with np.load(path) as data:
        return data["X"].astype(float), np.unique(data["y"], return_inverse=True)[1]


def cells(seeds):
    variants = [(row, variant) for row in ROWS for variant in VARIANTS]
    variants += [(row, "from the truth") for row in PSC_ROWS]
    return [
        Cell(row, variant, column, seed)
        for seed in seeds
        if seed % 10 == 0
        for column in sets_at_hand()
        for row, variant in (*variants, ("", RECIPE))
    ]


def measure(cell):
    X, truth = load(cell.column)
    n_clusters = int(truth.max()) + 1
    if cell.row not in PSC_ROWS and cell.variant != RECIPE:
        printed = cell.variant == "as printed"
        rows = X if printed else ExpressionScaler().fit_transform(X)
        return agreement(truth, rival(cell, n_clusters, printed).fit_predict(rows))
    dimension, count = PSC_ROWS.get(cell.row, (None, None))
    if count is not None and count >= X.shape[1]:
        count = None
    if cell.variant == "as printed":
        return judged_as_printed(X, truth, [dimension] * n_clusters, count, cell.seed)
    recipe = expression(
        n_clusters, n_components=dimension, n_variables=count, random_state=cell.seed
    )
    if cell.variant == "from the truth":
        recipe.set_params(cluster__init=truth)
    recipe.fit(X)
    return judged(recipe[-1], recipe[:-1].transform(X), truth)


def rival(cell, n_clusters, printed):
    """Fifty restarts as in the paper; SCC, of which it takes the mean, one run a seed."""
    options = {"n_clusters": n_clusters, "random_state": cell.seed}
    restarts = {"n_init": RESTARTS} if printed else {}
    if cell.row in SKM_ROWS:
        count = SKM_ROWS[cell.row]
        if count is None:
            return KMeans(n_init=restarts.get("n_init", 10), **options)
        return SparseKMeans(n_variables=count, **restarts, **options)
    name, options["n_components"] = FLAT_ROWS[cell.row]
    if name == "K-subspaces":
        return KSubspaces(**({"init": "random", **restarts} if printed else {}), **options)
    if name == "SCC":
        return SCC(**options)
    if name == "GPCA":
        return GPCA(polish=not printed, **options)
    return MCtFA(**restarts, **options)


STUDY = Study("expression", MEASURES, cells, measure)

if __name__ == "__main__":
    main(STUDY)
