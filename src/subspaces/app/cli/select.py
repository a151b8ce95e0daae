"""The command ``select``, which chooses the number of clusters."""

from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subspaces.app.cli import _options as options
from subspaces.app.cli._options import setting
from subspaces.app.cli._request import Request
from subspaces.app.cli._say import say, say_json, say_stability, say_table, working
from subspaces.app.cli._words import in_options

if TYPE_CHECKING:
    from subspaces.selection import Selection


def select(
    *,
    max_clusters: Annotated[
        int | None, setting("Try 1 to N clusters. Default: 10, or 8 with a --preset.", "N", min=1)
    ] = None,
    dims: Annotated[
        str | None,
        setting(
            "Dimension of the clusters: a number, or auto. Default: auto, but 1 with --variables.",
            "N|auto",
        ),
    ] = None,
    variables: Annotated[
        int | None,
        setting("Variables per dimension, such as 50. Default: all variables.", "N", min=1),
    ] = None,
    preset: Annotated[
        options.Preset | None,
        typer.Option(
            help="Prepare the values as subspaces fit does, and choose the number by how well "
            "halves of the samples agree.",
            show_default=False,
        ),
    ] = None,
    search: options.Search,
    source: options.Source,
    values: options.ValuesOrPreset,
    as_document: options.Json = False,
) -> None:
    """Choose the number of clusters.

    It makes the same choice as subspaces fit, and shows how close the other
    numbers are. The answer can be one cluster. With --preset, it clusters random
    halves of the samples, and takes the number on which the halves agree best.

    \b
    Examples:
      subspaces select data.csv
      subspaces select data.csv --dims 2 --variables 50 --labels type
      subspaces select arrays.gct --preset expression
    """
    excluded = {"--affine": search.affine is True, "--linear": search.affine is False}
    excluded["--variables"] = variables is not None
    values.check(preset, excluded)
    request = Request(
        n_clusters="auto",
        n_components=options.as_numbers(dims, "--dims"),
        search=search,
        n_variables=variables,
        preset=preset,
        scaler=values.scaler(preset),
        max_clusters=max_clusters,
    )
    if preset:
        request.check()
        _select_by_stability(request, source, as_document=as_document)
        return
    as_a_fit = request.is_automatic
    if dims is None:
        request = replace(request, n_components="auto" if as_a_fit else 1)
    request.check()
    with working("Starting"):
        from subspaces.app.cli import _inputs

    table, doubts = _inputs.read_input(source)
    with working("Starting"):
        from subspaces.app.cli import _trust
        from subspaces.app.cli._said import Said
        from subspaces.estimators import PSC
        from subspaces.messages import message_of
        from subspaces.runtime.warning import collect_warnings
        from subspaces.selection import select_n_clusters

    if not as_a_fit:
        _inputs.refuse_gaps(table, source.data, "leave out --variables")
    may_scale = search.affine is not False
    table, preparation, further = _inputs.prepare_values(table, values, may_scale=may_scale)
    _inputs.say_preparation(preparation)
    given = {**search.parameters, "affine": request.affine if as_a_fit else bool(search.affine)}
    model = PSC(n_components=request.n_components, n_variables=variables, **given)
    most = min(max_clusters or model.max_clusters, len(table.data))
    numbers = range(1, most + 1)
    with working("Clustering"), collect_warnings() as caught:
        found = select_n_clusters(
            model, table.frame, numbers, criterion="icl" if as_a_fit else "auto"
        )
    doubts += [*further, *map(message_of, caught)]
    is_assumed = dims is None and not as_a_fit
    assumed = _trust.assumed_dimension(most, table) if is_assumed else None
    settled = {"scale"} if values.scale is not None or preparation.taken_for else ()
    messages = Said(table.notes, [*doubts, *([assumed] if assumed else [])], settled).say()
    if as_document:
        say_json(_document(source, found, messages))
        return
    _show(found)


def _document(
    source: options.Source, found: "Selection", messages: list[str], **more: str
) -> dict[str, Any]:
    return {
        "data": str(source.data),
        **more,
        "criterion": found.criterion,
        "chosen": found.best_,
        "verdict": in_options(found.conclusion),
        "grade": found.grade,
        "margin": found.margin_,
        "table": found.columns,
        "warnings": messages,
    }


def _select_by_stability(request: Request, source: options.Source, *, as_document: bool) -> None:
    """Compare numbers of clusters of a table by the agreement of halves, and print the answer."""
    with working("Starting"):
        from subspaces.app.cli import _fitting, _inputs
        from subspaces.app.cli._said import Said
        from subspaces.messages import message_of

    table, doubts = _inputs.read_input(source)
    with working("Comparing numbers of clusters"):
        found, caught = _fitting.choose_number(request, table)
    messages = Said(table.notes, [*doubts, *map(message_of, caught)]).say()
    taken_for = found.best_estimator_["prepare"].verdict_
    if as_document:
        say_json(_document(source, found, messages, taken_for=taken_for))
        return
    say(taken_for)
    say_stability(found.columns, found.best_)
    say(in_options(found.conclusion))


def _show(found: "Selection") -> None:
    """Print the criterion for each number of clusters, the choice, and how clear it is."""
    from subspaces.plots import CRITERION_NAMES

    name = CRITERION_NAMES[found.criterion]
    heads = {found.criterion: name, "difference": "difference", "standard_error": "standard error"}
    shown = [column for column in heads if column in found.columns]
    rows = [
        [
            str(k),
            *("-" if isnan(value) else f"{value:.5g}" for value in values),
            "<- chosen" if k == found.best_ else "",
        ]
        for k, *values in zip(*(found.columns[c] for c in ("n_clusters", *shown)), strict=True)
        if k == found.best_ or not isnan(values[0])
    ]
    titles = ("clusters", *(heads[column] for column in shown), "")
    say_table(titles, rows, numbers=range(len(titles)))
    say(in_options(found.conclusion))
