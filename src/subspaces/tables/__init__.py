"""Tables of samples and variables read from files, with their names; samples come out in rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from subspaces._validation import as_choice
from subspaces.tables._binary import read_npz, read_parquet
from subspaces.tables._gct import read_cls, read_gct
from subspaces.tables._grid import is_number
from subspaces.tables._h5ad import read_h5ad
from subspaces.tables._orientation import orientation_hint
from subspaces.tables._table import Table
from subspaces.tables._text import read_text

__all__ = ["Table", "is_number", "orientation_hint", "read_cls", "read_table"]

# Each reader takes the path, whether samples are in columns, and the name of the classes.
READERS: dict[str, Callable[[Path, bool, str | None], Table]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".gct": read_gct,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".h5ad": read_h5ad,
}
COMPRESSED = (".csv", ".tsv", ".txt", ".gct")


def read_table(path: Any, *, samples: str = "rows", labels: str | None = None) -> Table:
    """Read a table of numbers with the names of its samples and variables.

    Parameters
    ----------
    path : str or Path
        CSV, TSV or TXT (separated by comma, tab or semicolon; with a header line or without; also
        as .gz), GCT, NPZ (arrays X and, if there, y, genes or variable_names, samples or
        sample_names), Parquet or H5AD.
    samples : {"rows", "columns"}, default "rows"
        Where the samples are in a text file, NPZ or Parquet. GCT and H5AD say so themselves.
    labels : str, optional
        Column with the known class of each sample (the row where samples are columns, the array of
        an NPZ file, the ``obs`` column of an H5AD file). It is not a variable.

    Returns
    -------
    Table
        Samples in rows, whatever the file had.
    """
    as_choice(samples, "samples", ("rows", "columns"))
    path = Path(path)
    return _reader(path)(path, samples == "columns", labels)


def _reader(path: Path) -> Callable[[Path, bool, str | None], Table]:
    *_, inner, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    suffix = inner if last == ".gz" and inner in COMPRESSED else last
    if suffix not in READERS:
        raise ValueError(
            f"{path}: files that end in {suffix or 'nothing'} are not known. Use "
            f"one of {', '.join(READERS)}"
        )
    return READERS[suffix]
