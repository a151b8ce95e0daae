"""Reading and preparing of the table that a command gets, with notes and warnings on stderr."""

import csv
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.cli._options import NewSamples, Source, Values, ValuesOrPreset
from subspaces.app.cli._say import as_warning, note, working
from subspaces.app.tables import doubts, hold_counts, read_table
from subspaces.messages import Advice, Message, listed, message_of, noted, percent, use
from subspaces.named_table import Table, first_gap, missing_values, without_empty, without_missing
from subspaces.preparation import Preparation, learn_preparation, prepare

# What is said of variables that were scaled unasked.
SCALED = "The units differ, so each variable was scaled. Add --no-scale to prevent this."
# A variable is warned of if it holds more than this share of the variance and its standard
# deviation is UNLIKE times the usual one. Intensities of 29 expression sets stay below 0.12, counts
# of single cells exceed it.
MOST_ALONE = 0.2
# If a variable misses more than this share of its values, a note says how to leave it out.
HALF = 0.5


def read_input(
    source: NewSamples, variables: Iterable[str] | None = None, marks: Sequence[str] = ()
) -> tuple[Table, list[Message]]:
    """Return the table in a file and doubts about it; print its size, first names and gaps.

    variables: those of a model, for new samples of it; by default the table is one to learn from,
    and has to have differences between samples, and some value of each variable. marks: of missing
    values, besides those that were typed.
    """
    table, path = _read(source, variables, marks), source.data
    most_missing = source.drop_missing if isinstance(source, Source) else None
    dropped: list[Message] = []
    if most_missing is not None:
        table, dropped = _with_enough_values(table, most_missing, source)
    n, p = table.data.shape
    gaps = missing_values(table.data)
    if variables is None:
        _check_samples(table, source)
        _check_variables(table, path)
    missed = "" if gaps is None else f". {percent(gaps.share)} of the values are missing"
    note(
        f"Read {path.name}: {n:,} sample{'s' * (n != 1)} ({_first(table.sample_names)}) x "
        f"{p:,} variable{'s' * (p != 1)} ({_first(table.variable_names)}){missed}"
    )
    doubted = [*map(message_of, doubts(table, source.samples)), *dropped]
    if gaps is not None and variables is None and most_missing is None:
        doubted += _mostly_missing(table)
    return table, doubted


def _read(source: NewSamples, variables: Iterable[str] | None, marks: Sequence[str]) -> Table:
    try:
        with working(f"Reading {source.data.name}"):
            table = read_table(
                source.data,
                samples=source.samples,
                labels=source.labels,
                ignore=source.ignored,
                variables=variables,
                missing=(*source.marks, *marks),
                sample_names=source.sample_names,
                ignore_text=source.ignore_text,
                drop_empty=source.drop_empty,
            )
        if source.classes is None:
            return table
        from subspaces.datasets import with_classes

        return with_classes(table, source.classes)
    except OSError as error:
        raise ValueError(f"{error.filename or source.data}: {error.strerror or error}") from error


def _check_samples(table: Table, source: NewSamples) -> None:
    """Raise ValueError for one sample, or for samples that are all equal."""
    if len(table.data) == 1:
        other = "rows" if source.samples == "columns" else "columns"
        raise ValueError(
            f"{source.data} has only one sample. If the samples are in the {other}, add "
            f"--samples {other}."
        )
    if (table.data == table.data[0]).all():
        raise ValueError(f"{source.data}: {_without_differences(table)}.")


def _without_differences(table: Table) -> str:
    """Return what is wrong with a table whose samples are all equal, in words."""
    if not table.left_out:
        return "all samples are identical. Check the table"
    one, names = len(table.variable_names) == 1, listed(table.variable_names)
    left = f"variable that remains ({names}) is" if one else f"variables that remain ({names}) are"
    return f"the {left} constant. Try a larger --drop-missing"


def refuse_gaps(table: Table, path: Path, instead: str) -> None:
    """Raise ValueError if a value is missing, for a command that needs every one.

    instead: what to do besides, or if fewer than two variables are complete.
    """
    gap = first_gap(table)
    if gap is not None:
        complete = int(np.count_nonzero(~np.isnan(table.data).any(axis=0)))
        leave_out = "add --drop-missing 0 to leave out variables with missing values, or "
        todo = leave_out * (complete > 1) + instead
        raise ValueError(
            f"{path}: this command needs a complete table, but {gap}. {todo[0].upper()}{todo[1:]}"
        )


def _check_variables(table: Table, path: Path) -> None:
    """Raise ValueError for variables without any value."""
    empty = np.flatnonzero(np.isnan(table.data).all(axis=0))
    if len(empty):
        raise ValueError(
            f"{path}: all values of {_quoted(table.variable_names, empty)} are missing. Add "
            "--drop-missing 0.5 to leave out variables that are mostly missing."
        )


def _mostly_missing(table: Table) -> list[Message]:
    """Return a note on variables with more than half of their values missing, if there are any."""
    gone = np.flatnonzero(np.isnan(table.data).mean(axis=0) > HALF)
    names = [table.variable_names[j] for j in gone]
    if not 0 < len(names) < len(table.variable_names):
        return []
    fact = "{n:#variable is|variables are} more than half empty: {names}."
    advice = Advice(f"add <drop_missing={HALF:g}> to leave out such variables", "drop_missing")
    facts = {"n": len(names), "names": names}
    return [Message("mostly_missing", fact, facts, (advice,), "DataWarning")]


