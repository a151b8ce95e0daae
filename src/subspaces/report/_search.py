"""What was chosen, by what, and how the search went."""

from typing import Any

import numpy as np

from subspaces.report import _figures, _tables
from subspaces.report._draft import Draft
from subspaces.report._findings import Findings
from subspaces.report._names import count, escape, number
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
        words = _chosen_in_words(draft.found)
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
    return words + draft.figure("candidates", drawing, label, "Rings mark the choice.")


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


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
