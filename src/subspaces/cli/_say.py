"""What the commands print: answers on stdout, all else on stderr."""

import json
import math
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

PIPE_WIDTH = 500
OUTER = {"candidate", "halving"}


def say(text: str = "") -> None:
    """A line of the answer."""
    typer.echo(text)


def note(text: str) -> None:
    """A line beside the answer."""
    typer.echo(visible(text), err=True)


def say_error(text: str) -> None:
    """What went wrong."""
    typer.echo(f"Error: {visible(text)}", err=True)


def visible(text: str) -> str:
    """One line of text: what would steer a terminal, in a name or a path, is spelt out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
        table.add_row(*map(visible, row))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(file=sys.stdout, width=width, markup=False, highlight=False).print(table)


@contextmanager
def working(text: str, total: int | None = None) -> Iterator[Any]:
    """A bar, the step it is at and the time on a terminal, nothing in a pipe.

    Yields a function to call with the name of each of ``total`` steps as it begins. Without
    ``total`` the bar follows the fit, the numbers of clusters tried, or the halvings.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from subspaces import progress

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
        task = bar.add_task(text, total=total, at="")
        begun: list[str] = []
        leading: set[str] = set()

        def begin(name: Any) -> None:
            bar.update(task, completed=len(begun), description=f"{text}: {name}")
            begun.append(str(name))

        def follow(step: progress.Step) -> None:
            bar.update(task, at=f"{step.stage} {step.done} of {step.total}")
            leading.add(step.stage)
            # What is made of many fits leads the bar, and their starts and runs do not.
            leads = step.stage in OUTER or not leading & OUTER
            if total is None and leads and step.stage != "sweep":
                bar.update(task, completed=step.done, total=step.total)

        with progress.listen(follow):
            yield begin
