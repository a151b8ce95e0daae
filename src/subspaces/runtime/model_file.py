"""Model files: a fitted state written as plain arrays and JSON, and read without running code.

The file is an uncompressed npz. Its member ``header`` is JSON as bytes (see `runtime.serialise`);
the others are arrays of numbers or text that the header refers to. Nothing is pickled, and nothing
in the file names code to import. Uncompressed, a small file cannot unpack to a large one.
"""

import io
import json
import os
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces.runtime.serialise import Arrays, deserialise, is_serialisable_type, serialise
from subspaces.runtime.writing import written_whole

FORMAT, FORMAT_VERSION = "subspaces model", 1
HEADER = "header"
# What subspaces fit calls the file in its folder.
MODEL = "model.npz"
# Largest header (bytes) to read. A larger one is an error.
MOST_HEADER_BYTES = 64 * 2**20
# The last character of Unicode.
LARGEST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True)
class SavedModel:
    """Contents of a model file: class name, constructor parameters and fitted attributes."""

    estimator: str
    parameters: dict[str, Any]
    state: dict[str, Any]


class ForeignFileError(ValueError):
    """Raised for a file that some other program wrote."""


class LaterVersionError(ValueError):
    """Raised for a file that a later version of this library wrote."""


def write(path: str | os.PathLike[str], model: SavedModel) -> None:
    """Write a model to ``path``, with no suffix added; on error an existing file is unchanged."""
    arrays: Arrays = {}
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "library": version("subspaces"),
        "estimator": model.estimator,
        "parameters": serialise(model.parameters, arrays),
        "state": serialise(model.state, arrays),
    }
    text = json.dumps(header, allow_nan=False).encode()
    arrays[HEADER] = np.frombuffer(text, dtype=np.uint8)
    with written_whole(Path(path)) as part, zipfile.ZipFile(part, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), _as_bytes(array))


def read(path: str | os.PathLike[str]) -> SavedModel:
    """Return the model that `write` wrote, or raise ValueError with what to do, in one line."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ValueError(f"{os.fspath(path)} is a device or a pipe, not a file. Check the path.")
    content = Path(path).read_bytes()
    try:
        return _parse(content)
    except Exception as error:  # zipfile, json and numpy raise all sorts on bytes that nobody wrote
        raise unreadable(path, error) from error


def unreadable(path: str | os.PathLike[str], error: Exception) -> ValueError:
    """Return the error of a file that cannot be loaded, with what to do."""
    if isinstance(error, LaterVersionError):
        todo = "was saved by a later version of subspaces. Update subspaces"
    elif isinstance(error, zipfile.BadZipFile | ForeignFileError):
        todo = f"is not a model, or is damaged. Use {_use_instead(Path(path))}"
    else:
        todo = "is damaged and cannot be loaded. Save the model again"
    return ValueError(f"{os.fspath(path)} {todo}.")


def _use_instead(path: Path) -> str:
    """Return the model beside a file of something else or, without one, what a model file is."""
    beside = path.with_name(MODEL)
    if beside != path and beside.is_file():
        return str(beside)
    return f"the {MODEL} that subspaces fit wrote, its folder, or a file from model.save"


def _as_bytes(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


class _Unread(dict[str, Any]):
    """The members of an archive by name; one is read when it is popped, as the header asks."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        names = {name.removesuffix(".npy"): name for name in archive.namelist()}
        super().__init__({name: member for name, member in names.items() if name != HEADER})
        self.archive = archive

    def pop(self, name: str) -> NDArray[Any]:  # type: ignore[override]
        return _array(self.archive.read(super().pop(name)))


def _parse(content: bytes) -> SavedModel:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _check_members(archive.infolist(), len(content))
        header = _header(_array(archive.read(f"{HEADER}.npy")))
        arrays = _Unread(archive)
        parameters = deserialise(header.get("parameters"), arrays)
        state = deserialise(header.get("state"), arrays)
    if arrays or not (isinstance(parameters, dict) and isinstance(state, dict)):
        raise ValueError(HEADER)
    return SavedModel(header["estimator"], parameters, state)


def _check_members(members: list[zipfile.ZipInfo], n_bytes: int) -> None:
    """Raise ValueError, before a member is read, if `write` cannot have written the archive."""
    sizes = {member.filename: member.file_size for member in members}
    if f"{HEADER}.npy" not in sizes:
        raise ForeignFileError
    plain = all(
        member.compress_type == zipfile.ZIP_STORED
        and not member.flag_bits & 1  # encrypted
        and member.file_size == member.compress_size
        for member in members
    )
    if (
        not plain
        or min(member.header_offset for member in members) > 0
        or len({name.removesuffix(".npy") for name in sizes}) < len(members)
        or sum(member.file_size for member in members) > n_bytes
        or sizes[f"{HEADER}.npy"] > MOST_HEADER_BYTES
    ):
        raise ValueError(sorted(sizes))


def _header(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ForeignFileError
    header = json.loads(array.tobytes().decode(), object_pairs_hook=_without_repeats)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ForeignFileError
    number = header.get("version")
    if not isinstance(number, int) or number < 1 or not isinstance(header.get("estimator"), str):
        raise ValueError(number)
    if number > FORMAT_VERSION:
        raise LaterVersionError
    return header


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError(HEADER)
    return dict(pairs)


def _array(member: bytes) -> NDArray[Any]:
    """Return the array in the bytes of an .npy file; raise ValueError unless numbers or text."""
    stream = io.BytesIO(member)
    if np.lib.format.read_magic(stream) != (1, 0):  # a later numpy may write others
        raise LaterVersionError
    shape, fortran, kind = np.lib.format.read_array_header_1_0(stream)
    content = member[stream.tell() :]
    # Text of no characters takes no bytes, however many cells there are.
    size = prod(shape)
    whole = min(shape, default=0) >= 0 and size * kind.itemsize == len(content) >= size
    if not (whole and is_serialisable_type(kind)):
        raise ValueError(kind)
    array = np.ndarray(shape, kind, content, order="F" if fortran else "C")
    if kind.kind == "U" and not _is_text(array):
        raise ValueError(kind)
    return array.astype(kind.newbyteorder("="), order="K")


def _is_text(array: NDArray[Any]) -> bool:
    codes = np.frombuffer(array.tobytes(), dtype=np.dtype("u4").newbyteorder(array.dtype.byteorder))
    return int(codes.max(initial=0)) <= LARGEST_CODE_POINT
