"""The reader of H5AD files, which runs in a separate process.

The library that reads HDF5 is not made for damaged files: some make it crash, some make it take all
memory. In a separate process, a crash becomes an ordinary error.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from subspaces.app.tables._binary import from_arrays
from subspaces.app.tables._content import check_room
from subspaces.app.tables._sheet import Wanted, as_texts, offered
from subspaces.messages import refused
from subspaces.named_table import Table
from subspaces.runtime.extras import install

# Seconds that reading may take: for any file, and for every byte of it.
PATIENCE, SECONDS_PER_BYTE = 120.0, 1e-7
CODE = "import sys; from subspaces.app.tables._h5ad import main; main(*sys.argv[1:])"


def read_h5ad(path: Path, wanted: Wanted) -> Table:
    """Return the table in an H5AD file: X, and as classes the column ``wanted.labels`` of obs."""
    if find_spec("anndata") is None:
        raise ImportError(f"Reading H5AD needs anndata. {install('scverse')}")
    with path.open("rb"), tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "read.npz"
        _read_apart(path, target, [name for name in (wanted.labels, wanted.sample_names) if name])
        with np.load(target) as read:
            arrays = dict(read)
    return from_arrays(path, arrays, replace(wanted, samples_in_columns=False), wanted.labels)


def _read_apart(path: Path, target: Path, columns: list[str]) -> None:
    """Run `main` in another process, which writes the file's arrays to ``target`` as NPZ."""
    limit = PATIENCE + SECONDS_PER_BYTE * path.stat().st_size
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", CODE, str(path), str(target), *columns],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        reason = f"reading it took longer than {limit:.0f} seconds"
    else:
        if done.returncode == 0:
            return
        said = done.stderr.strip().splitlines()
        if done.returncode == 1 and said:
            raise refused(said[-1])
        reason = f"the reader crashed (exit code {done.returncode})"
    raise refused(f"{path} cannot be read: {reason}. Download or save it again.")


def main(path: str, target: str, *columns: str) -> None:
    """Write an H5AD file's X, names and columns of obs as NPZ, or exit with what is wrong."""
    try:
        arrays = _arrays(Path(path), columns)
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        if isinstance(error, OSError):
            said = f"{path} is not an H5AD file, or is damaged. Download or save it again."
        elif not said.startswith(path):
            said = f"{path} cannot be read as H5AD ({said}). Save it again with adata.write_h5ad."
        sys.exit(said)
    np.savez(target, **arrays)


def _arrays(path: Path, columns: Sequence[str]) -> dict[str, Any]:
    import anndata
    import h5py

    with h5py.File(path) as file:
        X = file.get("X")
        shape = X.shape if isinstance(X, h5py.Dataset) else X.attrs["shape"] if X else ()
    check_room(path, 2 * 8 * int(np.prod(np.asarray(shape, dtype=float))))
    read = anndata.read_h5ad(path)
    if read.X is None:
        raise refused(f"{path} has no X. Save it with the counts or expression values in X.")
    for name in columns:
        if name not in read.obs:
            raise refused(f"{path} has no obs column {name!r}{offered(name, read.obs)}")
    texts = {str(name): read.obs[name] for name in columns}
    texts |= {"sample_names": read.obs_names, "variable_names": read.var_names}
    arrays = {name: as_texts(values).astype(str) for name, values in texts.items()}
    return {**arrays, "X": read.X if isinstance(read.X, np.ndarray) else read.X.toarray()}
