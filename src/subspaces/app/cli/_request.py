"""The options of the command ``fit`` as one value, and the check that they are compatible."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from subspaces.app.cli import _options as options
from subspaces.app.cli._options import setting

if TYPE_CHECKING:
    from subspaces._types import Auto


@dataclass(frozen=True)
class Asked:
    """The options of the command ``fit`` on the clusters, as they are typed."""

    clusters: Annotated[
        str, setting("How many clusters: a number, or auto.", "N|auto", shown=True)
    ] = "auto"
    dims: Annotated[
        str | None,
        setting(
            "Dimension of the clusters: one for all (2), one for each (1,2,2), or auto. By "
            "default PSC chooses it. With --variables or another --method it is 1.",
            "N|N,N|auto",
        ),
    ] = None
    variables: Annotated[
        str | None,
        setting(
            "Variables per dimension: one number for all clusters (50), one for each "
            "(20,50,50), or auto. Default: all variables.",
            "N|N,N|auto",
        ),
    ] = None
    preset: Annotated[
        options.Preset | None,
        typer.Option(
            help=f"{options.PRESET} It finds clusters with different means. "
            f"{options.MORE_ON_PRESETS}",
            show_default=False,
        ),
    ] = None
    max_clusters: Annotated[
        int | None,
        setting(
            "Largest number to try with --clusters auto. Default: 10, or 8 with a --preset.",
            "N",
            min=1,
            panel=options.MODEL,
        ),
    ] = None
    method: Annotated[
        str,
        setting(
            f"Clustering method: {', '.join(options.METHOD_NAMES[:-1])}.",
            "NAME",
            shown=True,
            panel=options.MODEL,
        ),
    ] = "PSC"
    outliers: Annotated[
        float | None,
        setting(
            "Label outliers -1. RATE is the share of false outliers that you accept, such as 0.1.",
            "RATE",
            panel=options.MODEL,
        ),
    ] = None
    criterion: Annotated[
        options.Criterion,
        setting(
            f"How PSC scores a sample: {', '.join(get_args(options.Criterion))}.",
            "NAME",
            shown=True,
            panel=options.EXPERT,
        ),
    ] = "auto"

    def request(
        self,
        search: options.Search,
        values: options.ValuesOrPreset,
        excluded: Mapping[str, bool],
        *,
        significance: bool,
    ) -> "Request":
        """Return what is asked for; raise ValueError if options contradict each other.

        excluded: options that a preset excludes, and whether each was typed. significance: whether
        the clusters are tested.
        """
        method = options.method_named(self.method)
        values.check(self.preset, {**excluded, "--method": method != "PSC"})
        asked = Request(
            n_clusters=options.as_numbers(self.clusters, "--clusters"),
            n_components=options.as_numbers(self.dims, "--dims", several=True),
            search=search,
            n_variables=options.as_numbers(self.variables, "--variables", several=True),
            method=method,
            criterion=self.criterion,
            preset=self.preset,
            scaler=values.scaler(self.preset),
            max_clusters=self.max_clusters,
            significance=significance,
            outliers=self.outliers,
        )
        if self.dims is None and not self.preset:
            auto = asked.is_automatic
            asked = replace(asked, n_components="auto" if auto else 1, assumed=not auto)
        asked.check()
        return asked


@dataclass(frozen=True)
class Request:
    """The options of the command ``fit``, as parameters of the estimators.

    ``scaler`` replaces parameters of the preset's scaler; ``max_clusters`` is the largest number of
    clusters that "auto" tries; ``significance``: whether the clusters are tested; ``outliers``: the
    false discovery rate, or None; ``assumed``: whether dimension 1 is.
    """

    n_clusters: Any
    n_components: Any
    search: options.Search
    n_variables: "options.Numbers" = None
    method: str = "PSC"
    criterion: options.Criterion = "auto"
    preset: str | None = None
    scaler: dict[str, Any] = field(default_factory=dict)
    max_clusters: int | None = None
    significance: bool = False
    outliers: float | None = None
    assumed: bool = False

    @property
    def is_automatic(self) -> bool:
        """Whether what was not given is chosen: by `PSC`, with loadings of all variables."""
        return self.method == "PSC" and not self.preset and self.n_variables is None

    @property
    def affine(self) -> "bool | Auto":
        """Whether clusters have centres of their own, or that it is chosen."""
        given = self.search.affine
        return given if given is not None else "auto" if self.is_automatic else bool(self.preset)

    @property
    def limits(self) -> dict[str, int]:
        """The largest numbers that "auto" tries, by the parameters of `PSC`."""
        most = {"max_clusters": self.max_clusters, "max_components": self.search.max_dims}
        return options.without_none(**most)

    @property
    def entries(self) -> dict[str, Any]:
        """The entries of summary.json on what was asked for."""
        return {
            "method": self.method,
            "n_clusters": self.n_clusters,
            "n_components": self.n_components,
            "n_variables": self.n_variables,
            "affine": self.affine,
            "criterion": self.criterion,
            "seed": self.search.seed,
            "preset": self.preset,
            "scaler": self.scaler,
            "limits": self.limits,
            "outliers_level": self.outliers,
        }

    def check(self) -> None:
        """Raise ValueError if options contradict each other or do not suit the method."""
        options.check_least(self.n_clusters, 1, "--clusters")
        options.check_least(self.n_variables, 1, "--variables")
        options.check_dims(self.n_components, affine=self.affine)
        options.check_count(self.n_components, self.n_clusters, "--dims")
        options.check_count(self.n_variables, self.n_clusters, "--variables")
        options.check_limit(self.max_clusters, self.n_clusters, "clusters")
        options.check_limit(self.search.max_dims, self.n_components, "dims")
        if self.outliers is not None and (self.preset or self.n_variables is not None):
            other = f"--preset {self.preset}" if self.preset else "--variables"
            raise ValueError(f"--outliers does not work with {other}. Leave out one of the two.")
        if self.preset:
            self._check_preset()
        if self.method != "PSC":
            self._check_rival()

    def _check_preset(self) -> None:
        if self.max_clusters == 1:
            raise ValueError("--max-clusters 1 leaves nothing to compare. Set it to 2 or more.")
        if self.n_clusters == "auto" and self.n_variables is not None:
            raise ValueError(
                f"--variables does not work with --clusters auto and --preset {self.preset}. "
                "Set --clusters to a number, or leave out --variables."
            )
        if self.n_components == "auto":
            raise ValueError(
                f"--dims auto does not work with --preset {self.preset}. Set a number, or "
                "leave out --dims."
            )

    def _check_rival(self) -> None:
        if self.method == "KMeans":
            raise ValueError(
                "--method KMeans only works with subspaces compare. For similar clusters, leave "
                "out --method and add --affine --dims 0."
            )
        if self.n_clusters == "auto":
            raise ValueError(
                f"--method {self.method} cannot choose the number of clusters. Set --clusters to "
                "a number."
            )
        selects = self.method == "SparseKMeans"
        if selects and not isinstance(self.n_variables, int | None):
            raise ValueError(
                "--method SparseKMeans takes the same number of variables for all clusters. Set "
                "--variables to a number."
            )
        for option, asked in (
            ("--dims auto", self.n_components == "auto"),
            ("--variables", self.n_variables is not None and not selects),
            ("--outliers", self.outliers is not None),
            ("--significance", self.significance and self.method != "KSubspaces"),
            (f"--criterion {self.criterion}", self.criterion != "auto"),
        ):
            if asked:
                raise ValueError(
                    f"{option} does not work with --method {self.method}. Leave out one of the two."
                )
