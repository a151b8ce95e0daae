"""Damaged files by the thousand: ``python -m tests.fuzz 50000``.

Batches run in processes of their own with 4 GiB of memory, so that a crash is counted and not
suffered.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tests.fuzz.mutations import mutate
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import violation

BATCH = 500
MEMORY = 4 * 2**30


def batch(files, first, count, folder, kept, found):
    """Try some files; file i is the same in every run."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for i in range(first, first + count):
        random = np.random.default_rng(i)
        ending, content = files[random.integers(len(files))]
        damaged = mutate(content, random)
        path = folder / f"f{ending}"
        path.write_bytes(damaged)
        found.put(("tried", ending, i))
        wrong = violation(path)
        if wrong is not None:
            (kept / f"{i}{ending}").write_bytes(damaged)
            found.put(("wrong", ending, f"file {i}: {wrong}"))


def main(count: int, kept: Path, start: int = 0) -> int:
    """Try so many files; returns the number of violations."""
    kept.mkdir(exist_ok=True, parents=True)
    tried, wrong, began = Counter(), [], time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = seeds(folder)
        first = start
        while first < start + count:
            size = min(BATCH, start + count - first)
            found = multiprocessing.SimpleQueue()
            process = multiprocessing.Process(
                target=batch, args=(files, first, size, folder, kept, found)
            )
            process.start()
            last = first
            while process.is_alive() or not found.empty():
                if found.empty():
                    time.sleep(0.01)
                    continue
                kind, ending, what = found.get()
                if kind == "tried":
                    tried[ending] += 1
                    last = what
                else:
                    wrong.append((ending, what))
            if process.exitcode:
                wrong.append(("crash", f"file {last}: exit code {process.exitcode}"))
            first = last + 1
    for ending, what in wrong:
        sys.stdout.write(f"{ending}: {what}\n")
    kinds = ", ".join(f"{ending} {tried[ending]}" for ending in sorted(tried))
    sys.stdout.write(
        f"{sum(tried.values())} damaged files ({kinds}) in {time.perf_counter() - began:.0f} s: "
        f"{len(wrong)} violations\n"
    )
    return len(wrong)


if __name__ == "__main__":
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    sys.exit(main(int(sys.argv[1]), Path(tempfile.gettempdir()) / "fuzz_found", start) > 0)