def _with_enough_values(
    table: Table, most: float, source: NewSamples
) -> tuple[Table, list[Message]]:
    """Return the table less the variables with more than a share of their values missing.

    A note says which they are. Samples that are left without any value go, too, or raise
    ValueError.
    """
    kept = without_missing(table, most)
    if kept is table:
        return table, []
    empty = np.flatnonzero(np.isnan(kept.data).all(axis=1))
    if len(empty) and not source.drop_empty:
        raise ValueError(
            f"{source.data}: after leaving out {listed(kept.left_out)}, no values are left for "
            f"{_quoted(table.sample_names, empty)}. Add --drop-empty, or try a larger "
            "--drop-missing."
        )
    fact = "Left out {n:#variable} with too many missing values: {names}."
    left = noted("left_out_missing", fact, n=len(kept.left_out), names=list(kept.left_out))
    return without_empty(kept), [left]


def with_left_out(preparation: Preparation, table: Table, source: Source) -> Preparation:
    """Return the preparation with what was left out, the marks of missing values, and units."""
    ignored, dropped, marks = map(list, (source.ignored, table.left_out, source.marks))
    return replace(
        preparation,
        ignored=ignored or None,
        dropped=dropped or None,
        missing=marks or None,
        units=dict(table.units) or None,
    )


def what_was_prepared(taken_for: str | None, preparation: str) -> list[str]:
    """Return sentences on what was done to the values and why; SCALED says enough by itself."""
    if taken_for == SCALED:
        return [as_warning(SCALED)]
    done = [f"Prepared: {preparation}."] if preparation else []
    return [*filter(None, [taken_for]), *done]


def say_preparation(preparation: Preparation) -> None:
    """Print what was done to the values and why, if anything was."""
    for line in what_was_prepared(preparation.taken_for, str(preparation)):
        note(line)


def prepare_values(
    table: Table, values: Values, *, may_scale: bool = False
) -> tuple[Table, Preparation, list[Message]]:
    """Return the prepared table, the preparation, and what is doubtful in the values.

    may_scale: whether variables are scaled if their units differ, and nothing else was asked for.
    """
    from subspaces.psc.doubts import UNLIKE_SCALES, differ_in_units

    steps: dict[str, Any] = {"floor": values.floor, "log": bool(values.log)}
    steps["top_variables"] = values.top_variables
    learned = learn_preparation(table, **steps, scale=bool(values.scale))
    prepared = prepare(table, learned)
    differ = values.scale is None and differ_in_units(prepared.data)
    if differ and may_scale:
        learned = replace(learn_preparation(table, **steps, scale=True), taken_for=SCALED)
        prepared = prepare(table, learned)
    found = _constants(prepared)
    if not values.log and hold_counts(table):
        fact = (
            "The values look like gene counts, so samples with many reads and genes with "
            "large counts dominate the result."
        )
        presets = ", or try --preset cells or --preset expression"
        use_log = Advice(f"add --log{presets * isinstance(values, ValuesOrPreset)}", "log")
        found.append(Message("counts", fact, {}, (use_log,), "DataWarning"))
    if values.scale is None and learned.spread is None:
        found += _holds_most(prepared) + [UNLIKE_SCALES] * differ
    return prepared, learned, found


def _constants(table: Table) -> list[Message]:
    """Return a note on variables that are constant, if there are any."""
    constant = np.flatnonzero(np.nanmax(table.data, 0) == np.nanmin(table.data, 0))
    if not len(constant):
        return []
    facts = {"count": len(constant), "names": [table.variable_names[j] for j in constant]}
    fact = "{count:#variable is|variables are} constant: {names}."
    return [noted("constant_variables", fact, **facts)]


def _holds_most(table: Table) -> list[Message]:
    """Return a note on a variable that holds much of the variance by itself, if one does."""
    from subspaces.psc.doubts import UNLIKE

    variances = np.nanvar(table.data, axis=0)
    usual = np.median(variances[variances > 0]) if variances.any() else 1.0
    largest = int(np.argmax(variances))
    share = variances[largest] / (variances.sum() or 1.0)
    if share < MOST_ALONE or variances[largest] < UNLIKE**2 * usual:
        return []
    name = table.variable_names[largest]
    fact = "Variable {name!r} makes up {share:%} of the variance, so it dominates the result."
    leave_out = Advice("<ignore={names!r}> if it is not a measurement", "ignore", [name])
    facts = {"name": name, "names": [name], "share": float(share)}
    return [Message("holds_most", fact, facts, (use("scale", True), leave_out), "DataWarning")]


def _quoted(names: Sequence[str], places: Iterable[int]) -> str:
    return listed([repr(names[place]) for place in places])


def _first(names: tuple[str, ...]) -> str:
    shown = [name if len(name) <= 20 else name[:17] + "..." for name in names[:2]]
    return ", ".join(shown) + (", ..." if len(names) > 2 else "")


def read_metadata(path: Path | None, sample_names: Sequence[str]) -> Any:
    """Return the frame of a file of metadata, a row for each sample; None without a file."""
    if path is None:
        return None
    import pandas as pd

    try:
        frame = pd.read_csv(path, sep=None, engine="python", index_col=0, dtype={0: str})
    except UnicodeError:
        raise ValueError(f"{path} is not UTF-8. Save it as CSV UTF-8.") from None
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: {str(error).splitlines()[0].rstrip('.')}.") from error
    frame.index = frame.index.astype(str)
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        raise ValueError(
            f"{path}: there are two rows for the sample {twice[0]!r}. Keep one of them."
        )
    absent = [name for name in sample_names if name not in frame.index]
    if absent:
        raise ValueError(
            f"{path}: there is no row for the sample {absent[0]!r}. The first column must have the "
            "names of the samples."
        )
    return frame.loc[list(sample_names)]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
