"""How far to trust a clustering: its stability, and whether K-means finds the same."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import PSC, progress
from subspaces.app.preparation import learn_preparation
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import _trust, means_or_directions, stability
from subspaces.metrics import adjusted_rand_score
from subspaces.named_table import Table
from subspaces.preparation import attach_preparation, prepare
from subspaces.recipes import single_cell


def blobs(n=90, p=6, seed=0):
    """Three groups that differ in their means alone, and which is which."""
    random = np.random.default_rng(seed)
    kinds = np.repeat([0, 1, 2], n // 3)
    return 8.0 * random.normal(size=(3, p))[kinds] + random.normal(size=(n, p)), kinds


def test_groups_that_differ_in_their_means_are_said_to():
    X, kinds = blobs()
    model = PSC(3, affine=True, random_state=0).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    found = means_or_directions(model, X)
    assert found.agreement == 1
    assert found.verdict == (
        "K-means agrees with 100 % of these labels: these groups differ mostly in their means."
    )
    with pytest.raises(AttributeError):
        found.agreement = 0


def test_groups_that_differ_in_their_directions_are_not_said_to_differ_in_their_means():
    lines = make_subspaces([60, 60], 10, [1, 1], noise=0.02, random_state=0)
    model = PSC(2, random_state=0).fit(lines.data)
    found = means_or_directions(model, lines.data)
    assert found.agreement < 0.7
    assert found.verdict.startswith(f"K-means agrees with {100 * found.agreement:.0f} % of these")
    assert "differ mostly in their means" not in found.verdict


def test_agreement_by_chance_is_called_so():
    planes = make_subspaces([60, 80, 100], 40, [2] * 3, noise=0.1, random_state=0)
    model = PSC(3, n_components=2, random_state=0).fit(planes.data)
    said = means_or_directions(model, planes.data).verdict
    assert said.endswith(
        "% of these labels, hardly more than chance (37 %): these are not groups of means."
    )


def test_the_level_of_chance_is_told_between():
    X, _ = blobs()
    model = PSC(3, affine=True, random_state=0).fit(X)
    model.labels_ = np.where(np.arange(90) % 5 < 2, (model.labels_ + 1) % 3, model.labels_)
    assert means_or_directions(model, X).verdict == (
        "K-means agrees with 60 % of these labels; by chance it would with 39 %."
    )


@pytest.mark.parametrize("way", [1.0, 0.6])
def test_mean_profiles_are_not_told_that_they_differ_in_their_means(way):
    X, _ = blobs()
    model = PSC(3, n_components=0, affine=True, random_state=0).fit(X)
    if way < 1:
        model.labels_ = np.where(np.arange(90) % 5 < 2, (model.labels_ + 1) % 3, model.labels_)
    said = means_or_directions(model, X).verdict
    assert said.startswith(
        "These clusters are mean profiles, as those of K-means are, which agrees with "
        f"{100 * way:.0f} % of the labels"
    )
    assert ("Try another number" in said) == (way < 1)


def test_a_recipe_is_compared_with_k_means_on_what_it_clusters():
    counts = np.random.default_rng(0).poisson(np.where(np.arange(60) < 30, 3, 9)[:, None], (60, 40))
    counts[:30, :10] += 12
    recipe = single_cell(2, random_state=0).fit(counts)
    expected = means_or_directions(recipe[-1], recipe[:-1].transform(counts))
    assert means_or_directions(recipe, counts) == expected
    assert np.isfinite(expected.agreement)


def test_k_means_sees_the_same_of_many_samples_each_time():
    X, _ = blobs(n=3000)
    model = PSC(3, n_components=0, affine=True, n_init=1, random_state=0).fit(X)
    assert means_or_directions(model, X) == means_or_directions(model, X)


def test_k_means_sees_what_the_model_sees():
    X, _ = blobs()
    X[:, 0] *= 1e4
    frame = pd.DataFrame(X, columns=list("abcdef"))
    table = Table(X, tuple(map(str, range(90))), tuple("abcdef"))
    preparation = learn_preparation(table, scale=True)
    scaled = prepare(table, preparation).data
    model = PSC(3, affine=True, random_state=0).fit(pd.DataFrame(scaled, columns=list("abcdef")))
    expected = means_or_directions(model, scaled)
    attach_preparation(model, preparation)
    assert means_or_directions(model, frame) == expected


def test_one_cluster_has_nothing_to_compare():
    X, _ = blobs()
    model = PSC(1, random_state=0).fit(X)
    found = means_or_directions(model, X)
    assert np.isnan(found.agreement)
    assert found.verdict.startswith("There is one cluster by its directions; groups may still")
    halves = stability(model, X, n_resamples=1, random_state=0)
    assert halves.verdict.startswith("There is one cluster")


def test_other_samples_and_a_model_without_labels_are_named():
    X, _ = blobs()
    model = PSC(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X has 5 samples, .* fitted to 90. Use the data of fit"):
        means_or_directions(model, X[:5])
    assert means_or_directions(make_pipeline(model), X) == means_or_directions(model, X)
    with pytest.raises(ValueError, match=r"PSC has no labels_. Use a fitted clusterer, or a pipe"):
        means_or_directions(PSC(3), X)


@pytest.mark.parametrize(
    ("value", "k_means", "words"),
    [
        (0.8, 0.0, "Solid: "),
        (0.7951, 0.0, "Solid: "),
        (0.79, 0.0, "Doubtful: "),
        (0.5, 0.0, "Doubtful: "),
        (0.49, 0.0, "Noise-like: "),
        (0.45, 0.9, "K-means is steadier on the same halves (0.90)"),
    ],
)
def test_the_verdict_on_stability_in_words(value, k_means, words):
    said = _trust._stability_in_words(value, 7, k_means, 3, "K-means")
    assert words in said
    assert f"agreement {value:.2f} over 7 halvings; 1 is perfect, 0 is chance" in said
    assert ("K-means" in said) == (k_means > value)
    assert ("Try another number" in said) == (value < 0.795 and k_means < value)


@pytest.mark.filterwarnings("ignore:one subspace describes the samples better")
def test_groups_of_means_are_steadier_under_k_means():
    wine = StandardScaler().fit_transform(load_wine().data)
    found = stability(PSC(3, n_init=5, random_state=0), wine, n_resamples=4, random_state=0)
    assert found.k_means > found.stability + 0.2
    assert "K-means is steadier" in found.verdict
    assert (
        "Try K-means or PSC(K, n_components=0, affine=True), PSC(K, affine=True)" in found.verdict
    )
    lines = make_subspaces([60, 60], 10, [1, 1], noise=0.02, random_state=0)
    found = stability(PSC(2, n_init=5, random_state=0), lines.data, n_resamples=4, random_state=0)
    assert found.stability > 0.9
    assert "K-means" not in found.verdict


def test_no_number_is_advised_to_be_chosen_from_a_table_with_holes():
    wine = StandardScaler().fit_transform(load_wine().data)
    holes = np.random.default_rng(0).random(wine.shape) < 0.03
    wine[:, :4][holes[:, :4]] = np.nan
    with pytest.warns(UserWarning, match=r"PSC\('auto'\) on variables without gaps to see"):
        stability(PSC(3, n_init=3, random_state=0), wine, n_resamples=3, random_state=0)
    wine[holes] = np.nan  # next to no variable is without gaps
    with pytest.warns(UserWarning, match=r"and other numbers of clusters to see whether their"):
        stability(PSC(3, n_init=3, random_state=0), wine, n_resamples=3, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "ways"),
    [
        (PSC(3), "K-means or PSC(K, n_components=0, affine=True), PSC(K, affine=True) for groups"),
        (PSC(3, affine=True), "K-means or PSC(K, n_components=0, affine=True)"),
        (PSC(3, n_components=[0, 1, 1], affine=True), "K-means or PSC(K, n_components=0"),
    ],
)
def test_what_was_tried_is_not_advised(estimator, ways):
    said = _trust._ways_by_means(estimator)
    assert said.startswith(ways)
    assert ("centres of their own" in said) == (not estimator.affine)


@pytest.mark.parametrize("estimator", [PSC(3, n_components=0, affine=True), KMeans(3)])
def test_k_means_is_not_advised_to_those_who_use_it(estimator):
    assert _trust._ways_by_means(estimator) == ""
    said = _trust._stability_in_words(0.3, 7, 0.9, 3, "")
    assert "K-means" not in said
    assert "Try another number of clusters" in said


def test_a_budget_ends_the_same_splits_sooner(monkeypatch):
    X, _ = blobs()
    model = PSC(3, n_init=1, random_state=0)
    every = stability(model, X, n_resamples=6, random_state=4)
    assert len(every.per_resample) == 6
    few = stability(model, X, n_resamples=6, budget_s=0, random_state=4)
    np.testing.assert_array_equal(few.per_resample, every.per_resample[:3])
    assert "over 3 halvings" in few.verdict
    clock = iter(np.arange(0.0, 100.0, 10.0))
    monkeypatch.setattr(_trust, "monotonic", lambda: next(clock))
    some = stability(model, X, n_resamples=6, budget_s=25, random_state=4)
    assert 3 < len(some.per_resample) < 6
    np.testing.assert_array_equal(some.per_resample, every.per_resample[: len(some.per_resample)])
    with pytest.raises(ValueError, match="budget_s=-1 is out of range"):
        stability(model, X, budget_s=-1)


def test_every_halving_is_told():
    X, _ = blobs()
    heard = []
    with progress.listen(heard.append):
        stability(PSC(3, n_init=1, random_state=0), X, n_resamples=2, random_state=0)
    told = [(step.done, step.total) for step in heard if step.stage == "halving"]
    assert told == [(0, 2), (1, 2)]


@pytest.mark.parametrize("apart", [True, False])
def test_mean_profiles_that_cut_a_range_are_doubtful(apart):
    """Along one axis halves agree on a cut, with a gap or without."""
    random = np.random.default_rng(0)
    along = np.repeat([-4.0, 4.0], 60) if apart else random.uniform(-8, 8, 120)
    X = random.normal(size=(120, 6)) + np.outer(along, np.eye(6)[0])
    model = PSC(2, n_components=0, affine=True, criterion="loo", n_init=3, random_state=0)
    found = stability(model, X, n_resamples=4, random_state=0)
    assert found.stability > 0.8
    assert found.verdict.startswith("Solid: " if apart else "Doubtful: ")
    assert ("one cloud without gaps" in found.verdict) is not apart


def test_a_variable_that_a_half_lacks_is_left_out_of_the_split():
    """One value is in one half alone, so that every split is that of the table without it."""
    X = make_subspaces([30, 30], 8, [1, 1], noise=0.1, random_state=0).data
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    rare = np.column_stack([X, np.where(np.arange(60) == 7, 1.0, np.nan)])
    model = PSC(2, n_init=2, random_state=0)
    with pytest.warns(UserWarning, match="1 of 9 variables had no value in some halves, and was "):
        found = stability(model, rare, n_resamples=3, random_state=0)
    plain = stability(model, X, n_resamples=3, random_state=0)
    np.testing.assert_array_equal(found.per_resample, plain.per_resample)
    assert (found.k_means, found.verdict) == (plain.k_means, plain.verdict)
    rare[7, :8] = np.nan
    with pytest.raises(ValueError, match="samples have values of such variables alone"):
        stability(model, rare, n_resamples=3, random_state=0)
