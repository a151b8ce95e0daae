"""The preparation of a table before clustering, kept so that new samples are prepared alike.

The steps, in this order: scale each sample to one total, raise low values to a floor, take
logarithms, centre each sample, keep the most variable variables, scale these, keep the part along
some axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from subspaces._types import Array
from subspaces.messages import Advice, ParameterError, listed
from subspaces.named_table import Table, first_gap
from subspaces.runtime.parameters import as_count, as_real
from subspaces.runtime.serialise import serialisable

# What to do about values that have no logarithm.
FLOOR_OF_0 = Advice("set <floor=0>", "floor", 0.0)
NO_LOG = Advice("leave out <log> if the values are already logarithms", "log")
SAME_UNITS = Advice("check that both tables have the same units")


@serialisable
@dataclass(frozen=True, repr=False)
class Preparation:
    """The steps that prepare a table; ``str`` says them in words, in the order of the steps.

    Attributes
    ----------
    variable_names : tuple of str
        The variables that are kept, in this order.
    inputs : list of str or None
        The variables that a sample must have, if these are more than are kept.
    total : float or None
        The sum to which the values of each sample are scaled, over all inputs.
    floor : float or None
        Lower values are raised to it.
    log, offset : bool, float
        Whether x becomes log2(offset + x).
    centre_samples : bool
        Whether each sample's mean over all inputs is subtracted.
    centre, spread : ndarray or None
        What is subtracted from each variable, and by what it is then divided.
    axes : ndarray of shape (a, variables) or None
        Orthonormal axes; the part of each sample along them is kept.
    n_seen : int or None
        How many variables there were, if fewer are kept and the others are not needed.
    taken_for : str or None
        A sentence on the kind of values that these were taken for, if that was found out.
    ignored : list of str or None
        Columns of the file that the user left out, before anything else.
    dropped : list of str or None
        Variables that were left out, then, for the share of their values that is missing.
    missing : list of str or None
        Further marks of a missing value in the file, such as -999.
    units : dict of str to str, or None
        The unit of each variable that had one in the file, such as "%" or "kg".
    """

    variable_names: Annotated[tuple[str, ...], "p"]
    inputs: list[str] | None = None
    total: float | None = None
    floor: float | None = None
    log: bool = False
    offset: float = 1.0
    centre_samples: bool = False
    centre: Annotated[Array, "p"] | None = None
    spread: Annotated[Array, "p"] | None = None
    axes: Annotated[Array, "*", "p"] | None = None
    n_seen: int | None = None
    taken_for: str | None = None
    ignored: list[str] | None = None
    dropped: list[str] | None = None
    missing: list[str] | None = None
    units: dict[str, str] | None = None

    @property
    def needed(self) -> list[str]:
        """The variables that a new sample must have, in the order of an array's columns."""
        return list(self.inputs or self.variable_names)

    def __str__(self) -> str:
        reasons = ((self.ignored, ""), (self.dropped, " (missing values)"))
        steps = [f"left out {listed(names)}{why}" for names, why in reasons if names]
        if self.missing:
            steps.append(f"{listed(self.missing)} treated as missing")
        if self.total is not None:
            steps.append(f"samples scaled to a total of {as_figure(self.total)}")
        if self.floor is not None:
            steps.append(f"values below {self.floor:g} raised to {self.floor:g}")
        if self.log:
            steps.append(f"log2 of the value plus {self.offset:g}" if self.offset else "log2")
        if self.centre_samples:
            steps.append("samples centred")
        kept, seen = len(self.variable_names), self.n_seen or len(self.needed)
        if kept < seen:
            which = "one" if kept == 1 else f"{kept:,}"
            vary = "varies" if kept == 1 else "vary"
            steps.append(f"kept the {which} of {seen:,} variables that {vary} most")
        if self.spread is not None:
            steps.append("variables scaled to mean 0 and standard deviation 1")
        elif self.centre is not None:
            steps.append("variables centred")
        if self.axes is not None:
            a = len(self.axes)
            which = "first principal axis" if a == 1 else f"first {a} principal axes"
            steps.append(f"kept the {which}")
        return ", ".join(steps)

    def __repr__(self) -> str:
        return f"<Preparation: {self}>"


def as_figure(value: float) -> str:
    """Return a number as text for readers: 10,000 rather than 1e+04."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def learn_preparation(
    table: Table,
    *,
    floor: float | None = None,
    log: bool = False,
    top_variables: int | None = None,
    scale: bool = False,
) -> Preparation:
    """Learn from a table the preparation of its samples and of later ones.

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
    names = table.variable_names
    data = log_above_floor(
        table.data, table.sample_names, names, FLOOR_OF_0, NO_LOG, floor=floor, log=log
    )
    kept = np.arange(data.shape[1])
    if top_variables is not None:
        why, p = " for {p:#variable}", len(kept)
        count = as_count(top_variables, "top_variables", low=1, high=p, why=why, p=p)
        kept = np.sort(np.argsort(-np.nanvar(data, axis=0), kind="stable")[:count])
    centre = spread = None
    if scale:
        centre, spread = np.nanmean(data[:, kept], axis=0), np.nanstd(data[:, kept], axis=0)
        spread[spread == 0] = 1.0
    n_seen = data.shape[1] if len(kept) < data.shape[1] else None
    names = tuple(names[j] for j in kept)
    return Preparation(names, floor=floor, log=log, centre=centre, spread=spread, n_seen=n_seen)


