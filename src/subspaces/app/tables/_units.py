"""Columns whose cells are numbers with a mark: yes and no, percentages, money, one unit."""

import re

import numpy as np

from subspaces.app.tables._commas import is_figure, is_missing
from subspaces.app.tables._sheet import Texts

# Words for 1 and 0.
WORDS = (("yes", "no"), ("true", "false"), ("y", "n"))
NO_UNITS = {"/".join(pair) for pair in WORDS}
MONEY = {"$", "€", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD"}
CURRENCY = "|".join(map(re.escape, sorted(MONEY)))
# A number with money before it, or with one word behind it. A longer word is rather a name.
MEASURED = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>{CURRENCY})?\s*(?P<number>[+-]?[\d.,][\d.,'\u2019\s]*?(e[+-]?\d+)?)"
    r"\s*(?P<after>([%‰°$€£¥₹]|[^\W\d_])\S{0,11})?"
)
# Money has no three decimals: 1.200 EUR and $1,200 are 1200.
THOUSANDS = re.compile(r"\d{1,3}([.,]\d{3})+")


def as_numbers(column: Texts) -> tuple[str, Texts] | None:
    """Return the mark of a column, such as "%", and its cells without it; None for other text.

    Every cell needs the same mark, except those that mark a missing value.
    """
    found = {cell for cell in set(column.tolist()) if not is_missing(cell)}
    lowered = {cell.lower() for cell in found}
    for yes, no in WORDS:
        if lowered <= {yes, no}:
            ones = {cell: "1" if cell.lower() == yes else "0" for cell in found}
            return f"{yes}/{no}", _replaced(column, ones)
    plain, marks = {}, set()
    for cell in found:
        match = MEASURED.fullmatch(cell)
        if match is None:
            return None
        mark, number = (match["before"] or "") + (match["after"] or ""), match["number"]
        if mark in MONEY and THOUSANDS.fullmatch(number.lstrip("+-")):
            number = re.sub("[.,]", "", number)
        marks.add(mark)
        plain[cell] = match["sign"] + number
        if len(marks) > 1 or not mark or not is_figure(plain[cell]):
            return None
    return marks.pop(), _replaced(column, plain)


def _replaced(column: Texts, plain: dict[str, str]) -> Texts:
    return np.array([plain.get(cell, "") for cell in column.tolist()], dtype=object)
