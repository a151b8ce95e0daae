"""Functions on the cells of an AnnData that store their result in it, as scanpy's do.

`psc` clusters them, `pca_components` counts the components of their PCA.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from operator import matmul
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from subspaces._types import AnnData, Array, Auto, Codes, Mask, NoiseKind, PerCluster, Seed, Sparse
from subspaces.app.recipes import ExpressionScaler, single_cell
from subspaces.core.array import in_main_memory, is_dask
from subspaces.core.partition import sizes
from subspaces.data.kinds import FEW_ROWS
from subspaces.diagnostics import PCAComponents
from subspaces.diagnostics import pca_components as components_of
from subspaces.estimators import PSC
from subspaces.expression_values import counts_hint
from subspaces.messages import ParameterError, ParameterTypeError, listed
from subspaces.psc.probabilities import with_largest
from subspaces.runtime.extras import install
from subspaces.runtime.parameters import as_count, check_options
from subspaces.runtime.serialise import is_serialisable
from subspaces.runtime.threads import changed_filters
from subspaces.runtime.warning import collect_warnings, warn
from subspaces.selection import select_n_clusters
from subspaces.subspace import Subspace, coordinates

__all__ = ["pca_components", "psc"]


# Parameters of `PSC` that say what a cluster is.
SHAPE = {"affine", "criterion", "n_variables"}
# What is wrong with a PCA of counts.
# Bytes that a sparse matrix may take in float64 to be made dense: more fails on most machines.
MOST_DENSE_BYTES = 8 * 2**30


def psc(
    adata: AnnData,
    n_clusters: int | Auto = 2,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    batch_key: str | None = None,
    n_components: PerCluster | Auto | None = None,
    key_added: str = "psc",
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData by `PSC`.

    By default a cluster is a mean profile, and each cell goes to the nearest one, fitted without
    that cell. If you set ``n_components``, ``use_rep``, ``affine``, ``criterion`` or
    ``n_variables``, a cluster is a subspace. The cells come from ``obsm["X_pca"]``. If that is
    missing or you pass ``layer``, `recipes.single_cell` prepares them.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, in memory. A view is copied first, as in scanpy.
    n_clusters : int or "auto", default 2
        Number of clusters. "auto" chooses the number on which halves of the cells agree
        (`selection.select_n_clusters`). For subspaces, it chooses as `PSC` does.
    layer : str, optional
        Layer to cluster instead of ``X``.
    use_rep : str, optional
        Entry of ``obsm`` to cluster instead of ``X``, such as "X_pca".
    batch_key : str, optional
        Column of ``obs`` with the batch of each cell. The mean of each batch is subtracted from its
        cells. Use it only if all batches contain the same types of cells. Otherwise a type that is
        more frequent in one batch moves towards the others.
    n_components : int, one int per cluster, or "auto", optional
        Dimension of the subspaces. The default is 1 for subspaces.
    key_added : str, default "psc"
        Name of the stored results.
    copy : bool, default False
        Whether to return a copy with the results, instead of storing them in ``adata``.
    **parameters
        Further parameters of `PSC`, such as ``n_variables``, ``affine`` and ``random_state``.

    Returns
    -------
    AnnData or None
        The copy, or None. These are the results for ``key_added="psc"``:

        - ``obs["psc"]``: cluster of each cell, a categorical of "0", "1", ...
        - ``obs["psc_probability"]``: probability of this cluster.
        - ``obsm["psc_probabilities"]``: probability of each cluster, cells x clusters.
        - ``obsm["X_psc"]``: coordinates of each cell in the subspaces of all clusters, side by
          side. ``scanpy.pl.embedding(adata, "psc", color="psc")`` draws them. For mean profiles,
          coordinates along the axes that the recipe kept.
        - ``varm["psc_loadings"]``: the axes in the same order, with genes in rows. Not with
          ``use_rep``.
        - ``varm["psc_centres"]``: log2 ratio of each cluster's mean to the mean cell, genes x
          clusters. Only from the recipe. NaN for genes that were not kept.
        - ``uns["psc"]``: ``params``, ``objective``, ``press``, ``criterion``, ``stop_reason``, and
          ``sizes`` and ``n_components`` of the clusters. ``column_cluster`` is the cluster of each
          column of coordinates and loadings. The recipe stores ``preparation`` instead, what it did
          to the values. For mean profiles with ``n_clusters="auto"``, ``verdict`` tells you how
          sure the number is.

    Notes
    -----
    Dask arrays, and sparse matrices of more than 10,000 cells, are read in blocks. Other sparse
    matrices become dense, in float64. So do those with options that need all cells at once
    (``n_variables``, ``refine``, "auto"). This raises an error if it takes more than 8 GiB. The
    recipe makes only the genes that it keeps dense.

    Subspaces pass through the origin by default. Use ``affine=True`` for counts that are not
    centred. To get the model itself, fit `PSC` to ``adata.to_df()``.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.scverse import psc
    >>> cells = AnnData(make_scenario("c", random_state=0).data)
    >>> psc(cells, n_clusters=2, n_components=2, random_state=0)
    >>> cells.obs["psc"].value_counts().tolist()
    [100, 100]
    >>> cells.obsm["X_psc"].shape, cells.varm["psc_loadings"].shape
    ((200, 4), (3, 4))
    """
    own = ("layer", "use_rep", "batch_key", "key_added", "copy")
    check_options(parameters, (*own, *PSC().get_params()), "psc")
    _check_source(adata, layer, use_rep)
    batches = _batches(adata, batch_key)
    source = {"layer": layer, "use_rep": use_rep, "batch_key": batch_key}
    if n_components is None and use_rep is None and not SHAPE & set(parameters):
        entries = _of_mean_profiles(adata, n_clusters, source, batches, key_added, parameters)
    else:
        given = 1 if n_components is None else n_components
        model = PSC(n_clusters, n_components=given, **parameters)
        matrix = _readable(*_chosen_matrix(adata, layer, use_rep), model)
        matrix = _centred(matrix, batches)
        entries = _of_subspaces(model.fit(matrix), matrix, key_added, source)
    target = adata.copy() if copy else adata
    with _views_may_become_their_own():
        for place, values in entries.items():
            for name, value in values.items():
                getattr(target, place)[name] = value
    return target if copy else None


