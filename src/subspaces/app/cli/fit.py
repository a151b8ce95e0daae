"""The command ``fit``, which clusters a table and writes the results to a folder."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import flag, setting
from subspaces.app.cli._request import Asked, Request
from subspaces.app.cli._say import (
    as_json,
    as_warning,
    fitting_in,
    matched_classes,
    note,
    say,
    say_json,
    say_stability,
    say_table,
    what_was_written,
    working,
)

if TYPE_CHECKING:
    from subspaces.app.cli._fitting import Fitted
    from subspaces.app.cli._said import Said
    from subspaces.app.cli._trust import Trust
    from subspaces.diagnostics import Markers
    from subspaces.messages import Message
    from subspaces.named_table import Table

FILES = ("labels.csv", "variables.csv", "imputed.csv", "model.npz", "summary.json", "report.html")
# How many variables of each list, and how many classes of a cluster, the screen shows.
SHOWN = 3
# Codes of measures that are not worth a line: nothing was measured, or another line says it.
UNSAID = {"unmeasured", "one_cluster"}
# Codes of what halves say, which a number of clusters that they chose has said.
OF_HALVES = {"solid", "in_part", "noise_like"}
LISTS = {"sets_apart": "sets it apart", "varies": "varies within"}


@dataclass(frozen=True)
class Output:
    """The options on what is measured, and written."""

    out: Annotated[Path, setting("Folder for the results.", "FOLDER", shown=True)] = Path("result")
    stability: Annotated[
        bool,
        flag(
            "--stability/--no-stability",
            "Check whether halves of the samples give the same clusters. Makes 10 splits, or as "
            "few as 3 if that takes more than 30 seconds.",
            panel=options.OUTPUT,
        ),
    ] = True
    significance: Annotated[
        bool,
        flag(
            "--significance",
            "Test whether the clusters are more than chance. This clusters up to 99 random tables "
            "for comparison, so it is slow.",
            panel=options.OUTPUT,
        ),
    ] = False
    imputed: Annotated[
        bool,
        flag(
            "--imputed",
            "Write imputed.csv, the table with its missing values filled in.",
            panel=options.OUTPUT,
        ),
    ] = False
    markers: Annotated[
        bool | None,
        flag(
            "--markers/--no-markers",
            "Test which variables set each cluster apart, and write markers.csv, markers.gmt "
            "and .rnk files. On by default with --preset.",
            panel=options.OUTPUT,
        ),
    ] = None
    metadata: options.Metadata = None
    page: Annotated[bool, flag("--page/--no-page", "Write report.html.", panel=options.OUTPUT)] = (
        True
    )
    force: options.Force = False
    as_document: options.Json = False


def fit(
    *,
    asked: Asked,
    source: options.Source,
    values: options.ValuesOrPreset,
    search: options.Search,
    wanted: Output,
) -> None:
    """Find the clusters of a table, and the variables of each.

    Writes labels.csv (the cluster of each sample), variables.csv (what sets
    each cluster apart from the other samples, and what varies along its axes),
    model.npz (for subspaces predict), summary.json and report.html (a page
    with all results). With --markers or --preset, it also writes markers.csv
    (a test of each variable), and markers.gmt and markers_0.rnk, markers_1.rnk
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
    excluded["--imputed"] = wanted.imputed
    request = asked.request(search, values, excluded, significance=wanted.significance)
    read = (source.data, source.classes, wanted.metadata)
    _outputs.refuse_folder(wanted.out, FILES, force=wanted.force, read=read)
    with working("Starting"):
        from subspaces.app.cli import _inputs

    table, doubts = _inputs.read_input(source)
    metadata = _inputs.read_metadata(wanted.metadata, table.sample_names)
    with working("Starting"):
        from subspaces.app.cli import _markers

    files = (*FILES, *_markers.names(wanted.out))
    with _outputs.staged(wanted.out, files, force=wanted.force, read=read) as stage:
        found = _found(request, table, doubts, source, values, wanted)
        summary = _summary(request, table, source, found)
        _write(stage, table, source, wanted, found, summary, metadata)
        written = [*FILES, *_markers.names(stage)]
        written = [name for name in written if (stage / name).exists()]
    if wanted.as_document:
        found.said.say()
        say_json({**summary, "folder": str(wanted.out), "files": written})
        return
    _show(summary, found.said, wanted.out, written)


