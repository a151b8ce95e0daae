"""`Settings`: all that a fit needs besides the data, and the `Problem` that they pose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from numpy.typing import NDArray

from subspaces._types import Array, Auto, Init, Penalty, PerCluster, Refinement, Seed
from subspaces.core import criteria
from subspaces.core.dimensions import check_rank, dimensions_of, per_cluster, which_contain
from subspaces.core.problem import Problem
from subspaces.core.rows import Rows, centred_rows
from subspaces.core.sparse_loadings import Sparsity
from subspaces.messages import (
    FEWER_CLUSTERS,
    Advice,
    ChoiceWarning,
    ParameterError,
    ParameterTypeError,
    simpler,
    use,
)
from subspaces.progress import Tell, silence
from subspaces.runtime.parameters import as_choice, as_count, as_flag, as_real
from subspaces.runtime.warning import doubt

# Parameters that may be "auto".
OPEN = ("n_clusters", "n_components", "n_variables", "affine")


@dataclass(frozen=True)
class Settings:
    """The parameters of `PSC`, by whose names they go, and what the shell adds to them.

    measures: whether leave-one-out errors and influence of the samples are measured, as for `PSC`;
    `KSubspaces` has none. tell: called with each `Step` that is done. variable_names (p,): for
    messages; None if X has none.
    """

    n_clusters: int | Auto = 2
    n_components: PerCluster | Auto = 1
    n_variables: PerCluster | Auto | None = None
    affine: bool | Auto = False
    criterion: str = "auto"
    penalty: Penalty = "l1"
    init: Init = "portfolio"
    n_init: int | Auto = "auto"
    max_iter: int = 50
    refine: Refinement | None = None
    max_clusters: int = 10
    max_components: int = 5
    outliers: float | None = None
    random_state: Seed = None
    n_jobs: int | None = None
    measures: bool = True
    tell: Tell = silence
    variable_names: NDArray[Any] | None = None

    @property
    def left_open(self) -> list[str]:
        """The names of the parameters that are "auto"."""
        return [name for name in OPEN if is_auto(getattr(self, name))]

    @property
    def needs_memory(self) -> str | None:
        """The first parameter that needs all rows in memory, as ``name=value``; None if none."""
        in_passes = ("auto", *criteria.names(passes=True))
        beyond = {
            "n_clusters": is_auto(self.n_clusters),
            "n_components": is_auto(self.n_components),
            "affine": is_auto(self.affine),
            "n_variables": self.n_variables is not None,
            "refine": self.refine is not None,
            "criterion": self.criterion not in in_passes,
            "outliers": self.outliers is not None,
        }
        return next((f"{name}={getattr(self, name)!r}" for name in beyond if beyond[name]), None)

    def compares_by_likelihood(self, problem: Problem) -> bool:
        """Whether runs are compared by their t-likelihood; otherwise by their objective.

        By the likelihood with the default criterion, asked for by name or not, unless the clusters
        are their means alone.
        """
        by_default = self.criterion in ("auto", default_criterion(self, problem))
        return by_default and not problem.of_means


def numbers_of(settings: Settings) -> list[Any]:
    """Return the parameters that can be "auto", as they are given or chosen."""
    return [getattr(settings, name) for name in OPEN]


def is_auto(value: Any) -> bool:
    """Whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def check(settings: Settings) -> None:
    """Raise TypeError or ValueError for a parameter that no data could go with."""
    for name in OPEN[:3]:
        value = getattr(settings, name)
        if isinstance(value, str) and value != "auto":
            fact, instead = (
                f"<{name}={{value!r}}> is not an integer.",
                "set it to 1 or more, or to 'auto'",
            )
            raise ParameterTypeError(name, fact, Advice(instead, name, "auto"), value=value)
    if not is_auto(settings.affine):
        as_flag(settings.affine, "affine")
    as_count(settings.max_iter, "max_iter", low=1)
    as_choice(settings.criterion, "criterion", ("auto", *criteria.names(public=True)))
    as_choice(settings.penalty, "penalty", get_args(Penalty))
    if settings.left_open:
        as_count(settings.max_clusters, "max_clusters", low=1)
        as_count(settings.max_components, "max_components", low=1)
    if settings.refine is not None:
        as_choice(settings.refine, "refine", get_args(Refinement))
    if settings.outliers is not None:
        as_real(settings.outliers, "outliers", above=True, high=1.0, below=True)
    if settings.n_variables is not None:
        _check_sparse(settings)


