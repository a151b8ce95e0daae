"""One PCA of rows that are read in blocks: sparse, of Dask, on a device, or more than memory holds.

One pass sums ``sum w y y'`` and ``sum w y`` of the rows y around their rough mean. The axes are the
eigenvectors of that scatter. Whether a component stands out of the noise is asked of a sample of
the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from subspaces._types import AnyArray, Array, Auto, Block, Rotation
from subspaces.core.array import is_sparse, like, namespace, to_host
from subspaces.data.blocks import Blocks
from subspaces.data.devices import device_of
from subspaces.data.kinds import FEW_ROWS, MOST_NUMBERS, SurveyedBlocks, blocks_of, in_blocks_only
from subspaces.messages import Advice, ParameterError
from subspaces.pca.fit import PCAFit, fit, number_of_components, turned, with_further_axes
from subspaces.pca.table import varying_table
from subspaces.subspace import PrincipalAxes

# Dense tables in memory are decomposed as they are up to this many numbers (1 GB).
MOST_IN_MEMORY = 1 << 27
# A scatter of this many variables has 200 MB.
MOST_VARIABLES = 5000


@dataclass(frozen=True)
class Moments:
    """Sums over rows y: of weights, ``w y`` (p,) and ``w y y'`` (p, p); those of blocks add."""

    total: float
    first: Array
    second: Array

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.total + other.total, self.first + other.first, self.second + other.second
        )


def as_blocks(X: Any) -> Blocks | None:
    """Return X as `Blocks` if it is sparse, of Dask, on a device, in a file or large; else None."""
    large = isinstance(X, np.memmap) or np.prod(getattr(X, "shape", ())) > MOST_IN_MEMORY
    return blocks_of(X) if large or in_blocks_only(X) or device_of(X) is not None else None


def fit_blocks(
    rows: SurveyedBlocks,
    n_components: int | float | Auto | None,
    rotation: Rotation | None,
    weights: Array | None,
    *,
    center: bool,
    scale: bool,
    **kept: Any,
) -> PCAFit:
    """Return the PCA of many rows, whose number of components is counted in a sample.

    kept: as by `fit`.
    """
    n, p = rows.shape
    if p > MOST_VARIABLES:
        fact = f"<X> has {{p}} variables, but a PCA in blocks works for up to {MOST_VARIABLES}."
        raise ParameterError("X", fact, Advice("keep the variables that vary most"), p=p)
    origin = rows.survey.totals / n if center else np.zeros(p)
    sums: Moments = rows.blocks.fold(partial(moments, origin=origin, weights=weights), None)[1]
    shift = sums.first / sums.total if center else np.zeros(p)
    scatter = sums.second - sums.total * np.outer(shift, shift)
    spread = None
    if scale:
        around = np.diag(sums.second) - sums.first**2 / sums.total
        spread = np.sqrt(np.maximum(around, 0.0) / (sums.total - 1.0))
        spread[spread == 0.0] = 1.0
        scatter /= np.outer(spread, spread)
    values, vectors = np.linalg.eigh(scatter)
    axes = PrincipalAxes(np.zeros((0, p)), np.maximum(values[::-1], 0.0), vectors[:, ::-1])
    sampled = None
    if isinstance(n_components, str):
        sampled = _fit_of_sample(rows.blocks, weights, center=center, scale=scale, **kept)
    counted = None if sampled is None else sampled.found
    r = number_of_components(n_components, axes, n, p, counted)
    found = PCAFit(
        n_samples=n,
        total=sums.total,
        center=center,
        mean=origin + shift,
        scale=spread,
        basis=with_further_axes(axes.basis, r),
        spectrum=axes.eigenvalues[:r],
        others=float(axes.eigenvalues[r:].sum()),
        sampled=sampled,
        **kept,
    )
    return turned(found, rotation)


def moments(
    rows: Block, labels: AnyArray | None, start: int, origin: Array, weights: Array | None
) -> tuple[None, Moments]:
    """Return None, and the `Moments` of a block whose first row has the number ``start``."""
    own = None if weights is None else weights[start : start + rows.shape[0]]
    total = float(rows.shape[0] if own is None else own.sum())
    if is_sparse(rows):
        scaled = rows if own is None else rows.multiply(own[:, None]).tocsr()
        sums = np.asarray(scaled.sum(axis=0), dtype=np.float64)
        second = (rows.T @ scaled).toarray().astype(np.float64)
        # sum w (x - m)(x - m)' = sum w x x' - s m' - m s' + W m m'
        second += total * np.outer(origin, origin) - np.outer(sums, origin) - np.outer(origin, sums)
        return None, Moments(total, sums - total * origin, second)
    xp = namespace(rows)
    around = xp.astype(rows, xp.float64)
    around = around - like(origin, around)
    scaled = around if own is None else around * like(own, around)[:, None]
    first = to_host(xp.sum(scaled, axis=0), np.float64)
    return None, Moments(total, first, to_host(scaled.T @ around, np.float64))


def _fit_of_sample(
    blocks: Blocks, weights: Array | None, *, center: bool, scale: bool, **kept: Any
) -> PCAFit:
    """Return the PCA of a random sample of the rows, with the number of components found there."""
    n, p = blocks.shape
    m = min(n, FEW_ROWS, max(MOST_NUMBERS // p, 1000))
    random = np.random.default_rng(kept.get("seed", 0))
    drawn = np.sort(random.choice(n, m, replace=False))
    own = None if weights is None else weights[drawn]
    rows = blocks.sample(drawn)
    table = varying_table(rows, center=center, scale=scale, weights=own, counting=True)
    return fit(table, "auto", **kept | {"sample_names": None})


def scores_in_blocks(blocks: Blocks, found: PCAFit, units: Array | None) -> Any:
    """Return the scores (n, R) of the rows beside them; units (R,): what they are divided by."""
    projection = found.components.T
    projection = projection if found.scale is None else projection / found.scale[:, None]
    projection = projection if units is None else projection / units
    return blocks.each(partial(_scores_of, mean=found.mean, projection=projection))


def _scores_of(
    rows: Block, labels: AnyArray | None, start: int, mean: Array, projection: Array
) -> tuple[AnyArray, None]:
    if is_sparse(rows):
        scores: Array = rows @ projection - mean @ projection
        return scores.astype(rows.dtype, copy=False), None
    return (rows - like(mean, rows)) @ like(projection, rows), None


def values_in_blocks(blocks: Blocks, found: PCAFit, visit: Callable[[PCAFit, Array], Array]) -> Any:
    """Return the values (n, ...) that ``visit`` gives the rows, in main memory, beside them."""
    lean = replace(found, axes=None, observed=None, sampled=None, weights=None)
    return blocks.each(partial(_values_of, found=lean, visit=visit))


def _values_of(
    rows: Block,
    labels: AnyArray | None,
    start: int,
    found: PCAFit,
    visit: Callable[[PCAFit, Array], Array],
) -> tuple[AnyArray, None]:
    held = rows.toarray() if is_sparse(rows) else to_host(rows)
    values = visit(found, held.astype(np.float64, copy=False))
    return (values if is_sparse(rows) else like(values, rows)), None