def prepare(table: Table, preparation: Preparation) -> Table:
    """Return the table after all steps of the preparation; its variables are found by name."""
    names = preparation.variable_names
    matched = match_variables(table, preparation.inputs or names)
    gap = first_gap(matched) if _rests_on_all_values(preparation) else None
    if gap is not None:
        fact = "This model cannot handle missing values: {gap}."
        whole = Advice("leave out samples with missing values")
        raise ParameterError("X", fact, whole, gap=gap)
    data = scaled_to_total(matched.data, preparation.total, matched.sample_names)
    data = log_above_floor(
        data,
        matched.sample_names,
        matched.variable_names,
        SAME_UNITS,
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


def _rests_on_all_values(preparation: Preparation) -> bool:
    """Whether a sample's total, mean or place along axes is used, which needs all its values."""
    has_axes = preparation.axes is not None
    return preparation.total is not None or preparation.centre_samples or has_axes


def prepare_rows(
    data: Array, names: Sequence[str], preparation: Preparation, sample_names: Any = None
) -> Array:
    """Return the prepared values (n, variables kept) of rows whose columns have these names."""
    samples = range(len(data)) if sample_names is None else sample_names
    table = Table(data, tuple(map(str, samples)), tuple(names))
    return prepare(table, preparation).data


def filled_in_raw_units(raw: Array, filled: Array, preparation: Preparation) -> Array:
    """Return a raw table (n, variables kept) with its gaps filled by prepared values.

    Scaling and logarithms are undone. A preparation that needs all values of a sample leaves no
    gaps to fill.
    """
    if _rests_on_all_values(preparation):
        return raw
    values = filled if preparation.spread is None else filled * preparation.spread
    values = values if preparation.centre is None else values + preparation.centre
    values = np.exp2(values) - preparation.offset if preparation.log else values
    return np.where(np.isnan(raw), values, raw)


def in_raw_units(values: Array, preparation: Preparation) -> Array:
    """Return values (n, variables kept) in the units of the raw table, if that is possible.

    A preparation that only scales variables is undone. Any other step loses something, such as what
    lay below the floor; then the values are returned unchanged.
    """
    read = replace(preparation, ignored=None, dropped=None, missing=None)
    if str(replace(read, centre=None, spread=None)):
        return values
    values = values if preparation.spread is None else values * preparation.spread
    return values if preparation.centre is None else values + preparation.centre


def attach_preparation(model: Any, preparation: Preparation) -> None:
    """Make a model that was fitted to prepared samples take raw ones from now on.

    ``preparation_`` says how it prepares them, and ``n_features_in_`` and ``feature_names_in_``
    describe the raw samples; variables that are only numbered, x0, x1 and so on, have no names
    there, so that arrays are taken without a warning. A preparation without steps and units does
    not change the model.
    """
    if not str(preparation) and not preparation.units:
        return
    needed = preparation.needed
    model.preparation_ = preparation
    model.n_features_in_ = len(needed)
    if needed == [f"x{j}" for j in range(len(needed))]:
        model.__dict__.pop("feature_names_in_", None)
    else:
        model.feature_names_in_ = np.array(needed, dtype=object)


def match_variables(table: Table, names: Any) -> Table:
    """Return the table with the named variables alone, in the order of ``names``."""
    if tuple(names) == table.variable_names:
        return table
    check_present(table.variable_names, names)
    place = {name: j for j, name in enumerate(table.variable_names)}
    order = [place[name] for name in names]
    return replace(table, data=table.data[:, order], variable_names=tuple(names))


def check_present(given: Sequence[str], needed: Sequence[str]) -> None:
    """Raise ValueError that names some of the needed variables that a table lacks, if any."""
    there = set(given)
    missing = [name for name in needed if name not in there]
    if missing:
        raise ParameterError(
            "X",
            f"The table lacks {len(missing)} of the {len(needed)} variables of the model: "
            f"{{names}}. Add {'it' if len(missing) == 1 else 'them'}, or choose another table.",
            names=missing,
        )


def scaled_to_total(data: Array, total: float | None, samples: Sequence[Any]) -> Array:
    """Return the samples (n, p), each scaled to sum to ``total``; unchanged if that is None."""
    if total is None:
        return data
    totals = data.sum(axis=1)
    check_totals(totals, total, samples)
    return data * (total / totals)[:, None]


def check_totals(totals: Array, total: float, samples: Sequence[Any]) -> None:
    """Raise ValueError that names a sample whose values (n,) add up to nothing, if there is one."""
    empty = np.flatnonzero(totals <= 0)
    if len(empty):
        i = int(empty[0])
        rest = f"{len(empty) - 1} other sample{'s' * (len(empty) > 2)}"
        more, them = (f" and of {rest}", "them") if len(empty) > 1 else ("", "it")
        raise ParameterError(
            "X",
            "The values of sample {sample!r}{more} add up to {total:g}, so they cannot be "
            "scaled to a total.",
            Advice("check the table"),
            Advice(f"leave {them} out", command=f"leave {them} out with --ignore"),
            sample=samples[i],
            total=float(totals[i]),
            more=more,
        )


def log_above_floor(
    data: Array,
    samples: Sequence[Any],
    variables: Sequence[Any],
    *advice: Advice,
    floor: float | None = None,
    log: bool = False,
    offset: float = 1.0,
) -> Array:
    """Return the values raised to the floor and, with ``log``, as log2(offset + value).

    advice: what to do about values that have no logarithm.
    """
    data = data if floor is None else np.maximum(data, floor)
    if not log:
        return data
    bad = data < 0 if offset else data <= 0
    if bad.any():
        i, j = (int(index) for index in np.argwhere(bad)[0])
        raise ParameterError(
            "log",
            "Logarithms need values {span}, but {variable!r} is {value:g} in sample {sample!r}.",
            *advice,
            value=float(data[i, j]),
            span="of 0 or more" if offset else "above 0",
            sample=samples[i],
            variable=variables[j],
            count=int(bad.sum()),
        )
    moved = offset + data
    return np.log2(moved, out=moved)
