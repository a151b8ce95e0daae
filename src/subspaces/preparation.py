"""What is done to the values of a table before clustering, kept so that new samples get the same.

The order: bring each sample to one total, raise low values to a floor, take logarithms, centre each
sample, keep the most variable variables, scale, keep the part along some axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._validation import as_count, as_real
from subspaces.tables import Table

__all__ = [
    "Preparation",
    "attach_preparation",
    "check_present",
    "curved",
    "in_raw_units",
    "in_words",
    "learn_preparation",
    "match_variables",
    "prepare",
    "prepare_rows",
    "scaled_to_total",
    "steps_of",
]

Array = NDArray[np.floating]


@dataclass(frozen=True, repr=False)
class Preparation:
    """What to do to a table; ``str`` says it in words.

    Attributes
    ----------
    variable_names : tuple of str
        The variables that are kept, in this order.
    inputs : list of str or None
        The variables that are needed first, where those are more.
    total : float or None
        What each sample's values are scaled to add up to, over all inputs.
    floor : float or None
        Lower values are raised to it.
    log, offset : bool, float
        Whether x becomes log2(offset + x).
    centre_samples : bool
        Whether each sample's mean over all inputs is subtracted.
    centre, spread : ndarray or None
        Subtracted from each variable, and what it is divided by afterwards.
    axes : ndarray of shape (a, variables) or None
        Orthonormal axes; the part of each sample along them is kept.
    n_seen : int or None
        How many variables there were where fewer are kept and the others are not needed.
    taken_for : str or None
        A sentence on what kind of values these were taken for, where that was found out.
    ignored : list of str or None
        Columns of the file that were left out on demand, before anything else.
    """

    variable_names: tuple[str, ...]
    inputs: list[str] | None = None
    total: float | None = None
    floor: float | None = None
    log: bool = False
    offset: float = 1.0
    centre_samples: bool = False
    centre: Array | None = None
    spread: Array | None = None
    axes: Array | None = None
    n_seen: int | None = None
    taken_for: str | None = None
    ignored: list[str] | None = None

    @property
    def needed(self) -> list[str]:
        """The variables that a new sample must have, in the order of an array's columns."""
        return list(self.inputs or self.variable_names)

    def __str__(self) -> str:
        return in_words(self)

    def __repr__(self) -> str:
        return f"<Preparation: {self}>"


def learn_preparation(
    table: Table,
    *,
    floor: float | None = None,
    log: bool = False,
    top_variables: int | None = None,
    scale: bool = False,
) -> Preparation:
    """Settle what is done to this table and to new samples.

    Parameters
    ----------
    table : Table
        The samples to learn from.
    floor : float, optional
        Lower values are raised to it.
    log : bool, default False
        Whether to take log2(1 + x).
    top_variables : int, optional
        How many variables to keep: those that vary most, in the order of the table.
    scale : bool, default False
        Whether to bring each variable to mean 0 and standard deviation 1. One that does not vary
        becomes 0.

    Returns
    -------
    Preparation
    """
    if floor is not None:
        as_real(floor, "floor", low=-np.inf)
    data = curved(table.data, table.sample_names, table.variable_names, floor=floor, log=log)
    kept = np.arange(data.shape[1])
    if top_variables is not None:
        count = as_count(
            top_variables, "top_variables", low=1, high=len(kept), why=f" for {len(kept)} variables"
        )
        kept = np.sort(np.argsort(-data.var(axis=0), kind="stable")[:count])
    names = tuple(table.variable_names[j] for j in kept)
    n_seen = data.shape[1] if len(kept) < data.shape[1] else None
    if not scale:
        return Preparation(names, floor=floor, log=log, n_seen=n_seen)
    spread = data[:, kept].std(axis=0)
    spread[spread == 0] = 1.0
    centre = data[:, kept].mean(axis=0)
    return Preparation(names, floor=floor, log=log, centre=centre, spread=spread, n_seen=n_seen)


def prepare(table: Table, preparation: Preparation) -> Table:
    """Do to a table what was settled; its variables are found by name, in any order."""
    names = preparation.variable_names
    matched = match_variables(table, preparation.inputs or names)
    data = scaled_to_total(matched.data, preparation.total, matched.sample_names)
    data = curved(
        data,
        matched.sample_names,
        matched.variable_names,
        floor=preparation.floor,
        log=preparation.log,
        offset=preparation.offset,
    )
    if preparation.centre_samples:
        data = data - data.mean(axis=1, keepdims=True)
    kept = match_variables(replace(matched, data=data), names)
    data = kept.data if preparation.centre is None else kept.data - preparation.centre
    data = data if preparation.spread is None else data / preparation.spread
    data = data if preparation.axes is None else data @ preparation.axes.T @ preparation.axes
    return replace(kept, data=data)


