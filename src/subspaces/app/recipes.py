"""Whole pipelines for one kind of data, with the settings that served it best.

A recipe is a scikit-learn Pipeline: a preparation that remembers what it did, so that new samples
are prepared alike, and an estimator of this library. Why these settings, with figures:
"Prepare expression data", https://subspaces.readthedocs.io.
"""

import os
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from subspaces._types import Auto, CriterionName, Data, PerCluster, Seed
from subspaces.app.expression_scaler import (
    N_GENES,
    ExpressionScaler,
    as_dense,
    as_preparation,
    as_table,
)
from subspaces.data.validation import row_names
from subspaces.diagnostics._markers import Markers, markers_of_model
from subspaces.estimators import PSC
from subspaces.estimators._base import SubspaceClusterer
from subspaces.facts import with_facts
from subspaces.messages import Advice, ParameterError, ParameterTypeError
from subspaces.preparation import Preparation
from subspaces.runtime.fitted import draft_of

__all__ = ["ExpressionScaler", "Recipe", "expression", "single_cell"]

P = ParamSpec("P")
R = TypeVar("R")


def _with_clusters(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a method so that only a recipe that ends with a clusterer has it."""
    return available_if(lambda recipe: hasattr(recipe[-1], "fit_predict"))(method)


def _draft_of_step(step: Any) -> Any:
    """Return a copy of a step to fit; "passthrough" stays as it is."""
    return draft_of(step) if isinstance(step, BaseEstimator) else step


def _with_names(scaler: Any, model: Any, X: Data) -> Any:
    """Return the last step with the names of the genes and samples of X, which it saw without."""
    if not isinstance(model, SubspaceClusterer):
        return model
    named = hasattr(scaler, "feature_names_in_") and not hasattr(model, "feature_names_in_")
    unnamed = model.record_.scores is not None and model.record_.sample_names is None
    return with_facts(
        model,
        variable_names=scaler.get_feature_names_out() if named else None,
        sample_names=row_names(X) if unnamed else None,
    )


class Recipe(Pipeline):
    """A scikit-learn Pipeline that prepares a table and clusters it.

    `expression` and `single_cell` return one. Pass the table as it was measured to ``fit``,
    ``predict``, ``markers`` and ``report``. The last step, ``recipe[-1]``, only knows the prepared
    values.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from subspaces import recipes
    >>> random = np.random.default_rng(0)
    >>> counts = random.poisson(random.lognormal(2, 1, 300), (60, 300))
    >>> counts[:20, :5] *= 9
    >>> counts = pd.DataFrame(counts, columns=[f"gene{j}" for j in range(300)])
    >>> recipe = recipes.expression(2, random_state=0).fit(counts)
    >>> table = recipe.markers(counts, recipe.labels_[0]).table
    >>> sorted(table["variable"][:5].tolist())
    ['gene0', 'gene1', 'gene2', 'gene3', 'gene4']
    """

    def fit(self, X: Data, y: ArrayLike | None = None, **params: Any) -> Self:
        """Prepare the table and find the clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Samples in rows, genes in columns, as they were measured.
        y : ignored
            For compatibility.
        **params
            Parameters of the steps, as in a Pipeline.

        Returns
        -------
        Recipe
            The fitted recipe.
        """
        # A fit that fails leaves all steps as they were.
        draft = copy(self)
        draft.steps = [(name, _draft_of_step(step)) for name, step in self.steps]
        Pipeline.fit(draft, X, y, **params)
        draft.steps[-1] = (draft.steps[-1][0], _with_names(draft[0], draft[-1], X))
        for (_, step), (_, fitted) in zip(self.steps, draft.steps, strict=True):
            if isinstance(step, BaseEstimator):
                step.__dict__ = vars(fitted)
        return self

    @_with_clusters
    def fit_predict(self, X: Data, y: ArrayLike | None = None, **params: Any) -> Any:
        """Fit and return the cluster of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Samples in rows, genes in columns, as they were measured.
        y : ignored
            For compatibility.
        **params
            Parameters of the steps, as in a Pipeline.

        Returns
        -------
        ndarray of shape (n,)
            Cluster of each sample, ``labels_``.
        """
        return self.fit(X, y, **params).labels_

    @property
    def labels_(self) -> Any:
        """Cluster of each sample, (n,)."""
        return self[-1].labels_

    @_with_clusters
    def report(
        self, X: Data | None = None, path: str | Path = "report.html", **options: Any
    ) -> Path:
        """Write the result as one interactive HTML page that works offline.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), optional
            The table of ``fit``, not prepared. If you pass it, the page also shows distances of
            samples, and differences between clusters in standard deviations. A sparse table becomes
            dense.
        path : str or Path, default "report.html"
            Where to write the page. An existing file is replaced once the page is complete.
        **options
            ``title``, ``classes`` (known ones), ``metadata``, ``names`` (of the clusters),
            ``sample_names``, ``stability``, ``selection`` and ``markers``. See
            `subspaces.pages.render`.

        Returns
        -------
        Path
            Path of the page.
        """
        dense = as_dense(X)
        return self._taking_raw_values(dense).report(dense, path, **options)

    @_with_clusters
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the last step and its preparation to a file that `subspaces.load` reads.

        Loading returns the clusterer, such as `PSC`. Its ``predict``, ``markers`` and ``report``
        prepare their samples, so pass the table as it was measured, not sparse.

        Parameters
        ----------
        path : str or path
            Name of the file, for example ``model.npz``.
        """
        self._taking_raw_values().save(path)

    def _taking_raw_values(self, X: Data | None = None) -> Any:
        """Return a copy of the last step that prepares what it is given.

        With X, the table of fit, means and deviations are measured before samples are projected on
        axes, beyond which nothing varies.
        """
        model = self[-1]
        check_is_fitted(model)
        if not isinstance(model, SubspaceClusterer):
            raise ParameterTypeError(
                "cluster",
                f"A recipe with {type(model).__name__} cannot write a report or a model file. "
                "Use one with PSC.",
            )
        return with_facts(model, preparation=self._preparation(X), X=X)

    def _preparation(self, X: Data | None = None) -> Preparation:
        """Return what the scaler does; genes have its names, those of X, or x0, x1 and so on."""
        scaler = self[0]
        names = getattr(scaler, "feature_names_in_", None)
        if names is None:
            columns, p = getattr(X, "columns", ()), scaler.n_features_in_
            names = columns if len(columns) == p else [f"x{j}" for j in range(p)]
        return as_preparation(scaler, [str(name) for name in names])

    @_with_clusters
    def markers(
        self,
        X: Data,
        cluster: int | None = None,
        *,
        split_half: bool = False,
        n_nulls: int = 99,
        random_state: Seed = None,
    ) -> Markers:
        """Test which genes set clusters apart from all other samples.

        All genes are tested on the log scale of the preparation, including those that it did not
        keep. Intensities below the floor are raised to it. Counts are scaled by the genes that
        nearly all samples express. If there are few such genes, counts are scaled to one total. A
        warning then tells you if most genes of a cluster are shifted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            The table of ``fit``, not prepared. A sparse table becomes dense.
        cluster : int, optional
            The cluster to test. By default all clusters.
        split_half : bool, default False
            Whether to add p-values that are not optimistic. The last step then also clusters each
            half of the genes. See `subspaces.diagnostics.markers`.
        n_nulls : int, default 99
            How many tables of one group to draw, if ``split_half`` is True.
        random_state : int, RandomState or None
            Seed of the halves and of these tables.

        Returns
        -------
        Markers
            ``.table`` has the difference, effect, rank statistic, p-value, false discovery rate and
            shares of each gene. ``.verdict`` tells you how far to trust the p-values.
        """
        scaler, model = self[0], self[-1]
        check_is_fitted(model)
        preparation = self._preparation(X)
        if not hasattr(scaler, "feature_names_in_"):
            X = as_table(X)  # genes by their places
        dense = as_dense(X)
        return markers_of_model(
            model, dense, cluster, n_nulls, random_state, preparation, split_half=split_half
        )


