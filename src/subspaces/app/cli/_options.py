"""Arguments and options that several commands share, and checks of what was typed.

Options that belong together are one value, whose fields are the options. A command takes such a
value, and `expanded` makes its options those of the command: a new option is one new field.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature, signature
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from zipfile import ZipFile, is_zipfile

import typer

import subspaces

if TYPE_CHECKING:
    from subspaces._types import Auto

    # One number, one for each cluster, or a choice.
    Numbers = int | Auto | list[int] | None

# Parts of the help below the options that most people need.
TABLE, PREPARE, MODEL = "Your table", "Prepare the values", "The model"
OUTPUT, EXPERT = "Output", "For experts"
PANELS = (None, TABLE, PREPARE, MODEL, OUTPUT, EXPERT)

# Estimators that are not clusterers of a table in memory.
NOT_COMPARED = ("MiniBatchPSC", "PCA", "PCAOutlierDetector")
METHOD_NAMES = (
    *(name for name in subspaces.__all__ if name[0].isupper() and name not in NOT_COMPARED),
    "KMeans",
)
# Names that the library knows, repeated here because importing it takes longer than an answer may;
# a test compares the two.
Criterion = Literal[
    "auto", "influence", "loo", "distance", "hat", "residual", "likelihood", "loo_projection"
]
Preset = Literal["expression", "cells"]
Kind = Literal["intensities", "log", "ratios", "shares", "counts"]
# Address of the documentation, as in pyproject.toml.
DOCUMENTATION = "subspaces.readthedocs.io"
# How the help of --preset begins, and how it ends.
PRESET = (
    "Use expression for arrays and bulk RNA-seq, and cells for single cells. Both take logarithms "
    "if needed, centre the samples, and keep the 2000 genes that vary most."
)
MORE_ON_PRESETS = f'See "Prepare expression data", {DOCUMENTATION}.'


def setting(
    text: str, metavar: str, *, shown: bool = False, panel: str | None = None, **more: Any
) -> Any:
    """Return a typer option that takes a value; its help shows the default only if ``shown``.

    panel: the part of the help that it stands in, by default the first.
    """
    return typer.Option(
        help=text, metavar=metavar, show_default=shown, rich_help_panel=panel, **more
    )


def flag(names: str, text: str, *, panel: str | None = None) -> Any:
    """Return a typer option that takes no value, such as ``--log``."""
    return typer.Option(names, help=text, show_default=False, metavar=" ", rich_help_panel=panel)


def argument(text: str, metavar: str, **more: Any) -> Any:
    """Return a typer argument whose help shows no default."""
    return typer.Argument(help=text, metavar=metavar, show_default=False, **more)


def existing_file(path: Path | None) -> Path | None:
    """Return ``path`` if it is a file or None; else raise ValueError, with a similar file name."""
    if path is not None:
        _check_file(path)
    return path


def _check_file(path: Path, otherwise: str = "Check the path") -> None:
    """Raise ValueError unless ``path`` is a file; otherwise: what to do if no name is similar."""
    if path.is_file():
        return
    if path.exists():
        raise ValueError(f"{path} is not a file. Check the path.")
    names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    alike = [name for name in names if Path(name).suffix.lower() == path.suffix.lower()]
    # Compare stems, because equal endings make any two names alike.
    stems = {Path(name).stem: name for name in (alike if path.suffix == ".cls" else alike or names)}
    near = get_close_matches(path.stem, stems, n=1)
    todo = f"Did you mean {path.with_name(stems[near[0]])}?" if near else otherwise
    raise ValueError(f"{path} does not exist. {todo}")


def existing_model(path: Path) -> Path:
    """Return the path of a model file; for a folder, that of model.npz in it."""
    path = path / "model.npz" if path.is_dir() else path
    # A fit that was killed may have left a finished model, which reading it puts into its place.
    if not any(path.parent.glob(".finished-*")):
        _check_file(path, "Give the model.npz that subspaces fit wrote, or its folder")
    return path


def is_table(path: Path) -> bool:
    """Whether a path is that of a table, not of a model file or of a folder with one."""
    if is_zipfile(path):
        with ZipFile(path) as archive:
            return "header.npy" not in archive.namelist()
    return path.suffix.lower() not in ("", ".npz") and not path.is_dir()


def existing_model_or_table(path: Path) -> Path:
    """Return the path of a table, or of a model file as `existing_model` does."""
    if not is_table(path):
        return existing_model(path)
    _check_file(path)
    return path


# Where the samples are in a file.
Side = Literal["rows", "columns"]

Model = Annotated[
    Path,
    argument(
        "model.npz written by subspaces fit, or its folder.", "MODEL", callback=existing_model
    ),
]
ModelOrTable = Annotated[
    Path,
    argument(
        "model.npz from subspaces fit, its folder, or any table.",
        "MODEL|TABLE",
        callback=existing_model_or_table,
    ),
]
Seed = Annotated[
    int, setting("Random seed. The same seed gives the same answer.", "N", shown=True, min=0)
]
Json = Annotated[bool, flag("--json", "Print the result as JSON, for scripts.", panel=OUTPUT)]
Force = Annotated[bool, flag("--force", "Overwrite earlier results.", panel=OUTPUT)]
Metadata = Annotated[
    Path | None,
    setting(
        "CSV or TSV file with more columns about the samples, to colour the plots by. Its first "
        "column has the sample names.",
        "FILE",
        callback=existing_file,
        panel=OUTPUT,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options on how any table is read."""

    ignore: Annotated[
        list[str] | None,
        setting("Columns or rows to leave out, separated by commas: a,b.", "COLUMN"),
    ] = None
    missing: Annotated[
        list[str] | None,
        setting(
            "Values that mean missing, separated by commas: -999,x. Empty cells, NA, "
            "N/A, NaN, null, none, ?, - and a dot are always missing.",
            "MARK",
            panel=TABLE,
        ),
    ] = None
    sample_names: Annotated[
        str | None,
        setting(
            "Column with the sample names. Default: the first column, if it has names.",
            "COLUMN",
            panel=TABLE,
        ),
    ] = None

    @property
    def ignored(self) -> tuple[str, ...]:
        """The entries of --ignore, each once."""
        return tuple(dict.fromkeys(entries_of(self.ignore)))

    @property
    def marks(self) -> tuple[str, ...]:
        """The entries of --missing."""
        return entries_of(self.missing)


