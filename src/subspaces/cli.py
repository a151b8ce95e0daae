"""The commands: thin, no mathematics."""

from pathlib import Path
from typing import Annotated

import numpy as np
from sklearn.datasets import load_digits

from subspaces import datasets, diagnostics, plots

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError as error:
    raise ImportError("the command line needs: pip install 'subspaces[cli]'") from error

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich")
PLANTED = (11, 42, 77)


@app.callback()
def subspaces() -> None:
    """Groups of samples that each live near their own low-dimensional subspace."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the figure; made if it is not there.")
    ] = Path("subspaces-demo"),
) -> None:
    """Which samples drive a PCA? On simulated data with planted samples, and on real digits."""
    console = Console()
    simulated = planted_samples()
    found = diagnostics.pca_influence(simulated, 2, center=True)
    digits = load_digits()
    threes = digits.data[digits.target == 3]
    real = diagnostics.pca_influence(threes, 5, center=True)
    console.print(f"\n[bold]Simulated[/]: 100 samples near a plane, rows {PLANTED} moved off it.")
    console.print(summary(found))
    console.print(f"\n[bold]Digits[/]: the {len(threes)} images of a 3 in scikit-learn, 5 axes.")
    console.print(summary(real))
    path = write_figure(out, found, real, threes)
    console.print(f"\nFigure: {path}")


def planted_samples() -> np.ndarray:
    """A noisy plane in 12 dimensions with three samples pushed away from it."""
    data = datasets.make_subspaces(100, 12, [2], noise=0.05, offset=1.0, random_state=0).data
    random = np.random.default_rng(1)
    data[list(PLANTED)] += random.normal(scale=0.35, size=(len(PLANTED), 12))
    return np.asarray(data)


def summary(result: diagnostics.PCAInfluence, n_rows: int = 5) -> Table:
    """The samples that the others predict worst."""
    table = Table("row", "leave-one-out error", "times the median", "leverage", "influence")
    median = np.median(result.loo_error)
    for i in np.argsort(-result.loo_error, kind="stable")[:n_rows]:
        table.add_row(
            str(i),
            f"{result.loo_error[i]:.4g}",
            f"{result.loo_error[i] / median:.1f}",
            f"{result.leverage[i]:.3f}",
            f"{result.influence[i]:.4g}",
        )
    return table


def write_figure(
    out: Path,
    found: diagnostics.PCAInfluence,
    real: diagnostics.PCAInfluence,
    images: np.ndarray,
) -> Path:
    """Both scatters, and the digits at the two ends."""
    plots.require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.2), layout="constrained")
    grid = figure.add_gridspec(2, 12, height_ratios=(3, 1))
    plots.influence(found, n_named=3, ax=figure.add_subplot(grid[0, :6])).set_title(
        "Simulated: a plane and three planted samples"
    )
    plots.influence(real, n_named=6, ax=figure.add_subplot(grid[0, 6:])).set_title(
        "Digits: images of a 3"
    )
    order = np.argsort(-real.loo_error, kind="stable")
    chosen = np.concatenate([order[:6], order[-6:][::-1]])
    for place, i in enumerate(chosen):
        ax = figure.add_subplot(grid[1, place])
        ax.imshow(images[i].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[], title=str(i))
        if place in (0, 6):
            ax.set_ylabel("worst" if place == 0 else "best")
    out.mkdir(parents=True, exist_ok=True)
    path = out / "influence.png"
    figure.savefig(path, dpi=150)
    return path
