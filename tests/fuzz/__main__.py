"""Damaged files by the thousand: ``python -m tests.fuzz 50000``, ``... 5000 0 .h5ad``.

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
HANG = 120


def batch(files, first, count, folder, kept, said):
    """Try some files; file i is the same in every run."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for i in range(first, first + count):
        random = np.random.default_rng(i)
        ending, content = files[random.integers(len(files))]
        damaged = mutate(content, random)
        path = folder / f"f{ending}"
        path.write_bytes(damaged)
        said.send(("tried", ending, i))
        wrong = violation(path)
        if wrong is not None:
            (kept / f"{i}{ending}").write_bytes(damaged)
            said.send(("wrong", ending, f"file {i}: {wrong}"))


def tried_apart(files, first, count, folder, kept):
    """Try some files in a process of their own; yields what it says, and how it ended."""
    heard, said = multiprocessing.Pipe(duplex=False)
    arguments = (files, first, count, folder, kept, said)
    process = multiprocessing.Process(target=batch, args=arguments)
    process.start()
    said.close()
    last = first
    try:
        while heard.poll(HANG):
            kind, ending, what = heard.recv()
            last = what if kind == "tried" else last
            yield kind, ending, what
        process.kill()
        yield "wrong", "hang", f"file {last}: nothing for {HANG} seconds"
    except EOFError:
        process.join()
        if process.exitcode:
            yield "wrong", "crash", f"file {last}: exit code {process.exitcode}"


def main(count: int, kept: Path, first: int, only: str | None) -> int:
    """Try so many files; returns the number of violations."""
    kept.mkdir(exist_ok=True, parents=True)
    tried, wrong, began = Counter(), 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        files = seeds(Path(name), only)
        end = first + count
        while first < end:
            size = min(BATCH, end - first)
            for kind, ending, what in tried_apart(files, first, size, Path(name), kept):
                if kind == "tried":
                    tried[ending] += 1
                    first = what + 1
                else:
                    wrong += 1
                    print(f"{ending}: {what}", flush=True)
    kinds = ", ".join(f"{ending} {tried[ending]}" for ending in sorted(tried))
    seconds = time.perf_counter() - began
    print(f"{tried.total()} damaged files ({kinds}) in {seconds:.0f} s: {wrong} violations")
    return wrong


if __name__ == "__main__":
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    only = sys.argv[3] if len(sys.argv) > 3 else None
    kept = Path(tempfile.gettempdir()) / "fuzz_found"
    sys.exit(main(int(sys.argv[1]), kept, start, only) > 0)
