"""HTML of the report's sections "In short" and "Warnings"."""

from collections.abc import Iterable, Sequence

from subspaces.app.report._draft import Draft
from subspaces.app.report._findings import Findings
from subspaces.app.report._missing import missing_section
from subspaces.app.report._names import count, escape
from subspaces.diagnostics import means_or_directions
from subspaces.estimators._base import SubspaceClusterer
from subspaces.messages import Message, percent
from subspaces.metrics import adjusted_rand_score

UNMEASURED = (
    "We have not measured whether other samples would give the same clusters. Run "
    "<code>subspaces.diagnostics.stability(model, X)</code> and pass the result: "
    "<code>model.report(X, stability=...)</code>."
)


def summary(draft: Draft) -> str:
    """Return the HTML of "In short": a few numbers on the clusters, and how far to trust them."""
    found, model = draft.found, draft.found.model
    n, p, method = len(found.labels), len(found.variable_names), type(model).__name__
    verdicts = "".join(f"<li>{verdict}</li>" for verdict in _verdicts(draft))
    return (
        f"<p>{method} found {count(len(found.clusters), 'cluster')} in {count(n, 'sample')} of "
        f"{count(p, 'variable')}{_outliers(found)}.</p>{_preparation(model)}"
        f'<dl class="tiles">{"".join(tile(*each) for each in _tiles(draft))}</dl>'
        f'<h3>How far to trust this</h3><ul class="verdicts">{verdicts}</ul>'
    )


def _outliers(found: Findings) -> str:
    """Return how many samples are in no cluster; "" if these were not looked for."""
    if found.p_values is None:
        return ""
    return f", and {count(len(found.outliers), 'outlier')} in no cluster"


def _preparation(model: SubspaceClusterer) -> str:
    """Return the HTML on how values were prepared before clustering; "" if they were not."""
    preparation = getattr(model, "preparation_", None)
    if preparation is None:
        return ""
    taken_for = f"{escape(preparation.taken_for)} " if preparation.taken_for else ""
    return f"<p>{taken_for}How the values were prepared: {escape(preparation)}.</p>"


def _verdicts(draft: Draft) -> list[str]:
    """Return sentences, as HTML, on how far to trust the clusters.

    They are those of the caller's stability and those kept with the model. If none are kept and X
    is given, whether K-means finds the same clusters is measured here.
    """
    model = draft.found.model
    kept = model.record_.verdicts
    verdicts = [] if draft.stability is None else [draft.stability.verdict]
    verdicts += kept
    if not kept and draft.data is not None:
        verdicts.append(means_or_directions(model, draft.data).verdict)
    unmeasured = [] if draft.stability or kept else [UNMEASURED]
    return unmeasured + [escape(verdict) for verdict in dict.fromkeys(verdicts)]


def _tiles(draft: Draft) -> list[tuple[str, str]]:
    found = draft.found
    tiles = [("Clusters", str(len(found.clusters)))]
    if found.common is None:
        tiles.append(("Dimensions", _dimensions([c.dimension or 0 for c in found.clusters])))
        tiles.append(("Variables each", _span([c.n_variables for c in found.clusters])))
    else:
        tiles.append(("Variables", f"{len(found.common.places):,}"))
    if draft.stability is not None and len(found.clusters) > 1:
        tiles.append(("Stability", f"{draft.stability.stability:.2f}"))
    if found.classes is not None:
        tiles.append(("Agreement (ARI)", f"{adjusted_rand_score(*found.known):.2f}"))
    if found.p_values is not None:
        tiles.append(("Outliers", f"{len(found.outliers):,}"))
    if found.missing is not None:
        tiles.append(("Values missing", percent(found.missing.share)))
    return tiles + tile_of_warnings(found.model.record_.warned)


def tile_of_warnings(warned: Iterable[Message]) -> list[tuple[str, str]]:
    """Return the tile with the number of warnings, notes aside, in a list; [] if there are none."""
    doubts = sum(each.kind != "note" for each in warned)
    return [("Warnings", str(doubts))] if doubts else []


def warnings(draft: Draft) -> str | None:
    """Return the HTML list of all warnings of the fit; None if there are none."""
    return list_of_warnings(draft.found.model.record_.warned)


def missing(draft: Draft) -> str | None:
    """Return the HTML of "What is missing"; None if nothing is, or X was not given."""
    found = draft.found
    done = (
        "Missing values were skipped, not filled in. Leave-one-out errors are therefore "
        "approximate."
    )
    return missing_section(found.missing, found.sample_names, found.variable_names, done)


def list_of_warnings(messages: Sequence[Message]) -> str | None:
    """Return the HTML list of messages as sentences; None if there are none."""
    if not messages:
        return None
    items = "".join(f"<li>{escape(message)}</li>" for message in messages)
    return f'<ul class="messages">{items}</ul>'


def tile(name: str, value: str) -> str:
    """Return the HTML of a name with its value, one of the tiles at the top of a page."""
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def _dimensions(values: list[int]) -> str:
    if max(values) == 0:
        return "mean profiles"
    return f"mean profile to {max(values):,}" if min(values) == 0 else _span(values)


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
