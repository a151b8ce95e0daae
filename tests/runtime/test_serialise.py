"""Values from files are checked against the annotations of ours."""

from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from subspaces.runtime.serialise import fits

Scalar = TypeVar("Scalar", bound=np.generic)


def named_alias() -> Any:
    """``NDArray`` as numpy 2.5 has it, whatever numpy is installed."""
    extensions = pytest.importorskip("typing_extensions")
    array = np.ndarray[tuple[Any, ...], np.dtype[Scalar]]
    return extensions.TypeAliasType("Named", array, type_params=(Scalar,))


@pytest.mark.parametrize("array", [NDArray, named_alias()], ids=["installed", "named"])
def test_arrays_of_either_kind_of_annotation(array):
    floats, anything = array[np.floating], array[Any]
    assert fits(np.ones(2, dtype=np.float32), floats)
    assert not fits(np.ones(2, dtype=int), floats)
    assert not fits([1.0, 1.0], floats)
    assert fits(np.array(["a"], dtype=object), anything)
    assert fits(None, floats | None)
    assert not fits(1.0, floats | None)
