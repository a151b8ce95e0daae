"""The types that more than one module speaks of: arrays, parameters, and the names of options."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:  # optional parts
    from anndata import AnnData as AnnData
    from matplotlib.axes import Axes as Axes
    from torch import Tensor as Tensor
else:
    AnnData = Axes = Tensor = Any

Array = NDArray[np.floating]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
# The cluster of each row, from 0 up, while a fit is under way.
Labels = NDArray[np.intp]
# The same once it has ended: of 32 bits, as scikit-learn's KMeans has them.
FittedLabels = NDArray[np.signedinteger[Any]]
# Clusters or classes as whole numbers of any type: passes over many rows keep the shortest.
Codes = NDArray[np.integer]
# A graph of the rows, or rows that are mostly zeros.
Sparse: TypeAlias = sparse.csr_array
# How many there are of something: dimensions, sizes, pairs.
Counts = NDArray[np.integer]


class SupportsArray(Protocol):
    """What numpy can read: its own arrays, series of data frames, arrays of other libraries."""

    def __array__(self) -> NDArray[Any]:
        """Return the values."""


class AnyArray(SupportsArray, Protocol):
    """An array of numpy or of another library of the array API, such as torch or CuPy."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its lengths."""

    @property
    def dtype(self) -> Any:
        """The type of its numbers, of its library."""

    @property
    def nbytes(self) -> int:
        """The memory that its numbers take, in bytes."""

    @property
    def T(self) -> "AnyArray":
        """The transpose of a matrix."""

    def __getitem__(self, key: Any, /) -> "AnyArray": ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __add__(self, other: Any, /) -> "AnyArray": ...
    def __radd__(self, other: Any, /) -> "AnyArray": ...
    def __sub__(self, other: Any, /) -> "AnyArray": ...
    def __rsub__(self, other: Any, /) -> "AnyArray": ...
    def __mul__(self, other: Any, /) -> "AnyArray": ...
    def __rmul__(self, other: Any, /) -> "AnyArray": ...
    def __truediv__(self, other: Any, /) -> "AnyArray": ...
    def __pow__(self, other: Any, /) -> "AnyArray": ...
    def __matmul__(self, other: Any, /) -> "AnyArray": ...
    def __rmatmul__(self, other: Any, /) -> "AnyArray": ...
    def __neg__(self) -> "AnyArray": ...
    def __invert__(self) -> "AnyArray": ...
    def __and__(self, other: Any, /) -> "AnyArray": ...
    def __or__(self, other: Any, /) -> "AnyArray": ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __gt__(self, other: Any, /) -> "AnyArray": ...
    def __le__(self, other: Any, /) -> "AnyArray": ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...


# Some rows of a table, dense or sparse.
Block: TypeAlias = AnyArray | Sparse


class ArrayModule(Protocol):
    """The functions of the array API for one library: they take and return its arrays."""

    __name__: str
    linalg: "ArrayModule"
    float32: Any
    float64: Any
    int32: Any
    int64: Any

    @property
    def asarray(self) -> Callable[..., Any]:
        """Make an array of this library."""

    @property
    def finfo(self) -> Callable[..., Any]:
        """Tell the range of a type."""

    def __getattr__(self, name: str) -> Callable[..., AnyArray]: ...


class Shaped(Protocol):
    """A table of another library: a data frame, a sparse matrix, an array of Dask or a device."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of samples and of variables."""


class Frame(Shaped, Protocol):
    """A data frame whose columns have names."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the variables."""

    def __getitem__(self, names: list[str]) -> "Frame":
        """Return some of the columns."""


# Samples in rows, as users pass them.
Data = Sequence[Sequence[float] | SupportsArray] | SupportsArray | Shaped
# Names of samples or variables.
Names = Sequence[str] | NDArray[Any]
# A cluster by its number, or by the name that somebody gave it.
ClusterName = int | str


class Estimator(Protocol):
    """An estimator that follows scikit-learn's conventions, of this library or another."""

    def fit(self, X: Array, /) -> Any:
        """Fit it, and return it."""

    def get_params(self) -> dict[str, Any]:
        """Return its parameters by name."""

    def set_params(self, **params: Any) -> Any:
        """Set some of them, and return it."""


class Clusterer(Estimator, Protocol):
    """An estimator that finds clusters."""

    def fit_predict(self, X: Data, /) -> FittedLabels:
        """Fit it, and return the cluster of each sample, (n,)."""


class FittedClusterer(Estimator, Protocol):
    """An estimator that has found clusters."""

    @property
    def labels_(self) -> FittedLabels:
        """The cluster of each sample, (n,)."""


Auto = Literal["auto"]
Seed = int | np.random.RandomState | None
# One number for all clusters, or one for each.
PerCluster = int | Sequence[int] | SupportsArray

# Criteria of PSC, KSubspaces and MiniBatchPSC. Only the last has "stream", which scores rows as
# outsiders.
CriterionName = Literal[
    "auto", "influence", "loo", "distance", "hat", "residual", "likelihood", "loo_projection"
]
StreamCriterionName = Literal["auto", "influence", "residual", "likelihood"]
InitName = Literal["portfolio", "random", "k-means++", "local"]
Init = InitName | Sequence[int] | SupportsArray | Callable[..., Any]
Penalty = Literal["l1", "nonnegative"]
Refinement = Literal["ppca", "descent"]
# "not swept" and "brief" mean that the search stopped early for this start (PSC and mixtures).
StopReason = Literal[
    "converged", "overshot", "cycle", "restless", "max_iter", "infeasible", "local minimum",
    "refined", "not swept", "brief",
]  # fmt: skip
# The lists of a cluster's variables: along its axes, or by what sets it apart.
VariableList = Literal["axes", "difference"]

# Options of the rivals.
SSCSolver = Literal["elastic_net", "lasso", "omp", "admm", "lsr"]
GPCAMethod = Literal["auto", "codimension_one", "voting"]
MixtureNoise = Literal["own", "shared"]

# Options and results of a PCA: which noise to assume, which noise it found, and its errors.
NoiseKind = Literal["auto", "equal", "unequal", "heavy", "correlated"]
FoundNoise = Literal[
    "none", "equal", "unequal", "unequal_samples", "heavy", "correlated", "unknown"
]
PressMethod = Literal["exact", "hat", "paper"]
Rotation = Literal["varimax"]

# Options for choosing the number of clusters, dimensions and variables.
ClustersCriterion = Literal["auto", "icl", "press", "likelihood", "sod", "bic", "stability"]
Margins = Literal["data", "normal"]
# How tables without clusters are drawn.
NullKind = Literal["copula", "rotation"]

# Options of tables, gene expression and simulated data.
SamplesIn = Literal["rows", "columns"]
ExpressionKind = Literal["intensities", "log", "ratios", "shares", "counts"]
AskedKind = Literal["auto", "cells", "intensities", "log", "ratios", "shares", "counts"]
TakeLog = Literal["auto", "yes", "no"]
ScenarioName = Literal["a", "b", "c", "d", "e"]
ScoreDistribution = Literal["uniform", "normal", "ball"]
