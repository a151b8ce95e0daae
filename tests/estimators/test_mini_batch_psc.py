"""Streams: sums that fade, axes that follow, and what comes near the full fit."""

import numpy as np
import pytest
from scipy import sparse

from subspaces import PSC, MiniBatchPSC, load
from subspaces.datasets import make_subspaces
from subspaces.metrics import matched_accuracy, rand_score
from subspaces.subspace import fit_subspace
from tests.warned import refuses


def union(seed, p=12, n=900, noise=0.1, offset=0.0):
    random = np.random.default_rng(seed)
    made = make_subspaces([n // 3] * 3, p, [2] * 3, noise=noise, random_state=seed)
    order = random.permutation(len(made.data))
    return made.data[order] + offset * random.normal(size=p), made.target[order]


def projections(model):
    return [flat.basis @ flat.basis.T for flat in model.subspaces_]


@pytest.mark.parametrize("affine", [False, True])
def test_the_past_fades_as_it_says(affine):
    X, _ = union(0, offset=2.0)
    batches = np.split(X, 3)
    model = MiniBatchPSC(3, n_components=2, affine=affine, forgetting=0.7, random_state=0)
    labels = [model.partial_fit(batch).labels_ for batch in batches]
    weights = np.repeat([0.49, 0.7, 1.0], 300)
    for k, flat in enumerate(model.subspaces_):
        own = np.concatenate(labels) == k
        weight, rows = weights[own], X[own]
        centre = np.average(rows, axis=0, weights=weight) if affine else np.zeros(12)
        scatter = (weight[:, None] * (rows - centre)).T @ (rows - centre)
        np.testing.assert_allclose(flat.centre, centre, atol=1e-10)
        np.testing.assert_allclose(flat.spectrum, np.linalg.eigvalsh(scatter)[:-3:-1])
        image = scatter @ flat.basis
        np.testing.assert_allclose(image, flat.basis * flat.spectrum, atol=1e-8)
    assert model.n_iter_ == 3


def test_a_row_is_scored_before_the_subspaces_follow_it():
    X, _ = union(1)
    model = MiniBatchPSC(3, n_components=2, random_state=0).partial_fit(X[:450])
    expected, costs = model.predict(X[450:]), model.transform(X[450:])
    model.partial_fit(X[450:])
    np.testing.assert_array_equal(model.labels_, expected)
    assert model.objective_ == pytest.approx(costs.min(axis=1).sum())


@pytest.mark.parametrize("affine", [False, True])
def test_of_many_variables_the_axes_are_tracked(affine):
    X, target = union(2, p=230, n=900, offset=1.0 if affine else 0.0)
    model = MiniBatchPSC(3, n_components=2, affine=affine, n_init=2, random_state=0, batch_size=300)
    model.fit(X)
    full = PSC(3, n_components=2, affine=affine, n_init=2, random_state=0).fit(X)
    accuracy = matched_accuracy(target, full.labels_)
    assert matched_accuracy(target, model.labels_) > accuracy - 0.005
    for k, projection in enumerate(projections(model)):
        exact = fit_subspace(X[model.labels_ == k], 2, affine=affine)
        cosines = np.linalg.svd(model.subspaces_[k].basis.T @ exact.basis)[1]
        assert cosines.min() > 0.99
        assert np.trace(projection) == pytest.approx(2.0)


@pytest.mark.parametrize("criterion", ["auto", "influence", "likelihood"])
def test_near_the_full_fit_and_labels_are_predictions(criterion):
    X, target = union(3, p=20, n=1500, noise=0.3)
    options = {"n_components": 2, "criterion": criterion, "n_init": 2, "random_state": 0}
    full = PSC(3, **options).fit(X)
    model = MiniBatchPSC(3, batch_size=250, **options).fit(X)
    assert rand_score(target, model.labels_) > rand_score(target, full.labels_) - 0.01
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.objective_ == pytest.approx(model.transform(X).min(axis=1).sum())
    assert np.array_equal(np.unique(model.labels_, return_index=True)[1].argsort(), range(3))


def test_sparse_matrices_and_dask_arrays_come_in_too():
    dask_array = pytest.importorskip("dask.array")
    X, _ = union(4)
    model = MiniBatchPSC(3, n_components=2, affine=True, batch_size=200, n_init=3, random_state=0)
    expected = model.fit(X).labels_
    for rows in (sparse.csr_array(X), dask_array.from_array(X, chunks=(250, -1))):
        np.testing.assert_array_equal(np.asarray(model.fit(rows).labels_), expected)
        stream = MiniBatchPSC(3, n_components=2, affine=True, n_init=3, random_state=0)
        stream.partial_fit(rows[:500]).partial_fit(rows[500:])
        assert stream.labels_.shape == (400,)


def test_what_forgets_follows_a_change():
    X, target = union(5, p=6, n=3000)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    angle = np.eye(6) + 0.25 * (turn - turn.T)
    turned = X @ np.linalg.qr(angle)[0]
    found = {}
    for forgetting in (0.5, 1.0):
        model = MiniBatchPSC(3, n_components=2, forgetting=forgetting, random_state=0)
        for batch in (*np.split(X, 10), *np.split(turned, 10)):
            model.partial_fit(batch)
        truth = [fit_subspace(turned[target == k], 2, affine=False).basis for k in range(3)]
        axes = projections(model)
        gaps = [min(np.linalg.norm(one - V @ V.T) for one in axes) for V in truth]
        found[forgetting] = max(gaps)
    assert found[0.5] < found[1.0] / 2


def test_a_cluster_that_is_not_fed_stays_as_it_is():
    X, _ = union(6)
    model = MiniBatchPSC(3, n_components=2, forgetting=0.1, random_state=0).fit(X)
    before = projections(model)
    fed = X[model.labels_ == 0]
    for _ in range(8):
        model.partial_fit(fed)
    np.testing.assert_allclose(projections(model)[1], before[1], atol=1e-6)
    assert np.isfinite(model.transform(X)).all()


def test_a_stream_goes_on_from_a_file(tmp_path):
    X, _ = union(7)
    model = MiniBatchPSC(3, n_components=2, affine=True, random_state=0).partial_fit(X[:500])
    model.save(tmp_path / "stream.npz")
    again = load(tmp_path / "stream.npz")
    for one in (model, again):
        one.partial_fit(X[500:])
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_allclose(again.transform(X), model.transform(X))
    assert again.n_iter_ == 2


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"forgetting": 0}, "forgetting"),
        ({"forgetting": 1.5}, "forgetting"),
        ({"criterion": "loo"}, "criterion"),
        ({"init": [0, 1]}, "init"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_batches": 0}, "max_batches"),
    ],
)
def test_what_cannot_be_is_said(options, refused):
    X, _ = union(0)
    for method in ("fit", "partial_fit"):
        with refuses(refused):
            getattr(MiniBatchPSC(3, **options), method)(X)


def test_batches_that_do_not_fit():
    X, _ = union(0)
    model = MiniBatchPSC(3, n_components=2, random_state=0)
    with refuses("n_clusters", 3):
        model.partial_fit(X[:5])
    model = MiniBatchPSC(3, n_components=2, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="X has 11 features, but MiniBatchPSC is expecting 12"):
        model.partial_fit(X[:, :11])
    X[411, 5] = np.nan
    with refuses("X", place="row 411, column 5"):
        model.partial_fit(X)
    model.partial_fit(X[:1])
    assert model.labels_.shape == (1,)
