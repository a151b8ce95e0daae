"""HTML of the report's sections "What was chosen" and "How the search went"."""

from typing import Any

import numpy as np

from subspaces._types import Labels
from subspaces.app.report import _figures, _tables
from subspaces.app.report._draft import Draft
from subspaces.app.report._findings import Findings
from subspaces.app.report._names import (
    answer_in_words,
    count,
    dimensions_of,
    duration,
    escape,
    number,
)
from subspaces.app.report._overview import small_picture
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.halving import stability_table
from subspaces.messages import in_a_row
from subspaces.runtime.warning import collect_warnings
from subspaces.selection import Selection

# What each stop reason means.
STOPS = {
    "converged": "The fit converged: no label changed any more.",
    "cycle": "The labels went back and forth, so we kept the best ones.",
    "restless": "The fit was stopped when at most 1 % of the labels still changed.",
    "overshot": "The last iteration was no better, so we kept the one before.",
    "refined": "A mixture model refined the labels.",
    "max_iter": "The fit was stopped before it converged.",
    "infeasible": "Every start ended with an empty cluster.",
    "local minimum": "The fit converged: moving any single sample makes it worse.",
}
# Stop reasons of starts that were not taken to the end.
UNFINISHED = ("brief", "not swept")
LABEL = "Criterion of each candidate"
CRITERION = "How far each candidate is behind the best (smaller is better)."
# Candidates to list, and the largest table (values) for which other answers are drawn.
SHOWN, MOST_VALUES = 20, 200_000


def choice(draft: Draft) -> str | None:
    """Return the HTML of "What was chosen"; None if nothing was left for the model to choose."""
    chosen, model = draft.selection, draft.found.model
    if chosen is not None:
        return _selection(draft, chosen)
    table = getattr(model, "selection_", None)
    if table is None:
        return None
    if "answers" in table:
        return _candidates(draft, table)
    if "gaps" in table:
        drawing = _figures.curve(
            np.asarray(table["bounds"]), np.asarray(table["gaps"]), model.bound_, "bound", "gap"
        )
        words = f"The chosen bound on the weights is {number(model.bound_)}."
    else:  # the command line chose the number of clusters of a recipe, or on normal scores
        verdict = table.get("verdict")
        words = _chosen_in_words(draft.found) + (f" {escape(verdict)}" if verdict else "")
        if len(table["n_clusters"]) < 2:
            return f"<p>{words}</p>"
        tried = np.asarray(table["n_clusters"])
        by = "stability" if "stability" in table else "likelihood"
        values = np.asarray(table[by], dtype=float)
        drawing = _figures.curve(tried, values, len(draft.found.clusters), "clusters", by)
    figure = draft.figure("candidates", drawing, LABEL, "The ring marks the choice.")
    if "stability" in table:
        return f'<p>{words}</p><div class="pair">{figure}{_stability_of_numbers(table)}</div>'
    return f"<p>{words}</p>{figure}"


def _stability_of_numbers(table: dict[str, Any]) -> str:
    """Return a table of how far halves agree on each number of clusters."""
    headings, rows = stability_table(table)
    caption = (
        "We split the samples in half, and chose genes, axes and clusters separately in each half. "
        "The agreement is the adjusted Rand index of their labels for all samples (1 is perfect, "
        "0 is chance). The column Weakest cluster is the share of sample pairs that stay together "
        "in the least stable cluster. It should be 0.8 or more."
    )
    return _tables.simple(caption, [name.capitalize() for name in headings], rows)


def _chosen_in_words(found: Findings) -> str:
    """Return the sentence on what was left open, and the answer."""
    names = {
        "n_clusters": "the number of clusters",
        "n_components": "the dimensions",
        "n_variables": "the number of variables per axis",
    }
    model, k = found.model, len(found.clusters)
    sizes = [c.dimension or 0 for c in found.clusters]
    left_open = [name for name in names if str(getattr(model, name, None)) == "auto"]
    result = answer_in_words(k, {"n_components": sizes, "affine": model.affine_})
    if "n_variables" in left_open and model.n_variables_ is not None:
        result += f", with {count(model.n_variables_, 'variable')} per axis"
    if left_open:
        return f"PSC chose {in_a_row([names[name] for name in left_open])}: {result}."
    if str(getattr(model, "affine", None)) == "auto" and any(sizes):
        which = "around their means" if model.affine_ else "through the origin"
        words = f"{count(k, 'cluster')} of {dimensions_of(sizes)}"
        return f"PSC chose subspaces {which}: {words}."
    return f"The result is {result}."


def _candidates(draft: Draft, table: dict[str, Any]) -> str:
    """Return the HTML on a choice of `PSC`: words, answers as pictures, and all that was tried."""
    words = f"<p>{_chosen_in_words(draft.found)} {escape(table['fact'])}</p>"
    answers = table["answers"]
    if len(answers) > 1:
        items = "".join(_answer(draft, each) for each in answers)
        words += (
            "<p>These answers are worth a look, the simplest first. To get another answer, "
            f"{'add the option' if draft.origin else 'fit the model'} that is written below it.</p>"
            f'<ul class="answers">{items}</ul>'
        )
    if len(table["cost"]) > 1:
        words += f"<details><summary>All candidates</summary>{_ranked(table)}</details>"
    return words


