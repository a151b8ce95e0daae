"""`Table`: numbers with the names of their samples and variables, and what of them is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import chain, compress
from typing import Any

import numpy as np

from subspaces._types import Array
from subspaces.messages import Advice, DataWarning, Message, ParameterError, noted, percent

# Numbers that people write for a missing value.
MARKS = (-99999.0, -9999.0, -999.0, -99.0, 999.0, 9999.0, 99999.0)


@dataclass(frozen=True)
class Table:
    """A matrix of numbers with the names of its samples and variables, as read from a file.

    Attributes
    ----------
    data : ndarray of shape (n, p)
        Samples in rows; NaN if a value is missing.
    sample_names, variable_names : tuple of str
        Each name once. Without names in the file: sample1, sample2, ... and v1, v2, ...
    classes : tuple of str or None
        Known class of each sample, "" for one that has none.
    left_out : tuple of str
        Columns of the file that were not asked for, or have too many values missing.
    notes : tuple of Message
        What was guessed to read the file, with a code each.
    units : dict of str to str
        What stood before or behind each number of a variable, such as "%" or "kg".
    """

    data: Array
    sample_names: tuple[str, ...]
    variable_names: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[Message, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def frame(self) -> Any:
        """The data as a pandas DataFrame with the names, or None if pandas is missing."""
        if find_spec("pandas") is None:
            return None
        import pandas as pd

        return pd.DataFrame(self.data, list(self.sample_names), list(self.variable_names))


@dataclass(frozen=True)
class MissingValues:
    """The share of the values that are missing: of all, of each sample (n,), each variable (p,)."""

    share: float
    of_samples: Array
    of_variables: Array

    def sentence(self, sample_names: Sequence[str], variable_names: Sequence[str]) -> str:
        """Return how much is missing, and where most of it is, in words."""
        sample = sample_names[int(self.of_samples.argmax())]
        variable = variable_names[int(self.of_variables.argmax())]
        return (
            f"{percent(self.share)} of the values are missing, up to "
            f"{percent(self.of_samples.max())} in a sample ({sample}) and "
            f"{percent(self.of_variables.max())} in a variable ({variable})"
        )


def missing_values(data: Array) -> MissingValues | None:
    """Return how much of a table (n, p) is missing; None if nothing is."""
    holes = np.isnan(data)
    if not holes.any():
        return None
    return MissingValues(float(holes.mean()), holes.mean(axis=1), holes.mean(axis=0))


def marks_of_missing(data: Array, names: Any) -> Iterator[DataWarning]:
    """Yield a warning on numbers such as -999 that may mark missing values: far off, repeated.

    names (p,): of the variables of the table (n, p), or None.
    """
    ends = np.fmin.reduce(data), np.fmax.reduce(data)
    found: dict[str, list[str]] = {}
    called = [f"column {j}" for j in range(data.shape[1])] if names is None else names
    for j in np.flatnonzero(np.isin(ends, MARKS).any(axis=0)):
        values = data[:, j]
        others = values[np.isfinite(values) & ~np.isin(values, MARKS)]
        for mark, count in zip(*np.unique(values, return_counts=True), strict=True):
            if mark in MARKS and count > 1 and len(others):
                off = max(others.min() - mark, mark - others.max())
                if off > np.ptp(others):
                    found.setdefault(f"{mark:g}", []).append(called[j])
    if found:
        names = list(dict.fromkeys(chain.from_iterable(found.values())))
        one = len(found) == 1
        are, mark = ("is", "it marks") if one else ("are", "they mark")
        fact = f"{{marks}} {are} far from all other values in {{n:#variable}} ({{names}})."
        if len(names) == 1:
            fact = f"{{marks}} {are} far from all other values of {{names:'}}."
        advice = Advice(
            f"replace {'it' if one else 'them'} by NaN if {mark} missing values",
            "missing",
            command=f"add <missing={{marks!r}}> if {mark} missing values",
        )
        yield DataWarning("marks", fact, advice, marks=list(found), n=len(names), names=names)


def first_gap(table: Table) -> str | None:
    """Return how many values are missing, and the first of them, in words; None if none is."""
    holes = np.argwhere(np.isnan(table.data))
    if not len(holes):
        return None
    i, j = holes[0]
    sample, variable = table.sample_names[i], table.variable_names[j]
    if len(holes) == 1:
        return f"sample {sample!r} has no value for {variable!r}"
    return f"{len(holes)} values are missing, the first for {variable!r} in sample {sample!r}"


def without_missing(table: Table, most: float) -> Table:
    """Return the table less the variables that miss more than a share of their values.

    ``left_out`` of the table names them.
    """
    gone = np.isnan(table.data).mean(axis=0) > most
    if gone.all():
        fact = (
            "All variables have more than {value:%} of their values missing, so no variable is "
            "left. "
            "Set a larger <drop_missing>."
        )
        raise ParameterError("drop_missing", fact, value=most)
    if not gone.any():
        return table
    names = np.array(table.variable_names, dtype=object)
    return replace(
        table,
        data=table.data[:, ~gone],
        variable_names=tuple(names[~gone]),
        left_out=tuple(names[gone]),
    )


def without_empty(table: Table) -> Table:
    """Return the table less the samples without any value, which a note names."""
    kept = np.asarray(~np.isnan(table.data).all(axis=1))
    if kept.all():
        return table
    names, classes = np.array(table.sample_names, dtype=object), table.classes
    gone = names[~kept].tolist()
    if not kept.any():
        raise ParameterError("X", "All samples are empty. Check the table.")
    left = noted(
        "left_out_empty", "Left out {n:#sample} without values: {names}.", n=len(gone), names=gone
    )
    return replace(
        table,
        data=table.data[kept],
        sample_names=tuple(names[kept]),
        classes=None if classes is None else tuple(compress(classes, kept)),
        notes=(*table.notes, left),
    )
