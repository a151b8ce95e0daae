"""`MPPCA`, `MCFA` and `MCtFA`: mixtures of probabilistic PCA and of common factor analysers."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from subspaces._types import Array, Data, MixtureNoise, PerCluster, Seed, StopReason
from subspaces.core import em, incomplete, partition, ppca_mixture
from subspaces.core.dimensions import check_enough, dimensions_of, nothing_to_cluster
from subspaces.core.incomplete import IncompleteMixture, as_gaussian, as_subspace
from subspaces.core.partition import Partition, order_of_appearance
from subspaces.data.validation import has_holes
from subspaces.estimators._base import SubspaceClusterer, WeightedClusterer
from subspaces.messages import Advice, ParameterError
from subspaces.psc.doubts import warn_of_an_early_end, warn_of_empty_clusters
from subspaces.psc.fit import no_weights
from subspaces.psc.incomplete import fill, fitted
from subspaces.rivals import factor_mixture
from subspaces.rivals.mixture_starts import first_partitions, leading_loadings, random_loadings
from subspaces.runtime.parameters import as_choice, as_count, as_generator, as_real
from subspaces.runtime.threads import one_blas_thread
from subspaces.subspace import Subspace, scores
from subspaces.subspace import dimensions_of as widths


class MixtureClusterer(SubspaceClusterer):
    """Base of the mixture models. Do not use it on its own.

    A subclass implements ``_fit`` and ``_log_joint``.
    """

    n_init: int
    max_iter: int
    tol: float
    random_state: Seed

    weights_: Annotated[Array, "K"]
    means_: Annotated[Array, "K", "p"]
    log_likelihood_: float
    log_likelihood_path_: Annotated[Array, "*"]
    bic_: float
    n_iter_: int
    stop_reason_: StopReason
    starts_: list[dict[str, str | float]]
    _n_parameters: int

    scores_are_likelihoods_ = True

    def predict_proba(self, X: Data) -> Array:
        """Return the probability of each cluster for each sample.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, n_clusters)
            Probabilities, which sum to 1 for each sample.
        """
        return em.responsibilities(self._log_joint(self._validate_new(X)))

    def score_samples(self, X: Data) -> Array:
        """Return the log density of each sample.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n,)
            Log densities.
        """
        return logsumexp(self._log_joint(self._validate_new(X)), axis=1)

    def score(self, X: Data, y: ArrayLike | None = None) -> float:
        """Return the mean log density of the samples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.
        y : ignored
            For compatibility.

        Returns
        -------
        float
            Mean log density.
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: Data) -> float:
        """Return the Bayesian information criterion of these samples. Lower is better.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples.

        Returns
        -------
        float
            -2 log-likelihood + log(n) times the number of free parameters.
        """
        log_density = self.score_samples(X)
        return self._bic(float(log_density.sum()), len(log_density))

    def _bic(self, log_likelihood: float, n_samples: float) -> float:
        return float(-2.0 * log_likelihood + self._n_parameters * np.log(n_samples))

    def _log_joint(self, X: Array) -> Array:
        """Return ``log pi_k f_k(x)`` of every row under every cluster, (n, K)."""
        raise NotImplementedError

    def _scores(self, X: Array) -> Array:
        return -self._log_joint(X)

    def _check_search(self, X: Array) -> tuple[int, np.random.Generator]:
        """Return the number of starts and a generator, after checks of the parameters and X."""
        as_count(self.max_iter, "max_iter", low=1)
        as_real(self.tol, "tol")
        if not np.ptp(X, axis=0).any():
            raise nothing_to_cluster("All samples are identical")
        return as_count(self.n_init, "n_init", low=1), as_generator(self.random_state)

    def _store_search(self, best: em.Climb[em.State], runs: Sequence[em.Climb[em.State]]) -> None:
        self.log_likelihood_path_ = np.array(best.path)
        self.n_iter_ = best.n_iter
        self.stop_reason_ = best.stop_reason
        columns = ("start", "log_likelihood", "n_iter", "stop_reason")
        self.starts_ = [{name: getattr(run, name) for name in columns} for run in runs]

    def _store_subspaces(
        self, X: Array, bases: Sequence[Array], weights: Array | None = None
    ) -> None:
        """Set labels, subspaces, log-likelihood and BIC from the parameters of the mixture.

        bases: K arrays (p, r). A spectrum sums squared scores times the cluster's probability, and
        by weights (n,), None if all rows count one.
        """
        joint = self._log_joint(X)
        self.labels_ = partition.assign(-joint)
        shares = em.responsibilities(joint)
        shares = shares if weights is None else shares * weights[:, None]
        self.subspaces_ = []
        whole = incomplete.imputed(X, self._mixture()) if has_holes(X) else X
        for centre, basis, share in zip(self.means_, bases, shares.T, strict=True):
            subspace = Subspace(centre, basis, np.zeros(basis.shape[1]))
            self.subspaces_.append(Subspace(centre, basis, share @ scores(whole, subspace) ** 2))
        self.n_components_ = widths(self.subspaces_)
        self.log_likelihood_ = em.log_likelihood(joint, weights)
        self.objective_ = -self.log_likelihood_
        n = len(X) if weights is None else float(weights.sum())
        self.bic_ = self._bic(self.log_likelihood_, n)

    def _warn_of_a_poor_end(self) -> None:
        warn_of_an_early_end(self.stop_reason_, self.max_iter, self.n_clusters)
        warn_of_empty_clusters(len(np.unique(self.labels_)), self.n_clusters)


