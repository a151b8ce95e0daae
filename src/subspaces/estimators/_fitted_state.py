"""Table of every fitted attribute with a check of its type and shape, for model files.

A file may set these attributes and no others, each only with a value that passes its check.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from subspaces.core.array import is_dask, is_foreign, to_host
from subspaces.core.likelihood import Data
from subspaces.core.ppca_mixture import PPCAMixture
from subspaces.estimators._record import Record
from subspaces.preparation import Preparation, attach_preparation, steps_of
from subspaces.rivals.factor_mixture import FactorMixture
from subspaces.subspace import Subspace

# Sizes by name: n samples, p variables, K clusters, q factors; "*" is any number. A form tells
# whether a value has its type and, given the sizes, its shape.
Sizes = dict[str, int]
Form = Callable[[Any, Sizes], bool]


def _has_shape(value: Any, kinds: str, shape: Sequence[str], sizes: Sizes) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        return False
    named = list(zip(shape, value.shape, strict=False))
    return value.ndim == len(shape) and all(s == "*" or sizes.get(s) == size for s, size in named)


def _numbers(*shape: str) -> Form:
    return lambda value, sizes: _has_shape(value, "f", shape, sizes)


def _finite(*shape: str) -> Form:
    return lambda value, sizes: (
        _has_shape(value, "f", shape, sizes) and bool(np.isfinite(value).all())
    )


def _positive(*shape: str) -> Form:
    return lambda value, sizes: _finite(*shape)(value, sizes) and bool((value > 0).all())


def _below(bound: str, *shape: str) -> Form:
    """Return the check of an array of integers from 0 up to a named size, exclusive."""

    def fits(value: Any, sizes: Sizes) -> bool:
        if not _has_shape(value, "iu", shape, sizes):
            return False
        return value.min(initial=0) >= 0 and value.max(initial=0) < sizes[bound]

    return fits


def _either(*forms: Form) -> Form:
    return lambda value, sizes: any(form(value, sizes) for form in forms)


def _listed(form: Form, length: str = "*") -> Form:
    return lambda value, sizes: (
        isinstance(value, list | tuple)
        and len(value) == sizes.get(length, len(value))
        and all(form(entry, sizes) for entry in value)
    )


def _kind(*kinds: type) -> Form:
    return lambda value, sizes: isinstance(value, kinds) and not isinstance(value, bool)


def _subspace(value: Any, sizes: Sizes) -> bool:
    if not isinstance(value, Subspace):
        return False
    own = {**sizes, "r": value.basis.shape[-1] if value.basis.ndim else 0}
    parts = [(value.centre, ["p"]), (value.basis, ["p", "r"]), (value.spectrum, ["r"])]
    return all(_finite(*shape)(part, own) for part, shape in parts)


def _record(value: Any, sizes: Sizes) -> bool:
    if not isinstance(value, Record):
        return False
    parts = [
        (value.scores, _numbers("n", "K")),
        (value.coordinates, _numbers("n", "*")),
        (value.influence, _numbers("n")),
        (value.sample_names, lambda names, sizes: _has_shape(names, "iuU", ["n"], sizes)),
    ]
    return all(part is None or form(part, sizes) for part, form in parts)


def _variance(value: Any, sizes: Sizes) -> bool:
    return _REAL(value, sizes) and 0 <= value < np.inf


def _selection(value: Any, sizes: Sizes) -> bool:
    """Whether a value is a dict of columns, with one entry for each candidate, and a verdict."""
    if not isinstance(value, dict) or not _TEXT(value.get("verdict", ""), sizes):
        return False
    ways = [("bounds", "gaps"), ("n_clusters", "likelihood"), ("n_clusters", "stability")]
    columns = [column for name, column in value.items() if name != "verdict"]
    if not all(isinstance(c, list) or _has_shape(c, "iuf", ["*"], sizes) for c in columns):
        return False
    return any(set(way) <= set(value) for way in ways) and len(set(map(len, columns))) == 1


def _names(value: Any, sizes: Sizes) -> bool:
    return _has_shape(value, "O", ["p"], sizes)


def _graph(value: Any, sizes: Sizes) -> bool:
    return sparse.issparse(value) and value.shape == (sizes["n"], sizes["n"])


def _nothing(value: Any, sizes: Sizes) -> bool:
    return value is None


def _flag(value: Any, sizes: Sizes) -> bool:
    return isinstance(value, bool)


def _preparation(value: Any, sizes: Sizes) -> bool:
    """Whether a value is a dict of the fields of `Preparation`, each of its type.

    A field that a file of an earlier version lacks stands for a step that was not taken.
    """
    optional = {
        "inputs": _listed(_TEXT),
        "n_seen": _INT,
        "total": _REAL,
        "floor": _REAL,
        "centre": _finite("p"),
        "spread": _positive("p"),
        "axes": _finite("*", "p"),
        "taken_for": _TEXT,
        "ignored": _listed(_TEXT),
        "dropped": _listed(_TEXT),
    }
    needed = {"log": _flag, "offset": _REAL, "centre_samples": _flag}
    if not isinstance(value, dict) or not set(needed) <= set(value) <= {*optional, *needed}:
        return False
    return all(form(value[name], sizes) for name, form in needed.items()) and all(
        value.get(name) is None or form(value[name], sizes) for name, form in optional.items()
    )


def _sums(value: Any, sizes: Sizes) -> bool:
    """Whether a value is the dict of sums over earlier batches that `MiniBatchPSC` keeps."""
    forms = {
        "sizes": _finite("K"),
        "energy": _finite("K"),
        "totals": _finite("K", "p"),
        "products": _finite("K", "p", "*"),
    }
    if not isinstance(value, dict) or set(value) != set(forms):
        return False
    return all(form(value[name], sizes) for name, form in forms.items())


_INT, _TEXT, _REAL = _kind(int), _kind(str), _kind(int, float)
_TABLE = _kind(dict)
_ROWS = _listed(_TABLE)
_PATH = _numbers("*")

FORMS: dict[str, Form] = {
    "_change": _finite("q", "q"),
    "_data": _kind(Data),
    "_model": _kind(FactorMixture, PPCAMixture),
    "_n_parameters": _INT,
    "_names_handed_on": _names,
    "_observed": _finite("K", "p"),
    "_origin": _finite("p"),
    "_scale": lambda value, sizes: _variance(value, sizes) and value > 0,
    "_sizes": _finite("K"),
    "_sums": _sums,
    "affinity_matrix_": _graph,
    "bic_": _REAL,
    "bound_": _REAL,
    "cluster_centers_": _finite("K", "p"),
    "cluster_means_": _finite("K", "p"),
    "criterion_": _TEXT,
    "df_": _numbers("K"),
    "explained_variance_": _listed(_PATH, "K"),
    "factor_covariances_": _finite("K", "q", "q"),
    "factor_means_": _finite("K", "q"),
    "feature_names_in_": _names,
    "influence_": _numbers("n"),
    "labels_": _below("K", "n"),
    "loadings_": _finite("p", "q"),
    "log_likelihood_": _REAL,
    "log_likelihood_path_": _PATH,
    "means_": _finite("K", "p"),
    "method_": _TEXT,
    "missing_share_": _variance,
    "n_clusters_": _INT,
    "n_components_": lambda value, sizes: _has_shape(value, "i", ["K"], sizes),
    "n_features_in_": _INT,
    "n_iter_": _INT,
    "n_projected_": _INT,
    "n_variables_": _either(
        _nothing,
        _INT,
        _listed(_INT, "K"),
        lambda value, sizes: _has_shape(value, "iu", ["K"], sizes),
    ),
    "noise_variance_": _either(_variance, _finite("K"), _finite("p")),
    "objective_": _REAL,
    "objective_path_": _PATH,
    "preparation_": _preparation,
    "press_": _REAL,
    "q_": _INT,
    "rank_": _INT,
    "record_": _record,
    "score_variance_": _variance,
    "selection_": _selection,
    "start_margin_": _REAL,
    "starts_": _ROWS,
    "stop_reason_": _TEXT,
    "subspaces_": _listed(_subspace, "K"),
    "support_": _below("p", "*"),
    "variables_": _either(_listed(_below("p", "*"), "K"), _below("p", "*")),
    "within_std_": _numbers("p"),
    "weights_": _either(_finite("K"), _finite("p")),
}
# Those of `SelectedPCA`: R components, m axes that were tried.
PCA_FORMS: dict[str, Form] = {
    "components_": _finite("R", "p"),
    "explained_variance_": _finite("R"),
    "explained_variance_ratio_": _finite("R"),
    "feature_names_in_": _names,
    "high_": _either(_nothing, _INT),
    "low_": _either(_nothing, _INT),
    "mean_": _finite("p"),
    "missing_share_": _variance,
    "n_components_": _INT,
    "n_features_in_": _INT,
    "n_samples_": _INT,
    "noise_": _TEXT,
    "noise_variance_": _variance,
    "ratio_": _numbers("m"),
    "rests_on_": _below("n", "m"),
    "scale_": _either(_nothing, _positive("p")),
    "singular_values_": _finite("R"),
    "verdict_": _TEXT,
}
# Attributes that every model file must have, and those that it must have if it has another.
ALWAYS = ("_scale", "labels_", "n_features_in_", "objective_", "record_")
TOGETHER = (
    ("cluster_means_", "within_std_"),
    ("within_std_", "cluster_means_"),
    ("influence_", "variables_"),
    ("factor_means_", "_change"),
)


def fitted_state(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model by name, as `save` writes them into a file.

    With a preparation, ``n_features_in_`` and ``feature_names_in_`` in the file describe the
    clustered variables, as all arrays do; `with_preparation` restores those of the raw samples.
    """
    state = _attributes(model)
    if "preparation_" in state:
        names = np.array(model.preparation_.variable_names, dtype=object)
        state |= {"feature_names_in_": names, "n_features_in_": len(names)}
        state["preparation_"] = steps_of(model.preparation_)
        state.pop("_names_handed_on", None)
    return state


