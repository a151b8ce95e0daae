"""The choice of which rows and columns of a file to read, and how it is applied."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from subspaces.app.tables._table import offered
from subspaces.named_table import Table


@dataclass(frozen=True)
class Wanted:
    """Which parts of a file to read: classes, variables, and names to leave out.

    Attributes
    ----------
    samples_in_columns : bool
        Where the samples are, in files that do not say so themselves.
    labels : str or None
        Column (row where samples are columns) with the known classes.
    ignore : tuple of str
        Columns and rows to leave out.
    variables : dict with names as keys, or None
        The only variables to read, where not all; columns of text are then left out, too.
    missing : tuple of str
        Further marks of a missing value.
    """

    samples_in_columns: bool = False
    labels: str | None = None
    ignore: tuple[str, ...] = ()
    variables: dict[str, None] | None = None
    missing: tuple[str, ...] = ()

    def is_asked_for(self, name: str) -> bool:
        """Return whether the variable of this name is to be read."""
        return self.variables is None or name in self.variables


def check_known(path: Path, ignore: Iterable[str], names: Sequence[str]) -> None:
    """Raise ValueError if a name in ``ignore`` is not among ``names``, those in the file."""
    known = set(names)
    for name in ignore:
        if name not in known:
            raise ValueError(f"{path} has no column or row {name!r}{offered(name, names)}")


def check_asked(path: Path, wanted: Wanted, names: Sequence[str], others: Sequence[str]) -> None:
    """Raise ValueError if none of ``wanted.variables`` is among ``names``, the file's variables.

    The error suggests the other orientation if they are among ``others``, the samples' names.
    """
    if wanted.variables is None or any(map(wanted.is_asked_for, names)):
        return
    asked = ", ".join(list(wanted.variables)[:3])
    side = "rows" if wanted.samples_in_columns else "columns"
    turned = any(map(wanted.is_asked_for, others))
    use = f"Use samples={side!r}" if turned else "Use a table with these columns"
    raise ValueError(f"{path} has none of the variables that are needed ({asked}, ...). {use}")


def reduced(table: Table, path: Path, wanted: Wanted) -> Table:
    """Return the table without ``wanted.ignore`` and with only ``wanted.variables``, if given."""
    check_known(path, wanted.ignore, [*table.variable_names, *table.sample_names])
    check_asked(path, wanted, table.variable_names, table.sample_names)
    ignore = set(wanted.ignore)
    rest = [j for j, name in enumerate(table.variable_names) if name not in ignore]
    columns = [j for j in rest if wanted.is_asked_for(table.variable_names[j])]
    rows = [i for i, name in enumerate(table.sample_names) if name not in ignore]
    if len(columns) == len(table.variable_names) and len(rows) == len(table.sample_names):
        return table
    names, classes = table.variable_names, table.classes
    return replace(
        table,
        data=table.data[rows][:, columns],
        sample_names=tuple(table.sample_names[i] for i in rows),
        variable_names=tuple(names[j] for j in columns),
        classes=None if classes is None else tuple(classes[i] for i in rows),
        left_out=tuple(names[j] for j in rest if not wanted.is_asked_for(names[j])),
    )
