"""What to say of cells that are no numbers: all at once, where they are, and what to do."""

import re
from collections.abc import Iterable, Sequence

from subspaces.app.tables._block import Block, is_text, text_columns
from subspaces.app.tables._commas import Notation
from subspaces.app.tables._grid import is_number
from subspaces.app.tables._table import CLASSES
from subspaces.app.tables._wanted import Wanted

# Columns or rows of text that a message names one by one; if there are more it counts them.
MOST_NAMED = 10
# Different texts in place of numbers that a message names, and columns with such cells.
LISTED = 5
# Letters that are typed, or read by a scanner, in place of digits.
DIGITS = str.maketrans("oOlI", "0011")

Cells = Sequence[tuple[int, int]]


def bad_cells_in_words(block: Block, bad: Cells, notation: Notation, wanted: Wanted) -> str:
    """Return where the ``bad`` cells (i, j) of a block are, and what to do about each kind.

    The kinds are columns of text, rows of text, cells here and there, and numbers whose commas may
    mean two things.
    """
    texts = text_columns(block)
    if len(texts) == len(block.columns):
        i, j = bad[0]
        return (
            f"{block.place(i, j)}: {block.cells[i][j]!r} is not a number, and no column holds "
            "numbers. Use a table of numbers"
        )
    names = dict(texts)
    in_columns = [(i, j) for i, j in bad if block.column_names[j] in names]
    others = [(i, j) for i, j in bad if block.column_names[j] not in names]
    rows = _text_rows(block, {i for i, _ in others}, names)
    mostly_text = set(rows)
    in_rows = [(i, j) for i, j in others if i in mostly_text]
    rest = [(i, j) for i, j in others if i not in mostly_text]
    commas = [(i, j) for i, j in rest if notation.remedy(block.cells[i][j])]
    strays = [(i, j) for i, j in rest if not notation.remedy(block.cells[i][j])]
    said = []
    if in_columns:
        said.append(_refused(block, in_columns, text_remedy(texts, len(block.cells), wanted)))
    if in_rows:
        named = [block.row_names[i] for i in rows]
        said.append(_refused(block, in_rows, _row_remedy(named, wanted)))
    if strays:
        said.append(_strays(block, strays))
    if commas:
        i, j = commas[0]
        said.append(f"{block.place(i, j)}: {notation.remedy(block.cells[i][j])}")
    return ". Also ".join(said)


def text_remedy(texts: Sequence[tuple[str, int]], n_rows: int, wanted: Wanted) -> str:
    """Return the advice for columns of text, each given by name and number of distinct cells."""
    names = [name for name, _ in texts]
    if len(texts) > MOST_NAMED:
        shown = ", ".join(names[:3])
        return f"Use ignore=[...] to leave out the {len(texts)} columns of text ({shown}, ...)"
    what = "this column" if len(texts) == 1 else "the columns"
    remedy = f"Use ignore={names} to leave out {what} of text"
    # One with a name as classes have, or the one that repeats itself most, may hold the classes.
    several = [
        (name.lower() not in CLASSES, count, name)
        for name, count in texts
        if 1 < count <= n_rows / 2
    ]
    if not several or wanted.samples_in_columns or wanted.labels is not None:
        return remedy
    *_, classes = min(several, key=lambda each: each[:2])
    which = "it" if len(texts) == 1 else "that one"
    return f"{remedy}, or labels={classes!r} if {which} holds the known classes"


def _row_remedy(rows: Sequence[str], wanted: Wanted) -> str:
    """Return the advice for rows of text, by their names."""
    named = list(rows) if len(rows) <= MOST_NAMED else "[...]"
    remedy = f"ignore={named} to leave {'it' if len(rows) == 1 else 'them'} out"
    if wanted.labels is not None:
        return f"Use {remedy}"
    side = "" if wanted.samples_in_columns else "samples='columns', "
    return f"Use {side}labels={rows[0]!r} if the row holds the known classes, or {remedy}"


def _text_rows(block: Block, rows: Iterable[int], text_names: Iterable[str]) -> list[int]:
    """Return which of the rows hold mostly text, columns of text aside."""
    beside = set(text_names)
    places = [j for j, name in enumerate(block.column_names) if name not in beside]
    return [
        i for i in sorted(rows) if 2 * sum(is_text(block.cells[i][j]) for j in places) > len(places)
    ]


def _refused(block: Block, bad: Cells, remedy: str) -> str:
    i, j = bad[0]
    return f"{block.place(i, j)}: {block.cells[i][j]!r} is not a number. {remedy}"


def _strays(block: Block, bad: Cells) -> str:
    """Return the sentences on cells among numbers, equal ones told together."""
    found: dict[str, list[tuple[int, int]]] = {}
    for i, j in bad:
        found.setdefault(block.cells[i][j], []).append((i, j))
    (first, cells), *others = found.items()
    names = list(dict.fromkeys(block.column_names[j] for _, j in bad))
    more = f" (one of {len(cells)} such cells{' in this column' * (len(names) == 1)})"
    said = f"{block.place(*cells[0])}: {first!r} is not a number{more * (len(cells) > 1)}"
    said += _asked(first)
    listed = [_placed(block, text, cells) for text, cells in others[: LISTED - 1]]
    if listed:
        said += f", nor {'is' if len(others) == 1 else 'are'} {', '.join(listed)}"
    left = sum(len(cells) for _, cells in others[LISTED - 1 :])
    if left:
        said += f", and {left} other cell{'s' * (left > 1)}"
    return f"{said}. {_stray_remedy(len(bad), list(found)[:LISTED], names)}"


def _placed(block: Block, text: str, cells: Cells) -> str:
    more = len(cells) - 1
    again = f" and in {more} more cell{'s' * (more > 1)}" if more else ""
    return f"{text!r} at {block.place(*cells[0])}{again}{_asked(text)}"


def _stray_remedy(count: int, texts: Sequence[str], columns: Sequence[str]) -> str:
    """Return the advice for ``count`` cells, whose texts may be marks of a missing value."""
    ways = ["a number there" if count == 1 else "numbers there"]
    marks = [text for text in texts if not _meant(text)]
    if not marks:
        ways.append(f"missing={list(texts)} to do without {'it' if count == 1 else 'them'}")
    else:
        mark = "that marks a missing value" if len(marks) == 1 else "these mark missing values"
        ways.append(f"missing={list(marks)} if {mark}")
    if len(columns) <= LISTED:
        column = "column" if len(columns) == 1 else "columns"
        ways.append(f"ignore={list(columns)} to leave the {column} out")
    *first, last = ways
    return f"Use {', '.join(first)}, or {last}" if first else f"Use {last}"


def _asked(text: str) -> str:
    meant = _meant(text)
    return f" (is {meant} meant?)" if meant else ""


def _meant(text: str) -> str | None:
    """Return the number that a cell such as "21.3o" or "1..5" was meant to be; None if none."""
    typed = re.sub(r"\.\.+|\s+|(?<=\d),(?=\.)", lambda found: "." * ("." in found[0]), text)
    number = typed.translate(DIGITS)
    digits = sum(map(str.isdigit, text))
    return number if digits and is_number(number) and 2 * digits >= len(text) - 1 else None
