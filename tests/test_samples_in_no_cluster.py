"""Samples with the label -1 count as if they were not there, outside the core."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from subspaces import PSC, diagnostics, plots
from subspaces.core.partition import Partition
from subspaces.core.problem import Problem
from subspaces.core.rows import DenseRows
from subspaces.data.contrast_sums import from_sums, sums_from
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import _markers
from subspaces.diagnostics._composition import common_shift
from subspaces.diagnostics._rank_test import rank_test
from subspaces.facts import facts_of, samples_of
from subspaces.messages import ParameterError
from subspaces.metrics import matched_accuracy, matched_labels
from subspaces.pages import render
from subspaces.psc.one_group import null_p_values, separation
from subspaces.rivals.sparse_kmeans import between_squares, cluster_means
from subspaces.rivals.subspace_error import mean_squared_distance
from subspaces.scverse import psc
from subspaces.selection import select_n_clusters
from subspaces.starts.judges import leaving
from subspaces.starts.landmarks import extend
from subspaces.starts.spectral import match_dimensions
from tests.plain import generic, plain_code

UNION = make_subspaces([14, 12, 16], 6, [2, 1, 2], noise=0.1, random_state=0)
X = UNION.data
TRUTH = UNION.target.astype(np.intp)
LABELS = TRUTH.copy()
LABELS[[0, 3, 15, 30, 41]] = -1
KEPT = LABELS >= 0
GIVEN = (X, LABELS), (X[KEPT], LABELS[KEPT])
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)


@pytest.mark.parametrize(
    "value",
    [
        lambda rows, labels: mean_squared_distance(rows, labels, 1, affine=True),
        cluster_means,
        between_squares,
        separation,
        lambda rows, labels: rank_test(rows, labels, 3),
        lambda rows, labels: null_p_values(rows, labels, 3, 5, np.random.default_rng(0)),
        lambda rows, labels: common_shift(np.tile(rows, 5), np.tile(rows, 5) > -9, labels),
        lambda rows, labels: _markers._effects(rows, Partition(labels, 4)),
        lambda rows, labels: _markers._shares(rows > 0, Partition(labels, 4)),
    ],
)
def test_values_are_those_without_samples_in_no_cluster(value):
    found, expected = (value(*each) for each in GIVEN)
    found, expected = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other)


@pytest.mark.parametrize("value", [_markers._effects, lambda x, y: _markers._shares(x > 0, y)])
def test_weights_are_repeated_samples(value):
    times = WEIGHTS.astype(int)
    found = value(X, Partition(LABELS, 4, WEIGHTS))
    expected = value(np.repeat(X, times, axis=0), Partition(np.repeat(LABELS, times), 4))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_cuts_leave_rows_in_no_cluster_out(form):
    graph = np.abs(generic(len(X), len(X)))
    graph += graph.T
    expected = leaving(form(graph[np.ix_(KEPT, KEPT)]), LABELS[KEPT], 4)
    assert_allclose(leaving(form(graph), LABELS, 4), expected)


def test_starts_leave_rows_in_no_cluster_out():
    problem = Problem(DenseRows(X), (1, 2, 2), "influence", False)
    shuffled = np.where(KEPT, np.array([1, 2, 0])[LABELS], -1)
    found = match_dimensions(problem, shuffled)
    assert_array_equal(found[KEPT], match_dimensions(problem.subset(KEPT), shuffled[KEPT]))
    assert (found[~KEPT] == -1).all()
    chosen = np.arange(len(X))
    assert_array_equal(extend(problem, chosen, LABELS), extend(problem, chosen[KEPT], LABELS[KEPT]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("compiled", [True, False])
def test_sums_of_blocks_leave_rows_in_no_cluster_out(form, compiled):
    points = generic(3, X.shape[1])
    with plain_code():
        plain = [sums_from(form(rows), labels, 0, points)[1] for rows, labels in GIVEN]
    quick = [sums_from(form(rows), labels, 0, points)[1] for rows, labels in GIVEN]
    found, expected = quick if compiled else plain
    assert_array_equal(found.sizes, [12, 11, 14])
    for one, other in zip(from_sums(found, points), from_sums(expected, points), strict=True):
        assert_allclose(one, other)


def test_matched_labels_keep_the_label_of_no_cluster():
    renamed = np.where(KEPT, np.array([2, 0, 1])[LABELS], -1)
    assert_array_equal(matched_labels(TRUTH, renamed), LABELS)
    assert_array_equal(matched_labels(LABELS, np.array([2, 0, 1])[TRUTH]), TRUTH)


def test_a_sample_in_no_cluster_is_right_only_if_it_is_in_none():
    assert matched_accuracy([0, 0, 1, 1, 1], [3, 3, 7, 7, -1]) == pytest.approx(0.8)
    assert matched_accuracy([0, 0, 1, 1, -1], [3, 3, 7, 7, -1]) == 1.0
    assert matched_accuracy([0, 1, 1], [-1, -1, -1]) == 0.0
    # Classes may be called -1 and 1.
    assert matched_accuracy([-1, -1, 1, 1], [0, 0, 1, 1]) == 1.0
    assert matched_accuracy(["a", "b", "b"], ["x", "y", "y"]) == 1.0


def test_means_or_directions_leave_samples_in_no_cluster_out():
    class Fitted:
        def __init__(self, labels):
            self.labels_ = labels

    found, expected = (
        diagnostics.means_or_directions(Fitted(labels), rows) for rows, labels in GIVEN
    )
    assert found.agreement == expected.agreement


def test_the_plot_of_influence_leaves_samples_in_no_cluster_out():
    pytest.importorskip("matplotlib").use("agg")
    model = PSC(3, n_components=1, criterion="influence", n_init=2, random_state=0).fit(X)
    model.labels_ = np.where(KEPT, model.labels_, -1)
    ax = plots.influence(model)
    assert sum(len(drawn.get_offsets()) for drawn in ax.collections) == KEPT.sum()
    assert "-1" not in [text.get_text() for text in ax.get_xticklabels()]


# A model that has outliers: everything that reads its labels.

FAR = np.vstack([X, 5.0 * generic(4, X.shape[1])])
NUMBERS = {"n_components": [2, 1, 2], "random_state": 0}
MODEL = PSC(3, outliers=0.1, **NUMBERS).fit(FAR)
INSIDE = MODEL.labels_ >= 0


def test_the_model_has_outliers():
    assert not INSIDE[-4:].any()
    assert np.bincount(MODEL.labels_[INSIDE]).min() >= 8


def test_stability_and_confidence_are_those_of_samples_in_clusters():
    given = {"n_resamples": 2, "random_state": 0}
    found = diagnostics.stability(MODEL, FAR, **given)
    alone = PSC(3, **NUMBERS).fit(FAR[INSIDE])
    assert found.stability == diagnostics.stability(alone, FAR[INSIDE], **given).stability
    found = diagnostics.label_confidence(MODEL, FAR, random_state=0)
    expected = diagnostics.label_confidence(alone, FAR[INSIDE], random_state=0)
    assert found.agreement == expected.agreement
    assert found.shrinkage == pytest.approx(expected.shrinkage)
    assert_allclose(found.probabilities[INSIDE], expected.probabilities, atol=1e-8)
    sets = diagnostics.label_sets(MODEL, FAR, random_state=0)
    assert not sets[~INSIDE].any()
    assert_array_equal(sets[INSIDE], diagnostics.label_sets(alone, FAR[INSIDE], random_state=0))


def test_chance_is_tested_without_the_outliers():
    given = {"n_nulls": 19, "n_init": 1, "early_stop": 1, "random_state": 0}
    alone = PSC(3, **NUMBERS).fit(FAR[INSIDE])
    found, expected = (
        diagnostics.is_real(model, rows, **given)
        for model, rows in ((MODEL, FAR), (alone, FAR[INSIDE]))
    )
    assert (found.gain, found.p_value) == (expected.gain, expected.p_value)


def test_markers_are_those_of_samples_in_clusters():
    alone = PSC(3, **NUMBERS).fit(FAR[INSIDE])
    found, expected = MODEL.markers(FAR), alone.markers(FAR[INSIDE])
    assert_array_equal(found.columns["variable"], expected.columns["variable"])
    assert_allclose(found.columns["p_value"], expected.columns["p_value"])
    contrast, same = facts_of(MODEL).contrast(0), facts_of(alone).contrast(0)
    assert_allclose(contrast.effect, same.effect)
    assert_array_equal(facts_of(MODEL).sizes, facts_of(alone).sizes)


def test_outliers_are_compared_with_the_nearest_cluster():
    nearest = MODEL.transform(FAR).argmin(axis=1)
    known = np.where(INSIDE, MODEL.labels_, nearest)
    samples = samples_of(MODEL, FAR)
    assert_allclose(samples.distances(MODEL.labels_), samples.distances(known))
    assert_allclose(samples.distances(MODEL.labels_), MODEL.record_.distances)
    ratios = samples.distance_ratios(MODEL.predict(FAR))
    assert_allclose(ratios, samples.distance_ratios(known))
    assert ratios[-4:].min() > 5.0


def test_candidates_of_a_selection_name_no_outliers():
    with pytest.raises(ParameterError) as raised:
        select_n_clusters(PSC(outliers=0.1), X, [1, 2])
    assert raised.value.parameter == "outliers"


def test_pictures_of_samples_have_grey_crosses():
    pytest.importorskip("matplotlib").use("agg")
    ax = plots.clusters_3d(FAR[:, :3], MODEL.labels_)
    named = {text.get_text() for text in ax.legend().get_texts()}
    assert named == {"outlier", "cluster 0", "cluster 1", "cluster 2"}
    crosses = next(each for each in ax.collections if each.get_label() == "outlier")
    assert len(crosses.get_offsets()) == (~INSIDE).sum()
    plots.influence(MODEL)
    plots.probabilities(MODEL)
    plots.scores(MODEL, FAR, 0)


def test_the_page_lists_outliers_first_and_marks_them():
    pytest.importorskip("plotly")
    names = [f"sample no {i}" for i in range(len(FAR))]
    page = render(MODEL, FAR, sample_names=names, classes=["a", "b"] * (len(FAR) // 2))
    places = np.flatnonzero(~INSIDE)
    table = page[page.index('id="samples"') :]
    where = [table.index(f">sample no {i}<") for i in places]
    assert max(where) < min(table.index(f">sample no {i}<") for i in np.flatnonzero(INSIDE))
    assert np.argsort(where).tolist() == np.argsort(MODEL.p_values_[places]).tolist()
    assert "Grey crosses: outliers." in page
    assert "Grey crosses: outliers." not in render(PSC(3, **NUMBERS).fit(X), X)


def test_annotated_data_have_a_category_for_outliers():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(FAR)
    psc(adata, 3, n_components=[2, 1, 2], outliers=0.1, random_state=0)
    kinds = adata.obs["psc"]
    assert list(kinds.cat.categories) == ["0", "1", "2", "outlier"]
    assert_array_equal(kinds == "outlier", ~INSIDE)
    assert_array_equal(np.isnan(adata.obs["psc_probability"]), ~INSIDE)
    assert_allclose(adata.obs["psc_p_value"], MODEL.p_values_)
