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
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, overload

import typer

import subspaces

if TYPE_CHECKING:
    from subspaces._types import (
        Auto,
        ClustersCriterion,
        CriterionName,
        ExpressionKind,
        Margins,
    )

    # One number, one for each cluster, or a choice.
    Asked = int | Auto | list[int] | None

Name = TypeVar("Name", bound=str)

# Parts of the help below the options that most people need.
TABLE, PREPARE, MODEL = "Your table", "Prepare the values", "The model"
OUTPUT, EXPERT = "Output", "For experts"

# Estimators that are not clusterers of a table in memory.
NOT_COMPARED = ("MiniBatchPSC", "PCA", "PCAOutlierDetector")
METHOD_NAMES = (
    *(name for name in subspaces.__all__ if name[0].isupper() and name not in NOT_COMPARED),
    "KMeans",
)
# Names that the library knows, repeated here because importing it takes longer than an answer may;
# a test compares the two.
ENDINGS = (
    ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".gct", ".gct.gz", ".xlsx", ".npz",
    ".parquet", ".h5ad",
)  # fmt: skip
CRITERIA: "tuple[CriterionName, ...]" = (
    "auto",
    "influence",
    "loo",
    "distance",
    "hat",
    "residual",
    "likelihood",
    "loo_projection",
)
SCORES: "tuple[ClustersCriterion, ...]" = ("auto", "icl", "press", "likelihood", "sod", "stability")
PRESETS = ("expression", "cells")
# Address of the documentation, as in pyproject.toml.
DOCUMENTATION = "subspaces.readthedocs.io"
KINDS: "tuple[ExpressionKind, ...]" = ("intensities", "log", "ratios", "shares", "counts")


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
    return typer.Option(names, help=text, rich_help_panel=panel)


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


def existing_table(path: Path) -> Path:
    """Return ``path`` if it is a file of a format that can be read; else raise ValueError."""
    existing_file(path)
    if not path.name.lower().endswith(ENDINGS):
        ending = path.suffix.lower()
        kind = f"{ending} files" if ending else "files without an ending"
        if ending in (".xls", ".ods", ".numbers"):
            raise ValueError(f"{path}: {ending} files are not supported. Save it as .xlsx or .csv.")
        raise ValueError(
            f"{path}: {kind} are not supported. Save the table in one of these formats: "
            f"{', '.join(ENDINGS)}."
        )
    return path


def existing_model(path: Path) -> Path:
    """Return the path of a model file; for a folder, that of model.npz in it."""
    if (path / "scores.csv").is_file() and not (path / "model.npz").exists():
        raise ValueError(
            f"{path} was written by subspaces pca, which does not save a model. Give a folder "
            f"from subspaces fit, or open {path / 'report.html'}."
        )
    path = path / "model.npz" if path.is_dir() else path
    # A fit that was killed may have left a finished model, which reading it puts into its place.
    if not any(path.parent.glob(".finished-*")):
        _check_file(path, "Give the model.npz that subspaces fit wrote, or its folder")
    return path


def is_table(path: Path) -> bool:
    """Whether a path is that of a table, not of a model file or of a folder with one."""
    return path.suffix.lower() not in ("", ".npz") and not path.is_dir()


def existing_model_or_table(path: Path) -> Path:
    """Return the path of a table, or of a model file as `existing_model` does."""
    if not is_table(path):
        return existing_model(path)
    _check_file(path)
    return path


def share(value: float | None) -> float | None:
    """Return the value of --drop-missing if it is from 0 to 1 or None; else raise ValueError."""
    if value is None or 0.0 <= value <= 1.0:
        return value
    todo = (
        f"If you mean {value:g} %, write {value / 100:g}"
        if 1.0 < value <= 100.0
        else "Give a share from 0 to 1"
    )
    raise ValueError(f"--drop-missing {value:g} is out of range. {todo}")


# How the samples lie in a file.
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


