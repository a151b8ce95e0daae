"""Samples that belong to no cluster: who is kept, and the clusters of those.

1. All samples are fitted. Then those that are nearest to the clusters, h = `KEPT` n, are fitted
   from fresh starts, since outliers can hold a whole cluster of the first fit. With e_i the squared
   residual of sample i off the nearest cluster, this is repeated while it clearly lowers

       S = sum of the h smallest e_i.

2. Outliers near a subspace of their own can hold a cluster still, while two true clusters share one
   or a true one is left out. If they are fewer than a cluster, fewer samples are near than could
   be, and S is larger, as it is the sum over the nearest. So the smallest cluster is exchanged: all
   other samples, h at most, are fitted, and the nearest to these clusters. If S falls, this is
   taken, and step 1 goes on. Otherwise the cluster was a true one, and trimming is over.
3. The bulk of the residuals gives p-values (`core/bulk.py`), and these the outliers at the level q.
4. The others are fitted from fresh starts, and all samples judged anew, until the outliers stay.
   If a few come and go for ever, the round with the fewest outliers is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from scipy import stats

from subspaces._types import Array, Indices, Labels, Mask
from subspaces.core.array import in_main_memory
from subspaces.core.bulk import Bulk, bulk_of, flagged, squares_of
from subspaces.core.partition import smallest_size
from subspaces.messages import Advice, NotConvergedWarning, TrustWarning
from subspaces.psc.result import Fit
from subspaces.psc.settings import Settings
from subspaces.runtime.warning import collect_warnings, doubt, warn

# The share of the samples that is kept by trimming, and how often S can fall: 1 to 7 are usual.
KEPT, TRIMS = 0.7, 12
# S has clearly fallen if it is below this share of what it was.
CLEARLY = 0.99
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
class Fitted:
    """A fit of the kept samples (n,), its warnings, and its labels (n,) and `squares_of` all."""

    kept: Mask
    fit: Fit
    raised: list[Warning]
    labels: Labels
    squares: Array

    @property
    def fewest(self) -> int:
        """How many samples the clusters need."""
        return sum(map(smallest_size, self.fit.dimensions.tolist()))

    @property
    def far(self) -> Array:
        """Squared residual of each sample off the nearest cluster, (n,)."""
        return self.squares.min(axis=1)

    @property
    def in_smallest(self) -> Mask:
        """Whether each sample is nearest to the cluster of the fewest kept samples, (n,)."""
        return self.squares.argmin(axis=1) == np.bincount(self.labels[self.kept]).argmin()


@dataclass(frozen=True)
class Found(Fitted):
    """A fit of the samples in clusters, and the p-values (n,) of all."""

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
    scale = float(np.mean(np.sum(X**2, axis=1)))

    def fitted(kept: Mask, settings: Settings) -> Fitted:
        with collect_warnings() as raised:
            found = fit(kept, settings)
        labels = np.full(len(kept), -1)
        labels[kept] = in_main_memory(found.labels)
        squares = squares_of(X, labels, found.subspaces, affine=found.affine)
        return Fitted(kept, found, raised, labels, squares)

    whole = fitted(np.ones(len(X), dtype=bool), settings)
    most = min(len(X) // 2, len(X) - whole.fewest)
    near = _trimmed(whole, lambda kept: fitted(kept, replace(fresh, n_init=STARTS)))
    p = bulk_of(near.squares, near.labels, level, scale, float(np.mean(near.kept)))[1]
    rounds = list[Found]()
    for _ in range(ROUNDS):
        kept = ~flagged(p, level, most)
        if any(np.array_equal(kept, each.kept) for each in rounds):
            break
        last = whole if kept.all() else fitted(kept, fresh)
        bulk, p = bulk_of(last.squares, last.labels, level, scale)
        if not kept.all():
            bulk = replace(bulk, threshold=float(p[~kept].max()))
        rounds.append(Found(**vars(last), bulk=bulk, p_values=p))
    return _last(rounds, kept)


def _trimmed(whole: Fitted, refit: Callable[[Mask], Fitted]) -> Fitted:
    """Return the clusters of the nearest samples, by steps 1 and 2."""
    fewest = whole.fewest
    most = max(ceil(KEPT * len(whole.kept)), fewest)

    def total(found: Fitted) -> float:
        return float(np.sort(found.far)[:most].sum())

    def nearest_to(found: Fitted) -> Fitted:
        return refit(_first(np.argsort(found.far, kind="stable"), most))

    best = nearest_to(whole)
    for _ in range(TRIMS):
        new = nearest_to(best)
        if total(new) >= CLEARLY * total(best) and len(whole.fit.dimensions) > 1:
            best = min(best, new, key=total)
            out = best.in_smallest
            count = min(max(int(np.sum(~out)), fewest), most)
            new = nearest_to(refit(_first(np.lexsort((best.far, out)), count)))
        if total(new) >= total(best):
            break
        best = new
    return best


def _first(order: Indices, count: int) -> Mask:
    """Return which samples (n,) are the first ones in an order (n,)."""
    return np.isin(np.arange(len(order)), order[:count])


def _last(rounds: list[Found], kept: Mask) -> Found:
    """Return the round that the outliers stayed in.

    kept (n,): who is in a cluster after the last one. If that leads back to an earlier round, the
    rounds since then would follow each other for ever: of these it is the one with the fewest
    outliers by whose threshold they are outliers.
    """
    earlier = [i for i, each in enumerate(rounds) if np.array_equal(kept, each.kept)]
    again = rounds[earlier[0] :] if earlier else rounds[-1:]
    return max(again, key=lambda each: (each.settled, int(each.kept.sum())))


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
            "{share:%} of the samples in clusters have a p-value below 0.05 (5 % expected), so "
            "there may be more false outliers than you allowed.",
            Advice("try more clusters or dimensions", "n_components"),
            share=share,
        )
    if not found.settled:
        doubt(
            NotConvergedWarning,
            "outliers_moving",
            "Some samples kept switching between a cluster and the outliers.",
            Advice("try a smaller value of <outliers>", "outliers"),
        )
