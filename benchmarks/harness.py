"""What the studies share: cells side by side, tables with standard errors, a file, images."""

import json
import platform
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn
from joblib import Parallel, delayed
from scipy.ndimage import map_coordinates, zoom
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

# Of images: pixels on a side, and how many of them the digit takes.
SIDE, DRAWN = 28, 20
# Standard deviations: of turns (radians) and shears, of scales, of shifts and bends (pixels).
TURN, SCALE, SHIFT, BEND = 0.12, 0.07, 0.8, 0.7
# Points on a side of the grid whose displacements bend an image, and the contrast of the edges.
KNOTS, CONTRAST = 5, 4.0


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


def drawn_digits(n, seed=0):
    """Images in the manner of MNIST, pixels (n, 784) from 0 to 1, and the digits (n,) they show.

    Each is one of scikit-learn's 1797 digits at 28 x 28 pixels, turned, sheared, scaled, shifted
    and bent at random, with hard edges. As with MNIST the classes overlap heavily: K-means reaches
    an adjusted Rand index of about 0.37 on 5,000 of them, and 69 axes hold 90 % of the variance.
    """
    digits, random = load_digits(), np.random.default_rng(seed)
    margin = (SIDE - DRAWN) // 2
    large = [np.pad(zoom(image / 16.0, DRAWN / 8, order=1), margin) for image in digits.images]
    chosen = random.integers(len(large), size=n)
    middle = (SIDE - 1) / 2
    grid = np.indices((SIDE, SIDE)) - middle
    rows = np.empty((n, SIDE * SIDE))
    for row, which in zip(rows, chosen, strict=True):
        angle, shear = random.normal(scale=[TURN, TURN])
        stretch = np.diag(random.normal(1.0, SCALE, size=2))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        warp = turn @ np.array([[1.0, shear], [0.0, 1.0]]) @ stretch
        knots = random.normal(scale=BEND, size=(2, KNOTS, KNOTS))
        bend = np.array([zoom(each, SIDE / KNOTS, order=3) for each in knots])
        shift = random.normal(scale=SHIFT, size=(2, 1, 1))
        places = np.einsum("ij,jab->iab", warp, grid) + shift + bend + middle
        image = map_coordinates(large[which], places, order=1)
        row[:] = np.clip(CONTRAST * (image - 0.5) + 0.5, 0.0, 1.0).ravel()
    return rows, digits.target[chosen]