def pca_components(
    adata: AnnData,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    mask_var: Any = "auto",
    center: bool = True,
    scale: bool = False,
    method: NoiseKind = "auto",
    max_components: int | None = None,
    random_state: Seed = 0,
    key_added: str = "pca_components",
) -> int:
    """Find how many components to keep in `scanpy.pp.pca`.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, in memory. Values should be logarithms, as for a PCA. Counts give a warning.
        A view is copied first, as in scanpy.
    layer : str, optional
        Layer to use instead of ``X``.
    use_rep : str, optional
        Entry of ``obsm`` to use instead of ``X``.
    mask_var : str, array of bool of shape (genes,) or None, default "auto"
        Genes to use: a column of ``var``, or an array with True for each of them. None uses all.
        "auto" uses ``var["highly_variable"]`` if it exists, as scanpy does, and otherwise all.
    center, scale, method, max_components, random_state
        As in `diagnostics.pca_components`.
    key_added : str, default "pca_components"
        Name of the stored result.

    Returns
    -------
    int
        Number of components. It can be 0. ``uns[key_added]`` has ``n_components``, ``low``,
        ``high``, ``n_predictive``, ``noise``, ``ratio``, ``rests_on`` (names of cells),
        ``verdict``, ``shape`` of the table and ``params``. If variables are correlated, ``low`` and
        ``high`` are left out.

    Notes
    -----
    A sparse matrix becomes dense, in float64. This raises an error if it takes more than 8 GiB.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from subspaces.scverse import pca_components
    >>> random = np.random.default_rng(0)
    >>> signal = random.normal(size=(100, 3)) @ random.normal(size=(3, 30))
    >>> cells = AnnData(signal + random.normal(size=(100, 30)))
    >>> pca_components(cells)
    3
    >>> cells.uns["pca_components"]["verdict"]
    '3 components are stronger than noise. Noise hides components below 0.77 % of the variance.'
    """
    _check_source(adata, layer, use_rep)
    matrix, name = _chosen_matrix(adata, layer, use_rep)
    if is_dask(matrix):
        raise ParameterTypeError(
            "adata", "{name} is a Dask array. Load it first: adata = adata.to_memory().", name=name
        )
    if use_rep is None and (hint := counts_hint(matrix, name)):
        warn(hint)
    genes = _chosen_genes(adata, mask_var, use_rep)
    if genes is not None:
        matrix = matrix[:, genes]
    advice = "Keep only the highly variable genes, or use fewer cells"
    options: dict[str, Any] = {
        "center": center,
        "scale": scale,
        "method": method,
        "max_components": max_components,
        "random_state": random_state,
    }
    table = _named(_dense(matrix, name, advice), adata, genes, use_rep)
    with collect_warnings() as raised:
        found = components_of(table, **options)
    for warning in raised:
        warn(warning)
    source = {"layer": layer, "use_rep": use_rep, "mask_var": mask_var}
    with _views_may_become_their_own():
        adata.uns[key_added] = _as_plain_values(found, table, {**options, **source})
    return found.n_components


