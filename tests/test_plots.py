import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from subspaces import MPPCA, PCA, PSC, KSubspaces, SparseKMeans, compare, load, plots, recipes
from subspaces.app.report._findings import gather
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.diagnostics import pca_components, pca_influence, pca_outliers
from subspaces.facts import facts_of
from subspaces.metrics import subspace_angles
from subspaces.subspace import coordinates
from tests.plain import generic
from tests.warned import refuses, warns

SAMPLES = [f"s{i}" for i in range(90)]
UNION = make_subspaces(
    [40, 50], 60, [1, 3], noise=0.2, scores="normal", n_variables=8, random_state=1
)


@pytest.fixture(scope="module")
def frame():
    columns = ["$\\frac$", "one $5", "tab\there", "x" * 70, *(f"G{j}" for j in range(4, 60))]
    return pd.DataFrame(UNION.data, index=SAMPLES, columns=columns)


@pytest.fixture(scope="module")
def model(frame):
    return PSC(2, n_components=[1, 3], n_variables=8, n_init=3, random_state=0).fit(frame)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax):
    """Every point of the scatters, in rows."""
    return np.vstack([np.asarray(group.get_offsets()) for group in ax.collections])


def saved(ax, form):
    """The figure as a file; names that are no formulas would raise here."""
    file = io.BytesIO()
    ax.figure.savefig(file, format=form)
    return file.getvalue()


def test_influence_of_a_pca_names_the_most_influential():
    X = generic(30, 5)
    X[7] *= 5
    ax = Figure().subplots()
    assert plots.influence(pca_influence(X, 2), n_named=2, ax=ax) is ax
    assert texts(ax)[0] == "7"
    found = replace(pca_influence(X, 2), influence=np.arange(30.0))  # another order than errors
    assert texts(plots.influence(found, n_named=2)) == ["29", "28"]
    named = plots.influence(found, n_named=1, names=[f"s{i}" for i in range(30)])
    assert texts(named) == ["s29"]


def test_results_on_a_pca_keep_the_names_of_the_samples():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(30, 20)), index=[f"s{i}" for i in range(30)])
    X.iloc[:, 0] *= 9
    X.iloc[7] += 9 * random.normal(size=20)
    outliers = pca_outliers(X, 1)
    with warns("rests_on_one"):
        components = pca_components(X)
    assert outliers.table.index.tolist() == list(X.index)
    assert outliers.outliers.dtype.kind == components.rests_on.dtype.kind == "i"
    assert texts(plots.outliers(outliers)) == [f"s{i}" for i in outliers.outliers]
    assert texts(plots.outliers(outliers, names=range(30))) == [str(i) for i in outliers.outliers]
    assert components.table["rests_on"].tolist() == [f"s{i}" for i in components.rests_on]
    for holes in (False, True):
        X.iloc[3, 3] = np.nan if holes else X.iloc[3, 3]
        found = pca_influence(X, 2, center=True)
        assert texts(plots.influence(found, n_named=1)) == [f"s{found.influence.argmax()}"]
    assert pca_outliers(X.to_numpy(), 1).table.index.tolist() == list(range(30))


def test_the_limits_of_outliers_are_told():
    X = generic(40, 8)
    X[5] *= 9
    found = pca_outliers(X, 2)
    ax = plots.outliers(found)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["outlier", "limit (level 5 %)"]
    ax.figure.draw_without_rendering()
    ticks = [label.get_text() for axis in (ax.xaxis, ax.yaxis) for label in axis.get_ticklabels()]
    assert len(ticks) >= 4
    assert not any("10^" in tick for tick in ticks)
    assert ax.get_window_extent().width > 0.6 * ax.figure.bbox.width


def test_without_axes_outliers_stand_in_the_order_of_the_table():
    ax = plots.outliers(pca_outliers(generic(12, 8), 0))
    assert ax.get_xlabel() == "place in the table"
    np.testing.assert_array_equal(np.sort(drawn(ax)[:, 0]), np.arange(12))


