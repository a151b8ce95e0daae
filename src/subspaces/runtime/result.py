"""How results are shown: in short as text, in notebooks as HTML, and as data frames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, fields
from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in

from subspaces._types import Array, Data
from subspaces.messages import Grade, Verdict

# The most rows of a table in a notebook.
MOST_ROWS = 12


class InNotebook:
    """Base class of frozen dataclasses that notebooks show as a small table, below the verdict.

    The table is ``table``, or the fields if there is none.
    """

    def _repr_html_(self) -> str:
        own: Any = self
        verdict = f"<p>{escape(own.verdict)}</p>" if hasattr(own, "verdict") else ""
        title = f"<p><strong>{escape(type(self).__name__)}</strong></p>"
        return f"<div>{title}{verdict}{self._table_as_html()}</div>"

    def _first_rows(self) -> Iterable[int] | None:
        """Return the rows of ``table`` that matter most, in order; None for the order it has."""
        return None

    def _table_as_html(self) -> str:
        own: Any = self
        table = getattr(own, "table", None)
        if table is None:
            names = [field.name for field in _own_fields(own)]
            return html_table({"": names, "value": [_in_short(getattr(own, n)) for n in names]})
        if getattr(getattr(table, "index", None), "name", None):
            table = table.reset_index()
        columns = {str(name): np.asarray(column) for name, column in table.items()}
        first = self._first_rows()
        if first is not None:
            rows = np.asarray(list(first), dtype=int)
            columns = {name: column[rows] for name, column in columns.items()}
        return html_table(columns)


def html_table(columns: Mapping[str, Sequence[Any] | Array]) -> str:
    """Return the first rows of the columns as an HTML table; text is escaped."""
    n = len(next(iter(columns.values()), ()))
    heads = "".join(f"<th>{escape(name)}</th>" for name in columns)
    shown = zip(*(column[:MOST_ROWS] for column in columns.values()), strict=True)
    rows = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in shown)
    more = f"<p>{n - MOST_ROWS:,} more rows</p>" if n > MOST_ROWS else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _html_cell(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return f"<td>{'yes' if value else ''}</td>"
    if isinstance(value, float | np.floating):
        return f"<td>{'' if np.isnan(value) else f'{value:.4g}'}</td>"
    return f"<td>{escape(str(value))}</td>"


class WithVerdict(InNotebook):
    """Base class of frozen dataclasses with a verdict: they print it, and name their attributes."""

    conclusion: Verdict

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return str(self.conclusion)

    @property
    def grade(self) -> Grade:
        """How sure the verdict is, as a `messages.Grade`."""
        return self.conclusion.grade

    def __repr__(self) -> str:
        names = [field.name for field in _own_fields(self)]
        names += [name for name in ("grade", "table", "plot") if hasattr(type(self), name)]
        shown = ", ".join(f"{name}()" if name == "plot" else name for name in names)
        return f"{type(self).__name__}: {self.verdict}\n(attributes: {shown})"


class InShort(InNotebook):
    """Base class of frozen dataclasses that print the shapes of their arrays, not all numbers."""

    def __repr__(self) -> str:
        own = _own_fields(self)
        parts = [f"{field.name}={_in_short(getattr(self, field.name))}" for field in own]
        return f"{type(self).__name__}({', '.join(parts)})"


def _own_fields(result: Any) -> list[Field[Any]]:
    """Return the fields of a result but its conclusion, which is shown in words."""
    return [field for field in fields(result) if field.name != "conclusion"]


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
