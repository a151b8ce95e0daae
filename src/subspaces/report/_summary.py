"""What was run, the answer in short, and what to be wary of."""

from typing import Any

import numpy as np

from subspaces.diagnostics import Stability
from subspaces.metrics import adjusted_rand_score
from subspaces.report import _tables
from subspaces.report._draft import Draft
from subspaces.report._names import count, escape


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
        f"{count(p, 'variable')}, in {_duration(seconds)}.{_preparation(model)}</p>"
        f'<dl class="tiles">{"".join(_tile(*tile) for tile in _tiles(draft))}</dl>'
        f"<p>Run as <code>{escape(' '.join(repr(model).split()))}</code></p>"
        "<details><summary>All parameters</summary>"
        f"{_tables.plain('Parameters of the estimator.', ['Parameter', 'Value'], parameters)}"
        "</details>"
    )


def _preparation(model: Any) -> str:
    """What was done to the values before, as a sentence."""
    words = escape(getattr(model, "preparation_", ""))
    return f" The values were prepared first: {words}." if words else ""


def _tiles(draft: Draft) -> list[tuple[str, str]]:
    found = draft.found
    tiles = [("Clusters", str(len(found.clusters)))]
    if found.common is None:
        tiles.append(("Dimensions", _span([c.dimension or 0 for c in found.clusters])))
    sizes = [cluster.n_variables for cluster in found.clusters]
    if found.common is not None:
        sizes = [len(found.common.places)]
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
        f"<p>The clusters are <strong>{verdict}</strong>: models of two random halves agree with "
        f"an adjusted Rand index of {value:.2f} on average over "
        f"{count(len(stability.per_resample), 'split')} ({low:.2f} to {high:.2f}; 1 is perfect, "
        "0 chance).</p>"
    )


UNFINISHED = ("brief", "not swept")


def _starts_in_words(model: Any) -> str:
    rows = [row for row in getattr(model, "starts_", []) if row["stop_reason"] not in UNFINISHED]
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
    ended = count(len(values), "start")
    return f"<p>{same} of {ended} taken to the end reached the best one.{hint}</p>"


def _tile(name: str, value: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


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
