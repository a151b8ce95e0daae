"""The preparation of a table of a file, learned from its samples and a few words."""

import numpy as np

from subspaces.named_table import Table
from subspaces.preparation import Preparation, log_above_floor
from subspaces.runtime.parameters import as_count, as_real


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
    data = log_above_floor(table.data, table.sample_names, names, floor=floor, log=log)
    kept = np.arange(data.shape[1])
    if top_variables is not None:
        count = as_count(
            top_variables,
            "top_variables",
            low=1,
            high=len(kept),
            why=" for {p:#variable}",
            p=len(kept),
        )
        kept = np.sort(np.argsort(-np.nanvar(data, axis=0), kind="stable")[:count])
    centre = spread = None
    if scale:
        centre, spread = np.nanmean(data[:, kept], axis=0), np.nanstd(data[:, kept], axis=0)
        spread[spread == 0] = 1.0
    n_seen = data.shape[1] if len(kept) < data.shape[1] else None
    names = tuple(names[j] for j in kept)
    return Preparation(names, floor=floor, log=log, centre=centre, spread=spread, n_seen=n_seen)
