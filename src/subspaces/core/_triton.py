"""The kernels behind `fused.py`: all costs of a row at once, from its scores or from itself."""

from typing import Any

import torch
import triton
import triton.language as tl

ROWS = 64
NAMES = {"residual": 0, "hat": 1, "loo": 1, "influence": 2, "likelihood": 3}


def assignment(scores: Any, squared: Any, labels: Any | None, plan: Any) -> tuple[Any, Any]:
    """Next labels (b,), and the costs under the present ones, or the least without any."""
    n, n_clusters, n_axes = scores.shape
    placed = plan.beside(scores)
    new, own = _room(scores)
    _from_scores[(triton.cdiv(n, ROWS),)](
        scores, squared.contiguous(), new if labels is None else labels, placed.shift,
        placed.spectra, placed.weights, placed.scale, new, own, n, plan.flats.noise,
        K=n_clusters, R=n_axes, WIDTH=triton.next_power_of_2(n_axes), STRIDE=squared.shape[1],
        CRITERION=NAMES[plan.criterion], KNOWN=labels is not None, ROWS=ROWS,
    )  # fmt: skip
    return new, own


def looked(rows: Any, labels: Any | None, plan: Any) -> tuple[Any, Any, Any]:
    """The same of rows (b, p), and the sizes of the next clusters; nothing else is written."""
    n, p = rows.shape
    n_clusters, _, n_axes = plan.flats.axes.shape
    placed = plan.beside(rows)
    new, own = _room(rows)
    sizes = torch.zeros(n_clusters, dtype=torch.int64, device=rows.device)
    _from_rows[(triton.cdiv(n, ROWS),)](
        rows, new if labels is None else labels, placed.origin, placed.axes, placed.centres,
        placed.lengths, placed.shift, placed.spectra, placed.weights, placed.scale, new, own,
        sizes, n, plan.flats.noise, P=p, WIDE=max(triton.next_power_of_2(p), 16), K=n_clusters,
        R=n_axes, WIDTH=max(triton.next_power_of_2(n_axes), 16),
        SHIFTED=plan.origin is not None, AFFINE=bool(plan.flats.centres.any()),
        CRITERION=NAMES[plan.criterion], KNOWN=labels is not None, ROWS=ROWS,
    )  # fmt: skip
    return new, own, sizes


def _room(like: Any) -> tuple[Any, Any]:
    n, device = like.shape[0], like.device
    return (
        torch.empty(n, dtype=torch.int32, device=device),
        torch.empty(n, dtype=like.dtype, device=device),
    )


@triton.jit
def _cost(e, s, v, scale, residual, member, noise, CRITERION: tl.constexpr):
    """The cost under one cluster of rows with energies e on its axes."""
    cost = residual
    if CRITERION == 2:
        taken = tl.where(member[:, None], e, 0.0)
        alone = taken >= s
        g = e / tl.where(alone, s, s - taken)
        a = tl.sum(g, axis=1)
        b = a[:, None] - g
        a = (1.0 + a) * (1.0 + a)
        cost = a * a * cost + tl.sum(b * b * b * b * e, axis=1)
        cost = tl.where(tl.sum(alone.to(tl.int32), axis=1) > 0, float("inf"), cost)
    if CRITERION == 1 or CRITERION == 3:
        left = tl.where(member, 1.0 - tl.sum(e / s, axis=1), 1.0)
        cost = tl.where(left <= 1e-10, float("inf"), cost / (left * left))
    if CRITERION == 3:
        cost = scale + 0.5 * (cost / noise + tl.sum(e * v, axis=1))
    return cost


