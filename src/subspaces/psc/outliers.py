"""Samples that belong to no cluster: who is kept, and the clusters of those.

1. All samples are fitted. Up to `TRIMS` times the share `KEPT` that is nearest to the clusters is
   fitted from fresh starts, since outliers can hold a whole cluster of the first fit.
2. The bulk of the residuals gives p-values (`core/bulk.py`), and these the outliers at the level q.
3. The others are fitted from fresh starts, and all samples judged anew, until the outliers stay.
   If a few come and go for ever, the round with the fewest outliers is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from scipy import stats

from subspaces._types import Array, Labels, Mask
from subspaces.core.array import in_main_memory
from subspaces.core.bulk import Bulk, bulk_of, flagged, squares_of
from subspaces.core.partition import smallest_size
from subspaces.messages import Advice, NotConvergedWarning, TrustWarning
from subspaces.psc.result import Fit
from subspaces.psc.settings import Settings
from subspaces.runtime.warning import collect_warnings, doubt, warn

# The share of the samples that is kept by trimming, and how often it is done at most.
KEPT, TRIMS = 0.7, 6
# A cluster of fewer samples than this many times the fewest that it can have is tiny.
TINY = 2
# Starts of a fit to trimmed samples, which only has to locate the clusters.
STARTS = 3
# Most rounds of naming outliers. 1 to 5 are usual.
ROUNDS = 15
# If more than this share of the kept samples has p < SMALL, the noise is not Gaussian. In unions
# with Gaussian noise it was 0.02 to 0.063. With heavy tails or a cluster too few it was 0.067 to
# 0.19.
SMALL, TOO_MANY = 0.05, 0.07
# Among few samples a share this large can be chance, so it must also be less probable than this.
BY_CHANCE = 0.15
# Fits the samples of a mask (n,) with the settings given.
Refit = Callable[[Mask, Settings], Fit]


@dataclass(frozen=True)
class Found:
    """Who is in a cluster (n,), the fit of those, and the p-values (n,) of all.

    raised: the warnings of the fit.
    """

    kept: Mask
    fit: Fit
    raised: list[Warning]
    bulk: Bulk
    p_values: Array

    @property
    def settled(self) -> bool:
        """Whether the outliers are those whose p-values are up to the threshold."""
        return bool(self.p_values[self.kept].min() > self.bulk.threshold)


def find_outliers(X: Array, settings: Settings, fit: Refit) -> Found:
    """Return the clusters of the samples (n, p) that are not outliers, all numbers given."""
    level = settings.outliers
    assert level is not None
    settings = fresh = replace(settings, outliers=None)
    if not isinstance(settings.init, str) and not callable(settings.init):
        fresh = replace(settings, init="portfolio")  # labels of outliers lead back to them
    scale, most = float(np.mean(np.sum(X**2, axis=1))), len(X) // 2
    kept = np.ones(len(X), dtype=bool)
    with collect_warnings() as raised:
        found = fit(kept, settings)
    whole = found, raised
    for _ in range(TRIMS):
        nearest = _nearest(_squares(X, kept, found), _labels(kept, found), found)
        if np.array_equal(nearest, kept):
            break
        kept = nearest
        with collect_warnings():
            found = fit(kept, replace(fresh, n_init=STARTS))
    squares, labels = _squares(X, kept, found), _labels(kept, found)
    p = bulk_of(squares, labels, level, scale, float(np.mean(kept)))[1]
    rounds = list[Found]()
    for _ in range(ROUNDS):
        kept = ~flagged(p, level, most)
        if any(np.array_equal(kept, each.kept) for each in rounds):
            break
        with collect_warnings() as raised:
            found = whole[0] if kept.all() else fit(kept, fresh)
        raised = whole[1] if kept.all() else raised
        bulk, p = bulk_of(_squares(X, kept, found), _labels(kept, found), level, scale)
        if not kept.all():
            bulk = replace(bulk, threshold=float(p[~kept].max()))
        rounds.append(Found(kept, found, raised, bulk, p))
    return _last(rounds, kept)


def _last(rounds: list[Found], kept: Mask) -> Found:
    """Return the round that the outliers stayed in.

    kept (n,): who is in a cluster after the last one. If that leads back to an earlier round, the
    rounds since then would follow each other for ever: of these it is the one with the fewest
    outliers by whose threshold they are outliers.
    """
    earlier = [i for i, each in enumerate(rounds) if np.array_equal(kept, each.kept)]
    again = rounds[earlier[0] :] if earlier else rounds[-1:]
    held = [each for each in again if each.settled]
    return max(held or again, key=lambda each: int(each.kept.sum()))


def _squares(X: Array, kept: Mask, found: Fit) -> Array:
    return squares_of(X, _labels(kept, found), found.subspaces, affine=found.affine)


def _labels(kept: Mask, found: Fit) -> Labels:
    labels = np.full(len(kept), -1)
    labels[kept] = in_main_memory(found.labels)
    return labels


def _nearest(squares: Array, labels: Labels, found: Fit) -> Mask:
    """Return the share `KEPT` of smallest values (n,), but as many as the clusters need.

    A few outliers beside each other can hold a cluster, in which they are near: members of one that
    is `TINY` come last.
    """
    fewest = np.array([smallest_size(r) for r in found.dimensions.tolist()])
    tiny = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=len(fewest)) < TINY * fewest)
    far = np.where(np.isin(labels, tiny), np.inf, squares.min(axis=1))
    nearest = np.zeros(len(far), dtype=bool)
    nearest[np.argsort(far, kind="stable")[: max(ceil(KEPT * len(far)), fewest.sum())]] = True
    return nearest


def warn_of_outliers(found: Found) -> None:
    """Pass on the warnings of the fit; warn of p-values that do not hold, or did not settle."""
    for each in found.raised:
        warn(each)
    small = found.p_values[found.kept] < SMALL
    share, by_chance = float(small.mean()), stats.binom.sf(small.sum() - 1, len(small), SMALL)
    if share > TOO_MANY and by_chance < BY_CHANCE:
        doubt(
            TrustWarning,
            "heavy_residuals",
            "{share:%} of the samples in clusters have a p-value below 0.05, so more outliers may "
            "be false than you allowed.",
            Advice("try more clusters or dimensions", "n_components"),
            share=share,
        )
    if not found.settled:
        doubt(
            NotConvergedWarning,
            "outliers_moving",
            "Some samples kept switching between outlier and member of a cluster.",
            Advice("set a smaller <outliers>", "outliers"),
        )
