import numpy as np

from subspaces.datasets import make_subspaces
from subspaces.metrics import rand_score
from subspaces.starts import landmarks
from subspaces.starts.sampled_subspaces import sequential
from tests.starts.posed import pose


def test_few_rows_for_many_dimensions_are_all_landmarks():
    union = make_subspaces(2400, 60, [9] * 12, random_state=0)
    assert landmarks.landmarks(pose(union), np.random.default_rng(0)) is None
    lines = make_subspaces(2400, 60, [1, 1], random_state=0)
    chosen = landmarks.landmarks(pose(lines), np.random.default_rng(0))
    assert len(chosen) == len(set(chosen)) == landmarks.LANDMARKS


def test_landmarks_extend_to_all_rows():
    union = make_subspaces([900, 1300], 10, [1, 2], noise=0.01, shuffle=True, random_state=0)
    sampled = landmarks.on_landmarks(sequential(0.5))
    labels = sampled(pose(union), np.random.default_rng(0))
    assert labels.shape == (2200,)
    assert rand_score(union.target, labels) > 0.9
