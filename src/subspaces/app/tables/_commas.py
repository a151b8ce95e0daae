"""Decision whether commas and points in numbers separate thousands or begin the decimals.

The whole table decides between two notations. "1,065" and "1.065" may be of either; other cells
tell: 12.5 and 1,065,234 have a decimal point, 0,25 and 1.065.234 a decimal comma.
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
class Notation:
    """Whether the numbers in a table have a decimal point, a decimal comma, or both.

    examples: for POINT and COMMA, if found, the first cell that has that notation.
    """

    examples: dict[str, str]

    @property
    def decimals(self) -> str | None:
        """POINT or COMMA, the table's decimal mark; None where no cell tells or cells disagree."""
        return next(iter(self.examples)) if len(self.examples) == 1 else None

    def plain(self, cell: str) -> str:
        """Return a number such as "1.065,5" as Python writes it, "1065.5"; other text unchanged."""
        if _SPACED.fullmatch(cell):
            return cell.translate(_SPACES).replace(",", ".")
        if self.decimals == POINT and _GROUPED.fullmatch(cell):
            return cell.replace(",", "")
        if self.decimals == COMMA and (
            _kind(cell) in (COMMA, "either") or _POINTED.fullmatch(cell)
        ):
            return cell.replace(".", "").replace(",", ".")
        return cell

    def note(self, cells: Iterable[str]) -> str | None:
        """Return a sentence on how the first ambiguous cell was read; None if there is none."""
        if self.decimals is None:
            return None if self.examples else _thousands_or_decimals(cells)
        doubtful = _GROUPED if self.decimals == POINT else re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
        cell = next((c for c in cells if _is_ambiguous(c) and doubtful.fullmatch(c)), None)
        if cell is None:
            return None
        read, shown = self.plain(cell), self.examples[self.decimals]
        return f"{cell!r} is read as {read}, since {shown!r} in the same table {_shows(shown)}"

    def remedy(self, cell: str) -> str | None:
        """Return why a number with commas cannot be read, and what to do; None for other cells."""
        kind = _kind(cell)
        if len(self.examples) == 2 and kind in (POINT, COMMA, "either"):
            one, other = self.examples[COMMA], self.examples[POINT]
            begin = f"{one!r} {_shows(one)}, and {other!r} in the same table {_shows(other)}"
            return f"{begin}. Use decimal points throughout"
        if kind == "either":
            both = f"{cell.replace(',', '')} or {cell.replace(',', '.')}"
            return (
                f"{cell!r} may be {both}, and no other cell tells. Remove the comma between "
                "thousands, or use a decimal point"
            )
        return None


def notation_of(cells: Iterable[str]) -> Notation:
    """Return the `Notation` of a table: its decimal marks, each with the first example."""
    examples: dict[str, str] = {}
    for cell in cells:
        kind = _kind(cell)
        if kind in (POINT, COMMA):
            examples.setdefault(kind, cell)
    return Notation(examples)


def _thousands_or_decimals(cells: Iterable[str]) -> str | None:
    """Return a note that "1.065" was read as a decimal but may be 1065; None if there is no doubt.

    There is doubt where other cells are whole numbers: in a table of decimals with three digits,
    every cell would have three decimals.
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
    """Return whether a cell is a number with commas, points or spaces, such as "1 065,5"."""
    return _kind(cell) is not None or _SPACED.fullmatch(cell) is not None


def _shows(cell: str) -> str:
    """Return the end of a sentence on a cell, such as "has a decimal comma"."""
    if _POINT.fullmatch(cell):
        return "has a decimal point"
    if _DECIMAL.fullmatch(cell) and not _GROUPED.fullmatch(cell):
        return "has a decimal comma"
    return f"has {'commas' if ',' in cell else 'points'} between thousands"


def _kind(cell: str) -> str | None:
    """Return POINT, COMMA or "either", the decimal mark of a number; None for any other cell."""
    if "," not in cell and "." not in cell:
        return None
    if _SPACED.fullmatch(cell):
        return COMMA if "," in cell else POINT
    if _GROUPED.fullmatch(cell):
        return POINT if cell.count(",") > 1 or "." in cell else "either"
    if _DECIMAL.fullmatch(cell) or (cell.count(".") > 1 and _POINTED.fullmatch(cell)):
        return COMMA
    return POINT if _POINT.fullmatch(cell) else None


def _is_ambiguous(cell: str) -> bool:
    """Return whether the cell alone leaves open if its table has decimal points or commas."""
    return _kind(cell) in (None, "either")
