"""What the comma within a number stands for: a separator of thousands, or the decimal point."""

import re
from collections.abc import Iterable

# 1,065 and 12,065,234.5: groups of three after one to three digits that do not begin with 0.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)
# 1,5 and ,25, and 1.065,5 with points between the thousands.
_DECIMAL = re.compile(r"[+-]?(\d*|[1-9]\d{0,2}(\.\d{3})+),\d+(e[+-]?\d+)?", re.IGNORECASE)
# 12.5, but not 1.065, which may be 1065 where commas are decimal.
_POINT = re.compile(r"[+-]?(0?|\d+)\.(\d{1,2}|\d{4,})|[+-]?0?\.\d+")


def comma_remedy(cell: str, others: Iterable[str]) -> str | None:
    """Say what to write instead of a number with commas; None where the cell is no such number.

    Parameters
    ----------
    cell : str
        What is not a number.
    others : iterable of str
        The cells of the same table: some may tell what commas mean in '1,065', which may be either.
    """
    meaning, shown = _meaning(cell.strip()), ""
    if meaning == "either":
        told = {_told(other.strip()): other.strip() for other in others}
        decided = [(kind, told[kind]) for kind in ("thousands", "decimal") if kind in told]
        if len(decided) != 1:
            return (
                f"its comma may separate thousands ({_ungrouped(cell)}) or be a decimal comma "
                f"({_pointed(cell)}), and the other cells do not tell. Remove it, or use a decimal "
                "point"
            )
        meaning, shown = decided[0][0], f", as {decided[0][1]!r} in the same table shows"
    if meaning == "thousands":
        return f"its commas separate thousands{shown}. Remove the separators: {_ungrouped(cell)}"
    if meaning == "decimal":
        return f"its comma is a decimal comma{shown}. Use a decimal point: {_pointed(cell)}"
    return None


def _meaning(cell: str) -> str | None:
    if _GROUPED.fullmatch(cell):
        return "thousands" if cell.count(",") > 1 or "." in cell else "either"
    return "decimal" if _DECIMAL.fullmatch(cell) else None


def _told(cell: str) -> str | None:
    """What another cell says of commas; one with a decimal point says that they are not decimal."""
    return "thousands" if _POINT.fullmatch(cell) else _meaning(cell)


def _ungrouped(cell: str) -> str:
    return cell.strip().replace(",", "")


def _pointed(cell: str) -> str:
    return cell.strip().replace(".", "").replace(",", ".")
