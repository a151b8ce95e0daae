"""The command ``pca``, which says how far to trust a PCA and writes it to a folder."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import flag, setting
from subspaces.app.cli._say import (
    fitting_in,
    say,
    say_json,
    say_table,
    visible,
    warn,
    what_was_written,
    working,
)

if TYPE_CHECKING:
    from subspaces.app.cli._said import Said

FILES = ("scores.csv", "loadings.csv", "samples.csv", "summary.json", "report.html")
# How many axes beyond the components the screen shows, and how many variables of each component.
BEYOND, SHOWN = 2, 4
# What a star in the table of components means.
STAR = "* stronger than noise only because of one sample"
HEADS = {"leave_one_out_error": "leave-one-out error"}
# Variables whose loading is below this share of the strongest are not worth a word.
FAINT = 0.25


def pca(
    *,
    dims: Annotated[
        str, setting("Number of components to show. Default: as many as are found.", "N|auto")
    ] = "auto",
    max_dims: Annotated[
        int | None,
        setting(
            "Largest number of components to look for. Default: as many as needed.", "N", min=1
        ),
    ] = None,
    center: Annotated[bool, typer.Option(help="Whether to subtract the mean first.")] = True,
    level: Annotated[
        float,
        setting(
            "How often a table without outliers may raise a false alarm, such as 0.05.",
            "SHARE",
            shown=True,
        ),
    ] = 0.05,
    out: Annotated[Path, setting("Folder for the results.", "FOLDER", shown=True)] = Path("pca"),
    preset: Annotated[
        options.Preset | None,
        typer.Option(help=f"{options.PRESET} {options.MORE_ON_PRESETS}", show_default=False),
    ] = None,
    source: options.Source,
    values: options.ValuesOrPreset,
    seed: options.Seed = 0,
    page: Annotated[bool, flag("--page/--no-page", "Write report.html.")] = True,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Find the components of a table, and how far to trust them.

    It fits one PCA without clusters. It shows how many components are stronger
    than noise, which samples influence them most, which samples are outliers,
    and which components depend on one sample.

    Writes scores.csv (the samples on the components), loadings.csv (the
    variables), samples.csv (each sample's influence and distances),
    summary.json and report.html (a page with all results).

    \b
    Examples:
      subspaces pca data.csv --scale --out pca/
      subspaces pca data.csv --labels type --dims 3 --level 0.01
      subspaces pca arrays.gct --classes a.cls --preset expression
      subspaces pca genes.tsv --samples columns --ignore gene_name --log
    """
    n_components = options.as_numbers(dims, "--dims")
    options.check_least(n_components, 0, "--dims")
    if not 0.0 < level < 1.0:
        raise ValueError(
            f"--level {level:g} is out of range. Set a number between 0 and 1, such as 0.05."
        )
    values.check(preset, {"--no-center": not center})
    if values.scale and not center:
        raise ValueError("--scale and --no-center do not work together. Leave out one of them.")
    _outputs.refuse_folder(out, FILES, force=force, read=(source.data, source.classes))
    with working("Starting"):
        from subspaces.app.cli import _inputs

    table, doubts = _inputs.read_input(source)
    with working("Starting"):
        from subspaces.app.cli import _fitting, _pca
        from subspaces.app.cli._said import Said
        from subspaces.app.recipes import ExpressionScaler
        from subspaces.app.report._pca.findings import gather_pca
        from subspaces.messages import message_of

    with _outputs.staged(out, FILES, force=force) as stage:
        caught: list[Warning] = []
        if preset:
            scaler = ExpressionScaler(**values.scaler(preset))
            table, preparation, caught = _fitting.prepare_by_scaler(scaler, table)
        else:
            table, preparation, further = _inputs.prepare_values(table, values, may_scale=center)
            doubts += further
        preparation = _inputs.with_left_out(preparation, table, source)
        with working("Looking for components"):
            found = gather_pca(
                table.frame,
                n_components,
                center=center,
                level=level,
                max_components=max_dims,
                random_state=seed,
                classes=_pca.classes_in_words(table),
            )
        is_settled = values.scale is not None or preset or preparation.taken_for
        settled = {"scale"} if is_settled else set()
        doubts += [*map(message_of, caught), *found.warned]
        said = Said(table.notes, doubts, settled, found.components.conclusion)
        found = _pca.with_words_of_options(found, said, preparation)
        settings = {"center": center, "level": level, "seed": seed}
        summary = {"data": str(source.data), **_pca.summary(found, table, said, settings)}
        with working("Writing the results"):
            _pca.write(stage, found, table, summary)
            if page:
                _pca.write_page(stage, found, source.data.name)
        written = [name for name in FILES if (stage / name).exists()]
    if as_document:
        said.say()
        say_json({**summary, "folder": str(out), "files": written})
        return
    _show(summary, said, out, written)


