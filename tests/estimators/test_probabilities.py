"""`predict_proba` and ``probabilities_``: how probable each cluster is for a sample."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError

from subspaces import PSC, KSubspaces
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import label_confidence, label_sets
from subspaces.psc.probabilities import from_costs, with_largest
from subspaces.runtime.warning import collect_warnings
from tests.warned import refuses

UNION = make_subspaces([30, 40, 50], 9, [1, 2, 2], noise=0.35, random_state=3)
# Off the origin and off the axes.
FAR = UNION.data + 5.0 + np.random.default_rng(0).normal(size=(3, 9))[UNION.target]
WAYS = [(UNION.data, False, [1, 2, 2]), (FAR, True, [1, 2, 2]), (FAR, True, [0, 1, 2])]


def fitted(X, affine, n_components, **options):
    with collect_warnings():
        return PSC(
            3, n_components=n_components, affine=affine, n_init=3, random_state=0, **options
        ).fit(X)


def plain_density(x, others, dimension, affine, noise, n_samples):
    """Log of the share and the density of a row under the PCA of other rows, by a covariance."""
    centre = others.mean(axis=0) if affine else np.zeros(others.shape[1])
    _, singular, axes = np.linalg.svd(others - centre)
    variances = np.maximum(singular[:dimension] ** 2 / (len(others) - affine), noise)
    covariance = (
        noise * np.eye(len(x)) + (axes[:dimension].T * (variances - noise)) @ axes[:dimension]
    )
    share = len(others) / n_samples
    return np.log(share) + multivariate_normal(centre, covariance).logpdf(x)


def plain_error(x, others, dimension, affine):
    """Squared distance of a row from the PCA of other rows."""
    centre = others.mean(axis=0) if affine else np.zeros(others.shape[1])
    axes = np.linalg.svd(others - centre)[2][:dimension]
    rest = x - centre - (x - centre) @ axes.T @ axes
    return rest @ rest


@pytest.mark.parametrize(("X", "affine", "n_components"), WAYS)
def test_probabilities_are_those_of_refits_without_each_sample(X, affine, n_components):
    model = fitted(X, affine, n_components)
    labels, n = model.labels_, len(X)
    others = [[X[(labels == k) & (np.arange(n) != i)] for k in range(3)] for i in range(n)]
    errors = np.array(
        [[plain_error(X[i], others[i][k], n_components[k], affine) for k in range(3)]
         for i in range(n)]
    )  # fmt: skip
    shares = np.eye(3)[labels]
    for _ in range(2):
        noise = np.sum(shares * errors) / np.sum(shares * (9 - np.array(n_components)))
        joint = [
            [plain_density(X[i], others[i][k], n_components[k], affine, noise, n) for k in range(3)]
            for i in range(n)
        ]
        shares = softmax(joint, axis=1)
    expected = softmax(joint, axis=1)
    agree = expected.argmax(axis=1) == labels
    assert agree.mean() > 0.9  # the others are subject to the rule on ties
    np.testing.assert_allclose(model.probabilities_[agree], expected[agree], atol=1e-10)
    new = X[:20] + 0.1
    joint = [
        [plain_density(x, X[labels == k], n_components[k], affine, noise, n) for k in range(3)]
        for x in new
    ]
    expected = softmax(joint, axis=1)
    agree = expected.argmax(axis=1) == model.predict(new)
    np.testing.assert_allclose(model.predict_proba(new)[agree], expected[agree], atol=1e-10)
    density = np.log(np.exp(joint).sum(axis=1))
    np.testing.assert_allclose(model.score_samples(new), density, rtol=1e-10)


def nearest_by_search(p, label):
    """The nearest distribution in which the label is largest: pools of each size, plainly."""
    order = [k for k in np.argsort(-p, kind="stable") if k != label]
    ends = []
    for size in range(len(p)):
        pool, found = [label, *order[:size]], p.copy()
        found[pool] = p[pool].mean()
        if np.all(found <= found[label] + 1e-15):
            ends.append((np.sum((found - p) ** 2), found))
    return min(ends, key=lambda end: end[0])[1]


def test_the_tie_rule_gives_the_nearest_distribution():
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(5), size=300)
    p[:20, 1] = p[:20, 0]  # exact ties
    p /= p.sum(axis=1, keepdims=True)
    labels = random.integers(-1, 5, size=300)
    found = with_largest(p, labels)
    placed = labels >= 0
    assert np.array_equal(found.argmax(axis=1)[placed], labels[placed])
    assert np.array_equal(found[~placed], p[~placed])
    expected = [nearest_by_search(row, k) for row, k in zip(p[placed], labels[placed], strict=True)]
    np.testing.assert_allclose(found[placed], expected, atol=2e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert found.min() >= 0


def test_infinite_costs_have_probabilities():
    costs = np.array(
        [[np.inf, 1.0, np.inf], [np.inf] * 3, [np.nan, np.nan, 1e300], [3.0, 2.0, 2.0]]
    )
    found = from_costs(costs, np.array([1, 2, 0, 2]))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert found.argmax(axis=1).tolist() == [1, 2, 0, 2]
    np.testing.assert_allclose(found[0], [0, 1, 0])
    np.testing.assert_allclose(found[1], 1 / 3, atol=1e-8)


def duplicates(random):
    return np.repeat(random.normal(size=(6, 4)), 4, axis=0)


ODD = {
    "noise": lambda random: random.normal(size=(40, 5)),
    "duplicates": duplicates,
    "lines without noise": lambda random: np.kron(np.eye(2), random.normal(size=(9, 2))),
    "low rank": lambda random: random.normal(size=(30, 3)) @ random.normal(size=(3, 6)),
    "wide": lambda random: random.normal(size=(20, 60)),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("n_clusters", [1, 3])
def test_the_most_probable_cluster_is_the_label(kind, affine, n_clusters):
    X = ODD[kind](np.random.default_rng(1))
    for criterion in ("auto", "influence", "likelihood"):
        for n_components in (1, 2):
            with collect_warnings():
                model = PSC(
                    n_clusters,
                    n_components=n_components,
                    affine=affine,
                    criterion=criterion,
                    n_init=2,
                    random_state=0,
                ).fit(X)
            for p, labels in (
                (model.probabilities_, model.labels_),
                (model.predict_proba(2 * X), model.predict(2 * X)),
            ):
                assert np.array_equal(p.argmax(axis=1), labels)
                np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
                assert p.min() >= 0


@pytest.mark.parametrize("method", [PSC, KSubspaces])
@pytest.mark.parametrize("affine", [False, True])
def test_subspaces_as_large_as_the_rank_have_no_probabilities(method, affine):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) @ random.normal(size=(3, 6)) + 9.0 * affine
    widths = {"n_components": [1, 2, 3], "affine": affine, "random_state": 0}
    with collect_warnings():
        model = method(3, **widths, n_init=2).fit(X)
    assert not hasattr(model, "probabilities_")
    for rows in (X, sparse.csr_array(X), np.tile(X, (200, 1))):
        with refuses("n_components"):
            model.predict_proba(rows)
    for measure in (label_confidence, label_sets):
        with refuses("n_components"):
            measure(model, X)
    assert np.isfinite(model.score_samples(X)).all()
    with collect_warnings():
        alone = method(1, n_components=3, affine=affine).fit(X)
    assert alone.predict_proba(X).tolist() == [[1.0]] * 60


def test_sparse_loadings_have_probabilities():
    model = fitted(UNION.data, False, 1, n_variables=4)
    assert np.array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    new = model.predict_proba(UNION.data)
    assert np.array_equal(new.argmax(axis=1), model.predict(UNION.data))
    # Left out, a sample is less sure of its own cluster.
    rows = np.arange(len(new))
    own = model.predict(UNION.data) == model.labels_
    assert np.mean((new - model.probabilities_)[rows, model.labels_][own]) > 0


def test_rows_in_blocks_have_the_probabilities_of_rows_in_memory():
    model, new = fitted(FAR, True, [1, 2, 2]), FAR + 0.1
    expected = model.predict_proba(new)
    for blocks in (sparse.csr_array(new), np.tile(new, (100, 1))):
        found = model.predict_proba(blocks)
        np.testing.assert_allclose(found[: len(new)], expected, atol=1e-8)
        density = model.score_samples(blocks)[: len(new)]
        np.testing.assert_allclose(density, model.score_samples(new), rtol=1e-8)


def test_chunks_of_dask_have_the_probabilities_of_rows_in_memory():
    dask_array = pytest.importorskip("dask.array")
    model = fitted(sparse.csr_array(UNION.data), False, 1)
    found = model.predict_proba(dask_array.from_array(UNION.data, chunks=(50, -1)))
    assert found.shape == (120, 3)
    np.testing.assert_allclose(found, model.predict_proba(UNION.data), atol=1e-8)


def test_many_rows_have_no_probabilities_of_their_own_but_can_be_asked_for():
    many = np.tile(UNION.data, (90, 1))
    model = fitted(many, False, 1)
    assert not hasattr(model, "probabilities_")
    assert np.array_equal(model.predict_proba(many).argmax(axis=1), model.predict(many))


def test_observed_cells_decide():
    X = FAR.copy()
    X[::3, 4] = np.nan
    model = fitted(X, True, [1, 2, 2])
    assert np.array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.probabilities_, model.predict_proba(X), atol=1e-12)
    whole = fitted(FAR, True, [1, 2, 2])
    some = whole.predict_proba(X)
    np.testing.assert_allclose(some[1::3], whole.predict_proba(FAR)[1::3], atol=1e-12)
    assert np.array_equal(some.argmax(axis=1), whole.predict(X))


def test_k_subspaces_has_probabilities_of_new_samples():
    model = KSubspaces(3, n_components=2, random_state=0).fit(UNION.data)
    p = model.predict_proba(UNION.data)
    assert np.array_equal(p.argmax(axis=1), model.labels_)
    assert not hasattr(model, "probabilities_")


def test_probabilities_need_a_fit():
    with pytest.raises(NotFittedError):
        PSC(2).predict_proba(UNION.data)
