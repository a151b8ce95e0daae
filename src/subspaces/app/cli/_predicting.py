"""The computations of the command ``predict``: loading a model and predicting clusters."""

from pathlib import Path
from typing import Any

from subspaces.app.cli._outputs import settle
from subspaces.app.cli._results import sample_columns
from subspaces.app.cli._say import warn
from subspaces.estimators import load
from subspaces.estimators._base import SubspaceClusterer
from subspaces.named_table import Table
from subspaces.preparation import match_variables


def read_model(path: Path) -> Any:
    """Return the model in a file; raise ValueError if it cannot be read, or has no clusters."""
    try:
        settle(path.parent)
        model = load(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds a PCA, which has no clusters. Use it in Python")
    return model


def predicted_columns(model: SubspaceClusterer, table: Table) -> dict[str, list[Any]]:
    """Return columns with each sample's name, predicted cluster, class and ambiguity.

    The table holds raw values: the model prepares them.
    """
    names = variable_names(model)
    X = table.data if names is None else match_variables(table, names).frame
    if names is not None and table.left_out:
        _warn_of_left_out(table.left_out)
    return sample_columns(model, table, X, model.predict(X))


def variable_names(model: SubspaceClusterer) -> list[str] | None:
    """Return the names of the variables the model was fitted to; None if they had no names."""
    if hasattr(model, "preparation_"):
        return list(model.preparation_.needed)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def _warn_of_left_out(names: tuple[str, ...]) -> None:
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    columns, are = ("1 column", "is") if len(names) == 1 else (f"{len(names)} columns", "are")
    warn(f"{columns} that the model does not know {are} left out ({shown})")
