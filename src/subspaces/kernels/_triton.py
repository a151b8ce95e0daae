"""Costs and next labels of rows on a GPU in one Triton kernel; `data.block_pass` calls it."""

from typing import Any

import torch
import triton
import triton.language as tl

from subspaces._types import Tensor

# The objective, how many rows moved, and sizes (K,) and energy (K,) of the clusters they move to.
Facts = tuple[Any, Any, Any, Any]

NAMES = {"residual": 0, "hat": 1, "loo": 1, "influence": 2, "likelihood": 3, "distance": 3}
# A program has ROWS rows, or as many as have HELD scores under one group of clusters, so that they
# stay in registers; a group of clusters has up to WIDEST scores of a row.
ROWS, HELD, WIDEST, WARPS = 64, 8192, 128, 4


def from_rows(rows: Tensor, labels: Any | None, plan: Any) -> tuple[Any, Any, Facts]:
    """Return next labels (n,), costs (n,) and `Facts` of rows (n, p).

    The costs are those under the present labels; without labels, the least ones.
    """
    arrays, (n_clusters, n_axes) = plan.arrays_like(rows), plan.subspaces.spectra.shape
    axes = arrays.axes
    if not plan.subspaces.linear:
        centres = arrays.centres.T[:, :, None]
        axes = torch.cat([axes.reshape(-1, n_clusters, n_axes), centres], dim=2)
    return _assigned(rows, rows, rows, axes.contiguous(), (0, 0, 0), labels, plan)


def from_scores(
    scores: Tensor,
    squared: Tensor,
    labels: Any | None,
    plan: Any,
    lengths: Tensor | None = None,
    kept: Tensor | None = None,
) -> tuple[Any, Any, Facts]:
    """`from_rows` for rows whose scores (n, K, R) and squared distances from the centres are known.

    lengths (n,): squared lengths that the energies in `Facts` sum, by default ``squared``; kept
    (n, R), if given, is overwritten by each row's scores on its new cluster.
    """
    squared = squared.contiguous()
    lengths = squared if lengths is None else lengths
    axes, strides = scores if kept is None else kept, scores.stride()
    keep = kept is not None
    return _assigned(scores, squared, lengths, axes, strides, labels, plan, False, keep)


