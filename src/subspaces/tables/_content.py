"""The bytes and the text of a file, as far as memory holds them."""

import gzip
import io
import sys
import zlib
from pathlib import Path

from subspaces._memory import available, in_words, no_room

# Bytes of memory that a byte of text takes as cells and numbers, on the way to a table.
TEXT_ROOM = 16


def content_of(path: Path, room: int = 1) -> bytes:
    """The bytes of a file, if memory holds so many times as many."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file. Use the path of a file")
    check_room(path, path.stat().st_size * room)
    return path.read_bytes()


def check_room(path: Path, n_bytes: int) -> None:
    """Refuse a table that would not fit into memory."""
    too_large = no_room(n_bytes)
    if too_large:
        raise ValueError(f"{path} {too_large}. Use fewer rows or columns")


def _unpacked(path: Path) -> bytes:
    """What gzip packed, as far as memory would hold it as a table."""
    most = (available() or sys.maxsize) // TEXT_ROOM
    try:
        with gzip.open(io.BytesIO(content_of(path))) as packed:
            content = packed.read(most + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}); unpack it and see") from None
    if len(content) > most:
        raise ValueError(
            f"{path} unpacks to more than {in_words(most)}, which as a table is more than the "
            "free memory. Use fewer rows or columns"
        )
    return content


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, packed by gzip or not."""
    content = _unpacked(path) if path.suffix.lower() == ".gz" else content_of(path, TEXT_ROOM)
    if not content.strip():
        raise ValueError(f"{path} is empty. Use a table of numbers")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8 text; save the "
            "file as CSV UTF-8"
        ) from None
    if "\0" in text:
        raise ValueError(f"{path} is not a text file; save it as CSV UTF-8")
    return text
