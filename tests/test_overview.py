"""The picture of all samples and the heat map: what they are made of, and what is drawn."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import colors
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from subspaces import PSC, SparseKMeans, plots, recipes
from subspaces.datasets import make_subspaces
from subspaces.facts import facts_of
from subspaces.plots import _picture as picture
from tests.plain import generic
from tests.warned import refuses

WINES = load_wine(as_frame=True)
TABLE = (WINES.data - WINES.data.mean()) / WINES.data.std()
KINDS = WINES.target_names[WINES.target]


@pytest.fixture(scope="module")
def model():
    return PSC(3, n_components=1, affine=True, random_state=0).fit(TABLE)


def dots(ax, label):
    """Where the marks with this label are."""
    found = [group for group in ax.collections if group.get_label().startswith(label)]
    return np.vstack([np.asarray(group.get_offsets()) for group in found])


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (30, 1), (1, 5)])
def test_leading_axes_are_those_of_a_pca(shape):
    rows = generic(*shape) * np.geomspace(5, 1, shape[1])
    places, shares = picture.leading_axes(rows)
    rank = min(2, *shape)
    if len(rows) > 1:
        plain = PCA(rank).fit(rows)
        np.testing.assert_allclose(np.abs(places[:, :rank]), np.abs(plain.transform(rows)))
        np.testing.assert_allclose(shares[:rank], plain.explained_variance_ratio_)
    assert not places[:, rank:].any()
    assert not shares[rank:].any()


def test_numbers_are_a_scale_and_few_whole_numbers_are_classes():
    assert picture.column("age", [31.5, 40.0, np.nan], 3).levels == []
    assert picture.column("age", np.arange(13), 13).levels == []
    batch = picture.column("batch", [10, 9, 10, 9], 4)
    assert batch.levels == ["9", "10"]
    assert batch.codes.tolist() == [1, 0, 1, 0]
    text = picture.column("sex", ["f", None, "m", "", np.nan], 5)
    assert text.levels == ["f", "m"]
    assert text.codes.tolist() == [0, -1, 1, -1, -1]


def test_rare_classes_are_joined_and_the_frequent_keep_their_names():
    names = [f"c{i:02d}" for i in range(40)] + ["c39"] * 5
    found = picture.column("class", names, 45)
    assert len(found.levels) == picture.MOST_LEVELS
    assert "c39" in found.levels
    assert found.levels[-1] == picture.OTHERS
    assert np.bincount(found.codes)[-1] == 40 - (picture.MOST_LEVELS - 1)


def test_a_column_must_have_a_value_for_each_sample():
    with refuses("{sex} <2>", naming=["Column '{sex} <2>' has shape (1,)"]):
        picture.column("{sex} <2>", ["f"], 2)


def test_a_class_has_the_colour_of_the_cluster_that_it_matches():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2, -1])
    known = picture.column("class", list("bbbaaccab"), 9)
    assert picture.as_colours_of_clusters(known, labels, 3).tolist() == [1, 0, 2]
    more = picture.column("class", list("abcdabcda"), 9)
    colours = picture.as_colours_of_clusters(more, labels, 3)
    assert sorted(colours.tolist()) == [0, 1, 2, 3]


def test_every_cluster_keeps_its_share_of_a_heat_map():
    labels = np.repeat([0, 1, -1], [600, 300, 100])
    along = generic(1000, 1)[:, 0]
    order = picture.by_cluster(labels, along, 100)
    assert np.unique(labels[order], return_counts=True)[1].tolist() == [10, 60, 30]
    assert labels[order][-1] == -1
    every = picture.by_cluster(labels, along, 1000)
    assert sorted(every.tolist()) == list(range(1000))
    assert np.all(np.diff(along[every[:600]]) >= 0)


def test_clusters_have_an_equal_part_of_the_variables(model):
    facts = facts_of(model)
    shown = picture.telling_variables(facts, 6)
    first = facts.contrasts[0].order[:2].tolist()
    assert shown[:2].tolist() == first
    assert len(set(shown.tolist())) == len(shown) == 6


def test_without_differences_of_means_the_variables_are_those_of_the_axes():
    union = make_subspaces([40, 40], 20, [1, 1], n_variables=3, noise=0.01, random_state=0)
    centred = union.data.copy()
    for k in (0, 1):
        centred[union.target == k] -= centred[union.target == k].mean(axis=0)
    found = PSC(2, init=union.target, max_iter=1).fit(centred)
    shown = picture.telling_variables(facts_of(found), 6)
    own = [np.flatnonzero(loadings.any(axis=1)) for loadings in union.loadings]
    assert set(shown.tolist()) == set(np.concatenate(own).tolist())


def test_the_overview_shows_each_sample_once_and_rings_the_uncertain(model):
    ax = plots.overview(model, TABLE, n_named=2, ax=Figure().subplots())
    sizes = [len(dots(ax, f"cluster {k}")) for k in range(3)]
    assert sizes == np.bincount(model.labels_).tolist()
    unsure = model.probabilities_.max(axis=1) < picture.UNSURE
    assert unsure.any()
    np.testing.assert_allclose(
        dots(ax, "uncertain"), picture.leading_axes(TABLE.to_numpy())[0][unsure]
    )
    least = np.argsort(model.probabilities_.max(axis=1))[:2]
    assert {text.get_text() for text in ax.texts} == {str(i) for i in least}
    assert ax.get_xlabel() == "axis 1 (36 % of the variance)"


def test_colours_show_classes_or_numbers(model):
    ax = plots.overview(model, TABLE, by=KINDS, ax=Figure().subplots())
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named[:3] == ["class_0 (59)", "class_1 (71)", "class_2 (48)"]
    ax = plots.overview(model, TABLE, by=WINES.data["alcohol"], ax=Figure().subplots())
    np.testing.assert_array_equal(ax.collections[0].get_array(), WINES.data["alcohol"])
    assert ax.figure.axes[1].get_ylabel() == "alcohol"


def test_the_heat_map_has_bars_and_standardised_values(model):
    known = pd.DataFrame({"kind": KINDS, "alcohol": WINES.data["alcohol"]})
    ax = plots.heat_map(model, TABLE, by=known, n_shown=6)
    ticks = [label.get_text() for label in ax.get_yticklabels()]
    assert ticks[:3] == ["cluster", "kind", "alcohol"]
    assert len(ticks) == 9
    cells = ax.images[0].get_array()
    order = picture.by_cluster(model.labels_, picture.leading_axes(TABLE.to_numpy())[0][:, 0], 999)
    expected = [colors.to_rgb(plots.COLOURS[k]) for k in model.labels_[order]]
    np.testing.assert_allclose(cells[0], expected)
    first = picture.telling_variables(facts_of(model), 6)[0]
    high = TABLE.iloc[:, first].to_numpy()[order].argmax()
    assert cells[4, high, 2] > cells[4, high, 0]  # blue is high
    assert ax.figure.get_size_inches()[0] == 3.5


def test_metadata_of_a_heat_map_look_like_no_cluster_and_have_a_legend(model):
    known = {"kind": KINDS, "lab": np.where(np.arange(len(KINDS)) % 2, "x", "y")}
    ax = plots.heat_map(model, TABLE, by={**known, "alcohol": WINES.data["alcohol"]}, n_shown=6)
    legend = ax.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    assert [text for text in texts if text] == [
        "kind", *sorted(set(map(str, KINDS))), "lab", "x", "y", "alcohol", "11.03", "14.83",
    ]  # fmt: skip
    shades = dict(
        zip(texts, (patch.get_facecolor() for patch in legend.get_patches()), strict=True)
    )
    clusters = {colors.to_rgba(shade) for shade in plots.COLOURS}
    assert shades["lab"][3] == 0.0
    assert shades["x"] != shades["y"]
    assert not clusters & {shades["x"], shades["y"]}


def test_a_recipe_and_a_method_without_subspaces_are_drawn():
    counts = np.exp2(
        generic(40, 60) + 4 * np.repeat([[0.0], [1.0]], 20, axis=0) * (np.arange(60) < 9)
    )
    recipe = recipes.expression(2, random_state=0).fit(counts)
    plots.overview(recipe, counts, ax=Figure().subplots())
    plots.heat_map(recipe, counts, ax=Figure().subplots())
    weights = SparseKMeans(2, random_state=0).fit(TABLE)
    plots.heat_map(weights, TABLE, ax=Figure().subplots())


def test_samples_with_missing_values_are_drawn(model):
    holed = TABLE.to_numpy().copy()
    holed[::7, 3] = np.nan
    found = PSC(3, n_components=1, affine=True, n_init=2, random_state=0).fit(holed)
    ax = plots.overview(found, holed, ax=Figure().subplots())
    assert np.isfinite(dots(ax, "cluster")).all()
    plots.heat_map(found, holed, ax=Figure().subplots())


def test_another_table_is_refused(model):
    for draw in (plots.overview, plots.heat_map):
        with refuses("X"):
            draw(model, TABLE[:50])
