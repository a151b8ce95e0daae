"""Self-expression by the elastic net and the lasso, one row at a time on a small support.

For each row, with ``l`` the l1 ratio and ``g`` the fidelity [You, Li, Robinson & Vidal 2016]:

    min_c  l ||c||_1 + (1 - l)/2 ||c||^2 + g/2 ||x_i - sum_j c_j x_j||^2,   c_i = 0

A solution on a support solves the problem on all rows if ``g |<x_j, residual>| <= l`` for every
other row. So each row is first solved on the rows nearest to it by angle; the others are checked, a
whole block at once, and those that break the bound join the support.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from subspaces._types import Array, Indices
from subspaces.runtime.warning import changed_filters
from subspaces.starts.self_expression import Sparse, largest, largest_products, products, row_blocks

# Rows in the first support, most rows that join it in a round, and the rounds after which to stop.
FIRST_SUPPORT, GROWTH, MOST_ROUNDS = 50, 50, 100


@dataclass(frozen=True)
class Penalty:
    """The share of the l1 norm, the solver's tolerance, and its largest number of sweeps."""

    l1_ratio: float
    tolerance: float
    max_iter: int


@dataclass(frozen=True)
class Expansion:
    """One row's solution: its number, its fidelity g, and its support with coefficients."""

    own: int
    fidelity: float
    support: Indices
    values: Array


def fidelities(rows: Array, alpha: float, l1_ratio: float = 1.0) -> Array:
    """Return the fidelity of each row, ``g_i = alpha l / max_{j != i} |<x_i, x_j>|``, (n,).

    With alpha <= 1 all coefficients are 0. A row that is orthogonal to all others gets 0.
    """
    top = largest_products(rows)
    return np.divide(alpha * l1_ratio, top, out=np.zeros_like(top), where=top > 0)


def elastic_net_coefficients(
    rows: Array,
    fidelity: Array,
    l1_ratio: float = 1.0,
    *,
    tolerance: float = 1e-4,
    max_iter: int = 1000,
) -> Sparse:
    """Return the coefficients C of all rows, sparse, (n, n); an l1_ratio of 1 is the lasso.

    fidelity: (n,), see `fidelities`. ``tolerance`` bounds the duality gap relative to
    ``||x_i||^2``; its root is the share by which a row outside of the support may break its bound.
    ``max_iter`` bounds the sweeps on one support, many only where the rows are nearly collinear. A
    row of fidelity 0 stays empty.
    """
    penalty = Penalty(l1_ratio, tolerance, max_iter)
    solved: list[Expansion] = []
    plain = config_context(skip_parameter_validation=True, array_api_dispatch=False)
    with plain, changed_filters():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for block in row_blocks(len(rows)):
            solved += _solve_block(rows, block[fidelity[block] > 0], fidelity, penalty)
    return _as_sparse(solved, len(rows))


def _solve_block(rows: Array, block: Indices, fidelity: Array, penalty: Penalty) -> list[Expansion]:
    """Return the expansions of the rows of a block, each solved on a growing support.

    Rows that break the bound join the support until none does.
    """
    if not len(block):
        return []
    closeness = np.abs(products(rows, block))
    closeness[np.arange(len(block)), block] = -1.0
    first = largest(closeness, min(FIRST_SUPPORT, len(rows) - 1))
    pending = [
        Expansion(own, float(fidelity[own]), support, np.zeros(len(support)))
        for own, support in zip(block, first, strict=True)
    ]
    done: list[Expansion] = []
    for _ in range(MOST_ROUNDS):
        pending = [_solve_row(rows, expansion, penalty) for expansion in pending]
        missed = _missed(rows, pending, penalty)
        pairs = list(zip(pending, missed, strict=True))
        done += [expansion for expansion, others in pairs if not len(others)]
        pending = [_grow(expansion, others) for expansion, others in pairs if len(others)]
        if not pending:
            break
    return done + pending


def _solve_row(rows: Array, expansion: Expansion, penalty: Penalty) -> Expansion:
    """Return the expansion solved on its support by coordinate descent, zeros dropped."""
    atoms, target = rows[expansion.support], rows[expansion.own]
    weight = 1.0 / (expansion.fidelity * len(target))
    values = enet_path(
        atoms.T, target, l1_ratio=penalty.l1_ratio, alphas=[weight], precompute=atoms @ atoms.T,
        Xy=atoms @ target, coef_init=expansion.values, check_input=False, tol=penalty.tolerance,
        max_iter=penalty.max_iter,
    )[1][:, 0]  # fmt: skip
    used = values != 0
    return replace(expansion, support=expansion.support[used], values=values[used])


def _missed(rows: Array, expansions: list[Expansion], penalty: Penalty) -> list[Indices]:
    """Return for each expansion up to 50 rows outside of its support that break the bound most."""
    own = np.array([expansion.own for expansion in expansions])
    factors = np.array([expansion.fidelity for expansion in expansions]) / penalty.l1_ratio
    residual = rows[own] - np.array([e.values @ rows[e.support] for e in expansions])
    excess = np.abs(residual @ rows.T) * factors[:, None]
    for row, expansion in zip(excess, expansions, strict=True):
        row[expansion.support] = row[expansion.own] = 0.0
    worst = largest(excess, GROWTH)
    heights = np.take_along_axis(excess, worst, axis=1)
    bound = 1.0 + np.sqrt(penalty.tolerance)
    return [row[height > bound] for row, height in zip(worst, heights, strict=True)]


def _grow(expansion: Expansion, others: Indices) -> Expansion:
    return replace(
        expansion,
        support=np.concatenate([expansion.support, others]),
        values=np.concatenate([expansion.values, np.zeros(len(others))]),
    )


def _as_sparse(expansions: list[Expansion], n: int) -> Sparse:
    if not expansions:
        return sparse.csr_array((n, n))
    owners = [np.full(len(e.support), e.own) for e in expansions]
    columns = np.concatenate([e.support for e in expansions])
    values = np.concatenate([e.values for e in expansions])
    return sparse.csr_array((values, (np.concatenate(owners), columns)), shape=(n, n))
