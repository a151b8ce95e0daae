import hashlib
import re
import sys
import warnings
from dataclasses import replace
from html import unescape
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from plotly.offline import get_plotlyjs

from subspaces import MPPCA, PSC, KSubspaces, SparseKMeans
from subspaces.app.report import SECTIONS, render, write, write_pca
from subspaces.app.report._canvas import colour
from subspaces.app.report._findings import gather
from subspaces.app.report._page import _parsed_once, _without_rare_traces
from subspaces.app.report._tables import decimals_of, number_cell, percent_cell
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import means_or_directions, stability
from subspaces.estimators._record import Record
from subspaces.messages import Grade, Message, Verdict, literal, worded
from tests.estimators.checks import CLUSTERERS
from tests.plain import generic
from tests.report.hostile import SCRIPT, hostile_fit
from tests.report.outline import Outline, figures_of, marks, numbers, section, sections_of
from tests.warned import refuses

MEGABYTE = 1_000_000
METHODS = [name for name in CLUSTERERS if name != "SparseKMeans"]  # which has no dimensions


def upright_title(page):
    return figures_of(page)["own-0"]["layout"]["yaxis"]["title"]["text"]


@pytest.fixture(scope="module")
def union():
    return make_subspaces([20, 25], 12, [2, 2], noise=0.1, random_state=1)


@pytest.fixture(scope="module")
def hostile():
    X, model, options = hostile_fit()
    return render(model, X, **options)


def test_hostile_names_leave_the_page_whole(hostile):
    outline = Outline(hostile)
    assert outline.stack == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert [tag for tag, _ in outline.tags].count("script") == 3
    assert not any(name.startswith("on") for _, found in outline.tags for name in found)
    assert SCRIPT in " ".join(outline.words)
    assert sections_of(hostile) == [name for name in SECTIONS if name != "missing"]
    assert 'href="#way"' in hostile
    assert sorted(name for name in figures_of(hostile) if "space" not in name) == sorted(
        found["data-figure"] for _, found in outline.tags if "data-figure" in found
    )


def test_hover_text_is_escaped_for_plotly(hostile):
    texts = [
        text
        for figure in figures_of(hostile).values()
        for trace in figure["data"]
        for text in np.ravel(trace.get("text", []))
    ]
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in text for text in texts)
    assert not any(re.search(r"<(?!/?b>|br>)", text) for text in texts)


