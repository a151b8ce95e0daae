"""What the columns of any data frame are, and the frame as numbers for a PCA of mixed data.

A number is scaled to standard deviation 1. Numbers of two values are a category. One with the
shares f_l of its levels becomes a column ``(I_l - f_l)/sqrt(f_l)`` per level, so that it has the
variance ``levels - 1`` in all [factor analysis of mixed data: Pages 2004]. Two levels are one
column: with ``f_1 + f_2 = 1`` its distances are those of the scaled column of one of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from subspaces._types import Array, Mask
from subspaces.app.tables._commas import is_missing, is_number, notation_of
from subspaces.app.tables._hints import MOST_CLASSES, doubts
from subspaces.app.tables._sheet import Texts
from subspaces.app.tables._units import as_numbers
from subspaces.messages import Message, message_of
from subspaces.named_table import Table

# A date, with a time or without.
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d{2}.*)?")
# Fewer texts, all of them different, are no names of samples yet.
FEWEST_NAMES = 5
# Fewer numbers of two values may be a measurement.
FEWEST_OF_TWO = 4
# Doubts about numbers that hold for a page, too.
TOLD = {"marks"}


class Kind(StrEnum):
    """What a column is; the value is the word for it."""

    NUMBER = "number"
    CATEGORY = "category"
    TEXT = "text"
    IDENTIFIER = "identifier"
    DATE = "date"
    CONSTANT = "constant"
    EMPTY = "empty"


@dataclass(frozen=True)
class Column:
    """A column of a frame: its name, what it is, and its cells.

    texts (n,): the cells as text, "" for a missing one; numbers (n,): the same as numbers, of a
    `Kind.NUMBER`, or None; levels: of a `Kind.CATEGORY`, the most frequent first; unit: what was
    behind or before each number, such as "%".
    """

    name: str
    kind: Kind
    texts: Texts
    numbers: Array | None = None
    levels: tuple[str, ...] = ()
    unit: str = ""

    @property
    def missing(self) -> Mask:
        """Whether each cell is missing, (n,)."""
        return self.texts == "" if self.numbers is None else np.isnan(self.numbers)

    @property
    def encoded(self) -> dict[str, Array]:
        """The column as columns (n,) of numbers by name, NaN if it is missing; {} if unused."""
        if self.numbers is not None and self.kind is Kind.NUMBER:
            largest = np.nanmax(np.abs(self.numbers))
            values = self.numbers / largest  # squares of the others stay within range
            return {self.name: (values - np.nanmean(values)) / np.nanstd(values, ddof=1)}
        if self.kind is not Kind.CATEGORY:
            return {}
        seen = ~self.missing
        members = {level: self.texts == level for level in self.levels}
        if len(members) == 2:
            members.pop(self.levels[0])
        found = {}
        for level, inside in members.items():
            share = float(inside[seen].mean())
            unit = np.sqrt(share * (1.0 - share) if len(self.levels) == 2 else share)
            found[f"{self.name}={level}"] = np.where(seen, (inside - share) / unit, np.nan)
        return found


def columns_of(frame: Any) -> tuple[list[Column], list[Message]]:
    """Return what the columns of a pandas DataFrame are, and what is doubtful about its numbers."""
    names = _once([str(name) for name in frame.columns])
    found = [_column(name, frame.iloc[:, j]) for j, name in enumerate(names)]
    numbers = {c.name: c.numbers for c in found if c.kind is Kind.NUMBER and c.numbers is not None}
    if not numbers:
        return found, []
    data = np.column_stack(list(numbers.values()))
    table = Table(data, tuple(map(str, range(len(data)))), tuple(numbers))
    told, keys = [], set[str]()
    for each in doubts(table, "rows"):
        if each.code == "identifiers":
            keys |= set(each.parameters["names"])
        if each.code in TOLD:
            told.append(message_of(each))
    are_keys = [c.name in keys and c.kind is Kind.NUMBER for c in found]
    found = [
        Column(c.name, Kind.IDENTIFIER, c.texts, c.numbers) if is_key else c
        for c, is_key in zip(found, are_keys, strict=True)
    ]
    return found, told


def _once(names: Sequence[str]) -> list[str]:
    """Return the names, each there once: a second "x" is "x (2)", and one without a name "v3"."""
    found: list[str] = []
    for j, name in enumerate(names):
        base, again, i = name or f"v{j + 1}", name or f"v{j + 1}", 1
        while again in found:
            i += 1
            again = f"{base} ({i})"
        found.append(again)
    return found


def _column(name: str, values: Any) -> Column:
    """Return what one column, a pandas Series, is."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        texts = _texts(values)
        return Column(name, Kind.DATE if (texts != "").any() else Kind.EMPTY, texts)
    numeric = pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    if numeric and not pd.api.types.is_complex_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if not _has_two_values(numbers):
            return _of_numbers(name, numbers)
    texts = _texts(values)
    unit, numbers = _read(texts)
    seen = texts[texts != ""]
    is_category = isinstance(values.dtype, pd.CategoricalDtype)
    if numbers is not None and not is_category and not _has_two_values(numbers):
        return _of_numbers(name, numbers, unit)
    levels, counts = np.unique(seen.astype(str), return_counts=True)
    by_size = tuple(levels[np.argsort(-counts, kind="stable")].tolist())
    if len(levels) < 2:
        return Column(name, Kind.CONSTANT if len(levels) else Kind.EMPTY, texts)
    if all(DATE.fullmatch(level) for level in by_size):
        return Column(name, Kind.DATE, texts)
    if len(levels) <= MOST_CLASSES and 2 * len(levels) <= len(seen):
        return Column(name, Kind.CATEGORY, texts, levels=by_size)
    is_once = len(levels) == len(seen) >= FEWEST_NAMES
    return Column(name, Kind.IDENTIFIER if is_once else Kind.TEXT, texts)


def _has_two_values(numbers: Array) -> bool:
    """Whether a column of numbers is a category: its two values would be clusters by themselves."""
    seen = numbers[np.isfinite(numbers)]
    return len(seen) >= FEWEST_OF_TWO and len(np.unique(seen)) == 2


def _of_numbers(name: str, numbers: Array, unit: str = "") -> Column:
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    seen = numbers[~np.isnan(numbers)]
    texts = np.array([f"{value:g}" for value in numbers], dtype=object)
    kind = Kind.NUMBER if len(seen) and np.ptp(seen) > 0.0 else Kind.CONSTANT
    return Column(name, kind if len(seen) else Kind.EMPTY, texts, numbers, unit=unit)


def _texts(values: Any) -> Texts:
    """Return the cells of a Series as text without outer blanks, "" for a missing one."""
    gone = values.isna().to_numpy()
    cells = [str(value).strip() for value in values.tolist()]
    kept = ["" if out or is_missing(cell) else cell for cell, out in zip(cells, gone, strict=True)]
    return np.array(kept, dtype=object)


def _read(texts: Texts) -> tuple[str, Array | None]:
    """Return the unit and the numbers (n,) that all texts are, NaN for a missing one, or None."""
    unit, cells = as_numbers(texts) or ("", texts)
    seen = set(cells.tolist()) - {""}
    notation = notation_of(seen, [cell for cell in seen if not is_number(cell)])
    numbers = {cell: notation.plain(cell) for cell in seen}
    if not seen or not all(map(is_number, numbers.values())):
        return "", None
    return unit, np.array([float(numbers[cell]) if cell else np.nan for cell in cells])