def test_an_error_far_beyond_the_others_does_not_hide_the_least():
    found = pca_components(generic(40, 12) @ np.diag(np.arange(1.0, 13)))
    spiked = replace(found, loco=np.array([1.0, 0.9, 1.1, 300.0, 1.2]), n_predictive=1)
    right = plots.components(spiked)[1]
    assert right.get_ylim()[1] < 2.2
    assert right.lines[1].get_marker() == "^"
    assert right.lines[1].get_xdata().tolist() == [3]
    assert len(plots.components(replace(spiked, loco=np.array([1.0, 0.9, 1.1])))[1].lines) == 2


def test_the_figure_of_components_takes_a_pair_of_axes():
    found = pca_components(generic(40, 6))
    both = Figure().subplots(1, 2)
    assert found.plot(ax=both) == tuple(both)
    with pytest.raises(TypeError, match=r"draws two panels\. Pass ax=\(first, second\)\.$"):
        found.plot(ax=both[0])
    with pytest.raises(ValueError, match=r"two panels\. Pass ax=\(first, second\)\.$"):
        found.plot(ax=Figure().subplots(1, 3))


@pytest.mark.parametrize(
    ("draw", "refused"),
    [
        (plots.components, "result"),
        (plots.outliers, "result"),
        (plots.influence, "result"),
        (plots.selection, "result"),
        (plots.comparison, "result"),
        (plots.candidates, "model"),
    ],
)
def test_a_table_in_place_of_a_result_is_told_what_to_pass(draw, refused):
    with refuses(refused):
        draw(pd.DataFrame(generic(9, 3)))


def test_the_candidates_of_a_choice_are_drawn_with_a_ring_around_the_best():
    X = make_subspaces([40, 50], 8, [1, 2], noise=0.05, random_state=0).data
    model = PSC("auto", n_components="auto", affine="auto", max_clusters=4, random_state=0)
    table = model.fit(X).selection_
    ax = Figure().subplots()
    assert plots.candidates(make_pipeline(model), ax=ax) is ax
    *lines, ring = ax.lines
    assert ring.get_xydata().tolist() == [[model.n_clusters_, 0.0]]
    named = {line.get_label(): line.get_xydata().tolist() for line in lines}
    rows = np.array([table["n_clusters"], table["difference"]]).T
    is_plane = [set(each) == {2} for each in table["n_components"]]
    for name, own in (("dimension 2", rows[is_plane]), ("own dimensions", rows)):
        least = [[k, own[own[:, 0] == k, 1].min()] for k in (2, 3, 4)]
        np.testing.assert_allclose(named[name], least)


def test_one_cluster_that_was_chosen_has_no_ring():
    model = PSC("auto", n_components=1, affine=True, max_clusters=3, random_state=0)
    ax = plots.candidates(model.fit(np.random.default_rng(0).normal(size=(60, 5))))
    assert model.n_clusters_ == 1
    assert [line.get_label() for line in ax.lines] == ["dimension 1"]


def test_of_a_recipe_the_last_step_is_drawn():
    random = np.random.default_rng(0)
    counts = random.poisson(random.lognormal(2, 1, 50), (40, 50))
    counts[:20, :5] *= 9
    names, genes = [f"c{i}" for i in range(40)], [f"gene{j}" for j in range(50)]
    counts = pd.DataFrame(counts, index=names, columns=genes)
    recipe = recipes.expression(2, n_components=1, random_state=0).fit(counts)
    own = plots.scores(recipe[-1], recipe[:-1].transform(counts))
    ax = plots.scores(recipe, counts)
    np.testing.assert_allclose(drawn(ax), drawn(own))
    assert set(texts(ax)) <= set(names)
    listed = {label.get_text() for label in plots.loadings(recipe).get_yticklabels()}
    assert listed <= set(genes)
    assert texts(plots.angles(recipe)) == texts(plots.angles(recipe[-1]))
    assert texts(plots.influence(recipe)) == texts(plots.influence(recipe[-1]))


def test_influence_of_a_model_names_the_most_influential(model):
    ax = plots.influence(model, n_named=3)
    worst = np.argsort(-model.influence_)[:3]
    assert texts(ax) == [f"s{i}" for i in worst]
    np.testing.assert_allclose(np.sort(drawn(ax)[:, 1]), np.sort(model.influence_))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    with refuses("model", naming=["KSubspaces", "PSC"]):
        plots.influence(KSubspaces(2, n_init=1, random_state=0).fit(generic(20, 4)))


