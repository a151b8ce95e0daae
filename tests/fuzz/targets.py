"""What reads a file, and what it owes to whoever hands it one."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

from subspaces import load
from subspaces.app.tables import _h5ad, read_cls, read_table
from subspaces.messages import ParameterError
from tests.fuzz.seeds import H5AD, MODEL

LONGEST = 10.0


def violation(path: Path) -> str | None:
    """What went wrong; None where the file was read, or refused in one line that names it."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _read(path)
    except ValueError as error:
        if type(error) not in (ValueError, ParameterError) or str(path) not in str(error):
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
    elif path.suffix == H5AD:
        quick = mock.patch.object(subprocess, "run", forked)
        with quick, mock.patch.object(_h5ad, "PATIENCE", LONGEST):
            _check_table(path, "rows")
    else:
        for samples in ("rows", "columns"):
            _check_table(path, samples)


def _check_table(path: Path, samples: str) -> None:
    table = read_table(path, samples=samples)
    n, p = table.data.shape
    is_empty = np.isnan(table.data).all(axis=1).any()
    if np.isinf(table.data).any() or is_empty or len(table.sample_names) != n:
        raise RuntimeError("a table that is none")
    if len(table.variable_names) != p:
        raise RuntimeError("names that do not fit the table")


def forked(words, *, timeout, **_):
    """The process that reads H5AD, as a fork of this one, which has its imports already."""
    with tempfile.TemporaryFile() as said:
        arguments = (words[4:], said.fileno())
        process = multiprocessing.get_context("fork").Process(target=_reader, args=arguments)
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout)
        said.seek(0)
        text = said.read().decode(errors="replace")
        return subprocess.CompletedProcess(words, process.exitcode, "", text)


def _reader(words, handle):
    os.dup2(handle, 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    code = 0
    try:
        _h5ad.main(*words)
    except SystemExit as refused:
        code = 1
        print(refused.code, file=sys.stderr, flush=True)
    os._exit(code)
