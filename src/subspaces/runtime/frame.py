"""Conversion of tables of results to pandas DataFrames."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any


def as_frame(columns: Mapping[str, Any], index: str | None = None) -> Any:
    """Return the columns as a DataFrame, indexed by ``index``; unchanged if pandas is missing."""
    if find_spec("pandas") is None:
        return columns
    import pandas as pd

    frame = pd.DataFrame(columns)
    return frame if index is None else frame.set_index(index)
