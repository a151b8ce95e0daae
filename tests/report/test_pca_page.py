"""The page on one PCA: whole whatever the names are, and honest about what was found."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from subspaces.app.report import PCA_SECTIONS, page_of_pca, render_pca, write_pca
from subspaces.app.report._figures import CLEAR
from subspaces.app.report._pca.figures import strongest_of_all
from subspaces.app.report._pca.findings import gather_pca
from subspaces.app.report._pca.labels import sides_of_names
from subspaces.app.report._pca.sample_figures import class_groups
from subspaces.diagnostics import pca_components, pca_influence, pca_outliers
from subspaces.messages import note
from subspaces.runtime.warning import collect_warnings
from tests.report.hostile import CLASSES, SCRIPT, hostile_frame
from tests.report.outline import Outline, figures_of, numbers, section, sections_of
from tests.warned import refuses

MEGABYTE = 1_000_000
PAIRS = ["pair-1-2", "pair-1-3", "pair-2-3"]


def factors(n, p, r, *, seed=0, noise=1.0):
    random = np.random.default_rng(seed)
    signal = random.normal(size=(n, r)) @ random.normal(size=(r, p))
    return signal + noise * random.normal(size=(n, p))


@pytest.fixture(scope="module")
def wine():
    data = load_wine()
    names = [f"wine {i}" for i in range(len(data.data))]
    X = pd.DataFrame(data.data, names, data.feature_names)
    return X, [str(name) for name in data.target_names[data.target]]


@pytest.fixture(scope="module")
def page(wine):
    X, classes = wine
    return render_pca(X, scale=True, classes=classes, title="Wine")


def words_of(page):
    return " ".join(" ".join(Outline(page).words).split())


def test_the_share_of_the_headline_is_that_of_the_table():
    found = gather_pca(factors(200, 40, 5))
    number = found.components.n_components
    page = page_of_pca(found)
    share = f"{100 * found.components.explained[:number].sum():.1f} %"
    assert f"<dt>Variance they explain</dt><dd>{share}</dd>" in page
    table = section(page, "components").split("<table")[1]
    assert '<th scope="col">No.</th>' in table
    rows = [re.findall("<td>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    together = [row[2] for row in rows]
    assert together[number - 1] == share
    assert set(together[number:]) == {""}


def test_samples_left_out_of_a_table_with_gaps_are_told_to_be_approximate():
    X = factors(60, 20, 2)
    X[3, 4] = np.nan
    told = words_of(section(render_pca(X), "missing"))
    assert "approximate" in told


def test_without_a_component_nothing_is_held_together():
    page = render_pca(np.random.default_rng(0).normal(size=(60, 20)))
    assert ">Together</th>" not in section(page, "components")


def test_the_findings_are_those_of_the_diagnostics(wine):
    X, _ = wine
    found = gather_pca(X, scale=True)
    scaled = X / X.std()
    expected = pca_components(X, scale=True)
    assert found.components.verdict == expected.verdict
    np.testing.assert_allclose(found.components.ratio, expected.ratio)
    with collect_warnings():
        out = pca_outliers(scaled, expected.n_components)
    assert found.outliers.verdict == out.verdict
    drives = pca_influence(scaled, expected.n_components, center=True)
    np.testing.assert_allclose(found.influence, drives.influence)
    np.testing.assert_allclose(found.leverage, drives.leverage)
    centred = (scaled - scaled.mean()).to_numpy()
    np.testing.assert_allclose(found.scores, centred @ found.loadings, atol=1e-9)
    np.testing.assert_allclose(found.loadings.T @ found.loadings, np.eye(found.n_shown), atol=1e-9)
    strongest = np.abs(found.loadings).argmax(axis=0)
    assert (found.loadings[strongest, range(found.n_shown)] > 0).all()
    assert found.explained == pytest.approx(found.components.explained[: found.n_shown])


def test_components_below_the_noise_are_not_said_to_stand_without_any_sample(wine):
    assert gather_pca(wine[0], scale=True).stand_without_any
    found = gather_pca(wine[0])
    assert found.components.n_components > 0
    assert not found.stand_without_any


def test_a_frame_has_names_and_an_array_numbers(wine):
    X, _ = wine
    assert ": sample wine 95" in gather_pca(X, scale=True).outliers.verdict
    found = gather_pca(X.to_numpy(), scale=True)
    assert found.sample_names[95] == "95"
    assert ": sample 95" in found.outliers.verdict
    assert found.variable_names[:2] == ["x0", "x1"]


@pytest.mark.parametrize("n_components", [14, -1, "three"])
def test_a_number_out_of_range_is_refused(wine, n_components):
    with refuses("n_components", n_components):
        render_pca(wine[0], n_components)


def test_the_advice_on_a_number_can_be_followed():
    X = factors(7, 30, 1)
    with refuses("n_components", naming=["0 to 4"]):
        gather_pca(X, 5)
    assert gather_pca(X, 4).n_shown == 4


def test_wrong_kinds_and_lengths_are_named(wine):
    X, classes = wine
    with pytest.raises(ValueError, match="classes has 177 entries for 178 samples"):
        render_pca(X, classes=classes[1:])


def test_every_section_is_there(page):
    outline = Outline(page)
    assert outline.stack == []
    assert len(set(outline.ids)) == len(outline.ids)
    empty = {"warnings", "missing"}
    assert sections_of(page) == [name for name in PCA_SECTIONS if name not in empty]
    places = [found["data-figure"] for _, found in outline.tags if "data-figure" in found]
    assert places == ["strength", "cells", "pair-1-2", "loadings", "influence", "limits"]
    assert set(figures_of(page)) >= {*places, *PAIRS}


def test_what_has_no_eyes_is_told(page):
    """Each figure, table and group of buttons has a name for those who cannot see it."""
    tags = Outline(page).tags
    figures = [found for _, found in tags if "data-figure" in found]
    assert all(found["role"] == "img" and found["aria-label"] for found in figures)
    regions = [found for _, found in tags if found.get("class") == "scroll"]
    assert all(found["aria-label"] and found["tabindex"] == "0" for found in regions)
    shown = [found for _, found in tags if "data-show" in found]
    pressed = [found["aria-pressed"] for found in shown]
    assert pressed == ["true", *["false"] * (len(shown) - 1)]
    assert {found["aria-controls"] for found in shown} == {"pair-1-2"}
    assert any(found.get("role") == "group" and found["aria-label"] for _, found in tags)
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_verdict_stands_in_short(page, wine):
    found = gather_pca(wine[0], scale=True)
    summary = section(page, "summary")
    assert f'<p class="verdict">{found.components.verdict}</p>' in summary
    known = found.components
    share = 100 * known.explained[: known.n_components].sum()
    assert f"<dd>{share:.1f} %</dd>" in summary
    assert found.outliers.verdict in summary
    assert "No component is due to a single sample" in summary
    assert f"<dd>{known.n_components} ({known.low} to {known.high})</dd>" in summary
    assert f"<dd>{found.outliers.is_outlier.sum()} of 178</dd>" in summary
    assert (
        "How the values were prepared: each variable divided by its standard deviation." in summary
    )


def test_bars_are_the_strengths_and_only_components_are_blue(page, wine):
    found = pca_components(wine[0], scale=True)
    bars = figures_of(page)["strength"]["data"]
    blue = bars[0]
    assert [each["name"] for each in bars] == ["a component", "perhaps", "noise"]
    tops = np.concatenate([numbers(each["y"]) for each in bars]) + blue["base"]
    np.testing.assert_allclose(tops, found.ratio, rtol=1e-5)
    assert len(numbers(blue["y"])) == found.n_components
    assert len(numbers(bars[1]["y"])) == found.high - found.n_components
    told = f"depends most on wine {found.rests_on[0]}: {found.ratio_without[0]:.2f} without it"
    assert told in blue["text"][0]


def test_axes_and_table_have_one_share_of_the_variance_where_cells_are_missing(wine):
    X, _ = wine
    holes = np.random.default_rng(0).random(X.shape) < 0.1
    page = render_pca(X.mask(holes), scale=True)
    layout = figures_of(page)[PAIRS[0]]["layout"]
    for nr, axis in enumerate(("xaxis", "yaxis"), start=1):
        name, _, share = layout[axis]["title"]["text"].rstrip(")").partition(" (")
        assert name == f"component {nr}"
        assert f"<td>{share}</td>" in section(page, "components")


def test_samples_are_drawn_by_class_and_those_that_are_out_are_ringed(page, wine):
    X, classes = wine
    found = gather_pca(X, scale=True)
    for name, (first, second) in zip(PAIRS, [(0, 1), (0, 2), (1, 2)], strict=True):
        figure = figures_of(page)[name]
        *groups, rings = figure["data"]
        assert [group["name"] for group in groups] == sorted(set(classes))
        drawn = np.array([numbers(groups[0]["x"]), numbers(groups[0]["y"])]).T
        own = np.array(classes) == "class_0"
        np.testing.assert_allclose(drawn, found.scores[own][:, [first, second]], rtol=1e-5)
        assert len(numbers(rings["x"])) == len(found.outliers.outliers)
        assert figure["layout"]["xaxis"]["title"]["text"].startswith(f"component {first + 1} (")
    assert "<b>wine 0</b><br>class class_0<br>influence" in groups[0]["text"][0]


def test_who_does_not_belong_is_drawn_by_distances(page, wine):
    known = gather_pca(wine[0], scale=True).outliers
    figure = figures_of(page)["limits"]
    for axis, squares in (("x", known.t2), ("y", known.q)):
        drawn = [value for trace in figure["data"][:2] for value in numbers(trace[axis])]
        np.testing.assert_allclose(np.sort(drawn), np.sort(np.sqrt(squares)), rtol=1e-5)
        assert figure["layout"][f"{axis}axis"]["type"] == "linear"
    across, upwards = figure["layout"]["shapes"]
    assert across["y0"] == pytest.approx(np.sqrt(known.q_limit))
    assert upwards["x0"] == pytest.approx(np.sqrt(known.t2_limit))
    X = factors(60, 12, 2)
    X[0] += 1000 * np.linalg.svd(X - X.mean(axis=0))[2][-1]
    assert figures_of(render_pca(X))["limits"]["layout"]["yaxis"]["type"] == "log"


def test_hostile_names_leave_the_page_whole():
    X, classes = hostile_frame()
    found = replace(gather_pca(X, classes=classes), warned=(note(f"{SCRIPT} is odd."),))
    page = page_of_pca(found, "<b>Title</b>")
    outline = Outline(page)
    assert outline.stack == []
    assert [tag for tag, _ in outline.tags].count("script") == 3
    assert not any(name.startswith("on") for _, tag in outline.tags for name in tag)
    assert "<title>&lt;b&gt;Title&lt;/b&gt;</title>" in page
    assert f"<li>{SCRIPT} is odd.</li>".replace("<script>", "&lt;script&gt;").replace(
        "</script>", "&lt;/script&gt;"
    ) in section(page, "warnings")
    texts = [
        text
        for figure in figures_of(page).values()
        for trace in figure["data"]
        for text in np.ravel(trace.get("text", []))
    ]
    assert any("&lt;script&gt;" in text for text in texts)
    assert not any(re.search(r"<(?!/?b>|br>)", text) for text in texts)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'" in policy
    options = [tag.get("value") for name, tag in outline.tags if name == "option"]
    assert set(CLASSES) <= set(options)


def test_without_a_component_the_page_says_so():
    X = np.random.default_rng(1).normal(size=(60, 12))
    page = render_pca(X)
    assert '<p class="verdict">No component ' in section(page, "summary")
    assert "There is no component to draw the samples on." in section(page, "scores")
    assert "There is no component, so" in section(page, "variables")
    assert "There is no component, only the mean" in section(page, "drivers")
    figure = figures_of(page)["limits"]
    assert figure["layout"]["xaxis"]["title"]["text"] == "place in the table"
    assert "<title>PCA: 0 components</title>" in page
    shown = render_pca(X, 2)
    assert (
        "The page shows 2 components, as you asked, but none of them is stronger than noise."
        in shown
    )
    assert "pair-1-2" in figures_of(shown)
    assert "data-choice" not in section(shown, "scores")


def test_one_component_is_drawn_against_the_distance():
    X = factors(80, 15, 1, noise=0.3)
    page = render_pca(X)
    assert '<p class="verdict">1 component' in page
    figure = figures_of(page)["pair-1"]
    assert figure["layout"]["yaxis"]["title"]["text"] == "distance from the component"
    found = gather_pca(X)
    np.testing.assert_allclose(
        numbers(figure["data"][0]["y"]), np.sqrt(found.outliers.error), rtol=1e-5
    )
    assert figures_of(page)["loadings"]["data"][0]["type"] == "bar"


def test_a_component_that_hangs_on_one_sample():
    random = np.random.default_rng(1)
    X = 3 * random.normal(size=(50, 1)) @ random.normal(size=(1, 12)) + random.normal(size=(50, 12))
    X[3] = 7 * random.normal(size=12)
    page = render_pca(pd.DataFrame(X, [f"s{i}" for i in range(50)]).add_prefix("v"))
    name = '<bdi class="name">s3</bdi>'
    assert f"Component 2 is due to one sample, {name}. Without" in section(page, "summary")
    assert "Component 2 depends on a single sample: &#x27;s3&#x27;" in section(page, "warnings")
    rings = figures_of(page)["strength"]["data"][-1]
    assert rings["name"] == "without the sample it depends on"
    low = 10 ** figures_of(page)["strength"]["layout"]["yaxis"]["range"][0]
    assert numbers(rings["x"]) == [2]
    assert low < numbers(rings["y"])[0] < 1


def test_correlated_noise_is_no_test():
    X = np.cumsum(np.random.default_rng(0).normal(size=(150, 60)), axis=1)
    found = gather_pca(X)
    assert found.components.noise == "correlated"
    page = page_of_pca(found)
    words = section(page, "components")
    assert "it can also reach" in words
    assert "noise</td>" not in words
    assert words_of(page).count("values that we left out") == 1
    assert f'<p class="verdict">{found.components.verdict}</p>' in section(page, "summary")


def test_a_table_without_noise():
    X = factors(40, 8, 2, noise=0.0)
    page = render_pca(X)
    assert f'<p class="verdict">{pca_components(X).verdict}</p>' in page
    assert figures_of(page)["strength"]["layout"]["yaxis"]["title"]["text"] == "% of the variance"


def test_many_samples_are_thinned_and_the_page_says_so():
    X = factors(6000, 10, 5)
    X[:15] += 30
    page = render_pca(X)
    assert len(page.encode()) < 10 * MEGABYTE
    assert "The plot shows 2,000 of 6,000 samples" in section(page, "scores")
    assert "most unusual and most influential of 6,000 samples" in section(page, "outliers")
    drawn = figures_of(page)["pair-1-2"]["data"]
    assert len(numbers(drawn[0]["x"])) == 2000
    texts = [text for trace in figures_of(page)["limits"]["data"] for text in trace["text"]]
    assert all(any(text.startswith(f"<b>{i}</b>") for text in texts) for i in range(15))


def test_many_variables_are_limited_and_the_page_says_so():
    page = render_pca(factors(40, 1600, 2))
    assert "the 1,500 strongest of 1,600 variables" in section(page, "variables")
    assert "the 15 strongest of 1,600" in section(page, "variables")


def test_small_classes_share_a_colour():
    X = factors(100, 8, 2)
    classes = [f"c{min(i, 30)}" for i in range(100)]
    groups = list(class_groups(gather_pca(X, classes=classes)))
    assert len(groups) == 12
    assert groups[0][:2] == ("20 other classes", None)
    assert ("c30", 0) in [group[:2] for group in groups] or groups[1][0] == "c30"
    assert sum(len(rows) for _, _, rows in groups) == 100


def test_every_component_has_its_strongest_variables_in_the_figure():
    found = gather_pca(factors(200, 40, 4))
    places = strongest_of_all(found)
    assert len(places) == len(set(places.tolist())) == 15
    assert all(found.strongest(r)[0] in places for r in range(found.n_shown))
    own = np.abs(found.loadings[places]).argmax(axis=1)
    assert own.tolist() == sorted(own.tolist())


def test_loadings_have_intervals_in_a_panel_per_component():
    X = factors(60, 8, 2)
    X[:, 7] = np.random.default_rng(3).normal(size=60)  # part of no component
    found, figure = gather_pca(X, 2), figures_of(render_pca(X, 2))["loadings"]
    low, high, p_value = (each[strongest_of_all(found)] for each in found.intervals)
    assert len(figure["data"]) == 2
    for r, bars in enumerate(figure["data"]):
        sizes, drawn = np.array(numbers(bars["x"])), bars["error_x"]
        np.testing.assert_allclose(sizes + numbers(drawn["array"]), high[:, r], atol=1e-5)
        np.testing.assert_allclose(sizes - numbers(drawn["arrayminus"]), low[:, r], atol=1e-5)
        hollow = np.array(bars["marker"]["color"]) == CLEAR
        np.testing.assert_array_equal(hollow, p_value[:, r] >= 0.05)
    X[3, 2] = np.nan
    assert figures_of(render_pca(X, 2))["loadings"]["data"][0]["type"] == "heatmap"


def test_mixed_components_are_named():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2)) @ np.linalg.qr(random.normal(size=(8, 2)))[0].T
    X = 5 * X + 0.3 * random.normal(size=(60, 8))
    assert "Components 1 and 2 have nearly as much variance" in section(
        render_pca(X, 2), "variables"
    )
    stretched = X @ np.diag([20.0] + [1.0] * 7)
    assert "nearly as much variance" not in section(render_pca(stretched, 1), "variables")


def test_up_and_down_name_the_strongest_variables():
    X = np.random.default_rng(0).normal(size=(100, 1)) @ [[5.0, 4.0, -3.0, 0.1, 0.0]]
    X = X + 0.1 * np.random.default_rng(1).normal(size=(100, 5))
    page = render_pca(pd.DataFrame(X, columns=["up", "also", "down", "faint", "no"]))
    row = re.search(
        r'<th scope="row">1</th><td>(.*?)</td><td>(.*?)</td>', section(page, "variables")
    )
    assert row.groups() == ("<bdi>up</bdi>, <bdi>also</bdi>", "<bdi>down</bdi>")


def test_names_never_cover_each_other():
    x, y = np.array([0.0, 0.0, 1.0, 1.0, 0.5]), np.array([0.0, 0.01, 1.0, 0.99, 0.5])
    names = {0: "first", 1: "second", 2: "third", 3: "fourth", 4: "a" * 60}
    sides = sides_of_names(x, y, names)
    assert sides[0] == "middle right"
    assert sides[2] == "middle left"
    assert sides.get(1) != "middle right"
    assert sides.get(3) != "middle left"
    crowd = sides_of_names(np.zeros(50), np.zeros(50), {i: f"name {i}" for i in range(50)})
    assert len(crowd) == len(set(crowd.values())) <= 4


@pytest.mark.parametrize("scale", [1e-35, 1e35])
def test_numbers_far_from_one_are_drawn(scale):
    page = render_pca(factors(40, 8, 2) * scale)
    assert figures_of(page)["pair-1-2"]["data"][0]["x"]["dtype"] == "f8"


def test_the_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    X = factors(40, 8, 2)
    path = write_pca(X, tmp_path / "page.html", title="Mine")
    assert path == tmp_path / "page.html"
    assert "<title>Mine</title>" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_pca(X, path, title="Other")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_that_is_too_small_gets_a_page_and_a_doubt():
    X = factors(30, 2, 1)
    page = render_pca(X)
    assert f'<p class="verdict">{pca_components(X).verdict}</p>' in page
    assert "too small to compare" in section(page, "components")