def test_names_do_not_cover_each_other(model):
    ax = plots.influence(model, n_named=6)
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(name) for name in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_infinite_and_zero_influence_stay_on_the_page():
    model = PSC(1, n_init=1, random_state=0).fit(generic(12, 4))
    model.influence_ = np.array([np.inf, 0.0, *np.arange(1.0, 11.0)])
    ax = plots.influence(model, n_named=1)
    assert texts(ax) == ["0 (∞)"]
    heights = drawn(ax)[:, 1]
    assert (heights.min(), heights.max()) == (1, 20)
    model.influence_ = np.zeros(12)
    assert len(drawn(plots.influence(model))) == 12
    assert saved(ax, "svg")


@pytest.mark.parametrize("cluster", [0, 1])
def test_scores_are_the_coordinates_of_the_members(model, frame, cluster):
    ax = plots.scores(model, frame, cluster, n_named=2)
    members = UNION.data[model.labels_ == cluster]
    expected = coordinates(members, model.subspaces_[cluster])
    np.testing.assert_allclose(drawn(ax)[:, 0], expected[:, 0])
    assert set(texts(ax)) <= set(frame.index[model.labels_ == cluster])
    assert len(ax.texts) == 2
    if cluster:
        np.testing.assert_allclose(drawn(ax)[:, 1], expected[:, 1])
    else:
        assert ax.get_ylabel() == "distance from the subspace"
        beside = members - expected @ model.subspaces_[0].basis.T
        np.testing.assert_allclose(drawn(ax)[:, 1], np.linalg.norm(beside, axis=1))


def with_holes(rows):
    """The rows with one cell in twenty missing."""
    return np.where(np.random.default_rng(0).random(rows.shape) < 0.05, np.nan, rows)


@pytest.mark.parametrize("dimensions", [0, 1, 2, [0, 2]])
@pytest.mark.parametrize("complete", [False, True], ids=["holes", "complete"])
def test_samples_with_missing_cells_are_drawn_where_the_report_has_them(dimensions, complete):
    union = make_subspaces([40, 50], 12, [2, 2], noise=0.2, scores="normal", random_state=1)
    holes = with_holes(union.data)
    method = PSC(2, n_components=dimensions, affine=True, n_init=3, random_state=0)
    model = method.fit(union.data if complete else holes)
    for k, cluster in enumerate(gather(model, None if complete else holes, *[None] * 3).clusters):
        ax = plots.scores(model, holes, k)
        places = np.asarray(ax.collections[0].get_offsets())
        assert places.shape == (len(cluster.members), 2)
        assert np.isfinite(places).all()
        assert texts(ax) != [str(i) for i in cluster.members[:3]]
        if not complete and cluster.dimension:
            np.testing.assert_allclose(places[:, 0], cluster.coordinates[:, 0])
        if not complete and cluster.dimension == 1:
            np.testing.assert_allclose(places[:, 1], cluster.height)


@pytest.mark.parametrize("method", [KSubspaces, MPPCA])
def test_other_methods_draw_samples_with_missing_cells(method):
    union = make_subspaces([40, 50], 12, [2, 2], noise=0.2, scores="normal", random_state=1)
    X = with_holes(union.data)
    ax = plots.scores(method(2, n_components=2, n_init=1, random_state=0).fit(X), X)
    assert np.isfinite(np.asarray(ax.collections[0].get_offsets())).all()


