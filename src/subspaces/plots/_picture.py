"""What a picture of all samples, and a heat map, show of a fit: pure functions on arrays.

The figures for a paper and the page of a model are drawn from these values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils.extmath import randomized_svd

from subspaces._types import Array, Indices, Labels, Mask
from subspaces.facts import Facts
from subspaces.messages import ParameterError

# A label with a smaller probability is uncertain. Without probabilities, a sample is uncertain if
# its distance from its own cluster is more than BETWEEN times that from the next one, in squares.
UNSURE, BETWEEN = 0.9, 0.8
# Whole numbers with more distinct values than this are a scale, not classes.
MOST_NUMBERED = 12
# Colours distinguish at most this many classes. The rarer ones are joined.
MOST_LEVELS = 24
OTHERS = "others"
# Limit of a heat map, in standard deviations from the mean of a variable.
MOST_SD = 2.5


@dataclass(frozen=True)
class Column:
    """What is known of each sample: one of some levels, or a number.

    levels: empty for numbers; values (n,): the place in ``levels``, -1 if it is not known, or the
    number, NaN if it is not known.
    """

    name: str
    levels: list[str]
    values: Array

    @property
    def codes(self) -> Labels:
        """The place of each sample in ``levels``, -1 if it is not known."""
        return self.values.astype(int)


def column(name: str, given: Any, n_samples: int) -> Column:
    """Return a column of metadata or of classes; raise ParameterError unless it is one a sample.

    Numbers with more than twelve distinct values, or with fractions, are a scale. All else is text.
    """
    values = np.asarray(given)
    if values.shape != (n_samples,):
        raise ParameterError(
            name,
            f"Column {{name!r}} has shape {values.shape}, but there are {n_samples} samples. Pass "
            "one value per sample.",
            name=name,
        )
    if values.dtype.kind in "fiu":
        numbers = values.astype(float)
        known = numbers[np.isfinite(numbers)]
        if np.any(known % 1) or len(np.unique(known)) > MOST_NUMBERED:
            return Column(name, [], numbers)
        texts = [f"{value:g}" if np.isfinite(value) else "" for value in numbers]
        return _levels(name, texts, key=float)
    missing = (None, np.nan)
    return _levels(name, ["" if v in missing or v != v else str(v) for v in values.tolist()])


def _levels(name: str, texts: Sequence[str], key: Any = None) -> Column:
    found, counts = np.unique([text for text in texts if text], return_counts=True)
    levels = [str(level) for level in found]
    if len(levels) > MOST_LEVELS:
        levels = [levels[i] for i in np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1]]
        texts = [text if text in set(levels) or not text else OTHERS for text in texts]
    levels.sort(key=key)
    levels += [OTHERS] * (OTHERS in texts and OTHERS not in levels)
    place = {level: code for code, level in enumerate(levels)} | {"": -1}
    return Column(name, levels, np.array([place[text] for text in texts], dtype=float))


def columns(given: Any, n_samples: int) -> list[Column]:
    """Return the columns of a data frame, a mapping, one sequence, or None."""
    if given is None:
        return []
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        return [column(str(name), given[name], n_samples) for name in given]
    return [column(str(getattr(given, "name", None) or "class"), given, n_samples)]


def as_colours_of_clusters(of: Column, labels: Labels, n_clusters: int) -> Indices:
    """Return the number of the colour of each level: that of the cluster it matches best."""
    table = np.zeros((len(of.levels), n_clusters))
    known = (of.values >= 0) & (labels >= 0)
    np.add.at(table, (of.codes[known], labels[known]), 1)
    levels, clusters = linear_sum_assignment(-table)
    taken = table[levels, clusters] > 0
    colours = np.full(len(of.levels), -1)
    colours[levels[taken]] = clusters[taken]
    unused = iter(np.setdiff1d(np.arange(len(of.levels) + n_clusters), colours))
    return np.array([next(unused) if c < 0 else c for c in colours], dtype=int)


def leading_axes(rows: Array, squares: float | None = None) -> tuple[Array, Array]:
    """Return the samples (n, p) on the two leading axes of their table, and the axes' shares.

    squares: of the whole table about its means, if rows are only its leading axes. An axis that
    the table does not have is zero.
    """
    centred = rows - rows.mean(axis=0)
    rank, places, shares = min(2, *rows.shape), np.zeros((len(rows), 2)), np.zeros(2)
    left, sizes, _ = randomized_svd(centred, rank, random_state=0)
    places[:, :rank] = left * sizes
    whole = float(np.sum(centred**2)) if squares is None else squares
    shares[:rank] = sizes**2 / max(whole, np.finfo(float).tiny)
    return places, shares


def uncertain(labels: Labels, probabilities: Array | None, closeness: Array | None = None) -> Mask:
    """Return which samples (n,) have an uncertain label.

    closeness (n,): how near the next cluster is, used if there are no probabilities (n, K).
    """
    if probabilities is not None:
        own = probabilities[np.arange(len(labels)), np.maximum(labels, 0)]
        return (labels >= 0) & (own < UNSURE)
    if closeness is None:
        return np.zeros(len(labels), dtype=bool)
    return (labels >= 0) & (closeness > BETWEEN)


def telling_variables(facts: Facts, n_shown: int) -> Indices:
    """Return the variables that tell the clusters, those of the first cluster first.

    Each cluster has an equal part of them. First come those whose mean sets it apart beyond chance,
    the largest effects first, and then the strongest along its own axes. Those that are high in a
    cluster stand before those that are low.
    """
    each = max(n_shown // max(facts.n_clusters, 1), 1)
    spaces = getattr(facts.model, "subspaces_", [None] * facts.n_clusters)
    contrasts = facts.contrasts or [None] * facts.n_clusters
    found: list[int] = []
    for space, apart in zip(spaces, contrasts, strict=True):
        own: list[int] = [] if apart is None else apart.beyond_chance.tolist()
        if space is not None and space.basis.shape[1]:
            strength = space.basis**2 @ space.spectrum
            order = np.argsort(-strength, kind="stable")
            own += order[strength[order] > 0].tolist()
        fresh = [j for j in dict.fromkeys(own) if j not in found][:each]
        if apart is not None:
            fresh.sort(key=lambda j: apart.difference[j] < 0)
        found += fresh
    return np.array(found, dtype=int)


def standardised(rows: Array) -> Array:
    """Return columns (n, m) in standard deviations from their means, cut off at MOST_SD."""
    spread = np.nanstd(rows, axis=0)
    centred = rows - np.nanmean(rows, axis=0)
    return np.clip(centred / np.where(spread > 0, spread, 1.0), -MOST_SD, MOST_SD)


def by_cluster(labels: Labels, along: Array, most: int) -> Indices:
    """Return at most ``most`` samples, cluster by cluster, in each in the order of ``along`` (n,).

    Of more samples every cluster keeps its share. Samples in no cluster come last.
    """
    last = np.where(labels < 0, labels.max(initial=0) + 1, labels)
    order = np.lexsort((along, last))
    if len(order) <= most:
        return order
    return order[np.linspace(0, len(order) - 1, most).round().astype(int)]