@dataclass(frozen=True, kw_only=True)
class NewSamples(Reading):
    """The options on the table of new samples: its path, and how to read it."""

    data: Annotated[
        Path,
        argument(
            "Table of numbers: .csv, .tsv, .txt (or .gz of these), .gct, .xlsx, .npz, .parquet, "
            ".h5ad.",
            "DATA",
            callback=existing_file,
        ),
    ]
    samples: Annotated[
        Side, typer.Option(help="Whether samples are rows or columns.", rich_help_panel=TABLE)
    ] = "rows"
    labels: Annotated[
        str | None,
        setting(
            "Column with known classes. They are compared with the clusters, not used to find "
            "them.",
            "COLUMN",
            panel=TABLE,
        ),
    ] = None
    classes: Annotated[
        Path | None,
        setting(
            "CLS file with known classes, to compare the clusters with.",
            "FILE",
            callback=existing_file,
            panel=TABLE,
        ),
    ] = None
    ignore_text: Annotated[
        bool, flag("--ignore-text", "Leave out all columns of text.", panel=TABLE)
    ] = False
    drop_empty: Annotated[
        bool, flag("--drop-empty", "Leave out samples that have no values.", panel=TABLE)
    ] = False

    def __post_init__(self) -> None:
        """Raise ValueError if --labels is given with --classes, or two options name one column."""
        if self.labels is not None and self.classes is not None:
            raise ValueError("--labels and --classes do the same thing. Give only one.")
        asked = [("--labels", self.labels), ("--sample-names", self.sample_names)]
        asked += [("--ignore", name) for name in self.ignored]
        for (option, name), (other, same) in combinations(asked, 2):
            if name is not None and name == same:
                raise ValueError(f"You gave {name} to both {option} and {other}. Keep one of them.")


