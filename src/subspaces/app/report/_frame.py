"""`report`: one page for any data frame: columns, gaps, one PCA, clusters and outliers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subspaces._types import Array, Labels, Mask, Seed
from subspaces.app.report._canvas import require_plotly
from subspaces.app.report._draft import Sheet
from subspaces.app.report._missing import missing_section
from subspaces.app.report._names import as_text, count, escape, number
from subspaces.app.report._page import page, write_page
from subspaces.app.report._pca import components as pca_components
from subspaces.app.report._pca import samples as pca_samples
from subspaces.app.report._pca.draft import PCADraft
from subspaces.app.report._pca.findings import FEWEST_SAMPLES, PCAFindings, gather_pca
from subspaces.app.report._summary import STABILITY, Point, list_of_points, points_of_warnings
from subspaces.app.report._tables import simple, swatch
from subspaces.app.tables import Column, Kind, columns_of, read_frame
from subspaces.diagnostics import stability
from subspaces.estimators import PSC
from subspaces.messages import Grade, Message, Verdict, listed, percent
from subspaces.named_table import MissingValues
from subspaces.psc.doubts import differ_in_units
from subspaces.runtime.extras import install
from subspaces.runtime.parameters import as_flag
from subspaces.runtime.warning import collect_warnings

# Fewer samples or numbers leave nothing to look for clusters in.
FEWEST_TO_GROUP = 10
FEWEST_NUMBERS = 2
# How many columns a table describes, and how many names a sentence lists.
DESCRIBED, NAMED = 200, 3
# Least number of components to draw, and most rows of the table of cluster means.
DRAWN, TELLING = 2, 12
# What to do about doubtful clusters, as HTML.
FURTHER = (
    "To compare other clusters, run <code>subspaces fit</code> on this table, or fit a "
    "<code>PSC</code>."
)
HOLDS = {
    Kind.NUMBER: "with numbers",
    Kind.CATEGORY: "with categories",
    Kind.TEXT: "with text",
    Kind.IDENTIFIER: "with identifiers",
    Kind.DATE: "with dates",
    Kind.CONSTANT: "constant",
    Kind.EMPTY: "empty",
}
UNUSED = {
    Kind.TEXT: "free text",
    Kind.IDENTIFIER: "names or numbers of samples",
    Kind.DATE: "dates",
    Kind.CONSTANT: "constant columns",
    Kind.EMPTY: "empty columns",
}


@dataclass(frozen=True)
class Clusters:
    """Clusters among the numbers.

    verdict: on their number, in words; grade: how sure it is; labels (n,): the cluster of each
    sample; is_scaled: whether numbers were scaled; halves: whether halves of the samples agree,
    None if there is one cluster.
    """

    verdict: str
    grade: Grade
    labels: Labels
    is_scaled: bool
    halves: Verdict | None = None

    @property
    def names(self) -> list[str] | None:
        """The name of each sample's cluster, or None if there is one cluster."""
        if len(set(self.labels.tolist()) - {-1}) < 2:
            return None
        return [f"cluster {k}" if k >= 0 else "no cluster" for k in self.labels.tolist()]


@dataclass(frozen=True)
class FrameDraft(Sheet):
    """What the page is written from.

    columns: of the frame, all n samples; names (n,): of the samples; used (n,): which have a value
    to use; pca, clusters: of these, or None; doubts: about the table and its PCA.
    """

    columns: list[Column]
    names: list[str]
    used: Mask
    pca: PCAFindings | None
    clusters: Clusters | None
    doubts: tuple[Message, ...]

    @property
    def pca_draft(self) -> PCADraft:
        """The PCA, for the sections of its own page; its figures are those of this page."""
        assert self.pca is not None
        return PCADraft(self.pca, figures=self.figures)

    def of(self, *kinds: Kind) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [column.name for column in self.columns if column.kind in kinds]