def expression(
    n_clusters: int = 2,
    *,
    n_components: PerCluster | None = None,
    n_variables: PerCluster | Auto | None = None,
    random_state: Seed = None,
) -> Recipe:
    """Make a recipe that finds subtypes in gene expression.

    `ExpressionScaler` keeps the leading principal axes, as many as K subspaces of dimension R and
    their centres can span: K (R + 1). Then `PSC` fits affine subspaces. By default R is 0. A
    cluster is then its mean profile, and each sample goes to the nearest one, fitted without that
    sample (criterion "loo"). If R is 1 or more, the leave-one-out likelihood decides.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. `selection.select_n_clusters` shows which numbers are stable.
    n_components : int or list of int, optional
        Dimension of the subspaces, R, one for all or one per cluster. By default 0, or 1 if
        ``n_variables`` is set.
    n_variables : None, int or "auto", default None
        Number of genes per axis, as in `PSC`. If it is set, all principal axes are kept.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Recipe
        A Pipeline with the steps "prepare" and "cluster". After ``fit``:

        - ``model.labels_``: the clusters.
        - ``model.predict``: clusters of new samples.
        - ``model.markers(X, k)``: tests which genes set cluster k apart.
        - ``model[:-1].get_feature_names_out()``: names of the genes kept.
        - ``model[-1].subspaces_[k].centre``: log2 ratio of cluster k to the mean sample, for each
          gene kept.

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

    >>> found = model.markers(X, 1).columns["variable"][:10]
    >>> sorted(found.tolist()) == [f"x{j}" for j in range(100, 110)]
    True
    """
    return _recipe(ExpressionScaler(), n_clusters, n_components, n_variables, random_state)


