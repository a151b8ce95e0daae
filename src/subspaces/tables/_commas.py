"""Commas and points within numbers: do they separate thousands, or begin the decimals?

Two ways of writing are told apart, by the whole table. "1,065" and "1.065" may be of either; other
cells tell: 12.5 and 1,065,234 are of the one way, 0,25 and 1.065.234 of the other.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_END = r"(e[+-]?\d+)?"
# 1,065 and 12,065,234.5: groups of three after one to three digits that do not begin with 0.
_GROUPED = re.compile(rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?{_END}", re.IGNORECASE)
# 1,5 and ,25, and 1.065,5 with points between the thousands.
_DECIMAL = re.compile(rf"[+-]?(\d*|[1-9]\d{{0,2}}(\.\d{{3}})+),\d+{_END}", re.IGNORECASE)
_POINTED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
# 12.5, but not 1.065, which may be 1065 where commas are decimal.
_POINT = re.compile(rf"[+-]?(0?|\d+)\.(\d{{1,2}}|\d{{4,}}){_END}|[+-]?0?\.\d+{_END}", re.IGNORECASE)
# 1 065 and 1'065,5: spaces (no-break, narrow) or apostrophes, which can only separate thousands.
_SPACED = re.compile(r"[+-]?[1-9]\d{0,2}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?")
_SPACES = str.maketrans("", "", " \u00a0\u202f'\u2019")

POINT, COMMA = "decimal point", "decimal comma"


@dataclass(frozen=True)
class Commas:
    """Which way of writing the cells of a table tell of: the first cell that tells of each."""

    told: dict[str, str]

    @property
    def way(self) -> str | None:
        """How the decimals begin, where the cells agree on it."""
        return next(iter(self.told)) if len(self.told) == 1 else None

    def plain(self, cell: str) -> str:
        """The cell as Python reads a number, where it is one; otherwise as it is."""
        if _SPACED.fullmatch(cell):
            return cell.translate(_SPACES).replace(",", ".")
        if self.way == POINT and _GROUPED.fullmatch(cell):
            return cell.replace(",", "")
        if self.way == COMMA and (_kind(cell) in (COMMA, "either") or _POINTED.fullmatch(cell)):
            return cell.replace(".", "").replace(",", ".")
        return cell

    def note(self, cells: Iterable[str]) -> str | None:
        """Say how a cell is read that may be of either way; None where there is no such cell."""
        if self.way is None:
            return None if self.told else _thousands_or_decimals(cells)
        doubtful = _GROUPED if self.way == POINT else re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
        cell = next((c for c in cells if _is_open(c) and doubtful.fullmatch(c)), None)
        if cell is None:
            return None
        read, shown = self.plain(cell), self.told[self.way]
        return f"{cell!r} is read as {read}, since {shown!r} in the same table {has(shown)}"

    def remedy(self, cell: str) -> str | None:
        """What is wrong with a number with commas; None where the cell is no such number."""
        kind = _kind(cell)
        if len(self.told) == 2 and kind in (POINT, COMMA, "either"):
            one, other = self.told[COMMA], self.told[POINT]
            begin = f"{one!r} {has(one)}, and {other!r} in the same table {has(other)}"
            return f"{begin}. Use decimal points throughout"
        if kind == "either":
            both = f"{cell.replace(',', '')} or {cell.replace(',', '.')}"
            return (
                f"{cell!r} may be {both}, and no other cell tells. Remove the comma between "
                "thousands, or use a decimal point"
            )
        return None


def commas_of(cells: Iterable[str]) -> Commas:
    """Which way of writing the cells of a table tell of."""
    told: dict[str, str] = {}
    for cell in cells:
        kind = _kind(cell)
        if kind in (POINT, COMMA):
            told.setdefault(kind, cell)
    return Commas(told)


def _thousands_or_decimals(cells: Iterable[str]) -> str | None:
    """Doubt points before three digits in a table that has whole numbers besides; None if none.

    Three decimals throughout would stand in every cell.
    """
    pointed, whole = None, False
    for cell in cells:
        if _POINTED.fullmatch(cell):
            pointed = pointed or cell
        whole = whole or cell.lstrip("+-").isdecimal()
    if pointed is None or not whole:
        return None
    return (
        f"{pointed!r} is read as {float(pointed):g}. If points separate thousands in this table, "
        "remove them"
    )


def is_numeric(cell: str) -> bool:
    """Whether a cell that Python takes for no number is one with commas, or spaces."""
    return _kind(cell) is not None or _SPACED.fullmatch(cell) is not None


def has(cell: str) -> str:
    """What a cell shows, as the end of a sentence."""
    if _POINT.fullmatch(cell):
        return "has a decimal point"
    if _DECIMAL.fullmatch(cell) and not _GROUPED.fullmatch(cell):
        return "has a decimal comma"
    return f"has {'commas' if ',' in cell else 'points'} between thousands"


def _kind(cell: str) -> str | None:
    """How the decimals of a number begin; None for what has none, or is no number."""
    if "," not in cell and "." not in cell:
        return None
    if _SPACED.fullmatch(cell):
        return COMMA if "," in cell else POINT
    if _GROUPED.fullmatch(cell):
        return POINT if cell.count(",") > 1 or "." in cell else "either"
    if _DECIMAL.fullmatch(cell) or (cell.count(".") > 1 and _POINTED.fullmatch(cell)):
        return COMMA
    return POINT if _POINT.fullmatch(cell) else None


def _is_open(cell: str) -> bool:
    """Whether a cell alone does not tell which way it is written."""
    return _kind(cell) in (None, "either")