@dataclass(frozen=True, kw_only=True)
class Source(NewSamples):
    """The options on the table of a fit."""

    drop_missing: Annotated[
        float | None,
        setting(
            "Leave out variables if more than this share of their values is missing, such as 0.5.",
            "SHARE",
            min=0,
            max=1,
            panel=TABLE,
        ),
    ] = None


@dataclass(frozen=True)
class Values:
    """The options on what is done to the values first."""

    floor: Annotated[
        float | None, setting("Replace values below VALUE by VALUE.", "VALUE", panel=PREPARE)
    ] = None
    log: Annotated[bool | None, flag("--log", "Take log2(1 + value).", panel=PREPARE)] = False
    top_variables: Annotated[
        int | None, setting("Keep only the N variables that vary most.", "N", min=1, panel=PREPARE)
    ] = None
    scale: Annotated[
        bool | None,
        flag(
            "--scale/--no-scale",
            "Scale each variable to mean 0 and standard deviation 1. By default this is done if "
            "the units differ.",
        ),
    ] = None


@dataclass(frozen=True)
class ValuesOrPreset(Values):
    """The options on what is done to the values, of a command that has presets."""

    log: Annotated[
        bool | None,
        flag(
            "--log/--no-log",
            "Whether to take log2(1 + value). A preset decides by looking at the values.",
            panel=PREPARE,
        ),
    ] = None
    kind: Annotated[
        Kind | None,
        setting(
            f"Kind of values for a --preset: {', '.join(get_args(Kind))}. Default: guessed from "
            "the values.",
            "NAME",
            panel=PREPARE,
        ),
    ] = None

    def check(self, preset: str | None, excluded: Mapping[str, bool]) -> None:
        """Raise ValueError if the preset, or the kind of values for it, does not suit the rest.

        excluded: further options that a preset excludes, and whether each was typed.
        """
        excluded = {"--scale": bool(self.scale), **excluded}
        typed = [name for name, was_typed in excluded.items() if was_typed]
        if preset and typed:
            raise ValueError(
                f"{typed[0]} and --preset {preset} do not work together. Keep one of them."
            )
        if self.kind and not preset:
            raise ValueError(
                "--kind only works with --preset. Add a --preset, or leave out --kind."
            )

    def scaler(self, preset: str | None) -> dict[str, Any]:
        """Return the parameters of a preset's scaler that were typed; {} without a preset."""
        if preset is None:
            return {}
        logged = None if self.log is None else "yes" if self.log else "no"
        kind = "cells" if preset == "cells" and self.kind is None else self.kind
        return without_none(kind=kind, floor=self.floor, log=logged, n_genes=self.top_variables)


@dataclass(frozen=True)
class Clusters:
    """The options on what all methods take for a cluster."""

    affine: Annotated[
        bool | None,
        flag(
            "--affine/--linear",
            "Whether clusters have their own centres or pass through the origin. By default, "
            "fit chooses, and the other commands use the origin.",
        ),
    ] = None
    seed: Seed = 0


