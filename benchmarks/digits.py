"""`compare` with all methods on scikit-learn's digits.

    python benchmarks/digits.py

Writes benchmarks/results/digits.md.
"""

import time

from harness import markdown, save
from sklearn.datasets import load_digits

from subspaces import compare


def main():
    digits = load_digits()
    start = time.perf_counter()
    found = compare(digits.data, 10, 9, labels=digits.target)
    minutes = (time.perf_counter() - start) / 60
    columns = found.columns
    rows = [
        [name, *[f"{columns[key][i]:.3f}" for key in ("ari", "rand", "accuracy")], f"{seconds:.2f}"]
        if not columns["error"][i]
        else [name, columns["error"][i], "", "", f"{seconds:.2f}"]
        for i, (name, seconds) in enumerate(zip(columns["method"], columns["seconds"], strict=True))
    ]
    save(
        "digits",
        "# Every method on scikit-learn's digits: 1797 images of 64 pixels\n\n"
        "`python benchmarks/digits.py`: `compare(digits.data, 10, 9, labels=digits.target)`, "
        f"{minutes:.1f} minutes in all.\n\n"
        + markdown(["method", "adjusted Rand", "Rand", "in the right cluster", "seconds"], rows),
    )


if __name__ == "__main__":
    main()