@dataclass(frozen=True)
class NewSamples:
    """The options on the table of new samples: its path, and how to read it."""

    data: Annotated[
        Path,
        argument(
            "Table of numbers: .csv, .tsv, .txt (or .gz of these), .gct, .xlsx, .npz, .parquet, "
            ".h5ad.",
            "DATA",
            callback=existing_table,
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
    ignore: Annotated[
        list[str] | None,
        setting(
            "Columns or rows to leave out, separated by commas: a,b.",
            "COLUMN",
        ),
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

    @property
    def ignored(self) -> tuple[str, ...]:
        """The entries of --ignore."""
        return _listed(self.ignore)

    @property
    def marks(self) -> tuple[str, ...]:
        """The entries of --missing."""
        return _listed(self.missing)


@dataclass(frozen=True)
class Source(NewSamples):
    """The options on the table of a fit."""

    drop_missing: Annotated[
        float | None,
        setting(
            "Leave out variables if more than this share of their values is missing, such as 0.5.",
            "SHARE",
            callback=share,
            panel=TABLE,
        ),
    ] = None


@dataclass(frozen=True)
class Values:
    """The options on what is done to the values first."""

    floor: Annotated[
        float | None,
        setting("Raise all values below VALUE to VALUE first.", "VALUE", panel=PREPARE),
    ] = None
    log: Annotated[bool | None, flag("--log", "Take log2(1 + value).", panel=PREPARE)] = False
    top_variables: Annotated[
        int | None,
        setting("Keep only the N variables that vary most.", "N", min=1, panel=PREPARE),
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
        typer.Option(
            "--log/--no-log",
            help="Whether to take log2(1 + value). A preset decides by looking at the values.",
            show_default=False,
            rich_help_panel=PREPARE,
        ),
    ] = None
    kind: Annotated[
        str | None,
        setting(
            "Kind of values for a --preset: intensities, log, ratios, shares or counts. Default: "
            "guessed from the values.",
            "NAME",
            panel=PREPARE,
        ),
    ] = None

    def check(self, preset: str | None, excluded: Mapping[str, bool]) -> None:
        """Raise ValueError if the preset, or the kind of values for it, does not suit the rest.

        excluded: further options that a preset excludes, and whether each was typed.
        """
        if preset is not None:
            known_name(preset, PRESETS, "--preset")
        if self.kind is not None:
            known_name(self.kind, KINDS, "--kind")
        excluded = {"--scale": bool(self.scale), **excluded}
        typed = [name for name, was_typed in excluded.items() if was_typed]
        if preset and typed:
            raise ValueError(
                f"{typed[0]} and --preset {preset} do not work together. Keep one of them."
            )
        if self.kind and not preset:
            raise ValueError(
                "--kind only works with --preset expression or cells. Set --floor or --log instead."
            )

    def scaler(self, preset: str | None) -> dict[str, Any]:
        """Return the parameters of a preset's scaler: what was typed, and the kind of values."""
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
    normal_scores: Annotated[
        bool,
        flag(
            "--normal-scores",
            "Choose the number of clusters on ranks mapped to a normal distribution. This helps "
            "if some values are extreme.",
            panel=EXPERT,
        ),
    ] = False

    @property
    def margins(self) -> "Margins":
        """What the number of clusters is chosen on."""
        return "normal" if self.normal_scores else "data"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of `PSC` that these options set, by name."""
        given = {"affine": bool(self.affine), "random_state": self.seed}
        return given | without_none(max_components=self.max_dims)


@dataclass(frozen=True)
class Shown:
    """The options on what the page shows besides the clusters."""

    metadata: Annotated[
        Path | None,
        setting(
            "CSV or TSV file with more columns about the samples, to colour the plots by. Its "
            "first column has the sample names.",
            "FILE",
            callback=existing_file,
            panel=OUTPUT,
        ),
    ] = None
    cluster_names: Annotated[
        list[str] | None,
        setting(
            "Names for the clusters on the page, in the order of their numbers: B cells,T cells.",
            "NAMES",
            panel=OUTPUT,
        ),
    ] = None

    @property
    def names(self) -> tuple[str, ...]:
        """The entries of --cluster-names."""
        return _listed(self.cluster_names)

    def names_of(self, n_clusters: int | str | None) -> tuple[str, ...] | None:
        """Return a name for each cluster, None if none were typed; raise ValueError otherwise.

        n_clusters: any text if it is not known yet.
        """
        if self.names and isinstance(n_clusters, int) and len(self.names) != n_clusters:
            raise ValueError(
                f"--cluster-names has {len(self.names)} names for {n_clusters} clusters. Give one "
                "for each."
            )
        return self.names or None


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
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = Signature(every)  # type: ignore[attr-defined]
    return run


def without_none(**parameters: Any) -> dict[str, Any]:
    """Return a dict of the keyword arguments whose value is not None."""
    return {name: value for name, value in parameters.items() if value is not None}


def _listed(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return the entries of an option's values, which are lists separated by commas."""
    lines = csv.reader(values or (), skipinitialspace=True)
    return tuple(entry for line in lines for entry in line)


def known_name(text: str, known: Sequence[Name], option: str) -> Name:
    """Return the name in ``known`` that was typed; raise ValueError, naming ``option``, if none."""
    for name in known:
        if name == text:
            return name
    raise ValueError(f"{option} {text} is unknown. Choose from {', '.join(known)}.")


@overload
def one_or_auto(text: str, option: str) -> "int | Auto": ...
@overload
def one_or_auto(text: str | None, option: str) -> "int | Auto | None": ...
def one_or_auto(text: str | None, option: str) -> "int | Auto | None":
    """Return the value of an option as an int, or unchanged if it is "auto" or None."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"{option} {text!r} is not a whole number. Give one such as 3, or auto."
        ) from None


@overload
def per_cluster(text: str, option: str) -> "int | Auto | list[int]": ...
@overload
def per_cluster(text: str | None, option: str) -> "int | Auto | list[int] | None": ...
def per_cluster(text: str | None, option: str) -> "int | Auto | list[int] | None":
    """Return an option's value as an int, or a list for ``1,2,2``; "auto" and None unchanged."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text!r} is not a whole number. Give one for all clusters (2), one for "
            "each (1,2,2), or auto."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def check_count(numbers: "Asked", n_clusters: int | str, option: str) -> None:
    """Raise ValueError if ``numbers`` is a list without exactly one number per cluster."""
    if not isinstance(numbers, list) or len(numbers) == n_clusters:
        return
    raise ValueError(
        f"{option} has {len(numbers)} numbers for --clusters {n_clusters}. Give one for all "
        "clusters, or one for each."
    )


def check_least(numbers: "Asked", least: int, option: str) -> None:
    """Raise ValueError if ``numbers``, an int or a list of them, has one below ``least``."""
    for number in numbers if isinstance(numbers, list) else [numbers]:
        if isinstance(number, int) and number < least:
            raise ValueError(f"{option} {number} is too small. Set it to {least} or more.")


def check_dims(dims: "Asked", *, affine: "bool | Auto") -> None:
    """Raise ValueError for a dimension of clusters below 1, or below 0 if they have centres."""
    try:
        check_least(dims, 0 if affine else 1, "--dims")
    except ValueError as error:
        if affine:
            raise
        raise ValueError(f"{str(error)[:-1]}, or add --affine for mean profiles.") from None


def check_limit(limit: int | None, asked: "Asked", option: str) -> None:
    """Raise ValueError if ``--max-option`` is given although ``--option`` is not "auto"."""
    if limit is not None and asked != "auto":
        raise ValueError(
            f"--max-{option} only works with --{option} auto. Set both, or leave out "
            f"--max-{option}."
        )


def method_named(text: str, option: str = "--method") -> str:
    """Return the name of a method as the library spells it, typed in any case: PSC for ``psc``."""
    known = {name.lower(): name for name in METHOD_NAMES}
    if text.lower() not in known:
        # K-means leaves no model to write, so a fit does not offer it.
        offered = METHOD_NAMES if option == "--methods" else METHOD_NAMES[:-1]
        raise ValueError(f"{option} {text} is unknown. Choose from {', '.join(offered)}.")
    return known[text.lower()]