def test_the_page_allows_its_own_scripts_and_no_request(hostile):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', hostile)[1]
    assert "default-src 'none'" in policy
    assert policy.count("sha256-") == 2
    assert "unsafe-eval" not in policy
    tags = Outline(hostile).tags
    assert not [found for _, found in tags if "src" in found]
    assert all(found["href"].startswith("#") for _, found in tags if "href" in found)
    style = hostile.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(union, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CLUSTERERS[name](2, n_components=2, random_state=0)
        if "n_init" in model.get_params():
            model.set_params(n_init=1)
        model.fit(union.data)
    for X in (None, union.data):
        page = render(model, X)
        Outline(page)
        expected = ["summary", "clusters", "samples", "variables", "repeat", "way"]
        assert sections_of(page) == [*expected[:1], *["heat"] * (X is not None), *expected[1:]]
        first, second = np.bincount(model.labels_)
        assert f"2 clusters of {first} and {second} samples." in section(page, "summary")
        assert section(page, "summary").count(">doubtful</b>") >= len(model.record_.warned)
        assert {"own-0", "own-1", "loadings-0", "overview"} <= set(figures_of(page))


def test_one_sample_tells_nothing_of_a_group(union):
    far = np.vstack([union.data, 900 * np.ones((1, 12))])
    model = KSubspaces(3, n_components=[2, 2, 0], affine=True, init=[*union.target, 2]).fit(far)
    assert np.bincount(model.labels_).tolist()[2] == 1
    page = render(model, far)
    cards = section(page, "clusters").split("<article")
    assert 'The only sample is <bdi class="name">sample 45</bdi>.' in cards[3]
    assert "differ by more than chance" not in cards[3]
    assert not {"own-2", "loadings-2", "apart-2"} & set(figures_of(page))
    assert {"own-1", "loadings-1", "apart-1"} <= set(figures_of(page))
    variables = section(page, "variables")
    assert 'data-group="1"' in variables
    assert 'data-group="2"' not in variables


def test_against_one_other_sample_nothing_is_set_apart(union):
    far = np.vstack([union.data[:20], 900 * np.ones((1, 12))])
    labels = [0] * 20 + [1]
    model = KSubspaces(2, n_components=[2, 0], affine=True, init=labels).fit(far)
    page = render(model, far)
    assert "There is only one other sample" in section(page, "clusters")
    assert "apart-0" not in figures_of(page)
    assert "What sets each cluster apart" not in section(page, "variables")
    every = KSubspaces(5, n_components=0, affine=True, init=range(5)).fit(np.eye(5))
    assert "so there is no list" in section(render(every), "variables")


def test_influence_on_means_is_said_of_means(union):
    model = PSC(2, n_components=0, affine=True, random_state=0).fit(union.data)
    told = section(render(model, union.data), "samples")
    assert ">Influence</button>" in told
    assert "subspace" not in told
    flat = PSC(2, n_components=2, random_state=0).fit(union.data)
    told = section(render(flat), "samples")
    assert ">Influence</button>" in told
    assert "The subspaces depend most on the samples" in told


def test_a_tiny_share_is_no_power_of_ten():
    assert ">&lt; 0.1 %</td>" in percent_cell(1e-13)
    assert 'data-value="1e-13"' in percent_cell(1e-13)
    assert ">0.0 %<" in percent_cell(0.0)
    assert ">4.3 %<" in percent_cell(0.0432)
    assert ">12.3 %<" in percent_cell(0.1234)
    rows = np.array([[1e-9, 0.0], [0.0, 1e-9]] * 20) + np.eye(2)[[0, 1] * 20] * 5
    page = render(
        MPPCA(2, n_components=1, n_init=1, random_state=0).fit(rows + 0.01 * generic(40, 2))
    )
    assert not re.search(r"e-\d+ %", section(page, "samples"))


def test_bars_of_means_have_a_unit(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    for spread, unit in (
        (model.within_std_, "effect (SD)"),
        (np.full(12, np.nan), "difference of means"),
    ):
        model.within_std_ = spread
        found = figures_of(render(model))["apart-0"]["layout"]["xaxis"]["title"]["text"]
        assert found == unit


def test_charts_of_all_clusters_have_one_scale(union):
    model = PSC(2, n_components=2, affine=True, random_state=0).fit(union.data + 5.0)
    figures = figures_of(render(model, union.data + 5.0))
    own = [figures[f"apart-{k}"] for k in (0, 1)]
    (low, high), other = (each["layout"]["xaxis"]["range"] for each in own)
    assert [low, high] == other
    for each in own:
        bars, lines = numbers(each["data"][0]["x"]), each["layout"]["shapes"]
        assert low < min(bars) < max(bars) < high
        assert all(low < line["x0"] < high for line in lines)
    assert len({figures[f"loadings-{k}"]["data"][0]["zmax"] for k in (0, 1)}) == 1


def test_clusters_stand_before_findings_and_the_gravest_doubt_before_these(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    page = section(render(model, union.data), "summary")
    assert page.index("points clusters") < page.index('<ul class="points">')
    found = re.findall(r'class="grade (\w+)">', page)
    assert found == sorted(found, key=["no", "doubtful", "sure", "unknown"].index)
    assert set(found) == {"unknown", "doubtful"}


def test_only_a_whole_share_is_called_100_percent():
    texts = [re.search(r">(.*)</td>", percent_cell(share))[1] for share in (1.0, 0.9997, 0.5, 0.0)]
    assert texts == ["100.0 %", "&gt; 99.9 %", "50.0 %", "0.0 %"]


def test_a_column_of_numbers_has_one_number_of_decimals():
    assert decimals_of(np.array([0.9, 0.93, 1.0, np.nan, np.inf, 0.0])) == 3
    assert decimals_of(np.array([512.0, 5.15, 97.0])) == 1
    assert decimals_of(np.array([1e-9, 1e-5])) is decimals_of(np.zeros(0)) is None
    told = [re.search(">(.*)<", number_cell(x, 2))[1] for x in (5.2, -1e-9, 1234.5, np.inf)]
    assert told == ["5.20", "0.00", "1,234.50", "∞"]


def test_only_clusters_are_shaded_in_the_table_of_classes(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    model.labels_ = np.repeat([-1, 0, 1], [30, 10, 5])
    page = section(render(model, classes=["a"] * 45), "agreement")
    cells = re.findall(r'<td class="(best)?" style="--share:(.*?)">(\d+)', page)
    assert cells == [("best", "0.22", "10"), ("", "0.11", "5"), ("", "0.00", "30")]


def test_a_path_in_place_of_data_is_told_where_it_goes(union, tmp_path):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    for path in ("x.html", tmp_path / "x.html"):
        use = re.escape(f"X={str(path)!r} is a path, not a table. Call report(path=")
        with pytest.raises(TypeError, match=use):
            model.report(path)
    assert not list(tmp_path.iterdir())


def test_a_method_without_subspaces_says_so(union):
    page = render(SparseKMeans(2, random_state=0).fit(union.data))
    assert "no axes to draw" in section(page, "clusters")
    assert "The chosen bound on the weights" in section(page, "choice")
    assert "Influence" not in section(page, "samples")
    assert {"weights", "overview", "candidates"} <= set(figures_of(page))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 1, "n_components": 1}, "1 cluster of 45 samples."),
        ({"n_clusters": 2, "n_components": [0, 2], "affine": True}, "no axis to draw"),
    ],
)
def test_limits_are_said_in_words(union, parameters, words):
    page = render(PSC(random_state=0, **parameters).fit(union.data), union.data)
    Outline(page)
    assert words in page


