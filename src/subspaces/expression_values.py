"""What the values of an expression table are: intensities, logarithms, ratios, shares or counts.

The first of these rules that applies decides:

=============================================================  ===========
facts of the table                                             taken for
=============================================================  ===========
negative values; 99 % within -30 to 30; 10 % or more negative  ratios (logged)
negative values; 99 % within -30 to 30; fewer negative         log
negative values; more beyond 30                                intensities
all positive; 99 % within 1/30 to 30; a quarter to three
quarters below 1; the largest at least 10                      ratios
whole numbers; none above 30                                   counts
none above 1                                                   shares
none above 30                                                  log
none above 100; 10 % or more from 20 up; not whole             shares (percentages)
1 % or more zeros                                              counts
more than half below 20, and some below 1                      counts
otherwise                                                      intensities
=============================================================  ===========
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from subspaces._types import Array, Counts, ExpressionKind
from subspaces.messages import (
    Advice,
    DataWarning,
    ParameterError,
    SubspacesWarning,
    literal,
    percent,
)
from subspaces.preparation import as_figure

# A logarithm to base 2 beyond this would be of an intensity above 2^30, which no scanner gives.
LARGEST_LOGARITHM = 30.0
# Least intensity that arrays can distinguish from noise. 20 is the usual choice.
ARRAY_FLOOR = 20.0
# Share of values that may lie outside a range, as outliers.
FEW = 0.01
# Share of negative values from which a table is centred at zero; logarithms have hardly any.
CENTRED = 0.1
# Share of whole values from which a table holds whole numbers; the rest are filled-in cells.
WHOLE = 0.99
# Logarithms about 1 do not reach this (10 is a natural logarithm of 22,000); ratios do.
LARGEST_RATIO = 10.0
# Share of values from 20 up from which a table that ends at 100 holds percentages; in small tables
# of CPM or TPM few genes reach so high.
HIGH = 0.1
# Names of columns that hold the origin of samples, in tables whose other columns are genes.
BATCHES = {"batch", "batch_id", "plate", "lane", "donor", "patient", "study", "chip", "array_id"}
# Most values that are looked at at once.
BLOCK = 1 << 20
ROUNDED_RATIOS = Advice("set <kind='ratios'> if they are rounded log ratios", "kind", "ratios")
FOR_ARRAYS = Advice(
    "use <recipes.expression> if these are microarrays",
    command="use --preset expression if these are microarrays",
)


# The fields of `Reading` that are shares of the values, in the order of `_counts`.
SHARES = ("negative", "zero", "whole", "below_one", "below_floor", "beyond")


@dataclass(frozen=True)
class Reading:
    """What a table was taken for, and the facts that decided it.

    Attributes
    ----------
    kind : str
        What the values are taken for.
    because : str
        The facts that decided it, in words.
    smallest, largest : float
        The smallest and the largest value.
    negative, zero, whole, below_one, below_floor, beyond : float
        Shares of the values: below 0; 0; whole numbers; below 1; below 20; beyond 30 either way,
        or below 1/30 if all are positive.
    """

    kind: ExpressionKind
    because: str
    smallest: float
    largest: float
    negative: float
    zero: float
    whole: float
    below_one: float
    below_floor: float
    beyond: float


def read_values(X: Any) -> Reading:
    """Tell what the values of a table are, from facts that a reader can check.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, p)
        Samples x genes, finite.

    Returns
    -------
    Reading
    """
    facts = _sparse_facts(X) if sparse.issparse(X) else _facts(X)
    kind, because = _decided(**facts)
    return Reading(kind, because, **facts)


def doubt(reading: Reading) -> SubspacesWarning | None:
    """Return a warning if whole numbers are negative, and are no scanner's either; None otherwise.

    What scanners give after subtracting the background lies beyond 30, and is negative more often
    than 0. Other whole numbers may be counts with marks for missing ones, calls, rounded ratios.
    """
    of_scanner = reading.beyond > FEW and reading.zero <= reading.negative
    if reading.negative == 0 or reading.whole < WHOLE or of_scanner:
        return None
    words = {"ratios": "log ratios", "log": "logarithms"}.get(reading.kind, reading.kind)
    return DataWarning(
        "negative_whole",
        "The values are whole numbers, but {negative:%} are negative, so they were treated as "
        "{words}.",
        Advice("check the table if they should be counts"),
        negative=reading.negative,
        words=words,
        smallest=reading.smallest,
        largest=reading.largest,
    )


def read_cells(X: Any) -> Reading:
    """Tell whether a table of single cells holds counts, their logarithms or scaled logarithms.

    Negative values are taken for scaled logarithms, which other tools leave behind, unless they lie
    beyond 30 or are whole numbers, which no logarithms are; other whole numbers, and values above
    30, for counts; everything else for logarithms.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, p)
        Cells x genes, finite.

    Returns
    -------
    Reading
    """
    found = read_values(X)
    span = _span(found.smallest, found.largest)
    if found.negative > 0 and found.beyond > FEW:
        fact = f"Values from {span} cannot be counts or logarithms of counts."
        raise ParameterError("X", fact, Advice("pass the raw counts"), FOR_ARRAYS)
    if found.negative > 0 and found.whole >= WHOLE:
        fact = f"Single-cell values cannot be negative whole numbers, but these go from {span}."
        raise ParameterError("X", fact, Advice("check the table"), ROUNDED_RATIOS)
    if found.negative > 0:
        return found
    if found.whole >= WHOLE:
        return replace(found, kind="counts", because=f"whole numbers from {span}")
    if found.largest > LARGEST_LOGARITHM:
        return replace(found, kind="counts", because=f"from {span}")
    return replace(found, kind="log", because=f"none above {as_figure(found.largest)}")


def _decided(
    smallest: float,
    largest: float,
    negative: float,
    zero: float,
    whole: float,
    below_one: float,
    below_floor: float,
    beyond: float,
) -> tuple[ExpressionKind, str]:
    """Return the kind of the values, and why, in words."""
    if negative > 0:
        if beyond > FEW:
            why = f"{percent(beyond)} above 30 and some negative, as scanners give them"
            return "intensities", why
        if negative >= CENTRED:
            return "ratios", f"{percent(negative)} negative, range {_span(smallest, largest)}"
        return "log", f"few negative, range {_span(smallest, largest)}"
    if smallest > 0 and beyond <= FEW and 0.25 <= below_one <= 0.75 and largest >= LARGEST_RATIO:
        return "ratios", f"all positive, {percent(below_one)} below 1"
    if whole >= WHOLE and largest <= LARGEST_LOGARITHM:
        return "counts", f"whole numbers from {_span(smallest, largest)}"
    is_percentage = LARGEST_LOGARITHM < largest <= 100 and below_floor <= 1 - HIGH
    if whole < WHOLE and (largest <= 1 or is_percentage):
        return "shares", f"from {_span(smallest, largest)}"
    if largest <= LARGEST_LOGARITHM:
        return "log", f"none above {as_figure(largest)}"
    if zero >= FEW:
        kind = "whole numbers" if whole >= WHOLE else f"none negative, up to {as_figure(largest)}"
        return "counts", f"{kind}, {percent(zero)} zeros"
    if below_floor > 0.5 and smallest < 1:
        why = f"{percent(below_floor)} below {ARRAY_FLOOR:g}, down to {as_figure(smallest)}"
        return "counts", why
    zeros = f"{percent(zero)} zeros" if zero else "no zeros"
    return "intensities", f"from {_span(smallest, largest)}, {zeros}"


def _facts(X: Array) -> dict[str, float]:
    """Return the fields of `Reading` that are numbers, by name; computed in blocks of rows."""
    smallest = float(X.min())
    step = max(BLOCK // X.shape[1], 1)
    counted = np.zeros(len(SHARES), dtype=np.intp)
    for first in range(0, len(X), step):
        counted += _counts(X[first : first + step], smallest > 0)
    shares = dict(zip(SHARES, (counted / X.size).tolist(), strict=True))
    return {"smallest": smallest, "largest": float(X.max()), **shares}


def _sparse_facts(X: Any) -> dict[str, float]:
    """Return what `_facts` does, of a CSR matrix."""
    size = X.shape[0] * X.shape[1]
    zeros = size - len(X.data)
    # An entry that is not stored is zero, whole, below 1 and below the floor.
    counted = _counts(X.data, False) + zeros * np.array([0, 1, 1, 1, 1, 0])
    shares = dict(zip(SHARES, (counted / size).tolist(), strict=True))
    outer = [*([0.0] if zeros else []), *([X.data.min(), X.data.max()] if len(X.data) else [])]
    return {"smallest": float(min(outer)), "largest": float(max(outer)), **shares}


def _counts(values: Array, positive: bool) -> Counts:
    """Return how many values each of SHARES holds for; positive: whether all of the table are."""
    beyond = np.abs(values) > LARGEST_LOGARITHM
    if positive:
        beyond |= values < 1 / LARGEST_LOGARITHM
    whole = values == np.rint(values)
    marks = (values < 0, values == 0, whole, values < 1, values < ARRAY_FLOOR, beyond)
    return np.array([np.count_nonzero(mark) for mark in marks])


def counts_hint(X: Any, name: str) -> SubspacesWarning | None:
    """Return a warning if a table (n, p) of cells holds counts and no logarithms; None otherwise.

    name: of the table. Genes with missing cells are not looked at.
    """
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=float)
        X = X[:, np.isfinite(X).all(axis=0)]
    if 0 in X.shape:
        return None
    found = read_values(sparse.csr_array(X) if sparse.issparse(X) else X)
    if found.kind != "counts" or found.largest == 0:
        return None
    return DataWarning(
        "counts",
        "{table} seems to contain counts ({because}), so cells differ by their total count.",
        Advice("normalise and take logs first: scanpy.pp.normalize_total, then scanpy.pp.log1p"),
        table=name,
        because=found.because,
    )


def batch_hint(names: Iterable[Any]) -> SubspacesWarning | None:
    """Return a warning if one of the names of genes is that of a batch; None otherwise."""
    found = [str(name) for name in names if str(name).lower() in BATCHES]
    if not found:
        return None
    fact = "Columns {names:'} look like batches but are used as genes."
    if len(found) == 1:
        fact = "Column {names:'} looks like a batch but is used as a gene."
    them = "it" if len(found) == 1 else "them"
    return DataWarning(
        "batch",
        fact,
        Advice(f"leave {them} out", "ignore", found, command=f"add <ignore={literal(found)}>"),
        names=found,
    )


def _span(smallest: float, largest: float) -> str:
    return f"{as_figure(smallest)} to {as_figure(largest)}"
