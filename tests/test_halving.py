import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from subspaces import PSC, halving, recipes
from subspaces.halving import Numbers, compare_numbers, strength_of, verdict_on_numbers
from subspaces.messages import Grade
from subspaces.metrics import adjusted_rand_score
from subspaces.selection import select_n_clusters
from tests.warned import refuses, warns

CLASSES = np.repeat([0, 1, 2], [24, 20, 16])


def logarithms(shift=2.0, seed=0):
    """Three classes of 60 samples with 15 genes of their own among 200; none with shift 0."""
    random = np.random.default_rng(seed)
    values = random.normal(8.0, 1.0, (60, 200))
    for k in range(3):
        values[np.ix_(k == CLASSES, range(15 * k, 15 * k + 15))] += shift
    return values


@pytest.fixture(scope="module")
def found():
    return select_n_clusters(recipes.expression(random_state=0), logarithms(), range(1, 6))


def test_the_number_that_both_halves_find_is_chosen(found):
    assert found.best_ == 3
    assert found.criterion == "stability"
    labels = found.best_estimator_["cluster"].labels_
    assert adjusted_rand_score(CLASSES, labels) == 1.0
    assert (found.grade, found.conclusion.code) == (Grade.SURE, "most_stable")
    columns = found.columns
    assert columns["n_clusters"].tolist() == [1, 2, 3, 4, 5]
    assert np.isnan(columns["stability"][0])
    assert columns["stability"][2] == 1.0
    assert columns["difference"][2] == columns["standard_error"][2] == 0.0
    assert columns["smallest_cluster"].tolist()[:3:2] == [60, 16]
    assert "<- chosen" in repr(found)


@pytest.mark.parametrize("axes", [{}, {"prepare__n_axes": None}], ids=["as many", "all"])
def test_halves_are_compared_as_by_hand(axes):
    """One halving: models of both halves place all samples."""
    X, recipe = logarithms(), recipes.expression(random_state=3).set_params(**axes)
    numbers = compare_numbers(recipe, X, [2, 3], halvings=1)
    order = np.random.RandomState(3).permutation(60)
    for place, k in enumerate((2, 3)):
        model = recipes.expression(k, random_state=3).set_params(**axes)
        halves = [clone(model).fit(X[half]) for half in np.array_split(order, 2)]
        expected = adjusted_rand_score(*(half.predict(X) for half in halves))
        assert numbers.agreement[place, 0] == pytest.approx(expected)
        assert numbers.models[place]["prepare"].n_axes == (None if axes else k)


def test_noise_has_no_stable_number():
    said = select_n_clusters(recipes.expression(random_state=0), logarithms(0.0), range(2, 5))
    assert said.grade == Grade.NO
    assert said.columns["stability"].max() < 0.3


def test_names_reach_the_model():
    table = pd.DataFrame(logarithms(), columns=[f"gene{j}" for j in range(200)])
    found = select_n_clusters(recipes.expression(random_state=0), table, range(2, 5))
    assert found.best_estimator_[0].get_feature_names_out()[7] == "gene7"


def test_sparse_counts_of_cells():
    random = np.random.default_rng(0)
    rates = np.ones((60, 150))
    for k in range(3):
        rates[np.ix_(k == CLASSES, range(15 * k, 15 * k + 15))] = 6.0
    counts = sparse.csr_matrix(random.poisson(rates).astype(float))
    found = select_n_clusters(recipes.single_cell(random_state=0), counts, range(2, 5))
    assert found.best_ == 3


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_clusters_with_axes():
    recipe = recipes.expression(n_components=1, random_state=0)
    found = select_n_clusters(recipe, logarithms(4.0), range(2, 4))
    assert found.best_ in (2, 3)
    assert found.best_estimator_["prepare"].n_axes == 2 * found.best_


def test_the_strength_of_the_weakest_cluster():
    whole = np.repeat([0, 1, 2], [10, 8, 6])
    cut = np.where(np.arange(24) % 2 & (whole == 1), 3, whole)  # one cluster in two halves
    assert strength_of(whole, whole) == strength_of(whole, (whole + 1) % 3) == 1.0
    kept = 2 * (4 * 3) / (8 * 7)
    assert strength_of(whole, cut) == pytest.approx((kept + 1) / 2)
    assert strength_of(cut, whole) == strength_of(whole, cut)
    alone = np.r_[np.zeros(9, dtype=int), 1]
    assert strength_of(alone, alone) == 1.0