class MPPCA(WeightedClusterer, MixtureClusterer):
    """Mixture of probabilistic principal component analysers.

    Each cluster is a Gaussian with its own mean. Its variance is large along a few axes, and small
    and equal in all other directions. EM fits the mixture from several starts.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces.
    noise : {"own", "shared"}, default "own"
        Whether each cluster has its own noise variance, as in the paper, or all share one. "shared"
        is safer if there are few samples. "own" lets a cluster shrink to a few samples that lie
        near a subspace by chance.
    n_init : int, default 10
        Number of starts. They come in turn from K-means, from subspaces and from random labels.
        Each makes ten iterations, and the three likeliest continue.
    max_iter : int, default 500
        Largest number of iterations of a start.
    tol : float, default 1e-5
        A start has converged if its log-likelihood per sample rose by at most ``tol`` over five
        iterations, and is not expected to rise by more. If values are missing, EM stops once an
        iteration gains at most 1e-6 per value.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Most probable cluster of each sample, the same as ``predict(X)``.
    weights_ : ndarray of shape (n_clusters,)
        Share of each cluster.
    means_ : ndarray of shape (n_clusters, p)
        Mean of each cluster.
    noise_variance_ : ndarray of shape (n_clusters,)
        Variance of each cluster in each direction outside its subspace.
    explained_variance_ : list of ndarray of shape (r,)
        Variances of each cluster along its axes, including noise.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r) and ``spectrum`` (r,).
        ``spectrum`` is the sum of the squared scores along each axis. Each sample counts by its
        probability of being in the cluster.
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    log_likelihood_ : float
        Log-likelihood of the data, with all constants.
    log_likelihood_path_ : ndarray
        Log-likelihood after each iteration of the best start. It never falls.
    objective_ : float
        Minus the log-likelihood.
    bic_ : float
        Bayesian information criterion. Lower is better.
    n_iter_ : int
        Number of iterations of the best start.
    stop_reason_ : str
        Why the best start stopped: "converged", "max_iter" or "infeasible". "infeasible" means that
        a cluster had too few samples, fewer than ``n_components + 2``, in every start.
    starts_ : list of dict
        What each start reached. "brief" starts stopped after ten iterations.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    Variances are maximum likelihood estimates, divided by n. If there is one cluster,
    ``noise_variance_`` is that of PCA in scikit-learn times (n - 1) / n.

    No variance is below 1e-10 of the mean variance of the variables, so the likelihood stays finite
    if the samples of a cluster lie exactly in a subspace.

    `transform` returns minus the log joint density of sample and cluster. Lower is nearer.

    References
    ----------
    M. E. Tipping and C. M. Bishop, "Mixtures of probabilistic principal component analyzers",
    Neural Computation 11 (1999) 443-482.

    Examples
    --------
    >>> from subspaces import MPPCA
    >>> from subspaces.datasets import make_subspaces
    >>> lines = make_subspaces(200, 5, [1, 1], noise=0.05, offset=1.0, random_state=0)
    >>> model = MPPCA(2, n_components=1, random_state=0).fit(lines.data)
    >>> bool((model.labels_ == lines.target).all())
    True
    >>> model.noise_variance_.round(4)
    array([0.0023, 0.0022])
    """

    _takes_missing = True

    noise_variance_: Annotated[Array, "K"]
    explained_variance_: Annotated[list[Annotated[Array, "*"]], "K"]
    _model: ppca_mixture.PPCAMixture

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: PerCluster = 1,
        noise: MixtureNoise = "own",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.noise = noise
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit_with_holes(self, X: Array) -> None:
        """Fit the filled table, then the observed cells from its clusters."""
        shared = as_choice(self.noise, "noise", get_args(MixtureNoise)) == "shared"
        dimensions = dimensions_of(self, X)
        filled = fill(X, dimensions, affine=True)
        self._fit_complete(filled.table + filled.origin)
        found = fitted(filled, self.labels_, dimensions, True, shared, self.max_iter)
        k, is_alike = len(dimensions), len(set(dimensions)) == 1
        order = order_of_appearance(found.labels, k) if is_alike else np.arange(k)
        mixture = incomplete.moved(found.mixture, filled.origin, order.tolist())
        places = [
            as_subspace(cluster, noise, 1.0)
            for cluster, noise in zip(mixture.clusters, mixture.noise.tolist(), strict=True)
        ]
        model = ppca_mixture.PPCAMixture(
            mixture.shares,
            np.array([place.centre for place in places]),
            tuple(place.basis for place in places),
            tuple(place.spectrum for place in places),
            mixture.noise,
            X.shape[1],
        )
        self.missing_share_ = float(np.isnan(X).mean())
        self._observed = filled.cells.observed.sum(axis=0, keepdims=True)
        self._store_model(X, model)
        self.log_likelihood_path_ = np.array(found.path)
        self.n_iter_ = len(found.path)
        self.stop_reason_ = "converged" if found.has_converged else "max_iter"
        self._warn_of_a_poor_end()

    def _mixture(self) -> IncompleteMixture:
        model = self._model
        clusters = tuple(
            as_gaussian(Subspace(centre, basis, spread), float(noise), 1.0)
            for centre, basis, spread, noise in zip(
                model.centres, model.bases, model.variances, model.noise, strict=True
            )
        )
        return IncompleteMixture(clusters, model.weights, model.noise, self._known_columns)

    def _fit_any(self, X: Array, weights: Array | None) -> None:
        if not has_holes(X):
            self._fit_complete(X, weights)
            return
        if weights is not None:
            raise no_weights("missing values")
        with one_blas_thread():
            self._fit_with_holes(X)

    def _fit_complete(self, X: Array, weights: Array | None = None) -> None:
        """Fit the rows of positive weight; the others are only given labels."""
        whole, counts = X, weights
        if weights is not None:
            check_enough(weights, dimensions_of(self, X))
            X, counts = X[weights > 0.0], weights[weights > 0.0]
        shared = as_choice(self.noise, "noise", get_args(MixtureNoise)) == "shared"
        dimensions = dimensions_of(self, X)
        n_starts, random = self._check_search(X)
        setting = ppca_mixture.pose(X, dimensions, affine=True, shared_noise=shared, weights=counts)
        with one_blas_thread():
            partitions = first_partitions(setting.rows, [dimensions], n_starts, random, counts)
            firsts = [(name, Partition(y, len(dimensions)).indicator) for name, y in partitions]
            begun = [
                em.begin(name, ppca_mixture.first_state(setting, y), counts) for name, y in firsts
            ]
            step = partial(ppca_mixture.step, setting)
            runs = em.search(begun, step, self.max_iter, self.tol)
        best = em.best_climb(runs)
        self._store_search(best, runs)
        self._n_parameters = ppca_mixture.n_parameters(
            dimensions, X.shape[1], affine=True, shared=shared
        )
        model = ppca_mixture.lifted(setting, best.state.model)
        if len(set(dimensions)) == 1:
            labels = np.argmax(best.state.log_joint, axis=1)
            model = ppca_mixture.reordered(model, order_of_appearance(labels, len(dimensions)))
        self._store_model(whole, model, weights)
        self._warn_of_a_poor_end()

    def _store_model(
        self, X: Array, model: ppca_mixture.PPCAMixture, weights: Array | None = None
    ) -> None:
        self._model = model
        self.weights_, self.means_ = model.weights, model.centres
        self.noise_variance_ = model.noise
        self.explained_variance_ = list(model.variances)
        self._store_subspaces(X, model.bases, weights)

    def _log_joint(self, X: Array) -> Array:
        holes = np.isnan(X).any(axis=1) | (self.missing_share_ > 0.0)
        if not holes.any():
            return ppca_mixture.log_joint(self._model, X)
        joint = np.empty((len(X), len(self._model.weights)))
        joint[holes] = -incomplete.scored(X[holes], self._mixture())
        joint[~holes] = ppca_mixture.log_joint(self._model, X[~holes])
        return joint


