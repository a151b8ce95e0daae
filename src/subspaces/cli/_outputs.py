"""Files that appear whole or not at all, and never in place of others unless asked."""

import csv
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def staged(folder: Path, names: Sequence[str], *, force: bool) -> Iterator[Path]:
    """A folder to write results in; once all are written they move into ``folder`` together.

    What else is in ``folder`` stays. After an error or Ctrl-C all is as it was.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder; another --out would do")
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise ValueError(
            f"{folder} has {', '.join(there)} already; --force or another --out would do"
        )
    with errors_named(folder):
        made = _make(folder)
        stage = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
    try:
        with errors_named(folder):
            yield stage
            _move(stage, folder, there)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        with suppress(OSError):
            for path in made:
                path.rmdir()
        raise


def _move(stage: Path, folder: Path, there: Sequence[str]) -> None:
    """Put what was written in its place; what is older and was not written again goes."""
    written = sorted(stage.iterdir())
    for path in written:
        os.replace(path, folder / path.name)
    for name in set(there) - {path.name for path in written}:
        (folder / name).unlink()
    stage.rmdir()


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
        raise ValueError(f"{path} is there already; --force or another --out would do")


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write one file by way of another beside it."""
    refuse_to_overwrite(path, force=force)
    with errors_named(path):
        _replace(path, text)


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".unfinished-{os.getpid()}-{path.name}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file; numbers with six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
