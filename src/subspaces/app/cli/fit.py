"""The command ``fit``, which clusters a table and writes the results to a folder."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import flag, setting
from subspaces.app.cli._request import Request
from subspaces.app.cli._say import (
    as_json,
    fitting_in,
    matched_classes,
    say,
    say_json,
    say_stability,
    say_table,
    warn,
    what_was_written,
    working,
)

if TYPE_CHECKING:
    from subspaces.app.cli._said import Said
    from subspaces.estimators._base import SubspaceClusterer
    from subspaces.named_table import Table

FILES = ("labels.csv", "variables.csv", "imputed.csv", "model.npz", "summary.json", "report.html")
# How many variables of each list, and how many classes of a cluster, the screen shows.
SHOWN = 3
# Codes of measures that are not worth a line: nothing was measured, or another line says it.
UNSAID = {"unmeasured", "one_cluster"}
LISTS = {"sets_apart": "sets it apart", "varies": "varies within"}


def fit(
    *,
    clusters: Annotated[
        str, setting("How many clusters: a number, or auto.", "N|auto", shown=True)
    ] = "auto",
    dims: Annotated[
        str | None,
        setting(
            "Dimension of the clusters: one for all (2), one for each (1,2,2), or auto. By "
            "default PSC chooses it. With --variables or another --method it is 1.",
            "N|N,N|auto",
        ),
    ] = None,
    variables: Annotated[
        str | None,
        setting(
            "Variables per dimension: one number for all clusters (50), one for each "
            "(20,50,50), or auto. Default: all variables.",
            "N|N,N|auto",
        ),
    ] = None,
    source: options.Source,
    values: options.ValuesOrPreset,
    out: Annotated[Path, setting("Folder for the results.", "FOLDER", shown=True)] = Path("result"),
    preset: Annotated[
        str | None,
        setting(
            "Use expression for arrays and bulk RNA-seq, and cells for single cells. Both take "
            "logarithms if needed, centre the samples, keep the 2000 genes that vary most, and "
            "find mean profiles. You can still set --kind, --floor, --log, "
            f"--no-log, --top-variables and --criterion. See Recipes, {options.DOCUMENTATION}.",
            "expression|cells",
        ),
    ] = None,
    max_clusters: Annotated[
        int | None,
        setting(
            "Largest number to try with --clusters auto. Default: 10, or 8 with a --preset.",
            "N",
            min=1,
            panel=options.MODEL,
        ),
    ] = None,
    method: Annotated[
        str,
        setting(
            f"Clustering method: {', '.join(options.METHOD_NAMES[:-1])}.",
            "NAME",
            shown=True,
            panel=options.MODEL,
        ),
    ] = "PSC",
    outliers: Annotated[
        float | None,
        setting(
            "Put outliers in no cluster (-1). The number is the share of false outliers that you "
            "accept, such as 0.1.",
            "RATE",
            panel=options.MODEL,
        ),
    ] = None,
    stability: Annotated[
        bool,
        flag(
            "--stability/--no-stability",
            "Check whether halves of the samples give the same clusters. Makes 10 splits, or as "
            "few as 3 if that takes more than 30 seconds.",
            panel=options.OUTPUT,
        ),
    ] = True,
    significance: Annotated[
        bool,
        flag(
            "--significance",
            "Test whether the clusters are more than chance. This searches up to 99 tables "
            "without clusters, so it takes as long as 99 short fits.",
            panel=options.OUTPUT,
        ),
    ] = False,
    imputed: Annotated[
        bool,
        flag(
            "--imputed",
            "Write imputed.csv, the table with its missing values filled in.",
            panel=options.OUTPUT,
        ),
    ] = False,
    markers: Annotated[
        bool | None,
        flag(
            "--markers/--no-markers",
            "Test which variables set each cluster apart, and write markers.csv, markers.gmt "
            "and .rnk files. On by default with --preset.",
            panel=options.OUTPUT,
        ),
    ] = None,
    page: Annotated[
        bool, flag("--page/--no-page", "Write report.html.", panel=options.OUTPUT)
    ] = True,
    shown: options.Shown,
    force: options.Force = False,
    as_document: options.Json = False,
    search: options.Search,
    criterion: Annotated[
        str,
        setting(
            f"How PSC scores a sample: {', '.join(options.CRITERIA[:-1])} or "
            f"{options.CRITERIA[-1]}.",
            "NAME",
            shown=True,
            panel=options.EXPERT,
        ),
    ] = "auto",
) -> None:
    """Find the clusters of a table, and the variables of each.

    Writes labels.csv (the cluster of each sample), variables.csv (what sets
    each cluster apart from the other samples, and what varies along its axes),
    model.npz (for subspaces predict), summary.json and report.html (a page
    about it all). With --markers or a preset also markers.csv (the same with
    tests of each variable), and markers.gmt and markers_0.rnk, markers_1.rnk
    and so on for enrichment tools.

    \b
    Examples:
      subspaces fit data.csv
      subspaces fit data.csv --clusters 3 --dims 2 --affine --out result/
      subspaces fit arrays.gct --classes a.cls --clusters 3 --preset expression
      subspaces fit counts.h5ad --preset cells
      subspaces fit genes.tsv --samples columns --ignore gene_name --clusters 4
    """
    excluded = {"--affine": search.affine is True, "--linear": search.affine is False}
    excluded |= {"--method": method != "PSC", "--imputed": imputed}
    values.check(preset, excluded)
    request = Request(
        n_clusters=options.one_or_auto(clusters, "--clusters"),
        n_components=options.per_cluster(dims, "--dims"),
        search=search,
        n_variables=options.per_cluster(variables, "--variables"),
        method=options.method_named(method),
        criterion=criterion,
        preset=preset,
        scaler=values.scaler(preset) if preset else {},
        max_clusters=max_clusters,
        significance=significance,
        outliers=outliers,
    )
    assumed = dims is None and not preset and not request.is_automatic
    if dims is None and not preset:
        request = replace(request, n_components=1 if assumed else "auto")
    request.check()
    shown.names_of(request.n_clusters)
    read = (source.data, source.classes, shown.metadata)
    _outputs.refuse_folder(out, FILES, force=force, read=read)
    with working("Starting"):
        from subspaces.app.cli import _fitting, _inputs, _markers, _results
        from subspaces.app.cli._said import Said
        from subspaces.facts import with_facts
        from subspaces.messages import message_of

    files = (*FILES, *_markers.names(out))
    with _outputs.staged(out, files, force=force, read=read) as stage:
        table, doubts = _inputs.read_input(source)
        metadata = _inputs.read_metadata(shown.metadata, table.sample_names)
        caught: list[Warning] = []
        posed, numbers = request, None
        if preset and request.n_clusters == "auto":
            with working("Comparing numbers of clusters"):
                numbers, caught = _fitting.choose_number(request, table)
            posed = replace(request, n_clusters=numbers.best_)
        if preset:
            recipe = _fitting.recipe_of(posed)
            prepared, preparation, noted = _fitting.prepare_by_scaler(recipe[0], table)
            caught = [*noted, *caught]
        else:
            prepared, preparation, further = _inputs.prepare_values(
                table, values, may_scale=search.affine is not False
            )
            doubts += further
        preparation = _inputs.with_left_out(preparation, table, source)
        with working(f"{request.method} is clustering"):
            model, raised = _fitting.fit_model(posed, prepared)
        settled = _settled(request, values) | ({"scale"} if preparation.taken_for else set())
        doubts += map(message_of, [*caught, *raised])
        if numbers is not None:
            model = _fitting.with_choice(model, numbers, numbers.columns)
        halved = (recipe, table) if preset else (model, prepared)
        trust = _trusted(
            *(request, model, prepared, halved if stability else None, settled), assumed=assumed
        )
        doubts += trust.doubts
        filled = _fitting.filled(model, prepared) if imputed else None
        model = with_facts(model, preparation=preparation, X=table.frame, verdicts=trust.verdicts)
        marked = None
        if markers or (preset and markers is None):
            with working("Testing variables"):
                marked, more = _markers.find(model, table, search.seed)
            doubts += more
        said = Said(table.notes, doubts, settled)
        model = with_facts(model, messages=said.kept)
        summary = {
            "data": str(source.data),
            "sha256": _inputs.digest_of(source.data),
            "command": shlex.join(["subspaces", *sys.argv[1:]]),
            "cluster_names": shown.names_of(int(model.labels_.max()) + 1),
            **_results.summary(request, model, table, said, trust, marked),
        }
        if marked is not None:
            summary["markers"] = _markers.summary(marked)
            _markers.write(stage, marked)
        _results.write(stage, model, table, as_json(summary))
        if imputed:
            _results.write_imputed(stage, filled, table, preparation, source.labels)
        if page:
            with working("Writing report.html"):
                _results.write_page(stage, model, table, summary, trust, marked, said, metadata)
        written = [*FILES, *_markers.names(stage)]
        written = [name for name in written if (stage / name).exists()]
    if as_document:
        said.say()
        say_json({**summary, "folder": str(out), "files": written})
        return
    _show(summary, said, out, written)


def _settled(request: Request, values: options.ValuesOrPreset) -> set[str]:
    """Return the parameters that were typed, or that a preset sets, so that none advises them."""
    set_here = {
        "affine": request.affine is not False,
        "scale": values.scale is not None or bool(request.preset),
        "log": bool(values.log) or bool(request.preset),
        "margins": request.search.normal_scores,
        "n_clusters": request.n_clusters == "auto",
        "n_components": request.n_components == "auto",
    }
    return {name for name, is_set in set_here.items() if is_set}


def _trusted(
    request: Request,
    model: "SubspaceClusterer",
    table: "Table",
    halved: tuple[Any, "Table"] | None,
    settled: set[str],
    *,
    assumed: bool,
) -> Any:
    """Return the `Trust` in a fit to a prepared table.

    halved: what halves of the samples are fitted with, and the table that it takes; settled:
    parameters that need no advice; assumed: whether --dims was left out.
    """
    from subspaces.app.cli import _trust

    trust = _trust.with_word_on_levels(_trust.compare_with_k_means(model, table), model)
    trust = _trust.with_word_on_two_values(trust, model, table)
    if halved:
        with working("Clustering halves of the samples"):
            trust = _trust.with_stability(trust, *halved, request.search.seed, settled)
    if request.significance:
        with working("Searching tables without clusters"):
            trust = _trust.with_significance(trust, model, table, request.search.seed, settled)
    if request.method == "PSC" and assumed:
        trust = _trust.with_assumed_dimension(trust, request.n_clusters, table)
    return trust


def _show(summary: dict[str, Any], said: "Said", out: Path, written: list[str]) -> None:
    """Print summary.json for people: the gravest doubts, tables of the clusters, and verdicts.

    All in all there are MOST_LINES lines of words; what does not fit is on the page.
    """
    from subspaces.app.cli._inputs import what_was_prepared

    known, chosen = "adjusted_rand" in summary, summary["selection"] or {}
    first = what_was_prepared(summary["taken_for"], summary["preparation"])
    last = [matched_classes(summary)] if known else []
    if "outliers" in summary:
        last.append(_unplaced(summary["outliers"]["samples"]))
    answer, others = _chosen(chosen, len(summary["clusters"]))
    last += answer
    measured = [summary[name] for name in ("stability", "significance") if name in summary]
    last += [entry["verdict"] for entry in measured if entry["code"] not in UNSAID]
    doubts = said.shown
    names = ("means_or_directions", "assumed", "markers")
    verdicts = [summary[name]["verdict"] for name in names if name in summary]
    candidates = [*others, *verdicts[:1], *doubts[1:], *verdicts[1:]]
    gravest = doubts[:1]
    fitting = fitting_in(candidates, [*gravest, *first, *last, what_was_written(written, out)])
    fitting += gravest
    for line in doubts:
        if line in fitting:
            warn(line)
    for line in first:
        say(line)
    say_table(*_sizes(summary, known=known), numbers=range(3), rest="labels.csv")
    headings, rows = _lists(summary["clusters"])
    if headings:
        say()
        say_table(headings, rows, numbers=(0,), rest="variables.csv")
    if "stability" in chosen:
        say_stability(chosen, len(summary["clusters"]))
    for line in [*last, *(line for line in [*others, *verdicts] if line in fitting)]:
        say(line)
    left = len(said.lines) + len(others) + len(verdicts) - len(fitting)
    say(what_was_written(written, out, left))


def _unplaced(names: list[str]) -> str:
    """Return a sentence on the samples in no cluster."""
    from subspaces.messages import listed

    if not names:
        return "No sample is an outlier."
    are = "sample is" if len(names) == 1 else "samples are"
    return f"{len(names)} {are} in no cluster ({listed(names)}). See labels.csv."


def _chosen(selection: dict[str, Any], n_clusters: int) -> tuple[list[str], list[str]]:
    """Return what was chosen, and the answers worth a look with the options that give them.

    Both are lists of a sentence, or empty.
    """
    from subspaces.app.report._names import shape_of

    tried = set(selection.get("n_clusters", ()))
    if "answers" not in selection:
        return [selection["verdict"]] if len(tried) > 1 else [], []
    answers = {each["n_clusters"]: each for each in selection["answers"]}
    if len(tried) < 2:
        mine = answers.get(n_clusters, {})
        return [f"Chosen: {shape_of(mine)}."] if "affine" in mine else [], []
    named = ", ".join(f"--clusters {k}{' (this one)' * (k == n_clusters)}" for k in answers)
    return [selection["fact"]], [f"Worth a look: {named}."]


def _sizes(summary: dict[str, Any], *, known: bool) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of a table of the clusters; known: whether classes are.

    The number of variables is shown only if it was asked for: otherwise all have a loading.
    """
    names = ["cluster", "samples", "dims"]
    names += ["variables"] if summary["n_variables"] is not None else []
    rows = []
    for cluster in summary["clusters"]:
        counts = [str(cluster[name]) for name in names]
        counts[2] = "mean profile" if cluster["dims"] == 0 else counts[2]
        rows.append([*counts, _counted(cluster["classes"])] if known else counts)
    return [*names, "known classes"] if known else names, rows