def _show(summary: dict[str, Any], said: "Said", out: Path, written: list[str]) -> None:
    """Print summary.json for people: the verdict, components, outliers, samples and variables."""
    from subspaces.app.cli._inputs import what_was_prepared

    prepared = what_was_prepared(summary["taken_for"], summary["preparation"])
    last = [summary["outliers_verdict"], what_was_written(written, out)]
    axes = summary["high"] or summary["n_predictive"] or 2
    unseen = f"Set --dims {axes} to see {axes} ax{'i' if axes == 1 else 'e'}s anyway."
    unseen = "" if summary["shown"] or summary["n_components"] else unseen
    fitting = fitting_in(
        said.shown, [*prepared, summary["verdict"], *filter(None, [unseen]), *last]
    )
    for line in fitting:
        warn(line)
    for line in [*prepared, summary["verdict"]]:
        say(visible(line))
    say()
    found = summary["n_components"]
    perhaps = summary["high"] or found
    shown = summary["components"][: max(found + BEYOND, perhaps, summary["shown"])]
    headings = ("component", "variance %", "strength", "depends most on", "without it")
    rows = [_row(entry) for entry in shown]
    say_table([*headings, ""], rows, numbers=(0, 1, 2, 4))
    if any(row[-1].endswith("*") for row in rows):
        say(STAR)
    say()
    if summary["shown"]:
        rows = [[str(e["component"]), _strongest(e)] for e in shown[: summary["shown"]]]
        say_table(("component", "strongest variables"), rows, numbers=(0,))
        say()
    if unseen:
        say(unseen)
    say(visible(summary["outliers_verdict"]))
    say()
    # If there are no axes, or all samples are on them, none influences one.
    drivers = summary["influential"]
    if summary["shown"] and any(driver["influence"] for driver in drivers):
        say("The most influential samples:")
        rows = [[_short(value) for value in driver.values()] for driver in drivers]
        heads = [HEADS.get(name, name) for name in drivers[0]]
        say_table(heads, rows, numbers=range(len(heads) - 3, len(heads)))
        say()
    say(what_was_written(written, out, len(said.lines) - len(fitting)))


def _row(entry: dict[str, Any]) -> list[str]:
    """Return a row of the table of components; the last cell says what the axis is."""
    ratio, without, word = entry["ratio"], entry["ratio_without"], entry["kind"]
    cells = [str(entry["component"]), f"{100 * entry['explained']:.3g}"]
    if ratio is None:
        return [*cells, "", "", "", "not compared"]
    if ratio > 1.0 >= without and word in ("component", "perhaps"):
        word += " *"
    return [*cells, _strength(ratio), entry["rests_on"], _strength(without), word]


def _strength(ratio: float) -> str:
    return f"{ratio:.2f}" if math.isfinite(ratio) else "no noise"


def _strongest(entry: dict[str, Any]) -> str:
    strong = list(entry["strongest"].items())[:SHOWN]
    least = FAINT * abs(strong[0][1])
    return ", ".join(f"{name} {size:+.2f}" for name, size in strong if abs(size) >= least)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
