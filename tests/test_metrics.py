import numpy as np
import pytest

from subspaces.datasets import make_scenario
from subspaces.metrics import adjusted_rand_score, matched_accuracy, rand_score, subspace_angles
from tests.warned import refuses


def test_matched_accuracy_finds_the_best_matching():
    # Taking the largest cell first gives 4 of 9 right; the best matching gives 3 + 2.
    truth = [0] * 7 + [1] * 2
    found = [0] * 4 + [1] * 3 + [0] * 2
    assert matched_accuracy(truth, found) == pytest.approx(5 / 9)


def test_matched_accuracy_ignores_names_and_counts_spare_clusters_as_errors():
    assert matched_accuracy(["x", "x", "y"], [5, 5, 2]) == 1.0
    assert matched_accuracy([0, 0, 0, 1], [0, 0, 2, 1]) == 0.75


@pytest.mark.parametrize("pair", [([0, 1], [0]), ([], []), (None, None)])
def test_labels_must_pair_up(pair):
    with refuses("labels_pred"):
        matched_accuracy(*pair)


def test_rand_indices_are_scikit_learns():
    assert rand_score([0, 0, 1], [0, 1, 1]) == pytest.approx(1 / 3)
    assert adjusted_rand_score([0, 0, 1, 1], [1, 1, 0, 0]) == 1.0


def test_angles_of_a_subspace_with_itself_are_zero():
    flat = make_scenario("e", random_state=0).subspaces[0]
    np.testing.assert_allclose(subspace_angles(flat, flat), 0, atol=1e-7)
