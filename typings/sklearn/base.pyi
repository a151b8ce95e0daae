"""What this library uses of scikit-learn's base classes, which have no types of their own."""

from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind")

class BaseEstimator:
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
    def __sklearn_tags__(self) -> Any: ...

class ClusterMixin:
    def fit_predict(
        self, X: Any, y: Any = None, **kwargs: Any
    ) -> NDArray[np.signedinteger[Any]]: ...

class TransformerMixin:
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
    def set_output(self, *, transform: str | None = None) -> Self: ...

class OutlierMixin:
    def fit_predict(self, X: Any, y: Any = None) -> Any: ...

class ClassNamePrefixFeaturesOutMixin:
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...

def clone(estimator: Kind, *, safe: bool = True) -> Kind: ...