def verdict(means, numbers=(2, 3, 4)):
    """The verdict on numbers whose halves agree to these means, with little spread."""
    wobble = 0.001 * np.array([1, -1, 1, -1.0])
    agreement = np.array(means)[:, None] + np.outer(np.arange(1, len(means) + 1), wobble)
    return verdict_on_numbers(Numbers(numbers, [], [], agreement, agreement))


@pytest.mark.parametrize(
    ("means", "code", "grade", "chosen"),
    [
        ((0.95, 0.94, 0.6), "several", Grade.DOUBTFUL, 3),
        ((0.91, 0.92, 0.93), "several", Grade.DOUBTFUL, 4),
        ((0.99, 0.85, 0.6), "several", Grade.DOUBTFUL, 3),
        ((0.3, 0.95, 0.6), "most_stable", Grade.SURE, 3),
        ((0.85, 0.95, 0.6), "most_stable", Grade.SURE, 3),
        ((0.3, 0.7, 0.5), "most_stable", Grade.DOUBTFUL, 3),
        ((0.3, 0.68, 0.7), "several", Grade.DOUBTFUL, 3),
        ((0.26, 0.3, 0.2), "unstable", Grade.NO, 2),
    ],
)
def test_the_verdict(means, code, grade, chosen):
    found = verdict(means)
    assert (found.code, found.grade, found.parameters["chosen"]) == (code, grade, chosen)
    assert found.parameters["agreement"] == pytest.approx(dict(zip((2, 3, 4), means, strict=True)))


def test_numbers_that_may_be_as_stable_are_named_with_their_agreement():
    wobble = np.tile([1.0, -1.0], 5)
    means, spread = np.array([0.89, 0.70, 0.72, 0.5]), np.array([0.28, 0.05, -0.05, 0.05])
    agreement = means[:, None] + np.outer(spread, wobble)
    strength = np.repeat([[0.85], [0.5], [0.6], [0.4]], 10, axis=1)
    found = Numbers((2, 3, 4, 5), [], [], agreement, strength)
    # 3 is two errors behind, 4 not quite.
    assert found.equally_stable == [0, 2]
    said = str(verdict_on_numbers(found))
    assert "0.89" in said
    assert "0.72" in said
    weak = Numbers((2, 3, 4, 5), [], [], agreement - 0.15, strength - 0.3)
    assert verdict_on_numbers(weak).grade == Grade.DOUBTFUL


def test_the_size_alone_decides_how_often_samples_are_halved(monkeypatch):
    monkeypatch.setattr(halving, "MOST_VALUES", 60 * 200 * 4)
    numbers = compare_numbers(recipes.expression(random_state=0), logarithms(), [2, 3])
    assert numbers.agreement.shape == (2, 4)
    monkeypatch.setattr(halving, "MOST_VALUES", 1)
    numbers = compare_numbers(recipes.expression(random_state=0), logarithms(), [2, 3])
    assert numbers.agreement.shape == (2, halving.FEWEST)


def test_the_largest_candidate_is_warned_of():
    with warns("most_clusters"):
        select_n_clusters(recipes.expression(random_state=0), logarithms(), [2, 3])


def test_warnings_of_the_chosen_model_are_kept():
    dark = 2.0 ** (logarithms() - 6.0)
    recipe = recipes.expression(random_state=0).set_params(prepare__kind="intensities")
    with warns("floor"):
        select_n_clusters(recipe, dark, range(2, 4))


def test_what_cannot_be_compared():
    X = logarithms()
    with refuses("criterion"):
        select_n_clusters(recipes.expression(), X, criterion="likelihood")
    with refuses("criterion"):
        select_n_clusters(PSC(), X, criterion="stability")
    with refuses("n_components"):
        select_n_clusters(recipes.expression(2, n_components=[0, 1]), X)
    with refuses("n_variables"):
        select_n_clusters(recipes.expression(2, n_variables=9), X)
    with refuses("estimator", kind=TypeError):
        select_n_clusters(recipes.expression()[1:], X)
    with refuses("candidates"):
        select_n_clusters(recipes.expression(), X[:7], range(1, 4))
    with refuses("candidates", n=5):
        select_n_clusters(recipes.expression(), X[:5])
