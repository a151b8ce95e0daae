"""`PSC`: predictive subspace clustering."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from subspaces._types import (
    Array,
    Auto,
    CriterionName,
    Indices,
    Init,
    Penalty,
    PerCluster,
    Refinement,
    Seed,
    VariableList,
)
from subspaces.core.array import in_main_memory
from subspaces.core.partition import Partition
from subspaces.data.validation import warn_of_copies
from subspaces.estimators._base import WeightedClusterer
from subspaces.estimators._new_rows import NewRows
from subspaces.estimators._subspaces import as_list_name
from subspaces.messages import ParameterError, use
from subspaces.psc.doubts import warn_of_infinite_objective, warn_of_single_samples
from subspaces.psc.fit import fit
from subspaces.psc.result import attributes, support
from subspaces.psc.settings import OPEN
from subspaces.runtime.parameters import as_count


def with_choices(model: Any) -> Any:
    """Return an unfitted copy of a model in which the numbers that it chose replace "auto".

    So fits to halves of the samples or of the variables do not choose for themselves.
    """
    left_open = [name for name in OPEN if isinstance(getattr(model, name, None), str)]
    chosen = {name: np.asarray(getattr(model, f"{name}_")).tolist() for name in left_open}
    return clone(model).set_params(**chosen)


def without_outliers(model: Any) -> Any:
    """Return an unfitted model that puts every sample into a cluster: it is changed."""
    return model.set_params(outliers=None) if hasattr(model, "outliers") else model


class PSC(WeightedClusterer):
    """Predictive subspace clustering.

    PSC finds groups of samples that lie near a line, a plane or another low-dimensional subspace.
    Each sample joins the cluster that predicts it best when the sample is left out of the fit. This
    keeps small clusters from fitting their own noise.

    Parameters
    ----------
    n_clusters : int or "auto", default 2
        Number of clusters. "auto" tries 1 to ``max_clusters``, but at most a quarter of the number
        of samples. It compares Gaussian mixtures by their integrated completed likelihood, and
        prefers one cluster if it describes the samples as well. If ``n_variables`` is set, it
        compares leave-one-out likelihoods, and also tries other dimensions than a given
        ``n_components``. See "How many clusters, dimensions, variables?",
        https://subspaces.readthedocs.io.
    n_components : int, one int per cluster or "auto", default 1
        Dimension of the subspaces. If you pass a list, cluster k has dimension ``n_components[k]``.
        "auto" chooses a dimension up to ``max_components`` for each cluster. If the dimension is 0,
        a cluster is its mean. This needs ``affine=True``.
    n_variables : None, int, one int per cluster or "auto", default None
        How many variables each axis of a cluster uses. Each cluster chooses its own variables. None
        uses all. If you pass the number of variables of X, each axis also uses all, and the default
        criterion is the influence of the paper. "auto" chooses one number for all clusters by the
        permutation gap.
    affine : bool or "auto", default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin.
        "auto" chooses the same for all clusters. If the variables of X are centred, "auto" gives
        the clusters centres. "auto" does not work with ``n_variables``.
    criterion : str, default "auto"
        The score that decides which cluster a sample joins ("Choose a criterion",
        https://subspaces.readthedocs.io):

        - "auto": "distance" for equal dimensions. It is "likelihood" for unequal ones, or if a
          dimension equals the rank of the data. If ``n_variables`` is set, it is the influence on
          the union of the clusters' variables.
        - "distance": the exact leave-one-out error, plus the squared scores along axes that are
          hardly stronger than the noise.
        - "likelihood": the leave-one-out predictive density, with one noise variance for all
          clusters.
        - "loo": the exact leave-one-out error alone. For more than 10,000 samples, sparse matrices
          and Dask arrays, "hat" takes its place.
        - "hat": a cheap approximation of "loo".
        - "influence": the predictive influence of the paper.
        - "loo_projection": the distance from a subspace that was fitted without the sample.
        - "residual": the distance from the subspace with the sample included, as in K-subspaces.

        If ``n_variables`` is set, the only other choices are "residual" and "loo_projection". If
        you choose another criterion than the default, or if the dimension is 0, every start runs to
        its end. The lowest objective then wins.
    penalty : {"l1", "nonnegative"}, default "l1"
        Kind of sparse loadings. "nonnegative" allows no loading below zero.
    init : {"portfolio", "random", "k-means++", "local"}, labels or callable, default "portfolio"
        How the search starts ("Where the search starts, and which start wins",
        https://subspaces.readthedocs.io). "portfolio" makes several kinds of starts that suit the
        samples. If there are more than 2,000 samples, it clusters a part of them first. "k-means++"
        is the fastest good start. PSC calls a callable as ``init(X, n_clusters, random_state=...)``
        and expects labels.
    n_init : int or "auto", default "auto"
        Number of starts. "auto" makes at most 12 starts of the portfolio. It stops if three of at
        least two kinds end in the best clusters so far. For any other ``init`` it makes 12, or 1 on
        a GPU. If ``n_variables`` is set, it makes 20. Labels are one start.
    max_iter : int, default 50
        Largest number of iterations of a start. If values are missing, EM makes up to ten times as
        many.
    refine : {None, "ppca", "descent"}, default None
        How to improve the best clusters. "ppca" fits a mixture of probabilistic PCAs with equal
        noise by EM, from the five best starts. If ``n_variables`` is set, it uses only the
        variables that are more than noise. "descent" moves single samples as long as this lowers
        the objective. Its time grows with the square of the number of samples, so it accepts at
        most 10,000.
    max_clusters : int, default 10
        Largest number of clusters that "auto" tries.
    max_components : int, default 5
        Largest dimension that "auto" tries.
    outliers : None or float, default None
        False discovery rate of outliers, such as 0.1. Outliers get the label -1, and do not change
        the clusters. If None, every sample is in a cluster. You cannot use it with ``n_variables``,
        missing values, weights or Dask arrays. To see when not to trust the rate, read "Can I
        believe this?", https://subspaces.readthedocs.io.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Number of threads, as in joblib. Fits of more than 10,000 samples use as many threads as
        K-means of scikit-learn does (OMP_NUM_THREADS, ``threadpoolctl``). The result does not
        depend on the number.
    verbose : int, default 0
        1 prints a line for each start, and 2 a line for each iteration. `subspaces.progress` and
        the callbacks of scikit-learn 1.9 (`set_callbacks`) get the same steps.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), of 32-bit integers
        Cluster of each sample, or -1 for an outlier.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_clusters_ : int
        Number of clusters.
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    affine_ : bool
        Whether each subspace has its own centre.
    n_variables_ : None, int or list of int
        How many variables each axis uses. None is all.
    selection_ : dict
        The candidates, if a number was "auto". Only fits with "auto" have it.

        - ``n_clusters``, ``n_components``, ``affine``: lists with one entry per candidate.
        - ``cost``: the criterion of each candidate: ICL, or minus the log leave-one-out likelihood
          if the dimensions are given. Lower is better.
        - ``difference``: how far each candidate is from the best.
        - ``against_one``: the log-likelihood gained over one group, its standard error and p-value.
        - ``answers``: up to three choices to consider, the simplest first, as parameters of `PSC`.
        - ``verdict``: the choice and how clear it is.
        - ``grade``: "sure", "doubtful" or "unknown".

        If ``n_variables`` is set, the candidates use all variables and learn their dimensions.
    variables_ : list of ndarray
        Column numbers of the variables that each cluster uses. `get_variables` gives their names.
    support_ : ndarray
        Column numbers of the variables that at least one cluster uses.
    cluster_means_ : ndarray of shape (n_clusters, p)
        Mean of the samples in each cluster.
    within_std_ : ndarray of shape (p,)
        Standard deviation of each variable within the clusters, pooled. It uses observed values
        only. It is NaN if X spans too few directions, for example after a projection to a few axes.
    probabilities_ : ndarray of shape (n, n_clusters)
        Probability of each cluster for each sample. ``labels_`` are the most probable clusters.
        Each sample is left out of its own cluster first. If ``n_variables`` is set, only its error
        is left out. If values are missing, nothing is. Large data read in blocks do not have it:
        use `predict_proba`.
    p_values_ : ndarray of shape (n,)
        How unusual each sample is for its cluster, if ``outliers`` is set. Each sample is left out
        first. An outlier has its largest p-value over the clusters.
    outlier_threshold_ : float
        Largest p-value of an outlier, if ``outliers`` is set. It comes from the procedure of
        Benjamini and Hochberg. If that finds none, it is ``outliers / n``.
    influence_ : ndarray of shape (n,)
        Squared predictive influence of each sample on its own cluster. If ``n_variables`` is set,
        it is computed on ``support_``. Samples of weight 0 have NaN.
    press_ : float
        Mean squared leave-one-out error over the samples, on all variables. Axes and mean are
        fitted without the sample. It is exact up to 10,000 samples, and a first-order approximation
        for more.
    noise_variance_ : float
        Variance per direction outside the subspaces, pooled over the clusters. Only directions that
        X spans count.
    score_variance_ : float
        Noise variance that "distance" compares the axes with. It is ``noise_variance_``, but at
        most twice the variance that the median residual implies. Only ``criterion_`` "distance" has
        it.
    missing_share_ : float
        Share of the values of X that were missing.
    criterion_ : str
        The criterion that the fit used. "union_influence" is the default if ``n_variables`` is set.
    objective_ : float
        Sum of the scores of all samples in their own clusters. Lower is better.
    objective_path_ : ndarray
        Objective after each iteration of the best start, before ``refine="ppca"``. It can rise
        ("Does it converge?", https://subspaces.readthedocs.io).
    n_iter_ : int
        Number of iterations of the best start. If the search was approximate, only those with exact
        errors count.
    stop_reason_ : str
        Why the best start stopped:

        - "converged": no label changes any more.
        - "overshot": the iterations ended in worse clusters than they had found. The best ones are
          kept.
        - "cycle": the iterations returned to earlier clusters. The best ones are kept.
        - "restless": in the last iterations at most 1 % of the samples moved, and the objective
          hardly fell. The best clusters are kept. Only for 1,000 samples or more.
        - "max_iter": ``max_iter`` iterations were not enough.
        - "infeasible": a cluster got too few samples.
        - "local minimum": no single move lowers the objective (``refine="descent"``).
        - "refined": ``refine="ppca"`` changed the labels.
    starts_ : list of dict
        What each start reached. The start with the lowest ``merit`` won. ``promise`` rates the
        labels of a start before its first iteration, and lower is better. "not swept" means that
        the promise was too far from the best.
    start_margin_ : float
        How far the best start is ahead of the best one with other clusters, relative to its
        ``merit``. It is infinite if all starts found the same clusters.
    fit_ : Fit
        The whole result as one frozen value.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    ``labels_`` are the clusters that ``subspaces_`` were fitted to. The fit leaves each sample out
    of its own cluster. `predict` treats every sample as new, so on the training data it can differ
    from ``labels_``. This concerns less than 1 % of the samples of the paper's scenarios
    (benchmarks/dense_scenarios.py). It concerns more if labels still moved at the end of the fit
    (``stop_reason_`` is "max_iter", "cycle" or "restless"). If a dimension equals the rank of the
    data, `predict` and `transform` use "likelihood".

    If values are missing, PSC fits a mixture of Gaussians to the observed values by EM. ``labels_``
    are then ``predict(X)``, ``criterion_`` is "likelihood", and ``n_iter_`` counts iterations of
    EM. Errors and influence use the approximation "hat", and are scaled up from the observed values
    to all p.

    X may be a numpy array, a memory-mapped file, a scipy sparse matrix or a Dask array. See "Big
    data: passes, chunks, zeros and streams", https://subspaces.readthedocs.io. For a Dask array,
    ``labels_`` and ``influence_`` are Dask arrays.

    References
    ----------
    B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a predictive
    approach", Data Mining and Knowledge Discovery 28 (2014) 736-772.

    Examples
    --------
    >>> from subspaces import PSC
    >>> from subspaces.datasets import make_scenario
    >>> from subspaces.metrics import rand_score
    >>> line_and_plane = make_scenario("b", random_state=0)
    >>> model = PSC(2, n_components=[1, 2], random_state=0).fit(line_and_plane.data)
    >>> rand_score(line_and_plane.target, model.labels_)
    1.0

    Find clusters that each use their own 10 of 200 variables:

    >>> sparse = make_scenario("c", sparse=True, random_state=0)
    >>> model = PSC(2, n_components=2, n_variables=10, random_state=0).fit(sparse.data)
    >>> len(model.get_variables(0)), len(model.get_variables(1))
    (15, 18)

    Choose the number of clusters, their dimensions and centres:

    >>> from subspaces.datasets import load_penguins
    >>> birds = load_penguins().frame.dropna()
    >>> model = PSC("auto", n_components="auto", affine="auto", random_state=0)
    >>> model = model.fit(birds / birds.std())
    >>> model.n_clusters_, model.n_components_.tolist(), model.affine_
    (3, [1, 1, 1], True)
    """

    _reads_blocks = True

    n_clusters_: int
    affine_: bool
    n_variables_: Any
    criterion_: str
    variables_: list[Indices]
    support_: Indices
    influence_: Array
    probabilities_: Annotated[Array, "n", "K"]
    p_values_: Annotated[Array, "n"]
    outlier_threshold_: float
    press_: float
    noise_variance_: float
    score_variance_: float
    objective_path_: Array
    n_iter_: int
    stop_reason_: str
    starts_: list[dict[str, Any]]
    start_margin_: float

    def __init__(
        self,
        n_clusters: int | Auto = 2,
        *,
        n_components: PerCluster | Auto = 1,
        n_variables: PerCluster | Auto | None = None,
        affine: bool | Auto = False,
        criterion: CriterionName = "auto",
        penalty: Penalty = "l1",
        init: Init = "portfolio",
        n_init: int | Auto = "auto",
        max_iter: int = 50,
        refine: Refinement | None = None,
        max_clusters: int = 10,
        max_components: int = 5,
        outliers: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_variables = n_variables
        self.affine = affine
        self.criterion = criterion
        self.penalty = penalty
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.refine = refine
        self.max_clusters = max_clusters
        self.max_components = max_components
        self.outliers = outliers
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_any(self, X: Any, weights: Array | None) -> None:
        self.fit_ = fit(X, weights, self._settings())
        self.__dict__ |= self._attributes_of_fit()

    def _attributes_of_fit(self) -> dict[str, Any]:
        found = self.fit_
        return attributes(found) | {
            "n_clusters_": len(found.subspaces),
            "affine_": found.affine,
            "n_variables_": found.n_variables,
            "criterion_": found.criterion,
            "variables_": [np.flatnonzero(each.basis.any(axis=1)) for each in found.subspaces],
            "support_": support(found.subspaces),
        }

    @property
    def _takes_missing(self) -> bool:  # type: ignore[override]
        return self.n_variables is None

    @property
    def scores_are_likelihoods_(self) -> bool:
        """Whether `transform` returns minus log densities. Otherwise it returns squared errors."""
        return self.fit_.scored_by == "likelihood"

    def _warn_of_odd_samples(self, rows: Array | None, names: NDArray[Any] | None) -> None:
        super()._warn_of_odd_samples(rows, names)
        if rows is not None:
            warn_of_copies(rows)
        labels, sizes = (
            self.labels_ if rows is None else in_main_memory(self.labels_),
            self.fit_.sizes,
        )
        if self.missing_share_ or self._weights is not None:  # sizes are no numbers of samples
            sizes = Partition(labels, len(sizes)).sizes
        instead = "loo" if self.n_variables_ is None else "loo_projection"
        # Workers and devices have so many samples that single ones would be hard to find.
        is_told = isinstance(labels, np.ndarray) and warn_of_single_samples(
            labels, sizes, names, use("criterion", instead)
        )
        if not is_told and not np.isfinite(self.objective_):
            warn_of_infinite_objective(self.subspaces_)

    def p_values(self, X: Any) -> Any:
        """Return how unusual each sample is for its cluster, if ``outliers`` is set.

        `predict` labels a sample -1 if its p-value is at most ``outlier_threshold_``. To control
        the false discovery rate among the samples of X, adjust these p-values.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples. If values are missing, the expected distance is used.

        Returns
        -------
        array of shape (n,)
            Largest p-value of each sample over the clusters.
        """
        check_is_fitted(self)
        if self.fit_.bulk is None:
            fact = "The model has no p-values. Fit it again with <outliers=0.1>."
            raise ParameterError("outliers", fact)
        rows = self._new_rows(X, "p_values")
        assert isinstance(rows, NewRows)  # a model with outliers reads no blocks
        return rows.p_values()

    def get_variables(self, cluster: int, by: VariableList | None = None) -> NDArray[Any]:
        """Return the variables that vary within a cluster, or that set it apart, strongest first.

        Parameters
        ----------
        cluster : int
            Number of the cluster.
        by : {"axes", "difference"}, optional
            "axes" returns the variables with a non-zero loading, ordered by how much they vary
            along the axes. "difference" returns the variables whose cluster mean differs from the
            mean of all other samples. They are ordered by the size of the difference, divided by
            ``within_std_``. The default is "axes", or "difference" if the dimension of the cluster
            is 0.

        Returns
        -------
        ndarray
            Names of the variables, or column numbers if X had no names.
        """
        check_is_fitted(self)
        cluster = as_count(cluster, "cluster", low=0, high=len(self.subspaces_) - 1)
        subspace, chosen = self.subspaces_[cluster], self.variables_[cluster]
        by = as_list_name(by, subspace)
        if by == "difference":
            ordered = self._contrast(cluster).order
        else:
            strength = subspace.basis[chosen] ** 2 @ subspace.spectrum
            ordered = chosen[np.argsort(-strength, kind="stable")]
        names = self._variable_names
        return ordered if names is None else names[ordered]