def test_scores_by_known_class(model, frame):
    classes = np.where(np.arange(90) % 2, "$even$ odd", "other")
    ax = plots.scores(model, frame, 1, classes=classes, n_named=0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$even$ odd", "other"]
    members = model.labels_ == 1
    counts = [len(group.get_offsets()) for group in ax.collections]
    assert counts == [np.count_nonzero(members & (classes == name)) for name in np.unique(classes)]


def test_the_names_written_are_those_of_the_furthest():
    X = generic(40, 6)
    X[13] = 9 * X[13]
    model = PSC(1, n_components=2, n_init=1, random_state=0).fit(X)
    assert texts(plots.scores(model, X, n_named=1)) == ["13"]


def test_loadings_of_the_strongest_variables(model, frame):
    ax = plots.loadings(model, 1, n_shown=6)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    short = [name if len(name) <= 24 else name[:23] + "…" for name in model.get_variables(1)[:6]]
    assert labels == [" ".join(name.split()) for name in short]
    assert len(ax.get_legend().get_texts()) == 3
    points = [np.asarray(group.get_offsets()) for group in ax.collections[1:]]
    chosen = [frame.columns.get_loc(name) for name in model.get_variables(1)[:6]]
    for axis, found in enumerate(points):
        values = model.subspaces_[1].basis[chosen, axis]
        np.testing.assert_allclose(found[:, 0], values[values != 0])
    title = "what varies within cluster 0\n8 of 8 variables"
    assert plots.loadings(model, 0).get_title() == title


def test_differences_are_bars_as_long_as_their_effects(model):
    ax = plots.loadings(model, 1, by="difference", n_shown=6)
    found = facts_of(model).contrast(1)
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], found.effect[found.order[:6]]
    )
    assert ax.get_title() == "what sets cluster 1 apart\n6 of 60 variables"
    assert ax.get_xlabel() == "difference (SD)"


def test_an_endless_effect_is_a_triangle_at_the_edge():
    X = generic(30, 4)
    X[:15, 0], X[15:, 0], X[15:, 1:] = 3, 1, X[15:, 1:] + 9
    model = PSC(2, n_components=0, affine=True, random_state=0).fit(X)
    assert model.get_variables(0)[0] == 0
    ax = plots.loadings(model, 0)
    widths = [abs(bar.get_width()) for bar in ax.patches]
    assert widths[0] == pytest.approx(1.15 * widths[1])
    assert sum(len(marks.get_offsets()) for marks in ax.collections) == 1
    assert ax.get_title() == "what sets cluster 0 apart\n4 of 4 variables"


def test_angles_are_the_largest_above_and_the_smallest_below():
    union = make_subspaces([40, 40, 40], 9, [1, 2, 3], random_state=2)
    model = PSC(3, n_components=[1, 2, 3], random_state=0).fit(union.data)
    values = plots.angles(model).images[0].get_array().filled(np.nan)
    assert np.isnan(np.diag(values)).all()
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        between = np.degrees(subspace_angles(model.subspaces_[i], model.subspaces_[j]))
        np.testing.assert_allclose([values[i, j], values[j, i]], [between.max(), between.min()])


def test_a_mean_profile_has_no_angles_to_write():
    model = PSC(2, n_components=[0, 2], affine=True, n_init=1, random_state=0).fit(generic(40, 6))
    assert texts(plots.angles(model)) == []


@pytest.mark.parametrize("form", ["pdf", "svg", "png"])
def test_names_that_look_like_formulas_are_text(form):
    hostile = ["$\\frac$", "$x^2$", "a\nb", "\x07bell", "_under", "100 %", "\\alpha"]
    X = pd.DataFrame(generic(14, 7), index=hostile * 2, columns=hostile)
    model = PSC(1, n_components=2, n_init=1, random_state=0).fit(X)
    assert saved(plots.loadings(model), form)
    assert saved(plots.scores(model, X, n_named=14, classes=hostile * 2), form)
    assert saved(plots.influence(model, n_named=14), form)
    methods = {"$\\frac$": PSC(n_init=1, random_state=0), "b": PSC(n_init=1, random_state=1)}
    assert saved(compare(generic(14, 7), methods=methods).plot(), form)


def test_a_saved_model_is_drawn_with_its_names(model, frame, tmp_path):
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert texts(plots.influence(again)) == texts(plots.influence(model))
    assert texts(plots.scores(again, UNION.data, 1)) == texts(plots.scores(model, frame, 1))