@dataclass(frozen=True)
class Found:
    """A fit, its model with all facts, how far to trust it, its markers, and what is said of it."""

    fitted: "Fitted"
    model: Any
    trust: "Trust"
    markers: "Markers | None"
    said: "Said"


def _found(
    request: Request,
    table: "Table",
    doubts: "list[Message]",
    source: options.Source,
    values: options.ValuesOrPreset,
    wanted: Output,
) -> Found:
    """Return what is found in a table; doubts: those about the table itself."""
    from subspaces.app.cli import _fitting, _markers, _trust
    from subspaces.app.cli._said import Said
    from subspaces.facts import with_facts
    from subspaces.psc.choice import verdict_of

    fitted = _fitting.fitted(request, table, source, values)
    settled = _settled(request, values)
    if fitted.preparation.taken_for:
        settled.add("scale")
    trust = _trust.trusted(request, table, fitted, settled, halve=wanted.stability)
    known: dict[str, Any] = {"preparation": fitted.preparation, "verdicts": trust.verdicts}
    model = with_facts(fitted.model, X=table.frame, **known)
    marked, further = None, list[Any]()
    if wanted.markers or (request.preset and wanted.markers is None):
        with working("Testing variables"):
            marked, further = _markers.find(model, table, request.search.seed)
    chosen = getattr(model, "selection_", None) or {}
    answer = verdict_of(chosen) if "against_one" in chosen else None
    told = [*doubts, *fitted.doubts, *trust.doubts, *further]
    said = Said(table.notes, told, settled, answer)
    return Found(fitted, with_facts(model, messages=said.kept), trust, marked, said)


def _settled(request: Request, values: options.ValuesOrPreset) -> set[str]:
    """Return the parameters that were typed, or that a preset sets, so that none advises them."""
    set_here = {
        "affine": request.affine is not False,
        "scale": values.scale is not None or bool(request.preset),
        "log": bool(values.log) or bool(request.preset),
        "n_clusters": request.n_clusters == "auto",
        "n_components": request.n_components == "auto",
        "significance": request.significance,
    }
    return {name for name, is_set in set_here.items() if is_set}


def _summary(
    request: Request, table: "Table", source: options.Source, found: Found
) -> dict[str, Any]:
    """Return the contents of summary.json."""
    from subspaces.app.cli import _inputs, _markers, _results

    summary = {
        "data": str(source.data),
        "sha256": _inputs.digest_of(source.data),
        "command": shlex.join(["subspaces", *sys.argv[1:]]),
        **_results.summary(request, found.model, table, found.said, found.trust, found.markers),
    }
    return summary | ({"markers": _markers.summary(found.markers)} if found.markers else {})


def _write(
    stage: Path,
    table: "Table",
    source: options.Source,
    wanted: Output,
    found: Found,
    summary: dict[str, Any],
    metadata: Any,
) -> None:
    """Write all files of the results into the folder ``stage``."""
    from subspaces.app.cli import _fitting, _markers, _results

    fitted, model = found.fitted, found.model
    if found.markers is not None:
        _markers.write(stage, found.markers)
    _results.write(stage, model, table, as_json(summary))
    if wanted.imputed:
        filled = _fitting.filled(fitted.model, fitted.table)
        _results.write_imputed(stage, filled, table, fitted.preparation, source.labels)
    if wanted.page:
        with working("Writing report.html"):
            said = (found.trust, found.markers, found.said)
            _results.write_page(stage, model, table, summary, *said, metadata)


