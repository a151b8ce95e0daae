import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subspaces import SparseKMeans
from subspaces.metrics import adjusted_rand_score
from subspaces.rivals.sparse_kmeans import between_squares
from tests.rivals.test_sparse_kmeans import three_groups
from tests.warned import refuses, warns

X, TARGET = three_groups(n=60, shift=2.0)
INFORMATIVE = [7, 8, 9, 10]


@pytest.mark.parametrize("parameters", [{"bound": 1.0}, {"bound": 2.5}, {"n_variables": 4}])
def test_attributes(parameters):
    model = SparseKMeans(3, random_state=0, **parameters).fit(X)
    weights = model.weights_
    assert weights.min() >= 0
    assert np.linalg.norm(weights) == pytest.approx(1.0)
    assert weights.sum() <= model.bound_ + 1e-12
    assert_array_equal(model.variables_, np.flatnonzero(weights))
    assert model.objective_ == pytest.approx(weights @ between_squares(X, model.labels_))
    assert len(model.objective_path_) == model.n_iter_ + 1
    assert model.objective_path_[-1] == model.objective_
    assert model.stop_reason_ == "converged"
    for k, centre in enumerate(model.cluster_centers_):
        assert_allclose(centre, X[model.labels_ == k].mean(axis=0))
    assert model.labels_[0] == 0
    assert not hasattr(model, "selection_")


def test_the_separating_variables_are_found():
    for seed in range(2):
        data, target = three_groups(n=60, shift=2.0, seed=seed)
        model = SparseKMeans(3, n_variables=4, random_state=seed).fit(data)
        assert_array_equal(model.variables_, INFORMATIVE)
        assert adjusted_rand_score(target, model.labels_) > 0.8
        assert model.bound_ == pytest.approx(model.weights_.sum())


def test_sparse_does_better_than_k_means_among_noise():
    sparse, plain = [], []
    for seed in range(3):
        data, target = three_groups(n=60, p=300, informative=10, shift=1.2, seed=seed)
        model = SparseKMeans(3, bound=3.0, random_state=seed).fit(data)
        sparse.append(adjusted_rand_score(target, model.labels_))
        k_means = KMeans(3, n_init=10, random_state=seed).fit(data)
        plain.append(adjusted_rand_score(target, k_means.labels_))
    assert np.mean(sparse) > np.mean(plain) + 0.1


def test_without_constraint_the_weights_are_proportional_and_not_equal():
    model = SparseKMeans(3, bound=np.sqrt(30), random_state=0).fit(X)
    between = between_squares(X, model.labels_)
    assert_allclose(model.weights_, between / np.linalg.norm(between), rtol=1e-4)
    assert model.weights_.max() > 5 * np.median(model.weights_)
    every = SparseKMeans(3, n_variables=30, random_state=0).fit(X)
    assert_array_equal(every.labels_, model.labels_)


@pytest.mark.parametrize("max_iter", [1, 50])
def test_prediction_repeats_the_labels(max_iter):
    for seed in range(2):
        data, _ = three_groups(shift=0.5, seed=seed)
        model = SparseKMeans(3, bound=2.0, n_init=2, max_iter=max_iter, random_state=seed)
        if max_iter == 1:
            with warns("max_iter", kind=ConvergenceWarning):
                model.fit(data)
        else:
            model.fit(data)
        assert_array_equal(model.predict(data), model.labels_)
        assert_array_equal(np.unique(model.labels_, return_index=True)[1].argsort(), [0, 1, 2])


def test_transform_is_the_weighted_squared_distance():
    model = SparseKMeans(3, bound=2.0, random_state=0).fit(X[::2])
    new = X[1::2]
    plain = [
        [np.sum(model.weights_ * (x - centre) ** 2) for centre in model.cluster_centers_]
        for x in new
    ]
    assert_allclose(model.transform(new), plain, rtol=1e-12)
    assert_array_equal(model.predict(new), np.argmin(plain, axis=1))
    assert_allclose(model.transform(new[3:4])[0], model.transform(new)[3])


def test_the_gap_chooses_where_nothing_is_given():
    model = SparseKMeans(3, random_state=0).fit(X)
    table = model.selection_
    best = int(np.argmax(table["gaps"]))
    limit = table["gaps"][best] - table["standard_errors"][best]
    assert model.bound_ == table["bounds"][table["gaps"] >= limit].min()
    assert set(INFORMATIVE) <= set(model.variables_)
    assert adjusted_rand_score(TARGET, model.labels_) > 0.9
    named = SparseKMeans(3, bound="gap", random_state=0).fit(X)
    assert named.bound_ == model.bound_
    model.set_params(bound=2.0).fit(X)
    assert not hasattr(model, "selection_")


