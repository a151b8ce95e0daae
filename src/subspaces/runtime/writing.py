"""Writing of files so that a crash leaves the old file or the complete new one."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; after the block, that file replaces ``target``.

    After an error the target is unchanged. If the target is a link, the file that it points to is
    replaced. The new file has the permissions of the old one.
    """
    target = Path(os.path.realpath(target))
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ValueError(f"{target} is a device or a pipe, not a file. Choose another name.")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "The folder does not exist", str(target.parent))
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
    """Give the new file the permissions of the old one, if the old one exists."""
    with suppress(FileNotFoundError):
        shutil.copymode(old, new)


def force_to_disk(path: Path) -> None:
    """Flush a file, or the list of names in a folder, to disk, so that it survives a power cut."""
    is_folder = path.is_dir()
    # Not every system can open a folder, or force it out.
    with suppress(OSError) if is_folder else nullcontext():
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
