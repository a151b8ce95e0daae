"""What the commands print: answers on stdout, all else on stderr."""

import json
import math
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

PIPE_WIDTH = 500


def say(text: str = "") -> None:
    """A line of the answer."""
    typer.echo(text)


def note(text: str) -> None:
    """A line beside the answer."""
    typer.echo(text, err=True)


def say_error(text: str) -> None:
    """What went wrong."""
    typer.echo(f"Error: {text}", err=True)


def say_json(document: Mapping[str, Any]) -> None:
    """The whole answer as one JSON document."""
    typer.echo(as_json(document))


def as_json(document: Mapping[str, Any]) -> str:
    """JSON proper: what is not finite becomes null."""
    return json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value.tolist() if type(value).__module__ == "numpy" else value


def say_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Container[int]
) -> None:
    """A table on stdout; the columns of ``numbers`` are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(file=sys.stdout, width=width, markup=False, highlight=False).print(table)


@contextmanager
def working(text: str, total: int | None = None) -> Iterator[Any]:
    """A spinner and the time on a terminal, nothing in a pipe.

    Yields a function to call with the name of each of ``total`` steps as it begins.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total:
        columns.insert(2, BarColumn(bar_width=20))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        begun: list[str] = []

        def step(name: Any) -> None:
            progress.update(task, completed=len(begun), description=f"{text}: {name}")
            begun.append(str(name))

        yield step