def _answer(draft: Draft, answer: dict[str, Any]) -> str:
    """Return an answer in words, and as a picture if the table is at hand and small."""
    found, k = draft.found, answer["n_clusters"]
    words, is_chosen = answer_in_words(k, answer), k == len(found.clusters)
    words += " (chosen)" if is_chosen else ""
    drawn = ""
    if found.rows is not None and found.rows.size <= MOST_VALUES and found.picture is not None:
        labels = found.labels if is_chosen else _labels_of(draft, answer)
        drawn = small_picture(found, labels)
    kind = ' class="chosen"' if is_chosen else ""
    how = f"--clusters {k}" if draft.origin else " ".join(repr(PSC(**answer)).split())
    return f"<li{kind}>{drawn}<span>{words}</span><br><code>{escape(how)}</code></li>"


def _labels_of(draft: Draft, answer: dict[str, Any]) -> Labels:
    """Return the clusters of another answer, found as a fit with its numbers finds them."""
    if answer["n_clusters"] == 1:
        return np.zeros(len(draft.found.labels), dtype=int)
    with collect_warnings():
        other = PSC(**{**draft.found.model.get_params(), "init": "portfolio", **answer})
        return np.asarray(other.fit(draft.found.rows).labels_)


def _ranked(table: dict[str, Any]) -> str:
    """Return a table of the best candidates of each shape."""
    columns = (table[name] for name in ("difference", "n_clusters", "n_components", "affine"))
    rows: dict[str, float] = {}
    for behind, k, sizes, affine in sorted(zip(*columns, strict=True)):
        answer = {"n_components": sizes, "affine": affine}
        rows.setdefault(answer_in_words(k, answer), behind)
    ranked = [[words, number(behind)] for words, behind in list(rows.items())[:SHOWN]]
    return _tables.simple(CRITERION, ["Model", "Behind the best"], ranked)


def _selection(draft: Draft, chosen: Selection) -> str:
    columns = chosen.columns
    verdict = escape(getattr(chosen, "verdict", ""))
    words = f"<p>Chosen by {escape(chosen.criterion)}: {escape(chosen.best_)}. {verdict}</p>"
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
        if chosen.criterion == "stability":
            words += _stability_of_numbers(columns)
    return words + draft.figure("candidates", drawing, LABEL, "Rings mark the choice.")


def search(draft: Draft) -> str:
    """Return the HTML of "How the search went": duration, stop reason, starts, parameters."""
    model = draft.found.model
    parameters = (
        (f"<code>{escape(name)}</code>", f"<code>{escape(_shortened(value))}</code>")
        for name, value in sorted(model.get_params(deep=False).items())
    )
    table = _tables.simple("Parameters of the estimator.", ["Parameter", "Value"], parameters)
    return (
        f"<p>The fit took {duration(model.record_.seconds)}. The call was "
        f"<code>{escape(' '.join(repr(model).split()))}</code></p>{_starts_in_words(model)}"
        f"{_path_and_starts(model)}<h3>Parameters</h3>{table}"
    )


def _path_and_starts(model: SubspaceClusterer) -> str:
    """Return the HTML on the best start's stop reason, and a table of all starts."""
    parts = []
    reason = getattr(model, "stop_reason_", None)
    rows = getattr(model, "starts_", [])
    if reason is not None:
        went_on = "The fit went on from the best start. " * (
            bool(rows) and reason not in [row["stop_reason"] for row in rows]
        )
        parts.append(f"<p>{went_on}{STOPS.get(reason, f'Stopped: {escape(reason)}.')}</p>")
    if rows:
        if isinstance(model.get_params().get("init"), str):
            called = {"labels": "the automatic choice"}
            rows = [{**row, "start": called.get(row["start"], row["start"])} for row in rows]
        parts.append(f"<h3>Starts</h3>{_tables.starts(rows)}")
    if not parts:
        method = type(model).__name__
        parts.append(f"<p>{method} does not store how its search went.</p>")
    return "".join(parts)


def _starts_in_words(model: SubspaceClusterer) -> str:
    rows = [row for row in getattr(model, "starts_", []) if row["stop_reason"] not in UNFINISHED]
    values = [row["merit"] if "merit" in row else -row["log_likelihood"] for row in rows]
    finite = np.array([value for value in values if np.isfinite(value)])
    if len(finite) < 2:
        return ""
    same = int(np.count_nonzero(np.isclose(finite, finite.min(), rtol=1e-6)))
    hint = ""
    if same == 1:
        hint = " More starts (<code>n_init</code>) might find a better result."
    ended = count(len(values), "start")
    return f"<p>{same} of {ended} that finished reached the best result.{hint}</p>"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
