"""The command ``demo``: PSC beside other methods on three tables, and a PCA of wine."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from subspaces.app.cli._options import setting
from subspaces.app.cli._outputs import refuse_file
from subspaces.app.cli._say import percent, say, say_table, working
from subspaces.runtime.extras import install

if TYPE_CHECKING:
    from subspaces._types import Array, Labels
    from subspaces.estimators import PSC


def demo(
    out: Annotated[
        Path, setting("Folder for the figures and the page.", "FOLDER", shown=True)
    ] = Path("subspaces-demo"),
) -> None:
    """Cluster three example tables, and run a PCA of a fourth.

    Prints a comparison with K-means and how far to trust the PCA. Writes two
    figures, a page about the planes and one about the PCA.

    \b
    Example:
      subspaces demo --out somewhere/
    """
    refuse_file(out)
    _check_installed()
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits

    from subspaces.datasets import make_subspaces
    from subspaces.estimators import PSC

    out.mkdir(parents=True, exist_ok=True)

    _show_penguins(out / "candidates.png")

    say("\nA line and two planes that meet: 300 noisy samples in 3 dimensions.")
    union = make_subspaces([60, 120, 120], 3, [1, 2, 2], noise=0.02, random_state=55)
    model = PSC(3, n_components=[1, 2, 2], random_state=0)
    k_means = KMeans(3, n_init=10, random_state=0)
    _compare({"K-means": k_means, "PSC": model}, union.data, union.target)
    _write_clusters(out / "clusters.png", union, k_means.labels_, model)
    page = _write_page(out / "report.html", union, model)

    digits = load_digits()
    say("\nDigits: 1797 images of 64 pixels in ten clusters of 9 dimensions.")
    model = PSC(10, n_components=9, random_state=0)
    k_means = KMeans(10, n_init=10, random_state=0)
    _compare({"K-means": k_means, "PSC": model}, digits.data, digits.target)

    say("\nWines: one PCA of 178 samples and 13 scaled variables.")
    page_of_pca = _show_pca(out / "pca.html")
    say()
    for name in ("candidates.png", "clusters.png"):
        say(f"Figure: {out / name}")
    say(f"Page:   {page}")
    say(f"Page:   {page_of_pca}")


def _check_installed() -> None:
    """Raise ImportError if matplotlib is missing, with all else that the demo draws with."""
    if find_spec("matplotlib") is None:
        missing = [name for name in ("matplotlib", "plotly") if find_spec(name) is None]
        extras = install("cli,plots,report")
        raise ImportError(f"The demo needs {' and '.join(missing)} for its figures. {extras}")


def _show_penguins(path: Path) -> None:
    """Cluster penguins with everything left to PSC, and draw what it chose from."""
    import numpy as np
    from matplotlib.figure import Figure
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    from subspaces import plots
    from subspaces.datasets import load_penguins
    from subspaces.estimators import PSC

    penguins = load_penguins()
    measured = ~np.isnan(penguins.data).any(axis=1)
    X = penguins.data[measured] / penguins.data[measured].std(axis=0)
    say(f"Penguins: {len(X)} birds of three species, with four scaled measurements each.")
    model = PSC("auto", n_components="auto", affine="auto", random_state=0)
    methods = {
        "K-means (3 clusters given)": KMeans(3, n_init=10, random_state=0),
        "Gaussian mixture (3 given)": GaussianMixture(3, n_init=10, random_state=0),
        "PSC (chooses everything)": model,
    }
    _compare(methods, X, penguins.target[measured])
    say(f"PSC chose: {model.selection_['verdict']}")
    ax = Figure(figsize=(6, 3.5), layout="constrained").subplots()
    plots.candidates(model, ax=ax).figure.savefig(path, dpi=150)


def _compare(methods: dict[str, Any], X: "Array", target: "Labels") -> None:
    """Fit each method to X and print how well its clusters match the known ones."""
    from sklearn.cluster import KMeans

    from subspaces.app.cli._said import Said
    from subspaces.messages import message_of
    from subspaces.metrics import adjusted_rand_score, matched_accuracy
    from subspaces.runtime.warning import collect_warnings

    rows = []
    KMeans(2, n_init=1).fit(X[:50])  # its first call starts a thread pool, which is not its fault
    with working(f"Clustering {len(X)} samples"), collect_warnings() as caught:
        for name, estimator in methods.items():
            start = time.perf_counter()
            labels = estimator.fit_predict(X)
            seconds = time.perf_counter() - start
            right = percent(matched_accuracy(target, labels), 1)
            agreement = f"{adjusted_rand_score(target, labels):.3f}"
            rows.append([name, right, agreement, f"{seconds:.2f}"])
    headings = ("method", "in the right cluster", "adjusted Rand", "seconds")
    say_table(headings, rows, numbers=range(1, 4))
    Said((), [message_of(each) for each in caught]).say()


def _write_page(path: Path, union: Any, model: "PSC") -> str:
    """Write the report of a model; return its path, or how to install plotly if it is missing."""
    if find_spec("plotly") is None:
        return f"not written, because plotly is not installed. {install('report')}"
    title = "A line and two planes that meet"
    return str(model.report(union.data, path, classes=union.target, title=title))


def _show_pca(path: Path) -> str:
    """Print the verdicts on a PCA of wines and write its page; return its path, as above."""
    import pandas as pd
    from sklearn.datasets import load_wine

    from subspaces.app.cli._said import Said
    from subspaces.app.report import page_of_pca
    from subspaces.app.report._page import write_page
    from subspaces.app.report._pca.findings import gather_pca

    wines = load_wine()
    names = [str(wines.target_names[kind]) for kind in wines.target]
    table = pd.DataFrame(wines.data, columns=wines.feature_names)
    found = gather_pca(table, scale=True, random_state=0, classes=names)
    say(found.components.verdict)
    say(found.outliers.verdict)
    Said((), found.warned).say()
    if find_spec("plotly") is None:
        return f"not written, because plotly is not installed. {install('report')}"
    return str(write_page(page_of_pca(found, "Three kinds of wine, one PCA"), path))


def _write_clusters(path: Path, union: Any, k_means: Any, model: "PSC") -> None:
    """Write a figure of the true clusters, of those of K-means, and of PSC's with subspaces."""
    from matplotlib.figure import Figure

    from subspaces import plots

    figure = Figure(figsize=(11, 4.3), layout="constrained")
    panels: tuple[tuple[str, Any, Any], ...] = (
        ("Truth", union.target, ()),
        ("K-means", k_means, ()),
        ("PSC and the subspaces it found", model.labels_, model.subspaces_),
    )
    for place, (title, labels, subspaces) in enumerate(panels, start=1):
        ax = figure.add_subplot(1, 3, place, projection="3d")
        plots.clusters_3d(union.data, labels, subspaces, title=title, ax=ax).view_init(20, -42)
        ax.legend(loc="upper left", fontsize=8, frameon=False, handletextpad=0.1)
    figure.savefig(path, dpi=150)