def _assigned(
    rows: Tensor,
    squared: Tensor,
    lengths: Tensor,
    axes: Tensor,
    strides: tuple[int, int, int],
    labels: Any | None,
    plan: Any,
    unscored: bool = True,
    keep: bool = False,
) -> tuple[Any, Any, Facts]:
    n, (n_clusters, n_axes) = rows.shape[0], plan.subspaces.spectra.shape
    arrays, device = plan.arrays_like(rows), rows.device
    affine = not plan.subspaces.linear
    p = rows.shape[1] if unscored else 1
    wide = triton.next_power_of_2(n_axes + (affine and unscored))
    group = max(min(triton.next_power_of_2(n_clusters), WIDEST // wide), -(-16 // wide))
    deep = max(triton.next_power_of_2(p), 16)
    block = max(min(ROWS, HELD // max(group * wide, deep)), 16)
    n_programs = triton.cdiv(n, block)
    new = torch.empty(n, dtype=torch.int32, device=device)
    own = torch.empty(n, dtype=rows.dtype, device=device)
    facts = torch.empty(n_programs, 2 + 2 * n_clusters, dtype=torch.float64, device=device)
    _assign[(n_programs,)](
        rows, squared, lengths, new if labels is None else labels, axes, arrays.origin,
        arrays.lengths, arrays.shift, arrays.spectra, arrays.weights, arrays.scale,
        arrays.mean_leverage, arrays.noise,
        new, own, facts, n, *strides, K=n_clusters, R=n_axes, GROUP=group, WIDE=wide, P=p,
        DEEP=deep, WIDTH=1 if unscored else squared.shape[1], CRITERION=NAMES[plan.criterion],
        KNOWN=labels is not None, UNSCORED=unscored, AFFINE=affine,
        SHIFTED=plan.origin is not None, KEEP=keep, ROWS=block, num_warps=WARPS,
    )  # fmt: skip
    total = facts.sum(0)
    return new, own, (total[0], total[1], total[2 : 2 + n_clusters], total[2 + n_clusters :])


@triton.jit
def _cost(e, distance, s, w, scale, claimed, noise, member, CRITERION: tl.constexpr):
    """Return the costs (rows, clusters) of rows with energies e (rows, clusters, axes).

    For axes that a cluster does not have, e and the weight w are 0 and the spectrum s is 1.
    claimed: a member's leverage on the mean of each cluster.
    """
    cost = tl.maximum(distance - tl.sum(e, axis=2), 0.0)
    if CRITERION == 2:
        taken = tl.where(member[:, :, None], e, 0.0)
        alone = taken >= s * (1.0 - 1e-10)
        g = e / tl.where(alone, s, s - taken)
        total = tl.sum(g, axis=2)
        a = (1.0 + total) * (1.0 + total)
        b = (total[:, :, None] - g) * (total[:, :, None] - g)
        cost = cost * a * a + tl.sum(tl.where(e > 0.0, b * b * e, 0.0), axis=2)
        cost = tl.where(tl.max(alone.to(tl.int32), axis=2) > 0, float("inf"), cost)
    if CRITERION == 1 or CRITERION == 3:
        left = tl.where(member, 1.0 - claimed[None, :] - tl.sum(e / s, axis=2), 1.0)
        cost = tl.where(left <= 1e-10, float("inf"), cost / (left * left))
    if CRITERION == 3:
        cost = scale[None, :] + 0.5 * (cost / tl.load(noise) + tl.sum(e * w, axis=2))
    return tl.where(cost == cost, cost, float("inf"))


@triton.jit
def _assign(
    data, squared, lengths, labels, axes, origin, centres, shift, spectra, weights, scale, claimed,
    noise, new, own, facts, n, along_rows, along_clusters, along_axes, K: tl.constexpr,
    R: tl.constexpr, GROUP: tl.constexpr, WIDE: tl.constexpr, P: tl.constexpr, DEEP: tl.constexpr,
    WIDTH: tl.constexpr, CRITERION: tl.constexpr, KNOWN: tl.constexpr, UNSCORED: tl.constexpr,
    AFFINE: tl.constexpr, SHIFTED: tl.constexpr, KEEP: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write the next label, own cost and facts of ROWS rows, through GROUP clusters at a time.

    With UNSCORED data holds rows, otherwise scores. With KEEP, axes receives the scores of each row
    on its new cluster.
    """
    program = tl.program_id(0).to(tl.int64)
    rows = program * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    column = tl.arange(0, GROUP * WIDE)
    r, each = column % WIDE, tl.arange(0, WIDE)
    present = tl.full([ROWS], -1, tl.int32)
    if KNOWN:
        present = tl.load(labels + rows, mask=inside, other=-1)
    best = tl.full([ROWS], float("inf"), data.dtype.element_ty)
    mine = best
    at = tl.zeros([ROWS], tl.int32)
    if UNSCORED:
        i = tl.arange(0, DEEP)
        known = inside[:, None] & (i < P)[None, :]
        x = tl.load(data + rows[:, None] * P + i[None, :], mask=known, other=0.0)
        if SHIFTED:
            x -= tl.where(known, tl.load(origin + i, mask=i < P, other=0.0)[None, :], 0.0)
        length = tl.sum(x * x, axis=1)
    else:
        length = tl.load(lengths + rows, mask=inside, other=0.0)
    for first in range(0, K, GROUP):
        c, k = first + column // WIDE, first + tl.arange(0, GROUP)
        there = (c < K) & (r < R)
        if UNSCORED:
            step = R + 1 if AFFINE else R
            place = axes + i[:, None] * (K * step) + (c * step + r)[None, :]
            a = tl.load(place, mask=(i < P)[:, None] & ((c < K) & (r < step))[None, :], other=0.0)
            score = tl.dot(x, a, input_precision="tf32x3")
            distance = length[:, None]
            if AFFINE:
                shown = tl.reshape(tl.where((r == R)[None, :], score, 0.0), [ROWS, GROUP, WIDE])
                from_origin = tl.load(centres + k, mask=k < K, other=0.0)
                distance = distance - 2.0 * tl.sum(shown, axis=2) + from_origin[None, :]
        else:
            place = data + rows[:, None] * along_rows
            place += (c.to(tl.int64) * along_clusters + r.to(tl.int64) * along_axes)[None, :]
            score = tl.load(place, mask=inside[:, None] & there[None, :], other=0.0)
            of = squared + rows[:, None] * WIDTH + (k if WIDTH > 1 else 0 * k)[None, :]
            distance = tl.load(of, mask=inside[:, None] & (k < K)[None, :], other=0.0)
        d = score - tl.load(shift + c * R + r, mask=there, other=0.0)[None, :]
        e = tl.reshape(tl.where(there[None, :], d * d, 0.0), [ROWS, GROUP, WIDE])
        table = k[:, None] * R + each[None, :]
        used = (k < K)[:, None] & (each < R)[None, :]
        s = tl.load(spectra + table, mask=used, other=1.0)[None, :, :]
        w = tl.load(weights + table, mask=used, other=0.0)[None, :, :]
        member = present[:, None] == k[None, :]
        cost = _cost(
            e, distance, s, w, tl.load(scale + k, mask=k < K, other=0.0),
            tl.load(claimed + k, mask=k < K, other=0.0), noise, member, CRITERION=CRITERION,
        )  # fmt: skip
        cost = tl.where((k < K)[None, :], cost, float("inf"))
        least, where = tl.min(cost, axis=1, return_indices=True)
        at = tl.where(least < best, first + where, at)
        best = tl.minimum(best, least)
        mine = tl.where((present >= first) & (present < first + GROUP), 0.0, mine)
        mine += tl.sum(tl.where(member, cost, 0.0), axis=1)
    if KNOWN:
        at = tl.where(mine <= best, present, at)
        best = mine
    tl.store(new + rows, at, mask=inside)
    tl.store(own + rows, best, mask=inside)
    fact = facts + program * (2 + 2 * K)
    tl.store(fact, tl.sum(tl.where(inside, best, 0.0).to(tl.float64), axis=0))
    tl.store(fact + 1, tl.sum((inside & (at != present)).to(tl.int32), axis=0).to(tl.float64))
    for first in range(0, K, GROUP):
        k = first + tl.arange(0, GROUP)
        here = inside[:, None] & (at[:, None] == k[None, :])
        tl.store(fact + 2 + k, tl.sum(here.to(tl.int32), axis=0).to(tl.float64), mask=k < K)
        energy = tl.sum(tl.where(here, length[:, None], 0.0).to(tl.float64), axis=0)
        tl.store(fact + 2 + K + k, energy, mask=k < K)
        if KEEP:
            c = first + column // WIDE
            kept = (inside[:, None] & (at[:, None] == c[None, :])) & (r < R)[None, :]
            place = (
                rows[:, None] * along_rows
                + (c.to(tl.int64) * along_clusters + r.to(tl.int64) * along_axes)[None, :]
            )
            score = tl.load(data + place, mask=kept, other=0.0)
            tl.store(axes + rows[:, None] * R + r[None, :], score, mask=kept)
