"""Which blocks the compiled passes know, and what they are given of the flats.

The tables of a pass are made once for all its blocks, and kept with it.
"""

from typing import Any

import numpy as np

from subspaces.core.flats import Flats, Tally
from subspaces.core.kernels import kernels


def knows(rows: Any) -> bool:
    """Whether a block is for the compiled module: a numpy array of single or double precision."""
    dense = isinstance(rows, np.ndarray) and rows.dtype in (np.float32, np.float64)
    return dense and 0 not in rows.shape and kernels() is not None


def look(rows: Any, labels: Any | None, start: int, plan: Any) -> tuple[Any, Tally]:
    """The twin of `block_pass.look`."""
    asked = plan.by_scatter, plan.only_moved, True, plan.affine
    new, objective, moved, sums = _run("look_block", rows, plan, labels, *asked)
    return new.astype(plan.label_type), Tally(objective, moved, *sums)


def nearest(rows: Any, labels: Any | None, start: int, plan: Any) -> tuple[Any, None]:
    """The twin of `block_pass.nearest`."""
    found = _run("look_block", rows, plan, labels, True, False, False, False)[0]
    return found.astype(plan.label_type), None


def count(rows: Any, labels: Any, start: int, plan: Any) -> tuple[Any, Tally]:
    """The twin of `block_pass.count`."""
    return labels, Tally(
        0.0, len(labels), *_run("count_block", rows, plan, labels, plan.by_scatter, plan.affine)
    )


def measure(rows: Any, labels: Any, start: int, plan: Any) -> tuple[Any, float]:
    """The twin of `block_pass.measure`."""
    return _run("measure_block", rows, plan, labels)


def survey(rows: Any) -> tuple[float, Any, float]:
    """Largest absolute value, sums of the columns, sum of squares."""
    return _module().survey_block(np.ascontiguousarray(rows))


def _module() -> Any:
    return kernels()


def _run(name: str, rows: Any, plan: Any, labels: Any, *more: Any) -> Any:
    given = None if labels is None else np.ascontiguousarray(labels, dtype=np.intc)
    tables = _tables(plan, rows.dtype)
    return getattr(_module(), name)(np.ascontiguousarray(rows), given, *tables, *more)


def _tables(plan: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """The flats as the module takes them: tables, axes and centres in rows, the origin."""
    key = ("compiled", dtype)
    if key not in plan.placed:
        plan.placed[key] = _made(plan, dtype)
    return plan.placed[key]


def _made(plan: Any, dtype: Any) -> tuple[Any, Any, Any]:
    flats: Flats = plan.flats
    affine = not flats.linear
    axes = np.swapaxes(flats.axes, 1, 2)
    if affine:
        axes = np.concatenate([axes, flats.centres[:, None, :]], axis=1)
    weights, scales = plan.weights
    shift, lengths = flats.shift_and_lengths
    tables = _module().FlatTables(
        plan.criterion,
        dtype,
        axes.shape[2],
        affine,
        np.ascontiguousarray(flats.spectra, dtype=np.float64),
        np.ascontiguousarray(weights, dtype=np.float64),
        shift,
        lengths,
        np.ascontiguousarray(scales, dtype=np.float64),
        plan.mean_leverage,
        float(flats.noise),
    )
    flat_axes = _aligned(axes.reshape(-1, axes.shape[2]), dtype)
    origin = None if plan.origin is None else np.ascontiguousarray(plan.origin, dtype=dtype)
    return tables, flat_axes, origin


def _aligned(array: Any, dtype: Any) -> Any:
    """A copy in rows, of vectors that no line of the cache divides."""
    copy = _module().aligned(array.shape, dtype)
    copy[...] = array
    return copy
