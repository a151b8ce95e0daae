"""The command ``report``, which writes an HTML page about a model file."""

from pathlib import Path
from typing import Annotated

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import setting
from subspaces.app.cli._say import say, say_json, warn

# What the page is made of, besides the model.
BESIDE = ("summary.json", "labels.csv", "variables.csv", "markers.csv")


def report(
    model: options.Model,
    out: Annotated[
        Path | None, setting("HTML file. Default: report.html next to the model.", "FILE")
    ] = None,
    title: Annotated[
        str | None, setting("Title of the page. Default: the name of the table.", "TEXT")
    ] = None,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Write a page about a model: one HTML file, for any browser, offline.

    Known classes, markers and stability come from the files that subspaces fit
    wrote next to the model (labels.csv, markers.csv, summary.json). The table is
    not read again.

    \b
    Examples:
      subspaces report result/model.npz --force
      subspaces report result/model.npz --out page.html --title "Leukaemia"
    """
    target = model.with_name("report.html") if out is None else out
    read = [model, *(model.with_name(name) for name in BESIDE)]
    _outputs.refuse_to_overwrite(target, force=force, read=read)
    from subspaces.app.cli._left_by_fit import left_by_fit
    from subspaces.app.cli._predicting import read_model
    from subspaces.app.cli._results import with_messages_of_options

    fitted = with_messages_of_options(read_model(model))
    left = left_by_fit(model, fitted)
    given = {} if title is None else {"title": title}
    with _outputs.errors_named(target):
        fitted.report(path=target, **{**left.options, **given})
    for message in left.lacking:
        warn(message)
    if as_document:
        say_json({"model": str(model), "out": str(target)})
        return
    say(f"Wrote {target}")
