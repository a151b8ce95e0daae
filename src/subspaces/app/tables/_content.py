"""Reading of a file as bytes or text, with ValueError if it does not fit into memory."""

import codecs
import gzip
import io
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subspaces.messages import Advice, Message, noted, refused
from subspaces.runtime.memory import available, in_words, no_room
from subspaces.runtime.threads import changed_filters

# Bytes of memory that a byte of text takes as cells and numbers, on the way to a table.
TEXT_ROOM = 16
# Byte order marks. UTF-32 comes first, since its mark begins as that of UTF-16.
MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
SAVE = "Save it as CSV UTF-8"
# Control characters, apart from tab and the ends of lines: no text file has these.
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
BEYOND_ASCII = re.compile(r"[^\s,;\"]*[^\x00-\x7f][^\s,;\"]*")


def content_of(path: Path, room: int = 1) -> bytes:
    """Return the bytes of a file; raise ValueError if memory lacks ``room`` times its size."""
    if path.exists() and not path.is_file():
        raise refused(f"{path} is not a file. Check the path.")
    check_room(path, path.stat().st_size * room)
    return path.read_bytes()


def check_room(path: Path, n_bytes: int) -> None:
    """Raise ValueError, about ``path``, if ``n_bytes`` exceed the free memory."""
    too_large = no_room(n_bytes)
    if too_large:
        raise refused(f"{path} {too_large}. Save a table with fewer rows or columns.")


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
        raise refused(f"{path} is not {kind} ({reason}){advice}.") from None


def zip_content(path: Path, kind: str, room: int, advice: str = "") -> io.BytesIO:
    """Return the bytes of a zip archive; raise ValueError if memory lacks room to unpack it.

    The memory needed is ``room`` times the unpacked size.
    """
    content = io.BytesIO(content_of(path))
    with expecting(path, kind, advice), zipfile.ZipFile(content) as archive:
        declared = sum(member.file_size for member in archive.infolist())
    check_room(path, room * declared)
    return content


def text_of(path: Path) -> tuple[str, tuple[Message, ...]]:
    """Return the text of a file, unpacked if it ends in .gz, and notes on a guessed encoding."""
    content = _unpacked(path) if path.suffix.lower() == ".gz" else content_of(path, TEXT_ROOM)
    if not content.strip():
        raise refused(f"{path} is empty. Check the file.")
    encoding = next((name for name in MARKS if content.startswith(MARKS[name])), "utf-8-sig")
    if encoding == "utf-8-sig" and b"\0" in content:
        halves = (content[::2], content[1::2])
        wide = any(3 * half.count(b"\0") > 2 * len(half) for half in halves)
        what = "is UTF-16 without a byte order mark" if wide else "is not a text file"
        raise refused(f"{path} {what}. {SAVE}.")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding == "utf-8-sig":
            return _latin(path, content)
        raise refused(
            f"{path} looks like {encoding.upper()}, but is damaged or incomplete. {SAVE}."
        ) from None
    if "\0" in text:
        raise refused(f"{path} is not a text file. {SAVE}.")
    return text, ()


def _unpacked(path: Path) -> bytes:
    """Return the unpacked bytes of a gzip file; raise ValueError if too large for a table."""
    free = available() or sys.maxsize
    most = free // TEXT_ROOM
    try:
        with gzip.open(io.BytesIO(content_of(path))) as packed:
            content = packed.read(most + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise refused(
            f"{path} is not a complete gzip file ({error}). Download or compress it again."
        ) from None
    if len(content) > most:
        raise refused(
            f"{path} needs more than the {in_words(free)} of memory that is free. Save a smaller "
            "table."
        )
    return content


def _latin(path: Path, content: bytes) -> tuple[str, tuple[Message, ...]]:
    """Return bytes that are not UTF-8 decoded as Windows-1252, and a note that says so."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise refused(
            f"{path}, line {line}: the text has an unknown encoding (byte "
            f"0x{content[error.start]:02x}). Save the file as CSV UTF-8."
        ) from None
    found = BEYOND_ASCII.search(text)
    if CONTROL.search(text) or found is None:
        raise refused(f"{path} is not a text file. {SAVE}.")
    guessed = noted(
        "latin1",
        "The file is not UTF-8, so it was read as Latin-1, with text such as {name!r}.",
        Advice("save it as CSV UTF-8 if that looks wrong"),
        name=found.group()[:20],
    )
    return text, (guessed,)