def with_preparation(model: Any, state: dict[str, Any]) -> Any:
    """Set the attributes of a file on a model and return the model.

    With a preparation among them, the model takes raw samples from then on.
    """
    model.__dict__.update(state)
    steps = model.__dict__.pop("preparation_", None)
    if steps is not None:
        names = state.get("feature_names_in_", ())
        preparation = Preparation(tuple(map(str, names)), **steps)
        if not len(names) or not set(preparation.variable_names) <= set(preparation.needed):
            raise ValueError("its preparation_ does not lead to its variables")
        attach_preparation(model, preparation)
    return model


def _attributes(model: Any) -> dict[str, Any]:
    known = {name: value for name, value in vars(model).items() if name in FORMS}
    state = {name: fetched(value) for name, value in known.items()}
    unknown = [name for name in vars(model) if name.endswith("_") and name not in FORMS]
    if unknown:
        raise TypeError(f"{unknown[0]} is not an attribute that a model file knows")
    return state


def fetched(value: Any) -> Any:
    """Return an array of Dask or on a device as a numpy array, and any other value unchanged."""
    if is_dask(value):
        return value.compute()
    return to_host(value) if is_foreign(value) else value


def in_memory(model: Any) -> Any:
    """Return the model itself, or a copy with numpy arrays in place of Dask and device arrays."""
    if not any(is_dask(value) or is_foreign(value) for value in vars(model).values()):
        return model
    fetched = copy(model)
    vars(fetched).update(_attributes(model))
    return fetched


