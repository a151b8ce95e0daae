"""How stable each number of clusters is: whether two halves of the samples find the same ones.

For a random cut of n samples into halves A and B, and K clusters,

    s_K = ARI(labels of all samples by the model of A, labels of all samples by the model of B).

and the strength of K is the share of the pairs of its weakest cluster, by the one model, that the
other keeps together (Tibshirani & Walther 2005, "Cluster validation by prediction strength"). To
split a true cluster lowers the index little and the strength much.

Each half learns its genes, axes and clusters anew, so that independent noise does not agree; one
strong direction that all samples vary along still can. A number between two levels of a hierarchy
agrees less than either (Lange et al. 2004, "Stability-based validation of clustering solutions").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import contingency_matrix
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from subspaces import progress
from subspaces._types import Array, Data, Estimator, Indices
from subspaces.data.validation import as_matrix
from subspaces.estimators import PSC
from subspaces.messages import Grade, Verdict, in_a_row
from subspaces.metrics import adjusted_rand_score
from subspaces.runtime.warning import collect_warnings
from subspaces.starts.spectral import k_means_labels

# Halvings of the samples. Large tables get as many as read this many values together, about a
# minute, and at least three. Only the size decides, so that a seed gives one answer on any machine.
HALVINGS, FEWEST, MOST_VALUES = 10, 3, 3e8
# K-means starts for mean profiles of half of the samples. A portfolio of starts finds the same in
# five times the time.
STARTS = 10
# Numbers of clusters whose mean agreement is nearer than this, or than twice the standard error of
# the difference, are called equally stable.
EQUAL = 0.05
# Agreements of halves, from 0 to 1: on expression sets clusterings at SOLID or above were near the
# known classes, and those below DOUBTFUL far from them.
SOLID, DOUBTFUL = 0.8, 0.5
# Share of the pairs of each cluster that must stay together for a number to be taken: the authors
# of prediction strength advise 0.8 to 0.9.
STRONG = 0.8


@dataclass(frozen=True)
class Numbers:
    """Numbers of clusters beside each other.

    models, heard: for each of the m numbers a fitted Pipeline, and its warnings; agreement
    and strength (m, halvings): adjusted Rand index between the halves, and how far the weakest
    cluster holds together, nan for one cluster.
    """

    numbers: tuple[int, ...]
    models: list[Pipeline]
    heard: list[list[Warning]]
    agreement: Array
    strength: Array

    @property
    def stability(self) -> Array:
        """Mean agreement for each number, (m,)."""
        return self.agreement.mean(axis=1)

    @property
    def differences(self) -> tuple[Array, Array]:
        """How far each number is behind the most stable one, (m,), and the error of that, (m,)."""
        measured = np.nan_to_num(self.stability, nan=-1.0)
        behind = self.agreement[np.argmax(measured)] - self.agreement
        return behind.mean(axis=1), behind.std(axis=1, ddof=1) / np.sqrt(behind.shape[1])

    @property
    def equally_stable(self) -> list[int]:
        """The places of the numbers that are as stable as the most stable one."""
        behind, error = self.differences
        near = behind <= np.maximum(EQUAL, 2 * error)
        return np.flatnonzero(near).tolist() or [0]

    @property
    def solid(self) -> list[int]:
        """The places of the numbers each of whose clusters both halves find."""
        return np.flatnonzero(self.strength.mean(axis=1).round(2) >= STRONG).tolist()

    @property
    def is_doubted(self) -> bool:
        """Whether halves agree on no number."""
        return not np.any(self.stability.round(2) >= DOUBTFUL)

    @property
    def best(self) -> int:
        """The place of the largest solid number: it tells most apart of what is found again.

        If none is solid, the smallest of those that are equally stable.
        """
        return self.solid[-1] if self.solid else self.equally_stable[0]

    @property
    def columns(self) -> dict[str, Array]:
        """The table of a `Selection`, an entry per number."""
        behind, error = self.differences
        splits = self.agreement.shape[1]
        labels = [model["cluster"].labels_ for model in self.models]
        smallest = [np.bincount(found[found >= 0]).min() for found in labels]
        return {
            "n_clusters": np.array(self.numbers),
            "stability": self.stability,
            "stability_error": self.agreement.std(axis=1, ddof=1) / np.sqrt(splits),
            "weakest_cluster": self.strength.mean(axis=1),
            "difference": behind,
            "standard_error": error,
            "smallest_cluster": np.array(smallest),
        }


@dataclass(frozen=True)
class Half:
    """What one half of the samples learned.

    points (n, q): all samples as it prepares them; model: fitted to its own samples; labels (n,):
    of all samples.
    """

    points: Array
    model: Any
    labels: NDArray[Any]


def n_halvings(table: Any) -> int:
    """Return how many times the samples of a table (n, p) are cut in halves."""
    return min(HALVINGS, max(FEWEST, int(MOST_VALUES / np.prod(table.shape))))


def random_halves(
    samples: Indices, splits: int, random: np.random.RandomState, budget_s: float = np.inf
) -> Iterator[list[Indices]]:
    """Yield random halves of the samples at these places (n,).

    After ``budget_s`` seconds there are no more than FEWEST.
    """
    began = monotonic()
    for done in range(splits):
        if done >= FEWEST and monotonic() - began >= budget_s:
            return
        progress.tell(progress.Step("halving", done, splits, f"split {done + 1}"))
        yield np.array_split(random.permutation(samples), 2)


def learned(
    estimator: Estimator,
    table: Any,
    half: Indices,
    numbers: Sequence[int] | None = None,
    weights: Array | None = None,
) -> list[Half]:
    """Return what one half of the samples learns, for each number of clusters of a recipe.

    estimator: a clusterer, or a pipeline that ends in one. The half learns the whole pipeline, but
    takes over the kind of values that a fitted recipe found. numbers: None for the estimator's own;
    weights (n,): of all samples, None if all count one. Only clusters use them.
    """
    steps: list[Any] = [estimator]
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps]
    points = table
    with collect_warnings():
        for step in steps[:-1]:
            fitted = clone(step)
            if hasattr(step, "kind_"):
                fitted.set_params(kind=step.kind_)
            fitted.fit(points[half])
            points = getattr(fitted, "project", fitted.transform)(points)
        if numbers is None:
            return [_half(clone(steps[-1]), points, half, weights)]
        models = [clone(steps[-1]).set_params(n_clusters=k) for k in numbers]
        return [_half(model, points[:, : _axes(steps, model.n_clusters)], half) for model in models]


def _half(model: Any, points: Array, half: Indices, weights: Array | None = None) -> Half:
    """Return the clusters that a model finds in one half of the samples."""
    given = {} if weights is None else {"sample_weight": weights[half]}
    if isinstance(model, PSC) and model.init == "portfolio" and model.n_components == 0:
        k_means = KMeans(model.n_clusters, n_init=STARTS, random_state=0)
        model.set_params(init=k_means_labels(points[half], k_means, *given.values()))
    return Half(points, model, np.asarray(model.fit(points[half], **given).predict(points)))


def compare_numbers(
    recipe: Pipeline, X: Data, numbers: Sequence[int], *, halvings: int | None = None
) -> Numbers:
    """Fit a recipe with each number of clusters, and measure how far halves agree on it.

    Parameters
    ----------
    recipe : Pipeline
        `recipes.expression` or `recipes.single_cell`, one dimension for all clusters. As many axes
        are kept as the clusters can span, or all if the recipe's ``n_axes`` is None.
    X : array-like or sparse matrix of shape (n, p)
        Samples in rows, as the recipe takes them.
    numbers : sequence of int
        Numbers of clusters, ascending.
    halvings : int, optional
        How many times to cut the samples in halves, at random. By default ten times, for a table
        with more than 30 million values fewer times, but at least three.

    Returns
    -------
    Numbers
    """
    models, heard = [], []
    for k in numbers:
        with collect_warnings() as raised:
            models.append(_with_number(recipe, k).fit(X))
        heard.append(list(raised))
        progress.tell(progress.Step("candidate", len(models), len(numbers), f"{k} clusters"))
    table = sparse.csr_array(X, dtype=float) if sparse.issparse(X) else as_matrix(X)
    random = check_random_state(recipe["cluster"].random_state)
    found = []
    every = np.arange(table.shape[0])
    for halves in random_halves(every, halvings or n_halvings(table), random):
        both = (learned(models[-1], table, half, numbers) for half in halves)
        pairs = [(first.labels, second.labels) for first, second in zip(*both, strict=True)]
        found.append([(adjusted_rand_score(*pair), strength_of(*pair)) for pair in pairs])
    measured = np.transpose(found)  # (2, m, halvings)
    measured[:, np.asarray(numbers) == 1] = np.nan  # halves cannot disagree about one cluster
    agreement, strength = measured
    return Numbers(tuple(numbers), models, heard, agreement, strength)


def _with_number(recipe: Pipeline, k: int) -> Pipeline:
    """Return an unfitted recipe with k clusters."""
    n_axes = _axes([recipe["prepare"], recipe["cluster"]], k)
    return clone(recipe).set_params(prepare__n_axes=n_axes, cluster__n_clusters=k)


def _axes(steps: Sequence[Any], k: int) -> int | None:
    """Return how many axes k clusters can span, or None if the recipe keeps all axes."""
    scaler, clusterer = steps
    return None if scaler.n_axes is None else int(k * (clusterer.n_components + 1))


def strength_of(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return how far the weakest cluster of two labellings holds together, from 0 to 1.

    Of the pairs of samples in each cluster of the one, the share that the other keeps together; the
    least over the clusters, averaged over both directions.
    """
    counts = contingency_matrix(first, second)
    kept = []
    for table in (counts, counts.T):
        pairs, sizes = (table * (table - 1.0)).sum(axis=1), table.sum(axis=1)
        several = sizes > 1
        kept.append(np.min(pairs[several] / (sizes * (sizes - 1.0))[several], initial=1.0))
    return float(np.mean(kept))