@contextmanager
def _views_may_become_their_own() -> Iterator[None]:
    """Hold back anndata's warning that storing something makes an AnnData of a view."""
    with changed_filters():
        warnings.filterwarnings("ignore", "Trying to modify attribute .* of view", UserWarning)
        yield


def _chosen_genes(adata: AnnData, mask_var: Any, use_rep: str | None) -> Mask | None:
    """Return which genes to take, (genes,), or None for all."""
    is_auto = isinstance(mask_var, str) and mask_var == "auto"
    if use_rep is not None and not (is_auto or mask_var is None):
        fact = (
            "<mask_var> selects genes, but <use_rep={rep!r}> has no genes. Leave out one of "
            "the two."
        )
        raise ParameterError("mask_var", fact, rep=use_rep)
    if mask_var is None or use_rep is not None:
        return None
    if is_auto and "highly_variable" not in adata.var:
        return None
    given, said = mask_var, "mask_var"
    if isinstance(mask_var, str):
        name = "highly_variable" if is_auto else mask_var
        given, said = _entry(adata.var, name, "var").tolist(), f"adata.var[{name!r}]"
    mask = np.asarray(given)
    if isinstance(mask_var, str) and mask.dtype != bool:
        fact = "{said} is not boolean. Convert it to True and False, or choose another column."
        raise ParameterError("mask_var", fact, said=said)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ParameterError(
            "mask_var",
            "{said} must be a boolean array with {n} entries, one per gene. You can also give "
            "the name of a boolean column of adata.var.",
            said=said,
            n=adata.n_vars,
        )
    return mask


def _named(matrix: Array, adata: AnnData, genes: Mask | None, use_rep: str | None) -> Any:
    """Return the matrix as a frame with the names of the cells and, if they differ, of genes."""
    import pandas as pd

    columns = None
    if use_rep is None and adata.var_names.is_unique:
        columns = adata.var_names if genes is None else adata.var_names[genes]
    return pd.DataFrame(matrix, index=adata.obs_names, columns=columns)


def _as_plain_values(found: PCAComponents, table: Any, parameters: dict[str, Any]) -> Any:
    """Return what was found as a dict of numbers, text and arrays, which an h5ad file can hold."""
    ends = {"low": found.low, "high": found.high}
    return {
        "n_components": found.n_components,
        **{name: value for name, value in ends.items() if value is not None},
        "n_predictive": found.n_predictive,
        "noise": found.noise,
        "ratio": found.ratio,
        "rests_on": table.index.to_numpy()[found.rests_on].astype(str).astype(object),
        "verdict": found.verdict,
        "shape": np.array(table.shape),
        "params": _storable(parameters),
    }


def _check_source(adata: AnnData, layer: str | None, use_rep: str | None) -> None:
    if find_spec("anndata") is None:
        raise ImportError(f"This function needs anndata. {install('scverse')}")
    from anndata import AnnData

    if not isinstance(adata, AnnData):
        raise ParameterTypeError(
            "adata", f"<adata> is of type {type(adata).__name__}. Pass an AnnData."
        )
    if adata.isbacked:
        raise ParameterError(
            "adata", "<adata> is backed by a file. Load it first: adata = adata.to_memory()."
        )
    if layer is not None and use_rep is not None:
        fact = (
            "<layer={layer!r}> and <use_rep={use_rep!r}> do not work together. Leave out one "
            "of the two."
        )
        raise ParameterError("layer", fact, layer=layer, use_rep=use_rep)


def _chosen_matrix(adata: AnnData, layer: str | None, use_rep: str | None) -> tuple[Any, str]:
    """Return the matrix to cluster, and its name for messages, such as "adata.X"."""
    if layer is not None:
        return _entry(adata.layers, layer, "layers"), f"adata.layers[{layer!r}]"
    if use_rep is not None:
        return _entry(adata.obsm, use_rep, "obsm"), f"adata.obsm[{use_rep!r}]"
    if adata.X is None:
        raise ParameterError("adata", "<adata> has no X. Set <layer> or <use_rep>.")
    return adata.X, "adata.X"


def _entry(entries: Any, name: str, where: str) -> Any:
    if name not in entries:
        # In anndata 0.13 X is the layer None.
        known = listed([repr(entry) for entry in entries if entry is not None])
        there = f"has {known}" if known else "is empty"
        fact = f"adata.{where} has no {{name!r}}. It {{there}}."
        raise ParameterError("adata", fact, name=name, there=there)
    return entries[name]


