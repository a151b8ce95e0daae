"""Counts on one scale for tests, whatever else a sample expresses.

Scaled to one total, a sample in which some genes go up has all others go down a little, and with
some tens of samples a little is significant. Tests therefore scale a sample by genes that nearly
all samples express: its size is the median of its ratios to their geometric means over samples
(Anders & Huber 2010), which the minority of genes that differ hardly moves. Single cells have too
few such genes. They stay at one total, and a shift that most genes of a cluster share is reported.
"""

import numpy as np

from subspaces._types import Array, Codes, Mask

# The share of samples that express a gene from which its ratios count; a zero counts as low.
NEARLY_ALL = 0.9
# The fewest such genes, and their least share of the genes that any sample expresses. In single
# cells the few there are belong to ribosomes and mitochondria, and differ between types.
FEWEST_GENES, LEAST_SHARE = 50, 0.2
# Report a median difference of genes above this many standard errors of one gene, if there are at
# least this many genes. For simulated genes that do not differ, 3 % are reported at 1, and 16 % at
# 2.
SHIFTED, FEWEST_TO_TELL = 1.0, 20


def at_one_size(scaled: Array) -> Array | None:
    """Return samples (n, p), scaled by the genes that nearly all express; None if these are few.

    The geometric mean of what the samples are multiplied by is 1.
    """
    present = scaled > 0
    common = present.mean(axis=0) >= NEARLY_ALL
    if common.sum() < max(FEWEST_GENES, LEAST_SHARE * present.any(axis=0).sum()):
        return None
    with np.errstate(divide="ignore"):
        logs = np.log(scaled[:, common])
    sizes = np.median(logs - logs.mean(axis=0, where=present[:, common]), axis=1)
    if not np.isfinite(sizes).all():
        return None
    return scaled * np.exp(sizes.mean() - sizes)[:, None]


def common_shift(values: Array, expressed: Mask, codes: Codes) -> tuple[int, Array]:
    """Return the cluster whose genes are shifted most, and by how much: (2,), nan if unknown.

    That is the median over genes that half of the samples express of the difference between means
    inside and outside, as it is, and in standard errors of the gene's own. Samples with the code -1
    are left out.
    """
    counted = codes >= 0
    values, expressed, codes = values[counted], expressed[counted], codes[counted]
    often = expressed.mean(axis=0) >= 0.5
    often &= np.ptp(values, axis=0) > 0
    found = [(int(k), _shift(values[:, often], codes == k)) for k in np.unique(codes)]
    if np.count_nonzero(often) < FEWEST_TO_TELL:
        return found[0][0], np.full(2, np.nan)
    return max(found, key=lambda one: abs(one[1][1]))


def _shift(values: Array, inside: Mask) -> Array:
    parts = values[inside], values[~inside]
    difference = parts[0].mean(axis=0) - parts[1].mean(axis=0)
    error = np.sqrt(sum(part.var(axis=0) / len(part) for part in parts))
    return np.array([np.median(difference), np.median(difference[error > 0] / error[error > 0])])
