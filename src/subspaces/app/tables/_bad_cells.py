"""What to say of cells that are no numbers: all at once, where they are, and what to do."""

import re
from collections.abc import Sequence

import numpy as np

from subspaces._types import Array, Mask
from subspaces.app.tables._commas import Notation, is_missing, is_number
from subspaces.app.tables._sheet import CLASSES, Sheet, Wanted
from subspaces.messages import in_a_row, listed, literal

# Different texts in place of numbers that a message names, columns with such cells, rows of text.
LISTED = 5
# The beginning of a date: 2024-05-01, 1.5.2024, 5/1/24, May 1 2024, 1 May 2024.
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[. -]*[A-Z][a-z]{2}|[A-Z][a-z]{2,8} \d")
# Letters that are typed, or read by a scanner, in place of digits.
DIGITS = str.maketrans("oOlI", "0011")


def bad_cells_in_words(
    sheet: Sheet, is_bad: Mask, values: Array, notation: Notation, wanted: Wanted
) -> str:
    """Return where the bad cells of a sheet are, and what to do about each kind, as a message.

    The kinds are columns of text, rows of text, cells here and there, and numbers whose commas may
    mean two things. values: the numbers that were read, NaN elsewhere.
    """
    if sheet.samples.kind == "column":
        return bad_cells_in_words(sheet.turned, is_bad.T, values.T, notation, wanted)
    unclear = unclear_cells(sheet, is_bad, notation)
    texts = is_bad & ~unclear
    columns = np.asarray(texts.any(axis=0) & (np.isnan(values) & ~unclear).all(axis=0))
    if columns.all():
        return (
            f"{_refused(sheet, texts)}, and no column has numbers. Check that this is a table of "
            "numbers"
        )
    rows = 2 * texts[:, ~columns].sum(axis=1) > (~columns).sum()
    in_rows, strays = texts & ~columns & rows[:, None], texts & ~columns & ~rows[:, None]
    said = []
    if columns.any():
        said.append(f"{_refused(sheet, texts & columns)}. {_column_remedy(sheet, columns, wanted)}")
    if in_rows.any():
        names = sheet.samples.names[rows].tolist()
        said.append(f"{_refused(sheet, in_rows)}. {_row_remedy(names, wanted)}")
    if strays.any():
        said.append(_strays(sheet, strays))
    if unclear.any():
        i, j = np.argwhere(unclear)[0]
        said.append(literal(f"{sheet.place(i, j)}: {notation.remedy(sheet.cells[i, j])}"))
    return ". Also ".join(said)


def unclear_cells(sheet: Sheet, is_bad: Mask, notation: Notation) -> Mask:
    """Return which of the bad cells are numbers whose commas may mean two things."""
    unclear, bad = np.zeros_like(is_bad), sheet.cells[is_bad].tolist()
    both = {cell for cell in set(bad) if notation.remedy(cell) is not None}
    unclear[is_bad] = [cell in both for cell in bad]
    return unclear


def _refused(sheet: Sheet, mask: Mask) -> str:
    i, j = np.argwhere(mask)[0]
    return literal(f"{sheet.place(i, j)}: {sheet.cells[i, j]!r} is not a number")


def _column_remedy(sheet: Sheet, columns: Mask, wanted: Wanted) -> str:
    """Return the advice for columns of text."""
    names = sheet.variables.names[columns].tolist()
    cells = [
        [cell for cell in column if not is_missing(cell)] for column in sheet.cells[:, columns].T
    ]
    kinds = [" (dates)" * all(map(DATE.match, column)) for column in cells]
    if len(names) == 1:
        what = "dates" if kinds[0] else "text"
        remedy = f"Add <ignore={literal(names)}> to leave out this column of {what}"
    else:
        shown = literal(listed([name + kind for name, kind in zip(names, kinds, strict=True)]))
        remedy = f"Add <ignore_text=True> to leave out the {len(names)} columns of text ({shown})"
    if wanted.samples_in_columns:
        return remedy
    counts = [len(set(column)) for column in cells]
    unique = [
        name
        for name, count, kind in zip(names, counts, kinds, strict=True)
        if count == len(sheet.cells) and not kind
    ]
    if sheet.samples.names[0] == "sample1" and unique:
        name = literal(repr(unique[0]))
        remedy += f", or <sample_names={name}> if that column has the sample names"
    # One with a name as classes have, or the one that repeats itself most, may hold the classes.
    several = [
        (name.lower() not in CLASSES, count, place, name)
        for place, (name, count) in enumerate(zip(names, counts, strict=True))
        if 1 < count <= len(cells[place]) / 2 and len(cells[place]) > len(sheet.cells) / 2
    ]
    if not several or wanted.labels is not None:
        return remedy
    name = literal(repr(min(several)[-1]))
    if len(names) > 1:
        return f"{remedy}, and <labels={name}> if that column has the known classes"
    return f"{remedy}, or <labels={name}> if it has the known classes"


