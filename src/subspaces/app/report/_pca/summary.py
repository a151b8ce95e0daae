"""HTML of the sections "In short" and "Warnings" of the page on one PCA."""

from subspaces.app.report._missing import missing_section
from subspaces.app.report._names import count, escape
from subspaces.app.report._pca.draft import PCADraft, name_of
from subspaces.app.report._pca.findings import PCAFindings
from subspaces.messages import percent

MEANING = (
    "A component is a direction along which variables change together. Noise also makes such "
    "directions. We only count those that are stronger than noise."
)


def summary(draft: PCADraft) -> str:
    """Return the HTML of "In short": the verdict, a few numbers, and how far to trust it."""
    found = draft.found
    shown = ""
    if found.asked and found.n_shown != found.components.n_components:
        shown = f"<p>{_shown_as_asked(found)}</p>"
    done = (
        (f"How the values were prepared: {escape(found.preparation)}.") if found.preparation else ""
    )
    prepared = f"{escape(found.taken_for)} {done}".strip()
    prepared = f"<p>{prepared}</p>" if prepared else ""
    tiles = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in _tiles(found))
    reasons = "".join(f"<li>{reason}</li>" for reason in _reasons(found))
    return (
        f'<p class="verdict">{escape(found.components.verdict)}</p><p>{MEANING}</p>{shown}'
        f'{prepared}<dl class="tiles">{tiles}</dl>'
        f'<h3>How far to trust this</h3><ul class="verdicts">{reasons}</ul>'
    )


def warnings(draft: PCADraft) -> str | None:
    """Return the HTML list of all that is doubtful; None if nothing is."""
    items = "".join(f"<li>{escape(message)}</li>" for message in draft.found.warned)
    return f'<ul class="messages">{items}</ul>' if items else None


def missing(draft: PCADraft) -> str | None:
    """Return the HTML of "What is missing"; None if nothing is."""
    found = draft.found
    done = (
        "Missing values were skipped, not filled in. So the distances of samples are approximate, "
        "and the loadings have no intervals."
    )
    return missing_section(found.missing, found.sample_names, found.variable_names, done)


def _shown_as_asked(found: PCAFindings) -> str:
    """Return the sentence on how many components are shown, if that is not the number found."""
    shown, there = found.n_shown, found.components.n_components
    many = count(shown, "component") if shown else "no component"
    number = f"The page shows {many}, as you asked"
    if found.components.noise == "correlated" or shown < there:
        return f"{number}."
    told = "none of them is stronger" if there == 0 else "only the first is stronger"
    told = "it is not stronger" if there == 0 and shown == 1 else told
    told = f"only the first {there} are stronger" if there > 1 else told
    return f"{number}, but {told} than noise."


def _tiles(found: PCAFindings) -> list[tuple[str, str]]:
    known = found.components
    number = str(known.n_components)
    if known.low != known.high:
        number += f" ({known.low} to {known.high})"
    share = 100 * known.explained[: known.n_components].sum()
    out, n = len(found.outliers.outliers), len(found.scores)
    tiles = [
        ("Components", number),
        *[("Variance they explain", f"{share:.1f} %")] * (known.n_components > 0),
        ("Outliers", f"{out:,} of {n:,}"),
        ("Variables", f"{len(found.variable_names):,}"),
    ]
    if found.missing is not None:
        tiles.append(("Values missing", percent(found.missing.share)))
    return tiles


def _reasons(found: PCAFindings) -> list[str]:
    """Return sentences, as HTML, on what the components rest on, predict, and leave out."""
    outliers = escape(found.outliers.verdict)
    return [*filter(None, [_on_one_sample(found), _on_prediction(found)]), outliers]


def _on_one_sample(found: PCAFindings) -> str:
    known = found.components
    if known.n_components == 0 or known.noise in ("none", "correlated", "unknown"):
        return ""
    if not found.alone:
        if not found.stand_without_any:
            return ""
        return "No component is due to a single sample."
    each = [
        f"Component {r + 1} is due to one sample, {name_of(found, known.rests_on[r])}. "
        "Without this sample, the component is as weak as noise."
        for r in found.alone
    ]
    return " ".join(each)


def _on_prediction(found: PCAFindings) -> str:
    """Return a sentence on how many components predict best; "" if the verdict says it."""
    known = found.components
    best, there = known.n_predictive, known.n_components
    if best > 0 if known.noise == "correlated" else best < there:
        return ""
    if best == 0:
        return "No component helps to predict values that we left out."
    more = ", so weaker directions may also matter" if best > there else ""
    best_with = f"Predictions of values that we left out are best with {count(best, 'component')}"
    return f"{best_with}{more}."
