"""The options of the command ``fit`` as one value, and the check that they are compatible."""

from dataclasses import dataclass
from typing import Any

from subspaces.app.cli import _options as options


@dataclass(frozen=True)
class Request:
    """The options of the command ``fit``, as parameters of the estimators.

    ``scaler`` replaces parameters of the preset's scaler; ``limits`` are max_clusters and
    max_components, the largest numbers that "auto" tries.
    """

    method: str
    n_clusters: Any
    n_components: Any
    n_variables: Any
    affine: bool
    criterion: str
    seed: int
    margins: str
    preset: str | None
    scaler: dict[str, Any]
    limits: dict[str, Any]

    def check(self) -> None:
        """Raise ValueError if options contradict each other or do not suit the method."""
        options.check_least(self.n_clusters, 1, "--clusters")
        options.check_least(self.n_variables, 1, "--variables")
        options.check_dims(self.n_components, affine=self.affine or bool(self.preset))
        options.check_count(self.n_components, self.n_clusters, "--dims")
        options.check_count(self.n_variables, self.n_clusters, "--variables")
        options.check_limit(self.limits.get("max_clusters"), self.n_clusters, "clusters")
        options.check_limit(self.limits.get("max_components"), self.n_components, "dims")
        if self.preset:
            self._check_preset()
        options.known_name(self.criterion, options.CRITERIA, "--criterion")
        if self.method != "PSC":
            self._check_rival()
        if self.margins == "normal" and self.n_clusters != "auto":
            raise ValueError(
                "--normal-scores is for --clusters auto. Use --clusters auto, or leave it out"
            )

    def _check_preset(self) -> None:
        if self.limits.get("max_clusters", 2) < 2:
            raise ValueError("--max-clusters 1 leaves nothing to compare. Use 2 or more")
        if self.n_clusters == "auto" and self.n_variables is not None:
            raise ValueError(
                f"--variables is not for --clusters auto with --preset {self.preset}. Use a number "
                "of clusters, or leave --variables out"
            )
        if self.n_clusters == "auto" and self.margins == "normal":
            raise ValueError(
                f"--normal-scores is not for --preset {self.preset}, whose number of clusters is "
                "chosen by stability. Leave it out"
            )
        if self.n_components == "auto":
            raise ValueError(
                f"--dims auto is not for --preset {self.preset}. Use a number, or leave --dims out"
            )

    def _check_rival(self) -> None:
        if self.method == "KMeans":
            raise ValueError(
                "KMeans leaves no model. Use --affine --dims 0, which clusters by means, too, or "
                "subspaces compare, which says how far KMeans agrees"
            )
        selects = self.method == "SparseKMeans" and isinstance(self.n_variables, int)
        for option, asked in (
            ("--clusters auto", self.n_clusters == "auto"),
            ("--dims auto", self.n_components == "auto"),
            ("--variables", self.n_variables is not None and not selects),
            (f"--criterion {self.criterion}", self.criterion != "auto"),
        ):
            if asked:
                raise ValueError(f"{option} is not for --method {self.method}. Use --method PSC")