def _row_remedy(rows: Sequence[str], wanted: Wanted) -> str:
    """Return the advice for rows of text, by their names."""
    shown = literal(list(rows)) if len(rows) <= LISTED else "[...]"
    remedy = f"<ignore={shown}> to leave {'it' if len(rows) == 1 else 'them'} out"
    if wanted.labels is not None:
        return f"Add {remedy}"
    side = "" if wanted.samples_in_columns else "<samples='columns'> and "
    labels = f"<labels={literal(repr(rows[0]))}>"
    return f"Add {side}{labels} if that row has the known classes, or {remedy}"


def _strays(sheet: Sheet, mask: Mask) -> str:
    """Return the sentences on cells among numbers, equal ones together."""
    places: dict[str, list[str]] = {}
    for i, j in np.argwhere(mask):
        places.setdefault(sheet.cells[i, j], []).append(sheet.place(i, j))
    names = sheet.variables.names[mask.any(axis=0)].tolist()
    (first, found), *others = places.items()
    shown = [f"{first!r}{_asked(first)}"]
    shown += [f"{text!r} at {at[0]}{_asked(text)}" for text, at in others[: LISTED - 1]]
    rest = int(mask.sum()) - len(shown)
    more = f"{rest} more cell{'s' * (rest > 1)}"
    if others:
        said = f"{found[0]}: {in_a_row([*shown, more] if rest else shown)} are not numbers"
    else:
        said = f"{found[0]}: {first!r} is not a number{_asked(first)}"
        said += f", and {more} {'have' if rest > 1 else 'has'} the same text" * bool(rest)
    return f"{literal(said)}. {_stray_remedy(int(mask.sum()), list(places), names)}"


def _stray_remedy(count: int, texts: list[str], columns: list[str]) -> str:
    """Return the advice for ``count`` cells, whose texts may be marks of a missing value."""
    marks = [text for text in texts if not _meant(text)]
    which = "it marks a missing value" if len(marks) == 1 else "they mark missing values"
    without = f"to treat {'it' if count == 1 else 'them'} as missing"
    ways = ["correct the cell" if count == 1 else "correct the cells"]
    if len(texts) <= LISTED:  # more are no marks
        why = which if marks else without
        ways.append(f"add <missing={literal(marks or texts)}> {'if ' * bool(marks)}{why}")
    if len(columns) <= LISTED:
        some = "columns" if len(columns) > 1 else "column"
        ways.append(f"add <ignore={literal(columns)}> to leave the {some} out")
    *first, last = ways
    todo = f"{', '.join(first)}, or {last}" if first else last
    return todo[0].upper() + todo[1:]


def _asked(text: str) -> str:
    meant = _meant(text)
    return f" (did you mean {meant}?)" if meant else ""


def _meant(text: str) -> str | None:
    """Return the number that a cell such as "21.3o" or "1..5" was meant to be; None if none."""
    typed = re.sub(r"\.\.+|\s+|(?<=\d),(?=\.)", lambda found: "." * ("." in found[0]), text)
    number = typed.translate(DIGITS)
    digits = sum(map(str.isdigit, text))
    return number if digits and is_number(number) and 2 * digits >= len(text) - 1 else None
