"""The reader of NPZ files, without pickle."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subspaces._types import Array
from subspaces.app.tables._content import expecting, zip_content
from subspaces.app.tables._sheet import Sheet, Texts, Wanted, as_texts, named, offered
from subspaces.app.tables._table import to_table, unused_classes
from subspaces.named_table import Table

KIND = "an NPZ file of plain arrays, 'X' and names"
VARIABLES = ("variable_names", "genes", "feature_names")
SAMPLES = ("sample_names", "samples")


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Return the table in an NPZ file: array X and, if present, classes y and arrays of names."""
    content, labels = zip_content(path, KIND, room=2), wanted.labels
    with expecting(path, KIND), np.load(content, allow_pickle=False) as read:
        found = dict(read)
    arrays = {name: array for name, array in found.items() if isinstance(array, np.ndarray)}
    if "X" not in arrays:
        raise ValueError(
            f"{path} has no array 'X'{offered('X', arrays)}. Save the table as X of shape (n, p)"
        )
    data = as_matrix(path, arrays["X"])
    data = data.T if wanted.samples_in_columns else data

    def vector(names: tuple[str, ...], count: int) -> Texts | None:
        """Return the first of these arrays that the file has, as texts."""
        name = next((name for name in names if name in arrays), None)
        if name is None:
            return None
        if arrays[name].shape != (count,):
            raise ValueError(
                f"{path}: {name!r} has shape {arrays[name].shape}. Use ({count},), to go with 'X'"
            )
        return as_texts(arrays[name])

    n, p = data.shape
    classes = vector(("y",) if labels is None else (labels,), n)
    if labels is not None and classes is None:
        raise ValueError(f"{path} has no array {labels!r}{offered(labels, arrays)}")
    rows = named("row", vector(SAMPLES, n), n, "sample")
    columns = named("column", vector(VARIABLES, p), p, "v")
    notes = unused_classes(arrays) if classes is None else ()
    return to_table(path, Sheet(data, rows, columns, classes), wanted, notes)


def as_matrix(path: Path, X: NDArray[np.generic]) -> Array:
    """Return the matrix ``X`` (n, p) as float64; raise ValueError for other shapes or types."""
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: 'X' has shape {X.shape} and type {X.dtype}. Use numbers of shape (n, p)"
        )
    with np.errstate(all="ignore"):  # a signalling nan becomes a nan, and is found as one
        return X.astype(np.float64)
