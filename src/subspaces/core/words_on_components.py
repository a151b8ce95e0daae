"""Sentences about the components of a PCA: how many, how sure, and what is doubtful."""

from collections.abc import Sequence

import numpy as np

from subspaces.core.components import FEW_COLUMNS, FEW_ROWS, Components
from subspaces.core.row_order import neighbours_depend
from subspaces.messages import Advice, ChoiceWarning, SubspacesWarning, TrustWarning
from subspaces.subspace import PrincipalAxes


def verdict_on_components(found: Components, shape: tuple[int, int], predictive: int | None) -> str:
    """Return how many components there are, how sure that is, and what could hide, in words.

    shape: samples and variables; predictive: how many axes predict a left-out cell best, if known.
    """
    sentences = [_count_of(found, predictive)]
    if found.noise == "heavy":
        sentences.append(
            "Some values lie far out (heavy tails), so that only what stays without its most "
            "influential sample was counted."
        )
    if found.noise == "correlated":
        return " ".join(sentences)
    if found.noise == "unequal" and found.above < found.count:
        sentences.append(
            "One of them may be a single loud variable. Scale the variables to see the others "
            "alone."
        )
    if found.noise != "none" and shape[0] < FEW_ROWS and shape[1] < FEW_COLUMNS:
        sentences.append("The table is too small to tell correlated noise from components.")
    if predictive is not None and predictive < found.count:
        sentences.append(_on_weak_ones(found.count, predictive))
    return " ".join(sentences)


def doubts_about_components(
    found: Components,
    limit: int,
    names: Sequence[str],
    axes: PrincipalAxes,
    predictive: int | None = None,
) -> list[SubspacesWarning]:
    """Return what is doubtful, a warning each: order, correlated noise, a cap, a single sample.

    limit: the most components that could be told from noise; names: of the samples; axes: those
    that were counted; predictive: how many predict a left-out cell best, if known.
    """
    doubts: list[SubspacesWarning] = []
    beyond = axes.coordinates[:, found.count :]
    depend = found.count > 0 and found.noise != "none" and neighbours_depend(beyond)
    if depend:
        doubts.append(
            TrustWarning(
                "neighbours_depend",
                "Neighbouring samples are alike, as in a time series, which can look like "
                "components.",
                Advice("use every third sample, say, and see which stay"),
            )
        )
    # Such samples make variables look correlated, and more components would be more of the same.
    if found.noise == "correlated" and not depend:
        most = f"use {predictive} axes, which predict a left-out value best"
        best = [Advice(most, "n_components", predictive)] if predictive and not found.count else []
        doubts.append(
            TrustWarning(
                "correlated_noise",
                "The variables are correlated beyond a few components, so their number, {count}, "
                "is a guess.",
                *best,
                count=found.count,
                z=float(found.correlation),
            )
        )
    if found.noise != "none" and not depend and limit > found.count == len(found.ratio) > 0:
        doubts.append(
            ChoiceWarning(
                "most_components",
                "All {count:#component} that we looked for stand out, so there may be more.",
                Advice("use a larger <max_components>", "max_components"),
                count=found.count,
            )
        )
    alone = np.flatnonzero(found.alone[: found.count])
    if len(alone):
        doubts.append(
            TrustWarning(
                "rests_on_one",
                "{count:#component rests on one sample|components rest on one sample each}: "
                "{samples}.",
                Advice("check that sample, and repeat without it"),
                count=len(alone),
                components=(alone + 1).tolist(),
                samples=[str(names[i]) for i in found.rests_on[alone]],
            )
        )
    return doubts


def _count_of(found: Components, predictive: int | None) -> str:
    unseen = f"weaker ones, below {_percent(found.hidden)} of the variance, are not seen."
    if found.noise == "none":
        copied = " Where variables are copies or sums of others, some of them may be noise."
        return (
            f"The table has rank {found.count} and nothing beyond: {_components(found.count)}."
            + (copied if found.count else "")
        )
    if found.low is None or found.high is None:
        return _of_correlated(found, predictive)
    if found.low == found.high:
        return f"{_stand(found.count)} out of the noise; {unseen}"
    if found.count == found.high:
        less = "none" if found.low == 0 else str(found.low)
        return f"{_stand(found.count)} out of the noise, {less} of them beyond all doubt; {unseen}"
    count = _components(found.count).capitalize()
    return (
        f"{count}, perhaps {found.high}: {_next(found)} only as strong as noise alone is one time "
        f"in two; {unseen}"
    )


def _of_correlated(found: Components, predictive: int | None) -> str:
    best = f" {_axes(predictive)} a left-out cell best." if predictive else ""
    if found.count == 0:
        return (
            "There is no number of components to find: the variables are correlated, and the "
            f"eigenvalues fall without a break.{best}"
        )
    last = "it" if found.count == 1 else "them"
    return (
        f"{_components(found.count).capitalize()}, a guess: after {last} the eigenvalues fall off, "
        f"but the variables stay correlated, and there is no test for that.{best}"
    )


def _axes(count: int) -> str:
    return "1 axis predicts" if count == 1 else f"{count} axes predict"


def _next(found: Components) -> str:
    more = (found.high or 0) - found.count
    return "the next is" if more == 1 else f"the next {more} are"


def _components(count: int) -> str:
    return "no component" if count == 0 else "1 component" if count == 1 else f"{count} components"


def _stand(count: int) -> str:
    verb = "stands" if count <= 1 else "stand"
    return f"{_components(count).capitalize()} {verb}"


def _on_weak_ones(count: int, predictive: int) -> str:
    """Return a sentence on components of which ``predictive``, fewer, help to predict a cell."""
    if predictive == 0:
        none = "It does not help" if count == 1 else "None of them helps"
        return f"{none} to predict a left-out cell."
    return (
        f"A left-out cell is predicted best with {predictive} of them: the others are there, but "
        "too weak to help."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "all"
