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
# A larger header is refused before it is read.
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
    """Return the model that `write` wrote, or raise ValueError with what is wrong, in one line."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ValueError(f"{os.fspath(path)} is a device or a pipe, not a file. Check the path.")
    content = Path(path).read_bytes()
    try:
        return _parse(content)
    except Exception as error:  # zipfile, json and numpy raise all sorts on bytes that nobody wrote
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        if isinstance(error, zipfile.BadZipFile):
            reason = f"it is damaged, or not a model file ({reason})"
        if isinstance(error, zipfile.BadZipFile | ForeignFileError):
            reason += f". Use {_use_instead(Path(path))}"
        raise ValueError(f"{os.fspath(path)} cannot be loaded as a model: {reason}.") from error


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
    if arrays:
        raise ValueError(f"its header does not mention the part {min(arrays)!r}")
    if not (isinstance(parameters, dict) and isinstance(state, dict)):
        raise ValueError("its header has parameters or a state of the wrong type")
    return SavedModel(header["estimator"], parameters, state)


def _check_members(members: list[zipfile.ZipInfo], n_bytes: int) -> None:
    """Raise ValueError, before a member is read, if `write` cannot have written the archive."""
    names = [member.filename for member in members]
    if f"{HEADER}.npy" not in names:
        raise ForeignFileError(f"it has no part {HEADER}, so this library did not write it")
    if min(member.header_offset for member in members) > 0:
        raise ValueError("it does not start like a model file")
    if len({name.removesuffix(".npy") for name in names}) < len(names):
        raise ValueError("two of its parts have the same name")
    if any(m.compress_type != zipfile.ZIP_STORED or m.flag_bits & 1 for m in members):
        raise ValueError("it is compressed or encrypted, and model files are not")
    declared = sum(member.file_size for member in members)
    if declared > n_bytes or any(m.file_size != m.compress_size for m in members):
        raise ValueError(f"it should have {declared} bytes but has {n_bytes}")
    header = names.index(f"{HEADER}.npy")
    if members[header].file_size > MOST_HEADER_BYTES:
        raise ValueError(f"its header is larger than {MOST_HEADER_BYTES} bytes")


def _header(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("its header is not made of bytes")
    header = json.loads(array.tobytes().decode(), object_pairs_hook=_without_repeats)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ForeignFileError("this library did not write its header")
    number = header.get("version")
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"its format version {number!r} is not a number")
    if number > FORMAT_VERSION:
        raise ValueError(
            f"it was written by subspaces {header.get('library')!r} in format {number}, and "
            f"this version reads up to {FORMAT_VERSION}. Update subspaces"
        )
    if not isinstance(header.get("estimator"), str):
        raise ValueError("its header does not name an estimator")
    return header


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("its header has the same key twice")
    return dict(pairs)


def _array(member: bytes) -> NDArray[Any]:
    """Return the array in the bytes of an .npy file; raise ValueError unless numbers or text."""
    stream = io.BytesIO(member)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("one of its arrays needs a later version of numpy")
    shape, fortran, kind = np.lib.format.read_array_header_1_0(stream)
    if not is_serialisable_type(kind):
        raise ValueError(f"one of its arrays has type {kind}, which is neither numbers nor text")
    content = member[stream.tell() :]
    # Text of no characters takes no bytes, however many cells there are.
    size = prod(shape)
    if min(shape, default=0) < 0 or size * kind.itemsize != len(content) or size > len(content):
        raise ValueError(f"an array of shape {shape} and type {kind} has {len(content)} bytes")
    array = np.ndarray(shape, kind, content, order="F" if fortran else "C")
    if kind.kind == "U" and not _is_text(array):
        raise ValueError("one of its arrays contains invalid text")
    return array.astype(kind.newbyteorder("="), order="K")


def _is_text(array: NDArray[Any]) -> bool:
    codes = np.frombuffer(array.tobytes(), dtype=np.dtype("u4").newbyteorder(array.dtype.byteorder))
    return int(codes.max(initial=0)) <= LARGEST_CODE_POINT