def test_one_axis_is_drawn_against_the_distance(union):
    model = PSC(2, n_components=1, random_state=0).fit(union.data)
    drawn = render(model, union.data)
    assert upright_title(drawn) == "distance from the subspace"
    assert figures_of(drawn)["own-0"]["layout"]["xaxis"]["title"]["text"] == "axis 1"
    assert upright_title(render(model)) == "distance from the subspace"  # the model has kept them


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_what_was_left_open_is_shown_with_its_curve(union):
    settings = {"n_init": 1, "max_clusters": 3, "max_components": 2, "random_state": 0}
    model = PSC("auto", n_components="auto", **settings).fit(union.data)
    page = render(model)
    words = "PSC chose the number of clusters and the dimensions: "
    assert words in section(page, "choice")
    answers = re.findall(r"<li.*?</li>", section(page, "choice"))
    assert len(answers) == len(model.selection_["answers"])
    assert "2 clusters of dimension 2 through the origin (chosen)" in answers[0]
    assert answers[0].startswith('<li class="chosen">')
    assert "<svg" not in answers[0]
    drawn = re.findall(r"<li.*?</li>", section(render(model, union.data), "choice"))
    assert [marks(each) for each in drawn] == [45] * len(answers)
    colours = [set(re.findall(r'stroke="(#\w+)"', each)) for each in drawn]
    assert [len(each) for each in colours] == [2, 3]
    fixed = PSC(2, n_components="auto", **settings).fit(union.data)
    assert "PSC chose the dimensions: " in section(render(fixed), "choice")


def test_warnings_stand_among_the_findings(union):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    doubt = Message("swapped", literal("A <b> cluster kept emptying."), kind="DataWarning")
    model.record_ = Record(
        61.0, (doubt, Message("batches", "Compare.", kind="note")), None, None, None, None
    )
    page = section(render(model), "summary")
    assert 'doubtful">Check this</b><span>A &lt;b&gt; cluster kept emptying.</span>' in page
    assert 'unknown">Good to know</b><span>Compare.</span>' in page
    assert "took 1 min 1 s" in section(render(model), "way")
    assert "Pass X to report to draw them" in render(model)


def test_known_classes_are_counted(union):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    names = np.array(["ill", "well"])[union.target]
    page = section(render(model, classes=names), "agreement")
    cells = [int(cell) for cell in re.findall(r'--share:[\d.]+">(\d+)', page)]
    expected = [
        np.sum((names == c) & (model.labels_ == k)) for c in ("ill", "well") for k in (0, 1)
    ]
    assert cells == expected


