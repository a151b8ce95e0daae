"""Printing for all commands: answers on stdout; notes, warnings and errors on stderr."""

import codecs
import json
import math
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import fill, wrap
from typing import Any, TextIO

import typer

from subspaces.runtime.extras import install

# Characters per line if there is no window and no COLUMNS, and per line of prose.
PIPE_WIDTH, WORDS_WIDTH = 120, 80
# The most rows that a table on the screen has, and the most warnings.
MOST_ROWS, MOST_WARNINGS = 12, 3
# The most lines of words that a command prints besides its tables, and those on what it read.
MOST_LINES, LINES_TO_READ = 12, 2
# Stages of work that is made of many fits, the outermost first.
OUTER = ("halving", "candidate")


def say(text: str = "") -> None:
    """Print ``text``, a line of the command's answer, on stdout."""
    typer.echo(_in_window(text, sys.stdout), file=sys.stdout)


def note(text: str) -> None:
    """Print ``text``, which is no part of the command's answer, on stderr."""
    typer.echo(_in_window(visible(text), sys.stderr), file=sys.stderr)


def _in_window(text: str, stream: TextIO) -> str:
    """Return a line wrapped to the window; for a pipe, or of many lines, it stays as it is."""
    if "\n" in text or not stream.isatty():
        return text
    width = get_terminal_size((WORDS_WIDTH, 1)).columns
    return fill(text, width, break_long_words=False, break_on_hyphens=False)


def warn(message: str) -> None:
    """Print a warning on stderr, after "Note: "."""
    note(as_warning(message))


def can_draw() -> bool:
    """Return whether plotly, which draws the pages, is installed; warn if not."""
    there = find_spec("plotly") is not None
    if not there:
        warn(f"report.html was not written, because plotly is not installed. {install('report')}")
    return there


def as_warning(message: str) -> str:
    """Return the line of a warning."""
    return f"Note: {ended(message)}"


def fitting_in(lines: Iterable[str], besides: Iterable[str] = ()) -> list[str]:
    """Return the lines of words for which a screen has room besides others, in their order."""
    room = MOST_LINES - LINES_TO_READ - sum(map(_n_lines, besides))
    kept: list[str] = []
    for line in lines:
        if sum(map(_n_lines, [*kept, line])) <= room:
            kept.append(line)
    return kept


def _n_lines(text: str) -> int:
    return max(len(wrap(text, WORDS_WIDTH)), 1)


def what_was_written(files: Sequence[str], folder: object, left: int = 99) -> str:
    """Return the last line of a screen; left: how many notes are in the files alone."""
    place = "report.html" if "report.html" in files else "summary.json"
    more = f" ({left} more note{'s' * (left != 1)} in {place})" if left else ""
    return f"Wrote {files[0]} and {len(files) - 1} more files in {folder}{more}"


def say_error(text: str) -> None:
    """Print what went wrong on stderr, after "Error: ", as whole sentences."""
    note(f"Error: {ended(text)}")


def ended(text: str) -> str:
    """Return the text with a full stop, unless it has one, asks, or ends with a command."""
    return text + "." * (not text.endswith((".", "?", "]'")))


def matched_classes(agreement: Mapping[str, Any]) -> str:
    """Return a sentence with the matched accuracy and the adjusted Rand index."""
    right, index = agreement["in_right_cluster"], agreement["adjusted_rand"]
    if right is None:
        from subspaces.app.overlap import overlap_in_words

        words = overlap_in_words(agreement["overlap"])
    else:
        words = f"{percent(right)} of the samples are in the right cluster"
    return f"{words} (adjusted Rand index {index:.3f})."


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent, rounded down, so that 100 % means all."""
    scale = 10**decimals
    # 100 times 0.29 is below 29.
    return f"{math.floor(100 * scale * share + 1e-9) / scale:.{decimals}f} %"


def visible(text: str) -> str:
    """Return the text with control characters spelt out, so that they cannot steer a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def say_json(document: Mapping[str, Any]) -> None:
    """Print a command's whole answer on stdout as one JSON document, readable as UTF-8."""
    encoding = codecs.lookup(sys.stdout.encoding or "utf-8").name
    say(as_json(document, ascii_only=encoding != "utf-8"))


def as_json(document: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Return the document as the text of strict JSON; nan and infinity become null.

    Bytes of a path that are not UTF-8 become escapes, which Python reads back.
    """
    text = json.dumps(_serialisable(document), indent=2, ensure_ascii=ascii_only, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _serialisable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _serialisable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_serialisable(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return _serialisable(value.tolist()) if type(value).__module__ == "numpy" else value


def say_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Container[int],
    rest: str = "",
) -> None:
    """Print a table on stdout that fits the window; long headings and texts wrap.

    Columns whose index is in ``numbers`` are aligned right. rest: the file with the further rows of
    a long table, if only the first are printed.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    most = MOST_ROWS if rest else len(rows)
    width = get_terminal_size((PIPE_WIDTH, 1)).columns
    cells = [list(map(visible, row)) for row in rows[:most]]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(headings):
        if place in numbers:
            longest = max((len(row[place]) for row in cells), default=0)
            table.add_column(heading, justify="right", min_width=longest)
        else:
            table.add_column(heading, overflow="fold")
    for row in cells:
        table.add_row(*row)
    Console(file=sys.stdout, width=width, markup=False, highlight=False).print(table)
    if len(rows) > most:
        say(f"and {len(rows) - most} more in {rest}")


def say_stability(columns: Mapping[str, Any], chosen: int) -> None:
    """Print how stable each number of clusters is, with a mark at the one chosen."""
    from subspaces.halving import stability_table

    headings, rows = stability_table(columns)
    for row, k in zip(rows, columns["n_clusters"], strict=True):
        row.append("<- chosen" if k == chosen else "")
    say_table((*headings, ""), rows, numbers=range(7))


@contextmanager
def working(text: str, total: int | None = None) -> Iterator[Any]:
    """Show a progress bar on stderr during the ``with`` block, if stderr is a terminal.

    Yields a function to call with the name of each of ``total`` steps as the step begins. Without
    ``total`` the bar counts the steps that the library reports: starts of a fit, numbers of
    clusters tried, or halvings.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[at]}", style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        # This import takes a second. The bar appears after it.
        from subspaces import progress

        task = bar.add_task(text, total=total, at="")
        begun: list[str] = []
        leading: set[str] = set()

        def begin(name: object) -> None:
            bar.update(task, completed=len(begun), description=f"{text}: {name}")
            begun.append(str(name))

        def follow(step: progress.Step) -> None:
            leading.add(step.stage)
            # If the work is many fits, the bar counts fits and not the starts within each.
            outermost = next((stage for stage in OUTER if stage in leading), step.stage)
            if step.stage == outermost or outermost != "halving":
                bar.update(task, at=step.words)
            if total is None and step.stage == outermost != "sweep":
                bar.update(task, completed=step.done, total=step.total)

        with progress.listen(follow):
            yield begin
