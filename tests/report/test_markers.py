"""The page's table of markers: its sentences, its columns, and how many it shows."""

import re
from dataclasses import replace

import numpy as np
import pytest

from subspaces import PSC
from subspaces.app.report._figures import CLEAR
from subspaces.pages import render
from tests.report.outline import Outline, figures_of, sections_of


@pytest.fixture(scope="module")
def fitted():
    """Two groups of counts, the second higher in three variables of 120."""
    random = np.random.default_rng(0)
    X = random.poisson(3.0, (50, 120)).astype(float)
    X[20:, :3] += 12
    return PSC(2, n_components=0, affine=True, n_init=3, random_state=0).fit(X), X


def words_of(page):
    return " ".join(" ".join(Outline(page).words).split())


def test_markers_are_shown_where_they_are_given(fitted):
    model, X = fitted
    assert "markers" not in sections_of(render(model, X))
    found = model.markers(X, split_half=True, n_nulls=19, random_state=0)
    page = render(model, X, markers=found)
    assert "markers" in sections_of(page)
    words = words_of(page)
    assert str(found.verdict) in words
    for head in ("AUC", "FDR", "Split FDR", "Inside", "Outside"):
        assert f">{head}</button>" in page
    assert "At most 50 variables of each cluster" in words


def test_each_cluster_has_its_markers_named_by_direction(fitted):
    model, X = fitted
    found = model.markers(X, split_half=True, n_nulls=19, random_state=0)
    page = re.sub(r"</?(bdi|span)[^>]*>", "", render(model, X, markers=found))
    table = page[page.index("<caption>Markers of the split-half test") :]
    names = ", ".join(found.of(0)["variable"][:3])
    assert sorted(found.of(0)["variable"][:3]) == ["x0", "x1", "x2"]
    for k in (0, 1):
        cells = [f"3: {names}", "none beyond chance"]
        if found.of(k)["difference"][0] < 0:
            cells.reverse()
        assert f"{k}</th><td>{cells[0]}</td><td>{cells[1]}</td>" in table


def test_charts_and_tables_begin_with_what_is_beyond_chance(fitted):
    """A variable of large effect no split half confirms is hollow, and comes after the rest."""
    model, X = fitted
    found = model.markers(X, split_half=True, n_nulls=19, random_state=0)
    rates = found.columns["fdr_split"].copy()
    rates[found.columns["variable"] == "x1"] = 1.0
    refused = replace(found, columns={**found.columns, "fdr_split": rates})
    page = render(model, X, markers=refused)
    bars = figures_of(page)["apart-0"]["data"][0]
    assert sorted(text.split(":")[0] for text in bars["text"][:2]) == ["x0", "x2"]
    assert bars["text"][2].startswith("x1: ")
    assert [shade == CLEAR for shade in bars["marker"]["color"][:3]] == [False, False, True]
    words = words_of(page)
    assert words.count("2 of 120 variables differ by more than chance.") == 2


def test_columns_that_are_not_known_are_left_out(fitted):
    model, X = fitted
    page = render(model, markers=model.markers(X, 0))
    assert ">Split FDR</button>" not in page
    away = PSC(2, n_components=0, affine=True, n_init=3, random_state=0).fit(X + 1)
    assert ">Inside</button>" not in render(away, markers=away.markers(X + 1))
