"""Predictive subspace clustering in batches, for streams and for many rows in little time."""

from functools import partial
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from subspaces._types import Array, Auto, InitName, PerCluster, Seed, StreamCriterionName
from subspaces.core import criteria
from subspaces.core.dimensions import per_cluster
from subspaces.data import block_pass
from subspaces.data.blocks import ArrayBlocks, Blocks
from subspaces.data.kinds import in_memory, surveyed
from subspaces.data.validation import as_matrix
from subspaces.estimators._base import SubspaceClusterer
from subspaces.estimators._record import Record
from subspaces.progress import Step
from subspaces.psc.result import Fit, attributes
from subspaces.psc.stream import Batches, Past, begin, labelled, resume
from subspaces.runtime.fitted import draft_of, take_fit
from subspaces.runtime.parameters import as_choice, as_count, as_generator, as_real
from subspaces.runtime.threads import one_blas_thread, usable_threads
from subspaces.starts.registry import STARTS


class MiniBatchPSC(SubspaceClusterer):
    """Predictive subspace clustering in batches, for streams or if you are in a hurry.

    Each batch joins the subspaces found so far. They were fitted without it, so its residuals are
    leave-one-out errors. Then the batch updates the subspaces, and earlier batches count less.
    `fit` draws ``max_batches`` random batches, and labels all samples at the end. `partial_fit`
    takes one batch from you.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    n_components : int or one int per cluster, default 1
        Dimension of the subspaces.
    affine : bool, default False
        Whether each cluster has its own centre. Otherwise all subspaces pass through the origin.
    criterion : {"auto", "influence", "residual", "likelihood"}, default "auto"
        The score that decides which cluster a sample joins. "auto" is "residual" for equal
        dimensions. It is "likelihood" for unequal ones, or if a dimension equals the rank of the
        data.
    init : {"portfolio", "random", "k-means++", "local"}, default "portfolio"
        How the search starts, in a random part of the samples (`fit`) or in the first batch
        (`partial_fit`).
    n_init : int or "auto", default "auto"
        Number of starts. "auto" is 12.
    batch_size : int, default 10_000
        Number of samples in a batch of `fit`.
    max_batches : int, default 20
        Number of batches of `fit`.
    forgetting : float, default 0.9
        Weight that the past keeps at every batch, above 0 and at most 1. At 0.9, about the last ten
        batches count. At 1, all count.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Number of threads for the starts, as in joblib. Reading blocks of samples uses as many
        threads as K-means of scikit-learn does.
    verbose : int, default 0
        1 prints a line for each start, and 2 also a line for each batch.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample, the same as ``predict(X)``. After `partial_fit`, the clusters of the
        last batch, as assigned before the update.
    subspaces_ : list of Subspace
        Subspace of each cluster: ``centre`` (p,), ``basis`` (p, r), ``spectrum`` (r,).
    n_components_ : ndarray of shape (n_clusters,)
        Dimension of each subspace.
    criterion_ : str
        The criterion that the fit used.
    noise_variance_ : float
        Variance per direction outside the subspaces, pooled over the clusters. Values below 1e-14
        of the squared length of a sample are rounding errors.
    objective_ : float
        Sum of the scores of all samples in their own clusters. Lower is better.
    n_iter_ : int
        Number of batches seen.
    fit_ : Fit
        The whole result as one frozen value.
    past_ : Past
        What the next batch needs from earlier ones.
    record_ : Record
        Seconds, warnings, and the samples as the model sees them. See `estimators._record.Record`.

    Notes
    -----
    Batches should be alike. If the samples come sorted by cluster, the subspaces of the other
    clusters fade. "Big data: passes, chunks, zeros and streams", https://subspaces.readthedocs.io,
    reports how much accuracy batches cost. The paper's version for streams only keeps the axes
    (projection-approximation subspace tracking). This version keeps whole scatter matrices for up
    to 200 variables, and is then exact.

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

    _reads_blocks = True
    past_: Past
    n_iter_: int
    criterion_: str
    noise_variance_: float

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
        """Label one more batch, then update the subspaces with it.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Samples in rows. The first batch must contain samples of all clusters.
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
        is_first = "fit_" not in vars(self)
        blocks = self._batch(X, is_first)
        with one_blas_thread():
            batches = self._begin(blocks) if is_first else self._resume()
            batches, labels = batches.after(blocks)
        labels = blocks.join(labels, np.arange(self.n_clusters))
        n_iter = 1 if is_first else self.n_iter_ + 1
        for name in ("cluster_means_", "within_std_"):  # of rows that were seen once, and are gone
            self.__dict__.pop(name, None)
        assert batches.sums is not None
        self._take(batches, batches.fit(labels, float(batches.sums.objective)), n_iter)
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
        moved = not is_first and self.past_.origin.any()
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
            random, n = as_generator(self.random_state), blocks.shape[0]
            batches, size = self._begin(blocks), min(self.batch_size, n)
            for done in range(1, self.max_batches + 1):
                drawn = np.sort(random.choice(n, size, replace=False, shuffle=False))
                batches, _ = batches.after(ArrayBlocks(blocks.sample(drawn), n_threads))
                assert batches.sums is not None
                cost = f"cost {batches.sums.objective:.6g}"
                self._tell(Step("batch", done, self.max_batches, cost))
            self._take(*labelled(batches, blocks), self.max_batches)

    def _begin(self, blocks: Blocks) -> Batches:
        return begin(blocks, self._settings(measures=False), self.forgetting)

    def _resume(self) -> Batches:
        dimensions = per_cluster(self, "n_components", 2**62, low=0, high=self.n_features_in_)
        return resume(self.fit_, self.past_, dimensions, self.forgetting)

    def _take(self, batches: Batches, found: Fit, n_iter: int) -> None:
        """Set all attributes that some batches led to."""
        self.fit_, self.past_, self.n_iter_ = found, batches.past, n_iter
        self.__dict__ |= self._attributes_of_fit()

    def _attributes_of_fit(self) -> dict[str, Any]:
        return attributes(self.fit_) | {"criterion_": self.fit_.criterion}

    def _scores(self, X: Array) -> Array:
        blocks = ArrayBlocks(X)
        return blocks.each(partial(block_pass.score, plan=self.fit_.pass_over(blocks)))
