"""The command ``compare``, which runs every method on one table."""

from typing import TYPE_CHECKING, Annotated

import typer

from subspaces.app.cli import _options as options
from subspaces.app.cli._options import setting
from subspaces.app.cli._say import note, percent, say_json, say_table, working
from subspaces.app.cli._words import in_options

if TYPE_CHECKING:
    from subspaces.comparison import Comparison

# Methods whose time grows with the square of the number of samples, and how many are many.
SLOW, MANY_SAMPLES = ("EnsembleKSubspaces", "SSC"), 5000
MEASURES = {
    "ari": "adjusted Rand",
    "rand": "Rand",
    "accuracy": "in the right cluster",
    "agreement": "agreement with the others",
}


def compare(
    *,
    clusters: Annotated[int, setting("How many clusters.", "N", min=1)],
    dims: Annotated[
        str,
        setting(
            "Dimension of the clusters: one for all (2), or one for each (1,2,2).",
            "N|N,N",
            shown=True,
        ),
    ] = "1",
    methods: Annotated[
        str | None,
        setting(
            (f"Methods to compare: {', '.join(options.METHOD_NAMES)}. Default: all."), "NAME,NAME"
        ),
    ] = None,
    shape: options.Clusters,
    source: options.Source,
    values: options.Values,
    as_document: options.Json = False,
) -> None:
    """Compare methods on a table, one row each.

    If there are no known classes, the rows show how well each method agrees with
    the others.

    \b
    Examples:
      subspaces compare data.csv --clusters 3 --dims 1,2,2 --labels type
      subspaces compare data.csv --clusters 3 --methods PSC,SSC,KMeans
    """
    dimensions = options.as_numbers(dims, "--dims", several=True)
    if dimensions == "auto":
        raise ValueError(
            "subspaces compare does not take --dims auto. Give one number for all clusters (2), "
            "or one for each (1,2,2)."
        )
    options.check_dims(dimensions, affine=bool(shape.affine))
    options.check_count(dimensions, clusters, "--dims")
    chosen = list(options.METHOD_NAMES) if methods is None else _methods(methods)
    with working("Starting"):
        from subspaces.app.cli import _inputs
        from subspaces.app.cli._said import Said
        from subspaces.comparison import compare as compare_methods

    table, doubts = _inputs.read_input(source)
    _inputs.refuse_gaps(table, source.data, "run subspaces fit --imputed to fill in missing values")
    may_scale = shape.affine is not False
    table, preparation, further = _inputs.prepare_values(table, values, may_scale=may_scale)
    _inputs.say_preparation(_inputs.with_left_out(preparation, table, source))
    Said(table.notes, [*doubts, *further]).say()
    slow = [name for name in SLOW if name in chosen]
    if slow and len(table.data) > MANY_SAMPLES:
        note(f"This may take minutes. To save time, choose --methods without {' and '.join(slow)}.")
    with working("Clustering", total=len(chosen)) as step:
        found = compare_methods(
            table.frame,
            clusters,
            dimensions,
            methods=chosen,
            labels=table.classes,
            affine=bool(shape.affine),
            random_state=shape.seed,
            progress=step,
        )
    settled = () if values.scale is None else ("scale",)
    warned = {name: Said((), said, settled).lines for name, said in found.warned.items()}
    if as_document:
        errors = {name: in_options(said) for name, said in found.failed.items()}
        columns = {**found.columns, "error": [errors.get(name, "") for name in found.warned]}
        say_json({"data": str(source.data), "table": columns, "warnings": warned})
    else:
        _show(found, warned)
    if not found.labels:
        raise typer.Exit(1)


def _methods(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--methods is empty. Choose from {', '.join(options.METHOD_NAMES)}.")
    return [options.method_named(name, "--methods") for name in names]


def _show(found: "Comparison", warned: dict[str, list[str]]) -> None:
    """Print a table with one row per method, best agreement first; then errors and warnings."""
    columns = found.columns
    measures = [name for name in MEASURES if name in columns]
    rows = []
    for i in sorted(range(len(columns["method"])), key=lambda i: -_rank(columns[measures[0]][i])):
        values = ["failed", *[""] * (len(measures) - 1)]
        if not columns["error"][i]:
            values = [_shown(name, columns[name][i]) for name in measures]
        rows.append([columns["method"][i], *values, f"{columns['seconds'][i]:.2f}"])
    headings = ["method", *(MEASURES[name] for name in measures), "seconds"]
    say_table(headings, rows, numbers=range(1, len(headings)))
    for name, message in found.failed.items():
        note(f"{name} failed: {in_options(message)}")
    for name, lines in warned.items():
        for line in lines:
            note(f"{name} warns: {line}")


def _shown(measure: str, value: float) -> str:
    return percent(value, 1) if measure == "accuracy" else f"{value:.3f}"


def _rank(agreement: float) -> float:
    # A method that failed has nan. It sorts below -1, the worst agreement.
    return -2.0 if agreement != agreement else agreement
