"""Files that appear whole or not at all, and never in place of others unless asked.

The files of a fit appear together. They are written into a folder ``.unfinished-...`` within the
one asked for; renaming that to ``.finished-...`` is the moment at which the new result counts; then
its files take their places. A process killed before that leaves the old result, one killed after
it the new: what is still to be moved is moved by the next command that opens the folder.
"""

import csv
import io
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from subspaces._writing import force_to_disk, keep_mode, written_whole
from subspaces.tables import is_number

UNFINISHED, FINISHED = ".unfinished-", ".finished-"
# Beside finished files: one that is older and was not written again, and goes.
GONE = ".gone"
# A cell that begins so is a formula to a spreadsheet, which would run it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@contextmanager
def staged(folder: Path, names: Sequence[str], *, force: bool) -> Iterator[Path]:
    """A folder to write results in; once all are written they move into ``folder`` together.

    What else is in ``folder`` stays. After an error or Ctrl-C all is as it was.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder. Use another --out")
    with errors_named(folder):
        settle(folder)
        there = [name for name in names if (folder / name).exists()]
        if there and not force:
            raise ValueError(
                f"{folder} has {', '.join(there)} already. Use --force or another --out"
            )
        made = _make(folder)
        _clear(folder)
        owner = f"{socket.gethostname()}-{os.getpid()}"
        stage = Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{owner}-", dir=folder))
    try:
        with errors_named(folder):
            yield stage
            for name in there:
                if not (stage / name).exists():
                    (stage / f"{name}{GONE}").touch()
            for path in stage.iterdir():
                keep_mode(folder / path.name, path)
                force_to_disk(path)
            force_to_disk(stage)
            stage.rename(stage.with_name(stage.name.replace(UNFINISHED, FINISHED)))
            force_to_disk(folder)
            settle(folder)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        with suppress(OSError):
            for path in made:
                path.rmdir()
        raise


def settle(folder: Path) -> None:
    """Put finished results in their places."""
    for finished in sorted(folder.glob(f"{FINISHED}*")):
        for path in sorted(finished.iterdir()):
            with suppress(FileNotFoundError):  # another command may be at it, too
                if path.suffix == GONE:
                    (folder / path.stem).unlink(missing_ok=True)
                    path.unlink()
                else:
                    os.replace(path, folder / path.name)
        with suppress(OSError):
            finished.rmdir()


def _clear(folder: Path) -> None:
    """Remove what processes of this machine left unfinished that are no more."""
    for left in folder.glob(f"{UNFINISHED}{socket.gethostname()}-*-*"):
        pid = left.name.rsplit("-", 2)[1]
        if os.name == "posix" and pid.isdecimal() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """An error of the system names the user's file, not ours on the way to it."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error


def _make(folder: Path) -> list[Path]:
    """Make a folder and its parents; returns what was made, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def refuse_to_overwrite(path: Path | None, *, force: bool) -> None:
    """Say so before the work begins."""
    if path is not None and path.exists() and not force:
        raise ValueError(f"{path} is there already. Use --force or another --out")


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write one file, whole or not at all."""
    refuse_to_overwrite(path, force=force)
    with errors_named(path), written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file, safe to open in a spreadsheet; numbers with six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) and not is_number(text) else text