@dataclass(frozen=True)
class Search(Clusters):
    """The options on how PSC looks for clusters, whatever their number."""

    max_dims: Annotated[
        int | None,
        setting("Largest dimension to try with --dims auto. Default: 5.", "N", min=1, panel=MODEL),
    ] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of `PSC` that these options set, by name."""
        given = {"affine": bool(self.affine), "random_state": self.seed}
        return given | without_none(max_components=self.max_dims)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options of its groups one by one, as typer passes them."""
    taken = signature(command).parameters.values()
    groups: dict[str, Any] = {
        name: kind for name, kind in command.__annotations__.items() if is_dataclass(kind)
    }

    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    lists = [
        signature(groups[one.name]).parameters.values() if one.name in groups else [one]
        for one in taken
    ]
    every = [one.replace(kind=Parameter.KEYWORD_ONLY) for own in lists for one in own]
    every.sort(key=_panel)
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = Signature(every)  # type: ignore[attr-defined]
    return run


def _panel(option: Parameter) -> int:
    """Return the place of an option's part of the help."""
    return PANELS.index(getattr(option.annotation.__metadata__[0], "rich_help_panel", None))


def without_none(**parameters: Any) -> dict[str, Any]:
    """Return a dict of the keyword arguments whose value is not None."""
    return {name: value for name, value in parameters.items() if value is not None}


def entries_of(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return the entries of an option's values, which are lists separated by commas."""
    lines = csv.reader(values or (), skipinitialspace=True)
    return tuple(entry for line in lines for entry in line)


def as_numbers(text: str | None, option: str, *, several: bool = False) -> Any:
    """Return an option's value as an int; "auto" and None unchanged.

    several: whether ``1,2,2``, one number for each cluster, is a list.
    """
    if text is None or text == "auto":
        return text
    try:
        numbers = [int(part) for part in (text.split(",") if several else [text])]
    except ValueError:
        what, ways = "not a whole number", "one such as 3, or auto"
        if several:
            what = "neither a whole number nor a list of them"
            ways = "one number for all clusters (2), or one for each (1,2,2)"
        raise ValueError(f"{option} {text!r} is {what}. Give {ways}.") from None
    return numbers[0] if len(numbers) == 1 else numbers


def check_count(numbers: "Numbers", n_clusters: int | str, option: str) -> None:
    """Raise ValueError if ``numbers`` is a list without exactly one number per cluster."""
    if not isinstance(numbers, list) or len(numbers) == n_clusters:
        return
    each = "one for each" if n_clusters not in ("auto", 1) else f"set --clusters {len(numbers)}"
    raise ValueError(
        f"{option} has {len(numbers)} numbers for --clusters {n_clusters}. Give one for all "
        f"clusters, or {each}."
    )


def check_least(numbers: "Numbers", least: int, option: str) -> None:
    """Raise ValueError if ``numbers``, an int or a list of them, has one below ``least``."""
    for number in numbers if isinstance(numbers, list) else [numbers]:
        if isinstance(number, int) and number < least:
            raise ValueError(f"{option} {number} is too small. Set it to {least} or more.")


def check_dims(dims: "Numbers", *, affine: "bool | Auto") -> None:
    """Raise ValueError for a dimension of clusters below 1, or below 0 if they have centres."""
    try:
        check_least(dims, 0 if affine else 1, "--dims")
    except ValueError as error:
        if affine:
            raise
        raise ValueError(f"{str(error)[:-1]}, or to 0 with --affine.") from None


def check_limit(limit: int | None, asked: "Numbers", option: str) -> None:
    """Raise ValueError if ``--max-option`` is given although ``--option`` is not "auto"."""
    if limit is not None and asked != "auto":
        raise ValueError(
            f"--max-{option} only works with --{option} auto. Leave out --max-{option}."
        )


def method_named(text: str, option: str = "--method") -> str:
    """Return the name of a method as the library spells it, typed in any case: PSC for ``psc``."""
    known = {name.lower(): name for name in METHOD_NAMES}
    if text.lower() not in known:
        # K-means leaves no model to write, so a fit does not offer it.
        offered = METHOD_NAMES if option == "--methods" else METHOD_NAMES[:-1]
        raise ValueError(f"{option} {text} is unknown. Choose from {', '.join(offered)}.")
    return known[text.lower()]
