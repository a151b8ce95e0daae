"""What reads a file, and what it owes to whoever hands it one."""

import time
import warnings
from pathlib import Path

import numpy as np

from subspaces import load
from subspaces.tables import read_cls, read_table
from tests.fuzz.seeds import MODEL

LONGEST = 10.0


def violation(path: Path) -> str | None:
    """What went wrong; None where the file was read, or refused in one line that names it."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _read(path)
    except ValueError as error:
        if type(error) is not ValueError or str(path) not in str(error):
            return f"an error that does not name the file: {type(error).__name__}: {error}"
        if len(str(error).splitlines()) > 1:
            return f"more than one line: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - began
    return f"{seconds:.0f} seconds of work" if seconds > LONGEST else None


def _read(path: Path) -> None:
    if path.name.endswith(MODEL):
        model = load(path)
        p = model.n_features_in_
        if p <= 1000:
            labels = model.predict(np.zeros((2, p)))
            if labels.shape != (2,) or labels.min() < 0:
                raise RuntimeError("labels that are none")
    elif path.suffix == ".cls":
        read_cls(path)
    else:
        for samples in ("rows", "columns"):
            table = read_table(path, samples=samples)
            n, p = table.data.shape
            if not np.isfinite(table.data).all() or len(table.sample_names) != n:
                raise RuntimeError("a table that is none")
            if len(table.variable_names) != p:
                raise RuntimeError("names that do not fit the table")
