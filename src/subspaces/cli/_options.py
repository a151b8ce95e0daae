"""Arguments and options that several commands share, and how their words are read."""

import csv
from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

# What the library knows by name, without importing what that needs; a test holds them to it.
METHOD_NAMES = (
    "PSC", "KSubspaces", "EnsembleKSubspaces", "SSC", "SCC", "SLBF", "GPCA", "MPPCA", "MCFA",
    "MCtFA", "SparseKMeans", "KMeans",
)  # fmt: skip
ENDINGS = (
    ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".gct", ".gct.gz", ".xlsx", ".npz",
    ".parquet", ".h5ad",
)  # fmt: skip
CRITERIA = ("auto", "influence", "loo", "hat", "residual", "likelihood", "loo_projection")
SCORES = ("auto", "press", "press_points", "press_sum", "likelihood", "free", "sod", "bic")
KINDS = ("intensities", "log", "ratios", "counts")


def there(path: Path | None) -> Path | None:
    """The path of a file that is there; what is not is answered before anything is read."""
    if path is None or path.is_file():
        return path
    if path.exists():
        raise ValueError(f"{path} is not a file. Use the path of a file")
    names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    alike = [name for name in names if Path(name).suffix.lower() == path.suffix.lower()]
    near = get_close_matches(path.name, alike or names if path.suffix != ".cls" else alike, n=1)
    use = f". Use {path.with_name(near[0])}" if near else ""
    raise ValueError(f"{path}: No such file or directory{use}")


def table_there(path: Path) -> Path:
    """The path of a table that is there, of a kind that can be read."""
    there(path)
    if not path.name.lower().endswith(ENDINGS):
        ending = path.suffix.lower() or "nothing"
        if ending in (".xls", ".ods", ".numbers"):
            raise ValueError(f"{path}: {ending} files are not read. Save it as .xlsx or .csv")
        raise ValueError(
            f"{path}: files that end in {ending} are not known. Use {', '.join(ENDINGS)}"
        )
    return path


def model_there(path: Path) -> Path:
    """The path of a model, or of the folder with one; a fit may still be to put it into place."""
    path = path / "model.npz" if path.is_dir() else path
    if not any(path.parent.glob(".finished-*")):
        there(path)
    return path


class Side(StrEnum):
    """Where the samples are in a file."""

    rows = "rows"
    columns = "columns"


Data = Annotated[
    Path,
    typer.Argument(
        help="Table of numbers: .csv, .tsv, .txt (or .gz of these), .gct, .xlsx, .npz, .parquet, "
        ".h5ad.",
        metavar="DATA",
        callback=table_there,
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        help="model.npz as subspaces fit wrote it, or its folder.",
        metavar="MODEL",
        callback=model_there,
        show_default=False,
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
        help="CLS file with known classes, to compare with.",
        metavar="FILE",
        callback=there,
        show_default=False,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, several as a,b: annotation, say. Rows, too, by their names.",
        metavar="COLUMN",
        show_default=False,
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
        help="Take log2(1 + value), with a preset as the kind of values asks, or take none.",
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


def names(ignore: Sequence[str] | None, labels: str | None = None) -> tuple[str, ...]:
    """The names in comma lists; one with a comma in it goes in double quotes."""
    lines = csv.reader(ignore or (), skipinitialspace=True)
    found = tuple(name for line in lines for name in line)
    if labels in found:
        raise ValueError(f"--labels and --ignore both name {labels}. Use one of the two")
    return found


def check_known(text: str | None, known: Sequence[str], option: str) -> None:
    """Refuse a word that is none of those."""
    if text is not None and text not in known:
        raise ValueError(f"{option} {text} is unknown. Use {', '.join(known)}")


def check_classes(labels: str | None, classes: Path | None) -> None:
    """Known classes come from one place."""
    if labels is not None and classes is not None:
        raise ValueError("--labels and --classes exclude each other. Use one of the two")


def one_or_auto(text: str, option: str) -> int | str:
    """``3`` or ``auto``."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{option} {text!r} is not a number. Use 3, say, or auto") from None


def per_cluster(text: str, option: str) -> int | str | list[int]:
    """``2``, ``1,2,2`` or ``auto``."""
    if text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text!r} is not a number. Use 2, one per cluster as 1,2,2, or auto"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def check_count(numbers: int | str | list[int], n_clusters: int | str, option: str) -> None:
    """A list has one number per cluster, whose number is then given."""
    if not isinstance(numbers, list) or len(numbers) == n_clusters:
        return
    raise ValueError(
        f"{option} has {len(numbers)} numbers for --clusters {n_clusters}. Use one for all, or one "
        "per cluster"
    )


def check_limit(limit: int | None, asked: int | str | list[int] | None, option: str) -> None:
    """A limit is for what is left open."""
    if limit is not None and asked != "auto":
        raise ValueError(
            f"--max-{option} is for --{option} auto. Use --{option} auto, or leave it out"
        )


def method_named(text: str, option: str = "--method") -> str:
    """``psc`` or ``PSC``; of a fit any but K-means, which leaves no model."""
    known = {name.lower(): name for name in METHOD_NAMES}
    if text.lower() not in known:
        offered = METHOD_NAMES if option == "--methods" else METHOD_NAMES[:-1]
        raise ValueError(f"{option} {text} is unknown. Use {', '.join(offered)}")
    return known[text.lower()]


def check_rival(
    method: str, n_clusters: Any, n_components: Any, n_variables: Any, criterion: str
) -> None:
    """Some of it only PSC can do."""
    if method == "KMeans":
        raise ValueError("KMeans leaves no model. Use subspaces compare to see what it finds")
    selects = method == "SparseKMeans" and isinstance(n_variables, int)
    for option, asked in (
        ("--clusters auto", n_clusters == "auto"),
        ("--dims auto", n_components == "auto"),
        ("--variables", n_variables is not None and not selects),
        (f"--criterion {criterion}", criterion != "auto"),
    ):
        if asked and method != "PSC":
            raise ValueError(f"{option} is not for --method {method}. Use --method PSC")