class MCFA(MixtureClusterer):
    """Mixture of common factor analysers.

    Each sample is ``y = A u + e``: the loadings A are the same for all clusters, and the noise e
    has its own variance for each variable. The q factors u follow a mixture of Gaussians. Only the
    factors differ between the clusters, so the model needs few parameters even for many variables.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Number of common factors, q. Clusters near different subspaces of dimensions R_1, ..., R_K
        need up to R_1 + ... + R_K factors. ``bic_`` helps to choose.
    n_init : int, default 10
        Number of starts. They come in turn from K-means, from subspaces and from random labels.
        Each makes ten iterations, and the three likeliest continue.
    max_iter : int, default 500
        Largest number of iterations of a start.
    tol : float, default 1e-5
        Tolerance of convergence, in log-likelihood per sample. A start has converged if it rose
        by at most this over five iterations, and if no larger rise is expected.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Most probable cluster of each sample, the same as ``predict(X)``.
    weights_ : ndarray of shape (n_clusters,)
        Share of each cluster.
    loadings_ : ndarray of shape (p, q)
        Loadings A, with orthonormal columns.
    factor_means_ : ndarray of shape (n_clusters, q)
        Mean of the factors in each cluster, xi.
    factor_covariances_ : ndarray of shape (n_clusters, q, q)
        Covariance of the factors in each cluster, Omega.
    noise_variance_ : ndarray of shape (p,)
        Noise variance of each variable, D.
    df_ : ndarray of shape (n_clusters,)
        Degrees of freedom, which are infinite.
    means_ : ndarray of shape (n_clusters, p)
        Mean of each cluster, A xi.
    subspaces_ : list of Subspace
        Subspace of each cluster. All have the span of A. ``centre`` is A xi, and ``basis`` (p, q)
        has the principal axes of the cluster's factors. ``spectrum`` (q,) sums squared scores,
        weighted by the probability of the cluster.
    n_components_ : ndarray of shape (n_clusters,)
        q for each cluster.
    log_likelihood_ : float
        Log-likelihood of the data, with all constants.
    log_likelihood_path_ : ndarray
        Log-likelihood after each iteration of the best start. It never falls.
    objective_ : float
        Minus the log-likelihood.
    bic_ : float
        Bayesian information criterion. Lower is better.
    n_iter_ : int
        Number of iterations of the best start.
    stop_reason_ : str
        Why the best start stopped: "converged", "max_iter" or "infeasible". "infeasible" means that
        a cluster had a total weight below one sample, in every start.
    starts_ : list of dict
        What each start reached. "brief" starts stopped after ten iterations.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    All means lie in the span of A, which passes through the origin, as in the paper. If the origin
    means nothing in your data, subtract the mean of each variable first. This saves a factor.

    No noise variance is below 1e-10 of the mean square of its variable, so the likelihood stays
    finite if the data have rank q.

    `transform` returns minus the log joint density of sample and cluster. Lower is nearer.

    References
    ----------
    J. Baek, G. J. McLachlan and L. K. Flack, "Mixtures of factor analyzers with common factor
    loadings: applications to the clustering and visualization of high-dimensional data", IEEE
    Trans. Pattern Anal. Mach. Intell. 32 (2010) 1298-1309.

    Examples
    --------
    >>> from subspaces import MCFA
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> model = MCFA(2, n_components=3, random_state=0).fit(planes.data)
    >>> bool((model.labels_ == planes.target).all())
    True
    >>> model.factor_scores(planes.data).shape
    (200, 3)
    """

    _dimension_to_compare = "sum"  # all clusters share one space
    loadings_: Annotated[Array, "p", "q"]
    factor_means_: Annotated[Array, "K", "q"]
    factor_covariances_: Annotated[Array, "K", "q", "q"]
    noise_variance_: Annotated[Array, "p"]
    df_: Annotated[Array, "K"]
    _model: factor_mixture.FactorMixture
    _change: Annotated[Array, "q", "q"]

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 1,
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        _fit_common_factors(self, X, np.inf)

    def factor_scores(self, X: Data) -> Array:
        """Return the expected factors of each sample, averaged over all clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, q)
            Factors, in the coordinates of ``loadings_``.
        """
        X = self._validate_new(X)
        return factor_mixture.factor_scores(self._model, X) @ self._change.T

    def _log_joint(self, X: Array) -> Array:
        return factor_mixture.log_joint(self._model, X)


