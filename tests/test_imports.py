"""What an import costs, as the processor counts it: other work on the machine does not matter."""

import subprocess
import sys

MOST_SECONDS = 0.15


def seconds(statement):
    code = f"{statement}\nimport time; print(time.process_time())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def test_an_import_costs_little_beyond_scikit_learn():
    pairs = [(seconds("import sklearn.cluster"), seconds("import subspaces")) for _ in range(2)]
    theirs, ours = (min(taken) for taken in zip(*pairs, strict=True))
    assert ours <= theirs + MOST_SECONDS
