"""Missing cells: NaN is a cell that was not observed.

A fit fills the holes by regularised iterative PCA, and clusters the filled table as any other. Then
it fits a mixture of probabilistic PCA to the observed cells (`core/incomplete.py`), from these
clusters and from those of angles over common cells. The likelihood of what was observed decides. If
what it expects in the holes is far from what was filled in, the search is made again on that.
Predictions go by the same likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from subspaces._types import Array, Labels
from subspaces.core import incomplete, partition
from subspaces.core.array import in_main_memory
from subspaces.core.dimensions import dimensions_of
from subspaces.core.incomplete import Cells, FittedMixture, IncompleteMixture, as_subspace
from subspaces.core.likelihood import as_divisor
from subspaces.data.kinds import SurveyedBlocks, blocks_of, survey_of
from subspaces.messages import FILL, Advice, DataWarning, ParameterError, simpler
from subspaces.pca.missing import IncompletePCA, row_errors, squared_influence, warn_of_low_values
from subspaces.psc.blocks import fit_blocks
from subspaces.psc.dense import fit_dense
from subspaces.psc.doubts import warn_of_an_early_end, warn_of_level
from subspaces.psc.probabilities import from_costs
from subspaces.psc.result import Fit
from subspaces.psc.settings import Settings
from subspaces.runtime.warning import collect_warnings, doubt, warn
from subspaces.starts.graphs import OBSERVED_MOST_ROWS, observed_pairs

# Most EM steps per iteration of the loop, because a step moves less.
STEPS_A_SWEEP = 10
# If the fit and the PCA disagree on the missing values by this many standard deviations of the
# noise, the clusters of the filled table are not trusted.
FAR = 3.0


def fit_incomplete(X: Array, settings: Settings) -> Fit:
    """Cluster the filled table, and fit a mixture to the observed cells from its clusters."""
    _refuse(settings)
    affine, most = bool(settings.affine), STEPS_A_SWEEP * settings.max_iter
    dimensions = dimensions_of(settings, X, low=0 if affine else 1)
    filled = fill(X, dimensions, affine)
    searched = _searched(filled, settings)
    found = fitted(filled, searched.labels, dimensions, affine, True, most)
    again = refilled(filled, found)
    if again is not None:
        searched = _searched(again, settings)
        found = incomplete.fit_mixture(
            again.cells, searched.labels, dimensions, affine, again.table, True, most
        )
    if not found.has_converged:
        warn_of_an_early_end("max_iter", settings.max_iter, len(dimensions))
    order = np.arange(len(dimensions))
    if len(set(dimensions)) == 1:
        order = partition.order_of_appearance(found.labels, len(dimensions))
    mixture = incomplete.moved(found.mixture, filled.origin, order.tolist())
    assert searched.course is not None
    course = replace(
        searched.course,
        path=-np.array(found.path),
        n_iter=len(found.path),
        stop_reason="converged" if found.has_converged else "max_iter",
    )
    fit = _of_mixture(X, mixture, replace(searched, course=course), filled)
    return _with_left_out(X, fit, mixture) if settings.measures else fit


def _refuse(settings: Settings) -> None:
    """Raise ValueError for parameters that need every cell."""
    if settings.refine == "descent" or settings.criterion == "loo_projection":
        name = "refine" if settings.refine == "descent" else "criterion"
        value = getattr(settings, name)
        fact = f"<{name}={{value!r}}> does not work with missing values."
        raise ParameterError(
            name, fact, Advice(f"choose another <{name}>", name), FILL, value=value
        )


def _searched(filled: "FilledTable", settings: Settings) -> Fit:
    """Return the fit of a filled table."""
    table = filled.table + filled.origin
    blocks = blocks_of(table)
    with collect_warnings() as raised:
        if blocks is None:
            found = fit_dense(table, settings)
            if not settings.affine and len(found.subspaces) > 1:
                warn_of_level(table, settings.variable_names)
        else:
            found = fit_blocks(SurveyedBlocks(blocks, survey_of(blocks)), settings)
    for warning in raised:  # whether labels still moved does not matter: EM goes on from them
        is_infeasible = found.course is not None and found.course.stop_reason == "infeasible"
        if not isinstance(warning, ConvergenceWarning) or is_infeasible:
            warn(warning)
    return replace(found, labels=in_main_memory(found.labels).astype(np.intp))


def _of_mixture(X: Array, mixture: IncompleteMixture, before: Fit, filled: "FilledTable") -> Fit:
    """Return the fit of a mixture: labels and objective as `predict` and `transform` have them."""
    sizes, noise = len(X) * mixture.shares, float(mixture.noise[0])
    pairs = zip(mixture.clusters, sizes.tolist(), strict=True)
    fit = replace(
        before,
        subspaces=tuple(as_subspace(cluster, noise, size) for cluster, size in pairs),
        sizes=sizes,
        criterion="likelihood",
        scored_by="likelihood",
        noise_variance=noise,
        score_variance=None,
        cell_noise=noise if before.influence is None else as_divisor(noise, before.data),
        missing_share=float(np.isnan(X).mean()),
        observed=filled.cells.observed.sum(axis=0, keepdims=True),
    )
    scores = fit.scores(X)
    labels = partition.assign(scores)
    own = scores[np.arange(len(X)), labels]
    found = None if before.probabilities is None else from_costs(scores, labels)
    return replace(fit, labels=labels, objective=float(own.sum()), probabilities=found)


def _with_left_out(X: Array, fit: Fit, mixture: IncompleteMixture) -> Fit:
    """Return the fit with the influence of each sample and PRESS, over its observed cells."""
    cells = incomplete.observed_cells(X).of_columns(fit.mixture.known)
    errors, pulls = np.empty(len(X)), np.empty(len(X))
    for k, cluster in enumerate(mixture.clusters):
        own = np.flatnonzero(fit.labels == k)
        pca = IncompletePCA(cells.rows(own), cluster, float(mixture.noise[k]), fit.affine)
        errors[own] = row_errors(pca)[1]
        pulls[own] = squared_influence(pca)
    told = errors[np.isfinite(errors)]
    return replace(fit, influence=pulls, press=float(told.mean()) if len(told) else np.inf)


@dataclass(frozen=True)
class FilledTable:
    """A table with holes: its cells and the filled table (n, p), both less ``origin`` (p,)."""

    cells: Cells
    table: Array
    origin: Array


def filled_in(X: Array) -> Array:
    """Return the table with its holes filled by a PCA of few axes, for a look at it."""
    with collect_warnings():
        filled = fill(X, (2, 2), affine=True)
    return filled.table + filled.origin


def fill(X: Array, dimensions: Sequence[int], affine: bool) -> FilledTable:
    """Return the table with its holes filled by as many axes as all clusters have together.

    Warn if values seem to be missing because they are low, and of samples and variables with few
    values.
    """
    n, p = X.shape
    cells = incomplete.observed_cells(X)
    origin = incomplete.observed_means(cells) if affine else np.zeros(p)
    known = incomplete.known_columns(cells.observed.sum(axis=0), dimensions)
    cells = cells.of_columns(known)
    shifted = Cells((cells.values - origin) * cells.observed, cells.observed)
    together = sum(dimensions) + (len(dimensions) - 1) * affine
    rank = max(min(together, p // 2, n // 3), 1)
    found = incomplete.filled_by_pca(shifted, rank, affine)
    warn_of_low_values(cells, found.image)
    smaller = simpler(1, max(dimensions), affine)
    if known is not None:
        skipped = int(np.sum(known == 0))
        have, them = ("have", "them") if skipped > 1 else ("has", "it")
        doubt(
            DataWarning,
            "empty_variables",
            f"{{few}} of {{p}} variables {have} too few values for "
            f"<n_components={{n_components}}>, so the fit skipped {them}.",
            *smaller,
            Advice(
                "leave out such variables",
                command="add <drop_missing=0.5> to leave out such variables",
            ),
            few=skipped,
            p=p,
            n_components=max(dimensions),
        )
    few = int(np.count_nonzero(cells.counts <= min(dimensions)))
    enough = int(cells.counts.min()) - 1
    if few:
        have, them = ("have", "their labels") if few > 1 else ("has", "its label")
        doubt(
            DataWarning,
            "empty_samples",
            f"{{few}} of {{n}} samples {have} too few values for the dimension of the clusters, so "
            f"{them} may be wrong.",
            Advice("compare with <n_clusters={n_clusters}> and <n_components={enough}>")
            if enough
            else Advice("leave them out", command="leave them out with <ignore=[...]>"),
            few=few,
            n=n,
            n_clusters=len(dimensions),
            enough=enough,
        )
    return FilledTable(shifted, found.table, origin)


def fitted(
    filled: FilledTable, labels: Labels, dimensions: Sequence[int], affine: bool,
    shared: bool, max_iter: int,
) -> FittedMixture:  # fmt: skip
    """Return the mixture that the observed cells are likeliest under, from the labels (n,).

    If clusters are of equal dimension, a second start compares rows over their common cells; the
    likelier end is returned.
    """
    starts = [labels]
    if len(dimensions) > 1 and len(set(dimensions)) == 1 and len(labels) <= OBSERVED_MOST_ROWS:
        starts.append(observed_pairs(filled.cells, len(dimensions), np.random.default_rng(0)))
    ends = [
        incomplete.fit_mixture(
            filled.cells, start, dimensions, affine, filled.table, shared, max_iter
        )
        for start in starts
    ]
    return max(ends, key=lambda end: end.path[-1])


def refilled(filled: FilledTable, found: FittedMixture) -> FilledTable | None:
    """Return the table filled by a mixture, if PCA had filled it too badly to search; else None.

    That is so if the two differ by far more than the noise of a cell: clusters with little
    noise, and more axes among them than PCA can find through holes.
    """
    holes = filled.cells.observed == 0
    expected = incomplete.predicted(filled.cells, found.mixture)
    away = float(np.sqrt(np.mean((expected - filled.table)[holes] ** 2)))
    if away <= FAR * np.sqrt(found.mixture.shares @ found.mixture.noise):
        return None
    return replace(filled, table=np.where(holes, expected, filled.table))
