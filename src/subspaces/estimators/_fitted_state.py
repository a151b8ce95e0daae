"""The fitted attributes of a model as a file holds them.

Which attributes an estimator has, of what type and shape, its class says by annotations. What a
`Fit` tells is written once, with it.
"""

from copy import copy
from typing import Any, get_type_hints

import numpy as np

from subspaces.core.array import in_main_memory
from subspaces.preparation import attach_preparation
from subspaces.runtime.fitted import fit_of, is_fitted_name
from subspaces.runtime.serialise import Sizes, fits

# Attributes that only some models of a class have.
OPTIONAL = {
    "cluster_means_", "feature_names_in_", "fit_", "n_components_", "outlier_threshold_",
    "p_values_", "preparation_", "probabilities_", "score_variance_", "selection_", "subspaces_",
    "within_std_", "_names_handed_on",
}  # fmt: skip


def fitted_state(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model by name, as `save` writes them into a file.

    With a preparation, ``n_features_in_`` and ``feature_names_in_`` in the file describe the
    clustered variables, as all arrays do; `restore` restores those of the raw samples.
    """
    told, hints = _told_by_fit(model), get_type_hints(type(model))
    unknown = [name for name in vars(model) if name.endswith("_") and name not in {*told, *hints}]
    if unknown:
        kind = type(model).__name__
        raise TypeError(
            f"{unknown[0]} is not an attribute of {kind}. Delete it, or save the model with joblib."
        )
    kept = {name: value for name, value in fit_of(model).items() if name not in {*told, "_home"}}
    state = {name: in_main_memory(value) for name, value in kept.items()}
    if "fit_" in state:
        state["fit_"] = state["fit_"].in_memory()
    if "preparation_" in state:
        names = np.array(model.preparation_.variable_names, dtype=object)
        state |= {"feature_names_in_": names, "n_features_in_": len(names)}
        state.pop("_names_handed_on", None)
    return state


def restore(model: Any, state: dict[str, Any]) -> None:
    """Give an unfitted model the attributes of a file; raise ValueError unless they are its own.

    With a preparation among them, the model takes raw samples from then on.
    """
    hints = get_type_hints(type(model), include_extras=True)
    sizes: Sizes = {}
    for name, value in state.items():
        known = name in hints and is_fitted_name(name)
        if not known or not fits(value, hints[name], sizes):
            raise ValueError(name)
    vars(model).update(state)
    vars(model).update(_told_by_fit(model))
    for name in hints:
        if is_fitted_name(name) and name not in OPTIONAL and not hasattr(model, name):
            raise ValueError(name)
    if "preparation_" in state:
        if not set(model.preparation_.variable_names) <= set(model.preparation_.needed):
            raise ValueError("preparation_")
        attach_preparation(model, model.preparation_)


def with_arrays_in_memory(model: Any) -> Any:
    """Return a copy of a model with numpy arrays in place of those of Dask or of a device."""
    fetched = copy(model)
    vars(fetched).update({name: in_main_memory(v) for name, v in fit_of(model).items()})
    return fetched


def _told_by_fit(model: Any) -> dict[str, Any]:
    """Return the attributes that follow from ``fit_``; empty for models without one."""
    return model._attributes_of_fit() if "fit_" in vars(model) else {}