def prepare_rows(
    data: Array, names: Sequence[str], preparation: Preparation, sample_names: Any = None
) -> Array:
    """Do to rows whose columns have these names what was settled; values (n, variables kept)."""
    samples = range(len(data)) if sample_names is None else sample_names
    table = Table(data, tuple(map(str, samples)), tuple(names))
    return prepare(table, preparation).data


def in_words(preparation: Preparation) -> str:
    """Say what is done to the values, in the order in which it is done; "" for nothing.

    Parameters
    ----------
    preparation : Preparation
        What was settled.

    Returns
    -------
    str
        Such as "values below 20 raised to 20, log2, samples centred, the 2000 of 7129
        variables kept that vary most".
    """
    steps = []
    if preparation.ignored:
        steps.append(f"{', '.join(preparation.ignored)} left out of the table")
    if preparation.total is not None:
        steps.append(f"samples scaled to a total of {preparation.total:g}")
    if preparation.floor is not None:
        steps.append(f"values below {preparation.floor:g} raised to {preparation.floor:g}")
    if preparation.log:
        offset = preparation.offset
        steps.append(f"log2 of the value plus {offset:g}" if offset else "log2")
    if preparation.centre_samples:
        steps.append("samples centred")
    kept, seen = len(preparation.variable_names), preparation.n_seen or len(preparation.needed)
    if kept < seen:
        steps.append(f"the {kept} of {seen} variables kept that vary most")
    if preparation.spread is not None:
        steps.append("variables scaled to mean 0 and standard deviation 1")
    elif preparation.centre is not None:
        steps.append("variables centred")
    if preparation.axes is not None:
        steps.append(f"the part along {len(preparation.axes)} principal axes kept")
    return ", ".join(steps)


def in_raw_units(values: Array, preparation: Preparation) -> Array:
    """Undo the preparation of values (n, variables kept) where it only scales variables.

    Any other step loses something, such as what lay below the floor; then the values stay as they
    are, in the space of the prepared variables.
    """
    undone = replace(preparation, centre=None, spread=None)
    if in_words(undone):
        return values
    values = values if preparation.spread is None else values * preparation.spread
    return values if preparation.centre is None else values + preparation.centre


def attach_preparation(model: Any, preparation: Preparation) -> None:
    """Make a model that was fitted to prepared samples take raw ones from now on.

    ``preparation_`` says what it does to them, and ``n_features_in_`` and ``feature_names_in_``
    describe the raw samples. Where nothing is done the model stays as it is.
    """
    if in_words(preparation):
        model.preparation_ = preparation
        model.feature_names_in_ = np.array(preparation.needed, dtype=object)
        model.n_features_in_ = len(preparation.needed)


def steps_of(preparation: Preparation) -> dict[str, Any]:
    """All that a preparation does, by name, in the form that goes into a model file."""
    names = [field.name for field in fields(preparation) if field.name != "variable_names"]
    return {name: getattr(preparation, name) for name in names}


def match_variables(table: Table, names: Any) -> Table:
    """The variables of these names, in this order; the table may have more."""
    if tuple(names) == table.variable_names:
        return table
    check_present(table.variable_names, names)
    place = {name: j for j, name in enumerate(table.variable_names)}
    order = [place[name] for name in names]
    return replace(table, data=table.data[:, order], variable_names=tuple(names))


def check_present(given: Sequence[str], needed: Sequence[str]) -> None:
    """ValueError that names the variables which a model needs and a table lacks."""
    there = set(given)
    missing = [name for name in needed if name not in there]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise ValueError(
            f"{len(missing)} of the {len(needed)} variables that the model needs are missing: "
            f"{shown}. Use a table with these columns"
        )


def scaled_to_total(data: Array, total: float | None, samples: Sequence[Any]) -> Array:
    """Each sample times the factor that makes its values add up to the total; None: as it is."""
    if total is None:
        return data
    totals = data.sum(axis=1)
    if (totals <= 0).any():
        i = int(np.argmax(totals <= 0))
        raise ValueError(
            f"the values of sample {samples[i]!r} add up to {totals[i]:g} and cannot be scaled to "
            f"{total:g}. Use counts from 0 up, and leave out samples without any"
        )
    return data * (total / totals)[:, None]


def curved(
    data: Array,
    samples: Sequence[Any],
    variables: Sequence[Any],
    *,
    floor: float | None = None,
    log: bool = False,
    offset: float = 1.0,
) -> Array:
    """Values raised to the floor, then log2(offset + value); what has no logarithm is named."""
    data = data if floor is None else np.maximum(data, floor)
    if not log:
        return data
    bad = data < 0 if offset else data <= 0
    if bad.any():
        i, j = (int(index) for index in np.argwhere(bad)[0])
        span, use = ("from 0 up", "floor=0") if offset else ("above 0", "a floor above 0")
        raise ValueError(
            f"log needs values {span}; {data[i, j]:g} of sample {samples[i]!r}, "
            f"variable {variables[j]!r} is below (one of {int(bad.sum())}). Use {use}, or "
            "no log where the values are logarithms already"
        )
    moved = offset + data
    return np.log2(moved, out=moved)
