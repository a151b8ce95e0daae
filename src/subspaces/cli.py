"""The commands: thin, no mathematics."""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from subspaces import plots
from subspaces.comparison import METHODS, Comparison
from subspaces.comparison import compare as compare_methods
from subspaces.datasets import make_subspaces
from subspaces.estimators import PSC
from subspaces.metrics import adjusted_rand_score, matched_accuracy

try:
    import pandas as pd
    import typer
    from rich.console import Console
    from rich.table import Column, Table
except ImportError as error:
    raise ImportError("the command line needs: pip install 'subspaces[cli]'") from error

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def subspaces() -> None:
    """Find groups of samples that each live near their own low-dimensional subspace."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the figures and the page; made if it is not there.")
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
    title = "A line and two planes that meet"
    page = model.report(union.data, out / "report.html", classes=union.target, title=title)

    digits = load_digits()
    console.print("\n[bold]Digits[/]: 1797 images of 64 pixels; ten clusters of 9 dimensions.")
    model = PSC(10, n_components=9, random_state=0)
    with console.status("clustering the digits"):
        table = beside_k_means(model, digits.data, digits.target)
    console.print(table)
    write_digits(out / "digits.png", digits, model)
    for name in ("clusters.png", "digits.png"):
        console.print(f"Figure: {out / name}", soft_wrap=True)
    console.print(f"Page:   {page}", soft_wrap=True)


@app.command()
def compare(
    data: Annotated[Path, typer.Argument(help="CSV file: samples in rows, a header of names.")],
    clusters: Annotated[int, typer.Option(help="Number of clusters.", min=1)],
    dims: Annotated[
        str, typer.Option(help="Dimension of the clusters: 2, or one each: 1,2,2.")
    ] = "1",
    labels: Annotated[
        str | None, typer.Option(help="Column with known classes; not used as a variable.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help=f"Some of: {', '.join(METHODS)}; by default all.")
    ] = None,
    affine: Annotated[bool, typer.Option(help="Let clusters have centres of their own.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of every method.", min=0)] = 0,
) -> None:
    """Every method on this data, one table.

    Without known classes the table shows how far each method agrees with the others.

    Example: subspaces compare data.csv --clusters 3 --dims 1,2,2 --labels type
    """
    console = Console()
    table, known = read_table(data, labels)
    dimensions = parse_dimensions(dims, clusters)
    names = None if methods is None else parse_methods(methods)
    try:
        with console.status("reading") as status:
            found = compare_methods(
                table,
                clusters,
                dimensions,
                methods=names,
                labels=known,
                affine=affine,
                random_state=seed,
                progress=lambda name: status.update(f"{name} is clustering"),
            )
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    console.print(comparison_table(found))
    for name, message in zip(found.columns["method"], found.columns["error"], strict=True):
        if message:
            console.print(f"{name}: {message}", style="red", markup=False, soft_wrap=True)
    for name, messages in found.messages.items():
        for message in messages:
            console.print(f"{name} warns: {message}", style="dim", markup=False, soft_wrap=True)
    if not found.labels:
        raise typer.Exit(1)


def read_table(path: Path, labels: str | None) -> tuple[Any, Any]:
    """The numbers of a CSV file and the column of known classes; a first column of names is kept.

    One line says what is wrong, where.
    """
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise typer.BadParameter(f"{path} cannot be read: {reason}") from error
    if frame.shape[1] > 1 and frame.columns[0] != labels and _holds_names(frame.iloc[:, 0]):
        frame = frame.set_index(frame.columns[0])
    known = None
    if labels is not None:
        if labels not in frame.columns:
            columns = ", ".join(map(str, frame.columns[:5]))
            raise typer.BadParameter(f"{path} has no column {labels!r}; it has {columns}, ...")
        known = frame.pop(labels)
    for column in frame.columns:
        numbers = pd.to_numeric(frame[column], errors="coerce")
        bad = numbers.isna()
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            value = frame[column].iloc[row]
            found = "is empty" if pd.isna(value) else f"{value!r} is not a number"
            raise typer.BadParameter(
                f"{path}, line {row + 2}, column {column!r}: {found}; a number, or --labels for a "
                "column of classes, would do"
            )
        frame[column] = numbers
    return frame, known


def _holds_names(column: Any) -> bool:
    """Whether a first column names the samples: no number in it, or an index that pandas wrote."""
    return str(column.name).startswith("Unnamed") or bool(
        pd.to_numeric(column, errors="coerce").isna().all()
    )


def parse_methods(text: str) -> list[str]:
    """``psc, KMeans``, in capitals or not."""
    known = {name.lower(): name for name in METHODS}
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name.lower() not in known]
    if unknown or not names:
        wrong = f"{unknown[0]!r} is unknown" if unknown else "it names none"
        raise typer.BadParameter(f"--methods: {wrong}; some of {', '.join(METHODS)} would do")
    return [known[name.lower()] for name in names]


def parse_dimensions(text: str, n_clusters: int) -> int | list[int]:
    """``2`` or ``1,2,2``."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"--dims {text!r}: 2, or one each as 1,2,2, would do") from error
    if len(numbers) not in (1, n_clusters):
        raise typer.BadParameter(
            f"--dims {text!r} has {len(numbers)} numbers for --clusters {n_clusters}; one, or one "
            "each, would do"
        )
    return numbers[0] if len(numbers) == 1 else numbers


def comparison_table(found: Comparison) -> Table:
    """One row per method, the best agreement first."""
    columns = found.columns
    measures = [name for name in ("ari", "rand", "accuracy", "agreement") if name in columns]
    table = Table(Column("method", no_wrap=True), *[MEASURES[name] for name in measures])
    for heading in ("objective", "seconds"):
        table.add_column(heading, justify="right")
    order = np.argsort(-np.nan_to_num(columns[measures[0]], nan=-2.0), kind="stable")
    for i in order:
        values = [f"{columns[name][i]:.3f}" for name in measures]
        if columns["error"][i]:
            values, objective = ["failed", *[""] * (len(measures) - 1)], ""
        else:
            objective = f"{columns['objective'][i]:.4g}"
        table.add_row(columns["method"][i], *values, objective, f"{columns['seconds'][i]:.2f}")
    return table


MEASURES = {
    "ari": "adjusted Rand",
    "rand": "Rand",
    "accuracy": "in right cluster",
    "agreement": "agreement with the others",
}


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
