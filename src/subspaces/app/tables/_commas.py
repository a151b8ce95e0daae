"""Decision whether commas and points in numbers separate thousands or begin the decimals.

The whole table decides between two notations. "1,065" and "1.065" may be of either; other cells
tell: 12.5 and 1,065,234 have a decimal point, 0,25 and 1.065.234 a decimal comma.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Mark = Literal["point", "comma", "either", "neither"]

MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "?", "-", "."}

_END = r"(e[+-]?\d+)?"
# 1,065 and 12,065,234.5: groups of three after one to three digits that do not begin with 0.
_GROUPED = re.compile(rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?{_END}", re.IGNORECASE)
# 1,5 and ,25, and 1.065,5 with points between the thousands.
_DECIMAL = re.compile(rf"[+-]?(\d*|[1-9]\d{{0,2}}(\.\d{{3}})+),\d+{_END}", re.IGNORECASE)
_POINTED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
# 12.5, but not 1.065, which may be 1065 if commas are decimal.
_POINT = re.compile(rf"[+-]?(0?|\d+)\.(\d{{1,2}}|\d{{4,}}){_END}|[+-]?0?\.\d+{_END}", re.IGNORECASE)
# 1 065 and 1'065,5: spaces (no-break, narrow) or apostrophes, which can only separate thousands.
_SPACED = re.compile(r"[+-]?[1-9]\d{0,2}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?")
_SPACES = str.maketrans("", "", " \u00a0\u202f'\u2019")
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


def is_missing(cell: str) -> bool:
    """Return whether a cell marks a missing value: empty, "NA", "?", "." and so on."""
    return cell.lower() in MISSING


def is_number(cell: str) -> bool:
    """Return whether ``float`` reads a cell as a number; "1_000" and "nan" count as none."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_missing(cell)


def is_figure(cell: str) -> bool:
    """Return whether a cell is a number, also one with commas, such as "1,065"."""
    return is_number(cell) or _mark(cell) is not None


def is_text(cell: str) -> bool:
    """Return whether a cell is neither a number nor a mark of a missing value such as "NA"."""
    return not is_figure(cell) and not is_missing(cell)


@dataclass(frozen=True)
class Notation:
    """The first cell of a table that has a decimal point, and the first with a decimal comma."""

    point: str | None
    comma: str | None

    @property
    def has_decimal_commas(self) -> bool:
        """Whether commas, and only commas, begin the decimals."""
        return self.comma is not None and self.point is None

    def plain(self, cell: str) -> str:
        """Return a number such as "1.065,5" as Python writes it, "1065.5"; other text unchanged."""
        if _SPACED.fullmatch(cell):
            return cell.translate(_SPACES).replace(",", ".")
        if self.point and not self.comma and _GROUPED.fullmatch(cell):
            return cell.replace(",", "")
        is_comma = _mark(cell) in ("comma", "either") or _POINTED.fullmatch(cell)
        if self.has_decimal_commas and is_comma:
            return cell.replace(".", "").replace(",", ".")
        return cell

    def note(self, cells: Iterable[str]) -> str | None:
        """Return a sentence on how the first ambiguous cell was read; None if there is none."""
        shown = self.point or self.comma
        if shown is None:
            return _thousands_or_decimals(list(cells))
        if self.point and self.comma:
            return None
        doubtful = _GROUPED if self.point else _THREE_DIGITS
        found = (c for c in cells if doubtful.fullmatch(c) and _mark(c) in (None, "either"))
        cell = next(found, None)
        if cell is None:
            return None
        since = f"since {shown!r} in the same table {_shows(shown)}"
        return f"{cell!r} is read as {self.plain(cell)}, {since}"

    def remedy(self, cell: str) -> str | None:
        """Return why a number with commas cannot be read, and what to do; None for other cells."""
        if _mark(cell) not in ("point", "comma", "either"):
            return None
        if self.point and self.comma:
            begin = f"{self.comma!r} {_shows(self.comma)}, and {self.point!r} in the same table"
            return f"{begin} {_shows(self.point)}. Use decimal points throughout"
        return (
            f"{cell!r} may be {cell.replace(',', '')} or {cell.replace(',', '.')}, and no other "
            "cell tells. Remove the comma between thousands, or use a decimal point"
        )


def notation_of(cells: Iterable[str], unread: Iterable[str]) -> Notation:
    """Return the notation of a table, given all cells and those that Python does not read."""
    point = next((cell for cell in cells if _mark(cell) == "point"), None)
    return Notation(point, next((cell for cell in unread if _mark(cell) == "comma"), None))


def _thousands_or_decimals(cells: list[str]) -> str | None:
    """Return a note that "1.065" was read as a decimal but may be 1065; None if there is no doubt.

    There is doubt if other cells are whole numbers: in a table of decimals with three digits,
    every cell would have three decimals.
    """
    pointed = next(filter(_POINTED.fullmatch, cells), None)
    if pointed is None or not any(cell.lstrip("+-").isdecimal() for cell in cells):
        return None
    return (
        f"{pointed!r} is read as {float(pointed):g}. If points separate thousands in this table, "
        "remove them"
    )


def _shows(cell: str) -> str:
    """Return the end of a sentence on a cell, such as "has a decimal comma"."""
    if _POINT.fullmatch(cell):
        return "has a decimal point"
    if _DECIMAL.fullmatch(cell) and not _GROUPED.fullmatch(cell):
        return "has a decimal comma"
    return f"has {'commas' if ',' in cell else 'points'} between thousands"


def _mark(cell: str) -> Mark | None:
    """Return the decimal mark of a number with commas, points or spaces; None for other cells."""
    if cell.isdecimal():
        return None
    if _SPACED.fullmatch(cell):
        return "comma" if "," in cell else "point" if "." in cell else "neither"
    if _GROUPED.fullmatch(cell):
        return "point" if cell.count(",") > 1 or "." in cell else "either"
    if _DECIMAL.fullmatch(cell) or (cell.count(".") > 1 and _POINTED.fullmatch(cell)):
        return "comma"
    return "point" if _POINT.fullmatch(cell) else None
