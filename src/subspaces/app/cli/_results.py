"""Results of ``fit`` and ``predict`` as columns, as a summary, and as files."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from subspaces._types import Array, Codes, Indices
from subspaces.app.cli._outputs import as_csv
from subspaces.app.cli._request import Request
from subspaces.app.cli._said import Said, with_options
from subspaces.app.cli._say import can_draw
from subspaces.app.cli._trust import Trust
from subspaces.app.overlap import overlap
from subspaces.diagnostics import Markers
from subspaces.diagnostics._beyond_chance import apart_of
from subspaces.estimators import PSC, SparseKMeans
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import Facts, facts_of, samples_of, with_facts
from subspaces.metrics import adjusted_rand_score, matched_accuracy
from subspaces.named_table import Table, missing_values
from subspaces.preparation import Preparation, filled_in_raw_units, match_variables

# Decimals of probabilities in files.
DECIMALS = 6
# How many variables of each list a summary names.
STRONGEST = 5


def sample_columns(
    table: Table, clusters: Codes, probabilities: Array | None
) -> dict[str, list[Any]]:
    """Return columns with each sample's name, cluster, known class, and how sure the cluster is.

    probabilities (n, K): None if the method has none. The second cluster is the next probable one,
    of an outlier the most probable one.
    """
    columns = {"sample": list(table.sample_names), "cluster": clusters.tolist()}
    if table.classes is not None:
        columns["class"] = list(table.classes)
    gaps = missing_values(table.data)
    if gaps is not None:
        columns["missing"] = gaps.of_samples.tolist()
    if probabilities is not None and probabilities.shape[1] > 1:
        rows, others = np.arange(len(clusters)), probabilities.copy()
        inside = clusters >= 0
        others[rows[inside], clusters[inside]] = -1.0
        own = np.where(inside, probabilities[rows, clusters].round(DECIMALS), np.nan)
        columns["probability"] = known_or_blank(own)
        columns["second_cluster"] = others.argmax(axis=1).tolist()
    return columns


def known_or_blank(values: Array) -> list[Any]:
    """Return the numbers of a column of a file, "" for nan."""
    return ["" if np.isnan(value) else value for value in values.tolist()]


def agreement(table: Table, clusters: Codes | Sequence[int]) -> dict[str, Any]:
    """Return the adjusted Rand index and matched accuracy of the clusters; {} without classes.

    Samples without a class or a cluster do not count. If there are more classes than clusters, the
    accuracy is None, and the `Overlap` of both is returned, too.
    """
    if table.classes is None:
        return {}
    classes = np.array(table.classes)
    known = (classes != "") & (np.asarray(clusters) >= 0)
    if not known.any():
        return {}
    pair = (classes[known], np.asarray(clusters)[known])
    n_classes, n_clusters = (len(set(labels.tolist())) for labels in pair)
    index = {"adjusted_rand": float(adjusted_rand_score(*pair))}
    if n_classes > n_clusters:
        return {**index, "in_right_cluster": None, "overlap": overlap(*pair)}
    return {**index, "in_right_cluster": float(matched_accuracy(*pair))}


def summary(
    request: Request,
    model: Any,  # of attributes that not every estimator has
    table: Table,
    said: Said,
    trust: Trust,
    markers: Markers | None = None,
) -> dict[str, Any]:
    """Return the contents of summary.json: the options, the clusters, trust and warnings."""
    preparation: Preparation | None = getattr(model, "preparation_", None)
    facts = facts_of(model)
    by_preset = ("n_components", "affine", "criterion") if request.preset else ()
    return {
        "subspaces": version("subspaces"),
        "samples": len(table.data),
        "variables": facts.n_variables,
        "missing": float(np.isnan(table.data).mean()),
        "taken_for": preparation.taken_for if preparation else None,
        "preparation": str(preparation or ""),
        **request.entries,
        **{name: getattr(model, name) for name in by_preset},
        "criterion_": getattr(model, "criterion_", None),
        "clusters": [_cluster(facts, table, k, markers) for k in range(_n_clusters(model))],
        "press": getattr(model, "press_", None),
        "objective": float(model.objective_),
        "stop_reason": getattr(model, "stop_reason_", None),
        "selection": getattr(model, "selection_", None),
        **_outliers(model, table),
        **trust.found,
        "seconds": model.record_.seconds,
        "warnings": said.lines,
        "messages": said.entries,
        **agreement(table, model.labels_),
    }


def _outliers(model: Any, table: Table) -> dict[str, Any]:
    """Return the entry on outliers, the most unusual first; {} if they were not looked for."""
    if not hasattr(model, "p_values_"):
        return {}
    places = np.flatnonzero(model.labels_ < 0)
    places = places[np.argsort(model.p_values_[places], kind="stable")].tolist()
    names = [str(table.sample_names[i]) for i in places]
    return {"outliers": {"threshold": model.outlier_threshold_, "samples": names}}


def _n_clusters(model: SubspaceClusterer) -> int:
    return int(model.labels_.max()) + 1


def _cluster(facts: Facts, table: Table, k: int, markers: Markers | None) -> dict[str, Any]:
    lists, names = _lists(facts, k), facts.names
    members = facts.model.labels_ == k
    found = {
        "cluster": k,
        "samples": int(members.sum()),
        "dims": lists.loadings.shape[1],
        "variables": len(lists.within if len(lists.within) else lists.apart),
        **_sets_apart(facts, k, markers),
        "varies": [names[j] for j in lists.within[:STRONGEST]] if lists.loadings.shape[1] else [],
    }
    if table.classes is not None:
        kinds, counts = np.unique(np.array(table.classes)[members], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        found["classes"] = {str(kinds[i]): int(counts[i]) for i in order if kinds[i]}
    return found


def _sets_apart(facts: Facts, k: int, markers: Markers | None) -> dict[str, Any]:
    """Return what sets a cluster apart beyond chance: names, directions, and how many there are.

    The number is None if differences, or their standard deviations, are not known.
    """
    if facts.contrasts is None:
        return {"sets_apart": [], "direction": [], "beyond_chance": None}
    found = apart_of(facts.contrasts[k], facts.names, k, markers)
    shown = min(found.n_sure, STRONGEST)
    return {
        "sets_apart": found.names[:shown],
        "direction": ["high" if way > 0 else "low" for way in found.difference[:shown]],
        "beyond_chance": found.n_sure if found.sizes_known else None,
    }


@dataclass(frozen=True)
class Lists:
    """The two lists of a cluster: the variables that set it apart, and those that vary within it.

    apart, within (m,): column indices of each list, the strongest first. difference, effect (p,):
    of the means, in units and in standard deviations; share (p,): of the energy within the
    subspace; nan if not known. loadings (p, r). For SparseKMeans, share holds the weights, which
    all clusters have in common, and r is 0.
    """

    apart: Indices
    within: Indices
    difference: Array
    effect: Array
    share: Array
    loadings: Array


def _lists(facts: Facts, k: int) -> Lists:
    model = facts.model
    unknown = np.full(facts.n_variables, np.nan)
    apart, difference, effect = np.zeros(0, dtype=int), unknown, unknown
    if facts.contrasts is not None:
        found = facts.contrasts[k]
        apart, difference, effect = found.order, found.difference, found.effect
    share: Array
    loadings: Array
    if isinstance(model, SparseKMeans):
        share, loadings = model.weights_, np.empty((len(model.weights_), 0))
    else:
        subspace = model.subspaces_[k]
        loadings, strength = subspace.basis, subspace.basis**2 @ subspace.spectrum
        share = strength / (strength.sum() or 1.0) if loadings.shape[1] else unknown
    order = np.argsort(-share, kind="stable")
    return Lists(apart, order[share[order] > 0], difference, effect, share, loadings)


def write(stage: Path, model: SubspaceClusterer, table: Table, summary: str) -> None:
    """Write labels.csv, variables.csv, summary.json and model.npz into the folder ``stage``."""
    (stage / "labels.csv").write_text(_labels_csv(model, table), encoding="utf-8")
    (stage / "variables.csv").write_text(_variables_csv(model, table), encoding="utf-8")
    (stage / "summary.json").write_text(summary + "\n", encoding="utf-8")
    model.save(stage / "model.npz")


def write_imputed(
    stage: Path, filled: Any, table: Table, preparation: Preparation, labels: str | None
) -> None:
    """Write imputed.csv: the variables that were kept, in the units of the table.

    Values of the table are written to the last digit, those that fill its gaps with six digits.
    labels: the name of the column of known classes, so that the same command reads the file; None
    for "class".
    """
    kept = match_variables(table, preparation.variable_names)
    values = filled_in_raw_units(kept.data, filled, preparation)
    named: dict[str, Any] = {"name" if labels == "sample" else "sample": kept.sample_names}
    if kept.classes is not None:
        named[labels or "class"] = kept.classes
    gaps = np.isnan(kept.data)
    columns = [list(map(_digits, *column)) for column in zip(values.T, gaps.T, strict=True)]
    text = as_csv([*named, *kept.variable_names], zip(*named.values(), *columns, strict=True))
    (stage / "imputed.csv").write_text(text, encoding="utf-8")


def _digits(value: float, gap: np.bool_) -> str:
    digits = 6 if gap else None
    return np.format_float_positional(value, digits, fractional=not gap, trim="-")


def _labels_csv(model: SubspaceClusterer, table: Table) -> str:
    known = None
    if isinstance(model, PSC) and model.fit_.leaves_noise:
        known = samples_of(model, table.frame).probabilities
    columns = sample_columns(table, model.labels_, known)
    if hasattr(model, "influence_"):
        columns["influence"] = known_or_blank(model.influence_)
    if hasattr(model, "p_values_"):
        columns["p_value"] = model.p_values_.tolist()
    return as_csv(list(columns), zip(*columns.values(), strict=True))


def _variables_csv(model: SubspaceClusterer, table: Table) -> str:
    """Return the text of variables.csv: a row per cluster and variable, strongest within first.

    Variables that set a cluster apart without varying within it come last.
    """
    facts = facts_of(model)
    parts, names = [_lists(facts, k) for k in range(_n_clusters(model))], facts.names
    widest = max(lists.loadings.shape[1] for lists in parts)
    rows = [
        [k, names[j], *sizes, centre[j], *map(float, lists.loadings[j])]
        for (k, lists), centre in zip(enumerate(parts), _centres(model), strict=True)
        for j, sizes in _sizes(lists)
    ]
    headings = ["cluster", "variable", "apart_rank", "difference", "effect", "within_rank", "share"]
    headings += ["centre", *(f"loading_{r + 1}" for r in range(widest))]
    rows = [[*row, *[""] * (len(headings) - len(row))] for row in rows]
    gaps = missing_values(table.data)
    if gaps is not None:
        share = dict(zip(table.variable_names, gaps.of_variables.tolist(), strict=True))
        headings, rows = [*headings, "missing"], [[*row, share[row[1]]] for row in rows]
    return as_csv(headings, rows)


def _sizes(lists: Lists) -> Iterator[tuple[int, list[Any]]]:
    """Yield the column index of each variable in either list, and its cells of variables.csv.

    The cells are apart rank, difference, effect, within rank and share, "" if not known.
    """
    apart = {j: rank for rank, j in enumerate(lists.apart.tolist(), start=1)}
    within = {j: rank for rank, j in enumerate(lists.within.tolist(), start=1)}
    for j in dict.fromkeys([*within, *apart]):
        numbers = [lists.difference[j], lists.effect[j], lists.share[j]]
        difference, effect, share = ["" if np.isnan(value) else value for value in numbers]
        yield j, [apart.get(j, ""), difference, effect, within.get(j, ""), share]


def _centres(model: SubspaceClusterer) -> list[list[float]]:
    if isinstance(model, SparseKMeans):
        return model.cluster_centers_.tolist()
    return [subspace.centre.tolist() for subspace in model.subspaces_]


def write_page(
    stage: Path,
    model: SubspaceClusterer,
    table: Table,
    summary: dict[str, Any],
    trust: Trust,
    markers: Markers | None,
    said: Said,
    metadata: Any,
) -> None:
    """Write report.html into the folder ``stage``; without plotly, warn and write nothing."""
    if not can_draw():
        return
    with_messages_of_options(model, said.settled).report(
        table.frame,
        stage / "report.html",
        classes=table.classes,
        title=Path(summary["data"]).name,
        stability=trust.measured,
        markers=markers,
        metadata=metadata,
        origin=origin_of(summary),
    )


def origin_of(summary: dict[str, Any]) -> dict[str, str]:
    """Return where a model comes from, as its page tells it; summaries may be of older versions."""
    heads = {"command": "Command", "data": "Table", "sha256": "SHA-256 of the table"}
    return {head: summary[name] for name, head in heads.items() if summary.get(name)}


def with_messages_of_options(model: SubspaceClusterer, settled: Collection[str] = ()) -> Any:
    """Return a copy of the model whose warnings name options, such as --dims, not parameters.

    settled: parameters that the user has set, on which there is no advice.
    """
    return with_facts(model, messages=with_options(model.record_.warned, settled))