def test_a_still_picture_stands_where_all_samples_are_drawn(union):
    """At the same places, as it is there before plotly."""
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    page = render(model, union.data)
    layout = figures_of(page)["overview"]["layout"]
    still = section(page, "summary").split('class="dots still"')[1].split("</svg>")[0]
    found = np.array(re.findall(r"M(\d+) (\d+)h0", still), dtype=float)
    expected = [
        (np.array(layout["meta"][name]) - layout[f"{name}axis"]["range"][0])
        / np.ptp(layout[f"{name}axis"]["range"])
        for name in "xy"
    ]
    order = np.argsort(layout["meta"]["columns"][0]["values"], kind="stable")
    np.testing.assert_allclose(found[:, 0], 1000 * expected[0][order], atol=0.6)
    np.testing.assert_allclose(1000 - found[:, 1], 1000 * expected[1][order], atol=0.6)


def test_plotly_is_parsed_once():
    """Its body is in brackets, and nothing else about it changes."""
    whole = get_plotlyjs()
    found = _parsed_once(whole)
    assert len(found) == len(whole) + 2
    assert found.endswith("})));")
    assert _parsed_once("something else") == "something else"


def test_plotly_starts_only_the_traces_of_the_page():
    whole = get_plotlyjs()
    found = _without_rare_traces(whole)
    assert ".register([" in found
    assert 100 < len(whole) - len(found) < 1000
    assert _without_rare_traces("something else") == "something else"


def test_many_samples_are_thinned_and_the_page_says_so():
    union = make_subspaces([6000, 4000], 8, [2, 2], noise=0.1, random_state=0)
    model = KSubspaces(2, n_components=2, n_init=1, random_state=0).fit(union.data)
    page = render(model)
    assert len(page.encode()) < 15 * MEGABYTE
    assert "The plot shows 2,000 of 10,000 samples" in page
    assert "the 60 least certain samples" in page
    assert marks(section(page, "summary")) == 2000
    assert "1,000 of 10,000 samples" in section(page, "samples")
    assert len(figures_of(page)["own-0"]["data"][0]["text"]) == 1000
    meta = figures_of(page)["overview"]["layout"]["meta"]
    assert len(meta["unsure"]) == 60
    assert len(meta["names"]) == len(meta["x"]) == 10_000
    scores = np.sort(model.record_.scores, axis=1)
    assert set(np.argsort(-scores[:, 0] / scores[:, 1])[:20]) <= set(meta["drawn"])
    assert "sample 9999" in meta["names"]


def test_many_variables_are_limited_and_the_page_says_so():
    X = np.random.default_rng(0).normal(size=(250, 1000))
    page = render(KSubspaces(3, n_components=2, n_init=1, random_state=0).fit(X))
    assert len(page.encode()) < 8 * MEGABYTE
    assert "the 500 strongest variables of each cluster" in page


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_numbers_far_from_one_are_drawn(union, scale):
    page = render(KSubspaces(2, n_components=2, random_state=0).fit(union.data * scale))
    assert figures_of(page)["own-0"]["data"][0]["x"]["dtype"] == "f8"


def test_the_page_is_written_whole_or_not_at_all(union, tmp_path, monkeypatch):
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    path = model.report(union.data, tmp_path / "page.html", title="Mine")
    assert path == tmp_path / "page.html"
    assert "<title>Mine</title>" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        model.report(path=path, title="Other")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_unfitted_model_and_a_missing_extra_are_named(union, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        write(PSC(), path=tmp_path / "page.html")
    model = KSubspaces(2, n_components=2, random_state=0).fit(union.data)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"Run: pip install 'subspaces\[report\]'"):
        model.report(path=tmp_path / "page.html")


def test_results_come_first_and_the_search_is_folded_away_at_the_end(union):
    model = PSC(2, n_components=2, n_init=4, criterion="loo", random_state=0).fit(union.data)
    page = render(model, union.data)
    assert list(SECTIONS)[-1] == "way"
    way = section(page, "way")
    assert "<details><summary><h2" in way
    assert "<details open" not in page
    for word in ("Starts", "n_init", "The fit took", "reached the best result"):
        assert word in way
        assert word == "n_init" or word not in page.split('<section id="way"')[0]
    assert "seconds" not in section(page, "summary")