@pytest.mark.parametrize(
    "draw",
    [
        lambda model, frame, ax: plots.scores(model, frame, 1, ax=ax),
        lambda model, frame, ax: plots.influence(model, ax=ax),
        lambda model, frame, ax: plots.loadings(model, 1, ax=ax),
        lambda model, frame, ax: plots.angles(model, ax=ax),
    ],
)
def test_axes_are_taken_and_returned_and_style_stays(draw, model, frame):
    ax = Figure().subplots()
    assert draw(model, frame, ax) is ax
    assert not plt.get_fignums()
    with plt.rc_context({"font.size": 11}):
        fresh = draw(model, frame, None)
        assert plt.rcParams["font.size"] == 11
    assert fresh.figure.get_figwidth() <= 3.5
    assert fresh.xaxis.label.get_size() == 8


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda m: plots.scores(m, UNION.data, 2), ValueError, "cluster=2 is out"),
        (lambda m: plots.scores(m, UNION.data[:9]), ValueError, "X has 9 samples"),
        (lambda m: plots.scores(m, UNION.data, names="ab"), ValueError, "2 entries for 90 samples"),
        (lambda m: plots.scores(m, UNION.data, classes=[1]), ValueError, "classes has shape"),
        (lambda m: plots.loadings(m, n_shown=0), ValueError, "n_shown=0"),
        (lambda m: plots.loadings(m, names=[]), ValueError, "0 entries for 60 variables"),
        (lambda m: plots.angles(SparseKMeans()), TypeError, "SparseKMeans has no subspaces"),
        (lambda m: plots.scores(PSC(), UNION.data), Exception, "not fitted"),
    ],
)
def test_bad_input_is_named(call, kind, message, model):
    with pytest.raises(kind, match=message):
        call(model)


def test_a_point_has_no_axes():
    model = KSubspaces(2, n_components=0, affine=True, n_init=1, random_state=0).fit(generic(9, 3))
    with refuses("model", naming=["plots.load"]):
        plots.angles(model)
    X = generic(9, 3)
    ax = plots.scores(model, X, 1, n_named=0)
    assert ax.get_ylabel() == "distance from the next cluster"
    centres = [flat.centre for flat in model.subspaces_]
    own = X[model.labels_ == 1]
    expected = [np.linalg.norm(own - centre, axis=1) for centre in (centres[1], centres[0])]
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.transpose(expected))
    alone = KSubspaces(1, n_components=0, affine=True, random_state=0).fit(X)
    with refuses("model"):
        plots.scores(alone, X)
    with refuses("by"):
        plots.loadings(alone)


def test_clusters_in_three_dimensions():
    scenario = make_scenario("b", random_state=0)
    model = PSC(2, n_components=[1, 2], random_state=0).fit(scenario.data)
    ax = plots.clusters_3d(scenario.data, model.labels_, model.subspaces_, title="two")
    assert ax.get_title() == "two"
    assert len(ax.lines) == 1
    assert len(ax.collections) == 3
    with refuses("X"):
        plots.clusters_3d(generic(5, 4), np.zeros(5))
    with refuses("X", naming=["model.impute(X)"]):
        plots.clusters_3d([[np.nan, 1, 2]] * 2 + [[1, 2, 3]] * 3, np.zeros(5, int))
    for labels in (np.zeros(4, int), np.zeros(5), np.full(5, -2), list("abcde")):
        with refuses("labels"):
            plots.clusters_3d(generic(5, 3), labels)


@pytest.mark.filterwarnings("ignore::subspaces.messages.DataWarning")
def test_basis_images():
    model = PSC(2, n_components=[1, 3], random_state=0).fit(generic(40, 12))
    axes = plots.basis_images(model.subspaces_, (3, 4), n_axes=3)
    assert axes.shape == (3, 2)
    assert [len(ax.images) for ax in axes[:, 0]] == [1, 0, 0]
    assert [len(ax.images) for ax in axes[:, 1]] == [1, 1, 1]


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True)
    return data, PCA(3, scale=True).fit(data.data)


