"""Whole pipelines for one kind of data, with the settings that served it best.

A recipe is a scikit-learn Pipeline: a preparation that remembers what it did, so that new samples
are prepared alike, and an estimator of this library. docs/recipes.md says why, with figures.
"""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from subspaces.consensus import MOST_GENES, ConsensusProfiles
from subspaces.estimators import PSC
from subspaces.expression_scaler import N_GENES, ExpressionScaler
from subspaces.runtime.parameters import as_flag

__all__ = ["ConsensusProfiles", "ExpressionScaler", "expression", "single_cell"]


def expression(
    n_clusters: Any = 2,
    *,
    n_components: Any = None,
    n_variables: Any = None,
    consensus: bool = False,
    random_state: Any = None,
) -> Pipeline:
    """Sub-types of samples in gene expression: the preparation and PSC, as one Pipeline.

    `ExpressionScaler` with as many principal axes as K subspaces of dimension R and their centres
    can span, K (R + 1); then `PSC` with affine subspaces. By default R is 0: a cluster is its mean
    profile, and a sample goes to the nearest, its own one refitted without it (criterion "loo").
    With R of 1 or more the leave-one-out likelihood decides.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. `selection.select_n_clusters` says which numbers are stable.
    n_components : int or list of int, optional
        Dimension of the subspaces, R, one for all or one each; by default 0, or 1 where
        ``n_variables`` needs it.
    n_variables : None, int or "auto", default None
        Genes per loading, as in `PSC`. Sparse loadings look at single genes, so all axes are kept.
    consensus : bool, default False
        Whether to average over Gaussian mixtures of 500, 2000 and 5000 genes, samples scaled or
        not, with K axes or 2 K, instead of one fit: `ConsensusProfiles` in place of PSC. It takes
        seconds, and is not shown to be better (docs/recipes.md).
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Pipeline
        Steps "prepare" and "cluster". ``model[-1].labels_`` has the clusters, ``model.predict``
        places new samples, ``model[:-1].get_feature_names_out()`` names the genes kept, and
        ``model[-1].subspaces_[k].centre`` has cluster k's log2 ratio to the mean sample for each.
        With ``set_output(transform="pandas")`` the names also reach `PSC.get_variables`.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces import recipes
    >>> random = np.random.default_rng(0)
    >>> X = 2.0 ** random.normal(8, 1, (60, 300))
    >>> X[:20, :10] *= 30
    >>> X[20:45, 100:110] *= 30
    >>> model = recipes.expression(3, random_state=0).fit(X)
    >>> np.bincount(model[-1].labels_).tolist()
    [20, 25, 15]

    The genes that set the second cluster apart:

    >>> names = model[:-1].get_feature_names_out()
    >>> apart = model[-1].get_variables(1)[:10]
    >>> sorted(names[apart].tolist()) == [f"x{j}" for j in range(100, 110)]
    True
    """
    if as_flag(consensus, "consensus"):
        if n_components is not None or n_variables is not None:
            raise ValueError("a consensus is of mean profiles. Use it alone, without n_components")
        cluster = ConsensusProfiles(n_clusters, random_state=random_state)
        return Pipeline([("prepare", ExpressionScaler(n_genes=MOST_GENES)), ("cluster", cluster)])
    return _recipe(ExpressionScaler(), n_clusters, n_components, n_variables, random_state)


def single_cell(
    n_clusters: Any = 2,
    *,
    n_components: Any = None,
    n_genes: int | None = N_GENES,
    random_state: Any = None,
) -> Pipeline:
    """Types of single cells: counts normalised and logged, variable genes, axes and PSC.

    Each cell is scaled to the median total of all cells, but at most 10,000; log2(1 + x) is taken;
    each cell is centred; the genes that vary most are kept, and of these the leading principal
    axes, as in `expression`. A cluster is a mean profile or, with ``n_components``, a small affine
    subspace. Logarithms, which many files hold in place of counts, are recognised and left alone.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. `selection.select_n_clusters` says which numbers are stable.
    n_components : int or list of int, optional
        Dimension of the subspaces, one for all or one each; by default 0.
    n_genes : int or None, default 2000
        Number of genes kept; None: all.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Pipeline
        Steps "prepare" and "cluster", as of `expression`. It takes sparse matrices, too; of those
        only the genes kept are made dense.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from subspaces import recipes
    >>> random = np.random.default_rng(0)
    >>> rates = np.ones((90, 200))
    >>> rates[:40, :20], rates[40:70, 20:40] = 6, 6
    >>> counts = sparse.csr_matrix(random.poisson(rates * random.uniform(0.3, 1, (90, 1))))
    >>> model = recipes.single_cell(3, random_state=0).fit(counts)
    >>> np.bincount(model[-1].labels_).tolist()
    [40, 30, 20]
    """
    scaler = ExpressionScaler(kind="cells", n_genes=n_genes)
    return _recipe(scaler, n_clusters, n_components, None, random_state)


def _recipe(
    scaler: ExpressionScaler, n_clusters: Any, n_components: Any, n_variables: Any, seed: Any
) -> Pipeline:
    """Return the Pipeline of a scaler, which gets as many axes as the clusters need, and PSC."""
    for name, value in (("n_clusters", n_clusters), ("n_components", n_components)):
        if isinstance(value, str):
            raise ValueError(
                f"{name}={value!r} is not for expression data: the axes kept depend on it. Use a "
                "number; selection.select_n_clusters compares several"
            )
    dense = n_variables is None
    if n_components is None:
        n_components = 0 if dense else 1
    if not dense:
        n_axes = None
    elif np.ndim(n_components):
        n_axes = sum(n_components) + len(n_components)
    else:
        n_axes = n_clusters * (n_components + 1)
    criterion = "auto"
    if dense:
        # Measured on 28 data sets: the likelihood isolates single samples where clusters are mean
        # profiles; where they have axes, its adjusted Rand index is .07 better than that of "loo".
        criterion = "likelihood" if np.any(n_components) else "loo"
    cluster = PSC(
        n_clusters,
        n_components=n_components,
        n_variables=n_variables,
        affine=dense,
        criterion=criterion,
        random_state=seed,
    )
    return Pipeline([("prepare", scaler.set_params(n_axes=n_axes)), ("cluster", cluster)])
