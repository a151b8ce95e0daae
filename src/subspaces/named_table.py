"""`Table`: numbers with the names of their samples and variables, and what of them is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import compress
from typing import Any

import numpy as np

from subspaces._types import Array
from subspaces.messages import Message, ParameterError, noted, percent


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
    """

    data: Array
    sample_names: tuple[str, ...]
    variable_names: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[Message, ...] = ()

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
