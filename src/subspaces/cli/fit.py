"""From a table to clusters, their variables and a model file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from subspaces.cli import _options as options
from subspaces.cli._say import as_json, note, say, say_json, say_table, working

FILES = ("labels.csv", "variables.csv", "model.npz", "summary.json", "report.html")
SHOWN = 3
TRUST = ("stability", "means_or_directions")
LISTS = {"sets_apart": "sets it apart", "varies": "varies within"}
PRESETS = ("expression",)


def fit(
    data: options.Data,
    clusters: Annotated[
        str,
        typer.Option(
            help="How many clusters: a number, or auto.", metavar="N|auto", show_default=False
        ),
    ],
    dims: Annotated[
        str | None,
        typer.Option(
            help="Dimension of the clusters: 2, one each as 1,2,2, or auto; 1 unless given.",
            metavar="N|N,N|auto",
            show_default=False,
        ),
    ] = None,
    variables: Annotated[
        str | None,
        typer.Option(
            help="Variables per dimension of a cluster: 50, one each as 20,50,50, or auto; "
            "all of them unless given.",
            metavar="N|N,N|auto",
            show_default=False,
        ),
    ] = None,
    max_clusters: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --clusters auto, try 1 to N clusters; 8 unless given.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    max_dims: options.MaxDims = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.", metavar="FOLDER")] = Path(
        "result"
    ),
    preset: Annotated[
        str | None,
        typer.Option(
            help="expression: intensities, logarithms, ratios or counts are recognised and brought "
            "to a log scale, samples centred, the 2000 genes that vary most kept; clusters are "
            "mean profiles (docs/recipes.md). --kind, --floor, --log, --no-log, --top-variables "
            "and --criterion overrule it.",
            metavar="expression",
            show_default=False,
        ),
    ] = None,
    labels: options.Labels = None,
    classes: options.Classes = None,
    ignore: options.Ignore = None,
    samples: options.Samples = options.Side.rows,
    floor: options.Floor = None,
    log: options.LogOrNot = None,
    kind: options.Kind = None,
    top_variables: options.TopVariables = None,
    scale: options.Scale = False,
    method: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(options.METHOD_NAMES[:-1])}.", metavar="NAME"),
    ] = "PSC",
    affine: options.Affine = False,
    normal_scores: options.NormalScores = False,
    criterion: Annotated[
        str,
        typer.Option(
            help="What PSC scores a sample by: auto, loo, likelihood, influence, hat, residual "
            "or loo_projection.",
            metavar="NAME",
        ),
    ] = "auto",
    seed: options.Seed = 0,
    stability: Annotated[
        bool,
        typer.Option(
            "--stability/--no-stability",
            help="Whether halves of the samples give the same clusters: 10 halvings, fewer (but at "
            "least 3) once 30 seconds are spent.",
        ),
    ] = True,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Write report.html.")] = True,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Find the clusters of a table, and the variables of each.

    Writes labels.csv (the cluster of each sample), variables.csv (what sets each cluster
    apart from the other samples, and what varies along its axes), model.npz (for subspaces
    predict), summary.json and report.html (a page about it all).

    \b
    Examples:
      subspaces fit data.csv --clusters 3 --dims 2 --out result/
      subspaces fit data.csv --clusters auto --dims auto --max-dims 10
      subspaces fit arrays.gct --classes a.cls --clusters 3 --preset expression
      subspaces fit genes.tsv --samples columns --ignore gene_name --clusters 4
    """
    conflicts = {"--scale": scale, "--affine": affine, "--method": method != "PSC"}
    _check_preset(preset, [name for name, given in conflicts.items() if given], kind)
    default_dims = None if preset else 1
    request: dict[str, Any] = {
        "n_clusters": options.one_or_auto(clusters, "--clusters"),
        "n_components": default_dims if dims is None else options.per_cluster(dims, "--dims"),
        "n_variables": None if variables is None else options.per_cluster(variables, "--variables"),
    }
    for option, name in (("--dims", "n_components"), ("--variables", "n_variables")):
        options.check_count(request[name], request["n_clusters"], option)
    options.check_limit(max_clusters, request["n_clusters"], "clusters")
    options.check_limit(max_dims, request["n_components"], "dims")
    _check_open(preset, request)
    options.check_known(criterion, options.CRITERIA, "--criterion")
    options.check_rival(options.method_named(method), **request, criterion=criterion)
    options.check_classes(labels, classes)
    if normal_scores and request["n_clusters"] != "auto":
        raise ValueError(
            "--normal-scores is for --clusters auto. Use --clusters auto, or leave it out"
        )
    left_out = options.names(ignore, labels)
    from subspaces.cli import _outputs

    _outputs.refuse_folder(out, FILES, force=force)
    from subspaces.cli import _fitting, _inputs, _trust

    posed = _fitting.Request(
        options.method_named(method),
        **request,
        limits=options.given(max_clusters=max_clusters, max_components=max_dims),
        affine=affine,
        criterion=criterion,
        margins="normal" if normal_scores else "data",
        seed=seed,
        preset=preset,
        scaler=options.given(
            kind=kind,
            floor=floor,
            log=None if log is None else "yes" if log else "no",
            n_genes=top_variables,
        )
        if preset
        else {},
    )
    with _outputs.staged(out, FILES, force=force) as stage:
        table = _inputs.read_input(data, samples, labels, classes, left_out)
        if preset:
            seen, preparation, heard = _fitting.prepared_by_preset(posed, table)
        else:
            seen, preparation = _inputs.prepared(table, floor, bool(log), top_variables, scale)
            heard = []
        table = replace(table, notes=seen.notes)
        preparation = replace(preparation, ignored=list(left_out) or None)
        with working(f"{posed.method} is clustering"):
            model, messages = _fitting.fitted(posed, seen, heard)
        trust = _trust.compare_with_k_means(model, seen)
        if stability:
            with working("Clustering halves of the samples"):
                trust = _trust.with_stability(trust, model, seen, seed)
        _fitting.attach(model, preparation, table, trust)
        summary = {"data": str(data), **_fitting.summary(posed, model, table, messages, trust)}
        _fitting.write(stage, model, table, as_json(summary))
        if page:
            _fitting.write_page(stage, model, table, data.name, trust)
        written = [name for name in FILES if (stage / name).exists()]
    for message in messages:
        note(f"Note: {message}")
    if as_document:
        say_json({**summary, "folder": str(out), "files": written})
        return
    show(summary)
    say(f"Wrote {', '.join(written)} in {out}")