def _readable(matrix: Array | Sparse, name: str, model: PSC) -> Any:
    """Return the matrix for `PSC`: unchanged if rows are read in passes, otherwise dense."""
    if is_dask(matrix):
        return matrix
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    if matrix.shape[0] > FEW_ROWS and get_tags(model).input_tags.sparse:
        return matrix
    advice = "Keep only the highly variable genes, or set use_rep='X_pca'"
    return _dense(matrix, name, advice)


def _dense(matrix: Any, name: str, advice: str) -> Array:
    """Return the matrix as a dense one; raise MemoryError if a sparse one is too large for that."""
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    n_bytes = 8 * matrix.shape[0] * matrix.shape[1]
    if n_bytes > MOST_DENSE_BYTES:
        raise MemoryError(
            f"{name} is sparse, and as a dense table it would take {n_bytes / 2**30:.1f} GiB. "
            f"{advice}."
        )
    return matrix.toarray()


def _batches(adata: AnnData, batch_key: str | None) -> Codes | None:
    """Return the number of each cell's batch, (n,); None without batches."""
    if batch_key is None:
        return None
    column = _entry(adata.obs, batch_key, "obs")
    if column.isna().any():
        fact = "Some cells have no batch in adata.obs[{key!r}]. Give every cell a batch."
        raise ParameterError("batch_key", fact, key=batch_key)
    return np.unique(column.astype(str).to_numpy(), return_inverse=True)[1]


def _centred(matrix: Array | Sparse, batches: Codes | None) -> Any:
    """Return the matrix (n, p) with the mean of each batch at that of all cells."""
    if batches is None:
        return matrix
    if not isinstance(matrix, np.ndarray):
        kind, method = ("Dask", "compute()") if is_dask(matrix) else ("large sparse", "toarray()")
        raise ParameterTypeError(
            "batch_key",
            f"<batch_key> does not work with a {kind} table. Convert it with {method}, or choose "
            "a <use_rep>.",
        )
    centred = matrix + np.nanmean(matrix, axis=0)
    for batch in range(batches.max() + 1):
        own = batches == batch
        centred[own] -= np.nanmean(matrix[own], axis=0)
    return centred


