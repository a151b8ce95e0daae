"""Self-expression by near rows alone: each row an elastic net of its ten nearest by angle.

For each row of length 1, with l = 0.9 and ``g = 2 l / max_j |<x_i, x_j>|``:

    min_c  l ||c||_1 + (1 - l)/2 ||c||^2 + g/2 ||x_i - sum_j c_j x_j||^2,   j among the ten nearest

Where clusters are curved, as the views of a turning object are, a row's neighbours lie along the
curve and express it, and no flat through the whole cluster is asked for. The fidelity is twice that
at which all coefficients vanish (`SSC` has 5 times), so that few neighbours are used.
"""

import numpy as np

from subspaces._types import Array, Indices
from subspaces.starts.self_expression import Sparse, from_entries

FIDELITY, L1_RATIO = 2.0, 0.9
# A row of length 1 is done if no coefficient moves by more than this in a sweep. Rows that are not
# done after MOST_SWEEPS are nearly copies of each other, and any of them will do.
COEFFICIENT_TOLERANCE, MOST_SWEEPS, LOOK_EVERY = 1e-4, 100, 10


def local_elastic_net(rows: Array, nearest: Indices) -> Sparse:
    """Return the coefficients of rows (n, p) of length 1 by their nearest (n, m), sparse, (n, n).

    Coordinate descent, for all rows at once.
    """
    n, m = nearest.shape
    neighbours = rows[nearest]
    products = np.matmul(neighbours, neighbours.transpose(0, 2, 1)).transpose(1, 2, 0).copy()
    own = np.einsum("nmp,np->mn", neighbours, rows)
    found, active = np.zeros((m, n)), np.arange(n)
    top = np.abs(own).max(axis=0)
    fidelity = FIDELITY * L1_RATIO / np.where(top > 0.0, top, 1.0)
    rest = own * fidelity
    products *= fidelity
    coefficients = np.zeros((m, n))
    for sweep in range(1, MOST_SWEEPS + 1):
        largest = np.zeros(len(active))
        for j in range(m):
            pull = rest[j] + products[j, j] * coefficients[j]
            value = np.sign(pull) * np.maximum(np.abs(pull) - L1_RATIO, 0.0)
            value /= products[j, j] + 1.0 - L1_RATIO
            step = value - coefficients[j]
            coefficients[j] = value
            rest -= products[j] * step
            np.maximum(largest, np.abs(step), out=largest)
        if sweep % LOOK_EVERY == 0 or sweep == MOST_SWEEPS:
            found[:, active] = coefficients
            moving = largest > COEFFICIENT_TOLERANCE
            if not moving.any():
                break
            active, rest, coefficients = active[moving], rest[:, moving], coefficients[:, moving]
            products = products[:, :, moving]
    return from_entries(nearest, found.T, n)
