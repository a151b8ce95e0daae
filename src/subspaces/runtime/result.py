"""How results are shown: in short as text, and as data frames."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in

from subspaces._types import Array, Data


class WithVerdict:
    """Base class of frozen dataclasses with a verdict: they print it, and name their attributes."""

    verdict: str

    def __repr__(self) -> str:
        own: Any = self
        names = [field.name for field in fields(own) if field.name != "verdict"]
        names += [name for name in ("table", "plot") if hasattr(type(self), name)]
        shown = ", ".join(f"{name}()" if name == "plot" else name for name in names)
        return f"{type(self).__name__}: {self.verdict}\n(attributes: {shown})"


class InShort:
    """Base class of frozen dataclasses that print the shapes of their arrays, not all numbers."""

    def __repr__(self) -> str:
        own: Any = self
        parts = [f"{field.name}={_in_short(getattr(own, field.name))}" for field in fields(own)]
        return f"{type(self).__name__}({', '.join(parts)})"


def _in_short(value: object) -> str:
    """Return a value as text: a number in six digits, an array by its shape, texts by how many."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return f"<{len(value)} texts>" if value else "()"
    shape = getattr(value, "shape", None)
    return repr(value) if shape is None else f"<array {tuple(shape)}>"


def as_frame(columns: Mapping[str, Any], index: str | None = None) -> Any:
    """Return the columns as a DataFrame, indexed by ``index``; unchanged if pandas is missing."""
    if find_spec("pandas") is None:
        return columns
    import pandas as pd

    frame = pd.DataFrame(columns)
    return frame if index is None else frame.set_index(index)


def lined_up(columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table of text whose columns are aligned to the right."""
    padded = [[cell.rjust(max(map(len, column))) for cell in column] for column in columns]
    return ["  ".join(line) for line in zip(*padded, strict=True)]


def as_set_output(values: Array, X: Data, estimator: BaseEstimator) -> Any:
    """Return values (n, p) as ``set_output`` of the estimator, or scikit-learn's option, asks.

    A frame has the index of X and the names of the variables of fit. Scikit-learn itself wraps
    `transform` alone, and in frames whose columns are named after the estimator.
    """
    adapter = _get_container_adapter("transform", estimator)
    if adapter is None:
        return values
    preparation = getattr(estimator, "preparation_", None)
    names = preparation.variable_names if preparation else _check_feature_names_in(estimator)
    return adapter.create_container(values, X, columns=list(names))
