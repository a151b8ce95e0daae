"""Whether torch and CuPy arrays on a GPU give what numpy gives, by every method of PSC.

    SCIPY_ARRAY_API=1 python benchmarks/devices.py [--cpu]

Writes benchmarks/results/devices.md: a row for each library, few rows and many, linear and affine
flats. Every cell says whether what came back is the same as in main memory: labels in every row,
numbers to seven digits. With --cpu torch's arrays are in main memory, and nothing is written.
"""

import argparse
import tempfile
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from harness import markdown, save
from sklearn import config_context
from sklearn.metrics import adjusted_rand_score

from subspaces import PSC, load
from subspaces.core.array import to_host
from subspaces.datasets import make_subspaces

LIBRARIES = ("torch", "cupy")
SIZES = ((3_000, 40), (30_000, 40), (12_000, 300))
K, R, NOISE, DIGITS = 6, 3, 0.05, 1e-7
METHODS = ("fit", "save and load", "predict", "transform", "project", "reconstruct", "k-means++")


def posed(n, p, affine):
    """Rows near flats, the truth, and labels to start from of which a quarter are wrong."""
    made = make_subspaces([n // K] * K, p, [R] * K, noise=NOISE, random_state=0)
    random = np.random.default_rng(0)
    wrong = random.integers(K, size=len(made.target))
    start = np.where(random.random(len(made.target)) < 0.75, made.target, wrong)
    return made.data + (2.0 if affine else 0.0), made.target, start


def sender(name, on_cpu):
    """A function that takes a numpy array to the library, on the GPU."""
    library = import_module(name)
    if name == "cupy":
        return library.asarray
    return lambda X: library.asarray(X, device="cpu" if on_cpu else "cuda")


def absent(name, on_cpu):
    """Why a library cannot be tried here; None if it can."""
    if find_spec(name) is None:
        return "not installed"
    library = import_module(name)
    if name == "torch":
        return None if on_cpu or library.cuda.is_available() else "installed, and finds no GPU"
    try:
        return None if library.cuda.runtime.getDeviceCount() else "installed, and finds no GPU"
    except library.cuda.runtime.CUDARuntimeError as error:
        return f"installed, and finds no GPU ({error})"


def close(found, expected):
    """Numbers to seven digits of the largest."""
    found = to_host(found)
    return np.allclose(found, expected, rtol=DIGITS, atol=DIGITS * np.abs(expected).max())


def same_labels(found, expected):
    """Every label."""
    return np.array_equal(to_host(found), expected)


def reloaded(model):
    """The model after it went through a file: in main memory."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.npz")
        return load(Path(folder) / "model.npz")


def verdicts(send, n, p, affine):
    """For every method, whether it gives what numpy gives, or the error it raises."""
    X, target, start = posed(n, p, affine)
    model = PSC(K, n_components=R, affine=affine, init=start, random_state=0)
    labels = PSC(**model.get_params()).fit(X).labels_
    rows = send(X)
    home = reloaded(model.fit(rows))
    back = reloaded(model).move_to(rows)
    seeded = PSC(K, n_components=R, affine=affine, init="k-means++", n_init=5, random_state=0)
    checks = {
        "fit": lambda: same_labels(model.labels_, labels),
        "save and load": lambda: same_labels(back.predict(rows), home.predict(X)),
        "predict": lambda: same_labels(model.predict(rows), home.predict(X)),
        "transform": lambda: close(model.transform(rows), home.transform(X)),
        "project": lambda: all(map(close, model.project(rows), home.project(X))),
        "reconstruct": lambda: close(model.reconstruct(rows), home.reconstruct(X)),
        "k-means++": lambda: (
            f"{adjusted_rand_score(target, to_host(seeded.fit(rows).labels_)):.3f}"
        ),
    }
    return [verdict(checks[name]) for name in METHODS]


def tried(send, n, p, affine):
    """The cells of a row; where nothing can be fitted, the error in all of them."""
    try:
        return verdicts(send, n, p, affine)
    except Exception as error:  # the other libraries are still to be tried
        return [in_a_cell(error)] * len(METHODS)


def in_a_cell(error):
    return f"{type(error).__name__}: {error}".splitlines()[0].replace("|", "/")


def verdict(check):
    """A cell: yes, NO, a number, or the error."""
    try:
        found = check()
    except Exception as error:  # the table is to be whole, whatever a library raises
        return in_a_cell(error)
    return found if isinstance(found, str) else "yes" if found else "NO"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="torch in main memory, nothing written")
    on_cpu = parser.parse_args().cpu
    warnings.simplefilter("ignore")
    rows, missing = [], []
    with config_context(array_api_dispatch=True):
        for name in LIBRARIES:
            reason = absent(name, on_cpu)
            if reason is not None:
                missing.append(f"{name}: {reason}")
                continue
            send, version = sender(name, on_cpu), import_module(name).__version__
            for n, p in SIZES:
                for affine in (False, True):
                    cells = tried(send, n, p, affine)
                    flats = "affine" if affine else "linear"
                    rows.append([f"{name} {version}", f"{n} x {p}", flats, *cells])
    page = (
        "# The same answers on a GPU\n\n"
        "`SCIPY_ARRAY_API=1 python benchmarks/devices.py`: whether PSC gives what it gives for "
        "numpy arrays (float64, "
        f"{K} clusters of dimension {R}, the same first labels): labels in every row, numbers to "
        "seven digits. From the second column on the same fitted model is asked on the device and "
        "in main memory. The last is the adjusted Rand index of five starts on the device.\n\n"
        + markdown(["library", "size", "flats", *METHODS], rows)
        + "".join(f"\n\nNot tried: {line}." for line in missing)
    )
    if on_cpu:
        print(page)
    else:
        save("devices", page)


if __name__ == "__main__":
    main()
