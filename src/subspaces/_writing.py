"""A file that appears whole or not at all, and is on the disk by then."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A path beside the target, to be written to; once that is done it takes the target's place.

    As with a file that is simply opened and written, a link stays a link, and a file that others
    may not read stays so.
    """
    target = Path(os.path.realpath(target))
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ValueError(f"{target} is a device or a pipe. Use the name of a file")
    part = target.with_name(f".{token_hex(8)}.part")
    try:
        yield part
        keep_mode(target, part)
        force_to_disk(part)
        os.replace(part, target)
        force_to_disk(target.parent)
    finally:
        part.unlink(missing_ok=True)


def keep_mode(old: Path, new: Path) -> None:
    """Give a file the permissions of the one it will replace, if there is one."""
    with suppress(FileNotFoundError):
        shutil.copymode(old, new)


def force_to_disk(path: Path) -> None:
    """Return once a power cut would not lose the file, or the names in the folder."""
    if path.is_dir():
        with suppress(OSError):  # not every system can open a folder, or force it out
            _force(path, os.O_RDONLY)
    else:
        _force(path, os.O_RDWR)


def _force(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
