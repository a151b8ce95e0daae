"""Mixtures of probabilistic PCA and of common factor analysers."""

from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from subspaces._validation import as_choice, as_count
from subspaces.core import em, factor_mixture, ppca_mixture
from subspaces.core.partition import smallest_size
from subspaces.core.student import FIRST_DF
from subspaces.core.threads import one_blas_thread
from subspaces.estimators._mixture import MixtureClusterer, order_of_appearance
from subspaces.estimators._shell import Array
from subspaces.starts.mixtures import first_partitions, leading_loadings, random_loadings


class MPPCA(MixtureClusterer):
    """Mixture of probabilistic principal component analysers.

    Each cluster is a Gaussian with its own mean, large variances along a few axes and one small
    variance in all other directions. Fitted by EM with exact M steps, from several starts.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the flats.
    noise : {"own", "shared"}, default "own"
        Whether each cluster has a noise variance of its own, as in the paper, or all share one.
        With few samples "shared" is the safer choice: a noise of its own lets a cluster shrink on
        a few samples that happen to lie near a flat.
    n_init : int, default 10
        Number of starts, by turns from K-means, subspaces and chance. Ten steps are made from
        each, and the three likeliest carried to the end.
    max_iter : int, default 500
        Most steps of one start.
    tol : float, default 1e-5
        A start has converged when neither the rise of its log-likelihood per sample over five
        steps nor the rise still expected is more than this.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Likeliest cluster of each sample, equal to ``predict(X)``.
    weights_ : ndarray of shape (n_clusters,)
        Shares of the clusters.
    means_ : ndarray of shape (n_clusters, p)
        Their means.
    noise_variance_ : ndarray of shape (n_clusters,)
        Variance in each direction off the flat.
    explained_variance_ : list of ndarray of shape (r,)
        Variances along the axes, noise included.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r) and ``spectrum`` (r,), the sum over the
        samples of their squared scores times the probability that they belong to the cluster.
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    log_likelihood_ : float
        Of the data, with all constants.
    log_likelihood_path_ : ndarray
        At every step of the best start; it never falls.
    objective_ : float
        The log-likelihood with its sign changed.
    bic_ : float
        Bayesian information criterion; lower is better.
    n_iter_ : int
        Number of steps of the best start.
    stop_reason_ : str
        Why it stopped: "converged", "max_iter" or "infeasible" (a cluster has the weight of fewer
        than ``n_components + 2`` samples; such a start is taken only if all are so).
    starts_ : list of dict
        What each start reached; "brief" says that it was not carried to the end.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `core.record.Record`.

    Notes
    -----
    Variances are those of maximum likelihood, divided by n. With one cluster and data of n samples
    ``noise_variance_`` is that of scikit-learn's PCA times (n - 1) / n.

    No variance is below 1e-10 of the mean variance of the data's columns, so that data which fill
    a flat exactly have a finite likelihood. With more variables than samples the data are rotated
    into as many coordinates as there are samples; nothing of size p x p is formed.

    ``transform`` gives minus the log joint density of sample and cluster; lower is nearer.

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

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: Any = 1,
        noise: str = "own",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.noise = noise
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Array) -> None:
        shared = as_choice(self.noise, "noise", ("own", "shared")) == "shared"
        dimensions = self._dimensions(X)
        n_starts, random = self._check_search(X)
        setting = ppca_mixture.pose(X, dimensions, affine=True, shared_noise=shared)
        with one_blas_thread():
            partitions = first_partitions(setting.rows, [dimensions], n_starts, random)
            identity = np.eye(len(dimensions))
            begun = [
                em.begin(name, ppca_mixture.first_state(setting, identity[labels]))
                for name, labels in partitions
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
        self._store_model(X, model)
        self._warn()

    def _store_model(self, X: Array, model: ppca_mixture.PPCAMixture) -> None:
        self._model = model
        self.weights_, self.means_ = model.weights, model.centres
        self.noise_variance_ = model.noise
        self.explained_variance_ = list(model.variances)
        self._store_flats_of(X, model.bases)

    def _log_joint(self, X: Array) -> Array:
        return ppca_mixture.log_joint(self._model, X)


class CommonFactorClusterer(MixtureClusterer):
    """Base of the mixtures of common factor analysers; not for use on its own."""

    def _fit(self, X: Array) -> None:
        n_factors = self._check_sizes(X)
        df = self._degrees_of_freedom()
        n_starts, random = self._check_search(X)
        with one_blas_thread():
            begun = self._begin(X, n_factors, FIRST_DF if df is None else df, n_starts, random)
            floor = factor_mixture.floors(X)
            step = partial(factor_mixture.step, X, floor, estimate_df=df is None)
            runs = em.search(begun, step, self.max_iter, self.tol)
        best = em.best_climb(runs)
        self._store_search(best, runs)
        self._n_parameters = factor_mixture.n_parameters(self.n_clusters, n_factors, X.shape[1])
        self._n_parameters += self.n_clusters if df is None else 0
        labels = np.argmax(best.state.log_joint, axis=1)
        order = order_of_appearance(labels, self.n_clusters)
        self._store_model(X, factor_mixture.reordered(best.state.model, order))
        self._warn()

    def factor_scores(self, X: Any) -> Array:
        """Mean of the factors given the sample, over all clusters.

        Parameters
        ----------
        X : array-like of shape (n, p)
            New samples.

        Returns
        -------
        ndarray of shape (n, q)
            In the coordinates of ``loadings_``.
        """
        X = self._validate_new(X)
        return factor_mixture.factor_scores(self._model, X) @ self._change.T

    def _degrees_of_freedom(self) -> float | None:
        """The given ones, or None if they are to be estimated."""
        raise NotImplementedError

    def _check_sizes(self, X: Array) -> int:
        n, p = X.shape
        high = min(n - 1, p)
        why = f" for {n} samples of {p} variables"
        if np.ndim(self.n_components):
            raise ValueError(
                f"n_components={self.n_components!r} is a list, and all clusters of "
                f"{type(self).__name__} share one space of factors. Use one number, such as the "
                "sum of the clusters' dimensions"
            )
        n_factors = as_count(self.n_components, "n_components", low=1, high=high, why=why)
        as_count(self.n_clusters, "n_clusters", low=1, high=max(n // 3, 1), why=f" for {n} samples")
        return n_factors

    def _begin(
        self, X: Array, n_factors: int, df: float, n_starts: int, random: np.random.Generator
    ) -> list[em.Climb[factor_mixture.State]]:
        n_clusters = self.n_clusters
        most = max(min(n_factors - 1, len(X) // n_clusters - smallest_size(1) + 1), 1)
        few = min(-(-n_factors // n_clusters), most)
        shapes = [[few] * n_clusters, [most] * n_clusters]
        leading = leading_loadings(X, n_factors, random)
        begun = []
        for name, labels in first_partitions(X, shapes, n_starts, random):
            chance = name == "random"
            loadings = random_loadings(X, n_factors, random) if chance else leading
            first = factor_mixture.first_state(X, np.eye(n_clusters)[labels], loadings, df)
            begun.append(em.begin(name, first))
        return begun

    def _store_model(self, X: Array, model: factor_mixture.FactorMixture) -> None:
        self._model = model
        shown = factor_mixture.orthonormal(model)
        self._change = shown.loadings.T @ model.loadings
        self.weights_, self.df_ = model.weights, model.df
        self.loadings_, self.noise_variance_ = shown.loadings, model.noise
        self.factor_means_, self.factor_covariances_ = shown.means, shown.covariances
        self.means_ = shown.means @ shown.loadings.T
        axes = np.linalg.svd(shown.roots)[0]
        self._store_flats_of(X, [shown.loadings @ rotation for rotation in axes])

    def _log_joint(self, X: Array) -> Array:
        return factor_mixture.log_joint(self._model, X)


class MCFA(CommonFactorClusterer):
    """Mixture of common factor analysers.

    The samples are ``y = A u + e``: q factors u, whose distribution is a mixture of Gaussians, the
    same loadings A for all clusters, and noise e of a variance of its own for each variable. The
    clusters differ in the q factors alone, so few parameters suffice for many variables.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Number of common factors, q. They hold all clusters: clusters near different subspaces of
        dimensions R_1, ..., R_K need up to R_1 + ... + R_K of them. ``bic_`` helps to choose.
    n_init : int, default 10
        Number of starts, by turns from K-means, subspaces and chance. Ten steps are made from
        each, and the three likeliest carried to the end.
    max_iter : int, default 500
        Most steps of one start.
    tol : float, default 1e-5
        A start has converged when neither the rise of its log-likelihood per sample over five
        steps nor the rise still expected is more than this.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Likeliest cluster of each sample, equal to ``predict(X)``.
    weights_ : ndarray of shape (n_clusters,)
        Shares of the clusters.
    loadings_ : ndarray of shape (p, q)
        A, with orthonormal columns.
    factor_means_ : ndarray of shape (n_clusters, q)
        Means of the factors in each cluster, xi.
    factor_covariances_ : ndarray of shape (n_clusters, q, q)
        Their covariances, Omega.
    noise_variance_ : ndarray of shape (p,)
        Noise of each variable, D.
    df_ : ndarray of shape (n_clusters,)
        Degrees of freedom; infinite.
    means_ : ndarray of shape (n_clusters, p)
        Means of the clusters, A xi.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` A xi, ``basis`` (p, q), the principal axes of the cluster's factors
        within the span of A (the same span for all clusters), and ``spectrum`` (q,), the sum over
        the samples of their squared scores times the probability that they belong to the cluster.
    n_components_ : ndarray of shape (n_clusters,)
        q for each cluster.
    log_likelihood_ : float
        Of the data, with all constants.
    log_likelihood_path_ : ndarray
        At every step of the best start; it never falls.
    objective_ : float
        The log-likelihood with its sign changed.
    bic_ : float
        Bayesian information criterion; lower is better.
    n_iter_ : int
        Number of steps of the best start.
    stop_reason_ : str
        Why it stopped: "converged", "max_iter" or "infeasible" (a cluster has the weight of less
        than one sample; such a start is taken only if all are so).
    starts_ : list of dict
        What each start reached; "brief" says that it was not carried to the end.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `core.record.Record`.

    Notes
    -----
    All means lie in the span of A, which passes through the origin, as in the paper. Where the
    origin means nothing, subtract the mean of each column first: that saves a factor.

    No noise variance is below 1e-10 of its variable's mean square, so that data of rank q have a
    finite likelihood. Nothing of size p x p is formed.

    ``transform`` gives minus the log joint density of sample and cluster; lower is nearer.

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

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 1,
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _degrees_of_freedom(self) -> float:
        return np.inf


class MCtFA(CommonFactorClusterer):
    """Mixture of common t-factor analysers.

    As `MCFA`, with a multivariate t in place of each Gaussian, so that samples far from every
    cluster count for less.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int, default 1
        Number of common factors, q. They hold all clusters: clusters near different subspaces of
        dimensions R_1, ..., R_K need up to R_1 + ... + R_K of them. ``bic_`` helps to choose.
    df : None or float, default None
        Degrees of freedom of all clusters; ``inf`` is `MCFA`. None: estimated for each cluster,
        within 1e-4 to 200.
    n_init : int, default 10
        Number of starts, by turns from K-means, subspaces and chance. Ten steps are made from
        each, and the three likeliest carried to the end.
    max_iter : int, default 500
        Most steps of one start.
    tol : float, default 1e-5
        A start has converged when neither the rise of its log-likelihood per sample over five
        steps nor the rise still expected is more than this.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Likeliest cluster of each sample, equal to ``predict(X)``.
    weights_ : ndarray of shape (n_clusters,)
        Shares of the clusters.
    loadings_ : ndarray of shape (p, q)
        A, with orthonormal columns.
    factor_means_ : ndarray of shape (n_clusters, q)
        Centres of the factors in each cluster, xi.
    factor_covariances_ : ndarray of shape (n_clusters, q, q)
        Their scale matrices, Omega.
    noise_variance_ : ndarray of shape (p,)
        Noise of each variable, D, on the same scale.
    df_ : ndarray of shape (n_clusters,)
        Degrees of freedom.
    means_ : ndarray of shape (n_clusters, p)
        Centres of the clusters, A xi.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` A xi, ``basis`` (p, q), the principal axes of the cluster's factors
        within the span of A (the same span for all clusters), and ``spectrum`` (q,), the sum over
        the samples of their squared scores times the probability that they belong to the cluster.
    n_components_ : ndarray of shape (n_clusters,)
        q for each cluster.
    log_likelihood_ : float
        Of the data, with all constants.
    log_likelihood_path_ : ndarray
        At every step of the best start; it never falls.
    objective_ : float
        The log-likelihood with its sign changed.
    bic_ : float
        Bayesian information criterion; lower is better.
    n_iter_ : int
        Number of steps of the best start.
    stop_reason_ : str
        Why it stopped: "converged", "max_iter" or "infeasible" (a cluster has the weight of less
        than one sample; such a start is taken only if all are so).
    starts_ : list of dict
        What each start reached; "brief" says that it was not carried to the end.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `core.record.Record`.

    Notes
    -----
    All centres lie in the span of A, which passes through the origin, as in the paper. Where the
    origin means nothing, subtract the mean of each column first: that saves a factor.

    No noise variance is below 1e-10 of its variable's mean square, so that data of rank q have a
    finite likelihood. Nothing of size p x p is formed.

    ``transform`` gives minus the log joint density of sample and cluster; lower is nearer.

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
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.df = df
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _degrees_of_freedom(self) -> float | None:
        if self.df is None:
            return None
        if isinstance(self.df, bool) or not isinstance(self.df, Real):
            raise TypeError(f"df={self.df!r} is not a number. Use None or one above 0")
        if not self.df > 0:
            raise ValueError(f"df={self.df!r} is out of range. Use a number above 0")
        return float(self.df)
