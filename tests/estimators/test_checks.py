import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from subspaces import (
    GPCA,
    MCFA,
    MPPCA,
    PSC,
    SCC,
    SLBF,
    SSC,
    EnsembleKSubspaces,
    KSubspaces,
    MCtFA,
    MiniBatchPSC,
    SparseKMeans,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:n_components=. equals the rank"),
    pytest.mark.filterwarnings("ignore:a cluster kept emptying"),
    pytest.mark.filterwarnings("ignore:the likelihood still rose"),
    pytest.mark.filterwarnings("ignore:in .* starts a cluster became too small"),
    pytest.mark.filterwarnings("ignore:. of n_clusters=. clusters are the likeliest of no sample"),
]


@parametrize_with_checks(
    [
        # With a seed: one of the checks of scikit-learn 1.7 compares two fits and sets none.
        PSC(n_init=2, random_state=0),
        KSubspaces(n_init=2, affine=True, random_state=0),
        MiniBatchPSC(n_init=2, affine=True, random_state=0),
        GPCA(),
        SCC(),
        SLBF(),
        EnsembleKSubspaces(n_runs=10),
        SparseKMeans(bound=1.0, n_init=2),
        MPPCA(max_iter=20),
        MCFA(n_init=2, max_iter=10),
        MCtFA(n_init=2, max_iter=10),
        SSC(),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
