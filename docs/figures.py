"""Draw the figures of the user guide into docs/images: `python docs/figures.py [NAME ...]`."""

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine

from subspaces import PCA, PSC, compare, plots, recipes
from subspaces.datasets import load_penguins, make_scenario, make_subspaces

IMAGES = Path(__file__).with_name("images")


def penguins():
    birds = load_penguins().frame.dropna()
    scaled = birds / birds.std()
    return PSC("auto", n_components="auto", affine="auto", random_state=0).fit(scaled)


def candidates():
    figure = plots.candidates(penguins()).figure
    figure.set_size_inches(5, 3.5)
    return figure


def probabilities():
    return plots.probabilities(penguins(), n_named=3).figure


def comparison():
    planes = make_scenario("c", noise=0.02, n_features=10, random_state=0)
    methods = ["PSC", "KSubspaces", "SCC", "KMeans"]
    return compare(planes.data, 2, 2, methods=methods, labels=planes.target).plot().figure


def wine(n_components):
    data = load_wine(as_frame=True).data
    return PCA(n_components, scale=True).fit(data)


def components():
    return plots.components(wine("auto").choice_)[0].figure


def loadings():
    return plots.loadings(wine(3), 0).figure


def control_chart():
    return wine(3).outliers().plot()[0].figure


def influence():
    rows = make_subspaces([50, 70], 30, [2, 2], noise=0.1, random_state=0).data
    rows[7] *= 4
    model = PSC(2, n_components=2, random_state=0).fit(rows)
    return plots.influence(model, n_named=3).figure


def imputed():
    union = make_subspaces([100, 100, 100], 20, [2, 2, 2], noise=0.1, random_state=0)
    missing = np.random.default_rng(0).random(union.data.shape) < 0.2
    rows = np.where(missing, np.nan, union.data)
    filled = PSC(3, n_components=2, random_state=0).fit(rows).impute(rows)
    by_mean = np.where(missing, np.nanmean(rows, axis=0), rows)
    figure, axes = plt.subplots(1, 2, figsize=(6, 2.9), sharex=True, sharey=True, layout="tight")
    for ax, table, title in zip(axes, (by_mean, filled), ("mean", "PSC"), strict=True):
        ax.plot(union.data[missing], table[missing], ".", ms=3, alpha=0.4, color=plots.COLOURS[0])
        ax.axline((0, 0), slope=1, color="0.4", lw=1)
        ax.set(title=f"filled by the {title}" if title == "mean" else "filled by PSC")
        ax.set_xlabel("true value")
    axes[0].set_ylabel("filled value")
    return figure


def setosa():
    flowers = load_iris().data[:50]
    labels = PSC(2, n_components=0, affine=True, random_state=0).fit_predict(flowers)
    scores = PCA(2).fit_transform(flowers)
    return scatter(scores, labels, "two clusters of one species")


def prepared():
    random = np.random.default_rng(0)
    values = 2.0 ** random.normal(8, 1, (60, 300))
    values[:20, :10] *= 30
    values[20:45, 100:110] *= 30
    values *= 2.0 ** random.normal(0, 1, (60, 1))  # bright and dark arrays
    kind = np.repeat([0, 1, 2], [20, 25, 15])
    figure, axes = plt.subplots(1, 2, figsize=(6, 2.9), layout="tight")
    ready = recipes.expression(3, random_state=0).fit(values)[:-1].transform(values)
    for ax, table, title in zip(axes, (values, ready), ("raw", "prepared"), strict=True):
        centred = table - table.mean(axis=0)
        left, size, _ = np.linalg.svd(centred, full_matrices=False)
        scatter(left[:, :2] * size[:2], kind, title, ax)
    return figure


def cells():
    import scanpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata = scanpy.datasets.pbmc68k_reduced()
    from subspaces import scverse

    scverse.psc(adata, n_clusters=6, random_state=0)
    figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="tight")
    known = adata.obs["bulk_labels"].cat.codes.to_numpy()
    found = adata.obs["psc"].cat.codes.to_numpy()
    for ax, colour, title in zip(axes, (found, known), ("psc", "known types"), strict=True):
        ax.scatter(*adata.obsm["X_umap"].T, c=colour, cmap="tab10", s=5)
        ax.set(title=title, xticks=[], yticks=[])
    return figure


def scatter(points, labels, title, ax=None):
    """Draw points in the colour and the shape of their labels; return the figure."""
    ax = ax or plt.subplots(figsize=(3.5, 2.8), layout="tight")[1]
    for k in np.unique(labels):
        style = {"c": plots.COLOURS[k], "marker": plots.MARKERS[k], "s": 16}
        ax.scatter(*points[labels == k].T, **style)
    ax.set(title=title, xlabel="axis 1", ylabel="axis 2")
    return ax.figure


DRAWN = (candidates, cells, comparison, components, control_chart, imputed, influence)
DRAWN += (loadings, prepared, probabilities, setosa)

if __name__ == "__main__":
    for draw in DRAWN:
        if not sys.argv[1:] or draw.__name__ in sys.argv[1:]:
            draw().savefig(IMAGES / f"{draw.__name__}.png", dpi=110)
            plt.close("all")
