"""What the studies share: cells run side by side, a table with standard errors, a file."""

import json
import platform
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn
from joblib import Parallel, delayed

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def run_cells(function, cells, n_jobs=-1, keep=None):
    """Call ``function(*cell)`` for every cell, with a count on the terminal; a dict of results.

    With ``keep``, a name, each result goes to a file under build/ as soon as it is there, and a run
    that was interrupted goes on where it stopped.
    """
    results = {}
    calls = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_kept)(function, cell, keep) for cell in cells
    )
    for done, (cell, value) in enumerate(zip(cells, calls, strict=True), start=1):
        results[cell] = value
        if sys.stderr.isatty():
            print(f"\r{done} of {len(cells)}", end="", file=sys.stderr)
    return results


def _kept(function, cell, keep):
    if keep is None:
        return function(*cell)
    path = ROOT / "build" / keep / f"{'-'.join(map(str, cell))}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(function(*cell)))
        unfinished.rename(path)
    return json.loads(path.read_text())


def mean_and_error(values, digits=3):
    """Mean and its standard error, as text."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ({error:.{digits}f})"


def markdown(header, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def save(name, text, out=None):
    """Print the page and keep it: in the file ``out``, by default beside the script."""
    versions = (
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}."
    )
    page = f"{text}\n\n{versions}\n"
    print(page)
    path = RESULTS / f"{name}.md" if out is None else Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page)
