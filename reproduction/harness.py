"""What the reproduction's scripts share: cells that are kept as they come, a bar, CSV files.

A cell is one fit on one data set. Each is a line of its study's CSV file as soon as it is there, so
a run that was interrupted goes on where it stopped.
"""

import argparse
import csv
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "reproduction"
QUICK_SETS, FULL_SETS = 10, 100
PACKAGES = ("subspaces", "numpy", "scipy", "scikit-learn")


class Cell(NamedTuple):
    """Row and column of the paper's table, the variant of ours, and the seed."""

    row: str
    variant: str
    column: str
    seed: int


@dataclass(frozen=True)
class Study:
    """A table or figure: its cells for given seeds, and how one is measured."""

    name: str
    measures: tuple[str, ...]
    cells: Callable[[Iterable[int]], list[Cell]]
    measure: Callable[[Cell], dict[str, float]]

    @property
    def fields(self) -> list[str]:
        """The columns of its file."""
        return [*Cell._fields, *self.measures, "seconds", "error"]


def data_folder() -> Path | None:
    """The folder of gene_expression/*.npz, if it was named and is there."""
    given = os.environ.get("SUBSPACES_DATA")
    folder = Path(given) / "gene_expression" if given else None
    return folder if folder is not None and folder.is_dir() else None


def read(study: Study, folder: Path) -> dict[Cell, dict[str, str]]:
    """What is there of a study, the later of two lines; one that was cut short does not count."""
    path = folder / f"{study.name}.csv"
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    lines = csv.DictReader(whole.splitlines())
    if whole and lines.fieldnames != study.fields:
        raise SystemExit(f"{path} was written by another version; move it away to start anew")
    return {
        Cell(line["row"], line["variant"], line["column"], int(line["seed"])): line
        for line in lines
    }


def measured(study: Study, cell: Cell) -> dict[str, object]:
    """One line of the file: the measures, processor seconds, and what went wrong."""
    values: dict[str, object] = dict.fromkeys(study.measures, "")
    error, begin = "", time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values |= {k: f"{v:.6g}" for k, v in study.measure(cell).items() if v == v}
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}".splitlines()[0]
    seconds = f"{time.process_time() - begin:.3f}"
    return {**cell._asdict(), **values, "seconds": seconds, "error": error}


def run(study: Study, seeds: Iterable[int], folder: Path, n_jobs: int) -> int:
    """Measure the cells that are not there yet, or failed; how many there were."""
    known = read(study, folder)
    missing = [c for c in study.cells(seeds) if c not in known or known[c]["error"]]
    if not missing:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.name}.csv"
    _mend(path, study.fields)
    calls = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(measured)(study, cell) for cell in missing
    )
    with path.open("a", newline="", encoding="utf-8") as file, _bar() as bar:
        writer = csv.DictWriter(file, study.fields, lineterminator="\n")
        task = bar.add_task(study.name, total=len(missing))
        for line in calls:
            writer.writerow(line)
            file.flush()
            bar.advance(task)
    return len(missing)


def _mend(path: Path, fields: list[str]) -> None:
    """Begin the file, or take away a last line that was cut short."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1] or ",".join(fields) + "\n"
    if whole != text:
        unfinished = path.with_suffix(".part")
        unfinished.write_text(whole, encoding="utf-8")
        os.replace(unfinished, path)


def _bar() -> Progress:
    """A bar on a terminal, nothing in a pipe."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())


def versions() -> dict[str, str]:
    """What the cells were measured with."""
    return {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def main(study: Study) -> None:
    """The command of one script: run its study alone."""
    parser = argparse.ArgumentParser(description=f"Measure the cells of {study.name}.")
    parser.add_argument("--sets", type=int, default=QUICK_SETS, help="data sets a cell")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    folder = BUILD / ("full" if given.sets == FULL_SETS else "quick")
    done = run(study, range(given.sets), folder, given.jobs)
    print(f"{study.name}: {done} cells measured, {folder / study.name}.csv")
