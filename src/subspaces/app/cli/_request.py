"""The options of the command ``fit`` as one value, and the check that they are compatible."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from subspaces.app.cli import _options as options

if TYPE_CHECKING:
    from subspaces._types import Auto


@dataclass(frozen=True)
class Request:
    """The options of the command ``fit``, as parameters of the estimators.

    ``scaler`` replaces parameters of the preset's scaler; ``max_clusters`` is the largest number of
    clusters that "auto" tries; ``significance``: whether the clusters are tested; ``outliers``: the
    false discovery rate, or None.
    """

    n_clusters: Any
    n_components: Any
    search: options.Search
    n_variables: "options.Asked" = None
    method: str = "PSC"
    criterion: str = "auto"
    preset: str | None = None
    scaler: dict[str, Any] = field(default_factory=dict)
    max_clusters: int | None = None
    significance: bool = False
    outliers: float | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether what was not given is chosen: by `PSC`, with loadings of all variables."""
        plain = self.method == "PSC" and not self.preset and self.n_variables is None
        return plain and not self.search.normal_scores

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
            "margins": self.search.margins,
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
        if self.outliers is not None:
            self._check_outliers()
        if self.preset:
            self._check_preset()
        options.known_name(self.criterion, options.CRITERIA, "--criterion")
        if self.method != "PSC":
            self._check_rival()
        if self.search.normal_scores and self.n_clusters != "auto":
            raise ValueError(
                "--normal-scores only works with --clusters auto. Set both, or leave out "
                "--normal-scores."
            )

    def _check_outliers(self) -> None:
        if self.outliers is None or not 0.0 < self.outliers < 1.0:
            raise ValueError(
                f"--outliers {self.outliers:g} is out of range. Use a number above 0 and below 1, "
                "such as 0.1."
            )
        for option, asked in (
            (f"--preset {self.preset}", self.preset),
            ("--variables", self.n_variables is not None),
            ("--normal-scores", self.search.normal_scores),
        ):
            if asked:
                raise ValueError(
                    f"--outliers does not work with {option}. Leave out one of the two."
                )

    def _check_preset(self) -> None:
        if self.max_clusters == 1:
            raise ValueError("--max-clusters 1 leaves nothing to compare. Set it to 2 or more.")
        if self.n_clusters == "auto" and self.n_variables is not None:
            raise ValueError(
                f"--variables does not work with --clusters auto and --preset {self.preset}. "
                "Set a number of clusters, or leave out --variables."
            )
        if self.n_clusters == "auto" and self.search.normal_scores:
            raise ValueError(
                f"--normal-scores does not work with --preset {self.preset}, which chooses "
                "the number of clusters by stability. Leave out --normal-scores."
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
        selects = self.method == "SparseKMeans" and isinstance(self.n_variables, int)
        for option, asked in (
            ("--clusters auto", self.n_clusters == "auto"),
            ("--dims auto", self.n_components == "auto"),
            ("--variables", self.n_variables is not None and not selects),
            ("--outliers", self.outliers is not None),
            ("--significance", self.significance and self.method != "KSubspaces"),
            (f"--criterion {self.criterion}", self.criterion != "auto"),
        ):
            if asked:
                raise ValueError(
                    f"{option} does not work with --method {self.method}, only with PSC. "
                    "Leave out one of the two."
                )
