"""Every estimator with every parameter that a user might set, sensible or not."""

from hypothesis import strategies as st

from subspaces import (
    GPCA,
    MCFA,
    MPPCA,
    PSC,
    RSIM,
    SCC,
    SLBF,
    SSC,
    EnsembleKSubspaces,
    KSubspaces,
    MCtFA,
    MiniBatchPSC,
    SparseKMeans,
)
from subspaces.starts.registry import STARTS
from tests.estimators.checks import CLUSTERERS

CLUSTERS = (2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 1, 8, 24)
DIMENSIONS = (1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 0, 9, "each")
AFFINE = st.booleans()
SHORT = st.sampled_from([1, 20])
FEW = st.integers(1, 3)
OPTIONS = {
    **{kind: {} for kind in CLUSTERERS.values()},
    PSC: {
        "affine": AFFINE,
        "criterion": st.sampled_from(
            ["auto", "auto", "influence", "loo", "hat", "residual", "likelihood", "loo_projection"]
        ),
        "n_variables": st.sampled_from([None, None, None, None, 1, 2, 3]),
        "penalty": st.sampled_from(["l1", "l1", "nonnegative"]),
        "init": st.sampled_from(list(STARTS)),
        "refine": st.sampled_from([None, None, "descent", "ppca"]),
        "n_init": FEW,
        "max_iter": st.sampled_from([1, 50]),
    },
    KSubspaces: {"affine": AFFINE, "init": st.sampled_from(list(STARTS)), "n_init": FEW},
    MiniBatchPSC: {
        "affine": AFFINE,
        "criterion": st.sampled_from(["auto", "influence", "residual", "likelihood"]),
        "init": st.sampled_from(list(STARTS)),
        "n_init": FEW,
        "batch_size": st.sampled_from([1, 7, 10_000]),
        "max_batches": FEW,
        "forgetting": st.sampled_from([0.01, 0.9, 1.0]),
    },
    EnsembleKSubspaces: {"affine": AFFINE, "n_runs": st.integers(1, 10)},
    GPCA: {"affine": AFFINE, "polish": st.booleans()},
    SCC: {"linear": AFFINE},
    SLBF: {"affine": AFFINE, "spectral": st.booleans()},
    RSIM: {"affine": AFFINE, "power": st.sampled_from([1.0, 3.5])},
    SSC: {
        "affine": AFFINE,
        "solver": st.sampled_from(["elastic_net", "lasso", "omp", "admm", "lsr"]),
    },
    MPPCA: {"max_iter": SHORT, "n_init": FEW, "noise": st.sampled_from(["own", "shared"])},
    MCFA: {"max_iter": SHORT, "n_init": FEW},
    MCtFA: {"max_iter": SHORT, "n_init": FEW, "df": st.sampled_from([None, 1.0, 4.0])},
    SparseKMeans: {
        "max_iter": SHORT,
        "n_init": FEW,
        "n_variables": st.sampled_from([None, 1, 2, 5]),
    },
}


@st.composite
def models(draw, kind):
    """An estimator of this kind, not yet fitted."""
    given = {name: draw(values) for name, values in OPTIONS[kind].items()}
    if given.get("n_variables") and kind is PSC:
        given["criterion"] = draw(st.sampled_from(["auto", "auto", "loo_projection", "residual"]))
        given["refine"] = draw(st.sampled_from([None, "ppca"]))
    n_clusters = draw(st.sampled_from(CLUSTERS))
    if kind is not SparseKMeans:
        each = draw(st.sampled_from(DIMENSIONS))
        given["n_components"] = [*range(1, n_clusters + 1)] if each == "each" else each
    return kind(n_clusters, random_state=draw(st.integers(0, 5)), **given)
