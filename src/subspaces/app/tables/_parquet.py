"""The reader of Parquet files; the index or the first column of text holds the row names."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.tables._bad_cells import text_remedy
from subspaces.app.tables._binary import as_texts, expecting
from subspaces.app.tables._content import check_room, content_of
from subspaces.app.tables._table import CLASSES, checked, default_names, offered
from subspaces.app.tables._wanted import Wanted, check_asked, check_known
from subspaces.named_table import Table
from subspaces.runtime.extras import install


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
    columns = list(frame.columns)
    frame = frame.loc[:, [name not in wanted.ignore for name in columns]]
    frame.index = _row_names(frame, wanted)
    if frame.index.name is not None:
        frame = frame.drop(columns=frame.index.name)
    check_known(path, wanted.ignore, [*columns, *frame.index])
    frame = frame.loc[[name not in wanted.ignore for name in frame.index]]
    return _from_frame(path, frame, wanted)


def _row_names(frame: Any, wanted: Wanted) -> Any:
    """Return the names of the rows as an index: the frame's own, the first column, or numbers.

    The index has the name of the column that it comes from, if it comes from one.
    """
    import pandas as pd

    if not isinstance(frame.index, pd.RangeIndex):
        return frame.index.map(str).rename(None)
    if frame.shape[1] > 1:
        first = frame.columns[0]
        is_class = first.lower() in CLASSES and frame[first].duplicated().any()
        is_number = pd.api.types.is_numeric_dtype(frame[first])
        if first != wanted.labels and not is_class and not is_number:
            return pd.Index(frame[first].map(str), name=first)
    return pd.Index(default_names("v" if wanted.samples_in_columns else "sample", len(frame)))


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
    check_asked(path, wanted, list(frame.columns), list(frame.index))
    asked = [wanted.is_asked_for(name) for name in frame.columns]
    left_out += [name for name, keep in zip(frame.columns, asked, strict=True) if not keep]
    frame = frame.loc[:, asked]
    samples = tuple(frame.index)
    data = _numbers(path, frame, samples, texts, wanted)
    table = Table(data, samples, tuple(frame.columns), classes, tuple(left_out))
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