def _lists(clusters: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of a table of the variables; both empty if none is named.

    One sample tells nothing of a group, so none is named for a cluster of one.
    """
    shown = [{name: _listed(cluster, name) for name in LISTS} for cluster in clusters]
    groups = [words for words, one in zip(shown, clusters, strict=True) if one["samples"] > 1]
    lists = [name for name in LISTS if any(words[name] for words in groups)]
    rows = [
        [
            str(one["cluster"]),
            *("one sample" if one["samples"] == 1 else words[name] for name in lists),
        ]
        for one, words in zip(clusters, shown, strict=True)
    ]
    return (["cluster", *(LISTS[name] for name in lists)], rows) if lists else ([], [])


def _listed(cluster: dict[str, Any], name: str) -> str:
    """Return the first variables of a list in words: "high CD3E, CD3D; low LYZ", or "LYZ, CD3E"."""
    variables = cluster[name][:SHOWN]
    if name != "sets_apart":
        return ", ".join(variables)
    if cluster["beyond_chance"] == 0:
        return "nothing beyond chance"
    directed = list(zip(cluster["direction"], variables, strict=False))
    parts = {side: [one for way, one in directed if way == side] for side in ("high", "low")}
    return "; ".join(f"{side} {', '.join(found)}" for side, found in parts.items() if found)


def _counted(classes: dict[str, int]) -> str:
    """Return the largest classes with their numbers of samples, and how many more there are."""
    parts = [f"{name} ({count})" for name, count in classes.items()]
    more = [f"{len(parts) - SHOWN} more"] if len(parts) > SHOWN + 1 else []
    return ", ".join([*parts[:SHOWN], *more] if more else parts)
