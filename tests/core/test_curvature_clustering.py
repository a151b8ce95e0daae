import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subspaces.core import curvature_clustering as module
from subspaces.core.curvature_clustering import Flats, column_embedding, scales
from subspaces.core.polar_curvature import squared_polar_curvature
from tests.plain import generic


@pytest.mark.parametrize("linear", [False, True])
def test_scales_are_the_curvatures_at_the_ranks_of_the_paper(linear):
    flats = Flats(3, 2, linear)
    n = 4 if not linear else 3
    curvatures = np.random.default_rng(0).uniform(1, 2, (50, 20))
    curvatures[: n - 1] = np.inf
    ordered = np.sort(curvatures.ravel())
    ranks = [int(np.ceil((50 - n + 1) * 20 / 3**p)) for p in range(1, n)]
    assert_allclose(scales(curvatures, flats), sorted(ordered[rank - 1] for rank in ranks))


def test_no_scale_is_zero():
    assert np.all(scales(np.zeros((30, 10)), Flats(2, 1, False)) > 0)


def test_embedding_is_the_left_singular_vectors_of_the_scaled_columns():
    affinity = np.random.default_rng(0).uniform(size=(40, 12))
    degrees = affinity @ affinity.T @ np.ones(40)
    left = np.linalg.svd(affinity / np.sqrt(degrees)[:, None])[0][:, :3]
    found = column_embedding(affinity, 3)
    assert_allclose(found @ found.T, left @ left.T, atol=1e-10)


@pytest.mark.parametrize("linear", [False, True])
def test_columns_are_drawn_within_the_clusters(linear):
    points = generic(30, 4)
    labels = np.repeat([0, 1, 2], [12, 16, 2])
    flats = Flats(3, 2, linear)
    columns = module._columns(points, labels, flats, 30, np.random.default_rng(0))
    drawn = np.isinf(columns)
    assert np.all(drawn.sum(axis=0) == flats.n_drawn)
    for k in (0, 1):
        assert not drawn[labels != k, 10 * k : 10 * k + 10].any()
    assert drawn[:12, 20:].any()
    assert drawn[12:28, 20:].any()
    for j in (0, 15, 29):
        vertices = points[drawn[:, j]]
        vertices = np.vstack([np.zeros(4), vertices]) if linear else vertices
        plain = squared_polar_curvature(points, vertices[None])[:, 0]
        assert_allclose(columns[~drawn[:, j], j], plain[~drawn[:, j]], rtol=1e-8)


def test_the_cut_of_least_error_is_kept(monkeypatch):
    random = np.random.default_rng(0)
    points = np.repeat([[0.0, 0.0, 5.0], [0.0, 3.0, 0.0]], 20, axis=0)
    points[:20, 0] = points[20:, 2] = random.uniform(-1, 1, 20)
    truth = np.repeat([0, 1], 20)
    cuts = [np.arange(40) % 2, truth, np.arange(40) // 10 % 2]
    given = iter(cuts)
    monkeypatch.setattr(module, "rows_to_labels", lambda *_: next(given))
    monkeypatch.setattr(module, "scales", lambda *_: np.array([0.1, 1.0, 10.0]))
    start = np.zeros(40, dtype=int)
    labels, error = module._round(points, start, Flats(2, 1, False), 10, random)
    assert_array_equal(labels, truth)
    assert error < 1e-12


def scripted(monkeypatch, errors):
    """Rounds that reach the given errors and label everything with their number."""
    rounds = iter(enumerate(errors))

    def one_round(points, labels, flats, n_columns, random):
        number, error = next(rounds)
        return np.full(len(points), number), error

    monkeypatch.setattr(module, "_round", one_round)


@pytest.mark.parametrize(
    ("dimension", "errors", "n_rounds", "best"),
    [
        (1, [1.0, 0.5, 0.4, 0.399, 0.1], 4, 3),
        (1, [1.0, 1.2, 0.1], 2, 0),
        (3, [1.0, 1.2, 1.1, 0.5, 0.6, 0.1], 5, 3),
        (3, [1.0, 1.2, 1.3, 0.5], 3, 0),
        (2, [0.0, 0.5], 1, 0),
    ],
)
def test_rounds_end_when_the_error_no_longer_falls(monkeypatch, dimension, errors, n_rounds, best):
    scripted(monkeypatch, errors)
    points = 3.0 * generic(10, 4)
    found = module.curvature_clustering(
        points, Flats(2, dimension, False), 10, 50, np.random.default_rng(0)
    )
    energy = np.mean(np.sum(points**2, axis=1))
    assert_allclose(found.errors, energy * np.array(errors[:n_rounds]))
    assert found.settled
    assert_array_equal(found.labels, np.full(10, best))


def test_rounds_are_no_more_than_asked_for(monkeypatch):
    scripted(monkeypatch, [1.0, 0.5, 0.25, 0.125])
    found = module.curvature_clustering(
        generic(10, 4), Flats(2, 1, False), 10, 3, np.random.default_rng(0)
    )
    assert len(found.errors) == 3
    assert not found.settled