class MCtFA(MCFA):
    """Mixture of common t-factor analysers.

    It is `MCFA` with Student's t distribution instead of the Gaussian, so samples far from all
    clusters count less.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Number of common factors, q. Clusters near different subspaces of dimensions R_1, ..., R_K
        need up to R_1 + ... + R_K factors. ``bic_`` helps to choose.
    df : None or float, default None
        Degrees of freedom of all clusters. None estimates them for each cluster, from 1e-4 to 200.
        ``inf`` is `MCFA`.
    n_init : int, default 10
        Number of starts. They come in turn from K-means, from subspaces and from random labels.
        Each makes ten iterations, and the three likeliest continue.
    max_iter : int, default 500
        Largest number of iterations of a start.
    tol : float, default 1e-5
        Tolerance of convergence, in log-likelihood per sample. A start has converged if it rose
        by at most this over five iterations, and if no larger rise is expected.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Most probable cluster of each sample, the same as ``predict(X)``.
    weights_ : ndarray of shape (n_clusters,)
        Share of each cluster.
    loadings_ : ndarray of shape (p, q)
        Loadings A, with orthonormal columns.
    factor_means_ : ndarray of shape (n_clusters, q)
        Centre of the factors in each cluster, xi.
    factor_covariances_ : ndarray of shape (n_clusters, q, q)
        Scale matrix of the factors in each cluster, Omega.
    noise_variance_ : ndarray of shape (p,)
        Noise variance of each variable, D, on the same scale.
    df_ : ndarray of shape (n_clusters,)
        Degrees of freedom.
    means_ : ndarray of shape (n_clusters, p)
        Centre of each cluster, A xi.
    subspaces_ : list of Subspace
        Subspace of each cluster. All have the span of A. ``centre`` is A xi, and ``basis`` (p, q)
        has the principal axes of the cluster's factors. ``spectrum`` (q,) sums squared scores,
        weighted by the probability of the cluster.
    n_components_ : ndarray of shape (n_clusters,)
        q for each cluster.
    log_likelihood_ : float
        Log-likelihood of the data, with all constants.
    log_likelihood_path_ : ndarray
        Log-likelihood after each iteration of the best start. It never falls.
    objective_ : float
        Minus the log-likelihood.
    bic_ : float
        Bayesian information criterion. Lower is better.
    n_iter_ : int
        Number of iterations of the best start.
    stop_reason_ : str
        Why the best start stopped: "converged", "max_iter" or "infeasible". "infeasible" means that
        a cluster had a total weight below one sample, in every start.
    starts_ : list of dict
        What each start reached. "brief" starts stopped after ten iterations.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    All centres lie in the span of A, which passes through the origin, as in the paper. If the
    origin means nothing in your data, subtract the mean of each variable first. This saves a
    factor.

    No noise variance is below 1e-10 of the mean square of its variable, so the likelihood stays
    finite if the data have rank q.

    `transform` returns minus the log joint density of sample and cluster. Lower is nearer.

    References
    ----------
    J. Baek and G. J. McLachlan, "Mixtures of common t-factor analyzers for clustering
    high-dimensional microarray data", Bioinformatics 27 (2011) 1269-1276.

    Examples
    --------
    >>> from subspaces import MCtFA
    >>> from subspaces.datasets import make_scenario
    >>> lines = make_scenario("a", random_state=0)
    >>> model = MCtFA(2, n_components=2, random_state=0).fit(lines.data)
    >>> bool((model.labels_ == lines.target).all())
    True
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 1,
        df: float | None = None,
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.df = df
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        df = self.df
        is_given = df is not None and df != np.inf
        _fit_common_factors(self, X, as_real(df, "df", above=True) if is_given else df)


def _fit_common_factors(model: MCFA, X: Array, df: float | None) -> None:
    """Fit `MCFA` or `MCtFA`, and set its attributes; df: degrees of freedom, None to estimate."""
    n_factors = _n_factors(model, X)
    n_starts, random = model._check_search(X)
    with one_blas_thread():
        first_df = factor_mixture.FIRST_DF if df is None else float(df)
        begun = _first_states(X, model.n_clusters, n_factors, first_df, n_starts, random)
        floor = factor_mixture.floors(X)
        step = partial(factor_mixture.step, X, floor, estimate_df=df is None)
        runs = em.search(begun, step, model.max_iter, model.tol)
    best = em.best_climb(runs)
    model._store_search(best, runs)
    model._n_parameters = factor_mixture.n_parameters(model.n_clusters, n_factors, X.shape[1])
    model._n_parameters += model.n_clusters if df is None else 0
    labels = np.argmax(best.state.log_joint, axis=1)
    order = order_of_appearance(labels, model.n_clusters)
    _store_common_factors(model, X, factor_mixture.reordered(best.state.model, order))
    model._warn_of_a_poor_end()


def _n_factors(model: MCFA, X: Array) -> int:
    """Return the number of common factors, after checks of it and of ``n_clusters`` against X."""
    n, p = X.shape
    if np.ndim(model.n_components):
        fact = f"{type(model).__name__} uses the same <n_components> for all clusters."
        advice = Advice("set it to one number, such as the sum of the dimensions", "n_components")
        raise ParameterError("n_components", fact, advice, value=model.n_components)
    why, most = " for {n:#sample} of {p:#variable}", min(n - 1, p)
    n_factors = as_count(model.n_components, "n_components", low=1, high=most, why=why, n=n, p=p)
    most = max(n // 3, 1)
    as_count(model.n_clusters, "n_clusters", low=1, high=most, why=" for {n:#sample}", n=n)
    return n_factors


def _first_states(
    X: Array, n_clusters: int, n_factors: int, df: float, n_starts: int, random: np.random.Generator
) -> list[em.Climb[factor_mixture.State]]:
    """Return one first state of EM for each start.

    The partitions behind them are of subspaces with few and with many dimensions, in turn.
    """
    most = max(min(n_factors - 1, len(X) // n_clusters - partition.smallest_size(1) + 1), 1)
    few = min(-(-n_factors // n_clusters), most)
    shapes = [[few] * n_clusters, [most] * n_clusters]
    leading = leading_loadings(X, n_factors, random)
    begun = []
    for name, labels in first_partitions(X, shapes, n_starts, random):
        chance = name == "random"
        loadings = random_loadings(X, n_factors, random) if chance else leading
        first = factor_mixture.first_state(X, Partition(labels, n_clusters).indicator, loadings, df)
        begun.append(em.begin(name, first))
    return begun


def _store_common_factors(model: MCFA, X: Array, found: factor_mixture.FactorMixture) -> None:
    """Set the attributes of a model from a mixture, with the loadings made orthonormal."""
    model._model = found
    shown = factor_mixture.orthonormal(found)
    model._change = shown.loadings.T @ found.loadings
    model.weights_, model.df_ = found.weights, found.df
    model.loadings_, model.noise_variance_ = shown.loadings, found.noise
    model.factor_means_, model.factor_covariances_ = shown.means, shown.covariances
    model.means_ = shown.means @ shown.loadings.T
    axes = np.linalg.svd(shown.roots)[0]
    model._store_subspaces(X, [shown.loadings @ rotation for rotation in axes])
