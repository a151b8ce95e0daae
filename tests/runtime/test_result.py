from html.parser import HTMLParser

import numpy as np
import pandas as pd

from subspaces import PSC, compare
from subspaces.diagnostics import (
    MeansOrDirections,
    markers,
    pca_components,
    pca_influence,
    pca_outliers,
    pca_press,
    stability,
)
from subspaces.messages import Grade, worded
from subspaces.runtime.result import html_table
from subspaces.selection import select_n_clusters


def test_results_print_what_they_say():
    found = pca_components(np.random.default_rng(0).normal(size=(60, 20)))
    said, attributes = repr(found).split("\n")
    assert said == f"PCAComponents: {found.verdict}"
    assert attributes.startswith("(attributes: n_components, low, high, n_predictive, ratio,")
    assert attributes.endswith("loco, kinds, sample_names, grade, table, plot())")
    assert "verdict" not in attributes
    found = MeansOrDirections(0.5, 0.4, worded("K-means agrees.", Grade.DOUBTFUL))
    assert repr(found) == (
        "MeansOrDirections: K-means agrees.\n(attributes: agreement, by_chance, grade)"
    )
    assert found.grade == Grade.DOUBTFUL


class Cells(HTMLParser):
    """The texts of the cells of an HTML page, in rows, and of its paragraphs."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.paragraphs, self.open = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "p":
            self.paragraphs.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "tr" in self.open:
            self.rows[-1][-1] += data
        elif "p" in self.open:
            self.paragraphs[-1] += data


def test_a_result_is_a_small_table_below_its_verdict_in_a_notebook():
    X = np.random.default_rng(0).normal(size=(60, 20))
    found = pca_components(X)
    shown = Cells(found._repr_html_())
    assert shown.paragraphs == ["PCAComponents", found.verdict]
    assert shown.rows[0] == list(found.table.columns)
    assert len(shown.rows) == 1 + len(found.ratio)
    assert shown.rows[1][shown.rows[0].index("ratio")] == f"{found.ratio[0]:.4g}"
    halves = stability(PSC(2, n_init=1, random_state=0), X, n_resamples=3, random_state=0)
    shown = Cells(halves._repr_html_())
    assert ["stability", f"{halves.stability:.6g}"] in shown.rows
    assert halves.verdict in shown.paragraphs
    shown = Cells(PSC(2, random_state=0).fit(X).record_._repr_html_())
    assert ["sample_names", "None"] in shown.rows


def test_long_tables_are_cut_and_names_are_escaped():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 6)))
    X.columns = ["<b>x</b>", *"abcde"]
    X.iloc[:20, 0] += 6.0
    found = markers(X, np.repeat([0, 1], 20))
    shown = Cells(found._repr_html_())
    assert len(shown.rows) == 1 + 2 * 3
    assert shown.rows[1][:3] == ["0", "<b>x</b>", "1"]
    X.iloc[7] += 50.0
    outliers = pca_outliers(X, 1)
    assert Cells(outliers._repr_html_()).rows[0][0] == "t2"
    assert len(Cells(outliers._repr_html_()).rows) == 1 + len(outliers.outliers)
    compared = compare(X, 2, 1, methods=["PSC", "KMeans"])
    shown = Cells(compared._repr_html_())
    assert [row[0] for row in shown.rows] == ["method", "PSC", "KMeans"]
    numbers = {"x": np.arange(15)}
    assert Cells(html_table(numbers)).paragraphs == ["3 more rows"]
    assert html_table({"x": [np.nan, True]}).endswith(
        "<td></td></tr><tr><td>yes</td></tr></tbody></table>"
    )


def test_a_selection_shows_its_candidates_in_a_notebook():
    X = np.random.default_rng(0).normal(size=(60, 8))
    found = select_n_clusters(PSC(n_init=1, random_state=0), X, [1, 2])
    shown = Cells(found._repr_html_())
    assert shown.paragraphs == ["Selection", found.verdict]
    assert [row[0] for row in shown.rows] == ["n_clusters", "1", "2"]


def test_results_of_arrays_print_their_shapes():
    X = np.random.default_rng(0).normal(size=(40, 6))
    found = pca_press(X, 2)
    assert repr(found) == f"Press(press={found.press:.6g}, per_sample=<array (40,)>)"
    assert repr(pca_influence(X, 2)) == (
        "PCAInfluence(angle=<array (40,)>, leverage=<array (40,)>, loo_error=<array (40,)>, "
        "influence=<array (40,)>, gradient=<array (40, 6)>, sample_names=None)"
    )
    model = PSC(2, random_state=0).fit(X)
    assert repr(model.subspaces_[0]) == (
        "Subspace(centre=<array (6,)>, basis=<array (6, 1)>, spectrum=<array (1,)>)"
    )
    assert len(repr(model.record_)) < 250
    assert "sample_names=None, scores=<array (40, 2)>" in repr(model.record_)