def _of_mean_profiles(
    adata: AnnData,
    n_clusters: int | Auto,
    source: dict[str, Any],
    batches: Codes | None,
    key: str,
    parameters: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return what to store of clusters that are mean profiles, on X_pca or by the recipe."""
    settings = {**single_cell()["cluster"].get_params(), **parameters}
    if source["layer"] is None and "X_pca" in adata.obsm:
        source = {**source, "use_rep": "X_pca"}
        points = _centred(np.asarray(adata.obsm["X_pca"], dtype=float), batches)
        # Components are compared as they are: all axes, neither cells centred nor genes left out.
        asis = ExpressionScaler(kind="log", centre_samples=False, n_genes=None)
        k, words = _number(n_clusters, asis, points, settings)
        model = PSC(**{**settings, "n_clusters": k}).fit(points)
        return _basic_entries(model, points, key, source, **words)
    matrix, scaler, done = _recipe_input(adata, source["layer"], batches)
    k, words = _number(n_clusters, scaler, matrix, settings)
    points = scaler.set_params(n_axes=k).fit(matrix).project(matrix)
    model = PSC(**{**settings, "n_clusters": k}).fit(points)
    words = {"preparation": done or scaler.verdict_, **words}
    entries = _basic_entries(model, points, key, source, **words)
    axes: Any = scaler.axes_
    centres = np.full((adata.n_vars, len(model.subspaces_)), np.nan)
    centres[scaler.genes_] = np.transpose([f.centre @ axes for f in model.subspaces_])
    loadings = np.zeros((adata.n_vars, points.shape[1]))
    loadings[scaler.genes_] = axes.T
    entries["obsm"][f"X_{key}"] = points
    return {**entries, "varm": {f"{key}_loadings": loadings, f"{key}_centres": centres}}


def _recipe_input(
    adata: AnnData, layer: str | None, batches: Codes | None
) -> tuple[Any, ExpressionScaler, str | None]:
    """Return the cells, the recipe's scaler for them and, for batches, what was done before it.

    Batches are centred on the log scale, before genes are chosen. The scaler awaits the number of
    its axes, which is that of the clusters.
    """
    matrix, name = _chosen_matrix(adata, layer, None)
    if is_dask(matrix):
        raise ParameterTypeError(
            "adata",
            "{name} is a Dask array, which psc cannot prepare. Run adata = adata.to_memory() "
            "first, or set <n_components> to skip the preparation.",
            name=name,
        )
    if batches is None:
        table = sparse.csr_matrix(matrix) if sparse.issparse(matrix) else np.asarray(matrix)
        return table, ExpressionScaler(kind="cells", n_axes=1), None
    whole = ExpressionScaler(kind="cells", n_genes=None)
    dense = _dense(matrix, name, "Keep fewer genes, or leave out batch_key")
    centred = _centred(whole.fit_transform(dense), batches)
    scaler = ExpressionScaler(kind="log", centre_samples=False, n_axes=1)
    return centred, scaler, whole.verdict_


def _number(
    n_clusters: int | Auto,
    scaler: ExpressionScaler,
    matrix: Array | Sparse,
    settings: dict[str, Any],
) -> tuple[Any, dict[str, str]]:
    """Return the number of clusters and, if stability chose it, the sentence on the choice."""
    if n_clusters != "auto":
        return as_count(n_clusters, "n_clusters", low=1, high=matrix.shape[0]), {}
    recipe = Pipeline([("prepare", scaler), ("cluster", PSC(**settings))])
    found = select_n_clusters(recipe, matrix, range(2, settings["max_clusters"] + 1))
    return found.best_, {"verdict": found.verdict}


def _of_subspaces(
    model: PSC, matrix: Array | Sparse, key: str, source: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return what to store of a model of subspaces: labels, coordinates, loadings, parameters."""
    entries = _basic_entries(model, matrix, key, source)
    whole = np.asarray(model.impute(matrix)) if model.missing_share_ else matrix
    entries["obsm"][f"X_{key}"] = _coordinates(whole, model.subspaces_)
    if source["use_rep"] is None:
        loadings = np.hstack([subspace.basis for subspace in model.subspaces_])
        entries["varm"] = {f"{key}_loadings": loadings}
    names = list(map(str, range(len(model.subspaces_))))
    columns = np.repeat(names, model.n_components_).astype(object)
    entries["uns"][key]["column_cluster"] = columns
    return entries


def _basic_entries(
    model: PSC, matrix: Array | Sparse, key: str, source: dict[str, Any], **sentences: str
) -> dict[str, dict[str, Any]]:
    """Return the entries of ``obs``, ``obsm`` and ``uns`` that every model has, and sentences.

    matrix (n, p): the samples of fit.
    """
    import pandas as pd

    names = [str(k) for k in range(len(model.subspaces_))]
    labels = np.asarray(model.labels_)
    p: Array | None = getattr(model, "probabilities_", None)
    if p is None and model.fit_.leaves_noise:  # samples that were read in passes
        p = with_largest(in_main_memory(model.predict_proba(matrix)), labels)
    facts = {
        "params": _storable({**model.get_params(), **source}),
        "objective": model.objective_,
        "press": model.press_,
        "criterion": model.criterion_,
        "stop_reason": model.stop_reason_,
        "sizes": sizes(labels, len(names)),
        "n_components": model.n_components_,
        **sentences,
    }
    codes, kinds = labels, names
    if (labels < 0).any():
        codes, kinds = np.where(labels < 0, len(names), labels), [*names, "outlier"]
    entries: dict[str, dict[str, Any]] = {
        "obs": {key: pd.Categorical.from_codes(codes, categories=kinds)},
        "obsm": {},
        "uns": {key: facts},
    }
    if p is not None:
        own = p[np.arange(len(labels)), labels]
        entries["obs"][f"{key}_probability"] = np.where(labels < 0, np.nan, own)
        entries["obsm"][f"{key}_probabilities"] = p
    if hasattr(model, "p_values_"):
        entries["obs"][f"{key}_p_value"] = model.p_values_
    return entries


def _coordinates(matrix: Array | Sparse, subspaces: Sequence[Subspace]) -> Array:
    """Return each row's coordinates in every subspace, side by side, (n, sum of the dimensions).

    A sparse matrix or a Dask array is not made dense: the coordinates of the centre are subtracted
    from those of the rows.
    """
    if isinstance(matrix, np.ndarray):
        return np.hstack([coordinates(matrix, subspace) for subspace in subspaces])
    axes = np.hstack([subspace.basis for subspace in subspaces])
    shift = np.concatenate([subspace.centre @ subspace.basis for subspace in subspaces])
    if not is_dask(matrix):
        return np.asarray(matrix @ axes) - shift
    widths = (matrix.chunks[0], (axes.shape[1],))
    return np.asarray(matrix.map_blocks(matmul, axes, dtype=axes.dtype, chunks=widths)) - shift


def _storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that an h5ad file can hold: None is left out, functions become text."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return {
        name: (np.asarray(value) if np.ndim(value) else value)
        if is_serialisable(value)
        else repr(value)
        for name, value in given.items()
    }