def stability_table(
    columns: Mapping[str, Sequence[float] | Array],
) -> tuple[list[str], list[list[str]]]:
    """Return how stable each number of clusters is, as text: headings and rows.

    columns: `Numbers.columns`, or the same as lists.
    """
    shown = {
        "clusters": ("n_clusters", "d"),
        "halves agree": ("stability", ".2f"),
        "standard error": ("stability_error", ".2f"),
        "weakest cluster": ("weakest_cluster", ".2f"),
        "smallest cluster": ("smallest_cluster", "d"),
    }
    texts = [[f"{value:{form}}" for value in columns[name]] for name, form in shown.values()]
    return list(shown), [list(row) for row in zip(*texts, strict=True)]


def verdict_on_numbers(found: Numbers) -> Verdict:
    """Return which numbers are stable, and which is chosen."""
    chosen, measured = found.numbers[found.best], ~np.isnan(found.stability)
    known = zip(found.numbers, found.stability.tolist(), strict=True)
    figures: dict[str, Any] = {"chosen": chosen, "splits": found.agreement.shape[1]}
    figures |= {"agreement": {k: value for k, value in known if not np.isnan(value)}}
    if np.count_nonzero(measured) < 2:
        return Verdict("alone", "Only one number of clusters was tried: {chosen}.", figures)
    figures["top"] = top = float(found.stability[measured].max())
    if found.is_doubted:
        fact = (
            "No number of clusters is stable: the agreement between halves is at most {top:.2f} "
            "(1 is perfect). Treat {chosen:#cluster} as a guess, and compare with what you know "
            "about the samples."
        )
        return Verdict("unstable", fact, figures, grade=Grade.NO)
    grade = Grade.SURE if round(top, 2) >= SOLID else Grade.DOUBTFUL
    if found.equally_stable == [found.best]:
        but = "" if grade is Grade.SURE else ", but it is not very stable"
        over = "(mean agreement of halves {top:.2f} over {splits:#split}, 1 is perfect)"
        fact = f"{{chosen}} is the most stable number of clusters{but} {over}."
        also = [i for i in found.solid if i != found.best]
        fact += f" Also stable: {_named(found, also)}." if also else ""
        return Verdict("most_stable", fact, figures, grade=grade)
    why = "the largest number for which both halves find every cluster"
    why = why if found.solid else "the smallest of the most stable numbers"
    others_are = "Other stable numbers" if found.solid else "About as stable"
    least = found.stability[[*found.equally_stable, *found.solid]].min()
    others = np.flatnonzero((found.stability >= least) & (np.arange(len(measured)) != found.best))
    own = f"{found.stability[found.best]:.2f}"
    rest = _named(found, others.tolist())
    fact = (
        f"We chose {{chosen:#cluster}} (agreement of halves {own}, 1 is perfect), {why}. "
        f"{others_are}: {rest}."
    )
    return Verdict("several", fact, figures, grade=Grade.DOUBTFUL)


def _named(found: Numbers, places: Sequence[int]) -> str:
    """Return numbers with their agreement: "2 clusters (agreement 0.95) and 3 clusters (...)"."""
    numbers, agreement = found.numbers, found.stability
    return in_a_row([f"{numbers[i]} clusters (agreement {agreement[i]:.2f})" for i in places])
