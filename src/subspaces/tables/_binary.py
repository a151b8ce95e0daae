"""NPZ, a file of arrays. Nothing in it is run."""

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.core.hearing import PROCESS
from subspaces.tables._content import check_room, content_of
from subspaces.tables._table import Array, Table, by_name, checked, default_names, offered
from subspaces.tables._wanted import Wanted, reduced

VARIABLES = ("variable_names", "genes", "feature_names")
SAMPLES = ("sample_names", "samples")


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Read the arrays X and, where they are there, y and the names."""
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
        data, samples or default_names("sample", n), variables or default_names("v", p), classes
    )
    table = reduced(table, path, wanted)
    return checked(table, path, by_name(table))


@contextmanager
def foreign(path: Path, kind: str) -> Iterator[None]:
    """Whatever a library raises on bytes that nobody wrote, in one line that names the file."""
    try:
        with PROCESS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ValueError(f"{path} is not {kind} ({reason})") from None


def _arrays(path: Path) -> dict[str, Any]:
    content = io.BytesIO(content_of(path))
    kind = "an NPZ file of plain arrays, 'X' and names"
    with foreign(path, kind), zipfile.ZipFile(content) as archive:
        declared = sum(member.file_size for member in archive.infolist())
    check_room(path, 2 * declared)
    with foreign(path, kind):
        read = np.load(content, allow_pickle=False)
        found = {name: read[name] for name in read.files}
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def as_numbers(path: Path, X: Any) -> Array:
    """A matrix in float64, or ValueError."""
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
    """The first of these arrays that is there, as text."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    if arrays[name].shape != (count,):
        raise ValueError(
            f"{path}: {name!r} has shape {arrays[name].shape}. Use ({count},), to go with 'X'"
        )
    return as_texts(arrays[name])


def as_texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Names as text; empty where there is none."""
    return tuple("" if value != value else str(value) for value in values)
