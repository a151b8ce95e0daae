"""Decision whether commas and points in numbers separate thousands or begin the decimals.

The whole table decides between two notations. "1,065" and "1.065" may be of either; other cells
tell: 12.5 and 1,065,234 have a decimal point, 0,25 and 1.065.234 a decimal comma.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from subspaces.messages import Advice, Message, noted

Mark = Literal["point", "comma", "either"]

MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "?", "-", "."}
# Thousands are groups of three after one to three digits that do not begin with 0.
_NUMBER = r"[+-]?(\d*|[1-9]\d{{0,2}}(\{}\d{{3}})+)(\{}\d+)?(e[+-]?\d+)?"
_WITH_POINT = re.compile(_NUMBER.format(",", "."), re.IGNORECASE)
_WITH_COMMA = re.compile(_NUMBER.format(".", ","), re.IGNORECASE)
# 1 065 and 1'065,5: spaces (no-break, narrow) or apostrophes, which can only separate thousands.
_SPACED = re.compile(r"[+-]?[1-9]\d{0,2}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?")
_SPACES = str.maketrans("", "", " \u00a0\u202f'\u2019")


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
    return is_number(cell) or _mark(cell) is not None or _SPACED.fullmatch(cell) is not None


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
        if self.has_decimal_commas and _WITH_COMMA.fullmatch(cell):
            return cell.replace(".", "").replace(",", ".")
        if self.point and not self.comma and _WITH_POINT.fullmatch(cell):
            return cell.replace(",", "")
        return cell

    def note(self, cells: Iterable[str]) -> Message | None:
        """Return a note on how the first ambiguous cell was read; None if there is none.

        "1.065" is doubtful in a table of whole numbers: in a table of decimals with three digits,
        every cell would have three decimals.
        """
        shown, cells = self.comma or self.point, list(cells)
        marks = "," if self.point else ".," if self.comma else "."
        doubtful = (c for c in cells if (marks[0] in c or marks[-1] in c) and _is_of_both(c))
        cell = next(doubtful, None)
        if cell is None or (self.point and self.comma):
            return None
        if shown is not None:
            fact = (
                "{cell!r} was read as {value}, because {shown!r} in the same table "
                f"{_shows(shown)}."
            )
            return noted("read_as", fact, cell=cell, value=self.plain(cell), shown=shown)
        if not any(other.lstrip("+-").isdecimal() for other in cells):
            return None
        remove = Advice("remove the points if they separate thousands")
        fact = "{cell!r} was read as {value:g}."
        return noted("read_as", fact, remove, cell=cell, value=float(cell))

    def remedy(self, cell: str) -> str | None:
        """Return why a number with commas cannot be read, and what to do; None for other cells."""
        if _mark(cell) is None:
            return None
        if self.point and self.comma:
            begin = f"{self.comma!r} {_shows(self.comma)}, and {self.point!r} in the same table"
            return f"{begin} {_shows(self.point)}. Write all numbers with decimal points"
        return (
            f"{cell!r} may mean {cell.replace(',', '')} or {cell.replace(',', '.')}. Remove "
            "commas between thousands, and write decimals with a point"
        )


def notation_of(cells: Iterable[str], unread: Iterable[str]) -> Notation:
    """Return the notation of a table, given all cells and those that Python does not read."""
    point = next((cell for cell in cells if _mark(cell) == "point"), None)
    return Notation(point, next((cell for cell in unread if _mark(cell) == "comma"), None))


def _shows(cell: str) -> str:
    """Return the end of a sentence on a cell, such as "has a decimal comma"."""
    if _mark(cell) == "point":
        return f"has {'commas between thousands' if ',' in cell else 'a decimal point'}"
    return f"has {'a decimal comma' if ',' in cell else 'points between thousands'}"


def _is_of_both(cell: str) -> bool:
    return bool(_WITH_POINT.fullmatch(cell) and _WITH_COMMA.fullmatch(cell))


def _mark(cell: str) -> Mark | None:
    """Return the decimal mark of a number; None for one without, for 1.065, and for other text."""
    if "," not in cell and "." not in cell:
        return None
    cell = cell.translate(_SPACES) if _SPACED.fullmatch(cell) else cell
    if _is_of_both(cell):
        return "either" if "," in cell else None
    if _WITH_COMMA.fullmatch(cell):
        return "comma"
    return "point" if _WITH_POINT.fullmatch(cell) else None
