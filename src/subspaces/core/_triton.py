"""The kernels behind `fused.py`: all costs of a row at once, and clusters' scatter matrices."""

from typing import Any

import torch
import triton
import triton.language as tl

ROWS = 128
NAMES = {"residual": 0, "hat": 1, "loo": 1, "influence": 2, "likelihood": 3}
# A scatter matrix is summed in squares of so many variables, so many rows at a time, in at most so
# many parts, of so many rows of all clusters at least, that take this share of the rows' memory.
TILE, AT_A_TIME, PARTS, LEAST_ROWS, SHARE = 64, 64, 132, 1024, 16


def assignment(scores: Any, squared: Any, labels: Any | None, plan: Any) -> tuple[Any, Any]:
    """Next labels (b,), and the costs under the present ones, or the least without any."""
    n, n_clusters, n_axes = scores.shape
    placed = plan.beside(scores)
    new = torch.empty(n, dtype=torch.int32, device=scores.device)
    own = torch.empty(n, dtype=scores.dtype, device=scores.device)
    _from_scores[(triton.cdiv(n, ROWS),)](
        scores, squared.contiguous(), new if labels is None else labels, placed.shift,
        placed.spectra, placed.weights, placed.scale, placed.noise, new, own, n, *scores.stride(),
        K=n_clusters, R=n_axes, WIDTH=squared.shape[1], CRITERION=NAMES[plan.criterion],
        KNOWN=labels is not None, ROWS=ROWS,
    )  # fmt: skip
    return new, own


def sizes(labels: Any, n_clusters: int) -> Any:
    """Numbers of members."""
    return torch.bincount(labels, minlength=n_clusters)


def scatter(rows: Any, labels: Any, chosen: Any | None, plan: Any) -> tuple[Any, Any, Any]:
    """Sizes (K,), scatter matrices (K, p, p) and sums (K, p) in double precision."""
    p, n_clusters, device = rows.shape[1], len(plan.flats.sizes), rows.device
    short = labels.to(torch.uint8) if n_clusters < 256 else labels
    order = torch.sort(short, stable=True).indices
    order = order if chosen is None else chosen[order]
    members = sizes(labels, n_clusters)
    room = rows.nbytes // (SHARE * 8 * n_clusters * p * p)
    n_parts = max(min(room, PARTS, triton.cdiv(len(order), LEAST_ROWS)), 1)
    products = torch.empty(n_clusters, n_parts, p, p, dtype=torch.float64, device=device)
    totals = torch.empty(n_clusters, n_parts, p, dtype=torch.float64, device=device)
    tiles = triton.cdiv(p, TILE)
    _scatter[(n_clusters * n_parts, tiles, tiles)](
        rows, order, members.cumsum(0), plan.beside(rows).origin, products, totals, n_parts, P=p,
        TILE=TILE, SHIFTED=plan.origin is not None,
        PRECISION="ieee" if plan.exact else "tf32x3", ROWS=AT_A_TIME,
    )  # fmt: skip
    return members, products.sum(1), totals.sum(1)


@triton.jit
def _energy(scores, shift, inside):
    """The squared score of rows on one axis."""
    d = tl.load(scores, mask=inside, other=0.0) - tl.load(shift)
    return d * d


@triton.jit
def _weight(e, s, member):
    """What a row's energy is against the others' on one axis, and whether there are others."""
    taken = tl.where(member, e, 0.0)
    alone = taken >= s * (1.0 - 1e-10)
    return e / tl.where(alone, s, s - taken), alone


@triton.jit
def _cost(
    place, along, shift, spectra, weights, length, scale, noise, member, inside,
    R: tl.constexpr, CRITERION: tl.constexpr,
):  # fmt: skip
    """The cost of rows under one cluster, whose tables these are."""
    nothing = length * 0.0
    captured, total, weighted, lonely = nothing, nothing, nothing, nothing
    for r in range(R):
        e = _energy(place + r * along, shift + r, inside)
        s = tl.load(spectra + r)
        captured += e
        if CRITERION == 2:
            g, alone = _weight(e, s, member)
            total += g
            lonely = tl.where(alone, 1.0, lonely)
        else:
            total += e / s
            weighted += e * tl.load(weights + r)
    cost = tl.maximum(length - captured, 0.0)
    if CRITERION == 2:
        a = (1.0 + total) * (1.0 + total)
        cost *= a * a
        for r in range(R):
            e = _energy(place + r * along, shift + r, inside)
            g, _ = _weight(e, tl.load(spectra + r), member)
            b = (total - g) * (total - g)
            cost += b * b * e
        cost = tl.where(lonely > 0.0, float("inf"), cost)
    if CRITERION == 1 or CRITERION == 3:
        left = tl.where(member, 1.0 - total, 1.0)
        cost = tl.where(left <= 1e-10, float("inf"), cost / (left * left))
    if CRITERION == 3:
        cost = tl.load(scale) + 0.5 * (cost / tl.load(noise) + weighted)
    return cost


@triton.jit
def _from_scores(
    scores, squared, labels, shift, spectra, weights, scale, noise, new, own, n,
    along_rows, along_clusters, along_axes, K: tl.constexpr, R: tl.constexpr, WIDTH: tl.constexpr,
    CRITERION: tl.constexpr, KNOWN: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """A thread has a row, and goes through the clusters and their axes."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    present = tl.full([ROWS], -1, tl.int32)
    if KNOWN:
        present = tl.load(labels + rows, mask=inside, other=-1)
    best = tl.full([ROWS], float("inf"), scores.dtype.element_ty)
    mine = best
    at = tl.zeros([ROWS], tl.int32)
    for k in range(K):
        place = scores + rows * along_rows + k * along_clusters
        length = tl.load(squared + rows * WIDTH + (k if WIDTH > 1 else 0), mask=inside, other=0.0)
        member = present == k
        cost = _cost(
            place, along_axes, shift + k * R, spectra + k * R, weights + k * R, length,
            scale + k, noise, member, inside, R=R, CRITERION=CRITERION,
        )  # fmt: skip
        at = tl.where(cost < best, k, at)
        best = tl.minimum(best, cost)
        mine = tl.where(member, cost, mine)
    if KNOWN:
        at = tl.where(mine <= best, present, at)
        best = mine
    tl.store(new + rows, at, mask=inside)
    tl.store(own + rows, best, mask=inside)


@triton.jit
def _scatter(
    data, order, ends, origin, products, totals, n_parts, P: tl.constexpr, TILE: tl.constexpr,
    SHIFTED: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """One square of the scatter matrix of some rows of one cluster; the rows are in its order."""
    program = tl.program_id(0).to(tl.int64)
    k = program // n_parts
    end = tl.load(ends + k)
    begin = tl.load(ends + k - 1, mask=k > 0, other=0)
    span = tl.cdiv(end - begin, n_parts)
    first = begin + (program % n_parts) * span
    last = tl.minimum(first + span, end)
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
