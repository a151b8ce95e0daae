"""The reader of NPZ files, without pickle, and helpers for the other binary formats."""

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from subspaces._types import Array
from subspaces.app.tables._content import check_room, content_of
from subspaces.app.tables._table import checked, default_names, offered, unused_classes
from subspaces.app.tables._wanted import Wanted, reduced
from subspaces.named_table import Table
from subspaces.runtime.warning import changed_filters

VARIABLES = ("variable_names", "genes", "feature_names")
SAMPLES = ("sample_names", "samples")


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Return the table in an NPZ file: array X and, if present, classes y and arrays of names."""
    arrays, labels = _arrays(path), wanted.labels
    if "X" not in arrays:
        raise ValueError(
            f"{path} has no array 'X'{offered('X', arrays)}. Save the table as X of shape (n, p)"
        )
    data = as_numbers(path, arrays["X"])
    data = data.T.copy() if wanted.samples_in_columns else data
    classes = _vector(path, arrays, ("y",) if labels is None else (labels,), len(data))
    if labels is not None and classes is None:
        raise ValueError(f"{path} has no array {labels!r}{offered(labels, arrays)}")
    n, p = data.shape
    samples, variables = _vector(path, arrays, SAMPLES, n), _vector(path, arrays, VARIABLES, p)
    table = Table(
        data,
        samples or default_names("sample", n),
        variables or default_names("v", p),
        classes,
        notes=unused_classes(arrays) if classes is None else (),
    )
    return checked(reduced(table, path, wanted), path)


@contextmanager
def expecting(path: Path, kind: str, advice: str = "") -> Iterator[None]:
    """Turn any error inside the ``with`` block into ValueError: the file is not ``kind``.

    advice: what to do instead, as the end of the message.
    """
    try:
        with changed_filters():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ValueError(f"{path} is not {kind} ({reason}){advice}") from None


def zip_content(path: Path, kind: str, room: int, advice: str = "") -> io.BytesIO:
    """Return the bytes of a zip archive; raise ValueError if memory lacks room to unpack it.

    The memory needed is ``room`` times the unpacked size.
    """
    content = io.BytesIO(content_of(path))
    with expecting(path, kind, advice), zipfile.ZipFile(content) as archive:
        declared = sum(member.file_size for member in archive.infolist())
    check_room(path, room * declared)
    return content


def _arrays(path: Path) -> dict[str, Any]:
    kind = "an NPZ file of plain arrays, 'X' and names"
    content = zip_content(path, kind, room=2)
    with expecting(path, kind):
        read = np.load(content, allow_pickle=False)
        found = {name: read[name] for name in read.files}
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def as_numbers(path: Path, X: Any) -> Array:
    """Return the matrix ``X`` (n, p) as float64; raise ValueError for other shapes or types."""
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: 'X' has shape {X.shape} and type {X.dtype}. Use numbers of shape (n, p)"
        )
    with np.errstate(all="ignore"):  # a signalling nan becomes a nan, and is found as one
        return X.astype(np.float64)


def _vector(
    path: Path, arrays: Mapping[str, Any], names: tuple[str, ...], count: int
) -> tuple[str, ...] | None:
    """Return as strings the first array whose name is in ``names``; None if the file has none.

    Raises ValueError unless that array has shape (count,).
    """
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    if arrays[name].shape != (count,):
        raise ValueError(
            f"{path}: {name!r} has shape {arrays[name].shape}. Use ({count},), to go with 'X'"
        )
    return as_texts(arrays[name])


def as_texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Return each value as a string; the empty string where it is nan."""
    return tuple("" if value != value else str(value) for value in values)
