"""What the studies share: cells run side by side, a table with standard errors, a file."""

import platform
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn
from joblib import Parallel, delayed

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def run_cells(function, cells, n_jobs=2):
    """Call ``function(*cell)`` for every cell, with a count on the terminal; a dict of results."""
    results = {}
    calls = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(*cell) for cell in cells
    )
    for done, (cell, value) in enumerate(zip(cells, calls, strict=True), start=1):
        results[cell] = value
        if sys.stderr.isatty():
            print(f"\r{done} of {len(cells)}", end="", file=sys.stderr)
    return results


def mean_and_error(values, digits=3):
    """Mean and its standard error, as text."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ({error:.{digits}f})"


def markdown(header, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def save(name, text):
    """Print the page and keep it beside the script."""
    versions = (
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}."
    )
    page = f"{text}\n\n{versions}\n"
    print(page)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page)
