"""How sure the labels are: probabilities shrunk by the agreement of halves, sets of labels."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

from subspaces import PSC, KSubspaces
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.diagnostics import label_confidence, label_sets, stability
from subspaces.diagnostics._certainty import _splits
from subspaces.messages import Grade
from subspaces.metrics import adjusted_rand_score, likelihood_scorer, matched_labels
from tests.warned import refuses

PLAIN = make_subspaces([40, 50, 60], 20, [2, 2, 2], noise=0.1, random_state=0)
CLEAR = PLAIN.data
NOISE = np.random.default_rng(0).normal(size=(90, 10))


def fitted(X, n_clusters=3, **options):
    return PSC(n_clusters, n_components=2, n_init=3, random_state=0, **options).fit(X)


@pytest.fixture(scope="module")
def clear():
    return fitted(CLEAR)


@pytest.fixture(scope="module")
def noise():
    return fitted(NOISE)


def test_clear_clusters_keep_their_probabilities(clear):
    found = label_confidence(clear, CLEAR, random_state=0)
    assert found.grade is Grade.SURE
    assert found.agreement > 0.95
    assert found.shrinkage == pytest.approx(1.0, abs=0.05)
    np.testing.assert_allclose(found.probabilities, clear.probabilities_, atol=0.05)


def test_labels_of_noise_are_shrunk_by_the_agreement_of_halves(noise):
    found = label_confidence(noise, NOISE, n_splits=3, random_state=0)
    assert found.grade is Grade.NO
    assert found.agreement < 0.7
    # The same splits, plainly: two fits, labels of all samples, matched with each other.
    random, same = np.random.RandomState(0), []
    for _ in range(3):
        halves = np.array_split(random.permutation(len(NOISE)), 2)
        labels = [
            matched_labels(noise.labels_, fitted(NOISE[half]).predict(NOISE)) for half in halves
        ]
        same.append(np.mean(labels[0] == labels[1]))
    s, k = np.mean(same), 3
    assert found.agreement == pytest.approx(s)
    a = max(np.roots([k, -2, 1 - s * (k - 1)]).real) if k * s > 1 else 1 / k
    assert a**2 + (1 - a) ** 2 / (k - 1) == pytest.approx(max(s, 1 / k))
    p = noise.probabilities_
    g = np.clip((a - 1 / k) / (p.max(axis=1).mean() - 1 / k), 0, 1)
    assert found.shrinkage == pytest.approx(g)
    np.testing.assert_allclose(found.probabilities, 1 / k + g * (p - 1 / k), atol=1e-8)
    assert np.array_equal(found.probabilities.argmax(axis=1), noise.labels_)
    new = noise.predict_proba(2 * NOISE)
    assert np.array_equal(found.shrink(new).argmax(axis=1), new.argmax(axis=1))
    np.testing.assert_allclose(found.shrink(new).sum(axis=1), 1, atol=1e-12)


def test_samples_without_weight_have_no_part_in_halves():
    weights = np.ones(len(CLEAR))
    weights[::5] = 0.0
    kept = weights > 0
    init = PLAIN.target
    model = PSC(3, n_components=2, init=init, random_state=0).fit(CLEAR, sample_weight=weights)
    few = PSC(3, n_components=2, init=init[kept], random_state=0).fit(CLEAR[kept])
    assert np.array_equal(model.labels_[kept], few.labels_)
    for each in (model, few):
        each.set_params(init="portfolio", n_init=3)
    found, plain = (
        label_confidence(each, X, random_state=0)
        for each, X in ((model, CLEAR), (few, CLEAR[kept]))
    )
    assert found.agreement == plain.agreement
    np.testing.assert_allclose(found.probabilities[kept], plain.probabilities, atol=1e-10)
    sets = label_sets(model, CLEAR, 0.99, random_state=0)[kept]
    assert np.array_equal(sets, label_sets(few, CLEAR[kept], 0.99, random_state=0))
    steady = stability(model, CLEAR, n_resamples=3, random_state=0)
    expected = stability(few, CLEAR[kept], n_resamples=3, random_state=0)
    np.testing.assert_allclose(steady.per_resample, expected.per_resample)
    assert steady.k_means == pytest.approx(expected.k_means)
    with refuses("X"):
        stability(model, CLEAR[kept])


def test_weights_go_along_with_the_samples_of_a_half():
    weights = np.random.default_rng(0).integers(1, 4, size=len(NOISE)).astype(float)
    options = {"n_components": 2, "n_init": 3, "random_state": 0}
    model = PSC(3, **options).fit(NOISE, sample_weight=weights)
    found = label_confidence(model, NOISE, n_splits=1, random_state=0)
    # Plainly: each half is fitted with its weights, and a sample of weight 2 agrees twice.
    halves = np.array_split(np.random.RandomState(0).permutation(len(NOISE)), 2)
    fits = [PSC(3, **options).fit(NOISE[half], sample_weight=weights[half]) for half in halves]
    first, second = (matched_labels(model.labels_, each.predict(NOISE)) for each in fits)
    assert found.agreement == pytest.approx(np.repeat(first == second, weights.astype(int)).mean())
    steady = stability(model, NOISE, n_resamples=1, random_state=0)
    assert steady.stability == pytest.approx(adjusted_rand_score(first, second))
    # The bound of the sets is a quantile of scores repeated as often as their samples count.
    scores = []
    for pair in _splits(model, NOISE, model.labels_, 2, 0):
        for half, other in (pair, pair[::-1]):
            given = other.labels[half.samples]
            own = [1 - p[k] for p, k in zip(half.probabilities, given, strict=True)]
            scores.append(np.repeat(own, weights[half.samples].astype(int)))
    n = weights.sum()
    level = np.ceil((n + 1) * 0.8) / n
    bound = np.quantile(np.concatenate(scores), level, method="inverted_cdf")
    expected = 1 - model.probabilities_ <= bound
    expected[np.arange(len(NOISE)), model.labels_] = True
    assert np.array_equal(label_sets(model, NOISE, 0.8, random_state=0), expected)


def test_one_cluster_is_sure():
    model = fitted(NOISE, 1)
    found = label_confidence(model, NOISE)
    assert found.agreement == found.shrinkage == 1
    assert found.probabilities.tolist() == [[1.0]] * 90
    assert label_sets(model, NOISE).tolist() == [[True]] * 90


def test_sets_hold_the_label_and_what_halves_cannot_exclude(clear, noise):
    for model, X in ((clear, CLEAR), (noise, NOISE)):
        narrow, wide = (label_sets(model, X, c, random_state=0) for c in (0.5, 0.95))
        assert narrow[np.arange(len(X)), model.labels_].all()
        assert np.all(wide >= narrow)
        # Plainly: the quantile of how improbable the labels of the other half are.
        scores = []
        for pair in _splits(model, X, model.labels_, 2, 0):
            for half, other in (pair, pair[::-1]):
                given = other.labels[half.samples]
                scores += [1 - p[k] for p, k in zip(half.probabilities, given, strict=True)]
        n = len(X)
        level = np.ceil((n + 1) * 0.5) / n
        bound = np.quantile(scores, level, method="inverted_cdf")
        expected = 1 - model.probabilities_ <= bound
        expected[np.arange(n), model.labels_] = True
        assert np.array_equal(narrow, expected)
    assert label_sets(clear, CLEAR, random_state=0).sum(axis=1).mean() < 1.1
    assert label_sets(noise, NOISE, random_state=0).sum(axis=1).mean() > 1.5


def test_halves_are_matched_with_the_model(clear):
    for pair in _splits(clear, CLEAR, clear.labels_, 2, 0):
        for half in pair:
            assert np.mean(half.labels == clear.labels_) > 0.95
            own = clear.labels_[half.samples]
            assert np.mean(half.probabilities.argmax(axis=1) == own) > 0.95


def test_few_samples_exclude_nothing_at_a_high_coverage(noise):
    assert label_sets(noise, NOISE, 0.999, random_state=0).all()


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan, "much"])
def test_a_coverage_is_between_0_and_1(clear, coverage):
    with refuses("coverage"):
        label_sets(clear, CLEAR, coverage)


@pytest.mark.parametrize("measure", [label_confidence, label_sets])
def test_other_samples_and_other_models_are_refused(clear, measure):
    with refuses("X"):
        measure(clear, CLEAR[:-1])
    with pytest.raises(ValueError, match="features"):
        measure(clear, CLEAR[:, 1:])
    with refuses("model"):
        measure(KMeans(3).fit(CLEAR), CLEAR)
    with pytest.raises(NotFittedError):
        measure(PSC(2), CLEAR)


def test_k_subspaces_and_missing_cells_have_a_confidence():
    model = KSubspaces(3, n_components=2, n_init=3, random_state=0).fit(CLEAR)
    assert label_confidence(model, CLEAR, random_state=0).grade is Grade.SURE
    X = CLEAR.copy()
    X[::7, 3] = np.nan
    found = label_confidence(fitted(X), X, n_splits=1, random_state=0)
    assert found.grade is Grade.SURE


@pytest.mark.parametrize(("name", "truth"), [("a", (2, 1)), ("c", (2, 2))])
def test_the_likelihood_does_not_choose_the_most_complex_model(name, truth):
    made = make_scenario(name, noise=0.1, n_features=12, random_state=0)
    offered = {"n_clusters": [1, 2, 3], "n_components": [1, 2, 3]}
    chosen = []
    for scoring in (None, likelihood_scorer):
        folds = KFold(2, shuffle=True, random_state=0)
        model = PSC(n_init=2, random_state=0)
        search = GridSearchCV(model, offered, scoring=scoring, cv=folds).fit(made.data)
        chosen.append((search.best_params_["n_clusters"], search.best_params_["n_components"]))
    assert chosen == [(3, 3), truth]
