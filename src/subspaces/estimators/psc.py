"""`PSC`: predictive subspace clustering."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from subspaces._types import (
    Array,
    Auto,
    CriterionName,
    Init,
    Labels,
    Penalty,
    PerCluster,
    Refinement,
    Seed,
    VariableList,
)
from subspaces.core import criteria, influence, partition
from subspaces.core.alternation import Clustering
from subspaces.core.array import to_host
from subspaces.core.criteria import ScoreInputs, attraction, costs, own_costs
from subspaces.core.descent import descend, objective_of
from subspaces.core.incomplete import IncompleteMixture, observed_cells
from subspaces.core.incomplete_pca import (
    IncompletePCA,
    row_errors,
    squared_influence,
)
from subspaces.core.leave_one_out import exact_errors
from subspaces.core.likelihood import as_divisor, capped_variance
from subspaces.core.low_rank import in_few_coordinates, n_directions
from subspaces.core.ppca_mixture import refine_labels
from subspaces.core.problem import Problem, view_clusters
from subspaces.core.rows import ClusterView, DenseRows, Rows
from subspaces.core.search import Run
from subspaces.core.sparse_loadings import Sparsity
from subspaces.core.sparse_view import SparseView, loadings_of, seen_through, union_of_supports
from subspaces.data.copies import warn_of_copies
from subspaces.data.in_blocks import BlockProblem, influence_and_press, residual_energy
from subspaces.data.subspaces import Subspaces
from subspaces.estimators import _choosing
from subspaces.estimators._alternating import AlternatingClusterer
from subspaces.estimators._fitted_state import fetched
from subspaces.estimators._many_rows import FEW_ROWS, directions_of_all
from subspaces.estimators._subspaces import (
    as_list_name,
    distance_from_own_subspaces,
    per_cluster,
    store_subspaces,
    widths,
)
from subspaces.runtime.fitted import fit_of
from subspaces.runtime.parameters import as_choice, as_count
from subspaces.runtime.threads import one_blas_thread
from subspaces.runtime.warning import warn
from subspaces.starts.screening import screened_rows
from subspaces.subspace import PrincipalAxes, Subspace, scores_and_residuals

MEASURES = ("union_influence", "loo_projection")
REFINEMENTS: tuple[Refinement, ...] = get_args(Refinement)
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
# Parameters that may be "auto".
OPEN = ("n_clusters", "n_components", "n_variables")
# The attraction below which the influence of a member grows as it fits better (docs/repulsion.md).
REPULSIVE = 4.0
# Names or numbers that a warning lists before it says "...".
SHOWN = 5


def with_choices(model: Any) -> Any:
    """Return an unfitted copy of a model in which the numbers that it chose replace "auto".

    So fits to halves of the samples or of the variables do not choose for themselves.
    """
    left_open = [name for name in OPEN if isinstance(getattr(model, name, None), str)]
    chosen = {name: np.asarray(getattr(model, f"{name}_")).tolist() for name in left_open}
    return clone(model).set_params(**chosen)


class PSC(AlternatingClusterer):
    """Predictive subspace clustering.

    Finds groups of samples that each lie near their own low-dimensional subspace. A sample goes to
    the cluster that would predict it best had it been left out, so that a cluster gets no credit
    for having bent towards its own members.

    Parameters
    ----------
    n_clusters : int or "auto", default 2
        Number of clusters. "auto": the best of 1 to ``max_clusters``, but at most n // 4, by the
        leave-one-out likelihood, one cluster as a subspace of up to as many dimensions as its best
        rival has in all; where to trust it: "How many clusters, dimensions, variables?",
        https://subspaces.readthedocs.io. With sparse loadings of given dimension each number is
        fitted with this dimension and with learned ones, and the likelier is kept.
    n_components : int, one int per cluster or "auto", default 1
        Dimension of the subspaces. With one per cluster, cluster k has dimension
        ``n_components[k]``. "auto": chosen for each cluster, from 1 to ``max_components``; a single
        cluster with ``affine=True`` may have 0.
    n_variables : None, int, one int per cluster or "auto", default None
        Number of variables with a non-zero loading, for each loading; the clusters choose theirs.
        None: all variables, no selection. As many as X has: no selection either, with the paper's
        influence as the default criterion. "auto": one number for all, by the permutation gap.
    affine : bool, default False
        Whether a subspace has a centre of its own; otherwise all pass through the origin.
    criterion : str, default "auto"
        What a sample is scored by under a cluster. "distance": the exact leave-one-out error, plus
        its squared scores along axes that are hardly stronger than the noise; a sweep costs the
        cube of a cluster's size where no axes stand out of it. With unequal dimensions it is worse
        than "likelihood", and a warning says so. "loo": the exact leave-one-out error alone. Of
        more than 10,000 rows, sparse matrices and Dask arrays the error is left out to first order,
        and "hat" is used in place of "loo". "likelihood": the leave-one-out predictive density,
        with one noise variance for all clusters. "influence": the predictive influence of the
        paper. "hat": a cheap approximation of "loo". "loo_projection": the residual from loadings
        that the sample had no part in. "residual": no leaving out, K-subspaces. "auto" is
        "distance" for equal dimensions, and "likelihood" for unequal ones or when a dimension
        equals the rank of the data; asked for by its name, that one gives the same model. With any
        other, and for dimension 0, all starts are swept and the lowest objective wins. With
        ``n_variables``, "auto" is the influence on the union of the clusters' variables, and only
        "residual" and "loo_projection" can be asked for instead.
    penalty : {"l1", "nonnegative"}, default "l1"
        Kind of sparse loadings: of either sign, or none below zero.
    init : {"portfolio", "random", "k-means++", "local"}, labels or callable, default "portfolio"
        First partitions. "portfolio": several kinds, chosen by the number of samples, the rank and
        the dimensions; of more than 2000 samples a sample is searched and the best partition
        extended to all ("Where the search starts, and which start wins",
        https://subspaces.readthedocs.io). "k-means++" is the best of the quick ones. A callable is
        called as ``init(X, n_clusters, random_state=...)`` and returns labels.
    n_init : int or "auto", default "auto"
        Number of starts. "auto": of the portfolio at most 12, and no more once three of them, of
        two kinds at least, have ended in the best partition so far; otherwise 10, on a device 1,
        with ``n_variables`` 20. Labels are one start.
    max_iter : int, default 50
        Most sweeps of one start. With missing cells, EM makes up to ten times as many steps.
    refine : {None, "ppca", "descent"}, default None
        What is done with the best partition. "ppca": EM of a mixture of probabilistic PCA with
        equal noise, from the five best starts (with ``n_variables``: on the variables that carry
        more than noise).
        "descent": single samples are moved while that lowers the objective, so that the result is
        a local minimum. Its time grows with the square of n, to minutes for some thousand samples;
        more than 10,000 are refused.
    max_clusters : int, default 8
        Most clusters that "auto" tries; with n samples it tries no more than n // 4.
    max_components : int, default 5
        Largest dimension that "auto" tries.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Threads over which the starts are spread, after joblib's conventions. Passes over more than
        10,000 rows use as many threads as scikit-learn's K-means would (OMP_NUM_THREADS,
        ``threadpoolctl``). The result depends on neither.
    verbose : int, default 0
        1: print a line per start that is swept; 2: one per sweep, too. `subspaces.progress` and
        scikit-learn's callbacks (`set_callbacks`, from its version 1.9 on) hear the same.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), of 32-bit integers
        Cluster of each sample.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_clusters_ : int
        Number of clusters.
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    n_variables_ : None, int or list of int
        Number of variables per loading.
    selection_ : dict
        Where something was "auto", as lists: each number of clusters tried, its dimensions, the
        likelihood that decided, how far it is behind the best (``difference``, in nats) and the
        ``standard_error`` of that. ``verdict``: the choice and how clear it is, in one sentence.
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
    influence_ : ndarray of shape (n,)
        Squared predictive influence of each sample under its own cluster; with ``n_variables``, on
        ``support_``.
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
        to an earlier one; the best was kept), "max_iter", "infeasible" (a cluster could not be kept
        alive), "local minimum" (after "descent") or "refined" (by "ppca", with other labels).
    starts_ : list of dict
        Each start: its kind, its ``promise`` (the leave-one-out t-likelihood of its first
        partition, where starts are compared as they come), and what it reached. The lowest
        ``merit`` won. "not swept": its promise was out of reach of the best.
    start_margin_ : float
        How far the best start is ahead of the best that ended in another partition, relative to
        what they are compared by; infinite if all that were swept ended in the same.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    ``labels_`` are the clusters that ``subspaces_`` were fitted to, whatever the kind of X. A
    sample was scored there by the subspace of its own cluster without it. `predict` scores every
    row as an outsider, since it cannot know which rows were members. On the training data it may
    therefore differ from ``labels_``: in less than 1 % of the samples of the paper's scenarios
    (benchmarks/dense_scenarios.py), and in more if labels still moved when the fit ended
    (``stop_reason_`` is "max_iter" or "cycle"). If a dimension equals the rank of the data,
    `predict` and `transform` use "likelihood" whatever the criterion.

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
    """

    def __init__(
        self,
        n_clusters: int | Auto = 2,
        *,
        n_components: PerCluster | Auto = 1,
        n_variables: PerCluster | Auto | None = None,
        affine: bool = False,
        criterion: CriterionName = "auto",
        penalty: Penalty = "l1",
        init: Init = "portfolio",
        n_init: int | Auto = "auto",
        max_iter: int = 50,
        refine: Refinement | None = None,
        max_clusters: int = 8,
        max_components: int = 5,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Any) -> None:
        self._check_choices()
        if self.refine == "descent" and len(X) > FEW_ROWS:
            raise ValueError(
                "refine='descent' fits the clusters anew for every sample, so that its time grows "
                f"with the square of n_samples={len(X)}. Use refine='ppca' or None, or up to "
                f"{FEW_ROWS} samples"
            )
        super()._fit(X)

    def _fit_few(self, X: Array) -> None:
        if any(_choosing.is_auto(getattr(self, name)) for name in OPEN):
            self._fit_automatic(X)
            return
        self.n_clusters_ = self.n_clusters
        self.n_variables_ = self.n_variables
        few = in_few_coordinates(X, bool(self.affine)) if self.n_variables is None else None
        points = X if few is None else few.points
        rows = None if few is None else DenseRows(points)
        problem = self._problem(X, rows)
        best, runs = self._best_run(X, problem)
        refined = self._refined(problem, best, runs)
        ended = refined if best.clustering.stop_reason == "cycle" else best  # refining settles it
        self._search.warn_of_a_poor_end(ended.clustering, runs, len(X), problem.alike)
        self._store(problem, refined, runs)
        self.criterion_ = problem.criterion
        self._data = problem.data
        if problem.sparsity is None:
            axes = store_subspaces(self, points, problem.dimensions, problem.affine)
            residuals = self._store_left_out(points, problem, axes)
            if few is not None:
                self.subspaces_ = list(map(few.among_the_rows, self.subspaces_))
        else:
            residuals = self._store_sparse(X, self._sparse_views(problem, refined.clustering))
        self._store_variables()
        self._warn_of_repulsion(residuals, partition.sizes(self.labels_, len(residuals)))

    def _warn_of_odd_samples(self, rows: Array | None, names: NDArray[Any] | None) -> None:
        super()._warn_of_odd_samples(rows, names)
        if rows is not None:
            warn_of_copies(rows)

    @property
    def _takes_missing(self) -> bool:
        return self.n_variables is None

    def _refuse_with_holes(self) -> None:
        self._check_choices()
        for name in ("n_clusters", "n_components"):
            if _choosing.is_auto(getattr(self, name)):
                raise _choosing.not_through_holes(f"{name}='auto'")
        if self.refine == "descent" or self.criterion == "loo_projection":
            name = "refine" if self.refine == "descent" else "criterion"
            raise ValueError(
                f"{name}={getattr(self, name)!r} needs every cell, and X has missing ones. Use "
                "another, or PSC(...).fit(X).impute(X) first"
            )

    def _store_mixture(self, X: Array, mixture: IncompleteMixture) -> None:
        super()._store_mixture(X, mixture)
        self.criterion_ = "likelihood"
        self.__dict__.pop("score_variance_", None)  # of the filled table
        self._store_variables()
        cells = observed_cells(X).of_columns(self._mixture().known)
        errors: Array = np.empty(len(X))
        pulls: Array = np.empty(len(X))
        for k, cluster in enumerate(mixture.clusters):
            own = np.flatnonzero(self.labels_ == k)
            pca = IncompletePCA(
                cells.rows(own), cluster, float(mixture.noise[k]), bool(self.affine)
            )
            errors[own] = row_errors(pca)[1]
            pulls[own] = squared_influence(pca)
        told = errors[np.isfinite(errors)]
        self.influence_, self.press_ = pulls, float(told.mean()) if len(told) else np.inf

    @property
    def _noise_of_cells(self) -> float:
        noise = as_divisor(self.noise_variance_, self._data)
        if self.missing_share_:
            return noise
        # Of fewer samples than variables few directions hold the noise of all cells.
        sizes = to_host(self._sizes)
        directions = float(sizes @ (self._data.rank - self.n_components_))
        free = float(sizes @ (self._n_variables - self.n_components_))
        return noise * directions / free if directions else noise

    def _choice(self, problem: Problem) -> str:
        by_default = self.criterion in ("auto", self._default_criterion(problem))
        return "t_likelihood" if by_default and not problem.of_means else "objective"

    def _beyond_passes(self) -> str | None:
        names = ("n_clusters", "n_components", "n_variables", "refine", "criterion")
        beyond = (
            _choosing.is_auto(self.n_clusters),
            _choosing.is_auto(self.n_components),
            self.n_variables is not None,
            self.refine is not None,
            self.criterion not in ("auto", *criteria.names(passes=True)),
        )
        asked = [name for name, is_beyond in zip(names, beyond, strict=True) if is_beyond]
        return f"{asked[0]}={getattr(self, asked[0])!r}" if asked else None

    def _measure(self, problem: BlockProblem, result: Clustering, subspaces: Subspaces) -> None:
        self.n_clusters_, self.n_variables_ = self.n_clusters, None
        self.criterion_ = problem.criterion
        energy = residual_energy(problem, result.labels, result.subspaces)
        self._store_noise(energy, subspaces.sizes, directions_of_all(problem))
        if self.criterion_ == "distance":
            self.score_variance_ = problem.robust_noise(subspaces)
        self.influence_, self.press_ = influence_and_press(problem, result.labels, result.subspaces)
        self._store_variables()
        self._warn_of_repulsion(subspaces.residual, subspaces.sizes)

    def _warned_of_single_samples(self, few: bool, names: NDArray[Any] | None) -> bool:
        labels = fetched(self.labels_) if few else self.labels_
        # Those of workers or a device are so many that single ones would be hard to find.
        sizes = np.bincount(labels) if isinstance(labels, np.ndarray) else np.zeros(0)
        single = np.flatnonzero(sizes == 1).tolist()
        if not single:
            return False
        rows = [int(np.argmax(labels == k)) for k in single[:SHOWN]]
        listed = [f"row {i}" if names is None else str(names[i]) for i in rows]
        listed += ["..."] * (len(single) > SHOWN)
        hold = (
            f"cluster {single[0]} holds"
            if len(single) == 1
            else f"clusters {', '.join(map(str, single))} hold"
        )
        loo = "loo" if self.n_variables_ is None else "loo_projection"
        warn(
            f"{hold} one sample{' each' if len(single) > 1 else ''} ({', '.join(listed)}), which "
            f"sets it apart and tells nothing of a group. Leave it out, or use fewer clusters, "
            f"or criterion={loo!r}, which cuts no sample off"
        )
        return True

    def _store_variables(self) -> None:
        used = [subspace.basis.any(axis=1) for subspace in self.subspaces_]
        self.variables_ = [np.flatnonzero(loaded) for loaded in used]
        self.support_ = np.flatnonzero(np.any(used, axis=0))

    def _fit_automatic(self, X: Array) -> None:
        """Choose the "auto" parameters, set ``selection_``, and take over the chosen model."""
        as_count(self.max_clusters, "max_clusters", low=1)
        as_count(self.max_components, "max_components", low=1)
        best, self.selection_ = _choosing.fit_automatic(self, X, X)
        tried = self.selection_["n_clusters"]
        if len(tried) > 1 and len(best.subspaces_) == tried[-1]:
            warn(
                f"{tried[-1]} clusters were chosen, the most that were tried: more may suit "
                f"better, or other dimensions. Use a max_clusters above {tried[-1]}, or "
                "n_components='auto', and diagnostics.stability to see which hold",
            )
        if len(tried) > 1:
            _choosing.warn_of_what_passes_for_clusters(best, X)
        if _choosing.is_auto(self.n_components):
            _choosing.warn_of_largest_dimension(best, X, self.max_components)
            self._warn_of_unequal_dimensions(best.n_components_.tolist())
        self.__dict__.update(fit_of(best))

    def get_variables(self, cluster: int, by: VariableList | None = None) -> NDArray[Any]:
        """Variables of a cluster, the strongest first: what sets it apart, or what varies in it.

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

    def _check_choices(self) -> None:
        for name in OPEN:
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                raise TypeError(f"{name}={value!r} is not an integer. Use one from 1 up, or 'auto'")
        as_choice(self.criterion, "criterion", ("auto", *criteria.names(public=True)))
        as_choice(self.penalty, "penalty", PENALTIES)
        if self.refine is not None:
            as_choice(self.refine, "refine", REFINEMENTS)
        if self.n_variables is not None and self.refine == "descent":
            raise ValueError(
                "refine='descent' needs an objective that stays the same from sweep to sweep; with "
                "n_variables it does not. Use refine='ppca' or None"
            )
        for_sparse = ("auto", *criteria.names(sparse=True, public=True))
        if self.n_variables is not None and self.criterion not in for_sparse:
            raise ValueError(
                f"criterion={self.criterion!r} is not defined for sparse loadings (n_variables="
                f"{self.n_variables!r}). Use one of {', '.join(for_sparse)}"
            )

    def _sparsity(self, X: Array) -> Sparsity | None:
        """Return the `Sparsity` of the loadings; None where they may use all variables."""
        if self.n_variables is None:
            return None
        n, p = X.shape
        counts = per_cluster(self, "n_variables", n, low=1, high=p)
        per_cluster(self, "n_components", n, low=1, high=p)
        if min(counts) == p and self.penalty == "l1":
            return None
        return Sparsity(counts, self.penalty)

    def _problem(self, X: Array, rows: Rows | None = None) -> Problem:
        if self.n_clusters == X.shape[0] > 1:
            raise ValueError(
                f"n_clusters={self.n_clusters} for as many samples leaves nothing to predict one "
                "from. Use fewer clusters"
            )
        problem = self._with_criterion(self._pose(X, "loo", self._sparsity(X), rows))
        if problem.identified:
            self._warn_of_unequal_dimensions(problem.dimensions)
        return problem

    def _warn_of_unequal_dimensions(self, dimensions: Sequence[int]) -> None:
        """Warn where "distance" was asked for and the clusters have unequal dimensions."""
        if self.criterion == "distance" and len(set(dimensions)) > 1:
            warn(
                "criterion='distance' compares clusters of unequal dimensions badly, since a "
                "larger one is nearer to every sample. Use criterion='likelihood', the default "
                "there"
            )

    def _with_criterion(self, problem: Problem) -> Problem:
        default = self._default_criterion(problem)
        return replace(problem, criterion=default if self.criterion == "auto" else self.criterion)

    def _default_criterion(self, problem: Problem) -> str:
        """Return the name of the criterion that "auto" is for a problem."""
        if problem.sparsity is not None:
            return "union_influence"
        if self.n_variables is not None:
            return "influence"
        return "distance" if problem.alike else "likelihood"

    def _refined(self, problem: Problem, best: Run, runs: Sequence[Run]) -> Run:
        if self.refine == "descent":
            result = descend(problem, best.clustering, max_iter=self.max_iter)
            return replace(best, clustering=result)
        return self._by_mixture(problem, best, runs) if self.refine == "ppca" else best

    def _by_mixture(self, problem: Problem, best: Run, runs: Sequence[Run]) -> Run:
        """Return the best run with a PPCA mixture's labels; unchanged if a cluster is lost."""
        labels, reached = self._mixture_labels(problem, best, runs), best.clustering
        if partition.too_small(labels, problem.dimensions):
            return best
        views = view_clusters(problem, labels)
        objective = objective_of(problem, labels, views)
        if not np.isfinite(objective):
            return best
        numbered = partition.canonical if problem.interchangeable else np.asarray
        stays = np.array_equal(numbered(labels), numbered(reached.labels))
        result = replace(
            reached,
            labels=labels,
            objective=objective,
            stop_reason=reached.stop_reason if stays else "refined",
            subspaces=loadings_of(views),
        )
        return replace(best, clustering=result)

    def _mixture_labels(self, problem: Problem, best: Run, runs: Sequence[Run]) -> Labels:
        """Return the labels (n,) of EM of a mixture of PPCA, begun at the five best runs.

        With sparse loadings it also begins at the first partitions of all runs.
        """
        whole = [run for run in runs if len(run.first) == len(best.first)]
        ranked = sorted(whole or [best], key=lambda run: run.selection_cost)[:5]
        first = [run.clustering.labels for run in ranked]
        if problem.sparsity is None:
            rows = problem.rows.coordinates
        else:
            rows = screened_rows(problem).matrix
            first += [run.first for run in runs]
        with one_blas_thread():
            return refine_labels(rows, first, problem.dimensions, problem.affine)

    def _store_left_out(
        self, X: Array, problem: Problem, all_axes: Sequence[PrincipalAxes]
    ) -> list[float]:
        """Set ``influence_``, ``press_`` and ``noise_variance_`` of a model with dense loadings.

        Return the sum of the squared residuals of each cluster's members, K numbers.
        """
        errors = np.empty(len(self.labels_))
        self.influence_ = np.empty(len(self.labels_))
        residuals, own = [], np.empty(len(self.labels_))
        for k, (axes, dimension) in enumerate(zip(all_axes, problem.dimensions, strict=True)):
            members = self.labels_ == k
            errors[members] = exact_errors(X[members], dimension, problem.affine, axes)
            kept, residual, spectrum = axes.split(dimension)
            self.influence_[members] = influence.squared_influence(kept, residual, spectrum)
            residuals.append(float(residual.sum()))
            own[members] = residual
        self.press_ = float(errors.mean())
        sizes, energy = partition.sizes(self.labels_, len(residuals)), sum(residuals)
        self._store_noise(energy, sizes, n_directions(X, problem.affine, self._data.rank))
        if problem.criterion == "distance":
            free = max(self._data.rank - int(min(self.n_components_)), 1)
            capped = capped_variance(float(np.median(own)), free, self._data)
            self.score_variance_ = min(as_divisor(self.noise_variance_, self._data), capped)
        return residuals

    def _store_noise(self, energy: float, sizes: NDArray[Any], rank: int) -> None:
        """Set ``noise_variance_``: the residual energy over ``sum_k n_k (rank - R_k)``.

        A cluster with a mean has ``n_k - 1`` in place of ``n_k``.
        """
        freedom = float((sizes - bool(self.affine)) @ (rank - self.n_components_))
        self.noise_variance_ = energy / max(freedom, 1.0)

    def _sparse_views(self, problem: Problem, result: Clustering) -> list[ClusterView]:
        """Return a view of each cluster, with the loadings that gave ``objective_``.

        Loadings fitted to the labels alone would begin their iteration elsewhere and differ.
        """
        if result.subspaces is None:  # no partition of the run had clusters that span their axes
            views = view_clusters(problem, self.labels_)
            own = own_costs(costs(problem.criterion, views, problem.data), self.labels_)
            self.objective_ = float(own.sum())
            return views
        before = np.empty(problem.n_clusters, dtype=np.intp)
        before[self.labels_] = result.labels
        members = [np.flatnonzero(self.labels_ == k) for k in range(problem.n_clusters)]
        return [
            seen_through(result.subspaces[k], problem.rows, own, problem.affine)
            for k, own in zip(before, members, strict=True)
        ]

    def _store_sparse(self, X: Array, views: Sequence[ClusterView]) -> list[float]:
        """Set subspaces, influence, PRESS and noise variance from views with sparse loadings.

        The influence is on the union of the supports, and PRESS is by leave-one-out projection.
        Return the sum of the squared residuals of each cluster's members on that union, K numbers.
        """
        shift = X.mean(axis=0) if self.affine else np.zeros(X.shape[1])
        sparse = [view for view in views if isinstance(view, SparseView)]
        self.subspaces_ = [Subspace(v.centre + shift, v.basis, v.spectrum) for v in sparse]
        self.n_components_ = widths(self.subspaces_)
        own = [own_costs(costs(name, views, self._data), self.labels_) for name in MEASURES]
        self.influence_, self.press_ = own[0], float(own[1].mean())
        sizes = partition.sizes(self.labels_, len(views))
        rank = n_directions(X, bool(self.affine), self._data.rank)
        self._store_noise(distance_from_own_subspaces(self, X), sizes, rank)
        shared = np.flatnonzero(union_of_supports(views))
        part = X[:, shared] - shift[shared]
        lengths = [v.squared_norms_on(part, shared) for v in sparse]
        return [
            float(np.maximum(length - v.captured, 0.0)[v.members].sum())
            for length, v in zip(lengths, sparse, strict=True)
        ]

    def _warn_of_repulsion(self, residuals: Sequence[float] | Array, sizes: NDArray[Any]) -> None:
        """Warn of a cluster in which the influence repels samples that fit.

        residuals (K,): sums of the members' squared residuals; sizes (K,): numbers of members.
        """
        if self.criterion_ not in ("influence", "union_influence"):
            return
        spectra = [subspace.spectrum for subspace in self.subspaces_]
        pulls = list(map(attraction, sizes, spectra, residuals))
        if min(pulls) < REPULSIVE:
            k = int(np.argmin(pulls))
            warn(
                f"cluster {k} has {sizes[k]:.0f} samples, and its weakest axis holds so little "
                f"beside what lies off its axes ({pulls[k]:.1f} times the mean squared residual, "
                "below 4) that the influence repels samples that fit. Use "
                "criterion='loo_projection', fewer components or fewer clusters",
            )

    @property
    def _scoring(self) -> str:
        return criteria.CRITERIA[self._scored_by].passes or "residual"

    @property
    def _scoring_noise(self) -> float:
        if self._scoring == "distance":
            return self.score_variance_
        return as_divisor(self.noise_variance_, self._data)

    def _scores(self, X: Array) -> Array:
        criterion = criteria.CRITERIA[self._scored_by]
        if criterion.dense and (self.n_variables_ is None or not criterion.sparse):
            return criterion.outsider(self._score_inputs(X))
        if self.criterion_ != "union_influence":
            return super()._scores(X)
        kept = to_host(self.support_)
        parts = [replace(f, centre=f.centre[kept], basis=f.basis[kept]) for f in self.subspaces_]
        columns = [
            influence.squared_influence_oblique(
                *places, subspace.spectrum, subspace.basis.T @ subspace.basis, False
            )
            for subspace, places in zip(parts, scores_and_residuals(X[:, kept], parts), strict=True)
        ]
        return np.column_stack(columns)

    @property
    def _scored_by(self) -> str:
        return "likelihood" if self.scores_are_likelihoods_ else self.criterion_

    def _score_inputs(self, X: Array) -> ScoreInputs:
        """Return new rows as criteria take them: squared scores, residuals, cluster statistics."""
        found = self._places(X)
        dimensions = np.array([along.shape[1] for along, _ in found])
        energies = np.zeros((len(X), len(found), max(*dimensions, 1)))
        spectra = np.ones(energies.shape[1:])
        for k, (along, _) in enumerate(found):
            energies[:, k, : dimensions[k]] = along**2
            spectra[k, : dimensions[k]] = self.subspaces_[k].spectrum
        density = criteria.CRITERIA[self._scored_by].is_density
        facts = self.affine, self._scoring_noise, self._data.rank, self._data.n_samples, density
        stats = criteria.ClusterStats(spectra, dimensions, to_host(self._sizes), *facts)
        return ScoreInputs(energies, np.column_stack([residual for _, residual in found]), stats)

    @property
    def scores_are_likelihoods_(self) -> bool:
        """Whether `transform` gives -log densities rather than squared errors."""
        identified = max(self.n_components_) < self._data.rank
        return self.criterion_ == "likelihood" or not identified
