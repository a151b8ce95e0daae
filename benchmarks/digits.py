"""Every method on scikit-learn's digits: 1797 images, ten clusters of dimension 9.

    python benchmarks/digits.py

Writes benchmarks/results/digits.md. BLAS is held to one thread.
"""

from harness import markdown, save
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from subspaces import compare
from subspaces.comparison import METHODS

# Their common factors, ten times nine, would have to fill the space of 64 pixels.
LEFT_OUT = ("MCFA", "MCtFA")


def failed(columns):
    told = zip(columns["method"], columns["error"], strict=True)
    return [(name, error) for name, error in told if error]


def main():
    digits = load_digits()
    methods = [name for name in METHODS if name not in LEFT_OUT]
    with threadpool_limits(1):
        found = compare(digits.data, 10, 9, methods=methods, labels=digits.target)
    columns = found.columns
    rows = [
        [name, *(f"{columns[key][i]:.3f}" for key in ("accuracy", "ari"))]
        for i, name in enumerate(columns["method"])
        if not columns["error"][i]
    ]
    rows.sort(key=lambda row: row[1], reverse=True)
    rows += [[name, *error.split(": ")[1:], ""] for name, error in failed(columns)]
    save(
        "digits",
        "# Every method on scikit-learn's digits: ten clusters of dimension 9\n\n"
        "`python benchmarks/digits.py`. Accuracy: share of the images in the right cluster, "
        "clusters matched one to one.\nMCFA and MCtFA are left out: their common factors would "
        "have to fill the space.\n\n"
        + markdown(["method", "accuracy", "adjusted Rand index"], rows),
    )


if __name__ == "__main__":
    main()