def report(
    table: Any,
    path: str | Path = "report.html",
    *,
    title: str | None = None,
    overwrite: bool = False,
    random_state: Seed = 0,
) -> Path:
    """Write a web page about any table: its columns, missing values, a PCA, clusters and outliers.

    For the PCA, numbers are scaled to standard deviation 1. A category becomes one column of yes
    and no for each level, scaled by its frequency, as in factor analysis of mixed data. Free text,
    dates, names and row numbers are left out, and the page lists them. The clusters use only the
    numbers, scaled if their units differ. A column of two values counts as a category, so that the
    clusters do not just follow it.

    Parameters
    ----------
    table : pandas.DataFrame, path, or anything a DataFrame is made of
        Samples in rows. A path can be a CSV, TSV, TXT, GCT, XLSX, NPZ, Parquet or H5AD file.
    path : str or Path, default "report.html"
        Where to write the page.
    title : str, optional
        Heading of the page. By default the name of the file, or the size of the table.
    overwrite : bool, default False
        Whether to replace an existing file.
    random_state : int, RandomState or None, default 0
        Seed.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> import subspaces
    >>> from subspaces.datasets import load_penguins
    >>> page = subspaces.report(load_penguins().data, "penguins.html")  # doctest: +SKIP
    """
    require_plotly()
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"report() needs pandas. {install('cli')}") from error
    target = Path(path)
    if target.exists() and not as_flag(overwrite, "overwrite"):
        raise FileExistsError(f"{target} already exists. Set overwrite=True to replace it.")
    if isinstance(table, str | Path):
        title = Path(table).name if title is None else title
        table = read_frame(table)
    elif hasattr(table, "to_pandas"):
        table = table.to_pandas()
    return write_frame_page(describe(pd.DataFrame(table), random_state), target, title)


def write_frame_page(draft: FrameDraft, target: Path, title: str | None) -> Path:
    """Write the page of a data frame; by default its title is the size of the frame."""
    size = f"{count(len(draft.names), 'sample')} of {count(len(draft.columns), 'column')}"
    return write_page(page(draft, SECTIONS, size if title is None else title), target)


def describe(frame: Any, random_state: Seed = 0) -> FrameDraft:
    """Return what there is to say of a pandas DataFrame."""
    import pandas as pd

    columns, doubts = columns_of(frame)
    names = _sample_names(frame, columns)
    encoded = {name: values for c in columns for name, values in c.encoded.items()}
    numbers = [c.name for c in columns if c.kind is Kind.NUMBER]
    rows = pd.DataFrame(encoded, index=names, dtype=float)
    used = ~rows[numbers or list(encoded)].isna().all(axis=1).to_numpy()
    rows = rows[used]
    pca = clusters = None
    if int(used.sum()) >= FEWEST_SAMPLES and encoded:
        raw = [c.numbers for c in columns if c.kind is Kind.NUMBER and c.numbers is not None]
        X = np.reshape(raw, (len(numbers), len(frame))).T[used]
        is_scaled = differ_in_units(X)
        clusters = _clusters(rows[numbers].to_numpy() if is_scaled else X, is_scaled, random_state)
        own = None if clusters is None else clusters.names
        pca = gather_pca(rows, least=DRAWN, random_state=random_state, classes=own)
        pca = replace(pca, class_word="", coded=any(c.kind is Kind.CATEGORY for c in columns))
        doubts += pca.warned
    return FrameDraft(columns, names, used, pca, clusters, tuple(doubts))