def single_cell(
    n_clusters: int = 2,
    *,
    n_components: PerCluster | None = None,
    n_genes: int | None = N_GENES,
    random_state: Seed = None,
) -> Recipe:
    """Make a recipe that finds types of single cells.

    Each cell is scaled to the median total of all cells, but at most 10,000. Then log2(1 + x) is
    taken, and each cell is centred. The most variable genes are kept, and then their leading
    principal axes, as in `expression`. A cluster is a mean profile, or a small affine subspace if
    you set ``n_components``. If the table has logarithms instead of counts, they are recognised and
    not changed.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters. `selection.select_n_clusters` shows which numbers are stable.
    n_components : int or list of int, optional
        Dimension of the subspaces, one for all or one per cluster. By default 0.
    n_genes : int or None, default 2000
        Number of genes to keep. None keeps all.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Recipe
        A Pipeline with the steps "prepare" and "cluster", as from `expression`. It also takes
        sparse matrices, and makes only the genes that it keeps dense.

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
    scaler: ExpressionScaler, n_clusters: Any, n_components: Any, n_variables: Any, seed: Seed
) -> Recipe:
    """Return the `Recipe` of a scaler, which gets as many axes as the clusters need, and PSC."""
    for name, value in (("n_clusters", n_clusters), ("n_components", n_components)):
        if isinstance(value, str):
            fact = f"<{name}={{value!r}}> does not work in a recipe."
            advice = Advice("set a number, or leave it out", command="")
            if name == "n_clusters":
                advice = Advice("choose a number with selection.select_n_clusters", command="")
            raise ParameterError(name, fact, advice, value=value)
    dense = n_variables is None
    if n_components is None:
        n_components = 0 if dense else 1
    if not dense:
        n_axes = None
    elif np.ndim(n_components):
        n_axes = sum(n_components) + len(n_components)
    else:
        n_axes = n_clusters * (n_components + 1)
    criterion: CriterionName = "auto"
    if dense:
        # On 28 data sets, if clusters are mean profiles, the likelihood isolates single samples. If
        # they have axes, its adjusted Rand index is 0.07 better than that of "loo".
        criterion = "likelihood" if np.any(n_components) else "loo"
    cluster = PSC(
        n_clusters,
        n_components=n_components,
        n_variables=n_variables,
        affine=dense,
        criterion=criterion,
        random_state=seed,
    )
    return Recipe([("prepare", scaler.set_params(n_axes=n_axes)), ("cluster", cluster)])
