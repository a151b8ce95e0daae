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
    pytest.mark.filterwarnings("ignore:in .* starts a cluster became too small"),
    pytest.mark.filterwarnings("ignore:. of n_clusters=. clusters are the likeliest of no sample"),
]


@parametrize_with_checks(
    [
        # With a seed: one of the checks of scikit-learn 1.7 compares two fits and sets none.
        PSC(random_state=0),
        PSC(affine=True, random_state=0),
        KSubspaces(random_state=0),
        MiniBatchPSC(random_state=0),
        MiniBatchPSC(affine=True, random_state=0),
        GPCA(),
        SCC(),
        SCC(linear=True),
        SLBF(),
        SLBF(spectral=False, affine=False),
        EnsembleKSubspaces(),
        SparseKMeans(),
        MPPCA(),
        MPPCA(noise="shared"),
        MCFA(),
        MCtFA(),
        SSC(),
        SSC(solver="admm", affine=True),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
