"""What `predict` computes."""

from pathlib import Path
from typing import Any

from subspaces.cli._outputs import settle
from subspaces.cli._say import note
from subspaces.diagnostics import ambiguity
from subspaces.estimators import PSC, load
from subspaces.metrics import adjusted_rand_score, matched_accuracy
from subspaces.preparation import match_variables
from subspaces.tables import Table


def read_model(path: Path) -> Any:
    """A model file; one that cannot be read is bad input."""
    try:
        settle(path.parent)
        return load(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error


def predicted(model: Any, table: Table) -> dict[str, Any]:
    """Columns of the answer: sample, cluster, the known class, and how sure it is."""
    X = _rows(model, table)
    columns: dict[str, Any] = {
        "sample": list(table.sample_names),
        "cluster": model.predict(X).tolist(),
    }
    if table.classes is not None:
        columns["class"] = list(table.classes)
    if isinstance(model, PSC) and len(model.subspaces_) > 1:
        columns["ambiguity"] = ambiguity(model, X).tolist()
    return columns


def agreement(table: Table, clusters: list[int]) -> dict[str, float]:
    """How far the clusters match the known classes."""
    if table.classes is None:
        return {}
    return {
        "adjusted_rand": float(adjusted_rand_score(table.classes, clusters)),
        "in_right_cluster": float(matched_accuracy(table.classes, clusters)),
    }


def wanted(model: Any) -> list[str] | None:
    """The variables that a model takes; None for one that was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def _rows(model: Any, table: Table) -> Any:
    """The columns that the model takes; it prepares them itself."""
    names = wanted(model)
    if names is None:
        return table.data
    matched = match_variables(table, names)
    if table.left_out:
        shown = ", ".join(table.left_out[:5]) + (", ..." if len(table.left_out) > 5 else "")
        some = "1 column" if len(table.left_out) == 1 else f"{len(table.left_out)} columns"
        verb = "is" if len(table.left_out) == 1 else "are"
        note(f"Note: {some} that the model does not know {verb} left out ({shown})")
    return matched.frame
