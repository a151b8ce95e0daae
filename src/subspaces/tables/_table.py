"""The value that every reader returns, and what it has to be."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Table:
    """Numbers with names.

    Attributes
    ----------
    data : ndarray of shape (n, p)
        Samples in rows.
    sample_names, variable_names : tuple of str
        Each name once. Without names in the file: sample1, sample2, ... and v1, v2, ...
    classes : tuple of str or None
        Known class of each sample.
    """

    data: Array
    sample_names: tuple[str, ...]
    variable_names: tuple[str, ...]
    classes: tuple[str, ...] | None = None

    @property
    def frame(self) -> Any:
        """The data as a pandas DataFrame with the names, or None where pandas is missing."""
        if find_spec("pandas") is None:
            return None
        import pandas as pd

        return pd.DataFrame(self.data, list(self.sample_names), list(self.variable_names))


@dataclass(frozen=True)
class Places:
    """How to say where something is in a file."""

    sample: Callable[[int], str]
    variable: Callable[[int], str]
    cell: Callable[[int, int], str]


def by_name(table: Table) -> Places:
    """For files without lines."""
    return Places(
        lambda i: f"sample {i + 1}",
        lambda j: f"variable {j + 1}",
        lambda i, j: f"sample {table.sample_names[i]!r}, variable {table.variable_names[j]!r}",
    )


def default_names(kind: str, count: int) -> tuple[str, ...]:
    """``v1``, ``v2``, ..."""
    return tuple(f"{kind}{i + 1}" for i in range(count))


def checked(table: Table, path: Path, places: Places) -> Table:
    """The table, if it has finite numbers and each name once."""
    n, p = table.data.shape
    if n == 0 or p == 0:
        missing = "samples" if n == 0 else "variables"
        raise ValueError(f"{path} has no {missing}. Use at least one row and one column")
    _check_names(table.sample_names, "sample", path, places.sample)
    _check_names(table.variable_names, "variable", path, places.variable)
    _check_classes(table, path, places)
    _check_numbers(table, path, places)
    return table


def _check_names(names: Sequence[str], kind: str, path: Path, place: Callable[[int], str]) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name == "":
            raise ValueError(f"{path}, {place(i)}: the {kind} has no name. Use a name for each")
        if name in first:
            raise ValueError(
                f"{path}, {place(i)}: the {kind} name {name!r} is at {place(first[name])} already; "
                "rename or remove one of them"
            )
        first[name] = i


def _check_classes(table: Table, path: Path, places: Places) -> None:
    if table.classes is None:
        return
    if len(table.classes) != len(table.data):
        raise ValueError(
            f"{path} has {len(table.classes)} classes for {len(table.data)} samples. Use one each"
        )
    if "" in table.classes:
        i = table.classes.index("")
        raise ValueError(
            f"{path}, {places.sample(i)}: sample {table.sample_names[i]!r} has no class. Use one "
            "for each sample"
        )


def _check_numbers(table: Table, path: Path, places: Places) -> None:
    finite = np.isfinite(table.data)
    if finite.all():
        return
    where = np.argwhere(~finite)
    i, j = (int(index) for index in where[0])
    found = "no number here" if np.isnan(table.data[i, j]) else "an infinite number"
    more = f" (one of {len(where)} such cells)" if len(where) > 1 else ""
    raise ValueError(
        f"{path}, {places.cell(i, j)}: {found}{more}; fill the gaps, or remove the row or column"
    )


def offered(wanted: str, names: Iterable[Any]) -> str:
    """A sentence on what there is instead of a name: the nearest one, or the first few."""
    known = [str(name) for name in names]
    near = get_close_matches(wanted, known, n=1)
    if near:
        return f"Use {near[0]!r}"
    shown = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
    return f"It has {shown or 'none'}"
