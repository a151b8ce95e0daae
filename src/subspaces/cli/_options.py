"""Arguments and options that several commands share, and how their words are read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

# The names of `subspaces.comparison.METHODS`, without importing what they need.
METHOD_NAMES = (
    "PSC", "KSubspaces", "EnsembleKSubspaces", "SSC", "SCC", "SLBF", "GPCA", "MPPCA", "MCFA",
    "MCtFA", "SparseKMeans", "KMeans",
)  # fmt: skip


class Side(StrEnum):
    """Where the samples are in a file."""

    rows = "rows"
    columns = "columns"


Data = Annotated[
    Path,
    typer.Argument(
        help="Table of numbers: .csv, .tsv, .txt (or .gz of these), .gct, .npz, .parquet, .h5ad.",
        metavar="DATA",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        help="model.npz, as subspaces fit wrote it.", metavar="MODEL", show_default=False
    ),
]
Samples = Annotated[Side, typer.Option(help="Are the samples the rows or the columns?")]
Labels = Annotated[
    str | None,
    typer.Option(
        help="Column with known classes, to compare with; not used to cluster.",
        metavar="COLUMN",
        show_default=False,
    ),
]
Classes = Annotated[
    Path | None,
    typer.Option(
        help="CLS file with known classes, to compare with.", metavar="FILE", show_default=False
    ),
]
Floor = Annotated[
    float | None,
    typer.Option(help="Raise lower values to this first.", metavar="VALUE", show_default=False),
]
Log = Annotated[bool, typer.Option("--log", help="Take log2(1 + value).")]
LogOrNot = Annotated[
    bool | None,
    typer.Option(
        "--log/--no-log",
        help="Take log2(1 + value), or do not; a preset decides by itself unless told.",
        show_default=False,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        help="What the values are, for --preset expression: intensities, log, ratios or counts; "
        "found out unless given.",
        metavar="NAME",
        show_default=False,
    ),
]
Scale = Annotated[
    bool, typer.Option("--scale", help="Bring each variable to mean 0 and standard deviation 1.")
]
NormalScores = Annotated[
    bool,
    typer.Option(
        "--normal-scores",
        help="Choose the number of clusters on normal scores of each variable: for heavy tails.",
    ),
]
TopVariables = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Keep so many variables, those that vary most.",
        metavar="N",
        show_default=False,
    ),
]
MaxDims = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --dims auto, try dimensions up to N; 5 unless given.",
        metavar="N",
        show_default=False,
    ),
]
Affine = Annotated[
    bool,
    typer.Option("--affine", help="Give clusters centres of their own, away from the origin."),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed; the same seed gives the same answer.", metavar="N")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite earlier results.")]


def given(**parameters: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in parameters.items() if value is not None}


def one_or_auto(text: str, option: str) -> int | str:
    """``3`` or ``auto``."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{option} {text!r} is not a number; 3, or auto, would do") from None


def per_cluster(text: str, option: str) -> int | str | list[int]:
    """``2``, ``1,2,2`` or ``auto``."""
    if text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text!r} is not a number; 2, one per cluster as 1,2,2, or auto would do"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def check_count(numbers: int | str | list[int], n_clusters: int | str, option: str) -> None:
    """A list has one number per cluster, whose number is then given."""
    if not isinstance(numbers, list) or len(numbers) == n_clusters:
        return
    raise ValueError(
        f"{option} has {len(numbers)} numbers for --clusters {n_clusters}; one for all, or one per "
        "cluster, would do"
    )


def check_limit(limit: int | None, asked: int | str | list[int] | None, option: str) -> None:
    """A limit is for what is left open."""
    if limit is not None and asked != "auto":
        raise ValueError(
            f"--max-{option} is for --{option} auto. Use --{option} auto, or leave it out"
        )


def method_named(text: str) -> str:
    """``psc`` or ``PSC``."""
    known = {name.lower(): name for name in METHOD_NAMES}
    if text.lower() not in known:
        raise ValueError(f"method {text!r} is unknown; {', '.join(METHOD_NAMES)} would do")
    return known[text.lower()]
