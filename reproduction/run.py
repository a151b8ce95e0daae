"""Every table and figure of the paper, and the page that sets them beside the paper's numbers.

    python -m reproduction.run [--full] [--data DIR] [--jobs 2]

Quick: 10 data sets a cell; cells and page go to build/reproduction/quick. Full: 100; cells go to
build/reproduction/full, then to reproduction/results, and the page to
docs/develop/reproduction.md. Every
cell gets its first data sets before any gets more. Interrupted and started again, it goes on.
"""

import argparse
import os
import sys
import time
from itertools import pairwise

from reproduction import (
    expression,
    expression_clusters,
    harness,
    illustrations,
    nonsparse,
    page,
    press,
    selection,
    sparse,
)

STUDIES = [
    module.STUDY
    for module in (
        press,
        illustrations,
        nonsparse,
        sparse,
        selection,
        expression_clusters,
        expression,
    )
]
BLOCKS = (0, harness.QUICK_SETS, 30, harness.FULL_SETS)


def say_what_is_missing():
    """One line for each data set that is not there."""
    if harness.data_folder() is None:
        given = os.environ.get("SUBSPACES_DATA")
        found = f"{given}/gene_expression is not there" if given else "no data folder was named"
        print(
            f"{found}: the expression tables are left out, the simulations run; --data DIR, or "
            "SUBSPACES_DATA, with gene_expression/*.npz would do"
        )
        return
    for column in expression.FILES:
        if column not in expression.sets_at_hand():
            name = expression.FILES[column][0]
            print(f"{column} is left out: {harness.data_folder() / name}.npz is not there")


def run_all(n_sets, folder, n_jobs):
    """Block by block, so that every cell has some data sets before any has all."""
    for first, end in pairwise(BLOCKS):
        seeds = range(first, min(end, n_sets))
        for study in STUDIES if seeds else ():
            begin = time.perf_counter()
            done = harness.run(study, seeds, folder, n_jobs)
            took = time.perf_counter() - begin
            what = f"{done} cells in {took:.0f} s" if done else "already there"
            print(f"{study.name}, data sets {first + 1} to {seeds[-1] + 1}: {what}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100 data sets a cell instead of 10")
    parser.add_argument("--data", help="folder that holds gene_expression/*.npz")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1: one a core")
    given = parser.parse_args()
    if given.data:
        os.environ["SUBSPACES_DATA"] = given.data
    n_sets, name = (harness.FULL_SETS, "full") if given.full else (harness.QUICK_SETS, "quick")
    folder = harness.BUILD / name
    say_what_is_missing()
    try:
        run_all(n_sets, folder, given.jobs)
    except KeyboardInterrupt:
        print(f"\nstopped; what is measured is kept in {folder}: the same command goes on")
        sys.exit(130)
    print("the page:", page.publish(folder) if given.full else page.write(folder, folder))


if __name__ == "__main__":
    main()