def test_a_biplot_has_scores_and_loadings_in_their_own_units(wine):
    data, model = wine
    ax = plots.biplot(model, data.data, (1, 3), n_shown=5)
    np.testing.assert_allclose(drawn(ax), model.transform(data.data)[:, [0, 2]])
    loadings = model.components_[[0, 2]].T
    longest = np.argsort(-np.linalg.norm(loadings, axis=1))[:5]
    assert set(texts(ax)) - {""} == {short(data.feature_names[j], 16) for j in longest}
    tips = np.array([text.xy for text in ax.texts if not text.get_text()])
    factor = tips[0, 0] / loadings[longest[0], 0]
    np.testing.assert_allclose(tips, factor * loadings[longest])
    top, right = ax.child_axes
    ax.figure.draw_without_rendering()
    np.testing.assert_allclose(np.multiply(top.get_xlim(), factor), ax.get_xlim())
    np.testing.assert_allclose(np.multiply(right.get_ylim(), factor), ax.get_ylim())
    assert ax.get_aspect() == 1.0
    crosses = np.array([line.get_xydata() for line in ax.lines]).reshape(5, 2, 2, 2)
    frame = model.loadings().set_index(["component", "variable"])
    for place, j in enumerate(longest):
        for way, component in enumerate((1, 3)):
            row = frame.loc[component, data.feature_names[j]]
            np.testing.assert_allclose(
                crosses[place, way, :, way], factor * row[["low", "high"]].astype(float)
            )


def short(name, longest=24):
    return name if len(name) <= longest else name[: longest - 1] + "…"


def test_names_of_a_biplot_do_not_overlap_and_stay_inside(wine):
    data, model = wine
    ax = plots.biplot(model, data.data, classes=data.target, n_shown=8)
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(t) for t in ax.texts if t.get_text()]
    assert len(boxes) == 8
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 - 5 < box.x0 and box.x1 < frame.x1 + 5 for box in boxes)


def test_a_biplot_of_whitened_scores_has_their_variances(wine):
    data, model = wine
    white = PCA(3, scale=True, whiten=True).fit(data.data)
    np.testing.assert_allclose(
        drawn(plots.biplot(white, data.data)), drawn(plots.biplot(model, data.data))
    )


def test_what_a_biplot_refuses(wine):
    data, model = wine
    with refuses("component"):
        plots.biplot(model, data.data, (1, 4))
    with refuses("components"):
        plots.biplot(model, data.data, (2, 2))
    with refuses("classes"):
        plots.biplot(model, data.data, classes=[1, 2])


def test_loadings_of_a_pca_have_intervals_and_stars(wine):
    _, model = wine
    ax = Figure().subplots()
    assert plots.loadings(model, component=2, n_shown=6, ax=ax) is ax
    frame = model.loadings().query("component == 2")
    frame = frame.reindex(frame.loading.abs().sort_values(ascending=False).index)[:6]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [short(name) for name in frame.variable]
    lines, marks = ax.collections[:2]
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_allclose(ends, frame[["low", "high"]])
    np.testing.assert_allclose(marks.get_offsets()[:, 0], frame.loading)
    stars = [int(sum(p < limit for limit in (0.05, 0.01, 0.001))) for p in frame.p_value]
    assert [len(text) for text in texts(ax)] == stars
    hollow = np.all(marks.get_facecolors() == 1.0, axis=1)
    np.testing.assert_array_equal(hollow, frame.p_value >= 0.05)


def test_loadings_of_several_components_have_a_legend(wine):
    _, model = wine
    ax = plots.loadings(model, n_shown=4)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["component 1", "2", "3"]
    assert ax.get_xlabel() == "loading"
    X = np.random.default_rng(0).normal(size=(30, 6))  # nearly equal eigenvalues
    assert "1 and 2" in plots.loadings(PCA(2).fit(X)).get_xlabel()
    with refuses("component"):
        plots.loadings(model, component=4)
    with refuses("model"):
        plots.loadings(PCA(0).fit(X))


def test_probabilities_are_drawn_cluster_by_cluster(model, frame):
    ax = plots.probabilities(model, n_named=2)
    own = model.probabilities_.max(axis=1)
    assert texts(ax) == [frame.index[i] for i in np.argsort(own, kind="stable")[:2]]
    heights = [patch.get_data().values for patch in ax.patches]
    for k, drawn_heights in enumerate(heights):
        np.testing.assert_allclose(drawn_heights, np.sort(own[model.labels_ == k]))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    with refuses("model"):
        plots.probabilities(KSubspaces(2).fit(UNION.data))
