"""Predictive subspace clustering of streams: every row is read once."""

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from subspaces._types import Array, Auto, InitName, PerCluster, Seed, StreamCriterionName
from subspaces.core import criteria
from subspaces.core.array import to_host
from subspaces.core.likelihood import VARIANCE_FLOOR, Data, as_divisor
from subspaces.core.low_rank import n_directions
from subspaces.core.problem import Problem
from subspaces.core.rows import Rows
from subspaces.data import block_pass
from subspaces.data.blocks import ArrayBlocks, Blocks
from subspaces.data.in_blocks import BlockProblem, subspaces_of_sample
from subspaces.data.stream import SUMS, Stream, follow, reordered
from subspaces.data.subspaces import ClusterSums, Subspaces, from_subspaces, take, to_subspaces
from subspaces.data.validation import as_matrix
from subspaces.estimators._alternating import AlternatingClusterer
from subspaces.estimators._many_rows import in_memory, surveyed
from subspaces.estimators._record import Record
from subspaces.estimators._subspaces import dimensions_of, per_cluster, widths
from subspaces.progress import Step
from subspaces.runtime.fitted import draft_of, take_fit
from subspaces.runtime.parameters import as_choice, as_count, as_generator, as_real
from subspaces.runtime.threads import one_blas_thread, usable_threads
from subspaces.starts import landmarks
from subspaces.starts.registry import STARTS
from subspaces.subspace import centre_of