def check_state(state: dict[str, Any]) -> None:
    """Raise ValueError unless all attributes are known, of their type, and fit each other."""
    for name in ALWAYS:
        if name not in state:
            raise ValueError(f"it has no {name}")
    for name, other in TOGETHER:
        if name in state and other not in state:
            raise ValueError(f"it has {name} and no {other}")
    sizes = _sizes(state)
    for name, value in state.items():
        if name not in FORMS:
            raise ValueError(f"it has the attribute {name!r}, which no estimator has")
        if not FORMS[name](value, sizes):
            raise ValueError(f"its {name} is not of the right kind, or does not fit the rest")
    widths = [subspace.basis.shape[1] for subspace in state.get("subspaces_", [])]
    if widths and not np.array_equal(state.get("n_components_", []), widths):
        raise ValueError("its n_components_ are not those of its subspaces_")


def _sizes(state: dict[str, Any]) -> Sizes:
    clusters = state.get("subspaces_", state.get("cluster_centers_"))
    n, p, loadings = state["labels_"], state["n_features_in_"], state.get("loadings_", 0)
    if not isinstance(clusters, list | np.ndarray) or len(clusters) == 0:
        raise ValueError("it has neither subspaces_ nor cluster_centers_")
    if not (isinstance(n, np.ndarray) and n.ndim == 1 and isinstance(p, int)):
        raise ValueError("its labels_ or its n_features_in_ are not of the right kind")
    sizes = {"n": len(n), "p": p, "K": len(clusters)}
    return sizes if np.ndim(loadings) != 2 else {**sizes, "q": np.shape(loadings)[1]}


def pca_state(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a `SelectedPCA` by name."""
    return {name: value for name, value in vars(model).items() if name in PCA_FORMS}


def check_pca_state(state: dict[str, Any]) -> None:
    """Raise ValueError unless these are all attributes of a `SelectedPCA`, and fit each other."""
    optional = {"feature_names_in_"}
    if not set(PCA_FORMS) - optional <= set(state) <= set(PCA_FORMS):
        raise ValueError("it has not the attributes of a SelectedPCA")
    counts = {"n": "n_samples_", "p": "n_features_in_", "R": "n_components_"}
    sizes = {size: state[name] for size, name in counts.items()}
    sizes["m"] = np.size(state["ratio_"])
    for name, value in state.items():
        if not PCA_FORMS[name](value, sizes):
            raise ValueError(f"its {name} is not of the right kind, or does not fit the rest")