def test_how_far_to_trust_the_clusters_stands_in_short(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    steady = stability(model, union.data, n_resamples=2, random_state=0)
    assert steady.grade is Grade.SURE
    summary = section(render(model, union.data, stability=steady), "summary")
    assert means_or_directions(model, union.data).verdict in summary
    assert 'sure">Stable</b>' in summary
    assert f"{steady.stability:.2f} over 2 splits" in summary
    unsteady = replace(steady, conclusion=Verdict("one_cloud", "Halves differ.", grade=Grade.NO))
    assert 'no">Perhaps one group</b><span>Halves differ.' in render(model, stability=unsteady)
    alone = section(render(model), "summary")
    assert "Run <code>subspaces.diagnostics.stability(model, X)</code>" in alone
    assert "K-means" not in alone
    verdicts = ("K-means <b> agrees.", worded("Perhaps chance.", Grade.DOUBTFUL), steady.verdict)
    model.record_ = replace(model.record_, verdicts=verdicts)
    again = section(render(model, stability=steady), "summary")
    assert 'unknown">Good to know</b><span>K-means &lt;b&gt; agrees.' in again
    assert 'doubtful">Doubtful</b><span>Perhaps chance.' in again
    assert again.count("Stable") == 1
    assert steady.verdict not in again
    assert "not measured" not in again


def test_a_cluster_without_axes_is_called_a_mean_profile(union):
    points = PSC(2, n_components=0, affine=True, random_state=0).fit(union.data)
    page = render(points, union.data)
    assert section(page, "clusters").count("samples</span>") == 2
    both = PSC(2, n_components=[0, 2], affine=True, random_state=0).fit(union.data)
    page = render(both, union.data)
    assert section(page, "clusters").count("samples</span>") == 1
    for found in (points, both):
        assert "0 dimensions" not in render(found, union.data)


def test_the_margin_of_a_choice_is_shown(union):
    settings = {"n_init": 1, "max_clusters": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSC("auto", n_components=2, **settings).fit(union.data)
    model.selection_ = {**model.selection_, "fact": "2 fit best, 1 nearly as well."}
    assert "2 fit best, 1 nearly as well." in section(render(model), "choice")


def test_a_misspelt_option_is_told_with_the_right_one(tmp_path):
    model = PSC(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 5)))
    with refuses("ttile", kind=TypeError, function="report", option="ttile"):
        model.report(path=tmp_path / "z.html", ttile="x")
    with refuses("colour", kind=TypeError, function="write_pca", option="colour"):
        write_pca(np.eye(9), tmp_path / "z.html", colour="x")


