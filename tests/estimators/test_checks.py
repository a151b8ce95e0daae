import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from subspaces import MCFA, MPPCA, PSC, KSubspaces, MCtFA

pytestmark = [
    pytest.mark.filterwarnings("ignore:n_components=. equals the rank"),
    pytest.mark.filterwarnings("ignore:a cluster kept emptying"),
    pytest.mark.filterwarnings("ignore:. of n_clusters=. clusters are the likeliest of no sample"),
]


@parametrize_with_checks(
    [PSC(), KSubspaces(), PSC(affine=True), MPPCA(), MPPCA(noise="shared"), MCFA(), MCtFA()]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
