import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from subspaces import PSC, SSC, KSubspaces

pytestmark = [
    pytest.mark.filterwarnings("ignore:n_components=. equals the rank"),
    pytest.mark.filterwarnings("ignore:a cluster kept emptying"),
]


@parametrize_with_checks(
    [
        PSC(),
        KSubspaces(),
        PSC(affine=True),
        SSC(),
        SSC(solver="admm", affine=True),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
