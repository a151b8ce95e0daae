"""The command ``influence``, which ranks samples by their influence on a PCA."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import setting
from subspaces.app.cli._say import note, say, say_json, say_table, working

if TYPE_CHECKING:
    from subspaces.diagnostics import PCAInfluence
    from subspaces.named_table import Table

# What to rank the samples by.
By = StrEnum("By", ["influence", "leverage", "error"])


def influence(
    *,
    dims: Annotated[int, setting("Number of axes of the PCA.", "N", shown=True, min=0)] = 2,
    center: Annotated[bool, typer.Option(help="Whether to subtract the mean first.")] = True,
    top: Annotated[int, setting("How many samples to show.", "N", shown=True, min=1)] = 10,
    by: Annotated[By, typer.Option(help="What to rank the samples by.")] = By.influence,
    out: Annotated[Path | None, setting("CSV file for all samples.", "FILE")] = None,
    source: options.Source,
    values: options.Values,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Find the samples that influence a PCA most.

    It fits one PCA without clusters, and measures the effect of each sample.

    \b
      leverage   how much a sample determines the axes, 0 to --dims
      error      how badly the PCA of all others predicts the sample
      influence  how fast that error changes as the sample moves (squared)

    \b
    Examples:
      subspaces influence data.csv --dims 2
      subspaces influence data.csv --dims 3 --scale --top 20 --out influence.csv
    """
    _outputs.refuse_to_overwrite(out, force=force, read=(source.data, source.classes))
    with working("Starting"):
        from subspaces.app.cli import _inputs
        from subspaces.app.cli._said import Said
        from subspaces.diagnostics import pca_influence
        from subspaces.messages import message_of
        from subspaces.runtime.warning import collect_warnings

    table, doubts = _inputs.read_input(source)
    table, preparation, further = _inputs.prepare_values(table, values, may_scale=center)
    _inputs.say_preparation(_inputs.with_left_out(preparation, table, source))
    with collect_warnings() as caught:
        found = pca_influence(table.data, dims, center=center)
    Said(table.notes, [*doubts, *further, *map(message_of, caught)]).say()
    rows = _ranked(table, found, by.value)
    press = float(found.loo_error.mean())
    if out is not None:
        text = _outputs.as_csv(list(rows[0]), [list(row.values()) for row in rows])
        _outputs.write_file(out, text, force=force)
        note(f"Wrote {out}")
    if as_document:
        say_json({"data": str(source.data), "dims": dims, "press": press, "samples": rows})
        return
    shown = [[_short(value) for value in row.values()] for row in rows[:top]]
    say_table(list(rows[0]), shown, numbers=range(len(rows[0]) - 3, len(rows[0])))
    say(f"Mean leave-one-out error (PRESS) with {dims} ax{'i' if dims == 1 else 'e'}s: {press:.4g}")


def _ranked(table: "Table", found: "PCAInfluence", by: str) -> list[dict[str, Any]]:
    """Return each sample's name, class, leverage, error and influence, the largest ``by`` first."""
    columns = {
        "sample": table.sample_names,
        **({} if table.classes is None else {"class": table.classes}),
        "leverage": found.leverage.tolist(),
        "error": found.loo_error.tolist(),
        "influence": found.influence.tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return sorted(rows, key=lambda row: -row[by])


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else value
