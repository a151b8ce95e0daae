"""The commands: thin, no mathematics."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from subspaces import plots
from subspaces.datasets import make_subspaces
from subspaces.estimators import PSC
from subspaces.metrics import adjusted_rand_score, matched_accuracy

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError as error:
    raise ImportError("the command line needs: pip install 'subspaces[cli]'") from error

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def subspaces() -> None:
    """Find groups of samples that each live near their own low-dimensional subspace."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the figures; made if it is not there.")
    ] = Path("subspaces-demo"),
) -> None:
    """Cluster a line and two planes, then real digits, beside K-means."""
    plots.require_matplotlib()
    console = Console()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{out} cannot be made a folder: {error.strerror}") from error

    console.print("\n[bold]A line and two planes[/] that meet: 300 samples in 3 dimensions, noisy.")
    union = make_subspaces([60, 120, 120], 3, [1, 2, 2], noise=0.02, random_state=55)
    model = PSC(3, n_components=[1, 2, 2], random_state=0)
    console.print(beside_k_means(model, union.data, union.target))
    write_clusters(out / "clusters.png", union.data, union.target, model)

    digits = load_digits()
    console.print("\n[bold]Digits[/]: 1797 images of 64 pixels; ten clusters of 9 dimensions.")
    model = PSC(10, n_components=9, random_state=0)
    with console.status("clustering the digits"):
        table = beside_k_means(model, digits.data, digits.target)
    console.print(table)
    write_digits(out / "digits.png", digits, model)
    for name in ("clusters.png", "digits.png"):
        console.print(f"Figure: {out / name}", soft_wrap=True)


def beside_k_means(model: PSC, X: Any, target: Any) -> Table:
    """Fit both and tell how many samples each puts into the right cluster."""
    table = Table("method", "in the right cluster", "adjusted Rand", "seconds")
    lloyd = KMeans(model.n_clusters, n_init=10, random_state=0)
    KMeans(2, n_init=1).fit(X[:50])  # its first call starts a thread pool, which is not its fault
    for name, estimator in (("K-means", lloyd), ("PSC", model)):
        start = time.perf_counter()
        labels = estimator.fit_predict(X)
        seconds = time.perf_counter() - start
        right = 100 * matched_accuracy(target, labels)
        agreement = adjusted_rand_score(target, labels)
        table.add_row(name, f"{right:.1f} %", f"{agreement:.3f}", f"{seconds:.2f}")
    return table


def write_clusters(path: Path, X: Any, target: Any, model: PSC) -> None:
    """The truth, K-means and PSC with its fitted subspaces, side by side."""
    from matplotlib.figure import Figure

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


def write_digits(path: Path, digits: Any, model: PSC) -> None:
    """What each cluster's subspace looks like, and which digits it holds."""
    from matplotlib.figure import Figure

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
