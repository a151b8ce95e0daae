"""What was chosen, by what, and how the search went."""

from typing import Any

import numpy as np

from subspaces.report import _figures, _tables
from subspaces.report._draft import Draft
from subspaces.report._findings import Findings
from subspaces.report._names import count, dimension, duration, escape, number, sentence
from subspaces.selection import Selection

STOPS = {
    "converged": "The best start ended where no label moved any more.",
    "cycle": "The best start came back to labels it had had before, and the best of them was kept.",
    "overshot": "The best start settled in a worse partition than one before, which was kept.",
    "refined": "The labels of the best start were refined by a mixture.",
    "max_iter": "The best start was stopped before it had settled.",
    "infeasible": "No start could keep all clusters alive.",
    "local minimum": "The best start ended where moving any single sample makes it worse.",
}


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
        verdict = table.get("verdict")
        words = _chosen_in_words(draft.found) + (f" {escape(sentence(verdict))}" if verdict else "")
        if len(table["n_clusters"]) < 2:
            return f"<p>{words}</p>"
        tried = np.asarray(table["n_clusters"])
        values = np.asarray(table["likelihood"], dtype=float)
        drawing = _figures.curve(tried, values, len(draft.found.clusters), "clusters", "likelihood")
    label = "Criterion against the candidates"
    return (
        f"<p>{words}</p>{draft.figure('candidates', drawing, label, 'The ring marks the choice.')}"
    )


def _chosen_in_words(found: Findings) -> str:
    names = {"n_clusters": "the number of clusters", "n_components": "their dimensions"}
    names["n_variables"] = "the number of variables to an axis"
    left_open = [name for name in names if _is_auto(getattr(found.model, name, None))]
    words = " and ".join(names[name] for name in left_open)
    dimensions = ", ".join(dimension(c.dimension or 0) for c in found.clusters)
    variables = found.model.n_variables_ if "n_variables" in left_open else None
    counted = f", {count(variables, 'variable')} to an axis" if variables is not None else ""
    return (
        f"Left open, and chosen here: {words}. The choice: {count(len(found.clusters), 'cluster')} "
        f"({dimensions}){counted}."
    )


def _selection(draft: Draft, chosen: Selection) -> str:
    columns = chosen.columns
    verdict = getattr(chosen, "verdict", None)
    margin = ""
    if verdict:
        margin = f" {escape(sentence(verdict))}"
    elif np.isfinite(chosen.margin_):
        margin = f" The runner-up is behind by {100 * chosen.margin_:.0f} % of the spread."
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
    return words + draft.figure("candidates", drawing, label, "Rings mark the choice.")


def way(draft: Draft) -> str:
    """How the search went, for those who want to know: folded away, at the end."""
    model = draft.found.model
    parameters = (
        (f"<code>{escape(name)}</code>", f"<code>{escape(_shortened(value))}</code>")
        for name, value in sorted(model.get_params(deep=False).items())
    )
    table = _tables.plain("Parameters of the estimator.", ["Parameter", "Value"], parameters)
    return (
        f"<p>The fit took {duration(model.record_.seconds)}. It was run as "
        f"<code>{escape(' '.join(repr(model).split()))}</code></p>"
        f"{_starts_in_words(model)}{_path_and_starts(draft)}<h3>Parameters</h3>{table}"
    )


def _path_and_starts(draft: Draft) -> str:
    """The objective from sweep to sweep, and where each start ended."""
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


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
