"""The command ``predict``, which assigns new samples to the clusters of a model file."""

from pathlib import Path
from typing import Annotated

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import setting
from subspaces.app.cli._say import matched_classes, note, say, say_json, working


def predict(
    *,
    model: options.Model,
    out: Annotated[
        Path | None, setting("CSV file for the result. Default: print it.", "FILE")
    ] = None,
    source: options.NewSamples,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Assign new samples to the clusters of a model.

    Columns are matched by name, in any order. Columns that the model does not
    use are ignored. Use --labels for a column of known classes. The values are
    prepared as in the fit (--missing, --log, --scale, ...).

    \b
    Examples:
      subspaces predict result/model.npz new.csv
      subspaces predict result/model.npz new.csv --out new_labels.csv
      subspaces predict result/model.npz new.tsv --samples columns --json
    """
    _outputs.refuse_to_overwrite(out, force=force, read=(model, source.data, source.classes))
    with working("Starting"):
        from subspaces.app.cli import _inputs, _predicting, _results
        from subspaces.app.cli._said import Said

    fitted = _predicting.read_model(model)
    known = _predicting.variable_names(fitted)
    table, doubts = _inputs.read_input(source, known, _predicting.marks(fitted))
    _predicting.check_units(fitted, table)
    # The model needs its variables: none can be left out here.
    doubts = [each for each in doubts if "ignore" not in {one.parameter for one in each.advice}]
    Said(table.notes, doubts).say()
    found = _predicting.predicted_columns(fitted, table)
    agreement = _results.agreement(table, found["cluster"])
    text = _outputs.as_csv(list(found), zip(*found.values(), strict=True))
    if out is not None:
        _outputs.write_file(out, text, force=force)
        note(f"Wrote {out}")
    if as_document:
        rows = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
        say_json({"model": str(model), "data": str(source.data), **agreement, "samples": rows})
        return
    if out is None:
        say(text.rstrip("\n"))
    if agreement:
        note(matched_classes(agreement))
