"""The search of a fit: which first partitions ``init`` makes, and the best run from them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from subspaces._types import Array, Labels
from subspaces.core.array import to_host
from subspaces.core.in_view import RowsInView
from subspaces.core.loop import Clustering
from subspaces.core.problem import Problem
from subspaces.core.rows import saves_time
from subspaces.core.search import MANY_ROWS, RESTLESS, Plan, search, story, sweep
from subspaces.core.which_run import AGREEING, Run, Start, best_run
from subspaces.messages import Advice, ChoiceWarning, NotConvergedWarning, ParameterError, simpler
from subspaces.progress import Step
from subspaces.psc.doubts import warn_of_an_early_end
from subspaces.psc.settings import Settings
from subspaces.runtime.parameters import as_count, as_generator, as_jobs
from subspaces.runtime.warning import doubt
from subspaces.starts import landmarks, registry

# What n_init="auto" stands for; sparse loadings have more local optima.
DEFAULT_STARTS, DEFAULT_SPARSE_STARTS = 12, 20


def best_partition(
    X: Array, problem: Problem, settings: Settings, *, by_likelihood: bool
) -> tuple[Run, list[Run]]:
    """Return the best run on all rows, and all runs.

    by_likelihood: whether runs are compared by that, else by the objective. Of many rows a sample
    is searched, the landmarks. Its best partition is extended to all rows and swept on, so that the
    cost is linear in their number, and the runs are those on the sample. If clusters are large, the
    search is quick (`Problem.quick`), and sweeps with exact left-out errors follow.
    """
    random = as_generator(settings.random_state)
    by_portfolio = _names_portfolio(settings) and problem.sparsity is None
    plan = Plan(
        "t_likelihood" if by_likelihood else "objective",
        shortlist=by_portfolio and problem.alike and by_likelihood,
        max_iter=settings.max_iter,
        n_jobs=as_jobs(settings.n_jobs),
        tell=settings.tell,
        enough=AGREEING if by_portfolio and settings.n_init == "auto" else None,
    )
    chosen = landmarks.sample_to_search(problem, random) if by_portfolio else None
    n = len(X) if chosen is None else len(chosen)
    size = min(n // problem.n_clusters, problem.rows.rank)
    is_quick = by_portfolio and n >= MANY_ROWS and saves_time(size, max(problem.dimensions))
    quick = replace(problem, quick=is_quick)
    small = quick if chosen is None else quick.subset(chosen)
    made = starts(X, small, settings)
    seeds = random.integers(2**31, size=len(made)).tolist()
    runs = search(small, made, seeds, plan)
    best = best_run(runs)
    if chosen is not None:
        labels = landmarks.extend(problem, chosen, best.clustering.labels)
        best = sweep(RowsInView(quick), replace(best, first=labels), plan)
        settings.tell(Step("run", 1, 1, f"all samples {story(best)}"))
    if is_quick:
        found = replace(best, first=best.clustering.labels)
        best = sweep(RowsInView(problem), found, plan, restless_sweeps=1)
    return best, runs


def starts(X: Array, problem: Problem, settings: Settings) -> list[tuple[str, Start]]:
    """Return the starts as pairs of a name and a function that returns first labels."""
    automatic = DEFAULT_STARTS if problem.sparsity is None else DEFAULT_SPARSE_STARTS
    given = settings.n_init if settings.n_init != "auto" else automatic
    n_starts = as_count(given, "n_init", low=1)
    named = registry.find(settings.init)
    if named is not None:
        return named.choose(problem, n_starts)
    if not callable(settings.init):
        labels = given_labels(settings, settings.init, len(X))
        return [("labels", lambda problem, random: labels)]

    def start(problem: Problem, random: np.random.Generator) -> Labels:
        return given_labels(settings, called(settings, X, random), len(X))

    return [("callable", start)] * n_starts


def _names_portfolio(settings: Settings) -> bool:
    return isinstance(registry.find(settings.init), registry.Portfolio)


def called(settings: Settings, X: Any, random: np.random.Generator) -> Any:
    """Return the labels that the function given as ``init`` returns for X, not yet checked."""
    assert callable(settings.init)
    return settings.init(X, settings.n_clusters, random_state=int(random.integers(2**31)))


def given_labels(settings: Settings, labels: Any, n_samples: int) -> Labels:
    """Return a user's labels as integers (n,); raise ValueError unless 0 to K - 1."""
    given = to_host(labels)
    if given.ndim == 0:
        names = ", ".join(registry.STARTS)
        advice = Advice(f"choose from {names}, or pass an array of labels or a function", "init")
        raise ParameterError("init", "<init={value!r}> is unknown.", advice, value=labels)
    if given.shape != (n_samples,):
        fact = (
            f"<init> has shape {given.shape}, but there are {{n:#sample}}. Pass one label per "
            "sample."
        )
        raise ParameterError("init", fact, n=n_samples)
    last = int(settings.n_clusters) - 1
    outside = given[~np.isin(given, np.arange(last + 1))]
    if len(outside):
        fact = (
            f"<init> has the label {{label}}, but <n_clusters={settings.n_clusters}> needs labels "
            f"from 0 to {last}. Renumber your labels."
        )
        raise ParameterError("init", fact, label=outside[0].item())
    return given.astype(np.intp)


def warn_of_a_poor_end(
    settings: Settings, result: Clustering, runs: Sequence[Run], n_samples: int, *, alike: bool
) -> None:
    """Warn if the best run may be poor, and say why; alike: as `Problem.alike`."""
    reason, moving = result.stop_reason, result.moving
    warn_of_an_early_end(reason, settings.max_iter, int(settings.n_clusters))
    if reason == "cycle" and moving > max(1, RESTLESS * n_samples):
        doubt(
            NotConvergedWarning,
            "cycle",
            "{moving} of {n_samples} samples kept moving between clusters, so some labels are "
            "uncertain.",
            Advice("fit again with another <random_state> and compare the labels", "random_state"),
            moving=moving,
            n_samples=n_samples,
        )
    # If dimensions differ, a refill may only swap which cluster has which.
    swept = [run for run in runs if run.swept]
    refilled = sum(run.clustering.repairs > 0 for run in swept)
    if alike and 2 * refilled > len(swept) and reason != "infeasible":
        which = "every start" if refilled == len(swept) else "{refilled} of {starts:#start}"
        doubt(
            ChoiceWarning,
            "refilled",
            f"A cluster became too small for its dimension in {which}, so "
            "<n_clusters={n_clusters}> may be too many.",
            *simpler(
                int(settings.n_clusters), np.max(settings.n_components), bool(settings.affine)
            ),
            refilled=refilled,
            starts=len(swept),
            n_clusters=settings.n_clusters,
        )
