"""What `fit` computes and writes, in terms of the library."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from subspaces import recipes
from subspaces._extras import install
from subspaces.cli._outputs import as_csv
from subspaces.cli._say import note
from subspaces.cli._trust import Trust
from subspaces.cli._words import in_options
from subspaces.comparison import METHODS, Setting
from subspaces.core.contrast import means_and_spread
from subspaces.core.hearing import hearing
from subspaces.diagnostics import ambiguity
from subspaces.estimators import PSC, SparseKMeans
from subspaces.metrics import adjusted_rand_score, matched_accuracy
from subspaces.preparation import Preparation, attach_preparation, prepare
from subspaces.selection import select_n_clusters
from subspaces.tables import Table

STRONGEST = 5


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    ``scaler`` overrules the preset's preparation; ``limits`` say how far "auto" looks.
    """

    method: str
    n_clusters: Any
    n_components: Any
    n_variables: Any
    affine: bool
    criterion: str
    seed: int
    margins: str = "data"
    preset: str | None = None
    scaler: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)


def estimator(request: Request, table: Table) -> Any:
    """The estimator that does it."""
    if request.preset:
        return _recipe(request)[-1]
    if request.method == "PSC":
        return PSC(
            request.n_clusters,
            n_components=request.n_components,
            n_variables=request.n_variables,
            affine=request.affine,
            criterion=request.criterion,
            random_state=request.seed,
            **request.limits,
        )
    given, k = request.n_components, request.n_clusters
    dimensions = given if isinstance(given, list) else [given] * k
    rank = min(len(table.data) - 1, table.data.shape[1])
    rival = METHODS[request.method](Setting(k, dimensions, request.affine, request.seed, rank))
    return (
        rival if request.n_variables is None else rival.set_params(n_variables=request.n_variables)
    )


def _recipe(request: Request) -> Any:
    recipe = recipes.expression(
        request.n_clusters,
        n_components=request.n_components,
        n_variables=request.n_variables,
        random_state=request.seed,
    )
    recipe[0].set_params(**request.scaler)
    if request.criterion != "auto":
        recipe[-1].set_params(criterion=request.criterion)
    return recipe


def prepared_by_preset(request: Request, table: Table) -> tuple[Table, Preparation, list[Warning]]:
    """The table as the preset wants it, what was done, and warnings."""
    with hearing() as heard:
        scaler = _recipe(request)[0].fit(table.data)
    preparation = recipes.as_preparation(scaler, table.variable_names)
    return prepare(table, preparation), preparation, heard


def attach(model: Any, preparation: Preparation, table: Table, trust: Trust) -> None:
    """Let the model take the raw table from here on, and keep how far to trust it.

    A part of the samples that was kept along some axes has no spread of its own, so that what sets
    clusters apart is measured on the samples before that.
    """
    attach_preparation(model, preparation)
    record = model.record_
    messages = tuple(dict.fromkeys((*table.notes, *record.messages)))
    model.record_ = replace(record, messages=messages, verdicts=trust.verdicts)
    if preparation.axes is not None:
        whole = prepare(table, replace(preparation, axes=None)).data
        n_clusters = len(model.cluster_means_)
        found = means_and_spread(whole, model.labels_, n_clusters)
        model.cluster_means_, model.within_std_ = found


def fitted(request: Request, table: Table, before: Sequence[Warning] = ()) -> tuple[Any, list[str]]:
    """The model and what was warned of, in its fit and before."""
    model = estimator(request, table)
    with hearing() as heard:
        if request.margins == "normal":
            model = _chosen_on_normal_scores(model, table)
        else:
            model.fit(table.frame)
    told = tuple(dict.fromkeys(str(warning) for warning in before))
    model.record_ = replace(model.record_, messages=told + model.record_.messages)
    return model, list(dict.fromkeys(in_options(str(warning)) for warning in [*before, *heard]))


