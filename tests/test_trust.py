"""How far to trust a clustering: its stability, and whether K-means finds the same."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import PSC, halving, progress
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import _trust, means_or_directions, stability
from subspaces.messages import Grade
from subspaces.metrics import adjusted_rand_score
from subspaces.named_table import Table
from subspaces.preparation import attach_preparation, learn_preparation, prepare
from subspaces.recipes import single_cell
from tests.warned import refuses, warns


def blobs(n=90, p=6, seed=0):
    """Three groups that differ in their means alone, and which is which."""
    random = np.random.default_rng(seed)
    kinds = np.repeat([0, 1, 2], n // 3)
    return 8.0 * random.normal(size=(3, p))[kinds] + random.normal(size=(n, p)), kinds


def test_groups_that_differ_in_their_means_are_those_of_k_means():
    X, kinds = blobs()
    model = PSC(3, affine=True, random_state=0).fit(X)
    assert adjusted_rand_score(kinds, model.labels_) == 1
    found = means_or_directions(model, X)
    assert found.agreement == 1
    assert (found.grade, found.conclusion.code) == (Grade.SURE, "same_as_k_means")
    with pytest.raises(AttributeError):
        found.agreement = 0


def test_groups_that_differ_in_their_directions_are_not_said_to_differ_in_their_means():
    lines = make_subspaces([60, 60], 10, [1, 1], noise=0.02, random_state=0)
    model = PSC(2, random_state=0).fit(lines.data)
    found = means_or_directions(model, lines.data)
    assert found.agreement < 0.7
    assert found.grade != Grade.SURE


@pytest.mark.parametrize(
    ("agreement", "code", "grade"),
    [
        (0.999, "near_k_means", Grade.SURE),
        (0.81, "near_k_means", Grade.SURE),
        (0.79, "partly_k_means", Grade.DOUBTFUL),
        (0.41, "unlike_k_means", Grade.NO),
        (0.30, "unlike_k_means", Grade.NO),
    ],
)
def test_the_grade_of_an_agreement_with_k_means(agreement, code, grade):
    found = _trust.verdict_on_directions(agreement, 0.37)
    assert (found.code, found.grade) == (code, grade)
    assert "100 %" not in str(found)


def test_both_methods_are_compared_if_k_means_finds_nearly_the_same():
    assert str(_trust.verdict_on_directions(0.9, 0.37)) == (
        "K-means gives the same label to 90 % of the samples. Compare both before you choose."
    )


def test_agreement_by_chance_is_called_so():
    planes = make_subspaces([60, 80, 100], 40, [2] * 3, noise=0.1, random_state=0)
    model = PSC(3, n_components=2, random_state=0).fit(planes.data)
    found = means_or_directions(model, planes.data)
    assert found.grade == Grade.NO
    assert found.by_chance == pytest.approx(0.37, abs=0.01)


def test_the_level_of_chance_is_told_between():
    X, _ = blobs()
    model = PSC(3, affine=True, random_state=0).fit(X)
    model.labels_ = np.where(np.arange(90) % 5 < 2, (model.labels_ + 1) % 3, model.labels_)
    found = means_or_directions(model, X)
    assert (round(found.agreement, 2), round(found.by_chance, 2)) == (0.6, 0.39)
    assert found.grade == Grade.DOUBTFUL


@pytest.mark.parametrize("way", [1.0, 0.6])
def test_mean_profiles_are_not_told_that_they_differ_in_their_means(way):
    X, _ = blobs()
    model = PSC(3, n_components=0, affine=True, random_state=0).fit(X)
    if way < 1:
        model.labels_ = np.where(np.arange(90) % 5 < 2, (model.labels_ + 1) % 3, model.labels_)
    found = means_or_directions(model, X)
    assert (found.agreement, found.conclusion.code) == (pytest.approx(way), "means")
    assert found.grade == (Grade.DOUBTFUL if way < 1 else Grade.SURE)


def test_a_recipe_is_compared_with_k_means_on_what_it_clusters():
    counts = np.random.default_rng(0).poisson(np.where(np.arange(60) < 30, 3, 9)[:, None], (60, 40))
    counts[:30, :10] += 12
    recipe = single_cell(2, random_state=0).fit(counts)
    expected = means_or_directions(recipe[-1], recipe[:-1].transform(counts))
    assert means_or_directions(recipe, counts).conclusion == expected.conclusion
    assert np.isfinite(expected.agreement)


def test_k_means_sees_the_same_of_many_samples_each_time():
    X, _ = blobs(n=3000)
    model = PSC(3, n_components=0, affine=True, n_init=1, random_state=0).fit(X)
    first, again = (means_or_directions(model, X) for _ in range(2))
    assert (first.agreement, first.conclusion) == (again.agreement, again.conclusion)


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
    assert means_or_directions(model, frame).conclusion == expected.conclusion


def test_one_cluster_has_nothing_to_compare():
    X, _ = blobs()
    model = PSC(1, random_state=0).fit(X)
    found = means_or_directions(model, X)
    assert np.isnan(found.agreement)
    assert (found.grade, found.conclusion.code) == (Grade.UNKNOWN, "one_cluster")
    halves = stability(model, X, n_resamples=1, random_state=0)
    assert (halves.grade, halves.conclusion.code) == (Grade.UNKNOWN, "one_cluster")


def test_other_samples_and_a_model_without_labels_are_named():
    X, _ = blobs()
    model = PSC(3, random_state=0).fit(X)
    with refuses("X", naming=["90"]):
        means_or_directions(model, X[:5])
    found = means_or_directions(make_pipeline(model), X)
    assert found.conclusion == means_or_directions(model, X).conclusion
    with refuses("model", naming=["PSC"]):
        means_or_directions(PSC(3), X)


def judged(agreement, k_means=0.0, estimator=None, doubt="", matrix=((1.0,),)):
    measured = {"agreement": agreement, "splits": 7, "k_means": k_means, "n_clusters": 3}
    return _trust.verdict_on_stability(measured, estimator or PSC(3), np.array(matrix), doubt)


@pytest.mark.parametrize(
    ("value", "k_means", "doubt", "code", "grade"),
    [
        (0.8, 0.0, "", "solid", Grade.SURE),
        (0.7951, 0.0, "", "solid", Grade.SURE),
        (0.79, 0.0, "", "in_part", Grade.DOUBTFUL),
        (0.5, 0.0, "", "in_part", Grade.DOUBTFUL),
        (0.49, 0.0, "", "noise_like", Grade.NO),
        (0.45, 0.9, "", "k_means_agrees_better", Grade.NO),
        (0.85, 0.97, "", "k_means_agrees_better", Grade.SURE),
        (0.95, 0.0, "one_subspace", "one_subspace", Grade.DOUBTFUL),
        (0.95, 0.0, "one_cloud", "one_cloud", Grade.DOUBTFUL),
        (0.85, 0.97, "one_subspace", "k_means_agrees_better", Grade.DOUBTFUL),
    ],
)
def test_the_verdict_on_stability(value, k_means, doubt, code, grade):
    found = judged(value, k_means, doubt=doubt)
    assert (found.code, found.grade) == (code, grade)
    assert f"{value:.2f} " in str(found)
    assert bool(found.advice) == (code != "solid")
    word = {Grade.SURE: "Stable", Grade.DOUBTFUL: "Doubtful", Grade.NO: "Not stable"}[grade]
    begin = "The clusters are stable (" if code == doubt else f"{word}: "
    assert str(found).startswith(begin)


@pytest.mark.parametrize("value", [0.3, 0.6])
def test_only_variables_of_different_units_are_advised_to_be_scaled(value):
    pixels = load_digits().data[:100]
    assert "scale" not in [each.parameter for each in judged(value, matrix=pixels).advice]
    alike = judged(value, doubt="one_subspace", matrix=pixels)
    assert [each.parameter for each in alike.advice] == ["n_clusters"]
    wine = judged(value, matrix=load_wine().data)
    assert "scale" in [each.parameter for each in wine.advice]


def test_advice_that_was_followed_is_left_out():
    found = judged(0.6, matrix=load_wine().data)
    assert "Scale variables" in str(found)
    assert "Scale variables" not in found.in_words(settled=["scale"])
    by_means = judged(0.4, 0.9).in_words(command=True)
    assert by_means.endswith("with n_clusters=3 affine=True n_components=0 before you choose.")
    assert "try affine" not in judged(0.4, 0.9).in_words(settled=["affine"]).lower()


def test_k_means_agrees_better_on_groups_of_means():
    wine = StandardScaler().fit_transform(load_wine().data)
    found = stability(PSC(3, n_init=5, random_state=0), wine, n_resamples=4, random_state=0)
    assert found.k_means > found.stability + 0.2
    assert found.conclusion.code == "k_means_agrees_better"
    assert found.grade != Grade.SURE
    lines = make_subspaces([60, 60], 10, [1, 1], noise=0.02, random_state=0)
    found = stability(PSC(2, n_init=5, random_state=0), lines.data, n_resamples=4, random_state=0)
    assert found.stability > 0.9
    assert (found.grade, found.conclusion.code) == (Grade.SURE, "solid")


def test_clusters_that_one_subspace_beats_are_doubtful_though_halves_agree():
    """Halves agree on where to cut one plane."""
    random = np.random.default_rng(7)
    X = 5.0 * random.normal(size=(120, 2)) @ random.normal(size=(2, 15))
    X += random.normal(size=(120, 15))
    found = stability(PSC(3, n_init=3, random_state=0), X, n_resamples=4, random_state=0)
    assert found.stability > 0.8
    assert (found.grade, found.conclusion.code) == (Grade.DOUBTFUL, "one_subspace")
    assert [advice.parameter for advice in found.conclusion.advice] == ["n_clusters"]


def test_no_number_is_advised_to_be_chosen_from_a_table_with_missing_values():
    X = np.ones((10, 4))
    assert _trust._ways_to_see_one(X)[0].value == "auto"
    X[0, 0] = np.nan
    assert _trust._ways_to_see_one(X)[0].words.endswith("on variables without missing values")
    X[1] = np.nan
    assert _trust._ways_to_see_one(X)[0].parameter is None


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (PSC(3), ["affine", None]),
        (PSC(3, affine=True), [None]),
        (PSC(3, n_components=[0, 1, 1], affine=True), [None]),
    ],
)
def test_what_was_tried_is_not_advised(estimator, parameters):
    found = judged(0.3, 0.9, estimator)
    assert [advice.parameter for advice in found.advice] == parameters


@pytest.mark.parametrize("estimator", [PSC(3, n_components=0, affine=True), KMeans(3)])
def test_k_means_is_not_advised_to_those_who_use_it(estimator):
    assert judged(0.3, 0.9, estimator).code == "noise_like"


@pytest.mark.parametrize(
    ("agreements", "splits"),
    [
        ([0.8, 0.9, 1.0, 0.95, 0.795], 5),
        ([0.3, 0.1, 0.2, 0.4, 0.494], 5),
        ([0.9, 0.9, 0.9, 0.9, 0.794, *[0.9] * 5], 10),
    ],
)
def test_splits_end_early_if_each_leads_to_the_same_verdict(agreements, splits, monkeypatch):
    X, _ = blobs()
    model = PSC(3, n_init=1, random_state=0)
    every = iter(agreements)
    by_turns = (next(every) if i % 2 == 0 else 1.0 for i in range(20))  # K-means of each split, too
    monkeypatch.setattr(_trust, "adjusted_rand_score", lambda *labels: next(by_turns))
    found = stability(model, X, random_state=4)
    assert found.per_resample.tolist() == agreements
    assert found.conclusion.parameters["splits"] == splits
    assert found.stability == pytest.approx(np.mean(agreements))


def test_a_number_of_splits_that_is_asked_for_is_made():
    X, _ = blobs()
    found = stability(PSC(3, n_init=1, random_state=0), X, n_resamples=6, random_state=4)
    assert found.per_resample.min() > 0.8
    assert len(found.per_resample) == 6


def test_a_budget_ends_the_same_splits_sooner(monkeypatch):
    X, _ = blobs()
    model = PSC(3, n_init=1, random_state=0)
    every = stability(model, X, n_resamples=6, random_state=4)
    assert len(every.per_resample) == 6
    few = stability(model, X, n_resamples=6, budget_s=0, random_state=4)
    np.testing.assert_array_equal(few.per_resample, every.per_resample[:3])
    assert few.conclusion.parameters["splits"] == 3
    clock = iter(np.arange(0.0, 100.0, 10.0))
    monkeypatch.setattr(halving, "monotonic", lambda: next(clock))
    some = stability(model, X, n_resamples=6, budget_s=25, random_state=4)
    assert 3 < len(some.per_resample) < 6
    np.testing.assert_array_equal(some.per_resample, every.per_resample[: len(some.per_resample)])
    with refuses("budget_s", -1):
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
    assert found.conclusion.code == ("solid" if apart else "one_cloud")
    assert found.grade == (Grade.SURE if apart else Grade.DOUBTFUL)


def test_a_variable_that_a_half_lacks_is_left_out_of_the_split():
    """One value is in one half alone, so that every split is that of the table without it."""
    X = make_subspaces([30, 30], 8, [1, 1], noise=0.1, random_state=0).data
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    rare = np.column_stack([X, np.where(np.arange(60) == 7, 1.0, np.nan)])
    model = PSC(2, n_init=2, random_state=0)
    with warns("empty_variables") as said:
        found = stability(model, rare, n_resamples=3, random_state=0)
    assert (said[0].message.parameters["few"], said[0].filename) == (1, __file__)
    plain = stability(model, X, n_resamples=3, random_state=0)
    np.testing.assert_array_equal(found.per_resample, plain.per_resample)
    assert (found.k_means, found.verdict) == (plain.k_means, plain.verdict)
    rare[7, :8] = np.nan
    with refuses("X"):
        stability(model, rare, n_resamples=3, random_state=0)


def test_halves_take_over_what_a_fitted_model_chose():
    X = make_subspaces([60, 60], 6, [1, 1], noise=0.1, random_state=0).data
    model = PSC(n_components="auto", affine="auto", max_components=2, random_state=0).fit(X)
    chosen = {"affine": model.affine_, "max_components": int(max(model.n_components_))}
    given = PSC(model.n_clusters_, n_components="auto", **chosen, random_state=0)
    first, second = (stability(each, X, n_resamples=3, random_state=0) for each in (model, given))
    np.testing.assert_array_equal(first.per_resample, second.per_resample)
    assert model.max_components == 2


def test_halves_are_fitted_as_the_whole():
    """With the dimensions held and no candidates to begin from, halves agree to 0.6."""
    X = load_iris().data
    model = PSC(3, n_components="auto", affine="auto", random_state=0).fit(X)
    assert stability(model, X, n_resamples=3, random_state=0).stability > 0.85


def test_there_is_no_second_verdict_on_one_group_or_several():
    """Halves agree on where to cut one plane, and the automatic choice has seen that it is one."""
    random = np.random.default_rng(7)
    X = 5.0 * random.normal(size=(120, 2)) @ random.normal(size=(2, 15))
    X += random.normal(size=(120, 15))
    model = PSC(3, n_init=3, random_state=0).fit(X)
    doubted = stability(model, X, n_resamples=3, random_state=0)
    assert doubted.conclusion.code == "one_subspace"
    model.selection_ = {"against_one": {"gain": 50.0, "standard_error": 1.0, "p_value": None}}
    found = stability(model, X, n_resamples=3, random_state=0)
    assert found.conclusion.code == "solid"
    np.testing.assert_array_equal(found.per_resample, doubted.per_resample)
