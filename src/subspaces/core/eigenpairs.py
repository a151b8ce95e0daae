"""The largest eigenvalues of a symmetric matrix, whatever LAPACK's quickest method says of it."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.floating]


def largest_eigenpairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues, in ascending order, and their vectors, in columns.

    The method of relatively robust representations may give up where eigenvalues cluster; then all
    are found, by another.
    """
    n = len(matrix)
    first = max(n - count, 0)
    try:
        return linalg.eigh(matrix, subset_by_index=[first, n - 1], check_finite=False)
    except linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return values[first:], vectors[:, first:]
