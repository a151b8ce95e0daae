"""The kernel behind `fused.py`: one row's costs under all clusters, read from its scores once."""

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
    new = torch.empty(n, dtype=torch.int32, device=scores.device)
    own = torch.empty(n, dtype=scores.dtype, device=scores.device)
    grid = (triton.cdiv(n, ROWS),)
    _costs[grid](
        scores, squared.contiguous(), new if labels is None else labels, placed.shift,
        placed.spectra, placed.weights, placed.scale, new, own, n, plan.flats.noise,
        K=n_clusters, R=n_axes, WIDTH=triton.next_power_of_2(n_axes), STRIDE=squared.shape[1],
        CRITERION=NAMES[plan.criterion], KNOWN=labels is not None, ROWS=ROWS,
    )  # fmt: skip
    return new, own


@triton.jit
def _costs(
    scores, squared, labels, shift, spectra, weights, scale, new, own, n, noise,
    K: tl.constexpr, R: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr,
    CRITERION: tl.constexpr, KNOWN: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    axis = tl.arange(0, WIDTH)
    used = axis < R
    present = (
        tl.load(labels + rows, mask=inside, other=-1) if KNOWN else tl.full([ROWS], -1, tl.int32)
    )
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
        length = tl.load(squared + rows * STRIDE + (k if STRIDE > 1 else 0), mask=inside, other=0.0)
        cost = tl.maximum(length - tl.sum(e, axis=1), 0.0)
        member = present == k
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
            v = tl.load(weights + k * R + axis, mask=used, other=1.0)[None, :]
            cost = tl.load(scale + k) + 0.5 * (cost / noise + tl.sum(e * v, axis=1))
        at = tl.where(cost < best, k, at)
        best = tl.minimum(best, cost)
        mine = tl.where(member, cost, mine)
    if KNOWN:
        tl.store(new + rows, tl.where(mine <= best, present, at), mask=inside)
        tl.store(own + rows, mine, mask=inside)
    else:
        tl.store(new + rows, at, mask=inside)
        tl.store(own + rows, best, mask=inside)