@triton.jit
def _from_scores(
    scores, squared, labels, shift, spectra, weights, scale, new, own, n, noise,
    K: tl.constexpr, R: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr,
    CRITERION: tl.constexpr, KNOWN: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    axis = tl.arange(0, WIDTH)
    used = axis < R
    present = tl.full([ROWS], -1, tl.int32)
    if KNOWN:
        present = tl.load(labels + rows, mask=inside, other=-1)
    best = tl.full([ROWS], float("inf"), scores.dtype.element_ty)
    mine = best
    at = tl.zeros([ROWS], tl.int32)
    for k in range(K):
        d = tl.load(
            scores + rows[:, None] * (K * R) + k * R + axis[None, :],
            mask=inside[:, None] & used[None, :],
            other=0.0,
        )
        d -= tl.load(shift + k * R + axis, mask=used, other=0.0)[None, :]
        e = d * d
        s = tl.load(spectra + k * R + axis, mask=used, other=1.0)[None, :]
        v = tl.load(weights + k * R + axis, mask=used, other=0.0)[None, :]
        length = tl.load(squared + rows * STRIDE + (k if STRIDE > 1 else 0), mask=inside, other=0.0)
        residual = tl.maximum(length - tl.sum(e, axis=1), 0.0)
        member = present == k
        cost = _cost(e, s, v, tl.load(scale + k), residual, member, noise, CRITERION)
        at = tl.where(cost < best, k, at)
        best = tl.minimum(best, cost)
        mine = tl.where(member, cost, mine)
    if KNOWN:
        at = tl.where(mine <= best, present, at)
        best = mine
    tl.store(new + rows, at, mask=inside)
    tl.store(own + rows, best, mask=inside)


@triton.jit
def _from_rows(
    data, labels, origin, axes, centres, lengths, shift, spectra, weights, scale, new, own, sizes,
    n, noise, P: tl.constexpr, WIDE: tl.constexpr, K: tl.constexpr, R: tl.constexpr,
    WIDTH: tl.constexpr, SHIFTED: tl.constexpr, AFFINE: tl.constexpr, CRITERION: tl.constexpr,
    KNOWN: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    column = tl.arange(0, WIDE)
    known = column < P
    axis = tl.arange(0, WIDTH)
    used = axis < R
    x = tl.load(
        data + rows[:, None] * P + column[None, :],
        mask=inside[:, None] & known[None, :],
        other=0.0,
    )
    if SHIFTED:
        x -= tl.load(origin + column, mask=known, other=0.0)[None, :]
    squared = tl.sum(x * x, axis=1)
    present = tl.full([ROWS], -1, tl.int32)
    if KNOWN:
        present = tl.load(labels + rows, mask=inside, other=-1)
    best = tl.full([ROWS], float("inf"), data.dtype.element_ty)
    mine = best
    at = tl.zeros([ROWS], tl.int32)
    for k in range(K):
        basis = tl.load(
            axes + column[:, None] * (K * R) + k * R + axis[None, :],
            mask=known[:, None] & used[None, :],
            other=0.0,
        )
        d = tl.dot(x, basis, input_precision="tf32x3")
        length = squared
        if AFFINE:
            centre = tl.load(centres + k * P + column, mask=known, other=0.0)[None, :]
            length += tl.load(lengths + k) - 2.0 * tl.sum(x * centre, axis=1)
            d -= tl.load(shift + k * R + axis, mask=used, other=0.0)[None, :]
        e = d * d
        s = tl.load(spectra + k * R + axis, mask=used, other=1.0)[None, :]
        v = tl.load(weights + k * R + axis, mask=used, other=0.0)[None, :]
        residual = tl.maximum(length - tl.sum(e, axis=1), 0.0)
        member = present == k
        cost = _cost(e, s, v, tl.load(scale + k), residual, member, noise, CRITERION)
        at = tl.where(cost < best, k, at)
        best = tl.minimum(best, cost)
        mine = tl.where(member, cost, mine)
    if KNOWN:
        at = tl.where(mine <= best, present, at)
        best = mine
    tl.store(new + rows, at, mask=inside)
    tl.store(own + rows, best, mask=inside)
    for k in range(K):
        tl.atomic_add(sizes + k, tl.sum(((at == k) & inside).to(tl.int64), axis=0))