def test_uncertain_samples_are_counted_and_come_first(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    p = np.where(np.arange(2) == model.labels_[:, None], 0.99, 0.01)
    p[[7, 3]] = [[0.6, 0.4], [0.45, 0.55]]
    model.probabilities_ = p
    page = render(model)
    assert "2 samples are uncertain" in section(page, "summary")
    known = model.labels_.copy()
    for swapped, said in (([3], "The sample that does not match"), ([3, 9], "1 of the 2 samples")):
        known[swapped] = 1 - model.labels_[swapped]
        assert said in section(render(model, classes=known), "summary")
    meta = figures_of(page)["overview"]["layout"]["meta"]
    assert meta["unsure"] == [3, 7]
    rows = re.findall(r'data-search="(sample \d+)"', section(page, "samples"))
    assert rows[:2] == ["sample 3", "sample 7"]


def test_a_clear_cut_cluster_says_its_class_in_words(union):
    model = PSC(2, n_components=2, init=union.target, max_iter=1).fit(union.data)
    known = ["ill" if k else "well" for k in model.labels_]
    words = section(render(model, classes=known), "summary")
    n = int(np.sum(model.labels_ == 0))
    assert f'{n} samples, all {n} <bdi class="name">well</bdi> and no others' in words
    known[int(np.flatnonzero(model.labels_ == 0)[0])] = "ill"
    words = section(render(model, classes=known), "summary")
    assert f'all {n - 1} <bdi class="name">well</bdi> and 1 <bdi class="name">ill</bdi>' in words
    mixed = section(render(model, classes=["a", "b", "c"] * 15), "summary")
    assert mixed.count("of the 15") == 6
    # More classes than clusters: each cluster names those that are in it.
    parts = [f"part {k}{i % 2}" for i, k in enumerate(model.labels_)]
    words = section(render(model, classes=parts), "summary")
    for k in (0, 1):
        every = (
            rf'samples, all \d+ <bdi class="name">part {k}.</bdi> and all \d+ '
            rf'<bdi class="name">part {k}.</bdi>\.'
        )
        assert re.search(every, words)
    found = gather(model, None, parts, None, None)
    assert found.mismatched is None
    found = gather(model, None, known, None, None)
    assert np.flatnonzero(found.mismatched).tolist() == [known.index("ill")]


def test_only_known_classes_have_the_colours_of_clusters(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    known = [f"of {k}" for k in model.labels_]
    age = np.linspace(20.5, 64.5, len(known))
    page = render(model, union.data, classes=known, metadata={"site": known, "age": age})
    assert '<b>age</b><span>20.5<i class="scale"></i>64.5</span>' in page
    columns = figures_of(page)["overview"]["layout"]["meta"]["columns"]
    cluster, known, site = ([level["color"] for level in each["levels"]] for each in columns[:3])
    assert cluster == known
    assert not set(cluster) & set(site)
    assert len({colour(k) for k in range(12)}) == 12


def test_clusters_have_the_names_that_they_are_given(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    page = render(model, union.data, names=["B <cells>", "T cells"])
    assert ">B &lt;cells&gt;</a>" in section(page, "summary")
    assert "What sets T cells apart" in section(page, "clusters")
    assert '<option value="1">T cells</option>' in section(page, "samples")
    levels = figures_of(page)["overview"]["layout"]["meta"]["columns"][0]["levels"]
    assert [each["name"] for each in levels] == ["B <cells>", "T cells"]
    with pytest.raises(ValueError, match="names has 1 entry for 2 clusters"):
        render(model, names=["B"])


def test_metadata_is_matched_by_the_names_of_the_samples(union):
    frame = pd.DataFrame(union.data, index=[f"s{i}" for i in range(45)])
    model = PSC(2, n_components=2, random_state=0).fit(frame)
    known = pd.DataFrame({"age": np.linspace(20, 80, 45)}, index=frame.index)

    def ages(metadata):
        page = render(model, frame, metadata=metadata)
        return figures_of(page)["overview"]["layout"]["meta"]["columns"][1]["values"]

    assert ages(known) == ages(known[::-1]) == ages(known.reset_index(drop=True))
    assert ages(known) == pytest.approx(known["age"], rel=1e-3)
    with refuses("metadata"):
        render(model, frame, metadata=known[:-1])


def test_samples_in_no_cluster_are_shown_as_such(union):
    model = PSC(2, n_components=2, random_state=0).fit(union.data)
    model.labels_ = np.where(np.arange(45) < 3, -1, model.labels_)
    page = render(model, classes=["a"] * 20 + ["b"] * 25)
    assert "3 outliers are in no cluster." in section(page, "summary")
    assert 'are in no cluster: <bdi class="name">sample 0</bdi>' in section(page, "summary")
    assert "Outliers</th>" in section(page, "agreement")
    assert '<option value="-1">Outliers</option>' in section(page, "samples")
    assert "Grey crosses" in page


def test_the_page_alone_tells_how_to_repeat_the_analysis(union):
    model = PSC(2, n_components=2, random_state=3).fit(union.data)
    told = section(render(model, union.data, origin={"Command": "subspaces fit <x>"}), "repeat")
    code = unescape(re.search(r"<pre><code>(.*?)</code></pre>", told, re.S)[1])
    again = {"X": union.data}
    exec(code, again)
    np.testing.assert_array_equal(again["model"].labels_, model.labels_)
    assert hashlib.sha256(union.data.astype("<f8").tobytes()).hexdigest() in told
    assert "<code>subspaces fit &lt;x&gt;</code>" in told
    assert f"subspaces {version('subspaces')}" in told
