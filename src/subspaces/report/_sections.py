"""The sections of the page: sentences, tables, and places where figures go."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subspaces.diagnostics import Stability
from subspaces.metrics import adjusted_rand_score, matched_accuracy
from subspaces.report import _figures, _tables
from subspaces.report._findings import Cluster, Findings
from subspaces.report._names import count, escape, number
from subspaces.selection import Selection

NAMED = 5


@dataclass(frozen=True)
class Draft:
    """What the sections are written from, and the figures they ask for as they are written."""

    found: Findings
    stability: Stability | None
    selection: Selection | None
    figures: dict[str, Any] = field(default_factory=dict)

    def figure(self, name: str, drawing: Any, label: str, caption: str = "") -> str:
        """Keep a figure; the place in the page where it goes."""
        self.figures[name] = drawing
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return (
            f'<figure><div class="figure" id="{name}" data-figure="{name}" role="img" '
            f'aria-label="{escape(label)}" style="height:{drawing.layout.height}px"></div>{below}'
            "</figure>"
        )


def in_short(draft: Draft) -> str:
    """What was run, on what, how long; the answer in a few numbers."""
    found, model = draft.found, draft.found.model
    n, p, seconds = len(found.labels), len(found.variable_names), model.record_.seconds
    method = type(model).__name__
    parameters = (
        (f"<code>{escape(name)}</code>", f"<code>{escape(_shortened(value))}</code>")
        for name, value in sorted(model.get_params(deep=False).items())
    )
    return (
        f"<p>{method} found {count(len(found.clusters), 'cluster')} in {count(n, 'sample')} of "
        f"{count(p, 'variable')}, in {_duration(seconds)}.</p>"
        f'<dl class="tiles">{"".join(_tile(*tile) for tile in _tiles(draft))}</dl>'
        f"<p>Run as <code>{escape(model)}</code></p>"
        "<details><summary>All parameters</summary>"
        f"{_tables.plain('Parameters of the estimator.', ['Parameter', 'Value'], parameters)}"
        "</details>"
    )


def _tiles(draft: Draft) -> list[tuple[str, str]]:
    found = draft.found
    tiles = [("Clusters", str(len(found.clusters)))]
    if found.common is None:
        tiles.append(("Dimensions", _span([c.dimension or 0 for c in found.clusters])))
    sizes = [len(loadings.places) for _, loadings in _tables.variable_groups(found)]
    tiles.append(("Variables each" if found.common is None else "Variables", _span(sizes)))
    if found.rivalry is not None:
        share = 100 * len(found.rivalry.between) / len(found.labels)
        tiles.append(("Between clusters", f"{share:.0f} %"))
    if found.classes is not None:
        tiles.append(("Agreement (ARI)", f"{adjusted_rand_score(found.classes, found.labels):.2f}"))
    if draft.stability is not None:
        tiles.append(("Stability", f"{draft.stability.stability:.2f}"))
    return [*tiles, ("Warnings", str(len(found.model.record_.messages)))]


def warnings(draft: Draft) -> str:
    """Every warning of the fit, and what is known of its stability."""
    messages = draft.found.model.record_.messages
    items = "".join(f"<li>{escape(_sentence(message))}</li>" for message in messages)
    said = f'<ul class="messages">{items}</ul>' if messages else "<p>The fit raised no warning.</p>"
    return said + _stability(draft.stability) + _starts_in_words(draft.found.model)


def _stability(stability: Stability | None) -> str:
    if stability is None:
        return (
            "<p>Whether other samples would give the same clusters was not measured: "
            "<code>subspaces.diagnostics.stability(model, X)</code> does, and "
            "<code>model.report(X, stability=...)</code> shows it here.</p>"
        )
    value = stability.stability
    verdict = "stable" if value >= 0.8 else "partly stable" if value >= 0.5 else "not stable"
    low, high = stability.per_resample.min(), stability.per_resample.max()
    return (
        f"<p>The clusters are <strong>{verdict}</strong>: models of two random halves agree with an "
        f"adjusted Rand index of {value:.2f} on average over "
        f"{count(len(stability.per_resample), 'split')} ({low:.2f} to {high:.2f}; 1 is perfect, "
        "0 chance).</p>"
    )


def _starts_in_words(model: Any) -> str:
    rows = getattr(model, "starts_", [])
    values = [row["merit"] if "merit" in row else -row["log_likelihood"] for row in rows]
    finite = np.array([value for value in values if np.isfinite(value)])
    if len(finite) < 2:
        return ""
    same = int(np.count_nonzero(np.isclose(finite, finite.min(), rtol=1e-6)))
    hint = (
        " A single start reached it: more starts (<code>n_init</code>) might find a better one."
        if same == 1
        else ""
    )
    return f"<p>{same} of {count(len(values), 'start')} reached the best end.{hint}</p>"


def clusters(draft: Draft) -> str:
    """How large each cluster is, and each in its own subspace."""
    found = draft.found
    table = _tables.cluster_sizes(found)
    if found.common is not None:
        method = type(found.model).__name__
        chart = _figures.strongest_variables(found, found.common, _figures.COLOURS[0])
        return (
            f"{table}<p>{method} separates its clusters by their centres: they are no subspaces "
            "with axes to draw. All of them share the variables below.</p>"
            f"{draft.figure('weights', chart, 'Weights of the strongest variables')}"
        )
    cards = "".join(_card(draft, cluster) for cluster in found.clusters)
    return (
        f"{table}<p>Each cluster along the axes of its own subspace, with its strongest variables. "
        "In brackets: the share of an axis in what the subspace catches. Point at a mark to see the "
        f'sample.{_thinning(found)}</p><div class="cards">{cards}</div>'
    )


def _card(draft: Draft, cluster: Cluster) -> str:
    k, dimension = cluster.number, cluster.dimension or 0
    toggle = (
        f'<button type="button" data-space="space-{k}" aria-controls="own-{k}" '
        'aria-pressed="false" hidden>In three dimensions</button>'
        if dimension >= 3 and len(cluster.members) and cluster.coordinates is not None
        else ""
    )
    return (
        f'<article class="card" aria-labelledby="cluster-{k}"><header><h3 id="cluster-{k}">'
        f'{_tables.swatch(k)}Cluster {k}</h3><span class="quiet small">'
        f"{count(len(cluster.members), 'sample')}, {count(dimension, 'dimension')}</span>{toggle}"
        f'</header><div class="pair">{_own(draft, cluster)}{_strongest(draft, cluster)}</div>'
        "</article>"
    )


def _own(draft: Draft, cluster: Cluster) -> str:
    k, found = cluster.number, draft.found
    if not len(cluster.members):
        return "<p>No sample is in this cluster.</p>"
    if cluster.coordinates is None:
        return "<p>So many samples are not kept with the model: give X to draw them.</p>"
    if cluster.dimension == 0:
        return "<p>A point, its centre: there is no axis to draw.</p>"
    if cluster.dimension >= 3:
        draft.figures[f"space-{k}"] = _figures.own_subspace(found, cluster, three=True)
    label = f"Members of cluster {k} along the axes of its subspace"
    return draft.figure(f"own-{k}", _figures.own_subspace(found, cluster), label)


def _strongest(draft: Draft, cluster: Cluster) -> str:
    if cluster.loadings is None or not len(cluster.loadings.places):
        return "<p>No variable has a loading.</p>"
    k, kept = cluster.number, len(cluster.loadings.places)
    chart = _figures.strongest_variables(draft.found, cluster.loadings, _figures.colour(k))
    first = min(kept, _figures.STRONGEST)
    caption = f"The {first} strongest of {kept:,} variables." if first < kept else ""
    return draft.figure(f"loadings-{k}", chart, f"Strongest variables of cluster {k}", caption)


def samples(draft: Draft) -> str:
    """Which samples sit between clusters, which are influential."""
    table = _tables.samples(draft.found)
    return f"{_between(draft)}{_influential(draft)}<h3>Look up a sample</h3>{table}"


def _between(draft: Draft) -> str:
    found, rivalry = draft.found, draft.found.rivalry
    if rivalry is None:
        if len(found.clusters) == 1:
            return "<p>There is one cluster only, and nothing to sit between.</p>"
        return "<p>The scores of so many samples are not kept with the model: give X to see them.</p>"
    near = rivalry.between
    share = (
        f"{len(near):,} of {count(len(found.labels), 'sample')} "
        f"({100 * len(near) / len(found.labels):.2g} %) {'sits' if len(near) == 1 else 'sit'} "
        f"between clusters: {_few(found, near)}."
        if len(near)
        else "No sample sits between clusters."
    )
    label = "Score of each sample under its own cluster against the best other cluster"
    caption = (
        f"A score is {_unit(found)} of a sample under a cluster; lower is nearer. A sample on the "
        "dotted line is as near to another cluster as to its own."
        f"{_thinning(found)}"
    )
    drawing = _figures.between_clusters(found)
    return f"<h3>Between clusters</h3><p>{share}</p>{draft.figure('between', drawing, label, caption)}"


def _unit(found: Findings) -> str:
    if found.likelihoods:
        return "minus the log density"
    if "influence" in getattr(found.model, "criterion_", ""):
        return "the squared predictive influence"
    return "the squared distance" if found.influence is None else "the squared error"


def _influential(draft: Draft) -> str:
    found = draft.found
    if found.influence is None:
        method = type(found.model).__name__
        return f"<h3>Influence</h3><p>{method} does not measure the influence of samples; PSC does.</p>"
    order = np.argsort(-found.influence, kind="stable")
    alone = int(np.count_nonzero(~np.isfinite(found.influence)))
    caption = "How strongly a sample pulls the subspace of its cluster towards itself." + (
        f" {count(alone, 'sample')} alone along an axis: influence without bound, not drawn."
        if alone
        else ""
    )
    drawing = _figures.influence(found)
    label = "Influence of each sample on its cluster"
    return (
        f"<h3>Influence</h3><p>The most influential: {_few(found, order[:NAMED])}. Check them first: "
        "the subspaces depend on them most.</p>"
        f"{draft.figure('influence', drawing, label, caption)}"
    )


def variables(draft: Draft) -> str:
    """The variables of each cluster."""
    if not any(len(loadings.places) for _, loadings in _tables.variable_groups(draft.found)):
        return "<p>No variable has a loading.</p>"
    return _tables.variables(draft.found)


def agreement(draft: Draft) -> str | None:
    """Known classes beside the clusters; left out where none are known."""
    found = draft.found
    if found.classes is None:
        return None
    index = adjusted_rand_score(found.classes, found.labels)
    right = 100 * matched_accuracy(found.classes, found.labels)
    return (
        f"<p>Adjusted Rand index {index:.2f} (1 is perfect, 0 chance); {right:.0f} % of the samples "
        "are in the cluster that matches their class best, one cluster to a class.</p>"
        f"{_tables.contingency(found)}"
    )


def choice(draft: Draft) -> str | None:
    """What was chosen and by what; left out where the caller chose."""
    chosen, model = draft.selection, draft.found.model
    if chosen is not None:
        return _selection(draft, chosen)
    table = getattr(model, "selection_", None)
    if table is None:
        return None
    if "gaps" in table:
        drawing = _figures.curve(
            np.asarray(table["bounds"]), np.asarray(table["gaps"]), model.bound_, "bound", "gap"
        )
        words = f"The bound on the weights was chosen: {number(model.bound_)}."
    else:
        words = _chosen_in_words(draft.found)
        if len(table["n_clusters"]) < 2:
            return f"<p>{words}</p>"
        tried = np.asarray(table["n_clusters"])
        values = np.asarray(table["likelihood"], dtype=float)
        drawing = _figures.curve(tried, values, len(draft.found.clusters), "clusters", "likelihood")
    label = "Criterion against the candidates"
    return f"<p>{words}</p>{draft.figure('choice', drawing, label, 'The ring marks the choice.')}"


def _chosen_in_words(found: Findings) -> str:
    names = {"n_clusters": "the number of clusters", "n_components": "their dimensions"}
    names["n_variables"] = "the number of variables to an axis"
    left_open = [name for name in names if _is_auto(getattr(found.model, name, None))]
    words = " and ".join(names[name] for name in left_open)
    dimensions = ", ".join(str(c.dimension) for c in found.clusters)
    variables = found.model.n_variables_ if "n_variables" in left_open else None
    counted = f", {count(variables, 'variable')} to an axis" if variables is not None else ""
    return (
        f"Left open, and chosen here: {words}. The choice: {count(len(found.clusters), 'cluster')} "
        f"of dimension {dimensions}{counted}."
    )


def _selection(draft: Draft, chosen: Selection) -> str:
    columns = chosen.columns
    margin = (
        f" The runner-up is behind by {100 * chosen.margin_:.0f} % of the spread."
        if np.isfinite(chosen.margin_)
        else ""
    )
    words = f"<p>Chosen by {escape(chosen.criterion)}: {escape(chosen.best_)}.{margin}</p>"
    if "cluster" in columns:
        value = next((name for name in ("press", "eigenvalue") if name in columns), None)
        if value is None:
            return words
        drawing = _figures.curves(columns, value)
    else:
        parameter = next(iter(columns))
        drawing = _figures.curve(
            columns[parameter], columns[chosen.criterion], chosen.best_, parameter, chosen.criterion
        )
    label = "Criterion against the candidates"
    return words + draft.figure("choice", drawing, label, "Rings mark the choice.")


def way(draft: Draft) -> str:
    """How the search went: objective path and starts."""
    model = draft.found.model
    path = getattr(model, "objective_path_", None)
    title = "objective"
    if path is None:
        path, title = getattr(model, "log_likelihood_path_", None), "log likelihood"
    parts = []
    reason = getattr(model, "stop_reason_", None)
    if reason is not None:
        parts.append(f"<p>{STOPS.get(reason, f'Stopped: {escape(reason)}.')}</p>")
    if path is not None and len(path) > 1:
        label = f"The {title} from sweep to sweep"
        parts.append(draft.figure("path", _figures.path(np.asarray(path), title), label))
    elif path is not None:
        parts.append(f"<p>One sweep was enough: {title} {number(float(path[0]))}.</p>")
    rows = getattr(model, "starts_", [])
    if rows:
        parts.append(f"<h3>Starts</h3>{_tables.starts(rows)}")
    if not parts:
        method = type(model).__name__
        parts.append(f"<p>{method} has one answer: no sweeps, no starts to show.</p>")
    return "".join(parts)


STOPS = {
    "converged": "The best start ended where no label moved any more.",
    "cycle": "The best start came back to labels it had had before, and the best of them was kept.",
    "max_iter": "The best start was stopped before it had settled.",
    "infeasible": "No start could keep all clusters alive.",
    "local minimum": "The best start ended where moving any single sample makes it worse.",
}

SECTIONS: dict[str, tuple[str, Callable[[Draft], str | None]]] = {
    "summary": ("In short", in_short),
    "warnings": ("Warnings and stability", warnings),
    "clusters": ("The clusters", clusters),
    "samples": ("The samples", samples),
    "variables": ("The variables", variables),
    "agreement": ("Known classes", agreement),
    "choice": ("What was chosen", choice),
    "way": ("How the search went", way),
}


def _tile(name: str, value: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def _few(found: Findings, rows: Any) -> str:
    """Some samples by name, and how many more."""
    names = ", ".join(f'<bdi class="name">{escape(found.sample_names[i])}</bdi>' for i in rows[:NAMED])
    return names + (f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else "")


def _thinning(found: Findings) -> str:
    shown = sum(len(_figures.thinned(found, c.members)) for c in found.clusters)
    if shown == len(found.labels):
        return ""
    return (
        f" Drawn are {shown:,} of {len(found.labels):,} samples, at random, the most influential and "
        "the nearest to another cluster among them."
    )


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{max(seconds, 0.001):.2g} seconds"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} seconds"


def _sentence(message: str) -> str:
    """A message with a capital and a full stop; names in code keep theirs."""
    text = message.strip()
    starts_a_word = text.split("=")[0].isidentifier() and "=" in text.split(" ")[0]
    text = text if starts_a_word else text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