def _sample_names(frame: Any, columns: list[Column]) -> list[str]:
    """Return the index of a frame if it names the samples, else its first column of names."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex):
        texts = [c.texts for c in columns if c.kind is Kind.IDENTIFIER and (c.texts != "").all()]
        if texts:
            return [as_text(text) for text in texts[0]]
    return [as_text(name) for name in frame.index]


def _clusters(X: Array, is_scaled: bool, random_state: Seed) -> Clusters | None:
    """Return the clusters of the automatic choice, and whether halves agree; None if too few.

    X (n, p): the numbers, NaN for a missing one.
    """
    if X.shape[1] < FEWEST_NUMBERS or len(X) < FEWEST_TO_GROUP:
        return None
    model = PSC("auto", n_components="auto", affine="auto", random_state=random_state)
    with collect_warnings():
        found = model.fit(X).selection_
        clusters = Clusters(found["fact"], Grade(found["grade"]), model.labels_, is_scaled)
        if clusters.names is None:
            return clusters
        halves = stability(model, X, random_state=random_state).conclusion
    return replace(clusters, halves=replace(halves, advice=()))


def summary(draft: FrameDraft) -> str:
    """Return the HTML of "In short": what the table is, and findings beside all samples."""
    n, pca = len(draft.names), draft.pca
    what = f"{count(n, 'sample')}, {count(len(draft.columns), 'column')}: "
    kinds = [(len(draft.of(kind)), kind) for kind in Kind]
    words = [f"{m:,} {HOLDS[kind]}" for m, kind in kinds if m]
    what += ", ".join(words) or "none"
    done = "".join(f"<li>{escape(each)}</li>" for each in _done(draft))
    said = f"{list_of_points(_points(draft))}<h3>How the columns were used</h3><ul>{done}</ul>"
    verdict = f'<p class="verdict">{escape(what)}.</p>'
    if pca is None:
        return verdict + said
    drawn = pca_samples.scores(draft.pca_draft)
    return f'{verdict}<div class="first"><div>{said}</div><div>{drawn}</div></div>'


def _points(draft: FrameDraft) -> Iterator[Point]:
    """Yield what was found out about the table, doubts among it."""
    pca, gaps = draft.pca, _gaps(draft)
    if pca is not None:
        known, out = pca.components, pca.outliers
        yield Point("Components", escape(known.verdict), "components", known.grade)
        # A sample far from all groups can be amid them, so that there is no proof of none.
        grouped = draft.clusters is not None and draft.clusters.names is not None
        grade = Grade.UNKNOWN if grouped and out.grade is Grade.SURE else out.grade
        yield Point("Outliers", escape(out.verdict), "outliers", grade)
    elif len(draft.names) < FEWEST_SAMPLES:
        yield Point("No PCA", f"A PCA needs at least {FEWEST_SAMPLES} samples.")
    else:
        yield Point("No PCA", "No column has numbers or categories that vary.")
    if draft.clusters is not None:
        words, grade = escape(draft.clusters.verdict), draft.clusters.grade
        yield Point("Clusters", words, "clusters", grade)
        halves = draft.clusters.halves
        if halves is not None:
            yield Point(STABILITY[halves.grade], escape(halves), "clusters", halves.grade)
    if gaps is not None:
        yield Point(
            "Missing values", f"{percent(gaps.share)} of the values are missing.", "missing"
        )
    yield from points_of_warnings(draft.doubts)


def _done(draft: FrameDraft) -> list[str]:
    """Return sentences on how the columns were made numbers, and what was left out."""
    said = []
    if draft.of(Kind.NUMBER):
        said.append("For the PCA, each column of numbers was scaled to standard deviation 1.")
    categories = draft.of(Kind.CATEGORY)
    if categories:
        said.append(
            f"Each category ({listed(categories, NAMED)}) was turned into columns of 0 and 1, "
            "scaled by how common each value is."
        )
    if draft.clusters is not None:
        how = "scaled in the same way" if draft.clusters.is_scaled else "as they are in the table"
        said.append(f"The clusters use only the numbers, {how}.")
    for kind, what in UNUSED.items():
        names = draft.of(kind)
        if names:
            said.append(f"Left out {what}: {listed(names, NAMED)}.")
    gone = len(draft.names) - int(draft.used.sum())
    if draft.pca is not None and gone:
        said.append(f"Left out {count(gone, 'sample')} without numbers.")
    return said or ["The table has no columns."]


def columns(draft: FrameDraft) -> str | None:
    """Return the HTML of "The columns": a row each; None if there are none."""
    rows = []
    for column in draft.columns[:DESCRIBED]:
        gone = percent(float(column.missing.mean())) if column.missing.any() else ""
        kind = f"{column.kind}, {gone} missing" if gone else column.kind
        rows.append([_name(column), kind, _values(column)])
    caption = count(len(draft.columns), "column")
    if len(draft.columns) > DESCRIBED:
        caption = f"The first {DESCRIBED} of {caption}"
    heads = ["Column", "Kind", "Values"]
    return simple(f"{caption}.", heads, rows, kind="words") if rows else None


def _values(column: Column) -> str:
    """Return as HTML what is in a column: its range, its levels, or the first texts."""
    seen = column.texts[~column.missing]
    if not len(seen):
        return ""
    if column.kind is Kind.NUMBER and column.numbers is not None:
        low, middle, high = np.nanquantile(column.numbers, [0.0, 0.5, 1.0])
        unit = f" {column.unit}" if column.unit else ""
        said = f"{number(low)} to {number(high)}{unit}, median {number(middle)}"
    elif column.kind is Kind.CATEGORY:
        shares = [f"{level} {percent(float(np.mean(seen == level)))}" for level in column.levels]
        said = listed(shares, NAMED)
    else:
        said = listed(list(dict.fromkeys(seen.tolist())), NAMED)
    return f'<bdi class="name">{escape(said)}</bdi>'


def _gaps(draft: FrameDraft) -> MissingValues | None:
    """Return how much of the table is missing; None if nothing is."""
    holes = np.array([c.missing for c in draft.columns if c.kind is not Kind.EMPTY]).T
    if not holes.any():
        return None
    return MissingValues(float(holes.mean()), holes.mean(axis=1), holes.mean(axis=0))


def missing(draft: FrameDraft) -> str | None:
    """Return the HTML of "What is missing"; None if nothing is."""
    names = [as_text(c.name) for c in draft.columns if c.kind is not Kind.EMPTY]
    return missing_section(
        _gaps(draft), draft.names, names, "Missing values were skipped, not filled in."
    )


def clusters(draft: FrameDraft) -> str | None:
    """Return the HTML of "Clusters": the verdict, and what the clusters are made of."""
    found = draft.clusters
    if found is None:
        return None
    more = "" if found.halves is None or found.halves.grade is Grade.SURE else f" {FURTHER}"
    verdict = f"<p>{escape(found.verdict)}{more}</p>"
    own = found.names
    if own is None:
        return verdict
    members = {k: found.labels == k for k in range(int(found.labels.max()) + 1)}
    own = [f"{swatch(k)}Cluster {k} ({int(m.sum()):,})" for k, m in members.items()]
    heads = ["Column", *own]
    told = []
    for column in draft.columns:
        if column.kind is Kind.NUMBER and column.numbers is not None:
            values = column.numbers[draft.used]
            scaled = column.encoded[column.name][draft.used]
            away = [_mean(scaled[m]) for m in members.values()]
            told.append(
                (
                    np.nanmax(away) - np.nanmin(away),
                    column,
                    [_mean(values[m]) for m in members.values()],
                )
            )
    told.sort(key=lambda each: -each[0])
    rows = [[_name(c), *map(number, means)] for _, c, means in told[:TELLING]]
    caption = "Mean of each cluster, for the variables that differ most between clusters."
    tables = simple(caption, heads, rows, kind="whole numbers")
    shared = [
        [_name(c), *(_most(c, draft.used, m) for m in members.values())]
        for c in draft.columns
        if c.kind is Kind.CATEGORY
    ]
    if shared:
        tables += simple("Most common value in each cluster.", heads, shared, kind="words")
    return f"{verdict}{tables}"


def _name(column: Column) -> str:
    return f'<bdi class="name">{escape(column.name)}</bdi>'


def _mean(values: Any) -> float:
    seen = values[~np.isnan(values)]
    return float(seen.mean()) if len(seen) else float("nan")


def _most(column: Column, used: Mask, members: Mask) -> str:
    """Return as HTML the most frequent level of a category among some samples, and its share."""
    texts = column.texts[used][members]
    texts = texts[texts != ""].astype(str)
    if not len(texts):
        return ""
    levels, counts = np.unique(texts, return_counts=True)
    best = int(counts.argmax())
    return f"{escape(levels[best])} {percent(float(counts[best] / len(texts)))}"


def _of_pca(write: Callable[[PCADraft], str | None]) -> Callable[[FrameDraft], str | None]:
    """Return the section of the page on one PCA as one of this page; None without a PCA."""
    return lambda draft: None if draft.pca is None else write(draft.pca_draft)


SECTIONS: dict[str, tuple[str, Callable[[FrameDraft], str | None]]] = {
    "summary": ("In short", summary),
    "columns": ("The columns", columns),
    "missing": ("What is missing", missing),
    "clusters": ("Clusters", clusters),
    "components": ("How many components", _of_pca(pca_components.components)),
    "variables": ("Which variables make them", _of_pca(pca_components.variables)),
    "outliers": ("Which samples are outliers", _of_pca(pca_samples.outliers)),
}
