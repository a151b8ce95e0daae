"""Writing of result files: complete or not at all, and over older ones only with --force.

The files of a fit appear together. They are written into a folder ``.unfinished-...`` within the
one asked for; renaming that to ``.finished-...`` is the moment at which the new result counts; then
its files take their places. A process killed before that leaves the old result, one killed after
it the new: what is still to be moved is moved by the next command that opens the folder.
"""

import csv
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

from subspaces.runtime.writing import force_to_disk, keep_mode, written_whole

UNFINISHED, FINISHED = ".unfinished-", ".finished-"
# Marks, among finished files, an older file that was not written again and has to go.
GONE = ".gone"
# A spreadsheet takes a cell that begins with one of these for a formula, and runs it; the last four
# are =, +, - and @ in full width, which East Asian versions take for the same.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def refuse_file(folder: Path) -> None:
    """Raise ValueError if the path ``folder`` exists and is a file."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder. Choose another --out.")


def refuse_inputs(written: Iterable[Path], read: Iterable[Path | None]) -> None:
    """Raise ValueError if a file to write is one to read, whatever it is called: links count."""
    for source, target in product(filter(None, read), written):
        if source.exists() and target.exists() and target.samefile(source):
            raise ValueError(
                f"This would overwrite {target}, which is the input. Choose another --out."
            )


def refuse_folder(
    folder: Path, names: Sequence[str], *, force: bool, read: Sequence[Path | None] = ()
) -> list[str]:
    """Return which of ``names`` are in ``folder``; raise ValueError if any, unless ``force``.

    A file of those in ``read`` is refused in any case.
    """
    refuse_file(folder)
    with errors_named(folder):
        settle(folder)
        refuse_inputs((folder / name for name in names), read)
        there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise ValueError(
            f"{folder} already has results ({', '.join(there)}). Choose another --out, or add "
            "--force to overwrite them."
        )
    return there


@contextmanager
def staged(
    folder: Path, names: Sequence[str], *, force: bool, read: Sequence[Path | None] = ()
) -> Iterator[Path]:
    """Yield a folder to write results in; once all are written they move into ``folder`` together.

    Other files in ``folder`` stay. After an error or Ctrl-C the folder is unchanged.
    """
    there = refuse_folder(folder, names, force=force, read=read)
    with errors_named(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
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
    """Move files from all subfolders ``.finished-...`` into ``folder``, over older ones."""
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


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Re-raise any OSError of the ``with`` block with ``path`` in place of a temporary file."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error


def refuse_to_overwrite(
    path: Path | None, *, force: bool, read: Sequence[Path | None] = ()
) -> None:
    """Raise ValueError if ``path`` exists, unless ``force``; called before any work begins.

    A file of those in ``read``, the command's inputs, is refused in any case.
    """
    if path is None:
        return
    refuse_inputs([path], read)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file. Choose another --out.")
    if path.exists() and not force:
        raise ValueError(
            f"{path} already exists. Choose another --out, or add --force to overwrite it."
        )


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write a text file, complete or not at all; ValueError if it exists, unless ``force``."""
    refuse_to_overwrite(path, force=force)
    with errors_named(path), written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as the text of a CSV file, with six digits a number and formulas disarmed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return disarmed(str(value))


def disarmed(text: str) -> str:
    """Return the text of a cell, with ' in front if a spreadsheet would take it for a formula."""
    if not text.startswith(FORMULA):
        return text
    from subspaces.app.tables import is_number

    return text if is_number(text) else f"'{text}"


def read_cell(text: str) -> str:
    """Return the text of a cell that `as_csv` wrote, without the mark of `disarmed`."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text
