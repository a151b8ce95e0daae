"""The fitted attributes of a model as a file holds them.

Which attributes an estimator has, of what type and shape, its class says by annotations. What a
`Fit` tells is written once, with it.
"""

from copy import copy
from typing import Any, get_type_hints

import numpy as np

from subspaces.core.array import in_main_memory
from subspaces.preparation import Preparation, attach_preparation, steps_of
from subspaces.runtime.fitted import fit_of, is_fitted_name
from subspaces.runtime.serialise import Sizes, fits

# Attributes that only some models of a class have.
OPTIONAL = {
    "cluster_means_", "feature_names_in_", "fit_", "n_components_", "preparation_", "subspaces_",
    "within_std_", "_names_handed_on",
}  # fmt: skip


def fitted_state(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model by name, as `save` writes them into a file.

    With a preparation, ``n_features_in_`` and ``feature_names_in_`` in the file describe the
    clustered variables, as all arrays do; `restore` restores those of the raw samples.
    """
    told = _told_by_fit(model)
    kept = {name: value for name, value in fit_of(model).items() if name not in {*told, "_home"}}
    state = {name: in_main_memory(value) for name, value in kept.items()}
    if "fit_" in state:
        state["fit_"] = state["fit_"].in_memory()
    if "preparation_" in state:
        names = np.array(model.preparation_.variable_names, dtype=object)
        state |= {"feature_names_in_": names, "n_features_in_": len(names)}
        state["preparation_"] = steps_of(model.preparation_)
        state.pop("_names_handed_on", None)
    return state


def restore(model: Any, state: dict[str, Any]) -> None:
    """Give an unfitted model the attributes of a file; raise ValueError unless they are its own.

    With a preparation among them, the model takes raw samples from then on.
    """
    hints = get_type_hints(type(model), include_extras=True)
    sizes: Sizes = {"p": state.get("n_features_in_", 0)}
    for name, value in state.items():
        if name not in hints or not is_fitted_name(name):
            kind = type(model).__name__
            raise ValueError(f"it has the attribute {name!r}, which {kind} has not")
        if not fits(value, hints[name], sizes) and name != "preparation_":
            raise ValueError(f"its {name} is not of the right kind, or does not fit the rest")
    vars(model).update(state)
    vars(model).update(_told_by_fit(model))
    for name in hints:
        if is_fitted_name(name) and name not in OPTIONAL and not hasattr(model, name):
            raise ValueError(f"it has no {name}")
    steps = vars(model).pop("preparation_", None)
    if steps is not None:
        names = state.get("feature_names_in_", ())
        preparation = Preparation(tuple(map(str, names)), **steps)
        if not len(names) or not set(preparation.variable_names) <= set(preparation.needed):
            raise ValueError("its preparation_ does not lead to its variables")
        attach_preparation(model, preparation)


def with_arrays_in_memory(model: Any) -> Any:
    """Return a copy of a model with numpy arrays in place of those of Dask or of a device."""
    fetched = copy(model)
    vars(fetched).update({name: in_main_memory(v) for name, v in fit_of(model).items()})
    return fetched


def _told_by_fit(model: Any) -> dict[str, Any]:
    """Return the attributes that follow from ``fit_``; empty for models without one."""
    return model._attributes_of_fit() if "fit_" in vars(model) else {}
