"""`psc`: cluster the cells of an AnnData and store the result in it, as scanpy's functions do."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from operator import matmul
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from subspaces.core.array import is_dask
from subspaces.core.partition import sizes
from subspaces.estimators import PSC
from subspaces.estimators._many_rows import FEW_ROWS
from subspaces.runtime.extras import install
from subspaces.runtime.serialise import is_serialisable
from subspaces.runtime.warning import PROCESS
from subspaces.subspace import Subspace, coordinates

__all__ = ["psc"]

Array = NDArray[np.floating]

# Bytes that a sparse matrix may take in float64 to be made dense: more fails on most machines.
MOST_DENSE_BYTES = 8 * 2**30


def psc(
    adata: Any,
    n_clusters: Any = 2,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    n_components: Any = 1,
    key_added: str = "psc",
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData by `PSC`.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, in memory. A view becomes an AnnData of its own, as in scanpy.
    n_clusters : int or "auto", default 2
        Number of clusters.
    layer : str, optional
        Layer to cluster instead of ``X``.
    use_rep : str, optional
        Entry of ``obsm`` to cluster instead of ``X``, such as "X_pca".
    n_components : int, one int per cluster, or "auto", default 1
        Dimension of the subspaces.
    key_added : str, default "psc"
        Name under which the results are stored.
    copy : bool, default False
        Whether to return a copy with the results instead of storing them in ``adata``.
    **parameters
        Further parameters of `PSC`, such as ``n_variables``, ``affine`` and ``random_state``.

    Returns
    -------
    AnnData or None
        The copy, or None. With ``key_added="psc"`` there are

        - ``obs["psc"]``: the cluster of each cell, a categorical of "0", "1", ...;
        - ``obsm["X_psc"]``: the coordinates of each cell in every cluster's subspace, side by
          side, so that ``scanpy.pl.embedding(adata, "psc", color="psc")`` shows the clusters as
          arms along their own axes;
        - ``varm["psc_loadings"]``: the axes in the same order, genes in rows; not with ``use_rep``;
        - ``uns["psc"]``: ``params``, ``objective``, ``press``, ``criterion``, ``stop_reason``,
          ``sizes`` and ``n_components`` of the clusters, and ``column_cluster``, the cluster that
          each column of the coordinates and loadings belongs to.

    Notes
    -----
    A Dask array is read in passes, chunk by chunk, and so is a sparse matrix of more than 10,000
    cells; of fewer cells, or with options that need all of them in view (``n_variables``,
    ``refine``, "auto"), a sparse matrix is made dense, in float64, where that takes up to 8 GiB,
    and refused beyond. What is stored is in memory. Subspaces pass through the origin unless
    ``affine=True``, which suits counts that were not centred. For the model itself, fit `PSC` to
    ``adata.to_df()``.

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
    _check_source(adata, layer, use_rep)
    model = PSC(n_clusters, n_components=n_components, **parameters)
    matrix = _readable(*_chosen_matrix(adata, layer, use_rep), model)
    model.fit(matrix)
    source = {"layer": layer, "use_rep": use_rep}
    target = adata.copy() if copy else adata
    with PROCESS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Trying to modify attribute .* of view", UserWarning)
        _store(target, model, matrix, key_added, source)
    return target if copy else None


def _check_source(adata: Any, layer: str | None, use_rep: str | None) -> None:
    if find_spec("anndata") is None:
        raise ImportError(f"AnnData needs anndata. {install('scverse')}")
    from anndata import AnnData

    if not isinstance(adata, AnnData):
        raise TypeError(f"adata is a {type(adata).__name__}. Use an AnnData")
    if adata.isbacked:
        raise ValueError("adata is backed by a file. Use adata.to_memory()")
    if layer is not None and use_rep is not None:
        raise ValueError(f"layer={layer!r} excludes use_rep={use_rep!r}. Use one of them")


def _chosen_matrix(adata: Any, layer: str | None, use_rep: str | None) -> tuple[Any, str]:
    """Return the matrix to cluster, and its name for messages, such as "adata.X"."""
    if layer is not None:
        return _entry(adata.layers, layer, "layers"), f"adata.layers[{layer!r}]"
    if use_rep is not None:
        return _entry(adata.obsm, use_rep, "obsm"), f"adata.obsm[{use_rep!r}]"
    if adata.X is None:
        raise ValueError("adata has no X. Use layer or use_rep")
    return adata.X, "adata.X"


def _entry(entries: Any, name: str, where: str) -> Any:
    if name not in entries:
        known = ", ".join(map(repr, entries)) or "nothing"
        raise ValueError(f"adata.{where} has no {name!r}; it has {known}")
    return entries[name]


def _readable(matrix: Any, name: str, model: PSC) -> Any:
    """Return the matrix for `PSC`: unchanged where rows are read in passes, otherwise dense."""
    if is_dask(matrix):
        return matrix
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    if matrix.shape[0] > FEW_ROWS and model._beyond_passes() is None:
        return matrix
    n_bytes = 8 * matrix.shape[0] * matrix.shape[1]
    if n_bytes > MOST_DENSE_BYTES:
        raise MemoryError(
            f"{name} is sparse and would take {n_bytes / 2**30:.1f} GiB dense, which PSC needs. "
            "Use fewer genes, such as the highly variable ones, or use_rep='X_pca'"
        )
    return matrix.toarray()


def _store(adata: Any, model: PSC, matrix: Array, key: str, source: dict[str, Any]) -> None:
    """Write a model's labels, coordinates, loadings and parameters into the AnnData."""
    import pandas as pd

    names = [str(k) for k in range(len(model.subspaces_))]
    labels = np.asarray(model.labels_)
    adata.obs[key] = pd.Categorical.from_codes(labels, categories=names)
    adata.obsm[f"X_{key}"] = _coordinates(matrix, model.subspaces_)
    if source["use_rep"] is None:
        adata.varm[f"{key}_loadings"] = np.hstack([subspace.basis for subspace in model.subspaces_])
    adata.uns[key] = {
        "params": _storable({**model.get_params(), **source}),
        "objective": model.objective_,
        "press": model.press_,
        "criterion": model.criterion_,
        "stop_reason": model.stop_reason_,
        "sizes": sizes(labels, len(names)),
        "n_components": model.n_components_,
        "column_cluster": np.repeat(names, model.n_components_).astype(object),
    }


def _coordinates(matrix: Any, subspaces: Sequence[Subspace]) -> Array:
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
