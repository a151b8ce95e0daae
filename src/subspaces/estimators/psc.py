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
from subspaces.estimators._new_rows import NewRows
from subspaces.estimators._subspaces import as_list_name
from subspaces.estimators._weighted import WeightedClusterer
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
        compares leave-one-out likelihoods. If you set ``n_components``, it also tries learned
        dimensions, and keeps the likelier ones. See "How many clusters, dimensions, variables?",
        https://subspaces.readthedocs.io.
    n_components : int, one int per cluster or "auto", default 1
        Dimension of the subspaces. If you pass a list, cluster k has dimension ``n_components[k]``.
        "auto" chooses a dimension up to ``max_components`` for each cluster. If the dimension is 0,
        a cluster is its mean. This needs ``affine=True``.
    n_variables : None, int, one int per cluster or "auto", default None
        How many variables each axis of a cluster uses. Each cluster chooses its own variables.
        None uses all. The number of variables of X also uses all, with the influence of the paper
        as the default criterion. "auto" chooses one number for all clusters by the permutation gap.
    affine : bool or "auto", default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin.
        "auto" chooses the same for all clusters. If the variables of X are centred, "auto" gives
        the clusters centres. You cannot use True with ``n_variables``.
    criterion : str, default "auto"
        The score that decides which cluster a sample joins ("Choose a criterion",
        https://subspaces.readthedocs.io):

        - "auto": "distance" for equal dimensions, and "likelihood" for unequal ones or if a
          dimension equals the rank of the data. If ``n_variables`` is set, it is the influence on
          the union of the clusters' variables.
        - "distance": the exact leave-one-out error, plus the squared scores along axes that are
          hardly stronger than the noise.
        - "likelihood": the leave-one-out predictive density, with one noise variance for all
          clusters.
        - "loo": the exact leave-one-out error alone. For more than 10,000 rows, sparse matrices
          and Dask arrays, "hat" takes its place.
        - "hat": a cheap approximation of "loo".
        - "influence": the predictive influence of the paper.
        - "loo_projection": the distance from a subspace that was fitted without the sample.
        - "residual": the distance from the subspace with the sample included, as in K-subspaces.

        If ``n_variables`` is set, you can only choose "residual" or "loo_projection" instead. If
        you do not leave the criterion at "auto", or if the dimension is 0, every start runs to its
        end and the lowest objective wins.
    penalty : {"l1", "nonnegative"}, default "l1"
        Kind of sparse loadings. "nonnegative" allows no loading below zero.
    init : {"portfolio", "random", "k-means++", "local"}, labels or callable, default "portfolio"
        How the search starts ("Where the search starts, and which start wins",
        https://subspaces.readthedocs.io). "portfolio" makes several kinds of starts that suit the
        samples. If there are more than 2,000 samples, it clusters a part of them first. "k-means++"
        is the fastest good start. PSC calls a callable as ``init(X, n_clusters, random_state=...)``
        and expects labels.
    n_init : int or "auto", default "auto"
        Number of starts. "auto" makes at most 12 starts of the portfolio, and stops once three of
        at least two kinds end in the best clusters so far. For any other ``init`` it makes 12, on a
        GPU 1, and if ``n_variables`` is set 20. Labels are one start.
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
        the clusters. If None, every sample is in a cluster. "Can I believe this?",
        https://subspaces.readthedocs.io, says when not to trust the rate. You cannot use it with
        ``n_variables``, missing values, weights or Dask arrays.
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
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_clusters_ : int
        Number of clusters.
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    affine_ : bool
        Whether the subspaces have centres of their own.
    n_variables_ : None, int or list of int
        Number of variables per loading.
    selection_ : dict
        How the numbers that were "auto" were chosen. Lists with an entry for each candidate:
        ``n_clusters``, ``n_components``, ``affine``, ``icl`` (the criterion, less is better) and
        ``difference`` from the best. ``against_one``: the log-likelihood that the best one gains
        over one group, its standard error and a p-value. ``answers``: at most three that are worth
        a look, the simplest first, as parameters of `PSC`. ``verdict``: the choice and how clear it
        is, in words. ``grade``: the same as "sure", "doubtful" or "unknown". With ``n_variables``
        the criterion is ``likelihood``, and the difference has a ``standard_error``.
    variables_ : list of ndarray
        Per cluster, the variables with a non-zero loading; `get_variables` gives their names.
    support_ : ndarray
        The variables of any cluster.
    cluster_means_ : ndarray of shape (n_clusters, p)
        Mean of the members of each cluster, whether or not the subspaces have centres.
    within_std_ : ndarray of shape (p,)
        Standard deviation of each variable around the means of the clusters, pooled over them:
        what `get_variables` with ``by="difference"`` measures differences in. nan where X was
        projected on no more axes than the subspaces span, so that no variable has its own. Of
        missing cells, it is that of the observed ones.
    probabilities_ : ndarray of shape (n, n_clusters)
        Probability of each cluster for each sample, which was left out of its own. The largest is
        that of ``labels_``. With ``n_variables`` the error alone is left out, with missing cells
        nothing is. Samples that are read in passes have none: use `predict_proba`.
    p_values_ : ndarray of shape (n,)
        With ``outliers``: how unusual the distance of each sample from its cluster is, the sample
        left out. That of an outlier is the largest over the clusters.
    outlier_threshold_ : float
        With ``outliers``: the p-value up to which a sample is an outlier. It is the largest one
        that the procedure of Benjamini and Hochberg rejects, or ``outliers / n`` if it rejects
        none.
    influence_ : ndarray of shape (n,)
        Squared predictive influence of each sample under its own cluster; with ``n_variables``, on
        ``support_``. NaN for samples of weight 0.
    press_ : float
        Mean over the samples of the squared leave-one-out error under the own cluster, axes and
        mean fitted without the sample, on all variables; exact, by leave-one-out projection with
        ``n_variables``, and to first order in passes over more than 10,000 rows.
    noise_variance_ : float
        Variance per direction outside the subspaces, pooled over the clusters. The directions are
        those that X spans: p, or fewer where there are fewer samples. "likelihood" divides by at
        least 1e-10 of the mean variance of X per direction. With missing cells, this is at least
        1e-10 of the mean square of a cell.
    score_variance_ : float
        The same, but at most twice what the median squared residual of a sample says, and at least
        1e-10 of the mean variance of X per direction: what "distance" weighs the axes against.
        There only if ``criterion_`` is "distance".
    missing_share_ : float
        Share of the cells of X that were missing. If there are any, the clusters are those of a
        mixture fitted to the observed cells, ``labels_`` are ``predict(X)``, ``criterion_`` is
        "likelihood", ``objective_path_`` and ``n_iter_`` are those of EM, and errors and influence
        are left out as "hat" and brought to all p cells: those of o observed ones, times
        (p - r) / (o - r).
    criterion_ : str
        The criterion that ran: "hat" where "loo" was asked for and rows are read in passes;
        "union_influence" is the default with ``n_variables``.
    objective_ : float
        Sum over the samples of their score under the own cluster.
    objective_path_ : ndarray
        The objective at every sweep of the best start, before any refinement by "ppca". It may
        rise ("Does it converge?", https://subspaces.readthedocs.io).
    n_iter_ : int
        Number of its sweeps.
    stop_reason_ : str
        Why it stopped: "converged" (no label of ``labels_`` moves), "overshot" (the sweeps ended in
        a worse partition than the one they had met before, which was kept), "cycle" (they came back
        to an earlier one; the best was kept), "restless" (in the last five sweeps at most 1 % of
        1,000 samples or more moved, and the objective fell by at most 0.1 %; the best was kept),
        "max_iter", "infeasible" (a cluster could not be kept alive), "local minimum" (after
        "descent") or "refined" (by "ppca", with other labels).
    starts_ : list of dict
        Each start: its kind, its ``promise`` (minus the log of the leave-one-out t-likelihood of
        its first partition, plus what judging starts charge it, if starts are compared as they
        come), and what it reached. The lowest ``merit`` won. "not swept": its promise was out of
        reach of the best.
    start_margin_ : float
        How far the best start is ahead of the best that ended in another partition, relative to
        what they are compared by; infinite if all that were swept ended in the same.
    fit_ : Fit
        All that was found as one frozen value, which the attributes here are read from; see
        ``psc.result.Fit``.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    ``labels_`` are the clusters that ``subspaces_`` were fitted to, whatever the kind of X. A
    sample was scored there by the subspace of its own cluster without it. `predict` scores every
    row as an outsider, since it cannot know which rows were members. On the training data it may
    therefore differ from ``labels_``: in less than 1 % of the samples of the paper's scenarios
    (benchmarks/dense_scenarios.py), and in more if labels still moved when the fit ended
    (``stop_reason_`` is "max_iter", "cycle" or "restless"). If a dimension equals the rank of the
    data, `predict` and `transform` use "likelihood" whatever the criterion.

    X may be a numpy array, a file mapped into memory, a scipy sparse matrix or a Dask array. For
    the last three, and for more than 10,000 rows: "Big data: passes, chunks, zeros and streams",
    https://subspaces.readthedocs.io. Of a Dask array ``labels_`` and ``influence_`` are Dask
    arrays.

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

    Each cluster with its own ten variables of two hundred:

    >>> sparse = make_scenario("c", sparse=True, random_state=0)
    >>> model = PSC(2, n_components=2, n_variables=10, random_state=0).fit(sparse.data)
    >>> len(model.get_variables(0)), len(model.get_variables(1))
    (15, 18)

    Nothing given: the number of clusters, their dimensions and centres are chosen.

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
        """Whether `transform` gives -log densities rather than squared errors."""
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
        # Those of workers or a device are so many that single ones would be hard to find.
        is_told = isinstance(labels, np.ndarray) and warn_of_single_samples(
            labels, sizes, names, use("criterion", instead)
        )
        if not is_told and not np.isfinite(self.objective_):
            warn_of_infinite_objective()

    def p_values(self, X: Any) -> Any:
        """Return how unusual each sample is for its cluster, if ``outliers`` is set.

        `predict` gives -1 to samples with a p-value up to ``outlier_threshold_``, whatever other
        samples X has. For a false discovery rate among the samples of X, take the p-values.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples. One with missing values has the distance that is expected of it.

        Returns
        -------
        array of shape (n,)
            The largest p-value over the clusters.
        """
        check_is_fitted(self)
        if self.fit_.bulk is None:
            fact = "The model has no p-values, because it was fitted without <outliers>."
            raise ParameterError("outliers", fact, use("outliers", 0.1))
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
            "axes": the variables with a non-zero loading, by the energy of the cluster's members
            that the loadings put on them; what varies within the cluster. "difference": the
            variables whose mean over the members is not that of all other samples, by the absolute
            difference in standard deviations, ``within_std_``; what sets the cluster apart. By
            default "axes", and "difference" for a cluster of dimension 0, which has none.

        Returns
        -------
        ndarray
            Names where X had names, column numbers otherwise.
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
