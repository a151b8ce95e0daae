"""A page from a model file."""

from pathlib import Path
from typing import Annotated

import typer

from subspaces.cli import _options as options
from subspaces.cli._say import say, say_json


def report(
    model: options.Model,
    out: Annotated[
        Path | None,
        typer.Option(
            help="HTML file; report.html beside the model unless given.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page.", metavar="TEXT", show_default=False)
    ] = None,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Write a page about a model: one HTML file, for any browser, offline.

    \b
    Examples:
      subspaces report result/model.npz
      subspaces report result/model.npz --out page.html --title "Leukaemia"
    """
    from subspaces.cli import _outputs

    target = model.with_name("report.html") if out is None else out
    _outputs.refuse_to_overwrite(target, force=force)
    from subspaces.cli._fitting import in_words_of_the_command
    from subspaces.cli._predicting import read_model

    fitted = in_words_of_the_command(read_model(model))
    with _outputs.errors_named(target):
        fitted.report(path=target, title=title)
    if as_document:
        say_json({"model": str(model), "out": str(target)})
        return
    say(f"Wrote {target}")