def test_names_of_the_variables():
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(30)])
    model = SparseKMeans(3, n_variables=4, random_state=0).fit(frame)
    numbers = SparseKMeans(3, n_variables=4, random_state=0).fit(X).get_variables()
    assert_array_equal(np.sort(numbers), INFORMATIVE)
    assert np.all(np.diff(model.weights_[numbers]) <= 0)
    assert model.get_variables().tolist() == [f"gene{j}" for j in numbers]
    assert model.set_output(transform="pandas").transform(frame).shape == (60, 3)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_and_translation(scale):
    model = SparseKMeans(3, bound=2.0, random_state=0).fit(X)
    moved = SparseKMeans(3, bound=2.0, random_state=0).fit(scale * (X - 40.0))
    assert_array_equal(moved.labels_, model.labels_)
    assert_allclose(moved.weights_, model.weights_, atol=1e-7)
    assert moved.objective_ == pytest.approx(scale**2 * model.objective_)


def test_the_order_of_rows_and_columns():
    random = np.random.default_rng(0)
    data, _ = three_groups(n=60, shift=4.0)
    rows, columns = random.permutation(60), random.permutation(30)
    model = SparseKMeans(3, bound=2.0, random_state=0).fit(data)
    mixed = SparseKMeans(3, bound=2.0, random_state=0).fit(data[np.ix_(rows, columns)])
    assert adjusted_rand_score(model.labels_[rows], mixed.labels_) == 1.0
    assert_allclose(mixed.weights_, model.weights_[columns], atol=1e-9)


def test_constant_columns_get_no_weight():
    data = np.column_stack([X, np.full(60, 0.1)])
    for parameters in ({"bound": np.sqrt(31)}, {"n_variables": 31}):
        model = SparseKMeans(3, random_state=0, **parameters).fit(data)
        assert model.weights_[30] == 0.0
        assert len(model.variables_) == 30


@pytest.mark.parametrize("bound", [None, 2.0])
def test_one_cluster(bound):
    model = SparseKMeans(1, bound=bound).fit(X)
    assert not model.labels_.any()
    assert np.ptp(model.weights_) == 0
    assert model.objective_ == 0
    with refuses("n_variables", 3):
        SparseKMeans(1, n_variables=3).fit(X)


def test_rows_that_coincide():
    data = np.repeat(X[:2], 5, axis=0)
    with warns("empty_clusters", kind=ConvergenceWarning):
        model = SparseKMeans(4, bound=2.0, random_state=0).fit(data)
    assert_array_equal(model.labels_, [0] * 5 + [1] * 5)
    with refuses("X", naming=["identical"]):
        SparseKMeans(2).fit(np.ones((10, 3)))


def test_in_a_pipeline():
    labels = make_pipeline(StandardScaler(), SparseKMeans(3, bound=2.0)).fit_predict(X)
    assert labels.shape == (60,)


@pytest.mark.parametrize(
    ("parameters", "kind", "refused"),
    [
        ({"bound": 2.0, "n_variables": 3}, ValueError, "bound"),
        ({"bound": 0.9}, ValueError, "bound"),
        ({"bound": 6.0}, ValueError, "bound"),
        ({"bound": "large"}, TypeError, "bound"),
        ({"n_variables": 0}, ValueError, "n_variables"),
        ({"n_variables": 2.5}, TypeError, "n_variables"),
        ({"n_clusters": 61}, ValueError, "n_clusters"),
        ({"n_init": 0}, ValueError, "n_init"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1.0}, ValueError, "tol"),
    ],
)
def test_bad_parameters_get_one_line(parameters, kind, refused):
    with refuses(refused, kind=kind) as caught:
        SparseKMeans(**{"n_clusters": 2, **parameters}).fit(X)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bound", [None, 1.5])
def test_one_cluster_weighs_all_variables_alike(bound):
    X = np.random.default_rng(0).normal(size=(30, 9))
    model = SparseKMeans(1, bound=bound).fit(X)
    assert_allclose(model.weights_, model.weights_[0])
    assert np.sum(model.weights_) <= (bound or 3.0) + 1e-12
    assert np.linalg.norm(model.weights_) <= 1.0 + 1e-12
