"""Sums over the members of each cluster for rows on a GPU, in Triton; `data.block_pass` calls them.

The members of a cluster are summed in a fixed order, so that repeated runs give equal sums.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from subspaces._types import Tensor

# One program sums a tile of TILE variables (TILE^2 of a scatter matrix), AT_A_TIME rows at a time.
TILE, AT_A_TIME = 64, 64
# Sum the rows of a cluster in up to PARTS parallel parts, one per multiprocessor of a large GPU.
# Use fewer if a part would have less than LEAST_ROWS rows of all clusters, or if the parts together
# would take more than 1 / SHARE of the memory of the rows.
PARTS, LEAST_ROWS, SHARE = 132, 1024, 16


def scatter_sums(rows: Tensor, labels: Tensor, plan: Any) -> tuple[Any, Any, Any, Any]:
    """Return sizes (K,), energy (K,), sums of rows (K, p) and scatter matrices (K, p, p)."""
    n_clusters = len(plan.subspaces.sizes)
    sizes, products, totals = _scatter_matrices(rows, labels, None, n_clusters, plan)
    return sizes, _energy(products), totals, products


def scatter_changes(rows: Tensor, before: Tensor, after: Tensor, plan: Any) -> tuple[Any, Any, Any]:
    """Return the changes of energy (K,), sums (K, p) and scatter (K, p, p) by rows that moved.

    before, after (n,): the labels; rows with equal labels are not read.
    """
    n_clusters = len(plan.subspaces.sizes)
    (chosen,) = torch.nonzero(before != after, as_tuple=True)
    # The clusters that are left and those that are joined are summed at once, as 2 K clusters.
    labels, both = torch.cat([before[chosen], after[chosen] + n_clusters]), torch.cat([chosen] * 2)
    _, products, totals = _scatter_matrices(rows, labels, both, 2 * n_clusters, plan)
    products, totals = (sums[n_clusters:] - sums[:n_clusters] for sums in (products, totals))
    return _energy(products), totals, products


def image_sums(rows: Tensor, labels: Tensor, plan: Any) -> tuple[Any, Any, Any, Any]:
    """Return sizes (K,), energy (K,), sums (K, p) and images (K, p, R) of centred rows.

    The image of a cluster's axes is its scatter matrix times these axes.
    """
    sizes, energy, own = _own_scores(rows, labels, plan)
    return sizes, energy, *images(rows, own, labels, len(sizes))


def images(rows: Tensor, own: Tensor, labels: Tensor, n_clusters: int) -> tuple[Any, Any]:
    """Return the sum of each cluster's centred rows, (K, p), and of ``x_i^T d_i``, (K, p, R).

    own (n, R): the scores d_i of each row on the axes of its own cluster.
    """
    (n, p), n_axes = rows.shape, own.shape[1]
    order, ends = _in_order(labels, n_clusters)
    products, totals = _parts(rows, n, n_clusters, n_axes)
    n_parts = products.shape[1]
    _image[(n_clusters * n_parts, triton.cdiv(p, TILE))](
        rows, own, order, ends, products, totals, n_parts, P=p, R=n_axes, WIDE=_wide(n_axes),
        TILE=TILE, ROWS=AT_A_TIME,
    )  # fmt: skip
    return totals.sum(1), products.sum(1)


def _scatter_matrices(
    rows: Tensor, labels: Tensor, chosen: Any | None, n_clusters: int, plan: Any
) -> tuple[Any, Any, Any]:
    """Sizes (K,), scatter matrices (K, p, p) and sums of rows (K, p) of each cluster.

    chosen (m,): numbers of the rows to sum, None for all; labels: one for each row that is summed.
    """
    p, tiles = rows.shape[1], triton.cdiv(rows.shape[1], TILE)
    order, ends = _in_order(labels, n_clusters)
    order = order if chosen is None else chosen[order]
    products, totals = _parts(rows, len(order), n_clusters, p)
    n_parts = products.shape[1]
    _scatter[(n_clusters * n_parts, tiles, tiles)](
        rows, order, ends, plan.arrays_like(rows).origin, products, totals, n_parts, P=p,
        TILE=TILE, SHIFTED=plan.origin is not None,
        PRECISION="ieee" if plan.in_float64 else "tf32x3", ROWS=AT_A_TIME,
    )  # fmt: skip
    return _sizes(ends), products.sum(1), totals.sum(1)


def _own_scores(rows: Tensor, labels: Tensor, plan: Any) -> tuple[Any, Any, Any]:
    """Sizes (K,), energy (K,), and scores (n, R) of centred rows on their own cluster's axes."""
    (n, p), (n_clusters, n_axes) = rows.shape, plan.subspaces.spectra.shape
    order, ends = _in_order(labels, n_clusters)
    n_parts = max(min(8 * PARTS // n_clusters, triton.cdiv(n, AT_A_TIME * n_clusters)), 1)
    own = torch.empty(n, n_axes, dtype=rows.dtype, device=rows.device)
    energy = torch.empty(n_clusters, n_parts, dtype=torch.float64, device=rows.device)
    _score[(n_clusters * n_parts,)](
        rows, plan.arrays_like(rows).axes.contiguous(), order, ends, own, energy, n_parts,
        K=n_clusters, P=p, R=n_axes, WIDE=_wide(n_axes), TILE=TILE, ROWS=AT_A_TIME,
    )  # fmt: skip
    return _sizes(ends), energy.sum(1), own


def _energy(products: Tensor) -> Any:
    return products.diagonal(dim1=1, dim2=2).sum(1)


def _sizes(ends: Tensor) -> Any:
    return torch.diff(ends, prepend=ends.new_zeros(1))


def _wide(n_axes: int) -> int:
    return max(triton.next_power_of_2(n_axes), 16)


def _in_order(labels: Tensor, n_clusters: int) -> tuple[Any, Any]:
    """Row numbers sorted by cluster, (n,), and the end of each cluster in that order, (K,)."""
    short = labels.to(torch.uint8) if n_clusters < 256 else labels
    sorted_labels, order = torch.sort(short, stable=True)
    numbers = torch.arange(n_clusters, dtype=short.dtype, device=labels.device)
    return order, torch.searchsorted(sorted_labels, numbers, right=True)


def _parts(rows: Tensor, n: int, n_clusters: int, width: int) -> tuple[Any, Any]:
    """Empty float64 arrays for partial sums: (K, parts, p, width) and (K, parts, p)."""
    p = rows.shape[1]
    room = rows.nbytes // (SHARE * 8 * n_clusters * p * width)
    shape = (n_clusters, max(min(room, PARTS, triton.cdiv(n, LEAST_ROWS)), 1), p)
    products = torch.empty(*shape, width, dtype=torch.float64, device=rows.device)
    return products, torch.empty(*shape, dtype=torch.float64, device=rows.device)


@triton.jit
def _part(ends, k, part, n_parts):
    """Return the begin and end, in the sorted order, of one of n_parts parts of cluster k."""
    end = tl.load(ends + k)
    begin = tl.load(ends + k - 1, mask=k > 0, other=0)
    span = tl.cdiv(end - begin, n_parts)
    first = begin + part * span
    return first, tl.minimum(first + span, end)


@triton.jit
def _scatter(
    data, order, ends, origin, products, totals, n_parts, P: tl.constexpr, TILE: tl.constexpr,
    SHIFTED: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write one TILE x TILE square of a cluster's scatter matrix, from one part of its rows."""
    program = tl.program_id(0).to(tl.int64)
    first, last = _part(ends, program // n_parts, program % n_parts, n_parts)
    left = tl.program_id(1) * TILE + tl.arange(0, TILE)
    right = tl.program_id(2) * TILE + tl.arange(0, TILE)
    product = tl.zeros([TILE, TILE], tl.float64)
    total = tl.zeros([TILE], tl.float64)
    for start in range(first, last, ROWS):
        at = start + tl.arange(0, ROWS)
        inside = at < last
        row = data + tl.load(order + at, mask=inside, other=0)[:, None] * P
        known, also = inside[:, None] & (left < P)[None, :], inside[:, None] & (right < P)[None, :]
        a = tl.load(row + left[None, :], mask=known, other=0.0)
        b = tl.load(row + right[None, :], mask=also, other=0.0)
        if SHIFTED:
            a -= tl.where(known, tl.load(origin + left, mask=left < P, other=0.0)[None, :], 0.0)
            b -= tl.where(also, tl.load(origin + right, mask=right < P, other=0.0)[None, :], 0.0)
        product += tl.dot(tl.trans(a), b, input_precision=PRECISION).to(tl.float64)
        total += tl.sum(a, axis=0).to(tl.float64)
    whole = products + program * P * P + left[:, None] * P + right[None, :]
    tl.store(whole, product, mask=(left < P)[:, None] & (right < P)[None, :])
    if tl.program_id(2) == 0:
        tl.store(totals + program * P + left, total, mask=left < P)


@triton.jit
def _image(
    data, own, order, ends, products, totals, n_parts, P: tl.constexpr, R: tl.constexpr,
    WIDE: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write TILE rows of the image (p, R) of a cluster's axes, from one part of its rows."""
    program = tl.program_id(0).to(tl.int64)
    first, last = _part(ends, program // n_parts, program % n_parts, n_parts)
    i, r = tl.program_id(1) * TILE + tl.arange(0, TILE), tl.arange(0, WIDE)
    product = tl.zeros([TILE, WIDE], tl.float64)
    total = tl.zeros([TILE], tl.float64)
    for start in range(first, last, ROWS):
        at = start + tl.arange(0, ROWS)
        inside = at < last
        row = tl.load(order + at, mask=inside, other=0)[:, None]
        known, scored = inside[:, None] & (i < P)[None, :], inside[:, None] & (r < R)[None, :]
        x = tl.load(data + row * P + i[None, :], mask=known, other=0.0)
        score = tl.load(own + row * R + r[None, :], mask=scored, other=0.0)
        product += tl.dot(tl.trans(x), score, input_precision="tf32x3").to(tl.float64)
        total += tl.sum(x, axis=0).to(tl.float64)
    place = products + (program * P + i[:, None]) * R + r[None, :]
    tl.store(place, product, mask=(i < P)[:, None] & (r < R)[None, :])
    tl.store(totals + program * P + i, total, mask=i < P)


@triton.jit
def _score(
    data, axes, order, ends, own, energy, n_parts, K: tl.constexpr, P: tl.constexpr,
    R: tl.constexpr, WIDE: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write the scores of one part of a cluster's rows on its axes, and their summed squares."""
    program = tl.program_id(0).to(tl.int64)
    k, r = program // n_parts, tl.arange(0, WIDE)
    first, last = _part(ends, k, program % n_parts, n_parts)
    lengths = tl.zeros([ROWS], tl.float64)
    for start in range(first, last, ROWS):
        at = start + tl.arange(0, ROWS)
        inside = at < last
        row = tl.load(order + at, mask=inside, other=0)[:, None]
        score = tl.zeros([ROWS, WIDE], tl.float32)
        for begin in range(0, P, TILE):
            i = begin + tl.arange(0, TILE)
            known = inside[:, None] & (i < P)[None, :]
            x = tl.load(data + row * P + i[None, :], mask=known, other=0.0)
            place = axes + i[:, None] * (K * R) + k * R + r[None, :]
            a = tl.load(place, mask=(i < P)[:, None] & (r < R)[None, :], other=0.0)
            score += tl.dot(x, a, input_precision="tf32x3")
            lengths += tl.sum(x * x, axis=1).to(tl.float64)
        tl.store(own + row * R + r[None, :], score, mask=inside[:, None] & (r < R)[None, :])
    tl.store(energy + program, tl.sum(lengths, axis=0))