def _check_preset(preset: str | None, conflicts: list[str], kind: str | None) -> None:
    options.check_known(preset, PRESETS, "--preset")
    options.check_known(kind, options.KINDS, "--kind")
    if preset and conflicts:
        raise ValueError(
            f"{conflicts[0]} and --preset {preset} exclude each other. Use one of the two"
        )
    if kind and not preset:
        raise ValueError("--kind is for --preset expression. Use --floor and --log without it")


def _check_open(preset: str | None, request: dict[str, Any]) -> None:
    """The preset keeps as many axes as the clusters need, so it has to be told their number."""
    if preset and request["n_clusters"] == "auto":
        raise ValueError(
            f"--clusters auto is not for --preset {preset}. Use --clusters 2, --clusters 3 and so "
            "on, and keep the one whose stability is best"
        )
    if preset and request["n_components"] == "auto":
        raise ValueError(
            f"--dims auto is not for --preset {preset}. Use a number, or leave --dims out"
        )


def show(summary: dict[str, Any]) -> None:
    """The clusters, and what speaks for them."""
    if summary["taken_for"]:
        say(summary["taken_for"])
    if summary["preparation"]:
        say(f"Prepared: {summary['preparation']}.")
    known = "in_right_cluster" in summary
    lists = [name for name in LISTS if any(cluster[name] for cluster in summary["clusters"])]
    headings = ["cluster", "samples", "dims", "variables", *["classes"] * known]
    rows = []
    for cluster in summary["clusters"]:
        counts = [str(cluster[name]) for name in headings[:4]]
        counts[2] = "mean profile" if cluster["dims"] == 0 else counts[2]
        held = [_counted(cluster["classes"])] if known else []
        rows.append([*counts, *held, *(", ".join(cluster[name][:SHOWN]) for name in lists)])
    say_table([*headings, *(LISTS[name] for name in lists)], rows, numbers=range(4))
    if known:
        right, agreement = summary["in_right_cluster"], summary["adjusted_rand"]
        say(f"Known classes: {right:.0%} in the right cluster, adjusted Rand {agreement:.3f}")
    chosen = summary["selection"] or {}
    if len(chosen.get("n_clusters", ())) > 1:
        say(f"Chosen: {chosen['verdict']}.")
    for name in TRUST:
        say(summary[name]["verdict"])


def _counted(classes: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in classes.items())
