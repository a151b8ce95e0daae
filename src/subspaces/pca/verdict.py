"""Verdicts on the components of a PCA: how many, how sure, and what is doubtful."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from subspaces._types import Array
from subspaces.core.row_order import neighbours_depend
from subspaces.messages import (
    Advice,
    ChoiceWarning,
    Grade,
    SubspacesWarning,
    TrustWarning,
    Verdict,
    use,
)
from subspaces.pca.components import FEW_COLUMNS, FEW_ROWS, Components
from subspaces.subspace import PrincipalAxes

# A component with a smaller share of the variance is shown as 0.0 %, and matters to nobody.
FAINT = 5e-4
# A variable with a larger share of the variance hides the others.
MOSTLY = 0.5
# A component would need this share of the variance to be seen: nothing can be seen.
HIDES_ALL = 0.995
# What is said of faint components if none or one is stronger.
FEW_HOLD = {0: "Each component", 1: "After the first, each component"}
NO_NUMBER = (
    "The number of components is unclear: the variables are correlated, and no component is much "
    "weaker than the one before it."
)
COPIED = " If some variables are copies or sums of others, some components may be noise."


class AxisKind(StrEnum):
    """What an axis of a PCA is; the value is the word for it."""

    COMPONENT = "component"
    FAINT = "too weak to matter"
    BELOW = "weaker than noise"
    LOUD = "one variable"
    POSSIBLE = "perhaps"
    ONE_SAMPLE = "due to one sample"
    NOISE = "noise"
    NOT_COUNTED = "not counted"


def kinds_of_axes(found: Components, explained: Array) -> list[AxisKind]:
    """Return what each axis is that was compared with noise.

    explained (m,): the share of the variance along each.
    """
    return [_kind_of(found, r, float(explained[r])) for r in range(len(found.ratio))]


def _kind_of(found: Components, r: int, share: float) -> AxisKind:
    if found.noise == "correlated":
        return AxisKind.COMPONENT if r < found.count else AxisKind.NOT_COUNTED
    if found.ratio[r] <= 1.0 and share > MOSTLY:
        return AxisKind.LOUD
    if r >= found.count:
        possible = AxisKind.POSSIBLE if r < (found.high or 0) else AxisKind.NOISE
        return AxisKind.ONE_SAMPLE if found.alone[r] else possible
    if found.ratio[r] <= 1.0:
        # Among components that stand out, the one that does not is a loud variable's.
        one = found.noise == "unequal" and np.count_nonzero(found.ratio[: found.count] <= 1.0) == 1
        return AxisKind.LOUD if one else AxisKind.BELOW
    return AxisKind.COMPONENT if share >= FAINT else AxisKind.FAINT


def grade_of_count(found: Components) -> Grade:
    """Return how sure the number of components is; NO if there is no number to find."""
    if found.noise == "unknown":
        return Grade.NO
    if found.noise == "correlated":
        return Grade.DOUBTFUL if found.count else Grade.NO
    return Grade.SURE if found.low == found.high else Grade.DOUBTFUL


def verdict_on_components(
    found: Components,
    explained: Array,
    shape: tuple[int, int],
    predictive: int | None = None,
    loudest: tuple[str, float] = ("", 0.0),
    *,
    scaled: bool = False,
) -> Verdict:
    """Return how many components there are, how sure that is, and the gravest doubt about it.

    explained (m,): the share of the variance along each axis; shape: samples and variables;
    predictive: how many axes predict a left-out cell best, if known; loudest: the variable with the
    largest share of the variance, and that share; scaled: whether the variables were scaled.
    """
    code, fact = _count_of(found)
    said = fact.partition(": ")[0].partition(", but")[0].rstrip(".")
    set_scale, advice = Advice("set <scale=True>", "scale", True), tuple[Advice, ...]()
    kinds = kinds_of_axes(found, explained)
    faint = kinds.count(AxisKind.FAINT)
    figures = {
        **{name: getattr(found, name) for name in ("count", "low", "high", "noise", "hidden")},
        "next": (found.high or found.count) - found.count,
        "clear": found.count - faint,
        "predictive": predictive,
        "variable": loudest[0],
        "share": loudest[1],
    }
    if found.noise == "unknown":
        figures |= {"samples": shape[0], "variables": shape[1]}
    elif kinds[:1] == [AxisKind.LOUD] and loudest[1] > MOSTLY:
        code, advice = "loud_variable", (use("scale", True), Advice("leave that variable out"))
        many = "A component is just one variable"
        many = many if found.count else "No component stands out"
        fact = f"{many}: {{variable}} alone makes up {{share:%}} of the variance."
    elif not found.leading and not scaled:
        fact = f"{said}, but the first axes only show variables with a large scale."
        advice = (set_scale,)
    elif found.noise == "unequal" and found.above < found.count and not scaled:
        one = "it" if found.count == 1 else "one of them"
        fact = f"{said}, but {one} may just be a variable with a large scale."
        advice = (set_scale,)
    elif faint:
        few = FEW_HOLD.get(figures["clear"], "After the first {clear}, each component")
        few = "The last" if faint == 1 else few
        few = "It" if found.count == 1 else few
        fact += f" {few} makes up less than 0.05 % of the variance."
    else:
        fact += _doubt(found, shape, predictive)
    return Verdict(code, fact, figures, advice, grade=grade_of_count(found))


def doubts_about_components(
    found: Components,
    names: Sequence[str],
    axes: PrincipalAxes,
    predictive: int | None = None,
    *,
    more: bool,
    maximum: str = "max_components",
) -> list[SubspacesWarning]:
    """Return what is doubtful, a warning each: order, correlated noise, a cap, a single sample.

    names: of the samples; axes: those that were counted; predictive: how many predict a left-out
    cell best, if known; more: whether more components could be looked for; maximum: the parameter
    that says how many.
    """
    doubts: list[SubspacesWarning] = []
    beyond = axes.coordinates[:, found.count :]
    depend = found.count > 0 and found.noise != "none" and neighbours_depend(beyond)
    if depend:
        doubts.append(
            TrustWarning(
                "neighbours_depend",
                "Neighbouring samples are alike, as in a time series or a sorted table, which can "
                "look like components.",
                Advice("take every third sample, and see which components stay"),
            )
        )
    # Such samples make variables look correlated, and more components would be more of the same.
    if found.noise == "correlated" and not depend:
        most = (
            "keep {predictive:#component, which predicts|components, which predict} left-out "
            "values best"
        )
        best = [Advice(most, "n_components", predictive)] if predictive and not found.count else []
        beyond_few = "The variables are still correlated after {count:#component}, so this number"
        doubts.append(
            TrustWarning(
                "correlated_noise",
                f"{beyond_few} is a guess." if found.count else NO_NUMBER,
                *best,
                predictive=predictive,
                count=found.count,
                z=float(found.correlation),
            )
        )
    if more and found.noise != "none" and not depend and found.count == len(found.ratio) > 0:
        doubts.append(
            ChoiceWarning(
                "most_components",
                "{count:#component stands|components stand} out, as many as we looked for, so "
                "there may be more.",
                Advice(f"set a larger <{maximum}>", maximum),
                count=found.count,
            )
        )
    alone = np.flatnonzero(found.alone[: found.count])
    if len(alone):
        several = "Components {components} each depend on a single sample: {samples:'}."
        single = "Component {components} depends on a single sample: {samples:'}."
        on = list(dict.fromkeys(str(names[i]) for i in found.rests_on[alone]))
        it, them = ("it", "it") if len(on) == 1 else ("these samples", "them")
        doubts.append(
            TrustWarning(
                "rests_on_one",
                single if len(alone) == 1 else several,
                Advice(f"check {it}, and repeat the PCA without {them}"),
                components=(alone + 1).tolist(),
                samples=on,
            )
        )
    return doubts


def _doubt(found: Components, shape: tuple[int, int], predictive: int | None) -> str:
    """Return a sentence on what else to know of the count, after a space; "" if nothing."""
    if found.noise == "none":
        return COPIED if found.count else ""
    if found.noise == "correlated":
        best = " Predictions of values that we left out are best with {predictive:#component}."
        return best * bool(predictive)
    if found.noise == "heavy":
        return (
            " Some values are extreme, so we only count components that also stand out without the "
            "sample they depend on most."
        )
    if found.noise == "unequal_samples":
        return " Some samples are noisier than others, so we divided each sample by its own noise."
    if shape[0] < FEW_ROWS and shape[1] < FEW_COLUMNS:
        return " In a table this small, correlated noise can look like a component."
    if predictive is not None and predictive < found.count:
        if predictive == 0:
            return " No component helps to predict values that we left out."
        which = "first helps" if predictive == 1 else "first {predictive} help"
        return f" Only the {which} to predict values that we left out."
    if found.hidden > HIDES_ALL:
        return " The table is too small to detect any component."
    return f" Noise hides components below {100 * found.hidden:.2g} % of the variance."


def _count_of(found: Components) -> tuple[str, str]:
    """Return a code and a sentence on how many components there are."""
    if found.noise == "unknown":
        few = "{samples:#sample} and {variables:#variable that varies|variables that vary}"
        return "too_small", f"{few} are too few to tell a component from noise."
    if found.noise == "none" and found.count == 0:
        return "nothing", "All variables are constant, so there are no components."
    if found.noise == "none":
        return "exact", (
            "{count:#component describes|components describe} the table exactly, without noise."
        )
    if found.noise == "correlated":
        return _guess(found)
    if found.count < (found.high or 0):
        if not found.count:
            first = "the first" if found.high == 1 else "even the first {next}"
            return "possible", f"There may be no component: {first} could be noise."
        many = "{count:#component is|components are} clear"
        more = "one" if found.high == found.count + 1 else "{next}"
        return "possible", f"{many}, possibly {{high}}: the next {more} could be noise."
    if found.count == 0:
        return "none_stands", "No component is stronger than noise."
    stand = "{count:#component is|components are} stronger than noise"
    if found.low == found.high:
        return "clear", f"{stand}."
    return "not_all_clear", f"{stand}, {'{low} of them' if found.low else 'but not'} for sure."


def _guess(found: Components) -> tuple[str, str]:
    if found.count == 0:
        return "no_number", NO_NUMBER
    but = "is much weaker, but still stronger than noise"
    if np.any(found.ratio[found.count : found.count + 1] <= 1.0):
        these = "this component" if found.count == 1 else "these components"
        but = f"is as weak as noise, but even without {these} the variables are correlated"
    return "guess", f"Our guess is {{count:#component}}: the next one {but}."
