"""Recovery of the scenarios over a few seeds; the study is benchmarks/dense_scenarios.py."""

import numpy as np
import pytest

from subspaces import PSC
from subspaces.datasets import make_scenario, make_subspaces
from subspaces.metrics import matched_accuracy, rand_score

SEEDS = range(2)


def mean_rand(name, noise=0.0, n_features=None, **options):
    found = []
    for seed in SEEDS:
        scenario = make_scenario(name, noise=noise, n_features=n_features, random_state=seed)
        dimensions = scenario.n_components
        model = PSC(len(dimensions), n_components=dimensions, random_state=seed, **options)
        found.append(rand_score(scenario.target, model.fit_predict(scenario.data)))
    return np.mean(found)


@pytest.mark.filterwarnings("ignore:n_components=3 equals the rank")
@pytest.mark.parametrize("name", list("abcde"))
def test_noise_free_scenarios_with_default_settings(name):
    assert mean_rand(name) >= 0.99


@pytest.mark.filterwarnings("ignore:n_components=3 equals the rank")
@pytest.mark.filterwarnings("ignore::subspaces.messages.NotConvergedWarning")
@pytest.mark.parametrize("name", list("abcde"))
def test_noise_free_scenarios_with_the_influence(name):
    assert mean_rand(name, criterion="influence") >= 0.97


@pytest.mark.parametrize(
    ("name", "n_features", "least"), [("b", 3, 0.92), ("d", 50, 0.97), ("e", 200, 0.97)]
)
def test_noisy_scenarios_of_unequal_dimension(name, n_features, least):
    assert mean_rand(name, noise=0.05, n_features=n_features) >= least


def test_leaving_one_out_finds_small_clusters_that_the_fit_does_not():
    def mean_error(criterion):
        errors = []
        for seed in range(2):
            union = make_subspaces(
                [12] * 4, 200, [4] * 4, noise=0.141, scores="normal", random_state=seed
            )
            model = PSC(
                4, n_components=4, criterion=criterion, init="random", n_init=6, random_state=seed
            )
            errors.append(1 - matched_accuracy(union.target, model.fit_predict(union.data)))
        return np.mean(errors)

    assert mean_error("loo") < 0.2 < 0.35 < mean_error("residual")
