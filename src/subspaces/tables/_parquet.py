"""The reader of Parquet files; the index or the first column of text holds the row names."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.runtime.extras import install
from subspaces.tables._binary import as_texts, expecting
from subspaces.tables._block import text_remedy
from subspaces.tables._content import check_room, content_of
from subspaces.tables._table import CLASSES, Table, checked, default_names, offered
from subspaces.tables._wanted import Wanted, check_asked, check_known


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Return the table in the data frame that a Parquet file holds."""
    try:
        import pandas as pd
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"reading Parquet needs pyarrow. {install('parquet')}") from error
    content = pa.py_buffer(content_of(path))
    with expecting(path, "a Parquet file"):
        found = parquet.ParquetFile(pa.BufferReader(content)).metadata
    check_room(path, 2 * 8 * found.num_rows * found.num_columns)
    with expecting(path, "a Parquet file"):
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    frame.columns = frame.columns.map(str)
    check_known(path, wanted.ignore, [*frame.columns, *map(str, frame.index)])
    frame = frame.loc[:, [name not in wanted.ignore for name in frame.columns]]
    if _is_counted(frame) and frame.shape[1] > 1:
        first = frame.columns[0]
        classes = first.lower() in CLASSES and frame[first].duplicated().any()
        if (
            first != wanted.labels
            and not classes
            and not pd.api.types.is_numeric_dtype(frame[first])
        ):
            frame = frame.set_index(first)
    frame.index = frame.index if _is_counted(frame) else frame.index.map(str)
    frame = frame.loc[[name not in wanted.ignore for name in frame.index]]
    return _from_frame(path, frame, wanted)


def _is_counted(frame: Any) -> bool:
    """Return whether the frame's index is a RangeIndex, so that its rows have no names."""
    import pandas as pd

    return isinstance(frame.index, pd.RangeIndex)


def _from_frame(path: Path, frame: Any, wanted: Wanted) -> Table:
    classes_in = None if wanted.samples_in_columns else wanted.labels
    texts = [name for name in _texts(frame) if name != classes_in]
    left_out: list[str] = []
    if wanted.variables is not None and wanted.samples_in_columns:
        frame, left_out = frame.drop(columns=texts), texts
    frame = frame.T if wanted.samples_in_columns else frame
    classes, labels = None, wanted.labels
    if labels is not None:
        if labels not in frame.columns:
            raise ValueError(f"{path} has no column {labels!r}{offered(labels, frame.columns)}")
        classes = as_texts(frame[labels])
        frame = frame.drop(columns=labels)
    check_asked(path, wanted, list(frame.columns), [str(name) for name in frame.index])
    asked = [wanted.is_asked_for(name) for name in frame.columns]
    left_out += [name for name, keep in zip(frame.columns, asked, strict=True) if not keep]
    frame = frame.loc[:, asked]
    kind = "v" if wanted.samples_in_columns else "sample"
    samples = default_names(kind, len(frame)) if _is_counted(frame) else tuple(frame.index)
    data = _numbers(path, frame, samples, texts, wanted)
    table = Table(data, samples, tuple(map(str, frame.columns)), classes, tuple(left_out))
    return checked(table, path)


def _texts(frame: Any) -> list[str]:
    """Return the names of the frame's columns in which no value is a number."""
    import pandas as pd

    kinds = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    return [name for name in kinds if not pd.to_numeric(frame[name], "coerce").notna().any()]


def _numbers(
    path: Path, frame: Any, samples: tuple[str, ...], texts: list[str], wanted: Wanted
) -> Any:
    import pandas as pd

    for name in frame.columns:
        values = pd.to_numeric(frame[name], errors="coerce")
        bad = np.flatnonzero(values.isna() & frame[name].notna())
        if len(bad):
            i = int(bad[0])
            counts = [(text, frame[text].nunique() if text in frame else 0) for text in texts]
            remedy = text_remedy(counts, len(frame), wanted) if texts else "Use a number"
            raise ValueError(
                f"{path}, row {i + 1} ({samples[i]!r}), column {name!r}: "
                f"{frame[name].iloc[i]!r} is not a number. {remedy}"
            )
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)
