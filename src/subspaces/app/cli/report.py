"""The command ``report``, which writes an HTML page about a model file or any table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import setting
from subspaces.app.cli._say import say, say_json, working

# Files next to the model that the page uses.
BESIDE = ("summary.json", "labels.csv", "variables.csv", "markers.csv")


def report(
    path: options.ModelOrTable,
    out: Annotated[
        Path | None, setting("HTML file. Default: report.html next to the model or table.", "FILE")
    ] = None,
    title: Annotated[
        str | None, setting("Title of the page. Default: the name of the table.", "TEXT")
    ] = None,
    *,
    reading: options.Reading,
    metadata: options.Metadata = None,
    cluster_names: Annotated[
        list[str] | None,
        setting(
            "Names for the clusters on the page, in the order of their numbers: B cells,T cells.",
            "NAMES",
            panel=options.OUTPUT,
        ),
    ] = None,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Write a page about a model or any table. It is one HTML file and works offline.

    The page of a table describes its columns, missing values, a PCA, the clusters
    and the outliers. The PCA uses numbers and categories, but not text or dates.

    The page of a model takes the known classes, markers and stability from the
    files that subspaces fit wrote next to it (labels.csv, markers.csv,
    summary.json). It does not read your table again. --metadata and
    --cluster-names only work with a model.

    \b
    Examples:
      subspaces report table.csv --out table.html
      subspaces report result/model.npz --force
      subspaces report result/model.npz --out page.html --title "Leukaemia"
      subspaces report result/model.npz --force --cluster-names "B cells,T cells"
    """
    target = path.with_name("report.html") if out is None else out
    is_table, names = options.is_table(path), options.entries_of(cluster_names)
    if not is_table and reading != options.Reading():
        raise ValueError(
            "--ignore, --missing and --sample-names only work with a table. Leave them out, or "
            "give the table instead of model.npz."
        )
    for option, given in (("--metadata", metadata), ("--cluster-names", names)):
        if is_table and given:
            raise ValueError(
                f"{option} only works with a model. Leave it out, or give model.npz instead of "
                "the table."
            )
    read = [path, *(path.with_name(name) for name in BESIDE * (not is_table))]
    _outputs.refuse_to_overwrite(target, force=force, read=read)
    if is_table:
        _of_table(path, target, title, reading)
    else:
        _of_model(path, target, title, names, metadata)
    if as_document:
        say_json({"table" if is_table else "model": str(path), "out": str(target)})
        return
    say(f"Wrote {target}")


def _of_table(path: Path, target: Path, title: str | None, reading: options.Reading) -> None:
    """Write the page of a table, and say what is doubtful about it."""
    from subspaces.app.cli._said import Said, with_options
    from subspaces.app.report._frame import describe, write_frame_page
    from subspaces.app.tables import read_frame

    with working("Looking at the table"), _outputs.errors_named(target):
        frame = read_frame(
            path,
            ignore=reading.ignored,
            missing=reading.marks,
            sample_names=reading.sample_names,
        )
        draft = describe(frame)
        said = replace(draft, doubts=tuple(with_options(draft.doubts)))
        write_frame_page(said, target, path.name if title is None else title)
    Said((), draft.doubts).say()


def _of_model(
    model: Path, target: Path, title: str | None, names: Sequence[str], more: Path | None
) -> None:
    """Write the page of a model; warn of what it lacks. more: the file of metadata."""
    from subspaces.app.cli._inputs import read_metadata
    from subspaces.app.cli._left_by_fit import left_by_fit
    from subspaces.app.cli._predicting import read_model
    from subspaces.app.cli._results import with_messages_of_options
    from subspaces.facts import facts_of

    fitted = with_messages_of_options(read_model(model))
    n_clusters = facts_of(fitted).n_clusters
    if names and len(names) != n_clusters:
        raise ValueError(
            f"--cluster-names has {len(names)} name{'s' * (len(names) > 1)} for {n_clusters} "
            f"cluster{'s' * (n_clusters > 1)}. Give one for each."
        )
    kept = fitted.record_.sample_names
    if more and kept is None:
        raise ValueError(f"{model} does not store sample names. Leave out --metadata.")
    metadata = read_metadata(more, [] if kept is None else list(map(str, kept)))
    given = options.without_none(title=title, names=names or None, metadata=metadata)
    given = {**left_by_fit(model, fitted), **given}
    with _outputs.errors_named(target):
        fitted.report(path=target, **given)