class MiniBatchPSC(AlternatingClusterer):
    """Predictive subspace clustering in batches, for streams and where time is short.

    A batch is assigned to the subspaces found so far. These were fitted without it, so that its
    residual is a leave-one-out error at no cost. The subspaces are then updated with the batch, and
    earlier batches lose weight. `fit` draws ``max_batches`` batches at random and labels all rows
    at the end; `partial_fit` takes one batch that the caller gives.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces.
    affine : bool, default False
        Whether a subspace has a centre of its own; otherwise all pass through the origin.
    criterion : {"auto", "influence", "residual", "likelihood"}, default "auto"
        What a sample is scored by under a cluster that has not seen it. "auto" is "residual" for
        equal dimensions, and "likelihood" for unequal ones or when a dimension equals the rank;
        asked for by its name, that one gives the same model.
    init : {"portfolio", "random", "k-means++", "local"}, default "portfolio"
        First partitions, of a sample of the rows (`fit`) or of the first batch (`partial_fit`).
    n_init : int or "auto", default "auto"
        Number of starts; "auto" is 10.
    batch_size : int, default 10_000
        Rows in a batch of `fit`.
    max_batches : int, default 20
        Batches that `fit` looks at.
    forgetting : float, default 0.9
        Weight that the past keeps at every batch, above 0 up to 1: at 0.9 what counts are the last
        ten batches or so; 1 forgets nothing.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Threads over which the starts are spread; blocks of rows use as many as scikit-learn's
        K-means would.
    verbose : int, default 0
        1: print a line per start that is swept; 2: one per batch, too.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample, equal to ``predict(X)``; after `partial_fit`, of those of the last
        batch, as they were given before the subspaces followed them.
    subspaces_ : list of Subspace
        Per cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimensions.
    criterion_ : str
        The criterion in use.
    noise_variance_ : float
        Variance per direction outside the subspaces, pooled over the clusters. Sums over the
        batches do not tell it from rounding below 1e-14 of the energy of a sample.
    objective_ : float
        Sum over the samples of their score under the own cluster.
    n_iter_ : int
        Number of batches seen.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them; see `estimators._record.Record`.

    Notes
    -----
    Projection-approximation subspace tracking, on which the paper builds its version for streams,
    keeps the axes alone; here whole scatter matrices are kept up to 200 variables, where they are
    exact. What it costs in accuracy: "Big data: passes, chunks, zeros and streams",
    https://subspaces.readthedocs.io. Batches should be alike: rows that come sorted by cluster make
    the subspaces of the others fade.

    References
    ----------
    B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a predictive
    approach", Data Mining and Knowledge Discovery 28 (2014) 736-772.

    B. Yang, "Projection approximation subspace tracking", IEEE Trans. Signal Process. 43 (1995)
    95-107.

    Examples
    --------
    >>> from subspaces import MiniBatchPSC
    >>> from subspaces.datasets import make_scenario
    >>> planes = make_scenario("c", random_state=0)
    >>> model = MiniBatchPSC(2, n_components=2, random_state=0)
    >>> for batch in (planes.data[::2], planes.data[1::2]):
    ...     model = model.partial_fit(batch)
    >>> model.predict(planes.data[:3]).tolist(), model.n_iter_
    ([0, 0, 0], 2)
    """

    max_iter = 50

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: PerCluster = 1,
        affine: bool = False,
        criterion: StreamCriterionName = "auto",
        init: InitName = "portfolio",
        n_init: int | Auto = "auto",
        batch_size: int = 10_000,
        max_batches: int = 20,
        forgetting: float = 0.9,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affine = affine
        self.criterion = criterion
        self.init = init
        self.n_init = n_init
        self.batch_size = batch_size
        self.max_batches = max_batches
        self.forgetting = forgetting
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Label one more batch by the subspaces found so far, and update the subspaces with it.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. The first batch is searched for clusters, so that it must hold some of
            each.
        y : ignored
            For compatibility.

        Returns
        -------
        self
            The estimator.
        """
        draft = draft_of(self, keep_fit=True)
        draft._follow_batch(X)
        take_fit(self, draft)
        return self

    def _follow_batch(self, X: Any) -> None:
        began = perf_counter()
        is_first = "subspaces_" not in vars(self)
        blocks = self._batch(X, is_first)
        with one_blas_thread():
            if is_first:
                subspaces, sums = self._begin(blocks), None
            else:
                subspaces, sums = self._resume()
            subspaces, sums, labels = follow(self._stream(), blocks, subspaces, sums)
            self._store_stream(subspaces, sums)
        self.n_iter_ = 1 if is_first else self.n_iter_ + 1
        self.labels_ = blocks.join(labels, np.arange(self.n_clusters))
        self.objective_ = float(sums.objective)
        for name in ("cluster_means_", "within_std_"):  # of rows that were seen once, and are gone
            self.__dict__.pop(name, None)
        self.record_ = Record(perf_counter() - began, (), None, None, None, None)
        self._bring_attributes_to(X)

    def _batch(self, X: Any, is_first: bool) -> Blocks:
        """Return X as `Blocks`, after checks of its columns and scale against earlier batches."""
        self._check_choices()
        held = in_memory(X)
        blocks = self._blocks(held)
        if blocks is None:
            blocks = ArrayBlocks(as_matrix(held, min_samples=1), usable_threads())
        validate_data(self, X, reset=is_first, skip_check_array=True)
        largest = surveyed(blocks).largest
        if not is_first:
            self._check_scale(largest)
        self._scale = largest if is_first else max(largest, self._scale)
        moved = not is_first and to_host(self._origin).any()
        return ArrayBlocks(blocks.array.toarray()) if moved and sparse.issparse(X) else blocks

    def _check_choices(self) -> None:
        as_choice(self.criterion, "criterion", ("auto", *criteria.names_for_outsiders()))
        as_choice(self.init, "init", tuple(STARTS))
        as_count(self.batch_size, "batch_size", low=1)
        as_count(self.max_batches, "max_batches", low=1)
        as_real(self.forgetting, "forgetting", above=True, high=1.0)

    def _fit(self, X: Any) -> None:
        self._check_choices()
        n_threads = usable_threads()
        blocks = ArrayBlocks(X, n_threads) if isinstance(X, np.ndarray) else X.blocks
        with one_blas_thread():
            random = as_generator(self.random_state)
            subspaces, sums = self._begin(blocks), None
            stream = self._stream()
            for done in range(1, self.max_batches + 1):
                batch = ArrayBlocks(blocks.sample(self._drawn(blocks, random)), n_threads)
                subspaces, sums, _ = follow(stream, batch, subspaces, sums)
                self._tell(Step("batch", done, self.max_batches, f"cost {sums.objective:.6g}"))
            self._label(blocks, subspaces, sums)
        self.n_iter_ = self.max_batches

    def _drawn(self, blocks: Blocks, random: np.random.Generator) -> Any:
        """Return the row numbers of a random batch, sorted."""
        n = blocks.shape[0]
        return np.sort(random.choice(n, min(self.batch_size, n), replace=False, shuffle=False))

    def _label(self, blocks: Blocks, subspaces: Subspaces, sums: Any) -> None:
        """Set ``labels_`` of all rows, ``subspaces_`` and ``objective_`` after the last batch.

        Clusters of equal dimension are numbered in the order in which rows first belong to them.
        """
        self._store_stream(subspaces, sums)
        plan = self._pass(blocks)
        labels, summary = blocks.fold(partial(block_pass.assign_rows, plan=plan), None)
        numbers = np.arange(self.n_clusters)
        if len(set(subspaces.dimensions)) == 1:
            numbers = np.argsort(np.argsort(summary.first, kind="stable"))
        order = np.argsort(numbers)
        points = np.array([subspace.centre for subspace in self.subspaces_])
        self._store_labels_in_passes(blocks, labels, points, order)
        self._store_stream(take(subspaces, order), reordered(sums, order))
        self.objective_ = summary.objective

    def _begin(self, blocks: Blocks) -> Subspaces:
        """Return the first subspaces: those of the best partition of a sample of the rows.

        Set ``criterion_``, and the rank and the origin of the data.
        """
        dimensions = dimensions_of(self, blocks, low=0 if self.affine else 1)
        random, n = as_generator(self.random_state), blocks.shape[0]
        enough = min(landmarks.n_landmarks(dimensions), n)
        sample = blocks.sample(np.sort(random.choice(n, enough, replace=False)))
        problem = self._problem(sample)
        default = _default_criterion(problem)
        self.criterion_ = default if self.criterion == "auto" else self.criterion
        rank = n_directions(sample, problem.affine, problem.rows.rank)
        self._data = Data(n, rank, problem.data.mean_variance)
        best, _ = self._best_run(sample, problem)
        shifted = self.affine and not blocks.stays_sparse
        self._origin = _near(centre_of(sample, True)) if shifted else np.zeros(sample.shape[1])
        seen = sample - self._origin
        energy = self._data.mean_variance
        in_passes = BlockProblem(
            ArrayBlocks(seen), dimensions, "residual", problem.affine, rank, energy, lambda: seen
        )
        return subspaces_of_sample(in_passes, best.clustering.labels)

    def _choice(self, problem: Problem) -> str:
        by_default = self._by_default(problem)
        return "t_likelihood" if by_default and not problem.of_means else "objective"

    def _by_default(self, problem: Problem) -> bool:
        """Whether the criterion is the one that "auto" takes, asked for by name or not."""
        return self.criterion in ("auto", _default_criterion(problem))

    def _problem(self, X: Array, rows: Rows | None = None) -> Problem:
        problem = self._pose(X, "loo", rows=rows)
        return problem if self._by_default(problem) else replace(problem, criterion=self.criterion)

    def _stream(self) -> Stream:
        dimensions = per_cluster(self, "n_components", 2**62, low=0, high=self.n_features_in_)
        rank, least = self._data.rank, VARIANCE_FLOOR * self._data.mean_variance
        return Stream(
            dimensions, self.criterion_, bool(self.affine), rank, self.forgetting, least,
            to_host(self._origin),
        )  # fmt: skip

    def _store_stream(self, subspaces: Subspaces, sums: ClusterSums) -> None:
        self.subspaces_ = to_subspaces(subspaces, to_host(self._origin))
        self.n_components_ = widths(self.subspaces_)
        self.noise_variance_ = subspaces.noise
        self._sizes = subspaces.sizes
        self._sums = {name: getattr(sums, name) for name in SUMS}

    def _resume(self) -> tuple[Subspaces, ClusterSums]:
        """Return the subspaces and the `ClusterSums` as the last batch left them."""
        origin, dimensions = to_host(self._origin), self._stream().dimensions
        seen = [replace(subspace, centre=subspace.centre - origin) for subspace in self.subspaces_]
        subspaces = from_subspaces(seen, to_host(self._sizes), self.noise_variance_, dimensions)
        return subspaces, ClusterSums(0.0, 0, **self._sums)

    @property
    def _scoring(self) -> str:
        return self.criterion_

    @property
    def _scoring_noise(self) -> float:
        return as_divisor(self.noise_variance_, self._data)

    def _scores(self, X: Array) -> Array:
        blocks = ArrayBlocks(X)
        return blocks.each(partial(block_pass.score, plan=self._pass(blocks)))


def _default_criterion(problem: Problem) -> str:
    """Return the name of the criterion that "auto" is for batches of a problem's rows."""
    return "residual" if problem.alike else "likelihood"


def _near(point: Array) -> Array:
    """Return a point (p,) near the given one, rounded to single precision where that is close.

    Batches in single precision can then be moved by it without further rounding.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = point.astype(np.float32).astype(np.float64)
    return np.where(np.isclose(single, point, rtol=1e-6, atol=0.0), single, point)
