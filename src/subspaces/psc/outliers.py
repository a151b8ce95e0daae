"""Samples that belong to no cluster: who is kept, and the clusters of those.

1. All samples are fitted. Up to `TRIMS` times the share `KEPT` that is nearest to the clusters is
   fitted from fresh starts, since outliers can hold a whole cluster of the first fit.
2. The bulk of the residuals gives p-values (`core/bulk.py`), and these the outliers at the level q.
3. The others are fitted from fresh starts, and all samples judged anew, until the outliers stay.
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
# Starts of a fit to trimmed samples, which only has to find where the clusters are.
STARTS = 3
# Outliers are named at most so many times: 1 to 5 are usual.
ROUNDS = 15
# Share of the kept samples with p < SMALL above which the shape does not fit them. In unions with
# Gaussian noise it was .02 to .063, with heavy tails or a cluster too few .067 to .19.
SMALL, TOO_MANY = 0.05, 0.07
# Of few samples as large a share is chance: it must have less than this probability.
BY_CHANCE = 0.15
# Fits the samples of a mask (n,) with the settings given.
Refit = Callable[[Mask, Settings], Fit]


@dataclass(frozen=True)
class Found:
    """Who is in a cluster (n,), the fit of those, and the p-values (n,) of all.

    raised: the warnings of the fit; settled: whether the outliers stayed.
    """

    kept: Mask
    fit: Fit
    raised: list[Warning]
    bulk: Bulk
    p_values: Array
    settled: bool


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
        nearest = _nearest(_squares(X, kept, found).min(axis=1), found)
        if np.array_equal(nearest, kept):
            break
        kept = nearest
        with collect_warnings():
            found = fit(kept, replace(fresh, n_init=STARTS))
    squares, labels = _squares(X, kept, found), _labels(kept, found)
    bulk, p = bulk_of(squares, labels, level, scale, float(np.mean(kept)))
    outside, settled = flagged(p, level, most), False
    for _ in range(ROUNDS):
        kept = ~outside
        with collect_warnings() as raised:
            found = fit(kept, fresh) if outside.any() else whole[0]
        raised = raised if outside.any() else whole[1]
        bulk, p = bulk_of(_squares(X, kept, found), _labels(kept, found), level, scale)
        outside = flagged(p, level, most)
        settled = np.array_equal(outside, ~kept)
        if settled:
            break
    if outside.any():
        bulk = replace(bulk, threshold=float(p[outside].max()))
    return Found(kept, found, raised, bulk, p, settled)


def _squares(X: Array, kept: Mask, found: Fit) -> Array:
    return squares_of(X, _labels(kept, found), found.subspaces, affine=found.affine)


def _labels(kept: Mask, found: Fit) -> Labels:
    labels = np.full(len(kept), -1)
    labels[kept] = in_main_memory(found.labels)
    return labels


def _nearest(squares: Array, found: Fit) -> Mask:
    """Return the share `KEPT` of smallest values (n,), but as many as the clusters need."""
    needed = sum(smallest_size(r) for r in found.dimensions.tolist())
    nearest = np.zeros(len(squares), dtype=bool)
    nearest[np.argsort(squares, kind="stable")[: max(ceil(KEPT * len(squares)), needed)]] = True
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
            "be false than <outliers> allows.",
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
