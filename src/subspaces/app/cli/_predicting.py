"""The computations of the command ``predict``: loading a model and predicting clusters."""

from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.cli._outputs import settle
from subspaces.app.cli._results import sample_columns
from subspaces.app.cli._say import warn
from subspaces.estimators import PSC, load
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import samples_of
from subspaces.messages import listed
from subspaces.named_table import Table
from subspaces.preparation import match_variables

# A sample is far if its distance from the cluster is this many times the members' median one, and
# many are far if they are more than this share of all. Both are a choice: members are rarely 5
# times as far as their median.
FAR, MANY = 10.0, 0.1
# How many variables whose unit changed are named.
NAMED = 3


def read_model(path: Path) -> Any:
    """Return the model in a file; raise ValueError if it cannot be read, or has no clusters."""
    try:
        settle(path.parent)
        model = load(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{path} is a PCA, so it has no clusters. Give a model.npz from subspaces fit."
        )
    return model


def predicted_columns(model: SubspaceClusterer, table: Table) -> dict[str, list[Any]]:
    """Return columns with each sample's name, predicted cluster, class, probability and distance.

    The distance is that from the cluster, compared with its members' median one.

    The table holds raw values: the model prepares them.
    """
    names = variable_names(model)
    X = table.data if names is None else match_variables(table, names).frame
    labels = model.predict(X)
    is_known = isinstance(model, PSC) and model.fit_.leaves_noise
    known = model.predict_proba(X) if is_known else None
    columns = sample_columns(table, labels, known)
    if isinstance(model, PSC) and hasattr(model, "p_values_"):
        columns["p_value"] = model.p_values(X).tolist()
    ratios = samples_of(model, X).distance_ratios(labels)
    if ratios is not None:
        columns["distance_ratio"] = ratios.round(3).tolist()
        far = int(np.count_nonzero(ratios > FAR))
        if far > MANY * len(ratios):
            are, their = ("is", "its") if far == 1 else ("are", "their")
            warn(
                f"{far} of {len(ratios)} samples {are} more than {FAR:g} times as far from "
                f"{their} cluster as the samples of the fit. Check that both tables have the same "
                "units"
            )
    return columns


def variable_names(model: SubspaceClusterer) -> list[str] | None:
    """Return the names of the variables the model was fitted to; None if they had no names."""
    if hasattr(model, "preparation_"):
        return list(model.preparation_.needed)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def check_units(model: SubspaceClusterer, table: Table) -> None:
    """Raise ValueError for variables in another unit than in the fit; warn if one has none."""
    preparation = getattr(model, "preparation_", None)
    units = (preparation and preparation.units) or {}
    names = [name for name in units | dict(table.units) if name in table.variable_names]
    pairs = {name: (units.get(name), table.units.get(name)) for name in names}
    differ = [name for name, (then, now) in pairs.items() if then != now]
    changed = [name for name in differ if all(pairs[name])]
    changes = [
        f"{name} ({now or 'no unit'}, was {then or 'no unit'})"
        for name, (then, now) in pairs.items()
        if name in (changed or differ)
    ]
    fact = f"The units of {listed(changes, NAMED)} differ from those of the fit."
    if changed:
        raise ValueError(f"{fact} Convert the new table to the units of the fit.")
    if differ:
        warn(f"{fact} Check that the values are in the same units")


def marks(model: SubspaceClusterer) -> list[str]:
    """Return the marks of missing values, such as -999, in the table the model was fitted to."""
    preparation = getattr(model, "preparation_", None)
    return [] if preparation is None else preparation.missing or []
