"""How many clusters?"""

from typing import Annotated, Any

import typer

from subspaces.cli import _options as options
from subspaces.cli._say import note, say, say_json, say_table, working


def select(
    data: options.Data,
    max_clusters: Annotated[int, typer.Option(min=1, help="Try 1 to N clusters.", metavar="N")] = 8,
    dims: Annotated[
        str, typer.Option(help="Dimension of the clusters: 2, or auto.", metavar="N|auto")
    ] = "1",
    max_dims: options.MaxDims = None,
    variables: Annotated[
        str | None,
        typer.Option(
            help="Variables per dimension of a cluster: 50; all of them unless given.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="auto, press, press_points, press_sum, likelihood, free, sod or bic.",
            metavar="NAME",
        ),
    ] = "auto",
    samples: options.Samples = options.Side.rows,
    labels: options.Labels = None,
    classes: options.Classes = None,
    ignore: options.Ignore = None,
    floor: options.Floor = None,
    log: options.Log = False,
    top_variables: options.TopVariables = None,
    scale: options.Scale = False,
    affine: options.Affine = False,
    normal_scores: options.NormalScores = False,
    seed: options.Seed = 0,
    as_document: options.Json = False,
) -> None:
    """Choose the number of clusters.

    Fits every number of clusters and scores each by how well it predicts samples that it has
    not seen. One cluster is a possible answer.

    \b
    Examples:
      subspaces select data.csv --max-clusters 8
      subspaces select data.csv --dims 2 --variables 50 --labels type
    """
    n_components = options.one_or_auto(dims, "--dims")
    n_variables = None if variables is None else options.one_or_auto(variables, "--variables")
    if n_variables == "auto":
        raise ValueError("--variables auto is for subspaces fit --clusters auto. Use 50, say")
    options.check_limit(max_dims, n_components, "dims")
    options.check_known(criterion, options.SCORES, "--criterion")
    options.check_classes(labels, classes)
    left_out = options.names(ignore, labels)
    from subspaces.cli import _inputs
    from subspaces.cli._words import in_options
    from subspaces.core.hearing import hearing
    from subspaces.estimators import PSC
    from subspaces.selection import select_n_clusters

    table = _inputs.read_input(data, samples, labels, classes, left_out)
    table, _ = _inputs.prepared(table, floor, log, top_variables, scale)
    model = PSC(
        n_components=n_components,
        n_variables=n_variables,
        affine=affine,
        random_state=seed,
        **options.given(max_components=max_dims),
    )
    numbers = range(1, max_clusters + 1)
    with working("Clustering"), hearing() as heard:
        margins = "normal" if normal_scores else "data"
        found = select_n_clusters(model, table.frame, numbers, criterion=criterion, margins=margins)
    messages = [in_options(str(warning)) for warning in heard]
    for message in messages:
        note(f"Note: {message}")
    if as_document:
        columns = {name: column.tolist() for name, column in found.columns.items()}
        say_json(
            {
                "data": str(data),
                "criterion": found.criterion,
                "chosen": found.best_,
                "verdict": found.verdict,
                "margin": found.margin_,
                "table": columns,
                "warnings": messages,
            }
        )
        return
    show(found)


def show(found: Any) -> None:
    """The table, the choice, and how clear it is."""
    from subspaces.plots import CRITERION_NAMES

    name = CRITERION_NAMES[found.criterion]
    columns = [found.columns[c] for c in (found.criterion, "difference", "standard_error")]
    rows = [
        [str(k), *(f"{value:.5g}" for value in values), "<- chosen" if k == found.best_ else ""]
        for k, *values in zip(found.columns["n_clusters"], *columns, strict=True)
    ]
    say_table(("clusters", name, "difference", "standard error", ""), rows, numbers=range(4))
    say(f"{found.verdict}.")