def _show(summary: dict[str, Any], said: "Said", out: Path, written: list[str]) -> None:
    """Print summary.json for people: the gravest doubts, tables of the clusters, and verdicts.

    All in all there are MOST_LINES lines of words; what does not fit is on the page.
    """
    from subspaces.app.cli._inputs import what_was_prepared

    prepared = what_was_prepared(summary["taken_for"], summary["preparation"])
    answer, minor = _verdicts(summary)
    doubts = [as_warning(line) for line in said.shown]
    n_doubts = len(said.gravest)
    by_weight = [what_was_written(written, out), *answer[:1], *doubts[:1], *answer[1:], *prepared]
    by_weight += [*doubts[n_doubts:], *doubts[1:n_doubts], *minor]
    fitting = fitting_in(dict.fromkeys(by_weight))
    for line in filter(fitting.count, doubts):
        note(line)
    for line in filter(fitting.count, prepared):
        say(line)
    _show_tables(summary)
    for line in filter(fitting.count, [*answer, *minor]):
        say(line)
    left = len(by_weight) + len(said.lines) - len(doubts) - len(fitting)
    say(what_was_written(written, out, left))


def _show_tables(summary: dict[str, Any]) -> None:
    """Print the clusters with their sizes and variables, and the stability of other numbers."""
    clusters, chosen = summary["clusters"], summary["selection"] or {}
    known = "adjusted_rand" in summary
    say_table(*_sizes(summary, known=known), numbers=range(3), rest="labels.csv")
    headings, rows = _lists(clusters)
    if headings:
        say()
        say_table(headings, rows, numbers=(0,), rest="variables.csv")
    if "stability" in chosen:
        say_stability(chosen, len(clusters))


def _verdicts(summary: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the verdicts on the clusters, and those that matter less."""
    from subspaces.messages import silenced

    answer = [matched_classes(summary)] if "adjusted_rand" in summary else []
    chosen = _chosen(summary["selection"] or {}, len(summary["clusters"]))
    answer += chosen
    unsaid = UNSAID | silenced(each["code"] for each in summary["messages"])
    if "stability" in (summary["selection"] or {}) and chosen:
        unsaid |= OF_HALVES
    for name in ("stability", "significance"):
        if name in summary and summary[name]["code"] not in unsaid:
            answer.append(summary[name]["verdict"])
    if "outliers" in summary:
        answer.append(_unplaced(summary["outliers"]["samples"]))
    names = ("means_or_directions", "assumed", "markers")
    named = [summary[name] for name in names if name in summary]
    return answer, [each["verdict"] for each in named if each.get("code") not in UNSAID]


def _unplaced(names: list[str]) -> str:
    """Return a sentence on the samples in no cluster."""
    from subspaces.messages import listed

    if not names:
        return "No sample is an outlier."
    are = "sample is" if len(names) == 1 else "samples are"
    return f"{len(names)} {are} in no cluster ({listed(names)}). See labels.csv."


def _chosen(selection: dict[str, Any], n_clusters: int) -> list[str]:
    """Return a line on what was chosen, and the options that give the other numbers that it names.

    It is empty if nothing was.
    """
    from subspaces.app.report._names import also_try, answer_in_words

    tried = set(selection.get("n_clusters", ()))
    if "answers" not in selection:
        return [selection["verdict"]] if len(tried) > 1 else []
    answers = {each["n_clusters"]: each for each in selection["answers"]}
    if len(tried) < 2:
        mine = answers.get(n_clusters, {})
        words = f"The result is {answer_in_words(n_clusters, mine)}."
        return [words] if "affine" in mine else []
    others = also_try(selection, n_clusters, command=True)
    return [f"{selection['fact']} {others}".strip()]


def _sizes(summary: dict[str, Any], *, known: bool) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of a table of the clusters; known: whether classes are.

    The number of variables is shown only if it was asked for: otherwise all have a loading.
    """
    names = ["cluster", "samples", "dims"]
    names += ["variables"] if summary["n_variables"] is not None else []
    rows = []
    for cluster in summary["clusters"]:
        counts = [str(cluster[name]) for name in names]
        counts[2] = "0 (mean)" if cluster["dims"] == 0 else counts[2]
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
