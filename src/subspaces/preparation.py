"""What is done to the values of a table before clustering, kept so that new samples get the same.

The order: raise low values to a floor, take logarithms, centre each sample, keep the most variable
variables, scale, keep the part along some axes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subspaces._validation import as_count, as_real
from subspaces.tables import Table

__all__ = [
    "Preparation",
    "attach_preparation",
    "learn_preparation",
    "match_variables",
    "preparation_of",
    "prepare",
]

Array = NDArray[np.floating]

STEPS = ("inputs", "floor", "log", "offset", "centre_samples", "centre", "spread", "axes")


@dataclass(frozen=True)
class Preparation:
    """What to do to a table.

    Attributes
    ----------
    variable_names : tuple of str
        The variables that are kept, in this order.
    inputs : list of str or None
        The variables that are needed first, where those are more.
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
    """

    variable_names: tuple[str, ...]
    inputs: list[str] | None = None
    floor: float | None = None
    log: bool = False
    offset: float = 1.0
    centre_samples: bool = False
    centre: Array | None = None
    spread: Array | None = None
    axes: Array | None = None


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
    data = _curved(table, floor, log, 1.0)
    kept = np.arange(data.shape[1])
    if top_variables is not None:
        count = as_count(
            top_variables, "top_variables", low=1, high=len(kept), why=f" for {len(kept)} variables"
        )
        kept = np.sort(np.argsort(-data.var(axis=0), kind="stable")[:count])
    names = tuple(table.variable_names[j] for j in kept)
    if not scale:
        return Preparation(names, floor=floor, log=log)
    spread = data[:, kept].std(axis=0)
    spread[spread == 0] = 1.0
    centre = data[:, kept].mean(axis=0)
    return Preparation(names, floor=floor, log=log, centre=centre, spread=spread)


def prepare(table: Table, preparation: Preparation) -> Table:
    """Do to a table what was settled; its variables are found by name, in any order."""
    names = preparation.variable_names
    matched = match_variables(table, preparation.inputs or names)
    data = _curved(matched, preparation.floor, preparation.log, preparation.offset)
    if preparation.centre_samples:
        data = data - data.mean(axis=1, keepdims=True)
    kept = match_variables(replace(matched, data=data), names)
    data = kept.data if preparation.centre is None else kept.data - preparation.centre
    data = data if preparation.spread is None else data / preparation.spread
    data = data if preparation.axes is None else data @ preparation.axes.T @ preparation.axes
    return replace(kept, data=data)


def attach_preparation(model: Any, preparation: Preparation) -> None:
    """Keep with a fitted model what was done to its data, for its file."""
    state = {name: getattr(preparation, name) for name in STEPS}
    unprepared = Preparation(())
    if any(value is not getattr(unprepared, name) for name, value in state.items()):
        model.preparation_ = state


def preparation_of(model: Any) -> Preparation | None:
    """What new samples of a model need; None where it does not know its variables by name."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    return Preparation(tuple(map(str, names)), **getattr(model, "preparation_", {}))


def match_variables(table: Table, names: Any) -> Table:
    """The variables of these names, in this order; the table may have more."""
    place = {name: j for j, name in enumerate(table.variable_names)}
    missing = [name for name in names if name not in place]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise ValueError(
            f"{len(missing)} of the {len(names)} variables that the model needs are missing: "
            f"{shown}; a table with these columns would do"
        )
    order = [place[name] for name in names]
    return replace(table, data=table.data[:, order], variable_names=tuple(names))


def _curved(table: Table, floor: float | None, log: bool, offset: float) -> Array:
    data = table.data if floor is None else np.maximum(table.data, floor)
    if not log:
        return data
    if (data < 0).any():
        i, j = (int(index) for index in np.argwhere(data < 0)[0])
        raise ValueError(
            f"log needs values from 0 up; {data[i, j]:g} of sample {table.sample_names[i]!r}, "
            f"variable {table.variable_names[j]!r} is below (one of {int((data < 0).sum())}); "
            "floor=0, or no log where the values are logarithms already, would do"
        )
    return np.log2(offset + data)
