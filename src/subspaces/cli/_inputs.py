"""A table from a file, with a word about what was read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from subspaces.cli._options import Side
from subspaces.cli._say import note
from subspaces.cli._words import in_options
from subspaces.datasets import with_classes
from subspaces.preparation import Preparation, learn_preparation, prepare
from subspaces.tables import Table, doubts, read_table

# Standard deviations this far apart, the largest and the smallest tenth aside, are of other units.
UNLIKE = 10.0


def read_input(
    path: Path,
    samples: Side,
    labels: str | None,
    classes: Path | None = None,
    ignore: Sequence[str] = (),
    variables: Iterable[str] | None = None,
) -> Table:
    """Read a table, say what it is, and what about it is doubtful."""
    try:
        table = read_table(
            path, samples=samples.value, labels=labels, ignore=ignore, variables=variables
        )
        table = table if classes is None else with_classes(table, classes)
    except OSError as error:
        raise ValueError(f"{error.filename or path}: {error.strerror or error}") from error
    n, p = table.data.shape
    if n > 1 and variables is None and (table.data == table.data[0]).all():
        raise ValueError(f"{path}: all samples are equal, so there is nothing to find in them")
    note(
        f"Read {path}: {n} samples ({_first(table.sample_names)}) x "
        f"{p} variables ({_first(table.variable_names)})"
    )
    table = replace(table, notes=(*table.notes, *doubts(table, samples.value)))
    for doubt in table.notes:
        note(f"Note: {in_options(doubt)}")
    return table


def prepared(
    table: Table, floor: float | None, log: bool, top_variables: int | None, scale: bool
) -> tuple[Table, Preparation]:
    """The table as the options want it, and what was done; scales that differ are told."""
    learned = learn_preparation(
        table, floor=floor, log=log, top_variables=top_variables, scale=scale
    )
    seen = prepare(table, learned)
    spreads = seen.data.std(axis=0)
    low, high = np.quantile(spreads[spreads > 0], (0.1, 0.9)) if spreads.any() else (1.0, 1.0)
    if not scale and high > UNLIKE * low:
        told = (
            f"the variables differ in scale (most standard deviations from {low:.3g} to "
            f"{high:.3g}), and the largest decide. Use --scale unless all have one unit"
        )
        note(f"Note: {told}")
        seen = replace(seen, notes=(*seen.notes, told))
    return seen, learned


def _first(names: tuple[str, ...]) -> str:
    shown = [name if len(name) <= 20 else name[:17] + "..." for name in names[:2]]
    return ", ".join(shown) + (", ..." if len(names) > 2 else "")
