"""A table from a file, with a word about what was read."""

from pathlib import Path

from subspaces.cli._options import Side
from subspaces.cli._say import note
from subspaces.datasets import with_classes
from subspaces.preparation import Preparation, learn_preparation, prepare
from subspaces.tables import Table, orientation_hint, read_table


def read_input(path: Path, samples: Side, labels: str | None, classes: Path | None = None) -> Table:
    """Read a table, say what it is, and whether it looks turned on its side."""
    try:
        table = read_table(path, samples=samples.value, labels=labels)
        table = table if classes is None else with_classes(table, classes)
    except OSError as error:
        raise ValueError(f"{error.filename or path}: {error.strerror or error}") from error
    n, p = table.data.shape
    note(
        f"Read {path}: {n} samples ({_first(table.sample_names)}) x "
        f"{p} variables ({_first(table.variable_names)})"
    )
    hint = orientation_hint(table)
    if hint:
        other = Side.rows if samples == Side.columns else Side.columns
        note(f"Note: {hint} Use --samples {other.value} then.")
    return table


def prepared(
    table: Table, floor: float | None, log: bool, top_variables: int | None, scale: bool
) -> tuple[Table, Preparation]:
    """The table as the options want it, and what was done."""
    learned = learn_preparation(
        table, floor=floor, log=log, top_variables=top_variables, scale=scale
    )
    return prepare(table, learned), learned


def _first(names: tuple[str, ...]) -> str:
    shown = [name if len(name) <= 20 else name[:17] + "..." for name in names[:2]]
    return ", ".join(shown) + (", ..." if len(names) > 2 else "")
