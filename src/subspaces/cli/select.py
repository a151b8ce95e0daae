"""The command ``select``, which chooses the number of clusters."""

from typing import Annotated, Any

from subspaces.cli import _options as options
from subspaces.cli._options import setting
from subspaces.cli._say import say, say_json, say_table, warn, working


def select(
    data: options.Data,
    max_clusters: Annotated[int, setting("Try 1 to N clusters.", "N", shown=True, min=1)] = 8,
    dims: Annotated[
        str | None, setting("Dimension of the clusters: 2, or auto; 1 unless given.", "N|auto")
    ] = None,
    max_dims: options.MaxDims = None,
    variables: Annotated[
        str | None,
        setting("Variables per dimension of a cluster: 50; all of them unless given.", "N"),
    ] = None,
    criterion: Annotated[
        str,
        setting(
            "auto, press, press_points, press_sum, likelihood, free, sod or bic.",
            "NAME",
            shown=True,
        ),
    ] = "auto",
    samples: options.Samples = options.Side.rows,
    labels: options.Labels = None,
    classes: options.Classes = None,
    ignore: options.Ignore = None,
    missing: options.Missing = None,
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
      subspaces select data.csv --max-clusters 8 --dims auto
      subspaces select data.csv --dims 2 --variables 50 --labels type
    """
    n_components = options.one_or_auto("1" if dims is None else dims, "--dims")
    n_variables = options.one_or_auto(variables, "--variables")
    if n_variables == "auto":
        raise ValueError("--variables auto is for subspaces fit --clusters auto. Use 50, say")
    options.check_limit(max_dims, n_components, "dims")
    options.check_known(criterion, options.SCORES, "--criterion")
    ignored = options.names_to_ignore(ignore, labels, classes)
    marks = options.listed(missing)
    from subspaces.cli import _inputs, _trust
    from subspaces.cli._words import in_options
    from subspaces.estimators import PSC
    from subspaces.runtime.warning import collect_warnings
    from subspaces.selection import select_n_clusters

    table = _inputs.read_input(data, samples, labels, classes, ignored, missing=marks)
    _inputs.refuse_gaps(table, data)
    table, _ = _inputs.prepare_values(table, floor, log, top_variables, scale)
    model = PSC(
        n_components=n_components,
        n_variables=n_variables,
        affine=affine,
        random_state=seed,
        **options.without_none(max_components=max_dims),
    )
    numbers = range(1, max_clusters + 1)
    with working("Clustering"), collect_warnings() as caught:
        margins = "normal" if normal_scores else "data"
        found = select_n_clusters(model, table.frame, numbers, criterion=criterion, margins=margins)
    # The criterion "free" tries learned dimensions beside the one assumed.
    is_open = dims is None and found.criterion != "free"
    is_open = is_open and _trust.can_choose_dimension(max_clusters, table)
    verdict = f"{found.verdict}. {_trust.ASSUMED}" if is_open else found.verdict
    messages = [in_options(str(warning)) for warning in caught]
    for message in messages:
        warn(message)
    if as_document:
        document = {
            "data": str(data),
            "criterion": found.criterion,
            "chosen": found.best_,
            "verdict": verdict,
            "margin": found.margin_,
            "table": found.columns,
            "warnings": messages,
        }
        say_json(document)
        return
    _show(found, verdict)


def _show(found: Any, verdict: str) -> None:
    """Print the criterion for each number of clusters, the choice, and how clear it is."""
    from subspaces.plots import CRITERION_NAMES

    name = CRITERION_NAMES[found.criterion]
    columns = [found.columns[c] for c in (found.criterion, "difference", "standard_error")]
    rows = [
        [str(k), *(f"{value:.5g}" for value in values), "<- chosen" if k == found.best_ else ""]
        for k, *values in zip(found.columns["n_clusters"], *columns, strict=True)
    ]
    say_table(("clusters", name, "difference", "standard error", ""), rows, numbers=range(4))
    say(f"{verdict}.")