def _chosen_on_normal_scores(model: Any, table: Table) -> Any:
    """The model with the number of clusters that normal scores ask for, fitted to the table."""
    most = min(model.max_clusters, max(len(table.data) // 4, 1))
    found = select_n_clusters(model, table.frame, range(1, most + 1), margins="normal")
    columns = {name: found.columns[name].tolist() for name in ("difference", "standard_error")}
    chosen = found.best_estimator_.set_params(n_clusters="auto")
    chosen.selection_ = {
        "n_clusters": found.columns["n_clusters"].tolist(),
        "likelihood": found.columns[found.criterion].tolist(),
        **columns,
        "verdict": found.verdict,
    }
    return chosen


def summary(
    request: Request, model: Any, table: Table, messages: list[str], trust: Trust
) -> dict[str, Any]:
    """What was asked, what was found."""
    preparation: Preparation | None = getattr(model, "preparation_", None)
    found = {
        "subspaces": version("subspaces"),
        "samples": len(table.data),
        "variables": model._n_variables,
        "taken_for": preparation.taken_for if preparation else None,
        "preparation": str(preparation or ""),
        **asdict(request),
        **(_settled_by_preset(model) if request.preset else {}),
        "clusters": [_cluster(model, table, k) for k in range(int(model.labels_.max()) + 1)],
        "press": getattr(model, "press_", None),
        "objective": float(model.objective_),
        "stop_reason": getattr(model, "stop_reason_", None),
        "selection": getattr(model, "selection_", None),
        **trust.found,
        "seconds": model.record_.seconds,
        "warnings": [*map(in_options, table.notes), *messages],
    }
    if table.classes is not None:
        found["adjusted_rand"] = float(adjusted_rand_score(table.classes, model.labels_))
        found["in_right_cluster"] = float(matched_accuracy(table.classes, model.labels_))
    return found


def _settled_by_preset(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in ("n_components", "affine", "criterion")}


def _cluster(model: Any, table: Table, k: int) -> dict[str, Any]:
    lists = _lists(model, k)
    members = model.labels_ == k
    found = {
        "cluster": k,
        "samples": int(members.sum()),
        "dims": lists.loadings.shape[1],
        "variables": len(lists.within if len(lists.within) else lists.apart),
        "sets_apart": _named(model, lists.apart[:STRONGEST]),
        "varies": _named(model, lists.within[:STRONGEST]) if lists.loadings.shape[1] else [],
    }
    if table.classes is not None:
        kinds, counts = np.unique(np.array(table.classes)[members], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        found["classes"] = {str(kinds[i]): int(counts[i]) for i in order}
    return found


def _named(model: Any, places: Any) -> list[str]:
    return [str(model._variable_names[j]) for j in places]


@dataclass(frozen=True)
class Lists:
    """The two lists of a cluster, as columns: what sets it apart, and what varies within it.

    apart, within (m,): the variables of each, the strongest first; difference, effect, share (p,):
    their sizes, nan where they are not known; loadings (p, r). SparseKMeans has its weights, which
    all clusters share, in place of shares along axes.
    """

    apart: Any
    within: Any
    difference: Any
    effect: Any
    share: Any
    loadings: Any


def _lists(model: Any, k: int) -> Lists:
    unknown = np.full(model._n_variables, np.nan)
    apart, difference, effect = np.zeros(0, dtype=int), unknown, unknown
    if model._knows_differences:
        found = model._contrast(k)
        apart, difference, effect = found.order, found.difference, found.effect
    if isinstance(model, SparseKMeans):
        share, loadings = model.weights_, np.empty((len(model.weights_), 0))
    else:
        flat = model.subspaces_[k]
        loadings, strength = flat.basis, flat.basis**2 @ flat.spectrum
        share = strength / (strength.sum() or 1.0) if loadings.shape[1] else unknown
    order = np.argsort(-share, kind="stable")
    return Lists(apart, order[share[order] > 0], difference, effect, share, loadings)


def _between(model: Any, table: Table) -> Any:
    """How nearly each sample sits between two clusters, where that is defined."""
    if model.labels_.max() == 0 or not isinstance(model, PSC):
        return None
    return ambiguity(model, table.frame)


def labels_csv(model: Any, table: Table) -> str:
    """The cluster of each sample and how sure it is."""
    columns: dict[str, Any] = {"sample": table.sample_names, "cluster": model.labels_.tolist()}
    if table.classes is not None:
        columns["class"] = table.classes
    between = _between(model, table)
    if between is not None:
        columns["ambiguity"] = between.tolist()
    if hasattr(model, "influence_"):
        columns["influence"] = model.influence_.tolist()
    return as_csv(list(columns), zip(*columns.values(), strict=True))


def variables_csv(model: Any, table: Table) -> str:
    """Both lists of each cluster: what varies within it, the strongest first, then the others."""
    parts = [_lists(model, k) for k in range(int(model.labels_.max()) + 1)]
    widest = max(lists.loadings.shape[1] for lists in parts)
    rows = [
        [k, str(model._variable_names[j]), *sizes, centre[j], *map(float, lists.loadings[j])]
        for (k, lists), centre in zip(enumerate(parts), _centres(model), strict=True)
        for j, sizes in _sizes(lists)
    ]
    headings = ["cluster", "variable", "apart_rank", "difference", "effect", "within_rank", "share"]
    headings += ["centre", *(f"loading_{r + 1}" for r in range(widest))]
    return as_csv(headings, ([*row, *[""] * (len(headings) - len(row))] for row in rows))


def _sizes(lists: Lists) -> Iterator[tuple[int, list[Any]]]:
    """Each variable of either list: its ranks and sizes there, empty where there are none."""
    apart = {j: rank for rank, j in enumerate(lists.apart.tolist(), start=1)}
    within = {j: rank for rank, j in enumerate(lists.within.tolist(), start=1)}
    for j in dict.fromkeys([*within, *apart]):
        numbers = [lists.difference[j], lists.effect[j], lists.share[j]]
        difference, effect, share = ["" if np.isnan(value) else value for value in numbers]
        yield j, [apart.get(j, ""), difference, effect, within.get(j, ""), share]


def _centres(model: Any) -> list[list[float]]:
    if isinstance(model, SparseKMeans):
        return model.cluster_centers_.tolist()
    return [flat.centre.tolist() for flat in model.subspaces_]


def write(stage: Path, model: Any, table: Table, summary: str) -> None:
    """All files of a fit."""
    (stage / "labels.csv").write_text(labels_csv(model, table), encoding="utf-8")
    (stage / "variables.csv").write_text(variables_csv(model, table), encoding="utf-8")
    (stage / "summary.json").write_text(summary + "\n", encoding="utf-8")
    model.save(stage / "model.npz")


def in_words_of_the_command(model: Any) -> Any:
    """A copy of the model whose messages speak of options, for a page that a command writes."""
    told = copy(model)
    messages = dict.fromkeys(map(in_options, model.record_.messages))
    told.record_ = replace(model.record_, messages=tuple(messages))
    return told


def write_page(stage: Path, model: Any, table: Table, title: str, trust: Trust) -> None:
    """The page about it all, where the library that draws it is installed."""
    if find_spec("plotly") is None:
        note(f"Note: report.html needs plotly. {install('report')}")
        return
    in_words_of_the_command(model).report(
        table.frame,
        stage / "report.html",
        classes=table.classes,
        title=title,
        stability=trust.measured,
    )