def _check_sparse(settings: Settings) -> None:
    """Raise ValueError for a parameter that does not go with ``n_variables``."""
    if settings.outliers is not None:
        raise no_outliers(settings.outliers, "<n_variables>")
    if is_auto(settings.affine):
        fact = "<affine='auto'> does not work with <n_variables>."
        others = use("affine", True), use("affine", False)
        raise ParameterError("affine", fact, *others, value="auto")
    if settings.refine == "descent":
        fact = "<refine='descent'> does not work with <n_variables>."
        others = use("refine", "ppca"), use("refine", None)
        raise ParameterError("refine", fact, *others, value="descent")
    for_sparse = ("auto", *criteria.names(sparse=True, public=True))
    if settings.criterion not in for_sparse:
        fact = "<criterion={value!r}> does not work with <n_variables>."
        advice = Advice(f"choose from {', '.join(for_sparse)}", "criterion")
        raise ParameterError("criterion", fact, advice, value=settings.criterion)


def no_outliers(outliers: float | None, reason: str) -> ParameterError:
    """Return the error of a fit that cannot name outliers; reason: what they do not go with."""
    fact = f"<outliers={{value}}> does not work with {reason}."
    return ParameterError(
        "outliers",
        fact,
        Advice("set <outliers=None>", "outliers", command="leave out <outliers>"),
        value=outliers,
    )


def pose(
    settings: Settings, X: Any, rows: Rows | None = None, weights: Array | None = None
) -> Problem:
    """Return the `Problem` that the sweeps solve for X (n, p): rows, dimensions and criterion.

    rows: X as `centred_rows` returns it; None if that is still to be computed. weights (n,): of
    the rows, positive, None if all count one. Warn if a
    dimension equals the rank of X, and if "distance" is to compare unequal dimensions.
    """
    if settings.measures and settings.n_clusters == X.shape[0] > 1:
        fact = (
            "<n_clusters={value}> puts every sample in its own cluster, so there is nothing "
            "to predict it from."
        )
        raise ParameterError("n_clusters", fact, FEWER_CLUSTERS, value=settings.n_clusters)
    affine, sparsity = bool(settings.affine), _sparsity(settings, X)
    dimensions = dimensions_of(settings, X, low=0 if affine else 1)
    if rows is None:
        sparse = sparsity is not None
        rows = centred_rows(X, affine, len(dimensions), weights, sparse=sparse)
    check_rank(rows.rank, dimensions, affine, X)
    problem = Problem(rows, dimensions, settings.criterion, affine, sparsity)
    if not problem.identified and problem.n_clusters > 1:
        doubt(
            ChoiceWarning,
            "full_rank",
            "<n_components={n_components}> equals the rank of the table, so "
            f"{which_contain(dimensions)} all samples, and the labels may be arbitrary.",
            *simpler(1, max(dimensions), affine),
            n_components=max(problem.dimensions),
        )
    if settings.criterion == "auto":
        problem = replace(problem, criterion=default_criterion(settings, problem))
    if problem.identified:
        warn_of_unequal_dimensions(settings, dimensions)
    return problem


def default_criterion(settings: Settings, problem: Problem) -> str:
    """Return the name of the criterion that "auto" is for a problem."""
    if problem.sparsity is not None:
        return "union_influence"
    if settings.n_variables is not None:
        return "influence"
    return "distance" if problem.alike else "likelihood"


def warn_of_unequal_dimensions(settings: Settings, dimensions: Sequence[int]) -> None:
    """Warn if "distance" was asked for and the clusters have unequal dimensions."""
    if settings.criterion == "distance" and len(set(dimensions)) > 1:
        doubt(
            ChoiceWarning,
            "unequal_dimensions",
            "<criterion='distance'> favours clusters of larger dimension, because they are "
            "closer to every sample.",
            use("criterion", "likelihood"),
            dimensions=list(dimensions),
        )


def _sparsity(settings: Settings, X: Array) -> Sparsity | None:
    """Return the `Sparsity` of the loadings; None if they may use all variables."""
    if settings.n_variables is None:
        return None
    n, p = X.shape
    counts = per_cluster(settings, "n_variables", n, low=1, high=p)
    per_cluster(settings, "n_components", n, low=1, high=p)
    if min(counts) == p and settings.penalty == "l1":
        return None
    return Sparsity(counts, settings.penalty)
