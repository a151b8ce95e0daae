"""The main job on data that come with the library."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subspaces._extras import install
from subspaces.cli._say import note, say, say_table, working

if TYPE_CHECKING:
    from subspaces.estimators import PSC


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the figures and the page.", metavar="FOLDER")
    ] = Path("subspaces-demo"),
) -> None:
    """Show the method on a line and two planes, and on digits.

    Prints how it does beside K-means; writes two figures and a page about the first.

    \b
    Example:
      subspaces demo --out somewhere/
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file, not a folder. Use another --out")
    from sklearn.datasets import load_digits

    from subspaces import plots
    from subspaces.datasets import make_subspaces
    from subspaces.estimators import PSC

    plots.require_matplotlib()
    out.mkdir(parents=True, exist_ok=True)

    say("A line and two planes that meet: 300 samples in 3 dimensions, noisy.")
    union = make_subspaces([60, 120, 120], 3, [1, 2, 2], noise=0.02, random_state=55)
    model = PSC(3, n_components=[1, 2, 2], random_state=0)
    beside_k_means(model, union.data, union.target)
    write_clusters(out / "clusters.png", union.data, union.target, model)
    page = write_page(out / "report.html", union, model)

    digits = load_digits()
    say("\nDigits: 1797 images of 64 pixels; ten clusters of 9 dimensions.")
    model = PSC(10, n_components=9, random_state=0)
    beside_k_means(model, digits.data, digits.target)
    write_digits(out / "digits.png", digits, model)
    say()
    for name in ("clusters.png", "digits.png"):
        say(f"Figure: {out / name}")
    say(f"Page:   {page}")


def beside_k_means(model: "PSC", X: Any, target: Any) -> None:
    """Fit both and tell how many samples each puts into the right cluster."""
    from sklearn.cluster import KMeans

    from subspaces.cli._words import in_options
    from subspaces.core.hearing import hearing
    from subspaces.metrics import adjusted_rand_score, matched_accuracy

    rows = []
    lloyd = KMeans(model.n_clusters, n_init=10, random_state=0)
    KMeans(2, n_init=1).fit(X[:50])  # its first call starts a thread pool, which is not its fault
    with working(f"Clustering {len(X)} samples"):
        for name, estimator in (("K-means", lloyd), ("PSC", model)):
            start = time.perf_counter()
            with hearing() as heard:
                labels = estimator.fit_predict(X)
            seconds = time.perf_counter() - start
            right = f"{100 * matched_accuracy(target, labels):.1f} %"
            agreement = f"{adjusted_rand_score(target, labels):.3f}"
            rows.append([name, right, agreement, f"{seconds:.2f}"])
    headings = ("method", "in the right cluster", "adjusted Rand", "seconds")
    say_table(headings, rows, numbers=range(1, 4))
    for warning in heard:
        note(f"Note: {in_options(str(warning))}")


def write_page(path: Path, union: Any, model: "PSC") -> str:
    """Write the page about a model; returns where it is, or what it needs."""
    if find_spec("plotly") is None:
        return f"needs plotly. {install('report')}"
    title = "A line and two planes that meet"
    return str(model.report(union.data, path, classes=union.target, title=title))


def write_clusters(path: Path, X: Any, target: Any, model: "PSC") -> None:
    """The truth, K-means and PSC with its fitted subspaces, side by side."""
    from matplotlib.figure import Figure
    from sklearn.cluster import KMeans

    from subspaces import plots

    figure = Figure(figsize=(11, 4.3), layout="constrained")
    lloyd = KMeans(model.n_clusters, n_init=10, random_state=0).fit(X)
    panels: tuple[tuple[str, Any, Any], ...] = (
        ("Truth", target, ()),
        ("K-means", lloyd.labels_, ()),
        ("PSC and the subspaces it found", model.labels_, model.subspaces_),
    )
    for place, (title, labels, flats) in enumerate(panels, start=1):
        ax = figure.add_subplot(1, 3, place, projection="3d")
        plots.clusters_3d(X, labels, flats, title=title, ax=ax).view_init(20, -42)
        ax.legend(loc="upper left", fontsize=8, frameon=False, handletextpad=0.1)
    figure.savefig(path, dpi=150)


def write_digits(path: Path, digits: Any, model: "PSC") -> None:
    """What each cluster's subspace looks like, and which digits it holds."""
    import numpy as np
    from matplotlib.figure import Figure

    from subspaces import plots

    figure = Figure(figsize=(9, 5.2), layout="constrained")
    grid = figure.subplots(5, 10)
    plots.basis_images(model.subspaces_, (8, 8), axes=grid[1:])
    for k in range(10):
        members = digits.target[model.labels_ == k]
        counts = np.bincount(members, minlength=10)
        grid[0, k].imshow(digits.data[model.labels_ == k].mean(axis=0).reshape(8, 8), cmap="gray_r")
        grid[0, k].set(xticks=[], yticks=[])
        share = 100 * counts.max() / len(members)
        grid[0, k].set_title(
            f"{len(members)} samples\n{share:.0f} % are {counts.argmax()}", fontsize=8
        )
        grid[1, k].set_title("")
    for row, name in enumerate(("mean", "axis 1", "axis 2", "axis 3", "axis 4")):
        grid[row, 0].set_axis_on()
        grid[row, 0].set(xticks=[], yticks=[], frame_on=row == 0)
        grid[row, 0].set_ylabel(name, fontsize=9)
    figure.suptitle(
        "Digits: the clusters of PSC and the leading axes of their subspaces\n"
        "(linear, so axis 1 is near the mean; axes: orange above zero, purple below)",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)
